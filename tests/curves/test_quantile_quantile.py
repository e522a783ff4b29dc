"""Quantiles of two released curves against each other: where they lie, and what holds the true plot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from by_hand import answer, both

import dpcurves as dp
from dpcurves.curves import CDF
from dpcurves.display import headless_axes
from dpcurves.privacy import AddRemove, PrivacyLoss, Unit

GRID, OTHER = dp.Grid(0, 1, cells=64), dp.Grid(0, 2, cells=100, outside="apart")  # type: ignore[arg-type]
HUGE = PrivacyLoss.pure(10**9)
SHARES = [0.1, 0.25, 0.5, 0.75, 0.9]


def one(values: Any, loss: PrivacyLoss, seed: int, grid: dp.Grid = GRID) -> CDF:
    found: CDF = answer(dp.CdfQuestion("x", grid), {"x": values}, loss, both(len(values))[seed % 2], seed)
    return found


def test_at_a_huge_epsilon_points_are_quantiles_of_both_and_the_region_is_narrow() -> None:
    draw = np.random.default_rng(1)
    first, second = draw.beta(2, 5, 2000), 2 * draw.beta(2, 5, 2000)
    plot = one(first, HUGE, 1).quantile_quantile(one(second, HUGE, 2, OTHER), SHARES)
    assert plot.x == pytest.approx(np.quantile(first, SHARES), abs=1 / 64)
    assert plot.y == pytest.approx(np.quantile(second, SHARES), abs=2 / 100)
    for ends, width in zip(plot.intervals(0.9), (3 / 64, 6 / 100), strict=True):
        assert (np.diff(ends) < width).all()


def test_it_is_drawn_framed_and_told_in_one_line() -> None:
    draw = np.random.default_rng(2)
    both_curves = [one(draw.beta(2, 5, 900), PrivacyLoss.pure(1), seed) for seed in (1, 3)]
    plot = both_curves[0].quantile_quantile(both_curves[1])
    assert list(plot.to_frame().columns) == ["p", "first", "second"]
    frame = plot.to_frame(level=0.9, population=True)
    assert len(frame) == 99
    assert (frame["first_lower"] <= frame["first_upper"]).all()
    ax = plot.plot(headless_axes())
    words = [text.get_text() for text in ax.get_legend().get_texts()]  # type: ignore[union-attr]
    assert words == [
        "95% simultaneous intervals for the population", "95% simultaneous intervals for these records",
        "equal quantiles",
    ]  # fmt: skip
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("first: x", "second: x")
    assert any("epsilon 1" in text.get_text() for text in ax.texts)
    assert len(plot.plot(headless_axes(), level=None).patches) == 0
    assert repr(plot) == "QuantileQuantile(x against x, 99 quantiles, epsilon 1, replace-one)"
    again = dp.QuantileQuantile.from_json(plot.to_json())
    assert (again.to_json(), again.notes) == (plot.to_json(), plot.notes)
    assert (again.intervals(0.9) == plot.intervals(0.9)).all()
    assert "<svg" in plot._repr_html_()


def test_of_units_with_several_records_no_population_is_spoken_of() -> None:
    values = np.random.default_rng(2).beta(2, 5, 300)
    several: CDF = answer(
        dp.CdfQuestion("x", GRID), {"x": values}, PrivacyLoss.pure(1), AddRemove(Unit("patient", 2)), seed=1
    )
    plot = several.quantile_quantile(one(values, PrivacyLoss.pure(1), 2))
    assert list(plot.scopes) == ["for these records"]
    with pytest.raises(ValueError, match="^population: independent units"):
        plot.intervals(0.9, population=True)


def test_what_are_no_curves_or_shares_is_refused() -> None:
    curve = one(np.full(50, 0.5), PrivacyLoss.pure(1), 1)
    with pytest.raises(TypeError, match="^other: a distribution function"):
        curve.quantile_quantile([1.0])  # type: ignore[arg-type]
    for wrong in ([], [1.5], 0.5):
        with pytest.raises(ValueError, match="^p: "):
            curve.quantile_quantile(curve, wrong)  # type: ignore[arg-type]
    assert len(curve.quantile_quantile(curve, [0.5]).region(0.9)[1]) >= 1


@pytest.mark.parametrize("share", SHARES)
def test_at_a_huge_epsilon_differences_are_those_of_numpy_and_intervals_span_two_cells(share: float) -> None:
    draw = np.random.default_rng(4)
    first, second = draw.beta(2, 5, 2000), 2 * draw.beta(2, 5, 2000)
    curves = one(first, HUGE, 1), one(second, HUGE, 2, OTHER)
    exact = float(np.quantile(first, share) - np.quantile(second, share))
    for left, right, sign in ((*curves, 1), (*curves[::-1], -1)):
        apart = left.quantile_difference(right, share, 0.9)
        assert apart.value == left.quantile(share) - right.quantile(share)
        assert apart.lower <= sign * exact <= apart.upper
        assert apart.upper - apart.lower == pytest.approx(1 / 64 + 2 / 100)


def test_differences_of_declared_tied_values_are_exact_at_a_huge_epsilon() -> None:
    """Quantiles of 0, 0, 0, 3 less those of 1, 1, 2, 2 are -1, -1, -2 and 1."""
    first, second = (one(np.repeat(v, 50), HUGE, 1, dp.Values(range(4))) for v in ([0, 0, 0, 3], [1, 1, 2, 2]))
    for share, exact in ((0.2, -1.0), (0.4, -1.0), (0.7, -2.0), (0.9, 1.0)):
        assert first.quantile_difference(second, share, 0.99)[:3] == (exact, exact, exact)


def test_random_errors_of_a_difference_add_up_in_squares() -> None:
    """Declared values have no discretization error, so the interval is that of Zou and Donner (2008)."""
    draw = np.random.default_rng(5)
    values = dp.Values(range(40))
    loss = PrivacyLoss.pure("0.05")
    first, second = (one(draw.integers(0, 40, 600), loss, seed, values) for seed in (1, 2))
    ends = [curve.quantile_interval(0.5, 0.9) for curve in (first, second)]
    medians = [float(curve.quantile(0.5)) for curve in (first, second)]
    below = np.hypot(medians[0] - ends[0][0], ends[1][1] - medians[1])
    above = np.hypot(ends[0][1] - medians[0], medians[1] - ends[1][0])
    assert min(below, above) > 1
    assert first.quantile_difference(second, 0.5, 0.9)[:3] == pytest.approx(
        (medians[0] - medians[1], medians[0] - medians[1] - below, medians[0] - medians[1] + above)
    )


def test_a_difference_is_not_known_if_a_quantile_may_lie_on_both_sides_of_its_grid() -> None:
    known, unknown = one(np.full(900, 0.5), HUGE, 1), one(np.full(5, 0.5), PrivacyLoss.pure("0.001"), 2)
    for first, second in ((known, unknown), (unknown, known)):
        value, lower, upper = first.quantile_difference(second, 0.5, 0.9)[:3]
        assert np.isnan(value)
        assert (lower, upper) == (-np.inf, np.inf)


def test_one_end_is_infinite_if_half_of_the_records_are_clipped_into_an_end_cell() -> None:
    inside, above = one(np.full(900, 0.5), HUGE, 1), one(np.full(900, 7.0), HUGE, 2)
    assert inside.quantile_difference(above, 0.5, 0.9).lower == -np.inf
    assert inside.quantile_difference(above, 0.5, 0.9).upper < 0
    assert above.quantile_difference(inside, 0.5, 0.9).upper == np.inf


def test_a_difference_refuses_what_is_no_curve_share_or_level() -> None:
    curve = one(np.full(50, 0.5), PrivacyLoss.pure(1), 1)
    with pytest.raises(TypeError, match="^other: a distribution function"):
        curve.quantile_difference([1.0], 0.5, 0.9)  # type: ignore[arg-type]
    for share, level, name in ((1.5, 0.9, "p"), (0.5, 1.0, "level")):
        with pytest.raises(ValueError, match=f"^{name}: "):
            curve.quantile_difference(curve, share, level)
