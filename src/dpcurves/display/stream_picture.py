"""Counts of a stream over time: what was read, as lines, over what was released, as points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import BoolArray, FloatArray
from ..release import PrivacyStatement
from .canvas import LANDSCAPE, canvas
from .line_styles import explain, next_style
from .safe_text import lettering
from .shade import PALE, once

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_stream(
    starts: Sequence[int],
    counts: Mapping[str, FloatArray],
    privacy: PrivacyStatement,
    *,
    released: Mapping[str, FloatArray],
    happened: Mapping[str, BoolArray],
    covered: Mapping[str, tuple[FloatArray, FloatArray]],
    words: str,
    said: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw a line for each state, and sign the picture.

    Args:
        starts: When each step began, in microseconds since 1970.
        counts: What was read of each state, a number a step.
        privacy: The privacy statement that is written below the picture.
        released: The noisy integers, where there is one for each state.
        happened: Whether an event happened in each state; it is marked on the line.
        covered: Ends of intervals of each state, a number a step, which are shaded; of none of them where it is empty.
        words: What the legend calls them.
        said: What the numbers are.
        ax: Where to draw; None: in a new figure.
    """
    from matplotlib import dates

    from .figure_note import sign

    ax = canvas(ax, LANDSCAPE)
    times = np.array(starts, dtype="datetime64[us]")
    for state, line in counts.items():
        style = next_style(ax)
        if state in released:
            ax.plot(times, released[state], ".", color=style.color, alpha=0.25, markersize=3)
        if state in covered:
            ax.fill_between(times, *covered[state], color=style.color, alpha=PALE, linewidth=0, label=once(ax, words))
        ax.plot(times, line, style.dash, color=style.color, label=lettering(state))
        if state in happened:
            ax.plot(times[happened[state]], line[happened[state]], "v", color=style.color, markersize=5)
        sign(ax, privacy, state)
    untyped: Any = dates
    ax.xaxis.set_major_formatter(untyped.ConciseDateFormatter(ax.xaxis.get_major_locator()))
    ax.set_xlabel("start of the step (UTC)")
    ax.set_ylabel(said)
    explain(ax, "best")
    return ax
