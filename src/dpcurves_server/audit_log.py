"""The audit log of a verification server: pages of events, for auditors and for stewards of a data set.

Events are sealed entries of the ledger's hash chain (`dpcurves.ledger`); `Archive.run_logged` writes each in the
transaction of the change that it reports. An auditor reads the whole log and verifies it, a steward reads the events of
one data set, and nobody else reads any (`principals`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from sqlalchemy import select

from dpcurves.ledger import EventEntry, VerificationResult
from dpcurves.ledger.chain import EVENTS

from .principals import NOTHING, Principal, Right, Subject, require
from .store import Archive

MOST_EVENTS = 1000
"""Largest number of events on a page of the audit log."""


class AuditLog:
    """Reads the audit log."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def events(
        self, who: Principal, after: int = 0, limit: int = MOST_EVENTS, dataset: str | None = None
    ) -> tuple[EventEntry, ...]:
        """Return the audit log in order of time: all of it for an auditor, the events of one dataset for its steward.

        Arguments:
            who: The principal.
            after: The entry number after which the page begins.
            limit: Events, at most `MOST_EVENTS`.
            dataset: The dataset; None for the whole log.

        Raises:
            ProtocolError: The principal may not see the log.
        """
        if dataset is None:
            require(who, Right.AUDIT, NOTHING)
        else:
            require(who, Right.SEE_LOG, Subject(dataset))
        return self._archive.ledger.events(after, min(max(limit, 1), MOST_EVENTS), dataset)

    def latest_events(self, who: Principal, limit: int, dataset: str) -> tuple[EventEntry, ...]:
        """Return the last `limit` events of a dataset, in order of time.

        Raises:
            ProtocolError: The principal may not see the log.
        """
        require(who, Right.SEE_LOG, Subject(dataset))
        newest = select(EVENTS.c.entry).where(EVENTS.c.dataset == dataset).order_by(EVENTS.c.entry.desc()).limit(limit)
        entries = self._archive.read_snapshot(lambda connection: connection.execute(newest).scalars().all())
        return self.events(who, min(entries, default=1) - 1, limit, dataset)

    def iterate_lines(self, who: Principal) -> Iterator[str]:
        """Yield the whole log, a line of JSON per event. Raises `ProtocolError` for other principals than auditors."""
        after = 0
        while events := self.events(who, after):
            for entry in events:
                yield json.dumps(event_to_json(entry))
            after = events[-1].entry

    def verify(self, who: Principal, head: str | None = None) -> VerificationResult:
        """Recompute all seals of the hash chain.

        Raises:
            ProtocolError: The principal is not an auditor.
            ValueError: A row was altered without the key; the message names the first.
        """
        require(who, Right.AUDIT, NOTHING)
        return self._archive.ledger.verify(head)


def event_to_json(entry: EventEntry) -> dict[str, object]:
    """Return a log entry as plain objects."""
    event = entry.event
    return {
        "entry": entry.entry, "when": entry.when, "actor": event.actor, "action": event.action,
        "subject": event.subject, "dataset": event.dataset,
    }  # fmt: skip
