"""Releases for trials of the auditor: honest ones, most of them with exactly tight noise, and ten kinds of faults.

`benchmarks/auditor_trials.py` audits each by `dpcurves audit package audited_releases:NAME`. The privacy loss of an
honest release is derived in its docstring, where it is not the textbook's.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import e, exp, floor, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcurves.noise import discrete_gaussian, discrete_laplace
from dpcurves.noise.cauchy import sample_cauchy_floor
from dpcurves.noise.exponential import sample_exponential_mechanism
from dpcurves.noise.randomness import Randomness

GENERATOR = np.random.default_rng()
"""A generator with its own seed in each process."""
SYSTEM = Randomness.from_system()
CELLS = 8
VALUES = "values:0:1:8"


def seed_generator() -> None:
    """Seed the generator anew: a forked process must not repeat the noise of its parent."""
    global GENERATOR  # noqa: PLW0603
    GENERATOR = np.random.default_rng()


os.register_at_fork(after_in_child=seed_generator)


class Trial(NamedTuple):
    """A release and its claim.

    Attributes:
        function: The release: from a data set to anything.
        family: The neighbouring data sets, as `dpcurves audit` reads them.
        claim: The options of the claim.
    """

    function: Callable[[Any], Any]
    family: str
    claim: tuple[str, ...]


HONEST: dict[str, Trial] = {}
FAULTY: dict[str, Trial] = {}
Release = Callable[[Any], Any]


def honest(
    family: str = VALUES, adjacency: str = "add-remove", *, epsilon: str | None = "1", **claim: str
) -> Callable[[Release], Release]:
    """Register an honest release with its claim."""
    return _register(HONEST, family, adjacency, {"epsilon": epsilon} | claim)


def faulty(
    family: str = VALUES, adjacency: str = "add-remove", *, epsilon: str | None = "1", **claim: str
) -> Callable[[Release], Release]:
    """Register a release whose claim is false."""
    return _register(FAULTY, family, adjacency, {"epsilon": epsilon} | claim)


def _register(
    trials: dict[str, Trial], family: str, adjacency: str, claim: dict[str, str | None]
) -> Callable[[Release], Release]:
    words = [word for name, value in claim.items() if value is not None for word in (f"--{name}", value)]

    def register(function: Release) -> Release:
        trials[function.__name__] = Trial(function, family, (*words, "--adjacency", adjacency))
        return function

    return register


def geometric(scale: float, size: int | None = None) -> Any:
    """Sample discrete Laplace noise."""
    stop = 1 - exp(-1 / scale)
    noise = GENERATOR.geometric(stop, size) - GENERATOR.geometric(stop, size)
    return int(noise) if size is None else noise


def finite(data: Any) -> NDArray[np.float64]:
    """Return the finite numbers of a column."""
    numbers = np.asarray(data, dtype=np.float64)
    return numbers[np.isfinite(numbers)]


def cells(data: Any, count: int = CELLS) -> NDArray[np.int64]:
    """Return the numbers of records in equal cells from 0 to 1."""
    return np.histogram(finite(data), count, (0, 1))[0]


def unit_sum(data: Any) -> int:
    """Return the sum of all numbers, clipped to 0 and 1, in sixteenths."""
    return int(np.rint(np.clip(finite(data), 0, 1) * 16).sum())


# Sums of noise.


@honest()
def count_with_rounded_laplace(data: Any) -> float:
    return round(len(data) + GENERATOR.laplace(), 1)


@honest(epsilon="0.2")
def geometric_count_of_little_loss(data: Any) -> int:
    return len(data) + geometric(5)


@honest()
def geometric_count(data: Any) -> int:
    return len(data) + geometric(1)


@honest(epsilon="3")
def geometric_count_of_much_loss(data: Any) -> int:
    return len(data) + geometric(1 / 3)


@honest()
def sum_in_sixteenths(data: Any) -> int:
    return unit_sum(data) + geometric(16)


@honest()
def sum_and_count(data: Any) -> dict[str, float]:
    return {"sum": (unit_sum(data) + geometric(32)) / 16, "count": len(data) + geometric(2)}


@honest(epsilon=None, rho="0.5")
def gaussian_count(data: Any) -> int:
    return int(discrete_gaussian.sample(Fraction(1), 1, SYSTEM)[0]) + len(data)


def gaussian_deviation(epsilon: float, delta: float) -> float:
    """Return the least standard deviation for a sensitivity of 1 (Balle and Wang 2018, theorem 8)."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    return float(
        brentq(lambda s: ndtr(0.5 / s - epsilon * s) - exp(epsilon) * ndtr(-0.5 / s - epsilon * s) - delta, 0.05, 1000)
    )


