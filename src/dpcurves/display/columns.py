"""Pictures of columns: distribution functions, quantiles, histograms, bounds, planes of cells, contingency tables.

Each is given the privacy statement that is written below it, and its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray
from ..conversation import PrivacyStatement
from .canvas import (
    BLOCKS,
    GREY,
    LANDSCAPE,
    SQUARE,
    UNIT,
    DrawingOptions,
    Picture,
    Shade,
    ShadedDrawingOptions,
    choose_colormap,
    deduplicate_label,
    draw_between,
    draw_stairs,
    enlarge_figure,
    has_geometric_edges,
    reserve_legend_room,
    shade_opacity,
)
from .numerals import MOST_LABELLED, distinguish_labels, format_in_cell, format_label, format_number
from .styles import is_dark, scale_font_size, scale_line_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SHARE = "share of records below"
AT_OR_BELOW = "share of records at or below"


COARSEST, COARSE, FAINT = 21, 257, 0.07
"""So many edges or fewer leave steps as wide as bars, or steps that are seen one by one; how faint they are drawn."""
ANYWHERE = "wherever values lie in their cells"
WEIGHTED = "weighted "
"""Begins the words of an axis where records have weights."""


def draw_cdf(
    x: ArrayLike,
    y: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    weighted: bool = False,
    **on: Unpack[ShadedDrawingOptions],
) -> Axes:
    """Draw a distribution function, interpolated linearly inside cells.

    Bands are drawn in steps: inside a cell the curve may rise anywhere, so it is at least what it is at the left edge,
    and at most what it is at the right one. Where steps would be seen one by one, what is said at edges is joined by
    straight lines, which bound a curve that is straight between edges; and an area behind contains the steps. It is
    faint, and has a smooth outline, which is up to a cell further out, unless cells are as wide as bars.

    Args:
        x: Edges of the cells.
        y: Share of records below each edge.
        label: The column and its measuring unit, as in ``arr_delay (minutes)``.
        weighted: Whether records have weights, which the axis then says.
    """
    picture = Picture(LANDSCAPE, privacy, **on).scale_x_axis(x)
    for shade in picture.shades:
        low, high = shade.endpoints
        if len(low) > COARSE:
            picture.shade_band(x, low[:-1], high[1:], shade.label)
            continue
        if shade is picture.shades[0] and len(low) > COARSEST:
            picture.shade_slopes(x, np.append(low[0], low[:-1]), np.append(high[1:], high[-1]), ANYWHERE, alpha=FAINT)
        elif shade is picture.shades[0]:
            picture.shade_band(x, low[:-1], high[1:], ANYWHERE, alpha=FAINT)
        picture.shade_slopes(x, low, high, shade.label)
    picture.draw_line(x, y, picture.legend_label())
    return _finish_shares(picture, label, WEIGHTED * weighted + SHARE)


def draw_cdf_of_values(
    x: ArrayLike,
    y: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    weighted: bool = False,
    **on: Unpack[ShadedDrawingOptions],
) -> Axes:
    """Draw a distribution function of declared values as steps.

    Args:
        x: The values.
        y: Share of records at or below each value.
        label: The column and its measuring unit, as in ``age (years)``.
        weighted: See `draw_cdf`.
    """
    picture, values, shares = Picture(LANDSCAPE, privacy, **on), np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    edges = np.append(values, values[-1] + (np.diff(values[-2:]).sum() or 1.0))  # the last step is seen, too
    for shade in picture.shades:
        picture.shade_band(edges, *shade)
    picture.draw_steps(np.append(values[0], edges), np.concatenate([[0.0], shares, shares[-1:]]), width=1.6)
    return _finish_shares(picture, label, WEIGHTED * weighted + AT_OR_BELOW)


def _finish_shares(picture: Picture, label: str, upwards: str) -> Axes:
    if picture.is_first:
        picture.ax.set(ylim=UNIT, xmargin=0.01)
    return picture.label_axes(label, upwards).add_statement()


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
    edges: ArrayLike = (),
    weighted: bool = False,
    **on: Unpack[ShadedDrawingOptions],
) -> Axes:
    """Draw quantiles as points of the distribution function, and intervals that are unbounded as arrows.

    Args:
        p: Share of records below each quantile.
        x: The quantiles.
        label: The column and its measuring unit.
        cells: The two ends of the cell of each, of shape ``(quantiles, 2)``: quantiles are written to no more digits
            than these warrant, and one whose cell is unbounded is drawn hollow. None: quantiles are exact.
        edges: The edges of the grid, if there is one: of a geometric one the axis is logarithmic.
        weighted: See `draw_cdf`.
    """
    picture = Picture(LANDSCAPE, privacy, **on).scale_x_axis(edges)
    shares, points = np.atleast_1d(np.asarray(p, dtype=float)), np.atleast_1d(np.asarray(x, dtype=float))
    within = np.column_stack([points, points]) if cells is None else np.asarray(cells, dtype=float).reshape(-1, 2)
    for shade, thick in picture.shades_with_widths():
        _draw_bars_across(picture, shares, points, shade, thick)
    known = np.isfinite(within).all(axis=1)
    picture.draw_points(points[known], shares[known], markersize=6, label=picture.legend_label())
    picture.draw_points(points[~known], shares[~known], markersize=6, markerfacecolor=picture.ax.get_facecolor())
    if picture.is_first:
        _mark_shares(picture.ax, shares)
    if len(points) <= MOST_LABELLED:
        low, high = picture.shades[-1].endpoints if picture.shades else (points, points)
        for point, share, (lower, upper), width in zip(points, shares, within.tolist(), high - low, strict=True):
            if np.isfinite(point):
                picture.annotate_point(
                    point, share, format_in_cell(float(point), lower, upper, known_to=float(width)), 7
                )
    return picture.label_axes(label, WEIGHTED * weighted + SHARE).add_statement()


def _draw_bars_across(picture: Picture, shares: FloatArray, points: FloatArray, shade: Shade, width: float) -> None:
    """Intervals as bars along x; where one has no end, it ends in an arrow beyond all that is known."""
    low, high = shade.endpoints
    known = np.concatenate([end[np.isfinite(end)] for end in (low, high, points)])
    first, last = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    beyond = BEYOND * ((last - first) or abs(last) or 1.0)
    before, after = first - beyond, last + beyond
    if picture.ax.get_xscale() == "log":
        ratio = (last / first or 1.0) ** BEYOND
        before, after = first / ratio, last * ratio
    drawn = np.where(np.isfinite(low), low, before), np.where(np.isfinite(high), high, after)
    alpha = shade_opacity(shade.label, picture.ax)
    picture.draw_bars(shares, drawn, shade.label, width=width, alpha=alpha)
    for end, tip, arrow in zip((low, high), drawn, "<>", strict=True):
        endless = ~np.isfinite(end)
        picture.draw_points(tip[endless], shares[endless], arrow, alpha=min(2 * alpha, 1.0), markersize=7)


def _mark_shares(ax: Axes, shares: FloatArray) -> None:
    ax.set(ylim=QUANTILE_ROOM, xmargin=0.12)
    if len(shares) <= MOST_LABELLED and (len(shares) < 2 or np.diff(np.sort(shares)).min() >= 0.04):
        ax.set_yticks(shares, [f"{share:g}" for share in shares])
    ax.grid(axis="y", alpha=0.25, linewidth=0.6)


DIAGONAL = "equal quantiles"
THIN_CROSS, THICK_CROSS = 0.9, 2.4


class CrossedShade(NamedTuple):
    """An interval along x and one along y at each point, drawn as a cross.

    Attributes:
        across: Ends along x, (points, 2).
        upwards: Ends along y, (points, 2).
        label: Its label in the legend: level, kind, and whether it is for these records or for the population.
    """

    across: FloatArray
    upwards: FloatArray
    label: str


def draw_quantile_quantile(
    x: ArrayLike,
    y: ArrayLike,
    privacy: tuple[PrivacyStatement, PrivacyStatement],
    *,
    labels: tuple[str, str],
    edges: tuple[ArrayLike, ArrayLike] = ((), ()),
    shades: Sequence[CrossedShade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a point for each pair of quantiles; on logarithmic axes if cells of both grow with their values.

    Args:
        x: Quantiles of the first curve.
        y: Those of the second one.
        privacy: The privacy statement of both.
        labels: What x and y axis show.
        edges: Edges of the cells of both curves.
        shades: Intervals for both quantiles of each pair, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls it.
    """
    same = privacy[0] == privacy[1]
    picture = Picture(SQUARE, privacy[0], ax=ax, name=None if same else "first")
    across, upwards = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if picture.is_first and all(has_geometric_edges(np.asarray(each, dtype=float)) for each in edges):
        picture.ax.set(xscale="log", yscale="log")
    for number, (sideways, up, words) in enumerate(shades, 1):
        width, alpha = (THICK_CROSS, 0.6) if number == len(shades) else (THIN_CROSS, 0.5)
        how: Any = {"color": picture.style.color, "alpha": alpha, "linewidth": width}
        picture.ax.hlines(upwards, *sideways.T, label=deduplicate_label(picture.ax, words), **how)
        picture.ax.vlines(across, *up.T, **how)
    ends = np.array([min(across.min(), upwards.min()), max(across.max(), upwards.max())])
    picture.ax.plot(ends, ends, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)), label=DIAGONAL)
    picture.draw_points(across, upwards, markersize=3.2, label=name)
    ax = picture.label_axes(labels[0], format_label(labels[1]), place="above").add_statement()
    return ax if same else Picture(SQUARE, privacy[1], ax=ax, name="second").add_statement()


