"""Noise laws: integer noise around zero, the interface of all laws, laws of choices, and reading a law from JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from math import ceil, exp, expm1, inf, log, log1p, nan, prod, sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Protocol, Self, TypeVar, cast

import numpy as np

from ..arguments import InvalidArgument, WrongArgumentType
from ..arrays import BoolArray, FloatArray, IntArray
from ..codec import INTEGERS, STORED, Count, Rule
from ..privacy import PrivacyLoss
from ..queries.query import Places

# Integer noise around zero: its law, its variance, and draws of it for simulation.


WIDE_LAPLACE = 2.0**32  # scale, above which integers are drawn by rounding a continuous law: relative error 2**-32
WIDE_GAUSSIAN = 1e4  # variance, above which the same is done: relative error of a chance below 1e-5 within 4 sigma
WIDE_SHARES = 2.0**10  # scale, above which sums of shares are drawn by rounding: relative error of a chance 2**-20
BOXES = 2**16  # into which an even draw falls: as many as two bytes can tell apart
LEAST_VARIANCE = 1e-100  # stands for 0, so that exact values of equal rank share a residual evenly
MOST_PARTIES = 2**22
TOGETHER = 64  # draws of several parties that are made in one piece: memory is bounded
TINY = 1e-300  # stands for 0 below a fraction
RATES = 64  # that are tried for a bound by moments
POSITIVE = "^[1-9][0-9]*(/[1-9][0-9]*)?$"
LAPLACE_EXCESS = 3.0
"""The fourth cumulant of one Laplace draw, in squared variances. That of a Gaussian law is 0."""


Parties = int | Fraction
"""A number of draws that are added up; shares of draws count as parts."""


class Family(Enum):
    """A kind of integer noise around zero."""

    LAPLACE = "discrete Laplace"
    GAUSSIAN = "discrete Gaussian"

    @classmethod
    def from_loss(cls, loss: PrivacyLoss) -> Family:
        """The family of noise that loses a pure loss, or a zero-concentrated one."""
        return cls.LAPLACE if loss.is_pure else cls.GAUSSIAN


@dataclass(frozen=True, slots=True)
class Noise:
    """An exact law of integer noise (Canonne, Kamath and Steinke 2020): one draw by each of the parties, added up.

    Attributes:
        family: Laplace: chance of z proportional to ``exp(-|z| / parameter)``. Gaussian: to
            ``exp(-z**2 / (2 * parameter))``.
        parameter: The scale of a Laplace law, or the variance parameter of a Gaussian one.
        parties: How many have each added such a draw: one, but where none is trusted with the noise. A fraction m / n:
            m parties have each added a share, n of which are such a draw together (see `dpcurves_sites.shares`).
    """

    family: Family
    parameter: Annotated[Fraction, ("pattern", POSITIVE)]
    parties: Parties = 1

    @property
    def variance(self) -> float:
        """The variance of all draws. (A discrete Gaussian has at most its parameter; below 1 the parameter is used.)

        >>> round(Noise(Family.LAPLACE, Fraction(10)).variance, 3)
        199.833
        """
        if self.family is Family.GAUSSIAN:
            return float(self.parties) * float(self.parameter)
        rate = 1 / float(self.parameter)
        return float(self.parties) * 2 * exp(-rate) / expm1(-rate) ** 2

    @property
    def fourth_cumulant(self) -> float:
        """The fourth cumulant, which measures tails: 0 for Gaussian noise. Cumulants of independent draws add up."""
        return LAPLACE_EXCESS * self.variance**2 / float(self.parties) if self.family is Family.LAPLACE else 0.0

    @classmethod
    def from_loss(cls, loss: PrivacyLoss, l1_distance: Fraction | int, squared_l2_distance: Fraction | int) -> Noise:
        """The noise with which values lose `loss` that move by this L1 distance, and this squared L2 distance."""
        if loss.epsilon is not None:
            return cls(Family.LAPLACE, l1_distance / loss.epsilon)
        return cls(Family.GAUSSIAN, squared_l2_distance / (2 * loss.rho))

    @property
    def largest_rate(self) -> float:
        """The rate from which on `log_moments` are infinite."""
        return 1 / float(self.parameter) if self.family is Family.LAPLACE else inf

    def log_moments(self, rates: FloatArray) -> FloatArray:
        """The logarithms of ``E exp(rate * noise)``, or, of Gaussian noise, bounds on them from above.

        The two parts of a discrete Laplace variable are geometric. A discrete Gaussian is subgaussian with its
        parameter: complete the square; what is left is a sum over integers of a Gaussian, which is largest with an
        integer as its centre (Canonne, Kamath and Steinke 2020). Logarithms of independent draws, and of shares, add
        up.

        >>> Noise(Family.LAPLACE, Fraction(2)).log_moments(np.array([0.0, 0.4, 0.5])).round(3).tolist()
        [0.0, 1.008, inf]
        """
        parties, parameter = float(self.parties), float(self.parameter)
        if self.family is Family.GAUSSIAN:
            return parties * parameter * rates**2 / 2
        far = np.abs(rates)
        with np.errstate(divide="ignore", invalid="ignore"):
            up, down = -np.expm1(far - 1 / parameter), -np.expm1(-far - 1 / parameter)
            found = parties * (2 * np.log(-np.expm1(-1 / parameter)) - np.log(up) - np.log(down))
        return np.where(up > 0, found, inf)

    def sum_over_parties(self, parties: int | Fraction) -> Noise:
        """Such a draw by each of so many parties."""
        whole = Fraction(parties).denominator == 1
        return replace(self, parties=int(parties) if whole else parties)

    def sum_over_draws(self, draws: int) -> Noise:
        """The sum of so many independent draws of this noise.

        >>> Noise(Family.LAPLACE, Fraction(10), 2).sum_over_draws(3).parties
        6
        """
        return self.sum_over_parties(self.parties * draws)


def round_error(error: float) -> float:
    """To nine digits: the last ones may differ between machines; a plan, and a choice between ties, may not."""
    return float(f"{error:.9g}")


def _parse_parties(stored: Any) -> Parties:
    """A number of parties. Raises `ValueError`: there are fewer than one, or more than were ever asked."""
    parties = Fraction(stored)
    if not 1 <= parties <= MOST_PARTIES:
        raise InvalidArgument("evidence.parties", f"from 1 to {MOST_PARTIES} are read")
    return int(parties) if parties.denominator == 1 else parties


def _places_to_json(places: Places) -> dict[str, list[int]]:
    if isinstance(places, range):
        return {"range": [places.start, places.stop, places.step]}
    return {"list": list(places)}


def _places_from_json(stored: Mapping[str, Any]) -> Places:
    return range(*stored["range"]) if "range" in stored else tuple(int(place) for place in stored["list"])


STORED.add(
    Parties, lambda parties: parties if isinstance(parties, int) else str(parties), _parse_parties,
    {"type": ["integer", "string"], "minimum": 2, "pattern": "^[1-9][0-9]*/[1-9][0-9]*$"},
)  # fmt: skip
STORED.add(
    Places, _places_to_json, _places_from_json,
    {
        "type": "object",
        "if": {"required": ["range"]}, "then": {"properties": {"range": {**INTEGERS, "minItems": 3, "maxItems": 3}}},
        "else": {"required": ["list"], "properties": {"list": INTEGERS}},
    },
)  # fmt: skip


def simulate_noise(noise: Noise, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
    """Integers of one noise law, as floats. Not for protection: `generator` can be predicted."""
    if not isinstance(noise.parties, int):
        return _simulate_fractional_parties(noise, float(noise.parties), shape, generator)
    if noise.parties > TOGETHER:
        return _simulate_many_parties(noise, noise.parties, shape, generator)
    if noise.parties > 1:
        return np.asarray(simulate_noise(noise.sum_over_parties(1), (noise.parties, *shape), generator).sum(axis=0))
    if noise.family is Family.LAPLACE:
        return _simulate_laplace(float(noise.parameter), shape, generator)
    return _simulate_gaussian(float(noise.parameter), shape, generator)


def _simulate_many_parties(
    noise: Noise, parties: int, shape: tuple[int, ...], generator: np.random.Generator
) -> FloatArray:
    """The sum of many draws. The two parts of a Laplace draw are geometric, so those of the sum are negative binomial;
    a sum of Gaussian draws of parameter 1 or more is rounded where it is wide, as one of its own variance is.
    """
    parameter = float(noise.parameter)
    if noise.family is Family.LAPLACE and parties * parameter > WIDE_LAPLACE:
        return np.rint(
            parameter * (generator.standard_gamma(parties, shape) - generator.standard_gamma(parties, shape))
        )
    if noise.family is Family.LAPLACE:
        stopped = -expm1(-1 / parameter)
        above, below = (generator.negative_binomial(parties, stopped, shape) for _ in range(2))
        return np.subtract(above, below, dtype=np.float64)
    if parameter >= 1 and parties * parameter > WIDE_GAUSSIAN:
        return np.rint(generator.normal(0, sqrt(parties * parameter), shape))
    rest, total = parties, np.zeros(shape)
    while rest:
        total += simulate_noise(noise.sum_over_parties(min(rest, TOGETHER)), shape, generator)
        rest -= min(rest, TOGETHER)
    return total


def _simulate_fractional_parties(
    noise: Noise, parties: float, shape: tuple[int, ...], generator: np.random.Generator
) -> FloatArray:
    """The difference of two Polya laws, by the inverse of its distribution function; or about a Gaussian law."""
    scale = float(noise.parameter)
    if noise.family is Family.GAUSSIAN:
        return _simulate_gaussian(parties * scale, shape, generator)
    if scale > WIDE_SHARES:
        return np.rint(scale * (generator.standard_gamma(parties, shape) - generator.standard_gamma(parties, shape)))
    cumulated = _cumulative_fractional_law(scale, parties)
    inverted = _invert_by_boxes if prod(shape) > BOXES else _invert_by_search
    return np.subtract(inverted(cumulated, shape, generator), len(cumulated) // 2, dtype=np.float64)


@lru_cache(maxsize=64)  # a pure function of public numbers
def _cumulative_fractional_law(scale: float, parties: float) -> FloatArray:
    """The distribution function times `BOXES`, from the characteristic function, of integers around the middle."""
    size = 1 << (int(45 * parties * scale) + 60).bit_length()
    ratio, angle = exp(-1 / scale), np.arange(size) * (2 * np.pi / size)
    quotient = (1 - ratio) ** 2 / (1 - 2 * ratio * np.cos(angle) + ratio**2)
    law = np.maximum(np.fft.fftshift(np.fft.ifft(quotient**parties).real), 0)
    cumulated: FloatArray = np.cumsum(law) * (BOXES / law.sum())
    cumulated.flags.writeable = False
    return cumulated


def _simulate_laplace(scale: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
    """The difference of two geometric laws, each an exponential one rounded down: exact to the rounding of doubles."""
    if scale > WIDE_LAPLACE:
        return np.rint(generator.laplace(0, scale, shape))
    above, below = generator.standard_exponential(shape), generator.standard_exponential(shape)
    for wide in (above, below):
        np.floor(np.multiply(wide, scale, out=wide), out=wide)
    return np.subtract(above, below, out=above)


def _simulate_gaussian(variance: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
    """By the inverse of the distribution function, exact to the rounding of doubles."""
    if variance > WIDE_GAUSSIAN:
        return np.rint(generator.normal(0, sqrt(variance), shape))
    reach = int(9 * sqrt(variance)) + 2
    support = np.arange(-reach, reach + 1)
    cumulated = np.cumsum(np.exp(-0.5 * support.astype(np.float64) ** 2 / max(variance, 1e-300)))
    inverted = _invert_by_boxes if prod(shape) > BOXES else _invert_by_search
    return np.subtract(inverted(cumulated * (BOXES / cumulated[-1]), shape, generator), reach, dtype=np.float64)


def _invert_by_search(cumulated: FloatArray, shape: tuple[int, ...], generator: np.random.Generator) -> IntArray:
    """The number of the rising numbers, up to `BOXES`, that an even draw passes."""
    return np.searchsorted(cumulated, generator.random(shape) * BOXES, side="right")


def _invert_by_boxes(cumulated: FloatArray, shape: tuple[int, ...], generator: np.random.Generator) -> IntArray:
    """The law of `_invert_by_search`, five times as fast: of most boxes of width 1 one answer holds, and is looked up."""
    ends = np.searchsorted(cumulated, np.arange(BOXES + 1), side="right")
    answers = np.where(ends[1:] == ends[:-1], ends[:-1], -1)
    box = generator.integers(0, BOXES, shape, dtype=np.uint16)
    found: IntArray = answers[box]
    cut = np.nonzero(found < 0)
    found[cut] = np.searchsorted(cumulated, box[cut] + generator.random(len(cut[0])), side="right")
    return found


# Interface of noise laws: sizes, variances, simulation, reconstruction and JSON are methods of each.


Kind = TypeVar("Kind", bound="Law")
VALUES_AT_ONCE = 2**19  # what is worked on fits nearly in the cache
LEAST_PEOPLE = 2.0
"""A mean over pairs of fewer people is taken as of so many."""


class RandomisedAnswers(Protocol):
    """Randomised answers of people, one of each person about one cell: means over pairs of these people."""

    @property
    def counts(self) -> FloatArray:
        """Unbiased counts of all answers, which add up to `people`; the last is that the value is missing."""

    @property
    def people(self) -> int:
        """The number of people."""

    @property
    def present(self) -> float:
        """About how many people have a value."""

    @property
    def deviation_of_missing(self) -> float:
        """The standard deviation of how many have none, by noise: about, where few have none."""

    def mean(self, kernel: FloatArray) -> float:
        """The mean of a kernel (cells, cells) over all pairs of different people who have a value."""

    def likely(self, shares: FloatArray) -> Self:
        """These answers, if they had these shares."""

    def deviation_of_mean(self, kernel: FloatArray, population: bool) -> float:
        """The standard deviation of `mean`, if answers had these shares."""


class Law(ABC):
    """The distribution of released integers around the truth.

    Attributes:
        KEY: The name of this law in JSON.
        FIELDS: The fields of its own, by their names in JSON, in order.
        accepts_any_integers: True if any integers may be released; if not, they are the codes of a few choices.
        missing: Noise of the count of records that are missing, which comes last. None: it was not asked for.
        splits_missing: True if part of the precision of `missing` may be given to counts of the reasons.
    """

    __slots__ = ()

    KEY: ClassVar[str]
    FIELDS: ClassVar[Mapping[str, str]]
    accepts_any_integers: ClassVar[bool] = False
    splits_missing: ClassVar[bool] = False

    if TYPE_CHECKING:

        @property
        def missing(self) -> Noise | None: ...

    @property
    @abstractmethod
    def size(self) -> int | None:
        """The number of values; None where that is not known before."""

    @abstractmethod
    def blank_values(self) -> tuple[int, ...]:
        """Values that carry no information."""

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """A release under this law as plain objects."""
        return {**self._fields_to_json(), "values": list(values), "total": total}

    def _fields_to_json(self) -> dict[str, Any]:
        """The fields of its own, under `KEY` among others."""
        return STORED.encode_fields(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The law of what `to_json` wrote."""
        return STORED.decode_fields(cls, stored)

    @classmethod
    def json_schema(cls) -> Rule:
        """The schema of what `to_json` writes, but for values."""
        return STORED.rule_of_fields(cls)

    @classmethod
    def count_stored_cells(cls, stored: Mapping[str, Any]) -> int:
        """The number of cells that are laid out where a stored law is read."""
        return int(stored.get("rows", 1)) * int(stored.get("cells", 1))

    @classmethod
    def values_from_json(cls, stored: Mapping[str, Any]) -> tuple[Sequence[Any], Any]:
        """The values of a stored release, and the public number of all records, as they were written."""
        return stored["values"], stored["total"]

    def require_type(self, kind: type[Kind]) -> Kind:
        """This law, if it is of that kind.

        Raises:
            TypeError: it is of another.
        """
        if not isinstance(self, kind):
            raise WrongArgumentType("law", f"{kind.__name__} is needed, this release is under {type(self).__name__}")
        return self

    def alpha(self, beta: float) -> float:
        """The error, in records, that wrong answers exceed with probability at most `beta`; NaN where not known."""
        return nan

    def count_missing_and_present(self, values: Sequence[int], total: int | None) -> tuple[float, float] | None:
        """The numbers of records without and with a value; None where the release does not tell."""
        return None


