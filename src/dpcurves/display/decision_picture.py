"""Decision curves as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..release import PrivacyStatement
from .canvas import LANDSCAPE, canvas
from .line_styles import GREY, is_blank
from .rate_picture import draw_rates
from .shade import Shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOM, DEPTH = 1.35, 0.25


def draw_decision(
    threshold: ArrayLike,
    benefit: ArrayLike,
    all_benefit: ArrayLike,
    privacy: PrivacyStatement,
    *,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw net benefit against the threshold probability, with those of treating everybody and of treating nobody.

    Losses much larger than the greatest possible benefit are cut off: the loss of treating everybody is unbounded.

    Args:
        threshold: Rising probabilities.
        benefit: The net benefit of treating by the scores.
        all_benefit: The net benefit of treating everybody.
        privacy: The privacy statement that is written below the picture.
        shades: Bands of `benefit`, by their ends at each threshold, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    ax = canvas(ax, LANDSCAPE)
    at, everybody = np.asarray(threshold, dtype=float), np.asarray(all_benefit, dtype=float)
    if is_blank(ax):
        ax.plot(at, everybody, color=GREY, linestyle="--", linewidth=1.1, label="acting on everybody")
        ax.axhline(0, color=GREY, linewidth=1.1, label="acting on nobody")
        ax.set_xlabel("threshold probability")
        ax.set_ylabel("net benefit")
        ax.set_xlim(0, 1)
    draw_rates(
        at, benefit, privacy, words="acting by the scores", edges=_between(at), shades=shades, ax=ax, name=name,
        size=LANDSCAPE, place="best",
    )  # fmt: skip
    highest = max(float(np.nanmax(np.append(benefit, everybody), initial=0.0)), 0.01)
    ax.set_ylim(-DEPTH * highest, ROOM * highest)
    return ax


def _between(at: np.ndarray) -> np.ndarray:
    """Edges half way between neighbours: so much is shaded for each."""
    if len(at) < 2:
        return np.linspace(0, 1, len(at) + 1)
    middles = (at[:-1] + at[1:]) / 2
    return np.concatenate([[2 * at[0] - middles[0]], middles, [2 * at[-1] - middles[-1]]])
