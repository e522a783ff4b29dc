"""Whether areas under ROC curves, whole curves and rates at thresholds held, by exact scores."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from by_hand import answer, both
from covered_scores import within
from kinds import Case, Counts, FloatArray, People, people

from dpcurves.curves import ROC, RocQuestion, RocThresholds
from dpcurves.data import Grid, Outside
from dpcurves.inference import RocBand
from dpcurves.privacy import PrivacyLoss
from dpcurves.summaries import auc_of_counts

AT = (4, 8, 16, 24, 40)
THRESHOLDS = RocQuestion("y", "s", Grid(0, 1, cells=64, outside=Outside.APART), edges=AT)
FINE = RocQuestion("y", "s", Grid(0, 1, cells=256), thresholds=RocThresholds.FIXED)
USUAL = RocQuestion("y", "s")
MANY = 1e6
RARE = -3.6  # added to the log-odds of scores: about a fiftieth are positive then

whole = lru_cache(people)


def covered(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Tell it of one release of each question."""
    of, chance = whole(case.data), np.random.default_rng([seed, case.units, case.adjacency])
    few = whole(case.data, shift=RARE)
    drawn, rare = of.drawn(case.units, chance), few.drawn(case.units, chance)
    usual, scarce = asked(USUAL, of, drawn, case, seed), asked(USUAL, few, rare, case, seed)
    for whom, counts, other in (("records", drawn, rare), ("population", MANY * of.weights, MANY * few.weights)):
        population = whom == "population"
        yield f"area, {whom}", within(area(counts), *usual.auc_interval(level, population=population))
        if min(other.sum(axis=1)) > 0:
            yield f"rare area, {whom}", within(area(other), *scarce.auc_interval(level, population=population))
        yield f"region, {whom}", contains(usual.band(level, population=population), rates_above(counts))
        yield f"boxes, {whom}", boxed(usual, counts, of, level, population=population)
    fine = asked(FINE, of, drawn, case, seed)
    for whom, counts in (("records", drawn), ("population", MANY * of.weights)):
        yield f"fine area, {whom}", within(area(counts), *fine.auc_interval(level, population=whom == "population"))
    coarse = asked(THRESHOLDS, of, drawn, case, seed)
    for whom, counts in (("records", drawn), ("population", MANY * of.weights)):
        population = whom == "population"
        yield f"boxes at thresholds, {whom}", boxed(coarse, counts, of, level, population=population)
        yield f"coarse area, {whom}", within(area(counts), *coarse.auc_interval(level, population=population))
        yield f"coarse region, {whom}", contains(coarse.band(level, population=population), rates_above(counts))


def asked(question: RocQuestion, of: People, drawn: Counts, case: Case, seed: int) -> ROC:
    return answer(question, of.columns(drawn), PrivacyLoss.pure(case.epsilon), both(case.units)[case.adjacency], seed)


def area(counts: Counts) -> float:
    """The chance to win a pair, of counts (2, scores)."""
    return float(auc_of_counts(positive=counts[1].astype(np.float64), negative=counts[0].astype(np.float64)))


def rates_above(counts: Counts) -> FloatArray:
    """False and true positive rates at all scores, from none to all: (2, points)."""
    above = np.cumsum(counts[:, ::-1], axis=1) / counts.sum(axis=1, keepdims=True)
    return np.concatenate([np.zeros((2, 1)), above], axis=1)


def contains(band: RocBand, points: FloatArray) -> bool:
    return within(points[1], *band.tpr_at(points[0]))


def boxed(curve: ROC, counts: Counts, of: People, level: float, *, population: bool) -> bool:
    """Whether the rates at all counted thresholds lie in their boxes."""
    at = np.searchsorted(of.scores, np.append(curve.thresholds[:-1], -np.inf), side="left")
    rates = rates_above(counts)[:, len(of.scores) - at]
    band = curve.band(level, population=population)
    return within(rates, np.stack(band[0::2]), np.stack(band[1::2]))
