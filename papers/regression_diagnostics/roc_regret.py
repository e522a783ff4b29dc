"""Table 4.4 and Figure 4.11: which histogram algorithm reads ROC curves best?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from answering import Columns
from curves import (
    SHARE,
    Curve,
    between,
    confidential,
    curve,
    distance,
    printed_counts,
    sound_counts,
    thresholds,
)  # fmt: skip
from histograms import AHP, DAWA, HB, LAPLACE, MWEM, SOUND, UNIFORM
from numpy.typing import NDArray
from reproduction.measured import Findings, Measured
from roc_as_printed import medians_not_private
from roc_sizes import RocSize

FloatArray = NDArray[np.float64]
PRINTED = "DAWA, as printed"
RIVALS = AHP, HB, LAPLACE, MWEM, UNIFORM
KINDS = {"area": 0, "curve": 1}

Errors = Mapping[str, FloatArray]
"""For each algorithm: mean error of the area, and mean area between curves, of shape ``(settings, 2)``."""


def errors(
    sets: Mapping[str, Columns], settings: Sequence[tuple[str, float]], size: RocSize, step: Callable[[], None]
) -> Errors:
    """Errors of all algorithms, on the same thresholds."""
    found: dict[str, list[FloatArray]] = {name: [] for name in (PRINTED, *SOUND)}
    for name, epsilon in settings:
        runs: dict[str, list[tuple[float, float]]] = {algorithm: [] for algorithm in found}
        truth = confidential(sets[name])
        for seed in range(size.estimators):
            for algorithm, one in _curves(sets[name], epsilon, seed, size.levels):
                runs[algorithm].append((abs(one.auc - truth.auc), distance(one, truth)))
        for algorithm, rows in runs.items():
            found[algorithm].append(np.array(rows).mean(axis=0))
        step()
    return {algorithm: np.array(rows) for algorithm, rows in found.items()}


def _curves(columns: Columns, epsilon: float, seed: int, levels: int) -> Iterator[tuple[str, Curve]]:
    exact = between(columns, thresholds(columns, SHARE * epsilon, levels, seed, medians_not_private))
    rest = (1 - SHARE) * epsilon
    yield PRINTED, curve(printed_counts(exact, rest, seed))
    for name, algorithm in SOUND.items():
        yield name, curve(sound_counts(algorithm, exact, rest, seed))


def regrets(found: Errors, among: Sequence[str]) -> dict[str, FloatArray]:
    """How many times the error of the best one, on average over settings: of the area, and of the curve."""
    least = np.min([found[name] for name in among], axis=0)
    return {name: (found[name] / least).mean(axis=0) for name in among}


def shown(found: Errors) -> dict[str, FloatArray]:
    """Regrets of all, the printed one and the sound ones, least first."""
    whole = regrets(found, tuple(found))
    return dict(sorted(whole.items(), key=lambda named: float(named[1][KINDS["area"]])))


def findings(found: Errors) -> Findings:
    """Table 4.4: with DAWA as printed, with the sound one, and that among all sound algorithms."""
    printed, sound = regrets(found, (PRINTED, *RIVALS)), regrets(found, (DAWA, *RIVALS))
    whole = regrets(found, tuple(SOUND))
    named: Findings = {}
    for kind, column in KINDS.items():
        named[f"table44-{kind}-dawa"] = Measured(float(printed[PRINTED][column]), float(sound[DAWA][column]))
        named[f"table44-{kind}-least"] = Measured(
            _over_the_least(printed, PRINTED, column), _over_the_least(sound, DAWA, column),
            _over_the_least(whole, DAWA, column),
        )  # fmt: skip
        for rival in RIVALS:
            named[f"table44-{kind}-{rival.lower()}"] = Measured(
                float(printed[rival][column]), float(sound[rival][column])
            )
    return named


def _over_the_least(regret: Mapping[str, FloatArray], name: str, column: int) -> float:
    """The regret of one algorithm over the least of the others."""
    return float(regret[name][column] / min(row[column] for other, row in regret.items() if other != name))
