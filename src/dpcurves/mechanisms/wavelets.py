"""Noisy Haar wavelets (Privelet), and the square-root factorisation of prefix sums.

Each mechanism releases ``A @ cells + noise`` for a public matrix A, such that prefixes are linear combinations of few
released values. That is the matrix mechanism.

- `Haar`: A has one row for each inner node of a binary tree, with 1 for cells of its left half and -1 for cells of its
  right half, and one row for the total. A prefix is a combination of one such contrast per level.
- `Privelet`: the tensor product of such matrices over the axes of a table, for boxes of cells.
- `SquareRoot`: the lower triangular Toeplitz matrix A with ``A @ A = L``, where L is the matrix of ones that sums up
  prefixes. Its diagonals are ``1, 1/2, 3/8, ...``, the coefficients of ``1 / sqrt(1 - x)``. Prefixes are
  ``A @ released``. Under add-remove the columns of A are first scaled to nearly equal lengths.

Formal guarantees: values have independent noise of different sizes. The budget ``p_v`` of a value is 1 over the scale
of its Laplace noise, or 1 over the variance of its Gaussian noise. A change of the cells that changes value v by
``change_v`` loses

    epsilon = sum_v |change_v| * p_v  (Laplace noise)      rho = sum_v change_v**2 * p_v / 2  (Gaussian noise)

`calibrate_budgets` scales all budgets so that the worst change by one unit loses the whole budget.
`largest_sensitivities` and `squared_lengths` find that worst change, for records that are added or removed and for
records that move between cells.

References: Xiao, Wang and Gehrke 2010 (Privelet); Henzinger, Upadhyay and Upadhyay 2023 (square root); Li, Miklau, Hay,
McGregor and Rastogi 2015 (the matrix mechanism).

>>> from dpcurves.privacy import EACH_RECORD, AddRemove
>>> from dpcurves.data import Axis, Grid
>>> from dpcurves.queries import CountUse
>>> query = CountQuery((Axis("age", Grid(0, 256, cells=256)),), CountUse.PREFIXES)
>>> loss = PrivacyLoss.zcdp("0.5")
>>> [round(kind().plan(query, loss, AddRemove(EACH_RECORD)).error, 2) for kind in (Haar, SquareRoot)]  # records
[2.98, 2.56]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod, sqrt
from typing import NamedTuple

import numpy as np

from ..conversation import Plan, UnsupportedQuery
from ..distributions import (
    Family,
    HaarSums,
    HaarTensorSums,
    NormalisedSums,
    ToeplitzSums,
    band_sizes,
    mean_squared_factors,
    round_error,
)
from ..distributions.toeplitz_sums import MOST_NORMALISED, causal_convolution, column_weights, root_weights
from ..noise.randomness import Randomness
from ..privacy import AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from ..queries import CountQuery, WaveletQuery, places_to_array
from .base import ExactTable, QueryMechanism
from .linear import (
    FixedWidthMechanism,
    PrefixMechanism,
    calibrate_to_budget,
    plan_prefixes,
    record_budget,
    require_positive_loss,
    sample_noise,
)

# Norms of one record's effect on noisy sums: the largest change of many values at once, in units of their noise.
#
# The *weighted sensitivity* to a change d of the values is ``sum(|d_i| / scale_i)`` for Laplace noise, a weighted L1
# norm of d, and ``sum(d_i**2 / variance_i)`` for Gaussian noise, a squared weighted L2 norm. A value's *budget* is its
# weight there.


LEAST_MISSING = Fraction(1, 3)
"""Ratio. Least fraction of the loss for the count of missing records, if a record may move there. All other counts
share the rest."""


class Budgets(NamedTuple):
    """The budgets of the sums and of the missing cell.

    Attributes:
        unit: Factor of the relative budgets of the sums.
        missing: Budget of the count of missing records.
    """

    unit: Fraction
    missing: Fraction


def calibrate_budgets(
    record_sensitivity: Fraction, move_sensitivity: Fraction, loss: PrivacyLoss, adjacency: Adjacency
) -> Budgets:
    """Return the noise budgets at which all sums and the missing count together lose at most `loss`, with the least
    noise.

    Args:
        record_sensitivity: Largest relative sensitivity to one added or removed record in the cells.
        move_sensitivity: Largest relative sensitivity to one record that moves from one cell to another.
        loss: Privacy budget of all values together.
        adjacency: Neighbouring relation of the guarantee.

    Formal guarantees: discrete Laplace noise on integers loses ``|d| / scale`` (Ghosh, Roughgarden and Sundararajan
    2009), and discrete Gaussian noise rho ``d**2 / (2 * variance)`` (Canonne, Kamath and Steinke 2020, Theorem 14); for
    independent noises these add up. So a change loses its weighted sensitivity as epsilon, or half of it as rho. Let a
    unit have k records.

    - *Add-remove*: at most k records are added or removed, each in the cells, for at most
      ``unit * record_sensitivity``, or missing, for `missing`.
    - *Replace-one*: as many as can be paired move, from one cell to another for at most ``unit * move_sensitivity``, or
      between the cells and the missing cell for at most ``unit * record_sensitivity + missing``; the others are added
      or removed, for less.

    By the triangle inequality the change of all costs at most k times as much as the most expensive one, or k**2 times
    with Gaussian noise, which is ``epsilon / k``, or ``2 * rho / k**2``. If all k do the same it costs exactly that, so
    noise cannot be smaller. If records move, the missing cell gets the rest of what moves between cells cost, but at
    least a third.

    Raises:
        UnsupportedQuery: the loss is zero.
    """
    require_positive_loss(loss)
    allowed = record_budget(loss, adjacency)
    if isinstance(adjacency, AddRemove):
        return Budgets(allowed / record_sensitivity, allowed)
    unit = allowed / max(move_sensitivity, record_sensitivity / (1 - LEAST_MISSING))
    return Budgets(unit, allowed - unit * record_sensitivity)


# The Haar wavelet: the total of a row, and for every node the sum of its left half minus the sum of its right half.


_BUDGET_PARTS = 1000
"""Parts. Denominator of relative budgets, which are multiples of 1/1000, so that they are exact fractions."""


@dataclass(frozen=True, slots=True)
class Haar(FixedWidthMechanism, PrefixMechanism):
    """Release noisy Haar wavelets for prefixes: contrasts of all nodes of a binary tree (Xiao, Wang and Gehrke 2010).

    Formal guarantees: pure or zero-concentrated, like the loss; the proof is in `calibrate_budgets` and
    `largest_sensitivities`. The budget of one record is divided among the nodes of its path so that the mean variance
    of a prefix is least.

    Attributes:
        width: Number of cells of an interval of the finest level. Prefixes that end inside it are interpolated.
    """

    display_name = "a wavelet"

    def _plan(self, query: CountQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the noise of Haar wavelet coefficients for a query, and return the plan of the release; no record is
        read.

        The plan's expected error is that of a prefix count, estimated from the coefficients by least squares.

        Args:
            query: Cells to count.
            loss: Privacy loss of the query.
            adjacency: Neighbouring data sets.

        Raises:
            UnsupportedQuery: the loss is zero.
        """
        distribution = _haar_distribution(query, self.width, loss, adjacency)
        name = self.name_with_width(f"Haar wavelet of depth {len(distribution.levels)}")
        return plan_prefixes(name, query, distribution, loss, adjacency)


