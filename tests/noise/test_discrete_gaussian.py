"""Discrete Gaussian noise follows its distribution exactly, at every variance."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from agreement import UNSEEDED, agree, alike, follows
from canonne_kamath_steinke import discrete_gaussian as as_printed
from scipy.stats import norm

from dpcurves.noise import Randomness
from dpcurves.noise.discrete_gaussian import (
    ONE_PROBABILITY,
    RejectionSampler,
    StepEnvelope,
    _accept,
    _build_sampler,
    sample,
)

VARIANCES = [Fraction(1, 9), Fraction(2, 3), Fraction(1), Fraction(10, 3), Fraction(100), Fraction(120**2)]


@pytest.mark.parametrize("parameter", [*VARIANCES, Fraction(200**2), Fraction(10**7, 3)], ids=str)
def test_draws_follow_the_distribution(parameter: Fraction) -> None:
    draws = sample(parameter, 1_000_000, Randomness.from_seed(1))
    assert draws.dtype == np.int64
    assert follows(draws, lambda z: exp(-z * z / (2 * parameter)), reach=int(8 * float(parameter) ** 0.5) + 3)


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("parameter", [Fraction(20, 3), Fraction(400)], ids=str)
def test_draws_follow_the_distribution_where_much_is_refused(parameter: Fraction, bits: int) -> None:
    stairs, source = RejectionSampler(StepEnvelope(1 / (2 * parameter), bits)), Randomness.from_seed(bits)
    draws, kept = stairs.propose(40_000, source)
    assert follows(draws[kept], lambda z: exp(-z * z / (2 * parameter)), reach=int(8 * float(parameter) ** 0.5))


@pytest.mark.parametrize("parameter", [Fraction(200**2), Fraction(10**10, 3), Fraction(2**110)], ids=str)
def test_no_excess_is_beyond_its_doubt(parameter: Fraction) -> None:
    stairs = _build_sampler(parameter)
    doubts, furthest = stairs._doubts.tolist(), (1 << stairs._steps.bits) - 1
    for outcome in range(len(doubts) - 1):
        assert stairs._steps.exponent_excess(outcome, furthest) * ONE_PROBABILITY <= doubts[outcome] < ONE_PROBABILITY
    assert doubts[-1] == ONE_PROBABILITY


@pytest.mark.parametrize("excess", [Fraction(0), Fraction(1, 7), Fraction(1, 4), Fraction(9, 4)])
def test_a_number_is_kept_with_the_exponential_of_its_excess(excess: Fraction) -> None:
    source, tosses = Randomness.from_seed(3), 40_000
    doubt = ONE_PROBABILITY if excess > 1 else ONE_PROBABILITY // 4
    first = source.sample_halfwords(tosses) < doubt
    kept = sum(1 if not heads else int(_accept(excess, doubt, source)) for heads in first)
    assert agree(np.array([kept, tosses - kept]), np.array([exp(-excess), 1 - exp(-excess)]))


@pytest.mark.parametrize("parameter", [Fraction(1, 2), Fraction(7, 2), Fraction(200)], ids=str)
def test_draws_agree_with_the_printed_algorithm(parameter: Fraction) -> None:
    source = Randomness.from_seed(2)
    printed = np.array([as_printed(parameter, source) for _ in range(8_000)])
    assert alike(sample(parameter, 200_000, source), printed)


@pytest.mark.parametrize("parameter", [Fraction(10**20, 7), Fraction(2**110)], ids=str)
def test_large_variances_follow_the_distribution_in_coarse_cells_and_in_the_last_places(parameter: Fraction) -> None:
    draws, deviation = sample(parameter, 400_000, Randomness.from_seed(3)), float(parameter) ** 0.5
    edges = np.array([int(deviation * k / 16) for k in range(-64, 65)])
    counts = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=edges.size + 1)
    assert agree(counts, np.diff(norm.cdf(edges / deviation), prepend=0.0, append=1.0))
    assert agree(np.bincount(draws % 1000), np.full(1000, 1 / 1000))


def test_a_tiny_variance_gives_zeros() -> None:
    for parameter in (Fraction(1, 1000), Fraction(1, 10**40)):
        assert not sample(parameter, 10_000, Randomness.from_seed(4)).any()


def test_a_seed_gives_the_same_noise_for_ever() -> None:
    assert sample(Fraction(100), 8, Randomness.from_seed(0)).tolist() == [5, -16, -8, -3, -1, -4, 6, -22]
    assert sample(Fraction(10**18, 7), 4, Randomness.from_seed(0)).tolist() == [
        -209585311,
        590036492,
        -296139967,
        104695452,
    ]


def test_no_draws_are_asked_for() -> None:
    assert sample(Fraction(3), 0, Randomness.from_system()).shape == (0,)


@pytest.mark.parametrize("parameter", [Fraction(0), Fraction(-1), Fraction(2**110) + 1])
def test_a_variance_out_of_range_is_refused(parameter: Fraction) -> None:
    with pytest.raises(ValueError, match=r"variance: a number "):
        sample(parameter, 1, Randomness.from_system())


def test_draws_agree_with_opendp() -> None:
    """OpenDP takes no seed: false alarms are 1e-9."""
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l2_distance(T="i64")
    theirs = np.array(opendp.m.make_gaussian(*space, scale=3.5)([0] * 20_000))
    assert alike(sample(Fraction(49, 4), 400_000, Randomness.from_system()), theirs, rate=UNSEEDED)
