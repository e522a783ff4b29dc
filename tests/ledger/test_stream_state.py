"""Time steps of a stream: answers and secret state together, in order, once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event

from dpcurves.ledger import Account, Grant, Ledger
from dpcurves.ledger.chain import Key
from dpcurves.privacy import PrivacyLoss

KEY = bytes(range(32))
SECRET = b"exact counts: 17, 23"


def granted(ledger: Ledger, account: Account, request: str = "stream") -> Grant:
    ledger.create(account)
    loss = PrivacyLoss.pure("0.25")
    return ledger.charge("flights", loss, purpose="a stream", request=request, binding="a" * 64, units=None)


def standing(ledger: Ledger, grant: Grant) -> tuple[int, bytes] | None:
    stands = ledger.find_stream_state(grant)
    return None if stands is None else (stands.time_step, stands.state)


def test_time_steps_and_state_are_found_again_in_order(url: str, flights: Account) -> None:
    ledger = Ledger.open(url)
    grant = granted(ledger, flights)
    assert standing(ledger, grant) is None
    assert ledger.advance(grant, {1: "[1]"}, b"a") == {1: "[1]"}
    assert ledger.advance(grant, {2: "[2]", 3: "[3]"}, SECRET) == {2: "[2]", 3: "[3]"}
    again = Ledger.open(url)
    assert standing(again, grant) == (3, SECRET)
    assert again.find_answers(grant, range(1, 4)) == {1: "[1]", 2: "[2]", 3: "[3]"}
    assert again.verify().entries == 5  # the account, the grant, one row a time_step


def test_who_comes_second_is_told_the_first_answers_and_changes_nothing(url: str, flights: Account) -> None:
    ledger = Ledger.open(url)
    grant = granted(ledger, flights)
    ledger.advance(grant, {1: "[1]", 2: "[2]"}, SECRET)
    assert ledger.advance(grant, {1: "[7]"}, b"other") == {1: "[1]"}
    time_steps = {1: "[1]", 2: "[2]"}
    assert ledger.advance(grant, time_steps, b"other") == time_steps
    assert ledger.advance(grant, time_steps, b"other") is not time_steps  # equal answers, but another state
    assert ledger.advance(grant, {2: "[7]", 3: "[8]"}, b"other") == {2: "[2]"}
    assert standing(ledger, grant) == (2, SECRET)
    following = {3: "[3]"}
    assert ledger.advance(grant, following, SECRET) is following


@pytest.mark.parametrize("time_steps", [{}, {0: "[1]"}, {1: "[1]", 3: "[3]"}, {2: "[1]"}, {1: "a\0b"}])
def test_time_steps_that_are_not_the_next_ones_are_refused(flights: Account, time_steps: Mapping[int, str]) -> None:
    ledger = Ledger.open("sqlite://")
    grant = granted(ledger, flights)
    with pytest.raises(ValueError, match=r"^(time_steps|answer): "):
        ledger.advance(grant, time_steps, SECRET)
    assert standing(ledger, grant) is None


def test_a_time_step_that_is_left_out_or_a_foreign_grant_is_refused(flights: Account) -> None:
    ledger = Ledger.open("sqlite://")
    grant = granted(ledger, flights)
    ledger.advance(grant, {1: "[1]"}, SECRET)
    with pytest.raises(ValueError, match=r"^time_steps: the next time step is 2, got 3; go on with the next one"):
        ledger.advance(grant, {3: "[1]"}, SECRET)
    for refused in (ledger.find_stream_state, lambda foreign: ledger.advance(foreign, {2: "[1]"}, SECRET)):
        with pytest.raises(ValueError, match=r"^grant: "):
            refused(replace(grant, request="b"))


def test_streams_and_questions_of_one_ledger_do_not_disturb_each_other(url: str, flights: Account) -> None:
    ledger = Ledger.open(url)
    one, other = granted(ledger, flights, "one"), granted(ledger, flights, "other")
    for time_step in range(3):
        ledger.advance(one, {time_step + 1: f"[{time_step}]"}, b"one")
        ledger.advance(other, {time_step + 1: f"[-{time_step}]"}, b"other")
        ledger.store_answer(granted(ledger, flights, "question"), 0, 0, "[5]")
    assert [standing(ledger, grant) for grant in (one, other)] == [(3, b"one"), (3, b"other")]
    assert ledger.find_answers(other, range(2, 4)) == {2: "[-1]", 3: "[-2]"}
    assert ledger.verify().entries == 11


def in_file(folder: Path, account: Account) -> tuple[Path, Ledger, Grant]:
    path = folder / "budget.db"
    ledger = Ledger.open(f"sqlite:///{path}", KEY)
    grant = granted(ledger, account)
    for time_step in range(3):
        ledger.advance(grant, {time_step + 1: f"[{time_step}]"}, SECRET)
    return path, ledger, grant


def edit(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_a_state_is_encrypted_and_replaced(tmp_path: Path, flights: Account) -> None:
    path, ledger, grant = in_file(tmp_path, flights)
    with closing(sqlite3.connect(path)) as connection:
        ((sealed,),) = connection.execute("SELECT sealed FROM dpcurves_states").fetchall()
    ledger.advance(grant, {4: "[3]"}, bytes(3))
    with closing(sqlite3.connect(path)) as connection:
        ((later,),) = connection.execute("SELECT sealed FROM dpcurves_states").fetchall()
    assert later != sealed
    assert len(later) == len(sealed)  # the length reveals nothing
    assert SECRET not in Key(KEY).decrypt(later)
    assert SECRET in Key(KEY).decrypt(sealed)
    for kept in path.parent.iterdir():
        assert SECRET not in kept.read_bytes()


MISSING = r"^ledger: the state of 'stream' is missing: it was removed without the key, and cannot be restarted;"
REMOVED = r"^ledger: (row \d+ was removed|rows were removed)"


@pytest.mark.parametrize(
    ("edits", "refusal"),
    [
        (("DELETE FROM dpcurves_states",), MISSING + "|" + REMOVED),
        (("DELETE FROM dpcurves_states", "DELETE FROM dpcurves_answers"), REMOVED),
        (("DELETE FROM dpcurves_answers WHERE round = 3",), REMOVED + "|not of its last answer"),
        (("UPDATE dpcurves_states SET sealed = 'x'",), r"the state of a stream was changed without the key;"),
        (("UPDATE dpcurves_answers SET answer = '[9]' WHERE round = 2",), r"row 4 was changed without the key;"),
    ],
)
def test_a_stream_that_was_cut_is_refused_and_never_begun_again(
    tmp_path: Path, flights: Account, edits: tuple[str, ...], refusal: str
) -> None:
    path, ledger, grant = in_file(tmp_path, flights)
    edit(path, *edits)

    def go_on_or_read() -> None:
        stands = ledger.find_stream_state(grant)
        assert stands is not None, "the stream would be begun again"
        ledger.find_answers(grant, range(1, stands.time_step + 1))

    for refused in (go_on_or_read, ledger.verify):
        with pytest.raises(ValueError, match=refusal):
            refused()
    if "answers" not in edits[-1]:  # a present state contains the last answered time_step
        with pytest.raises(ValueError, match=refusal):
            ledger.advance(grant, {1: "[5]"}, b"again")


def test_an_older_state_that_was_put_back_is_found(tmp_path: Path, flights: Account) -> None:
    path, ledger, grant = in_file(tmp_path, flights)
    edit(path, "CREATE TABLE copies AS SELECT * FROM dpcurves_states")
    ledger.advance(grant, {4: "[3]"}, b"later")
    edit(path, "UPDATE dpcurves_states SET sealed = (SELECT sealed FROM copies)")
    for refused in (lambda: ledger.find_stream_state(grant), ledger.verify):
        with pytest.raises(ValueError, match=r"^ledger: the state of 'stream' is not of its last answer: "):
            refused()
    with pytest.raises(ValueError, match="a row that breaks the ledger's rules was refused"):
        ledger.advance(grant, {4: "[9]"}, b"drawn again")
    edit(path, "DELETE FROM dpcurves_answers WHERE round = 4")
    with pytest.raises(ValueError, match=REMOVED):
        ledger.advance(grant, {4: "[9]"}, b"drawn again")


def test_the_state_of_another_stream_does_not_fit(tmp_path: Path, flights: Account) -> None:
    path, ledger, grant = in_file(tmp_path, flights)
    other = granted(ledger, flights, "other")
    for time_step in range(3):
        ledger.advance(other, {time_step + 1: "[0]"}, b"other")
    edit(
        path,
        f'UPDATE dpcurves_states SET sealed = (SELECT max(sealed) FROM dpcurves_states WHERE "grant" = {other.id})',
    )
    with pytest.raises(ValueError, match=r"^ledger: the state of 'stream' is of another stream: "):
        ledger.find_stream_state(grant)


def counted(work: Callable[[], object]) -> int:
    """How many statements, commits among them, a database was sent."""
    sent: list[str] = []

    def hear(_connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        sent.append(statement)

    def hear_commit(_connection: Connection) -> None:
        sent.append("COMMIT")

    event.listen(Engine, "before_cursor_execute", hear)
    event.listen(Engine, "commit", hear_commit)
    try:
        work()
    finally:
        event.remove(Engine, "before_cursor_execute", hear)
        event.remove(Engine, "commit", hear_commit)
    return len(sent)


def test_a_time_step_costs_at_most_eight_statements(url: str, flights: Account) -> None:
    ledger = Ledger.open(url)
    grant = granted(ledger, flights)
    ledger.advance(grant, {1: "[0]"}, SECRET)
    assert counted(lambda: ledger.advance(grant, {2: "[1]"}, SECRET)) <= 7  # and PRAGMA, or BEGIN, by the driver
    many = {time_step + 1: f"[{time_step}]" for time_step in range(2, 1003)}
    assert counted(lambda: ledger.advance(grant, many, SECRET)) <= 7
