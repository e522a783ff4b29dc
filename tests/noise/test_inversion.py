"""Inversion proves each outcome, and refines what the first bits leave open."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from agreement import agree

from dpcurves.noise import Randomness
from dpcurves.noise.discrete_gaussian import StepEnvelope
from dpcurves.noise.discrete_laplace import Digit, SignedDigit
from dpcurves.noise.exponential import (
    Bracket,
    InversionTable,
    InvertedDistribution,
    bound_cumulative,
    refine_until_proven,
    sample_by_inversion,
)

EXPONENTIAL_DISTRIBUTIONS = [
    Digit(Fraction(1, 7), 256),
    Digit(Fraction(1, 2**50), 256),
    SignedDigit(Fraction(1, 12), Fraction(1, 12)),
    SignedDigit(Fraction(3, 2), Fraction(3, 2**40)),
    SignedDigit(Fraction(1000), Fraction(1000)),
    StepEnvelope(Fraction(1, 2 * 37), 0),
    StepEnvelope(Fraction(1, 2 * 80**2), 0),
    StepEnvelope(Fraction(3, 2 * 10**9), 8),
]


@dataclass(frozen=True)
class Whole:
    """A distribution with whole weights, known exactly."""

    counts: tuple[int, ...]

    def weights(self, bits: int) -> tuple[Sequence[Bracket], int]:
        """The weights of all outcomes."""
        return [(count << bits, count << bits) for count in self.counts], 0


def exponent(distribution: Digit | SignedDigit | StepEnvelope, outcome: int) -> Fraction:
    """What the weight of an outcome is the exponential of, from the definition of the distribution."""
    if isinstance(distribution, Digit):
        return distribution.rate * outcome
    if isinstance(distribution, SignedDigit):
        return distribution.rate * (outcome // 2) + distribution.sign_rate * (outcome % 2)
    return distribution.rate * ((outcome // 2 << distribution.bits) + outcome % 2) ** 2


def exactly(distribution: Digit | SignedDigit | StepEnvelope, outcomes: int) -> list[Decimal]:
    """The probabilities of at most 0, 1, ..., to some 60 places: call it where the context is as precise."""
    listed = [
        exponent(distribution, outcome)
        for outcome in range(2 * outcomes if not isinstance(distribution, Digit) else outcomes)
    ]
    weights = [(-Decimal(power.numerator) / Decimal(power.denominator)).exp() for power in listed]
    total = sum(weights)
    return [sum(weights[: outcome + 1], Decimal(0)) / total for outcome in range(outcomes)]


@pytest.mark.parametrize("distribution", EXPONENTIAL_DISTRIBUTIONS, ids=str)
def test_thresholds_hold_the_exact_distribution_function_between_them(
    distribution: Digit | SignedDigit | StepEnvelope,
) -> None:
    lower, upper = bound_cumulative(distribution, 64)
    with localcontext(prec=60):
        some = min(len(lower), 300)
        for low, high, true in zip(lower, upper, exactly(distribution, len(lower))[:some], strict=False):
            assert low <= true * 2**64 + Decimal(10) ** -30
            assert true * 2**64 - Decimal(10) ** -30 <= high
    assert max(high - low for low, high in zip(lower, upper, strict=True)) <= 2


def plainly(distribution: InvertedDistribution, words: list[int]) -> list[int | None]:
    """The outcomes that the rule of the module proves for words of 64 bits, one by one; None where it proves none."""
    lower, upper = bound_cumulative(distribution, 64)
    outcomes = [bisect_right(upper, word) for word in words]
    proven = [o < len(lower) and word + 1 <= lower[o] for o, word in zip(outcomes, words, strict=True)]
    return [outcome if sure else None for outcome, sure in zip(outcomes, proven, strict=True)]


@pytest.mark.parametrize("distribution", EXPONENTIAL_DISTRIBUTIONS, ids=str)
def test_the_table_agrees_with_the_plain_rule_at_every_threshold(distribution: InvertedDistribution) -> None:
    near = {
        bound + shift for bounds in bound_cumulative(distribution, 64) for bound in bounds[:500] for shift in (-1, 0, 1)
    }
    words = [word for word in sorted(near) if 0 <= word < 2**64]
    plain = plainly(distribution, words)
    opened = [place for place, outcome in enumerate(plain) if outcome is None]
    closed = [place for place, outcome in enumerate(plain) if outcome is not None] + opened[:20]
    source, same = Randomness.from_seed(5), Randomness.from_seed(5)
    found = InversionTable(distribution).look_up(np.array([words[place] for place in closed], dtype=np.uint64), source)
    for outcome, place in zip(found.tolist(), closed, strict=True):
        wanted = plain[place]
        assert outcome == (refine_until_proven(distribution, words[place], 64, same) if wanted is None else wanted)


@pytest.mark.parametrize("distribution", EXPONENTIAL_DISTRIBUTIONS, ids=str)
def test_draws_by_prefix_agree_with_whole_words(distribution: InvertedDistribution) -> None:
    source, same = Randomness.from_seed(9), Randomness.from_seed(9)
    drawn, prefixes = (
        InversionTable(distribution).sample(20_000, source).tolist(),
        same.sample_halfwords(20_000).tolist(),
    )
    lowest = plainly(distribution, [prefix << 48 for prefix in prefixes])
    highest = plainly(distribution, [(prefix << 48) + 2**48 - 1 for prefix in prefixes])
    for low, outcome, high in zip(lowest, drawn, highest, strict=True):
        assert low is None or low <= outcome
        assert high is None or outcome <= high


def crafted(*words: int) -> Randomness:
    """A source that gives these words of 64 bits, and then no more."""
    left = b"".join(word.to_bytes(8, "little") for word in words)
    queue = [left[start : start + 8] for start in range(0, len(left), 8)]
    return Randomness(lambda length: queue.pop(0)[:length], is_seeded=True)


def test_a_word_on_a_boundary_is_refined_until_one_side_is_proven() -> None:
    thirds = Whole((1, 1, 1))
    below = 2**64 // 3  # 0.010101... in binary, cut after 64 places: the next word tells
    assert sample_by_inversion(thirds, crafted(below, below - 1)) == 0
    assert sample_by_inversion(thirds, crafted(below, below + 1)) == 1
    assert sample_by_inversion(thirds, crafted(below, below, below, below - 1)) == 0
    assert sample_by_inversion(thirds, crafted(below, below, below, below + 1)) == 1


@pytest.mark.parametrize("distribution", EXPONENTIAL_DISTRIBUTIONS[:4], ids=str)
def test_refinement_finds_the_outcome_of_the_exact_distribution_function(
    distribution: Digit | SignedDigit | StepEnvelope,
) -> None:
    outcomes = len(bound_cumulative(distribution, 64)[0])
    with localcontext(prec=120):
        true = exactly(distribution, outcomes)
        places = [int(bound * 2**192) for bound in true[:3]]
    for outcome, place in enumerate(places):
        for shift in (-5, 5):  # within 5 units of 2**-192 of the boundary: two more words are needed
            words = [(place + shift) >> 128, (place + shift) >> 64 & 2**64 - 1, (place + shift) & 2**64 - 1]
            assert sample_by_inversion(distribution, crafted(*words)) == outcome + (shift > 0)


def test_an_outcome_without_weight_is_never_given() -> None:
    gap = Whole((2, 0, 0, 2))
    assert sample_by_inversion(gap, crafted(2**63 - 1)) == 0
    assert sample_by_inversion(gap, crafted(2**63)) == 3
    assert set(InversionTable(gap).sample(10_000, Randomness.from_seed(1)).tolist()) == {0, 3}


def test_draws_follow_the_weights() -> None:
    distribution = Whole((5, 1, 0, 3, 1000, 70))
    drawn = InversionTable(distribution).sample(300_000, Randomness.from_seed(4))
    assert agree(np.bincount(drawn, minlength=6), np.array(distribution.counts) / sum(distribution.counts))


def test_single_draws_follow_the_weights() -> None:
    distribution, source = Whole((5, 1, 0, 3)), Randomness.from_seed(6)
    drawn = [sample_by_inversion(distribution, source) for _ in range(20_000)]
    assert agree(np.bincount(drawn, minlength=4), np.array(distribution.counts) / sum(distribution.counts))


def test_a_search_by_hand_finds_the_same() -> None:
    distribution = Whole((3, 4, 5))
    bounds = [Fraction(3, 12), Fraction(7, 12), Fraction(1)]
    words = Randomness.from_seed(8).sample_words(1000)
    by_hand = [bisect_right(bounds, Fraction(int(word), 2**64)) for word in words]
    assert InversionTable(distribution).look_up(words, Randomness.from_seed(0)).tolist() == by_hand
