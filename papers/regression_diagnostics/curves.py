"""ROC curves: the true one, PriROC as printed and put right, those of dpcurves, and how far two of them are apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2

import numpy as np
from answering import Columns, answer, table_of
from histograms import DAWA, SOUND, Counts, Estimate
from numpy.typing import NDArray
from roc_as_printed import Edges, dawa_not_private, medians_in_floats, medians_not_private

from dpcurves.curves import RocQuestion, RocThresholds, SmoothAucQuestion
from dpcurves.data import Axis, Categories, Grid
from dpcurves.privacy import EACH_RECORD, AddRemove, ReplaceOne
from dpcurves.queries import CountQuery, CountUse
from dpcurves.summaries.two_classes import auc, roc_points

FloatArray = NDArray[np.float64]
Median = Callable[[Counts, float, int, np.random.Generator], Edges]
SCORES = Grid(0, 1, cells=2**14)
SHARE = 0.2  # of epsilon, for thresholds
RATES = np.linspace(0, 1, 4001)
MODEL = "trained on other records, privately"


@dataclass(frozen=True)
class Curve:
    """False and true positive rates, as the threshold falls, and the area below."""

    fpr: FloatArray
    tpr: FloatArray
    auc: float


Method = Callable[[Columns, float, int], Curve]
"""A curve of records, at epsilon, from a seed."""


def confidential(columns: Columns) -> Curve:
    """Without noise, on the cells of the scores."""
    return curve(counts_of(columns).astype(np.float64))


def with_cuts(cuts: RocThresholds) -> Method:
    """The curve of dpcurves."""

    def released(columns: Columns, epsilon: float, seed: int) -> Curve:
        grid = Grid(0, 1, cells=2 ** levels_of(columns)) if cuts is RocThresholds.FIXED else SCORES
        found = answer(RocQuestion("label", "score", grid, model=MODEL, thresholds=cuts), columns, epsilon, seed)
        return Curve(found.fpr, found.tpr, found.auc)

    return released


def smooth(columns: Columns, epsilon: float, seed: int) -> Curve:
    """SmoothS: a noisy area, and the binormal curve that has it. Noise is that of dpcurves, which is proved."""
    found = answer(SmoothAucQuestion("label", "score", SCORES, model=MODEL), columns, epsilon, seed)
    return Curve(found.fpr, found.tpr, found.auc)


def priroc_not_private(columns: Columns, epsilon: float, seed: int) -> Curve:
    """PriROC as printed: recursive medians by smooth sensitivity, then each class by DAWA as printed."""
    inner = thresholds(columns, SHARE * epsilon, levels_of(columns), seed, medians_not_private)
    return curve(printed_counts(between(columns, inner), (1 - SHARE) * epsilon, seed))


def priroc_fix_not_private(columns: Columns, epsilon: float, seed: int) -> Curve:
    """PriROC-fix: as many thresholds at equal distances, then each class by DAWA as printed."""
    return curve(printed_counts(between(columns, equal_thresholds(columns)), epsilon, seed))


def priroc_put_right(columns: Columns, epsilon: float, seed: int) -> Curve:
    """PriROC with the exact Cauchy rule, and with DAWA as dpcurves has it."""
    inner = thresholds(columns, SHARE * epsilon, levels_of(columns), seed, medians_in_floats)
    return curve(sound_counts(SOUND[DAWA], between(columns, inner), (1 - SHARE) * epsilon, seed))


def priroc_fix_put_right(columns: Columns, epsilon: float, seed: int) -> Curve:
    """PriROC-fix with DAWA as dpcurves has it."""
    return curve(sound_counts(SOUND[DAWA], between(columns, equal_thresholds(columns)), epsilon, seed))


def levels_of(columns: Columns) -> int:
    """Thresholds are the greatest power of two up to the number of records."""
    return int(log2(len(columns["label"])))


def counts_of(columns: Columns) -> Counts:
    """Negatives, positives, in cells of the scores: of shape ``(2, cells)``."""
    query = CountQuery((Categories("label", (0, 1)), Axis("score", SCORES)), CountUse.PREFIXES)
    return table_of(columns, query)[:-1].reshape(2, -1)


def thresholds(columns: Columns, epsilon: float, levels: int, seed: int, median: Median) -> Edges:
    """Recursive medians of all scores."""
    return median(counts_of(columns).sum(axis=0), epsilon, levels, np.random.default_rng((seed, levels)))


def equal_thresholds(columns: Columns) -> Edges:
    """At equal distances, which costs nothing."""
    pieces = 2 ** levels_of(columns)
    return np.arange(1, pieces) * SCORES.cells // pieces


def between(columns: Columns, inner: Edges) -> Counts:
    """Negatives, positives between thresholds; of equal ones, one is enough."""
    fine = counts_of(columns)
    begins = np.unique(np.append(inner, 0))
    counts: Counts = np.add.reduceat(fine, begins[begins < fine.shape[1]], axis=1)
    return counts


def printed_counts(exact: Counts, epsilon: float, seed: int) -> FloatArray:
    """Each class for a half of epsilon, as printed: one record more or less there is a replaced one in both."""
    who, half = AddRemove(EACH_RECORD), epsilon / 2
    return np.stack([dawa_not_private(row, half, 2 * seed + place, who) for place, row in enumerate(exact)])


def sound_counts(algorithm: Estimate, exact: Counts, epsilon: float, seed: int) -> FloatArray:
    """Both classes in one line: a record has one place there, which also a changed label replaces by another."""
    who = ReplaceOne(EACH_RECORD, int(exact.sum()))
    return algorithm(exact.ravel(), epsilon, seed, who).reshape(exact.shape)


def distance(one: Curve, other: Curve) -> float:
    """The area between two curves: their symmetric difference."""
    gaps = _heights(one) - _heights(other)
    return float(np.trapezoid(np.abs(gaps), RATES))


def _heights(curve: Curve) -> FloatArray:
    return np.interp(RATES, curve.fpr, curve.tpr)


def curve(counts: FloatArray) -> Curve:
    """Cumulated, made to rise, from (0, 0) to (1, 1)."""
    fpr, tpr = roc_points(positive=counts[1], negative=counts[0])
    return Curve(fpr, tpr, float(auc(fpr, tpr)))
