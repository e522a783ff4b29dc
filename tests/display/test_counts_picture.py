"""Counts below a few values: points with their errors, and no line between."""

from __future__ import annotations

import numpy as np

from dpcurves.display import RECORDS, Shade, covering, draw_counts, headless_axes
from dpcurves.release import PrivacyStatement

FACE = PrivacyStatement(1.0, 0.5, "replace-one", "", 1, 9, "one curator", "noise path", False, "a")
X, COUNT, ERROR = np.array([0.0, 15.0, 60.0]), np.array([7339, 11126, 19255]), np.array([256.0, 256.0, 0.0])


def test_counts_are_points_with_intervals_and_readings() -> None:
    ax = headless_axes()
    shade = Shade(COUNT - ERROR, COUNT + ERROR, covering(0.9, "intervals", RECORDS))
    assert draw_counts(X, COUNT, FACE, label="delay (minutes)", shades=[shade], ax=ax) is ax
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), np.column_stack([X, COUNT]))
    assert (ax.lines[0].get_linestyle(), ax.lines[0].get_marker()) == ("None", "o")
    (bars,) = ax.collections
    ends = np.array([path.vertices for path in bars.get_paths()])
    np.testing.assert_array_equal(ends[:, :, 1], np.column_stack([COUNT - ERROR, COUNT + ERROR]))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("delay (minutes)", "records below")
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["90% intervals for these records"]


def test_many_counts_have_no_readings() -> None:
    x = np.arange(20.0)
    ax = draw_counts(x, 10 * x, FACE, label="x", ax=headless_axes())
    assert len([text for text in ax.texts if text.get_text().isdigit()]) == 0