FILLED = 512
BAR_ROOM = 0.22
GROUND, DARK_GREY = "0.92", "0.2"
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
    **on: Unpack[ShadedDrawingOptions],
) -> Axes:
    """Draw counts or shares as stairs; cells of unequal width are drawn per unit of x, so that areas are the numbers.

    Cells of a geometric grid are of equal width on a logarithmic axis, which they are drawn on.

    Args:
        edges: The edges of the cells: one more than there are heights.
        heights: The count or the share of each cell.
        upwards: The label of the y axis, as in ``records per cell``.
        label: The column and its measuring unit.
    """
    picture, bounds = Picture(LANDSCAPE, privacy, **on), np.asarray(edges, dtype=float)
    if bounds[0] > 0 and not _are_uneven(np.log(bounds)):  # cells that are equal on a logarithmic axis
        picture.scale_x_axis(bounds)
    ax, higher = picture.ax, not picture.is_first and not picture.ax.get_autoscaley_on()
    dense = DENSE in ax.get_ylabel() or (_are_uneven(bounds) and ax.get_xscale() != "log")
    scale = np.diff(bounds) if dense else 1.0
    for shade in picture.shades:
        low, high = shade.endpoints
        picture.shade_band(bounds, low / scale, high / scale, shade.label)
    _draw_stairs(picture, bounds, np.asarray(heights, dtype=float) / scale)
    if picture.is_first:
        ax.axhline(0, color="0.4", linewidth=0.6)
        ax.margins(x=0.01)
    if picture.shades or higher:  # room for what is drawn last, too
        reserve_legend_room(ax, 0.0 if ax.figure.get_layout_engine() is not None else BAR_ROOM)
    density = f"{upwards.removesuffix(PER_CELL)}{DENSE}{format_label(label)}"
    return picture.label_axes(label, density if dense else upwards, place="above").add_statement()


