"""Pictures of judged models: forest plots of numbers and of gaps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

import numpy as np

from dpcurves.conversation import PrivacyStatement
from dpcurves.display.canvas import (
    GREY,
    Shaded,
    canvas,
    explain,
)
from dpcurves.display.numerals import lettering
from dpcurves.display.scores import draw_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOM = 0.06
HEAD, ROW = 1.7, 0.26
LONGEST = 48


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
