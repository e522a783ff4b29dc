"""Any edit that is made without the key is found, and the first bad row is named."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine

from dpcurves.ledger import Account, Allowance, Event, Ledger, Member, verification
from dpcurves.ledger.chain import METADATA
from dpcurves.ledger.verification import Head
from dpcurves.privacy import PrivacyLoss

KEY = bytes(range(32))
COLUMNS = [(table.name, column.name) for table in METADATA.sorted_tables for column in table.columns]
ENTRIES = 21
KINDS = "accounts", "grants", "answers", "notes", "allowances", "payments", "events", "views"
TABLES = tuple(f"dpcurves_{kind}" for kind in KINDS)


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    """A copy of the ledger, to be edited."""
    return Path(shutil.copy(made, tmp_path / "budget.db"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, flights: Account, patients: Account) -> Path:
    """A ledger of two accounts, four grants and answers, rows 1 to 10, notes, rows 11 to 13, time steps, rows 14 and
    15, two allowances, rows 16 and 17, a grant and its payment, rows 18 and 19, what somebody did, row 20, and a view,
    row 21.
    """
    path = tmp_path_factory.mktemp("made") / "budget.db"
    ledger = Ledger.open(f"sqlite:///{path}", KEY)
    ledger.create(flights)
    ledger.create(patients)
    for i in range(4):
        dataset, units = ("flights", None) if i % 2 == 0 else ("patients", 7)
        loss = PrivacyLoss.pure(f"0.{i + 1}")
        grant = ledger.charge(
            dataset, loss, purpose=f"a CDF {i}", request=f"request {i}", binding=f"{i}" * 64, units=units
        )
        ledger.store_answer(grant, i, i, f"[{i}]")
    ledger.store_notes(grant, 0, {"0:5": -3, "1:2": 70})
    ledger.store_notes(grant, 1, {"0:5": 4})
    ledger.advance(grant, {1: "[1]"}, b"state")
    ledger.advance(grant, {2: "[2]"}, b"state")
    for analyst in (None, "ann"):
        ledger.allow(Allowance("patients", "delays", PrivacyLoss.zcdp("0.3"), analyst))
    paid = PrivacyLoss.zcdp("0.01")
    ledger.charge_for(Member("delays", "ann"), "patients", paid, purpose="a CDF 4", binding="4" * 64, units=7)
    ledger.record_event(Event("ann", "asked", "a CDF 4", "patients"), lambda _: None)
    ledger.change_view("flights", lambda _: ("late", "delay > 0"))
    return path


def opened(path: Path) -> Ledger:
    return Ledger.open(f"sqlite:///{path}", KEY)


def edit(path: Path, *statements: str) -> int:
    """How many rows the statements changed."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            connection.execute(statement)
        return connection.total_changes


def trouble(path: Path, head: str | None = None) -> str:
    """Return the error line that names the changed row."""
    with pytest.raises(ValueError, match=r".") as caught:
        opened(path).verify(head)
    assert "\n" not in str(caught.value)
    finding, _, step = str(caught.value).partition("; ")
    assert finding.startswith("head: ") or step.startswith("ask nothing more of this ledger")
    return finding


def edits(path: Path, table: str, column: str) -> Iterable[str]:
    """Statements that change one value of one of two rows, each to something else, with other values in each."""
    others = [f"(SELECT max({column}) FROM {table})", f"(SELECT min({column}) FROM {table})"]
    values = ["NULL", "7", "-1", "2.5", "'x'", "''", "x'00'", f"'{'0' * 64}'", f"{column} || 'x'", f"{column} + 1"]
    with closing(sqlite3.connect(path)) as connection:
        rows = [row for (row,) in connection.execute(f"SELECT rowid FROM {table} LIMIT 2")]
    for place, row in enumerate(rows):
        for value in [*others, *values][place % len(rows) :: len(rows)]:
            yield f"UPDATE {table} SET {column} = {value} WHERE rowid = {row} AND {column} IS NOT {value}"


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_a_ledger_that_nobody_touched_verifies(path: Path) -> None:
    ledger = opened(path)
    verified = ledger.verify()
    assert (verified.entries, verified.head) == (ENTRIES, ledger.head())
    assert ledger.verify(ledger.head()) == verified


