"""Persistent connections: they are reused, follow the file name, and close with the ledger object."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from dpcurves.ledger import Account, Ledger, sqlite
from dpcurves.privacy import PrivacyLoss

KEY = bytes(range(32))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """All connections to files that are opened from now on."""
    found: list[sqlite3.Connection] = []
    connect = sqlite._connect

    def noted(uri: str, path: Path) -> sqlite3.Connection:
        found.append(connect(uri, path))
        return found[-1]

    monkeypatch.setattr(sqlite, "_connect", noted)
    return found


def charge(ledger: Ledger, request: str) -> None:
    ledger.charge("flights", PrivacyLoss.pure("0.1"), purpose="a CDF", request=request, binding="ab" * 32, units=None)


def test_transactions_one_after_the_other_share_a_connection(
    tmp_path: Path, flights: Account, opened: list[sqlite3.Connection]
) -> None:
    ledger = Ledger.open_persistent(f"sqlite:///{tmp_path}/budget.db")
    ledger.create(flights)
    ledger.balance("flights")
    before = len(opened)
    for number in range(5):
        charge(ledger, str(number))
        ledger.balance("flights")
    assert len(opened) == before
    assert ledger.verify().entries == 6


def test_a_kept_ledger_that_was_moved_away_is_charged_no_more(tmp_path: Path, flights: Account) -> None:
    ledger = Ledger.open_persistent(f"sqlite:///{tmp_path}/budget.db")
    ledger.create(flights)
    charge(ledger, "before")
    (tmp_path / "budget.db").rename(tmp_path / "moved.db")
    for way in (lambda: charge(ledger, "after"), lambda: ledger.balance("flights")):
        with pytest.raises(ValueError, match=r"budget.db': the file cannot be opened;"):
            way()
    assert not (tmp_path / "budget.db").exists()


def test_a_kept_ledger_reads_and_writes_the_file_that_has_the_name_now(tmp_path: Path, flights: Account) -> None:
    kept = Ledger.open_persistent(f"sqlite:///{tmp_path}/budget.db", KEY)
    kept.create(flights)
    charge(kept, "in the first file")
    Ledger.open(f"sqlite:///{tmp_path}/other.db", KEY).create(flights)
    os.replace(tmp_path / "other.db", tmp_path / "budget.db")
    for ending in ("-wal", "-shm"):
        (tmp_path / f"budget.db{ending}").unlink(missing_ok=True)
    assert kept.find_grant("flights", "in the first file") is None
    charge(kept, "in the second")
    assert Ledger.open(f"sqlite:///{tmp_path}/budget.db", KEY).find_grant("flights", "in the second") is not None


def test_connections_are_closed_when_nobody_has_the_ledger_any_more(
    tmp_path: Path, flights: Account, opened: list[sqlite3.Connection]
) -> None:
    ledger = Ledger.open_persistent(f"sqlite:///{tmp_path}/budget.db")
    ledger.create(flights)
    del ledger
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_a_process_that_was_forked_opens_connections_of_its_own(
    tmp_path: Path, flights: Account, opened: list[sqlite3.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_child: list[Callable[[], None]] = []
    monkeypatch.setattr(os, "register_at_fork", lambda *, after_in_child: in_child.append(after_in_child))
    ledger = Ledger.open_persistent(f"sqlite:///{tmp_path}/budget.db")
    ledger.create(flights)
    ledger.balance("flights")
    carried = opened[-2:]
    for forget in in_child:
        forget()
    ledger.balance("flights")
    assert opened[-1] not in carried
    assert [each.execute("SELECT 1").fetchone() for each in carried] == [(1,), (1,)]  # the parent's stay open
    for each in carried:
        each.close()


def test_connections_to_a_server_stay_open_and_are_opened_again_when_it_has_ended_them(
    new_database: Callable[[], str], flights: Account
) -> None:
    ledger = Ledger.open_persistent(new_database(), KEY)
    ledger.create(flights)
    numbers = [
        ledger.database.run_read(lambda one: one.execute(text("SELECT pg_backend_pid()")).scalar()) for _ in "123"
    ]
    assert len(set(numbers)) == 1
    end = text("SELECT pg_terminate_backend(:number)").bindparams(number=numbers[0])
    ledger.database.run_write(lambda one: one.execute(end).scalar())
    charge(ledger, "after the end")
    assert ledger.balance("flights").spent.digits == "0.1"
