"""Plot of expected accuracy before a release (a forecast): a curve of synthetic records in the band of its noise.

Before any privacy budget is spent, a user wants to know how wide confidence bands would be. The session simulates
releases on made-up records of a stated distribution. `draw_forecast` takes the expected heights and their lower and
upper bounds, and returns Matplotlib axes with the expected curve in its band, or with numbers and their intervals.

Formal guarantees: a forecast opens no data and spends no budget. A footnote states this, in the place where plots of
releases have their privacy statement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .canvas import (
    BAND_OPACITY,
    DARK_OPACITY_RATIO,
    LANDSCAPE,
    add_legend,
    format_for,
    has_geometric_edges,
    prepare_axes,
    select_visible_points,
    style_of,
)
from .styles import is_dark, scale_font_size, scale_line_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORECAST_FOOTNOTE = "Forecast from made-up records: no data were opened, and nothing was spent."
"""Footnote of a picture of a forecast, where pictures of results have their privacy statement."""


def draw_forecast(
    x: ArrayLike,
    y: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    words: str,
    labels: tuple[str, str],
    title: str,
    is_curve: bool,
    ax: Axes | None = None,
) -> Axes:
    """Plot an expected curve in its band, or expected numbers with their intervals, and return the axes.

    The x axis is logarithmic if the positions are positive, over a large range, and grow by a nearly constant factor.

    Args:
        x: Positions in units of the x axis, rising for a curve, shape (points,).
        y: Expected heights, shape (points,).
        lower: Lower bounds at each position, shape (points,).
        upper: Upper bounds at each position, shape (points,).
        words: Legend entry of the band or of the intervals, such as their level.
        labels: Labels of the x axis and the y axis.
        title: Title, with the distribution of the synthetic records and the expected error.
        is_curve: True: a line joins the points, over a shaded band. False: each point has an interval.
        ax: Axes to plot on; None: axes of a new figure.
    """
    ax = prepare_axes(ax, LANDSCAPE)
    from .artists import format_axes

    color, dash = style_of(ax, 0)
    positions, heights, low, high = (np.asarray(values, dtype=float) for values in (x, y, lower, upper))
    if has_geometric_edges(positions):
        ax.set_xscale("log")

    if is_curve:
        # A line through thousands of points makes files large, and looks like a line through the visible ones.
        rows = select_visible_points(positions, heights)
        opacity = BAND_OPACITY * DARK_OPACITY_RATIO if is_dark(ax) else BAND_OPACITY
        ax.fill_between(positions[rows], low[rows], high[rows], color=color, alpha=opacity, linewidth=0, label=words)
        width = scale_line_width(1.6)
        ax.plot(positions[rows], heights[rows], dash, color=color, linewidth=width, label="expected curve")
    else:
        # Bars of intervals are narrower than bands, so they are drawn more opaque.
        opacity = BAND_OPACITY * 1.6
        ax.vlines(positions, low, high, color=color, alpha=opacity, linewidth=scale_line_width(4), label=words)
        ax.plot(positions, heights, "o", color=color, markersize=4, label="expected numbers")

    ax.set_xlabel(format_for(ax, labels[0]), parse_math=False)
    ax.set_ylabel(labels[1], parse_math=False)
    format_axes(ax)
    add_legend(ax, "best")
    ax.set_title(format_for(ax, title), fontsize=scale_font_size(10), parse_math=False)

    # The footnote is placed where other pictures have their privacy statement.
    ax.annotate(
        FORECAST_FOOTNOTE, (0, 0), (0, -4), xycoords=(ax.transAxes, ax.xaxis.label), textcoords="offset points",
        verticalalignment="top", fontsize=scale_font_size(7), annotation_clip=False,
    )  # fmt: skip
    return ax
