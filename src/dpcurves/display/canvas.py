"""matplotlib helpers of all plots: axes, line styles, confidence bands, legends, and files that figures are saved to.

`Picture` is one curve on its axes. It draws layers, labels the axes, and adds the privacy statement below, as a
footnote. Shades are confidence bands or error bars (`Shade`). `save_axes` writes a figure without date and program
name, so that equal results give equal files. matplotlib is imported only when a plot is made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from math import floor
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import InvalidArgument, WrongArgumentType, describe_value
from ..arrays import FloatArray
from ..conversation import PrivacyStatement
from ..translation import Reader, current_reader, translate
from .numerals import (
    LONGEST_LABEL,
    LONGEST_WHOLE,
    add_time_zone,
    cut_middle,
    format_label,
    format_legend_label,
    shorten_entries,
)
from .styles import is_dark, require_matplotlib, scale_font_size, scale_line_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LANDSCAPE = (5.6, 4.0)
"""Width and height of the figure of a curve, in inches, if the caller passes no axes."""
SQUARE = (4.8, 5.4)
"""Width and height of a figure whose axes have equal scales, in inches; the rest of its height is for labels and the
privacy statement."""


def prepare_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return `ax`, or the axes of a new pyplot figure of `size` inches.

    Args:
        ax: Axes of the caller; None: a figure is made.
        size: Width and height of a new figure in inches.

    Raises:
        ImportError: matplotlib is not installed.
        TypeError: `ax` is not a matplotlib Axes.
    """
    if ax is not None:
        if not hasattr(ax, "texts"):
            raise WrongArgumentType(
                "ax",
                f"matplotlib axes are needed, got {describe_value(ax)}; to write a file, use .plot().figure.savefig()",
            )
        return ax
    require_matplotlib()
    import matplotlib.pyplot as plt

    from .layout import FittedLayout

    font_factor = max(1.0, scale_font_size(1.0)) ** 0.5
    return plt.subplots(figsize=(font_factor * size[0], font_factor * size[1]), layout=FittedLayout())[1]


def headless_axes(size: tuple[float, float] = LANDSCAPE) -> Axes:
    """Return the axes of a figure for files and pages, which opens no window and leaves the pyplot state unchanged.

    Args:
        size: Width and height of the figure, in inches.

    Raises:
        ImportError: matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    from .layout import FittedLayout

    axes: Axes = Figure(figsize=size, layout=FittedLayout()).subplots()
    return axes


def enlarge_figure(ax: Axes, size: tuple[float, float]) -> None:
    """Enlarge a headless figure to at least `size` inches, if `ax` is its only axes."""
    figure = ax.figure.get_figure(root=True)
    if figure is not None and len(figure.axes) == 1 and figure.canvas.manager is None:
        width, height = figure.get_size_inches()
        figure.set_size_inches(max(width, size[0]), max(height, size[1]))


# Colours for colour-blind readers, dashes for greyscale print, and the legend.


GREY, FRAME = "#8a8a8a", "#d9d9d9"
"""Colours of reference lines, and of the frame of a legend on a light background (on a dark one it has the first)."""
DARK_STYLE_PALETTE = ("#56b4e9", "#ff9e4a", "#2fd0a0", "#e6a1c8", "#f0c040", "#9ec9ff", "#b8b8b8")
"""Colours of curves on a dark background, in the order of the curves; later curves begin again with the first."""
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b")
"""Colours of curves on a light background, in the order of the curves; later curves begin again with the first. Okabe
and Ito (2008), for readers who do not see all colours, without yellow, which is too pale for lines."""
DASHES = ("-", "--", "-.", ":")
"""Dashes of curves in matplotlib's notation, in the order of the curves, so that they differ without colour; later
curves begin again with the first."""
Place = Literal["above", "best", "lower right", "upper center", "upper right"]


class LineStyle(NamedTuple):
    """Line style of one curve: its colour and its pattern of dashes, both in matplotlib's notation."""

    color: str
    dash: str


def count_curves(ax: Axes) -> int:
    """Return the number of curves that dpcurves drew on `ax`."""
    from .artists import Footnote

    note = Footnote.from_axes(ax)
    return 0 if note is None else note.curves


