"""What was spent, in words that are ready to be shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..ledger import Statement


class Charge(NamedTuple):
    """One question that was paid for."""

    question: str
    price: str
    request: str
    when: str


class Balance(NamedTuple):
    """One account of the ledger: its budget, what is spent and left of it, and for what."""

    dataset: str
    budget: str
    spent: str
    left: str
    charges: Sequence[Charge]

    @classmethod
    def of(cls, statement: Statement) -> Balance:
        """What a ledger's statement says."""
        account = statement.account
        charges = [Charge(line.purpose, str(line.price), line.request, _minute(line.when)) for line in statement.grants]
        return cls(account.dataset, str(account.limit), str(statement.spent), str(statement.left), charges)


class Refusal(NamedTuple):
    """One question that was not answered, and why."""

    question: str
    reason: str


def _minute(when: str) -> str:
    """A moment in UTC as people write it, without its seconds: all of ISO 8601 is too wide for a table."""
    return f"{when[:10]} {when[11:16]}"
