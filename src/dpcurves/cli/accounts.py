"""Commands of privacy budgets: create, show and verify the accounts of a ledger, and divide their budgets.

    ledger create, show              open an account with its cap; print its charges and the remaining budget
    ledger verify, head, restore     check that no entry was changed; print the chain's last hash; accept an older copy
    ledger allowance set, show       divide the cap among projects and analysts; print what each has spent
    ledger view add, list, remove    store, print or remove named filters, which questions use with ``--view``

An account holds the privacy budget (its *cap*) of one dataset. A ledger is a database of accounts and their charges,
named by its URL (``sqlite:///budget.db``). All commands that charge a budget use `open_ledger`, `account_of` and
`require_same_guarantee`. `open_ledger` refuses a missing ledger; only ``create`` makes one. No message repeats a URL,
because it may contain a password.

The commands read and write ledgers, no records.

>>> [path.name for path in files_of("sqlite:///budget.db")[:2]]
['budget.db', 'budget.db.key']
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from ..arguments import InvalidArgument
from .options import (
    ACCOUNT_HELP,
    Argument,
    Command,
    GuaranteeOptions,
    LossAndDeltaOptions,
    LossOptions,
    Option,
    parse_integer,
)
from .terminal import Misuse, make_console, print_to_console, print_to_stderr, translate_argument_errors

if TYPE_CHECKING:
    from ..ledger import Account, Ledger, Statement

SCHEMES = ("sqlite:", "sqlite+pysqlite:", "postgresql:", "postgresql+psycopg:")
"""Beginnings of the ledger URLs that commands accept: ledgers in SQLite files and PostgreSQL databases, which outlive
the command. Any other URL is refused."""
SQLITE_FILE_SUFFIXES = ("", ".key", "-wal", "-shm", "-journal", "-line")
"""Appended to the file name of an SQLite ledger to name all its files: the database, its key, SQLite's temporary files
and the queue of its writers."""
CREATE_HINT = "make one with: dpcurves ledger create URL --dataset NAME --epsilon CAP --adjacency KIND"
"""End of the error for a ledger or an account that does not exist: the command that makes one."""


def open_ledger(url: str) -> Ledger:
    """Return the existing ledger at a URL. A missing ledger is refused, not created.

    Args:
        url: URL as the user typed it, of SQLite or PostgreSQL.

    Raises:
        Misuse: the URL has no ledger, or is no URL of a persistent ledger.
        ValueError: the ledger is damaged or lost, or its key is missing.
    """
    from ..ledger import Ledger
    from ..ledger.sqlite import parse_storage_url

    require_lasting(url)
    storage = parse_storage_url(url)
    if not storage.exists():
        storage.require_not_lost()
        raise Misuse("ledger", f"there is no ledger at this URL; {CREATE_HINT}")
    return Ledger.open_existing(url)


def require_lasting(url: str) -> None:
    """Refuse a ledger URL that is neither of SQLite nor of PostgreSQL, or whose ledger is in memory.

    Args:
        url: URL of a ledger, as the user typed it.

    Raises:
        Misuse: the URL is refused. The message does not repeat the URL, because it may contain a password.
    """
    if not url.startswith(SCHEMES):
        raise Misuse("ledger", "give the ledger's URL: sqlite:///budget.db, or postgresql+psycopg://user@host/database")
    if url.partition(":")[2].strip("/") in ("", ":memory:"):
        raise Misuse("ledger", "a ledger in memory ends with the command; name a file, as in sqlite:///budget.db")


def files_of(url: str) -> tuple[Path, ...]:
    """Return the paths of the files that a ledger may use on this machine: database, key and temporary files.

    Args:
        url: URL of the ledger.

    Returns:
        The database, its key, and the temporary files beside them; empty for a database server.
    """
    name = url.partition(":///")[2] if url.startswith("sqlite") else ""
    if not name:
        return ()
    path = Path(os.path.realpath(name))
    return tuple(path.with_name(path.name + suffix) for suffix in SQLITE_FILE_SUFFIXES)


def account_of(ledger: Ledger, dataset: str | None) -> Account:
    """Return the account of a dataset, or the ledger's only account if no dataset is named.

    Args:
        ledger: An open ledger.
        dataset: Name of the dataset; None: the only account.

    Raises:
        Misuse: no account has the name, or several exist and no name is given.
    """
    accounts = {account.dataset: account for account in ledger.accounts()}
    if dataset is not None and dataset not in accounts:
        raise Misuse("dataset", f"this ledger has no account {dataset!r}; {CREATE_HINT}")
    if not accounts:
        raise Misuse("dataset", f"this ledger has no account; {CREATE_HINT}")
    if dataset is None and len(accounts) > 1:
        raise Misuse("dataset", f"name the account that is charged, as --dataset NAME: {', '.join(accounts)}")
    return accounts[dataset] if dataset is not None else next(iter(accounts.values()))


def require_same_guarantee(guarantee: GuaranteeOptions, account: Account) -> None:
    """Refuse adjacency or unit options that differ from the account's. Omitted options take the account's values.

    Args:
        guarantee: Options as the user gave them.
        account: The account that is charged.

    Raises:
        Misuse: an option differs from the account. The error names the option.
    """
    from ..ledger import Account
    from ..privacy import Unit

    neighbours = account.neighbours if guarantee.adjacency is None else guarantee.neighbours()
    column = account.unit.column if guarantee.unit is None else guarantee.unit
    unit = replace(account.unit, column=column) if account.unit.is_bounded else Unit.with_unknown_bound(column)
    if guarantee.rows_per_unit is not None and unit.is_bounded:
        unit = Unit(column, parse_integer("rows-per-unit", guarantee.rows_per_unit))
    try:
        account.require_same(Account(account.dataset, neighbours, unit, account.cap))
    except InvalidArgument as error:
        raise Misuse(error.argument, error.rule) from None


Url = Annotated[str, Argument(metavar="URL", help="sqlite:///budget.db, or postgresql+psycopg://user@host/database.")]
"""Argument of all commands here: the URL of the ledger."""
OneOfSeveral = Annotated[str | None, Option(help=ACCOUNT_HELP, metavar="NAME")]
"""Option that names the account; None: the ledger's only one."""