def _are_uneven(bounds: FloatArray) -> bool:
    widths = np.diff(bounds)
    return bool(np.ptp(widths) > EVEN * widths.max())


def _draw_stairs(picture: Picture, bounds: FloatArray, heights: FloatArray) -> None:
    ax, style, title = picture.ax, picture.style, picture.legend_label()
    if len(heights) > 2 * BLOCKS:
        return draw_between(ax, bounds, heights, heights, color=style.color, alpha=0.9, title=title)
    if picture.is_first and len(heights) <= FILLED:
        # In grey, so that it is not taken for a part of the shaded errors, and below them.
        draw_stairs(
            ax, heights, bounds, 0.0, fill=True, facecolor=DARK_GREY if is_dark(ax) else GROUND, linewidth=0, zorder=0.9
        )
    line = {"edgecolor": style.color, "linestyle": style.dash, "linewidth": scale_line_width(1.4)}
    draw_stairs(ax, heights, bounds, None, fill=False, label=title, **line)


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
        ax: Where to draw; None: in a new figure.
        name: What stands above the picture.
    """
    from matplotlib.colors import PowerNorm
    from matplotlib.ticker import MaxNLocator

    from .artists import format_axes

    picture = Picture(LANDSCAPE, privacy, ax=ax)
    heights, what = np.asarray(count, dtype=float), "records in a cell"
    if any(_are_uneven(each) for each in edges):
        heights, what = heights / np.outer(np.diff(edges[0]), np.diff(edges[1])), "records on a unit of area"
    # The root shows thin tails beside a dense middle.
    shades = PowerNorm(0.5, vmin=0.0, vmax=max(float(heights.max()), 1e-300))
    mesh = picture.ax.pcolormesh(*edges, heights.T, norm=shades, cmap=choose_colormap(picture.ax), rasterized=True)
    bar = picture.ax.figure.colorbar(mesh, ax=picture.ax, label=what, ticks=MaxNLocator(5))
    format_axes(bar.ax)
    if name is not None:
        picture.ax.set_title(format_label(name), parse_math=False)
    return picture.label_axes(labels[0], format_label(labels[1])).add_statement()


MARGIN, BOUNDS_ROOM = 1.3, 2.8
LONGEST_LINE, LINE_WIDTH = 120, 48
NEXT = "twice this interval (thin line); half of it (white ends)"
WIDEST = "the widest tried"


def draw_bounds(
    bound: float,
    privacy: PrivacyStatement,
    *,
    label: str,
    covers: str,
    narrower: float,
    wider: float | None,
    **on: Unpack[DrawingOptions],
) -> Axes:
    """Draw an interval around zero, the next wider one as a thinner line, and the ends of the next narrower one.

    Several intervals stand one above the other.

    Args:
        bound: Its upper end.
        label: What the axis shows.
        covers: The share of the records that it covers, and with which probability.
        narrower: Upper end of the interval that was tried before.
        wider: Upper end of the one that would have been tried next; None: this was the last one.
    """
    picture = Picture(LANDSCAPE, privacy, **on)
    ax, row = picture.ax, [picture.before] * 2
    if picture.is_first:
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set_yticks([])
        ax.set_xlabel(format_label(label), parse_math=False)
    words = f"from {format_number(-bound)} to {format_number(bound)}" + ("" if wider is not None else f", {WIDEST}")
    if wider is not None:
        picture.draw_points(
            [-wider, wider], row, "-", linewidth=1, alpha=0.45, marker="|", label=deduplicate_label(ax, NEXT)
        )
    said = "\n".join((str(picture.legend_label(words)), *wrap(f"covers {covers}", LINE_WIDTH)))
    picture.draw_points([-bound, bound], row, "-", linewidth=5, solid_capstyle="butt", label=said)
    ax.plot([-narrower, narrower], row, color=ax.get_facecolor(), linewidth=0, marker="|", markersize=5)
    ax.set_ylim(-1, picture.before + 2)
    return picture.label_axes().add_statement()


def draw_plane_bounds(
    bounds: tuple[float, float],
    privacy: PrivacyStatement,
    *,
    labels: tuple[str, str],
    covers: Sequence[str] = (),
    widest: Sequence[str] = (),
    **on: Unpack[DrawingOptions],
) -> Axes:
    """Draw a rectangle around the origin.

    Args:
        bounds: Its upper ends along the x axis and along the y axis.
        labels: What the axes show.
        covers: The share of the records that each covers, and with which probability.
        widest: Columns for which no wider bound was tried.
    """
    picture, (across, upwards) = Picture(LANDSCAPE, privacy, **on), bounds
    ax = picture.ax
    if picture.is_first:
        ax.axhline(0, color=GREY, linewidth=0.8)
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set(xlim=(-MARGIN * across, MARGIN * across), ylim=(-MARGIN * upwards, BOUNDS_ROOM * upwards))
        ax.set_xlabel(format_label(labels[0]), parse_math=False)
        ax.set_ylabel(format_label(labels[1]), parse_math=False)
    words = f"± {format_number(across)} by ± {format_number(upwards)}"
    words += "".join(f", {WIDEST} for {format_label(column)}" for column in widest)
    corners = [-across, across, across, -across, -across], [-upwards, -upwards, upwards, upwards, -upwards]
    ax.fill(*corners, color=picture.style.color, alpha=0.12, linewidth=0)
    lines = [part for line in covers for part in wrap(format_label(line, LONGEST_LINE), LINE_WIDTH)]
    picture.draw_points(*corners, picture.style.dash, label="\n".join((str(picture.legend_label(words)), *lines)))
    return picture.label_axes().add_statement()


LONGEST_NAME = 30
LETTER, LEAST_LETTER = 8.0, 4.5
"""The size of the numbers in cells, in points, and below which they are left out."""
WIDTH, DOWN = 0.62, 1.3
"""The width of a letter and the height of a line, for letters of size 1."""
ROOM_FOR_NAME = 0.8
"""The inches that a column has for its name."""
WITHIN, SLANT = 0.75, 40
"""The part of a picture that is left to its cells, and the degrees by which long names of columns are turned."""
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
        title: What stands above it.
        error: How far counts may be off, of the same shape; None: not written.
        ax: Where to draw; None: in a new figure.
    """
    rows, columns = (distinguish_labels(each, LONGEST_NAME) for each in names)
    aside, below = (0.07 * max(map(len, each), default=0) for each in (rows, columns))
    size = max(LANDSCAPE[0], 1.0 + aside + 0.8 * len(columns)), max(LANDSCAPE[1], 1.8 + 0.5 * len(rows))
    size = size[0], size[1] + (0.65 * below if below > ROOM_FOR_NAME else 0.0)
    if ax is not None:
        enlarge_figure(ax, size)
    picture, shares, counts = Picture(size, privacy, ax=ax), np.asarray(share, dtype=float), np.asarray(count, float)
    ax, darkest = picture.ax, float(np.nanmax(np.append(shares, 1e-9)))
    # Of like shares differences are seen.
    lightest = max(2 * float(np.nanmin(np.append(shares, darkest))) - darkest, 0.0)
    lightest = lightest if lightest < darkest else 0.0
    drawn = ax.imshow(shares, cmap=choose_colormap(picture.ax), vmin=lightest, vmax=darkest, aspect="auto")
    bar = ax.figure.colorbar(drawn, ax=ax, label="share of the row")
    bar.ax.tick_params(labelsize=scale_font_size(8))
    if max(counts.shape) <= MOST_LABELLED:
        off = np.full(counts.shape, np.nan) if error is None else np.asarray(error, dtype=float)
        told = {
            cell: format_number(np.rint(counts[cell]))
            + ("" if np.isnan(off[cell]) else f"\n± {format_number(np.rint(off[cell]))}")
            for cell in np.ndindex(counts.shape)
        }
        letters = min(scale_font_size(LETTER), _fit_letter_size(ax, counts.shape, list(told.values())))
        for (row, column), words in told.items() if letters >= LEAST_LETTER else ():
            deep = shares[row, column] > lightest + DARK * (darkest - lightest)
            shown = "white" if deep != is_dark(ax) else "black"
            ax.text(column, row, words, ha="center", va="center", fontsize=letters, color=shown)
    ax.set_yticks(range(len(rows)), rows, parse_math=False)
    room = WITHIN * ax.get_position().width * ax.figure.bbox.width / ax.figure.dpi / len(columns)
    turned: Any = {"rotation": SLANT, "ha": "right", "rotation_mode": "anchor"} if below > room else {}
    ax.set_xticks(range(len(columns)), columns, parse_math=False, **turned)
    ax.set_ylabel(format_label(labels[0]), parse_math=False)
    ax.set_xlabel(format_label(labels[1]), parse_math=False)
    ax.set_title(title, fontsize=scale_font_size(9), parse_math=False)
    return picture.add_statement()


def _fit_letter_size(ax: Axes, shape: tuple[int, ...], words: Sequence[str]) -> float:
    """The size of letters, in points, with which these words fit into the cells of a table."""
    box, inch = ax.get_position(), ax.figure.dpi / 72
    wide, high = float(ax.figure.bbox.width) / inch, float(ax.figure.bbox.height) / inch
    longest = max(len(line) for each in words for line in each.splitlines())
    lines = max(each.count("\n") + 1 for each in words)
    across, down = WITHIN * box.width * wide / shape[1], WITHIN * box.height * high / shape[0]
    return float(min(across / (WIDTH * (longest + 1)), down / (DOWN * lines)))
