"""ROC curves: the right data, the diagonal, and the area with its interval."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from dpcurves.display import draw_roc, headless_axes
from dpcurves.release import PrivacyStatement

FACE = PrivacyStatement(1.0, 0.5, "replace-one", "", 1, 9, "one curator", "flat", False, "a")
FPR = np.array([0.0, 0.2, 1.0])
TPR = np.array([0.0, 0.7, 1.0])


def legend_of(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_a_roc_curve_is_drawn_over_the_diagonal() -> None:
    for array in (FPR, TPR):
        array.setflags(write=False)
    ax = headless_axes()
    assert draw_roc(FPR, TPR, 0.75, FACE, ax=ax) is ax
    diagonal, curve = ax.lines
    np.testing.assert_array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])
    np.testing.assert_array_equal(curve.get_xydata(), np.column_stack([FPR, TPR]))
    assert ax.get_aspect() == 1


def test_the_legend_states_the_area_and_its_interval() -> None:
    assert legend_of(draw_roc(FPR, TPR, 0.75, FACE, ax=headless_axes())) == ["AUC 0.75"]
    ax = draw_roc(FPR, TPR, 0.71, FACE, interval=(0.70, 0.72), ax=headless_axes())
    assert legend_of(ax) == ["AUC 0.71 (0.70 to 0.72)"]
    ax = draw_roc(FPR, TPR, 0.7102, FACE, interval=(0.7101, 0.7103), level=0.9, ax=headless_axes(), name="model B")
    assert legend_of(ax) == ["model B: AUC 0.7102 (90%: 0.7101 to 0.7103)"]


def test_two_models_share_one_diagonal() -> None:
    ax = draw_roc(FPR, TPR, 0.75, FACE, ax=headless_axes(), name="A")
    draw_roc(FPR, FPR, 0.5, FACE, ax=ax, name="B")
    assert len(ax.lines) == 3
    assert legend_of(ax) == ["A: AUC 0.75", "B: AUC 0.50"]
