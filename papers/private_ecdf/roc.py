"""Figures 1, 5, 8 and 9: ROC curves of two noise paths, and the areas between curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from data import Scored
from numpy.typing import NDArray
from path import Path
from releases import raw, smoothed
from reproduction.measured import Findings, Measured
from sizes import Size

import dpcurves as dp
from dpcurves.noise import Randomness

FloatArray = NDArray[np.float64]
LEVELS = 10
SHOWN = {"heart": 0.5, "bank": 0.2, "diabetes": 0.05}  # epsilon of Figures 1, 8 and 9
RATES = np.linspace(0, 1, 4001)


@dataclass(frozen=True)
class Curve:
    """False and true positive rates, as the threshold falls."""

    fpr: FloatArray
    tpr: FloatArray


@dataclass(frozen=True)
class Areas:
    """Mean areas between the true curve and private ones, for each epsilon."""

    epsilons: FloatArray
    between: dict[str, FloatArray]


@dataclass(frozen=True)
class Shown:
    """What a figure shows, and how far the curves are from the true one on average over runs.

    Attributes:
        truth: The curve of the records.
        example: One run.
        apart: Mean distance at the same threshold, of the raw and of the smoothed curve.
        between: Mean area between, of the smoothed curve and of that of dpcurves.
    """

    truth: Curve
    example: dict[str, Curve]
    apart: dict[str, float]
    between: dict[str, float]


def true_curve(records: Scored) -> Curve:
    """The curve of the records, on the grid that releases use."""
    negative, positive = _prefixes(records, Path(LEVELS))
    return Curve(_from_zero(negative / negative[-1]), _from_zero(positive / positive[-1]))


def private_curves(records: Scored, epsilon: float, randomness: Randomness) -> dict[str, Curve]:
    """Release as section 5.1 says, each class at half of epsilon, raw and smoothed; and by dpcurves at the whole."""
    path = Path(LEVELS)
    negative, positive = (_versions(row, path, epsilon / 2, randomness, records) for row in _prefixes(records, path))
    curves = {name: _rates(negative[name], positive[name]) for name in negative}
    ours = dp.roc_curve(
        records.label, records.score, epsilon=Fraction(str(epsilon)), grid=dp.Grid(0, 1, cells=path.points),
        adjacency=dp.REPLACE_ONE, randomness=randomness,
    )  # fmt: skip
    return {**curves, "dpcurves": Curve(ours.fpr, ours.tpr)}


def area_between(first: Curve, second: Curve) -> float:
    """The area of the symmetric difference of what lies under two rising curves."""
    heights = [np.interp(RATES, curve.fpr, curve.tpr) for curve in (first, second)]
    return float(np.trapezoid(np.abs(heights[0] - heights[1]), RATES))


def deviation(first: Curve, second: Curve) -> float:
    """How far two curves lie apart at the same threshold, on average: also where they fall."""
    return float(np.mean(np.hypot(first.fpr - second.fpr, first.tpr - second.tpr)))


def areas(records: Scored, size: Size, seed: int, step: Callable[[], None]) -> Areas:
    """Figure 5."""
    truth, rows = true_curve(records), []
    for epsilon in size.record_epsilons:
        randomness = Randomness.from_seed(seed)
        runs = [private_curves(records, epsilon, randomness) for _ in range(size.record_runs)]
        rows.append(
            {name: np.mean([area_between(truth, run[name]) for run in runs]) for name in ("p = 1", "p = 2", "dpcurves")}
        )
        step()
    return Areas(np.array(size.record_epsilons), {name: np.array([row[name] for row in rows]) for name in rows[0]})


def shown(name: str, records: Scored, size: Size, seed: int) -> Shown:
    """Mean distances of the curves of a figure, at the epsilon of the figure."""
    truth, randomness = true_curve(records), Randomness.from_seed(seed)
    runs = [private_curves(records, SHOWN[name], randomness) for _ in range(size.record_runs)]
    apart = {way: float(np.mean([deviation(truth, run[way]) for run in runs])) for way in ("raw", "p = 2")}
    between = {way: float(np.mean([area_between(truth, run[way]) for run in runs])) for way in ("p = 2", "dpcurves")}
    return Shown(truth, runs[0], apart, between)


def findings_of_shown(heart: Shown, bank: Shown, diabetes: Shown) -> Findings:
    """What is said of Figures 1, 8 and 9."""
    larger = {way: max(bank.between[way], diabetes.between[way]) / heart.between[way] for way in heart.between}
    return {
        "roc-heart-closer": Measured(heart.apart["p = 2"] / heart.apart["raw"]),
        "roc-bank-area": Measured(bank.between["p = 2"], package=bank.between["dpcurves"]),
        "roc-diabetes-area": Measured(diabetes.between["p = 2"], package=diabetes.between["dpcurves"]),
        "roc-size": Measured(larger["p = 2"], package=larger["dpcurves"]),
    }


def findings_of_areas(found: Areas) -> Findings:
    """What is said of Figure 5."""
    absolute, squares, ours = (found.between[name] for name in ("p = 1", "p = 2", "dpcurves"))
    falls = [float((values[1:] / values[:-1]).max()) for values in (squares, ours)]
    return {
        "areas-fall": Measured(falls[0], package=falls[1]),
        "areas-powers": Measured(float(np.exp(np.mean(np.log(absolute / squares))))),
    }


def _prefixes(records: Scored, path: Path) -> tuple[FloatArray, FloatArray]:
    """Negatives and positives with a score above each threshold: low scores of 1 - probability are positive."""
    cell = np.clip(((1 - records.score) * path.points).astype(np.int64), 0, path.points - 1)
    negative, positive = (
        np.cumsum(np.bincount(cell[records.label == label], minlength=path.points)).astype(np.float64)
        for label in (0, 1)
    )
    return negative, positive


def _versions(
    exact: FloatArray, path: Path, epsilon: float, randomness: Randomness, records: Scored
) -> dict[str, FloatArray]:
    noisy = raw(exact, path, epsilon, randomness)
    return {"raw": noisy, **smoothed(noisy, path, float(len(records.label)))}


def _rates(negative: FloatArray, positive: FloatArray) -> Curve:
    return Curve(*(_from_zero(row / max(row[-1], 1.0)) for row in (negative, positive)))


def _from_zero(shares: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], shares])
