"""Precision-recall curves as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from ..release import PrivacyStatement
from .canvas import SQUARE, canvas
from .line_styles import is_blank
from .numerals import numeral
from .rate_picture import draw_rates, frame_shares
from .shade import Shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_precision_recall(
    recall: ArrayLike,
    precision: ArrayLike,
    average_precision: float,
    privacy: PrivacyStatement,
    *,
    edges: ArrayLike,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw precision against recall, with the average precision in the legend.

    Args:
        recall: Share of positives above each threshold.
        precision: Share of positives among those above it.
        average_precision: For the legend.
        privacy: The privacy statement that is written below the picture.
        edges: Values of recall between which the shades have their ends.
        shades: Bands of precision, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    ax = canvas(ax, SQUARE)
    if is_blank(ax):
        frame_shares(ax, "recall", "precision")
    known = isfinite(average_precision)
    words = f"average precision {numeral(average_precision, width=0.01)}" if known else "not known"
    return draw_rates(recall, precision, privacy, words=words, edges=edges, shades=shades, ax=ax, name=name)
