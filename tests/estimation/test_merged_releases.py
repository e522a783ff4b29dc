"""Several releases of the same cells, merged."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcurves.distributions import Family, IntervalSums, Noise, Tier
from dpcurves.distributions.output_distribution import LAPLACE_EXCESS_KURTOSIS
from dpcurves.estimation.binary_tree import DyadicLayout, Measurements, merge_measurements

LAPLACE, GAUSSIAN = Noise(Family.LAPLACE, Fraction(5)), Noise(Family.GAUSSIAN, Fraction(9))


def distribution(cells: int, *levels: Tier, rows: int = 1, missing: Noise | None = None) -> IntervalSums:
    return IntervalSums(rows, cells, levels, missing)


def test_measurements_of_one_interval_are_one_by_inverse_variance() -> None:
    layout = DyadicLayout.from_cells(4)
    first = distribution(4, Tier(range(0, 4, 2), LAPLACE), missing=LAPLACE)
    second = distribution(4, Tier((0,), GAUSSIAN), Tier((0, 2, 3), GAUSSIAN))
    known = merge_measurements(layout, [(first, (10, 20, 99)), (second, (33, 13, 4, 5))])
    weights = np.array([1 / LAPLACE.variance, 1 / GAUSSIAN.variance])
    assert known.precision[2] == pytest.approx(weights.sum())
    assert known.value[2] == pytest.approx(weights @ [10, 13] / weights.sum())
    fourth = (weights[0] / weights.sum()) ** 4 * LAPLACE_EXCESS_KURTOSIS * LAPLACE.variance**2
    assert known.fourth_cumulant[2] == pytest.approx(fourth)
    assert (known.value[1], known.precision[1], known.fourth_cumulant[1]) == (33, pytest.approx(weights[1]), 0)
    assert known.precision.tolist()[4:] == pytest.approx([0, 0, weights[1], weights[1]])


def test_without_noise_the_value_stands() -> None:
    exact = Tier(range(2), Noise(Family.GAUSSIAN, Fraction(0)))
    noisy = Tier(range(2), LAPLACE)
    for order in ((exact, noisy), (noisy, exact)):
        values = [(7, 0) if level is exact else (-50, 50) for level in order]
        known = merge_measurements(
            DyadicLayout.from_cells(2),
            [(distribution(2, level), own) for level, own in zip(order, values, strict=True)],
        )
        assert known.value[2:].tolist() == pytest.approx([7, 0])


def test_cells_that_are_not_there_hold_nothing() -> None:
    known = Measurements.empty(DyadicLayout.from_cells(3))
    assert known.precision[known.layout.width == 0].min() == np.inf
    assert known.precision[known.layout.width > 0].max() == 0


@pytest.mark.parametrize(
    ("found", "values", "words"),
    [
        (distribution(4, Tier(range(4), LAPLACE)), (1, 2, 3), "values: 4 values are needed"),
        (distribution(8, Tier(range(8), LAPLACE)), (0,) * 8, "one row of 4 cells"),
        (distribution(4, Tier(range(4), LAPLACE), rows=2), (0,) * 8, "one row of 4 cells"),
        (distribution(4, Tier((0, 1), LAPLACE)), (0, 0), "do not form an interval of this tree"),
    ],
)
def test_what_does_not_fit_is_refused(found: IntervalSums, values: tuple[int, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        merge_measurements(DyadicLayout.from_cells(4), [(found, values)])
