"""Figure 4.10: how the budget is split between thresholds and counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from answering import Columns, answer
from curves import MODEL, SCORES, Curve, Method, between, curve, printed_counts, thresholds
from numpy.typing import NDArray
from ranking import AREA, CURVE, mean_errors
from reproduction.measured import Findings, Measured
from roc_as_printed import medians_not_private
from roc_sizes import RocSize

from dpcurves.conversation import WHOLE_BUDGET, Needs, PrefixWorkload, Setting, SingleQueryWorkload, ask_workload
from dpcurves.curves.class_table import ClassTable
from dpcurves.curves.question import build_privacy_statement
from dpcurves.curves.roc import ROC
from dpcurves.data import Axis, Categories
from dpcurves.queries import QuantileCutsQuery
from dpcurves.strategies.ranks import choose_cut_levels, pieces_between

FloatArray = NDArray[np.float64]
GOOD, LARGEST, WIDEST = 0.2, 0.95, 0.5
PRINTED, PACKAGE = "PriROC, as printed", "dpcurves, quantiles"

Errors = Mapping[str, FloatArray]
"""For each method, of shape ``(data sets and epsilons, ratios, 2)``."""


@dataclass(frozen=True)
class Divided:
    """A ROC curve between private quantiles, with any share of the budget for these."""

    share: Fraction

    def steps(self, setting: Setting) -> Needs[ROC]:
        """Cuts, counts."""
        score = Axis("score", SCORES)
        levels = max(choose_cut_levels(setting.adjacency.public_record_count or 0, setting), 1)
        cuts = yield from ask_workload(SingleQueryWorkload(QuantileCutsQuery((score,), 2**levels)), self.share)
        pieces = pieces_between(score, cuts.values)
        counted = yield from ask_workload(
            PrefixWorkload((Categories("label", (0, 1)), pieces)), WHOLE_BUDGET - self.share
        )
        return ROC.from_counts(
            ClassTable(counted.counts, pieces.grid, build_privacy_statement([cuts, *counted.releases], MODEL))
        )


def printed(ratio: float, levels: int) -> Method:
    """PriROC as printed, with this share for thresholds."""

    def released(columns: Columns, epsilon: float, seed: int) -> Curve:
        inner = thresholds(columns, ratio * epsilon, levels, seed, medians_not_private)
        return curve(printed_counts(between(columns, inner), (1 - ratio) * epsilon, seed))

    return released


def package(ratio: float) -> Method:
    """The curve of dpcurves, with this share for thresholds."""

    def released(columns: Columns, epsilon: float, seed: int) -> Curve:
        found = answer(Divided(Fraction(str(ratio))), columns, epsilon, seed)
        return Curve(found.fpr, found.tpr, found.auc)

    return released


def errors(sets: Mapping[str, Columns], size: RocSize, step: Callable[[], None]) -> Errors:
    """Errors of both, for all ratios."""
    found: dict[str, list[FloatArray]] = {PRINTED: [], PACKAGE: []}
    for columns in sets.values():
        for epsilon in size.split_epsilons:
            for ratio in size.ratios:
                for name, method in ((PRINTED, printed(ratio, size.levels)), (PACKAGE, package(ratio))):
                    found[name].append(mean_errors(method, columns, epsilon, size.splits))
                step()
    return {name: np.array(rows).reshape(-1, len(size.ratios), 2) for name, rows in found.items()}


def steps_of(sets: Mapping[str, Columns], size: RocSize) -> list[float]:
    """Count a step for each setting."""
    return [*size.ratios] * len(sets) * len(size.split_epsilons)


def findings(found: Errors, size: RocSize) -> Findings:
    """What the text says of Figure 4.10."""
    place = {ratio: number for number, ratio in enumerate(size.ratios)}
    few = [number for ratio, number in place.items() if ratio <= WIDEST]
    numbers: dict[str, Callable[[FloatArray], float]] = {
        "figure410-large": lambda rows: _mean(rows[:, place[LARGEST]] / rows[:, place[GOOD]]),
        "figure410-stable": lambda rows: _mean(rows[:, few].max(axis=1) / rows[:, few].min(axis=1)),
        "figure410-good": lambda rows: float((rows[:, place[GOOD]] / rows.min(axis=1)).max()),
    }
    return {name: Measured(number(found[PRINTED]), package=number(found[PACKAGE])) for name, number in numbers.items()}


def _mean(ratios: FloatArray) -> float:
    return float(np.exp(np.log(ratios[..., [AREA, CURVE]]).mean()))
