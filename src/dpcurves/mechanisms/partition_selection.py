"""Partition selection: release the categories that many units have, when no list of categories is public.

Also called set union, key selection and private partition selection. The number n of units of a category gets noise,
and the category is released with its noisy count if ``n + x`` exceeds a threshold k. The noise x has probabilities
proportional to ``q**|x|`` with ``q = exp(-rate)``.

- `ThresholdedCategories` needs a delta. It bounds the noise, ``|x| <= k``, so a category without units is never
  released.
- `UniverseCategories` needs no delta. Every name of a public universe gets unbounded noise, including names without
  units, of which `FALSE_NAMES` are released on average.

Formal guarantees: under a delta, one category loses ``(rate, delta_1)``, where

    delta_1 = q**k * (1 - q) / (1 + q - 2 * q**(k + 1))

is the probability that a category of one unit is released, and k is the least integer with ``delta_1 <= delta``. No
mechanism of this loss releases a category more often. In a universe all noisy counts together lose ``rate`` per changed
record. A unit that changes m records gets ``rate = epsilon / m`` per category, and a delta of 1 / m of the whole.

References: Korolova, Kenthapadi, Mishra and Ntoulas 2009; Desfontaines, Voss, Gipson and Mandayam 2022, Theorem 3;
Cormode, Procopiuc, Srivastava and Tran 2012 (universes); Ghosh, Roughgarden and Sundararajan 2009.

>>> noise = BoundedNoise.from_delta(rate=Fraction(1), delta=Fraction(1, 10**6))
>>> noise.threshold, [round(noise.selection_probability(units), 3) for units in (0, 1, 10, 14, 20)]
(14, [0.0, 0.0, 0.005, 0.269, 0.998])
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, log, log1p

import numpy as np

from ..arrays import IntArray
from ..conversation import Plan, UnsupportedQuery
from ..data.universe import FALSE_NAMES
from ..distributions.output_distribution import PartitionDecisions
from ..noise import discrete_laplace
from ..noise.exponential import (
    Bracket,
    bound_exp_neg,
    bound_geometric_sum,
    one_bracket,
    sample_bernoulli_exp,
    sample_by_inversion,
)
from ..noise.randomness import Randomness
from ..privacy import Adjacency, PrivacyLoss
from ..queries import PartitionSelectionQuery, UniverseSelectionQuery
from .base import ExactTable, QueryMechanism
from .exponential import pure_epsilon

MOST_NAMES = 1000
"""Categories. Largest number of released categories: those with the largest noisy counts; others count as not selected.
It bounds the size of later tables."""
LARGEST_THRESHOLD = 10**7
"""Units. Largest threshold that is used; a loss that needs a larger one is refused."""
LARGEST_RATE = Fraction(256)
"""Natural-log units. Largest epsilon per category that is used: noise is then 0 except with probability ``2
exp(-256)``, and numbers like ``exp(-3000)`` would have too many digits to compute with.
"""
_ROUNDING_UP = Context(prec=60, rounding=ROUND_CEILING)
"""Decimal arithmetic with 60 digits that rounds up, for upper bounds of probabilities."""
_MARGIN = Decimal("1e-40")
"""Relative margin by which rounded powers are increased, so that rounding errors of 60 digits never lower a bound."""


@dataclass(frozen=True, slots=True)
class BoundedNoise:
    """Truncated two-sided geometric noise: integers x from -threshold to threshold, with weights ``exp(-rate * |x|)``.

    A category of n units is released if ``n + x > threshold``. A category without units is never released.

    Attributes:
        rate: Epsilon per category.
        threshold: Units. Largest noise, and at the same time the largest noisy count that is not released.
    """

    rate: Fraction
    threshold: int

    @classmethod
    def from_delta(cls, rate: Fraction, delta: Fraction) -> BoundedNoise:
        """Return truncated noise with the least threshold at which a category of a single unit is released with
        probability at most `delta`.

        Args:
            rate: Epsilon per category; a value above `LARGEST_RATE` is replaced by it, which loses less.
            delta: Delta per category, above 0.

        Raises:
            UnsupportedQuery: the threshold would exceed ten million.
        """
        rate = min(rate, LARGEST_RATE)
        start = _guess_threshold(float(rate), log(delta.numerator) - log(delta.denominator))
        if start > LARGEST_THRESHOLD:
            raise UnsupportedQuery(
                "epsilon, delta", "with so much noise no category would be released; give a larger epsilon or delta"
            )
        while start > 1 and cls(rate, start - 1).selection_probability_of_one() <= delta:
            start -= 1
        while cls(rate, start).selection_probability_of_one() > delta:
            start += 1
        return cls(rate, start)

    def selection_probability_of_one(self) -> Fraction:
        """Return the probability that a category of one unit is released, as an upper bound with relative error 1e-40.

        The probability is one over the sum of ``q**(|x| - threshold)``, ``q = exp(-rate)``. It increases with q, so a q
        that is rounded up gives an upper bound.
        """
        margin = _ROUNDING_UP.add(1, _ROUNDING_UP.divide(_MARGIN, self.threshold + 1))
        with_margin = _ROUNDING_UP.multiply(_bound_exp_neg_above(self.rate), margin)
        q = Fraction(with_margin)
        power = Fraction(_ROUNDING_UP.power(with_margin, self.threshold)) * (1 + Fraction(_MARGIN))
        return power * (1 - q) / (1 + q - 2 * q * power)

    def selection_probability(self, units: int) -> float:
        """Return the probability that a category is released, in floating point.

        Args:
            units: Number of units that have the category.
        """
        q = exp(-float(self.rate))
        k = self.threshold
        normaliser = 1 + 2 * q * (1 - q**k) / (1 - q)
        if units <= 0:
            return 0.0
        if units > 2 * k:
            return 1.0
        least_noise = k + 1 - units
        if least_noise > 0:
            return (q**least_noise - q ** (k + 1)) / (1 - q) / normaliser
        return 1 - (q ** (1 - least_noise) - q ** (k + 1)) / (1 - q) / normaliser

    def sample(self, size: int, randomness: Randomness) -> IntArray:
        """Sample independent noise from the truncated distribution, exactly.

        Unbounded noise is sampled again while it exceeds the bound. If that would happen most of the time, a uniform
        integer within the bound is accepted with probability ``exp(-rate * |x|)``, at least 1/e. Both methods have
        exactly this distribution.

        Args:
            size: Number of integers.
            randomness: Source of random bits.
        """
        if self.rate * self.threshold < 1:
            return np.array([self._sample_by_rejection(randomness) for _ in range(size)], dtype=np.int64)
        noise = np.empty(0, dtype=np.int64)
        while len(noise) < size:
            draws = discrete_laplace.sample(1 / self.rate, size - len(noise), randomness)
            noise = np.append(noise, draws[np.abs(draws) <= self.threshold])
        return noise

    def _sample_by_rejection(self, randomness: Randomness) -> int:
        """Sample one integer: a uniform one within the bound, accepted with probability ``exp(-rate * |x|)``.

        Args:
            randomness: Source of random bits.
        """
        while True:
            noise = randomness.sample_below(2 * self.threshold + 1) - self.threshold
            if sample_bernoulli_exp(self.rate * abs(noise), randomness):
                return noise


def _guess_threshold(rate: float, log_delta: float) -> int:
    """Return the release threshold of truncated noise in floating point, from which the exact search starts.

    The formula is ``log(1 + (exp(rate) - 1) / (2 delta)) - log((exp(rate) + 1) / 2)`` over the rate.

    Args:
        rate: Epsilon per category.
        log_delta: Natural logarithm of delta per category.
    """
    odds = log(expm1(rate)) - log(2) - log_delta
    return max(ceil((float(np.logaddexp(0.0, odds)) - log((exp(rate) + 1) / 2)) / rate), 1)


def _bound_exp_neg_above(rate: Fraction) -> Decimal:
    """Return an upper bound of ``exp(-rate)`` with 60 digits, for thresholds that hold exactly.

    All steps use the context of 60 digits, because operators would round to 28.

    Args:
        rate: A number of at least 0.
    """
    exponent = _ROUNDING_UP.divide(Decimal(-rate.numerator), Decimal(rate.denominator))
    return _ROUNDING_UP.next_plus(_ROUNDING_UP.exp(exponent))


@lru_cache(maxsize=256)
def calibrate_category_noise(loss: PrivacyLoss, adjacency: Adjacency) -> BoundedNoise:
    """Return the noise of one category's number of units, for the loss of all categories together.

    A unit may change as many categories as it has changed records, so epsilon and delta are divided by that number.

    Args:
        loss: Privacy budget of all categories together, with a delta.
        adjacency: Neighbouring relation of the guarantee.

    Raises:
        UnsupportedQuery: the threshold would exceed ten million.
    """
    categories = adjacency.l1_sensitivity
    return BoundedNoise.from_delta(pure_epsilon(loss) / categories, loss.delta / categories)


class ThresholdedCategories(QueryMechanism):
    """Release categories whose noisy number of units exceeds a threshold, with a delta (Desfontaines and others 2022).

    The noise is bounded by the threshold. Counts up to the threshold are not released. Categories come out in
    alphabetical order; if there are too many, those with the largest noisy counts are released, so the order reveals
    nothing more.

    Formal guarantees: `run` loses at most ``plan.loss``, with its delta, under ``plan.adjacency``. *Proof*: let a
    category have n units in one table and n + 1 in the other, ``q = exp(-rate)``, and c the probability of zero noise.
    If n is 0, it is hidden in one table, and released in the other with probability ``c * q**threshold``, the
    *probability of one*. Otherwise noisy counts from ``n + 1 - threshold`` to ``n + threshold`` have positive
    probabilities in both tables, with ratio q or its inverse; the two outermost counts are possible in one table only,
    with the probability of one. Merging all counts up to the threshold into one outcome, hidden, does not increase any
    difference. So one category loses ``(rate, probability of one)``: no mechanism of the same loss releases a category
    more often (Desfontaines, Voss, Gipson and Mandayam 2022, Theorem 3). Categories have independent noise, a unit
    changes as many of them as it has changed records, each by 1, and losses add up: rate and delta per category are the
    resulting parts. No noise is sampled for categories without units, because they are hidden anyway.

    Noise is exact: see `noise.discrete_laplace`, drawn again beyond the bound; and the threshold is found with rational
    upper bounds. As in all engines that list existing values, the running time depends on the number of categories.
    """

    query_types = (PartitionSelectionQuery,)
    display_name = "bounded noise"

    def _plan(self, query: PartitionSelectionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the noise and the threshold of partition selection for a loss with a delta, and return the plan of the
        release.

        The plan names the threshold.

        Args:
            query: Column whose categories are found.
            loss: Privacy loss, with a delta.
            adjacency: Neighbouring data sets.

        Raises:
            UnsupportedQuery: the loss has no delta, or no epsilon or rho; or the threshold would exceed ten million.
        """
        if not loss.delta:
            raise UnsupportedQuery(
                "delta",
                "unlisted groups are found only with a delta;"
                " give one far below 1 over the number of units, or list the groups",
            )
        if pure_epsilon(loss) == 0:
            raise UnsupportedQuery(
                "epsilon, rho", "a loss above zero is needed to find groups; give a larger loss, or list the groups"
            )
        noise = calibrate_category_noise(loss, adjacency)
        distribution = PartitionDecisions(())
        return Plan(
            query, loss, adjacency, f"noise of at most {noise.threshold} on units of each name", distribution, error=0.0
        )

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Select the categories whose noisy number of units exceeds the threshold; return each as an integer
        (`encode_name`) with that number.

        Categories are in alphabetical order. If more than `MOST_NAMES` exceed the threshold, those with the largest
        noisy numbers of units are returned.

        Args:
            table: Name and number of units of each category, of shape ``(categories, 2)``. SECRET.
            plan: The plan that `plan` returned for this query.
            randomness: Source of the noise.
        """
        self.require_query(plan)
        noise = calibrate_category_noise(plan.loss, plan.adjacency)
        noisy = table[:, 1].astype(np.int64) + noise.sample(len(table), randomness)
        selected = np.flatnonzero(noisy > noise.threshold)
        selected = np.sort(selected[np.argsort(-noisy[selected], kind="stable")[:MOST_NAMES]])
        return tuple(integer for index in selected for integer in (encode_name(table[index, 0]), int(noisy[index])))


@dataclass(frozen=True, slots=True)
class RankedNoise:
    """Two-sided geometric noise for the names of a universe, with one threshold per rank.

    The rank of a name is its class in the universe; all names of one rank have the same threshold.

    Attributes:
        rate: Epsilon per unit of a name.
        thresholds: Units. Largest noisy count that is not released, by rank.
    """

    rate: Fraction
    thresholds: tuple[int, ...]

    @classmethod
    def from_universe_sizes(cls, rate: Fraction, sizes: tuple[int, ...]) -> RankedNoise:
        """Return noise and thresholds for a universe of names, at which `FALSE_NAMES` names without units are released
        on average.

        Each rank has as many false names as any other.

        Args:
            rate: Epsilon per unit of a name; a value above `LARGEST_RATE` is replaced by it.
            sizes: Number of names of each rank.

        Raises:
            UnsupportedQuery: a threshold would exceed ten million.
        """
        rate = min(rate, LARGEST_RATE)
        fakes_per_rank = float(FALSE_NAMES) / len(sizes)
        decay = exp(-float(rate))
        thresholds = [(log(size) - log(fakes_per_rank) - log1p(decay)) / float(rate) - 1 for size in sizes]
        if max(thresholds) > LARGEST_THRESHOLD:
            raise UnsupportedQuery(
                "epsilon, rho", "with so much noise no name would be released; give a larger loss, or list the names"
            )
        return cls(rate, tuple(max(ceil(threshold), 0) for threshold in thresholds))

    def selection_probability(self, units: int, rank: int) -> float:
        """Return the probability that a name is released, in floating point.

        Args:
            units: Number of units that have the name.
            rank: Which of the ranks of the universe the name belongs to, from 0; names of a rank share a threshold.
        """
        q = exp(-float(self.rate))
        gap = self.thresholds[rank] - units  # noise above the gap releases it
        return q ** (gap + 1) / (1 + q) if gap >= 0 else 1 - q**-gap / (1 + q)


@dataclass(frozen=True, slots=True)
class FalseSelectionDistribution:
    """Number of released names among `names` without units, each released independently with equal probability.

    The distribution is binomial: k names have the weight ``C(names, k) * odds**k``. With q = exp(-rate) the probability
    per name is ``q**(threshold + 1) / (1 + q)``.

    Attributes:
        names: Number of names without units.
        rate: Epsilon per unit of a name.
        threshold: Units. Largest noisy count that is not released.
    """

    names: int
    rate: Fraction
    threshold: int

    def weights(self, bits: int) -> tuple[list[Bracket], int]:
        """Return bounds of the distribution of how many absent names noise alone selects, for exact sampling by
        inversion.

        Args:
            bits: Number of binary digits of the weights.

        Returns:
            Lower and upper bounds of the weights of 0, 1, ... names, in units of ``2**-bits``, down to about one unit;
            and an upper bound of the sum of all others.
        """
        fine = bits + self.names.bit_length()  # odds are about the reciprocal of the number of names
        tail = bound_exp_neg(self.rate * (self.threshold + 1), fine)
        q = bound_exp_neg(self.rate, fine)
        unit = 1 << fine
        # The odds are tail / (1 + q - tail), between these two numbers.
        lowest_odds = (tail[0] << fine) // (unit + q[1] - tail[0])
        highest_odds = (tail[1] << fine) // (unit + q[0] - tail[1]) + 1
        weights = [one_bracket(bits)]
        while weights[-1][1] > 1 and len(weights) <= self.names:
            remaining = self.names - len(weights) + 1
            number = len(weights)
            low, high = weights[-1]
            weights.append(
                (
                    (low * remaining * lowest_odds >> fine) // number,
                    (high * remaining * highest_odds >> fine) // number + 1,
                )
            )
        ratio = ((self.names * highest_odds >> fine - bits) + 1) // len(weights) + 1
        remainder = 0 if len(weights) > self.names else bound_geometric_sum(weights[-1], (ratio, ratio), bits)
        return weights, remainder


@lru_cache(maxsize=256)
def calibrate_universe_noise(loss: PrivacyLoss, adjacency: Adjacency, sizes: tuple[int, ...]) -> RankedNoise:
    """Return the noise and thresholds for the names of a universe.

    A unit may change as many names as it has changed records, so epsilon is divided by that number.

    Args:
        loss: Privacy budget of all names together.
        adjacency: Neighbouring relation of the guarantee.
        sizes: Number of names of each rank.

    Raises:
        UnsupportedQuery: a threshold would exceed ten million.
    """
    return RankedNoise.from_universe_sizes(pure_epsilon(loss) / adjacency.l1_sensitivity, sizes)


class UniverseCategories(QueryMechanism):
    """Release names of a public universe whose noisy number of units exceeds a threshold, without a delta.

    Source: Cormode, Procopiuc, Srivastava and Tran 2012. The noise is two-sided geometric noise on every name of the
    universe.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``, without a delta. *Proof*: let each
    name of the universe, including names without units, have a noisy count of its units: independent noise x with
    probabilities proportional to ``exp(-rate * |x|)``. A unit changes all counts together by at most its number of
    changed records, for any names and also if names share a hash. So all noisy counts together lose ``rate`` times that
    number (Ghosh, Roughgarden and Sundararajan 2009), which is the epsilon of the loss, or half its square as rho. The
    counts above a threshold that depends on the rank alone, and the largest of them, are functions of all noisy counts.

    *Counts of names without units are not sampled one by one, but the outcome has the same distribution*: the counts of
    names of one rank are independent and identically distributed, so the number above the threshold is binomial. Given
    this number, they are a uniform choice of names, each above the threshold by an independent geometric number. Here
    names are chosen among all names of a rank, and names with units are left out again, because they have their own
    noise: the remaining choices are independent, name by name, with the same probabilities.

    All draws are exact, see `noise.exponential`. The running time depends on the number of names with units.
    """

    query_types = (UniverseSelectionQuery,)
    display_name = "noise in a universe"

    def _plan(self, query: UniverseSelectionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Choose the noise and the thresholds of partition selection in a universe of names, and return the plan of the
        release.

        The plan names the smallest and the largest threshold.

        Args:
            query: Column whose categories are found, with all possible ones.
            loss: Privacy loss of the query.
            adjacency: Neighbouring data sets.

        Raises:
            UnsupportedQuery: the loss is zero, or a threshold would exceed ten million.
        """
        if pure_epsilon(loss) == 0:
            raise UnsupportedQuery(
                "epsilon, rho", "a loss above zero is needed to find groups; give a larger loss, or list the groups"
            )
        noise = calibrate_universe_noise(loss, adjacency, query.universe.sizes)
        name = f"noise on units of each name, told above {min(noise.thresholds)} to {max(noise.thresholds)}"
        return Plan(query, loss, adjacency, name, PartitionDecisions(()), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Select the names whose noisy number of units exceeds their threshold; return each as an integer
        (`encode_name`) with that number.

        Names are in alphabetical order. If more than `MOST_NAMES` exceed their thresholds, those with the largest noisy
        numbers of units are returned.

        Args:
            table: Name and number of units of each category, of shape ``(categories, 2)``. SECRET.
            plan: The plan that `plan` returned for this query.
            randomness: Source of the noise.

        Returns:
            Encoded names and noisy numbers of units in turn.
        """
        universe = self.require_query(plan).universe
        noise = calibrate_universe_noise(plan.loss, plan.adjacency, universe.sizes)
        units: dict[str, int] = {}
        for name, count in table:
            if universe.find_rank(name.decode()) is not None:
                label = universe.label(name.decode())
                units[label] = units.get(label, 0) + int(count)
        noises = discrete_laplace.sample(1 / noise.rate, len(units), randomness).tolist()
        noisy = {name: count + x for (name, count), x in zip(units.items(), noises, strict=True)}
        ranks = {name: universe.find_rank(name) or 0 for name in noisy}
        selected = {name: count for name, count in noisy.items() if count > noise.thresholds[ranks[name]]}
        for rank, (size, threshold) in enumerate(zip(universe.sizes, noise.thresholds, strict=True)):
            for index in _sample_distinct(
                sample_by_inversion(FalseSelectionDistribution(size, noise.rate, threshold), randomness),
                size,
                randomness,
            ):
                name = universe.name_at(rank, index)
                (excess,) = discrete_laplace.sample(1 / noise.rate, 1, randomness).tolist()
                if name not in units:
                    selected[name] = threshold + 1 + (excess if excess >= 0 else -1 - excess)
        largest = sorted(sorted(selected), key=lambda name: -selected[name])[:MOST_NAMES]
        return tuple(integer for name in sorted(largest) for integer in (encode_name(name.encode()), selected[name]))


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the margins of selected categories."""

    alarm: float = 1e-5
    """Probability that the noise of any name of a universe exceeds the margin of `bound_units_below`."""


TUNING = Tuning()
"""The values that margins of selected categories use."""


def bound_units_below(plan: Plan, name: str, noisy: int) -> int:
    """Return a lower bound of the number of units that have a released name.

    Under a delta the noise is bounded, so the bound always holds. In a universe the noise of all names together exceeds
    the bound with probability at most `Tuning.alarm`: on average `FALSE_NAMES` names without units exceed a threshold,
    and their number falls by ``exp(-rate)`` with each further unit.

    Args:
        plan: Plan of the release.
        name: A released name.
        noisy: Its released number of units.
    """
    if isinstance(plan.query, UniverseSelectionQuery):
        universe = plan.query.universe
        noise = calibrate_universe_noise(plan.loss, plan.adjacency, universe.sizes)
        margin = log(float(FALSE_NAMES) / TUNING.alarm) / float(noise.rate)
        return noisy - noise.thresholds[universe.find_rank(name) or 0] - ceil(margin)
    return noisy - calibrate_category_noise(plan.loss, plan.adjacency).threshold


def find_fewest_units(plan: Plan, letters: int) -> int:
    """Return the number of units from which a name is released with probability above 1/2.

    Args:
        plan: Plan of the release.
        letters: Number of letters of the name; it matters in a universe of texts only.
    """
    if isinstance(plan.query, UniverseSelectionQuery):
        thresholds = calibrate_universe_noise(plan.loss, plan.adjacency, plan.query.universe.sizes).thresholds
        return thresholds[min(letters, len(thresholds)) - 1] + 1
    return calibrate_category_noise(plan.loss, plan.adjacency).threshold + 1


def _sample_distinct(count: int, bound: int, randomness: Randomness) -> list[int]:
    """Sample `count` different integers from 0 to `bound` - 1, uniformly and without replacement.

    Args:
        count: Number of integers, at most `bound`.
        bound: Number of integers to choose from.
        randomness: Source of random bits.

    Returns:
        The integers in the order of their draws.
    """
    numbers: dict[int, None] = {}
    while len(numbers) < count:
        numbers[randomness.sample_below(bound)] = None
    return list(numbers)


def encode_name(name: bytes) -> int:
    """Encode a name as an integer, so that it can be released among noisy counts: a byte 1 followed by the bytes of the
    name.

    Args:
        name: Name as UTF-8.

    >>> encode_name(b"ab")
    90466
    """
    return int.from_bytes(b"\x01" + name)
