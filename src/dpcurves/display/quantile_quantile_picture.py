"""Quantiles of one curve against those of another, as points beside the diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..release import PrivacyStatement
from .canvas import SQUARE, canvas
from .line_styles import explain, next_style
from .safe_text import lettering
from .shade import DEEP, PALE, POPULATION, once

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIAGONAL = "equal quantiles"


class SteppedShade(NamedTuple):
    """A region between two step functions.

    Attributes:
        edges: Along x, (steps + 1,).
        lower, upper: Ends along y between two edges, (steps,).
        words: Its label in the legend: level, kind, and whether it is for these records or for the population.
    """

    edges: ArrayLike
    lower: ArrayLike
    upper: ArrayLike
    words: str


def draw_quantile_quantile(
    x: ArrayLike,
    y: ArrayLike,
    privacy: tuple[PrivacyStatement, PrivacyStatement],
    *,
    labels: tuple[str, str],
    shades: Sequence[SteppedShade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a point for each pair of quantiles.

    Args:
        x: Quantiles of the first curve.
        y: Those of the second one.
        privacy: The privacy statement of both, which is written below the picture.
        labels: What x and y axis show.
        shades: Confidence regions for the true pairs.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls it.
    """
    from .figure_note import sign
    from .ticks import write_plainly

    ax = canvas(ax, SQUARE)
    style, across, upwards = next_style(ax), np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    for shade in shades:
        depth = PALE if POPULATION in shade.words else DEEP
        ax.stairs(
            shade.upper, shade.edges, baseline=shade.lower, fill=True, color=style.color, alpha=depth, linewidth=0,
            label=once(ax, shade.words),
        )  # fmt: skip
    ends = np.array([min(across.min(), upwards.min()), max(across.max(), upwards.max())])
    ax.plot(ends, ends, color="#6b6b6b", linewidth=1.0, linestyle=(0, (4, 3)), label=DIAGONAL)
    ax.plot(across, upwards, "o", color=style.color, markersize=3.2, label=name)
    ax.set_xlabel(lettering(labels[0]), parse_math=False)
    ax.set_ylabel(lettering(labels[1]), parse_math=False)
    write_plainly(ax)
    explain(ax, "best")
    same = privacy[0] == privacy[1]
    for statement, whose in zip(privacy[: 1 if same else 2], (None,) if same else ("first", "second"), strict=True):
        sign(ax, statement, whose)
    return ax
