"""Audit log of a verification server: paged reading, export as JSON lines, and verification of its hash chain.

An event records who did what to which dataset and when, such as "asked" or "published". Events are entries of the
privacy budget ledger, in which each entry contains a keyed hash of the entry before (hash chain), so that a later
change is noticed. `Archive.run_logged` writes an event in the database transaction of the change that it reports, so no
logged change lacks its event.

An auditor reads and verifies the whole log. A steward, who manages a dataset, reads the events of this dataset. Nobody
else reads any. Events hold no confidential records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from sqlalchemy import select

from dpcurves.ledger import EventEntry, VerificationResult
from dpcurves.ledger.chain import EVENTS

from .principals import NO_SUBJECT, Principal, Right, Subject, require
from .store import Archive

MOST_EVENTS = 1000
"""Largest number of events on a page of the audit log, to keep responses small; a larger limit is lowered to it, and
refused by the HTTP API. Readers ask for further pages by the number of the last entry."""


class AuditLog:
    """Reader of the audit log, which checks the rights of who reads it.

    Args:
        archive: The server's database.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def events(
        self, who: Principal, after: int = 0, limit: int = MOST_EVENTS, dataset: str | None = None
    ) -> tuple[EventEntry, ...]:
        """Return one page of the log, oldest event first; empty if there are no further events.

        Args:
            who: The reader: an auditor for the whole log, a steward or auditor for a dataset.
            after: Number of the entry after which the page begins.
            limit: Largest number of events, at most `MOST_EVENTS`.
            dataset: The dataset; None: the whole log.

        Raises:
            ProtocolError: The reader may not see the log.
        """
        if dataset is None:
            require(who, Right.AUDIT, NO_SUBJECT)
        else:
            require(who, Right.SEE_LOG, Subject(dataset))
        return self._archive.ledger.events(after, min(max(limit, 1), MOST_EVENTS), dataset)

    def latest_events(self, who: Principal, limit: int, dataset: str) -> tuple[EventEntry, ...]:
        """Return the latest audit events of a dataset, oldest first.

        Args:
            who: The reader, a steward of the dataset or an auditor.
            limit: Largest number of events.
            dataset: The dataset.

        Raises:
            ProtocolError: The reader may not see the log.
        """
        require(who, Right.SEE_LOG, Subject(dataset))
        newest = select(EVENTS.c.entry).where(EVENTS.c.dataset == dataset).order_by(EVENTS.c.entry.desc()).limit(limit)
        entries = self._archive.read_snapshot(lambda connection: connection.execute(newest).scalars().all())
        return self.events(who, min(entries, default=1) - 1, limit, dataset)

    def iterate_lines(self, who: Principal) -> Iterator[str]:
        """Yield the whole log as lines of JSON without line ends, one event each, oldest first.

        Args:
            who: The reader, an auditor.

        Raises:
            ProtocolError: The reader is not an auditor.
        """
        after = 0
        while events := self.events(who, after):
            for entry in events:
                yield json.dumps(event_to_json(entry))
            after = events[-1].entry

    def verify(self, who: Principal, head: str | None = None) -> VerificationResult:
        """Verify the hash chain: recompute the keyed hash of each entry of the ledger.

        Args:
            who: The reader, an auditor.
            head: Head of the chain that the reader noted earlier; it detects an older copy of the ledger. None: not
                compared.

        Returns:
            Result of the check, with the present head of the chain.

        Raises:
            ProtocolError: The reader is not an auditor.
            ValueError: A row was altered without the key; the message names the first altered row.
        """
        require(who, Right.AUDIT, NO_SUBJECT)
        return self._archive.ledger.verify(head)


def event_to_json(entry: EventEntry) -> dict[str, object]:
    """Return a log entry as an object for JSON: number of the entry, time, actor, action, subject and dataset.

    Args:
        entry: Entry of the log.
    """
    event = entry.event
    return {
        "entry": entry.entry, "when": entry.when, "actor": event.actor, "action": event.action,
        "subject": event.subject, "dataset": event.dataset,
    }  # fmt: skip
