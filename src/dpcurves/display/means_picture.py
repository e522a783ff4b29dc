"""Means of several groups, one above the other, as dots with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..release import PrivacyStatement
from .canvas import LANDSCAPE, canvas
from .line_styles import explain, next_style
from .numerals import MOST_LABELLED, standing
from .safe_text import lettering
from .shade import Shade, once

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 0.32
"""Inches that each group needs."""
LEGEND = 0.2
"""The part of the height that is left to the legend."""
LONGEST_NAME = 30


def draw_means(
    names: Sequence[str],
    means: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw one dot for each group, the first at the top.

    Args:
        names: The names of the groups.
        means: The means of the groups.
        privacy: The privacy statement that is written below the picture.
        label: What the x axis shows.
        shades: Intervals, by the lower and upper ends of each mean.
        ax: Where to draw; None: in a new figure, which is as high as the groups need.
    """
    from .figure_note import sign
    from .ticks import write_plainly

    ax = canvas(ax, (LANDSCAPE[0], max(LANDSCAPE[1], 1.5 + ROW * len(names))))
    style, values, rows = next_style(ax), np.asarray(means, dtype=float), np.arange(len(names))
    width = np.zeros(len(names))
    for number, shade in enumerate(shades, 1):
        low, high = (np.asarray(end, dtype=float) for end in shade[:2])
        thick = 7 if number < len(shades) else 4
        ax.hlines(rows, low, high, color=style.color, alpha=shade.depth, linewidth=thick, label=once(ax, shade.words))
        width = high - low
    ax.plot(values, rows, "o", color=style.color, markersize=5)
    labelled = zip(values.tolist(), rows, width.tolist(), strict=True) if len(rows) <= MOST_LABELLED else ()
    for value, row, known in labelled:
        words = standing(value, value, value, known_to=known)
        ax.annotate(words, (value, row), (0, 6), textcoords="offset points", ha="center", fontsize=8)
    ax.set_yticks(rows, [lettering(name, LONGEST_NAME) for name in names], parse_math=False)
    ax.set_ylim(len(rows) - 0.4, -0.9 - LEGEND * (len(rows) + 1))
    ax.margins(x=0.12)
    ax.set_xlabel(lettering(label), parse_math=False)
    write_plainly(ax)
    explain(ax, "upper right")
    sign(ax, privacy, None)
    return ax
