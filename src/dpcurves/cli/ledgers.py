"""Commands for accounts of privacy loss: create, show, verify, and print the head of the hash chain."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from .accounts import account_of, ledger_at, require_lasting
from .promise_options import Payer, Price, Promise
from .terminal import say, terminal

if TYPE_CHECKING:
    from ..ledger import Statement
    from .option_groups import Command


@dataclass(frozen=True)
class LedgerPlace:
    """Argument for the URL of the ledger."""

    url: Annotated[
        str, Argument(metavar="URL", help="sqlite:///budget.db, or postgresql+psycopg://user@host/database.")
    ]


@dataclass(frozen=True)
class NewAccount:
    """Option for the name of a new account."""

    dataset: Annotated[str, Option(help="A name for the dataset; the same records keep the same name.", metavar="NAME")]


@dataclass(frozen=True)
class OneAccount:
    """Option for the name of a single account; left out, all accounts are shown."""

    dataset: Annotated[str | None, Option(help="Show this account only.", metavar="NAME")] = None


@dataclass(frozen=True)
class KeptHead:
    """Option for the head of the hash chain that was printed earlier."""

    head: Annotated[
        str | None, Option(help="What `dpcurves ledger head` printed before: finds an older copy.", metavar="HEAD")
    ] = None


def create(place: LedgerPlace, account: NewAccount, cap: Price, promise: Promise) -> None:
    """Open an account.

    Its cap and its privacy guarantee never change. The ledger is made if there is none.

    Example: dpcurves ledger create sqlite:///budget.db --dataset flights --epsilon 2 --adjacency replace-one
    """
    from ..ledger import Account, Ledger

    require_lasting(place.url)
    facts = Account(account.dataset, promise.neighbours(), promise.protected(), cap.loss())
    ledger = Ledger.open(place.url)
    ledger.create(facts)
    _show(ledger.statement(facts.dataset))


def show(place: LedgerPlace, account: OneAccount) -> None:
    """Show the privacy loss spent, and the budget left.

    Example: dpcurves ledger show sqlite:///budget.db
    """
    ledger = ledger_at(place.url)
    accounts = ledger.accounts() if account.dataset is None else (account_of(ledger, Payer(dataset=account.dataset)),)
    if not accounts:
        say(terminal(), "there is no account in this ledger")
    for found in accounts:
        _show(ledger.statement(found.dataset))


def verify(place: LedgerPlace, kept: KeptHead) -> None:
    """Check that nothing was changed without the key.

    Example: dpcurves ledger verify sqlite:///budget.db
    """
    verified = ledger_at(place.url).verify(kept.head)
    say(terminal(), f"verified: {verified.entries} entries, none changed without the key; head {verified.head}")


def head(place: LedgerPlace) -> None:
    """Print the last hash of the ledger's chain.

    Keep it elsewhere and give it to `verify` later: it finds an older copy that was put in the place of the ledger.

    Example: dpcurves ledger head sqlite:///budget.db
    """
    say(terminal(), ledger_at(place.url).head())


LEDGER_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {"create": create, "show": show, "verify": verify, "head": head}
)


def _show(statement: Statement) -> None:
    from ..display import BalanceReport, ledger_table

    account = statement.account
    say(terminal(), ledger_table(BalanceReport.of(statement)), f"{account.neighbours.value}, protects {account.unit}")
