"""Output distributions of releases: integer noise, the interface of noisy counts and of choices, and JSON.

A release is a list of integers ``y = A @ cells + z`` with independent noise z of known distribution. A `NoisySums`
knows the matrix A and the distribution of z. So it can

    reconstruct         estimate the cells, as the best linear unbiased estimate B @ y
    prefix_variances    compute the variance of sums of the estimated cells
    simulate            sample B @ z, which has exactly the distribution of the estimate's error

`Noise` is the distribution of one z, a sum of one integer draw per party:

    discrete Laplace    P(z) proportional to exp(-|z| / scale)
    discrete Gaussian   P(z) proportional to exp(-z**2 / (2 * variance parameter))

Choices, such as cuts, are released without noise on them (`ChoiceDistribution`), so they have nothing to simulate. The
JSON of a release has a key of its distribution, by which `distribution_from_json` finds the class.

Formal guarantees: distributions are public, and known before data is seen. Simulation uses public generators and costs
no budget.

References: Ghosh, Roughgarden and Sundararajan 2009 (two-sided geometric noise); Canonne, Kamath and Steinke 2020 (the
discrete Gaussian).

>>> noise = Noise(Family.LAPLACE, Fraction(10))
>>> round(noise.variance, 2), round(Noise(Family.GAUSSIAN, Fraction(9)).variance, 2)  # squared records
(199.83, 9.0)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import cache, lru_cache
from importlib import import_module
from math import ceil, exp, expm1, inf, log, log1p, nan, prod, sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Protocol, Self, TypeVar, cast

import numpy as np

from ..arguments import InvalidArgument, WrongArgumentType
from ..arrays import BoolArray, FloatArray, IntArray
from ..codec import INTEGERS, STORED_CODEC, Count, JsonSchema, parse_exact_number
from ..extensions import find_entry_points
from ..privacy import PrivacyLoss
from ..queries.query import Places

# Integer noise with mean zero: its distribution, its variance, and simulation.


WIDE_LAPLACE = 2.0**32
"""Records. Scale above which simulated integers are rounded continuous draws: relative error of a probability
2**-32.
"""
WIDE_GAUSSIAN = 1e4
"""Squared records. Variance above which simulated integers are rounded continuous draws: relative error of a
probability below 1e-5 within 4 standard deviations.
"""
LOOKUP_BOXES = 2**16
"""Boxes of a lookup table that turns two random bytes into a uniform draw. Simulations of more draws than this use the
table, others a binary search."""
LEAST_VARIANCE = 1e-100
"""Squared records. Replaces variance 0 in divisions, so that exact values of equal rank share a residual evenly."""
MOST_PARTIES = 2**22
"""Parties. Largest number of parties in a stored distribution; more are refused when it is read."""
MOST_SUMMED_PARTIES = 64
"""Parties. Largest number of parties whose draws are simulated at once, which bounds memory."""
POSITIVE_FRACTION_PATTERN = "^[1-9][0-9]*(/[1-9][0-9]*)?$"
"""Pattern of positive fractions in JSON, such as 3/2, for the published JSON schema."""
LAPLACE_EXCESS_KURTOSIS = 3.0
"""Ratio. Excess kurtosis of a Laplace draw: fourth cumulant over squared variance. That of a Gaussian distribution is
0."""


Parties = int | Fraction
"""A number of draws that are added up; shares of a draw count as fractions."""


class Family(Enum):
    """A family of integer noise with mean zero."""

    LAPLACE = "discrete Laplace"
    GAUSSIAN = "discrete Gaussian"

    @classmethod
    def from_loss(cls, loss: PrivacyLoss) -> Family:
        """Return the family that a loss requires: Laplace for pure DP, Gaussian for zCDP.

        Args:
            loss: Privacy budget, pure or zero-concentrated.
        """
        return cls.LAPLACE if loss.is_pure else cls.GAUSSIAN


@dataclass(frozen=True, slots=True)
class Noise:
    """An exact distribution of integer noise with mean 0: the sum of one draw per party (Canonne, Kamath and Steinke
    2020).

    Attributes:
        family: Laplace: the probability of z is proportional to ``exp(-|z| / parameter)``. Gaussian: to
            ``exp(-z**2 / (2 * parameter))``.
        parameter: Records, the scale of Laplace noise; or squared records, the variance parameter of Gaussian noise.
        parties: Number of parties that add a draw each; 1 with a trusted curator. A fraction m / n: m parties add a
            share each, n of which sum up to a draw (see `dpcurves_sites.shares`).
    """

    family: Family
    parameter: Annotated[Fraction, ("pattern", POSITIVE_FRACTION_PATTERN)]
    parties: Parties = 1

    @property
    def variance(self) -> float:
        """Variance of the sum of all draws, in squared records.

        For Gaussian noise it is the parameter, an upper bound that is tight above 1.

        >>> round(Noise(Family.LAPLACE, Fraction(10)).variance, 3)
        199.833
        """
        if self.family is Family.GAUSSIAN:
            return float(self.parties) * float(self.parameter)
        rate = 1 / float(self.parameter)
        return float(self.parties) * 2 * exp(-rate) / expm1(-rate) ** 2

    @property
    def fourth_cumulant(self) -> float:
        """Fourth cumulant, a measure of tails: 0 for Gaussian noise. Cumulants of independent draws add up."""
        return (
            LAPLACE_EXCESS_KURTOSIS * self.variance**2 / float(self.parties) if self.family is Family.LAPLACE else 0.0
        )

    @classmethod
    def from_loss(cls, loss: PrivacyLoss, l1_distance: Fraction | int, squared_l2_distance: Fraction | int) -> Noise:
        """Return the least noise for numbers of this sensitivity, at a loss.

        Formal guarantees: Laplace noise of scale ``l1_distance / epsilon`` on integers is epsilon-DP; Gaussian noise of
        variance parameter ``squared_l2_distance / (2 * rho)`` is rho-zCDP (Canonne, Kamath and Steinke 2020, Theorem
        14).

        Args:
            loss: The privacy budget, pure or zero-concentrated; it decides the family.
            l1_distance: Largest L1 distance between the numbers of neighbours; used for a pure loss.
            squared_l2_distance: Square of their largest L2 distance; used for a rho.
        """
        if loss.epsilon is not None:
            return cls(Family.LAPLACE, l1_distance / loss.epsilon)
        return cls(Family.GAUSSIAN, squared_l2_distance / (2 * loss.rho))

    @property
    def largest_rate(self) -> float:
        """Rate (one over records) from which the moment generating function is infinite; infinity for Gaussian
        noise.
        """
        return 1 / float(self.parameter) if self.family is Family.LAPLACE else inf

    def log_moments(self, rates: FloatArray) -> FloatArray:
        """Return the log moment generating function, ``log E exp(rate * noise)``; for Gaussian noise an upper bound.

        A discrete Laplace variable is a difference of two geometric ones. A discrete Gaussian is subgaussian with its
        parameter: complete the square; the remaining sum over integers of a Gaussian is largest if its centre is an
        integer (Canonne, Kamath and Steinke 2020). Log-moments of independent draws, and of shares, add up.

        Args:
            rates: Rates, one over records, of any shape.

        >>> Noise(Family.LAPLACE, Fraction(2)).log_moments(np.array([0.0, 0.4, 0.5])).round(3).tolist()
        [0.0, 1.008, inf]
        """
        parties = float(self.parties)
        parameter = float(self.parameter)
        if self.family is Family.GAUSSIAN:
            return parties * parameter * rates**2 / 2
        magnitude = np.abs(rates)
        with np.errstate(divide="ignore", invalid="ignore"):
            up = -np.expm1(magnitude - 1 / parameter)
            down = -np.expm1(-magnitude - 1 / parameter)
            log_moments = parties * (2 * np.log(-np.expm1(-1 / parameter)) - np.log(up) - np.log(down))
        return np.where(up > 0, log_moments, inf)

    def sum_over_parties(self, parties: int | Fraction) -> Noise:
        """Return the distribution of the sum of one draw by each of `parties` parties."""
        is_integer = Fraction(parties).denominator == 1
        return replace(self, parties=int(parties) if is_integer else parties)

    def sum_over_draws(self, draws: int) -> Noise:
        """Return the distribution of the sum of `draws` independent draws of this noise.

        >>> Noise(Family.LAPLACE, Fraction(10), 2).sum_over_draws(3).parties
        6
        """
        return self.sum_over_parties(self.parties * draws)


def round_error(error: float) -> float:
    """Return an error in records rounded to nine significant digits, so that printed and stored accuracies are equal on
    all machines.

    Args:
        error: Any finite number.
    """
    return float(f"{error:.9g}")


def _parse_parties(stored: Any) -> Parties:
    """Parse the stored number of parties that each added noise: an integer or a fraction.

    Args:
        stored: JSON value of the field.

    Raises:
        ValueError: the number is out of range.
    """
    parties = parse_exact_number(stored)
    if not 1 <= parties <= MOST_PARTIES:
        raise InvalidArgument(
            "evidence.parties",
            f"must be a number of parties from 1 to {MOST_PARTIES}; take the file as dpcurves wrote it",
        )
    return int(parties) if parties.denominator == 1 else parties


def _places_to_json(places: Places) -> dict[str, list[int]]:
    """Return first cells as JSON: a range as ``{"range": [start, stop, step]}``, others as ``{"list": [...]}``.

    Args:
        places: First cells of intervals, increasing from 0.
    """
    if isinstance(places, range):
        return {"range": [places.start, places.stop, places.step]}
    return {"list": list(places)}


def _places_from_json(stored: Mapping[str, Any]) -> Places:
    """Return the first cells of intervals, a range or a tuple, from the JSON that `_places_to_json` wrote.

    Args:
        stored: JSON value with ``range`` or ``list``.
    """
    return range(*stored["range"]) if "range" in stored else tuple(int(place) for place in stored["list"])


STORED_CODEC.add(
    Parties, lambda parties: parties if isinstance(parties, int) else str(parties), _parse_parties,
    {"type": ["integer", "string"], "minimum": 2, "pattern": "^[1-9][0-9]*/[1-9][0-9]*$"},
)  # fmt: skip
STORED_CODEC.add(
    Places, _places_to_json, _places_from_json,
    {
        "type": "object",
        "if": {"required": ["range"]}, "then": {"properties": {"range": {**INTEGERS, "minItems": 3, "maxItems": 3}}},
        "else": {"required": ["list"], "properties": {"list": INTEGERS}},
    },
)  # fmt: skip


def simulate_noise(noise: Noise, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
    """Simulate integers of a noise distribution, as floats. Never for protection, because `generator` is predictable.

    Args:
        noise: The distribution, of one party or of a sum over parties.
        shape: Shape of the result.
        generator: For simulation over public numbers alone.
    """
    if not isinstance(noise.parties, int):
        return _simulate_fractional_parties(noise, float(noise.parties), shape, generator)
    if noise.parties > MOST_SUMMED_PARTIES:
        return _simulate_many_parties(noise, noise.parties, shape, generator)
    if noise.parties > 1:
        return np.asarray(simulate_noise(noise.sum_over_parties(1), (noise.parties, *shape), generator).sum(axis=0))
    if noise.family is Family.LAPLACE:
        return _simulate_laplace(float(noise.parameter), shape, generator)
    return _simulate_gaussian(float(noise.parameter), shape, generator)


def _simulate_many_parties(
    noise: Noise, parties: int, shape: tuple[int, ...], generator: np.random.Generator
) -> FloatArray:
    """Simulate the sum of the noise draws of many parties, without drawing each separately.

    A Laplace draw is a difference of geometric ones, so the sum is a difference of negative binomial ones. A sum of
    Gaussian draws with parameter 1 or more is a rounded continuous draw if it is wide, as for a single draw.

    Args:
        noise: Noise of one party.
        parties: Number of parties.
        shape: Shape of the result.
        generator: Random numbers of the simulation.

    Returns:
        Whole numbers as floats.
    """
    parameter = float(noise.parameter)
    if noise.family is Family.LAPLACE and parties * parameter > WIDE_LAPLACE:
        return np.rint(
            parameter * (generator.standard_gamma(parties, shape) - generator.standard_gamma(parties, shape))
        )
    if noise.family is Family.LAPLACE:
        stop_probability = -expm1(-1 / parameter)
        above, below = (generator.negative_binomial(parties, stop_probability, shape) for _ in range(2))
        return np.subtract(above, below, dtype=np.float64)
    if parameter >= 1 and parties * parameter > WIDE_GAUSSIAN:
        return np.rint(generator.normal(0, sqrt(parties * parameter), shape))
    remaining = parties
    total = np.zeros(shape)
    while remaining:
        total += simulate_noise(noise.sum_over_parties(min(remaining, MOST_SUMMED_PARTIES)), shape, generator)
        remaining -= min(remaining, MOST_SUMMED_PARTIES)
    return total


def _simulate_fractional_parties(
    noise: Noise, parties: float, shape: tuple[int, ...], generator: np.random.Generator
) -> FloatArray:
    """Simulate the sum of noise shares, of which several make up one draw: a difference of two Polya variables, or
    approximately a Gaussian.

    Args:
        noise: Noise of a whole draw.
        parties: Number of draws, a fraction.
        shape: Shape of the result.
        generator: Random numbers of the simulation.
    """
    scale = float(noise.parameter)
    if noise.family is Family.GAUSSIAN:
        return _simulate_gaussian(parties * scale, shape, generator)
    # Above a scale of 2**10 simulated sums of noise shares are rounded continuous draws: probabilities have a relative
    # error of 2**-20.
    if scale > 2.0**10:
        return np.rint(scale * (generator.standard_gamma(parties, shape) - generator.standard_gamma(parties, shape)))
    cumulative = _cumulative_fractional_distribution(scale, parties)
    inverted = _invert_by_boxes if prod(shape) > LOOKUP_BOXES else _invert_by_search
    return np.subtract(inverted(cumulative, shape, generator), len(cumulative) // 2, dtype=np.float64)


@lru_cache(maxsize=64)  # a pure function of public numbers
def _cumulative_fractional_distribution(scale: float, parties: float) -> FloatArray:
    """Return the distribution function times `LOOKUP_BOXES`, on integers around 0, from the characteristic function.

    Args:
        scale: Scale of the Laplace noise.
        parties: Shape parameter of the Polya variable.

    Returns:
        Increasing numbers from 0 to `LOOKUP_BOXES`; the middle element belongs to 0. Read-only.
    """
    size = 1 << (int(45 * parties * scale) + 60).bit_length()
    ratio = exp(-1 / scale)
    angle = np.arange(size) * (2 * np.pi / size)
    quotient = (1 - ratio) ** 2 / (1 - 2 * ratio * np.cos(angle) + ratio**2)
    distribution = np.maximum(np.fft.fftshift(np.fft.ifft(quotient**parties).real), 0)
    cumulative: FloatArray = np.cumsum(distribution) * (LOOKUP_BOXES / distribution.sum())
    cumulative.flags.writeable = False
    return cumulative


def _simulate_laplace(scale: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
    """Simulate a difference of two geometric variables, each a rounded exponential: exact up to rounding of doubles.

    Args:
        scale: Scale of the noise.
        shape: Shape of the result.
        generator: Random numbers of the simulation.
    """
    if scale > WIDE_LAPLACE:
        return np.rint(generator.laplace(0, scale, shape))
    above = generator.standard_exponential(shape)
    below = generator.standard_exponential(shape)
    for part in (above, below):
        np.floor(np.multiply(part, scale, out=part), out=part)
    return np.subtract(above, below, out=above)


def _simulate_gaussian(variance: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
    """Simulate discrete Gaussian noise by inversion of its distribution function, exact up to rounding of doubles.

    Args:
        variance: Parameter sigma² of the noise.
        shape: Shape of the result.
        generator: Random numbers of the simulation.
    """
    if variance > WIDE_GAUSSIAN:
        return np.rint(generator.normal(0, sqrt(variance), shape))
    reach = int(9 * sqrt(variance)) + 2
    support = np.arange(-reach, reach + 1)
    cumulative = np.cumsum(np.exp(-0.5 * support.astype(np.float64) ** 2 / max(variance, 1e-300)))
    inverted = _invert_by_boxes if prod(shape) > LOOKUP_BOXES else _invert_by_search
    return np.subtract(
        inverted(cumulative * (LOOKUP_BOXES / cumulative[-1]), shape, generator), reach, dtype=np.float64
    )


def _invert_by_search(cumulative: FloatArray, shape: tuple[int, ...], generator: np.random.Generator) -> IntArray:
    """Return the number of entries of `cumulative` that a uniform draw from 0 to `LOOKUP_BOXES` exceeds.

    Args:
        cumulative: Increasing cumulative probabilities times `LOOKUP_BOXES`, (outcomes,).
        shape: Shape of the result.
        generator: Random numbers of the simulation.
    """
    return np.searchsorted(cumulative, generator.random(shape) * LOOKUP_BOXES, side="right")


def _invert_by_boxes(cumulative: FloatArray, shape: tuple[int, ...], generator: np.random.Generator) -> IntArray:
    """Return draws from a discrete distribution by inversion, five times as fast as by search: for most boxes a lookup
    table gives the outcome.

    Args:
        cumulative: Distribution function times `LOOKUP_BOXES`, (outcomes,).
        shape: Shape of the result.
        generator: Random numbers of the simulation.

    Returns:
        Indices of outcomes.
    """
    indices = np.searchsorted(cumulative, np.arange(LOOKUP_BOXES + 1), side="right")
    outcomes = np.where(indices[1:] == indices[:-1], indices[:-1], -1)
    box = generator.integers(0, LOOKUP_BOXES, shape, dtype=np.uint16)
    draws: IntArray = outcomes[box]
    undecided = np.nonzero(draws < 0)
    draws[undecided] = np.searchsorted(cumulative, box[undecided] + generator.random(len(undecided[0])), side="right")
    return draws


# The interface of noise distributions: size, variances, simulation, reconstruction and JSON.


Kind = TypeVar("Kind", bound="OutputDistribution")
VALUES_PER_CHUNK = 2**19
"""Values. Simulated values that are held at once: about what fits in the processor's cache. More take more memory."""
LEAST_PEOPLE = 2.0
"""People. Lower limit of the number of people in a mean over pairs, which needs two; smaller noisy numbers count as
it."""


