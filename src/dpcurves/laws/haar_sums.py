"""Signed sums over the nodes of a binary tree: how much more lies in the left half of a node than in the right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..arguments import Refused
from ..arrays import FloatArray
from .law import EvenSums, Part, over
from .least_squares import agreed, in_parts, over_cells
from .noise import LEAST_VARIANCE, Noise, optional_from_json, optional_to_json
from .shrinkage import remaining


@dataclass(frozen=True, slots=True)
class HaarSums(EvenSums):
    """The Haar wavelet transform of every row, with noise of its own on each value (Xiao, Wang and Gehrke 2010).

    Cells are summed in intervals of `width`, the last of which may be cut off. A node whose halves have h intervals
    covers the intervals from ``2 * h * k`` to before ``2 * h * (k + 1)``, as far as there are any; if there are some
    in its right half, its contrast is the sum of its left half minus that of its right half. So a row of p intervals
    has p - 1 contrasts, and they and the total of the row say all that the intervals say.

    The order of values: the totals of the rows, if they were measured; then contrasts level by level, from coarse to
    fine, in a level row by row, in a row from left to right; the missing cell comes last.

    Attributes:
        rows: How many cells the axes before the last have together.
        cells: How many cells the last axis has.
        width: How many cells an interval has.
        top: Noise of the total of a row. None: it was not asked for, since the public total and the missing cell tell.
        levels: Noise of a contrast, from coarse to fine: one for each of `halves`.
        missing: Noise of the count of records that are missing. None: it was not asked for.

    Raises:
        ValueError: the number of levels is not that of the tree.
    """

    KEY: ClassVar[str] = "contrasts"

    rows: int
    cells: int
    width: int
    top: Noise | None
    levels: tuple[Noise, ...]
    missing: Noise | None

    def __post_init__(self) -> None:
        if len(self.levels) != len(self.halves):
            raise Refused("levels", f"{self.points} intervals make {len(self.halves)} levels, got {len(self.levels)}")

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
        contrasts = (
            Part((self.points + half - 1) // (2 * half), noise)
            for half, noise in zip(self.halves, self.levels, strict=True)
        )
        return (*(() if self.top is None else (Part(1, self.top),)), *contrasts)

    def sums(self, cells: Any) -> list[Any]:
        """Sums of left halves minus sums of right halves; of nodes whose right half is cut off, with what is left."""
        parts = [] if self.top is None else [cells.sum(axis=1, keepdims=True)]
        for half in self.halves:
            halves = over(cells, np.arange(0, self.cells, half * self.width))
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
        counts, contrasts, missing = _read(self, values, total)
        for half, contrast in zip(self.halves, contrasts, strict=True):
            counts = _halved(counts, contrast, -(-self.points // half))
        return over_cells(counts, np.diff(self.bounds)), missing

    def shrunken(self, values: FloatArray, total: int | None) -> FloatArray:
        """Cells of shape (rows, cells), drawn towards an even split where noise is larger than structure.

        A contrast that deviates clearly from that of an even split is kept; all others of its level in the row share
        the factor ``max(0, 1 - 1 / s)``, where s is their mean squared deviation over the variance.
        """
        counts, contrasts, _ = _read(self, values, total)
        for half, contrast, noise in zip(self.halves, contrasts, self.levels, strict=True):
            even = _lean(self, half) * counts[..., : contrast.shape[-1]]
            deviation = contrast - even
            squares = deviation**2 / max(noise.variance, LEAST_VARIANCE)
            factor = remaining(squares, np.ones(contrast.shape[-1], dtype=np.int64))
            counts = _halved(counts, even + factor * deviation, -(-self.points // half))
        return over_cells(counts, np.diff(self.bounds))

    def prefix_variances(self, total_is_public: bool) -> FloatArray:
        """Exact variances; see `contrast_variances`."""
        return np.broadcast_to(contrast_variances(self, total_is_public), (self.rows, self.cells + 1))

    def _own_json(self) -> dict[str, Any]:
        contrasts = [noise.to_json() for noise in self.levels]
        return {"width": self.width, "top": optional_to_json(self.top), "contrasts": contrasts}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        levels = tuple(Noise.from_json(noise) for noise in stored["contrasts"])
        top, missing = optional_from_json(stored["top"]), optional_from_json(stored["missing"])
        return cls(int(stored["rows"]), int(stored["cells"]), int(stored["width"]), top, levels, missing)


def _read(law: HaarSums, values: FloatArray, total: int | None) -> tuple[FloatArray, list[FloatArray], FloatArray]:
    """Totals of the rows (..., rows, 1), contrasts (..., rows, nodes) of each level, and missing counts (...)."""
    tables, missing = in_parts(law, values)
    if law.top is not None:
        row = max(law.top.variance, LEAST_VARIANCE)
        totals, missing = agreed(law, tables.pop(0)[..., 0], row, missing, total)
        return totals[..., None], tables, missing
    if total is None or law.missing is None or law.rows > 1:
        raise Refused("law", "without totals of the rows, one row and a public total with a missing count are needed")
    return (total - missing)[..., None, None], tables, missing


def _halved(counts: FloatArray, contrast: FloatArray, children: int) -> FloatArray:
    """Nodes (..., nodes) and their contrasts to their halves; a last node without a right half is its left half."""
    split = contrast.shape[-1]
    halves = np.empty((*contrast.shape[:-1], children))
    halves[..., 0 : 2 * split : 2] = (counts[..., :split] + contrast) / 2
    halves[..., 1 : 2 * split : 2] = (counts[..., :split] - contrast) / 2
    halves[..., 2 * split :] = counts[..., split:]
    return halves


def _lean(law: HaarSums, half: int) -> FloatArray:
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
    interval, slope = law.interpolated()
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
    if law.top is None:
        return _lone_total(law, missing)
    own = law.top.variance
    if missing is None or own == 0:
        return own
    return own - own * (own / (law.rows * own + missing))


def _lone_total(law: HaarSums, missing: float | None) -> float:
    """The total of one row, which is all that is not missing."""
    if missing is None or law.rows > 1:
        raise Refused("law", "without totals of the rows, one row and a public total with a missing count are needed")
    return missing
