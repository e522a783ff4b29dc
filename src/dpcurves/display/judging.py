"""Pictures of judged models: forest plots of numbers and of gaps, and curves by their names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Unpack

import numpy as np

from ..arrays import FloatArray
from ..conversation import PrivacyStatement
from .canvas import (
    GREY,
    LANDSCAPE,
    SQUARE,
    UNIT,
    Picture,
    Shade,
    Shaded,
    canvas,
    depth,
    explain,
    once,
    style_of,
)
from .numerals import lettering
from .scores import draw_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOM = 0.06
HEAD, ROW = 1.7, 0.26
LONGEST = 48
NO_BANDS: Mapping[str, Shade] = MappingProxyType({})


def draw_intervals(
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
    explain(ax, "above", 8)
    if nothing is not None:
        ax.axvline(nothing, color=GREY, linewidth=0.9, linestyle=":", zorder=0)
    return ax


def draw_curves(
    curves: Mapping[str, tuple[FloatArray, FloatArray]],
    privacy: PrivacyStatement,
    *,
    labels: tuple[str, str],
    ax: Axes | None = None,
    share: bool = True,
    bands: Mapping[str, Shade] = NO_BANDS,
) -> Axes:
    """Draw curves by their names on common axes.

    Args:
        curves: Places and heights of each.
        labels: What both axes show.
        ax: Where; None: on a new figure.
        share: Whether both axes are from 0 to 1, with a line from one end to the other.
        bands: A band around a curve, by its name.
    """
    for place, (name, (x, y)) in enumerate(curves.items()):
        picture = Picture(SQUARE if share else LANDSCAPE, privacy, ax=ax, name=name)
        ax, at = picture.ax, picture.before + place
        picture.style = style_of(ax, at)
        if name in bands:
            low, high, words = bands[name]
            color, label = picture.style.color, once(ax, words)
            ax.fill_between(x, low, high, linewidth=0, color=color, alpha=depth(words, ax), label=label)
        picture.line(x, y, picture.entry())
    if share:
        picture.ax.set(xlim=UNIT, ylim=UNIT, aspect="equal")
        picture.ax.plot(UNIT, UNIT, color=GREY, linestyle=(0, (1, 2)), linewidth=1.2)
    picture.name = None
    return picture.explain(*labels, place="above").signed()