def test_a_ledger_without_entries_verifies(url: str) -> None:
    ledger = Ledger.open(url)
    assert ledger.verify(ledger.head()).entries == 0


@pytest.mark.quick_share(3)
@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_an_edit_of_any_value_is_found(path: Path, tmp_path: Path, table: str, column: str) -> None:
    untouched = Path(shutil.copy(path, tmp_path / "untouched.db"))
    ledger, found = opened(path), 0
    for statement in edits(untouched, table, f'"{column}"'):
        shutil.copy(untouched, path)
        try:
            changed = edit(path, statement)
        except sqlite3.IntegrityError:
            continue  # the tables themselves refuse it
        if changed:
            found += 1
            with pytest.raises(ValueError, match=r"^(ledger|key): .*without the key|not the sum of its grants"):
                ledger.verify()
    assert found > 0


@pytest.mark.parametrize("number", range(1, ENTRIES + 1))
def test_a_row_that_was_removed_is_named(path: Path, number: int) -> None:
    edit(path, *(f"DELETE FROM {table} WHERE entry = {number}" for table in TABLES))
    assert trouble(path).startswith(f"ledger: row {number} was removed")


@pytest.mark.parametrize("kept", range(ENTRIES))
def test_rows_that_were_cut_off_are_found(path: Path, kept: int) -> None:
    edit(path, *(f"DELETE FROM {table} WHERE entry > {kept}" for table in TABLES))
    assert trouble(path) == f"ledger: row {kept + 1} was removed without the key"


def test_the_first_bad_row_is_named(path: Path) -> None:
    edit(path, "UPDATE dpcurves_grants SET purpose = 'another' WHERE entry >= 5")
    assert trouble(path) == "ledger: row 5 was changed without the key"


@pytest.mark.parametrize(("first", "second"), [(3, 5), (7, 9), (3, 9)])
def test_rows_that_changed_places_are_found(path: Path, first: int, second: int) -> None:
    edit(
        path,
        f"UPDATE dpcurves_grants SET entry = -1 WHERE entry = {first}",
        f"UPDATE dpcurves_grants SET entry = {first} WHERE entry = {second}",
        f"UPDATE dpcurves_grants SET entry = {second} WHERE entry = -1",
    )
    assert trouble(path) == f"ledger: row {first} was changed without the key"


def test_a_copied_row_is_found(path: Path) -> None:
    edit(
        path,
        f"INSERT INTO dpcurves_answers SELECT {ENTRIES + 1}, \"grant\", round + 1, part, answer, previous, mac"
        " FROM dpcurves_answers WHERE entry = 4",
    )  # fmt: skip
    assert trouble(path) == f"ledger: row {ENTRIES + 1} was changed without the key"


def test_a_row_that_stands_twice_is_found(path: Path) -> None:
    edit(
        path,
        "UPDATE dpcurves_answers SET entry = 3 WHERE entry = 4",
    )
    assert trouble(path) == "ledger: row 3 exists twice: one was inserted without the key"


def test_rows_after_the_last_one_are_found(path: Path, tmp_path: Path) -> None:
    early = tmp_path / "early.db"
    shutil.copy(path, early)
    grant = opened(path).charge(
        "flights", PrivacyLoss.pure("0.1"), purpose="more", request="r", binding="f" * 64, units=None
    )
    edit(early, f"ATTACH '{path}' AS late", f"INSERT INTO dpcurves_grants SELECT * FROM late.dpcurves_grants WHERE entry = {grant.id}")  # fmt: skip # noqa: E501
    assert trouble(early) == f"ledger: row {ENTRIES + 1} was inserted without the key"


def test_a_second_page_of_the_book_is_found(path: Path) -> None:
    edit(path, "INSERT INTO dpcurves_book SELECT 2, version, name, key, entries, head, seal FROM dpcurves_book")
    assert trouble(path) == "ledger: the ledger's header has 2 rows, not one: it was changed without the key"


