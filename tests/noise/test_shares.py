"""Noise in shares: of Polya variables the distribution is exact; what sums of discrete Gaussians lose is bounded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from agreement import alike, follows
from numpy.typing import NDArray

from dpcurves.codec import STORED_CODEC
from dpcurves.distributions import Family, Noise
from dpcurves.distributions.output_distribution import simulate_noise
from dpcurves.noise import Randomness, discrete_gaussian
from dpcurves_sites import shares
from dpcurves_sites.shares import (
    PolyaBlocks,
    decide_acceptance,
    gaussian_overhead,
    gaussian_parameter,
    sample_polya_differences,
)

HONEST = [(m, c) for m in range(2, 6) for c in range(m)]
"""Numbers of parties, and of those that collude."""


def intensity(distribution: PolyaBlocks, integer: int) -> Fraction:
    """Factor of ``r**k`` in the intensity at an integer: of proposals, times that of the chance that one is kept."""
    block = integer.bit_length() - 1
    proposed = (
        distribution.shape
        / 2**block
        / (1 if block < distribution.first_tail_block else distribution.compute_factor(block))
    )
    return Fraction(proposed * Fraction(distribution.compute_factor(block) << block, integer))


def series(coefficients: list[Fraction]) -> list[Fraction]:
    """The exponential of a power series without a constant (Panjer's recursion)."""
    found = [Fraction(1)]
    for k in range(1, len(coefficients)):
        found.append(sum((j * coefficients[j] * found[k - j] for j in range(1, k + 1)), Fraction(0)) / k)
    return found


def convolved(one: list[Fraction], other: list[Fraction]) -> list[Fraction]:
    return [sum((one[j] * other[k - j] for j in range(k + 1)), Fraction(0)) for k in range(len(one))]


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(5), Fraction(17, 2)], ids=str)
@pytest.mark.parametrize(("m", "c"), HONEST)
def test_honest_shares_add_up_to_geometric_variables_exactly(m: int, c: int, scale: Fraction) -> None:
    """Coefficient by coefficient of r**k, in fractions: ``(1 - r)**a`` each, whose product is ``1 - r``."""
    distribution = PolyaBlocks(scale, Fraction(1, m - c))
    share = series([Fraction(0), *(intensity(distribution, k) for k in range(1, 40))])
    rising = Fraction(1)
    for k, weight in enumerate(share):
        assert weight == rising
        rising = rising * (distribution.shape + k) / (k + 1)
    together = [Fraction(1), *[Fraction(0)] * 39]
    for _ in range(m - c):
        together = convolved(together, share)
    assert together == [1] * 40


@pytest.mark.parametrize(("m", "c"), HONEST)
def test_honest_sums_are_discrete_laplace_to_machine_precision(m: int, c: int) -> None:
    """From the very chances that points are kept with, to 2**-100."""
    scale, reach = Fraction(3, 2), 120
    distribution, r = PolyaBlocks(scale, Fraction(1, m - c)), exp(-2 / 3)
    jumps = [0.0]
    for k in range(1, reach):
        block = k.bit_length() - 1
        proposed = (
            distribution.shape
            / 2**block
            / (1 if block < distribution.first_tail_block else distribution.compute_factor(block))
        )
        low, high = distribution.bound_acceptance(block, k, 100)
        assert 0 <= high - low < 2**16
        jumps.append(float(proposed * low / 2**100))
    polya = [(1 - r) ** float(distribution.shape)]
    for k in range(1, reach):
        polya.append(sum(j * jumps[j] * polya[k - j] for j in range(1, k + 1)) / k)
    share = np.convolve(polya, polya[::-1])
    together = np.ones(1)
    for _ in range(m - c):
        together = np.convolve(together, share)
    centre = len(together) // 2
    true = (1 - r) / (1 + r) * r ** np.abs(np.arange(-40, 41))
    assert np.allclose(together[centre - 40 : centre + 41], true, rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(4), Fraction(21, 2)], ids=str)
def test_draws_follow_the_distribution(scale: Fraction) -> None:
    shape, reach = 0.25, int(40 * scale) + 20
    r = exp(-1 / scale)
    polya = [(1 - r) ** shape]
    for k in range(4 * reach):
        polya.append(polya[-1] * (shape + k) / (k + 1) * r)
    distribution = np.convolve(polya, polya[::-1])
    centre = len(polya) - 1
    draws = sample_polya_differences(scale, Fraction(1, 4), 1_000_000, Randomness.from_seed(1))
    assert draws.dtype == np.int64
    assert follows(draws, lambda z: float(distribution[centre + z]), reach)
    added = draws.reshape(4, -1).sum(axis=0)
    assert follows(added, lambda z: exp(-abs(z) / scale), reach)


def test_wide_noise_has_the_moments_of_its_distribution() -> None:
    scale = Fraction(2**33, 3)
    draws = sample_polya_differences(scale, Fraction(1, 5), 500_000, Randomness.from_seed(2)).astype(float) / float(
        scale
    )
    assert draws.mean() == pytest.approx(0, abs=4 * (0.4 / 500_000) ** 0.5)
    assert (draws**2).mean() == pytest.approx(0.4, rel=4 * (17 / 500_000) ** 0.5)
    assert (draws == 0).mean() == pytest.approx(0.0, abs=1e-3)  # (1 - r)**0.4 is 1.3e-4