def allow(
    *,
    url: Url,
    dataset: OneOfSeveral = None,
    project: Annotated[str, Option(help="Project that may spend this much of the cap.", metavar="NAME")],
    analyst: Annotated[
        str | None, Option(help="Analyst of the project, who may spend this much of its allowance.", metavar="NAME")
    ] = None,
    limit: LossOptions,
    may_exceed: Annotated[
        bool, Option("--may-exceed", help="Allow the allowances of a dataset or project to exceed its limit in sum.")
    ] = False,
) -> None:
    """Set the allowance of a project within a cap, or of an analyst within the project's allowance.

    The new allowance replaces the old one; spent loss stays spent. Allowances divide a budget fairly; only the cap
    guarantees privacy.

    Example: dpcurves ledger allowance set sqlite:///budget.db --project delays --epsilon 1
    """
    from ..ledger import Allowance, AllowanceRule

    loss = limit.loss()
    ledger = open_ledger(url)
    name = account_of(ledger, dataset).dataset
    rule = AllowanceRule.MAY_EXCEED if may_exceed else AllowanceRule.WITHIN
    with translate_argument_errors("epsilon" if limit.rho is None else "rho", "allowance", "rho"):
        ledger.allow(Allowance(name, project, loss, analyst), rule)
    show_allowances(url=url, dataset=name)


def show_allowances(*, url: Url, dataset: OneOfSeveral = None) -> None:
    """Show what projects and analysts have spent of their allowances.

    Example: dpcurves ledger allowance show sqlite:///budget.db
    """
    from ..display import BalanceReport, allowance_table

    ledger = open_ledger(url)
    statement = ledger.statement(account_of(ledger, dataset).dataset)
    if not statement.allowances:
        account = statement.account.dataset
        print_to_console(
            make_console(), f"there are no allowances in {account!r}; {statement.remaining} of its cap remains"
        )
        return
    table = allowance_table(BalanceReport.from_statement(statement))
    print_to_console(make_console(), table, "allowances divide the cap; only the cap guarantees privacy")


ALLOWANCE_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"set": allow, "show": show_allowances})
"""Commands of ``dpcurves ledger allowance``, by name."""


def add_view(
    *,
    url: Url,
    dataset: OneOfSeveral = None,
    name: Annotated[str, Option(help="Name of the view, which questions give as --view.", metavar="NAME")],
    where: Annotated[
        str | None, Option(help='Condition of the rows, e.g. "hours > 0 AND age >= 18".', metavar="CONDITION")
    ] = None,
    column: Annotated[
        list[str] | None,
        Option(help='Derived column, e.g. "hourly=wage / hours"; may be repeated.', metavar="NAME=EXPRESSION"),
    ] = None,
    base: Annotated[
        str | None, Option(help="View whose rows and derived columns this one starts from.", metavar="NAME")
    ] = None,
    may_replace: Annotated[bool, Option("--replace", help="Replace a view of this name.")] = False,
) -> None:
    """Define a view, a named filter with derived columns, for all questions to an account.

    Only its text is stored. A question with --view is charged as its full text, so a view that is replaced later
    changes no earlier answer.

    Example: dpcurves ledger view add sqlite:///budget.db --name employed --where "hours > 0" --column
    "hourly=wage / hours"
    """
    from ..curves.view import View, define_view, find_view, parse_view_definitions

    ledger = open_ledger(url)
    account = account_of(ledger, dataset).dataset
    views = parse_view_definitions(ledger.view_definitions(account))
    with translate_argument_errors("base", "view"):
        base_view = None if base is None else find_view(base, views)
    view = View(name, where, _parse_derived_columns(column or []), base_view)
    ledger.change_view(account, define_view(view, may_replace=may_replace))
    print_to_console(make_console(), *view.describe())
    for note in view.notes:
        print_to_stderr(note)


