"""Rounding by chance: what a report tells, what is kept on average, and what is read of it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.arrays import FloatArray
from dpcurves.curves.pair_mean import ROUNDED_VALUES_NOTE
from dpcurves.data import Axis
from dpcurves.noise import Randomness
from dpcurves.noise.exponential import bound_exp_neg
from dpcurves.summaries.kernels import CellMiddleKernel
from dpcurves_local import Coins, Collection, Rounding, Task
from dpcurves_local import device as rounding
from dpcurves_local.device import ROUNDING_DENOMINATOR, StochasticRounding
from dpcurves_local.responses import RANDOMISERS, Randomiser


def asked(cells: int = 4, epsilon: str = "1", people: int = 1000, how: Rounding = Rounding.RANDOMIZED) -> Task:
    question = dp.HistogramQuestion("x", dp.Grid(0, 1, cells=cells))
    return Task(question, dp.PrivacyLoss.pure(epsilon), people, rounding=how)


def collected(task: Task, values: FloatArray, seed: int) -> dp.Histogram:
    collection = Collection(task)
    collection.add(task.randomize_table({"x": values}, randomness=Randomness.from_seed(seed)))
    curve: dp.Histogram = collection.curve()
    return curve


def mean_sum(curve: dp.Histogram) -> float:
    return dp.u_statistic(curve, lambda x, y: (x + y) / 2).value


@pytest.mark.parametrize("kind", RANDOMISERS, ids=lambda kind: kind.NAME)
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(12)], ids=float)
def test_a_rounded_value_loses_at_most_epsilon(
    kind: type[Randomiser], epsilon: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All values and reports, in whole numbers, where 32 fine cells tell values; a missing one is among them."""
    monkeypatch.setattr(rounding, "MOST_FINE_CELLS", 32)
    below = Fraction(bound_exp_neg(epsilon, 512)[1], 2**512)
    for cells in (2, 3, 5):
        way, chance = kind(cells + 1, epsilon), StochasticRounding(Axis("x", dp.Grid(0, 1, cells=cells)))
        before, parts = (each.tolist() for each in chance.find_probabilities(np.arange(chance.fine_axis.slots)))
        mixtures = [(first, Fraction(part, ROUNDING_DENOMINATOR)) for first, part in zip(before, parts, strict=True)]
        for report in way.list_reports():
            of = [way.find_probability(answer, report) for answer in range(cells + 1)]
            row = [(1 - part) * of[first] + part * of[first + (part > 0)] for first, part in mixtures]
            assert max([*row, of[-1]]) * below <= min([*row, of[-1]])


@pytest.mark.parametrize("cells", [2, 3, 7, 1000])
def test_a_value_between_middles_is_kept_on_average_and_others_go_to_the_ends(cells: int) -> None:
    """Exactly, but for a part of a cell in 2**32."""
    chance = StochasticRounding(Axis("x", dp.Grid(0, cells, cells=cells)))
    fine = np.unique(np.linspace(0, chance.fine_axis.slots - 1, 5000).round().astype(np.int64))
    before, parts = chance.find_probabilities(fine)
    for number, first, part in zip(fine.tolist(), before.tolist(), parts.tolist(), strict=True):
        middle = Fraction(2 * number + 1, 2) * cells / chance.fine_axis.slots
        kept = min(max(middle, Fraction(1, 2)), cells - Fraction(1, 2))
        assert (
            0
            <= kept - (first + Fraction(1, 2) + Fraction(part, ROUNDING_DENOMINATOR))
            < Fraction(1, ROUNDING_DENOMINATOR)
        )


def test_coins_fall_by_their_chances_and_what_is_missing_stays_so() -> None:
    """Within 4 standard deviations; the seed is fixed."""
    chance, many = StochasticRounding(Axis("x", dp.Grid(0, 1, cells=3))), 40_000
    for share in (0.2, 0.4, 0.6):
        place = int(share * chance.fine_axis.slots)
        drawn = chance.round_cells(np.full(many, place), Randomness.from_seed(3))
        part = (share * 3 - 0.5) % 1
        assert set(drawn.tolist()) == {int(share * 3 - 0.5), int(share * 3 + 0.5)}
        assert abs((drawn > share * 3 - 0.5).mean() - part) < 4 * np.sqrt(part * (1 - part) / many)
    assert set(chance.round_cells(np.full(9, chance.fine_axis.slots), Randomness.from_seed(3)).tolist()) == {3}


