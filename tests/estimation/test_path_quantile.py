"""Quantiles in a tree of noises, and intervals that hold the true ones."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.conversation import Evidence
from dpcurves.distributions import Family, Noise, PathSums
from dpcurves.inference import PathQuantile

IntArray = NDArray[np.int64]

PATH = PathSums(64, (), 6, Noise(Family.LAPLACE, Fraction(6)), Noise(Family.LAPLACE, Fraction(3)))
UNCOUNTED = PathSums(50, (), 6, Noise(Family.GAUSSIAN, Fraction(20)), None)
PUBLIC, PRIVATE = (PATH, 400), (UNCOUNTED, None)


def laplace(noise: Noise, size: int, generator: np.random.Generator) -> IntArray:
    if noise.family is Family.GAUSSIAN:
        return np.rint(generator.normal(0, float(noise.parameter) ** 0.5, size)).astype(np.int64)
    stop = -np.expm1(-1 / float(noise.parameter))
    return np.asarray(generator.geometric(stop, size) - generator.geometric(stop, size))


def everything(distribution: PathSums, total: int | None, exact: IntArray, generator: np.random.Generator) -> Evidence:
    """All counts at once; `exact` ends with the missing ones."""
    noise = np.zeros(distribution.cells + 1, dtype=np.int64)
    for level in range(distribution.levels):
        drawn = laplace(distribution.noise, (distribution.cells >> level) + 1, generator)
        noise[1:] += drawn[np.arange(distribution.cells) >> level]
    values = (exact[:-1] + noise).tolist()
    if distribution.missing is not None:
        values.append(int(exact[-1] + laplace(distribution.missing, 1, generator)[0]))
    return Evidence(replace(distribution, prefix_lengths=tuple(range(distribution.cells + 1))), tuple(values), total)


def searched(evidence: Evidence, p: float, level: float = 0.9) -> tuple[PathQuantile, int]:
    """The search that asks for what it needs and no more, and how many times it asked."""
    at, values = (
        evidence.path_sums.prefix_lengths,
        dict(zip(evidence.path_sums.prefix_lengths, evidence.values, strict=False)),
    )
    missing = evidence.values[len(at) :]
    search = PathQuantile.from_evidence(
        Evidence(replace(evidence.path_sums, prefix_lengths=()), missing, evidence.total), p, level
    )
    turns, known = 0, dict[int, int]()
    while search.next_thresholds:
        turns, known = turns + 1, known | {slots: values[slots] for slots in search.next_thresholds}
        distribution = replace(evidence.path_sums, prefix_lengths=tuple(known))
        search = PathQuantile.from_evidence(
            Evidence(distribution, (*known.values(), *missing), evidence.total), p, level
        )
    return search, turns


@pytest.mark.parametrize(("distribution", "total"), [PUBLIC, PRIVATE])
def test_it_asks_as_often_as_there_are_halves(distribution: PathSums, total: int | None) -> None:
    evidence = everything(distribution, total, np.arange(distribution.cells + 2), np.random.default_rng(1))
    search, turns = searched(evidence, 0.3)
    assert turns == 6
    assert len(search.counts) <= 3 * turns + 1
    lower, middle, upper = search.brackets
    assert lower <= middle <= upper
    assert all(bracket.high - bracket.low == 1 for bracket in search.brackets)


def test_without_noise_the_interval_is_one_cell() -> None:
    exact = np.array([0, 3, 3, 10, 11, 20, 20, 24, 30, 5])  # the last one is missing
    tiny = Noise(Family.LAPLACE, Fraction(1, 1000))
    evidence = everything(PathSums(8, (), 4, tiny, tiny), 35, exact, np.random.default_rng(1))
    for p, slots in ((0.05, 1), (0.09, 1), (0.2, 3), (0.33, 3), (0.35, 4), (0.5, 5), (0.99, 8)):
        search, _ = searched(evidence, p)
        assert search.present_records == 30
        assert search.brackets == ((slots - 1, slots),) * 3


@pytest.mark.parametrize(("distribution", "total"), [PUBLIC, PRIVATE])
def test_quantiles_of_one_tree_do_not_cross(distribution: PathSums, total: int | None) -> None:
    generator = np.random.default_rng(2)
    for _ in range(20):
        exact = np.append(np.sort(generator.integers(0, 300, distribution.cells + 1)), 50)
        evidence = everything(distribution, total, exact, generator)
        found = [searched(evidence, p)[0].brackets[1].high for p in np.linspace(0, 1, 21)]
        assert found == sorted(found)


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize(("distribution", "total"), [PUBLIC, PRIVATE])
def test_the_interval_holds_the_true_quantile_at_least_as_often_as_it_says(
    distribution: PathSums, total: int | None, level: float
) -> None:
    """Steep, flat and jumping curves; 50 trees each, seed 3. Below by 4 standard errors: 1 in 30,000 by chance."""
    generator, trees = np.random.default_rng(3), 50
    places = np.arange(distribution.cells + 1)
    for inner in (places * 6, np.minimum(places // 20 * 130, 390), np.where(places > 30, 380, 0), np.sqrt(places) * 40):
        exact = np.append(inner.astype(np.int64), 0)
        exact[0] = 0
        exact[-1] = 400 - exact[-2]
        for p in (0.25, 0.6):
            true = int(np.argmax(exact[1:-1] >= p * exact[-2])) + 1
            held = 0
            for _ in range(trees):
                lower, _, upper = searched(everything(distribution, total, exact, generator), p, level)[0].brackets
                held += lower.low < true <= upper.high
            assert held / trees >= level - 4 * (level * (1 - level) / trees) ** 0.5
