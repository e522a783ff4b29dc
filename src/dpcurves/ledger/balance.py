"""Spent and remaining budget of an account, and of the allowances of projects and analysts.

    remaining = limit - spent      in whole billionths of epsilon or rho

A `Balance` belongs to the account of a dataset, whose limit is the cap. An `AllowanceBalance` belongs to a project, or
to an analyst of a project. `Spending.with_charge` raises `BudgetExceeded` if a charge exceeds what remains, and then
changes nothing. The spent amount is stored with a seal. `Spending.sum_payments` adds up all payments again, so that
verification can compare both.

Formal guarantees: balances are read and written in the transaction that holds the lock of the ledger, so no two charges
see the same remaining budget. Balances are public facts of charges; no record is read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from sqlalchemy import ColumnElement, RowMapping, Select, Table, Update, bindparam, func, select, update

from ..arguments import InvalidArgument
from ..privacy import Neighbours, Unit
from . import account as accounts
from .chain import ACCOUNTS, ALLOWANCES, GRANTS, PAYMENTS, Chain, make_tampering_error

Owner = tuple[str, ...]
"""Names that identify a limit: a dataset; or a dataset, a project, and an analyst or `WHOLE_PROJECT`."""
_COLUMNS = ("dataset", "project", "analyst")
"""Columns of the database that hold the names of a limit's owner: of a dataset, or of a project or analyst of it."""


class Spending(ABC):
    """A limit, and how much of it is spent, at one time.

    Attributes:
        TABLE: Database table of the limits.
        PAID_IN: Database table of the payments.
        ARGUMENT: Name of the limit in error messages.
        limit: Total that may be spent.
        spent: Amount spent. It never decreases.
    """

    __slots__ = ()

    TABLE: ClassVar[Table]
    PAID_IN: ClassVar[Table]
    ARGUMENT: ClassVar[str]

    if TYPE_CHECKING:

        @property
        def limit(self) -> accounts.Amount:
            """Largest amount that may be spent in total: the cap of an account, or the allowance of a project or
            analyst.
            """
            ...

        @property
        def spent(self) -> accounts.Amount:
            """Amount spent so far, in the account's currency."""
            ...

    @property
    @abstractmethod
    def owner(self) -> Owner:
        """Names that identify whose budget this is: a dataset, or a dataset, a project and an analyst."""

    @property
    @abstractmethod
    def mismatch_message(self) -> str:
        """Error text for a spent amount that differs from the sum of its payments."""

    @property
    def owner_suffix(self) -> str:
        """Return the text that names whose budget a remaining amount is; empty for the account of a dataset."""
        return ""

    @property
    def remaining(self) -> accounts.Amount:
        """Amount that may still be spent: limit minus spent. An allowance is also limited by the account's cap."""
        return accounts.Amount(self.spent.currency, self.limit.billionths - self.spent.billionths)

    def with_charge(self, price: accounts.Amount, purpose: str) -> Self:
        """Compute the balance after a charge, and refuse a charge that exceeds the remaining amount. Nothing is
        written.

        Args:
            price: Amount of the charge.
            purpose: The question in words, for the message.

        Raises:
            BudgetExceeded: less than the amount remains.
        """
        if price.billionths > self.remaining.billionths:
            remaining = f"{self.remaining.digits} of {self.limit.digits} is left{self.owner_suffix}"
            raise accounts.BudgetExceeded(self.ARGUMENT, f"{purpose!r} costs {price}; {remaining}")
        balance: Any = self
        return cast(
            "Self", replace(balance, spent=accounts.Amount(price.currency, self.spent.billionths + price.billionths))
        )

    def sum_payments(self, chain: Chain) -> int:
        """Return the sum of all payments from this limit, in billionths of its currency; 0 without payments.

        Args:
            chain: Chain of the ledger, inside a transaction.
        """
        values = {name: value for name, value in zip(_COLUMNS, self.owner, strict=False) if value}
        return int(chain.connection.execute(_select_sum(self.PAID_IN, tuple(values)), values).scalar_one())


