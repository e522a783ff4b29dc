"""Figure 4.6 and Table 4.2: which histogram algorithm gives the most similar residual plots?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from baselines import UniformEstimator
from histograms import AllNoisy
from plane import Density, Floats, Records, replaced
from prirp import Method, estimated, prirp_not_private
from reproduction.measured import Findings, Measured
from residual_sizes import ResidualSize
from residuals import Overlaid, models

from dpcurves.histograms import (
    AdaptiveGridEstimator,
    AhpEstimator,
    CellEstimator,
    DawaEstimator,
    HierarchyEstimator,
    MwemEstimator,
    PriveletEstimator,
    PrivTreeEstimator,
    TableEstimator,
    UniformGridEstimator,
)
from dpcurves.mechanisms import AUTO, Mechanism
from dpcurves.privacy import EACH_RECORD, AddRemove

DAWA, AHP, LAPLACE, HB, GRID, UNIFORM, MWEM = "DAWA", "AHP", "LM", "HB", "AG", "Uniform", "MWEM"
OF_THE_TABLE = DAWA, AHP, LAPLACE, HB, GRID, UNIFORM, MWEM
SURVEYS: dict[str, TableEstimator] = {
    DAWA: DawaEstimator(),
    AHP: AhpEstimator(),
    LAPLACE: CellEstimator(),
    HB: HierarchyEstimator(),
    GRID: AdaptiveGridEstimator(),
    UNIFORM: UniformEstimator(),
    MWEM: MwemEstimator(),
    "UG": UniformGridEstimator(),
    "PrivTree": PrivTreeEstimator(),
    "Privelet": PriveletEstimator(),
}
ALL_NOISY = "DAWA, all intervals noisy"
PRINTED, SOUND = "as printed", "sound"
Similar = Mapping[str, Mapping[str, Floats]]
"""For each method: mean similarities, of shape ``(epsilons,)``, for each model."""


@dataclass(frozen=True)
class Compared:
    """Mean similarities of all algorithms to the confidential plot of the same records, within the same bounds.

    As printed: noise for one record more or less, DAWA as its reference code has it, and the algorithms of the table.
    Sound: noise for a changed record, DAWA as dpcurves has it, and all algorithms that dpcurves has.
    """

    epsilons: tuple[float, ...]
    of: Mapping[str, Similar]

    def regrets(self, kind: str) -> dict[str, float]:
        """The mean ratio to the best algorithm, over models and epsilons."""
        rows = {name: np.concatenate(list(found.values())) for name, found in self.of[kind].items()}
        best = np.min(list(rows.values()), axis=0)
        return {name: float((row / best).mean()) for name, row in rows.items()}


def compared(size: ResidualSize, step: Callable[[], None]) -> Compared:
    """Over all models and epsilons."""
    sets = models(size)
    of: dict[str, dict[str, dict[str, Floats]]] = {PRINTED: {}, SOUND: {}}
    for kind, methods in METHODS.items():
        for name, method in methods.items():
            of[kind][name] = {model: _means(method, records, size) for model, records in sets.items()}
            step()
    return Compared(size.regret_epsilons, of)


def _means(method: Method, records: Records, size: ResidualSize) -> Floats:
    overlaid = Overlaid.on(records)
    runs = range(size.regret_runs)
    return np.array([overlaid.similarities(method, records, epsilon, runs).mean() for epsilon in size.regret_epsilons])


def one_more_or_less(estimator: TableEstimator, records: Records, epsilon: float, seed: int) -> Density:
    """Noise as the reference codes have it."""
    return estimated(estimator, records, epsilon, seed, AddRemove(EACH_RECORD))


def one_changed(
    estimator: TableEstimator, records: Records, epsilon: float, seed: int, mechanism: Mechanism = AUTO
) -> Density:
    """Noise for the neighbours that the papers have."""
    return estimated(estimator, records, epsilon, seed, replaced(records), mechanism=mechanism)


METHODS: dict[str, dict[str, Method]] = {
    PRINTED: {
        name: prirp_not_private if name == DAWA else partial(one_more_or_less, SURVEYS[name]) for name in OF_THE_TABLE
    },
    SOUND: {
        **{name: partial(one_changed, estimator) for name, estimator in SURVEYS.items()},
        ALL_NOISY: partial(one_changed, DawaEstimator(), mechanism=AllNoisy()),
    },
}
STEPS = [name for methods in METHODS.values() for name in methods]


def findings(found: Compared) -> Findings:
    """Table 4.2: regrets, and whether that of DAWA is the least."""
    printed, sound = found.regrets(PRINTED), found.regrets(SOUND)
    named: Findings = {f"table42-{name}": Measured(printed[name], package=sound[name]) for name in OF_THE_TABLE}
    named["table42-least"] = Measured(_over_others(printed), package=_over_others(sound))
    return named


def _over_others(regrets: Mapping[str, float]) -> float:
    """The regret of DAWA, in units of the least of the others."""
    return regrets[DAWA] / min(regret for name, regret in regrets.items() if DAWA not in name)
