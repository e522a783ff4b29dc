"""Colours that the colour-blind can tell apart, dashes for those who print in grey, and the legend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREY, FRAME = "#8a8a8a", "#d9d9d9"
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b")
"""Okabe and Ito 2008, without the yellow, which is too pale for lines."""
DASHES = ("-", "--", "-.", ":")
CROWD = 8
Place = Literal["above", "best", "lower right", "upper center", "upper right"]


class LineStyle(NamedTuple):
    """The line style of one curve."""

    color: str
    dash: str


def next_style(ax: Axes) -> LineStyle:
    """For the next curve on `ax`: another than those before."""
    from .figure_note import Footnote

    note = Footnote.of(ax)
    drawn = 0 if note is None else note.curves
    return LineStyle(PALETTE[drawn % len(PALETTE)], DASHES[drawn % len(DASHES)])


def is_blank(ax: Axes) -> bool:
    """Tell whether nothing of ours was drawn on `ax` yet."""
    from .figure_note import Footnote

    return Footnote.of(ax) is None


def explain(ax: Axes, place: Place, size: float = 9) -> None:
    """A legend of all that has a label, at `place`; beside the picture where there are too many.

    Above the picture it hides nothing, if the figure has a layout that makes room for it; else it is set at best.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    if len(handles) > CROWD:
        legend = ax.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=8)
    elif place == "above" and ax.figure.get_layout_engine() is not None:
        legend = ax.legend(handles, labels, loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize=size)
    else:
        inside = "best" if place == "above" else place
        legend = ax.legend(handles, labels, loc=inside, fontsize=size, framealpha=0.85, edgecolor=FRAME)
    for text in legend.get_texts():
        text.set_parse_math(False)
