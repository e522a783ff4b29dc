"""Calibration curves and Hosmer-Lemeshow groups: the right data on the axes that were given."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from dpcurves.conversation import PrivacyStatement
from dpcurves.display import (
    POPULATION,
    RECORDS,
    Shade,
    describe_interval,
    draw_calibration,
    draw_hosmer_lemeshow,
    headless_axes,
    set_title,
)
from dpcurves.display.scores import COUNT_FLOOR

PRIVACY = PrivacyStatement(1.0, 0.5, "replace-one", "", 1, 9, "one curator", "flat", False, "a")
PREDICTED = np.array([0.1, 0.5, 0.9])
OBSERVED = np.array([0.2, 0.4, 0.8])
COUNT = np.array([50.0, 100.0, 0.0])
SHADES = tuple(
    Shade(OBSERVED - width, OBSERVED + width, describe_interval(0.9, "individual interval", whom))
    for width, whom in ((0.1, POPULATION), (0.05, RECORDS))
)
GROUPS = [
    {"lower": 0.0, "upper": 0.2, "count": 100.0, "positives": 12.0, "expected": 10.0},
    {"lower": 0.2, "upper": 1.0, "count": 100.0, "positives": 55.0, "expected": 60.0},
]


def legend_of(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def segments_of(ax: Axes, label: str) -> list[list[list[float]]]:
    (lines,) = (each for each in ax.collections if isinstance(each, LineCollection) and each.get_label() == label)
    return [np.asarray(path.vertices).tolist() for path in lines.get_paths()]


def test_groups_are_drawn_over_the_diagonal() -> None:
    for array in (PREDICTED, OBSERVED, COUNT):
        array.setflags(write=False)
    ax = headless_axes()
    assert draw_calibration(PREDICTED, OBSERVED, COUNT, PRIVACY, shades=SHADES, ax=ax) is ax
    (points,) = (line for line in ax.lines if line.get_label() == "observed")
    np.testing.assert_array_equal(points.get_xydata(), np.column_stack([PREDICTED, OBSERVED]))
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0, 0], [1, 1]])
    assert ax.get_aspect() == 1


def test_bars_below_tell_the_sizes_of_groups() -> None:
    ax = draw_calibration(PREDICTED, OBSERVED, COUNT, PRIVACY, ax=headless_axes())
    bars = segments_of(ax, "records per group, up to 100")
    assert [bar[0][0] for bar in bars] == PREDICTED.tolist()
    heights = [(bar[1][1] - COUNT_FLOOR) / 0.12 for bar in bars]
    assert heights == pytest.approx([0.5, 1.0, 0.0])
    assert all(bar[1][1] < 0 for bar in bars)


def test_intervals_are_drawn_and_say_their_level_and_of_whom_they_speak() -> None:
    ax = draw_calibration(PREDICTED, OBSERVED, COUNT, PRIVACY, shades=SHADES, ax=headless_axes())
    assert legend_of(ax)[:2] == [f"90% individual interval for {whom}" for whom in ("the population", "these records")]
    for shade in SHADES:
        bars = segments_of(ax, shade.label)
        assert [(bar[0][1], bar[1][1]) for bar in bars] == list(
            zip(*np.asarray(shade[:2], dtype=float).tolist(), strict=True)
        )


def test_a_group_of_which_nothing_is_known_is_hollow_and_off_the_line() -> None:
    wide = Shade([0.1, 0.0, 0.7], [0.3, 1.0, 0.9], SHADES[1].label)
    ax = draw_calibration(PREDICTED, OBSERVED, COUNT, PRIVACY, shades=[wide], ax=headless_axes())
    (hollow,) = (line for line in ax.lines if line.get_label() == "anything from 0 to 1")
    assert hollow.get_xdata().tolist() == [0.5]  # type: ignore[union-attr]
    assert hollow.get_markerfacecolor() == ax.get_facecolor()
    assert any(np.array_equal(line.get_xdata(), [0.1, 0.9]) for line in ax.lines)


def test_a_group_of_which_nothing_is_known_does_not_press_rare_shares_into_a_corner() -> None:
    """The axes end at the shares that are known, and the legend says which groups lie beyond."""
    predicted, observed = np.array([0.01, 0.03, 0.05, 0.8]), np.array([0.01, 0.02, 0.5, 0.9])
    wide = Shade([0.0, 0.01, 0.0, 0.0], [0.02, 0.04, 1.0, 1.0], RECORDS)
    ax = draw_calibration(predicted, observed, np.full(4, 9.0), PRIVACY, shades=[wide], ax=headless_axes())
    assert ax.get_xlim()[1] < 0.06
    assert ax.get_ylim()[1] < 0.06
    places = {line.get_label(): np.asarray(line.get_xdata()).tolist() for line in ax.lines}
    assert places["anything from 0 to 1"] == [0.05]
    assert places["beyond 0.05: anything from 0 to 1"] == [0.8]
    assert legend_of(ax)[-2] == "beyond 0.05: anything from 0 to 1"


def test_the_legend_hides_no_point() -> None:
    ax = draw_calibration(PREDICTED, OBSERVED, COUNT, PRIVACY, shades=SHADES, ax=headless_axes())
    ax.figure.canvas.figure.draw_without_rendering()
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_window_extent().y0 >= ax.get_window_extent().y1


def test_groups_without_a_single_number_are_no_error() -> None:
    nothing = np.full(2, np.nan)
    ax = draw_calibration(nothing, nothing, nothing, PRIVACY, ax=headless_axes())
    ax.figure.canvas.figure.draw_without_rendering()


def test_observed_and_expected_positives_stand_side_by_side() -> None:
    ax = headless_axes()
    assert draw_hosmer_lemeshow(GROUPS, 12.345, 0.1367, PRIVACY, ax=ax) is ax
    (points,) = (line for line in ax.lines if line.get_label() == "observed")
    assert np.asarray(points.get_xydata()).tolist() == [[0.5, 12.0], [1.5, 55.0]]
    assert [segment[0][1] for segment in segments_of(ax, "expected by the model")] == [10.0, 60.0]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "0.2", "1"]


def test_the_legend_states_the_test() -> None:
    ax = draw_hosmer_lemeshow(GROUPS, 12.345, 0.1367, PRIVACY, ax=headless_axes())
    assert "Hosmer-Lemeshow 12.35, p = 0.14 for the population" in legend_of(ax)
    ax = draw_hosmer_lemeshow(GROUPS, 99.0, 1e-9, PRIVACY, ax=headless_axes())
    assert "Hosmer-Lemeshow 99, p < 0.0001 for the population" in legend_of(ax)


def test_no_group_and_very_many_groups_are_no_error() -> None:
    for groups in ([], GROUPS * 40):
        ax = draw_hosmer_lemeshow(groups, 0.0, 1.0, PRIVACY, ax=headless_axes())
        ax.figure.canvas.figure.draw_without_rendering()
        assert len(ax.get_xticks()) <= 12


def test_a_picture_of_rare_events_is_as_large_as_they_are() -> None:
    ax = draw_calibration(PREDICTED / 20, OBSERVED / 20, COUNT, PRIVACY, ax=headless_axes())
    assert ax.get_xlim()[1] < 0.06
    named = draw_calibration(PREDICTED / 20, OBSERVED / 20, COUNT, PRIVACY, ax=headless_axes(), name="other")
    assert named.get_xlim()[1] >= 1  # others may come to it


def test_a_narrow_picture_of_equal_scales_has_room_for_its_title_and_statement_at_once() -> None:
    """The first drawing equals the second, though the room of names depends on the width of the plot."""
    count = np.array([987.0, 610.0, 4.0])
    ax = draw_calibration(PREDICTED, OBSERVED, count, PRIVACY, shades=SHADES, ax=headless_axes((4.2, 5.725)))
    set_title(ax, "Calibration curve")
    figure = ax.get_figure()
    assert isinstance(figure, Figure)
    for _ in range(2):
        figure.draw_without_rendering()
        drawn = figure.get_tightbbox()
        assert 0 <= drawn.y0 < drawn.y1 <= figure.get_size_inches()[1]
