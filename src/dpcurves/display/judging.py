"""Pictures of judged models: forest plots of numbers and of gaps, and curves with their bands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import ArrayLike

from ..conversation import PrivacyStatement
from .canvas import GREY, LANDSCAPE, Picture, Shaded, canvas
from .numerals import lettering
from .scores import draw_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOM = 0.06
HEAD, ROW = 1.7, 0.26
LONGEST = 48


def draw_forest(
    values: Mapping[str, float], privacy: PrivacyStatement, *, label: str, nothing: float | None, **on: Unpack[Shaded]
) -> Axes:
    """Draw each number in a row with its intervals, and a line where there is no difference.

    Args:
        values: Numbers by their names.
        label: What the x axis shows.
        nothing: Where there is no difference; None: nowhere.
    """
    if on.get("ax") is None:
        on["ax"] = canvas(None, (6.8, HEAD + ROW * len(values)))
    ax = draw_numbers({lettering(name, LONGEST): value for name, value in values.items()}, privacy, **on)
    ends = [np.asarray(end) for shade in on.get("shades", ()) for end in (shade.lower, shade.upper)]
    seen = np.concatenate([np.array(list(values.values()), dtype=float), *ends, [] if nothing is None else [nothing]])
    seen = seen[np.isfinite(seen)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
    room = ROOM * (high - low) or ROOM
    ax.set_xlim(low - room, high + room)
    ax.set_xlabel(lettering(label), parse_math=False)
    if nothing is not None:
        ax.axvline(nothing, color=GREY, linewidth=0.9, linestyle=":", zorder=0)
    return ax


def draw_banded(
    x: ArrayLike,
    y: ArrayLike,
    privacy: PrivacyStatement,
    *,
    labels: tuple[str, str],
    beside: tuple[ArrayLike, ArrayLike, str] | None = None,
    **on: Unpack[Shaded],
) -> Axes:
    """Draw points of a curve that are joined by lines, with their intervals, beside a line of reference.

    Args:
        x: Where the points are.
        y: Their heights.
        labels: What both axes show.
        beside: A line of reference, and its name; None: none.
    """
    picture = Picture(LANDSCAPE, privacy, **on)
    if beside is not None and picture.is_first:
        picture.ax.plot(beside[0], beside[1], color=GREY, linestyle=(0, (1, 2)), linewidth=1.2, label=beside[2])
    for shade, width in picture.nested():
        picture.ax.vlines(
            x, shade.lower, shade.upper, color=picture.style.color, alpha=0.3, linewidth=width, label=shade.words
        )
    picture.plot(x, y, "o-", markersize=3.5, linewidth=1.4, label=picture.entry())
    return picture.explain(*labels).signed()
