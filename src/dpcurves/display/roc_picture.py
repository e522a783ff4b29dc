"""ROC curves as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..release import PrivacyStatement
from .canvas import SQUARE, canvas
from .decimation import visible
from .line_styles import GREY, explain, is_blank, next_ink
from .safe_text import decimals, legend_lettering

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_roc(
    fpr: ArrayLike,
    tpr: ArrayLike,
    auc: float,
    privacy: PrivacyStatement,
    *,
    interval: tuple[float, float] | None = None,
    level: float | None = None,
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a ROC curve, the diagonal of a coin, and the area in the legend.

    Args:
        fpr: Share of negatives above each threshold.
        tpr: Share of positives above each threshold.
        auc: Area under the curve.
        privacy: What is written below the picture.
        interval: Of the area.
        level: Of the interval, for the legend.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    from .figure_note import sign

    ax = canvas(ax, SQUARE)
    ink = next_ink(ax)
    if is_blank(ax):
        _draw_frame(ax)
    across, upwards = np.asarray(fpr, dtype=float), np.asarray(tpr, dtype=float)
    seen = visible(across, upwards)
    title = "" if name is None else f"{legend_lettering(name)}: "
    words = title + _area(float(auc), interval, level)
    ax.plot(across[seen], upwards[seen], color=ink.color, linestyle=ink.dash, linewidth=1.6, label=words)
    explain(ax, "lower right")
    sign(ax, privacy, name)
    return ax


def _draw_frame(ax: Axes) -> None:
    ax.plot([0, 1], [0, 1], color=GREY, linestyle=(0, (1, 2)), linewidth=1.2)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("true positive rate")


def _area(auc: float, interval: tuple[float, float] | None, level: float | None) -> str:
    if interval is None:
        return f"AUC {auc:.{decimals(auc)}f}"
    low, high = interval
    digits = decimals(float(low), auc, float(high))
    certainty = "" if level is None else f"{100 * level:.4g}%: "
    return f"AUC {auc:.{digits}f} ({certainty}{low:.{digits}f} to {high:.{digits}f})"
