"""Opening of ledgers: what is created, what is found again, and what is refused in one clear line."""

from __future__ import annotations

import builtins
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest
from sqlalchemy.exc import OperationalError

from dpcurves.ledger import Account, Ledger, sqlite
from dpcurves.ledger.chain import UNUSED_KEY_LINE, Key, flush_names, is_key_unused, link_draft, mark_key_used, write_key

pytestmark = pytest.mark.usefixtures("no_environment_key")

KEY = bytes(range(32))
OTHER_KEY = bytes(32)


def refusal(url: str, key: bytes | None = None) -> str:
    """The one line with which opening is refused."""
    with pytest.raises(ValueError, match=r".") as caught:
        Ledger.open(url, key)
    error = caught.value
    assert "\n" not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
    assert "sqlalchemy" not in repr(error.__context__).lower()
    return str(error)


def edit(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_a_new_ledger_and_its_key_belong_to_their_owner_alone(tmp_path: Path, flights: Account) -> None:
    mask = os.umask(0)
    try:
        Ledger.open(f"sqlite:///{tmp_path}/budget.db").create(flights)
    finally:
        os.umask(mask)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"budget.db": 0o600, "budget.db.key": 0o600, "budget.db-line": 0o600}


def test_a_ledger_file_is_durable_and_lets_others_read(tmp_path: Path) -> None:
    Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    with closing(sqlite3.connect(tmp_path / "budget.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_every_connection_waits_for_the_disk(tmp_path: Path) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    for engine in (ledger._database.read_engine, ledger._database.write_engine):
        with engine.begin() as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
            assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 60_000


def test_a_server_that_answers_before_the_disk_is_told_to_wait(new_database: Callable[[], str]) -> None:
    url = new_database() + "%20-csynchronous_commit%3Doff%20-cdefault_transaction_isolation%3Dserializable"
    database = Ledger.open(url, KEY)._database
    shown = {
        name: database.run_write(lambda connection, name=name: connection.exec_driver_sql(f"SHOW {name}").scalar())  # type: ignore[misc]
        for name in ("synchronous_commit", "transaction_isolation", "lock_timeout")
    }
    assert shown == {"synchronous_commit": "on", "transaction_isolation": "read committed", "lock_timeout": "1min"}


def test_a_path_with_odd_characters_is_a_path(tmp_path: Path, flights: Account) -> None:
    url = f"sqlite:///{tmp_path}/a b#cä.db"
    Ledger.open(url).create(flights)
    assert Ledger.open_existing(url).accounts() == (flights,)
    assert {path.name for path in tmp_path.iterdir()} == {"a b#cä.db", "a b#cä.db.key", "a b#cä.db-line"}


def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flights: Account) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.open("sqlite:///budget.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    ledger.create(flights)
    assert ledger.accounts() == (flights,)


def test_a_link_finds_the_ledger_and_its_key(tmp_path: Path, flights: Account) -> None:
    Ledger.open(f"sqlite:///{tmp_path}/budget.db").create(flights)
    (tmp_path / "link.db").symlink_to(tmp_path / "budget.db")
    assert Ledger.open(f"sqlite:///{tmp_path}/link.db").accounts() == (flights,)


def test_a_key_that_was_given_is_written_nowhere(tmp_path: Path) -> None:
    Ledger.open(f"sqlite:///{tmp_path}/budget.db", KEY)
    assert [path.name for path in tmp_path.iterdir()] == ["budget.db"]
    assert KEY.hex().encode() not in (tmp_path / "budget.db").read_bytes()


def test_a_ledger_opens_under_its_own_key_only(url: str) -> None:
    Ledger.open(url, KEY)
    assert refusal(url, OTHER_KEY).startswith("key: this is not the key of this ledger")
    assert Ledger.open(url, KEY).verify().entries == 0


def test_a_ledger_whose_key_file_is_gone_gets_no_new_key(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/budget.db"
    Ledger.open(url)
    (tmp_path / "budget.db.key").unlink()
    assert (
        "budget.db.key' cannot be read (No such file or directory); give the file that holds the ledger's key"
        in refusal(url)
    )
    assert not (tmp_path / "budget.db.key").exists()


@pytest.mark.parametrize("key", [None, KEY])
def test_a_ledger_that_is_gone_is_not_begun_again_beside_its_key(
    tmp_path: Path, flights: Account, monkeypatch: pytest.MonkeyPatch, key: bytes | None
) -> None:
    monkeypatch.setattr(sqlite, "MISSING_SECONDS", 0)
    url = f"sqlite:///{tmp_path}/budget.db"
    Ledger.open(url).create(flights)
    for file in tmp_path.glob("budget.db*"):
        if file.suffix != ".key":
            file.unlink()
    line = (
        f"ledger: '{tmp_path}/budget.db': the ledger is gone, and its key is still there: restore the ledger, "
        "because what it has"
        " spent counts; for records that were never asked about, name another file"
    )
    assert refusal(url, key) == line
    with pytest.raises(ValueError, match="the ledger is gone, and its key is still there"):
        Ledger.open_existing(url, key)
    assert [path.name for path in tmp_path.iterdir()] == ["budget.db.key"]


@pytest.mark.parametrize("stage", ["_fill_draft", "link_draft", "write_key"])
def test_a_ledger_that_cannot_be_made_leaves_at_most_a_key_that_the_next_start_uses(
    tmp_path: Path, flights: Account, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    def fill_up(*_: object) -> None:
        raise OSError(28, "No space left on device")

    url = f"sqlite:///{tmp_path}/budget.db"
    key_file = tmp_path / "budget.db.key"
    with monkeypatch.context() as full:
        full.setattr(sqlite.FileStorage if stage == "_fill_draft" else sqlite, stage, fill_up)
        assert refusal(url) == (
            f"ledger: '{tmp_path}/budget.db': cannot be created (No space left on device); name a file in a folder"
            " where you may write"
        )
    assert set(tmp_path.iterdir()) <= {key_file}
    digits = key_file.read_text()[:64] if key_file.exists() else ""
    Ledger.open(url).create(flights)
    assert key_file.read_text().startswith(digits)
    assert len(key_file.read_text()) == 65  # digits and a line end: the ledger was opened, so the key is used


def test_a_start_after_a_kill_between_key_and_ledger_goes_on_and_a_charged_ledger_is_never_begun_again(
    tmp_path: Path, flights: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "MISSING_SECONDS", 0)
    url, killed = f"sqlite:///{tmp_path}/budget.db", sqlite.FileStorage(f"{tmp_path}/budget.db")
    write_key(tmp_path / "budget.db.key", f"{killed._digits}\n{UNUSED_KEY_LINE}")
    steps: list[str] = []

    def flush_and_note(folder: Path) -> None:
        """Flush names of a folder, and note the step."""
        steps.append("flush")
        flush_names(folder)

    def link_and_note(draft: Path, path: Path) -> bool:
        """Give a draft its name, and note the step."""
        steps.append("name")
        return link_draft(draft, path)

    def mark_and_note(path: Path) -> None:
        """Mark a key as used, and note the step."""
        steps.append("mark")
        mark_key_used(path)

    monkeypatch.setattr(sqlite, "flush_names", flush_and_note)
    monkeypatch.setattr(sqlite, "link_draft", link_and_note)
    killed.create(killed.key())  # goes on under the key; killed again before it opens the ledger
    assert steps == ["flush", "name"]  # else a loss of power could take the key's name and leave the ledger's
    assert is_key_unused(tmp_path / "budget.db.key")
    monkeypatch.setattr("dpcurves.ledger.chain.mark_key_used", mark_and_note)
    Ledger.open(url, bytes.fromhex(killed._digits)).create(flights)  # also with a key from elsewhere
    assert not is_key_unused(tmp_path / "budget.db.key")
    # The process that named the ledger did not flush the name: else a loss of power could take it and keep a used key.
    assert steps == ["flush", "name", "flush", "mark"]
    assert Ledger.open(url).accounts() == (flights,)
    for file in tmp_path.glob("budget.db*"):
        if file.suffix != ".key":
            file.unlink()
    assert "the ledger is gone, and its key is still there" in refusal(url)


def test_a_ledger_whose_folder_cannot_be_flushed_keeps_its_key_unused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sqlite.FileStorage(f"{tmp_path}/budget.db")
    made.create(made.key())

    def fail(folder: Path) -> None:
        """Report a broken disk."""
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(sqlite, "flush_names", fail)
    assert refusal(f"sqlite:///{tmp_path}/budget.db") == (
        f"ledger: '{tmp_path}/budget.db': its folder cannot be flushed to disk (Input/output error); have the disk"
        " checked"
    )
    assert is_key_unused(tmp_path / "budget.db.key")


def test_a_ledger_that_another_process_makes_between_two_looks_opens_under_its_key(
    tmp_path: Path, flights: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/budget.db"
    ready_with_a_key = sqlite.FileStorage.key

    def overtaken(place: sqlite.FileStorage) -> Key:
        found = ready_with_a_key(place)
        if not place.exists():
            process = os.fork()
            if process == 0:
                try:
                    monkeypatch.undo()
                    Ledger.open(url).create(flights)
                    os._exit(0)
                finally:
                    os._exit(1)
            assert os.waitpid(process, 0)[1] == 0
        return found

    monkeypatch.setattr(sqlite.FileStorage, "key", overtaken)
    assert Ledger.open(url).accounts() == (flights,)


def test_who_finds_a_key_waits_for_the_ledger_of_whoever_makes_both(tmp_path: Path, flights: Account) -> None:
    url = f"sqlite:///{tmp_path}/budget.db"
    Ledger.open(url).create(flights)
    (tmp_path / "budget.db").rename(tmp_path / "slow.db")
    opened: list[Ledger] = []
    other = threading.Thread(target=lambda: opened.append(Ledger.open(url)))
    other.start()
    assert opened == []
    (tmp_path / "slow.db").rename(tmp_path / "budget.db")
    other.join()
    assert opened[0].accounts() == (flights,)


def test_only_a_ledger_that_is_there_can_be_read(tmp_path: Path, new_database: Callable[[], str]) -> None:
    for url in (f"sqlite:///{tmp_path}/budget.db", new_database(), "sqlite://"):
        with pytest.raises(ValueError, match="ledger: there is no ledger at this URL"):
            Ledger.open_existing(url, KEY)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_that_was_moved_away_is_not_begun_again(tmp_path: Path, flights: Account) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    (tmp_path / "budget.db").rename(tmp_path / "moved.db")
    with pytest.raises(ValueError, match=r"budget.db': the file cannot be opened;"):
        ledger.create(flights)
    assert not (tmp_path / "budget.db").exists()


@pytest.mark.parametrize("content", [b"", b"date,delay\n2013-01-01,secret\n" * 100, b"SQLite format 3\0" + b"x" * 5000])
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "budget.db"
    path.write_bytes(content)
    assert refusal(f"sqlite:///{path}", KEY).startswith(
        (f"ledger: '{path}': the file is not an SQLite database", f"ledger: '{path}': this database holds no ledger")
    )
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    edit(tmp_path / "other.db", "CREATE TABLE records (name)")
    assert refusal(f"sqlite:///{tmp_path}/other.db", KEY).startswith(
        f"ledger: '{tmp_path}/other.db': this database holds"
    )


def test_a_folder_is_no_ledger_and_its_absence_is_named(tmp_path: Path) -> None:
    assert (
        refusal(f"sqlite:///{tmp_path}")
        == f"ledger: '{tmp_path}': this path is not a file; name the file of the ledger"
    )
    assert (
        refusal(f"sqlite:///{tmp_path}/a/b.db")
        == f"ledger: '{tmp_path}/a/b.db': the folder is not there; make it first, or correct the path"
    )


def test_a_newer_schema_asks_for_a_newer_program(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/budget.db"
    Ledger.open(url)
    edit(tmp_path / "budget.db", "UPDATE dpcurves_book SET version = 2")
    assert (
        refusal(url)
        == "ledger: the ledger has schema 2, and this dpcurves reads schema 1: upgrade dpcurves on this machine"
    )


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("budget.db", "ledger: give a URL, one of sqlite:///budget.db, "),
        ("", "ledger: give a URL, one of sqlite:///budget.db, "),
        ("postgresql+psycopg://user:hunter2@host:port/db", "ledger: give a URL, one of sqlite:///budget.db, "),
        ("mysql://user:hunter2@host/db", "ledger: give a URL, one of sqlite:///budget.db, "),
        ("postgresql+pg8000://user:hunter2@host/db", "ledger: give a URL, one of sqlite:///budget.db, "),
        ("sqlite://host/budget.db", "ledger: write an SQLite URL as sqlite:/// and the path of a file, "),
        ("sqlite:///budget.db?mode=memory", "ledger: write an SQLite URL as sqlite:/// and the path of a file, "),
    ],
)
def test_a_url_that_names_no_place_is_refused_and_not_repeated(url: str, line: str) -> None:
    message = refusal(url)
    assert message.startswith(line)
    assert "hunter2" not in message


def test_a_server_without_a_key_says_how_to_give_one() -> None:
    assert refusal("postgresql+psycopg://nobody@localhost:1/none") == (
        "key: a ledger on PostgreSQL needs a key: set DPCURVES_LEDGER_KEY to 64 random hexadecimal digits"
    )


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    message = refusal("postgresql+psycopg://user:hunter2@127.0.0.1:1/none", KEY)
    assert message.startswith("ledger: PostgreSQL database 'none': cannot connect")
    assert "hunter2" not in message


def test_a_copy_where_nothing_can_be_written_is_read_and_verified(
    tmp_path: Path, flights: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    ledger.create(flights)
    for name in ("budget.db", "budget.db.key"):
        (tmp_path / "copy").mkdir(exist_ok=True)
        shutil.copy(tmp_path / name, tmp_path / "copy")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anyway
    copy = Ledger.open_existing(f"sqlite:///{tmp_path}/copy/budget.db")
    with copy._database.read_engine.connect() as connection:
        connection.exec_driver_sql("SELECT * FROM dpcurves_book").all()
        assert {path.name for path in (tmp_path / "copy").iterdir()} == {"budget.db", "budget.db.key"}
    assert copy.accounts() == (flights,)
    assert copy.verify() == ledger.verify()


def test_a_plain_postgresql_url_is_understood(new_database: Callable[[], str], flights: Account) -> None:
    url = new_database()
    Ledger.open(url, KEY).create(flights)
    assert Ledger.open(url.replace("+psycopg", ""), KEY).accounts() == (flights,)


def test_a_missing_driver_says_which_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import_module = builtins.__import__

    def without_psycopg(name: str, *rest: object) -> ModuleType:
        if name.startswith("psycopg"):
            raise ModuleNotFoundError(name)
        return import_module(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without_psycopg)
    assert refusal("postgresql+psycopg://user@host/none", KEY) == (
        "ledger: PostgreSQL needs an extra: pip install 'dpcurves[postgres]'"
    )


def test_a_damaged_ledger_says_nothing_of_what_it_holds(tmp_path: Path, flights: Account) -> None:
    url = f"sqlite:///{tmp_path}/budget.db"
    ledger = Ledger.open(url)
    ledger.create(flights)
    edit(tmp_path / "budget.db", "UPDATE dpcurves_accounts SET dataset = CAST(x'666c80ff' AS TEXT)")
    with pytest.raises(ValueError, match=r"^ledger: .*: the answer is not that of a ledger") as caught:
        ledger.accounts()
    assert caught.value.__context__ is None


def test_a_ledger_and_its_key_are_not_shown(tmp_path: Path) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path}/budget.db", KEY)
    assert repr(ledger) == f"Ledger('{tmp_path}/budget.db')"
    assert KEY.hex() not in repr(vars(ledger))


@pytest.mark.parametrize("code", ["SQLITE_BUSY", "SQLITE_BUSY_RECOVERY", "SQLITE_IOERR_LOCK", "SQLITE_IOERR_SHMLOCK"])
def test_a_disk_without_locks_is_named_with_what_to_do(code: str, tmp_path: Path) -> None:
    cause = sqlite3.OperationalError("no")
    cause.sqlite_errorname = code
    place = sqlite.FileStorage(str(tmp_path / "budget.db"))
    place.create(place.key())

    def fail(connection: object) -> None:
        raise OperationalError("SELECT secret", {}, cause)

    with pytest.raises(ValueError, match=r"^ledger: .*the disk supports no locks.*use a disk of this machine") as told:
        place.open_database().run_write(fail)
    assert "secret" not in str(told.value)