def test_a_book_that_was_removed_is_found(path: Path) -> None:
    edit(path, "DELETE FROM dpcurves_book")
    assert trouble(path) == "ledger: the ledger's header has 0 rows, not one: it was changed without the key"


def test_an_older_balance_that_was_put_back_is_found(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "early.db")
    opened(path).charge("flights", PrivacyLoss.pure("0.1"), purpose="more", request="r", binding="f" * 64, units=None)
    edit(
        path,
        f"ATTACH '{tmp_path}/early.db' AS early",
        "UPDATE dpcurves_accounts SET spent = early.spent, seal = early.seal"
        " FROM early.dpcurves_accounts AS early WHERE early.dataset = dpcurves_accounts.dataset",
    )
    assert trouble(path) == "ledger: the spent budget of 'flights' is not the sum of its grants"


def test_an_older_copy_is_found_with_a_head_that_was_kept(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "early.db")
    ledger = opened(path)
    kept = {ledger.head()}
    for request in ("a", "b"):
        ledger.charge("flights", PrivacyLoss.pure("0.1"), purpose="x", request=request, binding="f" * 64, units=None)
        kept.add(ledger.head())
    assert all(ledger.verify(head).entries == ENTRIES + 2 for head in kept)
    late = ledger.head()
    shutil.copy(tmp_path / "early.db", path)
    assert opened(path).verify().entries == ENTRIES  # without the head it is as good as it was
    assert trouble(path, late) == (
        f"ledger: the chain ends at row {ENTRIES}, but had {ENTRIES + 2} rows when the head was stored:"
        " an older copy was restored"
    )


def test_an_older_copy_that_went_on_is_found_with_a_head_that_was_kept(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "early.db")
    question = {"purpose": "x", "binding": "f" * 64, "units": None}
    opened(path).charge("flights", PrivacyLoss.pure("0.1"), request="a", **question)  # type: ignore[arg-type]
    kept = opened(path).head()
    shutil.copy(tmp_path / "early.db", path)
    for request in ("b", "c"):
        opened(path).charge("flights", PrivacyLoss.pure("0.1"), request=request, **question)  # type: ignore[arg-type]
    assert trouble(path, kept) == f"ledger: row {ENTRIES + 1} has another seal than when its head was stored"


def test_a_ledger_that_was_begun_again_is_found_with_a_head_that_was_kept(path: Path, tmp_path: Path) -> None:
    kept = Ledger.open(f"sqlite:///{tmp_path}/empty.db", KEY).head()
    assert trouble(path, kept) == "ledger: row 0 has another seal than when its head was stored"


@pytest.mark.parametrize("text", ["", "7", "x-" + "0" * 64, "7-" + "0" * 63, "-7-" + "0" * 64, "7-" + "G" * 64])
def test_what_is_no_head_is_refused(path: Path, text: str) -> None:
    assert trouble(path, text).startswith("head: a number, a dash and 64 hexadecimal digits are needed")


def test_a_head_reads_as_it_was_printed() -> None:
    head = Head(12, "ab" * 32)
    assert Head.parse(f" {head}\n") == head


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE dpcurves_accounts SET cap = cap * 2",
        "UPDATE dpcurves_accounts SET spent = 0",
        "UPDATE dpcurves_accounts SET neighbours = 'replace-one'",
        "UPDATE dpcurves_accounts SET seal = mac",
        "UPDATE dpcurves_book SET head = seal",
        "UPDATE dpcurves_book SET entries = entries + 1",
        "UPDATE dpcurves_book SET entries = 'many'",
        "DELETE FROM dpcurves_book",
    ],
)
def test_nothing_is_charged_on_a_changed_account_or_book(path: Path, statement: str) -> None:
    ledger = opened(path)
    edit(path, statement)
    before = dump(path)
    with pytest.raises(ValueError, match="without the key"):
        ledger.charge("flights", PrivacyLoss.pure("0.1"), purpose="x", request="r", binding="f" * 64, units=None)
    with pytest.raises(ValueError, match="without the key"):
        ledger.statement("flights")
    assert dump(path) == before


