"""Plots of columns: distribution functions, quantiles, histograms, bounds, heat maps, contingency tables.

Each function draws one result with matplotlib and returns the `Axes`. Its arguments are the numbers of the result, its
`privacy` statement, which becomes a footnote, and where to draw: ``ax`` (axes; None: a new figure), ``name`` (of the
curve in the legend) and ``shades`` (confidence bands or intervals). Layers are drawn in this order: shades, lines or
bars, labels.

- A band of a distribution function is drawn as steps: inside a cell the curve may rise anywhere, so it lies between the
  bounds at both edges.
- Bars of unequal cells are drawn per unit of x, so that areas are proportional to counts.
- A number that is not known has no mark.

Formal guarantees: all numbers are released ones, with noise. Nothing is computed from records.
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
    DARK_OPACITY_RATIO,
    GREY,
    LANDSCAPE,
    SHARE_LIMITS,
    SQUARE,
    THINNED_POINTS,
    DrawingOptions,
    Picture,
    Shade,
    ShadedDrawingOptions,
    choose_colormap,
    deduplicate_label,
    draw_between,
    draw_stairs,
    enlarge_figure,
    format_for,
    has_geometric_edges,
    reserve_legend_room,
    shade_opacity,
)
from .numerals import MOST_LABELLED, distinguish_labels, format_in_cell, format_label, format_number, wrap_labels
from .styles import is_dark, scale_font_size, scale_line_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SHARE_BELOW = "share of records below"
"""Label of the y axis of a distribution function on a grid."""
SHARE_AT_OR_BELOW = "share of records at or below"
"""Label of the y axis of a distribution function of declared values."""


POSITION_IN_CELL_LABEL = "wherever values lie in their cells"
"""Legend entry of the shade within which the curve lies, for all positions of the records within their cells."""
WEIGHTED_LABEL_PREFIX = "weighted "
"""Before the label of the y axis if records have weights, as in ``weighted share of records below``."""


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

    Bands are drawn as steps: inside a cell the curve may rise anywhere, so it lies between its values at the two edges.
    If single steps would be visible, straight lines join the bounds at the edges, which hold for a curve that is linear
    inside cells, and a faint area behind contains the steps. Unless cells are as wide as bars, that area has a smooth
    outline, up to one cell further out.

    Args:
        x: Edges of the cells, rising, (cells + 1,).
        y: Share of records below each edge, (cells + 1,), from 0 to 1.
        privacy: Privacy statement of the release, written as a footnote.
        label: The column and its unit, as in ``arr_delay (minutes)``.
        weighted: True: records have weights, and the axis label mentions them.
        **on: ``ax``, ``name`` and ``shades``; each shade has bounds at every edge.
    """
    picture = Picture(LANDSCAPE, privacy, **on).scale_x_axis(x)
    # opacity, from 0 to 1, of the area that contains the steps
    faint = 0.07 * (DARK_OPACITY_RATIO if is_dark(picture.ax) else 1.0)
    for shade in picture.shades:
        low, high = shade.endpoints
        if len(low) > 257:  # up to 257 edges, single steps are visible
            picture.shade_band(x, low[:-1], high[1:], shade.label)
            continue
        if shade is picture.shades[0] and len(low) > 21:  # up to 21 edges, steps are as wide as bars
            picture.shade_slopes(
                x, np.append(low[0], low[:-1]), np.append(high[1:], high[-1]), POSITION_IN_CELL_LABEL, alpha=faint
            )
        elif shade is picture.shades[0]:
            picture.shade_band(x, low[:-1], high[1:], POSITION_IN_CELL_LABEL, alpha=faint)
        picture.shade_slopes(x, low, high, shade.label)
    picture.draw_line(x, y, picture.legend_label())
    return _finish_shares(picture, label, WEIGHTED_LABEL_PREFIX * weighted + SHARE_BELOW)


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
        x: The values, rising, (values,).
        y: Share of records at or below each value, (values,), from 0 to 1.
        privacy: Privacy statement of the release, written as a footnote.
        label: The column and its unit, as in ``age (years)``.
        weighted: True: records have weights, and the axis label mentions them.
        **on: ``ax``, ``name`` and ``shades``; each shade has bounds at every value.
    """
    picture = Picture(LANDSCAPE, privacy, **on)
    values = np.asarray(x, dtype=float)
    shares = np.asarray(y, dtype=float)
    edges = np.append(values, values[-1] + (np.diff(values[-2:]).sum() or 1.0))  # extends to the end of the last step
    for shade in picture.shades:
        picture.shade_band(edges, *shade)
    picture.draw_steps(np.append(values[0], edges), np.concatenate([[0.0], shares, shares[-1:]]), width=1.6)
    return _finish_shares(picture, label, WEIGHTED_LABEL_PREFIX * weighted + SHARE_AT_OR_BELOW)


def _finish_shares(picture: Picture, label: str, upwards: str) -> Axes:
    """Set the limits of an axis of shares for the first curve; label the axes, add the privacy statement, and return
    the axes.

    Args:
        picture: Plot of a curve.
        label: Title of the x axis.
        upwards: Title of the y axis.
    """
    if picture.is_first:
        picture.ax.set(ylim=SHARE_LIMITS, xmargin=0.01)
    return picture.label_axes(label, upwards).add_statement()


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
    """Draw quantiles as points of the distribution function, with arrows for unbounded intervals.

    Args:
        p: Share of records below each quantile, (quantiles,), from 0 to 1.
        x: The quantiles, (quantiles,), in units of the column.
        privacy: Privacy statement of the release, written as a footnote.
        label: The column and its unit.
        cells: Bounds of the cell of each quantile, of shape ``(quantiles, 2)``. Quantiles are rounded to the resolution
            of their cells, and drawn hollow if the cell is unbounded. None: quantiles are exact.
        edges: Edges of the grid; geometric edges give a logarithmic axis. Empty: there is no grid.
        weighted: True: records have weights, and the axis label mentions them.
        **on: ``ax``, ``name`` and ``shades``; each shade has bounds of every quantile, which may be infinite.
    """
    picture = Picture(LANDSCAPE, privacy, **on).scale_x_axis(edges)
    shares = np.atleast_1d(np.asarray(p, dtype=float))
    points = np.atleast_1d(np.asarray(x, dtype=float))
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
    return picture.label_axes(label, WEIGHTED_LABEL_PREFIX * weighted + SHARE_BELOW).add_statement()


def _draw_bars_across(picture: Picture, shares: FloatArray, points: FloatArray, shade: Shade, width: float) -> None:
    """Draw intervals as bars along x, with an arrow at an unbounded side.

    Args:
        picture: Plot to draw on.
        shares: Position of each bar along y.
        points: Estimates; with the ends, they decide the length of arrows.
        shade: Both ends of the intervals, infinite where unbounded.
        width: Width of the bars.
    """
    low, high = shade.endpoints
    known = np.concatenate([end[np.isfinite(end)] for end in (low, high, points)])
    first, last = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    room_beyond = 0.12  # share of the axis. Length of the arrow of an unbounded interval.
    beyond = room_beyond * ((last - first) or abs(last) or 1.0)
    before = first - beyond
    after = last + beyond
    if picture.ax.get_xscale() == "log":
        ratio = (last / first or 1.0) ** room_beyond
        before = first / ratio
        after = last * ratio
    limits = np.where(np.isfinite(low), low, before), np.where(np.isfinite(high), high, after)
    alpha = shade_opacity(shade.label, picture.ax)
    picture.draw_bars(shares, limits, shade.label, width=width, alpha=alpha)
    for end, tip, arrow in zip((low, high), limits, "<>", strict=True):
        endless = ~np.isfinite(end)
        picture.draw_points(tip[endless], shares[endless], arrow, alpha=min(2 * alpha, 1.0), markersize=7)


def _mark_shares(ax: Axes, shares: FloatArray) -> None:
    """Set the ticks of the y axis to the levels of the quantiles, if they are few and far apart.

    Args:
        ax: Axes of the plot.
        shares: Levels of the quantiles, from 0 to 1.
    """
    ax.set(ylim=(-0.03, 1.09), xmargin=0.12)  # shares, with room for text above
    if len(shares) <= MOST_LABELLED and (len(shares) < 2 or np.diff(np.sort(shares)).min() >= 0.04):
        ax.set_yticks(shares, [f"{share:g}" for share in shares])
    ax.grid(axis="y", alpha=0.25, linewidth=0.6)


DIAGONAL = "equal quantiles"
"""Legend entry of the diagonal of a quantile-quantile plot, on which both samples have equal quantiles."""


class CrossedShade(NamedTuple):
    """An interval along x and an interval along y at each point, drawn as a cross.

    Attributes:
        across: Bounds along x, (points, 2).
        upwards: Bounds along y, (points, 2).
        label: Legend entry: level, kind, and whether it is for these records or for the population.
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
    """Draw a point for each pair of quantiles, on logarithmic axes if both grids are geometric.

    Args:
        x: Quantiles of the first curve, (quantiles,).
        y: Quantiles of the second curve at the same shares of records, (quantiles,).
        privacy: Privacy statements of the first and of the second curve, written as a footnote.
        labels: Labels of the x axis and the y axis.
        edges: Edges of the cells of the first and of the second curve; empty: it has no cells.
        shades: Intervals of both quantiles of each pair, wider ones first.
        ax: Axes to draw on; None: a new figure.
        name: Name in the legend.
    """
    same = privacy[0] == privacy[1]
    picture = Picture(SQUARE, privacy[0], ax=ax, name=None if same else "first")
    across = np.asarray(x, dtype=float)
    upwards = np.asarray(y, dtype=float)
    if picture.is_first and all(has_geometric_edges(np.asarray(shade, dtype=float)) for shade in edges):
        picture.ax.set(xscale="log", yscale="log")
    for number, (sideways, up, words) in enumerate(shades, 1):
        # line width in points, and opacity: thick for these records, thin for the population
        width, alpha = (2.4, 0.6) if number == len(shades) else (0.9, 0.5)
        how: Any = {"color": picture.style.color, "alpha": alpha, "linewidth": width}
        picture.ax.hlines(upwards, *sideways.T, label=deduplicate_label(picture.ax, words), **how)
        picture.ax.vlines(across, *up.T, **how)
    ends = np.array([min(across.min(), upwards.min()), max(across.max(), upwards.max())])
    picture.ax.plot(ends, ends, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)), label=DIAGONAL)
    picture.draw_points(across, upwards, markersize=3.2, label=name)
    ax = picture.label_axes(labels[0], format_for(picture.ax, labels[1]), place="above").add_statement()
    return ax if same else Picture(SQUARE, privacy[1], ax=ax, name="second").add_statement()


