"""A point between edges is answered at an edge, and every such answer says at which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dpcurves as dp
from dpcurves.cli.app import build
from dpcurves.display.numerals import describe_point

DRAW = np.random.default_rng(4)
SIZE = 600
TABLE: dict[str, Any] = {
    "days": DRAW.exponential(900, SIZE), "died": DRAW.integers(0, 2, SIZE), "cause": DRAW.integers(0, 3, SIZE),
    "arm": np.tile(["a", "b"], SIZE // 2), "y": DRAW.integers(0, 2, SIZE), "s": DRAW.random(SIZE),
    "t": DRAW.random(SIZE),
}  # fmt: skip
GRID, MUCH = dp.Grid(0, 3000, cells=20), dp.PrivacyLoss.pure(100)
ARMS, MOVED, KEPT = dp.Categories("arm", ("a", "b")), "750 (the edge nearest to 730)", "at 1800"


def ask(question: Any) -> Any:
    with dp.Session(TABLE, budget=MUCH, adjacency=dp.ADD_REMOVE, randomness=dp.Randomness.from_seed(1)) as session:
        return session.ask(question, MUCH)


def test_each_number_of_survival_names_the_time_that_it_is_of() -> None:
    arms = ask(dp.SurvivalQuestion("days", "died", GRID, by=ARMS))
    numbers = dp.survival_numbers(arms, until=730, times=(730, 750, 1800))
    words = numbers.to_frame()["number"].tolist()
    assert len(words) == 2 * 4 + 1 + 2 * 3 + 1  # 730 and 750 are one edge, and each is answered
    assert sum(MOVED in each for each in words) == 2 * 2 + 1 + 2
    assert sum(each.endswith(KEPT) for each in words) == 4
    assert MOVED in dp.cumulative_hazard_at(arms["a"], 730).name
    assert MOVED in dp.survival_at(arms["a"], 1800, since=730).name
    risks = ask(dp.CompetingRisksQuestion("days", "cause", GRID, (1, 2)))
    for estimate in (risks.incidence_at(1, 730), risks.time_lost(1, 730), risks.incidence_difference(risks, 2, 730)):
        assert MOVED in estimate.name
    assert MOVED in dp.SurvivalNumbers.from_json(numbers.to_json()).to_frame()["number"][0]


def test_declared_times_are_answered_where_they_were_asked() -> None:
    lived = dp.survival([2, 6] * 300, [1, 0] * 300, grid=dp.Values(range(10)), epsilon=50, adjacency=dp.ADD_REMOVE)
    assert dp.survival_at(lived, 4.5).name == "share without an event at 4.5"


def test_thresholds_of_rates_say_where_they_lie() -> None:
    scores = ask(dp.ScoresQuestion("y", "s", dp.Grid(0, 1, cells=10)))
    note = "rates are those at a threshold of 0.6 (the edge nearest to 0.57) of the grid"
    assert note in scores.confusion(0.57).notes
    assert dp.Confusion.from_json(scores.confusion(0.57).to_json()).notes == scores.confusion(0.57).notes
    assert note not in scores.confusion(0.6).notes
    assert scores.confusion(0.1 + 0.2).notes == scores.notes
    groups = ask(dp.ScoresQuestion("y", "s", dp.Grid(0, 1, cells=10), by=ARMS))
    rates = dp.group_rates(groups, 0.57)
    assert note in rates.notes
    assert type(rates).from_json(rates.to_json()).to_json() == rates.to_json()
    assert note not in dp.group_rates(groups, 0.5).notes
    moved = scores.calibration(boundaries=[0.17, 0.5]).notes
    assert "groups end at 0.2 (the edge nearest to 0.17)" in moved
    assert scores.calibration(boundaries=[0.2, 0.5]).notes == scores.notes


def test_net_benefit_says_from_which_score_on_records_are_acted_on() -> None:
    pair = ask(dp.ModelPairQuestion("y", "s", "t", cells=4, thresholds=(0.2, 0.5)))
    assert sum("net benefit at 0.2: scores of the" in note and "flagged from 0.25" in note for note in pair.notes) == 2
    assert not any("net benefit at 0.5" in note for note in pair.notes)


@pytest.mark.parametrize(("at", "said"), [("730,1800", MOVED), ("750,1800", "")])
def test_a_command_says_where_it_answers(tmp_path: Path, at: str, said: str) -> None:
    rows = zip(TABLE["days"].tolist(), TABLE["died"].tolist(), strict=True)
    data = tmp_path / "t.csv"
    data.write_text("days,died\n" + "".join(f"{days},{died}\n" for days, died in rows))
    price = ["--epsilon", "10", "--adjacency", "add-remove", "--grid", "0:3000:20"]
    asked = CliRunner().invoke(build(), ["cdf", str(data), "--column", "days", "--cut-points", at, *price])
    assert asked.exit_code == 0, asked.output
    assert (MOVED in asked.output) == bool(said)


def test_an_edge_that_doubles_miss_is_the_point_itself() -> None:
    assert describe_point(np.nextafter(0.3, 1), 0.3) == "0.3"
    assert describe_point(0.0, 0.0) == "0"
