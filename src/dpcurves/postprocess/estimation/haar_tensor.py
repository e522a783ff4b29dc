"""Counts from wavelets: along one axis after the other, from totals down to cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import FloatArray
from ...laws import HaarTensorSums
from ...laws.gls_weights import LEAST_VARIANCE
from ...laws.haar_tensor_sums import bands


@dataclass(frozen=True, slots=True, eq=False)
class TableEstimate:
    """Unbiased counts; some may be negative.

    Attributes:
        cells: Of the table, of shape ``law.sides``.
        apart: How many records lie in cells beyond the table; 0 if there are no such cells.
        missing: How many records are missing.
    """

    cells: FloatArray
    apart: float
    missing: float


def wavelet_estimate(law: HaarTensorSums, values: Sequence[int], total: int | None) -> TableEstimate:
    """Unbiased counts: there is no other linear estimate but for the total, which a public one corrects.

    Raises:
        ValueError: the values do not fit the law.
    """
    if len(values) != law.size:
        raise ValueError(f"values: {law.size} are needed to fit the law, got {len(values)}")
    found = np.asarray(values, dtype=np.float64)
    table, single = found[: law.cells].reshape(law.sides).copy(), found[law.cells :]
    if total is not None:
        noises = [law.noises[0], *([] if law.apart is None else [law.apart]), law.missing]
        share = np.array([max(noise.variance, LEAST_VARIANCE) for noise in noises])
        share *= (total - table.flat[0] - single.sum()) / share.sum()
        table.flat[0] += share[0]
        single = single + share[1:]
    for axis in range(table.ndim):
        table = np.moveaxis(_cells(np.moveaxis(table, axis, -1)), -1, axis)
    return TableEstimate(table, float(single[:-1].sum()), float(single[-1]))


def _cells(values: FloatArray) -> FloatArray:
    """Along the last axis: totals and contrasts to cells. A node without a right half is its left half."""
    side = values.shape[-1]
    total, *contrasts = np.split(values, np.cumsum(bands(side)[:-1]), axis=-1)
    for level, contrast in enumerate(contrasts):
        split = contrast.shape[-1]
        halves = np.empty((*contrast.shape[:-1], -(-side >> (len(contrasts) - 1 - level))))
        halves[..., 0 : 2 * split : 2] = (total[..., :split] + contrast) / 2
        halves[..., 1 : 2 * split : 2] = (total[..., :split] - contrast) / 2
        halves[..., 2 * split :] = total[..., split:]
        total = halves
    return total
