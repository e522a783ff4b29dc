"""Means without bounds of columns with long tails: their name says what was clipped, and intervals hold the mean."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import dpcurves as dp
from dpcurves.curves.adaptive_histogram import TAIL_FRACTION, PilotEstimate, choose_tail_points
from dpcurves.curves.automatic_range import PILOT_FRACTION
from dpcurves.curves.summary import TailPoints, tail_grid
from dpcurves.distributions import IntervalSums
from dpcurves.inference import TailCounts, public_generator

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "lognormal 2": lambda draw, size: draw.lognormal(8, 2, size),
    "Pareto 1.5": lambda draw, size: 1000 * (draw.pareto(1.5, size) + 1),
    "wages": lambda draw, size: np.where(draw.random(size) < 0.31, 0, draw.lognormal(10.3, 0.9, size).round(-2)),
    "both sides": lambda draw, size: draw.standard_t(2.5, size) * 100,
}
NAME = "values clipped to ["


def ask(values: FloatArray, seed: int, statistic: str = "mean") -> dp.Summary:
    """Ask for a number without bounds."""
    chance = dp.Randomness.from_seed(seed)
    ask_for: Callable[..., dp.Summary] = getattr(dp, statistic)
    return ask_for(values, bounds="auto", epsilon=1, adjacency=dp.ADD_REMOVE, randomness=chance)


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_intervals_hold_the_mean_and_the_sum_of_all_values_and_are_finite(distribution: str) -> None:
    """Fewer than 4 of 6 releases hold at 93 % with a chance of 6e-3; seeds are fixed. Before, 0 to 2 did."""
    held, finite = np.zeros(3), 0
    for seed in range(6):
        values = DISTRIBUTIONS[distribution](np.random.default_rng(seed), 20_000)
        found = ask(values, seed)
        _, total, mean, *_ = found.intervals(0.95).tolist()
        clipped = float(np.clip(values, found.lower, found.upper).mean())
        held += [
            mean[0] <= values.mean() <= mean[1], total[0] <= values.sum() <= total[1], mean[0] <= clipped <= mean[1],
        ]  # fmt: skip
        finite += bool(np.isfinite([mean, total]).all())
    assert held.min() >= 4
    assert finite >= 4


@pytest.mark.reproduction
def test_population_intervals_hold_the_mean_of_the_distribution() -> None:
    """Fewer than 4 of 6 releases hold at 93 % with a chance of 6e-3; seeds are fixed."""
    held = 0
    for seed in range(6):
        found = ask(np.random.default_rng(seed).lognormal(9, 1.5, 5000), seed)
        low, high = found.mean_interval(0.95, population=True)
        held += low <= np.exp(9 + 1.5**2 / 2) <= high
    assert held >= 4


@pytest.mark.parametrize("statistic", ["mean", "sum"])
def test_each_output_names_what_was_clipped(statistic: str, tmp_path: Path) -> None:
    values = np.random.default_rng(1).lognormal(10, 1, 3000)
    question = {"mean": dp.AutoRangeMeanQuestion, "sum": dp.AutoRangeSumQuestion}[statistic]
    with dp.Session({"wage": values}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE) as session:
        found = session.ask(question("wage"), dp.PrivacyLoss.pure(1))
    name = f"{statistic} of {NAME}"
    assert any(each.startswith(name) for each in found.to_frame()["statistic"])
    assert name in repr(found)
    assert name in found.to_csv_text()
    assert name in found._repr_html_()
    assert name in found.plot().get_xlabel()
    written = json.loads(found.to_json())
    assert written["names"][statistic].startswith(name)
    again = dp.Summary.from_json(found.to_json())
    assert again.names == found.names
    assert np.array_equal(again.intervals(0.9), found.intervals(0.9))
    assert again.to_json() == found.to_json()
    found.to_excel(tmp_path / "kept.xlsx")
    assert (tmp_path / "kept.xlsx").stat().st_size > 1000


def test_numbers_between_public_bounds_keep_their_names() -> None:
    found = dp.mean([1.0, 5.0] * 500, bounds=(0, 10), epsilon=1, adjacency=dp.ADD_REMOVE)
    assert list(found.names.values()) == ["count", "sum", "mean", "variance"]
    assert "names" not in json.loads(found.to_json())


def test_categories_have_tails_of_their_own_and_add_up() -> None:
    draw = np.random.default_rng(2)
    table = {"x": draw.lognormal(8, 1, 8000), "k": np.where(draw.random(8000) < 0.5, "a", "b")}
    wards = dp.Categories("k", ("a", "b"))
    with dp.Session(table, budget=dp.PrivacyLoss.pure(2), adjacency=dp.ADD_REMOVE) as session:
        found = session.ask(dp.AutoRangeMeanQuestion("x", by=wards), dp.PrivacyLoss.pure(2))
    assert all(NAME in text for text in found.to_frame()["statistic"] if text != "count")
    assert all(found[key].mean_interval(0.99)[0] <= table["x"][table["k"] == key].mean() for key in "ab")
    together = found.sum_over("k")
    assert NAME in together.names["mean"]
    assert together.mean_interval(0.99)[0] <= table["x"].mean() <= together.mean_interval(0.99)[1]


def test_a_tail_that_noise_hides_has_no_limit() -> None:
    found = ask(np.random.default_rng(3).lognormal(10, 1, 60), seed=3)
    assert not np.isfinite(found.mean_interval(0.95)).all()


# The estimate of a tail.


def test_the_limit_is_that_of_a_power_law_where_the_tail_is_one() -> None:
    """The expected excess of Pareto's law beyond 100, of 10^6 records with index 2: 10^6 * 100^-2 * 100 = 10^4."""
    distances = np.array([10.0, 30.0, 100.0, 800.0])
    counts = 1e6 * distances**-2.0
    tail = TailCounts(distances, 2, counts, np.zeros((4000, 4)))
    limit = tail.bound_excess(0.975, public_generator(None), population=True)
    assert 1e4 < limit < 1.5e4


