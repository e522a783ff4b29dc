"""The last turn of a distribution function whose intervals an earlier turn chose: they are counted, and groups of them.

Inside an interval the curve is linear.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from fractions import Fraction

from ..arguments import require_kind
from ..data import Axis, Categories, Outside
from ..laws import Family
from ..queries import PartitionQuery
from ..release import Evidence, Release, Setting, Step
from .by_category import ByCategory, rows_of
from .cdf import CDF
from .question import statement_of
from .turns.leaf_tilings import Tiling, leaf_tilings
from .turns.one_table import CATEGORIES


def counted_between(
    axis: Axis, starts: Iterable[int], before: Sequence[Release], setting: Setting, *, share: Fraction, label: str
) -> Generator[Step, Release, CDF]:
    """Ask how many records lie in each interval, and read the curve.

    Args:
        axis: The column, on its grid.
        starts: The first slots of the intervals, in any order; 0 is always one. Where values outside the grid are
            counted apart they are counted alone: they are no neighbours to interpolate to.
        before: The answers of the turns that chose the intervals.
        setting: What is public.
        share: What is left of the loss.
        label: What the x axis shows.
    """
    counts = yield Step(PartitionQuery((axis,), _tilings(axis, starts, setting)), share)
    return CDF.read(Evidence.of(counts), axis.grid, label, statement_of([*before, counts]))


def counted_between_by(
    by: Categories,
    axis: Axis,
    starts: Iterable[int],
    before: Sequence[Release],
    setting: Setting,
    *,
    share: Fraction,
    label: str,
) -> Generator[Step, Release, ByCategory[CDF]]:
    """Ask for each category on the same intervals, and read one curve each, all for the price of one."""
    require_kind("by", by, Categories, CATEGORIES)
    counts = yield Step(PartitionQuery((by, axis), _tilings(axis, starts, setting)), share)
    privacy = statement_of([*before, counts])
    rows = zip(by.values, rows_of(Evidence.of(counts)), strict=True)
    return ByCategory(by.column, {category: CDF.read(row, axis.grid, label, privacy) for category, row in rows})


def _tilings(axis: Axis, starts: Iterable[int], setting: Setting) -> tuple[Tiling, ...]:
    ends = {1, axis.slots - 1} if axis.grid.outside is Outside.APART else set()
    family = Family.LAPLACE if setting.loss.is_pure else Family.GAUSSIAN
    pinned = setting.adjacency.total is not None
    return leaf_tilings(sorted({0, *starts, *ends}), family, pinned=pinned)
