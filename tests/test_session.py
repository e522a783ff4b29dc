"""The whole road: question, plan, grant, release, curve; and every way off it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.conversation import (
    WHOLE_BUDGET,
    CellWorkload,
    Need,
    Needs,
    Release,
    Setting,
    SingleQueryWorkload,
    ask_workload,
)
from dpcurves.curves import HosmerLemeshowQuestion
from dpcurves.data import Axis
from dpcurves.ledger import Ledger, sqlite
from dpcurves.ledger.chain import Database
from dpcurves.ledger.verification import receipt_of
from dpcurves.queries import CountQuery, CountUse

SECRET = 918273.645
GRID = dp.Grid(0, 1, cells=32)
QUESTION = dp.CdfQuestion("x", GRID)
ONE = dp.PrivacyLoss.pure(1)
X = np.random.default_rng(3).beta(2, 3, size=400)
WORDS = np.where(X > 0.5, "yes", "no")


def session(table: Any, budget: float = 2, adjacency: dp.Neighbours = dp.REPLACE_ONE, **more: Any) -> dp.Session:
    return dp.Session(table, budget=dp.PrivacyLoss.pure(budget), adjacency=adjacency, **more)


def test_the_same_request_gives_the_same_curve_for_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    first = session({"x": X}, ledger=url).ask(QUESTION, ONE, "a")
    later = session({"x": X}, ledger=url)
    again = later.ask(QUESTION, ONE, "a")
    assert (again.y == first.y).all()
    assert later.remaining == ONE
    fresh = later.ask(QUESTION, ONE)
    assert (fresh.y != first.y).any()
    assert later.remaining.epsilon == 0


def test_a_new_question_takes_two_transactions_and_a_repeated_one_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, transactions = session({"x": X}, 4, ledger=f"sqlite:///{tmp_path / 'budget.db'}"), list[str]()
    for name in ("run_read", "run_write"):
        monkeypatch.setattr(Database, name, note_transaction(name, getattr(Database, name), transactions))
    expected = {None: ["run_write"] * 2, "a": ["run_read", "run_write", "run_write"], "again": ["run_read"] * 2}
    for request, kinds in expected.items():
        transactions.clear()
        curve = opened.ask(QUESTION, ONE, "a" if request == "again" else request)
        assert transactions == kinds, request
        assert curve.remaining_budget == f"{opened.balance.remaining} of epsilon 4 remained after this"


def note_transaction(name: str, run: Any, transactions: list[str]) -> Any:
    def run_noted(self: Database, work: Any) -> Any:
        transactions.append(name)
        return run(self, work)

    return run_noted


def test_an_answer_that_another_process_stored_after_the_charge_is_the_one_that_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, charge, answers = f"sqlite:///{tmp_path / 'budget.db'}", Ledger.charge_and_read_balance, list[str]()

    def charge_and_answer_elsewhere(self: Ledger, *args: Any, **more: Any) -> Any:
        charged = charge(self, *args, **more)
        monkeypatch.setattr(Ledger, "charge_and_read_balance", charge)
        answers.append(session({"x": X}, ledger=url).ask(QUESTION, ONE, "a").to_json())
        return charged

    monkeypatch.setattr(Ledger, "charge_and_read_balance", charge_and_answer_elsewhere)
    opened = session({"x": X}, ledger=url)
    assert [opened.ask(QUESTION, ONE, "a").to_json()] == answers
    assert opened.remaining == ONE


def test_a_conversation_of_several_turns_is_answered_again_word_by_word(tmp_path: Path) -> None:
    table = {"y": np.arange(300) % 2, "s": np.arange(300) / 300}
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    question = HosmerLemeshowQuestion("y", "s", groups=4)
    first = session(table, ledger=url).ask(question, ONE, "a")
    again = session(table, ledger=url).ask(question, ONE, "a")
    assert (again.statistic, again.p_value) == (first.statistic, first.p_value)
    assert (again.edges == first.edges).all()


@dataclass(frozen=True, slots=True)
class FreeLooks(CountQuery):
    """Says that it was paid before, whatever it is."""

    look: int = 0

    @property
    def charged_query(self) -> Any:
        return CountQuery(self.axes, self.use)


class ManyLooks:
    """Asks such queries, as often as it likes."""

    def steps(self, setting: Setting) -> Needs[None]:
        for look in range(9):
            yield Need(SingleQueryWorkload(FreeLooks((Axis("x", GRID),), CountUse.CELLS, None, look)), WHOLE_BUDGET)


def test_a_query_that_is_not_ours_is_refused_before_anything_is_charged() -> None:
    opened = session({"x": X})
    with pytest.raises(TypeError, match=r"^question: a query of dpcurves.queries is needed, not a FreeLooks"):
        opened.ask(ManyLooks(), ONE)
    assert opened.remaining.epsilon == 2


def test_a_request_belongs_to_one_question_one_loss_and_one_dataset() -> None:
    opened = session({"x": X})
    opened.ask(QUESTION, dp.PrivacyLoss.pure("0.5"), "a")
    for question, loss in (
        (dp.CdfQuestion("x", dp.Grid(0, 1, cells=33)), dp.PrivacyLoss.pure("0.5")),
        (QUESTION, dp.PrivacyLoss.pure("0.4")),
        (dp.HistogramQuestion("x", GRID), dp.PrivacyLoss.pure("0.5")),
    ):
        with pytest.raises(ValueError, match=r"^request: "):
            opened.ask(question, loss, "a")
    assert opened.remaining.epsilon == dp.PrivacyLoss.pure("1.5").epsilon


def test_a_question_on_another_declared_version_of_a_table_is_another_request(tmp_path: Path) -> None:
    """Records that change under one request of several thresholds would lose more than its price."""
    versions = [
        session({"x": X}, ledger=f"sqlite:///{tmp_path}/budget.db", dataset="visits", source=f"visits@{version}")
        for version in (12, 13)
    ]
    curve = versions[0].ask(QUESTION, dp.PrivacyLoss.pure("0.5"), "a")
    again = versions[0].ask(QUESTION, dp.PrivacyLoss.pure("0.5"), "a")
    assert again.to_json() == curve.to_json()
    with pytest.raises(ValueError, match=r"^request: 'a' was used for another question; give a new one"):
        versions[1].ask(QUESTION, dp.PrivacyLoss.pure("0.5"), "a")
    assert versions[1].remaining.epsilon == dp.PrivacyLoss.pure("1.5").epsilon


def test_beyond_the_budget_nothing_is_asked() -> None:
    opened = session({"x": X}, budget=1)
    opened.ask(QUESTION, dp.PrivacyLoss.pure(0.7))
    with pytest.raises(dp.BudgetExceeded, match=r"'distribution function of x' costs epsilon 0.7; 0.3 of 1 is left"):
        opened.ask(QUESTION, dp.PrivacyLoss.pure(0.7))
    assert opened.remaining == dp.PrivacyLoss.pure("0.3")


@pytest.mark.parametrize(
    ("table", "question", "words"),
    [
        ({"x": X}, dp.CdfQuestion("age", GRID), "^column: "),
        ({"x": np.array(["a"] * 400)}, QUESTION, "^column: 'x' holds text"),
        (
            {"x": np.full(400, "2020-01-01", dtype="datetime64[D]")},
            QUESTION,
            "^column: 'x' holds dates, .* a number is needed",
        ),
        ("no-such-file.csv", QUESTION, "^data: there is no file"),
        ({"x": X}, dp.RocQuestion("y", "x"), "^column: "),
        (
            {"x": X, "y": WORDS},
            dp.RocQuestion("y", "x"),
            "^pos_label: 1 is not text, but 'y' holds text; name both classes",
        ),
        ({"x": X, "y": WORDS}, dp.CalibrationQuestion("y", "x", neg_label="no"), "^pos_label: 1 is not text"),
        (
            {"x": X, "y": X > 0.5},
            dp.HosmerLemeshowQuestion("y", "x", pos_label="yes", neg_label="no"),
            "^pos_label: 'yes': column `y` is BOOLEAN in the schema; write true or false$",
        ),
        (
            {"x": X, "y": WORDS},
            dp.CdfQuestion("x", GRID, by=dp.Categories("y", ("a", 2))),
            "^categories: 2 is not text",
        ),
    ],
)
def test_what_cannot_be_asked_costs_nothing(table: Any, question: Any, words: str) -> None:
    opened = session(table)
    with pytest.raises(ValueError, match=words) as refusal:
        opened.ask(question, ONE)
    assert refusal.value.__cause__ is None
    assert opened.remaining == dp.PrivacyLoss.pure(2)


def test_a_plan_opens_no_data() -> None:
    opened = session("no-such-file.parquet", adjacency=dp.ADD_REMOVE)
    (plan,) = opened.plan(QUESTION, ONE)
    assert plan.error > 0
    told = session("no-such-file.parquet", units=1000)
    assert told.plan(QUESTION, ONE)[0].adjacency.public_record_count == 1000
    assert told.remaining == dp.PrivacyLoss.pure(2)


def test_an_empty_table_is_refused_only_where_the_number_of_units_is_public() -> None:
    empty = {"x": np.array([])}
    with pytest.raises(ValueError, match=r"replace-one needs at least one unit"):
        session(empty).ask(QUESTION, ONE)
    curve = session(empty, adjacency=dp.ADD_REMOVE).ask(QUESTION, ONE)
    assert curve.y[-1] == 1


def test_another_number_of_units_than_was_promised_is_refused() -> None:
    with pytest.raises(ValueError, match=r"units: the table does not have the public number 7 of units"):
        session({"x": X}, units=7).ask(QUESTION, ONE)


def test_adjacency_unit_and_rows_are_checked() -> None:
    with pytest.raises(TypeError, match=r"^adjacency: "):
        dp.Session({"x": X}, budget=ONE, adjacency="replace-one")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^rows_per_unit: "):
        session({"x": X}, rows_per_unit=2)
    with pytest.raises(ValueError, match=r"^rows_per_unit: "):
        session({"x": X}, unit="u", rows_per_unit=0)


def test_an_account_keeps_its_facts(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    session({"x": X}, ledger=url)
    for more in ({"adjacency": dp.ADD_REMOVE}, {"budget": 3}, {"unit": "x", "rows_per_unit": 2}):
        with pytest.raises(ValueError, match=r"dataset|account|adjacency|unit|budget"):
            session({"x": X}, ledger=url, **more)


def test_a_unit_is_bounded_and_named_on_the_face() -> None:
    table = {"x": np.tile(X, 2), "who": np.tile(np.arange(400), 2)}
    opened = session(table, adjacency=dp.ADD_REMOVE, unit="who", rows_per_unit=1)
    curve = opened.ask(QUESTION, ONE)
    assert (curve.privacy.unit, curve.privacy.rows_per_unit, curve.privacy.units) == ("who", 1, None)
    assert abs(curve.count - 400) < 200  # half of 800 rows; the noise of the total is far below 200


def test_a_seed_is_written_on_the_face_and_the_system_is_not() -> None:
    seeded = session({"x": X}, randomness=dp.Randomness.from_seed(1)).ask(QUESTION, ONE)
    assert seeded.privacy.seeded
    assert not session({"x": X}).ask(QUESTION, ONE).privacy.seeded


def test_nothing_prints_a_record() -> None:
    opened = session({"x": np.full(5, SECRET)})
    opened.ask(QUESTION, ONE)
    for shown in (repr(opened), repr(opened._records), str(opened.statement)):
        assert str(SECRET) not in shown


def test_a_rho_account_takes_pure_questions_and_an_epsilon_account_takes_no_rho() -> None:
    rho = dp.Session({"x": X}, budget=dp.PrivacyLoss.zcdp(1), adjacency=dp.REPLACE_ONE)
    rho.ask(QUESTION, ONE)
    rho.ask(QUESTION, dp.PrivacyLoss.zcdp("0.25"))
    assert rho.remaining == dp.PrivacyLoss.zcdp("0.25")
    opened = session({"x": X})
    with pytest.raises(ValueError, match=r"a loss in rho has no epsilon"):
        opened.ask(QUESTION, dp.PrivacyLoss.zcdp("0.25"))
    assert opened.remaining == dp.PrivacyLoss.pure(2)


def test_a_sum_of_small_losses_is_charged_as_the_one_release_that_it_pays_for() -> None:
    many = sum([dp.PrivacyLoss.pure("0.1")] * 9, start=dp.PrivacyLoss.pure("0.1"))
    claimed = dp.PrivacyLoss(many.epsilon, many.rho / 10**6)
    for loss in (many, claimed):
        opened = dp.Session({"x": X}, budget=dp.PrivacyLoss.zcdp(2), adjacency=dp.REPLACE_ONE)
        curve = opened.ask(QUESTION, loss)
        assert opened.remaining.rho == dp.PrivacyLoss.zcdp("1.5").rho
        assert (curve.privacy.epsilon, curve.privacy.rho) == (1, 0.5)


def test_the_same_step_asked_twice_in_one_conversation_is_answered_once() -> None:
    class Twice:
        def steps(self, setting: Setting) -> Needs[tuple[Release, Release]]:
            first = yield from ask_workload(CellWorkload((Axis("x", GRID),)), WHOLE_BUDGET)
            second = yield from ask_workload(CellWorkload((Axis("x", GRID),)), WHOLE_BUDGET)
            return first.releases[0], second.releases[0]

    first, second = session({"x": X}).ask(Twice(), ONE)
    assert first.values == second.values


@pytest.mark.parametrize(
    ("shares", "refused"),
    [
        (("1/2",), "1/2 of this question is left"),
        (("2/3", "2/3"), "budget_fraction: a step needs fraction 2/3 of its question's loss; 1/3 is left"),
    ],
)
def test_a_question_whose_shares_do_not_add_up_to_one_is_refused_before_it_is_charged(
    shares: tuple[str, ...], refused: str
) -> None:
    class Ill:
        def steps(self, setting: Setting) -> Needs[None]:
            for turn, share in enumerate(shares):
                yield Need(CellWorkload((Axis("x", dp.Grid(0, 1, cells=8 + turn)),)), Fraction(share))

    opened = session({"x": X})
    with pytest.raises(ValueError, match=refused):
        opened.plan(Ill(), ONE)
    with pytest.raises(ValueError, match=refused):
        opened.ask(Ill(), ONE)
    assert opened.remaining.epsilon == 2


def test_a_request_whose_answer_was_deleted_is_not_answered_anew(tmp_path: Path) -> None:
    opened = session({"x": X}, ledger=f"sqlite:///{tmp_path}/budget.db")
    opened.ask(QUESTION, ONE, "a")
    with closing(sqlite3.connect(tmp_path / "budget.db")) as connection, connection:
        assert connection.execute("DELETE FROM dpcurves_answers").rowcount == 1
    with pytest.raises(ValueError, match=r"^ledger: rows were removed without the key: the ledger's header counts 3"):
        opened.ask(QUESTION, ONE, "a")
    with pytest.raises(ValueError, match=r"^ledger: rows were removed without the key: the ledger's header counts 3"):
        opened.ask(QUESTION, ONE, "b")
    assert opened.remaining == ONE


def notes_of(error: BaseException) -> list[str]:
    return getattr(error, "__notes__", [])


@pytest.mark.parametrize("given", ["monday", None])
def test_a_disk_that_is_full_after_the_charge_is_told_with_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    url = f"sqlite:///{tmp_path}/budget.db"
    opened = session({"x": X}, ledger=url)
    question, connect = dp.CdfQuestion("x", dp.Grid(0, 1, cells=2**14), hint=dp.Hint.ATOMS), sqlite._connect

    def connect_to_a_full_disk(uri: str, path: Path) -> sqlite3.Connection:
        connection = connect(uri, path)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")  # a charge finds room, 2^14 counts do not
        return connection

    with monkeypatch.context() as full:
        full.setattr(sqlite, "_connect", connect_to_a_full_disk)
        with pytest.raises(
            ValueError, match=r"the disk is full and nothing was written; make room and retry\n"
        ) as caught:
            session({"x": X}, ledger=url).ask(question, ONE, given)
    receipt = receipt_of(caught.value)
    assert receipt is not None
    words = "is charged: the same question under this id returns the answer at no cost"
    assert notes_of(caught.value) == [f"request: {receipt.request!r} {words}"]
    assert given is None or receipt.request == given
    assert opened.remaining == ONE
    opened.ask(question, ONE, receipt.request)
    assert opened.remaining == ONE


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("of an engine")])
def test_whatever_fails_after_the_charge_tells_the_request_and_what_fails_before_does_not(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    opened = session({"x": X})
    for place, is_told in ("charge_and_read_balance", False), ("store_answer", True):
        error.__notes__ = []
        with monkeypatch.context() as failing:
            failing.setattr(Ledger, place, fail)
            with pytest.raises(type(error)):
                opened.ask(QUESTION, ONE, "a")
        assert [receipt_of(error) is not None, len(notes_of(error))] == [is_told, is_told]
    with pytest.raises(dp.BudgetExceeded) as refused:
        opened.ask(QUESTION, dp.PrivacyLoss.pure(3))
    assert notes_of(refused.value) == []


def test_a_warning_that_is_an_error_tells_the_request() -> None:
    opened = session({"x": np.full(4000, np.nan)})
    with warnings.catch_warnings():
        warnings.simplefilter("error", dp.CurveWarning)
        with pytest.raises(dp.CurveWarning) as caught:
            opened.ask(QUESTION, ONE)
    assert receipt_of(caught.value) is not None


def test_a_unit_needs_a_name() -> None:
    with pytest.raises(ValueError, match=r"^unit: a column name is needed"):
        session({"x": X, "": X}, unit="", rows_per_unit=1)


def test_threads_that_share_a_session_are_all_answered() -> None:
    opened = session({"x": X}, budget=40)
    with ThreadPoolExecutor(4) as pool:
        curves = list(pool.map(lambda _: opened.ask(QUESTION, ONE), range(16)))
    assert len(curves) == 16
    assert opened.remaining.epsilon == 24


def test_two_processes_that_ask_under_one_request_are_shown_one_curve(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    session({"x": X}, ledger=url)
    program = (
        "import numpy as np, dpcurves as dp\n"
        "x = np.random.default_rng(3).beta(2, 3, size=400)\n"
        f"s = dp.Session({{'x': x}}, budget=dp.PrivacyLoss.pure(2), adjacency=dp.REPLACE_ONE, ledger={url!r})\n"
        "curve = s.ask(dp.CdfQuestion('x', dp.Grid(0, 1, cells=32)), dp.PrivacyLoss.pure(1), 'a')\n"
        "print(curve.to_json())\n"
    )
    asked = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(3)]
    shown = {process.communicate(timeout=300)[0] for process in asked}
    assert len(shown) == 1
    assert Ledger.open(url).statement("data").spent.digits == "1"
    assert Ledger.open(url).verify().entries >= 3
