"""Values that nearly all are edges of the grid, such as whole ages, are found and read as such; others are bounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from by_hand import answer
from numpy.typing import NDArray

import dpcurves as dp
from dpcurves.curves import CDF, CdfQuestion
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.data import Grid, LatticeAxis
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import Hint
from dpcurves.session import plan_question
from dpcurves.strategies import AdaptivePartition

PEOPLE = 20_000
DRAW = np.random.default_rng(11)
CONTINUOUS = np.clip(DRAW.normal(45, 18, PEOPLE), 0, 110)
AGES = np.floor(CONTINUOUS)
GRID = Grid(0, 128, cells=128)
QUESTION = CdfQuestion("x", GRID)
STATISTICS = dp.gini_mean_difference, dp.gini_coefficient, dp.sample_variance
LEVEL = 0.9
ADJACENCY = ReplaceOne(EACH_RECORD, PEOPLE)


def ask(values: NDArray[np.float64], seed: int, epsilon: int = 1, question: CdfQuestion = QUESTION) -> CDF:
    curve: CDF = answer(question, {"x": values}, PrivacyLoss.pure(epsilon), ADJACENCY, seed)
    return curve


def compute_exactly(statistic: Callable[[CDF], UStatistic], values: NDArray[np.float64]) -> float:
    """The statistic of clipped values, by sorting."""
    clipped = np.sort(np.clip(values, GRID.lower, GRID.upper))
    people = len(clipped)
    if statistic is dp.sample_variance:
        return float(clipped.var(ddof=1))
    difference = 2 * float((2 * np.arange(1, people + 1) - people - 1) @ clipped) / (people * (people - 1))
    return difference if statistic is dp.gini_mean_difference else difference / (2 * float(clipped.mean()))


def open_cells(curve: CDF) -> CDF:
    """The curve as if nothing were known of values inside cells."""
    return replace(curve, prefixes=replace(curve.prefixes, lattice_counts=None))


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("statistic", STATISTICS)
def test_whole_ages_are_read_as_the_edges_that_they_are(statistic: Callable[[CDF], UStatistic]) -> None:
    exact, held = compute_exactly(statistic, AGES), 0
    for seed in range(10):
        curve = ask(AGES, seed, epsilon=4)
        low, high = statistic(curve).interval(LEVEL)
        open_low, open_high = statistic(open_cells(curve)).interval(LEVEL)
        assert high - low < 0.5 * (open_high - open_low)
        held += low <= exact <= high
    assert held >= 7  # 6 of 10 at a probability of .9: .002
    again = CDF.from_json(curve.to_json())
    assert statistic(again).interval(LEVEL) == (low, high)
    assert statistic(again).value == statistic(curve).value


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("place", ["below", "above", "clipped", "beside one value"])
def test_intervals_hold_values_between_edges_wherever_these_lie(
    statistic: Callable[[CDF], UStatistic], place: str
) -> None:
    beside = np.arange(PEOPLE) % 33 == 0
    shift = np.where(np.median(AGES) < AGES, 0.999, 0.0) if place == "above" else np.where(AGES > 20, 0.0, 0.999)
    moved = np.where(beside, AGES + (500.5 if place == "clipped" else shift + 1e-9), AGES)
    if place == "beside one value":
        moved = np.where(beside, 50.999, 50.0)
    exact, held, releases = compute_exactly(statistic, moved), [0, 0], 10
    for seed in range(releases):
        curve = ask(moved, seed, epsilon=4)
        assert curve.prefixes.lattice_counts is not None
        low, high = statistic(curve).interval(LEVEL)
        held[0] += low <= exact
        held[1] += exact <= high
    assert min(held) >= releases - 4  # each end is missed with a probability of at most .1: 5 of 10, .0016


@pytest.mark.parametrize("zeros", [0.0, 0.85, 0.97, 0.995], ids=str)
def test_continuous_values_beside_zeros_are_not_read_as_edges(zeros: float) -> None:
    values = np.where(np.arange(PEOPLE) < zeros * PEOPLE, 0.0, CONTINUOUS)
    curve = ask(values, 1, epsilon=8)
    assert curve.prefixes.lattice_counts is None
    assert dp.gini_mean_difference(curve).bound_moved is None


def test_hints_methods_groups_and_few_records_are_not_searched() -> None:
    """A search costs little where records are known to be many, and is of use where no hint says what is read."""
    questions = (
        CdfQuestion("x", GRID, hint=Hint.ATOMS),
        CdfQuestion("x", GRID, method=AdaptivePartition()),
        CdfQuestion("x", GRID, by=dp.Categories("g", ("a", "b"))),
        CdfQuestion("x", GRID, edges=(1, 2)),
        CdfQuestion("x", Grid(0, 128, cells=100)),
    )
    asked: list[tuple[CdfQuestion, Adjacency]] = [
        *((question, kind) for question in questions for kind in (ADJACENCY, AddRemove(EACH_RECORD))),
        (QUESTION, ReplaceOne(EACH_RECORD, 9999)),
        (CdfQuestion("x", Grid(0, 63, cells=63)), AddRemove(EACH_RECORD)),
    ]  # fmt: skip
    for (question, adjacency), epsilon in product(asked, (1, 100)):
        plans = plan_question(question, PrivacyLoss.pure(epsilon), adjacency)
        assert not any(isinstance(axis, LatticeAxis) for plan in plans for axis in plan.query.axes)


@pytest.mark.parametrize(("people", "is_found"), [(PEOPLE, True), (5_000, False)])
def test_a_private_number_of_records_decides_whether_whole_ages_are_searched(people: int, is_found: bool) -> None:
    """The pilot query counts records: its standard error is 490, and the rule asks for 10,000."""
    exact, held = compute_exactly(dp.gini_mean_difference, AGES[:people]), 0
    for seed in range(4):
        curve: CDF = answer(QUESTION, {"x": AGES[:people]}, PrivacyLoss.pure(1), AddRemove(EACH_RECORD), seed)
        assert (curve.prefixes.lattice_counts is not None) == is_found
        low, high = dp.gini_mean_difference(curve).interval(LEVEL)
        held += low <= exact <= high
        if is_found:
            open_low, open_high = dp.gini_mean_difference(open_cells(curve)).interval(LEVEL)
            assert high - low < 0.5 * (open_high - open_low)
    assert held >= 2  # 1 of 4 at a probability of .9: .004


@pytest.mark.parametrize("beyond", [-50.0, 500.0], ids=["below", "above"])
def test_values_that_a_grid_clips_are_read_as_its_ends(beyond: float) -> None:
    """A third of the ages lies beyond the grid: the statistic is that of clipped values."""
    values = np.where(np.arange(PEOPLE) % 3 == 0, beyond, AGES)
    curve = ask(values, 1, epsilon=4)
    assert curve.prefixes.lattice_counts is not None
    low, high = dp.gini_mean_difference(curve).interval(0.99)
    assert low <= compute_exactly(dp.gini_mean_difference, values) <= high
    # the last cell holds its lower edge and the end of the grid, so that values clipped to this end stay open
    assert high - low < 0.7 * np.diff(dp.gini_mean_difference(open_cells(curve)).interval(0.99))
    continuous = np.where(np.arange(PEOPLE) % 3 == 0, beyond, CONTINUOUS)
    assert ask(continuous, 1, epsilon=4).prefixes.lattice_counts is None


def test_zero_may_have_a_cell_of_its_own_beside_whole_numbers() -> None:
    """Cells from 500 on separate zero: the interval between 0 and 1 has no whole number."""
    question = CdfQuestion("x", Grid(0, 512, cells=512))
    curve = ask(AGES, 1, epsilon=20, question=question)
    assert curve.prefixes.has_separate_zero
    assert curve.prefixes.lattice_counts is not None
    low, high = dp.gini_mean_difference(curve).interval(LEVEL)
    assert low - 0.02 < compute_exactly(dp.gini_mean_difference, AGES) < high + 0.02
    assert high - low < 0.5


@pytest.mark.parametrize("statistic", STATISTICS)
def test_at_a_huge_epsilon_readings_of_whole_ages_are_exact(statistic: Callable[[CDF], UStatistic]) -> None:
    estimate = statistic(ask(AGES, 1, epsilon=10_000))
    assert estimate.value == pytest.approx(compute_exactly(statistic, AGES), rel=1e-9)
    assert np.diff(estimate.interval(LEVEL)) < 1e-4 * estimate.value  # values off edges are known to one record