class CountLaw(Law):
    """A law of noisy counts, or sums, of cells."""

    __slots__ = ()

    accepts_any_integers = True

    if TYPE_CHECKING:

        @property
        def rows(self) -> int: ...

        @property
        def cells(self) -> int: ...

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of values."""

    def blank_values(self) -> tuple[int, ...]:
        return (0,) * self.size

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """A release under this law as plain objects; formulas are written as formulas."""
        law = {"rows": self.rows, "cells": self.cells, **self._fields_to_json(), "missing": STORED.encode(self.missing)}
        return {**law, "values": list(values), "total": total}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        missing = STORED.decode(Noise | None, stored["missing"])
        return STORED.decode_fields(cls, stored, rows=int(stored["rows"]), cells=int(stored["cells"]), missing=missing)

    @classmethod
    def json_schema(cls) -> Rule:
        """The schema of what `to_json` writes."""
        own, size = STORED.rule_of_fields(cls), STORED.rule(Count)
        beside = {
            "rows": {"description": "How many rows of cells were counted.", **size},
            "cells": {"description": "How many cells a row has.", **size},
            "missing": {"description": "Noise of the count of missing records.", **STORED.rule(Noise | None)},
            "values": {"description": "What was released, in the order of the law.", **INTEGERS},
            "total": {"description": "The number of all records, where it is public.", "type": ["integer", "null"]},
        }
        return {**own, "required": [*beside, *own["required"]], "properties": {**beside, **own["properties"]}}

    def count_missing_and_present(self, values: Sequence[int], total: int | None) -> tuple[float, float] | None:
        if self.missing is None:
            return None
        missing = float(values[-1])
        present = self._count_present(values) if total is None else total - missing
        return None if present is None else (missing, present)

    def _count_present(self, values: Sequence[int]) -> float | None:
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
        is_nested: True if sums over nested intervals were measured, each with noise of its own.
        is_convolved: True if each row was convolved with public weights, with noise of its own on each value.
    """

    __slots__ = ()

    splits_missing: ClassVar[bool] = True
    is_nested: ClassVar[bool] = False
    is_convolved: ClassVar[bool] = False

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The values but for the missing cell."""

    @property
    @abstractmethod
    def bounds(self) -> IntArray:
        """The ends of the finest intervals of a row: one more than there are intervals."""

    def randomised_answers(self, values: Sequence[int]) -> RandomisedAnswers | None:
        """The answers, if these are tallies of reports about single cells, one for each; else None."""
        return None

    @abstractmethod
    def apply_strategy(self, cells: Any) -> list[Any]:
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

    def end_cell_deviations(self, total_is_public: bool) -> tuple[float, float]:
        """Standard deviations of the estimated counts of the first and the last cell of a row, at the most."""
        variances = self.prefix_variances(total_is_public)[0]
        return sqrt(variances[1]), sqrt(variances[-2]) + sqrt(variances[-1])

    def mean_prefix_variance(self, total_is_public: bool) -> float:
        """The mean of `prefix_variances` over rows and inner edges; where there is one cell, its variance."""
        row = self.prefix_variances(total_is_public)[0]
        return float(row[1]) if self.cells == 1 else float(row[1:-1].mean())

    @property
    def nested_law(self) -> NoisySums:
        """The law of `debias` values. Where `is_nested`, it has independent noise on sums over nested intervals."""
        return self

    def debias(self, values: FloatArray) -> FloatArray:
        """Unbiased values from released ones, (..., size): unchanged, unless people randomised them."""
        return values

    def condition_on(self, values: Sequence[int]) -> NoisySums:
        """The law given the released values: additive noise does not depend on them."""
        return self

    def shrink_cells(self, values: FloatArray, total: int | None) -> FloatArray:
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
        return self.with_rows(1)

    def with_rows(self, rows: int) -> Self:
        """The law of so many rows on their own, without the missing cell."""
        law: Any = self
        return cast("Self", replace(law, rows=rows, missing=None))

    @property
    def cell_noise(self) -> Noise | None:
        """The noise of each cell, where cells were counted one by one, and nothing else was; else None."""
        return None

    def sum_over_releases(self, releases: int) -> Self:
        """The law of the sums, value by value, of so many releases under this law, each with noise of its own.

        Exact: such a sum is the strategy applied to the sum of the cells, plus the sum of the noises; and since all
        releases have the same variances, least squares of the sum is the sum of their least squares.

        Raises:
            TypeError: the noise depends on what is counted, as that of randomised reports.
        """
        if type(self).condition_on is not NoisySums.condition_on:
            raise WrongArgumentType("law", "only releases with additive noise of one law add up")
        return cast("Self", _sum_noises_over_draws(self, releases))

    def simulate_values(self, draws: int, generator: np.random.Generator) -> FloatArray:
        """Simulated noise of the released values themselves: (draws, size), in the order of the law."""
        return np.concatenate(
            [simulate_noise(noise, (draws, count), generator) for noise, count in self.noises], axis=-1
        )

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
            yield self.reconstruct(self.simulate_values(min(chunk, draws - start), generator), known)

    def simulate_prefixes(self, total: int | None, draws: int, generator: np.random.Generator) -> Iterator[FloatArray]:
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
        short = self.interval_law
        for cells, _ in short.simulate(total, draws, generator):
            sums = np.zeros((len(cells), len(short.bounds)))
            sums[:, 1:] = np.cumsum(cells[:, 0], axis=-1)[:, short.bounds[1:] - 1]
            yield sums

    @property
    def interval_law(self) -> NoisySums:
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

    def bound_combined_noise(self, weights: FloatArray, probability: float) -> FloatArray:
        """For each combination of values, what its noise exceeds with at most this chance.

        Formal guarantees: by the moments of the noise (Chernoff), whatever else is known: for each rate s above zero,
        ``(sum of log moments at s * weights - log chance) / s`` is exceeded so rarely; the least of some is taken.

        Args:
            weights: One row for each combination: the weights of the values, in their order.
            probability: Above 0, below 1.
        """
        variance, steepest, own = np.zeros(len(weights)), np.full(len(weights), inf), []
        ends = np.cumsum([0, *(count for _, count in self.noises)])
        for (noise, _), start, end in zip(self.noises, ends, ends[1:], strict=False):
            part = weights[:, start:end]
            variance += noise.variance * (part**2).sum(axis=1)
            steepest = np.minimum(
                steepest, noise.largest_rate / np.maximum(np.abs(part).max(axis=1, initial=0.0), TINY)
            )
            own.append((noise, part))
        farthest = np.minimum(steepest, np.sqrt(-2 * log(probability) / np.maximum(variance, TINY)))
        least = np.full(len(weights), inf)
        for step in range(1, RATES + 1):
            rate = farthest * (step / (RATES + 0.5))
            moments = sum(
                (noise.log_moments(rate[:, None] * part).sum(axis=1) for noise, part in own), -log(probability)
            )
            least = np.minimum(least, moments / rate)
        return least

    def _count_present(self, values: Sequence[int]) -> float | None:
        return float(self.reconstruct(np.asarray(values, dtype=np.float64), None)[0].sum())


def _sum_noises_over_draws(field: Any, draws: int) -> Any:
    """A law, or a part of one, in which each noise is that of so many releases, however deep it stands."""
    if isinstance(field, Noise):
        return field.sum_over_draws(draws)
    if isinstance(field, tuple) and not hasattr(field, "_fields"):
        return tuple(_sum_noises_over_draws(each, draws) for each in field)
    if not is_dataclass(field) or isinstance(field, type):
        return field
    parts = {each.name: getattr(field, each.name) for each in fields(field) if each.init}
    made = {name: _sum_noises_over_draws(part, draws) for name, part in parts.items()}
    return replace(field, **{name: part for name, part in made.items() if part is not parts[name]})


class EqualWidthSums(NoisySums):
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

    def interpolate_edges(self) -> tuple[IntArray, FloatArray]:
        """The interval that each of the ``cells + 1`` edges lies in, and what part of it lies below the edge."""
        edge, bounds = np.arange(self.cells + 1), self.bounds
        interval = np.minimum(edge // self.width, self.points - 1)
        return interval, (edge - bounds[interval]) / np.diff(bounds)[interval]


def sum_over_intervals(cells: Any, starts: IntArray) -> Any:
    """Sums of cells (rows, cells) over the intervals that begin at `starts`: exact for integers of any size."""
    return np.add.reduceat(cells, starts, axis=1)


# Reading laws of noise from JSON: each is found by its key, and only that one is imported.


MOST_CELLS = 2**22
"""The most cells in all rows together: a curator counts no more one by one."""
MOST_BITS = 256
GROUP = "dpcurves.laws"
"""Entry points of other packages: a law's `KEY`, and where its class is."""

