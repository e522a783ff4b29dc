"""Pictures of columns: distribution functions, quantiles, histograms, bounds, planes of cells, contingency tables."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray
from ..conversation import PrivacyStatement
from .canvas import (
    BLOCKS,
    DEEP,
    GREY,
    LANDSCAPE,
    PALE,
    POPULATION,
    SQUARE,
    LineStyle,
    Shade,
    canvas,
    draw_between,
    draw_stairs,
    explain,
    finish,
    is_blank,
    leave_room,
    next_style,
    once,
    visible,
)
from .numerals import MOST_LABELLED, legend_lettering, lettering, numeral, standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Distribution functions as pictures.


SHARE = "share of records below"
AT_OR_BELOW = "share of records at or below"


def draw_cdf(
    x: ArrayLike,
    y: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a distribution function, interpolated linearly inside cells.

    Args:
        x: Edges of the cells.
        y: Share of records below each edge.
        privacy: The privacy statement that is written below the picture.
        label: The column and its measuring unit, as in ``arr_delay (minutes)``.
        shades: Bands, by their lower and upper ends at each edge. They are drawn in steps: inside a cell the curve may
            rise anywhere, so it is at least what it is at the left edge, and at most what it is at the right one.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    ax = canvas(ax, LANDSCAPE)
    style = next_style(ax)
    edges, shares = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    for shade in shades:
        low, high = np.asarray(shade.lower, dtype=float)[:-1], np.asarray(shade.upper, dtype=float)[1:]
        draw_between(ax, edges, low, high, color=style.color, alpha=shade.depth, title=once(ax, shade.words))
    seen = visible(edges, shares)
    title = None if name is None else legend_lettering(name)
    ax.plot(edges[seen], shares[seen], color=style.color, linestyle=style.dash, linewidth=1.6, label=title)
    if is_blank(ax):
        ax.set_ylim(-0.02, 1.02)
        ax.margins(x=0.01)
    return finish(ax, privacy, across=label, upwards=SHARE, name=name)


def draw_cdf_of_values(
    x: ArrayLike,
    y: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a distribution function of declared values as steps.

    Args:
        x: The values.
        y: Share of records at or below each value.
        privacy: The privacy statement that is written below the picture.
        label: The column and its measuring unit, as in ``age (years)``.
        shades: Bands, by their lower and upper ends at each value.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    ax = canvas(ax, LANDSCAPE)
    style = next_style(ax)
    values, shares = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    edges = np.append(values, values[-1] + (np.diff(values[-2:]).sum() or 1.0))  # the last step is seen, too
    for shade in shades:
        low, high = (np.asarray(end, dtype=float) for end in shade[:2])
        draw_between(ax, edges, low, high, color=style.color, alpha=shade.depth, title=once(ax, shade.words))
    title = None if name is None else legend_lettering(name)
    heights = np.concatenate([[0.0], shares, shares[-1:]])
    ax.step(
        np.append(values[0], edges), heights, where="post", color=style.color, linestyle=style.dash, linewidth=1.6,
        label=title,
    )  # fmt: skip
    if is_blank(ax):
        ax.set_ylim(-0.02, 1.02)
        ax.margins(x=0.01)
    return finish(ax, privacy, across=label, upwards=AT_OR_BELOW, name=name)


# Quantiles with their intervals, as a picture.


QUANTILE_ROOM = -0.03, 1.09
"""From below a share of 0 to above a share of 1, with what is written above it."""
BEYOND = 0.12
"""By so much of the width of a picture an interval without an end goes on."""


def draw_quantiles(
    p: ArrayLike,
    x: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    cells: ArrayLike | None = None,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw quantiles as points of the distribution function.

    Args:
        p: Share of records below each quantile.
        x: The quantiles.
        privacy: The privacy statement that is written below the picture.
        label: The column and its measuring unit.
        cells: The two ends of the cell of each, of shape ``(quantiles, 2)``: quantiles are written to no more digits
            than these warrant, and one whose cell is unbounded is drawn hollow. None: quantiles are exact.
        shades: Simultaneous intervals, by their lower and upper ends. One that is unbounded is drawn as an arrow.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the quantiles.
    """
    from .canvas import sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    style = next_style(ax)
    shares, points = np.atleast_1d(np.asarray(p, dtype=float)), np.atleast_1d(np.asarray(x, dtype=float))
    within = np.column_stack([points, points]) if cells is None else np.asarray(cells, dtype=float).reshape(-1, 2)
    for number, shade in enumerate(shades, 1):
        _draw_bars_across(ax, shares, points, shade, color=style.color, width=7 if number < len(shades) else 4)
    title = None if name is None else legend_lettering(name)
    known = np.isfinite(within).all(axis=1)
    ax.plot(points[known], shares[known], "o", color=style.color, markersize=6, label=title)
    ax.plot(points[~known], shares[~known], "o", color=style.color, markersize=6, markerfacecolor="white")
    if is_blank(ax):
        _mark_shares(ax, shares)
    if len(points) <= MOST_LABELLED:
        known_to = _widths(shades[-1]) if shades else np.zeros(len(points))
        _write_beside(ax, points, shares, np.column_stack([within, known_to]))
    ax.set_xlabel(lettering(label), parse_math=False)
    ax.set_ylabel(SHARE)
    write_plainly(ax)
    explain(ax, "best")
    sign(ax, privacy, name)
    return ax


