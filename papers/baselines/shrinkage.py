"""Least squares that doubts small differences: deviations that noise alone explains are taken back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpcurves.arrays import FloatArray
from dpcurves.distributions import IntervalSums
from dpcurves.distributions.haar_sums import shrinkage_factors
from dpcurves.distributions.interval_sums import (
    adjust_rows_to_total,
    run_upward_pass,
    split_by_level,
    spread_over_cells,
)
from dpcurves.estimation.two_classes import insert_levels


def shrunken(distribution: IntervalSums, values: Sequence[int] | NDArray[np.int64], total: int | None) -> FloatArray:
    """Counts of shape (rows, cells), drawn towards an even split where noise is larger than structure.

    Top down, a parent's count is split evenly over its cells, plus the deviations of its children in least squares,
    times a factor. Let s be their squared deviations in units of their variance, of k - 1 degrees of freedom. A
    family with s above 3 (k - 1) has the positive-part factor of James and Stein (1961), 1 - (k - 3) / s, at most 1;
    all others share their level's ``max(0, 1 - (k - 1) / s)``, from sums over all families of the row. Rows keep
    their totals. Parents of many children get unmeasured levels in between, so that at each scale a shift is judged
    at that scale: shrinking 4096 cells at once would be right for cells, and wrong for their prefixes.

    The result is biased, and better on smooth data; it is meant to be cumulated and made monotone. It carries no
    standard error: bands stand on `least_squares`.

    Args:
        distribution: How the values scatter.
        values: The released values, in the order of the distribution.
        total: See `least_squares`.

    Raises:
        ValueError: the values do not fit the distribution, or its levels are not nested.
    """
    readings, missing = split_by_level(distribution, np.asarray(values, dtype=np.float64))
    ascent = run_upward_pass(list(insert_levels(readings)))
    totals, _ = adjust_rows_to_total(distribution, ascent, missing, total)
    counts = totals[..., None]
    for layer, estimate, sums in zip(*ascent, strict=True):
        even = layer.width_fraction * layer.repeat_for_children(counts)
        deviation = estimate + layer.residual_fraction * layer.repeat_for_children(counts - sums) - even
        squares = layer.sum_children(deviation**2 / layer.variance)
        counts = even + layer.repeat_for_children(shrinkage_factors(squares, layer.children - 1)) * deviation
    return spread_over_cells(counts, ascent.layers[-1].width)
