"""One tree of noises, many looks: free under one request, always the same, whatever dies in between."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.conversation import WHOLE_BUDGET, CellWorkload, Needs, Release, Setting, SingleQueryWorkload, ask_workload
from dpcurves.curves import SupportsChargedQuery
from dpcurves.data import Axis
from dpcurves.distributions import ThresholdSums
from dpcurves.ledger import Ledger
from dpcurves.queries import PrefixQuery
from dpcurves.session import plan_question

FINE = dp.Grid(-8, 8, cells=2**32)
ONE = dp.PrivacyLoss.pure(1)
X = np.random.default_rng(21).normal(size=2000)
PROGRAM = Path(__file__).with_name("reading_thresholds.py")
SOURCE = Path(dp.__file__).parents[1]


def session(url: str = "sqlite://", adjacency: dp.Neighbours = dp.REPLACE_ONE, **more: Any) -> dp.Session:
    return dp.Session({"x": X}, budget=dp.PrivacyLoss.pure(2), adjacency=adjacency, ledger=url, **more)


def thresholds(*at: int, grid: dp.Grid = FINE) -> dp.CdfQuestion:
    return dp.CdfQuestion("x", grid, edges=at)


def quantiles(*p: float, grid: dp.Grid = FINE) -> dp.QuantilesQuestion:
    return dp.QuantilesQuestion("x", grid, p, search=0.95)


def seen(curve: dp.CDF) -> dict[int, int]:
    """Noisy counts by the number of slots that they take."""
    (turn,) = curve.rounds
    return dict(zip(turn.distribution.require_type(ThresholdSums).path.prefix_lengths, turn.values, strict=False))


def in_file(folder: Path) -> str:
    return f"sqlite:///{folder / 'budget.db'}"


def notes(folder: Path) -> dict[str, int]:
    with closing(sqlite3.connect(folder / "budget.db")) as connection:
        return {name: int(value) for name, value in connection.execute("SELECT name, value FROM dpcurves_notes")}


def test_other_thresholds_under_the_same_request_cost_nothing_and_have_one_answer(tmp_path: Path) -> None:
    """Three counts of a request are those of another one with a chance of 1.4e-9: each has a deviation of 256."""
    url, edges = in_file(tmp_path), (2**31, 5, 3 * 2**30)
    first = session(url).ask(thresholds(*edges), ONE, "a")
    later = session(url)
    for at in ((2**31, 2**30), (7, 5, 2**31), (2**32,)):
        known = seen(later.ask(thresholds(*at), ONE, "a"))
        assert all(known.get(edge, count) == count for edge, count in seen(first).items())
    assert later.remaining == ONE
    assert seen(later.ask(thresholds(*edges), ONE, "a")) == seen(first)
    assert seen(later.ask(thresholds(*edges), ONE, "b")) != seen(first)
    assert later.remaining.epsilon == 0


def test_a_look_opens_one_block_of_each_level_and_the_missing_cell_is_noted_once(tmp_path: Path) -> None:
    opened = session(in_file(tmp_path))
    opened.ask(thresholds(2**32), ONE, "a")
    assert len(notes(tmp_path)) == 32 + len({"missing", "paid", "seeded"})
    opened.ask(thresholds(2**31), ONE, "a")
    assert len(notes(tmp_path)) == 64 + 3  # the two halves of the grid share no block
    opened.ask(thresholds(2**31 - 1), ONE, "a")
    assert len(notes(tmp_path)) == 65 + 3  # a neighbour shares all blocks but the smallest
    before = notes(tmp_path)
    opened.ask(thresholds(2**31, 2**31 - 1), ONE, "a")
    assert notes(tmp_path) == before


@pytest.mark.reproduction
def test_a_quantile_in_2_to_the_32_cells_is_found_in_32_looks(tmp_path: Path) -> None:
    question = quantiles(0.5)
    plans = plan_question(question, ONE, dp.REPLACE_ONE.to_adjacency(dp.EACH_RECORD, 2000))
    assert len(plans) == 32
    assert {plan.error for plan in plans} == {plans[0].error}
    assert plans[0].error == pytest.approx((2 * 32**3) ** 0.5, rel=1e-3)
    opened = session(in_file(tmp_path), randomness=dp.Randomness.from_seed(8))
    median = opened.ask(question, ONE, "a")
    ((lower, upper),) = median.intervals(0.95)
    assert lower <= median.x <= upper
    assert lower < np.quantile(X, 0.5, method="inverted_cdf") <= upper  # else in 1 of 20 seeds, at most
    assert len(median.curve.x) <= 5 * 32 + 1
    assert opened.ask(quantiles(0.9), ONE, "a").x >= median.x
    assert opened.ask(question, ONE, "a").x == median.x
    assert opened.remaining == ONE


def test_a_request_stands_for_one_column_grid_and_loss() -> None:
    table = {"x": X, "y": X}
    opened = dp.Session(table, budget=dp.PrivacyLoss.pure(2), adjacency=dp.ADD_REMOVE)
    opened.ask(thresholds(1), ONE, "a")
    for question, loss in (
        (thresholds(1, grid=dp.Grid(-8, 8, cells=2**31)), ONE),
        (thresholds(1, grid=replaced_outside()), ONE),
        (dp.CdfQuestion("y", FINE, edges=(1,)), ONE),
        (thresholds(1), dp.PrivacyLoss.pure("0.5")),
        (quantiles(0.5, grid=dp.Grid(-8, 8, cells=64)), ONE),
        (dp.CdfQuestion("x", dp.Grid(-8, 8, cells=64)), ONE),
    ):
        with pytest.raises(ValueError, match=r"^request: "):
            opened.ask(question, loss, "a")
    assert opened.remaining == ONE


def replaced_outside() -> dp.Grid:
    return dp.Grid(-8, 8, cells=2**32, outside=dp.Outside.APART)


def test_looks_without_the_notes_they_stand_on_are_refused(tmp_path: Path) -> None:
    url = in_file(tmp_path)
    session(url).ask(thresholds(2**31), ONE, "a")
    with closing(sqlite3.connect(tmp_path / "budget.db")) as connection, connection:
        connection.execute("DELETE FROM dpcurves_notes WHERE name = '0:2147483647'")
    with pytest.raises(ValueError, match=r"^ledger: rows were removed without the key: the ledger's header counts \d+"):
        session(url).ask(thresholds(2**31), ONE, "a")
    with closing(sqlite3.connect(tmp_path / "budget.db")) as connection, connection:
        connection.execute("DELETE FROM dpcurves_notes")
    with pytest.raises(ValueError, match=r"^memory: the stored noise of this request is lost"):
        session(url).ask(thresholds(7), ONE, "a")


def test_seeded_noise_and_secret_noise_are_not_mixed(tmp_path: Path) -> None:
    url = in_file(tmp_path)
    assert session(url, randomness=dp.Randomness.from_seed(1)).ask(thresholds(9), ONE, "a").privacy.seeded
    with pytest.raises(ValueError, match=r"^randomness: this request began with noise of the other kind"):
        session(url).ask(thresholds(10), ONE, "a")
    assert session(url, randomness=dp.Randomness.from_seed(2)).ask(thresholds(10), ONE, "a").privacy.seeded


def test_records_that_changed_between_looks_change_no_answer_that_was_given(tmp_path: Path) -> None:
    url = in_file(tmp_path)
    first = session(url, dp.ADD_REMOVE).ask(thresholds(2**31, 2**32), ONE, "a")
    fewer = dp.Session({"x": X[1:]}, budget=dp.PrivacyLoss.pure(2), adjacency=dp.ADD_REMOVE, ledger=url)
    assert seen(fewer.ask(thresholds(2**31, 2**32), ONE, "a")) == seen(first)


def run(work: str, url: str, edges: list[int], file: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.Popen([sys.executable, str(PROGRAM), work, url, json.dumps(edges), str(file)], env=environment)


def told(file: Path) -> list[dict[int, int]]:
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    return [{int(edge): count for edge, count in json.loads(line).items()} for line in lines if line.endswith("\n")]


def test_what_was_noted_before_a_kill_is_what_is_told_after_it(tmp_path: Path) -> None:
    url, file = in_file(tmp_path), tmp_path / "told"
    killed = run("die_before_telling", url, [2**32], file)
    assert killed.wait(300) == -signal.SIGKILL
    assert not file.exists()
    noted = notes(tmp_path)
    assert len(noted) == 35
    assert run("tell_once", url, [2**32], file).wait(300) == 0
    assert notes(tmp_path) == noted
    blocks = [value for name, value in noted.items() if ":" in name]
    assert json.loads(file.read_text()) == {str(2**32): sum(blocks)}
    assert Ledger.open(url).statement("data").spent.digits == "1"


def test_processes_killed_at_any_moment_never_give_a_threshold_two_answers(tmp_path: Path) -> None:
    url, edges = in_file(tmp_path), [2**31, 3 * 2**30, 2**31 + 1, 12345, 2**32]
    for number, enough in enumerate((1, 4, 7)):
        file = tmp_path / f"told-{number}"
        running = run("tell", url, edges[number:] + edges[:number], file)
        wait_for(file, enough, running)
        os.kill(running.pid, signal.SIGKILL)
        assert running.wait(60) == -signal.SIGKILL
    answers: dict[int, set[int]] = {}
    for number in range(3):
        for line in told(tmp_path / f"told-{number}"):
            for edge, count in line.items():
                answers.setdefault(edge, set()).add(count)
    assert set(answers) == set(edges)
    assert all(len(counts) == 1 for counts in answers.values())
    assert Ledger.open(url).statement("data").spent.digits == "1"
    Ledger.open(url).verify()


def wait_for(file: Path, lines: int, running: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 300
    while len(told(file)) < lines:
        assert running.poll() is None, "the process ended early"
        assert time.monotonic() < end, "the process tells nothing"
        time.sleep(0.02)


def test_processes_that_look_at_once_agree_on_every_threshold(tmp_path: Path) -> None:
    url = in_file(tmp_path)
    wanted = [[2**31, 5, 9], [2**31, 9, 2**32], [5, 2**32, 77]]
    running = [run("tell_once", url, edges, tmp_path / f"told-{number}") for number, edges in enumerate(wanted)]
    assert [process.wait(300) for process in running] == [0, 0, 0]
    seen = [json.loads((tmp_path / f"told-{number}").read_text()) for number in range(3)]
    for edge in (2**31, 5, 9, 2**32, 77):
        assert len({counts[str(edge)] for counts in seen if str(edge) in counts}) == 1
    assert Ledger.open(url).statement("data").spent.digits == "1"
    Ledger.open(url).verify()


@dataclass(frozen=True)
class Twice:
    """Asks for the same counts twice."""

    def steps(self, setting: Setting) -> Needs[tuple[Release, Release]]:
        cells = CellWorkload((Axis("x", dp.Grid(-8, 8, cells=4)),))
        one = yield from ask_workload(cells, budget_fraction=WHOLE_BUDGET)
        other = yield from ask_workload(cells, budget_fraction=WHOLE_BUDGET)
        return one.releases[0], other.releases[0]


def test_what_is_asked_twice_in_one_conversation_is_answered_once() -> None:
    one, other = session().ask(Twice(), ONE)
    assert one.values == other.values


@dataclass(frozen=True)
class Liar:
    """Says that it pays for one grid, and asks for another."""

    @property
    def charged_query(self) -> PrefixQuery:
        return PrefixQuery((Axis("x", FINE),), ())

    def steps(self, setting: Setting) -> Needs[Release]:
        query = PrefixQuery((Axis("x", dp.Grid(0, 1, cells=8)),), (3,))
        return (yield from ask_workload(SingleQueryWorkload(query), budget_fraction=WHOLE_BUDGET))


def test_a_request_that_stands_for_one_grid_pays_for_no_other() -> None:
    assert isinstance(Liar(), SupportsChargedQuery)
    opened = session()
    with pytest.raises(
        ValueError, match=r"^question: the query of a step differs from the query that its request pays for"
    ):
        opened.ask(Liar(), ONE, "a")
    assert opened.remaining == dp.PrivacyLoss.pure(2)


@pytest.mark.parametrize("kind", [dp.CDF, dp.Quantiles])
def test_what_was_seen_is_written_and_read_again(kind: type[Any]) -> None:
    for grid in (FINE, replaced_outside(), dp.Grid.from_edges([-9, 0, 0.5, 9]), dp.Grid.geometric(0.1, 9, cells=9)):
        question: Any = thresholds(0, 3, 1, grid=grid) if kind is dp.CDF else quantiles(0.3, 0.9, grid=grid)
        curve = session(adjacency=dp.ADD_REMOVE).ask(question, ONE)
        again = kind.from_json(curve.to_json())
        assert again.to_json() == curve.to_json()
        assert again.to_frame(level=0.9).equals(curve.to_frame(level=0.9))
