"""Refined grids: boxes in an order of their own, small where records are, and no turn that tells nothing."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.conversation import Release, Setting
from dpcurves.data import Axis, Grid, Outside
from dpcurves.distributions import IntervalSums
from dpcurves.estimation.binary_tree import BoxTree
from dpcurves.histograms import CellEstimator, EstimatedTable, PrivTreeEstimator, RefinedGridEstimator, TableEstimator
from dpcurves.mechanisms import AUTO
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne

Counts = NDArray[np.int64]
SIDE = 32


def estimated(
    table: Counts, epsilon: str, estimator: TableEstimator, *, seed: int = 1, outside: Outside = Outside.CLIPPED
) -> EstimatedTable:
    """Answer under replace-one: the number of records is public."""
    sides = [cells - 2 * (outside is Outside.APART) for cells in table.shape]
    axes = tuple(Axis(f"x{number}", Grid(0, 1, cells=cells, outside=outside)) for number, cells in enumerate(sides))
    setting = Setting(PrivacyLoss.pure(epsilon), ReplaceOne(EACH_RECORD, int(table.sum())))
    steps, randomness = estimator.estimate_table(axes, setting, Fraction(1)), Randomness.from_seed(seed)
    try:
        step = next(steps)
        while True:
            plan = AUTO.plan(step.query, setting.loss * step.budget_fraction, setting.adjacency)
            values = AUTO.run(np.append(table.ravel(), 0), plan, randomness)
            step = steps.send(Release(plan, values, None, seeded=True))
    except StopIteration as end:
        found: EstimatedTable = end.value
        return found


def blocks(found: EstimatedTable) -> list[int]:
    """How many were counted, turn by turn."""
    distributions = [release.plan.distribution for release in found.releases]
    return [
        len(level.starts)
        for distribution in distributions
        if isinstance(distribution, IntervalSums)
        for level in distribution.levels
    ]


def corner(records: int) -> Counts:
    """All in one of 64 parts of a plane."""
    table = np.zeros((SIDE, SIDE), dtype=np.int64)
    table[:4, :4] = records // 16
    return table


@pytest.mark.parametrize("shape", [(8, 8), (5, 3), (1, 7), (2, 3, 4), (2, 9), (1, 1)], ids=str)
def test_every_interval_of_every_tiling_is_a_box_of_the_table(shape: tuple[int, ...]) -> None:
    tree = BoxTree.from_shape(shape, beyond=3)
    assert sorted(tree.order.tolist()) == list(range(int(np.prod(shape))))
    for ends in tree.tilings:
        assert ends[-1] - ends[-2] == 3
        for begin, end in pairwise(ends[:-1]):
            places = np.array(np.unravel_index(tree.order[begin:end], shape))
            sides = places.max(axis=1) - places.min(axis=1) + 1
            assert sides.prod() == end - begin
    assert np.array_equal(np.diff(tree.tilings[-1])[:-1], np.ones(np.prod(shape)))


def test_blocks_are_small_where_records_are() -> None:
    found = estimated(corner(4000), "1", RefinedGridEstimator())
    first, *_, last = blocks(found)
    assert first == 32  # half of ten halvings
    assert last < 60  # of 1024 cells
    assert found.cells[:4, :4].sum() == pytest.approx(4000, abs=40)
    assert len(np.unique(found.cells[16:, 16:].round(9))) < 9


def test_where_all_cells_are_worth_a_count_there_is_no_turn_between() -> None:
    dense = np.random.default_rng(3).poisson(400, (SIDE, SIDE))
    assert blocks(estimated(dense, "1", RefinedGridEstimator())) == [32, SIDE * SIDE]


def test_few_cells_are_counted_at_once() -> None:
    table = np.arange(81).reshape(9, 9)
    assert blocks(estimated(table, "1", RefinedGridEstimator())) == [81]


def test_what_lies_beyond_the_plane_stays_beyond_it() -> None:
    table = np.zeros((18, 18), dtype=np.int64)
    table[0, 5], table[3:6, 3:6] = 900, 100
    found = estimated(table, "2", RefinedGridEstimator(), outside=Outside.APART)
    assert found.outside == pytest.approx(900, abs=25)
    assert found.cells[2:5, 2:5].sum() == pytest.approx(900, abs=25)


def test_it_errs_less_than_others_on_clustered_and_on_smooth_planes() -> None:
    """Absolute errors of cells, 8 releases: by a third and more, many times the spread between seeds."""
    bump = np.exp(-((np.arange(SIDE) - 11.0) ** 2) / 60)
    smooth = np.random.default_rng(4).poisson(3 * np.outer(bump, bump))
    for table in (corner(4000), smooth):
        ours, cells, tree = (
            np.mean([np.abs(estimated(table, "0.5", each, seed=seed).cells - table).sum() for seed in range(8)])
            for each in (RefinedGridEstimator(), CellEstimator(), PrivTreeEstimator())
        )
        assert ours < min(cells, tree) / 1.1
