"""Distribution functions, quantiles and histograms: the right data on the axes that were given."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import StepPatch
from numpy.typing import NDArray

from dpcurves.display import draw_cdf, draw_histogram, draw_quantiles, headless_axes
from dpcurves.release import Face

FACE = Face(1.0, 0.5, "replace-one", "", 1, 9, "one curator", "flat", False, "a")
X = np.array([0.0, 1.0, 4.0, 9.0])
Y = np.array([0.0, 0.25, 0.5, 1.0])


def frozen(*arrays: NDArray[np.float64]) -> None:
    for array in arrays:
        array.setflags(write=False)


def test_a_distribution_function_is_drawn_through_its_edges() -> None:
    frozen(X, Y)
    ax = headless_axes()
    assert draw_cdf(X, Y, FACE, label="delay (minutes)", ax=ax) is ax
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), np.column_stack([X, Y]))
    assert ax.get_xlabel() == "delay (minutes)"
    assert ax.get_ylabel() == "share of records below"
    assert ax.get_title() == ""


def test_a_band_is_shaded_and_named() -> None:
    ax = draw_cdf(X, Y, FACE, label="x", band=(Y - 0.1, Y + 0.1), level=0.95, ax=headless_axes())
    (band,) = (artist for artist in ax.collections if isinstance(artist, PolyCollection))
    corners = {(float(x), round(float(y), 9)) for x, y in np.asarray(band.get_paths()[0].vertices)}
    assert {(9.0, 0.9), (9.0, 1.1), (1.0, 0.15), (1.0, 0.35)} <= corners
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["95% band for the whole curve"]


def test_a_name_from_outside_is_no_mathematics() -> None:
    ax = draw_cdf(X, Y, FACE, label="price $_{", ax=headless_axes())
    ax.figure.canvas.figure.draw_without_rendering()
    assert ax.get_xlabel() == "price $_{"


def test_a_long_distribution_function_is_thinned_to_what_can_be_seen() -> None:
    x = np.linspace(0, 1, 2**17)
    ax = draw_cdf(x, x**2, FACE, label="x", band=(x**2, x**2), ax=headless_axes())
    assert len(np.asarray(ax.lines[0].get_xydata())) < 7000


def test_quantiles_are_points_with_intervals_and_readings() -> None:
    p, x = np.array([0.25, 0.5, 0.75]), np.array([-17.0, -5.25, 14.0])
    frozen(p, x)
    ax = headless_axes()
    assert draw_quantiles(p, x, FACE, label="delay", intervals=(x - 1, x + 1), level=0.9, ax=ax) is ax
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), np.column_stack([x, p]))
    segments = [np.asarray(path.vertices).tolist() for path in ax.collections[0].get_paths()]
    assert segments[0] == [[-18.0, 0.25], [-16.0, 0.25]]
    assert {"-17", "-5.25", "14"} <= {text.get_text() for text in ax.texts}
    assert ax.get_yticks().tolist() == [0.25, 0.5, 0.75]
    assert legend_of(ax) == ["90% intervals, all at once"]


def test_the_interval_of_one_quantile_is_one() -> None:
    ax = draw_quantiles(0.5, 3.0, FACE, label="x", intervals=(2.0, 4.0), level=0.9, ax=headless_axes())
    assert legend_of(ax) == ["90% interval"]


def legend_of(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_one_quantile_is_enough() -> None:
    ax = draw_quantiles(0.5, 3.0, FACE, label="x", intervals=(2.0, 4.0), ax=headless_axes())
    assert np.asarray(ax.lines[0].get_xydata()).tolist() == [[3.0, 0.5]]


def stairs(ax: Axes) -> list[tuple[list[float], list[float], list[float]]]:
    """Values, edges and baseline of all stairs on `ax`."""
    data = [patch.get_data() for patch in ax.patches if isinstance(patch, StepPatch)]
    return [(_listed(values), _listed(edges), _listed(baseline)) for values, edges, baseline in data]


def _listed(values: object) -> list[float]:
    return [float(value) for value in np.atleast_1d(np.asarray(values, dtype=float))]


def test_a_histogram_is_drawn_as_stairs() -> None:
    count = np.array([5.0, -1.0, 7.0])
    frozen(count)
    ax = headless_axes()
    assert draw_histogram(X, count, FACE, label="delay", errors=2.0, ax=ax) is ax
    error, fill, line = stairs(ax)
    assert error == ([7.0, 1.0, 9.0], X.tolist(), [3.0, -3.0, 5.0])
    assert fill[:2] == line[:2] == (count.tolist(), X.tolist())
    assert ax.get_ylabel() == "records per cell"


def test_what_is_below_a_histogram_is_not_taken_for_its_errors() -> None:
    ax = draw_histogram(X, np.array([5.0, 1.0, 7.0]), FACE, label="delay", errors=2.0, ax=headless_axes())
    error, fill, _ = (patch for patch in ax.patches if isinstance(patch, StepPatch))
    assert fill.get_zorder() < error.get_zorder()
    red, green, blue, _ = np.ravel(fill.get_facecolor())
    assert red == green == blue


def test_of_several_histograms_one_entry_explains_the_errors() -> None:
    ax = headless_axes()
    for name in ("a", "b"):
        draw_histogram(X, np.array([5.0, 1.0, 7.0]), FACE, label="delay", errors=2.0, ax=ax, name=name)
    assert sorted(legend_of(ax)) == ["a", "b", "± 1 standard error"]


def test_what_is_written_above_the_largest_quantile_stays_in_the_frame() -> None:
    ax = draw_quantiles([0.5, 1.0], [1.0, 2.0], FACE, label="x", ax=headless_axes())
    ax.figure.canvas.figure.draw_without_rendering()
    readings = [text.get_window_extent() for text in ax.texts if text.get_text() == "2"]
    assert [box.y1 <= ax.bbox.y1 for box in readings] == [True]


def test_a_histogram_of_very_many_cells_is_drawn_as_its_hull() -> None:
    count = np.tile([0.0, 9.0], 2**15)
    ax = draw_histogram(np.arange(2**16 + 1.0), count, FACE, label="x", ax=headless_axes())
    ((values, _, baseline),) = stairs(ax)
    assert len(values) <= 1000
    assert (set(values), set(baseline)) == ({9.0}, {0.0})
