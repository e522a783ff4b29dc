"""Haar wavelets: signed sums over the nodes of a binary tree, along one axis or several at once."""

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
from ..codec import STORED, Count
from .interval_sums import adjust_to_total, split_into_parts, spread_over_cells
from .law import LEAST_VARIANCE, CountLaw, EqualWidthSums, Noise, Part, sum_over_intervals

NO_TOTAL = "without totals of the rows, one row and a public total with a missing count are needed"
CLEAR = 3.0  # children that deviate this many times more than noise explains are judged apart from the other families


def shrinkage_factors(squares: FloatArray, freedom: IntArray) -> FloatArray:
    """The factor on the deviations of each family: (..., rows, parents).

    Args:
        squares: Squared deviations of each family, in units of their variance.
        freedom: How many of them noise alone would make, in each family: (parents,).
    """
    some = np.maximum(squares, LEAST_VARIANCE)
    level = np.maximum(0, 1 - freedom.sum() / some.sum(axis=-1, keepdims=True))
    family = 1 - np.maximum(freedom - 2, 0) / some
    return np.where(some > CLEAR * freedom, family, level)


@dataclass(frozen=True, slots=True)
class HaarSums(EqualWidthSums):
    """The Haar wavelet transform of every row, with noise of its own on each value (Xiao, Wang and Gehrke 2010).

    Cells are summed in intervals of `width`, the last of which may be cut off. A node whose halves have h intervals
    covers the intervals from ``2 * h * k`` to before ``2 * h * (k + 1)``, as far as there are any; if there are some
    in its right half, its contrast is the sum of its left half minus that of its right half. So a row of p intervals
    has p - 1 contrasts, and they and the total of the row say all that the intervals say.

    The order of values: the totals of the rows, if they were measured; then contrasts level by level, from coarse to
    fine, in a level row by row, in a row from left to right; the missing cell comes last.

    Attributes:
        width: How many cells an interval has.
        top: Noise of the total of a row. None: it was not asked for, since the public total and the missing cell tell.
        levels: Noise of a contrast, from coarse to fine: one for each of `halves`.

    Raises:
        ValueError: the number of levels is not that of the tree.
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
        """The number of intervals in half a node of each level, from coarse to fine.

        >>> from fractions import Fraction
        >>> from dpcurves.laws import Family
        >>> HaarSums(1, 5, 1, None, (Noise(Family.LAPLACE, Fraction(1)),) * 3, None).halves
        (4, 2, 1)
        """
        return tuple(1 << level for level in reversed(range((self.points - 1).bit_length())))

    @property
    def parts(self) -> tuple[Part, ...]:
        """Totals, if they were measured, and the levels."""
        contrasts = map(Part, band_sizes(self.points)[1:], self.levels)
        return (*(() if self.top is None else (Part(1, self.top),)), *contrasts)

    def apply_strategy(self, cells: Any) -> list[Any]:
        """Sums of left halves minus sums of right halves; of nodes whose right half is cut off, with what is left."""
        parts = [] if self.top is None else [cells.sum(axis=1, keepdims=True)]
        for half in self.halves:
            halves = sum_over_intervals(cells, np.arange(0, self.cells, half * self.width))
            right = halves[:, 1::2]
            parts.append(halves[:, 0 : 2 * right.shape[1] : 2] - right)
        return parts

    def reconstruct(self, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
        """Unbiased cells (..., rows, cells) and missing counts (...) of releases (..., size).

        The halves of a node with total T and contrast D are ``(T + D) / 2`` and ``(T - D) / 2``: there is no other
        unbiased linear estimate, but for the totals, which a public total corrects in proportion to their variances.

        Raises:
            ValueError: the values do not fit the law, or nothing tells the total of a row.
        """
        counts, contrasts, missing = _split_values(self, values, total)
        for half, contrast in zip(self.halves, contrasts, strict=True):
            counts = _split_nodes(counts, contrast, -(-self.points // half))
        return spread_over_cells(counts, np.diff(self.bounds)), missing

    def shrink_cells(self, values: FloatArray, total: int | None) -> FloatArray:
        """Cells of shape (rows, cells), drawn towards an even split where noise is larger than structure.

        A contrast that deviates clearly from that of an even split is kept; all others of its level in the row share
        the factor ``max(0, 1 - 1 / s)``, where s is their mean squared deviation over the variance.
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
        """Exact variances; see `contrast_variances`."""
        return np.broadcast_to(contrast_variances(self, total_is_public), (self.rows, self.cells + 1))


