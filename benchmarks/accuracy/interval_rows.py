"""Readings whose intervals are held against errors: distributions, questions, exact numbers, and marks of width over
error."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import comparing_readings
import interval_against_error
import numpy as np
from interval_against_error import SIZE, Case, FloatArray, Release, Told, mean_difference
from scipy.special import expit

import dpcurves as dp
from dpcurves.curves import CdfQuestion, QuantilesQuestion
from dpcurves.curves.summary import VarianceQuestion
from dpcurves.data import Grid
from dpcurves_survival import SurvivalQuestion

LEVEL, EPSILON = 0.9, "1"
QUARTILES = 0.25, 0.5, 0.75
RESAMPLES = 200
"""Times that releases are drawn again for the standard error of a ratio."""
RECORDS = 3_000, 30_000


class IntervalRow(NamedTuple):
    """A reading, its mark, and the figure of the issue.

    Attributes:
        name: The reading and its data.
        read: The intervals of one release.
        told: The name under which `read` gives the reading.
        before: Width over error where the work began.
        mark: The largest width over error.
        records: Numbers of records.
        whom: For these records, or for the population.
    """

    name: str
    read: Callable[[Release], Iterator[Told]]
    told: str
    before: str
    mark: float
    records: tuple[int, ...] = RECORDS
    whom: str = "records"


class Width(NamedTuple):
    """Width over error of a reading, its standard error, and the shares that held and that are known, with two ends."""

    ratio: float
    error: float
    held: float
    known: float


@lru_cache
def _columns() -> Mapping[str, tuple[FloatArray, Grid]]:
    """Columns of a population of 40,000, with the grid that its owner would name."""
    generator = np.random.default_rng(2030)
    wages = np.where(generator.random(SIZE) < 0.31, 0.0, generator.lognormal(10.3, 0.6, SIZE).round(-1))
    return {
        "incomes": (generator.lognormal(10.3, 0.9, SIZE), Grid(0, 500_000, cells=1_024)),
        "wages": (wages, Grid(0, 500_000, cells=1_024)),
        "ages": (np.clip(np.floor(generator.normal(45, 18, SIZE)), 0, 110), Grid(0, 128, cells=128)),
    }


@lru_cache
def _rare_scores() -> tuple[FloatArray, FloatArray]:
    """Calibrated scores of which 10 % are positive."""
    score = expit(np.random.default_rng(2031).normal(-2.65, 1.2, SIZE))
    return score, score


def read_quartiles(column: str) -> Callable[[Release], Iterator[Told]]:
    """Read the three quartiles of a column at once."""

    def read(release: Release) -> Iterator[Told]:
        values, grid = _columns()[column]
        sample = release.draw.choice(values, release.case.records)
        found = release.answer(QuantilesQuestion("x", grid, QUARTILES), {"x": sample})
        truths = [np.quantile(each, QUARTILES, method="inverted_cdf") for each in (sample, values)]
        cell = (grid.upper - grid.lower) / grid.cells
        yield from release.intervals("quartiles", found.x, found.intervals, truths, cell)

    return read


def read_pair_means(column: str) -> Callable[[Release], Iterator[Told]]:
    """Read Gini's mean difference and coefficient of a column."""

    def read(release: Release) -> Iterator[Told]:
        values, grid = _columns()[column]
        values = np.clip(values, grid.lower, grid.upper)
        sample = release.draw.choice(values, release.case.records)
        curve = release.answer(CdfQuestion("x", grid), {"x": sample})
        differences = [mean_difference(each) for each in (sample, values)]
        coefficients = [number / (2 * each.mean()) for number, each in zip(differences, (sample, values), strict=True)]
        for name, estimate, truths in (
            ("mean difference", dp.gini_mean_difference(curve), differences),
            ("coefficient", dp.gini_coefficient(curve), coefficients),
        ):
            yield from release.intervals(name, estimate.value, estimate.interval, truths)

    return read


def read_areas(kind: str) -> Callable[[Release], Iterator[Told]]:
    """Read the area under the ROC curve, on scores of a kind of data."""

    def read(release: Release) -> Iterator[Told]:
        release = release._replace(case=release.case._replace(data=kind))
        yield from interval_against_error.areas_of_roc(release, *interval_against_error.people(kind))

    return read


def read_rare_scores(release: Release) -> Iterator[Told]:
    """Read the numbers of scores of which 10 % are positive."""
    yield from interval_against_error.numbers_of_scores(release, *_rare_scores())


def read_scores(release: Release) -> Iterator[Told]:
    """Read the numbers of spread scores."""
    yield from interval_against_error.numbers_of_scores(release, *interval_against_error.people("continuous"))


def read_variance(release: Release) -> Iterator[Told]:
    """Read the variance of two hills of values."""
    values, grid = interval_against_error.population("continuous")
    values = np.clip(values, grid.lower, grid.upper)
    sample = release.draw.choice(values, release.case.records)
    found = release.answer(VarianceQuestion("x", grid.lower, grid.upper), {"x": sample})
    yield from release.intervals("variance", found.value, found.interval, [sample.var(ddof=1), values.var()])


TRIAL = comparing_readings.Setting(1_000, 0.4, 0.2, comparing_readings.INSIDE, comparing_readings.SMOOTH)
"""Two arms, of which the first has 20 % of the records; times lie anywhere in 40 cells."""