JUNK = "SELECT 4, 99, 0, 0, 'x', previous, mac FROM dpcurves_answers WHERE entry = 6"


@pytest.mark.parametrize(
    ("statements", "line"),
    [
        (["DELETE FROM dpcurves_answers"], f"rows were removed without the key: the ledger's header counts {ENTRIES}"),
        (["DELETE FROM dpcurves_answers WHERE entry = 4"],
         f"rows were removed without the key: the ledger's header counts {ENTRIES}"),
        (["UPDATE dpcurves_answers SET round = 70 WHERE entry = 4"], "row 4 was changed without the key"),
        (["DELETE FROM dpcurves_answers WHERE entry = 4", f"INSERT INTO dpcurves_answers {JUNK}"], "row 4 was changed"),
        (["UPDATE dpcurves_answers SET round = 70 WHERE entry = 4",
          "UPDATE dpcurves_book SET (entries, head, seal) = (SELECT entries, head, seal FROM early.dpcurves_book)"],
         "rows were removed without the key: the ledger's header counts 3"),
    ],
)  # fmt: skip
def test_what_was_answered_is_not_answered_anew(
    tmp_path: Path, flights: Account, statements: list[str], line: str
) -> None:
    early, path = tmp_path / "early.db", tmp_path / "late.db"
    Ledger.open(f"sqlite:///{early}", KEY).create(flights)
    Ledger.open(f"sqlite:///{early}", KEY).create(replace(flights, dataset="trains"))
    question = {"purpose": "a CDF 0", "request": "request 0", "binding": "0" * 64, "units": None}
    grant = opened(early).charge("flights", PrivacyLoss.pure("0.1"), **question)  # type: ignore[arg-type]
    shutil.copy(early, path)
    ledger = opened(path)
    assert ledger.store_answer(grant, 0, 0, "[1]") == "[1]"
    for turn in range(1, ENTRIES - 3):
        ledger.store_answer(grant, turn, 0, "[0]")
    edit(path, f"ATTACH '{early}' AS early", *statements)
    assert ledger.find_answer(grant, 0, 0) is None
    with pytest.raises(ValueError, match=f"^ledger: {line}"):
        ledger.store_answer(grant, 0, 0, "[2]")


def test_what_was_charged_and_never_answered_is_answered_later(path: Path) -> None:
    ledger = opened(path)
    question = {"purpose": "a CDF 0", "request": "request 0", "binding": "0" * 64, "units": None}
    grant = ledger.charge("flights", PrivacyLoss.pure("0.1"), **question)  # type: ignore[arg-type]
    assert (grant.id, ledger.find_answer(grant, 5, 0)) == (3, None)
    assert ledger.store_answer(grant, 5, 0, "[5]") == "[5]"
    assert ledger.verify().entries == ENTRIES + 1


@pytest.mark.parametrize(
    ("deleted", "line"),
    [((), "the spent budget of 'flights' is not the sum of its grants"), (("grants",), "rows were removed")],
)
def test_an_account_with_an_older_balance_pays_nothing(
    path: Path, tmp_path: Path, deleted: tuple[str, ...], line: str
) -> None:
    shutil.copy(path, tmp_path / "early.db")
    question = {"purpose": "more", "binding": "f" * 64, "units": None}
    opened(path).charge("flights", PrivacyLoss.pure("0.6"), request="r", **question)  # type: ignore[arg-type]
    edit(
        path,
        f"ATTACH '{tmp_path}/early.db' AS early",
        "UPDATE dpcurves_accounts SET spent = early.spent, seal = early.seal"
        " FROM early.dpcurves_accounts AS early WHERE early.dataset = dpcurves_accounts.dataset",
        *(f"DELETE FROM dpcurves_{table} WHERE entry > {ENTRIES}" for table in deleted),
    )
    before = dump(path)
    with pytest.raises(ValueError, match=f"^ledger: {line}"):
        opened(path).charge("flights", PrivacyLoss.pure("0.6"), request="s", **question)  # type: ignore[arg-type]
    assert dump(path) == before