def _parse_derived_columns(entries: list[str]) -> dict[str, str]:
    """Return the expressions of ``--column NAME=EXPRESSION`` by name.

    Args:
        entries: Values of the option, one for each time it was given.

    Raises:
        Misuse: an entry is not of this form, or a name occurs twice.
    """
    columns: dict[str, str] = {}
    for entry in entries:
        name, sign, expression = (part.strip() for part in entry.partition("="))
        if not (name and sign and expression) or name in columns:
            raise Misuse(
                "column", f'a name and its expression are needed, once, as in "hourly=wage / hours", got {entry!r}'
            )
        columns[name] = expression
    return columns


def show_views(*, url: Url, dataset: OneOfSeveral = None) -> None:
    """List the views of an account: their bases, filters and derived columns.

    Example: dpcurves ledger view list sqlite:///budget.db
    """
    from ..curves.view import parse_view_definitions

    ledger = open_ledger(url)
    account = account_of(ledger, dataset).dataset
    views = parse_view_definitions(ledger.view_definitions(account)).values()
    lines = [line for view in views for line in view.describe()] or [f"there are no views in {account!r}"]
    print_to_console(make_console(), *lines)


def drop_view(
    *, url: Url, dataset: OneOfSeveral = None, name: Annotated[str, Option(help="Name of the view.", metavar="NAME")]
) -> None:
    """Remove a view from an account. Earlier answers stay as they are.

    Example: dpcurves ledger view remove sqlite:///budget.db --name employed
    """
    from ..curves.view import remove_view

    ledger = open_ledger(url)
    with translate_argument_errors("name", "view"):
        ledger.change_view(account_of(ledger, dataset).dataset, remove_view(name))
    print_to_console(make_console(), f"removed: {name}")


VIEW_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {"add": add_view, "list": show_views, "remove": drop_view}
)
"""Commands of ``dpcurves ledger view``, by name."""


def create(
    *,
    url: Url,
    dataset: Annotated[
        str, Option(help="Name of the dataset. The same records must keep the same name.", metavar="NAME")
    ],
    cap: LossAndDeltaOptions,
    guarantee: GuaranteeOptions,
) -> None:
    """Open an account.

    Its cap and its privacy guarantee never change. A new ledger is made if there is no ledger at URL.

    Example: dpcurves ledger create sqlite:///budget.db --dataset flights --epsilon 2 --adjacency replace-one
    """
    from ..ledger import Account, Ledger

    require_lasting(url)
    account = Account(dataset, guarantee.neighbours(), guarantee.privacy_unit(bound_required=False), cap.loss())
    ledger = Ledger.open(url)
    ledger.create(account)
    _print_statement(ledger.statement(dataset))


def show(
    *, url: Url, dataset: Annotated[str | None, Option(help="Show this account only.", metavar="NAME")] = None
) -> None:
    """Show the privacy loss spent and the remaining budget.

    Example: dpcurves ledger show sqlite:///budget.db
    """
    ledger = open_ledger(url)
    accounts = ledger.accounts() if dataset is None else (account_of(ledger, dataset),)
    if not accounts:
        print_to_console(make_console(), "this ledger has no account")
    for account in accounts:
        _print_statement(ledger.statement(account.dataset))


def verify(
    *,
    url: Url,
    head: Annotated[
        str | None, Option(help="Output of an earlier `dpcurves ledger head`; detects an older copy.", metavar="HEAD")
    ] = None,
) -> None:
    """Check that no entry was changed without the key.

    Example: dpcurves ledger verify sqlite:///budget.db
    """
    verified = open_ledger(url).verify(head)
    print_to_console(
        make_console(), f"verified: {verified.entries} entries, none changed without the key; head {verified.head}"
    )


def head(url: Url) -> None:
    """Print the last hash of the ledger's chain.

    Store it on another machine and pass it to `verify --head` later, which then detects an older copy of the ledger.
    Example: dpcurves ledger head sqlite:///budget.db
    """
    print_to_console(make_console(), open_ledger(url).head())


def restore(url: Url) -> None:
    """Accept an older copy of the ledger that was put back on purpose, and record that in its chain.

    Without this, a ledger with fewer entries than it had on this machine is refused: charges made since are missing,
    and questions asked since would get a second answer.
    Example: dpcurves ledger restore sqlite:///budget.db
    """
    print_to_console(make_console(), f"recorded: an older copy was put back; head {open_ledger(url).accept_restored()}")


LEDGER_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {"create": create, "show": show, "verify": verify, "head": head, "restore": restore}
)
"""Commands of ``dpcurves ledger``, by name."""


def _print_statement(statement: Statement) -> None:
    """Print the charges of an account, its remaining budget, its adjacency and its privacy unit.

    Args:
        statement: Statement of the account.
    """
    from ..display import BalanceReport, ledger_table

    account = statement.account
    print_to_console(
        make_console(),
        ledger_table(BalanceReport.from_statement(statement)),
        f"{account.neighbours.value}, protects {account.unit}",
    )
