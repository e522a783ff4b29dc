"""Many pictures of one kind beside each other, where one would be too crowded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, sqrt
from typing import TYPE_CHECKING

from ..release import PrivacyStatement
from .canvas import canvas
from .safe_text import lettering

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.gridspec import GridSpecBase

MOST_TOGETHER = 4
"""So many curves with their bands can be told apart on one picture."""
EACH = (2.1, 1.6)
LEAST_SIZE = (5.6, 4.0)
TITLE, TICK = 8, 7


def draw_small(
    names: Sequence[str], draw: Sequence[Callable[[Axes], object]], privacy: PrivacyStatement, *, ax: Axes | None = None
) -> Axes:
    """Draw small multiples: a panel for each name, all with the same axes, in the place of `ax`.

    The privacy statement and the legend appear once. Returns the first of the panels.

    Args:
        names: The titles of the panels.
        draw: Draws one panel on the axes that it is given.
        privacy: The privacy statement that is written below all of them.
        ax: The axes that the panels replace; None: in a new figure.
    """
    from .figure_note import Footnote, sign

    across = ceil(sqrt(len(draw)))
    down = ceil(len(draw) / across)
    size = max(LEAST_SIZE[0], across * EACH[0]), max(LEAST_SIZE[1], down * EACH[1] + 1.0)
    whole = canvas(ax, size)
    if len(whole.figure.axes) == 1:
        whole.figure.set_size_inches(*size)  # type: ignore[union-attr]
    small, below = _divided(whole, down, across, len(draw))
    for each, name, fill in zip(small, names, draw, strict=True):
        fill(each)
        note = Footnote.of(each)
        if note is not None:
            note.remove()
        _tidy(each, lettering(name, 30))
    _explain_once(small)
    sign(below, privacy, None)
    return small[0]


def _divided(whole: Axes, down: int, across: int, many: int) -> tuple[list[Axes], Axes]:
    """Small axes in the place of large ones, and below them axes without a height that carry what is written there."""
    place, figure = whole.get_subplotspec(), whole.figure
    heights = [1.0] * down + [0.01]
    grid: GridSpecBase = (
        figure.add_gridspec(down + 1, across, height_ratios=heights)
        if place is None
        else place.subgridspec(down + 1, across, height_ratios=heights)
    )
    whole.remove()
    first = figure.add_subplot(grid[0, 0])
    rest = [figure.add_subplot(grid[divmod(number, across)], sharex=first, sharey=first) for number in range(1, many)]
    for number, each in enumerate([first, *rest]):
        each.tick_params(labelbottom=number + across >= many, labelleft=number % across == 0)
    below = figure.add_subplot(grid[down, :])
    below.set(xticks=[], yticks=[])
    below.spines[:].set_visible(False)
    return [first, *rest], below


def _tidy(ax: Axes, name: str) -> None:
    """A title, and words only at axes that have numbers."""
    from matplotlib.ticker import MaxNLocator

    ax.set_title(name, fontsize=TITLE, parse_math=False)
    ax.tick_params(labelsize=TICK)
    ax.xaxis.set_major_locator(MaxNLocator(3))
    ax.xaxis.label.set_fontsize(TICK)
    ax.yaxis.label.set_fontsize(TICK)
    ax.xaxis.label.set_visible(ax.xaxis.get_tick_params()["labelbottom"])
    ax.yaxis.label.set_visible(ax.yaxis.get_tick_params()["labelleft"])


def _explain_once(small: Sequence[Axes]) -> None:
    for each in small:
        legend = each.get_legend()
        if legend is not None:
            legend.remove()
    handles, words = small[0].get_legend_handles_labels()
    if handles:
        figure = small[0].figure
        figure.legend(handles, words, loc="outside upper center", ncols=2, fontsize=TITLE, frameon=False)
