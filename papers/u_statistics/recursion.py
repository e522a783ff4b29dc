"""The recursion of section 4 on any unbiased tree: Theorem 3, Lemma 4, Corollaries 4 and 5, the rows of Table 1.

The theorem supposes a tree whose nodes err on their own with variance at most v. Here they do, by Gaussian noise of
just that variance. (With randomised reports of people: `auc_pruned.py`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray
from reproduction.measured import Findings, Measured
from scipy.optimize import brentq

FloatArray = NDArray[np.float64]
EPSILON, DELTA = 1.0, 1e-6
SIZES = ((2000, 2000), (20_000, 2000), (50_000, 50_000))
DEPTHS = 4, 8, 16


@dataclass(frozen=True)
class Found:
    """What one run of the recursion gave.

    Attributes:
        area: The unnormalised area.
        recursed: How many nodes were gone into at each level.
    """

    area: float
    recursed: tuple[int, ...]


def findings(runs: int, seed: int) -> Findings:
    """Measure the theorem, its corollaries and the table."""
    chance = np.random.default_rng(seed)
    return {**_theorem(runs, chance), **_table(runs, chance)}


def constant(epsilon: float) -> float:
    """C, so that the variance of a node is C n alpha, where levels are asked of people who are split evenly."""
    return ((exp(epsilon) + 1) / (exp(epsilon) - 1)) ** 2


def _best_a(people: int, fewest: int, alpha: int, each: float, factor: float = 21 / 8) -> float:
    right = factor * sqrt(2 * people * each * alpha) / fewest
    return float(brentq(lambda root: root * (root - 1) ** 2 - right, 1.0, 2 + right)) ** 2


def _trees(cells: FloatArray) -> list[FloatArray]:
    """Counts of nodes, from the root to the leaves."""
    found = [cells]
    while len(found[0]) > 1:
        found.insert(0, found[0].reshape(-1, 2).sum(axis=1))
    return found


@dataclass(frozen=True)
class Cut:
    """When a node is gone into, and what else it counts.

    Attributes:
        noise: The variances of nodes of both trees.
        a: The number a.
        rest: What part of the pairs of a node that is discarded counts: one half, or 0 in the variant.
    """

    noise: tuple[float, float]
    a: float
    rest: float = 0.5


def recursion(trees: Sequence[list[FloatArray]], cut: Cut, chance: np.random.Generator) -> Found:
    """Equation 10, on trees with noise, of the positives and of the negatives."""
    ours, theirs = (
        [tree[0], *(level + sqrt(v) * chance.standard_normal(len(level)) for level in tree[1:])]
        for tree, v in zip(trees, cut.noise, strict=True)
    )
    low, border = tuple(sqrt(cut.a * v) / 2 for v in cut.noise), cut.a * sqrt(cut.noise[0] * cut.noise[1])
    nodes, area, recursed = np.zeros(1, dtype=np.int64), 0.0, []
    for level in range(len(ours) - 1):
        large = np.maximum(ours[level][nodes], low[0]) * np.maximum(theirs[level][nodes], low[1]) >= border
        left, right = 2 * nodes, 2 * nodes + 1
        up, down = ours[level + 1], theirs[level + 1]
        whole = (up[left] + up[right]) * (down[left] + down[right])
        area += float((up[right] * down[left])[large].sum() + cut.rest * whole[~large].sum())
        recursed.append(int(large.sum()))
        nodes = np.stack([left[large], right[large]], axis=1).ravel()
    return Found(area, tuple(recursed))


def _drawn(alpha: int, sizes: tuple[int, int], kind: str, chance: np.random.Generator) -> list[list[FloatArray]]:
    cells = 2**alpha
    if kind == "apart":
        values = [np.full(sizes[0], cells - 1), np.zeros(sizes[1], dtype=np.int64)]
    else:
        values = [
            (chance.beta(*shape, size) * cells).astype(np.int64)
            for shape, size in zip(((4, 3), (3, 4)), sizes, strict=True)
        ]
    return [_trees(np.bincount(each, minlength=cells).astype(np.float64)) for each in values]


def exact_area(positives: FloatArray, negatives: FloatArray) -> float:
    """Pairs in which the positive is larger (equation 7: a tie counts nothing)."""
    return float(positives @ (np.cumsum(negatives) - negatives))


def _theorem(runs: int, chance: np.random.Generator) -> Findings:
    each, alpha, ratios, most = constant(EPSILON), 8, [], []
    corollaries: list[tuple[float, float]] = []
    for sizes in SIZES:
        for kind in ("apart", "beta"):
            trees, people, fewest = _drawn(alpha, sizes, kind, chance), sum(sizes), min(sizes)
            noise = (each * sizes[0] * alpha, each * sizes[1] * alpha)
            a, zero_a = _best_a(people, fewest, alpha, each), _best_a(people, fewest, alpha, each, 1 / 16)
            exact = exact_area(trees[0][-1], trees[1][-1])
            found = [recursion(trees, Cut(noise, a), chance) for _ in range(runs)]
            zeros = [recursion(trees, Cut(noise, zero_a, 0.0), chance).area for _ in range(runs)]
            error = float(np.mean([(one.area - exact) ** 2 for one in found]))
            error_0 = float(np.mean((np.array(zeros) - exact) ** 2))
            unit = each * sizes[0] * sizes[1] * alpha**2
            ratios.append(error / (unit * _theorem_3(people, fewest, alpha, each, a)))
            corollaries.append(
                (
                    error / (unit * _corollary_4(people, fewest, alpha, each)),
                    error_0 / (unit * _corollary_5(people, fewest, alpha, each)),
                )
            )
            bound = (sqrt(sizes[0]) + sqrt(sizes[1])) / (2 * (sqrt(a) - 1) * sqrt(each * alpha))
            most.append(float(np.mean([one.recursed for one in found], axis=0)[1:].max()) / bound)
    return {
        "theorem3": Measured(max(ratios)),
        "lemma4": Measured(max(most)),
        "corollary4": Measured(max(pair[0] for pair in corollaries)),
        "corollary5": Measured(max(pair[1] for pair in corollaries)),
        "threshold-a": _a_found(),
    }


def _theorem_3(people: int, fewest: int, alpha: int, each: float, a: float) -> float:
    return 2 * people + (4 * a + 1) * fewest + 21 * sqrt(2 * people * each * alpha) / (sqrt(a) - 1)


def _corollary_4(people: int, fewest: int, alpha: int, each: float) -> float:
    a = (1 + sqrt(21 / 8) * (2 * each * people * alpha / fewest**2) ** 0.25) ** 2
    return 2 * people + (4 * a + 1) * fewest + 14 * (each * people * fewest**2 * alpha) ** 0.25


def _corollary_5(people: int, fewest: int, alpha: int, each: float) -> float:
    a = (1 + sqrt(sqrt(2 * each * alpha * people) / (16 * fewest))) ** 2
    return (8 * a + 2) * fewest + 2 * people + (512 * each * alpha * people * fewest**2) ** 0.25


def _a_found() -> Measured:
    """The bound of Theorem 3 at the printed a over the least one, for classes of half a million."""
    people, fewest, alpha, each = 10**6, 500_000, 9, constant(EPSILON)
    printed = (1 + sqrt(21 / 8) * (2 * each * people * alpha / fewest**0.25)) ** 2
    in_corollary = (1 + sqrt(21 / 8) * (2 * each * people * alpha / fewest**2) ** 0.25) ** 2
    least = _theorem_3(people, fewest, alpha, each, _best_a(people, fewest, alpha, each))
    ratios = (_theorem_3(people, fewest, alpha, each, a) / least for a in (printed, in_corollary))
    return Measured(next(ratios), corrected=next(ratios))


def _table(runs: int, chance: np.random.Generator) -> Findings:
    """By which power of alpha the mean square of the area grows, of equally many people all at both ends."""
    rows = {"basic": 3.0, "advanced": 2.0, "sample": 3.0, "population": 2.0}
    grown = {row: [_error(row, alpha, runs, chance) for alpha in DEPTHS] for row in rows}
    slopes = {row: float(np.polyfit(np.log(DEPTHS), np.log(errors), 1)[0]) for row, errors in grown.items()}
    return {f"table1-{row}": Measured(slope) for row, slope in slopes.items()}


def _error(row: str, alpha: int, runs: int, chance: np.random.Generator) -> float:
    sizes = (500_000, 500_000)
    trees = _drawn(alpha, sizes, "apart", chance)
    each = _node(row, alpha)
    noise = (each * sizes[0], each * sizes[1])
    a = _best_a(sum(sizes), sizes[0], 1, each)
    exact = exact_area(trees[0][-1], trees[1][-1])
    found = [recursion(trees, Cut(noise, a), chance).area for _ in range(runs)]
    return float(np.mean((np.array(found) - exact) ** 2))


def _node(row: str, alpha: int) -> float:
    """The variance of a node, per person."""
    if row == "basic":
        return constant(EPSILON / alpha)
    if row == "advanced":
        return constant(EPSILON / (sqrt(alpha) * (1 + sqrt(2 * log(1 / DELTA)))))
    return constant(EPSILON) * alpha