@lru_cache(maxsize=8)
def _select_sum(table: Table, names: tuple[str, ...]) -> Select[Any]:
    """Return the SQL statement that adds up all payments of one owner, to compare with the spent amount.

    Args:
        table: Table of payments.
        names: Columns that must equal the parameters of the same names.
    """
    conditions = [table.c[name] == bindparam(name) for name in names]
    return select(func.coalesce(func.sum(table.c.amount), 0)).where(*conditions)


def write_spent(chain: Chain, balance: Spending) -> None:
    """Store the spent amount of an account or allowance, with a new seal (keyed hash), in its owner's last row.

    Args:
        chain: Open writing transaction of the ledger.
        balance: The balance after the charge, as `Spending.with_charge` returns it.
    """
    spent = balance.spent.billionths
    owner = {f"owner_{name}": value for name, value in zip(_COLUMNS, balance.owner, strict=False)}
    chain.connection.execute(
        _update_last(balance.TABLE, len(owner)),
        {**owner, "spent": spent, "seal": chain.seal_spent(balance.owner, spent)},
    )


@lru_cache(maxsize=4)
def _update_last(table: Table, number: int) -> Update:
    """Return the SQL statement that updates the spent amount in the last row of an owner.

    SQLAlchemy would take a parameter with the name of a column for a new value, so the owner's parameters have a
    prefix.

    Args:
        table: Table of accounts or allowances.
        number: Number of names that identify an owner: 1 or 3.
    """
    conditions = [table.c[name] == bindparam(f"owner_{name}") for name in _COLUMNS[:number]]
    last_entry = select(table.c.entry).where(*conditions).order_by(table.c.entry.desc()).limit(1)
    return update(table).where(table.c.entry == last_entry.scalar_subquery())


def _match_owner(table: Table, owner: Owner) -> list[ColumnElement[bool]]:
    """Return the SQL conditions that select the rows of an owner in a table.

    Args:
        table: Database table with columns for the owner.
        owner: Names of dataset, project and analyst, or the first of them.
    """
    return [table.c[name] == value for name, value in zip(_COLUMNS, owner, strict=False)]


@dataclass(frozen=True, slots=True)
class Balance(Spending):
    """Spent and remaining budget of the account of a dataset, at one time.

    Attributes:
        account: Terms of the account, with its cap.
        spent: Sum of all charges.
    """

    TABLE = ACCOUNTS
    PAID_IN = GRANTS
    ARGUMENT = "budget"

    account: accounts.Account
    spent: accounts.Amount

    @property
    def limit(self) -> accounts.Amount:
        """Cap of the account, as an amount in its currency."""
        return self.account.limit

    @property
    def owner(self) -> Owner:
        """Owner of the budget as a key of the ledger: the name of the dataset, as a tuple of one."""
        return (self.account.dataset,)

    @property
    def mismatch_message(self) -> str:
        """Error text for a dataset whose spent budget is not the sum of its grants."""
        return f"the spent budget of {self.account.dataset!r} is not the sum of its grants"


def open_balance(chain: Chain, account: accounts.Account) -> None:
    """Append the account of a dataset to the ledger, with nothing spent yet.

    Args:
        chain: Open writing transaction of the ledger.
        account: The account, with the cap of the dataset.
    """
    chain.append(
        ACCOUNTS,
        dataset=account.dataset,
        neighbours=account.neighbours.value,
        unit_column=account.unit.column,
        unit_records=account.unit.records,
        currency=accounts.join_delta(account.currency.value, account.cap.delta),
        cap=account.limit.billionths,
        spent=0,
        seal=chain.seal_spent((account.dataset,), 0),
    )


def find_balance(chain: Chain, dataset: str) -> Balance | None:
    """Return the balance (cap and spent budget) of a dataset, or None if it has no account.

    Args:
        chain: Chain of the ledger, inside a transaction.
        dataset: Name of the dataset in the ledger.

    Raises:
        ValueError: the account was changed without the key.
    """
    row = chain.find_row(ACCOUNTS, dataset=dataset)
    return None if row is None else _parse_balance(chain, row)


def all_balances(chain: Chain) -> tuple[Balance, ...]:
    """Return the balances of all accounts in the order of their creation; empty without accounts.

    Args:
        chain: Chain of the ledger, inside a transaction.

    Raises:
        ValueError: an account was changed without the key.
    """
    return tuple(
        _parse_balance(chain, row) for row in chain.read_rows(ACCOUNTS, select(ACCOUNTS).order_by(ACCOUNTS.c.entry))
    )


