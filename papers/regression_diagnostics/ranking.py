"""Sections 3.3 and 4.3: errors of ROC curves of two text data sets, and which areas are told apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from answering import Columns
from curves import (
    Method,
    confidential,
    distance,
    priroc_fix_not_private,
    priroc_not_private,
    smooth,
    with_cuts,
)  # fmt: skip
from numpy.typing import NDArray
from reproduction.measured import Findings, Measured
from scipy.stats import ttest_ind
from sizes import Size

from dpcurves.curves import Cuts

FloatArray = NDArray[np.float64]
METHODS: dict[str, Method] = {
    "PriROC, as printed": priroc_not_private, "PriROC-fix, as printed": priroc_fix_not_private, "SmoothS": smooth,
    "dpcurves, quantiles": with_cuts(Cuts.QUANTILES), "dpcurves, fixed": with_cuts(Cuts.FIXED),
    "dpcurves, medians": with_cuts(Cuts.MEDIANS),
}  # fmt: skip
PRINTED, PRINTED_FIXED, SMOOTH, QUANTILES, FIXED, _ = METHODS
AREA, CURVE = 0, 1
AREAS = tuple(round(0.7 + 0.025 * step, 3) for step in range(11))
STEPS = tuple(range(1, len(AREAS)))
LEVEL = 0.05
TOLD_APART = {200: 0.1, 500: 0.05, 1000: 0.025, 2000: 0.025}
FINEST = 0.025

Errors = Mapping[str, FloatArray]
"""For each method: mean error of the area, and mean area between curves, of shape ``(settings, 2)``."""


def setting_names(sets: Mapping[str, Columns], size: Size) -> list[tuple[str, float]]:
    """Each data set at each epsilon."""
    return [(name, epsilon) for name in sets for epsilon in size.epsilons]


def errors(sets: Mapping[str, Columns], size: Size, step: Callable[[], None]) -> Errors:
    """Of all methods, over all settings."""
    found: dict[str, list[FloatArray]] = {method: [] for method in METHODS}
    for name, epsilon in setting_names(sets, size):
        for method, rows in found.items():
            rows.append(_mean_errors(METHODS[method], sets[name], epsilon, size.runs))
        step()
    return {method: np.array(rows) for method, rows in found.items()}


def _mean_errors(method: Method, columns: Columns, epsilon: float, runs: int) -> FloatArray:
    truth = confidential(columns)
    curves = [method(columns, epsilon, seed) for seed in range(runs)]
    return np.asarray([(abs(curve.auc - truth.auc), distance(curve, truth)) for curve in curves]).mean(axis=0)


def findings_of_errors(found: Errors) -> Findings:
    """Figures 2 and 3."""
    named = {"figure2": AREA, "figure3": CURVE}
    findings = Findings()
    for figure, kind in named.items():
        mean = {method: rows[:, kind] for method, rows in found.items()}
        findings[f"{figure}-smooth"] = Measured(
            _worst(mean, (PRINTED, PRINTED_FIXED)), package=_worst(mean, (QUANTILES, FIXED))
        )
        findings[f"{figure}-cuts"] = Measured(
            _average(mean[PRINTED] / mean[PRINTED_FIXED]), package=_average(mean[QUANTILES] / mean[FIXED])
        )
    return findings


def _worst(mean: Errors, methods: Sequence[str]) -> float:
    return float(max((mean[method] / mean[SMOOTH]).max() for method in methods))


def _average(ratios: FloatArray) -> float:
    return float(np.exp(np.log(ratios).mean()))


@dataclass(frozen=True)
class Power:
    """The least difference of areas that is told apart, of the paper's way and of dpcurves, for each product."""

    printed: dict[int, float]
    package: dict[int, float]


def power(size: Size, step: Callable[[], None]) -> Power:
    """The papers' procedure: areas of many noisy curves each, t-tests of all pairs."""
    found = Power({}, {})
    for product in size.ranking_products:
        for method, least in ((PRINTED, found.printed), (QUANTILES, found.package)):
            least[product] = _least(METHODS[method], size, product / size.ranked)
        step()
    return found


def findings_of_power(found: Power) -> Findings:
    """The table of Figure 4, and the least product at which areas 0.025 apart are told apart."""
    findings: Findings = {
        f"figure4-{product}": Measured(found.printed[product], package=found.package[product])
        for product in TOLD_APART.keys() & found.printed.keys()
    }
    findings["section33-least"] = Measured(_from_which_on(found.printed), package=_from_which_on(found.package))
    return findings


def ranked(area: float, records: int) -> Columns:
    """As many positives as negatives, whose ROC curve is a power of the false positive rate, with this area."""
    half = records // 2
    even = (np.arange(half) + 0.5) / half
    places = np.concatenate([even, even ** (area / (1 - area))])
    label = np.repeat([0.0, 1.0], half)
    rank = np.argsort(np.argsort(-places, kind="stable"))
    return {"label": label, "score": (rank + 0.5) / (2 * half)}


def _least(method: Method, size: Size, epsilon: float) -> float:
    """The finest difference, in steps, such that the t-tests of all pairs so far apart are significant."""
    areas = [_areas(method, number, size, epsilon) for number in range(len(AREAS))]
    for steps in STEPS:
        pairs = [(low, high) for low, high in combinations(range(len(AREAS)), 2) if high - low == steps]
        if max(ttest_ind(areas[low], areas[high]).pvalue for low, high in pairs) < LEVEL:
            return round(steps * FINEST, 3)
    return float("inf")


def _areas(method: Method, number: int, size: Size, epsilon: float) -> FloatArray:
    columns, first = ranked(AREAS[number], size.ranked), number * size.repetitions
    return np.array([method(columns, epsilon, first + run).auc for run in range(size.repetitions)])


def _from_which_on(least: Mapping[int, float]) -> float:
    """The least product such that from there on, the finest difference is told apart."""
    failed = [product for product, difference in least.items() if difference > FINEST]
    return float(min((product for product in least if product > max(failed, default=0)), default=np.inf))