DEVIATIONS = {loss: gaussian_deviation(*loss) for loss in ((1, 1e-3), (0.5, 1e-2), (2, 0.05))}


@honest(delta="0.001")
def gaussian_count_with_delta(data: Any) -> float:
    return round(len(data) + GENERATOR.normal(0, DEVIATIONS[1, 1e-3]), 1)


@honest(epsilon="0.5", delta="0.01")
def gaussian_count_with_a_hundredth(data: Any) -> float:
    return round(len(data) + GENERATOR.normal(0, DEVIATIONS[0.5, 1e-2]), 1)


@honest(epsilon="2", delta="0.05")
def gaussian_count_with_a_twentieth(data: Any) -> float:
    return round(len(data) + GENERATOR.normal(0, DEVIATIONS[2, 0.05]), 1)


@honest(VALUES, "replace-one")
def histogram_of_replaced_records(data: Any) -> list[int]:
    return (cells(data) + geometric(2, CELLS)).tolist()


@honest()
def histogram(data: Any) -> list[int]:
    return (cells(data) + geometric(1, CELLS)).tolist()


@honest(VALUES, "replace-one", epsilon=None, rho="0.5")
def gaussian_histogram(data: Any) -> list[int]:
    return (cells(data) + discrete_gaussian.sample(Fraction(2), CELLS, SYSTEM)).tolist()


@honest()
def tree_of_counts(data: Any) -> list[int]:
    leaves = cells(data)
    nodes = np.concatenate([leaves.reshape(width, -1).sum(axis=1) for width in (1, 2, 4, 8)])
    return (nodes + discrete_laplace.sample(Fraction(4), len(nodes), SYSTEM)).tolist()


@honest()
def sparse_histogram_by_words(data: Any) -> str:
    """Post-processing: large counts alone, as a sentence."""
    noisy = cells(data) + geometric(1, CELLS)
    return "about " + ", ".join(f"{count} in cell {cell}" for cell, count in enumerate(noisy) if count > 1)


@honest()
def heavy_tails(data: Any) -> float:
    """The density is proportional to (1 + |x| / s)**-2, so the loss of a shift by 1 is 2 log(1 + 1 / s) at most."""
    scale = 1 / (exp(0.5) - 1)
    return round(len(data) + GENERATOR.choice((-1, 1)) * scale * (1 / (1 - GENERATOR.random()) - 1), 1)


@honest()
def cauchy_count(data: Any) -> int:
    """The density of scale s changes by a factor of at most exp(1 / s) when it moves by 1."""
    return sample_cauchy_floor(Fraction(len(data)), Fraction(1), SYSTEM)


@honest()
def staircase_count(data: Any) -> float:
    """Staircase mechanism (Geng and Viswanath 2014, algorithm 1)."""
    steps, ratio = GENERATOR.geometric(1 - exp(-1)) - 1, exp(-1)
    gamma = 1 / (1 + exp(0.5))
    inner = GENERATOR.random() < gamma / (gamma + (1 - gamma) * ratio)
    place = gamma * GENERATOR.random() if inner else gamma + (1 - gamma) * GENERATOR.random()
    return floor((len(data) + GENERATOR.choice((-1, 1)) * (steps + place)) * 4) / 4


# Choices.


@honest()
def exponential_mechanism(data: Any) -> int:
    return int(np.argmax(cells(data) / 2 + GENERATOR.gumbel(size=CELLS)))


@honest()
def exponential_mechanism_of_the_package(data: Any) -> int:
    counts = cells(data)
    return sample_exponential_mechanism((counts.max() - counts).astype(np.int64), Fraction(1, 2), SYSTEM)


@honest()
def permute_and_flip(data: Any) -> int:
    """McKenna and Sheldon (2020), algorithm 1."""
    counts = cells(data)
    for cell in GENERATOR.permutation(CELLS):
        if GENERATOR.random() <= exp((counts[cell] - counts.max()) / 2):
            return int(cell)
    raise AssertionError


