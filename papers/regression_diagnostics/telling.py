"""Figure 4 and Table 4.3: ROC curves of which areas are told apart?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf

import numpy as np
from answering import Columns
from numpy.typing import NDArray
from ranking import METHODS, PRINTED, QUANTILES, RIGHT
from reproduction.measured import Findings, Measured
from roc_sizes import RocSize
from scipy.stats import ttest_ind

FloatArray = NDArray[np.float64]
STEP, FINE = 0.025, 0.01
FIRST, LAST = 0.7, 0.95
LEVEL = 0.05
TOLD_APART = {200: 0.1, 500: 0.05, 1000: 0.025, 2000: 0.025}
"""What the papers found, but for the 0.01 at 2000 that one of them has."""
MOST = 0.9
"""The share of all times that this is done."""

Largest = FloatArray
"""The largest p-value of all pairs so many steps apart: of shape ``(times, steps)``."""


@dataclass(frozen=True)
class Power:
    """For each method and each product, the largest p-values."""

    of: dict[str, dict[int, Largest]] = field(default_factory=lambda: {PRINTED: {}, RIGHT: {}, QUANTILES: {}})
    finely: dict[str, dict[int, Largest]] = field(default_factory=lambda: {PRINTED: {}, QUANTILES: {}})

    def least(self, method: str) -> dict[int, float]:
        """The least difference that is told apart, for each product: the median of all times."""
        return {product: float(np.median(_least(largest))) for product, largest in self.of[method].items()}

    def from_which_on(self, method: str) -> float:
        """The least product from which on the finest difference is told apart, nine times of ten."""
        often = {product: (largest[:, 0] < LEVEL).mean() >= MOST for product, largest in self.of[method].items()}
        failed = max((product for product, told in often.items() if not told), default=0)
        return float(min((product for product in often if product > failed), default=inf))


def steps_of(size: RocSize) -> list[int]:
    """Count a step for each product."""
    return [*size.told, *size.told_right, *size.told_package, *size.told_finely]


def power(size: RocSize, step: Callable[[], None]) -> Power:
    """The papers' procedure, several times: areas of many noisy curves each, t-tests of all pairs."""
    found = Power()
    for method, asked in ((PRINTED, size.told), (RIGHT, size.told_right), (QUANTILES, size.told_package)):
        for product, times in asked.items():
            found.of[method][product] = _largest(method, size, product, times, STEP)
            step()
    for product, both in size.told_finely.items():
        for (method, largest), times in zip(found.finely.items(), both, strict=True):
            largest[product] = _largest(method, size, product, times, FINE)
        step()
    return found


def ranked(area: float, records: int) -> Columns:
    """Make as many positives as negatives, whose ROC curve is a power of the false positive rate, with this area."""
    half = records // 2
    even = (np.arange(half) + 0.5) / half
    places = np.concatenate([even, even ** (area / (1 - area))])
    label = np.repeat([0.0, 1.0], half)
    rank = np.argsort(np.argsort(-places, kind="stable"))
    return {"label": label, "score": (rank + 0.5) / (2 * half)}


def areas(step: float) -> FloatArray:
    """All areas, evenly apart."""
    return np.linspace(FIRST, LAST, round((LAST - FIRST) / step) + 1)


def _largest(method: str, size: RocSize, product: int, times: int, step: float) -> Largest:
    sets = [ranked(area, size.records) for area in areas(step)]
    return np.array([_once(method, sets, size, product / size.records, time) for time in range(times)])


def _once(method: str, sets: list[Columns], size: RocSize, epsilon: float, time: int) -> FloatArray:
    """The largest p-value of pairs 1, 2, ... steps apart, from releases of their own."""
    found = []
    for number, columns in enumerate(sets):
        first = (time * len(sets) + number) * size.repetitions
        seeds = range(first, first + size.repetitions)
        found.append([METHODS[method](columns, epsilon, seed).auc for seed in seeds])
    drawn = np.array(found)
    return np.array([ttest_ind(drawn[:-apart], drawn[apart:], axis=1).pvalue.max() for apart in range(1, len(sets))])


def _least(largest: Largest) -> FloatArray:
    """The least difference such that all pairs so far apart are told apart, each time."""
    told = largest < LEVEL
    return np.where(told.any(axis=1), STEP * (np.argmax(told, axis=1) + 1), inf)


def findings(found: Power) -> Findings:
    """The least differences, the largest p-values, and from which product on the finest is told apart."""
    least = {method: found.least(method) for method in found.of}
    named: Findings = {}
    for product, apart in TOLD_APART.items():
        if product not in least[PRINTED]:
            continue
        named[f"figure4-{product}"] = _measured(lambda method, at=product: least[method][at])  # type: ignore[misc]
        place = round(apart / STEP) - 1
        named[f"table43-p-{product}"] = _measured(
            lambda method, at=product, column=place: float(np.median(found.of[method][at][:, column]))  # type: ignore[misc]
        )
    if found.finely[PRINTED]:
        printed, package = (_median_of_first(largest) for largest in found.finely.values())
        named["table43-finely"] = Measured(printed, package=package)
    named["section33-least"] = _measured(found.from_which_on)
    return named


def _measured(number: Callable[[str], float]) -> Measured:
    return Measured(number(PRINTED), number(RIGHT), number(QUANTILES))


def _median_of_first(largest: Mapping[int, Largest]) -> float:
    return float(np.median(next(iter(largest.values()))[:, 0]))
