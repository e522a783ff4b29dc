"""How wide are intervals beside the errors that are made, for every reading and every kind of data?

`python benchmarks/interval_against_error.py [READING ...] [--data KIND ...] [--records N ...] [--epsilon E]
[--releases N] [--first N] [--level P] [--workers N] [--json FILE] [--kept FILE ...] [--page FILE]`. Data are
continuous, tied, heaped, zero-inflated, clipped or skewed; they come from distributions on which nothing in the package
was chosen, but for what the page says. For each reading the table says how often its interval held, for these records
and for the population, and how wide it was over the error made: the mean width over twice the quantile of the error at
the level of the interval, so 1 is ideal. Numbers of `scores` but for the area are those of scores rounded to the middle
of their cell, as it says. For bands and for several intervals at once it is one over the same quantile of the largest
error, each in half widths of its interval. Where a reading ends at edges of cells, an error counts for half a cell at
least. * marks a share below the level, + one above it, by what chance does once in 30,000 times. A release is drawn by
the mechanism that a session would choose, under the adjacency that alternates from one release to the next.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import lru_cache
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.special import expit, logit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "curves"))

from by_hand import answer, both
from reading_names import name_reading
from tally import Share

import dpcurves as dp
from dpcurves.curves import (
    CalibrationQuestion,
    CdfQuestion,
    ContingencyQuestion,
    HistogramQuestion,
    HosmerLemeshowQuestion,
    Metric,
    QuantilesQuestion,
    RocQuestion,
    RocThresholds,
    ScoresQuestion,
    SummaryQuestion,
)
from dpcurves.curves.class_curves import F1_INDEX, RATES
from dpcurves.curves.summary import MeanQuestion, VarianceQuestion
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves_judging.pairwise_scorer import HELD_OUT_SCORES
from dpcurves_streams.mechanisms import STREAMS
from dpcurves_streams.readings import Counts, Totals
from dpcurves_survival import SurvivalQuestion

FloatArray = NDArray[np.float64]
SIZE = 40_000
DATA = ("continuous", "tied", "heaped", "zero-inflated", "clipped", "skewed")
RECORDS = (300, 3_000, 30_000)
P = (0.25, 0.5, 0.75)
BANDS = tuple(np.arange(5, 100, 10) / 100)
WHOM = "records", "population"
ROUNDING = 1e-9


PAGE = """# Intervals against errors

How often each interval held, and how wide it was over the error made: the mean width over twice the quantile of the
error at the level, so 1 is ideal; of bands and of several intervals at once, one over that quantile of the largest
error in half widths. Where an interval ends at edges of cells, an error counts for half a cell at least. Nothing was
chosen on these distributions but how many finer cells a ROC curve counts, on its continuous and skewed scores, and from
how many records on a variance counts cells: {releases} releases of each case at level {level} and epsilon
{epsilon}, half of them under each adjacency. A star is below the level, a plus above it, by what chance does once
in 30,000.

Of {releases} releases a share has a standard error of {error:.2f}, and kinds of data share random numbers, so that
cells of one row, and readings of one answer, err together: where net benefit held 0.71 to 0.88 of 24 releases, it held
0.88 of 120 (3,000 continuous scores), where variances of 3,000 clipped records held 0.71, 0.85 of 200 and 0.91 of
800 others, where the mean squared error of 300 predictions held 0.83, 0.92 of 200 others, where differences of
shares of two survival curves of 3,000 tied times held 0.67 and 0.71 for the population, 0.91 and 0.92 of 126 others,
where the share below a forecast quantile held 0.79 of 3,000 records, 0.90 of 150 others, where shares of 30,000
declared times and their differences held 0.79 for these records, 0.90 and 0.89 of 450 others, and where the gap of the
precision of two groups held 0.72 of 40 for the population (3,000 declared scores, arms 20/80), 0.91 of 200 others,
as the gap of flagged shares held 0.72 of 40 for these records (3,000 tied scores, arms 20/80), 0.94 of 200 others.
Where rank-sum tests of 1,000 tied values alike accepted 0.72 of 40, they accepted 0.92 of 200 others, the exact ones
0.93; where hazard ratios of 1,000 weighted records held 0.75 of 40 for these records, 0.93 of 200 others.
Where the band without a range held 0.71 of 300 tied records, it held 0.94 of 240 others (heaped and zero-inflated ones
0.91 and 0.93, for the population 0.89 to 0.90); where 0.79 of 3,000 tied and clipped ones for the population, 0.88 and
0.96 of 48 others. `python benchmarks/interval_against_error.py --page docs/intervals.md` measures it again, and `python
benchmarks/marks_of_few_records.py --kept` prints widths and standard errors.

Each cell has the share that held / width over error. Why some are wide:

- *Areas of tied, heaped or clipped scores on a grid of numbers*: scores of one cell may be equal, or in any order, and
  no count tells which. At 30,000 records such pairs take 0.046 to 0.089, where noise asks 0.0015. Ten scores that are
  declared (`Values`) have 0.8 to 1.2. ROC curves find multiples of a step, such as tenths: areas of such scores have
  1.66 to 1.81, for the population 1.01 to 1.31, and held .98 and .92 to .97 (120 releases of 3,000, 60 of 30,000, by
  adjacency); tables of ROC curves below were measured before. A difference of two areas has both.
- *Area of a ROC curve of 3,000 continuous scores*: 2.2 to 3.9. With a tenth of the loss for four finer cells in each
  piece it was 1.9, but the area itself erred 1.2 and on zero-inflated scores 1.3 times as much; with 130 or 514 cells
  in one table of prefixes 1.9 and 1.4, and it erred 1.3 and 1.6 times as much. At 30,000 finer cells are counted: 1.5,
  and the area errs 0.8 to 1.0 times as much, 1.3 times where positives are rare.
- *Areas of rare events in `scores`*: hundredths of [0, 1] leave 0.07 open at 30,000 records. Thousandths below
  0.1 and above 0.9, and narrower ones at both ends (316 in all), leave 0.018, but on spread scores of 3,000 records the
  area errs 1.6 times as much, the Brier score 1.6 times, the average precision 1.4 times. So hundredths stay, and a
  note says to name a grid.
- *Gini's statistics*: 1.2 to 4.1, and 0.7 where values are few and skewed. Values may lie at the low ends of their
  cells below the median and at the high ends above it, which moves the mean difference by half a cell.
  Narrower cells, or declared values, leave less open, and cost nothing: of 4,000
  weighted records on 80, 320 and 1,280 cells, intervals of the coefficient were 0.028, 0.017 and 0.017 wide where
  values are smooth (errors of 0.003 each), and 0.083, 0.030 and 0.019 where half of them are zero (errors of 0.024,
  0.007 and 0.004); they held 1.00, 0.96 and 0.94 of 48 releases on three kinds of data (`benchmarks/weights.py --cells
  320`).
- *Average precision*: 0.8 to 1.4 where a third and more are positive, 2.5 to 3.1 where many scores are clipped into one
  cell, 4.4 and 4.8 of 3,000 records with 150 positives: the outer ends of the basic and the percentile interval are
  taken there, for the basic one alone held 0.86.
- *Variances for the population*: 1.1 to 2.0 at 30,000 records, where cells are counted beside sums and squares; of 300
  and 3,000 records 1.0 to 2.4, for how squares scatter is then known by the bounds alone.
- *Counts for the population*: 2.5 to 6.3. Where a record may come or go, the number of people is private, and taken to
  vary as a Poisson variable does; here it does not.
- *Means over pairs that are read from cells of a distribution function* (variance, area between two curves, collision
  probability): whatever values have inside their cells is left open; declared values leave nothing open.
- *Kolmogorov-Smirnov statistic, calibration error of scores*: up to 2.7 and 5.1. Which threshold has the largest
  difference is not known where noise is large, and each group may be off in the worse direction. Without noise 0.97
  of 400 held (3,000 smooth scores), at 1.2 of the error.
- *Area of one model minus another, from two releases*: records that one ranks high the other may rank low, so sampling
  errors may add up. Added in squares they held 0.71; linearly, 0.91. Of two groups' areas, order inside cells is 0.230
  of the width 0.251 (tied scores), 0.057 of 0.097 (smooth).
- *Survival medians of 300 records*: 1.4 to 60 (skewed times on 1,000 cells). The interval is where the band crosses one
  half, and the band is made from noise alone; the point is read from a curve that is shrunk to smooth hazards.
