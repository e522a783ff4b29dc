"""The spent and the remaining budget of an account, and of an allowance of a project or an analyst."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from sqlalchemy import ColumnElement, RowMapping, Select, Table, func, select, update

from ..arguments import InvalidArgument
from ..privacy import Neighbours, Unit
from . import account as accounts
from .chain import ACCOUNTS, ALLOWANCES, GRANTS, PAYMENTS, Chain

Owner = tuple[str, ...]
"""A dataset; or for an allowance a dataset, a project, and an analyst or `WHOLE_PROJECT`."""
_COLUMNS = ("dataset", "project", "analyst")


class Spending(ABC):
    """The spent and the remaining part of a limit, at one moment.

    Attributes:
        TABLE: Where it is written.
        PAID_IN: Where it is written what was paid from it.
        ARGUMENT: Its name in refusals.
        limit: What may be spent in all.
        spent: What was spent of it: nothing of that ever comes back.
    """

    __slots__ = ()

    TABLE: ClassVar[Table]
    PAID_IN: ClassVar[Table]
    ARGUMENT: ClassVar[str]

    if TYPE_CHECKING:

        @property
        def limit(self) -> accounts.Amount: ...

        @property
        def spent(self) -> accounts.Amount: ...

    @property
    @abstractmethod
    def owner(self) -> Owner:
        """Whose it is, as a ledger has it."""

    @property
    @abstractmethod
    def mismatch_message(self) -> str:
        """The words of an error: what was spent is not what was paid."""

    @property
    def owner_suffix(self) -> str:
        """Words behind what is left: to whom it is; empty for an account."""
        return ""

    @property
    def remaining(self) -> accounts.Amount:
        """The remaining part; of an allowance, as far as others leave so much."""
        return accounts.Amount(self.spent.currency, self.limit.billionths - self.spent.billionths)

    def with_charge(self, price: accounts.Amount, purpose: str) -> Self:
        """Balance once `price` is paid.

        Raises:
            BudgetExceeded: less than that is left.
        """
        if price.billionths > self.remaining.billionths:
            left = f"{self.remaining.digits} of {self.limit.digits} is left{self.owner_suffix}"
            raise accounts.BudgetExceeded(self.ARGUMENT, f"{purpose!r} costs {price}; {left}")
        before: Any = self
        return cast(
            "Self", replace(before, spent=accounts.Amount(price.currency, self.spent.billionths + price.billionths))
        )

    @property
    def payments_query(self) -> Select[Any]:
        """The query for the sum of all that was paid from it."""
        mine = [self.PAID_IN.c[name] == each for name, each in zip(_COLUMNS, self.owner, strict=False) if each]
        return select(func.coalesce(func.sum(self.PAID_IN.c.amount), 0)).where(*mine)


def write_spent(chain: Chain, after: Spending) -> None:
    """Write what was spent by now, in the last entry of its owner."""
    table, spent = after.TABLE, after.spent.billionths
    own = select(table.c.entry).where(*_match_owner(table, after.owner)).order_by(table.c.entry.desc()).limit(1)
    chain.connection.execute(
        update(table).where(table.c.entry == own.scalar_subquery()),
        {"spent": spent, "seal": chain.seal_spent(after.owner, spent)},
    )


def _match_owner(table: Table, owner: Owner) -> list[ColumnElement[bool]]:
    return [table.c[name] == each for name, each in zip(_COLUMNS, owner, strict=False)]


@dataclass(frozen=True, slots=True)
class Balance(Spending):
    """The spent and the remaining budget of an account, at one moment."""

    TABLE = ACCOUNTS
    PAID_IN = GRANTS
    ARGUMENT = "budget"

    account: accounts.Account
    spent: accounts.Amount

    @property
    def limit(self) -> accounts.Amount:
        """The cap, in whole billionths."""
        return self.account.limit

    @property
    def owner(self) -> Owner:
        return (self.account.dataset,)

    @property
    def mismatch_message(self) -> str:
        return f"what {self.account.dataset!r} has spent is not what its grants sum to"


def open_balance(chain: Chain, account: accounts.Account) -> None:
    """Enter a new account that has spent nothing."""
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
    """The account of `dataset`, if there is one.

    Raises:
        ValueError: it was changed without the key.
    """
    row = chain.read_first(ACCOUNTS, select(ACCOUNTS).where(ACCOUNTS.c.dataset == dataset))
    return None if row is None else _parse_balance(chain, row)


def all_balances(chain: Chain) -> tuple[Balance, ...]:
    """Balances of every account, in the order in which they were opened."""
    return tuple(
        _parse_balance(chain, row) for row in chain.read_rows(ACCOUNTS, select(ACCOUNTS).order_by(ACCOUNTS.c.entry))
    )


def require_balance(chain: Chain, dataset: str) -> Balance:
    """The account of `dataset`.

    Raises:
        ValueError: there is none, or it was changed without the key.
    """
    balance = find_balance(chain, dataset)
    if balance is None:
        raise InvalidArgument("dataset", f"this ledger has no account {dataset!r}")
    return balance


def _parse_balance(chain: Chain, row: RowMapping) -> Balance:
    if not chain.has_valid_spending((row["dataset"],), row):
        raise InvalidArgument("ledger", f"what {row['dataset']!r} has spent was changed without the key")
    told, delta = accounts.split_delta(row["currency"])
    currency = accounts.Currency(told)
    cap = currency.to_loss(Fraction(row["cap"], accounts.BILLION)).with_delta(delta)
    named, records = row["unit_column"], row["unit_records"]
    unit = Unit(named, records) if records or not named else Unit.with_unknown_bound(named)
    account = accounts.Account(row["dataset"], Neighbours(row["neighbours"]), unit, cap)
    return Balance(account, accounts.Amount(currency, row["spent"]))


# The spent and the remaining part of an allowance of a project or an analyst.
#
# The last entry for its owner is the allowance that stands. What was spent goes on from one entry to the next, so that
# a new allowance gives nothing back. It changes, and is sealed apart, as what an account has spent.


@dataclass(frozen=True, slots=True)
class AllowanceBalance(Spending):
    """The spent and the remaining part of an allowance, at one moment.

    Attributes:
        dataset: Whose cap it is a part of.
        project: Who may spend it.
        analyst: One of the project; None: all of them together.
        limit: The allowance.
        spent: What was spent of it: nothing of that ever comes back.
        rule: What was said of the allowances beside it when it was set.
        when: The time at which it was set, in UTC and ISO 8601.
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
        return (self.dataset, self.project, accounts.WHOLE_PROJECT if self.analyst is None else self.analyst)

    @property
    def owner_label(self) -> str:
        """Whose it is."""
        project = f"project {self.project!r}"
        return project if self.analyst is None else f"analyst {self.analyst!r} of {project}"

    @property
    def mismatch_message(self) -> str:
        return f"what {self.owner_label} has spent in {self.dataset!r} is not what was paid"

    @property
    def owner_suffix(self) -> str:
        return f" to {self.owner_label}"


