"""Survival curves as steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..release import PrivacyStatement
from .at_risk_table import AtRiskRow, write_at_risk
from .canvas import LANDSCAPE, canvas
from .line_styles import explain, next_style
from .safe_text import legend_lettering, lettering
from .shade import Shade, once

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_survival(
    x: ArrayLike,
    y: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    at_risk: AtRiskRow | None = None,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw the share that survives as steps that go down where cells end.

    Args:
        x: Edges of cells.
        y: The share that survives up to each of them.
        privacy: The privacy statement that is written below the picture.
        label: What the x axis shows.
        at_risk: Numbers that are written below the axis, where there is room.
        shades: Bands, by their lower and upper ends at the edges.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    from .figure_note import sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    style, edges = next_style(ax), np.asarray(x, dtype=float)
    for shade in shades:
        low, high = (np.asarray(end, dtype=float) for end in shade[:2])
        filled = ax.fill_between(edges, low, high, step="post", color=style.color, alpha=shade.depth, linewidth=0)
        filled.set_label(once(ax, shade.words))
    title = None if name is None else legend_lettering(name)
    ax.step(edges, np.asarray(y), where="post", color=style.color, linestyle=style.dash, linewidth=1.4, label=title)
    ax.set_ylim(-0.02, 1.02)
    ax.margins(x=0.01)
    ax.set_xlabel(lettering(label), parse_math=False)
    ax.set_ylabel("share without an event")
    write_plainly(ax)
    explain(ax, "best")
    if at_risk is not None:
        write_at_risk(ax, at_risk, name, style.color)
    sign(ax, privacy, name)
    return ax