@dataclass
class Words:
    """A source of chosen words, one at a time."""

    given: Iterator[int]
    seeded: bool = True

    def sample_words(self, count: int) -> NDArray[np.uint64]:
        return np.array([next(self.given) for _ in range(count)], dtype=np.uint64)


@pytest.mark.parametrize(("block", "integer"), [(0, 1), (1, 3), (3, 11), (5, 40)])
def test_a_word_at_the_border_is_refined_until_it_is_proven(block: int, integer: int) -> None:
    distribution = PolyaBlocks(Fraction(7, 2), Fraction(1, 3))  # its tail begins with block 2
    with localcontext(prec=80):
        factor = Decimal(2 ** (max(0, block - 1) + block)) / integer
        chance = factor * (-Decimal(integer) * 2 / 7).exp()
        places = int(chance * 2**192)
    first, second, third = places >> 128, places >> 64 & (1 << 64) - 1, places & (1 << 64) - 1
    for word, kept in ((third - 2, True), (third + 2, False)):
        source: object = Words(iter([second, word]))
        assert decide_acceptance(distribution, block, integer, first, source) is kept  # type: ignore[arg-type]


def test_refused_arguments_are_named() -> None:
    source = Randomness.from_seed(0)
    for scale, shape, name in ((0, 1, "scale"), (2**51, 1, "scale"), (1, 0, "shape"), (1, 2, "shape")):
        with pytest.raises(ValueError, match=name):
            sample_polya_differences(Fraction(scale), Fraction(shape), 1, source)


# Sums of discrete Gaussians.


def of_sum(variance: float, parties: int, reach: int) -> NDArray[np.float64]:
    support = np.arange(-reach, reach + 1, dtype=np.float64)
    one = np.exp(-(support**2) / (2 * variance / parties))
    distribution = one = one / one.sum()
    for _ in range(parties - 1):
        distribution = np.convolve(distribution, one)
    centre = len(distribution) // 2
    return np.asarray(distribution[centre - reach : centre + reach + 1])


def dearest(variance: float, parties: int, moved: int) -> float:
    """By how much, in parts, the sum is dearer than one discrete Gaussian: the worst of many Renyi orders."""
    distribution = of_sum(variance, parties, reach=int(10 * variance**0.5) + 30)
    here, there = distribution[moved:], distribution[:-moved]
    usable = (here > 1e-280) & (there > 1e-280)
    logs = np.log(here[usable]), np.log(there[usable])
    worst = -1.0
    for order in (1.001, 1.01, 1.1, 1.3, 1.6, 2.0, 3.0, 4.0):
        divergence = log(float(np.exp(order * logs[0] - (order - 1) * logs[1]).sum())) / (order - 1)
        worst = max(worst, divergence / order * 2 * variance / moved**2 - 1)
    return worst


@pytest.mark.parametrize(("m", "c"), [pair for pair in HONEST if pair[0] - pair[1] > 1])
def test_what_an_honest_sum_of_gaussians_loses_is_below_the_bound(m: int, c: int) -> None:
    honest = m - c
    for each in (0.4, 0.6, 0.8, 1.0, 1.5):
        bound = gaussian_overhead(each * honest, honest)
        for moved in (1, 2, 3):
            assert dearest(each * honest, honest, moved) <= bound + 1e-9


def test_a_sum_of_narrow_gaussians_does_lose_more_than_one() -> None:
    assert dearest(0.6, 2, 1) > 0.01
    with pytest.raises(ValueError, match="in 2 shares costs more than 1 %"):
        gaussian_parameter(Fraction(6, 10), 2)


@pytest.mark.parametrize("parties", [1, 2, 7, 64])
def test_the_raised_variance_pays_for_the_overhead(parties: int) -> None:
    variance = Fraction(parties * 11, 10)
    raised = gaussian_parameter(variance, parties)
    assert variance <= raised <= variance * Fraction(101, 100)
    assert (1 + gaussian_overhead(float(raised), parties)) / float(raised) <= 1 / float(variance)
    assert (raised == variance) is (parties == 1)


def test_shares_of_gaussians_are_discrete_gaussians() -> None:
    mine = shares.sample_gaussian_share(Fraction(21), 3, 1000, Randomness.from_seed(3))
    assert mine.tolist() == discrete_gaussian.sample(Fraction(7), 1000, Randomness.from_seed(3)).tolist()


# The distribution of all shares together, as releases tell it.


def test_the_distribution_of_shares_tells_their_sum_and_is_read_back() -> None:
    of_ten = Noise(Family.LAPLACE, Fraction(10, 3)).sum_over_parties(Fraction(10, 7))
    assert of_ten.variance == pytest.approx(Noise(Family.LAPLACE, Fraction(10, 3)).variance * 10 / 7)
    assert STORED_CODEC.encode(of_ten)["parties"] == "10/7"
    assert STORED_CODEC.decode(Noise, STORED_CODEC.encode(of_ten)) == of_ten
    assert of_ten.sum_over_parties(Fraction(10, 5)) == Noise(Family.LAPLACE, Fraction(10, 3), 2)
    drawn = (
        sample_polya_differences(Fraction(10, 3), Fraction(1, 7), 10 * 200_000, Randomness.from_seed(4))
        .reshape(10, -1)
        .sum(axis=0)
    )
    simulated = simulate_noise(of_ten, (200_000,), np.random.default_rng(5)).astype(np.int64)
    assert alike(drawn, simulated)
