"""Plots of several groups: curves by name, means, and small multiples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, sqrt
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import FloatArray
from ..conversation import PrivacyStatement
from .canvas import (
    GREY,
    LANDSCAPE,
    SQUARE,
    UNIT,
    Picture,
    Shade,
    deduplicate_label,
    enlarge_figure,
    prepare_axes,
    shade_opacity,
    style_of,
)
from .numerals import MOST_LABELLED, distinguish_labels, format_number
from .office import SUPPRESSED
from .styles import scale_font_size, scale_line_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.gridspec import GridSpecBase


NO_BANDS: Mapping[str, Shade] = MappingProxyType({})


def draw_curves(
    curves: Mapping[str, tuple[FloatArray, FloatArray]],
    privacy: PrivacyStatement,
    *,
    labels: tuple[str, str],
    ax: Axes | None = None,
    share: bool = True,
    bands: Mapping[str, Shade] = NO_BANDS,
) -> Axes:
    """Draw curves, by name, on common axes.

    Args:
        curves: x and y of each curve, by name.
        labels: Labels of the axes.
        ax: Axes to draw on; None: a new figure.
        share: Whether both axes run from 0 to 1, with the diagonal.
        bands: Bands around curves, by name.
    """
    for place, (name, (x, y)) in enumerate(curves.items()):
        picture = Picture(SQUARE if share else LANDSCAPE, privacy, ax=ax, name=name)
        ax, at = picture.ax, picture.before + place
        picture.style = style_of(ax, at)
        if name in bands:
            low, high, words = bands[name]
            color, label = picture.style.color, deduplicate_label(ax, words)
            ax.fill_between(x, low, high, linewidth=0, color=color, alpha=shade_opacity(words, ax), label=label)
        picture.draw_line(x, y, picture.legend_label())
    if share:
        picture.ax.set(xlim=UNIT, ylim=UNIT, aspect="equal")
        picture.ax.plot(UNIT, UNIT, color=GREY, linestyle=(0, (1, 2)), linewidth=1.2)
    picture.name = None
    return picture.label_axes(*labels, place="above").add_statement()


HALF = "the middle half of the records"


def draw_means(
    names: Sequence[str],
    means: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    shades: Sequence[Shade] = (),
    halves: FloatArray | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a point for each group, the first at the top.

    Args:
        names: Names of the groups.
        means: Means of the groups.
        label: Label of the x axis.
        shades: Intervals of the means.
        halves: First and third quartile of each group, (groups, 2), drawn as thin lines; None: not drawn.
        ax: Axes to draw on; None: a new figure, with room for all groups.
    """
    is_tight = len(names) > MOST_LABELLED
    # inches a group, with and without written means
    size = LANDSCAPE[0], max(LANDSCAPE[1], 1.5 + (0.19 if is_tight else 0.32) * len(names))
    if ax is not None:
        enlarge_figure(ax, size)
    picture, values, rows = Picture(size, privacy, shades=shades, ax=ax), np.asarray(means, float), range(len(names))
    if halves is not None:
        picture.ax.hlines(rows, *halves.T, color=GREY, linewidth=scale_line_width(0.9), label=HALF)
    for shade, thick in picture.shades_with_widths():
        picture.draw_bars(rows, shade.endpoints, shade.label, width=thick, alpha=shade_opacity(shade.label, picture.ax))
    picture.draw_points(values, rows, markersize=4 if is_tight else 5)
    low, high = shades[-1].endpoints if shades else (values, values)
    for value, row, known in zip(values, rows, high - low, strict=True) if len(rows) <= MOST_LABELLED else ():
        picture.annotate_point(value, row, format_number(float(value), float(known) if np.isfinite(known) else 0.0), 6)
    picture.ax.set_yticks(rows, distinguish_labels(names, 30), parse_math=False)  # characters of a group
    if is_tight:
        picture.ax.tick_params(axis="y", labelsize=scale_font_size(8))
    above = picture.ax.figure.get_layout_engine() is not None
    # share of the height for the legend
    picture.ax.set(ylim=(len(rows) - 0.4, -0.9 - (0.0 if above else 0.2 * (len(rows) + 1))), xmargin=0.12)
    picture.ax.grid(axis="y", alpha=0.25, linewidth=0.6)
    return picture.label_axes(label, place="above" if above else "upper right").add_statement()


MOST_BARS = 60
"""Bars. Largest number of categories in a picture; the ones with the largest counts are drawn."""


