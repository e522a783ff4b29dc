"""Accounts of privacy loss: selection by a command, and the commands that create, show, verify and allot them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from ..arguments import InvalidArgument
from .options import (
    ACCOUNT,
    Argument,
    Command,
    GuaranteeOptions,
    LossAndDeltaOptions,
    LossOptions,
    Option,
    parse_integer,
)
from .terminal import Misuse, make_console, print_to_console, translate_argument_errors

if TYPE_CHECKING:
    from ..ledger import Account, Ledger, Statement

SCHEMES = ("sqlite:", "sqlite+pysqlite:", "postgresql:", "postgresql+psycopg:")
BESIDE = ("", ".key", "-wal", "-shm", "-journal", "-line")
CREATE = "make one with: dpcurves ledger create URL --dataset NAME --epsilon CAP --adjacency KIND"


def open_ledger(url: str) -> Ledger:
    """Open a ledger that exists already.

    Raises:
        Misuse: there is none, or the text is no URL of a lasting ledger.
        ValueError: it is damaged or gone, or its key is missing.
    """
    from ..ledger import Ledger
    from ..ledger.sqlite import parse_storage_url

    require_lasting(url)
    place = parse_storage_url(url)
    if not place.exists():
        place.require_not_lost()
        raise Misuse("ledger", f"there is none at this URL; {CREATE}")
    return Ledger.open_existing(url)


def require_lasting(url: str) -> None:
    """Refuse a URL of another kind, and one of a ledger in memory, which is lost when the command ends.

    No message repeats the URL, which may hold a password.
    """
    if not url.startswith(SCHEMES):
        raise Misuse("ledger", "a URL is needed: sqlite:///budget.db, or postgresql+psycopg://user@host/database")
    if url.partition(":")[2].strip("/") in ("", ":memory:"):
        raise Misuse("ledger", "one in memory forgets when the command ends; name a file, as in sqlite:///budget.db")


def files_of(url: str) -> tuple[Path, ...]:
    """The files of a ledger on this machine: SQLite's own, those that come and go beside it, and the key."""
    name = url.partition(":///")[2] if url.startswith("sqlite") else ""
    if not name:
        return ()
    path = Path(os.path.realpath(name))
    return tuple(path.with_name(path.name + ending) for ending in BESIDE)


def account_of(ledger: Ledger, dataset: str | None) -> Account:
    """The account of this name, or the only one of the ledger. Refused where it is not clear which one is meant."""
    accounts = {account.dataset: account for account in ledger.accounts()}
    if dataset is not None and dataset not in accounts:
        raise Misuse("dataset", f"this ledger has no account {dataset!r}; {CREATE}")
    if not accounts:
        raise Misuse("dataset", f"this ledger has no account; {CREATE}")
    if dataset is None and len(accounts) > 1:
        raise Misuse("dataset", f"say which account pays, with --dataset: {', '.join(accounts)}")
    return accounts[dataset] if dataset is not None else next(iter(accounts.values()))


def require_same_guarantee(promise: GuaranteeOptions, account: Account) -> None:
    """Refuse adjacency or unit options that differ from the account's. Options left out are taken from the account."""
    from ..ledger import Account
    from ..privacy import Unit

    neighbours = account.neighbours if promise.adjacency is None else promise.neighbours()
    column = account.unit.column if promise.unit is None else promise.unit
    unit = replace(account.unit, column=column) if account.unit.is_bounded else Unit.with_unknown_bound(column)
    if promise.rows_per_unit is not None and unit.is_bounded:
        unit = Unit(column, parse_integer("rows-per-unit", promise.rows_per_unit))
    try:
        account.require_same(Account(account.dataset, neighbours, unit, account.cap))
    except InvalidArgument as error:
        raise Misuse(error.argument, error.rule) from None


Url = Annotated[str, Argument(metavar="URL", help="sqlite:///budget.db, or postgresql+psycopg://user@host/database.")]
OneOfSeveral = Annotated[str | None, Option(help=ACCOUNT, metavar="NAME")]


