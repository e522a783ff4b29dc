"""Spent budgets, in words that are ready to be shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..ledger import Statement


class ChargeRow(NamedTuple):
    """A paid question."""

    question: str
    price: str
    request: str
    when: str


class Spender(NamedTuple):
    """An allowance: its owner, and its spent part."""

    project: str
    analyst: str
    allowance: str
    spent: str
    left: str


class BalanceReport(NamedTuple):
    """An account of the ledger: its budget, the spent and the remaining part, and the charges."""

    dataset: str
    budget: str
    spent: str
    left: str
    charges: Sequence[ChargeRow]
    spenders: Sequence[Spender] = ()

    @classmethod
    def of(cls, statement: Statement) -> BalanceReport:
        """The balance that a ledger's statement tells."""
        account = statement.account
        charges = [
            ChargeRow(line.purpose, str(line.price), line.request, _minute(line.when)) for line in statement.grants
        ]
        spenders = [
            Spender(each.project, each.analyst or "all", str(each.limit), str(each.spent), str(each.left))
            for each in statement.allowances
        ]
        return cls(account.dataset, str(account.limit), str(statement.spent), str(statement.left), charges, spenders)


class RefusalRow(NamedTuple):
    """A refused question, and the reason."""

    question: str
    reason: str


def _minute(when: str) -> str:
    """A moment in UTC as people write it, without its seconds: all of ISO 8601 is too wide for a table."""
    return f"{when[:10]} {when[11:16]}"
