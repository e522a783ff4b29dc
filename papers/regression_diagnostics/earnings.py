"""Figure 9: residual plots of earnings, and of the logarithms of earnings, of records that a model has not seen.

The Current Population Survey of 2005 stands in for that of 2000: earnings of each hour for incomes of households, and
regions for marital status.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from plane import Density, Floats, Records, released
from prirp import Method, prirp_not_private
from reproduction.measured import Findings, Measured
from residual_sizes import ResidualSize

FILE = Path("tabular") / "CPSSW8.csv.gz"
DIAGNOSED = 49_436  # as many as the paper has
PLAIN, LOGARITHM = "earnings", "log earnings"
UNITS = {PLAIN: (1.0, 1.0), LOGARITHM: (1.0, 0.25)}
EPSILONS = 1.0, 0.1
SEED = 13
METHODS: dict[str, Method] = {"PriRP, as printed": prirp_not_private, "dpcurves": released}
PRINTED, PACKAGE = METHODS


@dataclass(frozen=True)
class Fans:
    """How much wider residuals spread where predictions are high, confidential, and on average in private plots."""

    sets: Mapping[str, Records]
    confidential: Mapping[str, float]
    private: Mapping[str, Mapping[str, Mapping[float, float]]]


def is_there(folder: Path) -> bool:
    """Whether the table is."""
    return (folder / FILE).is_file()


def fans(folder: Path, size: ResidualSize, step: Callable[[], None]) -> Fans:
    """Measure the fans of both models."""
    sets = judged(folder)
    private: dict[str, dict[str, dict[float, float]]] = {method: {name: {} for name in sets} for method in METHODS}
    for name, records in sets.items():
        for epsilon in EPSILONS:
            for method, found in private.items():
                plots = (METHODS[method](records, epsilon, seed) for seed in range(size.slopes))
                found[name][epsilon] = float(np.mean([fan_of(plot) for plot in plots]))
        step()
    return Fans(sets, {name: _fan(*_columns(records)) for name, records in sets.items()}, private)


def judged(folder: Path) -> dict[str, Records]:
    """Predictions and residuals of least squares that was fitted to the other records."""
    import pandas as pd

    with gzip.open(folder / FILE, "rt", encoding="utf-8") as file:
        table = pd.read_csv(file)
    kinds = pd.get_dummies(table[["gender", "region", "education"]].astype(str), drop_first=True)
    features = np.column_stack([np.ones(len(table)), table["age"], kinds]).astype(np.float64)
    earned = table["earnings"].to_numpy(dtype=np.float64)
    order = np.random.default_rng(SEED).permutation(len(table))
    own, others = order[:DIAGNOSED], order[DIAGNOSED:]
    found = {}
    for name, outcome in ((PLAIN, earned), (LOGARITHM, np.log(earned))):
        weights = np.linalg.lstsq(features[others], outcome[others], rcond=None)[0]
        predicted = features[own] @ weights
        found[name] = Records(predicted, outcome[own] - predicted, UNITS[name])
    return found


def _columns(records: Records) -> tuple[Floats, Floats, Floats]:
    return records.predicted, records.residual, np.ones(records.size)


def fan_of(plot: Density) -> float:
    """In the middles of cells."""
    across, upwards = ((edges[1:] + edges[:-1]) / 2 for edges in plot.edges)
    predicted, residual = np.meshgrid(across, upwards, indexing="ij")
    return _fan(predicted.ravel(), residual.ravel(), plot.shares.ravel())


def _fan(predicted: Floats, residual: Floats, weight: Floats) -> float:
    """The middle half of the residuals in the upper half of the predictions, in units of that in the lower half."""
    middle = _quantile(predicted, weight, 0.5)
    low, high = (_middle_half(residual[half], weight[half]) for half in (predicted <= middle, predicted > middle))
    return high / low


def _middle_half(values: Floats, weight: Floats) -> float:
    return _quantile(values, weight, 0.75) - _quantile(values, weight, 0.25)


def _quantile(values: Floats, weight: Floats, part: float) -> float:
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order]) - weight[order] / 2
    return float(np.interp(part * weight.sum(), below, values[order]))


def findings(found: Fans) -> Findings:
    """Whether there is a fan, and whether it is gone with logarithms."""
    named: Findings = {f"figure9-{SHORT[name]}": Measured(fan) for name, fan in found.confidential.items()}
    for name, short in SHORT.items():
        for epsilon, part in zip(EPSILONS, ("one", "tenth"), strict=True):
            printed, package = (found.private[method][name][epsilon] for method in (PRINTED, PACKAGE))
            named[f"figure9-{short}-{part}"] = Measured(printed, package=package)
    return named


SHORT = {PLAIN: "plain", LOGARITHM: "log"}
