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
