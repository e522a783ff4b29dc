"""Shaded areas of a picture: how sure a curve is, at which level, and whom that speaks of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numpy.typing import ArrayLike

from ..arrays import FloatArray
from .decimation import hull_in_blocks
from .stairs import draw_stairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RECORDS = "for these records"
"""What an interval covers that knows of the noise alone."""
POPULATION = "for the population"
"""What an interval covers that knows of the noise, and of how the records were drawn."""
DEEP, PALE = 0.34, 0.15
UNNAMED = "_nolegend_"


class Shade(NamedTuple):
    """A shaded band of a picture, or an error bar at each of its points.

    Attributes:
        lower: Lower ends, of the shape of the curve.
        upper: Upper ends.
        words: Its label in the legend: level, kind, and whether it is for these records or for the population.
    """

    lower: ArrayLike
    upper: ArrayLike
    words: str

    @property
    def depth(self) -> float:
        """The opacity: intervals for the population are wider, and drawn paler."""
        return PALE if POPULATION in self.words else DEEP


def covering(level: float, what: str, whom: str) -> str:
    """The words for a band or for intervals in a legend, a table or an HTML summary.

    >>> covering(0.95, "band", RECORDS)
    '95% band for these records'
    """
    return f"{100 * level:.6g}% {what} {whom}"


def once(ax: Axes, words: str) -> str:
    """The legend entry of a shade: of the shades of several curves, one entry speaks for all."""
    return UNNAMED if words in ax.get_legend_handles_labels()[1] else words


def draw_between(
    ax: Axes, edges: FloatArray, lower: FloatArray, upper: FloatArray, *, color: str, alpha: float, title: str | None
) -> None:
    """Shade what lies between two ends over each cell."""
    cells, low, high = hull_in_blocks(edges, lower, upper)
    draw_stairs(ax, high, cells, low, fill=True, facecolor=color, alpha=alpha, linewidth=0, label=title)
