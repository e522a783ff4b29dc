"""Pictures of several groups: survival curves with their at-risk table, means, and small multiples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray
from ..conversation import PrivacyStatement
from .canvas import LANDSCAPE, Shade, canvas, explain, next_style, once
from .numerals import MOST_LABELLED, legend_lettering, lettering, numeral, standing

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
GROUP, DARK = "at risk", "#333333"


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
    from .canvas import make_room

    figure = ax.figure.get_figure(root=True)
    if figure is None or ax.get_position().width * figure.get_size_inches()[0] < NARROW:
        return
    rows = sum(text.get_gid() == GROUP for text in ax.texts)
    if rows == 0:
        _write(ax, (0.0, -BELOW_TICKS), HEAD if row.error is None else SURE, color=DARK, horizontalalignment="left")
    down = -BELOW_TICKS - ROW * (rows + 1)
    if name is not None:
        _write(ax, (-0.06, down), lettering(name, LONGEST), color=color, horizontalalignment="right")
    for time, words in _told(ax, row):
        _write(ax, (time, down), words, "data", color=color, horizontalalignment="center")
    ax.texts[-1].set_gid(GROUP)
    ax.xaxis.labelpad = BELOW_TICKS + ROW * (rows + 2) - 12.0
    make_room(ax, ROW * (2 if rows == 0 else 1))


def _told(ax: Axes, row: AtRiskRow) -> list[tuple[float, str]]:
    """Ticks inside the grid, and how many are at risk from there on."""
    inside = [float(tick) for tick in ax.get_xticks() if row.edges[0] <= tick < row.edges[-1]]
    times = inside[:: -(-len(inside) // MOST)] if inside else [float(row.edges[0])]
    cells = np.searchsorted(row.edges, times, side="right") - 1
    return [(time, _number(row, cell)) for time, cell in zip(times, cells.tolist(), strict=True)]


def _number(row: AtRiskRow, cell: int) -> str:
    records = numeral(round(max(float(row.records[cell]), 0.0)))
    return records if row.error is None else f"{records}±{numeral(np.ceil(row.error[cell]))}"


def _write(ax: Axes, place: tuple[float, float], words: str, across: str = "axes fraction", **style: Any) -> None:
    """Write at this place across, and so many points below the axis."""
    ax.annotate(
        words, (place[0], 0.0), (0.0, place[1]), xycoords=(across, "axes fraction"), textcoords="offset points",
        fontsize=SIZE, verticalalignment="top", annotation_clip=False, parse_math=False, **style,
    )  # fmt: skip


# Survival curves as steps.


def draw_survival(
    x: ArrayLike,
    y: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    at_risk: AtRiskRow | None = None,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw the share that survives as steps that go down where cells end.

    Args:
        x: Edges of cells.
        y: The share that survives up to each of them.
        privacy: The privacy statement that is written below the picture.
        label: What the x axis shows.
        at_risk: Numbers that are written below the axis, where there is room.
        shades: Bands, by their lower and upper ends at the edges.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    from .canvas import sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    style, edges = next_style(ax), np.asarray(x, dtype=float)
    for shade in shades:
        low, high = (np.asarray(end, dtype=float) for end in shade[:2])
        filled = ax.fill_between(edges, low, high, step="post", color=style.color, alpha=shade.depth, linewidth=0)
        filled.set_label(once(ax, shade.words))
    title = None if name is None else legend_lettering(name)
    ax.step(edges, np.asarray(y), where="post", color=style.color, linestyle=style.dash, linewidth=1.4, label=title)
    ax.set_ylim(-0.02, 1.02)
    ax.margins(x=0.01)
    ax.set_xlabel(lettering(label), parse_math=False)
    ax.set_ylabel("share without an event")
    write_plainly(ax)
    explain(ax, "best")
    if at_risk is not None:
        write_at_risk(ax, at_risk, name, style.color)
    sign(ax, privacy, name)
    return ax


# Means of several groups, one above the other, as dots with intervals.


MEANS_ROW = 0.32
"""Inches that each group needs."""
LEGEND = 0.2
"""The part of the height that is left to the legend."""
LONGEST_NAME = 30


def draw_means(
    names: Sequence[str],
    means: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw one dot for each group, the first at the top.

    Args:
        names: The names of the groups.
        means: The means of the groups.
        privacy: The privacy statement that is written below the picture.
        label: What the x axis shows.
        shades: Intervals, by the lower and upper ends of each mean.
        ax: Where to draw; None: in a new figure, which is as high as the groups need.
    """
    from .canvas import sign
    from .ticks import write_plainly

    ax = canvas(ax, (LANDSCAPE[0], max(LANDSCAPE[1], 1.5 + MEANS_ROW * len(names))))
    style, values, rows = next_style(ax), np.asarray(means, dtype=float), np.arange(len(names))
    width = np.zeros(len(names))
    for number, shade in enumerate(shades, 1):
        low, high = (np.asarray(end, dtype=float) for end in shade[:2])
        thick = 7 if number < len(shades) else 4
        ax.hlines(rows, low, high, color=style.color, alpha=shade.depth, linewidth=thick, label=once(ax, shade.words))
        width = high - low
    ax.plot(values, rows, "o", color=style.color, markersize=5)
    labelled = zip(values.tolist(), rows, width.tolist(), strict=True) if len(rows) <= MOST_LABELLED else ()
    for value, row, known in labelled:
        words = standing(value, value, value, known_to=known)
        ax.annotate(words, (value, row), (0, 6), textcoords="offset points", ha="center", fontsize=8)
    ax.set_yticks(rows, [lettering(name, LONGEST_NAME) for name in names], parse_math=False)
    ax.set_ylim(len(rows) - 0.4, -0.9 - LEGEND * (len(rows) + 1))
    ax.margins(x=0.12)
    ax.set_xlabel(lettering(label), parse_math=False)
    write_plainly(ax)
    explain(ax, "upper right")
    sign(ax, privacy, None)
    return ax


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
    from .canvas import Footnote, sign

    across = ceil(sqrt(len(draw)))
    down = ceil(len(draw) / across)
    size = max(LEAST_SIZE[0], across * EACH[0]), max(LEAST_SIZE[1], down * EACH[1] + 1.0)
    whole = canvas(ax, size)
    if len(whole.figure.axes) == 1:
        whole.figure.set_size_inches(*size)  # type: ignore[union-attr]
    small, below = _divided(whole, down, across, len(draw))
    for each, name, fill in zip(small, names, draw, strict=True):
        fill(each)
        note = Footnote.of(each)
        if note is not None:
            note.remove()
        _tidy(each, lettering(name, 30))
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
    below.set(xticks=[], yticks=[])
    below.spines[:].set_visible(False)
    return [first, *rest], below


def _tidy(ax: Axes, name: str) -> None:
    """A title, and words only at axes that have numbers."""
    from matplotlib.ticker import MaxNLocator

    ax.set_title(name, fontsize=TITLE, parse_math=False)
    ax.tick_params(labelsize=TICK)
    ax.xaxis.set_major_locator(MaxNLocator(3))
    ax.xaxis.label.set_fontsize(TICK)
    ax.yaxis.label.set_fontsize(TICK)
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
        figure.legend(handles, words, loc="outside upper center", ncols=2, fontsize=TITLE, frameon=False)
