"""Counts of records below a few values, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..release import Face
from .canvas import LANDSCAPE, canvas
from .ink import certainty, explain, is_blank, next_ink
from .lettering import legend_lettering, lettering, reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BELOW = "records below"
FEW = 12


def draw_counts(
    x: ArrayLike,
    count: ArrayLike,
    face: Face,
    *,
    label: str,
    errors: ArrayLike,
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw counts below a few values as points, for nothing is known of the values between.

    Args:
        x: The values.
        count: Records below each of them.
        face: What is written below the picture.
        label: The column and its measuring unit.
        errors: Standard error of each count.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the counts.
    """
    from .footnote import sign

    ax = canvas(ax, LANDSCAPE)
    ink = next_ink(ax)
    values, heights, spread = (np.asarray(numbers, dtype=float) for numbers in (x, count, errors))
    ax.vlines(
        values, heights - spread, heights + spread, color=ink.color, alpha=0.45, linewidth=4, label=certainty(None)
    )
    title = None if name is None else legend_lettering(name)
    ax.plot(values, heights, "o", color=ink.color, markersize=4, label=title)
    if is_blank(ax):
        ax.axhline(0, color="0.4", linewidth=0.6)
        ax.margins(x=0.12, y=0.12)
    if len(values) <= FEW:
        for value, height, top in zip(values, heights, heights + spread, strict=True):
            ax.annotate(reading(height), (value, top), (0, 4), textcoords="offset points", ha="center", fontsize=8)
    ax.set_xlabel(lettering(label), parse_math=False)
    ax.set_ylabel(BELOW)
    explain(ax, "best")
    sign(ax, face, name)
    return ax
