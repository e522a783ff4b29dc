"""Questions about a stream: the same table again at every tick."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from dpcurves.arguments import Refused, exact, make_each_whole, make_whole
from dpcurves.data.axis import Axis, Categories
from dpcurves.data.forest import Forest
from dpcurves.queries.query import Query, Read

MOST_TICKS = 2**40
MOST_DEVIATION = 2000


@dataclass(frozen=True, slots=True)
class TickQuery(Query):
    """Counts of tuples in each state during each tick of a stream; ticks are numbered 1, 2, 3, ...

    The table of a tick has the cells of the axes, and no missing cell: a tuple in no declared state counts nowhere.

    Attributes:
        ticks: How many there will be, in public; None: without end.
        windows: Widths, in ticks, of the sliding sums that will be read: what is planned for. Every width can be read.
        read: Whether counts of ticks are read, or prefixes: counts so far, and differences of them.

    Raises:
        ValueError: there are too few or too many ticks, or a window is not above 0.
    """

    ticks: int | None = None
    windows: tuple[int, ...] = ()
    read: Read = Read.CELLS

    def __post_init__(self) -> None:
        make_each_whole(self, windows="windows")
        if self.ticks is not None:
            make_whole(self, ticks="ticks")
            if not 1 <= self.ticks <= MOST_TICKS:
                raise Refused("ticks", f"a whole number from 1 to {MOST_TICKS} is needed, got {self.ticks}")
        if any(window < 1 for window in self.windows):
            raise Refused("windows", f"widths of at least 1 tick are needed, got {min(self.windows)}")

    @property
    def keys(self) -> int:
        """The number of counts of a tick."""
        return self.rows * self.cells


@dataclass(frozen=True, slots=True)
class GroupedTickQuery(TickQuery):
    """Counts of tuples in each state during each tick, and groups of successive ticks with similar counts.

    Attributes:
        share: The part of the loss that grouping has.
        deviation: The sum of distances from their mean from which on counts are no group, over what noise is measured
            in there: one over the epsilon that grouping has for one tuple.
        forest: Aggregations of the states of the one axis, which are grouped each on its own, too; None: states alone.

    Raises:
        ValueError: the share is not strictly between 0 and 1, the deviation is not from 0 to 2000, or the axis has
            other states than the forest.
    """

    share: Fraction = Fraction(1, 5)
    deviation: Fraction = Fraction(50)
    forest: Forest | None = None

    def __post_init__(self) -> None:
        TickQuery.__post_init__(self)
        for name in ("share", "deviation"):
            object.__setattr__(self, name, exact(name, getattr(self, name)))
        if not 0 < self.share < 1:
            raise Refused("share", f"a part of the loss between 0 and 1 is needed, got {self.share}")
        if not 0 <= self.deviation <= MOST_DEVIATION:
            raise Refused("deviation", f"a number from 0 to {MOST_DEVIATION} is needed, got {self.deviation}")
        if self.forest is not None:
            require_states(self.axes, self.forest)

    @property
    def nodes(self) -> int:
        """The number of counts that are grouped."""
        return self.keys if self.forest is None else len(self.forest.parents)

    @property
    def levels(self) -> int:
        """In how many of them a tuple is, at most."""
        return 1 if self.forest is None else self.forest.levels


@dataclass(frozen=True, slots=True)
class HierarchyQuery(TickQuery):
    """Counts of tuples in each state during each tick, and in aggregations of states.

    Attributes:
        forest: The aggregations; its states are those of the one axis.

    Raises:
        ValueError: the axis has other states.
    """

    forest: Forest = field(kw_only=True)

    def __post_init__(self) -> None:
        TickQuery.__post_init__(self)
        require_states(self.axes, self.forest)

    @classmethod
    def of(cls, column: str, forest: Forest, ticks: int | None = None) -> HierarchyQuery:
        """The question of a forest whose states are the values of a column."""
        return cls((Categories(column, forest.states),), ticks, forest=forest)


@dataclass(frozen=True, slots=True)
class PrunedQuery(HierarchyQuery):
    """Counts of tuples in each state during each tick, and in aggregations: fine where there are many at this tick.

    Attributes:
        least: An aggregation with so many tuples or fewer is rather counted as a whole than divided.
        share: The part of the loss that choosing has.

    Raises:
        ValueError: `least` is negative, or the share is not strictly between 0 and 1.
    """

    least: int = 0
    share: Fraction = Fraction(1, 5)

    def __post_init__(self) -> None:
        HierarchyQuery.__post_init__(self)
        make_whole(self, least="least")
        object.__setattr__(self, "share", exact("share", self.share))
        if not 0 <= self.least <= MOST_TICKS:
            raise Refused("least", f"a whole number from 0 to {MOST_TICKS} is needed, got {self.least}")
        if not 0 < self.share < 1:
            raise Refused("share", f"a part of the loss between 0 and 1 is needed, got {self.share}")


def require_states(axes: tuple[Axis | Categories, ...], forest: Forest) -> None:
    """Refuse axes that are not the one of the states of a forest. Raises `ValueError`."""
    (axis,) = axes if len(axes) == 1 else (None,)
    if not isinstance(axis, Categories) or axis.values != forest.states:
        raise Refused("hierarchy", "the axis has the states of the hierarchy, in its order")