def require_balance(chain: Chain, dataset: str) -> Balance:
    """Return the spent and remaining budget of a data set's account, authenticated by the key.

    Args:
        chain: Chain of the ledger, inside a transaction.
        dataset: Name of the dataset in the ledger.

    Raises:
        ValueError: the dataset has no account, or the account was changed without the key.
    """
    balance = find_balance(chain, dataset)
    if balance is None:
        raise InvalidArgument(
            "dataset",
            f"this ledger has no account {dataset!r}; open one with `dpcurves ledger create`, or correct the name",
        )
    return balance


def _parse_balance(chain: Chain, row: RowMapping) -> Balance:
    """Return the balance of an account from its database row, after a check of its seal.

    Args:
        chain: Chain of the ledger, inside a transaction.
        row: Row of the accounts.

    Raises:
        InvalidArgument: the seal of the spent amount is wrong.
    """
    if not chain.has_valid_spending((row["dataset"],), row):
        raise make_tampering_error(f"the spent budget of {row['dataset']!r} was changed without the key")
    account = _parse_account(tuple([row[name] for name in _TERMS]))
    return Balance(account, accounts.Amount(account.currency, row["spent"]))


_TERMS = ("dataset", "neighbours", "unit_column", "unit_records", "currency", "cap")
"""Columns of the terms of an account, which never change: parsed accounts are cached by them."""


@lru_cache(maxsize=128)
def _parse_account(terms: tuple[Any, ...]) -> accounts.Account:
    """Parse the terms of an account from its database columns; cached, because each transaction reads them.

    Args:
        terms: Values of the columns, in order.
    """
    dataset, neighbours, unit_column, unit_records, currency, cap = terms
    name, delta = accounts.split_delta(currency)
    limit = accounts.Currency(name).to_loss(Fraction(cap, accounts.BILLION)).with_delta(delta)
    has_bound = unit_records or not unit_column
    unit = Unit(unit_column, unit_records) if has_bound else Unit.with_unknown_bound(unit_column)
    return accounts.Account(dataset, Neighbours(neighbours), unit, limit)


# Allowances of projects and analysts.
#
# The last entry of an owner is the current allowance. It carries over the spent amount of the previous entry, so a new
# allowance returns no budget. The spent amount changes and is sealed separately, as for accounts.


@dataclass(frozen=True, slots=True)
class AllowanceBalance(Spending):
    """Spent and remaining part of an allowance, at one time.

    Attributes:
        dataset: Dataset whose cap is divided.
        project: Project that may spend the allowance.
        analyst: Analyst of the project; None: the whole project.
        limit: The allowance.
        spent: Amount spent. It never decreases.
        rule: Whether sibling allowances may exceed the parent, as declared when this allowance was set.
        when: Time at which the allowance was set, in UTC and ISO 8601.
    """

    TABLE = ALLOWANCES
    PAID_IN = PAYMENTS
    ARGUMENT = "allowance"

    dataset: str
    project: str
    analyst: str | None
    limit: accounts.Amount
    spent: accounts.Amount
    rule: accounts.AllowanceRule
    when: str

    @property
    def owner(self) -> Owner:
        """Owner of the allowance as a key of the ledger: dataset, project and analyst.

        The project's own allowance has `WHOLE_PROJECT` instead of an analyst.
        """
        return (self.dataset, self.project, accounts.WHOLE_PROJECT if self.analyst is None else self.analyst)

    @property
    def owner_label(self) -> str:
        """Owner of the allowance in words: the project, or the analyst in the project."""
        project = f"project {self.project!r}"
        return project if self.analyst is None else f"analyst {self.analyst!r} of {project}"

    @property
    def mismatch_message(self) -> str:
        """Error text for an allowance whose spent amount is not the sum of its payments."""
        return f"the spent allowance of {self.owner_label} in {self.dataset!r} is not the sum of its payments"

    @property
    def owner_suffix(self) -> str:
        """Text " to ..." for messages, which names the project or analyst whose allowance a remaining amount is."""
        return f" to {self.owner_label}"


