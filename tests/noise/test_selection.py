"""A choice follows the exponential mechanism exactly, however concentrated it is."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from agreement import agree

from dpcurves.noise import Randomness, sample_exponential_mechanism, selection_probabilities
from dpcurves.noise.exponential import _bin_penalties, _subtract_least

WORD = 2**64

DISTRIBUTIONS: list[tuple[list[int], Fraction]] = [
    ([0, 1], Fraction(1)),
    ([3, 1, 4, 1, 5, 9, 2, 6], Fraction(1, 3)),
    ([7] * 10, Fraction(2)),
    ([0, 0, 0, 1, 1, 5], Fraction(5, 7)),
    ([-3, 2, 10, 0], Fraction(0)),
    ([100, 130, 170, 105, 260, 99], Fraction(1, 40)),
    ([-(2**62), -(2**62) + 2**58, 2**62], Fraction(1, 2**58)),
    ([-(2**63), 2**63 - 1], Fraction(1, 10**30)),
]


@pytest.mark.quick_share(3)
@pytest.mark.parametrize(("penalties", "rate"), DISTRIBUTIONS)
def test_choices_follow_the_distribution(penalties: list[int], rate: Fraction) -> None:
    source = Randomness.from_seed(1)
    chosen = [sample_exponential_mechanism(penalties, rate, source) for _ in range(6_000)]
    assert agree(np.bincount(chosen, minlength=len(penalties)), selection_probabilities(penalties, rate))


@pytest.mark.parametrize(("penalties", "rate"), DISTRIBUTIONS)
def test_probabilities_are_accurate(penalties: list[int], rate: Fraction) -> None:
    with localcontext(prec=50):
        powers = [rate * (min(penalties) - penalty) for penalty in penalties]
        weights = [(Decimal(power.numerator) / Decimal(power.denominator)).exp() for power in powers]
        for found, weight in zip(selection_probabilities(penalties, rate), weights, strict=True):
            assert float(found) == pytest.approx(float(weight / sum(weights)), rel=1e-12)


@pytest.mark.parametrize(("penalties", "rate"), DISTRIBUTIONS)
def test_bins_hold_every_candidate_and_none_exceeds_its_bin(penalties: list[int], rate: Fraction) -> None:
    bins = _bin_penalties(_subtract_least(penalties), rate)
    for penalty, distance, bin_ in zip(penalties, bins.distances.tolist(), bins.bin_numbers.tolist(), strict=True):
        assert distance == penalty - min(penalties)
        assert bin_ << bins.bits <= distance < (bin_ + 1) << bins.bits or bin_ == 256
    assert sum(bins.counts) == len(penalties)


def test_many_candidates_that_are_hopeless_are_never_chosen() -> None:
    penalties = np.full(2**16, 10**6, dtype=np.int64)
    penalties[12345] = 0
    assert {sample_exponential_mechanism(penalties, Fraction(1), Randomness.from_system()) for _ in range(50)} == {
        12345
    }


@pytest.mark.reproduction
def test_many_candidates_of_small_weight_are_chosen_as_often_as_they_weigh_together() -> None:
    penalties = np.full(2**16, 11, dtype=np.int64)  # 65535 * exp(-11) is about 1.09
    penalties[777] = 0
    source, distribution = Randomness.from_seed(2), selection_probabilities(penalties, Fraction(1))
    chosen = np.array([sample_exponential_mechanism(penalties, Fraction(1), source) for _ in range(2_000)])
    best = int((chosen == 777).sum())
    assert agree(np.array([best, 2_000 - best]), np.array([distribution[777], 1 - distribution[777]]))
    others = chosen[chosen != 777]
    assert agree(np.bincount(others >> 12, minlength=16), np.full(16, 1 / 16))


def test_wide_penalties_follow_the_distribution_over_many_candidates() -> None:
    penalties = np.abs(np.arange(2**12) * 64 - 100_000)
    source, distribution = Randomness.from_seed(3), selection_probabilities(penalties, Fraction(1, 10_000))
    chosen = np.array([sample_exponential_mechanism(penalties, Fraction(1, 10_000), source) for _ in range(6_000)])
    assert agree(np.bincount(chosen >> 6, minlength=64), distribution.reshape(64, 64).sum(axis=1))


def test_ties_are_broken_evenly() -> None:
    source = Randomness.from_seed(4)
    chosen = [sample_exponential_mechanism([5, 3, 3, 3, 9], Fraction(50), source) for _ in range(6_000)]
    assert agree(np.bincount(chosen, minlength=5), np.array([0, 1, 1, 1, 0]) / 3)


def boundary() -> int:
    """The first 192 binary places of 1 / (1 + exp(-1)): where [0, 1] at rate 1 goes over from 0 to 1."""
    with localcontext(prec=100):
        return int(2**192 / (1 + Decimal(-1).exp()))


def crafted(place: int, words: int = 3) -> Randomness:
    """A source whose first words are the binary places of a number, and what follows is arbitrary."""
    queue = [(place >> 64 * (words - 1 - k) & WORD - 1).to_bytes(8, "little") for k in range(words)]
    arbitrary = Randomness.from_seed(0)
    return Randomness(lambda n: queue.pop(0) if queue and n == 8 else arbitrary.random_bytes(n), is_seeded=True)


@pytest.mark.parametrize("step", [1, 2**30, 2**100, 2**127, 2**130])
def test_a_uniform_number_on_a_boundary_is_refined_to_the_right_candidate(step: int) -> None:
    assert sample_exponential_mechanism([0, 1], Fraction(1), crafted(boundary() - step)) == 0
    assert sample_exponential_mechanism([0, 1], Fraction(1), crafted(boundary() + step)) == 1


def test_a_candidate_of_the_last_bin_can_be_reached_by_its_tiny_weight() -> None:
    source = crafted(2**1024 - 1, words=16)  # a uniform number as near to 1 as 2**-1024
    assert sample_exponential_mechanism([0, 256], Fraction(1), source) == 1


def test_a_single_candidate_is_chosen() -> None:
    assert sample_exponential_mechanism([-7], Fraction(3), Randomness.from_system()) == 0


@pytest.mark.parametrize("penalties", [[], [[1, 2]], [0.5, 1.5], [2**63, 1], ["a"]])
@pytest.mark.parametrize(
    "asked", [lambda given: sample_exponential_mechanism(given, Fraction(1), Randomness.from_system()), None]
)
def test_penalties_that_are_no_row_of_integers_are_refused_and_not_shown(
    penalties: list[int], asked: Callable[[list[int]], object] | None
) -> None:
    ask = asked or (lambda given: selection_probabilities(given, Fraction(1)))
    with pytest.raises(ValueError, match=r"^penalties: a row of at least one integer of 64 bits is needed$"):
        ask(penalties)


def test_a_negative_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="rate: a number of at least 0 is needed"):
        sample_exponential_mechanism([0, 1], Fraction(-1), Randomness.from_system())


def test_candidates_have_no_repr_that_shows_them() -> None:
    assert "987654" not in repr(_bin_penalties(_subtract_least([0, 987654]), Fraction(1)))
