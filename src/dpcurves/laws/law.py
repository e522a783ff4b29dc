"""How released integers scatter around the truth. Public, and known before any data is seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import exp, expm1
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..queries.region import laid_out


class Family(Enum):
    """A kind of integer noise around zero."""

    LAPLACE = "discrete Laplace"
    GAUSSIAN = "discrete Gaussian"


@dataclass(frozen=True, slots=True)
class Noise:
    """One exact law of integer noise (Canonne, Kamath and Steinke 2020).

    Attributes:
        family: Laplace: chance of z proportional to ``exp(-|z| / parameter)``. Gaussian: to
            ``exp(-z**2 / (2 * parameter))``.
        parameter: The scale of a Laplace law, or the variance parameter of a Gaussian one.
    """

    family: Family
    parameter: Fraction

    @property
    def variance(self) -> float:
        """The variance of one draw. (A discrete Gaussian has at most its parameter; below 1 the parameter is used.)

        >>> round(Noise(Family.LAPLACE, Fraction(10)).variance, 3)
        199.833
        """
        if self.family is Family.GAUSSIAN:
            return float(self.parameter)
        rate = 1 / float(self.parameter)
        return 2 * exp(-rate) / expm1(-rate) ** 2


class Part(NamedTuple):
    """Values with one noise law: how many of them a row has, and their noise."""

    length: int
    noise: Noise


class Layout(ABC):
    """The order of noisy sums: part by part, in it row by row, in it from left to right; the missing cell comes last.

    Attributes:
        rows: How many cells the axes before the last have together.
        cells: How many cells the last axis has.
        missing: Noise of the count of records that are missing. None: it was not asked for.
    """

    __slots__ = ()

    rows: int
    cells: int
    missing: Noise | None

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """All values but the missing cell."""

    @property
    @abstractmethod
    def bounds(self) -> NDArray[np.int64]:
        """The ends of the finest intervals of a row: one more than there are intervals."""

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.rows * sum(part.length for part in self.parts) + (self.missing is not None)

    def blank(self) -> tuple[int, ...]:
        """Values that tell nothing."""
        return (0,) * self.size


class EvenLayout(Layout):
    """All finest intervals but the last one have `width` cells."""

    __slots__ = ()

    width: int

    @property
    def points(self) -> int:
        """How many intervals a row has."""
        return -(-self.cells // self.width)

    @property
    def bounds(self) -> NDArray[np.int64]:
        """The ends of the intervals: one more than there are intervals."""
        return np.minimum(np.arange(self.points + 1) * self.width, self.cells)

    def interpolated(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The interval that each of the ``cells + 1`` edges lies in, and what part of it lies below the edge."""
        edge, bounds = np.arange(self.cells + 1), self.bounds
        interval = np.minimum(edge // self.width, self.points - 1)
        return interval, (edge - bounds[interval]) / np.diff(bounds)[interval]


@dataclass(frozen=True, slots=True)
class Level:
    """Intervals that tile the cells of every row, and the noise of each of their sums.

    Interval i is ``[starts[i], starts[i + 1])``; the last one ends with the row.
    """

    starts: range | tuple[int, ...]
    noise: Noise

    @property
    def first(self) -> NDArray[np.int64]:
        """The first cells of the intervals."""
        return laid_out(self.starts)

    def bounds(self, cells: int) -> NDArray[np.int64]:
        """The ends of the intervals: one more than there are intervals."""
        return np.append(self.first, cells)


@dataclass(frozen=True, slots=True)
class IntervalSums(Layout):
    """Noisy sums over intervals of cells, each with noise of its own: flat histograms, trees, partitions.

    The order of values: level by level, in it row by row, in it from left to right; the missing cell comes last.
    Mechanisms publish before they mix: noises are independent here, and covariance is born in `postprocess`.

    Attributes:
        rows: How many cells the axes before the last have together.
        cells: How many cells the last axis has.
        levels: From coarse to fine. Every interval is a union of intervals of the next level.
        missing: Noise of the count of records that are missing. None: it was not asked for.
    """

    rows: int
    cells: int
    levels: tuple[Level, ...]
    missing: Noise | None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The levels."""
        return tuple(Part(len(level.starts), level.noise) for level in self.levels)

    @property
    def bounds(self) -> NDArray[np.int64]:
        """The ends of the intervals of the last level."""
        return self.levels[-1].bounds(self.cells)


@dataclass(frozen=True, slots=True)
class Selection:
    """Values are choices, not measurements: there is nothing to subtract. `example` is one that tells nothing."""

    example: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.example)

    def blank(self) -> tuple[int, ...]:
        """Values that tell nothing."""
        return self.example


@dataclass(frozen=True, slots=True)
class PartitionDecisions:
    """Values are choices, as many as it took to make them all. `example` is one that tells nothing."""

    example: tuple[int, ...]

    @property
    def size(self) -> None:
        """Not known before."""
        return None

    def blank(self) -> tuple[int, ...]:
        """Values that tell nothing."""
        return self.example
