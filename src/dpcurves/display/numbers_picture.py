"""Single numbers between 0 and 1 below each other, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..release import PrivacyStatement
from .canvas import LANDSCAPE, canvas
from .line_styles import LineStyle, explain, is_blank, next_style
from .safe_text import legend_lettering
from .shade import POPULATION, Shade, once

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..arrays import FloatArray

THIN, THICK, WITHIN = 1.1, 5.0, 0.4
"""Widths of the bars of intervals for the population and for these records, and how pale the latter are."""
APART = 0.2
ROOM = 0.36
"""What part of the rows is left free above all numbers, for the legend."""


def draw_numbers(
    values: Mapping[str, float],
    privacy: PrivacyStatement,
    *,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw each number as a point in a row of its own, with its intervals.

    Args:
        values: The numbers, by name.
        privacy: The privacy statement that is written below the picture.
        shades: Intervals, by the lower and upper end of each number, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls them.
    """
    from .figure_note import sign

    ax = canvas(ax, LANDSCAPE)
    style, rows = next_style(ax), np.arange(len(values), dtype=np.float64)[::-1]
    if is_blank(ax):
        _draw_frame(ax, list(values), rows)
    places = rows - APART * _drawn_before(ax)
    for shade in shades:
        _draw_ends(ax, places, shade, style)
    title = "as released" if name is None else legend_lettering(name)
    ax.plot(list(values.values()), places, "o", color=style.color, markersize=4.5, label=title, zorder=3)
    explain(ax, "upper center")
    sign(ax, privacy, name)
    return ax


def _draw_frame(ax: Axes, names: Sequence[str], rows: FloatArray) -> None:
    ax.set_yticks(rows, list(names))
    ax.set_ylim(-1.0, len(names) - 1 + ROOM * len(names))
    ax.set_xlim(-0.02, 1.02)
    ax.grid(axis="x", alpha=0.3, linewidth=0.6)


def _drawn_before(ax: Axes) -> int:
    from .figure_note import Footnote

    note = Footnote.of(ax)
    return 0 if note is None else note.curves


def _draw_ends(ax: Axes, places: FloatArray, shade: Shade, style: LineStyle) -> None:
    """For the population thin, for these records thick, and within."""
    thickness, alpha = (THIN, 1.0) if POPULATION in shade.words else (THICK, WITHIN)
    title = once(ax, shade.words)
    ax.hlines(places, shade.lower, shade.upper, color=style.color, linewidth=thickness, alpha=alpha, label=title)
