"""The last turn of a distribution function whose intervals earlier turns chose: they are counted, and groups of them.

Inside an interval the curve is linear.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from fractions import Fraction

from ...data import Axis, Outside
from ...laws import Family
from ...queries import PartitionQuery
from ...release import Release, Setting, Step
from ..keys import By, axes_of
from ..turns.leaf_tilings import Tiling, leaf_tilings
from .method import Counted


def counted_between(
    axis: Axis,
    by: By,
    starts: Iterable[int],
    before: Sequence[Release],
    setting: Setting,
    *,
    share: Fraction,
) -> Generator[Step, Release, Counted]:
    """Ask how many records lie in each interval.

    Args:
        axis: The column, on its grid.
        by: For each of these categories, all for the price of one.
        starts: The first slots of the intervals, in any order; 0 is always one. Where values outside the grid are
            counted apart they are counted alone: they are no neighbours to interpolate to.
        before: The answers of the turns that chose the intervals.
        setting: What is public.
        share: What is left of the loss.
    """
    axes = axes_of(by, axis)
    counts = yield Step(PartitionQuery(axes, _tilings(axis, starts, setting)), share)
    return Counted.last_of((*before, counts))


def _tilings(axis: Axis, starts: Iterable[int], setting: Setting) -> tuple[Tiling, ...]:
    ends = {1, axis.slots - 1} if axis.grid.outside is Outside.APART else set()
    family = Family.LAPLACE if setting.loss.is_pure else Family.GAUSSIAN
    pinned = setting.adjacency.total is not None
    return leaf_tilings(sorted({0, *starts, *ends}), family, pinned=pinned)
