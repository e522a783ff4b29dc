"""Audit events of an account, entered among its charges: sign-ins, roles, questions, publications."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select

from .chain import Chain
from .schema import EVENTS
from .stored_text import require_name


@dataclass(frozen=True, slots=True)
class Event:
    """An audit event. Its texts are public facts: names, never values.

    Attributes:
        actor: Who did it.
        action: What was done, in a few words.
        subject: To what.
        dataset: The dataset that it is about; empty: none.

    Raises:
        ValueError: a text is long or cannot be printed, or one but the dataset is empty.
    """

    actor: str
    action: str
    subject: str
    dataset: str = ""

    def __post_init__(self) -> None:
        for name in ("actor", "action", "subject"):
            require_name(name, getattr(self, name))
        if self.dataset:
            require_name("dataset", self.dataset)


@dataclass(frozen=True, slots=True)
class Entered:
    """An event as it stands in a ledger.

    Attributes:
        entry: The number of its row.
        when: The time, in UTC and ISO 8601.
        event: What was done.
    """

    entry: int
    when: str
    event: Event


def enter_event(chain: Chain, event: Event) -> None:
    """Write an event into the ledger."""
    facts = {"actor": event.actor, "action": event.action, "subject": event.subject, "dataset": event.dataset}
    chain.append(EVENTS, {**facts, "happened_at": datetime.now(UTC).isoformat(timespec="seconds")})


def events_of(chain: Chain, after: int, most: int, dataset: str | None) -> tuple[Entered, ...]:
    """Events of higher numbers, at most so many, from first to last; of one dataset, or of all.

    Raises:
        ValueError: one was changed without the key.
    """
    query = select(EVENTS).where(EVENTS.c.entry > after).order_by(EVENTS.c.entry).limit(most)
    return tuple(_read(chain, query if dataset is None else query.where(EVENTS.c.dataset == dataset)))


def _read(chain: Chain, query: object) -> Iterator[Entered]:
    for row in chain.connection.execute(query).mappings():  # type: ignore[call-overload]
        chain.require(EVENTS, row)
        event = Event(row["actor"], row["action"], row["subject"], row["dataset"])
        yield Entered(row["entry"], row["happened_at"], event)
