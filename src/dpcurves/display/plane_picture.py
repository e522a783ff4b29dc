"""A plane of cells as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray
from ..release import PrivacyStatement
from .canvas import LANDSCAPE, canvas
from .safe_text import lettering

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EVEN = 1e-6
"""The most that widths of cells may differ, relative to the first, to be called equal."""


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

    from .figure_note import sign
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
