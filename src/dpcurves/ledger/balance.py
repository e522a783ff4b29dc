"""The spent and the remaining budget of an account."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlalchemy import RowMapping, select, update

from ..arguments import Refused
from ..privacy import Neighbours, Unit
from .account import Account, BudgetExceeded
from .amount import BILLION, Amount, Currency
from .chain import Chain
from .schema import ACCOUNTS


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
