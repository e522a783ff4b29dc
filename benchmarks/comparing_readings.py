"""Do intervals hold, and tests keep their level, where there is something to compare?

`python benchmarks/comparing_readings.py [FAMILY ...] [notes] [--quick] [--releases N] [--workers N] [--json FILE]
[--page FILE]`

The design is fixed: 40 settings, ten for each of 300, 1,000, 3,000 and 30,000 records. Eight of the ten cross the
effect (0.4 or 2.5), the first arm (20 % or 50 % of the records) and the follow-up (to the end of the grid, or to two
thirds of it), half of them with declared values and half with the same values, tied, on a grid of numbers; which half
is the other one at the next number of records. The last two have smooth values on narrow cells. The effect is the
hazard ratio of survival times, the factor between two distributions, and the factor between slopes, or odds, of two
models' labels. Values that have no follow-up end where it does, and are clipped at the end of the grid where it has
none.

Every reading that compares two groups, models, windows or treatments is judged in every setting: how often its interval
held for these records and for the population, its standard error, and its median width over twice the quantile of the
error at its level. Tests are judged by how often they accept two groups that are alike, at a level of one minus that of
the intervals, and by how often they accept those of the setting, beside the exact test of the records. A row fails if
its share lies below 0.86 or, where the width exceeds 1.3 times the error, above 0.95, by more than two standard errors.
Of 40 releases none is above 0.95 by so much: the settings of each kind of values are judged together, too.
Where values lie anywhere inside cells, events and censored records may come in any order, so widths exceed that.

`notes` prints how often each note of a result appears on ordinary data of its question, and on data that must have it;
see `alarms_of_notes.py`. `--quick` draws five releases of each setting: at most 20 minutes of one core, so ten of two
idle ones. `--json` stores each setting when it is measured. The stored table stands in `comparing_readings.json`, each
row with its commit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from itertools import chain, islice, product
from math import log, nan, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.special import expit, ndtr
from scipy.stats import ks_2samp, mannwhitneyu
from threadpoolctl import threadpool_limits

sys.path += [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "tests" / "curves")]

from alarms_of_notes import CHECKS, Alarms, count_alarms
from by_hand import answer, both
from reading_names import name_reading

import dpcurves as dp
from dpcurves.curves import CdfQuestion, Comparison, Metric, RocQuestion, ScoresQuestion
from dpcurves.data import Categories, Grid
from dpcurves.privacy import PrivacyLoss
from dpcurves_survival import SurvivalQuestion

FloatArray = NDArray[np.float64]
HERE = Path(__file__).resolve().parent
STORED = HERE / "comparing_readings.json"
SIZE = 40_000  # records of a population, from which samples are drawn with replacement
LEVEL, EPSILON = 0.9, "1"
RELEASES, QUICK_RELEASES = 40, 5
NOTED, QUICK_NOTED, ALARMING = 400, 80, 20  # releases of ordinary data, and of data that must have a note
LEAST_HELD, MOST_HELD, MOST_WIDTH = 0.86, 0.95, 1.3
RECORDS = 300, 1_000, 3_000, 30_000
EFFECTS, ARMS = (0.4, 2.5), (0.2, 0.5)
TO_THE_END, INSIDE = "to the end", "inside"
DECLARED, TIED, SMOOTH = "declared", "tied", "smooth"
WHOM = "records", "population"
END = 10  # of the grid of times and of values
CLOSE = 1e-9  # relative; an interval that ends this near the truth holds it


class Setting(NamedTuple):
    """One of the 40 settings.

    Attributes:
        records: The number of records.
        effect: The hazard ratio or other factor of the second arm.
        first_arm: The share of the first arm.
        follow_up: Whether records are observed to the end of the grid.
        values: Declared, tied on a grid, or smooth.
    """

    records: int
    effect: float
    first_arm: float
    follow_up: str
    values: str

    def __str__(self) -> str:
        arms = f"{self.first_arm * 100:.0f}/{100 - self.first_arm * 100:.0f}"
        return f"{self.records:,}, {self.effect:g}, {arms}, {self.follow_up}, {self.values}"

    @property
    def grid(self) -> Grid:
        """Cells of time, or of values."""
        if self.values == DECLARED:
            return dp.Values(range(END))
        return Grid(0, END, cells=END if self.values == TIED else 4 * END)

    def round_values(self, values: FloatArray) -> FloatArray:
        """Whole numbers, unless values are smooth."""
        return values if self.values == SMOOTH else np.floor(values)


def design() -> tuple[Setting, ...]:
    """The 40 settings."""
    settings = list[Setting]()
    for turn, records in enumerate(RECORDS):
        for one, (effect, arm, follow_up) in enumerate(product(EFFECTS, ARMS, (TO_THE_END, INSIDE))):
            odd = (turn + one + one // 2 + one // 4) % 2
            settings.append(Setting(records, effect, arm, follow_up, TIED if odd else DECLARED))
        settings.append(Setting(records, 0.4, 0.2, INSIDE, SMOOTH))
        settings.append(Setting(records, 2.5, 0.5, TO_THE_END, SMOOTH))
    return tuple(settings)


class Reading(NamedTuple):
    """An interval, or the p-value of a test, as one release gives it.

    Attributes:
        name: The reading.
        whom: For these records, or for the population; of a test: alike, or different, groups; or not known.
        value: The estimate, or the p-value; or 1 where a release gives no number.
        lower, upper: The endpoints; 0 and 1 of a test.
        truth: What they are to hold; or the p-value of the exact test; or 1 where no number is known without noise.
    """

    name: str
    whom: str
    value: FloatArray
    lower: FloatArray
    upper: FloatArray
    truth: FloatArray

    @property
    def holds(self) -> bool:
        """Tell whether all endpoints hold; or a test does not reject, for it accepts or has no p-value; or no number is
        known."""
        if self.whom == UNKNOWN:
            return bool(self.value)
        if self.whom in TESTED:
            return not self.value <= 1 - LEVEL
        slack = np.where(np.isfinite(self.truth), CLOSE * np.maximum(1.0, np.abs(self.truth)), 0.0)
        return bool(np.all((self.lower <= self.truth + slack) & (self.truth <= self.upper + slack)))


ALIKE, DIFFERENT = "alike", "different"
TESTED = ALIKE, DIFFERENT
UNKNOWN = "not known"  # counts the releases without a number, which the other rows of the reading leave out


class Release(NamedTuple):
    """A setting and a number from which everything is drawn."""

    setting: Setting
    seed: int

    def generator(self, *numbers: int) -> np.random.Generator:
        """Random numbers that no other setting and no other release has."""
        return np.random.default_rng([self.seed, design().index(self.setting), *numbers])

    def sample(self, people: Mapping[str, FloatArray], skip: int = 0) -> dict[str, FloatArray]:
        """Columns of a sample of the population; another one for another `skip`."""
        rows = self.generator(0, skip).integers(len(next(iter(people.values()))), size=self.setting.records)
        return {name: column[rows] for name, column in people.items()}

    def answer(self, question: Any, columns: Mapping[str, ArrayLike], skip: int = 0) -> Any:
        """The answer of a session, under the adjacency that alternates."""
        size = len(np.asarray(next(iter(columns.values()))))
        seed = self.noise_seed(skip)
        with warnings.catch_warnings(action="ignore"):
            return answer(question, columns, PrivacyLoss.pure(EPSILON), both(size)[self.seed % 2], seed)

    def sample_alike(self, people: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """A sample whose arms are drawn by lot: both are of one population, however many records there are."""
        columns = self.sample(people, 1)
        return {**columns, "arm": self.generator(2).permutation(columns["arm"])}

    def noise_seed(self, skip: int = 0) -> int:
        """A seed of the noise of an answer."""
        return int(self.generator(1, skip).integers(2**31))

    def interval(
        self,
        name: str,
        value: ArrayLike,
        ends: Callable[..., Any],
        truths: tuple[ArrayLike, ArrayLike],
        scale: Callable[[Any], Any] = np.asarray,
    ) -> Iterator[Reading]:
        """Intervals of a method, for these records and for the population."""
        for whom, truth in zip(WHOM, truths, strict=True):
            endpoints = np.asarray(ends(LEVEL, population=whom == "population"), dtype=np.float64)
            with np.errstate(all="ignore"):
                columns = [scale(np.asarray(column)) for column in (value, endpoints[..., 0], endpoints[..., 1], truth)]
            yield Reading(name, whom, *columns)


def noiseless(question: Any, columns: Mapping[str, ArrayLike]) -> Any:
    """The answer under next to no noise."""
    size = len(np.asarray(next(iter(columns.values()))))
    with warnings.catch_warnings(action="ignore"):
        return answer(question, columns, PrivacyLoss.pure(10**9), both(size)[1], 0)


# Two arms of a trial.


@lru_cache
def people_of_a_trial(setting: Setting, effect: float) -> dict[str, FloatArray]:
    """Times, events of two causes, arms, weights and entries of a population; all settings share its random numbers."""
    generator = np.random.default_rng(2026)
    arm = (generator.random(SIZE) >= setting.first_arm).astype(np.float64)
    hazard = np.where(arm == 1, effect, 1.0)
    event_at = 7.5 * (generator.exponential(size=SIZE) / hazard) ** (1 / 1.2)
    other_at = 14.0 * generator.exponential(size=SIZE)
    last = END if setting.follow_up == TO_THE_END else END * 2 / 3
    until = generator.uniform(0.15 * last, last, SIZE)  # so that few are at risk in the end
    time = setting.round_values(np.minimum(event_at, until))
    first = np.minimum(np.minimum(event_at, other_at), until)
    cause = np.where(first == event_at, 1, np.where(first == other_at, 2, 0))
    return {
        "t": time, "e": (event_at <= until).astype(np.float64), "arm": arm, "w": 1.0 + generator.integers(0, 2, SIZE),
        "first": setting.round_values(first), "cause": cause.astype(np.float64),
        "entry": setting.round_values(np.minimum(event_at, until) * 0.5 * generator.random(SIZE)),
    }  # fmt: skip


BY_ARM = Categories("arm", (0, 1))
AT, UNTIL = 4.0, 6.0


def survival(release: Release) -> Iterator[Reading]:
    """Differences of means, shares and medians, numbers needed, the hazard ratio and the log-rank test."""
    setting = release.setting
    people = people_of_a_trial(setting, setting.effect)
    sample = release.sample(people)
    arms = release.answer(SurvivalQuestion("t", "e", setting.grid, by=BY_ARM), sample)
    exact = exact_of_trial(sample, setting), exact_of_population(setting)
    for name, read in (
        ("difference of restricted means", dp.restricted_mean_difference(arms[1], arms[0], UNTIL)),
        ("difference of shares", dp.survival_difference(arms[1], arms[0], AT)),
        ("number needed to treat", dp.number_needed_to_treat(arms[1], arms[0], AT)),
    ):
        yield from release.interval(f"survival: {name}", read.value, read.interval, tuple(one[name] for one in exact))
    medians = tuple(one["difference of medians"] for one in exact)
    if not np.isnan(medians).any():
        apart = dp.median_difference(arms[1], arms[0])
        yield from release.interval("survival: difference of medians", apart.value, apart.interval, medians)
    ratio = dp.hazard_ratio(arms[1], arms[0])
    ratios = exact[0]["hazard ratio"], exact[1]["hazard ratio"]
    yield from release.interval("survival: hazard ratio", ratio.value, ratio.interval, ratios, np.log)
    alike = release.sample_alike(people_of_a_trial(setting, 1.0))
    null = release.answer(SurvivalQuestion("t", "e", setting.grid, by=BY_ARM), alike, 1)
    with warnings.catch_warnings(action="ignore"):
        for whom, (one, two), columns in ((ALIKE, null.values(), alike), (DIFFERENT, arms.values(), sample)):
            yield test("survival: log-rank test", whom, dp.log_rank_test(one, two).p_value, log_rank_p(columns))


def test(name: str, whom: str, pvalue: float, exact: float) -> Reading:
    """A test of one release, beside that of the records."""
    return Reading(name, whom, *(np.asarray(number) for number in (pvalue, 0.0, 1.0, exact)))


def late_entry(release: Release) -> Iterator[Reading]:
    """Two arms that come under observation later: differences of shares from the beginning, and the hazard ratio."""
    setting = release.setting
    question = dp.DelayedEntryQuestion("entry", "t", "e", setting.grid, by=BY_ARM)
    sample = release.sample(people_of_a_trial(setting, setting.effect))
    curves = release.answer(question, sample), noiseless(question, sample), noiseless_late_entry(setting, question)
    yield from of_two_curves(release, "late entry", [tuple(found.values()) for found in curves])


def noiseless_late_entry(setting: Setting, question: Any) -> Any:
    """The answer of the population."""
    return noiseless_of_population(question, setting._replace(records=0), people_of_a_trial)


def weighted(release: Release) -> Iterator[Reading]:
    """Two releases of weighted records, one of each arm."""
    setting = release.setting
    sample = release.sample(people_of_a_trial(setting, setting.effect))
    private = [weighted_curve(sample, setting, arm, EPSILON, release.noise_seed(2 + arm)) for arm in (0, 1)]
    exact = [weighted_curve(sample, setting, arm, "100000", 1) for arm in (0, 1)]
    yield from of_two_curves(release, "weighted", [private, exact, weighted_population(setting._replace(records=0))])


@lru_cache
def weighted_population(setting: Setting) -> Any:
    """The curves of the population."""
    people = people_of_a_trial(setting, setting.effect)
    return [weighted_curve(people, setting, arm, "100000", 1) for arm in (0, 1)]


def weighted_curve(columns: Mapping[str, FloatArray], setting: Setting, arm: int, epsilon: str, seed: int) -> Any:
    """The weighted curve of an arm."""
    rows = columns["arm"] == arm
    time, event, weight = (columns[name][rows] for name in ("t", "e", "w"))
    paid: Any = {"epsilon": epsilon, "adjacency": dp.REPLACE_ONE, "randomness": dp.Randomness.from_seed(seed)}
    with warnings.catch_warnings(action="ignore"):
        return dp.survival(time, event, grid=setting.grid, weight=weight, weight_cap=2.0, **paid)


@lru_cache(maxsize=256)  # those of a population are the same for all its releases
def point_of(read: Callable[[Any, Any], Any], one: Any, two: Any) -> float:
    """A reading of two curves without noise: its estimate alone, without the interval that decides what is known."""
    return float(read(one, two).point)


def share_of_two(one: Any, two: Any) -> Any:
    """The difference of shares, second minus first."""
    return dp.survival_difference(two, one, AT)


def ratio_of_two(one: Any, two: Any) -> Any:
    """The hazard ratio, second over first."""
    return dp.hazard_ratio(two, one)


def incidence_of_two(one: Any, two: Any) -> Any:
    """The difference of incidences of cause 1, second minus first."""
    return two.incidence_difference(one, 1, UNTIL)


def cause_ratio_of_two(one: Any, two: Any) -> Any:
    """The hazard ratio of cause 1, second over first."""
    return two.hazard_ratio(one, 1)


def of_two_curves(release: Release, word: str, curves: Any) -> Iterator[Reading]:
    """Readings of two curves; truths are those of the same question without noise."""
    for name, read, scale in (
        ("difference of shares", share_of_two, np.asarray),
        ("hazard ratio", ratio_of_two, np.log),
    ):
        estimate, exact = read(*curves[0]), (point_of(read, *curves[1]), point_of(read, *curves[2]))
        yield from release.interval(f"{word}: {name}", estimate.value, estimate.interval, exact, scale)


@lru_cache
def noiseless_of_population(question: Any, setting: Setting, draw: Callable[[Setting, float], Any]) -> Any:
    """The answer of a population of people."""
    return noiseless(question, draw(setting, setting.effect))


def competing(release: Release) -> Iterator[Reading]:
    """Differences of incidences, and the hazard ratio of one cause."""
    setting = release.setting
    question = dp.CompetingRisksQuestion("first", "cause", setting.grid, (1, 2), by=BY_ARM)
    sample = release.sample(people_of_a_trial(setting, setting.effect))
    arms, exact = release.answer(question, sample), noiseless(question, sample)
    whole = noiseless_of_population(question, setting._replace(records=0), people_of_a_trial)
    for name, read, scale in (
        ("difference of incidences", incidence_of_two, np.asarray), ("hazard ratio", cause_ratio_of_two, np.log),
    ):  # fmt: skip
        estimate = read(arms[0], arms[1])
        truths = point_of(read, exact[0], exact[1]), point_of(read, whole[0], whole[1])
        yield from release.interval(f"competing risks: {name}", estimate.value, estimate.interval, truths, scale)


@lru_cache
def _population_of_trial(setting: Setting) -> dict[str, float]:
    return exact_of_trial(people_of_a_trial(setting, setting.effect), setting)


def exact_of_population(setting: Setting) -> dict[str, float]:
    """Return the exact numbers of the population that a setting is drawn from."""
    return _population_of_trial(setting._replace(records=0))


def exact_of_trial(columns: Mapping[str, FloatArray], setting: Setting) -> dict[str, float]:
    """Numbers of exact times: events before censoring at ties, and events tied as Breslow has it."""
    curves = [
        kaplan_meier(columns["t"][rows], columns["e"][rows]) for rows in (columns["arm"] == 1, columns["arm"] == 0)
    ]
    side = "right" if setting.values == DECLARED else "left"
    shares = [np.append(1.0, left)[np.searchsorted(times, AT, side=side)] for times, left in curves]
    means = [restricted_mean(*curve) for curve in curves]
    apart = float(shares[0] - shares[1])
    return {
        "difference of restricted means": means[0] - means[1], "difference of shares": apart,
        "number needed to treat": 1 / apart if apart else nan, "hazard ratio": hazard_ratio(columns),
        "difference of medians": difference_of_medians(*curves),
    }  # fmt: skip


def kaplan_meier(time: FloatArray, event: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Times and the share that survives each, events before censoring at ties."""
    times, place = np.unique(time, return_inverse=True)
    events, gone = np.bincount(place, event), np.bincount(place)
    at_risk = np.cumsum(gone[::-1])[::-1]
    return times, np.cumprod(1 - events / at_risk)