def _draw_bars_across(
    ax: Axes, shares: FloatArray, points: FloatArray, shade: Shade, *, color: str, width: int
) -> None:
    """Intervals as bars along x; where one has no end, it ends in an arrow beyond all that is known."""
    low, high = (np.atleast_1d(np.asarray(end, dtype=float)) for end in shade[:2])
    known = np.concatenate([end[np.isfinite(end)] for end in (low, high, points)])
    first, last = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    beyond = BEYOND * ((last - first) or abs(last) or 1.0)
    drawn = np.where(np.isfinite(low), low, first - beyond), np.where(np.isfinite(high), high, last + beyond)
    words = once(ax, shade.words)
    ax.hlines(shares, *drawn, color=color, alpha=shade.depth, linewidth=width, label=words)
    for end, tip, sign in zip((low, high), drawn, "<>", strict=True):
        endless = ~np.isfinite(end)
        ax.plot(tip[endless], shares[endless], sign, color=color, alpha=2 * shade.depth, markersize=7)


def _mark_shares(ax: Axes, shares: FloatArray) -> None:
    ax.set_ylim(*QUANTILE_ROOM)
    ax.margins(x=0.12)
    if len(shares) <= MOST_LABELLED and (len(shares) < 2 or np.diff(np.sort(shares)).min() >= 0.04):
        ax.set_yticks(shares, [f"{share:g}" for share in shares])
    ax.grid(axis="y", alpha=0.25, linewidth=0.6)


def _widths(shade: Shade) -> FloatArray:
    return np.atleast_1d(np.asarray(shade.upper, dtype=float) - np.asarray(shade.lower, dtype=float))


def _write_beside(ax: Axes, points: FloatArray, shares: FloatArray, known: FloatArray) -> None:
    """Each quantile, no finer than its cell and its interval: the columns of `known` are both ends and a width."""
    for point, share, (lower, upper, width) in zip(points, shares, known.tolist(), strict=True):
        if np.isfinite(point):
            words = standing(float(point), lower, upper, known_to=width)
            ax.annotate(words, (point, share), (0, 7), textcoords="offset points", ha="center", fontsize=8)


# Quantiles of one curve against those of another, as points beside the diagonal.


DIAGONAL = "equal quantiles"


class SteppedShade(NamedTuple):
    """A region between two step functions.

    Attributes:
        edges: Along x, (steps + 1,).
        lower, upper: Ends along y between two edges, (steps,).
        words: Its label in the legend: level, kind, and whether it is for these records or for the population.
    """

    edges: ArrayLike
    lower: ArrayLike
    upper: ArrayLike
    words: str