def allowances_of(chain: Chain, dataset: str) -> tuple[AllowanceBalance, ...]:
    """The allowances of a dataset that stand, each project before its analysts.

    Raises:
        ValueError: one was changed without the key.
    """
    found = _current_allowances(chain, select(ALLOWANCES).where(ALLOWANCES.c.dataset == dataset))
    return tuple(sorted(found.values(), key=lambda each: each.owner))


def every_allowance(chain: Chain) -> tuple[AllowanceBalance, ...]:
    """The current allowances; replaced ones are verified as well.

    Raises:
        ValueError: one was changed without the key.
    """
    return tuple(_current_allowances(chain, select(ALLOWANCES)).values())


def require_allowances(
    chain: Chain, dataset: str, project: str, analyst: str
) -> tuple[AllowanceBalance, AllowanceBalance]:
    """The allowance of a project and that of an analyst of it.

    Raises:
        ValueError: there is none, or one was changed without the key.
    """
    wanted = (
        *_match_owner(ALLOWANCES, (dataset, project)),
        ALLOWANCES.c.analyst.in_([accounts.WHOLE_PROJECT, analyst]),
    )
    found = _current_allowances(chain, select(ALLOWANCES).where(*wanted))
    whole, own = found.get((dataset, project, accounts.WHOLE_PROJECT)), found.get((dataset, project, analyst))
    if whole is None:
        raise accounts.NoAllowance("project", f"{project!r} has no allowance in {dataset!r}")
    if own is None:
        raise accounts.NoAllowance("analyst", f"{analyst!r} has no allowance in project {project!r} of {dataset!r}")
    return whole, own