def test_another_mode_beyond_a_gap_is_in_the_limit() -> None:
    """Each of 500 records at 700 is 600 beyond a bound of 100."""
    distances = np.array([10.0, 50.0, 100.0, 800.0])
    tail = TailCounts(
        distances, 2, np.array([4000.0, 510.0, 500.0, 0.0]), np.random.default_rng(1).laplace(0, 5, (4000, 4))
    )
    assert tail.bound_excess(0.975, public_generator(None)) > 300_000


@pytest.mark.parametrize("counts", [[0.0, 0.0, 0.0, 0.0], [5.0, -3.0, 2.0, 1.0]])
def test_counts_that_noise_may_have_made_give_no_limit(counts: list[float]) -> None:
    noise = np.random.default_rng(1).laplace(0, 5, (2000, 4))
    tail = TailCounts(np.array([1.0, 2.0, 4.0, 32.0]), 2, np.array(counts), noise)
    assert tail.bound_excess(0.975, public_generator(None)) == np.inf


@pytest.mark.parametrize("scale", [1e-280, 1e-3, 1.0, 1e90])
@pytest.mark.parametrize("shape", ["one", "two", "far", "negative"])
def test_points_of_tails_rise_at_any_scale(scale: float, shape: str) -> None:
    edges = {
        "one": [5.0, 5.000001], "two": [0.0, 1e-9, 1.0], "far": [1.0, 2.0, 3.0, 1e6, 2e6], "negative": [-9.0, -3.0, 0.0]
    }[shape]  # fmt: skip
    records = np.full(len(edges) - 1, 400.0)
    seen = PilotEstimate(np.array(edges) * scale, records, records, 5.0, True)
    for low, high in ((edges[0], edges[-1]), (edges[0], edges[1])):
        for points in choose_tail_points(seen, low * scale, high * scale, 3.0, 1):
            assert (np.diff(points.distances) > 0).all()
            assert points.distances[0] > 0
        assert tail_grid(*choose_tail_points(seen, low * scale, high * scale, 3.0, 1)).cells >= 2


def test_limits_of_a_power_law_hold_and_are_no_wider_than_a_few_excesses() -> None:
    """Limits at 0.975 of 60 releases: fewer than 54 hold with a chance of 2e-3; seeds are fixed.

    Before, each pair of points had a limit with half of the error probability: the median was 4.0 times the excess.
    """
    distances, generator, held, limits, excesses = np.array([1.0, 2, 4, 8, 64]), np.random.default_rng(7), 0, [], []
    for release in range(60):
        values = generator.pareto(2, 1600) + 1
        beyond = np.array([np.count_nonzero(values >= distance) for distance in distances])
        drawn = generator.laplace(0, 10, (1001, 5))[:, ::-1].cumsum(axis=1)[:, ::-1]
        tail = TailCounts(distances, 3, beyond + drawn[0], drawn[1:])
        limits.append(tail.bound_excess(0.975, np.random.default_rng(release)))
        excesses.append(np.maximum(values - 8, 0).sum())
        held += excesses[-1] <= limits[-1]
    assert held >= 54
    assert np.median(limits) < 3.5 * np.mean(excesses)


# Privacy of the counts of tails.


def test_counts_of_tails_change_by_one_record_at_most_for_all_tiny_neighbours() -> None:
    """Each record lies in one cell: so the loss of all counts is at most that of one, which they are charged."""
    grid = tail_grid(TailPoints(2.0, (1.0, 0.0, -9.0), 1), TailPoints(1.0, (2.0, 3.0, 9.0), 1))
    values = [-1e300, -9.0, -1.0, 0.0, 1.0, 1.5, 2.0, 3.0, 9.0, np.inf]

    def count(table: tuple[float, ...]) -> IntArray:
        return np.bincount(grid.cell_of(np.array(table)), minlength=grid.slots).astype(np.int64)

    for table in product(values, repeat=2):
        for one in values:
            assert np.abs(count((*table, one)) - count(table)).sum() == 1
            assert np.abs(count((table[0], one)) - count(table)).sum() <= 2


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
@pytest.mark.parametrize("loss", [dp.PrivacyLoss.pure(1), dp.PrivacyLoss.zcdp("1/10")])
@pytest.mark.parametrize("kind", [dp.AutoRangeMeanQuestion, dp.AutoRangeSumQuestion, dp.AutoRangeVarianceQuestion])
def test_all_turns_together_lose_what_was_granted(kind: type, loss: dp.PrivacyLoss, adjacency: dp.Neighbours) -> None:
    plans = list(dp.plan_question(kind("x"), loss, adjacency.to_adjacency(dp.EACH_RECORD, units=500)))
    lost = [each.loss.rho if loss.epsilon is None else Fraction(each.loss.epsilon or 0) for each in plans]
    granted = loss.rho if loss.epsilon is None else loss.epsilon
    assert sum(lost) == granted
    assert lost[:3] == [granted * PILOT_FRACTION / 3] * 3
    assert lost[3] == granted * TAIL_FRACTION
    if loss.epsilon is not None:  # a record moves counts by 1, or one by 1 up and another down
        sensitivity = 1 if adjacency is dp.ADD_REMOVE else 2
        distribution = plans[3].distribution
        assert isinstance(distribution, IntervalSums)
        noise = distribution.levels[0].noise
        assert sensitivity / Fraction(noise.parameter) <= lost[3]
