"""Intervals that hold more often than they say are no wider than noise, and what was not counted, ask for.

What they may add to the noise is worked out from the release that they were read from: a cell to a side, half of the
pairs that seem to be tied to either end, or the corners between two boxes.
"""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np
import pytest
from by_hand import answer, both
from covered_areas import FINE, RARE, THRESHOLDS, USUAL
from covered_scores import GROUPS
from covered_survivals import population
from kinds import DATA, POPULATIONS, Counts, FloatArray, people

from dpcurves.curves import CDF, ROC, CdfQuestion, Metric, QuantilesQuestion, Scores, ScoresQuestion, SummaryQuestion
from dpcurves.curves.class_table import find_discretization_error, group_cells_evenly
from dpcurves.inference import dkw_bound, public_generator
from dpcurves.privacy import PrivacyLoss
from dpcurves.summaries import auc_of_counts
from dpcurves.summaries.two_classes import calibration_gaps
from dpcurves_survival import SurvivalQuestion

LEVEL, UNITS = 0.9, 4000
EPSILONS = ("0.3", "3")
P = np.linspace(0.05, 0.95, 19)
SOME = [pytest.param(data, marks=[pytest.mark.reproduction] * (place % 2)) for place, data in enumerate(DATA)]
"""Data of every other kind; `make bench` tries all."""
NORMAL = 1.645
SAMPLED = 1.25  # what sampling does, or noise to few positives, is worked out from noisy counts
SIMULATED = 1.1  # two simulations of 1,000 draws and more differ by less than a tenth, and so do both ways to a ratio


def curve_of(data: str, epsilon: str) -> CDF:
    values, grid = POPULATIONS[data]
    sample = np.random.default_rng(5).choice(values, UNITS)
    found = answer(CdfQuestion("x", grid), {"x": sample}, PrivacyLoss.pure(epsilon), both(UNITS)[1], 3)
    assert isinstance(found, CDF)
    return found


@pytest.mark.parametrize("data", DATA)
def test_many_quantiles_end_less_than_a_cell_beyond_where_the_band_passes_them(data: str) -> None:
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


@pytest.mark.reproduction
@pytest.mark.quick_share(3)
@pytest.mark.parametrize("data", SOME)
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
            ends = np.concatenate([curve.x, [inf, inf]])
            assert low >= ends[np.argmax(np.append(lower <= 0.5, True)) - 1]
            assert high <= ends[np.flatnonzero(np.append(True, upper > 0.5))[-1] + 1]


@pytest.mark.quick_share(5)
@pytest.mark.parametrize("data", DATA)
def test_areas_add_to_the_noise_half_of_the_tied_pairs_to_either_end(data: str) -> None:
    for shift, epsilon, slack in ((0.0, "1", SIMULATED), (RARE, "10", SAMPLED)):
        of = people(data, shift=shift)
        counts = of.drawn(UNITS, np.random.default_rng(5))
        sampling = 2 * NORMAL * scatter_of_area(counts)
        for question in (USUAL, FINE, THRESHOLDS):
            curve = answer(question, of.columns(counts), PrivacyLoss.pure(epsilon), both(UNITS)[1], 3)
            noise, (low, high) = width_by_noise(curve), curve.auc_interval(LEVEL)
            assert high - low <= slack * noise + tied(curve)
            low, high = curve.auc_interval(LEVEL, population=True)
            assert high - low <= SAMPLED * sqrt(noise**2 + sampling**2) + tied(curve)


def scatter_of_area(counts: Counts) -> float:
    """The standard deviation of an area over samples (DeLong, DeLong and Clarke-Pearson 1988), of exact counts."""
    negative, positive = counts.astype(np.float64)
    below = (np.cumsum(negative) - negative / 2) / negative.sum()
    above = 1 - (np.cumsum(positive) - positive / 2) / positive.sum()
    parts = ((positive, below), (negative, above))
    return sqrt(sum(np.cov(place, fweights=own.astype(int)) / own.sum() for own, place in parts))


def tied(curve: ROC) -> float:
    """The share of the pairs that lie in one cell, as the unbiased counts tell."""
    negative, positive = curve.evidence.unbiased_cells
    return float(negative @ positive / (negative.sum() * positive.sum()))


def width_by_noise(curve: ROC) -> float:
    """How far noise moves both ends: the area with all ties lost, and with all of them won."""
    sizes = curve.evidence.unbiased_cells.sum(axis=1)
    believed = np.stack([np.diff(rates)[::-1] for rates in (curve.fpr, curve.tpr)]) * sizes[:, None]
    noise = curve.evidence.sums.simulate(curve.evidence.total, 1000, public_generator(None))
    noisy = believed + np.concatenate([each for each, _ in noise])
    lost, won = (np.quantile(each, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) - each.mean() for each in areas(noisy))
    return float(won[1] - lost[0])


