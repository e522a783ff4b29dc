"""Partition selection: which categories that nobody listed are released, and with which noisy number of units.

Under a delta, bounded noise is added to the units of each category, and those above a threshold are released. Without a
delta, categories come from a public universe, each name of which has noise, also where nobody has it. Also called set
union, key selection and private partition selection.
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
from ..data.universe import FAKES
from ..laws.law import PartitionDecisions
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
"""Names that are told at most: those of the largest noisy counts."""
LARGEST_THRESHOLD = 10**7
LARGEST_RATE = Fraction(256)
"""Epsilon of one name that is used at most: with more, noise is 0 but with chance ``2 exp(-256)`` already, and numbers
like ``exp(-3000)`` would have more digits than can be computed with."""
_DIGITS = Context(prec=60, rounding=ROUND_CEILING)
_MARGIN = Decimal("1e-40")


@dataclass(frozen=True, slots=True)
class BoundedNoise:
    """Whole numbers x from -threshold to threshold, with chances in proportion to ``exp(-rate * |x|)``.

    A name of n units is told if ``n + x > threshold``: never if n is 0.

    Attributes:
        rate: Epsilon of one name.
        threshold: The largest noise, and the largest noisy count that is hidden.
    """

    rate: Fraction
    threshold: int

    @classmethod
    def from_delta(cls, rate: Fraction, delta: Fraction) -> BoundedNoise:
        """The least threshold under which a name of one unit is told with a chance of at most `delta`.

        A rate above `LARGEST_RATE` is taken as that: noise that hides more loses less.

        Raises:
            UnsupportedQuery: it would be above ten million.
        """
        rate = min(rate, LARGEST_RATE)
        start = _guess_threshold(float(rate), log(delta.numerator) - log(delta.denominator))
        if start > LARGEST_THRESHOLD:
            raise UnsupportedQuery("epsilon, delta", "names need so much noise here that none would be told")
        while start > 1 and cls(rate, start - 1).selection_probability_of_one() <= delta:
            start -= 1
        while cls(rate, start).selection_probability_of_one() > delta:
            start += 1
        return cls(rate, start)

    def selection_probability_of_one(self) -> Fraction:
        """A bound from above on the chance that a name of one unit is told, with an error below 1e-40 of it.

        It is one over the sum of ``q**(|x| - threshold)``, ``q = exp(-rate)``, and rises with q: one that is rounded
        up gives an upper bound.
        """
        margin = _DIGITS.add(1, _DIGITS.divide(_MARGIN, self.threshold + 1))
        with_margin = _DIGITS.multiply(_bound_exp_neg_above(self.rate), margin)
        q = Fraction(with_margin)
        power = Fraction(_DIGITS.power(with_margin, self.threshold)) * (1 + Fraction(_MARGIN))
        return power * (1 - q) / (1 + q - 2 * q * power)

    def selection_probability(self, units: int) -> float:
        """The chance that a name of so many units is told, about."""
        q, k = exp(-float(self.rate)), self.threshold
        whole = 1 + 2 * q * (1 - q**k) / (1 - q)
        if units <= 0:
            return 0.0
        if units > 2 * k:
            return 1.0
        least = k + 1 - units  # of the noise
        if least > 0:
            return (q**least - q ** (k + 1)) / (1 - q) / whole
        return 1 - (q ** (1 - least) - q ** (k + 1)) / (1 - q) / whole

    def sample(self, size: int, randomness: Randomness) -> IntArray:
        """Independent draws: of unbounded noise, anew as long as it is beyond the bound.

        Where that would be most of the time, of an even choice within the bound, which is kept with a chance of
        ``exp(-rate * |x|)``: at least 1/e. Both have the law of this noise, whatever was drawn anew.
        """
        if self.rate * self.threshold < 1:
            return np.array([self._sample_by_rejection(randomness) for _ in range(size)], dtype=np.int64)
        found = np.empty(0, dtype=np.int64)
        while len(found) < size:
            drawn = discrete_laplace.sample(1 / self.rate, size - len(found), randomness)
            found = np.append(found, drawn[np.abs(drawn) <= self.threshold])
        return found

    def _sample_by_rejection(self, randomness: Randomness) -> int:
        while True:
            noise = randomness.sample_below(2 * self.threshold + 1) - self.threshold
            if sample_bernoulli_exp(self.rate * abs(noise), randomness):
                return noise


def _guess_threshold(rate: float, log_delta: float) -> int:
    """About ``log(1 + (exp(rate) - 1) / (2 delta)) - log((exp(rate) + 1) / 2)`` over the rate, at least 1."""
    odds = log(expm1(rate)) - log(2) - log_delta
    return max(ceil((float(np.logaddexp(0.0, odds)) - log((exp(rate) + 1) / 2)) / rate), 1)


def _bound_exp_neg_above(rate: Fraction) -> Decimal:
    """``exp(-rate)``, rounded up: each step in this context, as operators round to 28 digits."""
    exponent = _DIGITS.divide(Decimal(-rate.numerator), Decimal(rate.denominator))
    return _DIGITS.next_plus(_DIGITS.exp(exponent))


@lru_cache(maxsize=256)
def calibrate_category_noise(loss: PrivacyLoss, adjacency: Adjacency) -> BoundedNoise:
    """The noise of names of which one unit changes as many as records of it come and go."""
    names = adjacency.l1_sensitivity
    return BoundedNoise.from_delta(pure_epsilon(loss) / names, loss.delta / names)


class ThresholdedCategories(QueryMechanism):
    """Counts of units with bounded noise; what is not above the bound is hidden (Desfontaines and others 2022).

    Formal guarantees: `run` loses at most ``plan.loss``, with its delta, under ``plan.adjacency``. Let one name have n
    units in one table and n + 1 in the other, ``q = exp(-rate)``, and c the chance of no noise. If n is 0, it is hidden
    in one, and told in the other with chance ``c * q**threshold``, the *chance of one*. Else noisy counts from
    ``n + 1 - threshold`` to ``n + threshold`` have chances in both, whose ratio is q or its inverse; the two counts at
    the ends have a chance in one table alone, and that is the chance of one. That all up to the threshold are told as
    one outcome, hidden, makes no difference larger. So one name loses ``(rate, chance of one)``: no mechanism for the
    same loss tells a name more often (Desfontaines, Voss, Gipson and Mandayam 2022, Theorem 3). Names have independent
    noise, a unit changes as many as records of it come or go, each by 1, and losses add up: rate and delta of a name
    are the parts that this leaves. No noise is drawn for names that nobody has, as they are hidden in any case. Names
    are told in their alphabetical order, and where they are too many, those of the largest noisy counts, so no order
    tells more.

    Noise is exact: see `noise.discrete_laplace`, drawn anew where it is beyond the bound; and the threshold is found
    with bounds from above that are rational numbers. As in all engines that list what occurs, the time that an answer
    takes depends on how many names there are.
    """

    query_types = (PartitionSelectionQuery,)
    display_name = "bounded noise"

    def _plan(self, query: PartitionSelectionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not loss.delta:
            raise UnsupportedQuery("delta", "groups that nobody listed need one: a chance far below 1 over all units")
        if pure_epsilon(loss) == 0:
            raise UnsupportedQuery("epsilon, rho", "names need a loss above zero")
        noise = calibrate_category_noise(loss, adjacency)
        law = PartitionDecisions(())
        return Plan(query, loss, adjacency, f"noise of at most {noise.threshold} on units of each name", law, error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Each name as a whole number, and behind it its noisy count."""
        self.require_query(plan)
        noise = calibrate_category_noise(plan.loss, plan.adjacency)
        noisy = table[:, 1].astype(np.int64) + noise.sample(len(table), randomness)
        told = np.flatnonzero(noisy > noise.threshold)
        told = np.sort(told[np.argsort(-noisy[told], kind="stable")[:MOST_NAMES]])
        return tuple(each for place in told for each in (encode_name(table[place, 0]), int(noisy[place])))


