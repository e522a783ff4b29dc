"""Distribution functions, quantiles and histograms: the right data on the axes that were given."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import StepPatch
from numpy.typing import NDArray

from dpcurves.conversation import PrivacyStatement
from dpcurves.display import (
    POPULATION,
    RECORDS,
    Shade,
    describe_interval,
    draw_bars,
    draw_cdf,
    draw_quantiles,
    headless_axes,
)
from dpcurves.display.columns import POSITION_IN_CELL_LABEL

PRIVACY = PrivacyStatement(1.0, 0.5, "replace-one", "", 1, 9, "one curator", "flat", False, "a")
X = np.array([0.0, 1.0, 4.0, 9.0])
Y = np.array([0.0, 0.25, 0.5, 1.0])


def frozen(*arrays: NDArray[np.float64]) -> None:
    for array in arrays:
        array.setflags(write=False)


def test_a_distribution_function_is_drawn_through_its_edges() -> None:
    frozen(X, Y)
    ax = headless_axes()
    assert draw_cdf(X, Y, PRIVACY, label="delay (minutes)", ax=ax) is ax
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), np.column_stack([X, Y]))
    assert ax.get_xlabel() == "delay (minutes)"
    assert ax.get_ylabel() == "share of records below"
    assert ax.get_title() == ""


def test_a_band_is_drawn_in_steps_that_hold_inside_cells() -> None:
    ax = draw_cdf(X, Y, PRIVACY, label="x", shades=[Shade(Y - 0.1, Y + 0.1, "95% band")], ax=headless_axes())
    ((upper, edges, lower),) = stairs(ax)
    assert edges == X.tolist()
    assert lower == (Y[:-1] - 0.1).tolist()  # in each cell at least the lower end at its left edge
    assert upper == (Y[1:] + 0.1).tolist()  # and at most the upper end at its right one
    assert sorted(legend_of(ax)) == ["95% band", POSITION_IN_CELL_LABEL]


def test_what_covers_the_population_is_paler_and_of_several_curves_one_entry_speaks_for_all() -> None:
    ax = headless_axes()
    shades = [
        Shade(Y - 0.2, Y + 0.2, describe_interval(0.95, "band", POPULATION)),
        Shade(Y, Y, describe_interval(0.95, "band", RECORDS)),
    ]
    for name in ("a", "b"):
        draw_cdf(X, Y, PRIVACY, label="x", shades=shades, ax=ax, name=name)
    assert sorted(legend_of(ax)) == [
        "95% band for the population",
        "95% band for these records",
        "a",
        "b",
        POSITION_IN_CELL_LABEL,
    ]
    wide, narrow = ax.collections[:2]
    assert (wide.get_alpha() or 1.0) < (narrow.get_alpha() or 0.0)


def test_a_name_from_outside_is_no_mathematics() -> None:
    ax = draw_cdf(X, Y, PRIVACY, label="price $_{", ax=headless_axes())
    ax.figure.canvas.figure.draw_without_rendering()
    assert ax.get_xlabel() == "price $_{"


def test_a_long_distribution_function_is_thinned_to_what_can_be_seen() -> None:
    x = np.linspace(0, 1, 2**17)
    ax = draw_cdf(x, x**2, PRIVACY, label="x", shades=[Shade(x**2, x**2, "band")], ax=headless_axes())
    assert len(np.asarray(ax.lines[0].get_xydata())) < 7000
    ((upper, _, _),) = stairs(ax)
    assert len(upper) <= 1000


def test_axes_are_written_as_people_write_numbers() -> None:
    ax = draw_cdf(X * 1e6, Y, PRIVACY, label="income ($)", ax=headless_axes())
    ax.figure.canvas.figure.draw_without_rendering()
    assert "2,000,000" in [text.get_text() for text in ax.get_xticklabels()]
    assert ax.xaxis.get_offset_text().get_text() == ""


def test_quantiles_are_points_with_intervals_and_no_more_digits_than_their_cells_tell() -> None:
    p, x = np.array([0.25, 0.5, 0.75]), np.array([-17.013, -5.252, 14.04])
    frozen(p, x)
    cells, ax = np.column_stack([np.floor(x), np.floor(x) + 1]), headless_axes()
    shade = Shade(x - 1, x + 1, "90% intervals")
    assert draw_quantiles(p, x, PRIVACY, label="delay", cells=cells, shades=[shade], ax=ax) is ax
    np.testing.assert_array_equal(ax.lines[-2].get_xydata(), np.column_stack([x, p]))
    segments = [np.asarray(path.vertices).round(3).tolist() for path in ax.collections[0].get_paths()]
    assert segments[0] == [[-18.013, 0.25], [-16.013, 0.25]]
    assert {"-17.0", "-5.3", "14.0"} <= {text.get_text() for text in ax.texts}
    assert ax.get_yticks().tolist() == [0.25, 0.5, 0.75]
    assert legend_of(ax) == ["90% intervals"]


def test_what_lies_outside_of_the_grid_is_hollow_and_its_interval_ends_in_an_arrow() -> None:
    cells, shade = [[1.0, 2.0], [49.0, np.inf]], Shade([0.0, 49.0], [3.0, np.inf], "95% intervals")
    ax = draw_quantiles([0.5, 0.9], [1.5, 49.0], PRIVACY, label="x", cells=cells, shades=[shade], ax=headless_axes())
    arrows = {line.get_marker(): np.asarray(line.get_xydata()) for line in ax.lines if str(line.get_marker()) in "<>"}
    assert len(arrows["<"]) == 0
    ((tip, height),) = arrows[">"].tolist()
    assert (tip > 49.0, height) == (True, 0.9)
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == ax.get_facecolor()]
    assert [np.asarray(line.get_xydata()).tolist() for line in hollow] == [[[49.0, 0.9]]]
    assert "at or above 49" in {text.get_text() for text in ax.texts}


def legend_of(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_one_quantile_is_enough() -> None:
    ax = draw_quantiles(0.5, 3.0, PRIVACY, label="x", shades=[Shade(2.0, 4.0, "interval")], ax=headless_axes())
    assert np.asarray(ax.lines[-2].get_xydata()).tolist() == [[3.0, 0.5]]


def stairs(ax: Axes) -> list[tuple[list[float], list[float], list[float]]]:
    """Values, edges and baseline of all stairs on `ax`."""
    data = [patch.get_data() for patch in ax.patches if isinstance(patch, StepPatch)]
    return [(_listed(values), _listed(edges), _listed(baseline)) for values, edges, baseline in data]


def _listed(values: object) -> list[float]:
    return [float(value) for value in np.atleast_1d(np.asarray(values, dtype=float))]


def test_a_histogram_is_drawn_as_stairs() -> None:
    count, even = np.array([5.0, -1.0, 7.0]), np.array([0.0, 3.0, 6.0, 9.0])
    frozen(count)
    ax = headless_axes()
    shade = Shade(count - 2, count + 2, "intervals")
    assert draw_bars(even, count, PRIVACY, upwards="records per cell", label="delay", shades=[shade], ax=ax) is ax
    error, fill, line = stairs(ax)
    assert error == ([7.0, 1.0, 9.0], even.tolist(), [3.0, -3.0, 5.0])
    assert fill[:2] == line[:2] == (count.tolist(), even.tolist())
    assert ax.get_ylabel() == "records per cell"


def test_a_histogram_of_unequal_cells_is_a_density() -> None:
    count = np.array([5.0, 3.0, 10.0])  # of widths 1, 3 and 5
    ax = draw_bars(
        X,
        count,
        PRIVACY,
        upwards="records per cell",
        label="delay (min)",
        shades=[Shade(count - 1, count, "x")],
        ax=headless_axes(),
    )
    error, _, line = stairs(ax)
    assert line[0] == [5.0, 1.0, 2.0]
    assert error[2] == [4.0, 2 / 3, 9 / 5]
    assert ax.get_ylabel() == "records per unit of delay (min)"
    areas = np.array(line[0]) * np.diff(X)
    assert areas.tolist() == count.tolist()
    assert (
        draw_bars(X, count / 18, PRIVACY, upwards="share of records", label="x", ax=headless_axes()).get_ylabel()
        == "share of records per unit of x"
    )


def test_what_is_below_a_histogram_is_not_taken_for_its_errors() -> None:
    count = np.array([5.0, 1.0, 7.0])
    ax = draw_bars(
        X,
        count,
        PRIVACY,
        upwards="records per cell",
        label="delay",
        shades=[Shade(count, count, "x")],
        ax=headless_axes(),
    )
    error, fill, _ = (patch for patch in ax.patches if isinstance(patch, StepPatch))
    assert fill.get_zorder() < error.get_zorder()
    red, green, blue, _ = np.ravel(fill.get_facecolor())
    assert red == green == blue


def test_what_is_written_above_the_largest_quantile_stays_in_the_frame() -> None:
    ax = draw_quantiles([0.5, 1.0], [1.0, 2.0], PRIVACY, label="x", ax=headless_axes())
    ax.figure.canvas.figure.draw_without_rendering()
    readings = [text.get_window_extent() for text in ax.texts if text.get_text() == "2"]
    assert [box.y1 <= ax.bbox.y1 for box in readings] == [True]


def test_a_histogram_of_very_many_cells_is_drawn_as_its_hull() -> None:
    count = np.tile([0.0, 9.0], 2**15)
    ax = draw_bars(np.arange(2**16 + 1.0), count, PRIVACY, upwards="records per cell", label="x", ax=headless_axes())
    ((values, _, baseline),) = stairs(ax)
    assert len(values) <= 1000
    assert (set(values), set(baseline)) == ({9.0}, {0.0})
