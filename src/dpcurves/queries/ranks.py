"""Questions about the order of records: medians of medians, and how well one column ranks two classes."""

from __future__ import annotations

from dataclasses import dataclass

from ..arguments import Refused, make_whole
from ..data.axis import Axis, Categories
from ..data.spacing import Outside
from .base import Query

MOST_LEVELS = 16


@dataclass(frozen=True, slots=True)
class MedianQuery(Query):
    """Numbers of inner edges of the one axis near the median of the records, of both halves, and so on.

    Attributes:
        levels: How often pieces are halved: ``2**levels - 1`` edges are asked for.

    Raises:
        ValueError: `levels` is not from 1 to 16, or the axis is no column of numbers with values outside clamped.
    """

    levels: int

    def __post_init__(self) -> None:
        make_whole(self, levels="levels")
        if not 1 <= self.levels <= MOST_LEVELS:
            raise Refused("levels", f"a whole number from 1 to {MOST_LEVELS} is needed, got {self.levels}")
        (axis,) = self.axes if len(self.axes) == 1 else (None,)
        if not (isinstance(axis, Axis) and axis.grid.outside is Outside.CLAMPED):
            raise Refused("axes", "medians are taken along one column of numbers, with values outside clamped")


@dataclass(frozen=True, slots=True)
class AucQuery(Query):
    """The chance that a positive has a higher score than a negative. A tie counts one half.

    Its one value is that share, in steps of ``2**-20``. The first axis has the negatives and the positives, in this
    order, the last one the scores.

    Raises:
        ValueError: the axes are others.
    """

    def __post_init__(self) -> None:
        classes, scores = self.axes if len(self.axes) == 2 else (None, None)
        if not (isinstance(classes, Categories) and classes.slots == 2 and isinstance(scores, Axis)):
            raise Refused("axes", "two classes, negatives first, and one column of scores are needed")
