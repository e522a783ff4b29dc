"""What the paper proves, checked by searching all neighbours and by drawing the noise."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from math import inf, log2

import as_printed
import cost
import numpy as np
from baselines import regular_bounds
from path import Path, crossing
from reproduction.measured import Findings, Measured
from scipy.spatial.distance import pdist
from sizes import Size

from dpcurves.noise import Randomness
from dpcurves.smoothing import AtMost, project_isotonic_l1

ARITIES = 2, 3, 4, 5, 6, 8
CUTS = np.linspace(0, 1, 11)
NOISES = 100  # draws of the noise of all points
STEP = 10.0  # by how much one value of a stream may change, which Theorem 3 leaves open


def findings(size: Size, seed: int) -> Findings:
    """All claims that need no data."""
    return {
        **_of_the_path(size, seed),
        **_of_calibration(),
        "algorithm1-ends": _looks(size),
        "equation3-absolute": _least_change(),
    }


def _of_the_path(size: Size, seed: int) -> Findings:
    levels = size.cost_levels
    even = levels - levels % 2
    prefix, interval = cost.of_prefixes(levels), cost.of_intervals(levels)
    loss = interval / (levels + 1)
    joint = max(cost.of_intervals(even), 2 * cost.of_prefixes(even)) / (2 * (even + 1))
    printed, corrected = _squared_error(size, seed)
    return {
        "lemma1-cost": Measured(prefix / ((levels + 2) // 2)),
        "theorem1-loss": Measured(loss),
        "theorem1-pointwise": Measured((size.levels + 1) ** 1.5 / 2**size.levels),  # a moved record changes all points
        "theorem1-grid": Measured(_loss_of_the_grid(), loss),
        "theorem1-error": Measured(printed, corrected),
        "theorem3-loss": Measured(prefix / ((levels + 2) // 2)),
        "theorem3-gaussian": Measured(prefix / ((levels + 2) // 2)),
        "theorem3-values": Measured(STEP * prefix / ((levels + 2) // 2), prefix / ((levels + 2) // 2)),
        "theorem3-factor": Measured((levels + 1) / prefix),
        "roc-loss": Measured(joint),
        "base-gain": Measured(_gain_of_another_base(2**levels)),
        "variables": Measured(_variables_of_a_point(size.levels) / log2(2**size.levels)),
    }


def _squared_error(size: Size, seed: int) -> tuple[float, float]:
    """Measured over printed, for shares; and for counts, with the missing 1 / n**2."""
    path, randomness, records = Path(size.levels), Randomness.from_seed(seed), 3 * 2**size.levels
    draws = [path.noise(path.scale(1.0), randomness) for _ in range(NOISES)]
    counts = float(np.mean(np.square(draws)) / (2 * (size.levels + 1) ** 3))
    return counts / records**2, counts


def _loss_of_the_grid() -> float:
    """Neighbours {0.2, 0.5} and {0.3, 0.5}: their published grids have nothing in common."""
    first, second = (as_printed.grid(np.array([value, 0.5]), 8) for value in (0.2, 0.3))
    return inf if first[0] != second[0] else 0.0


def _gain_of_another_base(points: int) -> float:
    """By how much the root mean squared error falls at most."""
    errors = [cost.path_error(points, arity) for arity in ARITIES]
    return float(1 - (min(errors) / errors[0]) ** 0.5)


def _variables_of_a_point(levels: int) -> float:
    return float(sum(len(ends) - 1 for ends in regular_bounds(2**levels, 2)) / 2**levels)


def _of_calibration() -> Findings:
    """The most that Algorithm 2's sums change when a record is replaced, over a grid of scores with both labels."""
    score = np.repeat(np.linspace(0, 1, 201), 2)
    label = np.tile([0.0, 1.0], 201)
    printed = pdist(as_printed.contributions(score, label, CUTS), "cityblock").max()
    corrected = pdist(contributions(score, label, CUTS), "cityblock").max()
    return {"theorem2-loss": Measured(float(printed), float(corrected))}


def contributions(score: np.ndarray, label: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Sum as `as_printed.contributions` does, with half-open groups, and 1 less prediction and label for negatives."""
    group = np.clip(np.searchsorted(cuts, score, side="right") - 1, 0, len(cuts) - 2)
    inside = group[:, None] == np.arange(len(cuts) - 1)
    return np.concatenate([inside * part[:, None] for part in (score, 1 - score, label, 1 - label)], axis=1)


def _looks(size: Size) -> Measured:
    """Looks that Algorithm 1 takes for the last quantile, over the binary logarithm that it should take."""
    precision = 1e-17
    _, printed = as_printed.inverse(partial(min, 1.0), 1.0, precision)
    points = 2**size.levels
    found = crossing(np.arange(1.0, points + 1), np.array([float(points)]))
    return Measured(printed / -log2(precision), 1.0 if found[0] == points - 1 else inf)


def _least_change() -> Measured:
    """Whether equation 3 with p = 1 has a least change, on a path over 4 points that falls once."""
    path, curve = Path(2), np.array([2.0, 1.0, 3.0, 4.0])
    ends = path.bounds
    blocks = [(a, b) for level in ends for a, b in pairwise(level)]
    points = np.array([[a <= point < b for a, b in blocks] for point in range(4)], dtype=np.float64)
    rises = np.diff(np.vstack([points, np.zeros(len(blocks))]), axis=0, prepend=0)
    falls = -np.diff(curve, prepend=0.0, append=4.0)
    printed = as_printed.has_least_change(rises, falls)
    smoothed = project_isotonic_l1(curve, path.graph, AtMost(4.0))
    return Measured(float(printed), float(np.all(np.diff(smoothed) >= 0)))
