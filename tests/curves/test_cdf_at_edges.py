"""Distribution functions at a few edges of a grid that nobody lays out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from by_hand import answer, both

from dpcurves.conversation import WHOLE_BUDGET, Evidence, Plan, PrivacyStatement, Release
from dpcurves.curves import CDF, AdaptivePartition, CdfQuestion
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.distributions import Family, Noise, PathSums
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves.queries import Hint, PrefixQuery
from dpcurves.trust import run_conversation
from dpcurves_parties.shares.function_shares import FunctionShares

GRID, ONE, WHO = Grid(0, 8, cells=8), PrivacyLoss.pure(1), AddRemove(EACH_RECORD)
PRIVACY = PrivacyStatement(1.0, 0.5, "add-remove", "", 1, None, "one curator", "noise path", False, "a")
DISTRIBUTION = PathSums(8, (8, 0, 3, 5), 4, Noise(Family.LAPLACE, Fraction(2)), Noise(Family.LAPLACE, Fraction(1)))
SURE = PrivacyLoss.pure(10**9)


def read(values: tuple[int, ...] = (90, 0, 40, 35, 2), distribution: PathSums = DISTRIBUTION) -> CDF:
    return CDF.from_counts(
        Evidence(distribution, values, None).as_cell_counts(), GRID.merge_cells((3, 5)), "age", PRIVACY
    )


def test_counts_in_any_order_are_shares_below_rising_edges() -> None:
    found = read()
    assert found.x.tolist() == [0, 3, 5, 8]
    np.testing.assert_allclose(found.y, [0, 37.5 / 90, 37.5 / 90, 1])
    assert (found.count, found.rounds[0].values) == (90, (40, 35, 90, 2))


def test_it_asks_for_slots_of_the_grid_its_ends_and_all_records() -> None:
    for outside, slots in ((Outside.CLIPPED, (3, 8)), (Outside.APART, (1, 4, 9, 10))):
        axis = Axis("age", GRID.with_outside(outside))
        question = CdfQuestion("age", axis.grid, edges=(3, 0, 8))
        steps = run_conversation(question, ONE, WHO, FunctionShares())
        step, share = next(steps)
        assert (step, share, step.charged_query) == (PrefixQuery((axis,), slots), WHOLE_BUDGET, question.charged_query)
        plan = Plan(step, ONE, WHO, "one curator: path", PathSums(axis.slots, slots, 4, DISTRIBUTION.noise, None), 1.0)
        with pytest.raises(StopIteration) as end:
            steps.send(Release.make_placeholder(plan))
        assert end.value.value.x.tolist() == [0, 3, 8]


@pytest.mark.parametrize("outside", list(Outside))
def test_without_noise_shares_are_exact_and_missing_records_are_in_none(outside: Outside) -> None:
    values = np.array([-9, 1, 2, 2.5, 4, 4, 7, 99, np.nan])
    grid = Grid(0, 8, cells=2**40, outside=outside)
    question = CdfQuestion("age", grid, edges=tuple(grid.nearest_edge(np.array([2.0, 4.5])).tolist()))
    for adjacency in both(len(values)):
        found = answer(question, {"age": values}, SURE, adjacency, 1)
        first, last = (0, 1) if outside is Outside.CLIPPED else (1 / 8, 7 / 8)
        np.testing.assert_allclose(found.y, [first, 2 / 8, 6 / 8, last], atol=1e-9)
        for low, high in (found.band(0.9), found.band(0.9, population=True)):
            assert ((low <= found.y) & (found.y <= high)).all()


def test_bands_hold_all_shares_as_often_as_they_say() -> None:
    """150 releases at level 0.9, both adjacencies: at least 0.9 less 4 sigma."""
    values, level = np.random.default_rng(3).normal(4, 1.5, 400), 0.9
    question = CdfQuestion("age", Grid(0, 8, cells=2**16), edges=tuple(range(2**12, 2**16, 2**13)))
    held = []
    for seed in range(150):
        found = answer(question, {"age": values}, ONE, both(400)[seed % 2], seed)
        low, high = found.band(level)
        true = np.append(np.searchsorted(np.sort(values), found.x[:-1]) / 400, 1)
        true[0] = 0
        held.append(bool(((low <= true + 1e-9) & (true <= high + 1e-9)).all()))
    assert np.mean(held) >= level - 4 * (level * (1 - level) / 150) ** 0.5


@pytest.mark.parametrize("at", [(), (1, 1), (-1,), (9,)])
def test_edges_that_are_none_are_refused(at: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"^edges: indices of edges from 0 to 8"):
        CdfQuestion("age", GRID, edges=at)


def test_what_says_how_all_edges_are_counted_is_refused_beside_some() -> None:
    for more in ({"by": Categories("c", (1,))}, {"hint": Hint.ATOMS}, {"method": AdaptivePartition()}, {"smooth": 2}):
        with pytest.raises(ValueError, match=rf"^{next(iter(more))}: cannot be combined with a choice of edges"):
            CdfQuestion("age", GRID, edges=(1,), **more)


def test_counts_that_are_no_row_of_cells_are_refused() -> None:
    for at in ((0,), (3,), (8, 9)):
        with pytest.raises(ValueError, match=r"^evidence: all rows must be counted below the same"):
            Evidence(replace(DISTRIBUTION, prefix_lengths=at), (*at, 0), None).as_cell_counts()
    with pytest.raises(ValueError, match=r"^evidence: all rows must be counted below the same"):
        Evidence(replace(DISTRIBUTION, prefix_lengths=(3, 4, 8)), (3, 4, 8, 0), None).as_cell_counts(2)
