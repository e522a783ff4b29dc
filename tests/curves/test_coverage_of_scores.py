"""Intervals of areas under ROC curves hold what they say, whatever the scores.

Seeds are fixed; coverage is compared with the level within 4 sigma: a false alarm has chance 6e-5 a comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import sqrt
from typing import NamedTuple

import numpy as np
import pytest
from by_hand import answer, both
from kinds import CONTINUOUS, KINDS, FloatArray, labels_of, scores
from scipy.special import expit, logit
from scipy.stats import rankdata

from dpcurves.curves import RocQuestion, RocThresholds
from dpcurves.data import Grid
from dpcurves.privacy import PrivacyLoss

LEVEL = 0.9
SIXTH = -1.5  # added to the log-odds of scores: how many are positive then
RARE = -4.0


def area(score: FloatArray, positive: FloatArray) -> float:
    """The chance to win a pair, of records that are positive, or are so with these chances."""
    rank, found = np.unique(score, return_inverse=True)
    true, false = (np.bincount(found, each, minlength=len(rank)) for each in (positive, 1 - positive))
    return float(true @ (np.cumsum(false) - false / 2) / (true.sum() * false.sum()))


@lru_cache
def of_population(kind: str, shift: float) -> float:
    """The area of a million scores, each taken as positive and as negative by its chances."""
    score = scores(kind, 10**6, np.random.default_rng(7))
    with np.errstate(divide="ignore"):
        return area(score, expit(logit(score) + shift))


class Asked(NamedTuple):
    """What is asked, of what scores."""

    question: RocQuestion
    kind: str
    records: int
    epsilon: str
    shift: float = 0.0


def held(asked: Asked, releases: int) -> Iterator[list[bool]]:
    """Whether the area of these records, and that of the population, is held; for both adjacencies."""
    question, kind, records, epsilon, shift = asked
    for adjacency, seed in product((0, 1), range(releases)):
        chance = np.random.default_rng(seed)
        score = scores(kind, records, chance)
        label = labels_of(score, chance, shift=shift)
        roc = answer(question, {"y": label, "s": score}, PrivacyLoss.pure(epsilon), both(records)[adjacency], seed)
        truths = area(score, label), of_population(kind, shift)
        ends = [roc.auc_interval(LEVEL, population=whom) for whom in (False, True)]
        yield [low <= truth <= high for truth, (low, high) in zip(truths, ends, strict=True)]


def allowed(many: int) -> float:
    return 4 * sqrt(LEVEL * (1 - LEVEL) / many)


FINE = RocQuestion("y", "s", Grid(0, 1, cells=128), thresholds=RocThresholds.FIXED)


def test_areas_are_those_of_ranks() -> None:
    chance = np.random.default_rng(1)
    score = scores("heaped", 500, chance)
    label = labels_of(score, chance)
    won = rankdata(score)[label == 1].sum() - label.sum() * (label.sum() + 1) / 2
    assert area(score, label) == pytest.approx(won / (label.sum() * (1 - label).sum()))


@pytest.mark.reproduction
def test_of_spread_scores_intervals_hold_the_area_as_often_as_they_say() -> None:
    """In fine cells, where ties hide a tenth of what noise does. `test_widths_of_intervals` holds how wide they are."""
    found = np.array(list(held(Asked(FINE, CONTINUOUS, 1000, "0.5"), 30)))
    assert found.mean(axis=0).min() >= LEVEL - allowed(len(found))


@pytest.mark.reproduction
@pytest.mark.parametrize("shift", [SIXTH, RARE])
def test_whatever_the_scores_intervals_hold_the_area_at_least_as_often(shift: float) -> None:
    """Each kind of scores at each size and loss; of 1,000 records twice."""
    settings = product((CONTINUOUS, *KINDS), ((1000, "1", 2), (1000, "0.1", 2), (100_000, "0.1", 1)))
    found = [
        each
        for kind, (records, epsilon, releases) in settings
        for each in held(Asked(RocQuestion("y", "s"), kind, records, epsilon, shift), releases)
    ]
    assert np.mean(found, axis=0).min() >= LEVEL - allowed(len(found))