def find_allowance(chain: Chain, allowance: accounts.Allowance) -> AllowanceBalance | None:
    """The current allowance of an owner, or None."""
    owner = _owner(allowance)
    return _current_allowances(chain, select(ALLOWANCES).where(*_match_owner(ALLOWANCES, owner))).get(owner)


def set_allowance(chain: Chain, allowance: accounts.Allowance, rule: accounts.AllowanceRule) -> None:
    """Enter an allowance in the place of the one that stood, and go on from what was spent of that.

    Raises:
        ValueError: there is no account, or no project; it is more than what it is a part of, or less than was spent, or
            than what is a part of it; or allowances beside each other add up to more, and that was not said.
    """
    account = require_balance(chain, allowance.dataset)
    standing, owner = {each.owner: each for each in allowances_of(chain, allowance.dataset)}, _owner(allowance)
    limit, before = allowance.limit(account.account), standing.get(owner)
    spent = 0 if before is None else before.spent.billionths
    if before is not None and limit.billionths < spent:
        raise InvalidArgument("allowance", f"{before.owner_label} has spent more than {limit} of it already")
    _require_room(account, standing.values(), owner, limit, rule)
    chain.append(
        ALLOWANCES,
        **dict(zip(_COLUMNS, owner, strict=True)),
        currency=limit.currency.value,
        most=limit.billionths,
        together=rule.value,
        set_at=datetime.now(UTC).isoformat(timespec="seconds"),
        spent=spent,
        seal=chain.seal_spent(owner, spent),
    )


def _owner(allowance: accounts.Allowance) -> Owner:
    return (allowance.dataset, allowance.project, allowance.analyst or accounts.WHOLE_PROJECT)


def _require_room(
    account: Balance,
    standing: Iterable[AllowanceBalance],
    owner: Owner,
    limit: accounts.Amount,
    rule: accounts.AllowanceRule,
) -> None:
    """Refuse an allowance that does not fit above, beside or below the others."""
    others = [each for each in standing if each.owner != owner]
    project = next((each for each in others if each.owner == (*owner[:2], accounts.WHOLE_PROJECT)), None)
    within = [each.limit.billionths for each in others if each.project == owner[1] and each.analyst is not None]
    if owner[2] != accounts.WHOLE_PROJECT:
        if project is None:
            raise InvalidArgument("project", f"{owner[1]!r} has no allowance yet of which an analyst's is a part")
        _require_parts([limit.billionths, *within], project.limit, project.owner_label, rule)
    else:
        beside = [each.limit.billionths for each in others if each.analyst is None]
        _require_parts([limit.billionths, *beside], account.account.limit, f"dataset {owner[0]!r}", rule)
        _require_parts(within, limit, f"project {owner[1]!r}", rule)


def _require_parts(parts: Collection[int], whole: accounts.Amount, words: str, rule: accounts.AllowanceRule) -> None:
    if max(parts, default=0) > whole.billionths:
        raise InvalidArgument("allowance", f"one is more than the {whole} of {words}, which it is a part of")
    if sum(parts) > whole.billionths and rule is accounts.AllowanceRule.WITHIN:
        total = accounts.Amount(whole.currency, sum(parts)).digits
        raise InvalidArgument(
            "allowance", f"those in {words} add up to {total} of {whole}; say that they may exceed it"
        )


def _current_allowances(chain: Chain, query: Select[Any]) -> dict[Owner, AllowanceBalance]:
    rows = chain.read_rows(ALLOWANCES, query.order_by(ALLOWANCES.c.entry))
    return {balance.owner: balance for balance in (_parse_allowance(chain, row) for row in rows)}


def _parse_allowance(chain: Chain, row: RowMapping) -> AllowanceBalance:
    dataset, project, analyst = owner = tuple(row[name] for name in _COLUMNS)
    if not chain.has_valid_spending(owner, row):
        raise InvalidArgument("ledger", f"what was spent of an allowance in {dataset!r} was changed without the key")
    most, spent = (accounts.Amount(accounts.Currency(row["currency"]), row[name]) for name in ("most", "spent"))
    together = accounts.AllowanceRule(row["together"])
    return AllowanceBalance(dataset, project, analyst or None, most, spent, together, row["set_at"])
