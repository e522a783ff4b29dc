"""Figures 6 and 10: the statistic of Hosmer and Lemeshow, by Algorithm 2 and by dpcurves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import as_printed
import numpy as np
from data import Scored
from numpy.typing import NDArray
from path import Path, crossing
from reproduction.measured import Findings, Measured
from sizes import Size
from theorems import contributions

import dpcurves as dp
from dpcurves.inference import GroupCounts
from dpcurves.noise import Randomness

FloatArray = NDArray[np.float64]
GROUPS, LEVELS = 10, 10
WAYS = "printed", "right formulas", "dpcurves"
AT = 1.0  # the epsilon at which errors are called usable or not


@dataclass(frozen=True)
class Errors:
    """Squared errors of the statistic over the square of its true value.

    Attributes:
        epsilons: The x axis.
        truth: The statistic of the records.
        noiseless: What line 11 gives with the printed lines 8 and 9, without noise.
        mean, median: Over runs, for each way and epsilon.
        quartiles: The lower and the upper one over runs, likewise: (2, epsilons).
    """

    epsilons: FloatArray
    truth: float
    noiseless: float
    mean: dict[str, FloatArray]
    median: dict[str, FloatArray]
    quartiles: dict[str, FloatArray]


def against_epsilon(records: Scored, size: Size, seed: int, step: Callable[[], None]) -> Errors:
    """Runs of all ways at each epsilon."""
    cuts = np.concatenate([[0.0], np.quantile(records.score, np.arange(1, GROUPS) / GROUPS), [1.0]])
    truth = as_printed.statistic(_sums(records, cuts, contributions))
    noiseless = as_printed.statistic(_sums(records, cuts, as_printed.contributions))
    squared, generator = [], np.random.default_rng(seed)
    for epsilon in size.record_epsilons:
        randomness = Randomness.from_seed(seed)
        runs = [_statistics(records, epsilon, randomness, generator) for _ in range(size.record_runs)]
        squared.append({way: [(run[way] / truth - 1) ** 2 for run in runs] for way in WAYS})
        step()
    by_way = {way: np.array([row[way] for row in squared]) for way in WAYS}
    return Errors(
        np.array(size.record_epsilons), truth, noiseless,
        mean={way: values.mean(axis=1) for way, values in by_way.items()},
        median={way: np.median(values, axis=1) for way, values in by_way.items()},
        quartiles={way: np.quantile(values, (0.25, 0.75), axis=1) for way, values in by_way.items()},
    )  # fmt: skip


def findings(bank: Errors, diabetes: Errors) -> Findings:
    """The sentences of section 6.6, and what lines 8 and 9 leave of the statistic."""
    at = bank.epsilons == AT
    harder = {way: _mean_ratio(bank.median[way], diabetes.median[way]) for way in WAYS}
    wild = {way: _mean_ratio(bank.mean[way], bank.median[way]) for way in WAYS}
    return {
        "hl-lines": Measured(bank.noiseless / bank.truth, 1.0),
        "hl-bank-harder": Measured(*(harder[way] for way in WAYS)),
        "hl-variance": Measured(*(wild[way] for way in WAYS)),
        "hl-usable": Measured(*(float(bank.median[way][at][0]) for way in WAYS)),
        "hl-usable-diabetes": Measured(*(float(diabetes.median[way][at][0]) for way in WAYS)),
    }


def _mean_ratio(first: FloatArray, second: FloatArray) -> float:
    return float(np.exp(np.mean(np.log(first / second))))


def _statistics(
    records: Scored, epsilon: float, randomness: Randomness, generator: np.random.Generator
) -> dict[str, float]:
    cuts = _cuts(records, epsilon, randomness)
    printed, right = (
        as_printed.statistic(as_printed.noisy(_sums(records, cuts, each), epsilon, LEVELS, generator))
        for each in (as_printed.contributions, contributions)
    )
    ours = dp.hosmer_lemeshow(
        records.label, records.score, epsilon=Fraction(str(epsilon)), groups=GROUPS, adjacency=dp.REPLACE_ONE,
        randomness=randomness,
    )  # fmt: skip
    return dict(zip(WAYS, (printed, right, textbook(ours.groups.group_counts)), strict=True))


def textbook(groups: GroupCounts) -> float:
    """The statistic without noise in its denominators, which stand as 1 where noise makes them less.

    `dpcurves` weighs groups by chance and noise, to judge; here the error of the textbook's statistic is measured.
    """
    weights = 1 / np.maximum(groups.expected_positives, 1.0) + 1 / np.maximum(
        groups.count - groups.expected_positives, 1.0
    )
    return float((groups.residual_sum**2 * weights).sum())


def _cuts(records: Scored, epsilon: float, randomness: Randomness) -> FloatArray:
    """Lines 3 to 6 on a public grid: quantiles of one noise path of scale (L + 9) / epsilon."""
    path = Path(LEVELS)
    cell = np.clip((records.score * path.points).astype(np.int64), 0, path.points - 1)
    below = np.cumsum(np.bincount(cell, minlength=path.points)).astype(np.float64)
    noisy = below + path.noise((LEVELS + 9) / Fraction(str(epsilon)), randomness)
    found = crossing(noisy, np.arange(1, GROUPS) / GROUPS * len(cell))
    return np.concatenate([[0.0], np.sort(found + 1) / path.points, [1.0]])


def _sums(
    records: Scored, cuts: FloatArray, each: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
) -> FloatArray:
    return np.asarray(each(records.score, records.label.astype(np.float64), cuts).sum(axis=0))
