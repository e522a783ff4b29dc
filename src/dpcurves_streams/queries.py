"""Queries of streams: counts at every tick, in groups and in hierarchies, and the hierarchies of categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

from dpcurves.arguments import (
    InvalidArgument,
    WrongArgumentType,
    convert_to_integers,
    convert_tuples_to_integers,
    parse_positive_fraction,
    require_sequence,
)
from dpcurves.data.axis import Axis, Categories
from dpcurves.queries.query import CountUse, Query

MOST_DEEP = 64


@dataclass(frozen=True, slots=True)
class Forest:
    """Aggregations of states, of which any two are apart, or one lies within the other (Chen 2018, Definition 6).

    Attributes:
        states: All states, by name.
        names: The aggregations, each behind those that it lies in.
        members: The numbers of the states of each, rising.

    Raises:
        ValueError: a name stands twice, an aggregation is empty, or two overlap, or are the same.

    >>> campus = Forest.from_json({"campus": {"east": ["a", "b"], "west": ["c"]}, "library": ["d"]})
    >>> campus.states, campus.names, campus.parents
    (('a', 'b', 'c', 'd'), ('campus', 'east', 'library', 'west'), (-1, 0, -1, 0, 1, 1, 3, 2))
    """

    states: tuple[str, ...]
    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if len({*self.states, *self.names}) < len(self.states) + len(self.names) or not self.states:
            raise InvalidArgument("hierarchy", "every state and every aggregation needs a name of its own")
        if any(not states for states in self.members) or len(self.members) != len(self.names):
            raise InvalidArgument("hierarchy", "an aggregation has at least one state")
        _ = self.parents  # refuses what overlaps

    @classmethod
    def from_sets(cls, sets: Mapping[str, Iterable[str]]) -> Self:
        """The forest of aggregations that are given by the names of their states."""
        named = {name: require_sequence("hierarchy", states, "a list of states") for name, states in sets.items()}
        states = tuple(dict.fromkeys(state for each in named.values() for state in each))
        number = {state: place for place, state in enumerate(states)}
        ordered = sorted(named, key=lambda name: (-len(set(named[name])), name))
        return cls(states, tuple(ordered), tuple(tuple(sorted({number[s] for s in named[name]})) for name in ordered))

    @classmethod
    def from_json(cls, given: Any) -> Self:
        """The forest of an object: each name has a list of states, or an object of aggregations that make it up."""
        return cls.from_sets(_flatten_hierarchy(given, 0))

    @property
    def parents(self) -> tuple[int, ...]:
        """The number of the smallest aggregation around each aggregation, then around each state; -1: none."""
        around, above = [-1] * len(self.states), list[int]()
        for number, states in enumerate(self.members):
            (parent, *others) = {around[state] for state in states}
            if others or (parent >= 0 and len(self.members[parent]) <= len(states)):
                raise InvalidArgument("hierarchy", "any two aggregations are apart, or one is a part of the other")
            above.append(parent)
            for state in states:
                around[state] = number
        return (*above, *around)

    @property
    def depths(self) -> tuple[int, ...]:
        """The number of aggregations around each aggregation, then around each state."""
        found: list[int] = []
        for parent in self.parents:
            found.append(0 if parent < 0 else found[parent] + 1)
        return tuple(found)

    @property
    def levels(self) -> int:
        """The largest number of nodes on a path from above down to a state, with the state."""
        return max(self.depths) + 1

    def count_nodes(self, state_counts: Sequence[int]) -> list[int]:
        """Counts of all aggregations, then of all states, by those of the states.

        >>> Forest.from_sets({"both": ["a", "b"]}).count_nodes([3, 4])
        [7, 3, 4]
        """
        return [*(sum(state_counts[state] for state in members) for members in self.members), *state_counts]


def _flatten_hierarchy(given: Any, depth: int) -> dict[str, list[str]]:
    if not isinstance(given, Mapping) or not given or depth > MOST_DEEP:
        raise WrongArgumentType("hierarchy", "an object is needed, of lists of states or of further objects")
    flat: dict[str, list[str]] = {}
    for name, below in given.items():
        inner = _flatten_hierarchy(below, depth + 1) if isinstance(below, Mapping) else {}
        states = below if isinstance(below, list) else [state for each in inner.values() for state in each]
        if not all(isinstance(state, str) for state in states) or not isinstance(below, list | Mapping):
            raise WrongArgumentType("hierarchy", "states are written as text, in lists")
        if flat.keys() & {name, *inner} or name in inner:
            raise InvalidArgument("hierarchy", "every aggregation needs a name of its own")
        flat |= {name: list(states), **inner}
    return flat


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
    read: CountUse = CountUse.CELLS

    def __post_init__(self) -> None:
        convert_tuples_to_integers(self, windows="windows")
        if self.ticks is not None:
            convert_to_integers(self, ticks="ticks")
            if not 1 <= self.ticks <= MOST_TICKS:
                raise InvalidArgument("ticks", f"a whole number from 1 to {MOST_TICKS} is needed, got {self.ticks}")
        if any(window < 1 for window in self.windows):
            raise InvalidArgument("windows", f"widths of at least 1 tick are needed, got {min(self.windows)}")

    @property
    def keys(self) -> int:
        """The number of counts of a tick."""
        return self.rows * self.cells


@dataclass(frozen=True, slots=True)
class GroupedTickQuery(TickQuery):
    """Counts of tuples in each state during each tick, and groups of successive ticks with similar counts.

    Attributes:
        budget_fraction: The part of the loss that grouping has.
        deviation: The sum of distances from their mean from which on counts are no group, over what noise is measured
            in there: one over the epsilon that grouping has for one tuple.
        forest: Aggregations of the states of the one axis, which are grouped each on its own, too; None: states alone.

    Raises:
        ValueError: the share is not strictly between 0 and 1, the deviation is not from 0 to 2000, or the axis has
            other states than the forest.
    """

    budget_fraction: Fraction = Fraction(1, 5)
    deviation: Fraction = Fraction(50)
    forest: Forest | None = None

    def __post_init__(self) -> None:
        TickQuery.__post_init__(self)
        for name in ("budget_fraction", "deviation"):
            object.__setattr__(self, name, parse_positive_fraction(name, getattr(self, name)))
        if not 0 < self.budget_fraction < 1:
            raise InvalidArgument(
                "budget_fraction", f"a part of the loss between 0 and 1 is needed, got {self.budget_fraction}"
            )
        if not 0 <= self.deviation <= MOST_DEVIATION:
            raise InvalidArgument("deviation", f"a number from 0 to {MOST_DEVIATION} is needed, got {self.deviation}")
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
    def from_forest(cls, column: str, forest: Forest, ticks: int | None = None) -> HierarchyQuery:
        """The question of a forest whose states are the values of a column."""
        return cls((Categories(column, forest.states),), ticks, forest=forest)


@dataclass(frozen=True, slots=True)
class PrunedQuery(HierarchyQuery):
    """Counts of tuples in each state during each tick, and in aggregations: fine where there are many at this tick.

    Attributes:
        least: An aggregation with so many tuples or fewer is rather counted as a whole than divided.
        budget_fraction: The part of the loss that choosing has.

    Raises:
        ValueError: `least` is negative, or the share is not strictly between 0 and 1.
    """

    least: int = 0
    budget_fraction: Fraction = Fraction(1, 5)

    def __post_init__(self) -> None:
        HierarchyQuery.__post_init__(self)
        convert_to_integers(self, least="least")
        object.__setattr__(self, "budget_fraction", parse_positive_fraction("budget_fraction", self.budget_fraction))
        if not 0 <= self.least <= MOST_TICKS:
            raise InvalidArgument("least", f"a whole number from 0 to {MOST_TICKS} is needed, got {self.least}")
        if not 0 < self.budget_fraction < 1:
            raise InvalidArgument(
                "budget_fraction", f"a part of the loss between 0 and 1 is needed, got {self.budget_fraction}"
            )


# What is not counted. Public names of public reasons.
class UncountedReason(Enum):
    """Why a tuple is not counted, in the order in which reasons are looked for: the first one holds.

    The last one counts users in one step, not tuples: a million tuples of one user would be a million times as much.
    """

    UNREADABLE = "unreadable"
    OUTSIDE = "outside the steps"
    LATE = "late"
    OTHER_STATE = "other state"
    BEYOND_CAP = "users beyond the cap"


TUPLE_REASONS = tuple(reason for reason in UncountedReason if reason is not UncountedReason.BEYOND_CAP)
"""Reasons that count tuples: a tuple that is used is in one state, or has one of these."""
LONGEST_HORIZON = 2**12
"""Steps up to which totals of what is not counted are planned for the public end; beyond it, for epochs that double."""


def released_reasons(is_capped: bool) -> tuple[UncountedReason, ...]:
    """The reasons of a stream, in their order: with a cap of tuples per user, the last one is that."""
    return tuple(UncountedReason) if is_capped else TUPLE_REASONS


@lru_cache(maxsize=64)  # a pure function of public facts
def uncounted_query(reasons: tuple[UncountedReason, ...], ticks: int | None) -> TickQuery:
    """Totals so far of what is not counted, one for each reason.

    >>> uncounted_query(TUPLE_REASONS, 12).keys
    4
    """
    horizon = ticks if ticks is not None and ticks <= LONGEST_HORIZON else None
    return TickQuery((Categories("reason", tuple(each.value for each in reasons)),), horizon, (), CountUse.PREFIXES)


def require_states(axes: tuple[Axis | Categories, ...], forest: Forest) -> None:
    """Refuse axes that are not the one of the states of a forest. Raises `ValueError`."""
    (axis,) = axes if len(axes) == 1 else (None,)
    if not isinstance(axis, Categories) or axis.values != forest.states:
        raise InvalidArgument("hierarchy", "the axis has the states of the hierarchy, in its order")
