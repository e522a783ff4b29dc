"""Whether intervals of what is read from one table of scores held: numbers, bands, rates, groups, differences."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from by_hand import answer, both
from kinds import Case, FloatArray, People, people
from numpy.typing import ArrayLike

from dpcurves.curves import Metric, Scores, ScoresQuestion
from dpcurves.curves.class_curves import RATES
from dpcurves.curves.class_table import group_cells_evenly
from dpcurves.data import Categories
from dpcurves.inference.rates import cumulate_from_top
from dpcurves.privacy import PrivacyLoss
from dpcurves.summaries import auc_of_counts
from dpcurves.summaries.two_classes import (
    average_precision,
    brier_score,
    calibration_gaps,
    largest_class_gap,
    log_loss,
    net_benefit,
)

THRESHOLD = 0.3
GROUPS = Categories("g", (0, 1))
SECOND = 0.3  # of all records: those of the second category
SHIFTED = -1.0  # the log-odds of its positives

whole = lru_cache(people)


class Sure(NamedTuple):
    """How sure, of these records or of the population; and of what is told one by one, which."""

    level: float
    population: bool
    turn: int


def covered(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Tell it of the curves of one release; of its rates, counts and groups only of one, by turns."""
    of, scores, counted = released(case, seed)
    for whom, counts in counted.items():
        for kind, holds in held(scores, of, counts, Sure(level, whom == "population", seed)):
            yield f"{kind}, {whom}", holds


def covered_numbers(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Tell it of the numbers of one release."""
    of, scores, counted = released(case, seed)
    for whom, counts in counted.items():
        for reading, truth in numbers(of, counts, scores).items():
            ends = scores.interval(reading, level, population=whom == "population")
            yield f"{reading.key}, {whom}", within(truth, *ends)


def released(case: Case, seed: int) -> tuple[People, Scores, dict[str, FloatArray]]:
    """People, what was released of a sample of them, and exact counts of the sample and of all."""
    of, chance = whole(case.data), np.random.default_rng([seed, case.units, case.adjacency])
    drawn, loss = of.drawn(case.units, chance), PrivacyLoss.pure(case.epsilon)
    question = ScoresQuestion("y", "s", of.grid)
    scores = answer(question, of.columns(drawn), loss, both(case.units)[case.adjacency], seed)
    return of, scores, {"records": drawn.astype(np.float64), "population": case.units * of.weights}


def covered_differences(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Tell it of the differences of two categories: the second is smaller, and its scores are too high."""
    parts, chance = (whole(case.data), whole(case.data, shift=SHIFTED)), np.random.default_rng([seed, case.units])
    sizes = chance.multinomial(case.units, (1 - SECOND, SECOND)).tolist()
    drawn = [of.drawn(size, chance) for of, size in zip(parts, sizes, strict=True)]
    columns = [of.columns(counts) for of, counts in zip(parts, drawn, strict=True)]
    table = {name: np.concatenate([each[name] for each in columns]) for name in ("y", "s")} | {
        "g": np.repeat([0, 1], sizes)
    }
    question, loss = ScoresQuestion("y", "s", parts[0].grid, GROUPS), PrivacyLoss.pure(case.epsilon)
    found = answer(question, table, loss, both(case.units)[case.adjacency], seed)
    for whom in ("records", "population"):
        counts = drawn if whom == "records" else [of.weights * 1e6 for of in parts]
        exact = zip(parts, counts, found.values(), strict=True)
        first, second = (numbers(of, each.astype(np.float64), scores) for of, each, scores in exact)
        for reading in first:
            ends = found.difference(reading, 0, 1, level, population=whom == "population")
            yield f"{reading.key}, {whom}", within(first[reading] - second[reading], ends.lower, ends.upper)


def numbers(of: People, counts: FloatArray, scores: Scores) -> dict[Metric, float]:
    """What exact counts (2, scores) give; the groups of the calibration error are those of the release."""
    cells, table = of.in_cells(counts), scores.table
    inside = table.drop_outside(cells)
    gaps = calibration_gaps(inside, table.middles, group_cells_evenly(table, 10))
    return {
        Metric.AUC: float(auc_of_counts(positive=counts[1], negative=counts[0])),
        Metric.AVERAGE_PRECISION: float(average_precision(cells)),
        Metric.KS: float(largest_class_gap(cells)),
        Metric.BRIER: float(brier_score(inside, table.middles)),
        Metric.ECE: float(np.abs(gaps).sum()),
        Metric.LOG_LOSS: float(log_loss(inside, table.middles)),
    }


def held(scores: Scores, of: People, counts: FloatArray, sure: Sure) -> Iterator[tuple[str, bool]]:
    """What holds of one release."""
    level, population, turn = sure
    cells = of.in_cells(counts)
    false, true = cumulate_from_top(cells)
    yield from bands(scores, true, false, sure)
    yield from one_by_one(scores, true, false, sure)
    calibration = scores.calibration()
    inside = np.add.reduceat(scores.table.drop_outside(cells), calibration.starts, axis=1)
    group = turn % len(calibration.starts)
    if inside[:, group].sum() > 0:
        share = inside[1, group] / inside[:, group].sum()
        yield "calibration", within(share, *calibration.intervals(level, population=population)[group])


def bands(scores: Scores, true: FloatArray, false: FloatArray, sure: Sure) -> Iterator[tuple[str, bool]]:
    """All at once of each curve; where nobody is above a threshold there is no precision, and no lift."""
    level, population, _ = sure
    flagged = true + false
    somebody = flagged > 0
    precision = np.divide(true, flagged, out=np.ones_like(true), where=somebody)
    recall, share = true / true[-1], flagged / flagged[-1]
    of_precision, of_recall = scores.precision_recall().band(level, population=population)
    yield "precision-recall", within(precision, *of_precision) and within(recall, *of_recall)
    of_share, of_gain, of_lift = scores.cumulative_gain().band(level, population=population)
    lift = (precision / precision[-1])[somebody]
    lifted = within(lift, *(ends[somebody] for ends in of_lift))
    yield "gain", within(share, *of_share) and within(recall, *of_gain) and lifted
    decision = scores.decision_curve()
    points = [scores.table.nearest_threshold_index(threshold) for threshold in decision.threshold]
    benefit = net_benefit(true[points], false[points], flagged[-1], decision.threshold)
    yield "decision", within(benefit, *decision.band(level, population=population))


def one_by_one(scores: Scores, true: FloatArray, false: FloatArray, sure: Sure) -> Iterator[tuple[str, bool]]:
    """One count and one rate of the confusion matrix."""
    level, population, turn = sure
    point, confusion = scores.table.nearest_threshold_index(THRESHOLD), scores.confusion(THRESHOLD)
    four = np.array([false[-1] - false[point], false[point], true[-1] - true[point], true[point]])
    ends = confusion.count_intervals(level, population=population).reshape(4, 2)
    yield "counts", within(four[turn % 4], *ends[turn % 4])
    part, rest = list(RATES.values())[turn % len(RATES)]
    if list(RATES)[turn % len(RATES)] == "f1":
        part = (*part, *part)
    size, mine = four[[*part, *rest]].sum(), four[list(part)].sum()
    if size > 0:
        yield "rates", within(mine / size, *confusion.intervals(level, population=population)[turn % len(RATES)])


def within(truth: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> bool:
    """Whether all of it lies between its ends, but for rounding."""
    exact = np.asarray(truth, dtype=np.float64)
    rounding = 1e-9 * np.maximum(1.0, np.abs(exact))
    return bool(np.all((np.asarray(lower) <= exact + rounding) & (exact <= np.asarray(upper) + rounding)))
