"""Residual plots as pictures: a scatter, or a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray
from ..release import PrivacyStatement
from .canvas import LANDSCAPE, canvas
from .line_styles import GREY, explain, is_blank, next_style
from .safe_text import legend_lettering, lettering

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Labels = tuple[str, str]
SYNTHETIC = "synthetic points, none a record"


def draw_residual_points(
    points: ArrayLike,
    window: tuple[FloatArray, FloatArray],
    labels: Labels,
    privacy: PrivacyStatement,
    *,
    unseen: float,
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a synthetic scatter of residuals against predictions.

    Args:
        points: An array ``(n, 2)``: a prediction and a residual each.
        window: Edges of the cells that are shown, along either axis.
        labels: What the axes show.
        privacy: The privacy statement that is written below the picture.
        unseen: The share of the records that lie elsewhere.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the model.
    """
    from .figure_note import sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    style = next_style(ax)
    _frame(ax, window, labels)
    across, upwards = np.asarray(points, dtype=float).reshape(-1, 2).T
    words = SYNTHETIC if name is None else f"{legend_lettering(name)}: {SYNTHETIC}"
    ax.scatter(across, upwards, s=5, color=style.color, alpha=0.5, linewidths=0, label=words)
    _tell(ax, unseen)
    write_plainly(ax)
    sign(ax, privacy, name)
    return ax


def draw_residual_density(
    density: ArrayLike,
    edges: tuple[FloatArray, FloatArray],
    labels: Labels,
    privacy: PrivacyStatement,
    *,
    window: tuple[FloatArray, FloatArray],
    unseen: float,
    ax: Axes | None = None,
) -> Axes:
    """Draw how records are spread over predictions and residuals as a heat map.

    Args:
        density: Share of the records in each cell, of shape ``(cells along x, cells along y)``.
        edges: The edges of the cells, along either axis.
        labels: What the axes show.
        privacy: The privacy statement that is written below the picture.
        window: Edges of the cells that are shown.
        unseen: The share of the records that lie elsewhere.
        ax: Where to draw; None: in a new figure.
    """
    from .figure_note import sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    _frame(ax, window, labels)
    areas = np.outer(np.diff(edges[0]), np.diff(edges[1]))
    height = np.asarray(density, dtype=float) / areas
    # The root shows thin tails beside a dense middle.
    ax.pcolormesh(*edges, np.sqrt(height).T, cmap="Blues", rasterized=True, zorder=0)
    _tell(ax, unseen)
    write_plainly(ax)
    sign(ax, privacy, None)
    return ax


def _tell(ax: Axes, unseen: float) -> None:
    """Say in the legend how many records lie outside of the picture."""
    ax.plot([], [], " ", label=f"about {unseen:.1%} of the records lie outside")
    explain(ax, "best")


def _frame(ax: Axes, edges: tuple[FloatArray, FloatArray], labels: Labels) -> None:
    if is_blank(ax):
        ax.axhline(0, color=GREY, linewidth=0.8)
        ax.set_xlim(edges[0][0], edges[0][-1])
        ax.set_ylim(edges[1][0], edges[1][-1])
        ax.set_xlabel(lettering(labels[0], 60))
        ax.set_ylabel(lettering(labels[1], 60))