def _split_values(
    law: HaarSums, values: FloatArray, total: int | None
) -> tuple[FloatArray, list[FloatArray], FloatArray]:
    """Totals of the rows (..., rows, 1), contrasts (..., rows, nodes) of each level, and missing counts (...)."""
    tables, missing = split_into_parts(law, values)
    if law.top is not None:
        row = max(law.top.variance, LEAST_VARIANCE)
        totals, missing = adjust_to_total(law, tables.pop(0)[..., 0], row, missing, total)
        return totals[..., None], tables, missing
    if total is None or law.missing is None or law.rows > 1:
        raise InvalidArgument("law", NO_TOTAL)
    return (total - missing)[..., None, None], tables, missing


def _split_nodes(counts: FloatArray, contrast: FloatArray, children: int) -> FloatArray:
    """Nodes (..., nodes) and their contrasts to their halves; a last node without a right half is its left half."""
    split = contrast.shape[-1]
    halves = np.empty((*contrast.shape[:-1], children))
    halves[..., 0 : 2 * split : 2] = (counts[..., :split] + contrast) / 2
    halves[..., 1 : 2 * split : 2] = (counts[..., :split] - contrast) / 2
    halves[..., 2 * split :] = counts[..., split:]
    return halves


def _even_contrasts(law: HaarSums, half: int) -> FloatArray:
    """The contrast of each split node, per record in it, if these were spread evenly over the node's cells."""
    left = half * law.width
    node = np.arange(0, law.points - half, 2 * half) * law.width
    right = np.minimum(left, law.cells - node - left)
    lean: FloatArray = (left - right) / (left + right)
    return lean


def contrast_variances(law: HaarSums, total_is_public: bool) -> FloatArray:
    """Variance of the estimated number of records in the first i cells of a row: shape ``(cells + 1,)``.

    With the total T of a node and its contrast D the halves are ``(T + D) / 2`` and ``(T - D) / 2``. If what lies below
    an edge in one half is u times that half's total, plus independent noise, then in the node it is ``u / 2 * (T + D)``
    for an edge in the left half, and ``(1 + u) / 2 * T + (1 - u) / 2 * D`` for one in the right half.

    Raises:
        ValueError: nothing tells the total of a row.
    """
    interval, slope = law.interpolate_edges()
    spread = np.zeros(law.cells + 1)
    for half, noise in zip(law.halves[::-1], law.levels[::-1], strict=True):
        node, right = interval // (2 * half), interval // half % 2 == 1
        split = 2 * half * node + half < law.points
        reached = np.where(right, 1 - slope, slope) / 2
        spread += np.where(split, reached**2 * noise.variance, 0)
        slope = np.where(split, np.where(right, 1 - reached, reached), slope)
    row: FloatArray = spread + slope**2 * top_variance(law, total_is_public)
    return row


def top_variance(law: HaarSums, total_is_public: bool) -> float:
    """Variance of the estimated total of a row.

    The totals of all rows and the missing count are independent; a public total is the sum of them all.

    Raises:
        ValueError: nothing tells the total of a row.
    """
    missing = None if law.missing is None or not total_is_public else law.missing.variance
    if law.top is None:  # the total of one row is all that is not missing
        if missing is None or law.rows > 1:
            raise InvalidArgument("law", NO_TOTAL)
        return missing
    own = law.top.variance
    if missing is None or own == 0:
        return own
    return own - own * (own / (law.rows * own + missing))


