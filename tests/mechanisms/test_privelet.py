"""Wavelets of tables: their exact loss on all tiny neighbours, what is summed, and their error."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from exact_loss import unit_loss
from numpy.typing import NDArray
from tiny_tables import ADJACENCIES, axes, counts, data_sets, neighbours

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.data import Axis, Grid
from dpcurves.distributions import Family, HaarTensorSums, Noise, estimate_table
from dpcurves.distributions.haar_sums import band_sizes
from dpcurves.mechanisms import AUTO, Privelet
from dpcurves.mechanisms.wavelets import AxisBudgets, compute_exact_values, largest_sensitivities, sample_value_noise
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import WaveletQuery

PURE = PrivacyLoss.pure("0.7")
CONCENTRATED = PrivacyLoss.zcdp("0.3")
ALONE = AddRemove(EACH_RECORD)


def distribution_of(plan: Plan) -> HaarTensorSums:
    assert isinstance(plan.distribution, HaarTensorSums)
    return plan.distribution


def asked(sides: tuple[int, ...], beyond: int = 0) -> WaveletQuery:
    """A table that stands backwards among all cells, of which some lie beyond it."""
    cells = prod(sides) + beyond
    return WaveletQuery(axes(1, cells), tuple(reversed(range(beyond, cells))), sides)


def noises(distribution: HaarTensorSums) -> list[Noise]:
    """List the noise of each value."""
    table = np.empty(distribution.sides, dtype=np.int64)
    for number, block in enumerate(distribution.blocks):
        table[block] = number
    single = (
        [distribution.missing]
        if distribution.outside_noise is None
        else [distribution.outside_noise, distribution.missing]
    )
    return [*(distribution.noises[number] for number in table.ravel().tolist()), *single]


def dense(side: int) -> NDArray[np.int64]:
    """What each cell adds to each value of an axis, node by node, of shape ``(values, cells)``."""
    rows, half = [np.ones(side, dtype=np.int64)], 1 << max(side - 1, 0).bit_length() >> 1
    while half:
        for start in range(0, side - half, 2 * half):
            row = np.zeros(side, dtype=np.int64)
            row[start : start + half], row[start + half : start + 2 * half] = 1, -1
            rows.append(row)
        half //= 2
    return np.array(rows)


SHAPES = [(1,), (2,), (3,), (5,), (6,), (1, 1), (1, 3), (2, 2), (2, 3), (3, 3), (4, 2), (2, 1, 2), (2, 2, 2)]


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize("beyond", [0, 2])
@pytest.mark.parametrize("sides", SHAPES, ids=str)
def test_wavelets_lose_exactly_what_is_claimed(sides: tuple[int, ...], beyond: int, adjacency: Adjacency) -> None:
    query = asked(sides, beyond)
    sets = data_sets(prod(query.shape) + 1, 3 if prod(sides) + beyond < 6 else 2)
    pairs = neighbours(sets, adjacency)
    for loss, claimed in ((PURE, PURE.epsilon), (CONCENTRATED, CONCENTRATED.rho)):
        distribution = distribution_of(Privelet().plan(query, loss, adjacency))
        released = np.array([compute_exact_values(table, query, distribution) for table in sets])
        shifts = np.unique(np.abs(released[pairs[:, 0]] - released[pairs[:, 1]]), axis=0)
        unit_losses = [unit_loss(noise) for noise in noises(distribution)]
        common = int(np.lcm.reduce([each.denominator for each in unit_losses]))
        whole = np.array([int(each * common) for each in unit_losses], dtype=object)
        assert Fraction(max((shifts if loss.is_pure else shifts**2) @ whole), common) == claimed


@pytest.mark.parametrize("family", list(Family))
@pytest.mark.parametrize("sides", [(7, 13), (16, 5), (1, 11), (12,), (33,), (3, 4, 5)], ids=str)
def test_the_closed_form_is_the_dearest_of_all_moves(sides: tuple[int, ...], family: Family) -> None:
    """Every cell to every other one, on tables that are no longer tiny, in thousandths of thousandths."""
    along = [AxisBudgets.from_side(side, family) for side in sides]
    matrix, weighted = np.ones((1, 1), dtype=np.int64), np.ones(1, dtype=np.int64)
    for axis in along:
        each = np.repeat([int(1000 * band) for band in axis.bands], band_sizes(axis.side))
        matrix, weighted = np.kron(matrix, dense(axis.side)), np.kron(weighted, each)
    alone, moved = largest_sensitivities(along, family)
    scale = 1000 ** len(sides)
    assert int((np.abs(matrix) * weighted[:, None]).sum(axis=0).max()) == alone * scale
    power, dearest = 1 if family is Family.LAPLACE else 2, 0
    for cell in range(matrix.shape[1]):
        change = np.abs(matrix - matrix[:, [cell]]) ** power
        dearest = max(dearest, int((change * weighted[:, None]).sum(axis=0).max()))
    assert dearest == moved * scale


@pytest.mark.parametrize("sides", [(4, 4), (5, 3), (7,), (2, 3, 5)], ids=str)
def test_values_are_products_of_contrasts(sides: tuple[int, ...]) -> None:
    query = asked(sides, 3)
    distribution = distribution_of(Privelet().plan(query, PURE, ALONE))
    table = np.random.default_rng(1).integers(0, 50, prod(sides) + 4)
    matrix = np.ones((1, 1), dtype=np.int64)
    for side in sides:
        matrix = np.kron(matrix, dense(side))
    inside = table[list(query.order)]
    assert compute_exact_values(table, query, distribution) == [
        *(matrix @ inside).tolist(),
        int(table[:3].sum()),
        int(table[-1]),
    ]
    found = estimate_table(distribution, compute_exact_values(table, query, distribution), None)
    np.testing.assert_allclose(found.cells.ravel(), inside, atol=1e-9)
    assert (found.outside, found.missing) == (table[:3].sum(), table[-1])


def test_counts_beyond_64_bits_are_exact() -> None:
    query = asked((2, 2))
    plan = Privelet().plan(query, PrivacyLoss.pure(10**6), ALONE)
    values = Privelet().run(np.array([2**70, 1, 2, 3, 4], dtype=object), plan, Randomness.from_seed(0))
    assert values == (2**70 + 6, 2 - 2**70, 4 - 2**70, 2**70, 4)


@pytest.mark.parametrize("loss", [PURE, CONCENTRATED], ids=str)
@pytest.mark.parametrize("sides", [(8, 8), (7, 5), (6,)], ids=str)
def test_the_plan_says_the_mean_variance_of_boxes_from_the_first_cell(
    sides: tuple[int, ...], loss: PrivacyLoss
) -> None:
    plan = Privelet().plan(asked(sides), loss, ALONE)
    distribution = distribution_of(plan)
    matrix, boxes = np.ones((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.int64)
    for side in sides:
        matrix, boxes = np.kron(matrix, dense(side)), np.kron(boxes, np.tri(side, dtype=np.int64))
    variance = np.array([noise.variance for noise in noises(distribution)[: distribution.cells]])
    exact = ((boxes @ np.linalg.inv(matrix)) ** 2 @ variance).mean()
    assert plan.error**2 == pytest.approx(exact, rel=1e-6)


def test_draws_have_the_variances_of_the_plan_at_four_sigma() -> None:
    """Looks at the 23 combinations of bands with most values; false alarms with 23 * 6.4e-5. The kurtosis is 6."""
    distribution = distribution_of(Privelet().plan(asked((130, 128)), PURE, ALONE))
    drawn = np.array(
        sample_value_noise(distribution, Randomness.from_seed(8))[: distribution.cells], dtype=np.float64
    ).reshape(distribution.sides)
    large = [
        (drawn[block], noise)
        for block, noise in zip(distribution.blocks, distribution.noises, strict=True)
        if drawn[block].size > 64
    ]
    assert len(large) == 23
    for values, noise in large:
        assert abs((values**2).mean() / noise.variance - 1) < 4 * np.sqrt(5 / values.size)


def test_a_public_total_is_kept() -> None:
    query = asked((3, 3), 2)
    plan = Privelet().plan(query, PURE, ReplaceOne(EACH_RECORD, 55))
    values = AUTO.run(np.arange(12), plan, Randomness.from_seed(2))
    found = estimate_table(distribution_of(plan), values, 55)
    assert found.cells.sum() + found.outside + found.missing == pytest.approx(55)


def test_equal_parts_of_a_long_axis_are_as_dear_as_published() -> None:
    """With equal budgets a record costs ``1 + log2 n`` on each axis (Xiao, Wang and Gehrke 2010, Theorem 2)."""
    equal = [AxisBudgets(side, (Fraction(1),) * len(band_sizes(side))) for side in (256, 16)]
    assert largest_sensitivities(equal, Family.LAPLACE)[0] == 9 * 5
    for side in (64, 1024):
        ours, depth = AxisBudgets.from_side(side, Family.LAPLACE), side.bit_length()
        weights = HaarTensorSums((side,), (Noise(Family.LAPLACE, Fraction(10**6)),) * depth, None, LARGE)
        same = HaarTensorSums((side,), tuple(Noise(Family.LAPLACE, 10**6 * sum(ours.bands) / (depth * band)) for band in
                                       ours.bands), None, LARGE)  # fmt: skip
        assert same.mean_prefix_variance < weights.mean_prefix_variance


LARGE = Noise(Family.LAPLACE, Fraction(1))


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(UnsupportedQuery, match="CountQuery"):
        Privelet().plan(counts(1, 8), PURE, ALONE)
    with pytest.raises(UnsupportedQuery, match="loss above zero"):
        Privelet().plan(asked((2, 2)), PURE * Fraction(0), ALONE)
    with pytest.raises(TypeError, match="a distribution of type HaarTensorSums is needed"):
        Privelet().run(np.zeros(5, dtype=np.int64), AUTO.plan(counts(1, 4), PURE, ALONE), Randomness.from_seed(1))
    axis = (Axis("x", Grid(0, 1, cells=4)),)
    for order, sides in ((range(4), (3,)), ((0, 0), (2,)), ((0, 4), (1, 2)), (range(4), ()), (range(0), (0, 2))):
        with pytest.raises(ValueError, match="sides|order"):
            WaveletQuery(axis, order, sides)
    distribution = distribution_of(Privelet().plan(asked((2, 2)), PURE, ALONE))
    with pytest.raises(ValueError, match="values"):
        estimate_table(distribution, [1, 2], None)
    with pytest.raises(ValueError, match="noises"):
        HaarTensorSums((2, 2), distribution.noises[1:], None, distribution.missing)


def test_all_combinations_of_bands_are_compared() -> None:
    assert [len(list(product(*map(band_sizes, sides)))) for sides in ((4, 4), (1, 5))] == [9, 4]


@pytest.mark.parametrize("family", Family)
def test_a_move_costs_at_most_twice_what_one_record_costs_so_that_half_the_loss_is_left(family: Family) -> None:
    """What `_tensor_distribution` proves for a move from outside to the missing cell, on all sides up to 300."""
    sides = [*range(1, 301), *(2**power + more for power in range(9, 15) for more in (-1, 0, 1))]
    for side in sides:
        budgets = AxisBudgets.from_side(side, family)
        assert all(move.alike >= move.opposite for move in budgets.move_sensitivities())
        alone, moved = largest_sensitivities([budgets], family)
        assert moved <= 2 * alone
        if side > 1:
            assert budgets.bands[0] ** 2 >= Fraction(1, 12) - Fraction(1, 500) or family is Family.LAPLACE
            assert max(budgets.bands[1:]) <= Fraction(354, 1000) or family is Family.LAPLACE


@pytest.mark.parametrize("loss", [PURE, CONCENTRATED], ids=str)
def test_a_record_that_moves_from_outside_to_the_missing_cell_loses_no_more(loss: PrivacyLoss) -> None:
    """Both counts change by 1. With a missing cell that cost more than half of the loss, this would exceed it."""
    for sides in ((1,), (2,), (5,), (64,), (2, 3), (8, 8, 2)):
        distribution = distribution_of(AUTO.plan(asked(sides, 2), loss, ReplaceOne(EACH_RECORD, 9)))
        assert distribution.outside_noise is not None
        pair_loss = unit_loss(distribution.outside_noise) + unit_loss(distribution.missing)
        assert pair_loss <= (loss.rho if loss.epsilon is None else loss.epsilon)