@dataclass(frozen=True, slots=True)
class RankedNoise:
    """Two-sided geometric noise on the units of each name of a universe, and what is hidden of each rank.

    Attributes:
        rate: Epsilon of a unit more or less of a name.
        thresholds: The largest noisy count that is hidden, rank by rank.
    """

    rate: Fraction
    thresholds: tuple[int, ...]

    @classmethod
    def from_universe_sizes(cls, rate: Fraction, sizes: tuple[int, ...]) -> RankedNoise:
        """The thresholds above which `FAKES` names that nobody has are told on average, as many of each rank.

        Raises:
            UnsupportedQuery: one would be above ten million.
        """
        rate = min(rate, LARGEST_RATE)
        each, decay_ = float(FAKES) / len(sizes), exp(-float(rate))
        wanted = [(log(size) - log(each) - log1p(decay_)) / float(rate) - 1 for size in sizes]
        if max(wanted) > LARGEST_THRESHOLD:
            raise UnsupportedQuery("epsilon, rho", "names need so much noise here that none would be told")
        return cls(rate, tuple(max(ceil(each), 0) for each in wanted))

    def selection_probability(self, units: int, rank: int) -> float:
        """The chance that a name of so many units and this rank is told, about."""
        q, above = exp(-float(self.rate)), self.thresholds[rank] - units  # noise above this tells it
        return q ** (above + 1) / (1 + q) if above >= 0 else 1 - q**-above / (1 + q)