@honest()
def noisy_largest_count(data: Any) -> int:
    """Report noisy max: exponential noise of scale 2 for counts of sensitivity 1."""
    return int(np.argmax(cells(data) + np.round(GENERATOR.exponential(2, CELLS), 9)))


@honest()
def median_by_ranks(data: Any) -> float:
    """Exponential mechanism: a record moves the distance of a rank to the middle by at most 1/2."""
    edges = np.linspace(0, 1, CELLS + 1)
    ranks = np.searchsorted(np.sort(finite(data)), edges)
    distance = np.abs(ranks - len(finite(data)) / 2)
    return float(edges[np.argmax(-distance + GENERATOR.gumbel(size=len(edges)))])


@honest("answers:8", "replace-one")
def sparse_vector(answers: Any) -> list[bool]:
    """Lyu, Su and Li (2017), algorithm 1, stopped after one answer above."""
    threshold, told = GENERATOR.laplace(0, 2), list[bool]()
    for answer in answers:
        told.append(bool(answer + GENERATOR.laplace(0, 4) >= threshold))
        if told[-1]:
            break
    return told


@honest("answers:8", "replace-one")
def sparse_vector_with_two_answers(answers: Any) -> list[bool]:
    threshold, told = geometric(2), list[bool]()
    for answer in answers:
        told.append(bool(answer + geometric(8) >= threshold))
        if sum(told) == 2:
            break
    return told


@honest("categories:A,B,C", delta="0.01")
def unlisted_categories(data: Any) -> dict[str, int]:
    """A category is shown if its noisy count exceeds a threshold, which a count of 1 exceeds with probability delta."""
    names, counts = np.unique(np.asarray(data), return_counts=True)
    threshold = next(t for t in range(1, 99) if exp(-(t - 1)) * exp(-1) / (1 + exp(-1)) <= 0.01)
    noisy = counts + geometric(1, len(names)) if len(names) else counts
    return {str(name): int(count) for name, count in zip(names, noisy, strict=True) if count > threshold}


@honest("categories:A,B,C")
def listed_categories(data: Any) -> dict[str, int]:
    return {name: int(np.count_nonzero(np.asarray(data) == name)) + geometric(1) for name in "ABC"}


# Randomised responses and samples.


@honest(VALUES, "replace-one")
def responses_of_records(data: Any) -> int:
    """Each record answers whether it is above 1/2, falsely with probability 1 / (1 + e)."""
    bits = np.asarray(data, dtype=np.float64) > 0.5
    return int(np.count_nonzero(bits ^ (GENERATOR.random(len(bits)) < 1 / (1 + e))))


@honest("categories:A,B,C", "replace-one")
def responses_among_categories(data: Any) -> list[int]:
    """Direct encoding of four categories, the last one of all other texts; each answer is true with weight e to 1."""
    at = np.array(["ABC".find(str(text)) if len(str(text)) == 1 else 3 for text in data], dtype=np.int64) % 4
    told = np.where(GENERATOR.random(len(at)) < (e - 1) / (e + 3), at, GENERATOR.integers(0, 4, len(at)))
    return np.bincount(told, minlength=4).tolist()


@honest(epsilon="2")
def one_bit(data: Any) -> bool:
    return bool((len(data) > 0) ^ (GENERATOR.random() < 1 / (1 + exp(2))))


@honest()
def subsampled_count(data: Any) -> int:
    """Half of the records count: a loss of log(1 + (e - 1) / (1/2)) there is a loss of 1 here."""
    return int(GENERATOR.binomial(len(data), 0.5)) + geometric(1 / log(1 + (e - 1) / 0.5))


@honest()
def subsampled_histogram(data: Any) -> list[int]:
    kept = np.asarray(data)[GENERATOR.random(len(data)) < 0.1]
    return (cells(kept) + geometric(1 / log(1 + (e - 1) / 0.1), CELLS)).tolist()


# Streams, units and scores.


@honest("streams:8")
def counts_of_steps(counts: Any) -> list[int]:
    return (np.asarray(counts, dtype=np.int64) + geometric(1, len(counts))).tolist()


@honest("streams:8")
def binary_counter(counts: Any) -> list[int]:
    """Four levels of dyadic sums: each tuple is in one of each."""
    steps = np.asarray(counts, dtype=np.int64)
    sums = {
        (level, at): int(steps[at << level : (at + 1) << level].sum()) + geometric(4)
        for level in range(4)
        for at in range(len(steps) >> level)
    }
    told = []
    for end in range(1, len(steps) + 1):
        total, start = 0, 0
        for level in reversed(range(4)):
            if end >> level & 1:
                total += sums[level, start >> level]
                start += 1 << level
        told.append(total)
    return told


