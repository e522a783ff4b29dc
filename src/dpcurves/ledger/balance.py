"""The spent and the remaining budget of an account, and of an allowance of a project or an analyst."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction

from sqlalchemy import RowMapping, Select, select, update

from ..arguments import Refused
from ..privacy import Neighbours, Unit
from .account import WHOLE_PROJECT, Account, Allowance, BudgetExceeded, NoAllowance, Together
from .amount import BILLION, Amount, Currency
from .chain import Chain
from .database import ACCOUNTS, ALLOWANCES

# The spent and the remaining budget of an account.


@dataclass(frozen=True, slots=True)
class Balance:
    """The spent and the remaining budget of an account, at one moment."""

    account: Account
    spent: Amount

    @property
    def left(self) -> Amount:
        """The remaining budget."""
        return Amount(self.spent.currency, self.account.limit.billionths - self.spent.billionths)

    def after(self, price: Amount, purpose: str) -> Balance:
        """The account once `price` is paid.

        Raises:
            BudgetExceeded: less than that is left.
        """
        if price.billionths > self.left.billionths:
            raise BudgetExceeded(
                "budget", f"{purpose!r} asks for {price}; {self.left.digits} of {self.account.limit.digits} is left"
            )
        return Balance(self.account, Amount(price.currency, self.spent.billionths + price.billionths))


def open_balance(chain: Chain, account: Account) -> None:
    """Enter a new account that has spent nothing."""
    chain.append(
        ACCOUNTS,
        {
            "dataset": account.dataset,
            "neighbours": account.neighbours.value,
            "unit_column": account.unit.column,
            "unit_records": account.unit.records,
            "currency": account.currency.value,
            "cap": account.limit.billionths,
            "spent": 0,
            "seal": chain.seal_spent(account.dataset, 0),
        },
    )


def find_balance(chain: Chain, dataset: str) -> Balance | None:
    """The account of `dataset`, if there is one.

    Raises:
        ValueError: it was changed without the key.
    """
    row = chain.connection.execute(select(ACCOUNTS).where(ACCOUNTS.c.dataset == dataset)).mappings().first()
    return None if row is None else _checked(chain, row)


def all_balances(chain: Chain) -> tuple[Balance, ...]:
    """Balances of every account, in the order in which they were opened."""
    rows = chain.connection.execute(select(ACCOUNTS).order_by(ACCOUNTS.c.entry)).mappings()
    return tuple(_checked(chain, row) for row in rows)


def require_balance(chain: Chain, dataset: str) -> Balance:
    """The account of `dataset`.

    Raises:
        ValueError: there is none, or it was changed without the key.
    """
    balance = find_balance(chain, dataset)
    if balance is None:
        raise Refused("dataset", f"this ledger has no account {dataset!r}")
    return balance


def write_balance(chain: Chain, balance: Balance) -> None:
    """Write what an account has spent by now."""
    dataset, spent = balance.account.dataset, balance.spent.billionths
    chain.connection.execute(
        update(ACCOUNTS).where(ACCOUNTS.c.dataset == dataset),
        {"spent": spent, "seal": chain.seal_spent(dataset, spent)},
    )


def _checked(chain: Chain, row: RowMapping) -> Balance:
    chain.require(ACCOUNTS, row)
    if not chain.is_spent(row):
        raise Refused("ledger", f"what {row['dataset']!r} has spent was changed without the key")
    currency = Currency(row["currency"])
    cap = currency.loss(Fraction(row["cap"], BILLION))
    unit = Unit(row["unit_column"], row["unit_records"])
    account = Account(row["dataset"], Neighbours(row["neighbours"]), unit, cap)
    return Balance(account, Amount(currency, row["spent"]))


# The spent and the remaining part of an allowance of a project or an analyst.
#
# The last entry for its owner is the allowance that stands. What was spent goes on from one entry to the next, so that
# a new allowance gives nothing back. It changes, and is sealed apart, as what an account has spent.


Owner = tuple[str, str, str]
"""Dataset, project, and analyst or `WHOLE_PROJECT`."""


@dataclass(frozen=True, slots=True)
class AllowanceBalance:
    """The spent and the remaining part of an allowance, at one moment.

    Attributes:
        dataset: Whose cap it is a part of.
        project: Who may spend it.
        analyst: One of the project; None: all of them together.
        limit: The allowance.
        spent: What was spent of it: nothing of that ever comes back.
        together: What was said of the allowances beside it when it was set.
        when: The time at which it was set, in UTC and ISO 8601.
    """

    dataset: str
    project: str
    analyst: str | None
    limit: Amount
    spent: Amount
    together: Together
    when: str

    @property
    def left(self) -> Amount:
        """The remaining part, as far as others leave so much."""
        return Amount(self.spent.currency, self.limit.billionths - self.spent.billionths)

    @property
    def owner(self) -> Owner:
        """Whose it is, as a ledger has it."""
        return (self.dataset, self.project, WHOLE_PROJECT if self.analyst is None else self.analyst)

    @property
    def words(self) -> str:
        """Whose it is."""
        project = f"project {self.project!r}"
        return project if self.analyst is None else f"analyst {self.analyst!r} of {project}"

    def after(self, price: Amount, purpose: str) -> AllowanceBalance:
        """The allowance once `price` is paid.

        Raises:
            BudgetExceeded: less than that is left.
        """
        if price.billionths > self.left.billionths:
            left = f"{self.left.digits} of {self.limit.digits} is left to {self.words}"
            raise BudgetExceeded("allowance", f"{purpose!r} asks for {price}; {left}")
        return replace(self, spent=Amount(price.currency, self.spent.billionths + price.billionths))


def allowances_of(chain: Chain, dataset: str) -> tuple[AllowanceBalance, ...]:
    """The allowances of a dataset that stand, each project before its analysts.

    Raises:
        ValueError: one was changed without the key.
    """
    found = _last(chain, select(ALLOWANCES).where(ALLOWANCES.c.dataset == dataset))
    return tuple(sorted(found.values(), key=lambda each: each.owner))


def every_allowance(chain: Chain) -> tuple[AllowanceBalance, ...]:
    """The current allowances; replaced ones are verified as well.

    Raises:
        ValueError: one was changed without the key.
    """
    return tuple(_last(chain, select(ALLOWANCES)).values())


def require_allowances(
    chain: Chain, dataset: str, project: str, analyst: str
) -> tuple[AllowanceBalance, AllowanceBalance]:
    """The allowance of a project and that of an analyst of it.

    Raises:
        ValueError: there is none, or one was changed without the key.
    """
    wanted = (ALLOWANCES.c.dataset == dataset, ALLOWANCES.c.project == project)
    found = _last(chain, select(ALLOWANCES).where(*wanted, ALLOWANCES.c.analyst.in_([WHOLE_PROJECT, analyst])))
    whole, own = found.get((dataset, project, WHOLE_PROJECT)), found.get((dataset, project, analyst))
    if whole is None:
        raise NoAllowance("project", f"{project!r} has no allowance in {dataset!r}")
    if own is None:
        raise NoAllowance("analyst", f"{analyst!r} has no allowance in project {project!r} of {dataset!r}")
    return whole, own


def find_allowance(chain: Chain, allowance: Allowance) -> AllowanceBalance | None:
    """The current allowance of an owner, or None."""
    owner = _owner(allowance)
    columns = (ALLOWANCES.c.dataset, ALLOWANCES.c.project, ALLOWANCES.c.analyst)
    wanted = (column == name for column, name in zip(columns, owner, strict=True))
    return _last(chain, select(ALLOWANCES).where(*wanted)).get(owner)


def set_allowance(chain: Chain, allowance: Allowance, together: Together) -> None:
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
        raise Refused("allowance", f"{before.words} has spent more than {limit} of it already")
    _require_room(account, standing.values(), owner, limit, together)
    chain.append(
        ALLOWANCES,
        {
            **dict(zip(("dataset", "project", "analyst"), owner, strict=True)),
            "currency": limit.currency.value,
            "most": limit.billionths,
            "together": together.value,
            "set_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "spent": spent,
            "seal": chain.seal_allowance(owner, spent),
        },
    )


def write_allowance(chain: Chain, balance: AllowanceBalance) -> None:
    """Write what was spent of an allowance by now."""
    dataset, project, analyst = balance.owner
    mine = (ALLOWANCES.c.dataset == dataset, ALLOWANCES.c.project == project, ALLOWANCES.c.analyst == analyst)
    last = select(ALLOWANCES.c.entry).where(*mine).order_by(ALLOWANCES.c.entry.desc()).limit(1).scalar_subquery()
    spent = balance.spent.billionths
    chain.connection.execute(
        update(ALLOWANCES).where(ALLOWANCES.c.entry == last),
        {"spent": spent, "seal": chain.seal_allowance(balance.owner, spent)},
    )


def _owner(allowance: Allowance) -> Owner:
    return (allowance.dataset, allowance.project, allowance.analyst or WHOLE_PROJECT)


def _require_room(
    account: Balance, standing: Iterable[AllowanceBalance], owner: Owner, limit: Amount, together: Together
) -> None:
    """Refuse an allowance that does not fit above, beside or below the others."""
    others = [each for each in standing if each.owner != owner]
    project = next((each for each in others if each.owner == (*owner[:2], WHOLE_PROJECT)), None)
    within = [each.limit.billionths for each in others if each.project == owner[1] and each.analyst is not None]
    if owner[2] != WHOLE_PROJECT:
        if project is None:
            raise Refused("project", f"{owner[1]!r} has no allowance yet of which an analyst's is a part")
        _require_parts([limit.billionths, *within], project.limit, project.words, together)
    else:
        beside = [each.limit.billionths for each in others if each.analyst is None]
        _require_parts([limit.billionths, *beside], account.account.limit, f"dataset {owner[0]!r}", together)
        _require_parts(within, limit, f"project {owner[1]!r}", together)


def _require_parts(parts: Collection[int], whole: Amount, words: str, together: Together) -> None:
    if max(parts, default=0) > whole.billionths:
        raise Refused("allowance", f"one is more than the {whole} of {words}, which it is a part of")
    if sum(parts) > whole.billionths and together is Together.WITHIN:
        total = Amount(whole.currency, sum(parts)).digits
        raise Refused("allowance", f"those in {words} add up to {total} of {whole}; say that they may exceed it")


def _last(chain: Chain, query: Select[tuple[object, ...]]) -> dict[Owner, AllowanceBalance]:
    rows = chain.connection.execute(query.order_by(ALLOWANCES.c.entry)).mappings()
    return {balance.owner: balance for balance in (_checked_allowance(chain, row) for row in rows)}


def _checked_allowance(chain: Chain, row: RowMapping) -> AllowanceBalance:
    chain.require(ALLOWANCES, row)
    owner = (row["dataset"], row["project"], row["analyst"])
    if not chain.is_of_allowance(owner, row):
        raise Refused("ledger", f"what was spent of an allowance in {row['dataset']!r} was changed without the key")
    currency = Currency(row["currency"])
    most, spent = Amount(currency, row["most"]), Amount(currency, row["spent"])
    analyst = None if row["analyst"] == WHOLE_PROJECT else row["analyst"]
    return AllowanceBalance(
        row["dataset"], row["project"], analyst, most, spent, Together(row["together"]), row["set_at"]
    )
