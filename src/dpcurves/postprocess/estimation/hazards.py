"""Events and records at risk from noisy counts of few records: empirical Bayes over smooth, rough and constant hazards.

Counts of a cell are normal around what a hazard expects of the records at risk: with their sampling error, with a
smooth deviation of some size and length (a Gaussian process), and with a rough one. Sizes, lengths and the hazard
itself, which is constant or that of a straight line, are averaged by the likelihood of what was released: without noise
the counts are as they are. Pure post-processing of released counts and of their noise, which is public.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import norm

from ...arrays import FloatArray

MOST_BLOCKS = 96
"""Cells that are judged on their own at most: of more, blocks of neighbours."""
SIZES = (0.3, 0.9)
"""Standard deviations of the smooth part, in hazards."""
LENGTHS = (0.1, 0.4)
"""Distances over which it changes, in widths of the grid."""
ROUGH = (0.0, 2.0)
"""Standard deviations of the rough part, in hazards."""
LEVELS = np.exp(np.linspace(-2.1, 2.1, 8))
"""Hazards that are tried, over the one by which half are left in the middle of the grid."""
SPREAD = 0.6
"""Standard deviation of the logarithm of a hazard before anything is known."""
LEAST, LEAST_SPREAD, ROUNDING = 0.5, 1e-3, 1e-9
FURTHEST = -8.0
"""Standard deviations below zero at which a number of records is taken to be at least."""


class Counts(NamedTuple):
    """Released counts without bias, and draws of their noise: ``(cells,)`` and ``(draws, cells)``."""

    found: FloatArray
    noise: FloatArray


class Hazards(NamedTuple):
    """Hazards that released counts do not contradict: ``(tried, cells)``, and their posterior probabilities."""

    hazard: FloatArray
    weight: FloatArray

    @property
    def share(self) -> FloatArray:
        """The posterior mean of the share that survives each cell, which never rises: ``(cells,)``."""
        return np.asarray(self.weight @ np.cumprod(1 - self.hazard, axis=1))

    @property
    def cumulative(self) -> FloatArray:
        """The posterior mean of the sum of hazards to the end of each cell: ``(cells,)``."""
        return np.asarray(self.weight @ np.cumsum(self.hazard, axis=1))


def hazards_of_few(events: Counts, leaving: Counts, records: Counts) -> Hazards:
    """Estimate the hazard of each cell.

    Args:
        events: Events of each cell.
        leaving: Events and censored records of each cell; those that are still observed at the end are not in it.
        records: At risk in the first cell: a single number, without noise where it is public.
    """
    width = -(-len(events.found) // MOST_BLOCKS)
    first = _at_least_one(records)
    died, gone = (_in_blocks(each, width) for each in (events, leaving))
    lost, weight = _posterior(gone, lambda hazard: first * np.append(1.0, np.exp(-np.cumsum(hazard)))[:-1])
    left = first - np.append(0.0, np.cumsum(_in_cells(weight @ lost, leaving, width))[:-1])
    risk = np.maximum(left, LEAST)
    start = risk[::width]
    found, weight = _posterior(died, lambda hazard: start)
    counts = np.stack([_in_cells(each, events, width) for each in found])
    return Hazards(np.clip(counts / risk, 0.0, 1.0), weight)


def _at_least_one(records: Counts) -> float:
    """The mean of a positive number, given one with normal noise."""
    found, deviation = float(records.found), float(np.std(records.noise))
    if deviation == 0:
        return max(found, 1.0)
    at = max(found / deviation, FURTHEST)
    found = at * deviation
    return max(found + deviation * float(np.exp(norm.logpdf(at) - norm.logcdf(at))), 1.0)


def _posterior(counts: Counts, exposed: Callable[[FloatArray], FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Means of the counts, given what was released, for all hazards, sizes and lengths; and their probabilities."""
    cells = len(counts.found)
    noise = np.cov(counts.noise, rowvar=False).reshape(cells, cells)
    distance = np.abs(np.subtract.outer(np.arange(cells), np.arange(cells))) / cells
    smooth = {length: np.exp(-0.5 * (distance / length) ** 2) for length in LENGTHS}
    means, scores = [], []
    for baseline, level, (size, length), rough in product(_baselines(cells), LEVELS, _shapes(), ROUGH):
        hazard = level * baseline
        expected = hazard * exposed(hazard)
        own = np.outer(expected, expected) * (size**2 * smooth[length] + rough**2 * np.eye(cells))
        own[np.diag_indices(cells)] += np.maximum(expected, LEAST_SPREAD)
        total = own + noise
        total[np.diag_indices(cells)] += ROUNDING * np.diag(total).max()
        factor = cho_factor(total, lower=True)
        off = counts.found - expected
        solved = cho_solve(factor, off)
        means.append(expected + own @ solved)
        determinant = 2 * float(np.log(np.diag(factor[0])).sum())
        scores.append(-0.5 * (float(off @ solved) + determinant) - 0.5 * (np.log(level) / SPREAD) ** 2)
    weights = np.exp(np.array(scores) - max(scores))
    return np.stack(means), weights / weights.sum()


def _baselines(cells: int) -> list[FloatArray]:
    """A constant hazard by which half are left in the middle of the grid, and that of a straight line to its end."""
    return [np.full(cells, 2 * np.log(2) / cells), 1 / (cells - np.arange(cells))]


def _shapes() -> list[tuple[float, float]]:
    return [(0.0, LENGTHS[0]), *product(SIZES, LENGTHS)]


def _in_blocks(counts: Counts, width: int) -> Counts:
    if width == 1:
        return counts
    starts = np.arange(0, len(counts.found), width)
    return Counts(*(np.add.reduceat(each, starts, axis=-1) for each in counts))


def _in_cells(found: FloatArray, counts: Counts, width: int) -> FloatArray:
    """Counts of cells from those of blocks: even in a block, but for as much of the difference as is not noise."""
    if width == 1:
        return found
    cells = len(counts.found)
    block = np.arange(cells) // width
    sizes = np.bincount(block)
    even = (found / sizes)[block]

    def uneven(each: FloatArray) -> FloatArray:
        return np.asarray(each - (np.add.reduceat(each, np.arange(0, cells, width), axis=-1) / sizes)[..., block])

    apart = uneven(counts.found)
    noise, seen = float(np.mean(uneven(counts.noise) ** 2)), float(np.mean(apart**2))
    return np.asarray(even + apart * (max(1 - noise / seen, 0.0) if seen > 0 else 0.0))
