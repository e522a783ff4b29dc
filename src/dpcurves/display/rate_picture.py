"""Curves of shares, in their bands: what the pictures of precision, gain and net benefit have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..release import PrivacyStatement
from .canvas import SQUARE, canvas
from .decimation import visible
from .line_styles import Place, explain, next_style
from .safe_text import legend_lettering
from .shade import Shade, draw_between, once

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_rates(
    x: ArrayLike,
    y: ArrayLike,
    privacy: PrivacyStatement,
    *,
    words: str,
    edges: ArrayLike,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
    size: tuple[float, float] = SQUARE,
    place: Place = "best",
) -> Axes:
    """Draw one curve over its shaded bands, with a legend, and sign it.

    Args:
        x: Where the points lie.
        y: How high they are.
        privacy: The privacy statement that is written below the picture.
        words: What the legend calls the curve, after its name.
        edges: Between which the shades have their ends.
        shades: Bands, by their lower and upper ends between the edges, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
        size: The size of a new figure.
        place: The place of the legend.
    """
    from .figure_note import sign
    from .ticks import write_plainly

    ax = canvas(ax, size)
    style = next_style(ax)
    between = np.asarray(edges, dtype=float)
    for shade in shades:
        low, high = np.asarray(shade.lower, dtype=float), np.asarray(shade.upper, dtype=float)
        draw_between(ax, between, low, high, color=style.color, alpha=shade.depth, title=once(ax, shade.words))
    across, upwards = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    seen = visible(across, upwards)
    title = words if name is None else f"{legend_lettering(name)}: {words}"
    ax.plot(across[seen], upwards[seen], color=style.color, linestyle=style.dash, linewidth=1.6, label=title)
    write_plainly(ax)
    explain(ax, place, size=8)
    sign(ax, privacy, name)
    return ax


def frame_shares(ax: Axes, across: str, upwards: str) -> None:
    """Axes from 0 to 1, alike in both directions."""
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    ax.set_xlabel(across)
    ax.set_ylabel(upwards)
