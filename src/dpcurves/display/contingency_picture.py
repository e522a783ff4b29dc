"""A table of two columns of categories as a heat map with its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..release import PrivacyStatement
from .canvas import LANDSCAPE, canvas
from .numerals import MOST_LABELLED, numeral
from .safe_text import lettering

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST_NAME = 18
DARK = 0.55
"""The part of the darkest cell from which on a cell is so dark that white is read better on it."""


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
    """Draw one cell for each pair of categories, the darker the larger its share of its row.

    Args:
        count: Records, of shape ``(rows, columns)``.
        share: The share of the records of its row, of the same shape; NaN, as a count may be, is *not known*.
        names: The names of the rows, and of the columns.
        labels: What is counted in rows, and in columns.
        privacy: The privacy statement that is written below the picture.
        title: What stands above it.
        error: How far counts may be off, of the same shape; None: not written.
        ax: Where to draw; None: in a new figure.
    """
    from .figure_note import sign

    ax = canvas(ax, (max(LANDSCAPE[0], 1.6 + 0.95 * len(names[1])), max(LANDSCAPE[1], 1.8 + 0.5 * len(names[0]))))
    shares, counts = np.asarray(share, dtype=float), np.asarray(count, dtype=float)
    darkest = float(np.nanmax(np.append(shares, 1e-9)))
    drawn = ax.imshow(shares, cmap="Blues", vmin=0, vmax=darkest, aspect="auto")
    bar = ax.figure.colorbar(drawn, ax=ax, label="share of the row")
    bar.ax.tick_params(labelsize=8)
    if max(counts.shape) <= MOST_LABELLED:
        off = None if error is None else np.asarray(error, dtype=float)
        for row, column in np.ndindex(counts.shape):
            words = numeral(np.rint(counts[row, column]))
            words += "" if off is None or np.isnan(off[row, column]) else f"\n± {numeral(np.rint(off[row, column]))}"
            shown = "white" if shares[row, column] > DARK * darkest else "black"
            ax.text(column, row, words, ha="center", va="center", fontsize=8, color=shown)
    ax.set_yticks(range(len(names[0])), [lettering(name, LONGEST_NAME) for name in names[0]], parse_math=False)
    ax.set_xticks(range(len(names[1])), [lettering(name, LONGEST_NAME) for name in names[1]], parse_math=False)
    ax.set_ylabel(lettering(labels[0], 60), parse_math=False)
    ax.set_xlabel(lettering(labels[1], 60), parse_math=False)
    ax.set_title(title, fontsize=9, parse_math=False)
    sign(ax, privacy, None)
    return ax
