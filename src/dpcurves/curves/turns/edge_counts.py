"""Counts below a few edges of a grid that may be far too fine to be counted out."""

from __future__ import annotations

from typing import Any

from ...arguments import Refused, several, whole
from ...data import Axis, Categories
from ...queries import PrefixQuery


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


def all_edges(axis: Axis, classes: Categories | None = None) -> PrefixQuery:
    """The query that is paid for: all counts along this grid."""
    return PrefixQuery((axis,) if classes is None else (classes, axis), at=())
