"""Queries of streams under continual observation: counts at every time step, also along a hierarchy of categories.

A stream is a sequence of timestamped tuples (rows). Each tuple falls into one time step, and into one *state*: a
category or a cell of a grid, such as the access point that a phone used. A query defines the counts of every step,
and how the counts will be read. The mechanism and its noise are chosen from it.

    TimeStepQuery           counts of tuples in each state, at every step
    GroupedTimeStepQuery    also which successive steps have similar counts, so that they can be averaged (PeGaSus)
    HierarchyQuery          counts of states and of the aggregations (sets of states) of a `Forest`
    PrunedQuery             the same, but an aggregation of few tuples is counted as a whole

Aggregations of a forest are disjoint, or one contains the other. So the aggregations that contain a state are nested,
and form a path from a root of the forest down to the state.

Formal guarantees: a query is a public fact and holds no data. A tuple is counted at one step, in one state and in the
aggregations on its path, which bounds its effect on the counts (sensitivity). Tuples in no declared state are counted
by reason, such as "late" (`uncounted_query`).

Reference: Chen 2018, Definition 6.

>>> campus = Forest.from_json({"campus": {"east": ["a", "b"], "west": ["c"]}, "library": ["d"]})
>>> dict(zip((*campus.names, *campus.states), campus.count_nodes([5, 1, 2, 4]), strict=True))
{'campus': 8, 'east': 6, 'library': 4, 'west': 2, 'a': 5, 'b': 1, 'c': 2, 'd': 4}
"""

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


