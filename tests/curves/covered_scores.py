"""How often intervals of what is read from scores hold, for records that are drawn from a known population."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from by_hand import answer, both
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import beta

from dpcurves.curves import Reading, Scores, ScoresQuestion
from dpcurves.curves.confusion import RATES
from dpcurves.curves.score_readings import groups_of_cells
from dpcurves.data import Grid, Outside
from dpcurves.postprocess import auc_of_counts
from dpcurves.postprocess.inference.count_bands import ABOVE, NEGATIVE, POSITIVE, cumulated
from dpcurves.postprocess.summaries.calibration import brier_score, calibration_gaps
from dpcurves.postprocess.summaries.class_distance import largest_gap_of_classes
from dpcurves.postprocess.summaries.precision_recall import average_precision
from dpcurves.privacy import PrivacyLoss

FloatArray = NDArray[np.float64]
FINE = 4000
CELLS = 100
POINTS = (np.arange(FINE) + 0.5) / FINE
GRID = Grid(0, 1, cells=CELLS, outside=Outside.APART)
THRESHOLD = 0.5
MANY = 1e6


class Case(NamedTuple):
    """One population, and how it is asked."""

    data: str
    records: int
    epsilon: float
    adjacency: int


class People(NamedTuple):
    """Chances, (2, points), of negatives and positives with each score."""

    chances: FloatArray

    def drawn(self, records: int, chance: np.random.Generator) -> dict[str, FloatArray]:
        place = chance.choice(2 * FINE, records, p=self.chances.ravel())
        return {"y": (place // FINE).astype(np.float64), "s": POINTS[place % FINE]}


def people(data: str) -> People:
    """Scores that are honest, too sure of themselves, or of a rare class."""
    weights = beta(1, 9).pdf(POINTS) if data == "rare" else beta(2, 3).pdf(POINTS)
    true = expit(2 * np.log(POINTS / (1 - POINTS))) if data == "skewed" else POINTS
    chances = np.stack([weights * (1 - true), weights * true])
    return People(chances / chances.sum())


DATA = ("honest", "skewed", "rare")
CASES = tuple(Case(*each) for each in product(DATA, (500, 5000), (0.3, 1.0, 10.0), (0, 1)))


def tabled(columns: dict[str, FloatArray]) -> FloatArray:
    """Exact counts, (2, points)."""
    place = np.round(columns["s"] * FINE - 0.5).astype(np.int64) + FINE * columns["y"].astype(np.int64)
    return np.bincount(place, minlength=2 * FINE).reshape(2, FINE).astype(np.float64)


def truths(fine: FloatArray, scores: Scores) -> dict[Reading, float]:
    """What exact counts give; the groups of the calibration error are those of the release."""
    cells = fine.reshape(2, CELLS, -1).sum(axis=-1)
    middles = scores.table.middles
    gaps = calibration_gaps(cells, middles, groups_of_cells(scores.table, 10))
    return {
        Reading.AUC: float(auc_of_counts(positive=fine[1], negative=fine[0])),
        Reading.AVERAGE_PRECISION: float(average_precision(cells)),
        Reading.KS: float(largest_gap_of_classes(cells)),
        Reading.BRIER: float(brier_score(cells, middles)),
        Reading.ECE: float(np.abs(gaps).sum()),
    }


def inside(exact: FloatArray, lower: FloatArray, upper: FloatArray) -> bool:
    """Whether all of a curve lies in its band, but for rounding."""
    return bool(np.all((lower <= exact + 1e-9) & (exact <= upper + 1e-9)))


def held(scores: Scores, fine: FloatArray, level: float, population: bool) -> Iterator[tuple[str, bool]]:
    """What holds of one release."""
    for reading, truth in truths(fine, scores).items():
        low, high = scores.interval(reading, level, population=population)
        yield reading.key, low <= truth <= high
    counts = np.pad(fine.reshape(2, CELLS, -1).sum(axis=-1), ((0, 0), (1, 1)))
    above = cumulated(counts)[ABOVE]
    true, flagged = above[POSITIVE], above[POSITIVE] + above[NEGATIVE]
    (bottom, top), (least, most) = scores.precision_recall().band(level, population=population)
    precision = np.divide(true, flagged, out=np.ones_like(true), where=flagged > 0)
    recall = true / true[-1]
    yield "band", inside(precision, bottom, top) and inside(recall, least, most)
    point = scores.table.point_at(THRESHOLD)
    ends = scores.confusion(THRESHOLD).intervals(level, population=population).tolist()
    found = dict(zip(RATES, ends, strict=True))
    for name, rate in (("precision", precision[point]), ("recall", recall[point])):
        yield name, found[name][0] - 1e-9 <= rate <= found[name][1] + 1e-9


def coverage(case: Case, level: float, releases: int, seed: int) -> dict[str, int]:
    """How many releases hold each kind of interval: for these records, and for the population."""
    chance, of = np.random.default_rng(seed), people(case.data)
    question, counted = ScoresQuestion("y", "s", GRID), dict[str, int]()
    for release in range(releases):
        columns = of.drawn(case.records, chance)
        loss, adjacency = PrivacyLoss.pure(case.epsilon), both(case.records)[case.adjacency]
        scores = answer(question, columns, loss, adjacency, seed + release)
        for population, fine in ((False, tabled(columns)), (True, MANY * of.chances)):
            for name, holds in held(scores, fine, level, population):
                key = f"{name}, population" if population else name
                counted[key] = counted.get(key, 0) + holds
    return counted
