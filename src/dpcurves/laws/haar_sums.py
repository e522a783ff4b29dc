"""Signed sums over the nodes of a binary tree: how much more lies in the left half of a node than in the right."""

from __future__ import annotations

from dataclasses import dataclass

from .law import EvenLayout, Noise, Part


@dataclass(frozen=True, slots=True)
class HaarSums(EvenLayout):
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

    rows: int
    cells: int
    width: int
    top: Noise | None
    levels: tuple[Noise, ...]
    missing: Noise | None

    def __post_init__(self) -> None:
        if len(self.levels) != len(self.halves):
            raise ValueError(f"levels: {self.points} intervals make {len(self.halves)} levels, got {len(self.levels)}")

    @property
    def halves(self) -> tuple[int, ...]:
        """How many intervals half a node of each level has, from coarse to fine.

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
