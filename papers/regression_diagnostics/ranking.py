"""Figures 1 to 3: errors of ROC curves of two text data sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from answering import Columns
from curves import (
    Method,
    confidential,
    distance,
    priroc_fix_not_private,
    priroc_fix_put_right,
    priroc_not_private,
    priroc_put_right,
    smooth,
    with_cuts,
)  # fmt: skip
from numpy.typing import NDArray
from reproduction.measured import Findings, Measured
from roc_sizes import RocSize

from dpcurves.curves import RocThresholds

FloatArray = NDArray[np.float64]
METHODS: dict[str, Method] = {
    "PriROC, as printed": priroc_not_private, "PriROC-fix, as printed": priroc_fix_not_private,
    "PriROC, put right": priroc_put_right, "PriROC-fix, put right": priroc_fix_put_right, "SmoothS": smooth,
    "dpcurves, quantiles": with_cuts(RocThresholds.QUANTILES), "dpcurves, fixed": with_cuts(RocThresholds.FIXED),
    "dpcurves, medians": with_cuts(RocThresholds.MEDIANS),
}  # fmt: skip
PRINTED, PRINTED_FIXED, RIGHT, RIGHT_FIXED, SMOOTH, QUANTILES, FIXED, MEDIANS = METHODS
AREA, CURVE = 0, 1
SMS, TWITTER = "SMS", "TWITTER"

Errors = Mapping[str, FloatArray]
"""For each method: mean error of the area, and mean area between curves, of shape ``(settings, 2)``."""


def setting_names(sets: Mapping[str, Columns], size: RocSize) -> list[tuple[str, float]]:
    """Each data set at each epsilon."""
    return [(name, epsilon) for name in sets for epsilon in size.epsilons]


def errors(sets: Mapping[str, Columns], size: RocSize, step: Callable[[], None]) -> Errors:
    """Errors of all methods, over all settings."""
    found: dict[str, list[FloatArray]] = {method: [] for method in METHODS}
    for name, epsilon in setting_names(sets, size):
        for method, rows in found.items():
            rows.append(mean_errors(METHODS[method], sets[name], epsilon, size.runs))
        step()
    return {method: np.array(rows) for method, rows in found.items()}


def mean_errors(method: Method, columns: Columns, epsilon: float, runs: int) -> FloatArray:
    """Mean errors of the area, and the mean area between the curves."""
    truth = confidential(columns)
    curves = [method(columns, epsilon, seed) for seed in range(runs)]
    return np.asarray([(abs(curve.auc - truth.auc), distance(curve, truth)) for curve in curves]).mean(axis=0)


def findings(found: Errors, settings: Sequence[tuple[str, float]]) -> Findings:
    """Figures 1 to 3."""
    named: Findings = {
        "figure1-tracks": _measured(found, (PRINTED, RIGHT, QUANTILES), lambda rows: float(rows[:, CURVE].max())),
        "figure1-twitter": _measured(found, (PRINTED, RIGHT, QUANTILES), lambda rows: _twitter(rows, settings)),
    }
    for figure, kind in (("figure2", AREA), ("figure3", CURVE)):
        mean = {method: rows[:, kind] for method, rows in found.items()}
        named[f"{figure}-smooth"] = Measured(
            _worst(mean, PRINTED, PRINTED_FIXED), _worst(mean, RIGHT, RIGHT_FIXED), _worst(mean, QUANTILES)
        )
        named[f"{figure}-cuts"] = Measured(
            _average(mean[PRINTED] / mean[PRINTED_FIXED]), _average(mean[RIGHT] / mean[RIGHT_FIXED]),
            _average(mean[QUANTILES] / mean[FIXED]),
        )  # fmt: skip
    return named


def _measured(found: Errors, methods: tuple[str, str, str], number: Callable[[FloatArray], float]) -> Measured:
    printed, right, package = (number(found[method]) for method in methods)
    return Measured(printed, right, package)


def _twitter(rows: FloatArray, settings: Sequence[tuple[str, float]]) -> float:
    """The largest ratio of areas between curves: of tweets over that of messages at the same epsilon."""
    area = dict(zip(settings, rows[:, CURVE].tolist(), strict=True))
    return max(area[TWITTER, epsilon] / area[SMS, epsilon] for name, epsilon in settings if name == SMS)


def _worst(mean: Errors, *methods: str) -> float:
    return float(max((mean[method] / mean[SMOOTH]).max() for method in methods))


def _average(ratios: FloatArray) -> float:
    return float(np.exp(np.log(ratios).mean()))