def allowances_of(chain: Chain, dataset: str) -> tuple[AllowanceBalance, ...]:
    """Return the current allowances of a dataset, each project before its analysts.

    Args:
        chain: Chain of the ledger, inside a transaction.
        dataset: Name of the dataset in the ledger.

    Returns:
        Allowances by name of project, then of analyst; empty without allowances.

    Raises:
        ValueError: an allowance was changed without the key.
    """
    balances = _current_allowances(chain, select(ALLOWANCES).where(ALLOWANCES.c.dataset == dataset))
    return tuple(sorted(balances.values(), key=lambda balance: balance.owner))


def every_allowance(chain: Chain) -> tuple[AllowanceBalance, ...]:
    """Return all current allowances of the ledger. The rows that they replaced are verified as well.

    Args:
        chain: Chain of the ledger, inside a transaction.

    Returns:
        Allowances in the order in which their owners got a first one; empty without allowances.

    Raises:
        ValueError: an allowance was changed without the key.
    """
    return tuple(_current_allowances(chain, select(ALLOWANCES)).values())


def require_allowances(
    chain: Chain, dataset: str, project: str, analyst: str
) -> tuple[AllowanceBalance, AllowanceBalance]:
    """Return the allowances of a project and of one of its analysts.

    Args:
        chain: Open transaction of the ledger.
        dataset: Name of the dataset.
        project: Name of the project.
        analyst: Name of the analyst.

    Returns:
        Allowance of the project, then the analyst's allowance, each with the spent loss.

    Raises:
        ValueError: an allowance is missing, or was changed without the key.
    """
    conditions = (
        *_match_owner(ALLOWANCES, (dataset, project)),
        ALLOWANCES.c.analyst.in_([accounts.WHOLE_PROJECT, analyst]),
    )
    balances = _current_allowances(chain, select(ALLOWANCES).where(*conditions))
    project_balance = balances.get((dataset, project, accounts.WHOLE_PROJECT))
    analyst_balance = balances.get((dataset, project, analyst))
    if project_balance is None:
        raise accounts.NoAllowance(
            "project", f"{project!r} has no allowance in {dataset!r}; ask the keeper of the ledger to set one"
        )
    if analyst_balance is None:
        raise accounts.NoAllowance(
            "analyst",
            f"{analyst!r} has no allowance in project {project!r} of {dataset!r};"
            " ask the keeper of the ledger to set one",
        )
    return project_balance, analyst_balance


def find_allowance(chain: Chain, allowance: accounts.Allowance) -> AllowanceBalance | None:
    """Return the current allowance of a project or analyst with its spent amount; None if none was set.

    Args:
        chain: Open transaction of the ledger.
        allowance: Any allowance of this dataset, project and analyst; its amount is ignored.
    """
    owner = _owner(allowance)
    return _current_allowances(chain, select(ALLOWANCES).where(*_match_owner(ALLOWANCES, owner))).get(owner)


def set_allowance(chain: Chain, allowance: accounts.Allowance, rule: accounts.AllowanceRule) -> None:
    """Write an allowance in place of the owner's current one. The spent amount is carried over.

    Args:
        chain: Open transaction of the ledger.
        allowance: The new allowance.
        rule: Whether the allowances within a parent may exceed it in sum.

    Raises:
        ValueError: the account or the project's allowance is missing; the allowance exceeds its parent, or is less than
            was spent or than one of its parts; or siblings exceed the parent in sum and the rule forbids it.
    """
    account = require_balance(chain, allowance.dataset)
    current = {balance.owner: balance for balance in allowances_of(chain, allowance.dataset)}
    owner = _owner(allowance)
    limit = allowance.limit(account.account)
    previous = current.get(owner)
    spent = 0 if previous is None else previous.spent.billionths
    if previous is not None and limit.billionths < spent:
        raise InvalidArgument(
            "allowance", f"{previous.owner_label} has already spent more than {limit}; set at least what is spent"
        )
    _require_room(account, current.values(), owner, limit, rule)
    chain.append(
        ALLOWANCES,
        **dict(zip(_COLUMNS, owner, strict=True)),
        currency=limit.currency.value,
        cap=limit.billionths,
        rule=rule.value,
        set_at=datetime.now(UTC).isoformat(timespec="seconds"),
        spent=spent,
        seal=chain.seal_spent(owner, spent),
    )