def draw_category_bars(
    names: Sequence[str],
    counts: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    shades: Sequence[Shade] = (),
    shares: ArrayLike,
    suppressed: ArrayLike,
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a horizontal bar for each category with its intervals, the first at the top, and its numbers beside it.

    At most `MOST_BARS` categories are drawn, those with the largest counts; the legend says how many are left out.

    Args:
        names: Names of the categories.
        counts: Their counts; NaN is *not known*.
        label: Label of the x axis.
        shades: Intervals of the counts.
        shares: Shares of the categories, written behind the counts; NaN is *not known*.
        suppressed: True for counts that are left out on purpose.
        ax: Axes to draw on; None: a new figure, with room for all bars.
        name: Name of the chart in the legend.
    """
    values = np.asarray(counts, dtype=float)
    drawn = np.sort(np.argsort(-np.nan_to_num(values, nan=-1.0), kind="stable")[:MOST_BARS])
    longest_bar_label = 108  # characters: longer names of categories are shortened in the middle
    texts = distinguish_labels([names[index] for index in drawn], longest_bar_label)
    lines = ["\n".join(_balance_lines(text)) for text in texts]
    # inches of a bar with one line, of each further line, and of the widest line at 8 points
    height = 0.24 + 0.14 * max((line.count("\n") for line in lines), default=0)
    widest = 0.068 * max((len(part) for line in lines for part in line.split("\n")), default=0)
    size = LANDSCAPE[0] + max(widest - 1.2, 0.0), max(LANDSCAPE[1], 1.8 + height * len(lines))
    if ax is not None:
        enlarge_figure(ax, size)
    picture = Picture(size, privacy, shades=[shade.select_rows(list(drawn)) for shade in shades], ax=ax, name=name)
    shown, rows = values[drawn], np.arange(len(drawn))
    if picture.is_first:
        picture.ax.barh(rows, np.nan_to_num(shown), height=0.62, color=picture.style.color, alpha=0.3, linewidth=0)
    for shade, thick in picture.shades_with_widths():
        picture.draw_bars(rows, shade.endpoints, shade.label, width=thick, alpha=shade_opacity(shade.label, picture.ax))
    picture.draw_points(shown, rows, "|", markersize=7, markeredgewidth=1.6, label=picture.legend_label())
    texts_behind = _describe_counts(
        picture, shown, np.asarray(shares, dtype=float)[drawn], np.asarray(suppressed)[drawn]
    )
    ends = [np.nan_to_num(np.asarray(shade.upper, dtype=float)) for shade in picture.shades]
    reaches = np.max([np.nan_to_num(shown), *ends], axis=0)
    for row, (text, reach) in enumerate(zip(texts_behind, reaches.tolist(), strict=True)):
        how: Any = {"textcoords": "offset points", "va": "center", "fontsize": scale_font_size(8)}
        picture.ax.annotate(text, (reach, row), (4, 0), **how)
    picture.ax.set_yticks(rows, lines, parse_math=False)
    picture.ax.tick_params(axis="y", labelsize=scale_font_size(8), length=0)
    if len(drawn) < len(values):
        picture.add_legend_note(f"{len(values) - len(drawn):,} categories with smaller counts are not drawn")
    above = picture.ax.figure.get_layout_engine() is not None
    # share of the height for the legend
    picture.ax.set(ylim=(len(rows) - 0.4, -0.6 - (0.0 if above else 0.2 * (len(rows) + 1))))
    # room for the texts behind the bars: inches of a letter at 8 points, over those of the plot, which has about 0.6 of
    # the figure
    rooms = [min(0.075 * (len(text) + 1) / (0.6 * size[0]), 0.6) for text in texts_behind]
    picture.ax.set_xlim(
        0.0, max(reach / (1 - room) for reach, room in zip(reaches.tolist(), rooms, strict=True)) or 1.0
    )
    return picture.label_axes(label, place="above" if above else "upper right").add_statement()


def _balance_lines(text: str) -> list[str]:
    """Return a name in as few lines as needed, of about equal length, with breaks between words where possible."""
    bar_label_line = 36  # characters of a line: longer names of categories are wrapped
    fewest = ceil(len(text) / bar_label_line)
    lines = wrap(text, max(ceil(len(text) / max(fewest, 1)) + 4, 8)) if fewest > 1 else [text]
    return lines if len(lines) <= fewest else wrap(text, bar_label_line) or [text]


def _describe_counts(
    picture: Picture, counts: FloatArray, shares: FloatArray, suppressed: NDArray[np.bool_]
) -> list[str]:
    """Return the text of each bar: its count and share; ``..`` if it is suppressed, or that the count is not known."""
    low, high = picture.shades[-1].endpoints if picture.shades else (counts, counts)
    widths = np.nan_to_num(np.subtract(high, low)).tolist()
    texts = [
        format_number(count if np.isnan(count) else round(count), width)
        for count, width in zip(counts, widths, strict=True)
    ]
    described = [
        text if np.isnan(share) else f"{text} ({share:.1%})" for text, share in zip(texts, shares, strict=True)
    ]
    return [SUPPRESSED if is_suppressed else text for text, is_suppressed in zip(described, suppressed, strict=True)]


MOST_TOGETHER = 4
"""Curves. Largest number of curves with bands on common axes."""
PANEL_SIZE = (2.1, 1.6)
"""Inches. Width and height of a panel of small multiples."""
LEAST_SIZE = (5.6, 4.0)
"""Inches. Least width and height of a figure of small multiples."""
TITLE_SIZE = 8
"""Points. Font size of the title of a panel."""


def draw_small_multiples(
    names: Sequence[str], draw: Sequence[Callable[[Axes], object]], privacy: PrivacyStatement, *, ax: Axes | None = None
) -> Axes:
    """Draw small multiples in place of `ax`: a panel per name, with equal axes, and one privacy statement and legend.

    Returns the first panel.

    Args:
        names: Titles of the panels.
        draw: Draws one panel on given axes.
        privacy: The privacy statement below all panels.
        ax: Axes that the panels replace; None: a new figure.
    """
    from .artists import Footnote, add_statement

    across = ceil(sqrt(len(draw)))
    down = ceil(len(draw) / across)
    size = max(LEAST_SIZE[0], across * PANEL_SIZE[0]), max(LEAST_SIZE[1], down * PANEL_SIZE[1] + 1.0)
    whole = prepare_axes(ax, size)
    if len(whole.figure.axes) == 1:
        whole.figure.set_size_inches(*size)  # type: ignore[union-attr]
    small, below = _split_into_panels(whole, down, across, len(draw))
    for panel, name, fill in zip(small, distinguish_labels(names, 30), draw, strict=True):
        fill(panel)
        note = Footnote.from_axes(panel)
        if note is not None:
            note.remove()
        _format_panel(panel, name)
    _add_shared_legend(small)
    add_statement(below, privacy, None)
    return small[0]


def _split_into_panels(whole: Axes, down: int, across: int, many: int) -> tuple[list[Axes], Axes]:
    """Replace axes by panels, with axes of height 0 below them, which hold the statement."""
    figure, grid = whole.figure, _make_grid(whole, [1.0] * down, across)
    first = figure.add_subplot(grid[0, 0])
    rest = [figure.add_subplot(grid[divmod(number, across)], sharex=first, sharey=first) for number in range(1, many)]
    for number, axes in enumerate([first, *rest]):
        axes.tick_params(labelbottom=number + across >= many, labelleft=number % across == 0)
    below = figure.add_subplot(grid[down, :])
    _hide_axes(below)
    return [first, *rest], below


def stack_panels(whole: Axes, heights: Sequence[float]) -> tuple[list[Axes], Axes]:
    """Replace `whole` by panels of these relative heights, one above the other, each with its own x axis.

    Returns the panels, and empty axes of almost no height below them, which hold the privacy statement. Resizes the
    figure if `whole` is its only axes.
    """
    figure = whole.figure
    if len(figure.axes) == 1:
        figure.set_size_inches(LANDSCAPE[0] + 1.8, 1.5 + 0.4 * sum(heights))  # type: ignore[union-attr]
    grid = _make_grid(whole, heights)
    *panels, below = (figure.add_subplot(grid[number, 0]) for number in range(len(heights) + 1))
    _hide_axes(below)
    return panels, below


def _make_grid(whole: Axes, heights: Sequence[float], across: int = 1) -> GridSpecBase:
    """Replace axes by a grid with a row of height 0 below."""
    position, figure = whole.get_subplotspec(), whole.figure
    whole.remove()
    grid: Any = figure.add_gridspec if position is None else position.subgridspec
    cells: GridSpecBase = grid(len(heights) + 1, across, height_ratios=[*heights, 0.01])
    return cells


def _hide_axes(below: Axes) -> None:
    """Remove the ticks and the frame of axes that hold only the privacy statement."""
    below.set(xticks=[], yticks=[])
    below.spines[:].set_visible(False)


def _format_panel(ax: Axes, name: str) -> None:
    """Set the title, small labels and few ticks of a panel; inner panels have no axis labels."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    ax.set_title(name, fontsize=scale_font_size(TITLE_SIZE), parse_math=False)
    tick_size = 7  # points: font size of the ticks and axis labels of a panel
    ax.tick_params(labelsize=scale_font_size(tick_size))
    if ax.get_xscale() == "log":
        ax.xaxis.set_major_locator(LogLocator(numticks=4))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(3))
    ax.xaxis.label.set_fontsize(scale_font_size(tick_size))
    ax.yaxis.label.set_fontsize(scale_font_size(tick_size))
    ax.xaxis.label.set_visible(ax.xaxis.get_tick_params()["labelbottom"])
    ax.yaxis.label.set_visible(ax.yaxis.get_tick_params()["labelleft"])


def _add_shared_legend(small: Sequence[Axes]) -> None:
    """Replace the legends of all panels by one legend above the figure."""
    for panel in small:
        legend = panel.get_legend()
        if legend is not None:
            legend.remove()
    handles, words = small[0].get_legend_handles_labels()
    if handles:
        figure, letters = small[0].figure, scale_font_size(TITLE_SIZE)
        inches = letters / 72 * (0.56 * sum(sorted(map(len, words))[-2:]) + 8)  # width of a letter over its height
        ncols = 2 if inches < figure.bbox.width / figure.dpi else 1
        figure.legend(handles, words, loc="outside upper center", ncols=ncols, fontsize=letters, frameon=False)
