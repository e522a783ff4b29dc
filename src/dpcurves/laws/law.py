"""Interface of noise laws: sizes, variances, simulation, reconstruction and JSON are methods of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import nan, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar, cast

import numpy as np

from ..arguments import WrongKind
from ..arrays import BoolArray, FloatArray, IntArray
from .noise import Noise, draw, optional_to_json

Kind = TypeVar("Kind", bound="Law")
VALUES_AT_ONCE = 2**19  # what is worked on fits nearly in the cache


class Answered(NamedTuple):
    """Debiased shares of each answer from reports about one tiling, made to add up.

    A report about a true answer e is then off by noise of the covariance ``P (common I + own e e') P`` over all
    answers, where P takes off the mean: of `scatter`, with the same proof.

    Attributes:
        counts: Unbiased counts of all answers; the last is that the value is missing.
        common: The variance of each answer in a report.
        own: What that of the true answer has more; it may be less.
    """

    counts: FloatArray
    common: float
    own: float


class Law(ABC):
    """The distribution of released integers around the truth.

    Attributes:
        KEY: The name of this law in JSON.
        missing: Noise of the count of records that are missing, which comes last. None: it was not asked for.
    """

    __slots__ = ()

    KEY: ClassVar[str]

    if TYPE_CHECKING:

        @property
        def missing(self) -> Noise | None: ...

    @property
    @abstractmethod
    def size(self) -> int | None:
        """The number of values; None where that is not known before."""

    @abstractmethod
    def blank(self) -> tuple[int, ...]:
        """Values that carry no information."""

    @property
    def takes_any(self) -> bool:
        """Tell whether any integers may be released; if not, they are the codes of a few choices."""
        return False

    @abstractmethod
    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """A release under this law as plain objects."""

    @classmethod
    @abstractmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The law of what `to_json` wrote."""

    @classmethod
    def values_in(cls, stored: Mapping[str, Any]) -> tuple[Sequence[Any], Any]:
        """The values of a stored release, and the public number of all records, as they were written."""
        return stored["values"], stored["total"]

    def required(self, kind: type[Kind]) -> Kind:
        """This law, if it is of that kind.

        Raises:
            TypeError: it is of another.
        """
        if not isinstance(self, kind):
            raise WrongKind("law", f"{kind.__name__} is needed, this release is under {type(self).__name__}")
        return self

    def alpha(self, beta: float) -> float:
        """The error, in records, that wrong answers exceed with probability at most `beta`; NaN where not known."""
        return nan

    def counted(self, values: Sequence[int], total: int | None) -> tuple[float, float] | None:
        """The numbers of records without and with a value; None where the release does not tell."""
        return None


class CountLaw(Law):
    """A law of noisy counts, or sums, of cells."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def rows(self) -> int: ...

        @property
        def cells(self) -> int: ...

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of values."""

    @property
    def takes_any(self) -> bool:
        return True

    def blank(self) -> tuple[int, ...]:
        return (0,) * self.size

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """A release under this law as plain objects; formulas are written as formulas."""
        law = {"rows": self.rows, "cells": self.cells, **self._own_json(), "missing": optional_to_json(self.missing)}
        return {**law, "values": list(values), "total": total}

    @abstractmethod
    def _own_json(self) -> dict[str, Any]:
        """The JSON fields beside rows, cells and the missing cell, under `KEY` among others."""

    def counted(self, values: Sequence[int], total: int | None) -> tuple[float, float] | None:
        if self.missing is None:
            return None
        missing = float(values[-1])
        present = self._present(values) if total is None else total - missing
        return None if present is None else (missing, present)

    def _present(self, values: Sequence[int]) -> float | None:
        """The number of records with a value, as far as the values alone tell."""
        return None


class Part(NamedTuple):
    """Values with one noise law: how many of them a row has, and their noise."""

    length: int
    noise: Noise


class NoisySums(CountLaw):
    """A law of values that are linear in the counts, each with its own noise: unbiased estimates, and simulation.

    The order of values: part by part, in it row by row, in it from left to right; the missing cell comes last.

    Attributes:
        rows: How many cells the axes before the last have together.
        cells: How many cells the last axis has.
        missing: Noise of the count of records that are missing. None: it was not asked for.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The values but for the missing cell."""

    @property
    @abstractmethod
    def bounds(self) -> IntArray:
        """The ends of the finest intervals of a row: one more than there are intervals."""

    def answered(self, values: Sequence[int]) -> Answered | None:
        """The answers, if these are tallies of reports about single cells, one for each; else None."""
        return None

    @abstractmethod
    def sums(self, cells: Any) -> list[Any]:
        """The strategy applied to exact cells (rows, cells): a table (rows, length) for each part. Linear."""

    @abstractmethod
    def reconstruct(self, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
        """The best linear unbiased cells (..., rows, cells) and missing counts (...) of releases (..., size).

        Args:
            values: The released values, in the order of the law.
            total: How many records all rows and the missing cell have together, where that is public. If the missing
                cell was not asked, all rows: give None if records may be missing, or if the values are sums.

        Raises:
            ValueError: the values do not fit the law.
        """

    @abstractmethod
    def prefix_variances(self, total_is_public: bool) -> FloatArray:
        """Variance of the estimated number of records in the first i cells of each row: shape ``(rows, cells + 1)``.

        Estimates are those of `reconstruct`, interpolated linearly between edges. Rows are alike; read-only.
        """

    def end_deviations(self, total_is_public: bool) -> tuple[float, float]:
        """Standard deviations of the estimated counts of the first and the last cell of a row, at the most."""
        variances = self.prefix_variances(total_is_public)[0]
        return sqrt(variances[1]), sqrt(variances[-2]) + sqrt(variances[-1])

    def mean_prefix_variance(self, total_is_public: bool) -> float:
        """The mean of `prefix_variances` over rows and inner edges; where there is one cell, its variance."""
        row = self.prefix_variances(total_is_public)[0]
        return float(row[1]) if self.cells == 1 else float(row[1:-1].mean())

    @property
    def is_nested(self) -> bool:
        """Tell whether sums over nested intervals were measured, each with noise of its own."""
        return False

    @property
    def is_convolved(self) -> bool:
        """Tell whether each row was convolved with public weights, with noise of its own on each value."""
        return False

    @property
    def nested(self) -> NoisySums:
        """The law of `debiased` values. Where `is_nested`, it has independent noise on sums over nested intervals."""
        return self

    def debiased(self, values: FloatArray) -> FloatArray:
        """Unbiased values from released ones, (..., size): unchanged, unless people randomised them."""
        return values

    def given(self, values: Sequence[int]) -> NoisySums:
        """The law given the released values: additive noise does not depend on them."""
        return self

    def shrunken(self, values: FloatArray, total: int | None) -> FloatArray:
        """Cells (rows, cells), in which differences that noise alone explains may be shrunk: here the unbiased ones."""
        return self.reconstruct(values, total)[0]

    @property
    def size(self) -> int:
        return self.rows * sum(part.length for part in self.parts) + (self.missing is not None)

    @property
    def measured_edges(self) -> BoolArray:
        """Mark the ``cells + 1`` edges that bound a finest interval; between them counts are spread evenly."""
        known = np.zeros(self.cells + 1, dtype=np.bool_)
        known[self.bounds] = True
        return known

    @property
    def one_row(self) -> Self:
        """The law of one row on its own, without the missing cell."""
        return self.of_rows(1)

    def of_rows(self, rows: int) -> Self:
        """The law of so many rows on their own, without the missing cell."""
        law: Any = self
        return cast("Self", replace(law, rows=rows, missing=None))

    def raw_noise(self, draws: int, generator: np.random.Generator) -> FloatArray:
        """Simulated noise of the released values themselves: (draws, size), in the order of the law."""
        return np.concatenate([draw(noise, (draws, count), generator) for noise, count in self.noises], axis=-1)

    @property
    def noises(self) -> list[tuple[Noise, int]]:
        """The noise of each part, and how many values have it, in their order."""
        noises = [(part.noise, self.rows * part.length) for part in self.parts]
        return noises if self.missing is None else [*noises, (self.missing, 1)]

    def simulate(
        self, total: int | None, draws: int, generator: np.random.Generator
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Simulated noise of the unbiased estimate, in chunks of bounded memory. Costs no privacy.

        The estimate is linear and unbiased: its error is the estimate from noise alone, with 0 as the total. So an
        estimate minus the truth has the law of what is drawn here, covariances included.

        Args:
            total: What was given to `reconstruct`; it matters only whether it is known.
            draws: How many, over all chunks.
            generator: For simulation over public numbers alone. No noise that protects anybody is drawn from it.

        Yields:
            Errors of the cells, (chunk, rows, cells), and of the missing count, (chunk,).
        """
        known = None if total is None else 0
        chunk = max(1, VALUES_AT_ONCE // max(self.size, self.rows * self.cells))
        for start in range(0, draws, chunk):
            yield self.reconstruct(self.raw_noise(min(chunk, draws - start), generator), known)

    def simulated_prefixes(self, total: int | None, draws: int, generator: np.random.Generator) -> Iterator[FloatArray]:
        """Simulated noise of the sums of the first intervals of the one row, in chunks of bounded memory.

        Between the ends of the finest intervals nothing was measured, so these are simulated alone: as fast, and as
        small, as there are few of them, however many cells there are.

        Args:
            total: What was given to `reconstruct`; it matters only whether it is known.
            draws: How many, over all chunks.
            generator: See `simulate`.

        Yields:
            Errors of the sums, (chunk, intervals + 1).
        """
        short = self.of_intervals
        for cells, _ in short.simulate(total, draws, generator):
            sums = np.zeros((len(cells), len(short.bounds)))
            sums[:, 1:] = np.cumsum(cells[:, 0], axis=-1)[:, short.bounds[1:] - 1]
            yield sums

    @property
    def of_intervals(self) -> NoisySums:
        """The law with the finest intervals as its cells, where that is simple; this law otherwise."""
        return self

    def noise_by_source(self, total: int | None) -> FloatArray:
        """The change of the cells of the unbiased estimate by one standard deviation of noise of each released value.

        The noises are independent and the estimate is linear, so the variance of a sum of cells is the sum over values
        of its squared entries here.

        Args:
            total: What was given to `reconstruct`; it matters only whether it is known.

        Returns:
            Of shape (size, rows, cells).
        """
        deviations = np.concatenate([np.full(count, sqrt(noise.variance)) for noise, count in self.noises])
        return self.reconstruct(np.diag(deviations), None if total is None else 0)[0]

    def _present(self, values: Sequence[int]) -> float | None:
        return float(self.reconstruct(np.asarray(values, dtype=np.float64), None)[0].sum())


class EvenSums(NoisySums):
    """Sums over intervals of `width` cells each, but for the last one."""

    __slots__ = ()

    width: int

    @property
    def points(self) -> int:
        """The number of intervals of a row."""
        return -(-self.cells // self.width)

    @property
    def bounds(self) -> IntArray:
        """The ends of the intervals: one more than there are intervals."""
        return np.minimum(np.arange(self.points + 1) * self.width, self.cells)

    def interpolated(self) -> tuple[IntArray, FloatArray]:
        """The interval that each of the ``cells + 1`` edges lies in, and what part of it lies below the edge."""
        edge, bounds = np.arange(self.cells + 1), self.bounds
        interval = np.minimum(edge // self.width, self.points - 1)
        return interval, (edge - bounds[interval]) / np.diff(bounds)[interval]


def over(cells: Any, starts: IntArray) -> Any:
    """Sums of cells (rows, cells) over the intervals that begin at `starts`: exact for integers of any size."""
    return np.add.reduceat(cells, starts, axis=1)