PLACES: Mapping[str, str] = {
    "levels": "interval_sums:IntervalSums", "contrasts": "haar_sums:HaarSums",
    "convolved": "toeplitz_sums:ToeplitzSums",
    "path": "path_sums:PathSums", "wavelets": "haar_sums:HaarTensorSums", "chosen": "law:Selection",
}  # fmt: skip
"""The `KEY` of each law in this room, its file and its class: a new law is its own file, and a word here."""


def law_from_json(stored: Mapping[str, Any]) -> Law:
    """The law of a release that `Law.to_json` wrote.

    Raises:
        KeyError: no law has this form.
        ValueError: it is larger than any that this package makes: a text of a few bytes could ask for all memory.
    """
    laws = _find_laws(stored)
    for name in ("bits", "blocks"):
        if not 0 <= int(stored.get(name, 0)) <= MOST_BITS:
            raise InvalidArgument(f"evidence.{name}", f"at most {MOST_BITS} are read")
    for cells in (law.count_stored_cells(stored) for law in laws):
        if not 0 < cells <= MOST_CELLS:
            raise InvalidArgument(
                "evidence.cells", f"from 1 to {MOST_CELLS} in all rows together are read, got {cells}"
            )
    return laws[0].from_json(stored)


@cache
def json_schemas() -> dict[str, Rule]:
    """The schemas of releases that curves are read from, by the keys of their laws, in the order that keys are seen in.

    >>> "levels" in json_schemas()
    True
    """
    laws = {key: _import_law(place) for key, place in PLACES.items()}
    laws |= {each.name: each.load() for each in sorted(entry_points(group=GROUP), key=lambda each: each.name)}
    return {key: _json_schema(law) for key, law in laws.items() if issubclass(law, (CountLaw, ChoiceLaw))}