def restricted_mean(times: FloatArray, left: FloatArray) -> float:
    """The mean of the earlier of the time of an event and `UNTIL`."""
    came = -np.diff(np.append(1.0, left))[times < UNTIL]
    return float((came * times[times < UNTIL]).sum() + UNTIL * (1 - came.sum()))


def difference_of_medians(one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]) -> float:
    """The first median minus the second, infinite if one curve does not reach one half; NaN if neither does."""
    first, second = (float(times[left <= 0.5].min(initial=np.inf)) for times, left in (one, other))
    return nan if np.isinf(first) and np.isinf(second) else first - second


def risk_tables(columns: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Events, and records at risk, of both arms at each time: each (2, times)."""
    times, place = np.unique(columns["t"], return_inverse=True)
    events, gone = np.zeros((2, len(times))), np.zeros((2, len(times)))
    for arm in (0, 1):
        rows = columns["arm"] == arm
        events[arm] = np.bincount(place[rows], columns["e"][rows], minlength=len(times))
        gone[arm] = np.bincount(place[rows], minlength=len(times))
    return events, np.cumsum(gone[:, ::-1], axis=1)[:, ::-1]


def hazard_ratio(columns: Mapping[str, FloatArray]) -> float:
    """The hazard of the second arm over that of the first, by Cox's partial likelihood with Breslow's ties."""
    events, at_risk = risk_tables(columns)
    low, high = -8.0, 8.0
    for _ in range(50):
        middle = (low + high) / 2
        share = at_risk[1] * np.exp(middle) / (at_risk[1] * np.exp(middle) + at_risk[0])
        more = events[1].sum() > (events.sum(axis=0) * share).sum()
        low, high = (middle, high) if more else (low, middle)
    return float(np.exp((low + high) / 2))


def log_rank_p(columns: Mapping[str, FloatArray]) -> float:
    """The p-value of the log-rank test of exact times."""
    events, at_risk = risk_tables(columns)
    whole, died = at_risk.sum(axis=0), events.sum(axis=0)
    share = at_risk[1] / whole
    scatter = died * share * (1 - share) * (whole - died) / np.maximum(whole - 1, 1)
    return float(2 * ndtr(-abs((events[1] - died * share).sum()) / sqrt(max(scatter.sum(), CLOSE))))


# Two distributions of one column.


@lru_cache
def people_with_values(setting: Setting, effect: float) -> dict[str, FloatArray]:
    """Values of two groups: those of the second are the effect times as large, to the power of one half."""
    generator = np.random.default_rng(2027)
    arm = (generator.random(SIZE) >= setting.first_arm).astype(np.float64)
    values = 2.2 * generator.gamma(3.0, 0.5, SIZE) * np.where(arm == 1, effect**0.5, 1.0)
    last = END if setting.follow_up == TO_THE_END else END * 2 / 3
    return {"x": setting.round_values(np.minimum(values, last - 0.01)), "arm": arm}


P = (0.25, 0.5, 0.75)


def distributions(release: Release) -> Iterator[Reading]:
    """Quantiles of two groups, their differences, the chance that a value of one is larger, two tests, and drift."""
    setting = release.setting
    people = people_with_values(setting, setting.effect)
    sample = release.sample(people)
    question = CdfQuestion("x", setting.grid, by=BY_ARM)
    arms = release.answer(question, sample)
    pairs = groups_of(sample), groups_of(people)
    larger = dp.area_between(arms[0], arms[1])
    truths = tuple(chance_of_larger(*pair) for pair in pairs)
    yield from release.interval("two columns: chance that one is larger", larger.value, larger.interval, truths)
    plot = arms[0].quantile_quantile(arms[1], P)
    quantiles = tuple(np.stack([quantile_of(one, P) for one in pair]) for pair in pairs)
    yield from release.interval(
        "two columns: quantiles, at once", np.stack([plot.x, plot.y]), plot.intervals, quantiles
    )
    for p, name in zip(P, ("lower quartiles", "medians", "upper quartiles"), strict=True):
        apart = arms[0].quantile_difference(arms[1], p, LEVEL)
        truths = tuple(float(np.subtract(*(quantile_of(one, p) for one in pair))) for pair in pairs)
        yield from release.interval(f"two columns: difference of {name}", apart.value, apart_of(arms, p), truths)
    alike = release.sample_alike(people_with_values(setting, 1.0))
    null = release.answer(question, alike, 1)
    for whom, found, columns in ((ALIKE, null, alike), (DIFFERENT, arms, sample)):
        one, two = groups_of(columns)
        yield test(
            "two columns: Kolmogorov-Smirnov", whom, dp.ks_test(*found.values()).p_value, ks_2samp(one, two).pvalue
        )
        exact = mannwhitneyu(one, two).pvalue
        yield test("two columns: rank sum", whom, dp.rank_sum_test(*found.values()).p_value, exact)
        shifts = dp.drift(found[0], {"now": found[1]}, false_alarm_rate=1 - LEVEL).statistics
        for statistic in ("psi", "ks", "wasserstein", "auc"):
            alarm = shifts["now", statistic].alarm
            yield test(f"drift: {statistic}", whom, 0.0 if alarm else 1.0, exact)


def quantile_of(values: FloatArray, p: ArrayLike) -> FloatArray:
    """The least value at or below which a share `p` of the values lies."""
    return np.asarray(np.quantile(values, p, method="inverted_cdf"))


def apart_of(arms: Any, p: float) -> Callable[..., tuple[float, float]]:
    """The interval of the quantile of the first group minus that of the second."""
    return lambda level, *, population: arms[0].quantile_difference(arms[1], p, level, population=population)[1:3]


def groups_of(columns: Mapping[str, FloatArray], name: str = "x") -> tuple[FloatArray, FloatArray]:
    """Values of both arms."""
    return columns[name][columns["arm"] == 0], columns[name][columns["arm"] == 1]


def chance_of_larger(first: FloatArray, second: FloatArray) -> float:
    """The share of pairs in which the second is larger, ties as one half."""
    ordered = np.sort(first)
    return float(sum(np.searchsorted(ordered, second, side=side).mean() for side in ("left", "right")) / 2 / len(first))


# Two groups, two models, two treatments.


@lru_cache
def people_with_scores(setting: Setting) -> dict[str, FloatArray]:
    """Scores of two models, labels, groups, treatments and outcomes."""
    generator = np.random.default_rng(2028)
    arm = (generator.random(SIZE) >= setting.first_arm).astype(np.float64)
    latent = generator.normal(size=SIZE)
    slope = 1.5 * np.where(arm == 1, setting.effect**0.5, 1.0)
    label = (generator.random(SIZE) < expit(slope * latent - 0.4)).astype(np.float64)
    last = 1.0 if setting.follow_up == TO_THE_END else 2 / 3
    blurred = latent + generator.normal(0, 1.2 * setting.effect**0.5, SIZE)
    scores = [np.clip(last * expit(1.6 * one), 0, 0.999) for one in (latent, blurred)]
    if setting.values != SMOOTH:
        scores = [np.floor(10 * one) / 10 + 0.05 for one in scores]
    treated = (generator.random(SIZE) >= setting.first_arm).astype(np.float64)
    gain = np.where(treated == 1, log(setting.effect) * scores[0], 0.0)
    outcome = (generator.random(SIZE) < expit(-0.5 + gain)).astype(np.float64)
    return {"y": label, "s": scores[0], "z": scores[1], "arm": arm, "treated_value": treated, "outcome": outcome}


TENTHS = tuple(np.arange(5, 100, 10) / 100)


def grid_of_scores(setting: Setting) -> Grid:
    """Ten declared scores, tenths, or fortieths."""
    if setting.values == DECLARED:
        return dp.Values(TENTHS)
    return Grid(0, 1, cells=10 if setting.values == TIED else 40)


def groups(release: Release) -> Iterator[Reading]:
    """Differences of numbers of two groups, and of rates at a threshold; a private area beside a public one."""
    setting = release.setting
    question = ScoresQuestion("y", "s", grid_of_scores(setting), by=BY_ARM)
    sample = release.sample(people_with_scores(setting))
    private, exact = release.answer(question, sample), noiseless(question, sample)
    whole = noiseless_of_scores(setting._replace(records=0), question)
    for number in ("auc", "average-precision", "ks", "brier"):
        truths = tuple(metric_of(found[0], number) - metric_of(found[1], number) for found in (exact, whole))
        ends = pair_of(private, number)
        value = private[0].value(number) - private[1].value(number)
        yield from release.interval(f"two groups: {number} difference", value, ends, truths)
    rates = dp.group_rates(private)
    for rate in ("flagged", "recall", "precision"):
        first, second = rates.values_of(rate)
        truths = tuple(rate_of(found[0], rate) - rate_of(found[1], rate) for found in (exact, whole))
        yield from release.interval(f"two groups: gap of {rate}", first - second, gap_of(rates, rate), truths)


@lru_cache(maxsize=256)  # those of a population are the same for all its releases
def metric_of(scores: Any, number: str) -> float:
    """A metric of exact counts: its estimate alone, without the interval that decides what is known."""
    (metric,) = (metric for metric in Metric if metric.key == number)
    return float(metric.value.compute(scores.table, scores.table.counts.likely_counts))


@lru_cache(maxsize=256)
def rate_of(scores: Any, rate: str) -> float:
    """A rate of exact counts at a threshold of one half, without the interval that decides what is known."""
    (_, false_positives), (false_negatives, true_positives) = matrix = scores.confusion(0.5).matrix
    flagged = false_positives + true_positives
    return float({
        "flagged": flagged / matrix.sum(), "recall": true_positives / (true_positives + false_negatives),
        "precision": true_positives / flagged,
    }[rate])  # fmt: skip


def pair_of(found: Any, number: str) -> Callable[..., tuple[float, float]]:
    """The interval of a difference of two groups."""

    def ends(level: float, *, population: bool) -> tuple[float, float]:
        apart = found.difference(number, 0, 1, level, population=population)
        return apart.lower, apart.upper

    return ends


def gap_of(found: Any, rate: str) -> Callable[..., tuple[float, float]]:
    """The interval of the gap of two groups; of any size where one is not known."""

    def ends(level: float, *, population: bool) -> tuple[float, float]:
        gaps = list(found.gaps(rate, level, population=population).values())
        return (gaps[0].lower, gaps[0].upper) if gaps else (-1.0, 1.0)

    return ends


@lru_cache
def noiseless_of_scores(setting: Setting, question: Any) -> Any:
    return noiseless(question, people_with_scores(setting))


def models(release: Release) -> Iterator[Reading]:
    """Differences of two models of the same labels, counted together or one after the other."""
    setting, grid = release.setting, grid_of_scores(release.setting)
    sample, whole_setting = release.sample(people_with_scores(setting)), setting._replace(records=0)
    question = dp.ModelPairQuestion("y", "s", "z", grid, cells=None if setting.values == DECLARED else 8)
    private, exact = release.answer(question, sample), noiseless(question, sample)
    whole = noiseless_of_scores(whole_setting, question)
    for number in ("auc difference", "average precision difference", "brier score difference"):
        truths = number_of(exact, number), number_of(whole, number)
        yield from release.interval(f"two models: {number}", private.value(number), name_of(private, number), truths)
    questions = [ScoresQuestion("y", score, grid) for score in ("s", "z")]
    apart = [release.answer(question, sample, 4 + place) for place, question in enumerate(questions)]
    exacts = [
        [noiseless(one, sample) for one in questions],
        [noiseless_of_scores(whole_setting, one) for one in questions],
    ]

    def ends(level: float, *, population: bool) -> tuple[float, float]:
        return dp.metric_difference(*apart, "auc", level, population=population)[1:3]

    value = apart[0].value("auc") - apart[1].value("auc")
    truths = tuple(metric_of(one, "auc") - metric_of(two, "auc") for one, two in exacts)
    yield from release.interval("two models, two releases: auc difference", value, ends, truths)
    roc = RocQuestion("y", "s", grid if setting.values == DECLARED else Grid(0, 1, cells=128))
    rows = sample["arm"] == 0
    one = release.answer(roc, {"y": sample["y"][rows], "s": sample["s"][rows]}, 6)
    other = noiseless(roc, {"y": sample["y"][~rows], "s": sample["s"][~rows]})
    whole = people_with_scores(whole_setting)
    truth = area_of(whole, whole["arm"] == 0) - area_of(whole, whole["arm"] == 1)
    found = Comparison.from_curves(one, other)
    if found.value is not None and found.interval is not None:
        center, half = found.value, NORMAL_RATIO  # the printed interval has the level 0.95
        ends_ = center + (np.asarray(found.interval) - center) * half
        numbers = (np.asarray(number) for number in (center, *ends_, truth))
        yield Reading("private beside public: auc difference", "population", *numbers)


def number_of(found: Any, number: str) -> float:
    """A number of exact counts: its estimate alone, without the interval that decides what is known."""
    return float(found._estimate_value(found._find_statistic(number)))


NORMAL_RATIO = 1.6448536 / 1.9599640  # of half widths at levels 0.9 and 0.95


def area_of(columns: Mapping[str, FloatArray], rows: NDArray[np.bool_]) -> float:
    """The area under the ROC curve of some records."""
    score, label = columns["s"][rows], columns["y"][rows]
    return chance_of_larger(score[label == 0], score[label == 1])


def several(release: Release) -> Iterator[Reading]:
    """The log-rank test of three groups, and Gray's test."""
    setting = release.setting
    alike, people = (people_of_a_trial(setting, effect) for effect in (1.0, setting.effect))
    samples = {ALIKE: release.sample_alike(alike), DIFFERENT: release.sample(people)}
    lots = release.generator(3).integers(2, size=setting.records)  # the first arm falls into two groups by lot
    curves = SurvivalQuestion("t", "e", setting.grid, by=dp.Categories("arm", (0, 1, 2)))
    risks = dp.CompetingRisksQuestion("first", "cause", setting.grid, (1, 2), by=BY_ARM)
    with warnings.catch_warnings(action="ignore"):
        for place, (whom, columns) in enumerate(samples.items()):
            in_three = {**columns, "arm": np.where((columns["arm"] == 0) & (lots == 1), 2, columns["arm"])}
            for name, question, of, read in (
                ("log-rank test of three groups", curves, in_three, pvalue_of_groups),
                ("Gray's test", risks, columns, pvalue_of_gray),
            ):
                found = read(release.answer(question, of, 8 + place)), read(noiseless(question, of))
                yield test(f"several: {name}", whom, *found)


def pvalue_of_groups(found: Any) -> float:
    """The p-value of the log-rank test of all groups."""
    return float(dp.multivariate_log_rank_test(list(found.values())).p_value)


def pvalue_of_gray(found: Any) -> float:
    """The p-value of Gray's test of the first cause."""
    return float(dp.gray_test(list(found.values()), 1).p_value)


def models_at_once(release: Release) -> Iterator[Reading]:
    """All differences of areas of three models; whether one of them is not known."""
    setting = release.setting
    columns = mix_models(release.sample(people_with_scores(setting)), release.generator(3))
    cells = None if setting.values == DECLARED else 8  # fixed, so that the truths are of the same cells
    question = dp.ModelComparisonQuestion("y", ("s", "z", "v"), grid_of_scores(setting), cells)
    private, exact = release.answer(question, columns, 10), noiseless(question, columns)
    signs = [private._find_difference(*pair) for pair in PAIRS]
    known = exact, noiseless_mixed_models(setting._replace(records=0), question)
    truths = [np.array([sign * number_of(found, name) for name, sign in signs]) for found in known]
    values = np.array([private.difference(*pair) for pair in PAIRS])
    is_unknown, never_known = (np.asarray(np.isnan(numbers).any()) for numbers in (values, truths[0]))
    yield Reading(AREAS_AT_ONCE, UNKNOWN, is_unknown, np.zeros(()), np.ones(()), never_known)
    if not is_unknown:
        yield from release.interval(AREAS_AT_ONCE, values, pairs_of(private), (truths[0], truths[1]))


AREAS_AT_ONCE = "three models: auc differences, at once"
PAIRS = ("s", "z"), ("s", "v"), ("z", "v")


def mix_models(columns: Mapping[str, FloatArray], generator: np.random.Generator) -> dict[str, FloatArray]:
    """Add the scores of a third model, each of which is that of one of the other two, drawn by lot."""
    lots = generator.integers(2, size=len(columns["s"]))
    return {**columns, "v": np.where(lots == 1, columns["s"], columns["z"])}


@lru_cache
def noiseless_mixed_models(setting: Setting, question: Any) -> Any:
    """The answer of the population, whose third model is mixed too."""
    return noiseless(question, mix_models(people_with_scores(setting), np.random.default_rng(2029)))


def pairs_of(found: Any) -> Callable[..., FloatArray]:
    """The intervals of the differences of all pairs of models, which hold at once."""
    return lambda level, *, population: np.array(
        [found.difference_interval(*pair, level, population=population) for pair in PAIRS]
    )


def uplift(release: Release) -> Iterator[Reading]:
    """The areas of the uplift and Qini curves, and the effect of the treatment."""
    setting = release.setting
    question = dp.UpliftQuestion("outcome", "treated_value", "s", grid_of_scores(setting))
    sample = release.sample(people_with_scores(setting))
    private, exact = release.answer(question, sample), noiseless(question, sample)
    whole = noiseless_of_scores(setting._replace(records=0), question)
    for number in ("uplift area", "qini area", "effect of treatment"):
        truths = number_of(exact, number), number_of(whole, number)
        yield from release.interval(f"uplift: {number}", private.value(number), name_of(private, number), truths)


def name_of(found: Any, number: str) -> Callable[..., FloatArray]:
    """The interval of a number of this name."""
    return lambda level, *, population: np.asarray(found.interval(number, level, population=population))


FAMILIES: Mapping[str, Callable[[Release], Iterator[Reading]]] = {
    "survival": survival, "late-entry": late_entry, "weighted": weighted, "competing-risks": competing,
    "distributions": distributions, "groups": groups, "models": models, "uplift": uplift,
    "several": several, "models-at-once": models_at_once,
}  # fmt: skip


# The table.


class Row(NamedTuple):
    """What came of all releases of a setting, for one reading.

    Attributes:
        name, whom: The reading.
        setting: Where; `pool` puts a number of records, or "all", in its place.
        held, drawn: Intervals that held, of all; or tests that accepted; or releases without a number.
        ratio: The median width over twice the quantile of the error; of a test how often the exact one accepts; of
            what is not known how often it is not known without noise.
        bias: The median error over half the median width.
    """

    name: str
    whom: str
    setting: Any
    held: int
    drawn: int
    ratio: float
    bias: float

    @property
    def share(self) -> float:
        return self.held / self.drawn

    @property
    def error(self) -> float:
        """The standard error of the share, no smaller than that of the level of the interval."""
        share = min(max(self.share, 1 - MOST_HELD), MOST_HELD)
        return sqrt(share * (1 - share) / self.drawn)

    @property
    def verdict(self) -> str:
        """Pass, low or wide; of tests of different groups, and of what is not known, nothing is asked."""
        if self.whom in (DIFFERENT, UNKNOWN):
            return ""
        if self.share < LEAST_HELD - 2 * sqrt(LEAST_HELD * (1 - LEAST_HELD) / self.drawn):
            return "low"
        above = self.share > MOST_HELD + 2 * sqrt(MOST_HELD * (1 - MOST_HELD) / self.drawn)
        return "wide" if above and self.whom in WHOM and not self.ratio <= MOST_WIDTH else "pass"


def row_of(readings: list[Reading], setting: Any) -> Row:
    """Sum up all releases of a setting."""
    first = readings[0]
    held = sum(reading.holds for reading in readings)
    if first.whom == UNKNOWN:
        exact = float(np.mean([reading.truth for reading in readings]))
        return Row(first.name, first.whom, setting, held, len(readings), exact, 0.0)
    if first.whom in TESTED:
        return Row(first.name, first.whom, setting, held, len(readings), share_of_exact(readings), 0.0)
    off = np.stack([np.ravel(reading.value - reading.truth) for reading in readings])
    width = np.stack([np.ravel(reading.upper - reading.lower) for reading in readings])
    largest = np.where(np.isfinite(off), np.abs(off), width).max(axis=1)
    with np.errstate(invalid="ignore"):  # between two infinite widths NumPy subtracts them
        wide, error = float(np.median(width)), 2 * float(np.quantile(largest, LEVEL))
    known = off[np.isfinite(off)]
    bias = float(np.median(known)) / (wide / 2) if len(known) and 0 < wide < np.inf else nan
    if any(np.isinf(reading.truth).any() for reading in readings):  # only an interval without end holds such a truth
        return Row(first.name, first.whom, setting, held, len(readings), 1.0, bias)
    exact = 1.0 if wide == 0 else np.inf  # where nothing erred: a width of zero is the ideal one
    return Row(first.name, first.whom, setting, held, len(readings), wide / error if error > 0 else exact, bias)


def share_of_exact(readings: list[Reading]) -> float:
    """How often the exact test accepts at the same level."""
    return float(np.mean([not reading.truth <= 1 - LEVEL for reading in readings]))


def read_release(families: tuple[str, ...], release: Release) -> list[Reading]:
    """All readings of one release of each family."""
    return [reading for name in families for reading in FAMILIES[name](release)]


def measure(
    families: tuple[str, ...], settings: tuple[Setting, ...], releases: int, workers: int, first: int = 0
) -> Iterator[list[Row]]:
    """The rows of each setting, one for each reading, as soon as they are measured."""
    with ProcessPoolExecutor(workers, initializer=threadpool_limits, initargs=(1, "blas")) as pool:
        jobs = [Release(setting, first + seed) for setting in settings for seed in range(releases)]
        answers = [pool.submit(read_release, families, job) for job in jobs]
        found = (answer.result() for answer in track(answers, "releases", console=Console(stderr=True)))
        for setting in settings:
            of_setting = defaultdict[tuple[str, str], list[Reading]](list)
            for reading in chain.from_iterable(islice(found, releases)):
                of_setting[reading.name, reading.whom].append(reading)
            yield [row_of(readings, setting) for readings in of_setting.values()]


def pool(rows: list[Row]) -> list[Row]:
    """Rows by reading and number of records, and of all settings: shares add up, ratios are the median ones."""
    groups = defaultdict[tuple[str, str, str], list[Row]](list)
    for row in rows:
        for key in (f"{row.setting.records:,}", ALL):
            groups[row.name, row.whom, key].append(row)
    return [sum_up(group, key) for (_, _, key), group in groups.items()]


def sum_up(group: list[Row], setting: Any) -> Row:
    """One row of all releases of several settings of a reading; its bias is that of settings where one is known."""
    biases = [row.bias for row in group if not np.isnan(row.bias)]
    return Row(
        group[0].name, group[0].whom, setting, sum(row.held for row in group), sum(row.drawn for row in group),
        float(np.median([row.ratio for row in group])), float(np.median(biases)) if biases else nan,
    )  # fmt: skip


def list_wide_values(rows: list[Row]) -> str:
    """The kinds of values whose settings together are wide, for one reading.

    No share of 40 releases is above 0.95 by more than two standard errors, so no setting is wide alone.
    """
    of_values = {kind: [row for row in rows if row.setting.values == kind] for kind in (DECLARED, TIED, SMOOTH)}
    return ", ".join(kind for kind, group in of_values.items() if group and sum_up(group, kind).verdict == "wide")


ALL = "all"


def show(row: Row) -> str:
    """Share, standard error, ratio and verdict."""
    return f"{row.share:.2f} ± {row.error:.2f}  {row.ratio:.2f}  {row.verdict}"


def print_tables(rows: list[Row], console: Console) -> None:
    """All settings, then all settings of a number of records together."""
    each = Table(
        "reading", "for", "setting", "held", "width / error", "bias / half", "", title="Settings that do not pass"
    )
    for row in rows:
        if row.verdict not in ("", "pass"):
            held = f"{row.share:.2f} ± {row.error:.2f}"
            each.add_row(row.name, row.whom, str(row.setting), held, f"{row.ratio:.2f}", f"{row.bias:.2f}", row.verdict)
    console.print(each)
    pooled = pool(rows)
    columns = [f"{records:,}" for records in RECORDS] + [ALL]
    table = Table(
        "reading",
        "for",
        *columns,
        "settings that are low",
        "wide",
        title="Held, width over error, by number of records",
    )
    for name, whom in dict.fromkeys((row.name, row.whom) for row in rows):
        cells = {row.setting: show(row) for row in pooled if (row.name, row.whom) == (name, whom)}
        of_reading = [row for row in rows if (row.name, row.whom) == (name, whom)]
        words = f"{sum(row.verdict == 'low' for row in of_reading)} of {len(of_reading)}", list_wide_values(of_reading)
        table.add_row(name, whom, *(cells.get(column, "") for column in columns), *words)
    console.print(table)


def measure_notes(releases: int, workers: int) -> list[Alarms]:
    """How often each note appears."""
    with ProcessPoolExecutor(workers) as pool:
        jobs = [pool.submit(count_alarms, name, releases, ALARMING) for name in CHECKS]
        return [job.result() for job in track(jobs, "notes", console=Console(stderr=True))]


def print_notes(alarms: list[Alarms], console: Console) -> None:
    """A line for each note."""
    table = Table("note", "on ordinary data", "where it must", "", title="How often each note appears")
    for row in alarms:
        ordinary, alarming = f"{row.ordinary} of {row.releases}", f"{row.alarming} of {row.alarming_releases}"
        table.add_row(row.name, ordinary, alarming, row.verdict)
    console.print(table)


BEGIN, FINISH = "<!-- comparing readings -->", "<!-- end of comparing readings -->"


def to_page(stored: Mapping[str, Any], before: str) -> str:
    """The page of the documentation with the tables of a stored run in the place of those before."""
    rows = [Row(**{**without_commit(row), "setting": Setting(*row["setting"])}) for row in stored["rows"]]
    partly_known = {row.name for row in rows if row.whom == UNKNOWN}  # their other rows have the known releases alone
    drawn = sorted({row.drawn for row in rows if row.whom == UNKNOWN or row.name not in partly_known})
    commits = sorted({row["commit"] for row in stored["rows"]})
    releases = f"{drawn[0]} to {drawn[-1]}" if len(drawn) > 1 else str(drawn[0])
    pooled, columns = pool(rows), [f"{records:,}" for records in RECORDS]
    measured = {name: len({row.setting for row in rows if row.name == name}) for name in {row.name for row in rows}}
    partly = [f"{name_reading(name)}: {number}" for name, number in sorted(measured.items()) if number < len(design())]
    settings = f"40 settings ({'; '.join(partly)})" if partly else "40 settings"
    lines = [
        BEGIN, "", "## Readings that compare", "",
        f"`python benchmarks/comparing_readings.py` at level {LEVEL}, epsilon {EPSILON}: {releases} releases "
        f"of each of {settings}, commit {', '.join(commits)}. Effects are 0.4 and 2.5, arms 20/80 and 50/50, "
        "follow-up ends inside the grid and at its end, values are declared, tied and smooth. Each cell: share that "
        "held / width over error; of tests the share that does not reject at 0.1 / that of the exact test; of what is "
        "not known the share of releases without a number, which the reading's other rows leave out / that without "
        "noise. The last columns count settings that are low, and name the values whose settings together are wide: "
        "shares below 0.86, and above 0.95 where the width exceeds 1.3 times the error, by more than two standard "
        "errors. Where values are not declared, the order of events inside cells is open: that is wide.",
        "", f"| reading | for | {' | '.join(columns)} | low | wide |", "|---|---|" + "---|" * (len(columns) + 2),
    ]  # fmt: skip
    for name, whom in dict.fromkeys((row.name, row.whom) for row in rows):
        of_reading = [row for row in rows if (row.name, row.whom) == (name, whom)]
        cells = {
            row.setting: f"{row.share:.2f} / {row.ratio:.2f}" for row in pooled if (row.name, row.whom) == (name, whom)
        }
        failed = str(sum(row.verdict == "low" for row in of_reading)), list_wide_values(of_reading)
        shown = [name_reading(name), whom, *(cells.get(column, "") for column in columns), *failed]
        lines.append(f"| {' | '.join(shown)} |")
    lines += [
        "", "How often each note appears on ordinary data of its question, 300 to 30,000 records at epsilon 1, and on "
        "data that must have it:", "", "| note | on ordinary data | where it must |", "|---|---|---|",
    ]  # fmt: skip
    for plain in stored["notes"]:
        row = Alarms(**without_commit(plain))
        ordinary, alarming = f"{row.ordinary} of {row.releases}", f"{row.alarming} of {row.alarming_releases}"
        lines.append(f"| {row.name} | {ordinary} | {alarming} |")
    lines += ["", FINISH, ""]
    head, _, rest = before.partition(BEGIN)
    return head.rstrip("\n") + "\n\n" + "\n".join(lines) + rest.partition(FINISH)[2].lstrip("\n")


def commit() -> str:
    """The commit of the tree, with a plus where files differ from it."""
    git = ["git", "-C", str(HERE)]
    name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    changed = subprocess.run(
        [*git, "status", "--porcelain", "--", "../src"], capture_output=True, text=True, check=False
    )
    return name.strip() + ("+" if changed.stdout.strip() else "")


def measure_all(asked: argparse.Namespace, settings: tuple[Setting, ...]) -> None:
    """Measure what was asked for, print it, and put it in the place of what a file had of it."""
    families = tuple(name for name in FAMILIES if name in (asked.family or FAMILIES))
    releases, noted = (QUICK_RELEASES, QUICK_NOTED) if asked.quick else (asked.releases, NOTED)
    rows, console = list[Row](), Console(width=200)
    for family in families:
        for of_setting in measure((family,), settings, releases, asked.workers, asked.first):
            rows += of_setting
            store(asked.json, rows=of_setting)
    if rows:
        print_tables(rows, console)
    alarms = measure_notes(noted, asked.workers) if not asked.family or NOTES in asked.family else []
    if alarms:
        print_notes(alarms, console)
        store(asked.json, alarms=alarms)


def store(file: Path | None, rows: Sequence[Row] = (), alarms: Sequence[Alarms] = ()) -> None:
    """Put rows and alarms, with the commit, in the place of those that the file had of these readings and settings."""
    if file is None:
        return
    stored = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"rows": [], "notes": []}
    measured = {(row.name, row.whom, row.setting) for row in rows}
    others = [row for row in stored["rows"] if (row["name"], row["whom"], Setting(*row["setting"])) not in measured]
    plain = {
        "rows": [*others, *({**row._asdict(), "commit": commit()} for row in rows)],
        "notes": [{**row._asdict(), "commit": commit()} for row in alarms] or stored["notes"],
    }
    file.write_text(json.dumps(plain) + "\n", encoding="utf-8")


