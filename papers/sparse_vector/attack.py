"""Algorithms 6 and 7: records are read off the answers of tests that were taken to be private."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log

import numpy as np
from as_printed import STODDARD, FloatArray, noisy_threshold
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FAILURE = 0.05  # delta
SMALL = 5  # counts of Table 3.3
SCALE = 2  # of line 4, over epsilon_2


@dataclass(frozen=True)
class Rates:
    """Shares of cells whose count was found, one for each run.

    Attributes:
        everywhere: The share among all cells: Table 3.2.
        small: The share among cells with up to 5 records: Table 3.3.
        threshold: The noisy thresholds.
    """

    everywhere: FloatArray
    small: FloatArray
    threshold: FloatArray

    def mean(self, name: str, *, above_zero: bool) -> float:
        """The mean over all runs; or over those with a noisy threshold above zero, as in all but a share delta / 2."""
        rates: FloatArray = getattr(self, name)
        return float(rates[self.threshold > 0].mean() if above_zero else rates.mean())


def threshold_of(epsilon: float) -> int:
    """Line 2 of Algorithm 6."""
    return ceil(log(1 / FAILURE) / epsilon)


def partition(counts: IntArray, noisy: float) -> IntArray:
    """Algorithm 6 from its noisy threshold on: the number of each cell's part, part 0 having the largest `Larger`.

    `Larger(v)` holds the cells with at least ``x_v + noisy`` records. Above zero that is known by its size. At zero or
    below, all cells but v itself that are as large as v are in `Larger(v)`: no two sets are the same.
    """
    if noisy <= 0:
        return np.arange(len(counts))
    below = np.searchsorted(np.sort(counts), counts + noisy, side="left")
    parts: IntArray = np.unique(below, return_inverse=True)[1].ravel()
    return parts


def reconstruct(counts: IntArray, parts: IntArray, epsilon: float, generator: np.random.Generator) -> IntArray:
    """Lines 3 to 7 of Algorithm 7: the mean of each part, noisy and rounded."""
    sizes, totals = np.bincount(parts), np.bincount(parts, weights=counts)
    noisy = totals + generator.laplace(0, SCALE / epsilon, len(totals))
    return np.rint(noisy / sizes).astype(np.int64)[parts]


def rates(
    counts: IntArray, epsilon: float, stages: tuple[float, float], runs: int, generator: np.random.Generator
) -> Rates:
    """Attack many times, with these shares of epsilon for the attack and for the counts."""
    rows = []
    for _ in range(runs):
        attack, count = (epsilon * share for share in stages)
        noisy = noisy_threshold(threshold_of(attack), attack * STODDARD.threshold, generator)
        found = reconstruct(counts, partition(counts, noisy), count, generator) == counts
        rows.append((found.mean(), found[counts <= SMALL].mean(), noisy))
    return Rates(*np.array(rows).T)


PRINTED = 1 / 2, 1 / 2
WHOLE = 1.0, 1.0
"""Both stages with all of epsilon: what the tables' numbers come from, by what is measured here."""


def tables(
    histograms: Mapping[str, IntArray], epsilons: Sequence[float], runs: int, seed: int, step: Callable[[], None]
) -> dict[tuple[str, float], tuple[Rates, Rates]]:
    """Tables 3.2 and 3.3: as printed, and with both stages at epsilon."""
    found = {}
    for name, counts in histograms.items():
        for epsilon in epsilons:
            generator = np.random.default_rng(seed)
            printed, whole = (rates(counts, epsilon, stages, runs, generator) for stages in (PRINTED, WHOLE))
            found[name, epsilon] = printed, whole
            step()
    return found


def share_exact(counts: IntArray, support: int, epsilon: float, runs: int, generator: np.random.Generator) -> float:
    """Theorem 6: in what share of runs the parts up to ``k - 2 alpha`` are the cells with 0, 1, ... records."""
    alpha = threshold_of(epsilon)
    most, hits = support - 2 * alpha, 0
    for _ in range(runs):
        parts = partition(counts, noisy_threshold(alpha, epsilon, generator))
        inside = counts <= most
        hits += bool((parts[inside] == counts[inside]).all() and (parts[~inside] > most).all())
    return hits / runs


def share_ordered(counts: IntArray, epsilon: float, runs: int, generator: np.random.Generator) -> float:
    """Lemma 5: in what share of runs later parts have larger counts."""
    hits = 0
    for _ in range(runs):
        noisy = noisy_threshold(threshold_of(epsilon), epsilon, generator)
        parts = partition(counts, noisy)
        order = np.lexsort((counts, parts))
        later, before = parts[order][1:] > parts[order][:-1], counts[order]
        hits += bool(noisy > 0 and (before[1:][later] > before[:-1][later]).all())
    return hits / runs
