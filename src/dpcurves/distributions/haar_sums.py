"""Distributions of noisy Haar wavelets: signed sums over the nodes of a binary tree, along one axis or several.

Take a node whose halves have the sums a and b. Its total is ``T = a + b``, its contrast ``D = a - b``. A row of p
intervals is determined by its total and p - 1 contrasts, which are released with noise:

    a = (T + D) / 2      b = (T - D) / 2

There is no redundancy. So inverting from the root down is the only unbiased linear estimate, except that a public total
corrects the totals of rows. A prefix contains each contrast on its path with a factor between 0 and 1/2. `HaarSums` is
for rows. `HaarTensorSums` is for tables: the transform is applied along one axis after the other.

`HaarSums.shrink_cells` shrinks contrasts towards even splits, level by level (after James and Stein 1961).

Formal guarantees: these are distributions of releases; their loss is proved in `mechanisms.wavelets`.

References: Haar 1910; Xiao, Wang and Gehrke 2010 (Privelet).

>>> band_sizes(5), band_sizes(8)  # the total, and the contrasts of each level, along an axis of 5 and of 8 cells
((1, 1, 1, 2), (1, 1, 2, 4))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from ..arguments import InvalidArgument
from ..arrays import FloatArray, IntArray
from ..codec import STORED_CODEC, Count
from .interval_sums import adjust_to_total, split_into_parts, spread_over_cells
from .output_distribution import LEAST_VARIANCE, CountDistribution, EqualWidthSums, Noise, Part, sum_over_intervals

NO_TOTAL = "must count the total of each row; or have one row, with a public total and a count of missing records"
"""Rule in the error for counts from which the total of a row cannot be estimated."""


def shrinkage_factors(squares: FloatArray, degrees_of_freedom: IntArray) -> FloatArray:
    """Return James-Stein shrinkage factors for groups of noisy deviations; 1 keeps them, 0 shrinks them fully.

    Args:
        squares: Sum of squared deviations of each group over their variance, (..., rows, parents).
        degrees_of_freedom: Expectation of `squares` under noise alone, for each group, (parents,).

    Returns:
        Factors, (..., rows, parents).
    """
    positive_squares = np.maximum(squares, LEAST_VARIANCE)
    level = np.maximum(0, 1 - degrees_of_freedom.sum() / positive_squares.sum(axis=-1, keepdims=True))
    family = 1 - np.maximum(degrees_of_freedom - 2, 0) / positive_squares
    # a family that deviates three times as much as noise is shrunk by itself
    return np.where(positive_squares > 3.0 * degrees_of_freedom, family, level)


@dataclass(frozen=True, slots=True)
class HaarSums(EqualWidthSums):
    """The Haar wavelet transform of every row with independent noise on each value (Xiao, Wang and Gehrke 2010).

    Cells are summed in intervals of `width`, the last of which may be shorter. A node whose halves have h intervals
    covers the intervals from ``2 * h * k`` to before ``2 * h * (k + 1)``, as far as they exist. If its right half has
    intervals, its contrast is the sum of its left half minus the sum of its right half. So a row of p intervals has
    p - 1 contrasts, which together with the total of the row determine all intervals.

    Order of values: the totals of the rows, if they were measured; then contrasts level by level, from coarse to fine,
    within a level row by row, within a row from left to right; the missing count is last.

    Attributes:
        width: Number of cells of an interval.
        top: Noise of the total of a row. None: not released, because the public total and the missing count give it.
        levels: Noise of a contrast, from coarse to fine: one for each of `halves`.

    Raises:
        ValueError: the number of levels differs from the depth of the tree.
    """

    KEY = "contrasts"
    FIELDS = MappingProxyType({"width": "width", "top": "top", KEY: "levels"})

    rows: int
    cells: int
    width: Count
    top: Noise | None
    levels: tuple[Noise, ...]
    missing: Noise | None

    def __post_init__(self) -> None:
        if len(self.levels) != len(self.halves):
            raise InvalidArgument(
                "levels", f"{self.points} intervals make {len(self.halves)} levels, got {len(self.levels)}"
            )

    @property
    def halves(self) -> tuple[int, ...]:
        """Number of intervals in the left half of a full node of the wavelet tree, for each level from coarse to fine.

        >>> from fractions import Fraction
        >>> from dpcurves.distributions import Family
        >>> HaarSums(1, 5, 1, None, (Noise(Family.LAPLACE, Fraction(1)),) * 3, None).halves
        (4, 2, 1)
        """
        return tuple(1 << level for level in reversed(range((self.points - 1).bit_length())))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The released values by groups of equal noise: row totals, if released, then the contrasts of each level from
        coarse to fine; number per row and noise.
        """
        contrasts = map(Part, band_sizes(self.points)[1:], self.levels)
        return (*(() if self.top is None else (Part(1, self.top),)), *contrasts)

    def apply_strategy(self, cells: Any) -> list[Any]:
        """Return the exact Haar wavelet coefficients of the rows, which the noise is added to: left half minus right
        half of each node.

        At the end of a row the right half may be shorter.

        Args:
            cells: Counts of all cells, (rows, cells), as integers or floats.

        Returns:
            Totals of the rows (rows, 1), if they are measured, then the contrasts of each level (rows, contrasts).
        """
        parts = [] if self.top is None else [cells.sum(axis=1, keepdims=True)]
        for half in self.halves:
            halves = sum_over_intervals(cells, np.arange(0, self.cells, half * self.width))
            right = halves[:, 1::2]
            parts.append(halves[:, 0 : 2 * right.shape[1] : 2] - right)
        return parts

    def reconstruct(self, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
        """Return unbiased cells (..., rows, cells) and missing counts (...) of releases (..., size).

        The halves of a node with total T and contrast D are ``(T + D) / 2`` and ``(T - D) / 2``. There is no other
        unbiased linear estimate except of the totals, which a public total corrects in proportion to their variances.

        Args:
            values: Released values, (..., size).
            total: Public number of records; None: it is not public.

        Raises:
            ValueError: the values do not fit the distribution, or the total of a row cannot be estimated.
        """
        counts, contrasts, missing = _split_values(self, values, total)
        for half, contrast in zip(self.halves, contrasts, strict=True):
            counts = _split_nodes(counts, contrast, -(-self.points // half))
        return spread_over_cells(counts, np.diff(self.bounds)), missing

    def shrink_cells(self, values: FloatArray, total: int | None) -> FloatArray:
        """Return cells, (rows, cells), shrunk towards even splits where noise exceeds the unevenness.

        A contrast that deviates significantly from an even split is kept; all others of its level in the row share the
        factor ``max(0, 1 - 1 / s)``, where s is their mean squared deviation over the variance.

        Args:
            values: Released wavelet coefficients, in the order of the distribution.
            total: Public number of records; None: it is private.
        """
        counts, contrasts, _ = _split_values(self, values, total)
        for half, contrast, noise in zip(self.halves, contrasts, self.levels, strict=True):
            even = _even_contrasts(self, half) * counts[..., : contrast.shape[-1]]
            deviation = contrast - even
            squares = deviation**2 / max(noise.variance, LEAST_VARIANCE)
            factor = shrinkage_factors(squares, np.ones(contrast.shape[-1], dtype=np.int64))
            counts = _split_nodes(counts, even + factor * deviation, -(-self.points // half))
        return spread_over_cells(counts, np.diff(self.bounds))

    def prefix_variances(self, total_is_public: bool) -> FloatArray:
        """Return the variance of each estimated prefix count, in squared records, of shape ``(rows, cells + 1)``.

        Args:
            total_is_public: True if the number of all records is public.
        """
        return np.broadcast_to(contrast_variances(self, total_is_public), (self.rows, self.cells + 1))


def _split_values(
    distribution: HaarSums, values: FloatArray, total: int | None
) -> tuple[FloatArray, list[FloatArray], FloatArray]:
    """Split released values into totals, contrasts of each level, and missing counts.

    Args:
        distribution: Distribution of the release.
        values: Released values, of shape ``(..., size)``.
        total: Public number of records; None if it is private.

    Returns:
        Totals of shape ``(..., rows, 1)``, contrasts of shape ``(..., rows, nodes)``, missing counts of shape
        ``(...)``.
    """
    tables, missing = split_into_parts(distribution, values)
    if distribution.top is not None:
        row = max(distribution.top.variance, LEAST_VARIANCE)
        totals, missing = adjust_to_total(distribution, tables.pop(0)[..., 0], row, missing, total)
        return totals[..., None], tables, missing
    if total is None or distribution.missing is None or distribution.rows > 1:
        raise InvalidArgument("distribution", NO_TOTAL)
    return (total - missing)[..., None, None], tables, missing


def _split_nodes(counts: FloatArray, contrast: FloatArray, children: int) -> FloatArray:
    """Return the counts of the two halves of each node, one step of the inverse Haar transform: (count + contrast) / 2
    and (count - contrast) / 2.

    A last node without a right half is passed down unchanged.

    Args:
        counts: Counts of the nodes, (..., nodes).
        contrast: Left half minus right half of each node that has both, (..., split nodes).
        children: Number of nodes on the next level.
    """
    split = contrast.shape[-1]
    halves = np.empty((*contrast.shape[:-1], children))
    halves[..., 0 : 2 * split : 2] = (counts[..., :split] + contrast) / 2
    halves[..., 1 : 2 * split : 2] = (counts[..., :split] - contrast) / 2
    halves[..., 2 * split :] = counts[..., split:]
    return halves


def _even_contrasts(distribution: HaarSums, half: int) -> FloatArray:
    """Return the relative contrast (left minus right half, per record) that each node has if records are uniform over
    its cells.

    Args:
        distribution: Distribution, with its points and their width in cells.
        half: Points in the left half of a node of the level.

    Returns:
        Contrasts between -1 and 1, (split nodes,).
    """
    left = half * distribution.width
    node = np.arange(0, distribution.points - half, 2 * half) * distribution.width
    right = np.minimum(left, distribution.cells - node - left)
    contrast: FloatArray = (left - right) / (left + right)
    return contrast


def contrast_variances(distribution: HaarSums, total_is_public: bool) -> FloatArray:
    """Return the variance of each estimated prefix count of a row, in squared records, of shape ``(cells + 1,)``.

    With the total T of a node and its contrast D the halves are ``(T + D) / 2`` and ``(T - D) / 2``. If the part of a
    half below an edge is u times its total plus independent noise, then the part of the node is ``u / 2 * (T + D)`` for
    an edge in the left half, and ``(1 + u) / 2 * T + (1 - u) / 2 * D`` for an edge in the right half.

    Args:
        distribution: The noisy wavelets.
        total_is_public: True if the number of all records is public.

    Raises:
        ValueError: the total of a row cannot be estimated.
    """
    interval, slope = distribution.interpolate_edges()
    residual_variance = np.zeros(distribution.cells + 1)
    for half, noise in zip(distribution.halves[::-1], distribution.levels[::-1], strict=True):
        node = interval // (2 * half)
        right = interval // half % 2 == 1
        split = 2 * half * node + half < distribution.points
        fraction = np.where(right, 1 - slope, slope) / 2
        residual_variance += np.where(split, fraction**2 * noise.variance, 0)
        slope = np.where(split, np.where(right, 1 - fraction, fraction), slope)
    row: FloatArray = residual_variance + slope**2 * top_variance(distribution, total_is_public)
    return row


def top_variance(distribution: HaarSums, total_is_public: bool) -> float:
    """Return the noise variance of the estimated total of a row, in squared records.

    The totals of all rows and the missing count are independent; a public total is the sum of all of them.

    Args:
        distribution: Distribution of the contrasts, totals and missing count.
        total_is_public: If True, the number of records of all rows is known.

    Raises:
        ValueError: the total of a row cannot be estimated.
    """
    missing = None if distribution.missing is None or not total_is_public else distribution.missing.variance
    if distribution.top is None:  # the total of a single row is the public total minus the missing count
        if missing is None or distribution.rows > 1:
            raise InvalidArgument("distribution", NO_TOTAL)
        return missing
    top = distribution.top.variance
    if missing is None or top == 0:
        return top
    return top - top * (top / (distribution.rows * top + missing))


@dataclass(frozen=True, slots=True)
class HaarTensorSums(CountDistribution):
    """The Haar wavelet transform of a table along each of its axes, with independent noise on each value.

    An axis of p cells has p values: the total, and the contrasts of the nodes of a binary tree, level by level from
    coarse to fine, within a level from left to right; see `HaarSums`. These are the bands of the axis. The transform is
    applied along one axis after the other, in any order, so a table has as many values as cells, in the order of the
    cells, the last axis fastest. Then follows the count of all cells outside the table, if there are any, and the count
    of missing records.

    Attributes:
        sides: Number of cells along each axis.
        noises: Noise of the values of each combination of bands, the last axis fastest.
        outside_noise: Noise of the count of records in cells outside the table. None: there are no outside cells.
        missing: Noise of the count of missing records.

    Raises:
        ValueError: the number of noises differs from the number of combinations of bands.
    """

    KEY = "wavelets"
    FIELDS = MappingProxyType({"sides": "sides", KEY: "noises", "apart": "outside_noise"})

    sides: tuple[int, ...]
    noises: tuple[Noise, ...]
    outside_noise: Noise | None
    missing: Noise

    def __post_init__(self) -> None:
        if len(self.noises) != prod(len(band_sizes(side)) for side in self.sides):
            raise InvalidArgument(
                "noises",
                f"give one noise for each combination of wavelet levels of {self.sides} cells, got {len(self.noises)}",
            )

    @property
    def rows(self) -> int:
        """Number of rows: 1, since the table is flattened to one row of cells."""
        return 1

    @property
    def cells(self) -> int:
        """Number of cells of the table: the product of `sides`."""
        return prod(self.sides)

    @property
    def size(self) -> int:
        """Number of released values: one per cell of the table, one for all cells outside if there are any, and the
        missing count.
        """
        outside_counts = 0 if self.outside_noise is None else 1
        return self.cells + outside_counts + 1

    @property
    def blocks(self) -> list[tuple[slice, ...]]:
        """Index of each block of wavelet coefficients in a table of all released values, one block per combination of
        levels of the axes, in the order of `noises`.
        """
        offsets = (np.cumsum([0, *band_sizes(side)]).tolist() for side in self.sides)
        return list(product(*([slice(*bounds) for bounds in pairwise(axis_offsets)] for axis_offsets in offsets)))

    @property
    def mean_prefix_variance(self) -> float:
        """Noise variance of the unbiased count of a box at the origin (a prefix on every axis), averaged over all such
        boxes.

        The count is a sum of released values times factors, each the product of one factor per axis.
        """
        variances: FloatArray = np.array([noise.variance for noise in self.noises])
        variances = variances.reshape([len(band_sizes(side)) for side in self.sides])
        for side in self.sides:
            variances = np.tensordot(mean_squared_factors(side), variances, axes=(0, 0))
        return float(variances)

    @classmethod
    def count_stored_cells(cls, stored: Mapping[str, Any]) -> int:
        """Return the number of cells of a stored table, to refuse too large ones before memory is allocated.

        Args:
            stored: JSON object of the release.
        """
        return prod(int(side) for side in stored.get("sides", ()))

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the distribution of a stored release of wavelet coefficients, from the JSON object that `to_json`
        wrote.

        Args:
            stored: JSON object of the release.

        Raises:
            InvalidArgument: the sides do not give the stored numbers of rows and cells.
        """
        distribution = STORED_CODEC.decode_fields(cls, stored, missing=STORED_CODEC.decode(Noise, stored["missing"]))
        if (distribution.rows, distribution.cells) != (stored["rows"], stored["cells"]):
            raise InvalidArgument(
                "evidence",
                f"the released values must fill a table of {distribution.cells} cells; take the file as dpcurves "
                "wrote it",
            )
        return distribution


def band_sizes(side: int) -> tuple[int, ...]:
    """Return the number of Haar coefficients of each level along an axis: the total (1), then contrasts from coarse to
    fine.

    >>> band_sizes(5), band_sizes(8), band_sizes(1)
    ((1, 1, 1, 2), (1, 1, 2, 4), (1,))

    Args:
        side: Number of intervals along the axis, at least 1.
    """
    halves = (1 << level for level in reversed(range((side - 1).bit_length())))
    return (1, *((side + half - 1) // (2 * half) for half in halves))


def mean_squared_factors(side: int) -> FloatArray:
    """Return the mean squared factor with which each level's Haar coefficients enter prefix counts, over prefixes of 1
    to `side` cells.

    A node of total T and contrast D has ``(T + D) / 2`` in its left half and ``(T - D) / 2`` in its right half. So a
    prefix that ends at a fraction u of the left half contains ``u / 2`` of both, and one that ends at a fraction u of
    the right half contains ``(1 + u) / 2`` of T and ``(1 - u) / 2`` of D.

    Args:
        side: Number of cells along the axis, at least 1.

    >>> mean_squared_factors(2)
    array([0.625, 0.125])
    """
    last_cell = np.arange(side)
    factor = np.ones(side)
    squares = []
    for half in (1 << level for level in range((side - 1).bit_length())):
        right = last_cell // half % 2 == 1
        split = last_cell // (2 * half) * (2 * half) + half < side
        half_factor = np.where(right, 1 - factor, factor) / 2
        squares.append(float(np.mean(np.where(split, half_factor**2, 0.0))))
        factor = np.where(split, np.where(right, 1 - half_factor, half_factor), factor)
    return np.array([float(np.mean(factor**2)), *reversed(squares)])


@dataclass(frozen=True, slots=True, eq=False)
class TableEstimate:
    """Unbiased counts; some may be negative.

    Attributes:
        cells: Cells of the table, of shape ``distribution.sides``.
        outside: Number of records in cells outside the table; 0 if there are no outside cells.
        missing: Number of missing records.
    """

    cells: FloatArray
    outside: float
    missing: float


def estimate_table(distribution: HaarTensorSums, values: Sequence[int], total: int | None) -> TableEstimate:
    """Return unbiased counts of all cells of a table from released Haar coefficients, corrected by a public total.

    No other unbiased linear estimate exists, except of the total.

    Args:
        distribution: The distribution of the released numbers.
        values: The released numbers, ``distribution.size`` integers.
        total: Public number of records; None: private.

    Raises:
        ValueError: the values do not fit the distribution.
    """
    if len(values) != distribution.size:
        raise InvalidArgument(
            "values",
            f"{distribution.size} values are needed, one for each number of the distribution, got {len(values)}",
        )
    released = np.asarray(values, dtype=np.float64)
    table = released[: distribution.cells].reshape(distribution.sides).copy()
    single = released[distribution.cells :]
    if total is not None:
        noises = [
            distribution.noises[0],
            *([] if distribution.outside_noise is None else [distribution.outside_noise]),
            distribution.missing,
        ]
        shares = np.array([max(noise.variance, LEAST_VARIANCE) for noise in noises])
        shares *= (total - table.flat[0] - single.sum()) / shares.sum()
        table.flat[0] += shares[0]
        single = single + shares[1:]
    for axis in range(table.ndim):
        table = np.moveaxis(_invert_transform(np.moveaxis(table, axis, -1)), -1, axis)
    return TableEstimate(table, float(single[:-1].sum()), float(single[-1]))


def _invert_transform(values: FloatArray) -> FloatArray:
    """Invert the Haar transform of one axis: return the cells whose total and contrasts are given.

    A node at the end that has no right half equals its left half.

    Args:
        values: The total, then the contrasts from coarse to fine, along the last axis, (..., cells).

    Returns:
        Cells, (..., cells).
    """
    side = values.shape[-1]
    total, *contrasts = np.split(values, np.cumsum(band_sizes(side)[:-1]), axis=-1)
    for level, contrast in enumerate(contrasts):
        total = _split_nodes(total, contrast, -(-side >> (len(contrasts) - 1 - level)))
    return total