def read_trial(release: Release) -> Iterator[Told]:
    """Read the differences of two arms up to a time, and the share of the small one that survives it.

    Few of the small arm are at risk later, where its curve ends.
    """
    people, at = comparing_readings.people_of_a_trial(TRIAL, TRIAL.effect), comparing_readings.AT
    rows = release.draw.integers(SIZE, size=release.case.records)
    sample = {name: column[rows] for name, column in people.items()}
    question = SurvivalQuestion("t", "e", TRIAL.grid, by=comparing_readings.BY_ARM)
    small, large = release.answer(question, sample).values()
    exact = [_exact_numbers(columns, at) for columns in (sample, people)]
    for name, estimate in (
        ("difference of shares", dp.survival_difference(large, small, at)),
        ("difference of restricted means", dp.restricted_mean_difference(large, small, at)),
        ("share of the small arm", dp.survival_at(small, at)),
    ):
        truths = [numbers[name] for numbers in exact]
        yield from release.intervals(name, estimate.value, estimate.interval, truths)


def _exact_numbers(columns: Mapping[str, FloatArray], at: float) -> dict[str, float]:
    """Return the numbers of Kaplan and Meier's estimates of both arms up to a time."""
    shares, means = [], []
    for arm in (0, 1):
        rows = columns["arm"] == arm
        times, left = interval_against_error.kaplan_meier(columns["t"][rows], columns["e"][rows])
        shares.append(float(interval_against_error.left_at(times, left, np.array([at]), equal=False)[0]))
        means.append(interval_against_error.restricted_mean_of(times, left, at))
    return {
        "difference of shares": shares[1] - shares[0],
        "difference of restricted means": means[1] - means[0],
        "share of the small arm": shares[0],
    }


ROWS = (
    IntervalRow("three quartiles at once, incomes", read_quartiles("incomes"), "quartiles", "2.0", 1.3),
    IntervalRow("three quartiles at once, wages, 31 % zeros", read_quartiles("wages"), "quartiles", "infinite", 1.3),
    IntervalRow("AUC, continuous scores", read_areas("continuous"), "AUC of roc", "2.4; 1.36", 1.5),
    IntervalRow("AUC, scores in steps of .1 on the default grid", read_areas("tied"), "AUC of roc", "9.8; 51.7", 1.5),
    IntervalRow("Gini coefficient, incomes", read_pair_means("incomes"), "coefficient", "4.0; 3.3", 1.3),
    IntervalRow("mean difference, wages", read_pair_means("wages"), "mean difference", "3.3; 3.0", 1.3),
    IntervalRow("mean difference, ages on 128 cells", read_pair_means("ages"), "mean difference", "3.05; 15", 1.3),
    IntervalRow(
        "average precision, 10 % positive", read_rare_scores, "scores: average-precision", "2.2", 1.5, (3_000,)
    ),
    IntervalRow("`scores`: AUC, 10 % positive", read_rare_scores, "scores: auc", "1.55; 7.0", 1.3),
    IntervalRow("`scores`: KS, 10 % positive", read_rare_scores, "scores: ks", "2.2; 1.6", 1.3),
    IntervalRow("`scores`: Brier, 10 % positive", read_rare_scores, "scores: brier", "1.65; 1.55", 1.3),
    IntervalRow("variance of the population", read_variance, "variance", "1.8 to 2.3; 1.6", 1.3, whom="population"),
    IntervalRow("two arms: difference of shares", read_trial, "difference of shares", "2.6", 1.3, (1_000,)),
    IntervalRow("two arms: RMST", read_trial, "difference of restricted means", "2.05", 1.3, (1_000,)),
    IntervalRow("two arms: share of the small arm", read_trial, "share of the small arm", "2.4", 1.3, (1_000,)),
    IntervalRow("log loss", read_scores, "scores: log-loss", "2.07", 1.3, (1_000,)),
)  # fmt: skip
"""Table C of the marks."""


@lru_cache
def draw_releases(
    read: Callable[[Release], Iterator[Told]], records: int, releases: int
) -> Mapping[tuple[str, str], Sequence[Told]]:
    """Return the intervals of so many releases, by reading and by whom they are for."""
    found = defaultdict[tuple[str, str], list[Told]](list)
    for seed in range(releases):
        for interval in read(Release(Case("continuous", records, EPSILON), LEVEL, seed)):
            found[interval.name, interval.whom].append(interval)
    return found


def measure_width(intervals: Sequence[Told]) -> Width:
    """Return width over error, with a standard error by drawing the releases again.

    Releases whose value is unknown, or whose interval has an endpoint at infinity, count for no ratio: the share of all
    others stands beside.
    """
    known = [each for each in intervals if np.isfinite(each.upper - each.lower).all() and np.isfinite(each.value).all()]
    held = float(np.mean([interval.holds for interval in intervals]))
    if not known:
        return Width(np.inf, 0.0, held, 0.0)
    generator = np.random.default_rng(0)
    draws = generator.integers(len(known), size=(RESAMPLES, len(known)))
    resampled = [_ratio_of([known[index] for index in draw]) for draw in draws.tolist()]
    error = float(np.std([ratio for ratio in resampled if np.isfinite(ratio)]))
    return Width(_ratio_of(known), error, held, len(known) / len(intervals))


def _ratio_of(intervals: Sequence[Told]) -> float:
    """Return the ratio of the table of intervals."""
    case = Case("continuous", 0, EPSILON)
    return next(interval_against_error.rows({("", ""): intervals}, case, LEVEL)).ratio
