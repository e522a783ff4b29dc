"""The statement of an account: its charges, their sum, and the remaining budget."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from ..privacy import PrivacyLoss
from .account import Account
from .allowance import Member
from .allowance_balance import AllowanceBalance, allowances_of
from .amount import Amount
from .balance import require_balance
from .chain import Chain
from .charge import grant_of
from .remaining import payers_of
from .schema import GRANTS


@dataclass(frozen=True, slots=True)
class StatementLine:
    """A charge.

    Attributes:
        id: The number of its row in the ledger.
        request: The id under which the question was asked.
        purpose: The question in words.
        loss: What was charged, exactly.
        price: The loss in the account's currency, rounded up to a whole billionth.
        units: The number of units, where it is public.
        when: The time of the charge, in UTC and ISO 8601.
        member: Whose allowances paid; None: the dataset's cap alone.
    """

    id: int
    request: str
    purpose: str
    loss: PrivacyLoss
    price: Amount
    units: int | None
    when: str
    member: Member | None


@dataclass(frozen=True, slots=True)
class Statement:
    """An account with its charges, at one moment.

    Attributes:
        account: The facts of the dataset.
        spent: What all its grants sum to.
        left: What may still be spent.
        grants: The charges, from first to last.
        allowances: Those of projects and analysts that stand, each project before its analysts.
    """

    account: Account
    spent: Amount
    left: Amount
    grants: tuple[StatementLine, ...]
    allowances: tuple[AllowanceBalance, ...]


def statement_of(chain: Chain, dataset: str) -> Statement:
    """Read the statement of one account.

    Raises:
        ValueError: there is no such account, or a row was changed without the key.
    """
    balance = require_balance(chain, dataset)
    query = select(GRANTS).where(GRANTS.c.dataset == dataset).order_by(GRANTS.c.entry)
    payers, lines = payers_of(chain, dataset), []
    for row in chain.connection.execute(query).mappings():
        chain.require(GRANTS, row)
        grant = grant_of(row)
        price = Amount(balance.account.currency, row["amount"])
        facts = (row["purpose"], grant.loss, price, row["units"], row["charged_at"])
        lines.append(StatementLine(grant.id, grant.request, *facts, payers.get(grant.id)))
    return Statement(balance.account, balance.spent, balance.left, tuple(lines), allowances_of(chain, dataset))
