"""Binned residuals are drawn between two lines around zero, whatever they are."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PathCollection

from dpcurves.conversation import PrivacyStatement
from dpcurves.display import draw_binned_residuals
from dpcurves.display.canvas import Shade

PRIVACY = PrivacyStatement(
    0.5, 0.125, "add-remove", "", 1, None, "one curator", "flat", False, "a", "public: fixed before"
)
PREDICTED, RESIDUALS, WITHIN = np.array([0.1, 0.4, 0.8]), np.array([0.05, -0.02, 0.3]), np.array([0.1, 0.2, 0.15])

WITHIN_LINES = Shade(-WITHIN, WITHIN, "90% of bins of a right model, for the population")


@pytest.fixture(autouse=True)
def closed() -> object:
    yield
    plt.close("all")


def test_points_stand_within_the_envelope() -> None:
    ax = draw_binned_residuals(PREDICTED, RESIDUALS, [10, 40, 0], PRIVACY, shades=[WITHIN_LINES], name="model B")
    (points,) = (each for each in ax.collections if isinstance(each, PathCollection))
    assert np.asarray(points.get_offsets()) == pytest.approx(np.column_stack([PREDICTED, RESIDUALS]))
    assert points.get_sizes().tolist() == [30, 90, 10]
    zero, upper, lower = ax.lines
    assert set(np.asarray(zero.get_ydata())) == {0}
    assert np.asarray(upper.get_ydata()) == pytest.approx(WITHIN)
    assert np.asarray(lower.get_ydata()) == pytest.approx(-WITHIN)
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "model B: 90% of bins of a right model, for the population", "model B: mean residual of a bin",
    ]  # fmt: skip


def test_a_second_model_has_another_colour_and_one_frame() -> None:
    ax = draw_binned_residuals(PREDICTED, RESIDUALS, [1, 1, 1], PRIVACY, shades=[WITHIN_LINES])
    draw_binned_residuals(PREDICTED, -RESIDUALS, [1, 1, 1], PRIVACY, shades=[WITHIN_LINES], ax=ax)
    assert len(ax.lines) == 5
    assert ax.lines[1].get_color() != ax.lines[3].get_color()


@pytest.mark.parametrize("bins", [0, 1])
def test_no_bin_and_one_bin_are_no_error(bins: int) -> None:
    ax = draw_binned_residuals(
        PREDICTED[:bins], RESIDUALS[:bins], [0] * bins, PRIVACY, shades=[Shade(-WITHIN[:bins], WITHIN[:bins], "all")]
    )
    ax.figure.canvas.draw()
