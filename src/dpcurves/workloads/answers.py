"""What answers a workload: evidence, that is, unbiased counts with their covariance, and what it cost."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from ..arrays import FloatArray
from ..data import Grid
from ..release import Evidence, Release, Step

Answer = TypeVar("Answer")

Strategy: TypeAlias = Generator[Step, Release, Answer]
"""How a trust model gets what is needed: step by step, and in the end the answer.

Formal guarantees: a pure function of the workload, of public facts and of the releases that it is sent. It ends
whatever is sent, and the shares of its steps, of those that pay for different things, add up to 1.
"""
HALF = 2**39
"""Distances from the middle of a group are summed in steps, so many of which are half of the group's width."""


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
        """Whether these are answers; else they are blank, and of a rehearsal."""
        return self.releases[-1].allotment is not None

    @property
    def counts(self) -> Evidence:
        """The counts of the last turn: unbiased, whatever the turns before chose."""
        return self.read[-1]


@dataclass(frozen=True, slots=True)
class Grouped:
    """Counts of both classes in groups of like scores.

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
