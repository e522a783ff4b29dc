"""ROC curves: the true one, PriROC as printed, those of dpcurves, and how far two of them are apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2

import numpy as np
from answering import Columns, answer, replies, table_of
from as_printed import estimate_not_private
from numpy.typing import NDArray

from dpcurves.curves import Cuts, RocQuestion, SmoothAucQuestion
from dpcurves.data import Axis, Categories, CountQuery, Grid, MedianQuery, Read
from dpcurves.postprocess.roc import auc, roc_points
from dpcurves.release import ALL, Step

FloatArray = NDArray[np.float64]
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
    negative, positive = _counts(columns, SCORES)
    return _curve(negative, positive)


def with_cuts(cuts: Cuts) -> Method:
    """The curve of dpcurves."""

    def released(columns: Columns, epsilon: float, seed: int) -> Curve:
        grid = _equal(columns) if cuts is Cuts.FIXED else SCORES
        found = answer(RocQuestion("label", "score", grid, model=MODEL, cuts=cuts), columns, epsilon, seed)
        return Curve(found.fpr, found.tpr, found.auc)

    return released


def smooth(columns: Columns, epsilon: float, seed: int) -> Curve:
    """SmoothS: a noisy area, and the binormal curve that has it. Noise is that of dpcurves, which is proved."""
    found = answer(SmoothAucQuestion("label", "score", SCORES, model=MODEL), columns, epsilon, seed)
    return Curve(found.fpr, found.tpr, found.auc)


def priroc_not_private(columns: Columns, epsilon: float, seed: int) -> Curve:
    """PriROC: recursive medians by smooth sensitivity, then each class by DAWA as printed.

    The medians are those of dpcurves, whose noise follows the exact Cauchy rule.
    """
    query = MedianQuery((Axis("score", SCORES),), levels_of(columns))
    release = replies(columns, SHARE * epsilon, seed)(Step(query, ALL))
    grid = Axis("score", SCORES.cut(release.values)).grid
    return _dawa_not_private(columns, grid, (1 - SHARE) * epsilon, seed)


def priroc_fix_not_private(columns: Columns, epsilon: float, seed: int) -> Curve:
    """PriROC-fix: as many thresholds at equal distances, then each class by DAWA as printed."""
    return _dawa_not_private(columns, _equal(columns), epsilon, seed)


def levels_of(columns: Columns) -> int:
    """Thresholds are the greatest power of two up to the number of records."""
    return int(log2(len(columns["label"])))


def _equal(columns: Columns) -> Grid:
    return Grid(0, 1, cells=2 ** levels_of(columns))


def distance(one: Curve, other: Curve) -> float:
    """The area between two curves: their symmetric difference."""
    gaps = _heights(one) - _heights(other)
    return float(np.trapezoid(np.abs(gaps), RATES))


def _heights(curve: Curve) -> FloatArray:
    return np.interp(RATES, curve.fpr, curve.tpr)


def _dawa_not_private(columns: Columns, grid: Grid, epsilon: float, seed: int) -> Curve:
    """Each record lies in one class, so each class has all of epsilon."""
    chance = np.random.default_rng(seed)
    negative, positive = (estimate_not_private(row, epsilon, chance) for row in _counts(columns, grid))
    return _curve(np.maximum(negative, 0.0), np.maximum(positive, 0.0))


def _counts(columns: Columns, grid: Grid) -> FloatArray:
    """Negatives, positives: of shape ``(2, cells)``."""
    query = CountQuery((Categories("label", (0, 1)), Axis("score", grid)), Read.PREFIXES)
    return table_of(columns, query)[:-1].reshape(2, -1).astype(np.float64)


def _curve(negative: FloatArray, positive: FloatArray) -> Curve:
    fpr, tpr = roc_points(positive=positive, negative=negative)
    return Curve(fpr, tpr, float(auc(fpr, tpr)))