class RandomisedAnswers(Protocol):
    """Interface of randomised answers of the local model: one per person about one cell, with means over pairs of
    people.
    """

    @property
    def counts(self) -> FloatArray:
        """Unbiased counts of all answers, which add up to `people`; the last one counts missing values."""

    @property
    def people(self) -> int:
        """Number of people who answered."""

    @property
    def present(self) -> float:
        """Unbiased estimate, from randomised answers, of the number of people who have a value (whose answer is not
        missing).
        """

    @property
    def deviation_of_missing(self) -> float:
        """Approximate noise standard deviation of the number of people without a value, if that number is small."""

    def mean(self, kernel: FloatArray) -> float:
        """Return the unbiased mean of a kernel over all pairs of different people with a value, e.g. a Gini mean
        difference.

        Args:
            kernel: Kernel value of each pair of cells, (cells, cells).
        """

    def with_expected_counts(self, shares: FloatArray) -> Self:
        """Return answers of the same number of people, with the counts expected under these true proportions of
        answers, to compute noise there.

        Args:
            shares: Proportion of the people with each true answer, (cells + 1,), the last one for missing values; they
                add up to 1.
        """

    def deviation_of_mean(self, kernel: FloatArray, population: bool) -> float:
        """Return the noise standard deviation of the kernel's mean that `mean` returns, for these people or for their
        population.

        Args:
            kernel: Kernel value of each pair of cells, (cells, cells).
            population: True: the people are a sample of a population, so sampling errors are included.
        """