LIGHT_BACKGROUND = "0.92"
"""Grey of filled histogram bars on a light background, from 0 (black) to 1 (white)."""
DARK_GREY = "0.2"
"""Grey of filled histogram bars on a dark background, from 0 (black) to 1 (white)."""
PER_UNIT_LABEL = " per unit of "
"""Before the unit in the y label of a histogram of unequal cells, which shows counts per unit. A curve that is added to
the plot finds by it that it must show the same."""
PER_CELL = " per cell"
"""End of the y label of a histogram that shows counts per cell; removed for counts per unit."""


def draw_bars(
    edges: ArrayLike,
    heights: ArrayLike,
    privacy: PrivacyStatement,
    *,
    upwards: str,
    label: str,
    **on: Unpack[ShadedDrawingOptions],
) -> Axes:
    """Draw a histogram of counts or shares as a step function; unequal cells are drawn per unit of x, so that areas are
    proportional to counts.

    Geometric cells have equal widths on a logarithmic axis, which is used for them.

    Args:
        edges: Edges of the cells, rising, (cells + 1,).
        heights: Count or share of each cell, (cells,).
        privacy: Privacy statement of the release, written as a footnote.
        upwards: Label of the y axis, as in ``records per cell``.
        label: The column and its unit.
        **on: ``ax``, ``name`` and ``shades``; each shade has bounds for every cell.
    """
    picture = Picture(LANDSCAPE, privacy, **on)
    bounds = np.asarray(edges, dtype=float)
    if bounds[0] > 0 and not _are_uneven(np.log(bounds)):  # cells that are equal on a logarithmic axis
        picture.scale_x_axis(bounds)
    ax = picture.ax
    higher = not picture.is_first and not picture.ax.get_autoscaley_on()
    dense = PER_UNIT_LABEL in ax.get_ylabel() or (_are_uneven(bounds) and ax.get_xscale() != "log")
    scale = np.diff(bounds) if dense else 1.0
    for shade in picture.shades:
        low, high = shade.endpoints
        picture.shade_band(bounds, low / scale, high / scale, shade.label)
    _draw_stairs(picture, bounds, np.asarray(heights, dtype=float) / scale)
    if picture.is_first:
        ax.axhline(0, color="0.4", linewidth=0.6)
        ax.margins(x=0.01)
    if picture.shades or higher:  # with room for the outermost cells
        # share of the height for the legend
        reserve_legend_room(ax, 0.0 if ax.figure.get_layout_engine() is not None else 0.22)
    density = f"{upwards.removesuffix(PER_CELL)}{PER_UNIT_LABEL}{format_for(ax, label)}"
    return picture.label_axes(label, density if dense else upwards, place="above").add_statement()


