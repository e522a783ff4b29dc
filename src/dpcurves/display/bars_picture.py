"""Histograms as pictures: counts or shares of cells, and densities where cells are of unequal width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray
from ..release import PrivacyStatement
from .canvas import LANDSCAPE, canvas
from .decimation import BLOCKS
from .finish import finish, leave_room
from .line_styles import LineStyle, is_blank, next_style
from .safe_text import legend_lettering, lettering
from .shade import Shade, draw_between, once
from .stairs import draw_stairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILLED = 512
ROOM = 0.22
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
        leave_room(ax, ROOM)
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