def allow(
    *,
    url: Url,
    dataset: OneOfSeveral = None,
    project: Annotated[str, Option(help="The project that may spend so much of the cap.", metavar="NAME")],
    analyst: Annotated[
        str | None, Option(help="One of the project, who may spend so much of its allowance.", metavar="NAME")
    ] = None,
    most: LossOptions,
    may_exceed: Annotated[
        bool, Option("--may-exceed", help="Let the allowances in one dataset or project add up to more than its own.")
    ] = False,
) -> None:
    """Set the allowance of a project within a cap, or of an analyst within the project's allowance.

    It replaces the previous allowance; what was spent stays spent. Allowances divide a budget fairly; privacy
    is guaranteed by the cap alone.

    Example: dpcurves ledger allowance set sqlite:///budget.db --project delays --epsilon 1
    """
    from ..ledger import Allowance, AllowanceRule

    loss, ledger = most.loss(), open_ledger(url)
    name = account_of(ledger, dataset).dataset
    together = AllowanceRule.MAY_EXCEED if may_exceed else AllowanceRule.WITHIN
    with translate_argument_errors("epsilon" if most.rho is None else "rho", "allowance", "rho"):
        ledger.allow(Allowance(name, project, loss, analyst), together)
    show_allowances(url=url, dataset=name)


def show_allowances(*, url: Url, dataset: OneOfSeveral = None) -> None:
    """Show the spending of projects and analysts against their allowances.

    Example: dpcurves ledger allowance show sqlite:///budget.db
    """
    from ..display import BalanceReport, allowance_table

    ledger = open_ledger(url)
    statement = ledger.statement(account_of(ledger, dataset).dataset)
    if not statement.allowances:
        account = statement.account.dataset
        print_to_console(
            make_console(), f"there are no allowances in {account!r}; {statement.remaining} of its cap is left"
        )
        return
    table = allowance_table(BalanceReport.from_statement(statement))
    print_to_console(make_console(), table, "allowances divide the cap; the cap alone guarantees privacy")


ALLOWANCE_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"set": allow, "show": show_allowances})


def create(
    *,
    url: Url,
    dataset: Annotated[
        str, Option(help="A name for the dataset; the same records keep the same name.", metavar="NAME")
    ],
    cap: LossAndDeltaOptions,
    promise: GuaranteeOptions,
) -> None:
    """Open an account.

    Its cap and its privacy guarantee never change. The ledger is made if there is none.

    Example: dpcurves ledger create sqlite:///budget.db --dataset flights --epsilon 2 --adjacency replace-one
    """
    from ..ledger import Account, Ledger

    require_lasting(url)
    account = Account(dataset, promise.neighbours(), promise.privacy_unit(bound_required=False), cap.loss())
    ledger = Ledger.open(url)
    ledger.create(account)
    _print_statement(ledger.statement(dataset))


def show(
    *, url: Url, dataset: Annotated[str | None, Option(help="Show this account only.", metavar="NAME")] = None
) -> None:
    """Show the privacy loss spent, and the budget left.

    Example: dpcurves ledger show sqlite:///budget.db
    """
    ledger = open_ledger(url)
    accounts = ledger.accounts() if dataset is None else (account_of(ledger, dataset),)
    if not accounts:
        print_to_console(make_console(), "there is no account in this ledger")
    for found in accounts:
        _print_statement(ledger.statement(found.dataset))


def verify(
    *,
    url: Url,
    head: Annotated[
        str | None, Option(help="What `dpcurves ledger head` printed before: finds an older copy.", metavar="HEAD")
    ] = None,
) -> None:
    """Check that nothing was changed without the key.

    Example: dpcurves ledger verify sqlite:///budget.db
    """
    verified = open_ledger(url).verify(head)
    print_to_console(
        make_console(), f"verified: {verified.entries} entries, none changed without the key; head {verified.head}"
    )


def head(url: Url) -> None:
    """Print the last hash of the ledger's chain.

    Keep it elsewhere and give it to `verify` later: it finds an older copy that was put in the place of the ledger.

    Example: dpcurves ledger head sqlite:///budget.db
    """
    print_to_console(make_console(), open_ledger(url).head())


LEDGER_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {"create": create, "show": show, "verify": verify, "head": head}
)


def _print_statement(statement: Statement) -> None:
    from ..display import BalanceReport, ledger_table

    account = statement.account
    print_to_console(
        make_console(),
        ledger_table(BalanceReport.from_statement(statement)),
        f"{account.neighbours.value}, protects {account.unit}",
    )