- *Numbers of survival curves*: 0.5 to 4.6 at 3,000 records, for events and censored records of one cell came in either
  order, and events at either end of it; 17 to 54 of skewed times on 1,000 cells, nearly all of them in the first ones.
  Declared times leave nothing open (0.9 to 1.5). Of 300 records 1.3 to 14: points are read from a curve that is shrunk
  to smooth hazards, intervals are not. At 30,000 a difference of means of tied times, whose cells hold a value each,
  has 6.4 on the grid and 0.8 where the values are declared: noise is little beside the order that is open.
- *Time lost to a cause, hazard ratios, areas at a horizon*, of 24 cells of time, or 4: 2 to 11. Events come at either
  end of a cell, and in either order. Hazards and their ratios of skewed times on 24 cells: up to 84, and no end (inf),
  for nearly all events lie in the first cell.
- *Areas and Brier scores of survival models*: up to 2.6 and 3.0. Where noise may be all there is past the horizon, as
  of skewed times, nothing is known, and the interval of the area is all of [0, 1].
- *Areas of uplift and Qini curves of 300 records*: no end (inf) where few have a good outcome. They are over the area
  of a perfect order, which noise alone may make zero; no end is known where it did, or does in one draw in forty.
  Where one in twenty has a good outcome, 0.20 and 0.19 of intervals have no end, and 0.97 to 0.98 hold (`python
  benchmarks/judging_models.py uplift --releases 100`); bands of the curves have ends. Of arms 20/80 and smooth scores,
  areas held 0.93, effects 0.95.
- *Volume under the surface, and average precision, of skewed scores*: up to 3.6 and 2.6. Nearly all scores lie in one
  of ten, or eight, cells.
- *Quantiles without a range*: 0.5 to 2.4. The cells where they are counted are part of what is drawn.
"""


class Told(NamedTuple):
    """An interval, or several at once, as one release gives them.

    Attributes:
        name: The reading.
        whom: For these records, or for the population.
        value: The estimate, (...).
        lower, upper: The ends, (...).
        truth: What they are to hold, (...).
        cell: The width of a cell where intervals end at edges; else 0.
    """

    name: str
    whom: str
    value: FloatArray
    lower: FloatArray
    upper: FloatArray
    truth: FloatArray
    cell: float = 0.0

    @property
    def holds(self) -> bool:
        """Tells whether all ends hold, but for rounding. A number that records do not have is not missed."""
        slack, none = ROUNDING * np.maximum(1.0, np.abs(self.truth)), np.isnan(self.truth)
        return bool(np.all(none | (self.lower <= self.truth + slack) & (self.truth <= self.upper + slack)))

    @property
    def width(self) -> float:
        """The width of a single interval."""
        return float(np.mean(self.upper - self.lower))

    @property
    def error(self) -> float:
        """The error of a single estimate; where there is none, the width of its interval."""
        off = np.abs(self.value - self.truth)
        return float(np.max(np.where(np.isnan(off), self.upper - self.lower, np.maximum(off, self.cell / 2))))

    @property
    def in_half_widths(self) -> float:
        """The largest error of all estimates, in half widths of their intervals; those without a width are left out."""
        half = (self.upper - self.lower) / 2
        known = (half > ROUNDING) & np.isfinite(self.value)
        off = np.maximum(np.abs(self.value - self.truth), self.cell / 2)
        return float(np.max(off[known] / half[known], initial=0.0))


class Case(NamedTuple):
    """What is drawn: a kind of data, how many records, at which epsilon."""

    data: str
    records: int
    epsilon: str


class Release(NamedTuple):
    """A case, the level of its intervals, and a number that everything is drawn from."""

    case: Case
    level: float
    seed: int

    @property
    def draw(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.case.records, DATA.index(self.case.data)])

    @property
    def adjacency(self) -> Adjacency:
        return both(self.case.records)[self.seed % 2]

    def answer(self, question: Any, columns: Mapping[str, ArrayLike]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return answer(question, columns, PrivacyLoss.pure(self.case.epsilon), self.adjacency, self.seed)

    def intervals(
        self, name: str, value: ArrayLike, ends: Callable[..., Any], truths: Sequence[ArrayLike], cell: float = 0.0
    ) -> Iterator[Told]:
        """Ask a method for its ends, for these records and for the population."""
        for whom, truth in zip(WHOM, truths, strict=True):
            found = np.asarray(ends(self.level, population=whom == "population"), dtype=np.float64)
            lower, upper = found[..., 0], found[..., 1]
            point, exact = (np.asarray(each, dtype=np.float64) for each in (value, truth))
            yield Told(name, whom, point, lower, upper, exact, cell)


@lru_cache
def population(data: str) -> tuple[FloatArray, Grid]:
    """A long list of values that samples are drawn from with replacement, and a grid that its owner would name."""
    draw = np.random.default_rng(2026)
    waits = draw.weibull(1.3, SIZE) * 30
    wages = np.round(draw.lognormal(10.4, 0.7, SIZE), -3)
    match data:
        case "continuous":
            return np.where(draw.random(SIZE) < 0.6, draw.normal(40, 8, SIZE), draw.normal(75, 12, SIZE)), Grid(
                0, 128, cells=256
            )
        case "tied":
            return np.floor(np.clip(waits, 0, 119)), Grid(0, 120, cells=120)
        case "heaped":
            return np.where(draw.random(SIZE) < 0.5, wages, np.round(wages, -4)), Grid(0, 200_000, cells=256)
        case "zero-inflated":
            return np.where(draw.random(SIZE) < 0.31, 0.0, wages), Grid(0, 200_000, cells=250)
        case "clipped":
            return waits, Grid(5, 45, cells=128)
        case _:
            return draw.pareto(1.8, SIZE) * 1_000, Grid(0, 100_000, cells=1_000)


def declared(data: str) -> Grid | None:
    """The values that data may have, where somebody could declare them."""
    return dp.Values(range(120)) if data == "tied" else None


@lru_cache
def people(data: str) -> tuple[FloatArray, FloatArray]:
    """Scores of a population, and the chance of a positive label at each."""
    draw = np.random.default_rng(2027)
    spread = expit(draw.normal(-0.6, 1.4, SIZE))
    match data:
        case "tied":
            score = np.asarray(BANDS)[np.minimum((spread * 10).astype(int), 9)]
        case "heaped":
            score = np.where(draw.random(SIZE) < 0.7, spread.round(1), spread)
        case "zero-inflated":
            score = np.where(draw.random(SIZE) < 0.4, 0.0, spread)
        case "clipped":
            score = np.clip(spread, 0.1, 0.6)
        case "skewed":
            score = draw.beta(1.5, 26, SIZE)
        case _:
            score = spread
    with np.errstate(divide="ignore"):
        likely = expit(0.9 * logit(np.clip(score, 1e-3, 1)) + 0.1)
    return score, np.asarray(likely)


# Readings of one column.


def distribution(release: Release) -> Iterator[Told]:
    """The band, three quantiles at once, one alone, bins, and statistics of pairs: all of one curve."""
    values, grid = population(release.case.data)
    sample = release.draw.choice(values, release.case.records)
    wide = (grid.upper - grid.lower) / grid.cells
    for name, cells in (("", grid), (", declared values", declared(release.case.data))):
        if cells is None:
            continue
        curve = release.answer(CdfQuestion("x", cells), {"x": sample})
        shares = [below(each, cells) for each in (sample, values)]
        yield from release.intervals(f"cdf band{name}", curve.y, stacked(curve.band), shares)
        three = release.answer(QuantilesQuestion("x", cells, P), {"x": sample})
        step = wide if cells.values is None else 1.0
        exact = [np.quantile(each, P, method="inverted_cdf") for each in (sample, values)]
        inside = [np.clip(each, grid.lower, grid.upper) for each in exact]
        yield from release.intervals(f"three quantiles{name}", three.x, clipped(three.intervals, grid), inside, step)
        one = release.answer(QuantilesQuestion("x", cells, (0.5,)), {"x": sample})
        alone = [each[1:2] for each in inside]
        yield from release.intervals(f"one quantile{name}", one.x, clipped(one.intervals, grid), alone, step)
        yield from of_pairs(release, curve, (sample, values), cells, name)
    bars = release.answer(HistogramQuestion("x", grid), {"x": sample})
    counts = [np.diff(below(each, grid)) * len(sample) for each in (sample, values)]
    yield from release.intervals("histogram", bars.count, bars.intervals, counts)


def of_pairs(release: Release, curve: Any, of: tuple[FloatArray, FloatArray], grid: Grid, name: str) -> Iterator[Told]:
    """Gini's mean difference and coefficient."""
    clipped = [np.clip(each, grid.lower, grid.upper) for each in of]
    differences = [mean_difference(each) for each in clipped]
    coefficients = [half / (2 * each.mean()) for half, each in zip(differences, clipped, strict=True)]
    found = dp.gini_mean_difference(curve)
    yield from release.intervals(f"Gini mean difference{name}", found.value, found.interval, differences)
    found = dp.gini_coefficient(curve)
    yield from release.intervals(f"Gini coefficient{name}", found.value, found.interval, coefficients)