def areas(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """With all ties lost, and all won, of (draws, 2, cells)."""
    negative, positive = counts[:, 0], counts[:, 1]
    half = (negative * positive).sum(axis=-1) / (negative.sum(axis=-1) * positive.sum(axis=-1)) / 2
    area = auc_of_counts(positive=positive, negative=negative)
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


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("data", SOME)
def test_numbers_of_scores_are_no_wider_than_boxes_and_differences_add_up_ties_alone(data: str) -> None:
    of, chance = people(data), np.random.default_rng(5)
    columns = of.columns(of.drawn(2 * UNITS, chance))
    columns["g"] = chance.integers(2, size=2 * UNITS).astype(np.float64)
    question = ScoresQuestion("y", "s", of.grid, GROUPS)
    found = answer(question, columns, PrivacyLoss.pure(1), both(2 * UNITS)[1], 3)
    sides = [
        np.abs(np.subtract(scores.interval(Metric.AUC, LEVEL), scores.value(Metric.AUC))) for scores in found.values()
    ]
    ties = [find_discretization_error(scores.table, Metric.AUC) for scores in found.values()]
    (low, high), (less, more) = (np.maximum(side - tie, 0) for side, tie in zip(sides, ties, strict=True))
    difference = found.difference(Metric.AUC, 0, 1, LEVEL)
    by_noise = np.hypot(low, more) + np.hypot(high, less)
    assert difference.upper - difference.lower <= by_noise + np.sum(ties) + 1e-9
    for scores in found.values():
        box, (low, high) = scores.roc().band(LEVEL), scores.interval(Metric.KS, LEVEL)
        assert high - low <= (box.fpr_upper - box.fpr_lower + box.tpr_upper - box.tpr_lower).max()
        for population_too in (False, True):
            low, high = scores.interval(Metric.ECE, LEVEL, population=population_too)
            assert high - low <= 2 * SIMULATED * errors_of_groups(scores, population=population_too)
            low, high = scores.interval(Metric.AVERAGE_PRECISION, LEVEL, population=population_too)
            assert high - low <= between_the_ends_of_precision(scores, population=population_too)


def errors_of_groups(scores: Scores, *, population: bool) -> float:
    """How far the error of calibration of each group may be off, each on its own, all at their worst."""
    table, likely = scores.table, scores.table.counts.likely_counts
    starts, errors = group_cells_evenly(table, 10), table.simulate_errors(population=population)
    exact, moved = (
        calibration_gaps(table.drop_outside(cells), table.middles, starts) for cells in (likely, likely + errors)
    )
    return float(np.quantile(np.abs(moved - exact), (1 + LEVEL) / 2, axis=0).sum())


def between_the_ends_of_precision(scores: Scores, *, population: bool) -> float:
    """The mean distance, along recall, of the ends of all pieces of the curve that may lie there."""
    (low, high), (first, last) = scores.precision_recall().band(LEVEL, population=population)
    lower, upper = np.minimum(low[:-1], low[1:]), np.maximum(high[:-1], high[1:])
    recall = np.linspace(0, 1, 1001)[:, None]
    there = (first[:-1] - 1 / 200 <= recall) & (recall <= last[1:] + 1 / 200)  # curves are told along 200 pieces
    return float((np.where(there, upper, 0).max(axis=1) - np.where(there, lower, 1).min(axis=1)).mean()) + 1e-3


@pytest.mark.parametrize("data", DATA)
def test_searches_leave_open_what_noise_and_samples_may_do_at_each_look_and_pairs_take_half_each(data: str) -> None:
    values, grid = POPULATIONS[data]
    sample, p = np.random.default_rng(5).choice(values, UNITS), (0.1, 0.25, 0.5, 0.9)
    for epsilon in EPSILONS:
        asked = QuantilesQuestion("x", grid, p, search=LEVEL)
        found = answer(asked, {"x": sample}, PrivacyLoss.pure(epsilon), both(UNITS)[1], 3)
        distribution, error, cell = (
            found.rounds[0].path_sums,
            (1 - LEVEL) / len(p),
            (grid.upper - grid.lower) / grid.cells,
        )
        noise = SIMULATED * sqrt(
            2 * log(2 * grid.cells.bit_length() / error) * distribution.levels * distribution.noise.variance
        )
        for population_too in (False, True):
            sampling = UNITS * dkw_bound(UNITS, 1 - error / 2) if population_too else 0.0
            left, right = np.clip(found.intervals(LEVEL, population=population_too), grid.lower, grid.upper).T
            inside = (left[:, None] + cell <= sample) & (sample < right[:, None] - cell)
            assert inside.sum(axis=1).max() <= 4 * noise + 2 * sampling
    first, second = curve_of(data, "1"), curve_of(data, "3")
    for ends, curve in zip(first.quantile_quantile(second, list(p)).intervals(LEVEL), (first, second), strict=True):
        assert (ends == curve.quantile_intervals(p, (1 + LEVEL) / 2)).all()


@pytest.mark.parametrize("data", DATA)
def test_counts_and_sums_of_unknown_many_add_poisson_s_distribution_to_the_noise_and_variances_the_largest_scatter(
    data: str,
) -> None:
    values, grid = POPULATIONS[data]
    sample = np.clip(np.random.default_rng(5).choice(values, UNITS), grid.lower, grid.upper)
    variance, furthest = sample.var(), max(sample.mean() - grid.lower, grid.upper - sample.mean())
    most = min(2 * variance, furthest**2 / 2)  # what may be tried is no more than twice as much
    scatter = {"count": UNITS, "sum": (sample**2).sum(), "variance": most * (furthest**2 - most) / UNITS}
    for epsilon in EPSILONS:
        question, loss = SummaryQuestion("x", grid.lower, grid.upper), PrivacyLoss.pure(epsilon)
        found = answer(question, {"x": sample}, loss, both(UNITS)[0], 3)
        records, population_too = (np.diff(found.intervals(LEVEL, population=whom)).ravel() for whom in (False, True))
        for number, name in enumerate(found.statistics):
            if name in scatter:
                allowed = records[number] ** 2 + (2 * NORMAL) ** 2 * scatter[name]
                assert population_too[number] <= SIMULATED * sqrt(allowed) + 1
