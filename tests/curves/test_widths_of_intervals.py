"""Intervals that hold more often than they say are no wider than noise, and what was not counted, ask for.

What they may add to the noise is worked out from the release that they were read from: a cell to a side, half of the
pairs that seem to be tied to either end, or the corners between two boxes.
"""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from by_hand import answer, both
from covered_areas import FINE, THRESHOLDS, USUAL
from covered_scores import GROUPS
from covered_survivals import population
from kinds import DATA, POPULATIONS, FloatArray, people

from dpcurves.curves import CDF, ROC, CdfQuestion, Reading, ScoresQuestion, SurvivalQuestion
from dpcurves.curves.score_readings import left_open
from dpcurves.postprocess import auc_of_counts, public_generator
from dpcurves.privacy import PrivacyLoss

LEVEL, UNITS = 0.9, 4000
EPSILONS = ("0.3", "3")
P = np.linspace(0.05, 0.95, 19)
SIMULATED = 1.1  # two simulations of 1,000 draws and more differ by less than a tenth, and so do both ways to a ratio


def curve_of(data: str, epsilon: str) -> CDF:
    values, grid = POPULATIONS[data]
    sample = np.random.default_rng(5).choice(values, UNITS)
    found = answer(CdfQuestion("x", grid), {"x": sample}, PrivacyLoss.pure(epsilon), both(UNITS)[1], 3)
    assert isinstance(found, CDF)
    return found


@pytest.mark.parametrize("data", DATA)
def test_quantiles_end_less_than_a_cell_beyond_where_the_band_passes_them(data: str) -> None:
    for epsilon in EPSILONS:
        curve = curve_of(data, epsilon)
        cell = (curve.x[-1] - curve.x[0]) / (len(curve.x) - 1)
        for population_too in (False, True):
            lower, upper = curve.band(LEVEL, population=population_too)
            ends = curve.quantile_intervals(P, LEVEL, population=population_too)
            left, right = np.clip(ends, curve.x[0], curve.x[-1]).T
            assert (left >= passed(curve.x, upper, P) - cell * (1 + 1e-9)).all()
            assert (right <= passed(curve.x, lower, P, last=True) + cell * (1 + 1e-9)).all()


def passed(x: FloatArray, shares: FloatArray, p: FloatArray, *, last: bool = False) -> FloatArray:
    """Where shares, straight between edges, reach each p; the last such place where they are level at it."""
    if last:
        return -passed(-x[::-1], 1 - shares[::-1], 1 - p)
    right = np.clip(np.searchsorted(shares, p), 1, len(x) - 1)
    rise = shares[right] - shares[right - 1]
    part = np.clip(np.divide(p - shares[right - 1], rise, out=np.ones(len(p)), where=rise > 0), 0, 1)
    return np.asarray(x[right - 1] + part * (x[right] - x[right - 1]))


@pytest.mark.parametrize("data", DATA)
def test_medians_of_survival_lie_between_the_edges_at_which_the_whole_band_leaves_them(data: str) -> None:
    time, event = population(data)
    drawn = np.random.default_rng(5).integers(len(time), size=UNITS)
    question = SurvivalQuestion("t", "e", POPULATIONS[data].grid)
    for epsilon in EPSILONS:
        columns, loss = {"t": time[drawn], "e": event[drawn]}, PrivacyLoss.pure(epsilon)
        curve = answer(question, columns, loss, both(UNITS)[1], 3)
        for population_too in (False, True):
            low, high = curve.median_interval(LEVEL, population=population_too)
            lower, upper = curve.band(LEVEL, population=population_too)
            ends = np.append(curve.x, inf)
            assert low >= ends[np.argmax(np.append(lower <= 0.5, True))]
            assert high <= ends[np.flatnonzero(np.append(True, upper > 0.5))[-1]]