class OutputDistribution(ABC):
    """Interface of the distribution of released integers, given the truth.

    Attributes:
        KEY: The name of this distribution in JSON.
        FIELDS: Names of the fields of this distribution, by their names in JSON, in order.
        accepts_any_integers: True if any integers may be released; False if they encode choices.
        missing: Noise of the count of missing records, which is the last value. None: it was not released.
        splits_missing: True if part of the budget of `missing` may be given to counts of the reasons.
    """

    __slots__ = ()

    KEY: ClassVar[str]
    FIELDS: ClassVar[Mapping[str, str]]
    accepts_any_integers: ClassVar[bool] = False
    splits_missing: ClassVar[bool] = False

    if TYPE_CHECKING:

        @property
        def missing(self) -> Noise | None:
            """Noise of the count of missing records; None if it was not released."""
            ...

    @property
    @abstractmethod
    def size(self) -> int | None:
        """Number of released values; None if it depends on the release."""

    @abstractmethod
    def blank_values(self) -> tuple[int, ...]:
        """Return placeholders with the length of a release, for plans before any release: no record is read and no
        noise drawn.
        """

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """Return a release under this distribution, values included, as the JSON object that is stored and published.

        Args:
            values: The released values.
            total: Public number of records; None if it is private.
        """
        return {**self._fields_to_json(), "values": list(values), "total": total}

    def _fields_to_json(self) -> dict[str, Any]:
        """Return the fields of this distribution as JSON values, by the names in `FIELDS`; default values are omitted.

        Returns:
            JSON values by name.
        """
        return STORED_CODEC.encode_fields(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the distribution of a stored release, from the JSON object that `to_json` wrote.

        Args:
            stored: JSON object of the release; its values are not read.
        """
        return STORED_CODEC.decode_fields(cls, stored)

    @classmethod
    def json_schema(cls) -> JsonSchema:
        """Return the JSON schema of a stored release under this distribution, without its values."""
        return STORED_CODEC.schema_of_fields(cls)

    @classmethod
    def count_stored_cells(cls, stored: Mapping[str, Any]) -> int:
        """Return how many cells reading a stored distribution would allocate, to refuse too large ones before memory is
        used.

        Args:
            stored: JSON object of the release.
        """
        return int(stored.get("rows", 1)) * int(stored.get("cells", 1))

    @classmethod
    def values_from_json(cls, stored: Mapping[str, Any]) -> tuple[Sequence[Any], Any]:
        """Return the released integers and the public number of records from a stored release; neither is validated
        here.

        Args:
            stored: JSON object of the release, with the fields ``values`` and ``total``.

        Returns:
            The list of integers, and the total; None if it is private.
        """
        return stored["values"], stored["total"]

    def require_type(self, kind: type[Kind]) -> Kind:
        """Return this distribution, after a check that it is of type `kind`, which later code needs.

        Args:
            kind: Class of distributions.

        Raises:
            TypeError: the distribution is of another type.
        """
        if not isinstance(self, kind):
            raise WrongArgumentType(
                "distribution",
                f"a distribution of type {kind.__name__} is needed, got {type(self).__name__}; read this release with "
                "the question that made it",
            )
        return self

    def alpha(self, beta: float) -> float:
        """Return the accuracy of released choices: the error, in records, exceeded with probability at most `beta`; NaN
        if no bound is known.

        Args:
            beta: Probability, strictly between 0 and 1.
        """
        return nan

    def count_missing_and_present(self, values: Sequence[int], total: int | None) -> tuple[float, float] | None:
        """Return the numbers of records without and with a value; None if the release does not show them.

        Args:
            values: The released values.
            total: Public number of records; None if it is private.
        """
        return None


class CountDistribution(OutputDistribution):
    """Base class of distributions of noisy counts or sums of cells."""

    __slots__ = ()

    accepts_any_integers = True

    if TYPE_CHECKING:

        @property
        def rows(self) -> int:
            """Number of rows of counts: one per combination of cells of all axes but the last."""
            ...

        @property
        def cells(self) -> int:
            """Number of cells of each row: the cells of the last axis."""
            ...

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of released values, the missing count included."""

    def blank_values(self) -> tuple[int, ...]:
        """Return zeros in place of the released counts, for plans: no record is read and no noise drawn."""
        return (0,) * self.size

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """Return a release of counts as the JSON object that is stored; sequences given by a formula (ranges) stay
        formulas.

        Args:
            values: Released values.
            total: Public number of records; None: it is private.
        """
        distribution = {
            "rows": self.rows,
            "cells": self.cells,
            **self._fields_to_json(),
            "missing": STORED_CODEC.encode(self.missing),
        }
        return {**distribution, "values": list(values), "total": total}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the distribution of a stored release of counts, from the JSON object that `to_json` wrote.

        Args:
            stored: JSON object of the release; its values are not read.
        """
        missing = STORED_CODEC.decode(Noise | None, stored["missing"])
        return STORED_CODEC.decode_fields(
            cls, stored, rows=int(stored["rows"]), cells=int(stored["cells"]), missing=missing
        )

    @classmethod
    def json_schema(cls) -> JsonSchema:
        """Return the JSON schema of stored releases of counts under this distribution."""
        schema = STORED_CODEC.schema_of_fields(cls)
        size = STORED_CODEC.schema(Count)
        common = {
            "rows": {"description": "Number of rows of cells.", **size},
            "cells": {"description": "Number of cells per row.", **size},
            "missing": {"description": "Noise of the count of missing records.", **STORED_CODEC.schema(Noise | None)},
            "values": {"description": "Released values, in the order of the distribution.", **INTEGERS},
            "total": {"description": "Number of all records, if it is public.", "type": ["integer", "null"]},
        }
        return {**schema, "required": [*common, *schema["required"]], "properties": {**common, **schema["properties"]}}

    def count_missing_and_present(self, values: Sequence[int], total: int | None) -> tuple[float, float] | None:
        """Return the noisy numbers of records without and with a value; None if the release does not show both.

        Args:
            values: The released values.
            total: Public number of records; None if it is private.
        """
        if self.missing is None:
            return None
        missing = float(values[-1])
        present = self._count_present(values) if total is None else total - missing
        return None if present is None else (missing, present)

    def _count_present(self, values: Sequence[int]) -> float | None:
        """Return the noisy number of records with a value, if the released values show it; else None.

        Args:
            values: Released values, in the order of the distribution.
        """
        return None


class Part(NamedTuple):
    """Values that share one noise distribution.

    Attributes:
        length: Number of these values per row.
        noise: Noise of each value.
    """

    length: int
    noise: Noise


class RecentErrors:
    """Cache of the simulated errors of the last releases, by distribution and state of the generator.

    Results simulate with fixed streams. So results of one distribution, a result that was read from a file again, and
    one with labels in another language need the same errors, and take them from here, unchanged to the last bit.

    Args:
        most_bytes: Memory limit; the oldest chunks are dropped above it.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._chunks: dict[object, tuple[FloatArray, FloatArray, dict[str, Any]]] = {}

    def simulate(
        self, distribution: NoisySums, total: int | None, draws: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return simulated errors of the cells and the missing count, from the cache if the same draws were simulated
        recently.

        The generator ends in the same state as after a simulation.

        Args:
            distribution: Distribution of the released values.
            total: Public number of records; None: it is private.
            draws: Number of draws.
            generator: Random numbers of the simulation.

        Returns:
            Errors of cells, (draws, rows, cells), and of the missing count, (draws,).
        """
        stream: Any = generator.bit_generator
        before = stream.state
        numbers = *before["state"].values(), before.get("has_uint32"), before.get("uinteger")
        key = (distribution, total, draws, before["bit_generator"], *numbers)
        try:
            hash(key)
        except (
            TypeError
        ):  # arrays, in a distribution or in the state of another generator than the default one, are no keys
            return distribution.reconstruct(distribution.simulate_values(draws, generator), total)
        found = self._chunks.pop(key, None)
        if found is None:
            cells, missing = distribution.reconstruct(distribution.simulate_values(draws, generator), total)
            found = cells, missing, stream.state
        else:
            cells, missing, stream.state = found
        self._keep(key, found)
        return cells.copy(), missing.copy()  # callers may change them

    def _keep(self, key: object, chunk: tuple[FloatArray, FloatArray, dict[str, Any]]) -> None:
        """Cache a chunk of simulated errors as the newest one, and drop the oldest ones above the memory limit;
        thread-safe.

        Threads may do so at the same time.

        Args:
            key: Distribution and state of the generator, as one hashable value.
            chunk: Errors of the cells, errors of the missing count, and the state of the generator after the draws.
        """
        self._chunks[key] = chunk
        sizes = [cells.nbytes + missing.nbytes for cells, missing, _ in tuple(self._chunks.values())]
        for oldest in tuple(self._chunks):
            if sum(sizes) <= self._most_bytes:
                return
            self._chunks.pop(oldest, None)
            del sizes[:1]


RECENT_ERRORS = RecentErrors(most_bytes=2**25)
"""Simulated errors of the last distributions, so that several intervals of one result simulate once. It holds 2**25
bytes; older ones are dropped and simulated again."""


class NoisySums(CountDistribution):
    """Base class of distributions whose values are linear in the counts, plus independent noise.

    This is the output of the matrix mechanism. It estimates the cells without bias, and simulates the error of that
    estimate. Values are ordered part by part, within a part row by row, within a row from left to right; the missing
    count is last.

    Attributes:
        rows: Number of cells of all axes before the last one.
        cells: Number of cells of the last axis.
        missing: Noise of the count of missing records. None: it was not released.
        is_nested: True if sums over nested intervals were measured, each with independent noise.
        is_convolved: True if each row was convolved with public weights before independent noise was added.
    """

    __slots__ = ()

    splits_missing: ClassVar[bool] = True
    is_nested: ClassVar[bool] = False
    is_convolved: ClassVar[bool] = False

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The released values by groups of equal noise: number of values per row and noise of each group, without the
        missing count.
        """

    @property
    @abstractmethod
    def bounds(self) -> IntArray:
        """Cell numbers at which the finest measured intervals of a row begin, followed by the number of cells.

        An increasing integer array, (intervals + 1,), from 0 to `cells`: interval i has the cells ``bounds[i]`` to
        ``bounds[i + 1] - 1``. It is the same for all rows; a row has the cells of the last axis for one combination of
        cells of the other axes.
        """

    def randomised_answers(self, values: Sequence[int]) -> RandomisedAnswers | None:
        """Return the release as randomised answers of the local model, if each report was about a single cell; else
        None.

        Args:
            values: Released tallies of reports, in the order of the distribution.
        """
        return None

    @abstractmethod
    def apply_strategy(self, cells: Any) -> list[Any]:
        """Return the exact sums that this distribution adds its noise to: the strategy matrix applied to the counts of
        cells.

        Linear in `cells`.

        Args:
            cells: Counts of cells, (rows, cells).

        Returns:
            One table (rows, length) for each group of values in `parts`.
        """

    @abstractmethod
    def reconstruct(self, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
        """Return the best linear unbiased estimates of cells and missing counts, for any number of releases.

        Args:
            values: Released values, of shape ``(..., size)``, in the order of the distribution.
            total: The public number of records in all rows and the missing cell, else None. Without a released missing
                count it is the number in all rows; it must then be None if records may be missing or values are sums.

        Returns:
            Cells of shape ``(..., rows, cells)``, and missing counts of shape ``(...)``.

        Raises:
            ValueError: the values do not fit the distribution.
        """

    @abstractmethod
    def prefix_variances(self, total_is_public: bool) -> FloatArray:
        """Return the variance of each estimated prefix count, in squared records, of shape ``(rows, cells + 1)``;
        read-only.

        Entry i of a row is for its first i cells. Estimates are computed by `reconstruct` and interpolated linearly
        between edges. All rows are equal.

        Args:
            total_is_public: True if the number of all records is public.
        """

    def end_cell_deviations(self, total_is_public: bool) -> tuple[float, float]:
        """Return upper limits of the noise standard deviations of the first and the last cell of a row, where tails are
        estimated.

        Args:
            total_is_public: Whether the number of records is public.

        Returns:
            Limits for the first and for the last cell, in records.
        """
        variances = self.prefix_variances(total_is_public)[0]
        return sqrt(variances[1]), sqrt(variances[-2]) + sqrt(variances[-1])

    def mean_prefix_variance(self, total_is_public: bool) -> float:
        """Return the noise variance of an estimated prefix count, averaged over rows and inner edges; for a single
        cell, the variance of its count.

        Args:
            total_is_public: Whether the number of records is public.

        Returns:
            Mean variance, in squared records.
        """
        row = self.prefix_variances(total_is_public)[0]
        return float(row[1]) if self.cells == 1 else float(row[1:-1].mean())

    @property
    def nested_distribution(self) -> NoisySums:
        """Distribution of the values after `debias`: if `is_nested` is True, independent noise on counts of nested
        intervals.
        """
        return self

    def debias(self, values: FloatArray) -> FloatArray:
        """Return unbiased estimates of the exact sums from released values; only values of randomised reports are
        changed.

        Values are returned unchanged unless people randomised them.

        Args:
            values: Released values, (..., size).

        Returns:
            Estimates, (..., size).
        """
        return values

    def condition_on(self, values: Sequence[int]) -> NoisySums:
        """Return the noise distribution given the released values, which affect it only for randomised reports; here it
        is unchanged.

        Args:
            values: Released values, (size,).
        """
        return self

    def shrink_cells(self, values: FloatArray, total: int | None) -> FloatArray:
        """Return estimates of the cells, (rows, cells), for display; a subclass may shrink noise at the cost of bias,
        here they are unbiased.

        Args:
            values: Released values, (size,).
            total: Public number of records; None: it is not public.
        """
        return self.reconstruct(values, total)[0]

    @property
    def size(self) -> int:
        """Number of released values: the values of each part in each row, and the missing count if it was released."""
        missing_counts = 0 if self.missing is None else 1
        return self.rows * sum(part.length for part in self.parts) + missing_counts

    @property
    def measured_edges(self) -> BoolArray:
        """Mask of the edges of a row, (cells + 1,): True where a finest counted interval begins or ends. Between them
        counts are interpolated.
        """
        is_measured = np.zeros(self.cells + 1, dtype=np.bool_)
        is_measured[self.bounds] = True
        return is_measured

    @property
    def one_row(self) -> Self:
        """The noise distribution of one row of the release, without the missing count; all rows have equal noise."""
        return self.with_rows(1)

    def with_rows(self, rows: int) -> Self:
        """Return the same noise distribution for a release with another number of rows, without the missing count.

        Args:
            rows: Number of rows.
        """
        distribution: Any = self
        return cast("Self", replace(distribution, rows=rows, missing=None))

    @property
    def cell_noise(self) -> Noise | None:
        """The noise of each cell's count if the release is a flat histogram, every cell counted once separately; else
        None.
        """
        return None

    def sum_over_releases(self, releases: int) -> Self:
        """Return the distribution of the sum, value by value, of several independent releases under this distribution.

        It is exact: the sum is the strategy applied to the sum of the cells, plus the sum of the noises. All releases
        have the same variances, so least squares of the sum is the sum of their least squares.

        Args:
            releases: Number of releases.

        Raises:
            TypeError: the noise depends on the counts, as for randomised reports.
        """
        if type(self).condition_on is not NoisySums.condition_on:
            raise WrongArgumentType(
                "distribution", "only releases with additive noise can be added; read the others one at a time"
            )
        return cast("Self", _sum_noises_over_draws(self, releases))

    def simulate_values(self, draws: int, generator: np.random.Generator) -> FloatArray:
        """Simulate the noise of the released values, (draws, size), in the order of the distribution.

        Args:
            draws: Number of draws.
            generator: Random numbers of the simulation.
        """
        return np.concatenate(
            [simulate_noise(noise, (draws, count), generator) for noise, count in self.noises], axis=-1
        )

    @property
    def noises(self) -> list[tuple[Noise, int]]:
        """The noise distributions of the released values, in order, each with the number of values that have it."""
        noises = [(part.noise, self.rows * part.length) for part in self.parts]
        return noises if self.missing is None else [*noises, (self.missing, 1)]

    def simulate(
        self, total: int | None, draws: int, generator: np.random.Generator
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Simulate errors of the unbiased estimate, in chunks of bounded memory. Costs no budget.

        The estimate is linear and unbiased, so its error is the estimate from noise alone with total 0. An estimate
        minus the truth has exactly the simulated distribution, including covariances.

        Args:
            total: The argument of `reconstruct`; only whether it is None matters.
            draws: Number of draws, over all chunks.
            generator: For simulation over public numbers alone, never for protection.

        Yields:
            Errors of the cells, of shape ``(chunk, rows, cells)``, and of the missing count, of shape ``(chunk,)``.
        """
        simulated_total = None if total is None else 0
        chunk = max(1, VALUES_PER_CHUNK // max(self.size, self.rows * self.cells))
        for start in range(0, draws, chunk):
            yield RECENT_ERRORS.simulate(self, simulated_total, min(chunk, draws - start), generator)

    def simulate_prefixes(self, total: int | None, draws: int, generator: np.random.Generator) -> Iterator[FloatArray]:
        """Simulate errors of prefix counts of the finest intervals of a single row, in chunks of bounded memory.

        Nothing was measured within the finest intervals, so only their sums are simulated: time and memory depend on
        the number of intervals, not of cells.

        Args:
            total: The argument of `reconstruct`; only whether it is None matters.
            draws: Number of draws, over all chunks.
            generator: For simulation over public numbers alone, never for protection.

        Yields:
            Errors of the prefix counts, of shape ``(chunk, intervals + 1)``.
        """
        distribution = self.interval_distribution
        for cells, _ in distribution.simulate(total, draws, generator):
            sums = np.zeros((len(cells), len(distribution.bounds)))
            sums[:, 1:] = np.cumsum(cells[:, 0], axis=-1)[:, distribution.bounds[1:] - 1]
            yield sums

    @property
    def interval_distribution(self) -> NoisySums:
        """The distribution on a coarser grid whose cells are the finest counted intervals; this distribution if it has
        no such form.
        """
        return self

    def noise_by_source(self, total: int | None) -> FloatArray:
        """Return, for each released value, by how much its noise changes the estimated cells, per standard deviation.

        Noises are independent and the estimate is linear, so the variance of a sum of cells is the sum over values of
        its squared entries.

        Args:
            total: The argument of `reconstruct`; only whether it is None matters.

        Returns:
            Changes of the cells, (size, rows, cells).
        """
        deviations = np.concatenate([np.full(count, sqrt(noise.variance)) for noise, count in self.noises])
        return self.reconstruct(np.diag(deviations), None if total is None else 0)[0]

    def bound_combined_noise(self, weights: FloatArray, probability: float) -> FloatArray:
        """Return, for each weighted sum of values, a bound that its noise exceeds with at most this probability.

        Formal guarantees: a Chernoff bound. For each rate s > 0,
        ``(sum of log-moments at s * weights - log(probability)) / s`` is such a bound; the least of 64 is returned.

        Args:
            weights: Weights of the values in their order, of shape ``(sums, size)``.
            probability: Strictly between 0 and 1.
        """
        variance = np.zeros(len(weights))
        largest_rates = np.full(len(weights), inf)
        parts = []
        offsets = np.cumsum([0, *(count for _, count in self.noises)])
        for (noise, _), start, end in zip(self.noises, offsets, offsets[1:], strict=False):
            part_weights = weights[:, start:end]
            variance += noise.variance * (part_weights**2).sum(axis=1)
            largest_rates = np.minimum(
                largest_rates, noise.largest_rate / np.maximum(np.abs(part_weights).max(axis=1, initial=0.0), 1e-300)
            )
            parts.append((noise, part_weights))
        scale = np.minimum(largest_rates, np.sqrt(-2 * log(probability) / np.maximum(variance, 1e-300)))
        bound = np.full(len(weights), inf)
        for step in range(1, 65):
            rate = scale * (step / 64.5)
            moments = sum(
                (noise.log_moments(rate[:, None] * part_weights).sum(axis=1) for noise, part_weights in parts),
                -log(probability),
            )
            bound = np.minimum(bound, moments / rate)
        return bound

    def _count_present(self, values: Sequence[int]) -> float | None:
        """Return the estimated number of records with a value: the sum of all reconstructed cells.

        Args:
            values: Released integers, in the order of the distribution.
        """
        return float(self.reconstruct(np.asarray(values, dtype=np.float64), None)[0].sum())


def _sum_noises_over_draws(field: Any, draws: int) -> Any:
    """Return a distribution in which each noise is replaced by the sum of `draws` independent draws; applied
    recursively to its fields.

    Args:
        field: Distribution, one of its fields, or a tuple of parts; anything without noise is returned as it is.
        draws: Number of independent draws that are added up.
    """
    if isinstance(field, Noise):
        return field.sum_over_draws(draws)
    if isinstance(field, tuple) and not hasattr(field, "_fields"):
        return tuple(_sum_noises_over_draws(member, draws) for member in field)
    if not is_dataclass(field) or isinstance(field, type):
        return field
    parts = {member.name: getattr(field, member.name) for member in fields(field) if member.init}
    summed = {name: _sum_noises_over_draws(part, draws) for name, part in parts.items()}
    return replace(field, **{name: part for name, part in summed.items() if part is not parts[name]})


class EqualWidthSums(NoisySums):
    """Base class of sums over intervals of equal width.

    Attributes:
        width: Cells per interval; the last interval may be shorter.
    """

    __slots__ = ()

    width: int

    @property
    def points(self) -> int:
        """Number of intervals of equal width per row: cells over width, rounded up."""
        return -(-self.cells // self.width)

    @property
    def bounds(self) -> IntArray:
        """Cell numbers at which the intervals of a row begin, from 0, then the number of cells, (points + 1,).

        All intervals have `width` cells, except that the last one may have fewer.
        """
        return np.minimum(np.arange(self.points + 1) * self.width, self.cells)

    def interpolate_edges(self) -> tuple[IntArray, FloatArray]:
        """Return, for each of the ``cells + 1`` edges of a row, the interval that contains it and the fraction of that
        interval below the edge, for linear interpolation.

        Returns:
            Indices of intervals and fractions from 0 to 1, both (cells + 1,).
        """
        edge = np.arange(self.cells + 1)
        bounds = self.bounds
        interval = np.minimum(edge // self.width, self.points - 1)
        return interval, (edge - bounds[interval]) / np.diff(bounds)[interval]


def sum_over_intervals(cells: Any, starts: IntArray) -> Any:
    """Sum counts of cells over consecutive intervals that begin at `starts`; exact for Python integers.

    Args:
        cells: Counts, (rows, cells).
        starts: First cell of each interval, increasing from 0, (intervals,).

    Returns:
        Sums, (rows, intervals).
    """
    return np.add.reduceat(cells, starts, axis=1)


# Reading noise distributions from JSON: a distribution is found by its key, and only its module is imported.


MOST_CELLS = 2**22
"""Cells. Largest number of cells in all rows of a stored distribution together, as for counting by a curator. A file
with more is refused."""
DISTRIBUTION_ENTRY_POINTS = "dpcurves.distributions"
"""Entry point group of other packages: the `KEY` of a distribution, and the location of its class."""

DISTRIBUTION_CLASSES: Mapping[str, str] = {
    "levels": "interval_sums:IntervalSums", "contrasts": "haar_sums:HaarSums",
    "convolved": "toeplitz_sums:ToeplitzSums", "normalised": "toeplitz_sums:NormalisedSums",
    "path": "path_sums:PathSums", "wavelets": "haar_sums:HaarTensorSums", "chosen": "output_distribution:Selection",
}  # fmt: skip
"""File and class of each distribution of this package, by the key that names it in JSON (`KEY`): a new distribution
needs a file and an entry here."""


def distribution_from_json(stored: Mapping[str, Any]) -> OutputDistribution:
    """Return the distribution of a stored release, of whatever class its JSON key names.

    Args:
        stored: The JSON object that `OutputDistribution.to_json` wrote.

    Raises:
        KeyError: no distribution has this form.
        ValueError: the distribution is larger than any of this package: a few bytes of JSON must not allocate all
            memory.
    """
    distributions = _find_distributions(stored)
    most_stored_bits = 256  # bits or blocks. Largest `bits` and `blocks` of a stored distribution.
    for name in ("bits", "blocks"):
        if not 0 <= int(stored.get(name, 0)) <= most_stored_bits:
            raise InvalidArgument(
                f"evidence.{name}", f"must be at most {most_stored_bits}; take the file as dpcurves wrote it"
            )
    for cells in (distribution.count_stored_cells(stored) for distribution in distributions):
        if not 0 < cells <= MOST_CELLS:
            raise InvalidArgument("evidence.cells", f"must be from 1 to {MOST_CELLS} in all rows together, got {cells}")
    return distributions[0].from_json(stored)


@cache
def json_schemas() -> dict[str, JsonSchema]:
    """Return the JSON schemas of all kinds of releases, by the key that names the distribution, in the order in which
    they are looked up.

    >>> "levels" in json_schemas()
    True
    """
    distributions = {key: _import_distribution(location) for key, location in DISTRIBUTION_CLASSES.items()}
    distributions |= {entry.name: entry.load() for entry in find_entry_points(DISTRIBUTION_ENTRY_POINTS)}
    return {
        key: _json_schema(distribution)
        for key, distribution in distributions.items()
        if issubclass(distribution, (CountDistribution, ChoiceDistribution))
    }


def json_schema_of(stored: Mapping[str, Any]) -> JsonSchema:
    """Return the JSON schema that a stored release must match; for an unknown distribution the schema of the first one,
    so that its errors are reported.

    Args:
        stored: JSON object of the release.
    """
    first = _import_distribution(next(iter(DISTRIBUTION_CLASSES.values())))
    try:
        distribution = _find_distributions(stored)[0]
    except KeyError:
        return _json_schema(first)
    return _json_schema(distribution if issubclass(distribution, (CountDistribution, ChoiceDistribution)) else first)


@cache
def _json_schema(distribution: type[OutputDistribution]) -> JsonSchema:
    """Return the JSON schema of the releases of one class of distributions, computed once per class.

    Args:
        distribution: The class.
    """
    return distribution.json_schema()


def _import_distribution(location: str) -> type[OutputDistribution]:
    """Import the file of a distribution of this package, and return its class.

    Args:
        location: ``"file:Class"``, as in `DISTRIBUTION_CLASSES`.
    """
    file, _, name = location.partition(":")
    distribution_class: type[OutputDistribution] = getattr(import_module(f".{file}", __package__), name)
    return distribution_class


def _find_distributions(stored: Mapping[str, Any]) -> list[type[OutputDistribution]]:
    """Return the classes whose JSON key a stored release contains: those of this package or, if none matches, of
    installed entry points.

    Args:
        stored: JSON object of the release.
    """
    if places := [location for key, location in DISTRIBUTION_CLASSES.items() if key in stored]:
        return [_import_distribution(location) for location in places]
    if classes := [entry.load() for entry in find_entry_points(DISTRIBUTION_ENTRY_POINTS) if entry.name in stored]:
        return classes
    raise KeyError("distribution")


# Distributions of answers that are choices, not measurements: no noise is added to them.


@dataclass(frozen=True, slots=True)
class ChoiceDistribution(OutputDistribution):
    """Distribution of a release of choices, for instance cuts or an interval, to which no noise is added.

    Attributes:
        example: Choices that plans show in place of a release.
    """

    KEY = "chosen"
    FIELDS = MappingProxyType({KEY: "example"})

    example: tuple[int, ...]

    @property
    def missing(self) -> None:
        """None: a release of choices has no count of missing records."""
        return None

    def blank_values(self) -> tuple[int, ...]:
        """Return `example`, typical choices that a plan shows before anything is released; no record is read."""
        return self.example

    @classmethod
    def values_from_json(cls, stored: Mapping[str, Any]) -> tuple[Sequence[Any], Any]:
        """Return the stored choices, and None because the number of records is not released.

        Args:
            stored: JSON object of the release, with the choices under `KEY`.
        """
        return stored[cls.KEY], None

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """Return the JSON object of a release of choices: a list of integers under `KEY`.

        Args:
            values: The released choices.
            total: Ignored, because choices have no sum.
        """
        return {self.KEY: list(values)}

    @classmethod
    def json_schema(cls) -> JsonSchema:
        """Return the JSON schema of stored releases of choices: a list of integers under `KEY`."""
        description = "Choices made under noise, for instance edges: no noise is added to them."
        return {"description": description, "type": "object", "required": [cls.KEY], "properties": {cls.KEY: INTEGERS}}


@dataclass(frozen=True, slots=True)
class Selection(ChoiceDistribution):
    """Distribution of a fixed number of choices: as many as `example` has."""

    @property
    def size(self) -> int:
        """Number of released choices, the length of `example`."""
        return len(self.example)


@dataclass(frozen=True, slots=True)
class PartitionDecisions(ChoiceDistribution):
    """Distribution of the decisions of a private partition; their number depends on the decisions."""

    @property
    def size(self) -> None:
        """None: the number of decisions is not known before the release."""
        return None


@dataclass(frozen=True, slots=True)
class ThresholdAnswers(Selection):
    """Distribution of the answers of the sparse vector technique: indices of comparisons that reached their threshold.

    Attributes:
        threshold_noise: Noise that all thresholds share.
        sum_noise: Noise of each compared sum.
        comparisons: Largest number of comparisons.
        step: Contribution of one record to the compared sums.
    """

    threshold_noise: Noise
    sum_noise: Noise
    comparisons: int
    step: int

    def alpha(self, beta: float) -> float:
        """Return the accuracy of threshold comparisons: the error, in records, that all stay within with probability
        ``1 - beta``.

        With at least this probability, each sum reported above its threshold is above the threshold minus alpha, and
        each earlier sum that is not reported is below the threshold plus alpha. The common noise stays within a except
        with probability beta / 2. Each sum can err on one side only, and exceeds b with its part of the other half.
        Alpha is a + b, with exact tails of both noises. (Chen 2018, Theorems 3 and 8, bounds both sides, and uses noise
        4 c instead of 2 c.)

        Raises:
            ValueError: `beta` is not strictly between 0 and 1.

        >>> from fractions import Fraction
        >>> from dpcurves.distributions import Family
        >>> noise = Noise(Family.LAPLACE, Fraction(2))
        >>> ThresholdAnswers((10,), noise, noise, comparisons=10, step=1).alpha(0.05)
        18.0
        """
        if not 0 < beta < 1:
            raise InvalidArgument("beta", f"must be a probability strictly between 0 and 1, as in 0.05, got {beta}")
        threshold_error = _tail_quantile(self.threshold_noise, beta / 4)
        sum_error = _tail_quantile(self.sum_noise, beta / 2 / self.comparisons)
        return (threshold_error + sum_error) / self.step


def _tail_quantile(noise: Noise, probability: float) -> int:
    """Return the least integer that one draw of the noise exceeds with at most this probability.

    With ``r = exp(-1 / scale)``, discrete Laplace noise exceeds m >= 0 with probability ``r**(m + 1) / (1 + r)``.

    Args:
        noise: Discrete Laplace noise of one party.
        probability: Strictly between 0 and 1.
    """
    scale = float(noise.parameter)
    return max(0, ceil(-scale * (log(probability) + log1p(exp(-1 / scale)))) - 1)
