"""Statements of privacy budgets: an account with all of its charges, and what one analyst may still spend.

An account holds the privacy budget of one data set. A grant is the ledger's row of one paid question. Three limits
apply to an analyst: the cap of the dataset, which guarantees privacy; the allowance of a project, which divides the
cap; and the allowance of the analyst, which divides the project's allowance.

    statement_of              dataset -> `Statement`: spent and remaining budget, charges in order of time
    require_member_balance    dataset, analyst -> `MemberBalance`: min(cap - spent, allowances - payments)
    pay_from_allowances       pays a charge from both allowances, or refuses it

Amounts are whole billionths of epsilon or rho.

Formal guarantees: a charge by a member is paid from all three limits in one transaction, or from none, so no sum of
charges exceeds a limit. Rows have a keyed hash, so a row that was changed without the key is refused. No record is
read.
"""

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
    """Remaining budget of an analyst under three limits, at one time.

    Attributes:
        account: Balance of the dataset, whose cap guarantees privacy.
        project: Balance of the project's allowance.
        analyst: Balance of the analyst's allowance.
    """

    account: Balance
    project: AllowanceBalance
    analyst: AllowanceBalance

    @property
    def remaining(self) -> Amount:
        """Amount that the analyst may still spend: the smallest remaining amount of analyst, project and dataset."""
        remaining = (self.account.remaining, self.project.remaining, self.analyst.remaining)
        return min(remaining, key=lambda amount: amount.billionths)


def require_member_balance(chain: Chain, dataset: str, member: Member) -> MemberBalance:
    """Return the balances that limit an analyst: of the dataset, of the project and of the analyst.

    Args:
        chain: Open transaction of the ledger.
        dataset: Name of the dataset.
        member: Project and analyst.

    Raises:
        ValueError: the account or an allowance is missing, or was changed without the key.
    """
    account = require_balance(chain, dataset)
    return MemberBalance(account, *require_allowances(chain, dataset, member.project, member.analyst))


def pay_from_allowances(chain: Chain, charge: Charge, grant: Grant, member: Member) -> None:
    """Pay for a grant from the allowances of the project and of the analyst, and record who paid.

    Args:
        chain: Open transaction of the ledger.
        charge: Account, amount and purpose.
        grant: The grant, of this ledger.
        member: Project and analyst who pay.

    Raises:
        BudgetExceeded: an allowance is too small. The transaction must be rolled back.
        ValueError: an allowance is missing, or its spent amount is not the sum of its payments.
    """
    dataset = charge.account.dataset
    for balance in require_allowances(chain, dataset, member.project, member.analyst):
        require_paid(chain, balance)
        write_spent(chain, balance.with_charge(charge.price, charge.purpose))
    chain.append(PAYMENTS, grant=grant.id, dataset=dataset, amount=charge.price.billionths, **asdict(member))


def require_paid_by(chain: Chain, grant: Grant, member: Member) -> None:
    """Refuse a grant that was paid by another project than the member's, or by none.

    Args:
        chain: Open transaction of the ledger.
        grant: The grant, of this ledger.
        member: Project and analyst.

    Raises:
        ValueError: another project or none has paid, or the row was changed without the key.
    """
    row = chain.find_row(PAYMENTS, grant=grant.id)
    if row is None or row["project"] != member.project:
        raise InvalidArgument(
            "request", f"{grant.request!r} was not paid by project {member.project!r}; name a request of this project"
        )


def payers_of(chain: Chain, dataset: str) -> dict[int, Member]:
    """Return which project and analyst paid for each grant of a dataset, by the number of the grant.

    Grants that were charged to the cap of the dataset alone are omitted.

    Args:
        chain: Open transaction of the ledger.
        dataset: Name of the dataset.

    Raises:
        ValueError: a row was changed without the key.
    """
    rows = chain.read_rows(PAYMENTS, select(PAYMENTS).where(PAYMENTS.c.dataset == dataset))
    return {row["grant"]: Member(row["project"], row["analyst"]) for row in rows}


@dataclass(frozen=True, slots=True)
class StatementLine:
    """One charge on a statement.

    Attributes:
        id: Entry number in the ledger.
        request: Request id of the question.
        purpose: The question in words.
        loss: Exact privacy loss that was charged.
        price: Loss in the currency of the account, rounded up to a whole billionth.
        units: Number of units, if it is public.
        when: Time of the charge, in UTC and ISO 8601.
        member: Member whose allowances paid; None: the cap of the dataset alone.
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
    """An account with its charges, at one time.

    Attributes:
        account: Terms of the dataset.
        spent: Sum of its grants.
        remaining: Amount that may still be spent.
        grants: Charges in order of time.
        allowances: Current allowances, each project before its analysts.
    """

    account: Account
    spent: Amount
    remaining: Amount
    grants: tuple[StatementLine, ...]
    allowances: tuple[AllowanceBalance, ...]


def statement_of(chain: Chain, dataset: str) -> Statement:
    """Return the statement of one account: spent and remaining budget, charges in order of time, allowances.

    Args:
        chain: Open transaction of the ledger.
        dataset: Name of the dataset.

    Raises:
        ValueError: the dataset has no account, or a row was changed without the key.
    """
    balance = require_balance(chain, dataset)
    query = select(GRANTS).where(GRANTS.c.dataset == dataset).order_by(GRANTS.c.entry)
    payers = payers_of(chain, dataset)
    charges = []
    for row in chain.read_rows(GRANTS, query):
        grant = grant_of(row)
        price = Amount(balance.account.currency, row["amount"])
        facts = (row["purpose"], grant.loss, price, row["units"], row["charged_at"])
        charges.append(StatementLine(grant.id, grant.request, *facts, payers.get(grant.id)))
    return Statement(balance.account, balance.spent, balance.remaining, tuple(charges), allowances_of(chain, dataset))
