"""Discrete Laplace noise follows its distribution exactly, at every scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from math import exp, expm1
from typing import Any

import numpy as np
import pytest
from agreement import UNSEEDED, agree, alike, follows
from canonne_kamath_steinke import discrete_laplace as as_printed

from dpcurves.distributions import Family, Noise
from dpcurves.noise import Randomness, discrete_laplace
from dpcurves.noise.discrete_laplace import _build_tables, sample
from dpcurves.noise.exponential import Bracket, InversionTable, bound_cumulative, one_bracket

SCALES = [Fraction(1, 5), Fraction(2, 3), Fraction(1), Fraction(10, 3), Fraction(10), Fraction(1001, 10)]


@pytest.mark.parametrize("scale", [*SCALES, Fraction(12345, 7)], ids=str)
def test_draws_follow_the_distribution(scale: Fraction) -> None:
    draws = sample(scale, 1_000_000, Randomness.from_seed(1))
    assert draws.dtype == np.int64
    assert follows(draws, lambda z: exp(-abs(z) / scale), reach=int(30 * scale) + 3)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(10, 3), Fraction(50), Fraction(3000)], ids=str)
def test_the_tables_make_up_the_distribution_exactly(scale: Fraction) -> None:
    tables, ratio = _build_tables(scale), -Decimal(scale.denominator) / Decimal(scale.numerator)
    with localcontext(prec=40):
        zero = (1 - ratio.exp()) / (1 + ratio.exp())
        for z in (*range(-60, 60), -977, 1234):
            found, true = probability(tables, z), zero * (abs(z) * ratio).exp()
            assert abs(found - true) <= Decimal(10) ** -17  # each table to 2**-64


def probability(tables: discrete_laplace.InversionTables, z: int) -> Decimal:
    """The probability of z, from the thresholds of the digits that make it up."""
    magnitude, chance = (z if z >= 0 else -1 - z), Decimal(1)
    for width, table in reversed(tables.digits):
        chance *= between(table, magnitude % 2**width)
        magnitude >>= width
    return chance * between(tables.highest_digit, 2 * magnitude + (z < 0))


def between(table: InversionTable, outcome: int) -> Decimal:
    """The probability of an outcome, to 2**-64."""
    lower = [0, *bound_cumulative(table._distribution, 64)[0]]
    found = lower[outcome : outcome + 2]
    return Decimal(found[1] - found[0]) / 2**64 if len(found) == 2 else Decimal(0)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 2), Fraction(40)], ids=str)
def test_draws_agree_with_the_printed_algorithm(scale: Fraction) -> None:
    source = Randomness.from_seed(2)
    printed = np.array([as_printed(scale, source) for _ in range(10_000)])
    assert alike(sample(scale, 200_000, source), printed)


@pytest.mark.parametrize("scale", [Fraction(2**40, 3), Fraction(2**60, 2**5 + 1), Fraction(2**55)], ids=str)
def test_large_scales_follow_the_distribution_in_coarse_cells_and_in_the_last_places(scale: Fraction) -> None:
    draws = sample(scale, 400_000, Randomness.from_seed(3))
    edges = np.array([int(scale * Fraction(k, 8)) for k in range(-48, 49)])
    counts = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=edges.size + 1)
    below = np.where(edges < 0, np.exp(edges / float(scale)) / 2, 1 - np.exp(-edges / float(scale)) / 2)
    assert agree(counts, np.diff(below, prepend=0.0, append=1.0))
    assert agree(np.bincount(draws % 1000), np.full(1000, 1 / 1000))


def test_a_tiny_scale_gives_zeros() -> None:
    for scale in (Fraction(1, 1000), Fraction(1, 10**40)):
        assert not sample(scale, 10_000, Randomness.from_seed(4)).any()


@dataclass(frozen=True)
class Far:
    """A highest digit, of either sign, that no scale gives with a probability above exp(-256)."""

    def weights(self, bits: int) -> tuple[list[Bracket], int]:
        """The weights of the outcomes up to 2**14 + 1, of which only the last two have any."""
        return [(0, 0)] * 2**14 + [one_bracket(bits)] * 2, 0


def test_what_does_not_fit_64_bits_is_cut_to_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = _build_tables(Fraction(2**55))
    monkeypatch.setattr(
        discrete_laplace, "_build_tables", lambda scale: replace(usual, highest_digit=InversionTable(Far()))
    )
    draws = sample(Fraction(2**55), 1000, Randomness.from_seed(6))
    edge = 2**63 - 2**usual.bits  # the lower digits are as random as ever
    assert np.all((draws >= edge) | (draws < -edge))
    assert 400 < np.sum(draws > 0) < 600


@pytest.mark.parametrize("scale", [*SCALES, Fraction(10**6)], ids=str)
def test_the_variance_is_that_of_the_distribution(scale: Fraction) -> None:
    variance = Noise(Family.LAPLACE, scale).variance
    if scale < 1000:
        support = range(1, int(60 * scale) + 30)
        total = 1 + 2 * sum(exp(-z / scale) for z in support)
        assert variance == pytest.approx(2 * sum(z * z * exp(-z / scale) for z in support) / total, rel=1e-9)
    assert variance == pytest.approx(2 * exp(-1 / scale) / expm1(-1 / scale) ** 2, rel=1e-12)


def test_a_seed_gives_the_same_noise_for_ever() -> None:
    assert sample(Fraction(10), 8, Randomness.from_seed(0)).tolist() == [5, 21, 8, 2, -1, 3, -7, -35]
    assert sample(Fraction(10**9, 7), 4, Randomness.from_seed(0)).tolist() == [
        -68313444,
        -289670374,
        125251833,
        -33008795,
    ]


def test_no_draws_are_asked_for() -> None:
    assert sample(Fraction(3), 0, Randomness.from_system()).shape == (0,)


def test_a_scale_of_numpy_integers_is_as_exact() -> None:
    top: Any = np.int64(2**40)
    drawn = sample(Fraction(top, 3), 50, Randomness.from_seed(5))
    assert drawn.tolist() == sample(Fraction(2**40, 3), 50, Randomness.from_seed(5)).tolist()


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**55) + 1])
def test_a_scale_out_of_range_is_refused(scale: Fraction) -> None:
    with pytest.raises(ValueError, match=r"scale: a number "):
        sample(scale, 1, Randomness.from_system())


def test_a_float_is_refused_as_it_does_not_say_which_number_is_meant() -> None:
    with pytest.raises(TypeError, match=r"scale: a Fraction is needed, as in Fraction\(1, 2\), got float"):
        sample(0.1, 1, Randomness.from_system())  # type: ignore[arg-type]


def test_a_negative_number_of_draws_is_refused() -> None:
    with pytest.raises(ValueError, match="size: a number of draws of at least 0"):
        sample(Fraction(1), -1, Randomness.from_system())


def test_draws_agree_with_opendp() -> None:
    """OpenDP takes no seed: false alarms are 1e-9."""
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l1_distance(T="i64")
    theirs = np.array(opendp.m.make_laplace(*space, scale=3.5)([0] * 20_000))
    assert alike(sample(Fraction(7, 2), 400_000, Randomness.from_system()), theirs, rate=UNSEEDED)
