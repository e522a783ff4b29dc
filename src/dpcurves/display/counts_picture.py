"""Counts of records below a few values, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..release import PrivacyStatement
from .canvas import LANDSCAPE, canvas
from .finish import finish
from .line_styles import is_blank, next_style
from .numerals import MOST_LABELLED, numeral
from .safe_text import legend_lettering
from .shade import Shade, once

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BELOW = "records below"


def draw_counts(
    x: ArrayLike,
    count: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw counts below a few values as points, for nothing is known of the values between.

    Args:
        x: The values.
        count: Records below each of them.
        privacy: What is written below the picture.
        label: The column and its measuring unit.
        shades: Intervals, by the lower and upper ends of each count.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the counts.
    """
    ax = canvas(ax, LANDSCAPE)
    style = next_style(ax)
    values, heights = np.asarray(x, dtype=float), np.asarray(count, dtype=float)
    tops = heights
    for number, shade in enumerate(shades, 1):
        low, high = (np.asarray(end, dtype=float) for end in shade[:2])
        width = 7 if number < len(shades) else 4
        ax.vlines(values, low, high, color=style.color, alpha=shade.depth, linewidth=width, label=once(ax, shade.words))
        tops = np.maximum(tops, high)
    title = None if name is None else legend_lettering(name)
    ax.plot(values, heights, "o", color=style.color, markersize=4, label=title)
    if is_blank(ax):
        ax.axhline(0, color="0.4", linewidth=0.6)
        ax.margins(x=0.12, y=0.12)
    if len(values) <= MOST_LABELLED:
        for value, height, top in zip(values, heights, tops, strict=True):
            ax.annotate(
                numeral(round(height)), (value, top), (0, 4), textcoords="offset points", ha="center", fontsize=8
            )
    return finish(ax, privacy, across=label, upwards=BELOW, name=name)
