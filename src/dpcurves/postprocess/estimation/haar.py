"""Counts from contrasts: from the total of a row down to its intervals, half by half."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray
from ...laws import HaarSums
from ...laws.blocks import agreed, in_parts
from ...laws.gls_weights import LEAST_VARIANCE
from ...laws.least_squares import over_cells
from .shrinkage import remaining


def contrast_estimate(law: HaarSums, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
    """Unbiased cells (..., rows, cells) and missing counts (...) of releases (..., size).

    The halves of a node with total T and contrast D are ``(T + D) / 2`` and ``(T - D) / 2``: there is no other
    unbiased linear estimate, but for the totals, which a public total corrects in proportion to their variances.

    Raises:
        ValueError: the values do not fit the law, or nothing tells the total of a row.
    """
    counts, contrasts, missing = _read(law, values, total)
    for half, contrast in zip(law.halves, contrasts, strict=True):
        counts = _halved(counts, contrast, -(-law.points // half))
    return over_cells(counts, np.diff(law.bounds)), missing


def shrunken_contrasts(law: HaarSums, values: FloatArray, total: int | None) -> FloatArray:
    """Cells of shape (rows, cells), drawn towards an even split where noise is larger than structure.

    As `shrunken`, for families of two: a contrast that deviates clearly from that of an even split stands, all others
    of its level in the row share the factor ``max(0, 1 - 1 / s)``, s their mean squared deviation over the variance.
    """
    counts, contrasts, _ = _read(law, values, total)
    for half, contrast, noise in zip(law.halves, contrasts, law.levels, strict=True):
        even = _lean(law, half) * counts[..., : contrast.shape[-1]]
        deviation = contrast - even
        squares = deviation**2 / max(noise.variance, LEAST_VARIANCE)
        factor = remaining(squares, np.ones(contrast.shape[-1], dtype=np.int64))
        counts = _halved(counts, even + factor * deviation, -(-law.points // half))
    return over_cells(counts, np.diff(law.bounds))


def _read(law: HaarSums, values: FloatArray, total: int | None) -> tuple[FloatArray, list[FloatArray], FloatArray]:
    """Totals of the rows (..., rows, 1), contrasts (..., rows, nodes) of each level, and missing counts (...)."""
    tables, missing = in_parts(law, values)
    if law.top is not None:
        row = max(law.top.variance, LEAST_VARIANCE)
        totals, missing = agreed(law, tables.pop(0)[..., 0], row, missing, total)
        return totals[..., None], tables, missing
    if total is None or law.missing is None or law.rows > 1:
        raise ValueError("law: without totals of the rows, one row and a public total with a missing count are needed")
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
