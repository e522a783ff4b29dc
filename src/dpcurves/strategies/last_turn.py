"""The last turn of a distribution function whose intervals earlier turns chose: they are counted, and groups of them.

Inside an interval the curve is linear.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from ..arguments import WrongKind
from ..data import Axis, Outside
from ..laws import Family
from ..queries import PartitionQuery
from ..release import Release, Setting, Step
from ..workloads import Axes, Counted, Strategy
from .leaf_tilings import Tiling, leaf_tilings


def counted_between(
    axes: Axes,
    starts: Iterable[int],
    before: Sequence[Release],
    setting: Setting,
    *,
    share: Fraction,
) -> Strategy[Counted]:
    """Ask how many records lie in each interval.

    Args:
        axes: The column on its grid, after the categories for each of which it is counted, all together at the privacy
            loss of one.
        starts: The first slots of the intervals, in any order; 0 is always one. Where values outside the grid are
            counted apart they are counted alone: they are no neighbours to interpolate to.
        before: The answers of the turns that chose the intervals.
        setting: What is public.
        share: What is left of the loss.
    """
    counts = yield Step(PartitionQuery(axes, _tilings(along(axes), starts, setting)), share)
    return Counted.last_of((*before, counts))


def along(axes: Axes) -> Axis:
    """The column that is counted along its grid.

    Raises:
        TypeError: the last axis is none.
    """
    if not isinstance(axes[-1], Axis):
        raise WrongKind("axes", "the last one is a column of numbers on a grid")
    return axes[-1]


def _tilings(axis: Axis, starts: Iterable[int], setting: Setting) -> tuple[Tiling, ...]:
    ends = {1, axis.slots - 1} if axis.grid.outside is Outside.APART else set()
    family = Family.LAPLACE if setting.loss.is_pure else Family.GAUSSIAN
    pinned = setting.adjacency.total is not None
    return leaf_tilings(sorted({0, *starts, *ends}), family, pinned=pinned)
