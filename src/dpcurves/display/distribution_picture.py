"""Distribution functions as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..release import PrivacyStatement
from .canvas import LANDSCAPE, canvas
from .decimation import visible
from .finish import finish
from .line_styles import is_blank, next_style
from .safe_text import legend_lettering
from .shade import Shade, draw_between, once

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARE = "share of records below"
AT_OR_BELOW = "share of records at or below"


def draw_cdf(
    x: ArrayLike,
    y: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a distribution function, interpolated linearly inside cells.

    Args:
        x: Edges of the cells.
        y: Share of records below each edge.
        privacy: The privacy statement that is written below the picture.
        label: The column and its measuring unit, as in ``arr_delay (minutes)``.
        shades: Bands, by their lower and upper ends at each edge. They are drawn in steps: inside a cell the curve may
            rise anywhere, so it is at least what it is at the left edge, and at most what it is at the right one.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    ax = canvas(ax, LANDSCAPE)
    style = next_style(ax)
    edges, shares = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    for shade in shades:
        low, high = np.asarray(shade.lower, dtype=float)[:-1], np.asarray(shade.upper, dtype=float)[1:]
        draw_between(ax, edges, low, high, color=style.color, alpha=shade.depth, title=once(ax, shade.words))
    seen = visible(edges, shares)
    title = None if name is None else legend_lettering(name)
    ax.plot(edges[seen], shares[seen], color=style.color, linestyle=style.dash, linewidth=1.6, label=title)
    if is_blank(ax):
        ax.set_ylim(-0.02, 1.02)
        ax.margins(x=0.01)
    return finish(ax, privacy, across=label, upwards=SHARE, name=name)


def draw_cdf_of_values(
    x: ArrayLike,
    y: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a distribution function of declared values as steps.

    Args:
        x: The values.
        y: Share of records at or below each value.
        privacy: The privacy statement that is written below the picture.
        label: The column and its measuring unit, as in ``age (years)``.
        shades: Bands, by their lower and upper ends at each value.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    ax = canvas(ax, LANDSCAPE)
    style = next_style(ax)
    values, shares = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    edges = np.append(values, values[-1] + (np.diff(values[-2:]).sum() or 1.0))  # the last step is seen, too
    for shade in shades:
        low, high = (np.asarray(end, dtype=float) for end in shade[:2])
        draw_between(ax, edges, low, high, color=style.color, alpha=shade.depth, title=once(ax, shade.words))
    title = None if name is None else legend_lettering(name)
    heights = np.concatenate([[0.0], shares, shares[-1:]])
    ax.step(
        np.append(values[0], edges), heights, where="post", color=style.color, linestyle=style.dash, linewidth=1.6,
        label=title,
    )  # fmt: skip
    if is_blank(ax):
        ax.set_ylim(-0.02, 1.02)
        ax.margins(x=0.01)
    return finish(ax, privacy, across=label, upwards=AT_OR_BELOW, name=name)