def without_commit(plain: Mapping[str, Any]) -> dict[str, Any]:
    """A stored row without its commit."""
    return {name: value for name, value in plain.items() if name != "commit"}


NOTES = "notes"


def main() -> None:
    """Measure, and print the tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("family", nargs="*", metavar="FAMILY", help=f"of {', '.join(FAMILIES)}; all unless said")
    options.add_argument("--quick", action="store_true", help=f"{QUICK_RELEASES} releases of each setting")
    options.add_argument("--releases", type=int, default=RELEASES, help=f"of each setting; {RELEASES} unless said")
    options.add_argument("--records", nargs="+", type=int, default=RECORDS, help="settings of these numbers of records")
    options.add_argument("--values", nargs="+", default=[DECLARED, TIED, SMOOTH], help="settings of these values")
    options.add_argument("--only", default="", help="settings whose name, as tables print it, contains this text")
    options.add_argument("--first", type=int, default=0, help="the number of the first release")
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--json", type=Path, help="file for the rows; those of other families in it stay")
    options.add_argument("--page", type=Path, help="docs/intervals.md: writes the tables of the stored rows there")
    asked = options.parse_args()
    for name in asked.family:
        if name not in (*FAMILIES, NOTES):
            options.error(f"{name!r} is none of {', '.join(FAMILIES)}, {NOTES}")
    settings = tuple(
        setting for setting in design()
        if setting.records in asked.records and setting.values in asked.values and asked.only in str(setting)
    )  # fmt: skip
    if not asked.page or asked.json:
        measure_all(asked, settings)
    if asked.page:
        stored = json.loads((asked.json or STORED).read_text(encoding="utf-8"))
        asked.page.write_text(to_page(stored, asked.page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