@pytest.mark.parametrize("data", DATA)
def test_areas_add_to_the_noise_half_of_the_tied_pairs_to_either_end(data: str) -> None:
    columns = people(data).columns(people(data).drawn(UNITS, np.random.default_rng(5)))
    for question in (USUAL, FINE, THRESHOLDS):
        for epsilon in ("1", "10"):
            curve = answer(question, columns, PrivacyLoss.pure(epsilon), both(UNITS)[1], 3)
            low, high = curve.auc_interval(LEVEL)
            assert high - low <= SIMULATED * width_by_noise(curve) + tied(curve)


def tied(curve: ROC) -> float:
    """The share of the pairs that lie in one cell, as the unbiased counts tell."""
    negative, positive = curve.evidence.unbiased
    return float(negative @ positive / (negative.sum() * positive.sum()))


def width_by_noise(curve: ROC) -> float:
    """How far noise moves both ends: the area with all ties lost, and with all of them won."""
    sizes = curve.evidence.unbiased.sum(axis=1)
    believed = np.stack([np.diff(rates)[::-1] for rates in (curve.fpr, curve.tpr)]) * sizes[:, None]
    noise = curve.evidence.sums.simulate(curve.evidence.total, 1000, public_generator(None))
    noisy = believed + np.concatenate([each for each, _ in noise])
    lost, won = (np.quantile(each, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) - each.mean() for each in areas(noisy))
    return float(won[1] - lost[0])


def areas(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """With all ties lost, and all won, of (draws, 2, cells)."""
    negative, positive = counts[:, 0], counts[:, 1]
    half = (negative * positive).sum(axis=-1) / (negative.sum(axis=-1) * positive.sum(axis=-1)) / 2
    area = np.array([auc_of_counts(positive=one, negative=other) for other, one in counts])
    return area - half, area + half


@pytest.mark.parametrize("data", DATA)
def test_regions_of_roc_curves_are_the_boxes_and_the_corners_between_two_of_them(data: str) -> None:
    columns = people(data).columns(people(data).drawn(UNITS, np.random.default_rng(5)))
    for question in (USUAL, THRESHOLDS):
        curve = answer(question, columns, PrivacyLoss.pure(1), both(UNITS)[1], 3)
        for population_too in (False, True):
            band = curve.band(LEVEL, population=population_too)
            edges, lower, upper = band.steps()
            across, up = band.fpr_upper[1:] - band.fpr_lower[:-1], band.tpr_upper[1:] - band.tpr_lower[:-1]
            assert np.diff(edges) @ (upper - lower) <= across @ up + 1e-9


@pytest.mark.parametrize("data", DATA)
def test_numbers_of_scores_are_no_wider_than_boxes_and_differences_add_up_ties_alone(data: str) -> None:
    of, chance = people(data), np.random.default_rng(5)
    columns = of.columns(of.drawn(2 * UNITS, chance))
    columns["g"] = chance.integers(2, size=2 * UNITS).astype(np.float64)
    question = ScoresQuestion("y", "s", of.grid, GROUPS)
    found = answer(question, columns, PrivacyLoss.pure(1), both(2 * UNITS)[1], 3)
    sides = [
        np.abs(np.subtract(scores.interval(Reading.AUC, LEVEL), scores.value(Reading.AUC))) for scores in found.values()
    ]
    ties = [left_open(scores.table, Reading.AUC) for scores in found.values()]
    (low, high), (less, more) = (np.maximum(side - tie, 0) for side, tie in zip(sides, ties, strict=True))
    difference = found.difference(Reading.AUC, 0, 1, LEVEL)
    by_noise = np.hypot(low, more) + np.hypot(high, less)
    assert difference.upper - difference.lower <= by_noise + np.sum(ties) + 1e-9
    for scores in found.values():
        box, (low, high) = scores.roc().band(LEVEL), scores.interval(Reading.KS, LEVEL)
        assert high - low <= (box.fpr_upper - box.fpr_lower + box.tpr_upper - box.tpr_lower).max()