def next_style(ax: Axes) -> LineStyle:
    """Return the line style of the next curve on `ax`, different from earlier curves."""
    return style_of(ax, count_curves(ax))


def style_of(ax: Axes, number: int) -> LineStyle:
    """Return the line style of the curve with this index on `ax`.

    Args:
        ax: Axes; a dark background has brighter colours.
        number: Index of the curve; colours and dashes repeat after the last.
    """
    palette = DARK_STYLE_PALETTE if is_dark(ax) else PALETTE
    return LineStyle(palette[number % len(palette)], DASHES[number % len(DASHES)])


def add_legend(ax: Axes, place: Place, size: float = 9) -> None:
    """Add a legend of all labelled artists.

    On a figure of this package it stands at `place` or in a corner without data, else above the plot: see
    `layout.FittedLayout`. On other figures it stands at `place`, or for ``above`` where matplotlib finds most room.

    Args:
        ax: The axes.
        place: Preferred place of the legend.
        size: Font size in points.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    from matplotlib import rcParams

    from .layout import LegendRequest, fitted_layout

    frame = {"framealpha": 0.85, "facecolor": ax.get_facecolor(), "edgecolor": GREY if is_dark(ax) else FRAME}
    layout = fitted_layout(ax)
    inside = "best" if place == "above" else place
    color = rcParams["legend.labelcolor"]
    color = ax.xaxis.label.get_color() if color in (None, "None") else color  # matplotlib's default is no colour
    if layout is not None:
        title = layout.legend_title(ax)
        layout.request_legend(
            ax, LegendRequest(inside, place == "above", scale_font_size(size), title, frame, str(color))
        )
        return
    for text in ax.legend(
        handles, shorten_entries(labels, LONGEST_LABEL), loc=inside, fontsize=scale_font_size(size), **frame
    ).get_texts():
        text.set_parse_math(False)


def set_legend_title(ax: Axes, title: str) -> None:
    """Set the title of the legend of `ax`, if it has one: the column whose categories name the curves.

    Args:
        title: Name of the column.
    """
    from .layout import fitted_layout

    layout = fitted_layout(ax)
    legend = ax.get_legend()
    if layout is not None:
        layout.set_legend_title(ax, title)
    elif legend is not None:
        legend.set_title(title)
        legend.get_title().set_parse_math(False)


def format_for(ax: Axes, text: object) -> str:
    """Return a title or label for a plot, in full if the plot's layout wraps long texts, else shortened in the middle.

    Args:
        ax: Axes that will show the text.
        text: Title or label.
    """
    from .layout import fitted_layout

    whole = format_label(text, LONGEST_WHOLE)
    return whole if fitted_layout(ax) is not None else cut_middle(whole, LONGEST_LABEL)


# Long arrays are thinned to the resolution of a plot.


THINNED_POINTS = 1000
"""Points along each axis to which long arrays are thinned before they are drawn: more than a figure shows apart."""


def select_visible_points(x: FloatArray, y: FloatArray, finest: int = THINNED_POINTS) -> NDArray[np.int64]:
    """Return the indices of points to draw: all of up to ``2 * finest`` points; of more, both neighbours of each change
    of pixel in x or y, and both ends, on a grid of `finest` by `finest` pixels.

    Pixels divide the range of finite values. A monotone curve keeps at most ``6 * finest`` points, and moves by less
    than ``1 / finest`` of its height.

    Args:
        x: Positions, (points,).
        y: Heights, (points,).

    >>> select_visible_points(np.arange(5.0), np.arange(5.0)).tolist()
    [0, 1, 2, 3, 4]
    """
    if len(x) <= 2 * finest:
        return np.arange(len(x))
    moves = np.flatnonzero((np.diff(_pixels(x, finest)) != 0) | (np.diff(_pixels(y, finest)) != 0))
    return np.unique(np.concatenate([[0], moves, moves + 1, [len(x) - 1]]))


def _pixels(values: FloatArray, finest: int) -> FloatArray:
    """Return the row of each value on a grid of `finest` rows over the range of finite values.

    Args:
        values: Numbers, (points,); all of them may be infinite or NaN.
        finest: Number of rows.

    Returns:
        Row numbers as floats, (points,), from 0 to `finest`; infinite or NaN where a value is.
    """
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    rows: FloatArray = np.floor((values - low) / (high - low or 1.0) * finest)
    return rows


def hull_in_blocks(
    edges: FloatArray, low: FloatArray, high: FloatArray, finest: int = THINNED_POINTS
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return edges and bounds of a band over cells; beyond ``2 * finest`` cells, the hull over blocks of adjacent
    cells.

    Args:
        edges: Edges of the cells, (cells + 1,).
        low: Lower bounds, (cells,).
        high: Upper bounds, (cells,).
        finest: Largest number of blocks.

    Returns:
        Edges, lower bounds and upper bounds of the blocks.

    >>> hull_in_blocks(np.arange(4.0), np.zeros(3), np.array([1.0, 5.0, 2.0]), finest=1)
    (array([0., 3.]), array([0.]), array([5.]))
    """
    if len(low) <= 2 * finest:
        return edges, low, high
    starts = np.arange(0, len(low), -(-len(low) // finest))
    return np.append(edges[starts], edges[-1]), np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)


def has_geometric_edges(edges: FloatArray) -> bool:
    """Return whether edges suit a logarithmic axis: positive, over a large range, with nearly constant ratios.

    Args:
        edges: Increasing edges of cells.

    >>> has_geometric_edges(np.geomspace(1, 1e6, 61)), has_geometric_edges(np.linspace(1, 1e6, 61))
    (True, False)
    >>> has_geometric_edges(np.array([1.0, 2, 5, 10, 20, 50, 100])), has_geometric_edges(np.geomspace(1, 2, 9))
    (True, False)
    >>> has_geometric_edges(np.sort(np.append(np.geomspace(1, 1e6, 61), [20, np.nextafter(20, 21)])))
    True
    """
    # a smaller range needs no logarithmic axis
    if len(edges) < 4 or not np.isfinite(edges).all() or edges[0] <= 0 or edges[-1] / edges[0] < 30.0:
        return False
    # Cells of a single round number, added to a user's grid, do not change its spacing.
    starts_single = np.append(edges[1:] == np.nextafter(edges[:-1], np.inf), False)
    is_added = starts_single | np.append(False, starts_single[:-1])
    is_added[[0, -1]] = False
    edges = edges[~is_added]
    if len(edges) < 4:
        return False
    ratios = np.diff(np.log(edges))
    return bool(ratios.max() <= 3.0 * ratios.min())  # ratios that differ by more are not geometric


# Stairs and areas between them. Limits come from their corners, which is faster than matplotlib's search of curves.


def draw_stairs(
    ax: Axes, heights: FloatArray, edges: FloatArray, baseline: FloatArray | float | None, **style: Any
) -> None:
    """Draw a step function with an optional filled area, as `Axes.stairs` of matplotlib does, but much faster for many
    steps.

    Args:
        ax: The axes.
        heights: Heights of the steps, (cells,).
        edges: Edges of the steps, (cells + 1,).
        baseline: Where the area begins; None: no area.
        style: Properties of the patch.
    """
    from matplotlib.patches import StepPatch

    stairs = StepPatch(heights, edges, baseline=baseline, **style)  # type: ignore[arg-type]  # arrays and None, too
    ax.add_artist(stairs)
    ax.update_datalim(stairs.get_path().vertices)
    if baseline is not None:
        lowest = float(np.min(baseline))
        stairs.sticky_edges.y.append(lowest)
        ax.update_datalim([(edges[0], lowest)])
    ax.autoscale_view()


def draw_between(
    ax: Axes, edges: FloatArray, lower: FloatArray, upper: FloatArray, *, color: str, alpha: float, title: str | None
) -> None:
    """Shade the area between two bounds, (cells,) each, over each cell; `title` is the legend entry, or None.

    Args:
        ax: Axes to draw on.
        edges: Edges of the cells, (cells + 1,).
        lower: Lower bound in each cell.
        upper: Upper bound in each cell.
        color: Colour of the area.
        alpha: Opacity, from 0 to 1.
        title: Legend entry; None: there is none.
    """
    cells, low, high = hull_in_blocks(edges, lower, upper)
    draw_stairs(ax, high, cells, low, fill=True, facecolor=color, alpha=alpha, linewidth=0, label=title)


RECORDS = "for these records"
"""Part of a legend entry of intervals that cover the noise alone: of the records that were counted."""
POPULATION = "for the population"
"""Part of a legend entry of intervals that cover noise and sampling: of the population that the records are a sample
of."""
BAND_OPACITY = 0.34
"""Opacity, from 0 to 1, of a band for these records (noise alone) on a light background."""
POPULATION_OPACITY = 0.15
"""Opacity, from 0 to 1, of a band for the population (noise and sampling) on a light background; paler, since it lies
around the other one."""
DARK_OPACITY_RATIO = 1.7
"""Opacity of a band on a dark background over that on a light one: bands are harder to see there."""
UNNAMED = "_nolegend_"
"""Label by which matplotlib leaves an artist out of the legend."""


class Shade(NamedTuple):
    """A shaded band, or an error bar at each point.

    Attributes:
        lower: Lower bounds, in units of the curve, one for each of its points or cells.
        upper: Upper bounds, of the same shape.
        label: Legend entry: level, kind, and whether it is for these records or for the population.
    """

    lower: ArrayLike
    upper: ArrayLike
    label: str

    @property
    def endpoints(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds as arrays of doubles."""
        return np.atleast_1d(np.asarray(self.lower, float)), np.atleast_1d(np.asarray(self.upper, float))

    def select_rows(self, rows: Any) -> Shade:
        """Return the band or intervals at some of the points alone.

        Args:
            rows: Indices of points, a slice or a mask.
        """
        lower, upper = self.endpoints
        return self._replace(lower=lower[rows], upper=upper[rows])


def shade_opacity(words: str, ax: Axes) -> float:
    """Return the opacity of a shade: lower for intervals for the population, which are wider, and higher on a dark
    background.

    Args:
        words: Legend entry of the shade, which names its scope.
        ax: Axes with the shade.

    Returns:
        Opacity from 0, invisible, to 1.
    """
    return (POPULATION_OPACITY if POPULATION in words else BAND_OPACITY) * (DARK_OPACITY_RATIO if is_dark(ax) else 1.0)


def choose_colormap(ax: Axes) -> str:
    """Return the colour map of cells: more records are darker, or brighter on a dark background.

    Args:
        ax: Axes with the cells.

    Returns:
        Name of a colour map of matplotlib.
    """
    return "Blues_r" if is_dark(ax) else "Blues"


def describe_interval(level: float, kind: str, coverage: str) -> str:
    """Return the label of a band or of intervals, with the level rounded down.

    Args:
        level: Confidence level, between 0 and 1.
        kind: What it is, such as ``band``.
        coverage: What it holds for, these records or the population.

    >>> describe_interval(0.95, "band", RECORDS), describe_interval(0.95 ** (1 / 4), "band", RECORDS)
    ('95% band for these records', '98.72% band for these records')
    """
    percent = floor(1e4 * level + 1e-6) / 100 if level < 0.9999 else 100 * level
    return f"{percent:.6g}% {kind} {coverage}"


def deduplicate_label(ax: Axes, words: str) -> str:
    """Return the label of a band for the legend, or a hidden label if another curve on the axes has the same one
    already.

    Args:
        ax: Axes with the curves drawn before.
        words: Legend entry in English.
    """
    return UNNAMED if {words, translate(words)} & set(ax.get_legend_handles_labels()[1]) else words


# Plots: layers in the style of a curve; axes, legend and privacy statement are the same for all plots.


SHARE_LIMITS = -0.02, 1.02
"""Limits of an axis of shares from 0 to 1, with a margin, so that lines at the ends are seen."""


class DrawingOptions(TypedDict, total=False):
    """Where a plot is drawn: keyword arguments of functions that draw a curve.

    Attributes:
        ax: Axes to draw on, also with earlier curves; None, or left out: a new figure.
        name: Name of the curve in the legend; None, or left out: the curve has no name.
    """

    ax: Axes | None
    name: str | None


class ShadedDrawingOptions(DrawingOptions, total=False):
    """Where a plot is drawn, and its shades: keyword arguments `ax` and `name` of `DrawingOptions`, and `shades`.

    Attributes:
        shades: Bands or intervals with bounds at each point, drawn in this order, so wider ones come first; left out:
            none.
    """

    shades: Sequence[Shade]


class Picture:
    """One curve on its axes: drawn in layers, then labelled and completed with the privacy statement.

    Args:
        size: Width and height of a new figure, in inches.
        privacy: Privacy statement of the curve, written as a footnote.
        shades: Bands or intervals, wider ones first.
        ax: Axes to draw on; None: a new figure.
        name: Name of the curve in the legend; None: no name.

    Attributes:
        ax: The axes.
        shades: Bands or intervals, wider ones first.
        name: Name of the curve in the legend.
        before: Number of curves drawn on the axes before.
        style: Colour and dash pattern of this curve.
    """

    def __init__(
        self,
        size: tuple[float, float],
        privacy: PrivacyStatement,
        *,
        shades: Sequence[Shade] = (),
        ax: Axes | None = None,
        name: str | None = None,
    ) -> None:
        self.ax = prepare_axes(ax, size)
        self.privacy = privacy
        self.shades = shades
        self.name = name
        self.before = count_curves(self.ax)
        self.style = next_style(self.ax)

    @property
    def is_first(self) -> bool:
        """True if no other curve of this package was drawn on the axes before this curve."""
        return self.before == 0

    def legend_label(self, words: str = "") -> str | None:
        """Return the legend entry: the name of the curve and `words`; None if both are missing."""
        name = () if self.name is None else (format_legend_label(self.name),)
        return ": ".join((*name, *filter(None, (words,)))) or None

    def shade_band(
        self, edges: ArrayLike, lower: ArrayLike, upper: ArrayLike, words: str, alpha: float | None = None
    ) -> None:
        """Shade the area between two bounds, (cells,) each, over each cell, with the legend entry `words`.

        Args:
            edges: Edges of the cells, (cells + 1,).
            lower: Lower bounds, (cells,).
            upper: Upper bounds, (cells,).
            words: Entry in the legend.
            alpha: Opacity from 0 to 1; None: the default of this kind of band.
        """
        ends = (np.asarray(values, dtype=float) for values in (edges, lower, upper))
        dense = shade_opacity(words, self.ax) if alpha is None else alpha
        title = deduplicate_label(self.ax, words)
        draw_between(self.ax, *ends, color=self.style.color, alpha=dense, title=title)

    def shade_slopes(
        self, x: ArrayLike, lower: ArrayLike, upper: ArrayLike, words: str, *, alpha: float | None = None
    ) -> None:
        """Shade the area between two bounds at the points `x`, (points,) each, which straight lines join.

        Args:
            x: Positions, rising.
            lower: Lower bounds.
            upper: Upper bounds.
            words: Legend entry.
            alpha: Opacity from 0 to 1; None: the default of bands with this legend entry.
        """
        alpha = shade_opacity(words, self.ax) if alpha is None else alpha
        how: Any = {"color": self.style.color, "alpha": alpha, "linewidth": 0}
        self.ax.fill_between(x, lower, upper, label=deduplicate_label(self.ax, words), **how)

    def scale_x_axis(self, edges: ArrayLike) -> Picture:
        """Use a logarithmic x axis for the first curve if the cells between `edges` are geometric."""
        if self.is_first and has_geometric_edges(np.asarray(edges, dtype=float)):
            self.ax.set_xscale("log")
        return self

    def draw_bars(
        self, heights: ArrayLike, ends: tuple[ArrayLike, ArrayLike], words: str, *, width: float, alpha: float
    ) -> None:
        """Draw intervals (their ends along x) as horizontal bars at heights `heights`, with the legend entry
        `words`.

        Args:
            heights: Heights of the bars.
            ends: Left and right ends.
            words: Legend entry.
            width: Width of the lines in points.
            alpha: Opacity, from 0 to 1.
        """
        label = deduplicate_label(self.ax, words)
        self.ax.hlines(heights, *ends, color=self.style.color, alpha=alpha, linewidth=width, label=label)

    def draw_line(self, x: ArrayLike, y: ArrayLike, label: str | None) -> None:
        """Draw a line through the points that are visible at the resolution of a plot.

        Args:
            x: Positions of the points.
            y: Heights of the points.
            label: Name in the legend; None: the line has none.
        """
        across = np.asarray(x, dtype=float)
        upwards = np.asarray(y, dtype=float)
        seen = select_visible_points(across, upwards)
        self.draw_points(across[seen], upwards[seen], self.style.dash, linewidth=scale_line_width(1.6), label=label)

    def draw_steps(self, edges: ArrayLike, heights: ArrayLike, *, width: float) -> None:
        """Draw a line that has, from each edge to the next, the height at that edge; `edges` and `heights` have one
        length.

        Args:
            edges: Increasing edges along x, (edges,).
            heights: Height from each edge to the next, (edges,); the last one is drawn at the last edge only.
            width: Width of the line, in points.
        """
        how: Any = {"color": self.style.color, "linestyle": self.style.dash, "linewidth": scale_line_width(width)}
        self.ax.step(edges, heights, where="post", label=self.legend_label(), **how)

    def shades_with_widths(self) -> list[tuple[Shade, float]]:
        """Shades with the widths of their bars; the last bar is narrower, so that the others stay visible."""
        return [(shade, 7.0) for shade in self.shades[:-1]] + [(shade, 4.0) for shade in self.shades[-1:]]

    def draw_points(self, x: ArrayLike, y: ArrayLike, form: str = "o", **style: Any) -> None:
        """Draw points or lines in the colour of the curve.

        Args:
            x: Positions.
            y: Heights.
            form: Marker or line style, as matplotlib writes them.
            style: Further properties of the line.
        """
        self.ax.plot(x, y, form, color=self.style.color, **style)

    def add_legend_note(self, words: str) -> None:
        """Add a legend entry without a symbol.

        Args:
            words: Text of the entry.
        """
        self.ax.plot([], [], " ", label=words)

    def annotate_point(self, x: float, y: float, words: str, up: float) -> None:
        """Write `words` above the point (x, y) of the data, at a distance of `up` points (1/72 inch).

        Args:
            x: Position, in units of the x axis.
            y: Height, in units of the y axis.
        """
        self.ax.annotate(words, (x, y), (0, up), textcoords="offset points", ha="center", fontsize=scale_font_size(8))

    def label_axes(
        self, across: str = "", upwards: str = "", *, place: Place = "best", size: float = 9, plainly: bool = True
    ) -> Picture:
        """Label the axes, format their numbers, add the legend, and return this picture.

        Args:
            across: Label of the x axis; empty: the present label stays.
            upwards: Label of the y axis; empty: the present label stays.
            place: Preferred place of the legend.
            size: Font size of the legend, in points.
            plainly: Whether numbers along the axes are formatted by `artists.format_axes`.
        """
        from .artists import format_axes

        if across:
            self.ax.set_xlabel(format_for(self.ax, add_time_zone(across)), parse_math=False)
        if upwards:
            self.ax.set_ylabel(upwards, parse_math=False)
        if plainly:
            format_axes(self.ax, across)
        add_legend(self.ax, place, size)
        return self

    def add_statement(self) -> Axes:
        """Add the privacy statement below the axes, and return the axes."""
        from .artists import add_statement

        add_statement(self.ax, self.privacy, self.name)
        return self.ax


# Texts of a finished figure in the reader's language.


def translate_figure(ax: Axes) -> Axes:
    """Write all texts of a figure in the language of its readers, those written before unchanged; return `ax`."""
    reader = current_reader()
    figure = ax.figure.get_figure(root=True)
    if reader is None or figure is None:
        return ax
    for axes in figure.axes:
        _translate_axes(axes, reader)
    texts = [*figure.texts, *(text for legend in figure.legends for text in (*legend.get_texts(), legend.get_title()))]
    for text in (*texts, figure._suptitle):  # type: ignore[attr-defined]  # matplotlib has a getter of its text alone
        _translate_text(text, reader)
    return ax


def _translate_axes(ax: Axes, reader: Reader) -> None:
    """Write titles, labels, ticks, legend and other texts of `ax` in the language of a reader.

    Args:
        reader: Translator of texts.
    """
    from matplotlib.ticker import ScalarFormatter

    from .artists import Footnote, LocalisedFormatter, PlainFormatter
    from .layout import fitted_layout

    for text in (ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts):
        if not isinstance(text, Footnote):
            _translate_text(text, reader)
    for axis in (ax.xaxis, ax.yaxis):
        if type(axis.get_major_formatter()) is ScalarFormatter:  # matplotlib's own knows no language
            axis.set_major_formatter(PlainFormatter())
        formatter = axis.get_major_formatter()
        if isinstance(formatter, LocalisedFormatter):
            formatter.reader = reader
        # matplotlib keeps named ticks in a dictionary, by their positions
        for labels in getattr(getattr(formatter, "func", None), "args", ()):
            if isinstance(labels, dict):
                labels.update({position: reader.translate(label) for position, label in labels.items()})
    artists: list[Any] = [*ax.lines, *ax.collections, *ax.patches, *ax.containers]
    for artist in artists:
        label = artist.get_label()
        if (
            isinstance(label, str)
            and not label.startswith("_")
            and getattr(artist, TRANSLATED_WORDS_ATTRIBUTE, None) != label.split()
        ):
            artist.set_label(reader.translate(label))
            setattr(artist, TRANSLATED_WORDS_ATTRIBUTE, str(artist.get_label()).split())
    layout = fitted_layout(ax)
    legend = ax.get_legend()
    if layout is not None and layout.has_legend(ax):
        layout.translate_legend(ax, reader)
    elif legend is not None:
        for text in (*legend.get_texts(), legend.get_title()):
            _translate_text(text, reader)


TRANSLATED_WORDS_ATTRIBUTE = "dpcurves_written"
"""Attribute of a text or artist of matplotlib that holds its words once it is in the reader's language, so that it is
not translated twice."""


def _translate_text(text: Any, reader: Reader) -> None:
    """Write a text of matplotlib in the language of a reader, unless that was done before.

    Args:
        text: Text object of matplotlib.
        reader: Translator of texts.
    """
    words = "" if text is None else text.get_text()
    if words and getattr(text, TRANSLATED_WORDS_ATTRIBUTE, None) != words.split():
        text.set_text(reader.translate(words))
        setattr(text, TRANSLATED_WORDS_ATTRIBUTE, text.get_text().split())


def set_title(ax: Axes, title: str) -> Axes:
    """Set the title of a plot, above the lines that it has, or the common title of several plots. Once set, a title
    stays.

    Args:
        ax: Axes of the plot, or of the first of several.
        title: The title; empty: nothing changes.

    Returns:
        The axes.
    """
    figure = ax.figure.get_figure(root=True)
    panels = [panel for panel in figure.axes if panel.get_title()] if figure is not None else []
    if figure is None or not title:
        return ax
    words = format_for(ax, title)
    style = cast("Any", {"size": scale_font_size(10)})
    if figure.legends:
        figure.legends[0].set_title(words, prop=style)
        figure.legends[0].get_title().set_parse_math(False)
    elif len(panels) == 1:  # a panel of one group, or results of a test that would be read as the title
        lines = panels[0].get_title()
        if lines.splitlines()[0] != words:
            panels[0].title.set_text(f"{words}\n{lines}")  # with the size and distance of its own lines
    elif panels:
        figure.suptitle(words, fontsize=style["size"], parse_math=False)
    else:
        ax.set_title(words, fontsize=style["size"], pad=12 if ax.images else 6, parse_math=False)  # above a colour bar
    return ax


def find_title(ax: Axes) -> str:
    """Return the title of a plot, or the common title of several plots, in one line; empty if it has none.

    Lines below a title are separated from it by semicolons.

    Args:
        ax: Axes of the plot, or of the first of several.
    """
    figure = ax.figure.get_figure(root=True)
    if figure.legends:
        return " ".join(figure.legends[0].get_title().get_text().split())
    titles = [axes.title for axes in figure.axes if axes.get_title()]
    if figure.get_suptitle():
        titles = [figure._suptitle]  # type: ignore[attr-defined]  # matplotlib has a getter of its text alone
    return join_text_lines(ax, titles[0]) if len(titles) == 1 else ""


def join_text_lines(ax: Axes, text: Any) -> str:
    """Return a text of matplotlib in one line: semicolons between lines that were written apart, spaces where the
    layout of `ax` wrapped it.

    Args:
        text: Text object of matplotlib.
    """
    from .layout import fitted_layout

    layout = fitted_layout(ax)
    written = text.get_text() if layout is None else layout.read_unwrapped(text)
    return "; ".join(" ".join(line.split()) for line in written.splitlines() if line.strip())


def reserve_legend_room(ax: Axes, room: float) -> None:
    """Leave free height for the legend, above everything drawn so far.

    Args:
        ax: Axes of the plot.
        room: Height left free, as a fraction of the height of the data.
    """
    ax.autoscale(axis="y")
    ax.margins(y=0.05)  # share of the height left free above and below
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, top + room * (top - bottom))


# Files and inline SVG. Equal plots give equal bytes, without date and program name.


EMPTY_METADATA: dict[str, dict[str, None]] = {
    ".svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Metadata that matplotlib would write into a picture, such as date and program, by file ending: None leaves them out,
so that equal plots give equal bytes. Other endings are refused."""
SALT = "dpcurves"
"""Salt of the identifiers within SVG files. It is fixed, so that equal plots give equal bytes."""


def save_figure(ax: Axes, path: str | PathLike[str]) -> None:
    """Write the figure of `ax` to `path`, in the format of its suffix.

    Raises:
        ValueError: the suffix is not .svg, .png or .pdf.
    """
    ending = Path(path).suffix.lower()
    if ending not in EMPTY_METADATA:
        raise InvalidArgument(
            "plot", f"a file that ends in {', '.join(EMPTY_METADATA)} is needed, got {Path(path).name!r}"
        )
    save_axes(ax, path, ending)


def save_axes(ax: Axes, place: str | PathLike[str] | IO[bytes], ending: str, dots: int = 200) -> None:
    """Write the figure of `ax` to a file, in the format of a suffix, with its title, without date and program name.

    Args:
        ax: The axes.
        place: The file.
        ending: The suffix: ``.svg``, ``.png`` or ``.pdf``.
        dots: Dots per inch.
    """
    from matplotlib import rc_context

    translate_figure(ax)
    title = find_title(ax)
    with rc_context({"svg.hashsalt": SALT, "svg.fonttype": "none"}):
        ax.figure.canvas.figure.savefig(
            place,
            format=ending[1:],
            dpi=dots,
            metadata={**EMPTY_METADATA[ending], **({"Title": title} if title else {})},
            bbox_inches="tight",
            pad_inches=0.05,
        )


def read_alternative_text(svg: str) -> str:
    """Return the alternative text of an SVG element that `svg_text` made; empty for another text.

    Args:
        svg: SVG markup.

    >>> read_alternative_text('<svg role="img" aria-label="a &lt; b" width="1"/>')
    'a < b'
    """
    match = re.match(r'<svg [^>]*?aria-label="([^"]*)"', svg)
    return unescape(match[1]) if match else ""


def prefix_ids(markup: str, prefix: str) -> str:
    """Return `markup` with `prefix` before every id and every reference to an id.

    >>> prefix_ids('<g id="a"/><use href="#a"/><text>id="a"</text>', "b")
    '<g id="b-a"/><use href="#b-a"/><text>id="a"</text>'
    """
    return _replace_in_tags(markup, r'(\sid="|href="#|url\(#)', rf"\g<1>{prefix}-")


def strip_preamble(svg: str) -> str:
    """Remove the XML declaration, the namespaces (implied in HTML) and the style sheet, which would apply to the whole
    page.

    Args:
        svg: Text of an SVG file, as matplotlib writes it.

    Returns:
        The ``<svg>`` element, for an HTML page.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<defs>\s*</defs>", "", svg)
    svg = _replace_in_tags(svg, r'\sxmlns(:\w+)?="[^"]*"', "")
    return re.sub(r"\n\s*\n", "\n", _replace_in_tags(svg, r"\sxlink:href=", " href=")).strip()


def _replace_in_tags(markup: str, pattern: str, replacement: str) -> str:
    """Replace a pattern in tags only. Angle brackets in text and attributes are escaped, so tags are easy to find.

    Args:
        markup: SVG or HTML.
        pattern: Regular expression.
        replacement: Text in its place, as in `re.sub`.
    """
    return re.sub(r"<[^>]*>", lambda tag: re.sub(pattern, replacement, tag[0]), markup)