def test_a_changed_answer_or_grant_is_not_shown_again(path: Path) -> None:
    ledger = opened(path)
    question = {"purpose": "a CDF 0", "request": "request 0", "binding": "0" * 64, "units": None}
    grant = ledger.charge("flights", PrivacyLoss.pure("0.1"), **question)  # type: ignore[arg-type]
    edit(path, "UPDATE dpcurves_answers SET answer = '[9]'")
    with pytest.raises(ValueError, match="ledger: row 4 was changed without the key"):
        ledger.find_answer(grant, 0, 0)
    with pytest.raises(ValueError, match="ledger: row 4 was changed without the key"):
        ledger.store_answer(grant, 0, 0, "[1]")
    edit(path, "UPDATE dpcurves_grants SET amount = 1")
    with pytest.raises(ValueError, match="ledger: row 3 was changed without the key"):
        ledger.charge("flights", PrivacyLoss.pure("0.1"), **question)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="ledger: row 3 was changed without the key"):
        ledger.find_answer(grant, 0, 0)
    with pytest.raises(ValueError, match="ledger: row 3 was changed without the key"):
        ledger.statement("flights")


def test_rows_of_another_ledger_under_the_same_key_are_refused(path: Path, tmp_path: Path, flights: Account) -> None:
    rich = Ledger.open(f"sqlite:///{tmp_path}/rich.db", KEY)
    rich.create(replace(flights, cap=PrivacyLoss.pure(100)))
    ledger = opened(path)
    edit(
        path,
        f"ATTACH '{tmp_path}/rich.db' AS rich",
        "DELETE FROM main.dpcurves_accounts WHERE dataset = 'flights'",
        "INSERT INTO main.dpcurves_accounts SELECT * FROM rich.dpcurves_accounts",
    )
    with pytest.raises(ValueError, match="ledger: row 1 was changed without the key"):
        ledger.charge("flights", PrivacyLoss.pure(50), purpose="x", request="r", binding="f" * 64, units=None)
    assert trouble(path) == "ledger: row 1 was changed without the key"


def test_edits_on_a_server_are_found(new_database: Callable[[], str], flights: Account) -> None:
    url = new_database()
    ledger = Ledger.open(url, KEY)
    ledger.create(flights)
    for request in "abc":
        ledger.charge("flights", PrivacyLoss.pure("0.1"), purpose="x", request=request, binding="f" * 64, units=None)
    assert ledger.verify(ledger.head()).entries == 4
    with create_engine(url, poolclass=NullPool).begin() as connection:
        connection.exec_driver_sql("UPDATE dpcurves_grants SET amount = 1 WHERE entry = 3")
    with pytest.raises(ValueError, match="ledger: row 3 was changed without the key"):
        ledger.verify()
    with create_engine(url, poolclass=NullPool).begin() as connection:
        connection.exec_driver_sql("DROP TABLE dpcurves_answers")
    with pytest.raises(ValueError, match=r"^ledger: PostgreSQL database 'postgres': this database holds no ledger;"):
        ledger.verify()


def test_a_ledger_is_read_in_order_however_few_rows_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rows in (1, 2, 3, 4, 5):
        monkeypatch.setattr(verification, "_ROWS_AT_ONCE", rows)
        assert opened(path).verify().entries == ENTRIES


def test_a_row_that_stands_twice_under_one_number_is_found(path: Path) -> None:
    edit(
        path,
        "CREATE TABLE loose AS SELECT * FROM dpcurves_grants",
        "DROP TABLE dpcurves_grants",
        "ALTER TABLE loose RENAME TO dpcurves_grants",
        "INSERT INTO dpcurves_grants SELECT * FROM dpcurves_grants WHERE entry = 9",
    )
    assert trouble(path) == "ledger: row 9 exists twice: one was inserted without the key"