def json_schema_of(stored: Mapping[str, Any]) -> Rule:
    """The schema of a release, of `json_schemas`; one of no law that curves are read from is held to the first."""
    first = _import_law(next(iter(PLACES.values())))
    try:
        law = _find_laws(stored)[0]
    except KeyError:
        return _json_schema(first)
    return _json_schema(law if issubclass(law, (CountLaw, ChoiceLaw)) else first)


@cache
def _json_schema(law: type[Law]) -> Rule:
    return law.json_schema()


def _import_law(place: str) -> type[Law]:
    file, _, name = place.partition(":")
    found: type[Law] = getattr(import_module(f".{file}", __package__), name)
    return found


def _find_laws(stored: Mapping[str, Any]) -> list[type[Law]]:
    """The laws whose keys are in an object, at least one: of this room, or declared by another installed package."""
    if places := [place for key, place in PLACES.items() if key in stored]:
        return [_import_law(place) for place in places]
    if found := [each.load() for each in entry_points(group=GROUP) if each.name in stored]:
        return found
    raise KeyError("law")


# Laws of answers that are choices, not measurements: there is no noise to subtract.


@dataclass(frozen=True, slots=True)
class ChoiceLaw(Law):
    """Law of a release of choices, as of cuts or an interval: no noise is added. `example` stands in rehearsals."""

    KEY = "chosen"
    FIELDS = MappingProxyType({KEY: "example"})

    example: tuple[int, ...]

    @property
    def missing(self) -> None:
        """Nothing was counted."""
        return None

    def blank_values(self) -> tuple[int, ...]:
        return self.example

    @classmethod
    def values_from_json(cls, stored: Mapping[str, Any]) -> tuple[Sequence[Any], Any]:
        """The choices; no number of records is told."""
        return stored[cls.KEY], None

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """The choices."""
        return {self.KEY: list(values)}

    @classmethod
    def json_schema(cls) -> Rule:
        told = "Choices that were made under noise, as of edges: no noise is added to them."
        return {"description": told, "type": "object", "required": [cls.KEY], "properties": {cls.KEY: INTEGERS}}


