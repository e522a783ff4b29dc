"""Which area is read: of the curve, where noise is large; of the counts that it was made from, where it is small."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from dpcurves.inference.areas import FEW_DRAWS, RankedClassCounts, area_error, combine_areas, shares_from_rates
from dpcurves.summaries import auc, auc_of_counts, roc_points

CELLS = 48
FloatArray = NDArray[np.float64]


def expected(records: int) -> FloatArray:
    """Counts of two normal classes in cells that reach far beyond them: most are empty."""
    edges = np.linspace(-12, 12, CELLS + 1)
    return np.stack([np.diff(norm.cdf(edges - shift)) for shift in (-0.5, 0.5)]) * records / 2


def errors(records: int, scale: float, releases: int) -> tuple[FloatArray, list[float]]:
    """Errors of the settled area, of the curve's and of the counts', (releases, 3), and what noise was said to do."""
    table, chance, found, said = expected(records), np.random.default_rng(7), [], []
    exact = float(auc_of_counts(table[1], table[0]))
    for _ in range(releases):
        counts = table + chance.laplace(0, scale, table.shape)
        curve = roc_points(counts[1], counts[0])
        counted = RankedClassCounts(
            counts, shares_from_rates(*curve), [chance.laplace(0, scale, (FEW_DRAWS, *table.shape))]
        )
        areas = combine_areas(curve, counts, counted), float(auc(*curve)), float(auc_of_counts(counts[1], counts[0]))
        found.append(np.array(areas) - exact)
        said.append(area_error(counted, float(auc(*curve))))
    return np.array(found), said


def test_where_noise_is_small_the_area_has_no_bias_that_the_curve_has() -> None:
    """400 releases, 4 sigma: the curve's area is below that of the counts, which have no bias, and are settled on."""
    found, said = errors(20_000, 5.0, 400)
    settled, curve, counts = found.T
    below = curve - counts
    assert below.mean() < -4 * below.std() / 20
    assert abs(settled - counts).mean() < 0.1 * abs(below).mean()
    assert abs(settled.mean()) < 4 * settled.std() / 20
    assert np.median(said) == pytest.approx(counts.std(), rel=0.2)


def test_where_noise_is_large_the_area_is_about_that_of_the_curve_and_better_than_that_of_the_counts() -> None:
    found, _ = errors(400, 20.0, 400)
    squares = (found**2).mean(axis=0)
    assert squares[0] < 0.9 * squares[2]
    assert np.abs(found[:, 0] - found[:, 1]).mean() < 0.2 * np.abs(found[:, 2] - found[:, 1]).mean()


def test_where_a_class_has_no_records_the_area_is_one_half() -> None:
    table = np.zeros((2, CELLS))
    curve = roc_points(table[1], table[0])
    noise = [np.random.default_rng(1).laplace(0, 20, (FEW_DRAWS, 2, CELLS))]
    assert combine_areas(curve, table, RankedClassCounts(table, shares_from_rates(*curve), noise)) == pytest.approx(0.5)