def _owner(allowance: accounts.Allowance) -> Owner:
    """Return who owns an allowance, as a key of the ledger: dataset, project and analyst.

    Args:
        allowance: The allowance.
    """
    return (allowance.dataset, allowance.project, allowance.analyst or accounts.WHOLE_PROJECT)


def _require_room(
    account: Balance,
    current: Iterable[AllowanceBalance],
    owner: Owner,
    limit: accounts.Amount,
    rule: accounts.AllowanceRule,
) -> None:
    """Refuse an allowance that exceeds its parent, together with its siblings, or is less than the allowances within
    it.

    Args:
        account: Balance of the whole account.
        current: Balances of all allowances of the account.
        owner: Data set, project and analyst of the new allowance.
        limit: The new allowance.
        rule: Whether allowances may exceed their parent in sum.

    Raises:
        InvalidArgument: names what the allowance does not fit, and what to set first.
    """
    siblings = [balance for balance in current if balance.owner != owner]
    project = next((balance for balance in siblings if balance.owner == (*owner[:2], accounts.WHOLE_PROJECT)), None)
    analyst_limits = [
        balance.limit.billionths for balance in siblings if balance.project == owner[1] and balance.analyst is not None
    ]
    if owner[2] != accounts.WHOLE_PROJECT:
        if project is None:
            raise InvalidArgument(
                "project", f"{owner[1]!r} has no allowance; set the one of the project before those of its analysts"
            )
        _require_parts([limit.billionths, *analyst_limits], project.limit, project.owner_label, rule)
    else:
        project_limits = [balance.limit.billionths for balance in siblings if balance.analyst is None]
        _require_parts([limit.billionths, *project_limits], account.account.limit, f"dataset {owner[0]!r}", rule)
        _require_parts(analyst_limits, limit, f"project {owner[1]!r}", rule)


def _require_parts(
    allowances: Collection[int], whole: accounts.Amount, words: str, rule: accounts.AllowanceRule
) -> None:
    """Refuse allowances that exceed the amount that contains them, singly or, unless the rule allows it, in sum.

    Args:
        allowances: Allowances in billionths.
        whole: Amount that contains them.
        words: Description of the whole, for the message.
        rule: Whether the sum may exceed `whole`.

    Raises:
        InvalidArgument: an allowance or the sum is too large.
    """
    if max(allowances, default=0) > whole.billionths:
        raise InvalidArgument(
            "allowance", f"an allowance must not exceed the {whole} of {words}, which contains it; set less"
        )
    if sum(allowances) > whole.billionths and rule is accounts.AllowanceRule.WITHIN:
        total = accounts.Amount(whole.currency, sum(allowances)).digits
        raise InvalidArgument(
            "allowance",
            f"the allowances in {words} add up to {total} of {whole}; set less, or allow that with the rule 'may "
            "exceed'",
        )


def _current_allowances(chain: Chain, query: Select[Any]) -> dict[Owner, AllowanceBalance]:
    """Return the current allowance of each owner: the last one among the rows of a query.

    Args:
        chain: Chain of the ledger, inside a transaction.
        query: Selects rows of the allowances.

    Returns:
        The allowance by its owner, a tuple of dataset, project and analyst.

    Raises:
        ValueError: an allowance was changed without the key.
    """
    rows = chain.read_rows(ALLOWANCES, query.order_by(ALLOWANCES.c.entry))
    return {balance.owner: balance for balance in (_parse_allowance(chain, row) for row in rows)}


def _parse_allowance(chain: Chain, row: RowMapping) -> AllowanceBalance:
    """Return the balance of an allowance from its database row, after a check of its seal.

    Args:
        chain: Chain of the ledger, inside a transaction.
        row: Row of the allowances.

    Raises:
        InvalidArgument: the seal of the spent amount is wrong.
    """
    dataset, project, analyst = owner = tuple(row[name] for name in _COLUMNS)
    if not chain.has_valid_spending(owner, row):
        raise make_tampering_error(f"the spent amount of an allowance in {dataset!r} was changed without the key")
    limit, spent = (accounts.Amount(accounts.Currency(row["currency"]), row[name]) for name in ("cap", "spent"))
    rule = accounts.AllowanceRule(row["rule"])
    return AllowanceBalance(dataset, project, analyst or None, limit, spent, rule, row["set_at"])
