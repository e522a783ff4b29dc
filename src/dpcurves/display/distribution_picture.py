"""Distribution functions, quantiles and histograms as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..release import Face
from .canvas import LANDSCAPE, canvas
from .ink import Ink, certainty, explain, is_blank, next_ink
from .lettering import legend_lettering, lettering, reading
from .outline import FINEST, Floats, hull_in_blocks, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARE = "share of records below"
FEW = 12
FILLED = 512
ROOM = -0.03, 1.09
"""From below a share of 0 to above a share of 1, with what is written above it."""
COARSE = 400
GROUND = "0.92"


def draw_cdf(
    x: ArrayLike,
    y: ArrayLike,
    face: Face,
    *,
    label: str,
    band: tuple[ArrayLike, ArrayLike] | None = None,
    level: float | None = None,
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a distribution function: straight inside cells, for that is how it is read.

    Args:
        x: Edges of the cells.
        y: Share of records below each edge.
        face: What is written below the picture.
        label: The column and its measuring unit, as in ``arr_delay (minutes)``.
        band: Lower and upper ends at each edge.
        level: Of the band, for the legend.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    from .footnote import sign

    ax = canvas(ax, LANDSCAPE)
    ink = next_ink(ax)
    edges, shares = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    seen = visible(edges, shares)
    title = None if name is None else legend_lettering(name)
    ax.plot(edges[seen], shares[seen], color=ink.color, linestyle=ink.dash, linewidth=1.6, label=title)
    if band is not None:
        _draw_band(ax, edges, band, level, ink)
    if is_blank(ax):
        ax.set_ylim(-0.02, 1.02)
        ax.margins(x=0.01)
    _name_axes(ax, label, SHARE)
    explain(ax, "best")
    sign(ax, face, name)
    return ax


def _draw_band(ax: Axes, edges: Floats, band: tuple[ArrayLike, ArrayLike], level: float | None, ink: Ink) -> None:
    low, high = (np.asarray(end, dtype=float) for end in band)
    seen = np.union1d(visible(edges, low, COARSE), visible(edges, high, COARSE))
    words = "band" if level is None else f"{100 * level:.4g}% band for the whole curve"
    ax.fill_between(edges[seen], low[seen], high[seen], color=ink.color, alpha=0.22, linewidth=0, label=words)


def draw_quantiles(
    p: ArrayLike,
    x: ArrayLike,
    face: Face,
    *,
    label: str,
    intervals: tuple[ArrayLike, ArrayLike] | None = None,
    level: float | None = None,
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw quantiles as points of the distribution function.

    Args:
        p: Share of records below each quantile.
        x: The quantiles.
        face: What is written below the picture.
        label: The column and its measuring unit.
        intervals: Lower and upper ends of each quantile, that hold at once.
        level: The chance that all of them hold, for the legend.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the quantiles.
    """
    from .footnote import sign

    ax = canvas(ax, LANDSCAPE)
    ink = next_ink(ax)
    shares, points = np.atleast_1d(np.asarray(p, dtype=float)), np.atleast_1d(np.asarray(x, dtype=float))
    if intervals is not None:
        low, high = (np.atleast_1d(np.asarray(end, dtype=float)) for end in intervals)
        words = "interval" if level is None else _intervals(level, len(points))
        ax.hlines(shares, low, high, color=ink.color, alpha=0.45, linewidth=4, label=words)
    title = None if name is None else legend_lettering(name)
    ax.plot(points, shares, "o", color=ink.color, markersize=6, label=title)
    if is_blank(ax):
        _mark_shares(ax, shares)
    if len(points) <= FEW:
        _write_beside(ax, points, shares)
    _name_axes(ax, label, SHARE)
    explain(ax, "best")
    sign(ax, face, name)
    return ax


def _intervals(level: float, many: int) -> str:
    return f"{100 * level:.4g}% interval" + ("s, all at once" if many > 1 else "")


def _mark_shares(ax: Axes, shares: Floats) -> None:
    ax.set_ylim(*ROOM)
    ax.margins(x=0.12)
    if len(shares) <= FEW and (len(shares) < 2 or np.diff(np.sort(shares)).min() >= 0.04):
        ax.set_yticks(shares, [f"{share:g}" for share in shares])
    ax.grid(axis="y", alpha=0.25, linewidth=0.6)


