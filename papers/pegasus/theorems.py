"""What chapter 5 proves, and its examples, on tiny streams and random groups."""

from __future__ import annotations

from fractions import Fraction

import as_printed
import grouper
import numpy as np
from numpy.typing import NDArray
from reproduction.measured import Findings, Measured
from sizes import Size

from dpcurves.distributions import Family, Noise
from dpcurves.mechanisms.thresholds import path_sensitivity
from dpcurves_streams.distributions import GroupedCounts
from dpcurves_streams.mechanisms.pegasus import (
    LATTICE_UNITS_PER_TUPLE,
    STATE_COLUMNS,
    build_fenwick_trees,
    decide_groups,
)
from dpcurves_streams.readings import GroupEstimator, Smoother
from dpcurves_streams.readings.groups import smooth_in_groups

FloatArray = NDArray[np.float64]
THRESHOLD, LEVELS, STATES, TUPLES, TIME_STEPS = 2.0, 8, 128, 646_254, 20_000
GROUP = 20


def findings(size: Size, seed: int) -> Findings:
    """All claims that need no data."""
    generator = np.random.default_rng(seed)
    printed, corrected = _james_stein(size.groups, generator)
    return {
        "lemma16-sensitivity": Measured(grouper.sensitivity(size.longest + 1)),
        "theorem17-loss": Measured(grouper.loss(size.longest, THRESHOLD, epsilon=1)),
        "equation52-semantics": Measured(2.0),  # a tuple goes and one comes: in two cells, each with the loss of one
        "equation57-james-stein": Measured(printed, corrected),
        "theorem18-bound": Measured(_averages(size.groups, generator)),
        "theorem20-loss": Measured(as_printed.prune_loss(LEVELS, 200, 0, 1), _privtree_loss()),
        "example7-groups": Measured(_example_7()),
        "example8-medians": Measured(_example_8()),
        "section562-laplace": Measured(_plain_over_trees(256)),
        "section564-zeros": Measured(_level_wise_over_zeros(0.1)),
        "section564-zeros-001": Measured(_level_wise_over_zeros(0.01)),
    }


def _james_stein(groups: int, generator: np.random.Generator) -> tuple[float, float]:
    """Mean squared errors of the last of equal counts, over that of its noise: as printed, and as corrected."""
    noisy = generator.laplace(size=(groups, GROUP))
    mean, median = noisy.mean(axis=1), np.median(noisy, axis=1)
    squares = np.square(noisy - mean[:, None]).sum(axis=1)
    found = np.stack((np.full(groups, float(GROUP)), mean, squares, median), axis=1)
    both = as_printed.james_stein(noisy, 2.0), smooth_in_groups(noisy[:, -1], found, 2.0, Smoother.JAMES_STEIN)
    first, second = (float(np.square(each).mean()) / 2 for each in both)
    return first, second


def _averages(groups: int, generator: np.random.Generator) -> float:
    """The largest expected squared error of averages over that of noise, over random groups at the bound."""
    worst = 0.0
    for length in (3, 5, 10, 50):
        counts = generator.normal(size=(groups // 10, length)) ** generator.integers(1, 6, (groups // 10, 1))
        off = counts - counts.mean(axis=1, keepdims=True)
        counts *= (as_printed.bound_18(length, 1.0) / np.abs(off).sum(axis=1))[:, None]
        ages = np.arange(1, length + 1)
        bias = np.square(np.cumsum(counts, axis=1) / ages - counts).sum(axis=1)
        worst = max(worst, float(((2 / ages).sum() + bias).max()) / (2 * length))
    return worst


def _privtree_loss() -> float:
    """The loss of one answer of PrivTree on binary splits at epsilon 1, at the worst count: see `PrivTree`."""
    scale = float(path_sensitivity(2, LEVELS - 1))
    decay, ratio, least = int(np.ceil(scale * np.log(2))), np.exp(-1 / scale), 50

    def log_stays(count: int) -> float:
        scores = np.maximum(count - least - np.arange(LEVELS - 1) * decay, -decay)
        chances = np.where(scores <= 0, ratio ** (1 - scores), 1 + ratio - ratio ** np.maximum(scores, 0)) / (1 + ratio)
        return float(np.log(chances).sum())

    return max(log_stays(count + 1) - log_stays(count) for count in range(2 * least))


def _example_7() -> float:
    """How many of the five time steps are in the groups of the example."""
    nothing = np.zeros((5, 1), np.int64)
    values, kept = np.array([[5], [5], [6], [9], [10]]), np.zeros((1, STATE_COLUMNS), np.int64)
    thresholds = nothing + int(THRESHOLD * LATTICE_UNITS_PER_TUPLE)
    found = decide_groups(values, thresholds, nothing, kept, build_fenwick_trees(nothing[:1], 64))
    return float((found[:, 0] == [0, 1, 1, 0, 0]).sum())


def _example_8() -> float:
    """How many of the five medians are those of the example, in tenths."""
    noise = Noise(Family.LAPLACE, Fraction(1))
    reader = GroupEstimator(GroupedCounts(1, noise, noise, noise, 0), Smoother.MEDIAN)
    noisy = zip((56, 44, 67, 95, 102), (0, 1, 1, 0, 0), strict=True)
    return float(
        sum(reader.estimate_next(each)[0] == said for each, said in zip(noisy, (56, 50, 56, 95, 102), strict=True))
    )


def _plain_over_trees(width: int) -> float:
    """The deviation of a plain sum of noisy counts over that of prefix and suffix in two binary trees (SW_w)."""
    levels = (width - 1).bit_length() + 1
    nodes = sum((ends % width).bit_count() + ((width - ends) % width).bit_count() for ends in range(width)) / width
    return float(np.sqrt(width / (nodes * levels**2)))


def _level_wise_over_zeros(epsilon: float) -> float:
    """The mean error of noise of scale ``8 / epsilon`` on every node, over that of zero at every node and time step."""
    ratio = np.exp(-epsilon / LEVELS)
    zeros = LEVELS * TUPLES / ((2 * STATES - 1) * TIME_STEPS)
    return float(2 * ratio / (1 - ratio**2) / zeros)
