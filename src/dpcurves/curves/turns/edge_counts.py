"""Counts below a few edges of a grid that may be far too fine to be counted out."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from ...arguments import Refused, several, whole
from ...data import Axis, Categories, Outside
from ...queries import PrefixQuery
from ...release import ALL, Release, Step


def edges_given(given: Any, axis: Axis) -> tuple[int, ...]:
    """Numbers of edges, rising.

    Raises:
        ValueError: there is no edge, one stands twice, or the grid has fewer.
        TypeError: `given` is a single number, or holds what is no whole number.
    """
    at = tuple(sorted(whole("at", each) for each in several("at", given, "a tuple of numbers of edges, as in (1, 7),")))
    if not at or len(set(at)) < len(at) or at[0] < 0 or at[-1] > axis.grid.cells:
        raise Refused("at", f"numbers of edges from 0 to {axis.grid.cells}, each once, are needed, got {at}")
    return at


def edge_counts(axis: Axis, at: Sequence[int], classes: Categories | None = None) -> Generator[Step, Release, Release]:
    """Ask how many records of each class lie below these edges of the grid, below its ends, and in all."""
    query = all_edges(axis, classes)
    apart = int(axis.grid.outside is Outside.APART)
    own = sorted({edge + apart for edge in (0, *at, axis.grid.cells)} | {axis.slots})
    rows = range(query.rows)
    return (yield Step(replace(query, at=tuple(row * axis.slots + each for row in rows for each in own if each)), ALL))


def all_edges(axis: Axis, classes: Categories | None = None) -> PrefixQuery:
    """What is paid for: all counts along this grid."""
    return PrefixQuery((axis,) if classes is None else (classes, axis), at=())
