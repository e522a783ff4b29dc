"""Binned residuals as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray
from ..release import PrivacyStatement
from .canvas import LANDSCAPE, canvas
from .line_styles import GREY, LineStyle, explain, is_blank, next_style
from .safe_text import legend_lettering
from .shade import Shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALLEST_MARK, LARGEST_MARK = 10.0, 90.0


def draw_binned_residuals(
    prob_pred: ArrayLike,
    residual: ArrayLike,
    count: ArrayLike,
    privacy: PrivacyStatement,
    *,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw mean residuals against mean predictions, a point for each bin, within the envelope.

    Args:
        prob_pred: Mean prediction of each bin, in nondecreasing order.
        residual: Mean residual of each bin.
        count: Records in each bin: the area of its point.
        privacy: The privacy statement that is written below the picture.
        shades: Envelopes: the lower and upper ends between which mean residuals stay if the model is right.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the model.
    """
    from .figure_note import sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    style = next_style(ax)
    if is_blank(ax):
        _draw_frame(ax)
    across, upwards, sizes = (np.asarray(each, dtype=float) for each in (prob_pred, residual, count))
    title = "" if name is None else f"{legend_lettering(name)}: "
    for shade in shades:
        _draw_envelope(ax, across, shade, style, title)
    parts = np.clip(sizes, 0, None) / np.fmax.reduce(sizes, initial=1.0)
    areas = SMALLEST_MARK + (LARGEST_MARK - SMALLEST_MARK) * parts
    words = f"{title}mean residual of a bin"
    ax.scatter(across, upwards, s=areas, color=style.color, label=words, zorder=3)
    write_plainly(ax)
    explain(ax, "best")
    sign(ax, privacy, name)
    return ax


def _draw_frame(ax: Axes) -> None:
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.margins(y=0.25)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel("mean predicted probability")
    ax.set_ylabel("mean residual: label less prediction")


def _draw_envelope(ax: Axes, across: FloatArray, shade: Shade, style: LineStyle, title: str) -> None:
    for bound, label in ((shade.upper, f"{title}{shade.words}"), (shade.lower, "")):
        # A single bin has a line of no length: a mark shows where it would begin.
        ax.plot(
            across, bound, color=style.color, linestyle=style.dash, linewidth=0.9, marker="_", alpha=0.7, label=label
        )