@dataclass(frozen=True, slots=True)
class Selection(ChoiceLaw):
    """The law of as many choices as `example` has."""

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.example)


@dataclass(frozen=True, slots=True)
class PartitionDecisions(ChoiceLaw):
    """Decisions of a growing partition: how many there are is known once they are made."""

    @property
    def size(self) -> None:
        """Not known before."""
        return None


@dataclass(frozen=True, slots=True)
class ThresholdAnswers(Selection):
    """Numbers of comparisons that reached their threshold: choices, made under two kinds of Laplace noise.

    Attributes:
        threshold_noise: The noise that all thresholds share.
        sum_noise: The noise of each compared sum.
        comparisons: How many are made at most.
        step: By how much one record counts in the compared sums.
    """

    threshold_noise: Noise
    sum_noise: Noise
    comparisons: int
    step: int

    def alpha(self, beta: float) -> float:
        """The largest distance of a wrongly answered sum from its threshold, in records, but for a chance of `beta`.

        With chance ``1 - beta`` at least, all that is said to have reached its threshold is above it less alpha, and
        all before that is not said to is below it plus alpha. The common noise stays within a, but for half of beta;
        each sum can err one way alone, and does so by more than b for its part of the other half: alpha is a + b, with
        the exact tails of both noises. (Chen 2018, Theorems 3 and 8, has both ways, and 4 c of noise for 2 c.)

        Raises:
            ValueError: `beta` is not strictly between 0 and 1.

        >>> from fractions import Fraction
        >>> from dpcurves.laws import Family
        >>> noise = Noise(Family.LAPLACE, Fraction(2))
        >>> ThresholdAnswers((10,), noise, noise, comparisons=10, step=1).alpha(0.05)
        18.0
        """
        if not 0 < beta < 1:
            raise InvalidArgument("beta", f"a chance between 0 and 1 is needed, got {beta}")
        both_ways, one_way = (
            _tail_quantile(self.threshold_noise, beta / 4),
            _tail_quantile(self.sum_noise, beta / 2 / self.comparisons),
        )
        return (both_ways + one_way) / self.step


def _tail_quantile(noise: Noise, probability: float) -> int:
    """The least whole number that a draw exceeds, on one side, with at most this chance.

    With ``r = exp(-1 / scale)``, a draw of discrete Laplace noise is above m >= 0 with chance ``r**(m + 1) / (1 + r)``.
    """
    scale = float(noise.parameter)
    return max(0, ceil(-scale * (log(probability) + log1p(exp(-1 / scale)))) - 1)
