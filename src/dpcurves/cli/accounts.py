"""Selection of the ledger and of the account in it that a command charges."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..arguments import Refused
from .literals import whole
from .promise_options import Payer, Promise
from .refusal import Misuse

if TYPE_CHECKING:
    from ..ledger import Account, Ledger
    from ..privacy import Unit

SCHEMES = ("sqlite:", "sqlite+pysqlite:", "postgresql:", "postgresql+psycopg:")
BESIDE = ("", ".key", "-wal", "-shm", "-journal", "-line")
CREATE = "make one with: dpcurves ledger create URL --dataset NAME --epsilon CAP --adjacency KIND"


def ledger_at(url: str) -> Ledger:
    """Open a ledger that exists already.

    Raises:
        Misuse: there is none, or the text is no URL of a lasting ledger.
        ValueError: it is damaged or gone, or its key is missing.
    """
    from ..ledger import Ledger
    from ..ledger.location import place_of

    require_lasting(url)
    place = place_of(url)
    if not place.is_there():
        place.require_unbegun()
        raise Misuse("ledger", f"there is none at this URL; {CREATE}")
    return Ledger.existing(url)


def require_lasting(url: str) -> None:
    """Refuse a URL of another kind, and one of a ledger in memory, which is lost when the command ends.

    Raises:
        Misuse: for either. Its message does not repeat the URL, which may hold a password.
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


def account_of(ledger: Ledger, payer: Payer) -> Account:
    """The account named by the payer, or the only one of the ledger.

    Raises:
        Misuse: there is none of that name, or it is not clear which one is meant.
    """
    accounts = {account.dataset: account for account in ledger.accounts()}
    if payer.dataset is not None and payer.dataset not in accounts:
        raise Misuse("dataset", f"this ledger has no account {payer.dataset!r}; {CREATE}")
    if not accounts:
        raise Misuse("dataset", f"this ledger has no account; {CREATE}")
    if payer.dataset is None and len(accounts) > 1:
        raise Misuse("dataset", f"say which account pays, with --dataset: {', '.join(accounts)}")
    return accounts[payer.dataset] if payer.dataset is not None else next(iter(accounts.values()))


def require_kept(promise: Promise, account: Account) -> None:
    """Refuse adjacency or unit options that differ from the account's. Options left out are taken from the account.

    Raises:
        Misuse: names the first option that differs.
    """
    from ..ledger import Account

    neighbours = account.neighbours if promise.adjacency is None else promise.neighbours()
    said = Account(account.dataset, neighbours, _unit(promise, account.unit), account.cap)
    try:
        account.require_same(said)
    except Refused as error:
        raise Misuse(error.argument, error.rule) from None


def _unit(promise: Promise, of_account: Unit) -> Unit:
    from ..privacy import Unit

    column = of_account.column if promise.unit is None else promise.unit
    rows = of_account.records if promise.rows_per_unit is None else whole("rows-per-unit", promise.rows_per_unit)
    return Unit(column, rows)