def draw_quantile_quantile(
    x: ArrayLike,
    y: ArrayLike,
    privacy: tuple[PrivacyStatement, PrivacyStatement],
    *,
    labels: tuple[str, str],
    shades: Sequence[SteppedShade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a point for each pair of quantiles.

    Args:
        x: Quantiles of the first curve.
        y: Those of the second one.
        privacy: The privacy statement of both, which is written below the picture.
        labels: What x and y axis show.
        shades: Confidence regions for the true pairs.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls it.
    """
    from .canvas import sign
    from .ticks import write_plainly

    ax = canvas(ax, SQUARE)
    style, across, upwards = next_style(ax), np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    for shade in shades:
        depth = PALE if POPULATION in shade.words else DEEP
        ax.stairs(
            shade.upper, shade.edges, baseline=shade.lower, fill=True, color=style.color, alpha=depth, linewidth=0,
            label=once(ax, shade.words),
        )  # fmt: skip
    ends = np.array([min(across.min(), upwards.min()), max(across.max(), upwards.max())])
    ax.plot(ends, ends, color="#6b6b6b", linewidth=1.0, linestyle=(0, (4, 3)), label=DIAGONAL)
    ax.plot(across, upwards, "o", color=style.color, markersize=3.2, label=name)
    ax.set_xlabel(lettering(labels[0]), parse_math=False)
    ax.set_ylabel(lettering(labels[1]), parse_math=False)
    write_plainly(ax)
    explain(ax, "best")
    same = privacy[0] == privacy[1]
    for statement, whose in zip(privacy[: 1 if same else 2], (None,) if same else ("first", "second"), strict=True):
        sign(ax, statement, whose)
    return ax


# Histograms as pictures: counts or shares of cells, and densities where cells are of unequal width.


FILLED = 512
BAR_ROOM = 0.22
GROUND = "0.92"
EVEN = 1e-6
"""Widths that differ by less than this part are equal but for rounding."""
DENSE = " per unit of "
PER_CELL = " per cell"


def draw_bars(
    edges: ArrayLike,
    heights: ArrayLike,
    privacy: PrivacyStatement,
    *,
    upwards: str,
    label: str,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw counts or shares as stairs; cells of unequal width are drawn per unit of x, so that areas are the numbers.

    Args:
        edges: The edges of the cells: one more than there are heights.
        heights: The count or the share of each cell.
        privacy: The privacy statement that is written below the picture.
        upwards: The label of the y axis, as in ``records per cell``.
        label: The column and its measuring unit.
        shades: Intervals, by the lower and upper ends of each height.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the heights.
    """
    ax = canvas(ax, LANDSCAPE)
    style, higher = next_style(ax), not is_blank(ax) and not ax.get_autoscaley_on()
    bounds = np.asarray(edges, dtype=float)
    dense = DENSE in ax.get_ylabel() or _is_uneven(bounds)
    scale = np.diff(bounds) if dense else 1.0
    for shade in shades:
        low, high = (np.asarray(end, dtype=float) / scale for end in shade[:2])
        draw_between(ax, bounds, low, high, color=style.color, alpha=shade.depth, title=once(ax, shade.words))
    title = None if name is None else legend_lettering(name)
    _draw_stairs(ax, bounds, np.asarray(heights, dtype=float) / scale, style, title)
    if is_blank(ax):
        ax.axhline(0, color="0.4", linewidth=0.6)
        ax.margins(x=0.01)
    if shades or higher:  # room for what is drawn last, too
        leave_room(ax, BAR_ROOM)
    density = f"{upwards.removesuffix(PER_CELL)}{DENSE}{lettering(label)}"
    return finish(ax, privacy, across=label, upwards=density if dense else upwards, name=name)


def _is_uneven(bounds: FloatArray) -> bool:
    widths = np.diff(bounds)
    return bool(np.ptp(widths) > EVEN * widths.max())


def _draw_stairs(ax: Axes, bounds: FloatArray, heights: FloatArray, style: LineStyle, title: str | None) -> None:
    if len(heights) > 2 * BLOCKS:
        return draw_between(ax, bounds, heights, heights, color=style.color, alpha=0.9, title=title)
    if is_blank(ax) and len(heights) <= FILLED:
        # In grey, so that it is not taken for a part of the shaded errors, and below them.
        draw_stairs(ax, heights, bounds, 0.0, fill=True, facecolor=GROUND, linewidth=0, zorder=0.9)
    line = {"edgecolor": style.color, "linestyle": style.dash, "linewidth": 1.4}
    draw_stairs(ax, heights, bounds, None, fill=False, label=title, **line)


# A plane of cells as a heat map.


def draw_plane(
    count: ArrayLike,
    edges: tuple[FloatArray, FloatArray],
    labels: tuple[str, str],
    privacy: PrivacyStatement,
    *,
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw how many records lie in each cell; where cells differ in size, how many lie on a unit of area.

    Args:
        count: Records in each cell, of shape ``(columns, rows)``.
        edges: The edges of the cells, along either axis.
        labels: What the axes show.
        privacy: The privacy statement that is written below the picture.
        ax: Where to draw; None: in a new figure.
        name: What stands above the picture.
    """
    from matplotlib.colors import PowerNorm
    from matplotlib.ticker import MaxNLocator

    from .canvas import sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    heights, what = np.asarray(count, dtype=float), "records in a cell"
    if not all(_are_even(each) for each in edges):
        heights, what = heights / np.outer(np.diff(edges[0]), np.diff(edges[1])), "records on a unit of area"
    # The root shows thin tails beside a dense middle.
    shades = PowerNorm(0.5, vmin=0.0, vmax=max(float(heights.max()), 1e-300))
    mesh = ax.pcolormesh(*edges, heights.T, norm=shades, cmap="Blues", rasterized=True)
    bar = ax.figure.colorbar(mesh, ax=ax, label=what, ticks=MaxNLocator(5))
    write_plainly(bar.ax)
    ax.set_xlabel(lettering(labels[0], 60))
    ax.set_ylabel(lettering(labels[1], 60))
    if name is not None:
        ax.set_title(lettering(name, 60))
    write_plainly(ax)
    sign(ax, privacy, None)
    return ax


def _are_even(edges: FloatArray) -> bool:
    widths = np.diff(edges)
    return bool(np.ptp(widths) <= EVEN * widths[0])


# Private bounds as pictures: an interval around zero, or a rectangle.


MARGIN, BOUNDS_ROOM = 1.3, 2.8
LONGEST_LINE, LINE_WIDTH = 120, 48
NEXT = "the next wider one; in white the ends of the next narrower one"
WIDEST = "the widest tried"


def draw_bounds(
    bound: float,
    privacy: PrivacyStatement,
    *,
    label: str,
    covers: str,
    narrower: float,
    wider: float | None,
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw an interval around zero, the next wider one as a thinner line, and the ends of the next narrower one.

    Args:
        bound: Its upper end.
        privacy: The privacy statement that is written below the picture.
        label: What the axis shows.
        covers: The share of the records that it covers, and with which probability.
        narrower: Upper end of the interval that was tried before.
        wider: Upper end of the one that would have been tried next; None: this was the last one.
        ax: Where to draw; None: in a new figure. Several intervals stand one above the other.
        name: What the legend calls it.
    """
    from .canvas import Footnote, sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    style, note = next_style(ax), Footnote.of(ax)
    height = 0 if note is None else note.curves
    if is_blank(ax):
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set_yticks([])
        ax.set_xlabel(lettering(label), parse_math=False)
    words = f"from {numeral(-bound)} to {numeral(bound)}" + ("" if wider is not None else f", {WIDEST}")
    title = words if name is None else f"{legend_lettering(name)}: {words}"
    if wider is not None:
        ends, beside = [-wider, wider], once(ax, NEXT)
        ax.plot(ends, [height] * 2, color=style.color, linewidth=1, alpha=0.45, marker="|", label=beside)
    said = "\n".join((title, *wrap(f"covers {covers}", LINE_WIDTH)))
    ax.plot([-bound, bound], [height] * 2, color=style.color, linewidth=5, solid_capstyle="butt", label=said)
    ax.plot([-narrower, narrower], [height] * 2, color="white", linewidth=0, marker="|", markersize=5)
    ax.set_ylim(-1, height + 2)
    write_plainly(ax)
    explain(ax, "best")
    sign(ax, privacy, name)
    return ax


def draw_plane_bounds(
    bounds: tuple[float, float],
    privacy: PrivacyStatement,
    *,
    labels: tuple[str, str],
    covers: Sequence[str] = (),
    widest: Sequence[str] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a rectangle around the origin.

    Args:
        bounds: Its upper ends along the x axis and along the y axis.
        privacy: The privacy statement that is written below the picture.
        labels: What the axes show.
        covers: The share of the records that each covers, and with which probability.
        widest: Columns for which no wider bound was tried.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls it.
    """
    from .canvas import sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    style = next_style(ax)
    across, upwards = bounds
    if is_blank(ax):
        ax.axhline(0, color=GREY, linewidth=0.8)
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set_xlim(-MARGIN * across, MARGIN * across)
        ax.set_ylim(-MARGIN * upwards, BOUNDS_ROOM * upwards)
        ax.set_xlabel(lettering(labels[0]), parse_math=False)
        ax.set_ylabel(lettering(labels[1]), parse_math=False)
    words = f"± {numeral(across)} by ± {numeral(upwards)}"
    words += "".join(f", {WIDEST} for {lettering(column)}" for column in widest)
    title = words if name is None else f"{legend_lettering(name)}: {words}"
    corners = [-across, across, across, -across, -across], [-upwards, -upwards, upwards, upwards, -upwards]
    ax.fill(*corners, color=style.color, alpha=0.12, linewidth=0)
    said = "\n".join((title, *(part for line in covers for part in wrap(lettering(line, LONGEST_LINE), LINE_WIDTH))))
    ax.plot(*corners, color=style.color, linestyle=style.dash, label=said)
    write_plainly(ax)
    explain(ax, "best")
    sign(ax, privacy, name)
    return ax


# A table of two columns of categories as a heat map with its numbers.


LONGEST_NAME = 18
DARK = 0.55
"""The part of the darkest cell from which on a cell is so dark that white is read better on it."""


def draw_contingency(
    count: ArrayLike,
    share: ArrayLike,
    names: tuple[Sequence[str], Sequence[str]],
    labels: tuple[str, str],
    privacy: PrivacyStatement,
    *,
    title: str,
    error: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one cell for each pair of categories, the darker the larger its share of its row.

    Args:
        count: Records, of shape ``(rows, columns)``.
        share: The share of the records of its row, of the same shape; NaN, as a count may be, is *not known*.
        names: The names of the rows, and of the columns.
        labels: What is counted in rows, and in columns.
        privacy: The privacy statement that is written below the picture.
        title: What stands above it.
        error: How far counts may be off, of the same shape; None: not written.
        ax: Where to draw; None: in a new figure.
    """
    from .canvas import sign

    ax = canvas(ax, (max(LANDSCAPE[0], 1.6 + 0.95 * len(names[1])), max(LANDSCAPE[1], 1.8 + 0.5 * len(names[0]))))
    shares, counts = np.asarray(share, dtype=float), np.asarray(count, dtype=float)
    darkest = float(np.nanmax(np.append(shares, 1e-9)))
    drawn = ax.imshow(shares, cmap="Blues", vmin=0, vmax=darkest, aspect="auto")
    bar = ax.figure.colorbar(drawn, ax=ax, label="share of the row")
    bar.ax.tick_params(labelsize=8)
    if max(counts.shape) <= MOST_LABELLED:
        off = None if error is None else np.asarray(error, dtype=float)
        for row, column in np.ndindex(counts.shape):
            words = numeral(np.rint(counts[row, column]))
            words += "" if off is None or np.isnan(off[row, column]) else f"\n± {numeral(np.rint(off[row, column]))}"
            shown = "white" if shares[row, column] > DARK * darkest else "black"
            ax.text(column, row, words, ha="center", va="center", fontsize=8, color=shown)
    ax.set_yticks(range(len(names[0])), [lettering(name, LONGEST_NAME) for name in names[0]], parse_math=False)
    ax.set_xticks(range(len(names[1])), [lettering(name, LONGEST_NAME) for name in names[1]], parse_math=False)
    ax.set_ylabel(lettering(labels[0], 60), parse_math=False)
    ax.set_xlabel(lettering(labels[1], 60), parse_math=False)
    ax.set_title(title, fontsize=9, parse_math=False)
    sign(ax, privacy, None)
    return ax