def test_kernels_of_middles_leave_nothing_open_where_they_are_linear() -> None:
    edges = np.linspace(0, 1, 9)
    sums = CellMiddleKernel(lambda x, y: x + y)(edges)
    assert np.abs(sums.max_deviation[1:-1, 1:-1]).max() < 1e-12
    assert sums.max_deviation[0, 3] == pytest.approx(1 / 16), "what lies before the first middle was rounded there"
    apart = CellMiddleKernel(lambda x, y: np.abs(x - y))(edges)
    near = np.abs(np.subtract.outer(np.arange(6), np.arange(6))) < 2
    assert np.abs(apart.max_deviation[1:-1, 1:-1] - np.where(near, 1 / 16, 0)).max() < 1e-12


@pytest.mark.reproduction
def test_sums_are_unbiased_on_few_cells_where_simple_rounding_is_off() -> None:
    """Four cells, hardly a false report, 8 releases: within 4 standard deviations of the mean; seeds are fixed."""
    values = np.repeat([0.15, 0.3, 0.55, 0.8], 250)
    found = {
        how: np.array([mean_sum(collected(asked(4, "30", how=how), values, seed)) for seed in range(8)])
        for how in Rounding
    }
    off = found[Rounding.RANDOMIZED] - values.mean()
    assert abs(off.mean()) < 4 * off.std() / np.sqrt(8)
    assert abs(found[Rounding.SIMPLE].mean() - values.mean()) > 0.02


@pytest.mark.reproduction
def test_means_are_told_with_what_coins_and_gaps_between_middles_leave_open() -> None:
    """At least 37 of 50 intervals at 90% hold, 4 standard deviations below what they say: they may hold oftener."""
    values, held = np.random.default_rng(1).beta(3, 3, 1000), np.zeros(2)
    exact = float(np.abs(np.subtract.outer(values, values)).sum() / (1000 * 999))
    for seed in range(50):
        curve = collected(asked(16, "8"), values, seed)
        for place, population in enumerate((False, True)):
            low, high = dp.u_statistic(curve, lambda x, y: np.abs(x - y)).interval(0.9, population=population)
            held[place] += low <= exact <= high
    assert held.min() >= 37
    simple = dp.u_statistic(collected(asked(16, "8", how=Rounding.SIMPLE), values, 1), lambda x, y: np.abs(x - y))
    assert dp.u_statistic(curve, lambda x, y: np.abs(x - y)).resolution < simple.resolution / 4


def test_a_rounded_histogram_says_so_and_tells_no_collisions() -> None:
    task = asked(8)
    curve = collected(task, np.linspace(0, 1, 1000), 1)
    assert ROUNDED_VALUES_NOTE in curve.notes
    again = dp.Histogram.from_json(curve.to_json())
    for table in (curve, again):
        with pytest.raises(ValueError, match="^curve: values were rounded at random, so counts of single cells"):
            dp.collision_probability(table)
        assert dp.u_statistic(table, dp.CellKernel(np.ones((8, 8)))).value == pytest.approx(1, abs=0.05)
    product = dp.u_statistic(curve, lambda x, y: x * y)
    assert product.value == dp.u_statistic(again, dp.MidpointKernel(lambda x, y: x * y)).value


def test_rounding_is_said_in_public_and_what_can_not_be_rounded_is_refused() -> None:
    task, loss = asked(), dp.PrivacyLoss.pure(1)
    assert Task.from_json(task.to_json()) == task
    assert task.hash != asked(how=Rounding.SIMPLE).hash
    assert "rounding" not in asked(how=Rounding.SIMPLE).to_json()
    assert len({len(task.randomize(value)) for value in (0.3, None, "x", float("nan"), float("inf"))}) == 1
    both = Task(task.question, task.loss, task.people, coins=Coins.PUBLIC, rounding=Rounding.RANDOMIZED)
    assert both.report_format.message_octets == 1
    grids = dp.Grid(0, 1, cells=4, outside=dp.Outside.APART), dp.Grid.geometric(1, 8, cells=3)
    for question in (dp.CdfQuestion("x", dp.Grid(0, 1, cells=4)), *(dp.HistogramQuestion("x", grid) for grid in grids)):
        with pytest.raises(dp.UnsupportedQuery, match="^rounding: "):
            Task(question, loss, 10, rounding=Rounding.RANDOMIZED)
    with pytest.raises(ValueError, match="^rounding: "):
        asked(1)
    with pytest.raises(ValueError, match=r"\Arounding: must be one of simple, randomized, got 'up'\Z"):
        Task.from_json(task.to_json().replace('"randomized"', '"up"'))
    with pytest.raises(TypeError, match="rounding"):
        Task(task.question, loss, 10, rounding="randomized")  # type: ignore[arg-type]