def moments(release: Release) -> Iterator[Told]:
    """Count, sum, mean and variance of one question, and mean and variance asked alone."""
    values, grid = population(release.case.data)
    values = np.clip(values, grid.lower, grid.upper)
    sample, size = release.draw.choice(values, release.case.records), release.case.records
    truths = [
        (len(each) / len(each) * size, each.mean() * size, each.mean(), each.var(ddof=number))
        for number, each in ((1, sample), (0, values))
    ]
    found = release.answer(SummaryQuestion("x", grid.lower, grid.upper), {"x": sample})
    for place, (name, value) in enumerate(found.statistics.items()):
        rows = at_place(found.intervals, place)
        yield from release.intervals(f"summary: {name}", value, rows, [each[place] for each in truths])
    for question, place in (
        (MeanQuestion("x", grid.lower, grid.upper), 2), (VarianceQuestion("x", grid.lower, grid.upper), 3)
    ):  # fmt: skip
        found = release.answer(question, {"x": sample})
        alone = [each[place] for each in truths]
        yield from release.intervals(f"{found.statistic} alone", found.value, found.interval, alone)


def survival(release: Release) -> Iterator[Told]:
    """The band and the median of a survival curve, half of whose records are censored at other times."""
    values, grid = population(release.case.data)
    values, draw = np.maximum(values, grid.lower), np.random.default_rng(7)
    until = np.where(draw.random(SIZE) < 0.5, draw.permutation(values) * 1.4, np.inf)
    if release.case.data in {"tied", "heaped"}:
        until = np.floor(until)
    time, event = np.minimum(values, until), (values <= until).astype(np.float64)
    drawn = release.draw.integers(SIZE, size=release.case.records)
    wide = (grid.upper - grid.lower) / grid.cells
    for name, cells in (("", grid), (", declared values", declared(release.case.data))):
        if cells is None:
            continue
        found = release.answer(SurvivalQuestion("t", "e", cells), {"t": time[drawn], "e": event[drawn]})
        exact = [kaplan_meier(time[part], event[part]) for part in (drawn, slice(None))]
        ends = [left_at(*each, found.x, equal=cells.values is not None) for each in exact]
        yield from release.intervals(f"survival band{name}", found.y, found.intervals, ends)
        medians = [min(median_of(*each), grid.upper) for each in exact]
        step = wide if cells.values is None else 1.0
        middle = np.clip(np.mean(np.atleast_1d(found.median)), grid.lower, grid.upper)
        yield from release.intervals(
            f"survival median{name}", middle, clipped(found.median_interval, grid), medians, step
        )


