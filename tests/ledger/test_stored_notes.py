"""Notes: written once, all together, before anything is revealed, and never anew."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from dpcurves.ledger import Account, Grant, Ledger
from dpcurves.privacy import PrivacyLoss

KEY = bytes(range(32))


def granted(ledger: Ledger, account: Account, request: str = "a") -> Grant:
    ledger.create(account)
    loss = PrivacyLoss.pure("0.25")
    return ledger.charge("flights", loss, purpose="counts", request=request, binding="a" * 64, units=None)


def test_the_first_note_stays_also_when_the_ledger_is_opened_again(url: str, flights: Account) -> None:
    ledger = Ledger.open(url)
    grant = granted(ledger, flights)
    assert ledger.find_notes(grant, 0, ["0:1", "1:0"]) == {}
    assert ledger.store_notes(grant, 0, {"0:1": -7}) == {"0:1": -7}
    assert ledger.store_notes(grant, 0, {"0:1": 8, "1:0": 2**70}) == {"0:1": -7, "1:0": 2**70}
    again = Ledger.open(url)
    assert again.find_notes(grant, 0, ["1:0", "0:1", "2:0"]) == {"1:0": 2**70, "0:1": -7}
    assert again.verify().entries == 4  # the account, the grant, two notes


def test_parts_and_grants_have_notes_of_their_own(url: str, flights: Account) -> None:
    ledger = Ledger.open(url)
    one, other = granted(ledger, flights, "a"), granted(ledger, flights, "b")
    for number, (grant, part) in enumerate([(one, 0), (one, 1), (other, 0)]):
        assert ledger.store_notes(grant, part, {"0:1": number}) == {"0:1": number}
    assert [ledger.find_notes(*page, ["0:1"])["0:1"] for page in [(one, 0), (one, 1), (other, 0)]] == [0, 1, 2]


def test_many_names_are_looked_up_a_few_at_a_time(flights: Account) -> None:
    ledger = Ledger.open("sqlite://")
    grant, notes = granted(ledger, flights), {f"0:{number}": number for number in range(1203)}
    assert ledger.store_notes(grant, 0, notes) == notes
    assert ledger.find_notes(grant, 0, list(notes)) == notes


def test_a_foreign_grant_has_no_notes(flights: Account) -> None:
    ledger = Ledger.open("sqlite://")
    grant = replace(granted(ledger, flights), request="b")
    with pytest.raises(ValueError, match=r"^grant: "):
        ledger.find_notes(grant, 0, ["0:1"])
    with pytest.raises(ValueError, match=r"^grant: "):
        ledger.store_notes(grant, 0, {"0:1": 1})


@pytest.mark.parametrize(("part", "name"), [(-1, "0:1"), (0, ""), (0, "x" * 201), (0, "a\nb")])
def test_what_cannot_be_noted_is_refused(flights: Account, part: int, name: str) -> None:
    ledger = Ledger.open("sqlite://")
    grant = granted(ledger, flights)
    with pytest.raises(ValueError, match=r"^(part|name): "):
        ledger.store_notes(grant, part, {name: 1})


def test_a_note_that_was_changed_is_refused(tmp_path: Path, flights: Account) -> None:
    path = tmp_path / "budget.db"
    ledger = Ledger.open(f"sqlite:///{path}", KEY)
    grant = granted(ledger, flights)
    ledger.store_notes(grant, 0, {"0:1": 5})
    edit(path, "UPDATE dpcurves_notes SET value = '6'")
    with pytest.raises(ValueError, match=r"^ledger: row 3 was changed without the key"):
        ledger.find_notes(grant, 0, ["0:1"])
    with pytest.raises(ValueError, match=r"^ledger: row 3 was changed without the key"):
        ledger.store_notes(grant, 0, {"0:1": 7})


@pytest.mark.parametrize("lost", ["notes", "answers"])
def test_a_ledger_that_has_lost_rows_notes_nothing_anew(tmp_path: Path, flights: Account, lost: str) -> None:
    path = tmp_path / "budget.db"
    ledger = Ledger.open(f"sqlite:///{path}", KEY)
    grant = granted(ledger, flights)
    ledger.store_notes(grant, 0, {"0:1": 5, "1:0": 6})
    ledger.store_answer(grant, 0, 0, "[1]")
    edit(path, f"DELETE FROM dpcurves_{lost} WHERE entry >= 4")
    with pytest.raises(ValueError, match=r"^ledger: rows were removed without the key: the ledger's header counts 5;"):
        ledger.store_notes(grant, 0, {"1:0": 9, "2:0": 1})
    assert ledger.find_notes(grant, 0, ["0:1", "2:0"]) == {"0:1": 5}


def edit(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
