"""Pictures of several groups: curves by their names, means, and small multiples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray
from ..conversation import PrivacyStatement
from .canvas import GREY, LANDSCAPE, SQUARE, UNIT, Picture, Shade, canvas, depth, grow, once, style_of
from .numerals import MOST_LABELLED, numeral, unlike
from .styles import points, thickness

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
    """Draw curves by their names on common axes.

    Args:
        curves: Places and heights of each.
        labels: What both axes show.
        ax: Where; None: on a new figure.
        share: Whether both axes are from 0 to 1, with a line from one end to the other.
        bands: A band around a curve, by its name.
    """
    for place, (name, (x, y)) in enumerate(curves.items()):
        picture = Picture(SQUARE if share else LANDSCAPE, privacy, ax=ax, name=name)
        ax, at = picture.ax, picture.before + place
        picture.style = style_of(ax, at)
        if name in bands:
            low, high, words = bands[name]
            color, label = picture.style.color, once(ax, words)
            ax.fill_between(x, low, high, linewidth=0, color=color, alpha=depth(words, ax), label=label)
        picture.line(x, y, picture.entry())
    if share:
        picture.ax.set(xlim=UNIT, ylim=UNIT, aspect="equal")
        picture.ax.plot(UNIT, UNIT, color=GREY, linestyle=(0, (1, 2)), linewidth=1.2)
    picture.name = None
    return picture.explain(*labels, place="above").signed()


MEANS_ROW, TIGHT_ROW = 0.32, 0.19
"""Inches that each group needs, and where there are so many that no numbers are written."""
LEGEND = 0.2
"""The part of the height that is left to the legend, where it is not above the picture."""
HALF = "the middle half of the records"
LONGEST_NAME = 30


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
    """Draw one dot for each group, the first at the top.

    Args:
        names: The names of the groups.
        means: The means of the groups.
        label: What the x axis shows.
        shades: Intervals, by the lower and upper ends of each mean.
        halves: The first and the third quartile of each group, (groups, 2), drawn as thin lines; None: not drawn.
        ax: Where to draw; None: in a new figure, which is as high as the groups need.
    """
    many = len(names) > MOST_LABELLED
    size = LANDSCAPE[0], max(LANDSCAPE[1], 1.5 + (TIGHT_ROW if many else MEANS_ROW) * len(names))
    if ax is not None:
        grow(ax, size)
    picture, values, rows = Picture(size, privacy, shades=shades, ax=ax), np.asarray(means, float), range(len(names))
    if halves is not None:
        picture.ax.hlines(rows, *halves.T, color=GREY, linewidth=thickness(0.9), label=HALF)
    for shade, thick in picture.nested():
        picture.bars(rows, shade.ends, shade.words, width=thick, alpha=depth(shade.words, picture.ax))
    picture.plot(values, rows, markersize=4 if many else 5)
    low, high = shades[-1].ends if shades else (values, values)
    for value, row, known in zip(values, rows, high - low, strict=True) if len(rows) <= MOST_LABELLED else ():
        picture.beside(value, row, numeral(float(value), float(known) if np.isfinite(known) else 0.0), 6)
    picture.ax.set_yticks(rows, unlike(names, LONGEST_NAME), parse_math=False)
    if many:
        picture.ax.tick_params(axis="y", labelsize=points(8))
    above = picture.ax.figure.get_layout_engine() is not None
    picture.ax.set(ylim=(len(rows) - 0.4, -0.9 - (0.0 if above else LEGEND * (len(rows) + 1))), xmargin=0.12)
    picture.ax.grid(axis="y", alpha=0.25, linewidth=0.6)
    return picture.explain(label, place="above" if above else "upper right").signed()


MOST_TOGETHER = 4
"""So many curves with their bands can be told apart on one picture."""
EACH = (2.1, 1.6)
LEAST_SIZE = (5.6, 4.0)
TITLE, TICK = 8, 7
WIDTH = 0.56
"""Width of a letter of a legend, in heights."""


def draw_small(
    names: Sequence[str], draw: Sequence[Callable[[Axes], object]], privacy: PrivacyStatement, *, ax: Axes | None = None
) -> Axes:
    """Draw small multiples: a panel for each name, all with the same axes, in the place of `ax`.

    The privacy statement and the legend appear once. Returns the first of the panels.

    Args:
        names: The titles of the panels.
        draw: Draws one panel on the axes that it is given.
        privacy: The privacy statement that is written below all of them.
        ax: The axes that the panels replace; None: in a new figure.
    """
    from .artists import Footnote, sign

    across = ceil(sqrt(len(draw)))
    down = ceil(len(draw) / across)
    size = max(LEAST_SIZE[0], across * EACH[0]), max(LEAST_SIZE[1], down * EACH[1] + 1.0)
    whole = canvas(ax, size)
    if len(whole.figure.axes) == 1:
        whole.figure.set_size_inches(*size)  # type: ignore[union-attr]
    small, below = _divided(whole, down, across, len(draw))
    for each, name, fill in zip(small, unlike(names, 30), draw, strict=True):
        fill(each)
        note = Footnote.of(each)
        if note is not None:
            note.remove()
        _tidy(each, name)
    _explain_once(small)
    sign(below, privacy, None)
    return small[0]


def _divided(whole: Axes, down: int, across: int, many: int) -> tuple[list[Axes], Axes]:
    """Small axes in the place of large ones, and below them axes without a height that carry what is written there."""
    figure, grid = whole.figure, _grid(whole, [1.0] * down, across)
    first = figure.add_subplot(grid[0, 0])
    rest = [figure.add_subplot(grid[divmod(number, across)], sharex=first, sharey=first) for number in range(1, many)]
    for number, each in enumerate([first, *rest]):
        each.tick_params(labelbottom=number + across >= many, labelleft=number % across == 0)
    below = figure.add_subplot(grid[down, :])
    _empty(below)
    return [first, *rest], below


def divided(whole: Axes, heights: Sequence[float]) -> tuple[list[Axes], Axes]:
    """Axes below each other in the place of large ones, each with its own x axis, and some without height below."""
    figure = whole.figure
    if len(figure.axes) == 1:
        figure.set_size_inches(LANDSCAPE[0] + 1.8, 1.5 + 0.4 * sum(heights))  # type: ignore[union-attr]
    grid = _grid(whole, heights)
    *panels, below = (figure.add_subplot(grid[number, 0]) for number in range(len(heights) + 1))
    _empty(below)
    return panels, below


def _grid(whole: Axes, heights: Sequence[float], across: int = 1) -> GridSpecBase:
    """Cells in the place of large axes, which go, and below them a row without height."""
    place, figure = whole.get_subplotspec(), whole.figure
    whole.remove()
    made: Any = figure.add_gridspec if place is None else place.subgridspec
    cells: GridSpecBase = made(len(heights) + 1, across, height_ratios=[*heights, 0.01])
    return cells


def _empty(below: Axes) -> None:
    below.set(xticks=[], yticks=[])
    below.spines[:].set_visible(False)


def _tidy(ax: Axes, name: str) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator

    ax.set_title(name, fontsize=points(TITLE), parse_math=False)
    ax.tick_params(labelsize=points(TICK))
    if ax.get_xscale() == "log":
        ax.xaxis.set_major_locator(LogLocator(numticks=4))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(3))
    ax.xaxis.label.set_fontsize(points(TICK))
    ax.yaxis.label.set_fontsize(points(TICK))
    ax.xaxis.label.set_visible(ax.xaxis.get_tick_params()["labelbottom"])
    ax.yaxis.label.set_visible(ax.yaxis.get_tick_params()["labelleft"])


def _explain_once(small: Sequence[Axes]) -> None:
    for each in small:
        legend = each.get_legend()
        if legend is not None:
            legend.remove()
    handles, words = small[0].get_legend_handles_labels()
    if handles:
        figure, letters = small[0].figure, points(TITLE)
        inches = letters / 72 * (WIDTH * sum(sorted(map(len, words))[-2:]) + 8)
        ncols = 2 if inches < figure.bbox.width / figure.dpi else 1
        figure.legend(handles, words, loc="outside upper center", ncols=ncols, fontsize=letters, frameon=False)
