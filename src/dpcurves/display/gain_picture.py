"""Cumulative gain as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from ..release import PrivacyStatement
from .canvas import SQUARE, canvas
from .line_styles import GREY, is_blank
from .rate_picture import draw_rates, frame_shares
from .shade import Shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_gain(
    flagged: ArrayLike,
    gain: ArrayLike,
    privacy: PrivacyStatement,
    *,
    edges: ArrayLike,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw the share of the positives among the highest scores, with the diagonal of a random order.

    Args:
        flagged: Share of all records above each threshold.
        gain: Share of the positives above it.
        privacy: The privacy statement that is written below the picture.
        edges: Shares of records between which the shades have their ends.
        shades: Bands of the gain, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    ax = canvas(ax, SQUARE)
    if is_blank(ax):
        frame_shares(ax, "share of records, highest scores first", "share of the positives")
        ax.plot([0, 1], [0, 1], color=GREY, linestyle=(0, (1, 2)), linewidth=1.2, label="in no order")
    return draw_rates(
        flagged, gain, privacy, words="gain", edges=edges, shades=shades, ax=ax, name=name, place="lower right"
    )
