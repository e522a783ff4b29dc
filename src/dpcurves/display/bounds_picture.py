"""Private bounds as pictures: an interval around zero, or a rectangle."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from ..release import PrivacyStatement
from .canvas import LANDSCAPE, canvas
from .line_styles import GREY, explain, is_blank, next_style
from .numerals import numeral
from .safe_text import legend_lettering, lettering
from .shade import once

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARGIN, ROOM = 1.3, 2.8
LONGEST_LINE, LINE_WIDTH = 120, 48
NEXT = "the next wider one; in white the ends of the next narrower one"
WIDEST = "the widest tried"


def draw_bounds(
    bound: float,
    privacy: PrivacyStatement,
    *,
    label: str,
    covers: str,
    narrower: float,
    wider: float | None,
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw an interval around zero, the next wider one as a thinner line, and the ends of the next narrower one.

    Args:
        bound: Its upper end.
        privacy: The privacy statement that is written below the picture.
        label: What the axis shows.
        covers: The share of the records that it covers, and with which probability.
        narrower: Upper end of the interval that was tried before.
        wider: Upper end of the one that would have been tried next; None: this was the last one.
        ax: Where to draw; None: in a new figure. Several intervals stand one above the other.
        name: What the legend calls it.
    """
    from .figure_note import Footnote, sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    style, note = next_style(ax), Footnote.of(ax)
    height = 0 if note is None else note.curves
    if is_blank(ax):
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set_yticks([])
        ax.set_xlabel(lettering(label), parse_math=False)
    words = f"from {numeral(-bound)} to {numeral(bound)}" + ("" if wider is not None else f", {WIDEST}")
    title = words if name is None else f"{legend_lettering(name)}: {words}"
    if wider is not None:
        ends, beside = [-wider, wider], once(ax, NEXT)
        ax.plot(ends, [height] * 2, color=style.color, linewidth=1, alpha=0.45, marker="|", label=beside)
    said = "\n".join((title, *wrap(f"covers {covers}", LINE_WIDTH)))
    ax.plot([-bound, bound], [height] * 2, color=style.color, linewidth=5, solid_capstyle="butt", label=said)
    ax.plot([-narrower, narrower], [height] * 2, color="white", linewidth=0, marker="|", markersize=5)
    ax.set_ylim(-1, height + 2)
    write_plainly(ax)
    explain(ax, "best")
    sign(ax, privacy, name)
    return ax


def draw_plane_bounds(
    bounds: tuple[float, float],
    privacy: PrivacyStatement,
    *,
    labels: tuple[str, str],
    covers: Sequence[str] = (),
    widest: Sequence[str] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a rectangle around the origin.

    Args:
        bounds: Its upper ends along the x axis and along the y axis.
        privacy: The privacy statement that is written below the picture.
        labels: What the axes show.
        covers: The share of the records that each covers, and with which probability.
        widest: Columns for which no wider bound was tried.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls it.
    """
    from .figure_note import sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    style = next_style(ax)
    across, upwards = bounds
    if is_blank(ax):
        ax.axhline(0, color=GREY, linewidth=0.8)
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set_xlim(-MARGIN * across, MARGIN * across)
        ax.set_ylim(-MARGIN * upwards, ROOM * upwards)
        ax.set_xlabel(lettering(labels[0]), parse_math=False)
        ax.set_ylabel(lettering(labels[1]), parse_math=False)
    words = f"± {numeral(across)} by ± {numeral(upwards)}"
    words += "".join(f", {WIDEST} for {lettering(column)}" for column in widest)
    title = words if name is None else f"{legend_lettering(name)}: {words}"
    corners = [-across, across, across, -across, -across], [-upwards, -upwards, upwards, upwards, -upwards]
    ax.fill(*corners, color=style.color, alpha=0.12, linewidth=0)
    said = "\n".join((title, *(part for line in covers for part in wrap(lettering(line, LONGEST_LINE), LINE_WIDTH))))
    ax.plot(*corners, color=style.color, linestyle=style.dash, label=said)
    write_plainly(ax)
    explain(ax, "best")
    sign(ax, privacy, name)
    return ax
