"""ROC curves: the right data, the diagonal, and the area with its interval."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from dpcurves.conversation import PrivacyStatement
from dpcurves.display import AreaInterval, Region, Shade, draw_roc, headless_axes

PRIVACY = PrivacyStatement(1.0, 0.5, "replace-one", "", 1, 9, "one curator", "flat", False, "a")
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
    assert draw_roc(FPR, TPR, 0.75, PRIVACY, ax=ax) is ax
    diagonal, curve = ax.lines
    np.testing.assert_array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])
    np.testing.assert_array_equal(curve.get_xydata(), np.column_stack([FPR, TPR]))
    assert ax.get_aspect() == 1


CHANCE = "chance level (AUC = 0.5)"


def test_the_legend_states_the_area_and_whom_its_intervals_speak_of() -> None:
    assert legend_of(draw_roc(FPR, TPR, 0.75, PRIVACY, ax=headless_axes())) == [CHANCE, "ROC curve (AUC = 0.75)"]
    records = AreaInterval(0.70123, 0.71977, "95% interval for these records")
    population = AreaInterval(0.6501, 0.7603, "95% interval for the population")
    ax = draw_roc(FPR, TPR, 0.71054, PRIVACY, areas=(records, population), ax=headless_axes(), name="model B")
    assert legend_of(ax)[1].splitlines() == [
        "model B (AUC = 0.711)",
        "95% interval for these records: 0.701 to 0.720",
        "95% interval for the population: 0.650 to 0.761",
    ]


def test_bands_are_drawn_in_steps_that_hold_between_their_edges() -> None:
    shade = Shade(np.array([0.1, 0.4]), np.array([0.5, 0.9]), "95% band for these records")
    ax = draw_roc(FPR, TPR, 0.71, PRIVACY, regions=(Region(np.array([0.0, 0.3, 1.0]), shade),), ax=headless_axes())
    assert "95% band for these records" in legend_of(ax)
    (patch,) = ax.patches
    values, edges, baseline = patch.get_data()  # type: ignore[attr-defined]
    assert [list(values), list(edges), list(baseline)] == [[0.5, 0.9], [0.0, 0.3, 1.0], [0.1, 0.4]]


def test_axes_say_which_label_is_positive_and_have_no_title_of_their_own() -> None:
    ax = draw_roc(FPR, TPR, 0.75, PRIVACY, positive="yes", ax=headless_axes())
    assert ax.get_title() == ""
    assert ax.get_xlabel() == "false positive rate (positive label: yes)"
    assert ax.get_ylabel() == "true positive rate (positive label: yes)"


def test_two_models_share_one_diagonal() -> None:
    ax = draw_roc(FPR, TPR, 0.75, PRIVACY, ax=headless_axes(), name="A")
    draw_roc(FPR, FPR, 0.5, PRIVACY, ax=ax, name="B")
    assert len(ax.lines) == 3
    assert legend_of(ax) == [CHANCE, "A (AUC = 0.75)", "B (AUC = 0.5)"]
