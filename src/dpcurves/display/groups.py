"""Pictures of several groups: survival curves with their at-risk table, means, and small multiples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray
from ..conversation import PrivacyStatement
from .canvas import GREY, LANDSCAPE, UNIT, Picture, Shade, Shaded, canvas, depth, grow, once
from .numerals import MOST_LABELLED, lettering, numeral, unlike
from .styles import is_dark, points, thickness

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.gridspec import GridSpecBase


# Numbers at risk below the axis of a survival curve, one row for each curve, as the field shows them.


SIZE, ROW, BELOW_TICKS = 7.0, 9.5, 18.0
"""In points: letters, the height of a row, and where the first row begins."""
HEAD = "number at risk"
SURE = "number at risk (±: 95% intervals for these records, all at once)"
MOST, NARROW, LONGEST = 6, 2.8, 12
"""Times that are told at most; inches below which there is no room for any; letters of a name."""
GROUP, DARK, PALE = "at risk", "#333333", "#cccccc"


class AtRiskRow(NamedTuple):
    """A row of a table of numbers at risk.

    Attributes:
        edges: The edges of the grid, (cells + 1,).
        records: At risk in the cell that begins at each edge but the last, (cells,).
        error: Half the width of a confidence interval for each, (cells,); None: no interval is shown.
    """

    edges: FloatArray
    records: FloatArray
    error: FloatArray | None


def write_at_risk(ax: Axes, row: AtRiskRow, name: str | None, color: str) -> None:
    """Write one row more below `ax`, where there is room; before the axis is signed."""
    from .artists import make_room

    figure = ax.figure.get_figure(root=True)
    if figure is None or ax.get_position().width * figure.get_size_inches()[0] < NARROW:
        return
    rows = sum(text.get_gid() == GROUP for text in ax.texts)
    if rows == 0:
        _write(
            ax,
            (0.0, points(-BELOW_TICKS)),
            HEAD if row.error is None else SURE,
            color=PALE if is_dark(ax) else DARK,
            horizontalalignment="left",
        )
    down = points(-BELOW_TICKS - ROW * (rows + 1))
    if name is not None:
        _write(ax, (-0.06, down), lettering(name, LONGEST), color=color, horizontalalignment="right")
    # Ticks inside the grid, and how many are at risk from there on.
    inside = [float(tick) for tick in ax.get_xticks() if row.edges[0] <= tick < row.edges[-1]]
    for time in inside[:: -(-len(inside) // MOST)] if inside else [float(row.edges[0])]:
        cell = int(np.searchsorted(row.edges, time, side="right")) - 1
        words = numeral(round(max(float(row.records[cell]), 0.0)))
        words += "" if row.error is None else f"±{numeral(np.ceil(row.error[cell]))}"
        _write(ax, (time, down), words, "data", color=color, horizontalalignment="center")
    ax.texts[-1].set_gid(GROUP)
    ax.xaxis.labelpad = points(BELOW_TICKS + ROW * (rows + 2) - 12.0)
    make_room(ax, points(ROW * (2 if rows == 0 else 1)))


def _write(ax: Axes, place: tuple[float, float], words: str, across: str = "axes fraction", **style: Any) -> None:
    """Write at this place across, and so many points below the axis."""
    ax.annotate(
        words, (place[0], 0.0), (0.0, place[1]), xycoords=(across, "axes fraction"), textcoords="offset points",
        fontsize=points(SIZE), verticalalignment="top", annotation_clip=False, parse_math=False, **style,
    )  # fmt: skip


def draw_survival(
    x: ArrayLike,
    y: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    at_risk: AtRiskRow | None = None,
    weighted: bool = False,
    **on: Unpack[Shaded],
) -> Axes:
    """Draw the share that survives as steps that go down where cells end.

    Args:
        x: Edges of cells.
        y: The share that survives up to each of them.
        label: What the x axis shows.
        at_risk: Numbers that are written below the axis, where there is room.
        weighted: Whether records have weights, which the axis then says.
    """
    picture, edges = Picture(LANDSCAPE, privacy, **on), np.asarray(x, dtype=float)
    ax, color = picture.ax, picture.style.color
    for shade in picture.shades:
        filled = ax.fill_between(
            edges, *shade.ends, step="post", color=color, alpha=depth(shade.words, ax), linewidth=0
        )
        filled.set_label(once(ax, shade.words))
    picture.steps(edges, y, width=1.4)
    ax.set(ylim=UNIT, xmargin=0.01)
    picture.explain(label, "weighted " * weighted + "share without an event")
    if at_risk is not None:
        write_at_risk(ax, at_risk, picture.name, color)
    return picture.signed()


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


# Many pictures of one kind beside each other, where one would be too crowded.


MOST_TOGETHER = 4
"""So many curves with their bands can be told apart on one picture."""
EACH = (2.1, 1.6)
LEAST_SIZE = (5.6, 4.0)
TITLE, TICK = 8, 7


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
    place, figure = whole.get_subplotspec(), whole.figure
    heights = [1.0] * down + [0.01]
    grid: GridSpecBase = (
        figure.add_gridspec(down + 1, across, height_ratios=heights)
        if place is None
        else place.subgridspec(down + 1, across, height_ratios=heights)
    )
    whole.remove()
    first = figure.add_subplot(grid[0, 0])
    rest = [figure.add_subplot(grid[divmod(number, across)], sharex=first, sharey=first) for number in range(1, many)]
    for number, each in enumerate([first, *rest]):
        each.tick_params(labelbottom=number + across >= many, labelleft=number % across == 0)
    below = figure.add_subplot(grid[down, :])
    _empty(below)
    return [first, *rest], below


def divided(whole: Axes, heights: Sequence[float]) -> tuple[list[Axes], Axes]:
    """Axes below each other in the place of large ones, each with its own x axis, and some without height below."""
    place, figure = whole.get_subplotspec(), whole.figure
    if len(figure.axes) == 1:
        whole.figure.set_size_inches(LANDSCAPE[0] + 1.8, 1.5 + 0.4 * sum(heights))  # type: ignore[union-attr]
    shape: Any = {"height_ratios": [*heights, 0.01]}
    grid: GridSpecBase = (
        figure.add_gridspec(len(heights) + 1, 1, **shape)
        if place is None
        else place.subgridspec(len(heights) + 1, 1, **shape)
    )
    whole.remove()
    *panels, below = (figure.add_subplot(grid[number, 0]) for number in range(len(heights) + 1))
    _empty(below)
    return panels, below


def _empty(below: Axes) -> None:
    below.set(xticks=[], yticks=[])
    below.spines[:].set_visible(False)


def _tidy(ax: Axes, name: str) -> None:
    """A title, and words only at axes that have numbers."""
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
        figure = small[0].figure
        figure.legend(handles, words, loc="outside upper center", ncols=2, fontsize=points(TITLE), frameon=False)
