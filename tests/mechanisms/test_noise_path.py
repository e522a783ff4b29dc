"""Noise paths: the loss of every move by shortest walks, and of every pair of tiny tables by linear programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from tiny_tables import ADJACENCIES, axes, counts, data_sets, neighbours

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.data import Axis, Grid
from dpcurves.distributions import Family, Noise, PathSums
from dpcurves.mechanisms import AUTO, LazyTree
from dpcurves.mechanisms.lazy_tree import path_distribution, signed_blocks
from dpcurves.noise import InProcessMemory
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import PrefixQuery

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ONE = PrivacyLoss.pure(1)
PUBLIC = ReplaceOne(EACH_RECORD, 3)
PRIVATE = AddRemove(EACH_RECORD)


def query(cells: int, *at: int) -> PrefixQuery:
    return PrefixQuery((Axis("x", Grid(0, 1, cells=cells)),), at)


def distribution_of(cells: int, adjacency: Adjacency, loss: PrivacyLoss = ONE) -> PathSums:
    return path_distribution(query(cells), loss, adjacency)


def walks(depth: int, levels: int) -> FloatArray:
    """The lengths of shortest walks between all points, over blocks of the levels below `levels`."""
    blocks = [(n << level, (n + 1) << level) for level in range(levels) for n in range(1 << (depth - level))]
    left, right = np.array(blocks).T
    edges = coo_array((np.ones(len(blocks)), (left, right)), shape=(2**depth + 1,) * 2).tocsr()
    return np.asarray(shortest_path(edges, directed=False, unweighted=True))


@pytest.mark.parametrize("depth", range(11))
def test_the_sensitivity_to_a_move_is_the_longest_of_all_shortest_walks(depth: int) -> None:
    """Over all intervals of up to 1,024 cells, with blocks of just those levels that have noise."""
    moving, coming = distribution_of(2**depth, PUBLIC), distribution_of(2**depth, PRIVATE)
    length = walks(depth, moving.levels)
    assert moving.levels == coming.levels == (depth if depth and depth % 2 == 0 else depth + 1)
    assert moving.noise.parameter == length.max() == max(depth, 1)
    assert coming.noise.parameter == length[-1].max() == depth // 2 + 1


def longest_walk(depth: int) -> int:
    """The longest shortest walk, from the distances of the points of a block from its two ends alone.

    In the left half of a block (a, b) become (a, 1 + min), in its right half (1 + min, b). Points in different halves
    are ``min(b + c, a + 1 + d)`` apart: over the middle, or around.
    """
    found, longest = {(0, 1), (1, 0)}, 1
    for _ in range(depth):
        longest = max(longest, *(min(b + c, a + 1 + d) for (a, b), (c, d) in product(found, found)))
        found = {(a, 1 + min(a, b)) for a, b in found} | {(1 + min(a, b), b) for a, b in found}
    return longest


def test_no_move_is_longer_on_any_grid_that_doubles_can_tell_apart() -> None:
    assert [longest_walk(depth) for depth in range(9)] == [int(walks(depth, depth + 1).max()) for depth in range(9)]
    assert [longest_walk(depth) for depth in range(1, 54)] == list(range(1, 54))


def test_without_the_block_of_all_cells_odd_depths_cost_more() -> None:
    assert [walks(depth, depth).max() for depth in (1, 3, 5, 7)] == [2, 4, 6, 8]


@pytest.mark.parametrize("adjacency", [PUBLIC, PRIVATE], ids=str)
@pytest.mark.parametrize("cells", [1, 2, 3, 5, 1000, 2**13, 2**15, 2**31, 2**32, 2**40])
def test_the_error_is_that_of_one_noise_for_each_level(cells: int, adjacency: Adjacency) -> None:
    plan = LazyTree().plan(query(cells, 1), PrivacyLoss.pure("0.5"), adjacency)
    depth = (cells - 1).bit_length()
    steps = max(depth, 1) if adjacency is PUBLIC else depth // 2 + 1
    levels = depth if depth and depth % 2 == 0 else depth + 1
    assert plan.distribution == path_distribution(query(cells, 1), PrivacyLoss.pure("0.5"), adjacency)
    assert isinstance(plan.distribution, PathSums)
    assert plan.distribution.noise == Noise(Family.LAPLACE, Fraction(2 * steps))
    assert plan.error**2 == pytest.approx(levels * Noise(Family.LAPLACE, Fraction(2 * steps)).variance)


def test_the_square_of_the_error_is_that_of_the_theorem_at_the_tight_scale() -> None:
    """2 (L + 1) L**2 / epsilon**2, in counts; for even L above 0 one noise less. Discrete noise has a little less."""
    for depth in (3, 9, 15, 31):
        plan = LazyTree().plan(query(2**depth, 1), ONE, PUBLIC)
        assert plan.error**2 == pytest.approx(2 * (depth + 1) * depth**2, rel=0.02)
    for depth in (4, 10, 32):
        assert LazyTree().plan(query(2**depth, 1), ONE, PUBLIC).error ** 2 == pytest.approx(2 * depth**3, rel=0.02)


def test_under_zero_concentrated_privacy_the_variance_is_the_sensitivity() -> None:
    distribution = distribution_of(2**32, PUBLIC, PrivacyLoss.zcdp("0.5"))
    assert (distribution.noise, distribution.missing) == (
        Noise(Family.GAUSSIAN, Fraction(32)),
        Noise(Family.GAUSSIAN, Fraction(32, 15)),
    )
    distribution = distribution_of(2**32, AddRemove(Unit("patient", 3)), PrivacyLoss.zcdp("0.5"))
    assert (distribution.noise, distribution.missing) == (
        Noise(Family.GAUSSIAN, Fraction(17 * 9)),
        Noise(Family.GAUSSIAN, Fraction(9)),
    )


# All tiny tables


def dearest(distribution: PathSums, change: IntArray, cheapest: dict[tuple[int, ...], int]) -> Fraction:
    """What a change of a table loses at most: the least sum of losses of shifted noises that explains it.

    It is the supremum itself: a vertex of the dual program names outcomes, far out, at which nothing less is lost.
    """
    prefixes, missing = tuple(np.cumsum(change[:-1]).tolist()), abs(int(change[-1]))
    if prefixes not in cheapest:
        cheapest[prefixes] = shifted(distribution, prefixes)
    if missing and distribution.missing is None:
        missing = 0
    lost = Fraction(cheapest[prefixes]) / distribution.noise.parameter
    return lost + (missing / distribution.missing.parameter if distribution.missing is not None else 0)


def shifted(distribution: PathSums, prefixes: Sequence[int]) -> int:
    """How many blocks, at least, have to be shifted by 1."""
    blocks = sorted({block for cell in range(distribution.cells) for block in distribution.blocks_on_path(cell + 1)})
    holds = np.array(
        [[block in distribution.blocks_on_path(cell + 1) for block in blocks] for cell in range(distribution.cells)],
        dtype=float,
    )
    found = linprog(np.ones(2 * len(blocks)), A_eq=np.hstack([holds, -holds]), b_eq=prefixes)
    assert found.success
    assert found.fun is not None
    assert found.fun == pytest.approx(round(found.fun), abs=1e-6)
    return round(found.fun)


@pytest.mark.quick_share(20)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize(
    "cells", [1, 2, 3, 4, 6, *(pytest.param(cells, marks=pytest.mark.reproduction) for cells in (5, 7, 8))]
)
def test_all_tiny_neighbours_lose_the_claim_and_no_more(cells: int, adjacency: Adjacency) -> None:
    """All pairs of tables of up to 3 records that are neighbours, ends, ties, empty and missing ones included."""
    distribution, sets = distribution_of(cells, adjacency, PrivacyLoss.pure("0.7")), data_sets(cells + 1, 3)
    pairs, cheapest = neighbours(sets, adjacency), dict[tuple[int, ...], int]()
    changes = np.unique(sets[pairs[:, 0]] - sets[pairs[:, 1]], axis=0)
    worst = max(dearest(distribution, change, cheapest) for change in changes)
    assert worst <= Fraction("0.7")
    if cells in (1, 2, 4, 8) and not (cells == 1 and distribution.missing is None):
        assert worst == Fraction("0.7")


def test_notes_themselves_lose_no_more_where_the_depth_is_even_or_records_come_and_go() -> None:
    for cells in range(1, 34):
        for adjacency in (PUBLIC, PRIVATE):
            distribution, depth = distribution_of(cells, adjacency), (cells - 1).bit_length()
            limit = Fraction(depth + 1, depth) if adjacency is PUBLIC and depth % 2 else Fraction(1)
            assert noted_loss(distribution, adjacency) <= limit
            if cells in (2, 4, 8, 16, 32):
                assert noted_loss(distribution, adjacency) == limit


def noted_loss(distribution: PathSums, adjacency: Adjacency) -> Fraction:
    """The loss of all noisy sums that may ever be noted, over all records that come, go, move or become missing."""
    blocks = {block for cell in range(distribution.cells) for block in distribution.blocks_on_path(cell + 1)}
    weight = np.zeros((len(blocks), distribution.cells + 1), dtype=np.int64)
    for row, block in enumerate(blocks):
        for term in signed_blocks(distribution.cells, distribution.levels, block):
            weight[row, term.low : term.high] += term.sign
    apart = [np.abs(weight[:, : cell + 1] - weight[:, [cell]]).sum(axis=0) for cell in range(distribution.cells + 1)]
    missing = 0 if distribution.missing is None else 1 / distribution.missing.parameter
    alone = int(apart[-1].max()) / distribution.noise.parameter
    if isinstance(adjacency, AddRemove):
        return max(alone, Fraction(missing))
    return max(alone + missing, *(int(each.max()) / distribution.noise.parameter for each in apart[:-1]))


# The distribution of the answers


def weights(scale: Fraction, reach: int) -> FloatArray:
    weight = np.exp(-np.abs(np.arange(-reach, reach + 1)) / float(scale))
    return np.asarray(weight / weight.sum())


def pair_distribution(scale: Fraction, reach: int) -> FloatArray:
    """Chances of two counts of 0 that share one noise and have one each, from -reach to reach."""
    far = weights(scale, 5 * reach)
    wide = np.arange(-5 * reach, 5 * reach + 1)
    shifts = np.array([[far[5 * reach + y - r] if abs(y - r) <= 5 * reach else 0.0 for r in wide]
                       for y in range(-reach, reach + 1)])  # fmt: skip
    return np.asarray((shifts * far) @ shifts.T)


def pair_losses(scale: Fraction) -> dict[tuple[int, int], float]:
    """The largest log ratio of the distributions of two counts and of the same with a change, near and far out."""
    chances = pair_distribution(scale, 12)
    inner = chances[1:-1, 1:-1]
    return {
        (one, other): float(np.abs(np.log(chances[1 + one : 24 + one, 1 + other : 24 + other] / inner)).max())
        for one, other in ((1, 0), (0, 1), (1, 1))
    }


def test_the_exact_distribution_of_two_cells_loses_the_claim() -> None:
    """Here the two counts share the block of all cells; distributions are summed up, not bounded."""
    losses = pair_losses(distribution_of(2, PUBLIC).noise.parameter)
    assert max(losses.values()) <= 1 + 1e-9
    assert max(losses.values()) >= 0.99


@pytest.mark.parametrize("adjacency", [PUBLIC, PRIVATE], ids=str)
def test_the_exact_distribution_of_four_cells_loses_the_claim(adjacency: Adjacency) -> None:
    """Counts 1 and 2 share a block, and so do 3 and 4: two independent pairs, whose losses add up."""
    distribution = distribution_of(4, adjacency)
    assert distribution.levels == 2
    losses = {(0, 0): 0.0, **pair_losses(distribution.noise.parameter)}
    from_cell = [tuple(int(cell <= place) for place in range(4)) for cell in range(5)]
    worst = 0.0
    for one, other in product(range(5), repeat=2):
        if adjacency is PRIVATE and other != 4:
            continue
        change = [abs(a - b) for a, b in zip(from_cell[one], from_cell[other], strict=True)]
        worst = max(worst, losses[change[0], change[1]] + losses[change[2], change[3]])
    assert 0.99 <= worst <= 1 + 1e-9


def prefixes_of(table: Sequence[int]) -> list[int]:
    return [0, *np.cumsum(table[:-1]).tolist()]


class Counts:
    """A table, and what was counted in it."""

    def __init__(self, table: Sequence[int]) -> None:
        self.table, self.asked = list(table), list[tuple[int, ...]]()

    def __call__(self, at: tuple[int, ...]) -> list[int]:
        self.asked.append(at)
        return [*(prefixes_of(self.table)[slots] for slots in at), self.table[-1]]


def plan_of(cells: int, *at: int, adjacency: Adjacency = PUBLIC, loss: PrivacyLoss = ONE) -> Plan:
    return LazyTree().plan(query(cells, *at), loss, adjacency)


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("loss", [ONE, PrivacyLoss.zcdp("0.5")], ids=str)
@pytest.mark.parametrize("cells", [6, 8])
def test_counts_have_their_mean_and_their_covariance(cells: int, loss: PrivacyLoss) -> None:
    """Seed 11, 3,000 draws; entries within 4 standard errors, of which one in 16,000 is further away by chance."""
    table, randomness, draws = [*[5, 0, 2, 9, 0, 1, 3, 4][:cells], 6], Randomness.from_seed(11), 3000
    at = tuple(range(cells + 1))
    plan = plan_of(cells, *at, loss=loss)
    drawn = np.array([LazyTree().answer(Counts(table), plan, InProcessMemory(), randomness) for _ in range(draws)])
    distribution = plan.distribution
    assert isinstance(distribution, PathSums)
    assert distribution.missing is not None
    expected = np.zeros((cells + 2, cells + 2))
    expected[:-1, :-1], expected[-1, -1] = distribution.covariance, distribution.missing.variance
    error = np.sqrt(np.diag(expected) / draws)
    assert np.all(np.abs(drawn.mean(axis=0) - [*prefixes_of(table), 6]) <= 4 * error)
    assert not drawn[:, 0].any()
    products = (drawn - [*prefixes_of(table), 6])[:, :, None] * (drawn - [*prefixes_of(table), 6])[:, None, :]
    assert np.all(np.abs(products.mean(axis=0) - expected) <= 4 * products.std(axis=0) / sqrt(draws))


# Looking again


@pytest.mark.parametrize("cells", [1, 2, 5, 8, 100])
def test_a_threshold_has_one_answer_whatever_is_asked_between(cells: int) -> None:
    memory, randomness, table = InProcessMemory(), Randomness.from_seed(3), Counts([1] * cells + [2])
    look = LazyTree().answer
    first = look(table, plan_of(cells, *range(cells + 1)), memory, randomness)
    table.asked.clear()
    for slots in reversed(range(cells + 1)):
        assert look(table, plan_of(cells, slots), memory, randomness)[0] == first[slots]
    assert table.asked == []  # all was remembered: no record was read


def test_at_a_huge_epsilon_counts_are_exact() -> None:
    for cells in (1, 2, 7, 32):
        table = Counts([*range(1, cells + 1), 3])
        plan = plan_of(cells, *range(cells + 1), loss=PrivacyLoss.pure(10**6))
        exact = (*prefixes_of(table.table), *([3] if plan.distribution.size != cells + 1 else []))
        assert LazyTree().answer(table, plan, InProcessMemory(), Randomness.from_system()) == exact


def test_the_missing_cell_is_asked_for_where_it_costs_nothing() -> None:
    assert [distribution_of(2**depth, PUBLIC).missing is None for depth in range(5)] == [True, True, True, False, False]
    assert distribution_of(2**32, PUBLIC).missing == Noise(Family.LAPLACE, Fraction(32, 15))
    assert distribution_of(4, PRIVATE).missing == Noise(Family.LAPLACE, Fraction(1))


def test_records_that_changed_leave_old_answers_as_they_are() -> None:
    memory, randomness, table = InProcessMemory(), Randomness.from_seed(5), Counts([3, 1, 4, 1, 5, 9, 2, 6, 0])
    old = LazyTree().answer(table, plan_of(8, 3, 5), memory, randomness)
    table.table[2] += 1
    again = LazyTree().answer(table, plan_of(8, 5, 3, 4), memory, randomness)
    assert (again[1], again[0]) == old[:2]


def test_the_notes_of_a_look_are_one_for_each_level_and_the_missing_cell() -> None:
    class Notes(InProcessMemory):
        def keep(self, notes: Mapping[str, int]) -> dict[str, int]:
            assert len(notes) == 33
            return super().keep(notes)

    def nobody(at: tuple[int, ...]) -> list[int]:
        return [0] * (len(at) + 1)

    LazyTree().answer(nobody, plan_of(2**32, 2**31), Notes(), Randomness.from_system())


def test_what_is_no_count_of_prefixes_is_refused() -> None:
    with pytest.raises(UnsupportedQuery, match="CountQuery"):
        LazyTree().plan(counts(1, 4), ONE, PUBLIC)
    with pytest.raises(UnsupportedQuery, match="more noise than can be drawn"):
        LazyTree().plan(query(2**32), PrivacyLoss.pure(Fraction(1, 2**55)), PUBLIC)
    plan = AUTO.plan(counts(1, 4), ONE, PUBLIC)
    with pytest.raises(TypeError, match="a distribution of type PathSums is needed"):
        LazyTree().answer(Counts([0] * 5), plan, InProcessMemory(), Randomness.from_system())


def test_the_chooser_counts_prefixes_that_are_asked_one_by_one_with_noise_paths() -> None:
    plan = AUTO.plan(query(2**32, 7), ONE, PUBLIC)
    assert plan == LazyTree().plan(query(2**32, 7), ONE, PUBLIC)
    assert AUTO.choose_mechanism(PrefixQuery(axes(1, 8), ()), ONE, PRIVATE) == LazyTree()
