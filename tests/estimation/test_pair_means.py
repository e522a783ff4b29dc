"""Intervals of means over pairs hold about as often as they say, whatever the values are."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.distributions import distribution_from_json
from dpcurves_parties.pairs.mechanisms import COLLISION, GINI, KENDALL, Kernel
from dpcurves_parties.pairs.queries import PairAnswers, PairSum
from dpcurves_parties.pairs.readings import estimate_pair_mean, find_pair_interval

PEOPLE, KINDS, RELEASES, FEW, LEVEL = 400, 64, 250, 125, 0.8
EACH, ON_SUM = dp.pairs.NoisePlacement.EACH, dp.pairs.NoisePlacement.ON_SUM
BYTE = dp.pairs.Unsigned(8)
KENDALL_8, GINI_8, COLLISION_8 = (
    KENDALL.with_columns(first=BYTE, second=BYTE),
    GINI.with_columns(value=BYTE),
    COLLISION.with_columns(value=BYTE),
)


def population(kind: str) -> tuple[IntArray, FloatArray]:
    """Two columns of 64 kinds of people, and the share of each."""
    generator, even = np.random.default_rng(4), np.full(KINDS, 1 / KINDS)
    if kind == "tied":
        return generator.integers(0, 3, (2, KINDS)), even
    if kind == "heaped":
        tens = generator.integers(0, 25, KINDS) * 10
        return np.stack([tens, generator.integers(0, 256, KINDS)]), generator.dirichlet(0.3 * np.ones(KINDS))
    if kind == "zeros":
        mostly = np.where(np.arange(KINDS) < 8, 0, generator.integers(0, 256, (2, KINDS)))
        return mostly, np.where(np.arange(KINDS) < 8, 0.1, 0.2 / (KINDS - 8))
    first = np.arange(KINDS) * 4
    return np.stack([first, np.clip(first + generator.integers(-60, 60, KINDS), 0, 255)]), even


def held(
    kernel: Kernel, kind: str, noise: dp.pairs.NoisePlacement, each: int, epsilon: int, *, releases: int
) -> tuple[float, float]:
    """How often intervals have the population's mean, and that of all pairs of these people."""
    columns, shares = population(kind)
    values = dict(zip(kernel.columns, columns, strict=False))
    one, other = np.repeat(np.arange(KINDS), KINDS), np.tile(np.arange(KINDS), KINDS)
    table = kernel.evaluate(*({name: each_[who] for name, each_ in values.items()} for who in (one, other)))
    means = table.reshape(KINDS, KINDS)
    plan = dp.pairs.plan(kernel, people=PEOPLE, pairs_per_person=each, loss=dp.PrivacyLoss.pure(epsilon), noise=noise)
    generator, found = np.random.default_rng(7), np.zeros(2)
    for number in range(releases):
        drawn = generator.choice(KINDS, PEOPLE, p=shares)
        counts = np.bincount(drawn, minlength=KINDS)
        ordered = counts @ means @ counts - counts @ means.diagonal()
        truths = shares @ means @ shares, ordered / (PEOPLE * (PEOPLE - 1))
        told = dp.pairs.simulate(
            kernel, {name: each_[drawn] for name, each_ in values.items()}, plan,
            seed=generator.bytes(32), randomness=dp.Randomness.from_seed(number),
        )  # fmt: skip
        ends = told.interval(LEVEL, population=True), told.interval(LEVEL)
        found += [low <= truth <= high for (low, high), truth in zip(ends, truths, strict=True)]
    return float(found[0] / releases), float(found[1] / releases)


@pytest.mark.reproduction
@pytest.mark.parametrize(
    ("kernel", "kind", "each", "epsilon"),
    [
        (COLLISION_8, "tied", 1, 8), (KENDALL_8, "heaped", 2, 2), (COLLISION_8, "zeros", 4, 8),
        (GINI_8, "smooth", 1, 4), (GINI_8, "zeros", 4, 1),
    ],
    ids=lambda given: str(given) if not isinstance(given, Kernel) else given.columns[0],
)  # fmt: skip
def test_intervals_of_answers_hold_as_often_as_they_say(kernel: Kernel, kind: str, each: int, epsilon: int) -> None:
    """For the population 80%, from both sides within 4 standard errors and a little; for these records at least."""
    error = 4 * sqrt(LEVEL * (1 - LEVEL) / RELEASES)
    people, records = held(kernel, kind, EACH, each, epsilon, releases=RELEASES)
    assert LEVEL - error < people < LEVEL + error + 0.02
    assert records > LEVEL - error


@pytest.mark.reproduction
@pytest.mark.parametrize(("each", "most"), [(1, 0.92), (4, 1.0)])
def test_intervals_of_a_noisy_sum_hold_and_are_exact_for_a_kernel_of_two_values(each: int, most: float) -> None:
    error = 4 * sqrt(LEVEL * (1 - LEVEL) / FEW)
    people, records = held(COLLISION_8, "tied", ON_SUM, each, 2, releases=FEW)
    assert LEVEL - error < people <= most
    assert records > LEVEL - error


def test_where_no_pair_came_nothing_is_known() -> None:
    known = (9, 0, 0, 0, -1, 1, Fraction(1, 2))
    for distribution in (PairAnswers(*known, Fraction(0), Fraction(1, 3)), PairSum(*known, Fraction(1))):
        values = distribution.blank_values()
        assert estimate_pair_mean(distribution, values) == 0
        for population_too in (True, False):
            assert find_pair_interval(distribution, values, 0.9, population=population_too) == (-0.5, 0.5)
        assert distribution_from_json(distribution.to_json(values, None)) == distribution


def test_intervals_stay_in_range_whatever_was_told() -> None:
    answers = PairAnswers(100, 50, 0, 50, 0, 1, Fraction(1), Fraction(1, 4), Fraction(1, 2))
    total = PairSum(100, 50, 0, 50, 0, 1, Fraction(1), Fraction(1, 100))
    for told in (-(10**9), 0, 25, 50, 10**9):
        for distribution, values in ((answers, (told, abs(told), 0)), (total, (told,))):
            low, high = find_pair_interval(distribution, values, 0.95, population=True)
            assert 0 <= low <= high <= 1
