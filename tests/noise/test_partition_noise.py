"""The distribution of a choice among partitions: in fractions, beside the products of weights, and drawn."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from dpcurves.noise.exponential import (
    LastIntervalDistribution,
    PartitionDistribution,
    bound_partition_log_error,
    sample_partition,
)
from dpcurves.noise.randomness import Randomness

Penalties = NDArray[np.uint32]
RATE = Fraction(1, 3)
PENALTIES = np.array(
    [[0, 0, 0, 0, 0, 0], [0, 0, 3, 1, 0, 2], [0, 0, 0, 0, 4, 9]],
    dtype=np.uint32,
)


def distribution(chances: PartitionDistribution) -> dict[tuple[int, ...], Fraction]:
    """The chance of each list of first places, exactly as it is drawn."""
    found: dict[tuple[int, ...], Fraction] = {}

    def walk(place: int, later: tuple[int, ...], chance: Fraction) -> None:
        if not place:
            found[later] = chance
            return
        terms = [Fraction(whole) * Fraction(2) ** scale for whole, scale in chances.last_interval_weights(place)]
        for power, term in enumerate(terms):
            first = place - (1 << power)
            walk(first, (first, *later), chance * term / sum(terms))

    walk(len(chances.sums.mantissas) - 1, (), Fraction(1))
    return found


def products(penalties: Penalties, rate: Fraction, prior: float, partitions: list[tuple[int, ...]]) -> list[float]:
    """Logarithms of the products of weights."""
    places = penalties.shape[1] - 1
    return [
        sum(
            log(prior) - float(rate) * int(penalties[(end - first).bit_length() - 1, end])
            for first, end in zip(partition, (*partition[1:], places), strict=True)
        )
        for partition in partitions
    ]


@pytest.mark.parametrize("rate", [Fraction(0), RATE, Fraction(7), Fraction(1, 10**6)])
@pytest.mark.parametrize("prior", [1.0, 0.25, 2.0**-40])
def test_chances_are_proportional_to_products_of_weights(rate: Fraction, prior: float) -> None:
    generator = np.random.default_rng(1)
    for penalties in (PENALTIES, generator.integers(0, 2**32, (4, 10), dtype=np.uint32) % 90):
        chances = distribution(PartitionDistribution.from_penalties(penalties, rate, prior))
        assert sum(chances.values()) == 1
        exact = [log(chance.numerator) - log(chance.denominator) for chance in chances.values()]
        gap = np.array(exact) - products(penalties, rate, prior, list(chances))
        assert gap.max() - gap.min() < 1e-9  # of logarithms in floats here; the bound itself is far below
    assert bound_partition_log_error(2**20, 21) < 1e-8


def test_all_partitions_into_lengths_of_powers_of_two_can_be_drawn() -> None:
    """Draws from five places: compositions of 5 into 1, 2 and 4."""
    assert len(distribution(PartitionDistribution.from_penalties(PENALTIES, RATE, 0.5))) == 10


def test_draws_follow_the_distribution() -> None:
    """False alarm rate 6.3e-5 (4 sigma)."""
    chances, randomness = PartitionDistribution.from_penalties(PENALTIES, RATE, 0.5), Randomness.from_seed(5)
    drawn = Counter(tuple(chances.sample(randomness).tolist()) for _ in range(4000))
    expected = distribution(chances)
    assert drawn.keys() <= expected.keys()
    observed = [drawn[partition] for partition in expected]
    assert chisquare(observed, [4000 * float(chance) for chance in expected.values()]).pvalue > 6.3e-5


def test_a_draw_at_a_border_is_settled_by_further_bits() -> None:
    """Takes two equal chances: the word 2**63 is the border itself, and what follows proves it right of it."""
    even = np.zeros((2, 3), dtype=np.uint32)
    terms = PartitionDistribution.from_penalties(even, RATE, 1.0).last_interval_weights(2)
    assert terms == [(2**52, -52)] * 2
    for word, first in ((2**63 - 1, [0, 1]), (2**63, [0])):
        words = iter([word.to_bytes(8, "little") + bytes(8), *[bytes(8)] * 9])
        found = sample_partition(even, RATE, 1.0, Randomness(lambda _, left=words: next(left), is_seeded=True))  # type: ignore[misc]
        assert found.tolist() == first


def test_bounds_of_weights_hold_their_exact_ratios() -> None:
    generator = np.random.default_rng(2)
    for _ in range(50):
        terms = [(int(generator.integers(2**52, 2**53)), int(generator.integers(-200, 0))) for _ in range(4)]
        exact = [Fraction(whole) * Fraction(2) ** scale for whole, scale in terms]
        for bits in (1, 64, 130, 700):
            for (lower, upper), weight in zip(LastIntervalDistribution(terms).weights(bits)[0], exact, strict=True):
                assert lower <= weight / max(exact) * 2**bits <= upper <= lower + 1


def test_a_border_between_very_uneven_intervals_is_settled_at_once() -> None:
    """The weight of the long interval is ``exp(-2**38)``: as a fraction it would take 50 gigabytes."""
    penalties = np.array([[0, 0, 0], [0, 0, 2**32 - 1]], dtype=np.uint32)
    chances = PartitionDistribution.from_penalties(penalties, Fraction(64), 1.0)
    assert chances.last_interval_weights(2)[1][1] < -(2**38)
    assert LastIntervalDistribution(chances.last_interval_weights(2)).weights(1000) == ([(2**1000, 2**1000), (0, 1)], 0)
    words = iter([bytes([255] * 8) + bytes(8), *[bytes(8)] * 9])
    found = chances.sample(Randomness(lambda _: next(words), is_seeded=True))
    assert found.tolist() == [0, 1]


def test_one_place_has_one_partition() -> None:
    assert sample_partition(np.zeros((1, 2), dtype=np.uint32), RATE, 0.5, Randomness.from_seed(0)).tolist() == [0]


def test_steep_weights_take_the_best_partition() -> None:
    found = sample_partition(PENALTIES, Fraction(10**9), 2.0**-20, Randomness.from_seed(0))
    assert found.tolist() == [0, 1, 2, 4]


def test_many_places_are_drawn_without_overflow() -> None:
    """The weight of each partition is below 2**-300000."""
    penalties = np.full((1, 5001), 2**32 - 1, dtype=np.uint32)
    chances = PartitionDistribution.from_penalties(penalties, Fraction(64), 2.0**-64)
    assert chances.sample(Randomness.from_seed(1)).tolist() == list(range(5000))
    assert chances.sums.exponents[-1] < -300000


def test_weights_of_all_digits_are_those_of_the_exponential() -> None:
    sums = PartitionDistribution.from_penalties(np.zeros((1, 2), dtype=np.uint32), Fraction(1, 10**7), 1.0).sums
    for number, digit in ((0, 0), (0, 1), (0, 2047), (1, 1000), (2, 1), (2, 3)):
        exact = exp(-1e-7 * (digit << 11 * number))
        assert sums.weights[number, digit] * 2.0 ** sums.weight_exponents[number, digit] == pytest.approx(
            exact, rel=1e-13
        )


def test_a_prior_out_of_range_is_refused() -> None:
    for prior in (0.0, 1.5):
        with pytest.raises(ValueError, match="prior"):
            sample_partition(PENALTIES, RATE, prior, Randomness.from_seed(0))