@honest("units:0:1:4:2")
def two_records_of_each_unit(data: Any) -> list[int]:
    taken: dict[str, int] = {}
    kept = list[float]()
    for unit, value in zip(data["unit"], data["value"], strict=True):
        taken[str(unit)] = taken.get(str(unit), 0) + 1
        if taken[str(unit)] <= 2:
            kept.append(float(value))
    return (cells(kept, 4) + geometric(2, 4)).tolist()


@honest("scores:0:1:4")
def table_of_scores(data: Any) -> list[list[int]]:
    labels, scores = np.asarray(data["label"]), np.asarray(data["score"], dtype=np.float64)
    return [(cells(scores[labels == label], 4) + geometric(1, 4)).tolist() for label in (0, 1)]


# Behaviour of services that is the same for all data.


@honest()
def repeated_answer_under_one_key(data: Any) -> list[int]:
    """The key is drawn for this call; the same question has the same noise, and is charged once."""
    key = os.urandom(32)
    return [len(data) + int(discrete_laplace.sample(Fraction(1), 1, Randomness.from_key(key, "count"))[0])] * 3


@honest()
def slow_call(data: Any) -> int:
    time.sleep(0.02)
    return len(data) + geometric(1)


@honest()
def call_of_uneven_pace(data: Any) -> int:
    if GENERATOR.random() < 0.01:
        time.sleep(0.1)
    return len(data) + geometric(1)


@honest()
def call_that_sometimes_fails(data: Any) -> int:
    if GENERATOR.random() < 0.3:
        raise TimeoutError("the database did not answer")
    return len(data) + geometric(1)


@honest()
def answer_that_is_sometimes_missing(data: Any) -> int | None:
    noisy = len(data) + geometric(1)
    return noisy if GENERATOR.random() < 0.9 else None


@honest()
def negative_counts_are_refused(data: Any) -> int:
    """Post-processing, with an error that names a noisy number."""
    noisy = len(data) + geometric(1)
    if noisy < 0:
        raise ValueError(f"the noisy count is {noisy}")
    return noisy


# Faults.


@faulty()
def thirty_percent_too_little_noise(data: Any) -> list[int]:
    return (cells(data) + geometric(0.7, CELLS)).tolist()


@faulty()
def tail_that_is_cut(data: Any) -> int:
    return len(data) + max(-7, min(7, geometric(1)))


@faulty()
def rare_branch(data: Any) -> int:
    if np.any(np.asarray(data, dtype=np.float64) > 0.8) and GENERATOR.random() < 0.015:
        return -10_000
    return len(data) + geometric(1)


@faulty()
def few_seeds(data: Any) -> list[int]:
    noise = np.random.default_rng(os.urandom(1)[0])
    return [int(count + noise.geometric(1 - exp(-1)) - noise.geometric(1 - exp(-1))) for count in cells(data)]


@faulty(delta="0.0001")
def too_large_delta(data: Any) -> float:
    return round((len(data) + GENERATOR.normal(0, 1.9)) * 4) / 4


@faulty()
def low_bits(data: Any) -> float:
    """The noise lies on a lattice; the sum does not."""
    return float(np.clip(finite(data), 0, 1).sum()) + geometric(16) / 16


@faulty()
def one_noise_for_two_cells(data: Any) -> dict[str, int]:
    below = int(np.count_nonzero(np.asarray(data, dtype=np.float64) < 0.5))
    noise = geometric(1)
    return {"below": below + noise, "above": len(data) - below + noise}


@faulty()
def noise_seeded_by_the_data(data: Sequence[float]) -> float:
    hour = int(time.time()) // 3600
    return len(data) + round(random.Random(f"{sorted(map(str, data))} {hour}").gauss(0, 3), 2)


@faulty()
def occupied_cells_alone(data: Any) -> dict[str, int]:
    return {str(cell): int(count) + geometric(1) for cell, count in enumerate(cells(data)) if count}


@faulty(VALUES, "replace-one")
def sensitivity_of_add_remove(data: Any) -> list[int]:
    return (cells(data) + geometric(1, CELLS)).tolist()
