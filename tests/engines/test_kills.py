"""PostgreSQL, or the connection to it, dies: one clear line, one charge, and the same snapshot or none after it."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpcurves as dp

psycopg = pytest.importorskip("psycopg")
QUESTION = dp.CdfQuestion("x", dp.Grid(0, 100, cells=2**16))
LOSS, CAP = dp.PrivacyLoss.pure(1), dp.PrivacyLoss.pure(3)
Kill = Callable[[dp.Session], None]


@pytest.fixture
def table(postgres_url: str) -> str:
    name = f"lived_{secrets.token_hex(4)}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            f"CREATE TABLE {name} AS SELECT (100 * random())::float8 AS x FROM generate_series(1, 20000)"
        )
    return name


@pytest.fixture
def kill(postgres_url: str) -> Kill:
    """End the server process behind a session."""

    def end(session: dp.Session) -> None:
        records: Any = session._opened()._records
        engine = records._engine
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s, 5000)", [engine._link._connection.info.backend_pid])

    return end


def opened(url: str, table: str, ledger: str) -> dp.Session:
    return dp.Session(
        dp.postgres(url, table=table), budget=CAP, adjacency=dp.ADD_REMOVE, ledger=ledger, dataset="lived"
    )


def line_of(error: BaseException) -> str:
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
    assert "\n" not in str(error)
    return str(error)


def test_before_the_charge_nothing_is_charged(postgres_url: str, table: str, kill: Kill, tmp_path: Path) -> None:
    with opened(postgres_url, table, f"sqlite:///{tmp_path}/budget.db") as session:
        kill(session)
        with pytest.raises(ValueError, match="did not answer, and its snapshot is gone") as caught:
            session.ask(QUESTION, LOSS, "once")
        assert line_of(caught.value).startswith("data: PostgreSQL did not answer")
        assert session.left == CAP
        with pytest.raises(ValueError, match="snapshot are gone; ask again in a new session"):
            session.ask(QUESTION, LOSS, "once")
        assert session.left == CAP


@pytest.mark.parametrize("changed", [False, True], ids=["the same snapshot", "another snapshot"])
@pytest.mark.parametrize("turn", [0, 1])
def test_after_the_charge_it_goes_on_in_the_same_snapshot_or_not_at_all(
    postgres_url: str,
    table: str,
    kill: Kill,
    tmp_path: Path,
    *,
    monkeypatch: pytest.MonkeyPatch,
    turn: int,
    changed: bool,
) -> None:
    ledger = f"sqlite:///{tmp_path}/budget.db"
    with opened(postgres_url, table, ledger) as session:
        assert len(session.plan(QUESTION, LOSS)) > 1
        monkeypatch.setattr(dp.Session, "_require_moment", _killing(dp.Session._require_moment, turn, session, kill))
        with pytest.raises(ValueError, match="snapshot is gone") as caught:
            session.ask(QUESTION, LOSS, "once")
    monkeypatch.undo()
    line_of(caught.value)
    if changed:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"INSERT INTO {table} VALUES (1)")
    with opened(postgres_url, table, ledger) as session:
        if changed:
            with pytest.raises(ValueError, match="may have changed since this request began; ask under a new request"):
                session.ask(QUESTION, LOSS, "once")
        else:
            curve = session.ask(QUESTION, LOSS, "once")
            assert session.ask(QUESTION, LOSS, "once").to_json() == curve.to_json()
        assert session.left.epsilon == Fraction(2)


def _killing(action: Callable[..., None], turn: int, session: dp.Session, kill: Kill) -> Callable[..., None]:
    """Do as `action`, and end the server before the turn of this number is counted."""
    turns = iter(range(100))

    def killed(self: dp.Session, *arguments: Any) -> None:
        action(self, *arguments)
        if next(turns) == turn:
            kill(session)

    return killed


def test_an_answer_that_was_stored_is_given_again_whatever_became_of_the_server(
    postgres_url: str, table: str, tmp_path: Path
) -> None:
    ledger = f"sqlite:///{tmp_path}/budget.db"
    with opened(postgres_url, table, ledger) as session:
        curve = session.ask(QUESTION, LOSS, "once")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"INSERT INTO {table} VALUES (1)")
    with opened(postgres_url, table, ledger) as session:
        assert session.ask(QUESTION, LOSS, "once").to_json() == curve.to_json()
        assert session.left.epsilon == Fraction(2)
