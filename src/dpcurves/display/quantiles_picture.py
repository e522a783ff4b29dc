"""Quantiles with their intervals, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray
from ..release import PrivacyStatement
from .canvas import LANDSCAPE, canvas
from .distribution_picture import SHARE
from .line_styles import explain, is_blank, next_style
from .numerals import MOST_LABELLED, standing
from .safe_text import legend_lettering, lettering
from .shade import Shade, once

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOM = -0.03, 1.09
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
    from .figure_note import sign
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
    ax.set_ylim(*ROOM)
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