def _are_uneven(bounds: FloatArray) -> bool:
    """Return True if the widths between these bounds differ by more than rounding.

    Args:
        bounds: Increasing edges of cells.
    """
    widths = np.diff(bounds)
    return bool(np.ptp(widths) > 1e-6 * widths.max())  # smaller differences are rounding


def _draw_stairs(picture: Picture, bounds: FloatArray, heights: FloatArray) -> None:
    """Draw counts as stairs: filled in grey for a first curve of few cells, as a line otherwise.

    Args:
        picture: Plot to draw on.
        bounds: Edges of the cells.
        heights: Height of each cell.
    """
    ax = picture.ax
    style = picture.style
    title = picture.legend_label()
    if len(heights) > 2 * THINNED_POINTS:
        return draw_between(ax, bounds, heights, heights, color=style.color, alpha=0.9, title=title)
    if picture.is_first and len(heights) <= 512:  # more bars are too narrow to be filled
        # Grey and below the shades, so that it does not look like part of an error band.
        draw_stairs(
            ax,
            heights,
            bounds,
            0.0,
            fill=True,
            facecolor=DARK_GREY if is_dark(ax) else LIGHT_BACKGROUND,
            linewidth=0,
            zorder=0.9,
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
    """Draw a heat map of records per cell, or per unit of area if cells differ in size.

    Args:
        count: Number of records in each cell, of shape ``(cells along x, cells along y)``.
        edges: Edges of the cells along the x axis and the y axis, rising.
        labels: Labels of the x axis and the y axis.
        privacy: Privacy statement of the release, written as a footnote.
        ax: Axes to draw on; None: a new figure.
        name: Title above the plot.
    """
    from matplotlib.colors import PowerNorm
    from matplotlib.ticker import MaxNLocator

    from .artists import format_axes

    picture = Picture(LANDSCAPE, privacy, ax=ax)
    heights = np.asarray(count, dtype=float)
    bar_label = "records in a cell"
    if any(_are_uneven(axis_edges) for axis_edges in edges):
        heights = heights / np.outer(np.diff(edges[0]), np.diff(edges[1]))
        bar_label = "records on a unit of area"
    # The square root keeps thin tails visible beside a dense centre.
    shades = PowerNorm(0.5, vmin=0.0, vmax=max(float(heights.max()), 1e-300))
    mesh = picture.ax.pcolormesh(*edges, heights.T, norm=shades, cmap=choose_colormap(picture.ax), rasterized=True)
    bar = picture.ax.figure.colorbar(mesh, ax=picture.ax, label=bar_label, ticks=MaxNLocator(5))
    format_axes(bar.ax)
    if name is not None:
        picture.ax.set_title(format_for(picture.ax, name), parse_math=False)
    return picture.label_axes(labels[0], format_for(picture.ax, labels[1])).add_statement()


TWICE_INTERVAL_LABEL = "twice this interval (thin line); half of it (white ends)"
"""Legend entry of the marks that compare released bounds with bounds twice and half as wide."""
WIDEST_INTERVAL_LABEL = "the widest tried"
"""Words in a legend for released bounds at which the search ended, so that no wider ones are compared."""


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
    """Draw the result of a private search for a range: an interval around zero that covers most values of a column.

    The search chooses among candidates of rising width. The next wider candidate is drawn as a thin line, and the
    endpoints of the next narrower one as marks. Several intervals on one `ax` are drawn one above the other.

    Args:
        bound: Upper endpoint of the chosen interval, in units of the column; the lower one is its negative.
        privacy: Privacy statement of the release, written as a footnote.
        label: Label of the axis.
        covers: Text about the share of records that the interval covers, and the probability of that.
        narrower: Upper endpoint of the previous candidate.
        wider: Upper endpoint of the next candidate; None: there was no wider candidate.
        **on: ``ax`` and ``name``, as in `DrawingOptions`.
    """
    picture = Picture(LANDSCAPE, privacy, **on)
    ax = picture.ax
    row = [picture.before] * 2
    if picture.is_first:
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set_yticks([])
        ax.set_xlabel(format_for(ax, label), parse_math=False)
    words = f"from {format_number(-bound)} to {format_number(bound)}" + (
        "" if wider is not None else f", {WIDEST_INTERVAL_LABEL}"
    )
    if wider is not None:
        picture.draw_points(
            [-wider, wider],
            row,
            "-",
            linewidth=1,
            alpha=0.45,
            marker="|",
            label=deduplicate_label(ax, TWICE_INTERVAL_LABEL),
        )
    lines = wrap(f"covers {covers}", 48)  # characters of a line
    legend_text = "\n".join((str(picture.legend_label(words)), *lines))
    picture.draw_points([-bound, bound], row, "-", linewidth=5, solid_capstyle="butt", label=legend_text)
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
    """Draw the result of a private search for two ranges as a rectangle around the origin.

    Args:
        bounds: Upper endpoints along the x axis and along the y axis; the lower ones are their negatives.
        privacy: Privacy statement of the release, written as a footnote.
        labels: Labels of the x axis and the y axis.
        covers: Texts about the share of records that each interval covers, and the probability of that.
        widest: Columns whose interval is the widest candidate, so that values may lie outside.
        **on: ``ax`` and ``name``, as in `DrawingOptions`.
    """
    picture, (across, upwards) = Picture(LANDSCAPE, privacy, **on), bounds
    ax = picture.ax
    axis_ratio = 1.3  # ratio: half width of an axis, as a multiple of the upper endpoint
    if picture.is_first:
        ax.axhline(0, color=GREY, linewidth=0.8)
        ax.axvline(0, color=GREY, linewidth=0.8)
        # room for the legend above the rectangle
        ax.set(xlim=(-axis_ratio * across, axis_ratio * across), ylim=(-axis_ratio * upwards, 2.8 * upwards))
        ax.set_xlabel(format_for(ax, labels[0]), parse_math=False)
        ax.set_ylabel(format_for(ax, labels[1]), parse_math=False)
    words = f"± {format_number(across)} by ± {format_number(upwards)}"
    words += "".join(f", {WIDEST_INTERVAL_LABEL} for {format_label(column)}" for column in widest)
    corners = [-across, across, across, -across, -across], [-upwards, -upwards, upwards, upwards, -upwards]
    ax.fill(*corners, color=picture.style.color, alpha=0.12, linewidth=0)
    # characters: a text is cut at 120, and a line is wrapped at 48
    lines = [part for line in covers for part in wrap(format_label(line, 120), 48)]
    picture.draw_points(*corners, picture.style.dash, label="\n".join((str(picture.legend_label(words)), *lines)))
    return picture.label_axes().add_statement()


PLOT_SHARE = 0.75
"""Share of the width of the plot for the cells; the rest is for the colour bar. Column names that are wider than a cell
are turned."""


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
    """Draw a cell for each pair of categories, darker for larger shares of the row.

    Args:
        count: Number of records, of shape ``(rows, columns)``; NaN: not known.
        share: Share of the records of the row, from 0 to 1, of the same shape; NaN: not known.
        names: Names of the rows, and of the columns.
        labels: Label of the rows (the first variable), and of the columns (the second).
        privacy: Privacy statement of the release, written as a footnote.
        title: Title above the plot.
        error: Half-width of the interval of each count, of the same shape; None: not shown.
        ax: Axes to draw on; None: a new figure.
    """
    from .layout import TUNING

    rows = wrap_labels(names[0])
    columns = distinguish_labels(names[1], TUNING.turned_letters)
    lines = [line for row in rows for line in row.splitlines()]
    aside, below = (0.07 * max(map(len, texts), default=0) for texts in (lines, columns))
    size = max(LANDSCAPE[0], 1.0 + aside + 0.8 * len(columns)), max(LANDSCAPE[1], 1.8 + 0.5 * len(rows))
    size = size[0], size[1] + (0.65 * below if below > 0.8 else 0.0)  # inches of names below the table
    if ax is not None:
        enlarge_figure(ax, size)
    picture = Picture(size, privacy, ax=ax)
    shares = np.asarray(share, dtype=float)
    counts = np.asarray(count, float)
    ax = picture.ax
    darkest = float(np.nanmax(np.append(shares, 1e-9)))
    # Raise the lower end of the colour scale if shares are similar, so that their differences remain visible.
    lightest = max(2 * float(np.nanmin(np.append(shares, darkest))) - darkest, 0.0)
    lightest = lightest if lightest < darkest else 0.0
    image = ax.imshow(shares, cmap=choose_colormap(picture.ax), vmin=lightest, vmax=darkest, aspect="auto")
    bar = ax.figure.colorbar(image, ax=ax, label="share of the row")
    bar.ax.tick_params(labelsize=scale_font_size(8))
    if max(counts.shape) <= MOST_LABELLED:
        errors = np.full(counts.shape, np.nan) if error is None else np.asarray(error, dtype=float)
        texts = {
            cell: format_number(np.rint(counts[cell]))
            + ("" if np.isnan(errors[cell]) else f"\n± {format_number(np.rint(errors[cell]))}")
            for cell in np.ndindex(counts.shape)
        }
        letters = min(scale_font_size(8.0), _fit_letter_size(ax, counts.shape, list(texts.values())))  # points
        for (row, column), words in texts.items() if letters >= 4.5 else ():  # points: smaller numbers are left out
            # from about half of the darkest colour on, text on a cell is white
            deep = shares[row, column] > lightest + 0.55 * (darkest - lightest)
            color = "white" if deep != is_dark(ax) else "black"
            ax.text(column, row, words, ha="center", va="center", fontsize=letters, color=color)
    ax.set_yticks(range(len(rows)), rows, parse_math=False)
    room = PLOT_SHARE * ax.get_position().width * ax.figure.bbox.width / ax.figure.dpi / len(columns)
    turned: Any = {"rotation": TUNING.turned, "ha": "right", "rotation_mode": "anchor"} if below > room else {}
    ax.set_xticks(range(len(columns)), columns, parse_math=False, **turned)
    ax.set_ylabel(format_for(ax, labels[0]), parse_math=False)
    ax.set_xlabel(format_for(ax, labels[1]), parse_math=False)
    ax.set_title(title, fontsize=scale_font_size(9), pad=12, parse_math=False)  # above the numbers of the colour bar
    return picture.add_statement()


def _fit_letter_size(ax: Axes, shape: tuple[int, ...], words: Sequence[str]) -> float:
    """Return the font size, in points, at which texts fit into the cells of a table.

    Args:
        ax: Axes that the table fills.
        shape: Numbers of rows and of columns.
        words: Texts of the cells.
    """
    box = ax.get_position()
    inch = ax.figure.dpi / 72
    figure_width = float(ax.figure.bbox.width) / inch
    figure_height = float(ax.figure.bbox.height) / inch
    longest = max(len(line) for text in words for line in text.splitlines())
    lines = max(text.count("\n") + 1 for text in words)
    cell_width = PLOT_SHARE * box.width * figure_width / shape[1]
    cell_height = PLOT_SHARE * box.height * figure_height / shape[0]
    # a letter is 0.62 font sizes wide, a line 1.3 high
    return float(min(cell_width / (0.62 * (longest + 1)), cell_height / (1.3 * lines)))