def survival_numbers(release: Release) -> Iterator[Told]:
    """Numbers of two groups that are one population, parted by chance: exact times on cells, and declared ones."""
    values, grid = population(release.case.data)
    values, draw = np.maximum(values, grid.lower), np.random.default_rng(7)
    until = np.where(draw.random(SIZE) < 0.5, draw.permutation(values) * 1.4, np.inf)
    if release.case.data in {"tied", "heaped"}:
        until = np.floor(until)
    time, event, group = np.minimum(values, until), (values <= until).astype(np.float64), np.arange(SIZE) % 2
    drawn = release.draw.integers(SIZE, size=release.case.records)
    for name, cells in (("", grid), (", declared values", declared(release.case.data))):
        if cells is None:
            continue
        by = Categories("g", (0, 1))
        arms = release.answer(
            SurvivalQuestion("t", "e", cells, by=by), {"t": time[drawn], "e": event[drawn], "g": group[drawn]}
        )
        edges, equal = arms[0].x, cells.values is not None
        known = cells.values if cells.values is not None else edges
        until_, at = float(known[len(known) * 2 // 3]), float(known[len(known) // 3])
        exact = []
        for part in (drawn, np.arange(SIZE)):
            own = [kaplan_meier(time[part[group[part] == each]], event[part[group[part] == each]]) for each in (0, 1)]
            means = [restricted_mean_of(*each, until_) for each in own]
            shares = [float(left_at(*each, np.array([at]), equal=equal)[0]) for each in own]
            exact.append((means[0], means[0] - means[1], shares[0], shares[0] - shares[1]))
        read = dp.restricted_mean(arms[0], until_), dp.restricted_mean_difference(arms[0], arms[1], until_)
        read += dp.survival_at(arms[0], at), dp.survival_difference(arms[0], arms[1], at)
        words = "restricted mean", "difference of means", "share at a time", "difference of shares"
        for number, (word, found) in enumerate(zip(words, read, strict=True)):
            truths = [each[number] for each in exact]
            yield from release.intervals(f"survival: {word}{name}", found.value, found.interval, truths)


def restricted_mean_of(known: FloatArray, share: FloatArray, until: float) -> float:
    """The mean of the earlier of the time of an event and `until`."""
    came = -np.diff(np.append(1.0, share))[known < until]
    return float((came * known[known < until]).sum() + until * (1 - came.sum()))


def without_range(release: Release) -> Iterator[Told]:
    """The band and three quantiles of a distribution function that was asked for without a grid."""
    values, _ = population(release.case.data)
    sample = release.draw.choice(values, release.case.records)
    curve = release.answer(dp.AutoRangeCdfQuestion("x"), {"x": sample})
    shares = [np.searchsorted(np.sort(each), curve.x, side="left") / len(each) for each in (sample, values)]
    yield from release.intervals("cdf band, no range", curve.y, stacked(curve.band), shares)
    three = release.answer(dp.AutoRangeQuantilesQuestion("x", P), {"x": sample})
    exact = [np.quantile(each, P, method="inverted_cdf") for each in (sample, values)]
    yield from release.intervals("three quantiles, no range", three.x, three.intervals, exact)


def event_times(release: Release) -> Iterator[Told]:
    """Curves of times in cells that are not those of one event, and models of survival: truths are without noise.

    Records enter before half of their time; events of both causes are as common; looks come after 0.4 and 0.8 of it.
    """
    for word, (question, read) in TIMED.items():
        whole = timed_people(release.case.data)
        drawn = release.draw.integers(SIZE, size=release.case.records)
        columns = {name: each[drawn] for name, each in whole.items()}
        asked = question(population(release.case.data)[1])
        found = release.answer(asked, columns)
        exact = without_noise(asked, columns), whole_times(word, release.case.data)
        for name, value in read(found).items():
            truths = [np.asarray(heights_of(read(each)[name])) for each in exact]
            yield from release.intervals(f"{word}: {name}", heights_of(value), ends_of(value), truths)


@lru_cache
def timed_people(data: str) -> dict[str, Any]:
    """Columns of a population of times: of events and of leaving, of entries, of looks, and a score."""
    values, grid = population(data)
    values, draw = np.maximum(values, grid.lower), np.random.default_rng(7)
    until = np.where(draw.random(SIZE) < 0.5, draw.permutation(values) * 1.4, np.inf)
    time, event = np.minimum(values, until), (values <= until).astype(int)
    share = draw.random(SIZE)
    span = np.clip((values - grid.lower) / (grid.upper - grid.lower), 0, 1)
    return {
        "t": time, "e": event, "cause": event * draw.integers(1, 3, SIZE),
        "in": grid.lower + (time - grid.lower) * 0.5 * share,
        "risk": np.clip(1 - span + draw.normal(0, 0.3, SIZE), 0, 1),
        "last": grid.lower + (time - grid.lower) * 0.8,
        "first": np.where(event > 0, time + (grid.upper - grid.lower) * 0.1 * share, np.inf),
        "g": np.arange(SIZE) % 2,
    }  # fmt: skip


@lru_cache
def whole_times(word: str, data: str) -> Any:
    """The answer of the population."""
    return without_noise(TIMED[word][0](population(data)[1]), timed_people(data))


def few(grid: Grid, cells: int) -> Grid:
    """A grid of the same bounds."""
    return Grid(grid.lower, grid.upper, cells=cells)


def heights_of(found: Any) -> Any:
    """The value of a number, or the heights of a curve, cause by cause."""
    if isinstance(found, dp.Estimate):
        return found.value
    return found.incidence.ravel() if hasattr(found, "incidence") else found.y


def ends_of(found: Any) -> Callable[..., FloatArray]:
    """The interval of a number, or the band of a curve."""
    if isinstance(found, dp.Estimate):
        return lambda level, *, population: np.asarray(found.interval(level, population=population))
    return lambda level, *, population: np.asarray(found.intervals(level, population=population))


TIMED: Mapping[str, tuple[Callable[[Grid], Any], Callable[[Any], dict[str, Any]]]] = MappingProxyType({
    "competing risks": (
        lambda grid: dp.CompetingRisksQuestion("t", "cause", few(grid, 24), (1, 2)),
        lambda found: {
            "bands of incidences": found, "incidence at a time": found.incidence_at(1, float(found.x[8])),
            "time lost": found.time_lost(1, float(found.x[16])),
        },
    ),
    "two groups": (
        lambda grid: SurvivalQuestion("t", "e", few(grid, 24), by=Categories("g", (0, 1))),
        lambda found: {
            "band of a cumulative hazard": dp.CumulativeHazard(found[0]),
            "hazard ratio": dp.hazard_ratio(found[0], found[1]),
        },
    ),
    "late entry": (lambda grid: dp.DelayedEntryQuestion("in", "t", "e", few(grid, 24)), lambda found: {"band": found}),
    "between looks": (
        lambda grid: dp.IntervalCensoredQuestion("last", "first", few(grid, 12)), lambda found: {"band": found},
    ),
    "survival model": (
        lambda grid: dp.SurvivalModelQuestion("risk", "t", "e", Grid(grid.lower, float(grid.edges[-1]) / 2, cells=4)),
        lambda found: {"auc": found.auc, "brier score": found.brier},
    ),
})  # fmt: skip
"""Questions on a grid of these bounds, and what is read of the answer."""


def judged(release: Release) -> Iterator[Told]:
    """Numbers of judged models, of scores rounded to cells: truths are the same numbers without noise."""
    columns = drawn_people(release)
    yield from numbers_of(release, JUDGED, columns)
    rates = [dp.group_rates(release.answer(BY_GROUP, columns)), dp.group_rates(without_noise(BY_GROUP, columns))]
    rates.append(dp.group_rates(whole_answer("groups", release.case.data)))
    for rate in ("flagged", "recall"):
        ends = of_rate(rates[0], rate)
        values = [each.values_of(rate) for each in rates]
        yield from release.intervals(f"{rate} of three groups, at once", values[0], ends, values[1:])


@lru_cache
def judged_people(data: str) -> dict[str, Any]:
    """Columns of a population whose scores are those of `people`."""
    score, likely = people(data)
    draw = np.random.default_rng(2028)
    near = np.clip(score + draw.normal(0, 0.15, SIZE), 0, 1)
    near = np.clip(near, score.min(), score.max()) if data == "clipped" else near
    label, treated = (draw.random(SIZE) < likely).astype(int), draw.integers(0, 2, SIZE)
    return {
        "y": label, "s": score, "near": near.round(1) if data in {"tied", "heaped"} else near,
        "k": label + (draw.random(SIZE) < likely), "t": treated, "g": draw.choice(3, SIZE, p=(0.6, 0.3, 0.1)),
        "o": (draw.random(SIZE) < likely * (0.5 + 0.4 * treated)).astype(int),
        "middle": 1 - np.abs(2 * score - 1), "low": 1 - score, "guess": np.round(2 * near).astype(int),
        "e10": near - score + 0.2, "e50": near - score, "e90": near - score - 0.2,
    }  # fmt: skip


def drawn_people(release: Release) -> dict[str, Any]:
    """The columns of a sample."""
    drawn = release.draw.integers(SIZE, size=release.case.records)
    return {name: each[drawn] for name, each in judged_people(release.case.data).items()}


def numbers_of(
    release: Release, questions: Mapping[str, tuple[Any, tuple[str, ...]]], columns: Mapping[str, ArrayLike]
) -> Iterator[Told]:
    """Intervals of some numbers of each question."""
    for word, (question, names) in questions.items():
        found = release.answer(question, columns)
        exact = [without_noise(question, columns), whole_answer(word, release.case.data)]
        for name in names:
            truths = [each.value(name) for each in exact]
            yield from release.intervals(f"{word}: {name}", found.value(name), of_name(found, name), truths)


def classes(release: Release) -> Iterator[Told]:
    """Numbers of models of several classes, and of forecast quantiles, as those of `judged`."""
    yield from numbers_of(release, CLASSES, drawn_people(release))


def learned(release: Release) -> Iterator[Told]:
    """The held-out area of a linear scorer that was learned from two scores; truths are those of the same scorer."""
    question = dp.PairwiseScorerQuestion("y", (dp.NumericColumn("s", 0, 1), dp.NumericColumn("near", 0, 1)))
    drawn = drawn_people(release)
    found = release.answer(question, drawn)
    truths = [held_out_area(found, each) for each in (drawn, judged_people(release.case.data))]
    yield from release.intervals("learned scorer: held-out auc", found.auc, of_name(found, "auc"), truths)


def held_out_area(found: Any, columns: Mapping[str, ArrayLike]) -> float:
    """The area over pairs of records of one fold, by the scorers that were released, of scores rounded to cells."""
    scores = found.question.held_out(found.evidence[1:])
    fold, score = scores.folds.predict(columns), HELD_OUT_SCORES.cell_of(scores.predict(columns))
    areas, pairs = [], []
    for each in range(found.question.folds):
        label, own = np.asarray(columns["y"])[fold == each], score[fold == each]
        none, some = (np.bincount(own[label == kind], minlength=HELD_OUT_SCORES.cells) for kind in (0, 1))
        if none.sum() * some.sum():
            areas.append(area(none.astype(np.float64), some.astype(np.float64)))
            pairs.append(none.sum() * some.sum())
    return float(np.average(areas, weights=pairs)) if sum(pairs) else np.nan


def without_noise(question: Any, columns: Mapping[str, ArrayLike]) -> Any:
    """The answer of next to no noise."""
    size = len(np.asarray(next(iter(columns.values()))))
    with warnings.catch_warnings(action="ignore"):
        return answer(question, columns, PrivacyLoss.pure(10**9), both(size)[1], 0)


@lru_cache
def whole_answer(word: str, data: str) -> Any:
    """The answer of the population."""
    return without_noise(BY_GROUP if word == "groups" else {**JUDGED, **CLASSES}[word][0], judged_people(data))


def of_name(found: Any, name: str) -> Callable[..., FloatArray]:
    """The interval of a number of this name."""
    return lambda level, *, population: np.asarray(found.interval(name, level, population=population))


def of_rate(found: Any, rate: str) -> Callable[..., FloatArray]:
    """The intervals of a rate of all groups."""
    return lambda level, *, population: np.asarray(found.intervals_of(rate, level, population=population))


TENTHS = dp.Grid(0, 1, cells=10)
BY_GROUP = ScoresQuestion("y", "s", by=Categories("g", (0, 1, 2)))
JUDGED: Mapping[str, tuple[Any, tuple[str, ...]]] = MappingProxyType({
    "two models": (
        dp.ModelPairQuestion("y", "s", "near", cells=8),
        ("auc difference", "average precision difference", "brier score difference"),
    ),
    "ordered classes": (
        dp.OrdinalClassesQuestion(Categories("k", (0, 1, 2)), "s", TENTHS), ("volume under the surface",),
    ),
    "uplift": (dp.UpliftQuestion("o", "t", "s", TENTHS), ("uplift area", "qini area")),
    "predicted against observed": (dp.PredictedObservedQuestion("s", "near", TENTHS, TENTHS), ("mean squared error",)),
})  # fmt: skip


CLASSES: Mapping[str, tuple[Any, tuple[str, ...]]] = MappingProxyType({
    "several classes": (
        dp.MulticlassQuestion(Categories("k", (0, 1, 2)), ("low", "middle", "s"), "guess", grid=TENTHS),
        ("macro auc", "micro auc", "one-against-one auc", "accuracy"),
    ),
    "forecast quantiles": (
        dp.QuantileForecastsQuestion(("e10", "e50", "e90"), (0.1, 0.5, 0.9), dp.Grid(-1, 1, cells=20)),
        ("below 0.1", "within 0.1 to 0.9", "pinball at 0.5"),
    ),
})  # fmt: skip


# Readings of a score and a label.


def scores(release: Release) -> Iterator[Told]:
    """Areas and other numbers of one model, from a curve of its own and from all readings of its scores."""
    score, likely = people(release.case.data)
    yield from areas_of_roc(release, score, likely)
    yield from numbers_of_scores(release, score, likely)


class ScoredRecords(NamedTuple):
    """A sample of scored people.

    Attributes:
        columns: Labels and scores of the sample.
        drawn: The rows of the population.
        areas: The exact areas under the ROC curve of the sample and of the population.
    """

    columns: dict[str, FloatArray]
    drawn: NDArray[np.int64]
    areas: list[float]


def draw_scored_records(release: Release, score: FloatArray, likely: FloatArray) -> ScoredRecords:
    """Draw a sample with labels from the scores of a population and the probability of a positive label at each."""
    draw = release.draw
    drawn = draw.integers(len(score), size=release.case.records)
    label = (draw.random(release.case.records) < likely[drawn]).astype(np.float64)
    known, place = np.unique(score, return_inverse=True)
    whole = known, *(np.bincount(place, each) for each in (1 - likely, likely))
    areas = [area(*each[1:]) for each in (weights(score[drawn], label), whole)]
    return ScoredRecords({"y": label, "s": score[drawn]}, drawn, areas)


def areas_of_roc(release: Release, score: FloatArray, likely: FloatArray) -> Iterator[Told]:
    """Areas under ROC curves on the default grid, and on declared values where scores are tied."""
    sample = draw_scored_records(release, score, likely)
    questions = {"AUC of roc": RocQuestion("y", "s")}
    if release.case.data == "tied":
        questions["AUC of roc, declared values"] = RocQuestion(
            "y", "s", dp.Values(BANDS), thresholds=RocThresholds.FIXED
        )
    for name, question in questions.items():
        found = release.answer(question, sample.columns)
        yield from release.intervals(name, found.auc, found.auc_interval, sample.areas)


def numbers_of_scores(release: Release, score: FloatArray, likely: FloatArray) -> Iterator[Told]:
    """Numbers of all readings of scores; but for areas, truths are those of scores in the middle of their cells."""
    sample = draw_scored_records(release, score, likely)
    told = release.answer(ScoresQuestion("y", "s"), sample.columns)
    middle = told.table.middles[told.table.grid.cell_of(score) - 1]
    known, place = np.unique(middle, return_inverse=True)
    parts = (
        weights(middle[sample.drawn], sample.columns["y"]),
        (known, *(np.bincount(place, each) for each in (1 - likely, likely))),
    )
    exact = [
        (won, *(of(*each) for of in (precision, gap, brier, log_loss)))
        for won, each in zip(sample.areas, parts, strict=True)
    ]
    kinds = Metric.AUC, Metric.AVERAGE_PRECISION, Metric.KS, Metric.BRIER, Metric.LOG_LOSS
    for place, reading in enumerate(kinds):
        ends = of_reading(told, reading)
        yield from release.intervals(
            f"scores: {reading.key}", told.value(reading), ends, [each[place] for each in exact]
        )


def groups(release: Release) -> Iterator[Told]:
    """Shares of calibration curves and positives of Hosmer and Lemeshow's groups, one group of each release."""
    score, likely = people(release.case.data)
    draw = release.draw
    drawn = draw.integers(SIZE, size=release.case.records)
    label = (draw.random(release.case.records) < likely[drawn]).astype(np.float64)
    columns = {"y": label, "s": score[drawn]}
    for name, question in (
        ("calibration", CalibrationQuestion("y", "s")),
        ("Hosmer-Lemeshow", HosmerLemeshowQuestion("y", "s", groups=5)),
    ):
        found = release.answer(question, columns)
        place = np.clip(np.searchsorted(found.edges, score, side="right") - 1, 0, len(found.edges) - 2)
        group = int(release.seed // 2 % (len(found.edges) - 1))
        inside, everybody = place[drawn] == group, place == group
        if not inside.any():
            continue
        if name == "calibration":
            truths, value = [label[inside].mean(), likely[everybody].mean()], found.prob_true[group]
        else:
            size = release.case.records / SIZE
            truths, value = [label[inside].sum(), likely[everybody].sum() * size], found.observed[group]
        yield from release.intervals(name, value, at_place(found.intervals, group), truths)


def tables(release: Release) -> Iterator[Told]:
    """Counts of two columns, all at once, and Kendall's tau of both."""
    values, grid = population(release.case.data)
    rows = np.clip((values - grid.lower) / (grid.upper - grid.lower) * 5, 0, 4).astype(np.int64)
    columns = np.minimum(np.floor(np.random.default_rng(44).random(SIZE) * 3 + 0.3 * rows), 3).astype(np.int64)
    drawn = release.draw.integers(SIZE, size=release.case.records)
    question = ContingencyQuestion(Categories("a", tuple(range(5))), Categories("b", tuple(range(4))))
    found = release.answer(question, {"a": rows[drawn], "b": columns[drawn]})
    exact = [crossed(rows[part], columns[part]) for part in (drawn, slice(None))]
    counts = [each.ravel() * release.case.records / each.sum() for each in exact]
    yield from release.intervals("contingency", np.ravel(found.count), found.intervals, counts)
    for name, statistic, truth in (
        ("Kendall tau-a", dp.kendall_tau_a, tau_a),
        ("Kendall tau-b", dp.kendall_tau_b, tau_b),
    ):
        tau = statistic(found)
        yield from release.intervals(name, tau.value, tau.interval, [truth(each) for each in exact])


def score_curves(release: Release) -> Iterator[Told]:
    """Bands of curves of one table of scores, rates at a threshold, groups, and the calibration error.

    Scores are those of the cells that they were counted in: areas of exact scores are told by `scores`.
    """
    (score, likely), grid = people(release.case.data), Grid(0, 1, cells=128, outside=Outside.APART)
    draw = release.draw
    drawn = draw.integers(SIZE, size=release.case.records)
    label = (draw.random(release.case.records) < likely[drawn]).astype(np.float64)
    told = release.answer(ScoresQuestion("y", "s", grid), {"y": label, "s": score[drawn]})
    size, cells = release.case.records / SIZE, grid.cell_of(score)
    tables = [
        np.stack([np.bincount(place, each, minlength=grid.slots) for each in weighed])
        for place, weighed in ((cells[drawn], (1 - label, label)), (cells, ((1 - likely) * size, likely * size)))
    ]
    above = [np.cumsum(each[:, ::-1], axis=1) for each in tables]  # (2, slots) at falling thresholds
    above = [np.concatenate([np.zeros((2, 1)), each], axis=1) for each in above]
    rates = [np.ravel(each / each[:, -1:]) for each in above]
    roc = told.roc()
    yield from release.intervals("ROC box of rates", np.ravel([roc.fpr, roc.tpr]), boxed(roc.band), rates)
    flagged = [each.sum(axis=0) for each in above]
    somebody = np.minimum(*flagged) > 0
    of_precision = told.precision_recall()
    shares = [(each[1, somebody] / all_of[somebody]) for each, all_of in zip(above, flagged, strict=True)]
    ends = one_band(of_precision.band, 0, somebody)
    yield from release.intervals("precision", of_precision.precision[somebody], ends, shares)
    gain = told.cumulative_gain()
    lifts = [share / share[-1] for share in shares]
    yield from release.intervals("lift", gain.lift[somebody], one_band(gain.band, 2, somebody), lifts)
    decision = told.decision_curve()
    points = [told.table.nearest_threshold_index(threshold) for threshold in decision.threshold]
    odds = decision.threshold / (1 - decision.threshold)
    benefits = [(each[1, points] - odds * each[0, points]) / each[:, -1].sum() for each in above]
    yield from release.intervals("net benefit", decision.benefit, stacked(decision.band), benefits)
    yield from at_a_threshold(release, told, above)
    yield from in_groups(release, told, tables)


def at_a_threshold(release: Release, told: Any, above: Sequence[FloatArray]) -> Iterator[Told]:
    """A count and a rate of the confusion matrix at 0.3, by turns, and F1."""
    confusion, point = told.confusion(0.3), told.table.nearest_threshold_index(0.3)
    exact = [np.ravel([[each[row, -1] - each[row, point], each[row, point]] for row in (0, 1)]) for each in above]
    cell, rate = release.seed // 2 % 4, release.seed // 2 % F1_INDEX

    def counts(level: float, *, population: bool) -> FloatArray:
        found = confusion.count_intervals(level, population=population)
        return np.asarray(found).reshape(4, 2)[cell]

    yield from release.intervals(
        "confusion: count", np.ravel(confusion.matrix)[cell], counts, [each[cell] for each in exact]
    )
    part, rest = (list(each) for each in list(RATES.values())[rate])
    if all(each[[*part, *rest]].sum() > 0 for each in exact):
        truths = [each[part].sum() / each[[*part, *rest]].sum() for each in exact]
        value = list(confusion.rates.values())[rate]
        yield from release.intervals("confusion: rate", value, at_place(confusion.intervals, rate), truths)
    if all(positive_above > 0 for *_, positive_above in exact):
        f1 = [2 * hit / (2 * hit + false + missed) for _, false, missed, hit in exact]
        ends = at_place(confusion.intervals, F1_INDEX)
        yield from release.intervals("confusion: f1", confusion.rates["f1"], ends, f1)


def in_groups(release: Release, told: Any, tables: Sequence[FloatArray]) -> Iterator[Told]:
    """The share of a group of cells, by turns, and the calibration error of them all."""
    inside = [told.table.inside(each) for each in tables]
    calibration = told.calibration()
    grouped = [np.add.reduceat(each, calibration.starts, axis=1) for each in inside]
    group = release.seed // 2 % len(calibration.starts)
    if all(each[:, group].sum() > 0 for each in grouped):
        truths = [each[1, group] / each[:, group].sum() for each in grouped]
        ends = at_place(calibration.intervals, group)
        yield from release.intervals("calibration of scores", calibration.prob_true[group], ends, truths)
    middles, size = told.table.middles, [each.sum() for each in inside]
    expected = [np.add.reduceat(each.sum(axis=0) * middles, calibration.starts) for each in inside]
    errors = [np.abs(each[1] - own).sum() / all_of for each, own, all_of in zip(grouped, expected, size, strict=True)]
    yield from release.intervals("scores: ece", told.value(Metric.ECE), of_reading(told, Metric.ECE), errors)


def residuals(release: Release) -> Iterator[Told]:
    """The envelope of binned residuals of a model that is right: a mean residual less noise is within it."""
    score, _ = people(release.case.data)
    draw = release.draw
    drawn = score[draw.integers(SIZE, size=release.case.records)]
    label = (draw.random(len(drawn)) < drawn).astype(np.float64)
    found = release.answer(dp.BinnedResidualsQuestion("y", "s", dp.PUBLIC_MODEL), {"y": label, "s": drawn})
    group = release.seed // 2 % len(found.residual)
    half, residual = found.envelope_at(release.level)[group], found.residual[group]
    ends = [np.asarray(each) for each in (residual, residual - half, residual + half, 0.0)]
    yield Told("binned residuals", "population", *ends)


def pairs(release: Release) -> Iterator[Told]:
    """Bins, other means over pairs, the area between two columns, and their quantiles against each other."""
    values, grid = population(release.case.data)
    whole = np.clip(values, grid.lower, grid.upper)
    moved = np.clip(whole + (grid.upper - grid.lower) / 20, grid.lower, grid.upper)
    draw = release.draw
    first, second = (draw.choice(each, release.case.records) for each in (whole, moved))
    curve = release.answer(CdfQuestion("x", grid), {"x": first})
    other = release._replace(seed=release.seed + 10**6 + release.seed % 2).answer(CdfQuestion("x", grid), {"x": second})
    bins = curve.histogram(10)
    at = grid.nearest_edge(bins.x)
    shares = [np.diff(below(each, grid)[at]) for each in (first, whole)]
    yield from release.intervals("bins of a cdf", bins.share, bins.intervals, shares)
    found = dp.sample_variance(curve)
    yield from release.intervals("variance of a cdf", found.value, found.interval, [first.var(ddof=1), whole.var()])
    found = dp.collision_probability(curve)
    counts = [np.diff(below(each, grid)) * len(each) for each in (first, whole)]
    alike = [
        float((each * (each - alone)).sum() / (each.sum() * (each.sum() - alone)))
        for each, alone in zip(counts, (1, 0), strict=True)
    ]
    yield from release.intervals("collision probability", found.value, found.interval, alike)
    found = dp.area_between(curve, other)
    areas = [won(*each) for each in ((first, second), (whole, moved))]
    yield from release.intervals("area between two cdfs", found.value, found.interval, areas)
    plot, wide = curve.quantile_quantile(other, P), (grid.upper - grid.lower) / grid.cells
    exact = [
        np.stack([np.quantile(each, P, method="inverted_cdf") for each in both_of])
        for both_of in ((first, second), (whole, moved))
    ]
    point = np.stack([plot.x, plot.y])
    yield from release.intervals("quantiles of two cdfs", point, clipped(plot.intervals, grid), exact, wide)


def won(first: FloatArray, second: FloatArray) -> float:
    """The share of pairs in which the second is larger, ties as one half."""
    ordered = np.sort(first)
    below_or_at = [np.searchsorted(ordered, second, side=side).mean() for side in ("left", "right")]
    return float(sum(below_or_at) / 2 / len(first))


def categories(release: Release) -> Iterator[Told]:
    """A mean of one category of three, by turns, and the difference of two categories' areas."""
    values, grid = population(release.case.data)
    values = np.clip(values, grid.lower, grid.upper)
    group = np.random.default_rng(45).choice(3, SIZE, p=(0.6, 0.3, 0.1))
    draw, mine = release.draw, release.seed // 2 % 3
    drawn = draw.integers(SIZE, size=release.case.records)
    question = SummaryQuestion("x", grid.lower, grid.upper, by=Categories("g", (0, 1, 2)))
    found = release.answer(question, {"x": values[drawn], "g": group[drawn]})[mine]
    truths = [values[part].mean() for part in (drawn[group[drawn] == mine], group == mine) if part.any()]
    if len(truths) == 2:
        yield from release.intervals(
            "mean of a category", found.statistics["mean"], at_place(found.intervals, 2), truths
        )
    score, likely = people(release.case.data)
    half = np.random.default_rng(46).random(SIZE) < 0.4
    likely = np.where(half, (likely + likely.mean()) / 2, likely)
    label = (draw.random(release.case.records) < likely[drawn]).astype(np.float64)
    question = ScoresQuestion("y", "s", by=Categories("g", (0, 1)))
    told = release.answer(question, {"y": label, "s": score[drawn], "g": half[drawn].astype(int)})
    areas = []
    for which in (0, 1):
        own = [
            weighed_area(score[drawn][half[drawn] == which], label[half[drawn] == which]),
            weighed_area(score[half == which], likely[half == which]),
        ]
        areas.append(own)
    exact = [one - two for one, two in zip(*areas, strict=True)]

    def ends(level: float, *, population: bool) -> FloatArray:
        apart = told.difference(Metric.AUC, 0, 1, level, population=population)
        return np.array([apart.lower, apart.upper])

    apart = told[0].value(Metric.AUC) - told[1].value(Metric.AUC)
    yield from release.intervals("difference of two AUCs", apart, ends, exact)


def weighed_area(score: FloatArray, positive: FloatArray) -> float:
    """The area of scores whose records are positive by these shares."""
    return area(*weights(score, positive)[1:])


def shares_of_tables(release: Release) -> Iterator[Told]:
    """A share of a row and a share of a column of two columns, by turns; numbers at risk, all at once."""
    values, grid = population(release.case.data)
    rows = np.clip((values - grid.lower) / (grid.upper - grid.lower) * 5, 0, 4).astype(np.int64)
    columns = np.minimum(np.floor(np.random.default_rng(44).random(SIZE) * 3 + 0.3 * rows), 3).astype(np.int64)
    drawn, place = release.draw.integers(SIZE, size=release.case.records), release.seed // 2 % 20
    question = ContingencyQuestion(Categories("a", tuple(range(5))), Categories("b", tuple(range(4))))
    found = release.answer(question, {"a": rows[drawn], "b": columns[drawn]})
    exact = [crossed(rows[part], columns[part]) for part in (drawn, slice(None))]
    for name, ends, axis in (
        ("share of a row", found.row_share_intervals, 1),
        ("share of a column", found.column_share_intervals, 0),
    ):
        sums = [each.sum(axis=axis, keepdims=True) for each in exact]
        if all(np.broadcast_to(each, (5, 4)).ravel()[place] > 0 for each in sums):
            counts = np.asarray(found.count).reshape(5, 4)
            with np.errstate(invalid="ignore", divide="ignore"):
                truths = [(each / own).ravel()[place] for each, own in zip(exact, sums, strict=True)]
                value = (counts / counts.sum(axis=axis, keepdims=True)).ravel()[place]
            yield from release.intervals(name, value, flat_place(ends, place), truths)
    sample = np.clip(values[drawn], grid.lower, grid.upper)
    curve = release.answer(SurvivalQuestion("t", "e", grid), {"t": sample, "e": np.ones(len(sample))})
    still = len(sample) - np.searchsorted(np.sort(sample), curve.x[:-1], side="left")
    ends = curve.at_risk_intervals(release.level)[1:-1]
    value = curve.at_risk[1:-1]
    yield Told("numbers at risk", "records", value, ends[:, 0], ends[:, 1], still[: len(value)].astype(np.float64))


def local(release: Release) -> Iterator[Told]:
    """Reports of people who trust nobody, up to 3,000 of them, at four times the epsilon."""
    if release.case.records > 3_000:
        return
    values, grid = population(release.case.data)
    grid = Grid(grid.lower, grid.upper, cells=64)
    whole = np.clip(values, grid.lower, grid.upper)
    sample = release.draw.choice(whole, release.case.records)
    loss = PrivacyLoss.pure(str(4 * Fraction(release.case.epsilon)))
    task = dp.local.Task(QuantilesQuestion("x", grid, P), loss, people=len(sample))
    collection = dp.local.Collection(task)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reports = task.randomize_table({"x": sample}, randomness=dp.Randomness.from_seed(2 * release.seed + 1))
        collection.add(reports)
        found: Any = collection.curve()
    curve, wide = found.curve, (grid.upper - grid.lower) / grid.cells
    shares = [below(each, grid) for each in (sample, whole)]
    yield from release.intervals("local: cdf band", curve.y, stacked(curve.band), shares)
    exact = [np.quantile(each, P, method="inverted_cdf") for each in (sample, whole)]
    yield from release.intervals("local: three quantiles", found.x, clipped(found.intervals, grid), exact, wide)
    bins = curve.histogram(10)
    at = grid.nearest_edge(bins.x)
    parts = [np.diff(each[at]) for each in shares]
    yield from release.intervals("local: bins", bins.share, bins.intervals, parts)


def streams(release: Release) -> Iterator[Told]:
    """The count of a step, a total so far and a window of a stream of 24 time steps, for these records."""
    values, grid = population(release.case.data)
    parts = Grid(grid.lower, grid.upper, cells=2)
    cell = parts.cell_of(np.clip(values, grid.lower, grid.upper))
    draw = release.draw
    drawn = cell[draw.integers(SIZE, size=release.case.records)]
    counts = np.zeros((24, 2), dtype=np.int64)
    np.add.at(counts, (draw.integers(24, size=len(drawn)), drawn), 1)
    axes, loss = (Axis("x", parts),), PrivacyLoss.pure(release.case.epsilon)
    randomness = dp.Randomness.from_seed(3 * release.seed + 1)
    for question in (Counts(axes), Totals(axes, windows=(6,))):
        plan = STREAMS.plan(question.query, loss, release.adjacency)
        reader, state = question.reader(plan), STREAMS.begin(plan)
        for time_step, table in enumerate(counts, start=1):
            released, state = STREAMS.step(table, time_step, state, plan, randomness)
            reading = reader.read_next(released)
        name, exact = ("count of a step", counts[-1]) if isinstance(question, Counts) else ("total", counts.sum(axis=0))
        low, high = reading.interval(release.level)
        yield alone(f"stream: {name}", np.asarray(reading.counts)[0], low[0], high[0], exact[0])
        if isinstance(question, Totals):
            low, high = reading.window_interval(6, release.level)
            yield alone("stream: window", reading.windows[6][0], low[0], high[0], counts[-6:].sum(axis=0)[0])


def alone(name: str, *numbers: float) -> Told:
    """An interval for these records."""
    value, lower, upper, truth = (np.asarray(each, dtype=np.float64) for each in numbers)
    return Told(name, "records", value, lower, upper, truth)


FAMILIES: Mapping[str, Callable[[Release], Iterator[Told]]] = {
    "distribution": distribution,
    "moments": moments,
    "survival": survival,
    "survival-numbers": survival_numbers,
    "no-range": without_range,
    "judged": judged,
    "classes": classes,
    "learned": learned,
    "event-times": event_times,
    "scores": scores,
    "score-curves": score_curves,
    "groups": groups,
    "residuals": residuals,
    "tables": tables,
    "shares": shares_of_tables,
    "pairs": pairs,
    "categories": categories,
    "local": local,
    "streams": streams,
}

# Ends of intervals in one form, (..., 2), and exact statistics of records.


def stacked(band: Callable[..., Any]) -> Callable[..., FloatArray]:
    """Lower and upper ends beside each other."""
    return lambda level, *, population: np.stack(band(level, population=population), axis=-1)


def clipped(ends: Callable[..., Any], grid: Grid) -> Callable[..., FloatArray]:
    """Ends within the grid: an infinite one is an end of it."""
    return lambda level, *, population: np.clip(ends(level, population=population), grid.lower, grid.upper)


def boxed(band: Callable[..., Any]) -> Callable[..., FloatArray]:
    """Ends of false and then of true positive rates, (2 * points, 2)."""

    def ends(level: float, *, population: bool) -> FloatArray:
        found = band(level, population=population)
        return np.stack([np.ravel(found[0::2]), np.ravel(found[1::2])], axis=-1)

    return ends


def one_band(bands: Callable[..., Any], number: int, part: NDArray[np.bool_]) -> Callable[..., FloatArray]:
    """Take one of several bands, at some of its points."""
    return lambda level, *, population: np.stack(bands(level, population=population)[number], axis=-1)[part]


def flat_place(ends: Callable[..., Any], place: int) -> Callable[..., FloatArray]:
    """Take an interval of a table."""
    return lambda level, *, population: np.reshape(ends(level, population=population), (-1, 2))[place]


def at_place(ends: Callable[..., Any], place: int) -> Callable[..., FloatArray]:
    """Take one of several intervals."""
    return lambda level, *, population: np.asarray(ends(level, population=population))[place]


def of_reading(found: Any, reading: Metric) -> Callable[..., FloatArray]:
    """The interval of a number of scores."""
    return lambda level, *, population: np.asarray(found.interval(reading, level, population=population))


def below(values: FloatArray, grid: Grid) -> FloatArray:
    """Shares below the edges of a grid that clips what lies outside; of declared values, at or below each."""
    counted = np.bincount(grid.with_outside(Outside.CLIPPED).cell_of(values), minlength=grid.cells)
    return np.append(0.0, np.cumsum(counted) / len(values))


def mean_difference(values: FloatArray) -> float:
    """The mean distance of two different records."""
    ordered, size = np.sort(values), len(values)
    return float(2 * ((2 * np.arange(1, size + 1) - size - 1) @ ordered) / (size * (size - 1)))


def weights(score: FloatArray, label: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rising scores, and how many negatives and positives have each."""
    known, place = np.unique(score, return_inverse=True)
    return known, np.bincount(place, 1 - label), np.bincount(place, label)


def area(negative: FloatArray, positive: FloatArray) -> float:
    """The share of pairs that the positive wins, ties as one half."""
    lower = np.cumsum(negative) - negative / 2
    return float(positive @ lower / (positive.sum() * negative.sum()))


def precision(_: FloatArray, negative: FloatArray, positive: FloatArray) -> float:
    """The average precision: of each positive's threshold, how many at or above it are positive."""
    above, false = np.cumsum(positive[::-1]), np.cumsum(negative[::-1])
    return float((positive[::-1] / positive.sum()) @ (above / np.maximum(above + false, 1e-12)))


def gap(_: FloatArray, negative: FloatArray, positive: FloatArray) -> float:
    """The largest distance of the two distribution functions."""
    return float(np.abs(np.cumsum(negative) / negative.sum() - np.cumsum(positive) / positive.sum()).max())


def brier(score: FloatArray, negative: FloatArray, positive: FloatArray) -> float:
    """The mean squared distance of scores and labels."""
    return float((negative @ score**2 + positive @ (1 - score) ** 2) / (negative + positive).sum())


def log_loss(score: FloatArray, negative: FloatArray, positive: FloatArray) -> float:
    """The mean of minus the logarithm of the chance of the label that came true."""
    return float(-(negative @ np.log1p(-score) + positive @ np.log(score)) / (negative.sum() + positive.sum()))


def crossed(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> FloatArray:
    """Counts of both, (5, 4)."""
    return np.bincount(rows * 4 + columns, minlength=20).reshape(5, 4).astype(np.float64)


def tau_a(table: FloatArray) -> float:
    """Concordant less discordant pairs, over all."""
    size = table.sum()
    return float(2 * concordance(table) / (size * (size - 1)))


def tau_b(table: FloatArray) -> float:
    """Concordant less discordant pairs, over the geometric mean of the pairs that neither column ties; 0 if all do."""
    pairs = [table.sum() ** 2 - (table.sum(axis=axis) ** 2).sum() for axis in (0, 1)]
    return float(2 * concordance(table) / np.sqrt(pairs[0] * pairs[1])) if min(pairs) > 0 else 0.0


def concordance(table: FloatArray) -> float:
    """Concordant less discordant pairs."""
    later = table[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    alike = sum(table[i, j] * later[i + 1, j + 1] for i, j in product(range(4), range(3)))
    below_row = table[::-1].cumsum(axis=0)[::-1]
    unlike = sum(table[i, j] * below_row[i + 1, :j].sum() for i, j in product(range(4), range(1, 4)))
    return float(alike - unlike)


def kaplan_meier(time: FloatArray, event: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Times of events and the share that survives each, events before censoring at ties."""
    known, place = np.unique(time, return_inverse=True)
    died, left = np.bincount(place, event), np.bincount(place)
    at_risk = np.cumsum(left[::-1])[::-1]
    return known, np.cumprod(1 - died / at_risk)


def left_at(known: FloatArray, share: FloatArray, x: FloatArray, *, equal: bool) -> FloatArray:
    """The share that survives to the start of each x; past it where cells are values."""
    return np.append(1.0, share)[np.searchsorted(known, x, side="right" if equal else "left")]


def median_of(known: FloatArray, share: FloatArray) -> float:
    """The first time past which at most half survive."""
    passed = known[share <= 0.5]
    return float(passed[0]) if len(passed) else np.inf


# The table.


class Row(NamedTuple):
    """What came of all releases of a case, for one reading."""

    name: str
    whom: str
    case: Case
    held: int
    drawn: int
    ratio: float
    width: float


def told_by(names: tuple[str, ...], release: Release) -> list[Told]:
    """All intervals that one release of each family gives."""
    return [each for name in names for each in FAMILIES[name](release)]


def rows(found: Mapping[tuple[str, str], Sequence[Told]], case: Case, level: float) -> Iterator[Row]:
    """A row for each reading of a case."""
    for (name, whom), told in found.items():
        wide = float(np.mean([each.width for each in told]))
        if told[0].value.size == 1:
            missed = 2 * float(np.quantile([each.error for each in told], level))
            ratio = wide / missed if missed else np.inf
        else:
            most = float(np.quantile([each.in_half_widths for each in told], level))
            ratio = 1 / most if most else np.inf
        yield Row(name, whom, case, sum(each.holds for each in told), len(told), ratio, wide)


def measured(options: argparse.Namespace) -> Iterator[Row]:
    """All rows, case by case."""
    cases = [Case(*each, options.epsilon) for each in product(options.data, options.records)]
    names = tuple(options.family or FAMILIES)
    with ProcessPoolExecutor(options.workers) as pool:
        jobs = {
            case: [
                pool.submit(told_by, names, Release(case, options.level, options.first + seed))
                for seed in range(options.releases)
            ]
            for case in cases
        }
        waiting = track([job for each in jobs.values() for job in each], "releases", console=Console(stderr=True))
        for job in waiting:
            job.result()
        for case, own in jobs.items():
            found = defaultdict[tuple[str, str], list[Told]](list)
            for job in own:
                for each in job.result():
                    found[each.name, each.whom].append(each)
            yield from rows(found, case, options.level)


def with_kept(found: Sequence[Row], files: Sequence[Path]) -> list[Row]:
    """Add rows of earlier runs that were not measured now, in the order of the families."""
    kept = [row_of(each) for file in files for each in json.loads(file.read_text(encoding="utf-8"))]
    rows = {(row.name, row.whom, row.case): row for row in [*kept, *found]}
    return list(rows.values())


def row_of(plain: Mapping[str, Any]) -> Row:
    """Read a row that `--json` wrote."""
    return Row(**{**plain, "case": Case(**plain["case"])})


def printed(found: Sequence[Row], options: argparse.Namespace) -> Table:
    """A line for each reading, number of records and whom it is for; a column for each kind of data."""
    title = f"Held, and width over error: level {options.level}, epsilon {options.epsilon}, {options.releases} releases"
    table = Table("reading", "for", "records", *options.data, title=title)
    by_place = {(row.name, row.whom, row.case.records, row.case.data): row for row in found}
    for name, whom, records in dict.fromkeys((row.name, row.whom, row.case.records) for row in found):
        cells = (by_place.get((name, whom, records, data)) for data in options.data)
        table.add_row(name, whom, f"{records:,}", *(shown(row, options.level) for row in cells))
    return table


def shown(row: Row | None, level: float) -> str:
    """The share that held, with its mark, and the ratio."""
    if row is None:
        return ""
    share = Share(row.held, row.drawn)
    mark = "*" * share.is_below(level) + "+" * share.is_above(level)
    return f"{row.held / row.drawn:.2f}{mark}  {row.ratio:.2f}"


def page(found: Sequence[Row], options: argparse.Namespace, before: str = "") -> str:
    """Write the table as a page of the documentation; cells of the page before that were not measured now stay."""
    error = (options.level * (1 - options.level) / options.releases) ** 0.5
    lines = [PAGE.format(level=options.level, releases=options.releases, epsilon=options.epsilon, error=error)]
    tables = tables_of(before.partition("<!-- comparing readings -->")[0])
    for row in found:
        own = tables.setdefault(title(row), {}).setdefault(name_reading(row.name), [""] * len(DATA))
        own[DATA.index(row.case.data)] = shown(row, options.level).replace("  ", " / ")
    for head, table in tables.items():
        lines += [f"\n{head}\n", f"| reading | {' | '.join(DATA)} |", "|---|" + "---|" * len(DATA)]
        lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in table.items()]
    _, mark, compared = before.partition("<!-- comparing readings -->")  # written by `comparing_readings.py`
    return "\n".join(lines) + "\n" + ("\n" + mark + compared if mark else "")


def title(row: Row) -> str:
    """The title of the table of the page that has this row."""
    return f"## {row.case.records:,} records, for {'these records' if row.whom == 'records' else 'the population'}"


def tables_of(before: str) -> dict[str, dict[str, list[str]]]:
    """The cells of a page, by title and by reading."""
    found, head = dict[str, dict[str, list[str]]](), ""
    for line in before.splitlines():
        if line.startswith("## "):
            found[head := line] = {}
        elif head and line.startswith("| ") and not line.startswith("| reading |"):
            name, *cells = (each.strip() for each in line.strip("|").split(" | "))
            found[head][name] = [*cells, *[""] * (len(DATA) - len(cells))]
    return found


def main() -> None:
    """Measure, and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("family", nargs="*", metavar="READING", help=f"of {', '.join(FAMILIES)}; all unless said")
    options.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    options.add_argument("--records", nargs="+", type=int, default=RECORDS)
    options.add_argument("--epsilon", default="1")
    options.add_argument("--releases", type=int, default=40, help="of each case; 40 unless said")
    options.add_argument(
        "--first", type=int, default=0, help="the number of the first: others are drawn from another one"
    )
    options.add_argument("--level", type=float, default=0.9)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--json", type=Path, help="file for the numbers")
    options.add_argument("--kept", nargs="+", type=Path, default=[], help="numbers of earlier runs that stand beside")
    options.add_argument(
        "--page",
        type=Path,
        help="file for the page of the documentation: docs/intervals.md, of which cells that are not measured now stay",
    )
    asked = options.parse_args()
    for name in asked.family:
        if name not in FAMILIES:
            options.error(f"{name!r} is none of {', '.join(FAMILIES)}")
    found = with_kept(list(measured(asked)), asked.kept)
    Console(width=40 + 15 * len(asked.data)).print(printed(found, asked))
    if asked.page:
        before = asked.page.read_text(encoding="utf-8") if asked.page.exists() else ""
        asked.page.write_text(page(found, asked, before), encoding="utf-8")
    if asked.json:
        plain = [{**row._asdict(), "case": row.case._asdict()} for row in found]
        asked.json.write_text(json.dumps(plain, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