@dataclass(frozen=True, slots=True)
class Forest:
    """Aggregations of states; any two are disjoint, or one contains the other (Chen 2018, Definition 6).

    Attributes:
        states: Names of all states.
        names: Names of the aggregations; an aggregation comes after all aggregations that contain it.
        members: Indices of the states of each aggregation, ascending.

    Raises:
        ValueError: A name is used twice, an aggregation is empty, or two aggregations overlap or are equal.

    >>> campus = Forest.from_json({"campus": {"east": ["a", "b"], "west": ["c"]}, "library": ["d"]})
    >>> campus.states, campus.names, campus.parents
    (('a', 'b', 'c', 'd'), ('campus', 'east', 'library', 'west'), (-1, 0, -1, 0, 1, 1, 3, 2))
    """

    states: tuple[str, ...]
    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if len({*self.states, *self.names}) < len(self.states) + len(self.names) or not self.states:
            raise InvalidArgument("hierarchy", "names of states and aggregations must be different; rename one")
        if any(not states for states in self.members) or len(self.members) != len(self.names):
            raise InvalidArgument("hierarchy", "each aggregation must have at least one state; leave out empty ones")
        _ = self.parents  # raises if aggregations overlap

    @classmethod
    def from_sets(cls, sets: Mapping[str, Iterable[str]]) -> Self:
        """Return the hierarchy of states that named, nested or disjoint sets of states form.

        Args:
            sets: For each aggregation, the names of the states in it, by the aggregation's name. States are numbered in
                the order in which they are named first.

        Raises:
            ValueError: Two aggregations overlap without nesting, an aggregation is empty, or names are not different.
        """
        named = {name: require_sequence("hierarchy", states, "a list of states") for name, states in sets.items()}
        states = tuple(dict.fromkeys(state for members in named.values() for state in members))
        index_of = {state: index for index, state in enumerate(states)}
        ordered = sorted(named, key=lambda name: (-len(set(named[name])), name))
        return cls(states, tuple(ordered), tuple(tuple(sorted({index_of[s] for s in named[name]})) for name in ordered))

    @classmethod
    def from_json(cls, stored: Any) -> Self:
        """Return the hierarchy of states in nested JSON objects: each name maps to a list of its states, or to an
        object of the aggregations in it.

        Args:
            stored: The outermost object, as ``json.loads`` returns it; at most 64 levels.

        Raises:
            TypeError: A part is neither a list of texts nor a nonempty object.
            ValueError: A name is used twice, or an aggregation is empty.
        """
        return cls.from_sets(_flatten_hierarchy(stored, 0))

    @property
    def parents(self) -> tuple[int, ...]:
        """For each aggregation, then for each state: the index of the smallest aggregation that contains it, or -1.

        Raises:
            ValueError: Two aggregations overlap without nesting, or are equal.
        """
        innermost = [-1] * len(self.states)
        parents = list[int]()
        for number, states in enumerate(self.members):
            (parent, *others) = {innermost[state] for state in states}
            if others or (parent >= 0 and len(self.members[parent]) <= len(states)):
                raise InvalidArgument(
                    "hierarchy",
                    "two aggregations must be disjoint, or one must contain the other: move or rename shared states",
                )
            parents.append(parent)
            for state in states:
                innermost[state] = number
        return (*parents, *innermost)

    @property
    def depths(self) -> tuple[int, ...]:
        """For each aggregation, then for each state: the number of aggregations that contain it, from 0."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(0 if parent < 0 else depths[parent] + 1)
        return tuple(depths)

    @property
    def levels(self) -> int:
        """Number of levels of the hierarchy: the most nodes on a path from the top to a state, the state included."""
        return max(self.depths) + 1

    def count_nodes(self, state_counts: Sequence[int]) -> list[int]:
        """Return the counts of all aggregations and states, from the counts of the states.

        Args:
            state_counts: Count of each state, in the order of `states`.

        Returns:
            The counts of all aggregations, in the order of `names`, then the counts of all states.

        >>> Forest.from_sets({"both": ["a", "b"]}).count_nodes([3, 4])
        [7, 3, 4]
        """
        return [*(sum(state_counts[state] for state in members) for members in self.members), *state_counts]


def _flatten_hierarchy(node: Any, depth: int) -> dict[str, list[str]]:
    """Return the names of the states of each aggregation of a nested object, by its name, from outer to inner.

    Args:
        node: JSON object whose values are lists of states or further objects.
        depth: Number of enclosing objects; at most 64.

    Raises:
        WrongArgumentType: A part is neither a list of texts nor a nonempty object, or is nested too deeply.
        InvalidArgument: Two aggregations have the same name.

    >>> _flatten_hierarchy({"campus": {"east": ["a", "b"], "west": ["c"]}}, 0)
    {'campus': ['a', 'b', 'c'], 'east': ['a', 'b'], 'west': ['c']}
    """
    if not isinstance(node, Mapping) or not node or depth > 64:  # levels of nested aggregations
        raise WrongArgumentType(
            "hierarchy",
            "must be an object whose values are lists of states or further objects, as in {'north': ['a', 'b']}",
        )
    flat: dict[str, list[str]] = {}
    for name, child in node.items():
        nested = _flatten_hierarchy(child, depth + 1) if isinstance(child, Mapping) else {}
        states = child if isinstance(child, list) else [state for members in nested.values() for state in members]
        if not all(isinstance(state, str) for state in states) or not isinstance(child, list | Mapping):
            raise WrongArgumentType("hierarchy", "states must be texts in lists, as in {'north': ['a', 'b']}")
        if flat.keys() & {name, *nested} or name in nested:
            raise InvalidArgument("hierarchy", "names of aggregations must be different; rename one")
        flat |= {name: list(states), **nested}
    return flat


MOST_TIME_STEPS = 2**40
"""Largest number of steps of a stream, above 10**12: with steps of one second, 35,000 years. More are refused."""


@dataclass(frozen=True, slots=True)
class TimeStepQuery(Query):
    """Counts of tuples in each state at each time step of a stream. Steps are numbered 1, 2, 3, ...

    The table of a step has the cells of the axes and no cell for missing values: tuples in other states are not
    counted.

    Attributes:
        time_steps: Public number of time steps; None: without end.
        windows: Widths in steps of the sliding windows for which the plan is optimised. Every width can be read.
        read: Whether single steps are read, or prefixes: running totals and their differences.

    Raises:
        ValueError: There are too few or too many steps, or a window is not above 0.
    """

    time_steps: int | None = None
    windows: tuple[int, ...] = ()
    read: CountUse = CountUse.CELLS

    def __post_init__(self) -> None:
        convert_tuples_to_integers(self, windows="windows")
        if self.time_steps is not None:
            convert_to_integers(self, time_steps="time_steps")
            if not 1 <= self.time_steps <= MOST_TIME_STEPS:
                raise InvalidArgument(
                    "time_steps", f"must be from 1 to {MOST_TIME_STEPS} steps, as in 96, got {self.time_steps}"
                )
        if any(window < 1 for window in self.windows):
            raise InvalidArgument("windows", f"must be at least 1 step wide, as in (12,), got {min(self.windows)}")

    @property
    def keys(self) -> int:
        """Number of counts (keys) of a time step, one for each combination of states of the axes."""
        return self.rows * self.cells


@dataclass(frozen=True, slots=True)
class GroupedTimeStepQuery(TimeStepQuery):
    """Counts of tuples in each state at each time step, and groups of successive steps with similar counts.

    Attributes:
        budget_fraction: Fraction of the loss for grouping.
        deviation: Sum of absolute deviations from their mean above which counts form no group, in units of one over the
            epsilon that grouping has for one tuple.
        forest: Aggregations of the states of the only axis, each grouped by itself; None: states only.

    Raises:
        ValueError: The fraction is not strictly between 0 and 1, the deviation is not from 0 to 2000, or the axis does
            not have the states of the forest.
    """

    budget_fraction: Fraction = Fraction(1, 5)
    deviation: Fraction = Fraction(50)
    forest: Forest | None = None

    def __post_init__(self) -> None:
        TimeStepQuery.__post_init__(self)
        for name in ("budget_fraction", "deviation"):
            object.__setattr__(self, name, parse_positive_fraction(name, getattr(self, name)))
        if not 0 < self.budget_fraction < 1:
            raise InvalidArgument(
                "budget_fraction", f"must be strictly between 0 and 1, as in Fraction(1, 2), got {self.budget_fraction}"
            )
        most_deviation = 2000  # largest `GroupedTimeStepQuery.deviation`, in its unit
        if not 0 <= self.deviation <= most_deviation:
            raise InvalidArgument(
                "deviation", f"must be from 0 to {most_deviation} tuples, as in 5, got {self.deviation}"
            )
        if self.forest is not None:
            require_states(self.axes, self.forest)

    @property
    def nodes(self) -> int:
        """Number of counts of a step that are grouped, each by itself: one for each state, and for each aggregation."""
        return self.keys if self.forest is None else len(self.forest.parents)

    @property
    def levels(self) -> int:
        """Largest number of grouped counts that one tuple (row of the stream) adds 1 to.

        Without a forest it is 1, because a tuple is in one state only. With a forest, a tuple is counted in its state
        and in each aggregation that contains this state. The result is then the number of nodes on the longest path
        from a root to a state, the state included.
        """
        return 1 if self.forest is None else self.forest.levels


@dataclass(frozen=True, slots=True)
class HierarchyQuery(TimeStepQuery):
    """Counts of tuples in each state and in each aggregation of states, at each time step.

    Attributes:
        forest: The aggregations; its states are the values of the only axis.

    Raises:
        ValueError: The axis has other states.
    """

    forest: Forest = field(kw_only=True)

    def __post_init__(self) -> None:
        TimeStepQuery.__post_init__(self)
        require_states(self.axes, self.forest)

    @classmethod
    def from_forest(cls, column: str, forest: Forest, time_steps: int | None = None) -> HierarchyQuery:
        """Return the query that counts the values of a column and their aggregations at each time step.

        Args:
            column: Name of the column.
            forest: The aggregations of its values.
            time_steps: Public number of time steps; None: without end.
        """
        return cls((Categories(column, forest.states),), time_steps, forest=forest)


@dataclass(frozen=True, slots=True)
class PrunedQuery(HierarchyQuery):
    """Counts of tuples in each state and aggregation at each time step, with details only where there are many tuples.

    Attributes:
        minimum: An aggregation with at most about this many tuples is counted as a whole, not divided.
        budget_fraction: Fraction of the loss for the decisions to divide.

    Raises:
        ValueError: `minimum` is negative or too large, or the fraction is not strictly between 0 and 1.
    """

    minimum: int = 0
    budget_fraction: Fraction = Fraction(1, 5)

    def __post_init__(self) -> None:
        HierarchyQuery.__post_init__(self)
        convert_to_integers(self, minimum="minimum")
        object.__setattr__(self, "budget_fraction", parse_positive_fraction("budget_fraction", self.budget_fraction))
        if not 0 <= self.minimum <= MOST_TIME_STEPS:
            raise InvalidArgument(
                "minimum", f"must be from 0 to {MOST_TIME_STEPS} tuples, as in 100, got {self.minimum}"
            )
        if not 0 < self.budget_fraction < 1:
            raise InvalidArgument(
                "budget_fraction", f"must be strictly between 0 and 1, as in Fraction(1, 2), got {self.budget_fraction}"
            )


# Reasons for which tuples are not counted; the reasons are public.
class UncountedReason(Enum):
    """Why a tuple is not counted. The first reason that holds applies.

    `BEYOND_CAP` counts users per step, not tuples: a user with a million tuples would change a count of tuples by a
    million.
    """

    UNREADABLE = "unreadable"
    OUTSIDE = "outside the steps"
    LATE = "late"
    OTHER_STATE = "other state"
    BEYOND_CAP = "users beyond the cap"


TUPLE_REASONS = tuple(reason for reason in UncountedReason if reason is not UncountedReason.BEYOND_CAP)
"""Reasons whose totals count tuples: each used tuple is in one state or has one of these reasons."""


def released_reasons(is_capped: bool) -> tuple[UncountedReason, ...]:
    """Return the reasons for not counting a tuple, of those whose running totals a stream releases, in order.

    Args:
        is_capped: Whether the used tuples of a user in a step are capped. Then `BEYOND_CAP` is released too, as the
            last one.
    """
    return tuple(UncountedReason) if is_capped else TUPLE_REASONS


@lru_cache(maxsize=64)  # a pure function of public facts
def uncounted_query(reasons: tuple[UncountedReason, ...], time_steps: int | None) -> TimeStepQuery:
    """Return the query for the running totals of uncounted tuples (tuples in no declared state), one for each reason.

    Args:
        reasons: The reasons, in the order of the released totals.
        time_steps: Public number of time steps of the stream; None: without end. Above 4,096 steps, the noise is
            planned as for a stream without end.

    >>> uncounted_query(TUPLE_REASONS, 12).keys
    4
    """
    # 2**12: steps up to which totals of uncounted tuples are planned for the public end; longer streams use doubling
    # epochs
    horizon = time_steps if time_steps is not None and time_steps <= 2**12 else None
    return TimeStepQuery(
        (Categories("reason", tuple(reason.value for reason in reasons)),), horizon, (), CountUse.PREFIXES
    )


def require_states(axes: tuple[Axis | Categories, ...], forest: Forest) -> None:
    """Check that a query has exactly one axis, whose categories are the states of a hierarchy in its order.

    Args:
        axes: Axes of the query.
        forest: The hierarchy of states.

    Raises:
        ValueError: The axes are others.
    """
    (axis,) = axes if len(axes) == 1 else (None,)
    if not isinstance(axis, Categories) or axis.values != forest.states:
        raise InvalidArgument(
            "hierarchy",
            "the question must have one axis, with the states of the hierarchy in its order;"
            " declare Categories(column, hierarchy.states)",
        )
