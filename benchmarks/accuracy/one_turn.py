"""A distribution function in one turn of counts, read as the product reads those."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from dpcurves.curves.cdf import CDF
from dpcurves.curves.counted import counted
from dpcurves.data import Axis, Grid, Read
from dpcurves.release import Release, Setting, Step

from .answering import COLUMN


@dataclass(frozen=True, slots=True)
class OneTurn:
    """What one mechanism alone makes of the counts, whatever the default of the product is."""

    grid: Grid

    def steps(self, setting: Setting) -> Generator[Step, Release, CDF]:
        return (yield from counted(Axis(COLUMN, self.grid), None, Read.PREFIXES, COLUMN, CDF.read))

    def __str__(self) -> str:
        return "distribution function in one turn"
