"""Figure 4.15: how the budget is split between bins and what is in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from binned import PACKAGE, PRINTED, PUT_RIGHT, Records, shape_difference, slopes
from binned_as_printed import Plot, pribrp_not_private, pribrp_put_right
from binned_release import by_dpcurves
from numpy.typing import NDArray
from reproduction.measured import Findings, Measured
from roc_sizes import BinnedSize

Floats = NDArray[np.float64]
GOOD, SMALL, LARGE = 0.15, 0.2, 0.4
METHODS: dict[str, Callable[[Records, float, int, float], Plot]] = {
    PRINTED: lambda records, epsilon, seed, ratio: pribrp_not_private(records.judged, epsilon, seed, ratio),
    PUT_RIGHT: lambda records, epsilon, seed, ratio: pribrp_put_right(records.judged, epsilon, seed, ratio),
    PACKAGE: lambda records, epsilon, seed, ratio: by_dpcurves(records.judged, epsilon, seed, ratio),
}
Differences = Mapping[str, Floats]
"""The mean difference of shapes of each method, of shape ``(models and epsilons, ratios)``."""


def differences(sets: Mapping[str, Records], size: BinnedSize, step: Callable[[], None]) -> Differences:
    """Between plots without noise, and released ones of the same records."""
    found: dict[str, list[float]] = {method: [] for method in METHODS}
    for records in sets.values():
        truth = slopes(records.plot)
        for epsilon in size.split_epsilons:
            for ratio in size.ratios:
                for method, means in found.items():
                    plots = (METHODS[method](records, epsilon, seed, ratio) for seed in range(size.splits))
                    means.append(float(np.mean([shape_difference(plot, truth) for plot in plots])))
                step()
    return {method: np.array(means).reshape(-1, len(size.ratios)) for method, means in found.items()}


def steps_of(size: BinnedSize) -> list[float]:
    """Count a step for each setting."""
    return [*size.ratios] * 2 * len(size.split_epsilons)


def findings(found: Differences, size: BinnedSize) -> Findings:
    """What the text says of Figure 4.15."""
    ratios = np.array(size.ratios)
    good = size.ratios.index(GOOD)
    numbers: dict[str, Callable[[Floats], float]] = {
        "figure415-small": lambda rows: float(
            (rows[:, ratios >= LARGE].mean(axis=1) / rows[:, ratios <= SMALL].mean(axis=1)).min()
        ),
        "figure415-good": lambda rows: float((rows[:, good] / rows.min(axis=1)).max()),
    }
    return {
        name: Measured(*(number(found[method]) for method in (PRINTED, PUT_RIGHT, PACKAGE)))
        for name, number in numbers.items()
    }