@dataclass(frozen=True, slots=True)
class HaarTensorSums(CountLaw):
    """The Haar wavelet transform of a table along each of its axes, with noise of its own on each value.

    Along an axis of p cells there are p values: the total, and the contrasts of the nodes of a binary tree, level by
    level from coarse to fine, in a level from left to right; see `HaarSums`. These are the bands of the axis. In a
    table they are taken along one axis after the other, in any order, so it has as many values as cells. Their order is
    that of the cells, the last axis fastest; then comes the count of all cells that do not lie in the table, if there
    are any, and at the end that of records that are missing.

    Attributes:
        sides: How many cells the table has along each axis.
        noises: The noises of the values of each combination of bands, that of the last axis fastest.
        outside_noise: Noise of the count of records that lie in cells beyond the table. None: there are no such cells.
        missing: Noise of the count of records that are missing.

    Raises:
        ValueError: there is not one noise for each combination of bands.
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
                "noises", f"one for each combination of bands of {self.sides} cells, got {len(self.noises)}"
            )

    @property
    def rows(self) -> int:
        """A single row: the table is flat."""
        return 1

    @property
    def cells(self) -> int:
        """The number of cells of the table."""
        return prod(self.sides)

    @property
    def size(self) -> int:
        return self.cells + (self.outside_noise is not None) + 1

    @property
    def blocks(self) -> list[tuple[slice, ...]]:
        """The places of the values of each combination of bands in a table of values, in the order of `noises`."""
        ends = (np.cumsum([0, *band_sizes(side)]).tolist() for side in self.sides)
        return list(product(*([slice(*each) for each in pairwise(along)] for along in ends)))

    @property
    def mean_prefix_variance(self) -> float:
        """The variance of an unbiased count of a box that begins at the first cell, the mean over all such boxes.

        Such a count is a sum of values times factors, each the product of one factor for every axis.
        """
        variances: FloatArray = np.array([noise.variance for noise in self.noises])
        variances = variances.reshape([len(band_sizes(side)) for side in self.sides])
        for side in self.sides:
            variances = np.tensordot(mean_squared_factors(side), variances, axes=(0, 0))
        return float(variances)

    @classmethod
    def count_stored_cells(cls, stored: Mapping[str, Any]) -> int:
        return prod(int(side) for side in stored.get("sides", ()))

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        law = STORED.decode_fields(cls, stored, missing=STORED.decode(Noise, stored["missing"]))
        if (law.rows, law.cells) != (stored["rows"], stored["cells"]):
            raise InvalidArgument("evidence", f"a table of {law.cells} cells is needed")
        return law


def band_sizes(side: int) -> tuple[int, ...]:
    """The numbers of totals and of contrasts of each level among the values of an axis, from coarse to fine.

    >>> band_sizes(5), band_sizes(8), band_sizes(1)
    ((1, 1, 1, 2), (1, 1, 2, 4), (1,))
    """
    halves = (1 << level for level in reversed(range((side - 1).bit_length())))
    return (1, *((side + half - 1) // (2 * half) for half in halves))


def mean_squared_factors(side: int) -> FloatArray:
    """Mean squares of the factors with which values of each band are in prefixes of 1 to `side` cells.

    A node of total T and contrast D has ``(T + D) / 2`` in its left half and ``(T - D) / 2`` in its right half. So of a
    prefix that ends in it at a part u of the left half ``u / 2`` of both is taken, and at a part u of the right half
    ``(1 + u) / 2`` of T and ``(1 - u) / 2`` of D.

    >>> mean_squared_factors(2)
    array([0.625, 0.125])
    """
    last, factor = np.arange(side), np.ones(side)
    found = []
    for half in (1 << level for level in range((side - 1).bit_length())):
        right = last // half % 2 == 1
        split = last // (2 * half) * (2 * half) + half < side
        own = np.where(right, 1 - factor, factor) / 2
        found.append(float(np.mean(np.where(split, own**2, 0.0))))
        factor = np.where(split, np.where(right, 1 - own, own), factor)
    return np.array([float(np.mean(factor**2)), *reversed(found)])


@dataclass(frozen=True, slots=True, eq=False)
class TableEstimate:
    """Unbiased counts; some may be negative.

    Attributes:
        cells: The cells of the table, of shape ``law.sides``.
        outside: How many records lie in cells beyond the table; 0 if there are no such cells.
        missing: How many records are missing.
    """

    cells: FloatArray
    outside: float
    missing: float


def estimate_table(law: HaarTensorSums, values: Sequence[int], total: int | None) -> TableEstimate:
    """Unbiased counts: there is no other linear estimate but for the total, which a public one corrects.

    Raises:
        ValueError: the values do not fit the law.
    """
    if len(values) != law.size:
        raise InvalidArgument("values", f"{law.size} are needed to fit the law, got {len(values)}")
    found = np.asarray(values, dtype=np.float64)
    table, single = found[: law.cells].reshape(law.sides).copy(), found[law.cells :]
    if total is not None:
        noises = [law.noises[0], *([] if law.outside_noise is None else [law.outside_noise]), law.missing]
        share = np.array([max(noise.variance, LEAST_VARIANCE) for noise in noises])
        share *= (total - table.flat[0] - single.sum()) / share.sum()
        table.flat[0] += share[0]
        single = single + share[1:]
    for axis in range(table.ndim):
        table = np.moveaxis(_invert_transform(np.moveaxis(table, axis, -1)), -1, axis)
    return TableEstimate(table, float(single[:-1].sum()), float(single[-1]))


def _invert_transform(values: FloatArray) -> FloatArray:
    """Along the last axis: totals and contrasts to cells. A node without a right half is its left half."""
    side = values.shape[-1]
    total, *contrasts = np.split(values, np.cumsum(band_sizes(side)[:-1]), axis=-1)
    for level, contrast in enumerate(contrasts):
        total = _split_nodes(total, contrast, -(-side >> (len(contrasts) - 1 - level)))
    return total
