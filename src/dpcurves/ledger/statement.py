"""The remaining budget of an analyst (three limits, one payment), and the statement of an account: its charges and
their sum."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sqlalchemy import select

from ..arguments import InvalidArgument
from ..privacy import PrivacyLoss
from .account import Account, Amount, Grant, Member
from .balance import AllowanceBalance, Balance, allowances_of, require_allowances, require_balance, write_spent
from .chain import GRANTS, PAYMENTS, Chain
from .verification import Charge, grant_of, require_paid


@dataclass(frozen=True, slots=True)
class MemberBalance:
    """The remaining budget of an analyst of a project, at one moment.

    Attributes:
        account: The dataset, whose cap is the promise.
        project: What the project may spend of it.
        analyst: What the analyst may spend of that.
    """

    account: Balance
    project: AllowanceBalance
    analyst: AllowanceBalance

    @property
    def remaining(self) -> Amount:
        """The most that the analyst may spend now: the least of what is left of the three."""
        each = (self.account.remaining, self.project.remaining, self.analyst.remaining)
        return min(each, key=lambda amount: amount.billionths)


def require_member_balance(chain: Chain, dataset: str, member: Member) -> MemberBalance:
    """The remaining budget of a member.

    Raises:
        ValueError: there is no account, or no allowance, or one was changed without the key.
    """
    account = require_balance(chain, dataset)
    return MemberBalance(account, *require_allowances(chain, dataset, member.project, member.analyst))


def pay_from_allowances(chain: Chain, charge: Charge, grant: Grant, member: Member) -> None:
    """Take the price of what was granted out of both allowances of a member, and enter who paid.

    Raises:
        BudgetExceeded: less is left of one of them; the transaction has to be given up.
        ValueError: there is no allowance, or it has not spent what was paid from it.
    """
    dataset = charge.account.dataset
    for each in require_allowances(chain, dataset, member.project, member.analyst):
        require_paid(chain, each)
        write_spent(chain, each.with_charge(charge.price, charge.purpose))
    chain.append(PAYMENTS, grant=grant.id, dataset=dataset, amount=charge.price.billionths, **asdict(member))


def require_paid_by(chain: Chain, grant: Grant, member: Member) -> None:
    """Refuse a grant that this project has not paid.

    Raises:
        ValueError: another one has, or nobody; or the row was changed without the key.
    """
    row = chain.read_first(PAYMENTS, select(PAYMENTS).where(PAYMENTS.c.grant == grant.id))
    if row is None or row["project"] != member.project:
        raise InvalidArgument("request", f"{grant.request!r} was not paid by project {member.project!r}")


def payers_of(chain: Chain, dataset: str) -> dict[int, Member]:
    """Payers of the grants of a dataset, by grant number; grants without a payer are the dataset's own.

    Raises:
        ValueError: a row was changed without the key.
    """
    rows = chain.read_rows(PAYMENTS, select(PAYMENTS).where(PAYMENTS.c.dataset == dataset))
    return {row["grant"]: Member(row["project"], row["analyst"]) for row in rows}


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
        remaining: What may still be spent.
        grants: The charges, from first to last.
        allowances: Those of projects and analysts that stand, each project before its analysts.
    """

    account: Account
    spent: Amount
    remaining: Amount
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
    for row in chain.read_rows(GRANTS, query):
        grant = grant_of(row)
        price = Amount(balance.account.currency, row["amount"])
        facts = (row["purpose"], grant.loss, price, row["units"], row["charged_at"])
        lines.append(StatementLine(grant.id, grant.request, *facts, payers.get(grant.id)))
    return Statement(balance.account, balance.spent, balance.remaining, tuple(lines), allowances_of(chain, dataset))
