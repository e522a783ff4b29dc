"""Whether each kind of interval of a distribution held: one sample and a few releases tell it of all kinds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from by_hand import answer, both
from kinds import DATA, POPULATIONS, Case, FloatArray

from dpcurves.curves import CDF, CdfQuestion, HistogramQuestion, QuantilesQuestion
from dpcurves.privacy import PrivacyLoss

P = (0.1, 0.25, 0.5, 0.9)
BETWEEN = np.linspace(P[0], P[-1], 161)
AT = (8, 20, 32, 48, 64)


def covered(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Tell it of what is read from one distribution function, of bars, and of some edges."""
    population, grid = POPULATIONS[case.data]
    sample = sampled(case, seed)
    loss, adjacency, table = PrivacyLoss.pure(case.epsilon), both(case.units)[case.adjacency], {"x": sample}
    truth = {False: _below(sample, grid.edges), True: _below(population, grid.edges)}
    quantiles = {False: _quantiles(sample), True: _quantiles(population)}
    found = answer(QuantilesQuestion("x", grid, P), table, loss, adjacency, seed)
    curve = found.curve
    assert isinstance(curve, CDF)
    # The cells of quantiles are split at zero and round numbers: the curve has more edges than the grid.
    split_truth = {False: _below(sample, curve.x), True: _below(population, curve.x)}
    bins, bars = curve.histogram(10), answer(HistogramQuestion("x", grid), table, loss, adjacency, seed)
    counts = answer(CdfQuestion("x", grid, edges=AT), table, loss, adjacency, seed)
    for whom, population_too in (("records", False), ("population", True)):
        shares, split_shares = truth[population_too], split_truth[population_too]
        lower, upper = curve.band(level, population=population_too)
        yield f"band, {whom}", _within(np.stack([lower, upper], axis=1), split_shares)
        ends = found.intervals(level, population=population_too)
        yield f"quantiles, {whom}", all(_within(ends, each) for each in quantiles[population_too])
        alone = np.array([curve.quantile_interval(P[1], level, population=population_too)])
        held = all(_within(alone, each[1:2]) for each in quantiles[population_too])
        yield f"one quantile of a curve, {whom}", held
        at = np.abs(curve.x - bins.x[:, np.newaxis]).argmin(axis=1)
        yield f"bins, {whom}", _within(bins.intervals(level, population=population_too), np.diff(split_shares[at]))
        cells = np.diff(shares) * case.units
        yield f"histogram, {whom}", _within(bars.intervals(level, population=population_too), cells)
        ends = np.stack(counts.band(level, population=population_too), axis=1)
        yield f"thresholds, {whom}", _within(ends, shares[[0, *AT]])


def covered_searches(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Tell it of quantiles that were searched for, and of pairs of quantiles."""
    population, grid = POPULATIONS[case.data]
    sample = sampled(case, seed)
    loss, adjacency, table = PrivacyLoss.pure(case.epsilon), both(case.units)[case.adjacency], {"x": sample}
    quantiles = {False: _quantiles(sample), True: _quantiles(population)}
    one = answer(QuantilesQuestion("x", grid, (0.5,), search=level), table, loss, adjacency, seed)
    searched = answer(QuantilesQuestion("x", grid, P, search=level), table, loss, adjacency, seed)
    for whom, population_too in (("records", False), ("population", True)):
        median = np.quantile(population if population_too else sample, 0.5, method="inverted_cdf")
        ((left, right),) = one.intervals(level, population=population_too)
        yield f"one quantile, {whom}", bool(left <= median <= right)
        ends = searched.intervals(level, population=population_too)
        yield f"searched, {whom}", all(_within(ends, each) for each in quantiles[population_too])
    curve = answer(CdfQuestion("x", grid), table, loss, adjacency, seed)
    yield from _pairs(case, curve, (sample, population), level, seed)


def sampled(case: Case, seed: int) -> FloatArray:
    """The records of a release."""
    draw = np.random.default_rng([seed, case.units, case.adjacency])
    return draw.choice(POPULATIONS[case.data].values, case.units)


def _pairs(
    case: Case, first: CDF, drawn: tuple[FloatArray, FloatArray], level: float, seed: int
) -> Iterator[tuple[str, bool]]:
    """Tell it of quantiles against those of another kind of data, on another grid."""
    population, grid = POPULATIONS[DATA[DATA.index(case.data) - 1]]
    sample = np.random.default_rng([seed, case.units, 2]).choice(population, case.units)
    loss, adjacency = PrivacyLoss.pure(case.epsilon), both(case.units)[case.adjacency]
    second = answer(CdfQuestion("x", grid), {"x": sample}, loss, adjacency, ~seed)
    plot = first.quantile_quantile(second, P)
    for whom, one, other in (("records", drawn[0], sample), ("population", drawn[1], population)):
        ends = plot.intervals(level, population=whom == "population")
        true = zip(ends, (_quantiles(one), _quantiles(other)), strict=True)
        yield f"pairs, {whom}", all(_within(own, each) for own, both_ends in true for each in both_ends)
        apart = first.quantile_difference(second, P[1], level, population=whom == "population")
        true_apart = [left[1] - right[1] for left, right in zip(_quantiles(one), _quantiles(other), strict=True)]
        held = all(_within(np.array([apart[1:3]]), np.array([each])) for each in true_apart)
        yield f"difference of quantiles, {whom}", held
        inner = [np.quantile(each, BETWEEN, method="inverted_cdf") for each in (one, other)]
        places = [np.clip(each, curve.x[0], curve.x[-1]) for each, curve in zip(inner, (first, second), strict=True)]
        yield f"region, {whom}", _in_steps(plot.region(level, population=whom == "population"), *places)


def _in_steps(region: tuple[FloatArray, FloatArray, FloatArray], across: FloatArray, upwards: FloatArray) -> bool:
    """Whether all points lie between the steps of a region; on an edge, between those of either side."""
    edges, lower, upper = region
    sides = [np.clip(np.searchsorted(edges, across, side) - 1, 0, len(lower) - 1) for side in ("left", "right")]
    low, high = np.minimum(*(lower[each] for each in sides)), np.maximum(*(upper[each] for each in sides))
    return bool(((edges[0] <= across) & (across <= edges[-1]) & (low <= upwards) & (upwards <= high)).all())


def _within(ends: FloatArray, truth: FloatArray) -> bool:
    rounding = 1e-9 * max(1.0, float(np.abs(truth).max()))
    return bool(((ends[:, 0] <= truth + rounding) & (truth <= ends[:, 1] + rounding)).all())


def _below(values: FloatArray, edges: FloatArray) -> FloatArray:
    """Shares below the edges of cells that clip what lies outside."""
    shares = np.searchsorted(np.sort(values), edges) / len(values)
    shares[0], shares[-1] = 0.0, 1.0
    return shares


def _quantiles(values: FloatArray) -> list[FloatArray]:
    """The least values that may be called quantiles, and the greatest: the first record beyond the share."""
    ordered = np.sort(values)
    least = np.quantile(ordered, P, method="inverted_cdf")
    greatest = ordered[np.minimum((np.array(P) * len(values) + 1e-9).astype(int), len(values) - 1)]
    return [least, np.asarray(greatest)]