def _write_beside(ax: Axes, points: Floats, shares: Floats) -> None:
    for point, share in zip(points, shares, strict=True):
        ax.annotate(reading(point), (point, share), (0, 7), textcoords="offset points", ha="center", fontsize=8)


def draw_histogram(
    edges: ArrayLike,
    count: ArrayLike,
    face: Face,
    *,
    label: str,
    errors: ArrayLike | None = None,
    level: float | None = None,
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw counts as stairs.

    Args:
        edges: Of the cells: one more than there are counts.
        count: Records in each cell.
        face: What is written below the picture.
        label: The column and its measuring unit.
        errors: Half the length of each count's interval, shaded around it.
        level: Of each interval; None: errors are standard errors.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the histogram.
    """
    heights = np.asarray(count, dtype=float)
    shade = None
    if errors is not None:
        spread = np.asarray(errors, dtype=float)
        shade = _Shade(heights - spread, heights + spread, certainty(level))
    return _draw_bars(edges, heights, face, shade, across=label, upwards="records per cell", ax=ax, name=name)


def draw_bins(
    edges: ArrayLike,
    share: ArrayLike,
    face: Face,
    *,
    label: str,
    intervals: ArrayLike | None = None,
    level: float | None = None,
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw shares of the records as stairs.

    Args:
        edges: Of the bins: one more than there are shares.
        share: Of the records, in each bin.
        face: What is written below the picture.
        label: The column and its measuring unit.
        intervals: Lower and upper ends, of shape ``(bins, 2)``, that hold at once.
        level: The chance that all of them hold.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the shares.
    """
    heights = np.asarray(share, dtype=float)
    shade = None
    if intervals is not None:
        lower, upper = np.asarray(intervals, dtype=float).T
        shade = _Shade(lower, upper, "intervals" if level is None else _intervals(level, len(heights)))
    return _draw_bars(edges, heights, face, shade, across=label, upwards="share of records", ax=ax, name=name)


class _Shade(NamedTuple):
    lower: Floats
    upper: Floats
    title: str


def _draw_bars(
    edges: ArrayLike,
    heights: Floats,
    face: Face,
    shade: _Shade | None,
    *,
    across: str,
    upwards: str,
    ax: Axes | None,
    name: str | None,
) -> Axes:
    from .footnote import sign

    ax = canvas(ax, LANDSCAPE)
    ink = next_ink(ax)
    bounds = np.asarray(edges, dtype=float)
    if shade is not None:
        # Of several, one entry of the legend speaks for all.
        words = shade.title if is_blank(ax) else None
        _draw_between(ax, bounds, shade.lower, shade.upper, ink=ink, alpha=0.35, title=words)
    _draw_stairs(ax, bounds, heights, ink, None if name is None else legend_lettering(name))
    if is_blank(ax):
        ax.axhline(0, color="0.4", linewidth=0.6)
        ax.margins(x=0.01)
    _name_axes(ax, across, upwards)
    explain(ax, "best")
    sign(ax, face, name)
    return ax


def _draw_stairs(ax: Axes, bounds: Floats, heights: Floats, ink: Ink, title: str | None) -> None:
    if len(heights) > 2 * FINEST:
        return _draw_between(ax, bounds, heights, heights, ink=ink, alpha=0.9, title=title)
    if is_blank(ax) and len(heights) <= FILLED:
        # In grey, so that it is not taken for a part of the shaded errors, and below them.
        ax.stairs(heights, bounds, fill=True, color=GROUND, linewidth=0, zorder=0.9)
    ax.stairs(heights, bounds, baseline=None, color=ink.color, linestyle=ink.dash, linewidth=1.4, label=title)


def _draw_between(
    ax: Axes, bounds: Floats, lower: Floats, upper: Floats, *, ink: Ink, alpha: float, title: str | None
) -> None:
    cells, low, high = hull_in_blocks(bounds, lower, upper)
    ax.stairs(high, cells, baseline=low, fill=True, color=ink.color, alpha=alpha, linewidth=0, label=title)


def _name_axes(ax: Axes, across: str, upwards: str) -> None:
    ax.set_xlabel(lettering(across), parse_math=False)
    ax.set_ylabel(upwards)
