"""Conversation of a question: it states its needs, and is answered with unbiased counts and their covariance."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

from ..arrays import FloatArray
from ..data import Grid
from ..release import Evidence, Release, Step

Answer = TypeVar("Answer", covariant=True)
Curve = TypeVar("Curve")

Strategy: TypeAlias = Generator[Step, Release, Answer]
"""How a trust model gets what is needed: step by step, and in the end the answer.

Formal guarantees: a pure function of the workload, of public facts and of the releases that it is sent. It ends
whatever is sent, and the shares of its steps, of those that pay for different things, add up to 1.
"""
HALF = 2**39
"""Distances from the middle of a group are summed in steps, so many of which are half of the group's width."""


class Workload(Generic[Answer]):
    """Numbers that a question needs: of which columns, on which public cells. Fields are public.

    A trust model turns it into queries (`TrustModel.plan`), and `Answer` is what a question gets for it, whatever
    those were. What is new to be needed is a kind of this and a strategy in `strategies`; a new trust model takes these
    strategies, or its own.
    """

    __slots__ = ()


class Need(NamedTuple):
    """A workload, and its share of the question's budget. Both are public."""

    workload: Workload[Any]
    share: Fraction


Needs: TypeAlias = Generator[Need, Any, Curve]
"""A conversation as a question holds it: it says what it needs, is sent the answer, and in the end returns a curve."""


def needed(workload: Workload[Answer], share: Fraction) -> Needs[Answer]:
    """Say what is needed, and return the answer: ``counts = yield from needed(Cells(axes), ALL)``."""
    return cast("Answer", (yield Need(workload, share)))


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of the cells of a table.

    Attributes:
        releases: All that was asked. The last one counts the cells, and tells how many records are missing.
        read: The counts that are read, in their order: of all turns, or of the last one alone, if the others chose
            what it counts.
        grid: The cells along the last axis that were counted: those that were needed, or coarser ones.
    """

    releases: tuple[Release, ...]
    read: tuple[Evidence, ...]
    grid: Grid | None = None

    @classmethod
    def last_of(cls, releases: Sequence[Release], grid: Grid | None = None) -> Counted:
        """Counts of which the last release alone is read."""
        return cls(tuple(releases), (Evidence.of(releases[-1]),), grid)

    @property
    def is_paid(self) -> bool:
        """Tell whether these are answers; else they are blank, and of a rehearsal."""
        return self.releases[-1].allotment is not None

    @property
    def counts(self) -> Evidence:
        """The counts of the last turn: unbiased, whatever the turns before chose."""
        return self.read[-1]


@dataclass(frozen=True, slots=True)
class Grouped:
    """Counts of both classes in groups of similar scores.

    Attributes:
        releases: All that was asked.
        grid: The groups as cells; or all cells, from whose counts groups are to be read.
        counts: The release of the counts of both classes.
        sums: The release of the sums of distances from the middle of each group; None: all cells were counted instead.
    """

    releases: tuple[Release, ...]
    grid: Grid
    counts: Release
    sums: Release | None


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedTable:
    """Estimated counts: no whole numbers, and some may be below zero.

    Attributes:
        cells: The counts of the cells of the grids, of shape ``(cells of the first axis, ...)``.
        outside: The count of all cells for values outside of a grid together; 0 where there are none.
        missing: How many records are missing on some axis.
        releases: What they were read from.
        joined: Whether like cells share an estimate, which has then a bias that nobody knows.
    """

    cells: FloatArray
    outside: float
    missing: float
    releases: tuple[Release, ...]
    joined: bool = True
