"""Do two columns depend on each other? The chi-squared statistic of a noisy table, judged with its noise."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray
from .resampling import chance_of_as_much, samples, whole_records

LEAST_VARIANCE = 1e-9
"""Squared records: where neither chance nor noise moves a cell, any difference is a large one."""


def expected_counts(cells: FloatArray) -> FloatArray:
    """Records of each cell if rows and columns were independent, from the margins of the table: (..., rows, columns).

    Margins below zero are taken as zero; of a table without records all are zero.
    """
    rows, columns = (np.maximum(cells.sum(axis=axis, keepdims=True), 0.0) for axis in (-1, -2))
    total = (rows.sum(axis=-2, keepdims=True) + columns.sum(axis=-1, keepdims=True)) / 2
    return np.asarray(rows * columns / np.where(total > 0, total, 1.0))


def chi_squared(cells: FloatArray, variance: FloatArray) -> FloatArray:
    """The statistic: squared differences from `expected_counts`, over their variance by chance and by noise; (...).

    Without noise it is that of Pearson (1900), without a correction for continuity. With noise a cell counts for less
    the less is known of it (as in Gaboardi, Lim, Rogers and Vadhan 2016, section 5, where variances add up, too).

    Args:
        cells: The released counts, without bias, (..., rows, columns).
        variance: That of the noise of each cell, (rows, columns).
    """
    expected = expected_counts(cells)
    scatter = np.maximum(expected + variance, LEAST_VARIANCE)
    return np.asarray(((cells - expected) ** 2 / scatter).sum(axis=(-2, -1)))


"""The most that are drawn: what noise may claim beyond is no number of records."""


def independence_p_value(cells: FloatArray, noise: FloatArray, generator: np.random.Generator) -> float:
    """The p-value of the statistic: its chance in a table of independent rows and columns under the same noise.

    So many records as there seem to be are drawn with the margins that there seem to be (a parametric bootstrap), noise
    is added, and the statistic is worked out as for the table that was released. The least value is one over the number
    of draws and one.

    Args:
        cells: The released counts, without bias, (rows, columns).
        noise: Simulated, (draws, rows, columns).
        generator: For the records.
    """
    expected, variance = expected_counts(cells), noise.var(axis=0)
    total = expected.sum()
    chances = expected / total if total > 0 else np.full(expected.shape, 1 / expected.size)
    drawn = samples(chances, whole_records(total), len(noise), generator)
    return chance_of_as_much(float(chi_squared(cells, variance)), chi_squared(drawn + noise, variance))
