"""Plans of pair statistics, answered by pairs of people or added up by two servers, from public facts alone."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import NamedTuple

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.noise.exponential import LEAST_EPSILON, MOST_EPSILON
from dpcurves.privacy import Adjacency, PrivacyLoss, ReplaceOne
from dpcurves_parties.pairs.queries import Overlaps, PairQuery

from ..finite_coins import FiniteLaplace, Response, response_for
from ..queries import PairAnswers, PairSum

ROOM = 48
"""The circle of a sum has so many scales of the noise more than the sum needs."""
PEOPLE, SERVERS = "pairs of people", "pairs of people, by two servers"
"""The parties that compute the answers of pairs."""


class Noise(Enum):
    """The place where noise is added."""

    EACH = "to each pair's answer: people in pairs"
    ON_SUM = "once, to the sum of all: two servers"


class Zetas(NamedTuple):
    """Public bounds on the variance components of a kernel, in the squares of its whole steps, as `Overlaps` takes
    them.

    Attributes:
        one: The variance of its mean given one person.
        both: Its variance.
    """

    one: float
    both: float


def worst(span: int) -> Zetas:
    """The most that a kernel can vary whose values span so much: half of them at either end; and given one person."""
    return Zetas(span**2 / 8, span**2 / 4)


def planned_answers(
    query: PairQuery, loss: PrivacyLoss, adjacency: Adjacency, zetas: Zetas | None = None, *, by: str = PEOPLE
) -> Plan:
    """Each pair answers on its own; `by` says who works that out.

    Formal guarantees: each answer loses at most epsilon over the most pairs that a person is in (see `response_for`),
    with coins of its own; which pairs there are depends on no value. Whoever is replaced changes the values of no other
    pairs than these, so all answers together lose at most epsilon, whatever else is known: the ratio of their chances
    is a product of as many factors. A pair that breaks is dropped, and what it may have lost stays spent.

    Raises:
        UnsupportedQuery: the number of people is private, a person has several records, or the loss is not pure.
    """
    people = _people(loss, adjacency)
    response, overlaps, kernel = response_of(query, loss), query.pairing.overlaps(people), query.kernel
    law = PairAnswers(people, *_whole(overlaps), kernel.least, kernel.most, kernel.step, response.offset, response.gain)
    known = zetas or worst(kernel.span)
    apart = min(response.most_variance + known.both, response.most_varied)
    variance = _variance(overlaps, known) + (apart - known.both) / overlaps.pairs
    return Plan(query, loss, adjacency, f"{by}: {response.name}", law, float(kernel.step) * sqrt(variance))


def planned_sum(query: PairQuery, loss: PrivacyLoss, adjacency: Adjacency, zetas: Zetas | None = None) -> Plan:
    """Plan one noisy sum of all pairs' values, none of which is seen.

    Formal guarantees: whoever is replaced changes the values of no other pairs than their own, each by the kernel's
    span at most, hence the sum by `PairQuery.per_record_sensitivity`; see `FiniteLaplace` for a sum that changes by so
    much.

    Raises:
        UnsupportedQuery: see `planned_answers`; or the sum has more than 62 bits.
    """
    people = _people(loss, adjacency)
    overlaps, kernel = query.pairing.overlaps(people), query.kernel
    noise = noise_of_sum(query, loss, people)
    law = PairSum(people, *_whole(overlaps), kernel.least, kernel.most, kernel.step, noise.rate)
    variance = _variance(overlaps, zetas or worst(kernel.span)) + noise.variance / overlaps.pairs**2
    made_by = f"{SERVERS}: one Laplace noise on the sum"
    return Plan(query, loss, adjacency, made_by, law, float(kernel.step) * sqrt(variance))


def response_of(query: PairQuery, loss: PrivacyLoss) -> Response:
    """The noise of each pair.

    Raises:
        UnsupportedQuery: a pair's part of the loss is too small or too large for it.
    """
    epsilon = _epsilon(loss) / query.pairs_per_unit
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise UnsupportedQuery("epsilon", "from 2**-20 to 64 for each pair are planned for")
    return response_for(query.kernel.least, query.kernel.most, epsilon)


@lru_cache(maxsize=64)  # a pure function of public facts
def noise_of_sum(query: PairQuery, loss: PrivacyLoss, people: int) -> FiniteLaplace:
    """The noise on the sum of all pairs' values, which are taken from their least on.

    Raises:
        UnsupportedQuery: the sum has too many bits.
    """
    epsilon, reach = _epsilon(loss), query.per_record_sensitivity
    room = int(ROOM * reach / epsilon) + 1
    width = max(
        (people * query.pairs_per_unit // 2 * query.kernel.span + 2 * room).bit_length(), reach.bit_length() + 2
    )
    if width > 62 or not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise UnsupportedQuery("kernel", "a sum of all pairs of at most 62 bits is noised, at an epsilon up to 64")
    return FiniteLaplace(epsilon, reach, width)


def _people(loss: PrivacyLoss, adjacency: Adjacency) -> int:
    if not isinstance(adjacency, ReplaceOne) or adjacency.unit.records != 1:
        raise UnsupportedQuery(
            "adjacency", "how many people are paired is public, and each has one value: use replace-one"
        )
    if adjacency.units < 2:
        raise UnsupportedQuery("people", "at least two are needed for a pair")
    _epsilon(loss)
    return adjacency.units


def _epsilon(loss: PrivacyLoss) -> Fraction:
    if loss.epsilon is None:
        raise UnsupportedQuery("loss", "noise from finite coins is pure: give an epsilon")
    return loss.epsilon


def _whole(overlaps: Overlaps) -> tuple[int, int, int]:
    pairs = round(overlaps.pairs)
    return pairs, round(overlaps.one), max(round(overlaps.both), pairs)


def _variance(overlaps: Overlaps, zetas: Zetas) -> float:
    return overlaps.variance(zetas.one, zetas.both)
