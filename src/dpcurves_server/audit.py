"""The log of who did what, in the chain of the ledger, and whether nobody changed it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sqlalchemy import select

from dpcurves.ledger import Entered, Verified
from dpcurves.ledger.schema import EVENTS

from .archive import Archive
from .visitors import NOTHING, Right, Subject, Visitor, require

MOST_AT_ONCE = 1000


class Audit:
    """Reads the log."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def events(
        self, who: Visitor, after: int = 0, most: int = MOST_AT_ONCE, dataset: str | None = None
    ) -> tuple[Entered, ...]:
        """The audit log in order of time: whole for an auditor; for a steward the events of the own datasets.

        Raises:
            ProtocolAborted: it is not theirs to see.
        """
        if dataset is None:
            require(who, Right.AUDIT, NOTHING)
        else:
            require(who, Right.SEE_LOG, Subject(dataset))
        return self._archive.ledger.events(after, min(max(most, 1), MOST_AT_ONCE), dataset)

    def latest(self, who: Visitor, most: int, dataset: str) -> tuple[Entered, ...]:
        """The last events of a dataset, at most so many, in order of time.

        Raises:
            ProtocolAborted: it is not theirs to see.
        """
        require(who, Right.SEE_LOG, Subject(dataset))
        newest = select(EVENTS.c.entry).where(EVENTS.c.dataset == dataset).order_by(EVENTS.c.entry.desc()).limit(most)
        entries = self._archive.read(lambda connection: connection.execute(newest).scalars().all())
        return self.events(who, min(entries, default=1) - 1, most, dataset)

    def lines(self, who: Visitor) -> Iterator[str]:
        """The whole log, each event as one line of JSON.

        Raises:
            ProtocolAborted: it is not theirs to see.
        """
        after = 0
        while events := self.events(who, after):
            for each in events:
                yield json.dumps(line_of(each))
            after = events[-1].entry

    def verify(self, who: Visitor, head: str | None = None) -> Verified:
        """Recompute every seal of the chain.

        Raises:
            ProtocolAborted: it is not theirs to do.
            ValueError: something was changed without the key. Names the first row.
        """
        require(who, Right.AUDIT, NOTHING)
        return self._archive.ledger.verify(head)


def line_of(entered: Entered) -> dict[str, object]:
    """An event as plain objects."""
    event = entered.event
    return {
        "entry": entered.entry, "when": entered.when, "actor": event.actor, "action": event.action,
        "subject": event.subject, "dataset": event.dataset,
    }  # fmt: skip
