"""States, and aggregations of them that form trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from ..arguments import Refused, WrongKind, several

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
            raise Refused("hierarchy", "every state and every aggregation needs a name of its own")
        if any(not states for states in self.members) or len(self.members) != len(self.names):
            raise Refused("hierarchy", "an aggregation has at least one state")
        _ = self.parents  # refuses what overlaps

    @classmethod
    def of(cls, sets: Mapping[str, Iterable[str]]) -> Self:
        """The forest of aggregations that are given by the names of their states."""
        named = {name: several("hierarchy", states, "a list of states") for name, states in sets.items()}
        states = tuple(dict.fromkeys(state for each in named.values() for state in each))
        number = {state: place for place, state in enumerate(states)}
        ordered = sorted(named, key=lambda name: (-len(set(named[name])), name))
        return cls(states, tuple(ordered), tuple(tuple(sorted({number[s] for s in named[name]})) for name in ordered))

    @classmethod
    def from_json(cls, given: Any) -> Self:
        """The forest of an object: each name has a list of states, or an object of aggregations that make it up."""
        return cls.of(_flattened(given, 0))

    @property
    def parents(self) -> tuple[int, ...]:
        """The number of the smallest aggregation around each aggregation, then around each state; -1: none."""
        around, above = [-1] * len(self.states), list[int]()
        for number, states in enumerate(self.members):
            (parent, *others) = {around[state] for state in states}
            if others or (parent >= 0 and len(self.members[parent]) <= len(states)):
                raise Refused("hierarchy", "any two aggregations are apart, or one is a part of the other")
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

    def counts_of(self, states: Sequence[int]) -> list[int]:
        """Counts of all aggregations, then of all states, by those of the states.

        >>> Forest.of({"both": ["a", "b"]}).counts_of([3, 4])
        [7, 3, 4]
        """
        return [*(sum(states[state] for state in members) for members in self.members), *states]


def _flattened(given: Any, depth: int) -> dict[str, list[str]]:
    if not isinstance(given, Mapping) or not given or depth > MOST_DEEP:
        raise WrongKind("hierarchy", "an object is needed, of lists of states or of further objects")
    flat: dict[str, list[str]] = {}
    for name, below in given.items():
        inner = _flattened(below, depth + 1) if isinstance(below, Mapping) else {}
        states = below if isinstance(below, list) else [state for each in inner.values() for state in each]
        if not all(isinstance(state, str) for state in states) or not isinstance(below, list | Mapping):
            raise WrongKind("hierarchy", "states are written as text, in lists")
        if flat.keys() & {name, *inner} or name in inner:
            raise Refused("hierarchy", "every aggregation needs a name of its own")
        flat |= {name: list(states), **inner}
    return flat