def _haar_distribution(query: CountQuery, width: int, loss: PrivacyLoss, adjacency: Adjacency) -> HaarSums:
    """Return the distribution of noisy contrasts, with budgets from `_optimise_path_budgets` scaled by
    `calibrate_budgets`.

    Args:
        query: Cells to count.
        width: Number of cells between neighbouring measured prefixes.
        loss: Privacy loss of the query.
        adjacency: Neighbouring data sets, with the public number of records if there is one.
    """
    points = -(-query.cells // width)
    family = Family.from_loss(loss)
    lone = query.rows == 1 and points > 1 and adjacency.public_record_count is not None
    # 1/3 is the mean square of the factors of the total of a row in prefixes, t / p for the t-th of p cells.
    path = _optimise_path_budgets(points, 0.0 if lone else 1 / 3, family, adjacency)
    alone, moved = largest_sensitivities([AxisBudgets(points, path)], family)
    unit, missing = calibrate_budgets(alone, max(moved, 2 * alone) if query.rows > 1 else moved, loss, adjacency)
    return HaarSums(
        query.rows, query.cells, width,
        top=calibrate_to_budget(path[0] * unit, loss) if path[0] else None,
        levels=tuple(calibrate_to_budget(budget * unit, loss) for budget in path[1:]),
        missing=calibrate_to_budget(missing, loss),
    )  # fmt: skip


def _optimise_path_budgets(points: int, top: float, family: Family, adjacency: Adjacency) -> tuple[Fraction, ...]:
    """Return the budgets of a row's total and contrasts that minimise the mean variance of a prefix, if every prefix
    ends in a full tree.

    The first is for the total of a row, 0 if it is not released, the others for contrasts from coarse to fine. Between
    rows a move costs as much as two records, in a row as much as `largest_sensitivities` gives for a single axis.

    A contrast of m intervals has the factors ``min(t, m - t) / m`` in prefixes, of mean square ``(1 + 2 / m**2) / 12``;
    `top` is the mean square factor of the total. With weights w and a given sum of budgets, ``sum(w / budget**power)``
    is least if ``budget**(power + 1)`` is proportional to w; Laplace noise has power 2, Gaussian noise 1. With Gaussian
    noise the contrast in which the paths of a move diverge counts twice.

    Args:
        points: Number of intervals of a row.
        top: Mean square factor of the row's total in a prefix.
        family: Laplace or Gaussian noise.
        adjacency: Add-remove or replace-one.
    """
    sizes = [2 << level for level in reversed(range((points - 1).bit_length()))]
    weights = [top, *((1 + 2 / size**2) / 12 for size in sizes)]
    if sizes and family is Family.GAUSSIAN and isinstance(adjacency, ReplaceOne):
        weights[1] /= 2
    root = 1 / 3 if family is Family.LAPLACE else 1 / 2
    return tuple(Fraction(round(_BUDGET_PARTS * weight**root), _BUDGET_PARTS) for weight in weights)


@dataclass(frozen=True, slots=True)
class Privelet(QueryMechanism):
    """Release noisy Haar wavelets of a table, for boxes of cells that begin at the first cell (Xiao, Wang and Gehrke
    2010).

    A value is a contrast along each axis, that is an entry of the tensor product of one Haar transform per axis. Its
    relative budget is the product of one budget per axis. The budgets of one path along an axis add up to at most the
    same sum for all cells. Sides need not be powers of two.

    Formal guarantees: pure or zero-concentrated, like the loss. Cells of the table, cells outside it, and missing
    records are three disjoint sums, whose budgets `calibrate_budgets` sets by the largest relative sensitivities that
    `largest_sensitivities` proves. A record that moves between the last two pays for both: under replace-one each of
    them gets at most half the loss.
    """

    query_types = (WaveletQuery,)
    display_name = "wavelets of a table"

    def _plan(self, query: WaveletQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the noise of Haar wavelet coefficients of a table (Privelet), and return the plan of the release; no
        record is read.

        The plan's expected error is the root of the mean variance of the count of a box that begins at the first cell.

        Args:
            query: Boxes of a table to count.
            loss: Privacy loss of the query.
            adjacency: Neighbouring data sets.
        """
        distribution = _tensor_distribution(query, loss, adjacency)
        error = round_error(sqrt(distribution.mean_prefix_variance))
        return Plan(query, loss, adjacency, f"wavelets along {len(query.sides)} axes", distribution, error)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Return noisy Haar wavelet coefficients of a table, then the noisy number of records outside it, if there is
        an outside, and of missing ones.

        Args:
            table: SECRET. Exact counts of the cells, flat, missing records last.
            plan: The plan that `plan` returned for this query.
            randomness: Source of random bits.
        """
        distribution = plan.distribution.require_type(HaarTensorSums)
        exact = compute_exact_values(table, self.require_query(plan), distribution)
        noise = sample_value_noise(distribution, randomness)
        return tuple(value + draw for value, draw in zip(exact, noise, strict=True))  # Python integers cannot overflow


def compute_exact_values(table: ExactTable, query: WaveletQuery, distribution: HaarTensorSums) -> list[int]:
    """SECRET: return the exact wavelets of the table, then the count outside it if there is one, then missing records.

    Args:
        table: SECRET. Exact counts of the cells, flat, missing records last.
        query: The subtable and its order of cells.
        distribution: Distribution of the noisy values.
    """
    order = places_to_array(query.order)
    values = table[order].reshape(query.sides)
    for axis in range(values.ndim):
        values = np.moveaxis(_haar_transform(np.moveaxis(values, axis, -1)), -1, axis)
    is_outside = np.ones(len(table) - 1, dtype=np.bool_)
    is_outside[order] = False
    outside = [] if distribution.outside_noise is None else [int(table[:-1][is_outside].sum())]
    return [*values.ravel().tolist(), *outside, int(table[-1])]


def sample_value_noise(distribution: HaarTensorSums, randomness: Randomness) -> list[int]:
    """SECRET: return one sample of noise per value, in the order of `distribution`.

    Args:
        distribution: Noises of the values, and the sides of the table.
        randomness: Source of random bits.

    Returns:
        Noise of the wavelets of all cells, the last axis fastest; of the count outside the queried cells, if it is
        released; and of the count of missing records.
    """
    table_noise = np.empty(distribution.sides, dtype=np.int64)
    for block, noise in zip(distribution.blocks, distribution.noises, strict=True):
        table_noise[block] = sample_noise(noise, table_noise[block].size, randomness).reshape(table_noise[block].shape)
    single = (
        [distribution.missing]
        if distribution.outside_noise is None
        else [distribution.outside_noise, distribution.missing]
    )
    return [*table_noise.ravel().tolist(), *(int(sample_noise(noise, 1, randomness)[0]) for noise in single)]


def _haar_transform(cells: ExactTable) -> ExactTable:
    """SECRET: return the Haar wavelet coefficients along the last axis: the total, then contrasts from coarse to fine.

    The result has the shape of `cells`.

    Args:
        cells: SECRET. Exact counts, (..., cells).
    """
    contrasts: list[ExactTable] = []
    for _ in band_sizes(cells.shape[-1])[1:]:
        left, right = cells[..., 0::2], cells[..., 1::2]
        contrasts.insert(0, left[..., : right.shape[-1]] - right)
        cells = left.copy()
        cells[..., : right.shape[-1]] += right
    return np.concatenate([cells, *contrasts], axis=-1)


def _tensor_distribution(query: WaveletQuery, loss: PrivacyLoss, adjacency: Adjacency) -> HaarTensorSums:
    """Return the distribution of noisy wavelets of a table, with one noise for each combination of levels.

    `calibrate_budgets` sets the noises so that all values together lose at most `loss`. The count of missing records
    has separate noise, and so has the count of records outside the queried cells, unless the query covers the table.

    Formal guarantees: a record that moves from outside the queried cells to the missing cell costs ``2 * missing``.
    That is at most the loss, because ``moved <= 2 * alone``, so that ``unit * alone`` is at least half of it. In the
    terms of `largest_sensitivities`, with Laplace noise the two products that are subtracted add up to at least 0. With
    Gaussian noise it suffices that P is at least q along every axis. In a prefix that ends in the left half of the
    axis the total has the same factor as the first contrast, in the right half one of at least 1/2, and the contrast
    at most 1/2; so its budget is at least the contrast's budget. For other nodes P includes both, and these budgets are
    at least ``sqrt(1/12)`` and ``sqrt(1/24)``; no other is above ``sqrt(1/8)``.

    Args:
        query: Wavelets of the queried cells.
        loss: Loss of all values together. It is pure for Laplace noise, concentrated for Gaussian noise.
        adjacency: Definition of neighbours, with the contribution bound.
    """
    family = Family.from_loss(loss)
    axes = [AxisBudgets.from_side(side, family) for side in query.sides]
    alone, moved = largest_sensitivities(axes, family)
    unit, missing = calibrate_budgets(alone, moved, loss, adjacency)
    budgets_by_axis = [axis.bands for axis in axes]
    noises = tuple(calibrate_to_budget(prod(band_budgets) * unit, loss) for band_budgets in product(*budgets_by_axis))
    if len(query.order) == prod(query.shape):
        return HaarTensorSums(query.sides, noises, None, calibrate_to_budget(missing, loss))
    return HaarTensorSums(query.sides, noises, calibrate_to_budget(missing, loss), calibrate_to_budget(missing, loss))


class MoveSensitivities(NamedTuple):
    """Sensitivities of the values of two cells of an axis, for a record that moves between them.

    Attributes:
        first: Sum of the budgets of all values that the first cell changes, by 1 or -1.
        second: Sum of the budgets of all values that the second cell changes; at most `first`.
        alike: Sum of the budgets of the values that both change in the same way.
        opposite: Budget of the value that changes by 1 for one cell and by -1 for the other.
    """

    first: Fraction
    second: Fraction
    alike: Fraction
    opposite: Fraction


class AxisBudgets(NamedTuple):
    """Relative budgets of the values along one axis.

    Attributes:
        side: Number of cells.
        bands: Budget of the total, and of contrasts from coarse to fine.
    """

    side: int
    bands: tuple[Fraction, ...]

    @classmethod
    def from_side(cls, side: int, family: Family) -> AxisBudgets:
        """Return the budgets of the levels of an axis that minimise the mean variance of a prefix, for a given sum
        along a path.

        A level whose factors in prefixes have the mean square w adds ``w / budget**power`` to the variance, with power
        2 for Laplace noise and 1 for Gaussian noise. The sum is least if ``budget**(power + 1)`` is proportional to w.

        Args:
            side: Number of cells of the axis.
            family: Family of the noise.
        """
        root = 1 / 3 if family is Family.LAPLACE else 1 / 2
        return cls(
            side,
            tuple(
                Fraction(max(1, round(_BUDGET_PARTS * weight**root)), _BUDGET_PARTS)
                for weight in mean_squared_factors(side)
            ),
        )

    def move_sensitivities(self) -> list[MoveSensitivities]:
        """Return the sensitivities, along this axis, to a record that moves: between equal cells, and between the
        costliest cells in different halves of each level.

        The first node of a level has contrasts of all levels above, and its right half is the largest. In its left
        half, the first cell has contrasts of all levels below. In its right half, of r cells, the first cell has
        contrasts of the levels whose right halves begin before the r-th cell, and no other cell has more.
        """
        total = sum(self.bands, start=Fraction(0))
        sensitivities = [MoveSensitivities(total, total, total, Fraction(0))]
        levels = len(self.bands) - 1
        for level in range(levels):
            half = 1 << (levels - 1 - level)
            right = min(half, self.side - half)
            alike = sum(self.bands[: level + 1])
            opposite = self.bands[level + 1]
            below = self.bands[level + 2 :]
            second = alike + opposite + sum(below[len(below) - (right - 1).bit_length() :])
            sensitivities.append(MoveSensitivities(total, second, Fraction(alike), opposite))
        return sensitivities


def largest_sensitivities(axes: list[AxisBudgets], family: Family) -> tuple[Fraction, Fraction]:
    """Return the largest relative sensitivities to an added or removed record, and to a record that moves between
    cells.

    Formal guarantees: a record of cell c changes the values on its path along each axis, by a product of signs. The
    sensitivity to it is the product, over axes, of the budgets of its paths; it is largest for the first cell, which
    has a contrast of every level. Let a record move from cell c to cell d of the table. Along each axis let X and Y be
    the budgets of both paths, P the budget of the values that both cells change alike, and q the budget of the value
    that one cell changes by 1 and the other by -1. The values of the table that both cells change have the budget
    ``prod(P + q)``. The cells change those with an even number of factors -1 alike; these have the budget ``(prod(P +
    q) + prod(P - q)) / 2`` and stay equal in a move. The others change by 2, and values that a single cell changes
    change by 1. With Laplace noise a change of 2 costs twice as much, so the move costs ``prod(X) + prod(Y) - prod(P +
    q) - prod(P - q)``; with Gaussian noise it costs four times as much, so the move costs ``prod(X) + prod(Y) - 2 *
    prod(P - q)``. Both formulas increase with the budget of values on one path alone. They do not decrease in P, which
    is a summand of X and Y: the derivative is a sum of the differences of ``prod(X)`` and ``prod(P + q)``, and similar
    ones, over the other axes. They are largest if the more expensive path belongs to the same cell along all axes. So
    it is enough to compare the most expensive cells of each level, in all combinations of levels.

    Args:
        axes: Budgets of the levels of each axis of the table.
        family: Family of the noise, which decides the cost of a change by 2.

    Returns:
        Sensitivity to an added or removed record, and to a moved record.
    """
    alone = prod((sum(axis.bands, start=Fraction(0)) for axis in axes), start=Fraction(1))
    return alone, max(
        _sensitivity_to_move(moves, family) for moves in product(*(axis.move_sensitivities() for axis in axes))
    )


def _sensitivity_to_move(along: tuple[MoveSensitivities, ...], family: Family) -> Fraction:
    """Return the relative sensitivity to a record that moves between cells of a table, from the sensitivities along
    each axis.

    By the formulas of `largest_sensitivities`.

    Args:
        along: Sensitivities along each axis.
        family: Laplace noise (L1 sensitivity) or Gaussian noise (squared L2 sensitivity).
    """
    unit = Fraction(1)
    apart = prod((each.first for each in along), start=unit) + prod((each.second for each in along), start=unit)
    shared = prod((each.alike + each.opposite for each in along), start=unit)
    signed = prod((each.alike - each.opposite for each in along), start=unit)
    return apart - (shared + signed if family is Family.LAPLACE else 2 * signed)


WEIGHT_BITS = 20
"""Bits. Binary digits of weights after the point. The estimate inverts the rounded weights, so rounding causes no
bias.
"""


INTERVAL_WEIGHT_BITS = 12
"""Bits. Binary digits of the weights of intervals after the point: rounded down, they cost 0.03 % of the error."""


@dataclass(frozen=True, slots=True)
class SquareRoot(FixedWidthMechanism, PrefixMechanism):
    """Release prefix sums through the square root of the prefix matrix (Henzinger, Upadhyay and Upadhyay 2023).

    The first convolution of the cells is released with noise; the second one is post-processing (`ToeplitzSums`).
    Weights are rounded to multiples of ``2**-20``, and convolutions are computed with integers. Under add-remove, up to
    `MOST_NORMALISED` intervals are first multiplied by weights that give all columns nearly the same length
    (`NormalisedSums`): the mean squared error is then 3 % above the least of all matrices. Under replace-one the
    lengths of differences of columns count, and the plain square root has shorter ones.

    Use it under zCDP: of all mechanisms here that count every cell it has the smallest variance. Under pure DP it is
    useless, because a record changes the values of its cell and of all later cells.

    Formal guarantees: zero-concentrated, by `calibrate_budgets`. A record changes the values of its row by a column of
    the matrix of rounded weights w, of p intervals: ``(0, ..., 0, w[0], w[1], ...)``. With weights g of intervals,
    column j is multiplied by ``g[j]``, and the largest squared length is the largest ``g[j]**2 * S(p - j)``, with
    ``S(m) = sum(w[i]**2 for i < m)``. Without weights g is 1, and the squared length is largest in the first interval:
    ``S(p)``. Columns i and i + d have the squared distance ``S(d) + sum((w[m + d] - w[m])**2 for m < p - i - d)``:
    largest at i = 0, where it is ``S(p) + S(p - d) - 2 * sum(w[m] * w[m + d] for m < p - d)``. All of this is computed
    exactly. Columns of two rows have no value in common.

    Attributes:
        width: Number of cells of an interval. Prefixes that end inside it are interpolated.
    """

    display_name = "a square root of prefix sums"

    def _plan(self, query: CountQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the noise of counts under the square-root strategy, and return the plan of the release; no record is
        read.

        Args:
            query: Cells to count.
            loss: Privacy loss of the query, in rho.
            adjacency: Neighbouring data sets.

        Raises:
            UnsupportedQuery: the loss is pure, because the noise is Gaussian.
        """
        if loss.is_pure:
            raise UnsupportedQuery(
                "epsilon", "prefix sums by a square root of their matrix have Gaussian noise; give a loss in rho"
            )
        points = -(-query.cells // self.width)
        name = self.name_with_width("square root of prefix sums")

        # With equal column norms every position loses alike: less noise, if a unit only adds or removes records.
        if isinstance(adjacency, AddRemove) and points <= MOST_NORMALISED:
            alone = longest_normalised_column(points, WEIGHT_BITS, INTERVAL_WEIGHT_BITS)
            unit, missing = calibrate_budgets(Fraction(alone), Fraction(2 * alone), loss, adjacency)
            normalised = NormalisedSums(
                query.rows, query.cells, self.width, WEIGHT_BITS, calibrate_to_budget(unit, loss),
                missing=calibrate_to_budget(missing, loss), column_bits=INTERVAL_WEIGHT_BITS,
            )  # fmt: skip
            return plan_prefixes(name, query, normalised, loss, adjacency)

        # Otherwise the Toeplitz square root, which one column defines.
        alone, moved = squared_lengths(points, WEIGHT_BITS)
        unit, missing = calibrate_budgets(
            Fraction(alone), Fraction(moved if query.rows == 1 else 2 * alone), loss, adjacency
        )
        distribution = ToeplitzSums(
            query.rows,
            query.cells,
            self.width,
            WEIGHT_BITS,
            calibrate_to_budget(unit, loss),
            missing=calibrate_to_budget(missing, loss),
        )
        return plan_prefixes(name, query, distribution, loss, adjacency)


@lru_cache(maxsize=64)  # a pure function of public facts
def longest_normalised_column(points: int, bits: int, column_bits: int) -> int:
    """Return the largest squared length of a column of `NormalisedSums`, exactly, as an integer.

    Args:
        points: Number of columns.
        bits: Binary digits after the point of the entries of the matrix.
        column_bits: Binary digits after the point of the weights of columns.

    Returns:
        The squared length in units of ``2**(-2 * (bits + column_bits))``.

    >>> longest_normalised_column(3, 20, 10) / 4**30
    1.0
    """
    ends = np.cumsum(root_weights(points, bits).astype(np.object_) ** 2)[::-1]
    return int(max(ends * column_weights(points, bits, column_bits).astype(np.object_) ** 2))


@lru_cache(maxsize=64)  # a pure function of public facts
def squared_lengths(points: int, bits: int) -> tuple[int, int]:
    """Return the largest squared length of a column of the square-root matrix, and the largest squared distance of two.

    Args:
        points: Number of columns.
        bits: Binary digits after the point of the entries of the matrix.

    Returns:
        Two exact integers, in units of ``2**(-2 * bits)``.

    >>> squared_lengths(2, 1)
    (5, 5)
    """
    weights = root_weights(points, bits)
    ends = [0]
    for weight in weights.tolist():
        ends.append(ends[-1] + weight**2)
    products = causal_convolution(weights[None, ::-1], weights)[0].tolist()  # the last one is for distance 0
    distances = (ends[-1] + ends[1 + lag] - 2 * products[lag] for lag in range(points - 1))
    return ends[-1], max(distances, default=0)