@dataclass(frozen=True, slots=True)
class FalseSelectionLaw:
    """The number of names that are told among so many that nobody has, each with the chance that noise exceeds.

    It is binomial: k names weigh ``C(names, k) odds**k``. With q = exp(-rate) a name has the chance
    ``q**(threshold + 1) / (1 + q)``.
    """

    names: int
    rate: Fraction
    threshold: int

    def weights(self, bits: int) -> tuple[list[Bracket], int]:
        """The weights of none, one, and so on, down to about ``2**-bits``."""
        fine = bits + self.names.bit_length()  # odds are about as small as names are many
        above, q, whole = (
            bound_exp_neg(self.rate * (self.threshold + 1), fine),
            bound_exp_neg(self.rate, fine),
            1 << fine,
        )
        # odds are above / (1 + q - above), between these two numbers
        least = (above[0] << fine) // (whole + q[1] - above[0])
        most = (above[1] << fine) // (whole + q[0] - above[1]) + 1
        found = [one_bracket(bits)]
        while found[-1][1] > 1 and len(found) <= self.names:
            left, told = self.names - len(found) + 1, len(found)
            low, high = found[-1]
            found.append(((low * left * least >> fine) // told, (high * left * most >> fine) // told + 1))
        ratio = ((self.names * most >> fine - bits) + 1) // len(found) + 1
        rest = 0 if len(found) > self.names else bound_geometric_sum(found[-1], (ratio, ratio), bits)
        return found, rest


@lru_cache(maxsize=256)
def calibrate_universe_noise(loss: PrivacyLoss, adjacency: Adjacency, sizes: tuple[int, ...]) -> RankedNoise:
    """The noise of names of which one unit changes as many counts as records of it come and go."""
    return RankedNoise.from_universe_sizes(pure_epsilon(loss) / adjacency.l1_sensitivity, sizes)


class UniverseCategories(QueryMechanism):
    """Counts of units with two-sided geometric noise of all names of a universe; what is not above a threshold is
    hidden (Cormode, Procopiuc, Srivastava and Tran 2012).

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``, without a delta. Let each name of the
    universe, also those that nobody has, have a noisy count of its units: independent noise x with chances in
    proportion to ``exp(-rate * |x|)``. A unit changes the counts together by at most as much as records of it come or
    go, whichever names these have, and also where names share a hash; so all noisy counts together lose ``rate`` times
    that (Ghosh, Roughgarden and Sundararajan 2009), which is the epsilon of the loss, or in zero-concentrated terms
    half its square. Which counts are above a threshold that depends on the rank alone is read from these, and so are
    the largest of them. *Counts are not drawn for each name that nobody has, but the outcome has the same law*: among
    the names of one rank these counts are independent and alike, so the number of those above the threshold is
    binomial, and given it they are an even choice of names, each above the threshold by independent geometric numbers.
    Here names are chosen among all of a rank, and those that somebody has are left out again, for they have noise of
    their own: what is left are choices that are independent, name by name, with the same chances.

    All draws are exact, see `noise.exponential`. The time that an answer takes depends on how many names there are.
    """

    query_types = (UniverseSelectionQuery,)
    display_name = "noise in a universe"

    def _plan(self, query: UniverseSelectionQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if pure_epsilon(loss) == 0:
            raise UnsupportedQuery("epsilon, rho", "names need a loss above zero")
        noise = calibrate_universe_noise(loss, adjacency, query.universe.sizes)
        said = f"noise on units of each name, told above {min(noise.thresholds)} to {max(noise.thresholds)}"
        return Plan(query, loss, adjacency, said, PartitionDecisions(()), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Each name as a whole number, and behind it its noisy count."""
        universe = self.require_query(plan).universe
        noise = calibrate_universe_noise(plan.loss, plan.adjacency, universe.sizes)
        units: dict[str, int] = {}
        for name, own in table:
            if universe.find_rank(name.decode()) is not None:
                label = universe.label(name.decode())
                units[label] = units.get(label, 0) + int(own)
        drawn = discrete_laplace.sample(1 / noise.rate, len(units), randomness).tolist()
        noisy = {name: own + x for (name, own), x in zip(units.items(), drawn, strict=True)}
        ranks = {name: universe.find_rank(name) or 0 for name in noisy}
        told = {name: count for name, count in noisy.items() if count > noise.thresholds[ranks[name]]}
        for rank, (size, threshold) in enumerate(zip(universe.sizes, noise.thresholds, strict=True)):
            for number in _sample_distinct(
                sample_by_inversion(FalseSelectionLaw(size, noise.rate, threshold), randomness), size, randomness
            ):
                name = universe.name_at(rank, number)
                (more,) = discrete_laplace.sample(1 / noise.rate, 1, randomness).tolist()
                if name not in units:
                    told[name] = threshold + 1 + (more if more >= 0 else -1 - more)
        largest = sorted(sorted(told), key=lambda name: -told[name])[:MOST_NAMES]
        return tuple(each for name in sorted(largest) for each in (encode_name(name.encode()), told[name]))


ALARM = 1e-5
"""Probability that the noise of any name of a universe is larger than `bound_units_below` takes it to be."""


def bound_units_below(plan: Plan, name: str, noisy: int) -> int:
    """Return how many units at least have a name of this noisy count.

    Under a delta the noise is bounded, so this is certain, whatever was selected. In a universe the noise of all its
    names together exceeds the bound with a probability of at most `ALARM`: so many names that nobody has are told above
    a threshold on average (`FAKES`), and their number falls by ``exp(-rate)`` with each unit above it.
    """
    if isinstance(plan.query, UniverseSelectionQuery):
        universe = plan.query.universe
        noise = calibrate_universe_noise(plan.loss, plan.adjacency, universe.sizes)
        above = log(float(FAKES) / ALARM) / float(noise.rate)
        return noisy - noise.thresholds[universe.find_rank(name) or 0] - ceil(above)
    return noisy - calibrate_category_noise(plan.loss, plan.adjacency).threshold


def _sample_distinct(count: int, below: int, randomness: Randomness) -> list[int]:
    """So many different whole numbers below another, in even choice."""
    found: dict[int, None] = {}
    while len(found) < count:
        found[randomness.sample_below(below)] = None
    return list(found)


def encode_name(name: bytes) -> int:
    """A name as a whole number: a one, and its bytes.

    >>> encode_name(b"ab")
    90466
    """
    return int.from_bytes(b"\x01" + name)
