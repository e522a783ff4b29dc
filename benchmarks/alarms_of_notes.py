"""How often does each note of a result appear on ordinary data of its question, and does it where it must?

`python benchmarks/comparing_readings.py notes` prints it. `note_sites` finds, in the source, every function that writes
or adds a note; `SITES` says of each which checks judge it, or why none is needed: it passes on notes of others, or it
states a public fact or a released number, and claims nothing is wrong. `tests/real_tables/test_comparing_intervals.py`
fails for a site that has no row here. Ordinary data have 300 to 30,000 records at epsilon 1: smooth, skewed, tied and
heaped values on a grid that holds them.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "curves"))

import test_straight_intervals as straight
from by_hand import answer, both

import dpcurves as dp
from dpcurves.curves import (
    CalibrationQuestion,
    CdfQuestion,
    HistogramQuestion,
    HosmerLemeshowQuestion,
    RocQuestion,
    ScoresQuestion,
)
from dpcurves.data import Categories, Grid
from dpcurves.histograms import CellEstimator
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import PrivacyLoss
from dpcurves_survival import SurvivalQuestion

FloatArray = NDArray[np.float64]
SOURCE = Path(__file__).resolve().parents[1] / "src"
NAMES = re.compile(r"_?notes?_on_|_?describe_(thresholds|\w+_price|\w+_categories)$")
MOST_ALARMS, LEAST_ALARMS = 0.01, 0.8
RECORDS = 300, 1_000, 3_000, 30_000
MANY = RECORDS[1:]
ADJACENCIES = dp.ADD_REMOVE, dp.REPLACE_ONE


def note_sites(source: Path = SOURCE) -> set[str]:
    """Find the functions that write notes, by their name, or add them to a privacy statement: "module:function"."""
    return {site for file in sorted(source.rglob("*.py")) for site in sites_of(file, file.relative_to(source))}


def sites_of(file: Path, name: Path) -> Iterator[str]:
    """The sites of one file."""
    module = ".".join(name.with_suffix("").parts)

    def visit(node: ast.AST, inside: tuple[str, ...]) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.FunctionDef | ast.ClassDef)
            within = (*inside, child.name) if isinstance(child, ast.FunctionDef | ast.ClassDef) else inside
            if (named and isinstance(child, ast.FunctionDef) and NAMES.match(child.name)) or adds_notes(child):
                yield f"{module}:{'.'.join(within)}"
            yield from visit(child, within)

    yield from visit(ast.parse(file.read_text(encoding="utf-8")), ())


def adds_notes(node: ast.AST) -> bool:
    """Tell whether a call adds notes to a statement, or makes a release with some."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "with_notes":
        return True
    given = [word.value for word in node.keywords if word.arg == "notes"]
    return any(not (isinstance(value, ast.Tuple) and not value.elts) for value in given)


class Check(NamedTuple):
    """Data on which a note may not appear, and data on which it must.

    Attributes:
        words: Words of the note.
        ordinary: The notes of a release of ordinary data, by its number.
        alarming: Those of a release that must have it.
    """

    words: str
    ordinary: Callable[[int], tuple[str, ...]]
    alarming: Callable[[int], tuple[str, ...]]


def notes_of(question: Any, columns: Mapping[str, Any], seed: int, epsilon: str = "1") -> tuple[str, ...]:
    """The notes of an answer; of several groups, those of all."""
    size = len(np.asarray(next(iter(columns.values()))))
    with warnings.catch_warnings(action="ignore"):
        found = answer(question, columns, PrivacyLoss.pure(epsilon), both(size)[seed % 2], seed)
    return tuple(found.notes)


def values_of(seed: int, records: tuple[int, ...] = RECORDS) -> FloatArray:
    """Values between 0 and 100, by turns normal, exponential, whole and heaped."""
    generator = np.random.default_rng([seed, 1])
    size = records[seed // 4 % len(records)]
    match seed % 4:
        case 0:
            values = generator.normal(50, 12, size)
        case 1:
            values = generator.exponential(14, size)
        case 2:
            values = np.floor(generator.gamma(4, 9, size))
        case _:
            values = np.where(
                generator.random(size) < 0.4, generator.normal(45, 15, size).round(-1), generator.normal(45, 15, size)
            )
    return np.asarray(np.clip(values, 0, 99.9))


ON_VALUES = Grid(0, 100, cells=50)
ON_SPLIT = Grid(0, 100, cells=200)


def labelled(seed: int, records: tuple[int, ...] = RECORDS) -> dict[str, FloatArray]:
    """Labels, about 40 % of them positive, and calibrated scores; by turns all of them, or rounded to tenths."""
    generator = np.random.default_rng([seed, 2])
    score = expit(generator.normal(-0.4, 1.2, records[seed // 2 % len(records)]))
    score = score.round(1).clip(0.05, 0.95) if seed % 2 else score
    return {"y": (generator.random(len(score)) < score).astype(np.float64), "s": score}


def timed(seed: int, records: tuple[int, ...] = RECORDS, *, whole: bool = True) -> dict[str, FloatArray]:
    """Times of a trial that has a fixed end at 10, with censoring before; by turns on whole months."""
    generator = np.random.default_rng([seed, 3])
    size = records[seed // 2 % len(records)]
    event, until = generator.exponential(9, size), generator.uniform(3, 14, size)
    until = np.minimum(until if seed % 2 else np.full(size, np.inf), 9.99)
    time = np.minimum(event, until)
    arm = generator.integers(0, 2, size)
    return {"t": np.floor(time) if whole else time, "e": (event <= until).astype(np.float64), "g": arm}


MONTHS = dp.Values(range(10))
BY_ARM = Categories("g", (0, 1))


def weighted(seed: int, *, share: float) -> tuple[str, ...]:
    """Notes of weighted shares, bars, means and survival; this share of the weights is infinite, negative or NaN."""
    generator = np.random.default_rng([seed, 10])
    columns = timed(seed, MANY)
    size = len(columns["t"])
    weights = generator.choice([0.0, 0.5, 1.0, 4.0, 9.0], size)  # one weight in five lies above the cap
    weights[generator.random(size) < share] = (np.inf, -1.0, np.nan)[seed % 3]
    questions: tuple[Any, ...] = (
        dp.WeightedCdfQuestion("t", Grid(0, 6, cells=32), "w", 4),
        dp.WeightedHistogramQuestion("t", Grid(0, 12, cells=8), "w", 4, by=BY_ARM),
        dp.WeightedSummaryQuestion("t", 0, 8, "w", 4),
        dp.WeightedSummaryQuestion("t", 0, 8, "w", 4, statistic="count"),
        dp.WeightedSurvivalQuestion("t", "e", MONTHS, "w", 4),
    )
    noise = Randomness.from_seed(seed)
    with (
        warnings.catch_warnings(action="ignore"),
        dp.Session(
            {**columns, "w": weights}, budget=PrivacyLoss.pure(1), adjacency=ADJACENCIES[seed % 2], randomness=noise
        ) as session,
    ):
        return tuple(session.ask(questions[seed % len(questions)], PrivacyLoss.pure(1)).notes)


def missing(seed: int, share: float) -> tuple[str, ...]:
    values = values_of(seed)
    gone = np.random.default_rng([seed, 4]).random(len(values)) < share
    return notes_of(CdfQuestion("x", ON_VALUES), {"x": np.where(gone, np.nan, values)}, seed)


def on_values(seed: int, kind: Any, factor: float, grid: Grid = ON_VALUES) -> tuple[str, ...]:
    return notes_of(kind("x", grid), {"x": values_of(seed) * factor}, seed)


def whole_values(seed: int, last: int) -> tuple[str, ...]:
    """Whole numbers on declared values that hold them all, or not."""
    values = np.floor(np.random.default_rng([seed, 5]).gamma(4, 5, RECORDS[seed % 4]))
    return notes_of(CdfQuestion("x", dp.Values(range(last))), {"x": np.minimum(values, 79)}, seed)


def in_few_cells(seed: int) -> tuple[str, ...]:
    return notes_of(CdfQuestion("x", Grid(0, 10_000, cells=1_000)), {"x": values_of(seed, (3_000, 30_000)) / 4}, seed)


def of_quartiles(column: str, grid: Grid) -> dp.QuantilesQuestion:
    return dp.QuantilesQuestion(column, grid, (0.25, 0.5, 0.75))


def listed_groups(seed: int, *, empty: bool) -> tuple[str, ...]:
    """Notes of a curve of each group that partition selection found; or one of the groups has no values."""
    values, generator = values_of(seed, (3_000, 30_000)), np.random.default_rng([seed, 10])
    names = np.array(["a", "b", "c"])[generator.integers(0, 3, len(values))]
    values = np.where(names == "c", np.nan, values) if empty else values
    loss, adjacency = PrivacyLoss.pure(1, "1e-6"), (dp.ADD_REMOVE, dp.REPLACE_ONE)[seed % 2]
    terms = {"budget": loss, "adjacency": adjacency, "randomness": dp.Randomness.from_seed(seed)}
    with warnings.catch_warnings(action="ignore"), dp.Session({"g": names, "x": values}, **terms) as session:
        return tuple(session.ask(CdfQuestion("x", ON_VALUES, by=dp.UnlistedCategories("g")), loss).privacy.notes)


BARS = dp.BarChartQuestion(Categories("g", range(5)))
TABLE = dp.ContingencyQuestion(Categories("g", range(5)), Categories("h", range(3)))


def by_categories(seed: int, question: Any, records: tuple[int, ...] = RECORDS, epsilon: str = "1") -> tuple[str, ...]:
    """Notes of counts by one column or two, whose categories hold from 5 to 50 % of the records."""
    generator = np.random.default_rng([seed, 11])
    size = records[seed // 2 % len(records)]
    first = generator.choice(5, size, p=(0.4, 0.3, 0.15, 0.1, 0.05))
    return notes_of(question, {"g": first, "h": generator.choice(3, size, p=(0.5, 0.3, 0.2))}, seed, epsilon)


def on_plane(seed: int, records: tuple[int, ...] = RECORDS, epsilon: str = "1") -> tuple[str, ...]:
    """Notes of counts of two columns, by turns of the default estimator and of one that counts each cell."""
    x, y = values_of(seed, records), np.random.default_rng([seed, 12])
    columns = {"x": x, "y": (x + y.normal(0, 20, len(x))).clip(0, 99.9)}
    estimator = CellEstimator() if seed // 2 % 2 else None
    grid = Grid(0, 100, cells=(10, 20)[seed // 4 % 2])
    return notes_of(dp.Histogram2DQuestion("x", "y", grid, grid, estimator=estimator), columns, seed, epsilon)


def scored(seed: int, change: Callable[[dict[str, FloatArray]], Mapping[str, Any]], kind: Any, **options: Any) -> Any:
    records = options.pop("records", RECORDS)
    epsilon = options.pop("epsilon", "1")
    return notes_of(kind("y", "s", **options), change(labelled(seed, records)), seed, epsilon)


def as_they_are(columns: dict[str, FloatArray]) -> dict[str, FloatArray]:
    return columns


def as_percent(columns: dict[str, FloatArray]) -> dict[str, FloatArray]:
    return {**columns, "s": columns["s"] * 100}


def with_other_labels(columns: dict[str, FloatArray]) -> dict[str, FloatArray]:
    return {**columns, "y": np.zeros(len(columns["y"]))}


def of_rare_events(columns: dict[str, FloatArray]) -> dict[str, FloatArray]:
    return {**columns, "s": columns["s"] / 50}


def lived(seed: int, records: tuple[int, ...] = RECORDS, epsilon: str = "1") -> tuple[str, ...]:
    return notes_of(SurvivalQuestion("t", "e", MONTHS), timed(seed, records), seed, epsilon)


def on_wide_cells(seed: int) -> tuple[str, ...]:
    """Exact times on two wide cells in which half are censored."""
    generator = np.random.default_rng([seed, 6])
    event, until = generator.exponential(6, 30_000), generator.uniform(0, 10, 30_000)
    columns = {"t": np.minimum(event, until), "e": (event <= until).astype(np.float64)}
    return notes_of(SurvivalQuestion("t", "e", Grid(0, 10, cells=2)), columns, seed)


def log_rank(seed: int, *, wide: bool) -> tuple[str, ...]:
    """Notes of a log-rank test on declared months, or on wide cells in which one arm alone is censored."""
    columns, grid = timed(seed), MONTHS
    if wide:
        generator = np.random.default_rng([seed, 7])
        event, arm = generator.exponential(6, 30_000), generator.integers(0, 2, 30_000)
        until = np.where(arm == 1, generator.uniform(0, 10, 30_000), 10.0)
        columns, grid = {"t": np.minimum(event, until), "e": (event <= until) * 1.0, "g": arm}, Grid(0, 10, cells=3)
    with warnings.catch_warnings(action="ignore"):
        size = len(columns["t"])
        question = SurvivalQuestion("t", "e", grid, by=BY_ARM)
        found = answer(question, columns, PrivacyLoss.pure(1), both(size)[seed % 2], seed)
        return dp.log_rank_test(found[0], found[1]).notes


def without_range(seed: int, records: tuple[int, ...], epsilon: str) -> tuple[str, ...]:
    return notes_of(dp.AutoRangeCdfQuestion("x"), {"x": values_of(seed, records)}, seed, epsilon)


def together(seed: int, *, moved: int) -> tuple[str, ...]:
    """Counts of parts and of the whole, made consistent; of two tables, where some records are in one alone."""
    generator = np.random.default_rng([seed, 8])
    arm = generator.integers(0, 2, RECORDS[seed % 4])
    parts = {"x": np.ones(len(arm)), "g": arm}
    whole = {"x": np.ones(len(arm) + moved)}
    questions = (dp.CountQuestion("x", by=BY_ARM), parts), (dp.CountQuestion("x"), whole)
    with warnings.catch_warnings(action="ignore"):
        results = [
            answer(question, columns, PrivacyLoss.pure(1), both(len(arm))[0], 2 * seed + turn)
            for turn, (question, columns) in enumerate(questions)
        ]
        other = replace(results[1], privacy=replace(results[1].privacy, grant="another"))
        return dp.make_consistent({"parts": results[0], "all": other}).notes


def residuals(seed: int, records: tuple[int, ...], epsilon: str) -> tuple[str, ...]:
    generator = np.random.default_rng([seed, 9])
    predicted = generator.normal(10, 3, records[seed % len(records)])
    columns = {"x": predicted, "r": generator.normal(0, 2, len(predicted))}
    question = dp.ResidualPlotQuestion("x", "r", 1, 1, "0.95", dp.PUBLIC_MODEL, cells=16)
    return notes_of(question, columns, seed, epsilon)


def entered(seed: int, *, swapped: bool) -> tuple[str, ...]:
    """Records that enter before half of their time, and before they leave; or with entries and exits swapped."""
    columns = timed(seed, MANY)
    entry = np.floor(columns["t"] / 2) - 1
    first, last = (columns["t"], entry) if swapped else (entry, columns["t"])
    question = dp.DelayedEntryQuestion("in", "out", "e", MONTHS)
    return notes_of(question, {"in": first, "out": last, "e": columns["e"]}, seed)


def looked(seed: int, *, swapped: bool) -> tuple[str, ...]:
    """Events between two looks, or looks that are swapped."""
    last = timed(seed, MANY)["t"].clip(0, 6)
    first = last + 2
    first, last = (last, first) if swapped else (first, last)
    return notes_of(dp.IntervalCensoredQuestion("last", "first", MONTHS), {"last": last, "first": first}, seed)


def on_straight_interval(seed: int) -> tuple[str, ...]:
    """The note on a release that counted 900 of 1,000 records in one interval of six cells.

    Whether a release of one full cell has such an interval is left to its noise.
    """
    return straight.notes_of(straight.evidence_of((0, 16, 22), (50, 900, 50)))


FEW = (20,)
VALUES = partial(on_values, kind=CdfQuestion, factor=1.0)
CHECKS: Mapping[str, Check] = {
    "missing records": Check("records are missing", partial(missing, share=0.0), partial(missing, share=0.3)),
    "records without a weight": Check(
        "are left out, because", partial(weighted, share=0.0), partial(weighted, share=0.2)
    ),
    "clipped values": Check("of the records lie in the", VALUES, partial(on_values, kind=CdfQuestion, factor=4.0)),
    "clipped values of a histogram": Check(
        "of the records lie in the", partial(on_values, kind=HistogramQuestion, factor=1.0),
        partial(on_values, kind=HistogramQuestion, factor=4.0),
    ),
    "clipped values between round numbers": Check(
        "of the records lie", partial(on_values, kind=of_quartiles, factor=1.0, grid=ON_SPLIT),
        partial(on_values, kind=of_quartiles, factor=4.0, grid=ON_SPLIT),
    ),
    "groups without counted records": Check(
        "of which about no record is counted", partial(listed_groups, empty=False), partial(listed_groups, empty=True)
    ),
    "values beyond the declared ones": Check(
        "of the records are read as", partial(whole_values, last=80), partial(whole_values, last=16)
    ),
    "few cells": Check("nearly all records lie in", VALUES, in_few_cells),
    "band of a distribution": Check(
        "wider than", partial(on_values, kind=CdfQuestion, factor=1.0),
        lambda seed: notes_of(CdfQuestion("x", ON_VALUES), {"x": values_of(seed, FEW)}, seed, "0.1"),
    ),
    "scores outside": Check(
        "of 's'", partial(scored, change=as_they_are, kind=ScoresQuestion),
        partial(scored, change=as_percent, kind=ScoresQuestion),
    ),
    "class without records": Check(
        "cannot be told from none", partial(scored, change=as_they_are, kind=RocQuestion),
        partial(scored, change=with_other_labels, kind=RocQuestion),
    ),
    "class of scores without records": Check(
        "may be noise alone: their rates", partial(scored, change=as_they_are, kind=ScoresQuestion),
        partial(scored, change=with_other_labels, kind=ScoresQuestion),
    ),
    "crowded scores": Check(
        "nearly all scores lie in", partial(scored, change=as_they_are, kind=ScoresQuestion),
        partial(scored, change=of_rare_events, kind=ScoresQuestion, records=(30_000,)),
    ),
    "band of a ROC curve": Check(
        "wider than", partial(scored, change=as_they_are, kind=RocQuestion),
        partial(scored, change=as_they_are, kind=RocQuestion, records=FEW, epsilon="0.1"),
    ),
    "intervals of a calibration": Check(
        "wider than", partial(scored, change=as_they_are, kind=CalibrationQuestion, records=MANY),
        partial(scored, change=as_they_are, kind=CalibrationQuestion, records=FEW, epsilon="0.1"),
    ),
    "groups that noise hides": Check(
        "noise hides the groups", partial(scored, change=as_they_are, kind=HosmerLemeshowQuestion, records=MANY),
        partial(scored, change=as_they_are, kind=HosmerLemeshowQuestion, records=FEW, epsilon="0.1"),
    ),
    "wide cells of time": Check("only because cells are wide", lived, on_wide_cells),
    "band of a survival curve": Check("wider than", lived, partial(lived, records=FEW, epsilon="0.1")),
    "log-rank test on wide cells": Check(
        "standard deviations off", partial(log_rank, wide=False), partial(log_rank, wide=True)
    ),
    "tables that contradict": Check("differ by more", partial(together, moved=0), partial(together, moved=200)),
    "few records for residuals": Check(
        "few records for so much noise", partial(residuals, records=(30_000,), epsilon="1"),
        partial(residuals, records=FEW, epsilon="0.1"),
    ),
    "exits before entries": Check(
        "count as missing", partial(entered, swapped=False), partial(entered, swapped=True)
    ),
    "swapped looks": Check("count as missing", partial(looked, swapped=False), partial(looked, swapped=True)),
    "straight interval": Check("were counted together", VALUES, on_straight_interval),
    "bars of noise alone": Check(
        "no category has more records", partial(by_categories, question=BARS),
        partial(by_categories, question=BARS, records=(8,), epsilon="0.1"),
    ),
    "table of noise alone": Check(
        "no category has more records", partial(by_categories, question=TABLE),
        partial(by_categories, question=TABLE, records=(8,), epsilon="0.1"),
    ),
    "plane of noise alone": Check(
        "no cells hold more records", on_plane, partial(on_plane, records=(8,), epsilon="0.1")
    ),
    "no range found": Check(
        "no range was significant", partial(without_range, records=RECORDS, epsilon="1"),
        partial(without_range, records=FEW, epsilon="0.01"),
    ),
}  # fmt: skip


PASSED = "passes on notes of others"
FACT = "states a public fact: its decision reads no record and no count"
TWO_SERVERS = "of counts of two servers alone, whose tasks count two times in any order"
NUMBER = "states a released number, or how it was found, whatever it is"
BOUNDS = "states that simultaneous bounds of released counts reach 0: `tests/feed/test_follow.py` holds both sides"
SITES: Mapping[str, str | tuple[str, ...]] = {
    "dpcurves.conversation.release:PrivacyStatement.with_notes": PASSED,
    "dpcurves.curves.bar_chart:BarChart.from_counts": ("bars of noise alone",),
    "dpcurves.curves.bounds:BoundsQuestion.steps": FACT,
    "dpcurves.curves.bounds:PlaneBoundsQuestion.steps": FACT,
    "dpcurves.curves.by_category:ByCategory.privacy": PASSED,
    "dpcurves.curves.calibration:Calibration.from_counts": ("intervals of a calibration",),
    "dpcurves.curves.calibration:HosmerLemeshow.from_counts": PASSED,
    "dpcurves.curves.calibration:_notes_on_hidden_groups": ("groups that noise hides",),
    "dpcurves.curves.cdf:CdfHistogram.from_prefixes": FACT,
    "dpcurves.curves.cdf:CDF._notes_on_noise": ("band of a distribution",),
    "dpcurves.curves.cdf:CDF.from_prefixes": PASSED,
    "dpcurves.curves.cdf:CDF.smooth": FACT,
    "dpcurves.curves.class_table:notes_on_classes": ("class of scores without records",),
    "dpcurves.curves.class_table:notes_on_crowding": ("crowded scores",),
    "dpcurves.curves.class_table:notes_on_found_values": NUMBER,
    "dpcurves.curves.column_drift:Drift._plot_at_level": FACT,
    "dpcurves.curves.column_drift:Drift.privacy": FACT,
    "dpcurves.curves.consistency:ConsistentTotals.privacy": ("tables that contradict",),
    "dpcurves.curves.contingency:Contingency.from_counts": ("table of noise alone",),
    "dpcurves.curves.external_counts:from_counts": FACT,
    "dpcurves.curves.adaptive_histogram:AutoRangeHistogramQuestion.steps": PASSED,
    "dpcurves.curves.adaptive_histogram:_note_on_bounds": NUMBER,
    "dpcurves.curves.adaptive_histogram:_note_on_cells": NUMBER,
    "dpcurves.curves.histogram:Histogram.from_counts": ("clipped values of a histogram",),
    "dpcurves.curves.histogram:Histogram2DQuestion.steps": FACT,
    "dpcurves.curves.quantile_quantile:QuantileQuantile.privacy": PASSED,
    "dpcurves.curves.question:build_privacy_statement": PASSED,
    "dpcurves.curves.residuals:BinnedResiduals.from_counts": PASSED,
    "dpcurves.curves.residuals:BinnedResidualsQuestion.steps": PASSED,
    "dpcurves.curves.residuals:ResidualPlot.from_counts": ("few records for residuals",),
    "dpcurves.curves.result:IntervalResult._plot_at_level": FACT,
    "dpcurves.curves.result:ReleasedResult.render_html": PASSED,
    "dpcurves.curves.result:_notes_on_end_values": ("values beyond the declared ones",),
    "dpcurves.curves.class_curves:Confusion.from_counts": NUMBER,
    "dpcurves.curves.scores:Scores.calibration": NUMBER,
    "dpcurves.strategies.choice:describe_uncounted_categories": ("groups without counted records",),
    "dpcurves_judging.model_pairs:_describe_thresholds": FACT,
    "dpcurves_judging.rates_by_group:GroupRates.privacy": NUMBER,
    "dpcurves_judging.rates_by_group:CurvesByGroup._describe_release": FACT,
    "dpcurves.curves.result:_notes_on_split_cells": ("clipped values between round numbers",),
    "dpcurves.curves.result:_notes_on_few_cells": ("few cells",),
    "dpcurves.curves.result:notes_on_classes": ("class without records",),
    "dpcurves.curves.result:notes_on_dependence": FACT,
    "dpcurves.curves.result:notes_on_end_cells": ("clipped values", "clipped values of a histogram"),
    "dpcurves.curves.result:notes_on_missing": ("missing records",),
    "dpcurves.curves.result:notes_on_order": ("exits before entries", "swapped looks"),
    "dpcurves.curves.outside:notes_on_missing_weights": ("records without a weight",),
    "dpcurves.curves.outside:note_on_outside": ("scores outside",),
    "dpcurves.curves.outside:note_on_order": TWO_SERVERS,
    "dpcurves.curves.outside:notes_on_outside": ("scores outside",),
    "dpcurves.curves.histogram:notes_on_plane": ("plane of noise alone",),
    "dpcurves.curves.result:notes_on_crowded_ends": ("clipped values",),
    "dpcurves.curves.result:notes_on_reasons": NUMBER,
    "dpcurves_streams.feed.follow:FollowedStream._read_steps": PASSED,
    "dpcurves_survival.variants:IntervalCensoredQuestion.steps": PASSED,
    "dpcurves_survival.variants:notes_on_swapped_columns": TWO_SERVERS,
    "dpcurves.curves.result:notes_on_width": (
        "band of a distribution", "band of a ROC curve", "intervals of a calibration", "band of a survival curve",
    ),
    "dpcurves.curves.roc:ROC.notes_on_noise": ("band of a ROC curve",),
    "dpcurves.curves.roc:RocQuestion._build_roc": PASSED,
    "dpcurves.curves.roc:SmoothAuc.from_counts": FACT,
    "dpcurves.curves.score_groups:GroupQuestion._ask_result": PASSED,
    "dpcurves.curves.scores:Scores.from_counts": PASSED,
    "dpcurves.curves.scores:notes_on_joint_price": FACT,
    "dpcurves.curves.straight_intervals:note_on_straight_interval": ("straight interval",),
    "dpcurves.curves.summary:_BoundedQuestion.ask_along": PASSED,
    "dpcurves.curves.summary:_ask_summary": PASSED,
    "dpcurves.curves.automatic_range:add_empty_range_note": ("no range found",),
    "dpcurves.curves.automatic_range:note_on_pilot_queries": FACT,
    "dpcurves.curves.automatic_range:note_on_range": ("no range found",),
    "dpcurves.curves.automatic_range:build_cdf_with_range_note": PASSED,
    "dpcurves.curves.verification:Verification.from_counts": NUMBER,
    "dpcurves.curves.contingency:_PairCounts.estimate_tau": PASSED,
    "dpcurves.curves.pair_mean:_build_u_statistic": PASSED,
    "dpcurves.curves.result:ReleasedResult._repr_html_": PASSED,
    "dpcurves.curves.u_statistic:_MeasuredCells.estimate_statistic": PASSED,
    "dpcurves.curves.u_statistic:area_between": PASSED,
    "dpcurves.curves.u_statistic:renyi2_entropy": PASSED,
    "dpcurves.curves.weighted:WeightedHistogram.from_cells": ("clipped values of a histogram",),
    "dpcurves.curves.weighted:ask_weighted_shares": PASSED,
    "dpcurves.curves.weighted:ask_weighted_shares.build_weighted_result": PASSED,
    "dpcurves.curves.weighted_range:_note_on_bounds": ("no range found",),
    "dpcurves.curves.weighted_range:_note_on_cells": ("no range found",),
    "dpcurves_local.second_round:estimate_area": PASSED,
    "dpcurves_parties.pairs.readings:pair_statistic": NUMBER,
    "dpcurves_streams.feed.follow:_Stream.privacy": FACT,
    "dpcurves_streams.feed.reading:plot": BOUNDS,
    "dpcurves.curves.weighted:note_on_weights": NUMBER,
    "dpcurves.curves.weighted_summary:WeightedSummary.from_weighted_counts": PASSED,
    "dpcurves.curves.weighted_summary:ask_between": PASSED,
    "dpcurves.display.curve_json:parse_curve": PASSED,
    "dpcurves.display.scores:draw_decision": NUMBER,
    "dpcurves.session:ask_with_contribution_bound.reply_with_bound": NUMBER,
    "dpcurves.session:ask_with_partition_selection.reply_with_notes": NUMBER,
    "dpcurves.strategies.choice:describe_found_categories": NUMBER,
    "dpcurves.strategies.choice:describe_category_price": FACT,
    "dpcurves.strategies.contribution_bounds:describe_bound_price": FACT,
    "dpcurves_judging.model_pairs:ModelPairQuestion.steps": FACT,
    "dpcurves_judging.model_comparison:ModelComparisonQuestion.steps": FACT,
    "dpcurves_judging.pairwise_scorer:PairwiseScorerQuestion.steps": PASSED,
    "dpcurves_local.second_round:SecondRound._add_losses": FACT,
    "dpcurves_local.task:Task.compute_curve": FACT,
    "dpcurves_sites.remote:RemoteFederation.ask.reply": FACT,
    "dpcurves_survival.competing_risks:CompetingRisks.from_counts": PASSED,
    "dpcurves_survival.kaplan_meier:Survival._add_notes": ("band of a survival curve",),
    "dpcurves_survival.kaplan_meier:notes_on_log_rank_bias": ("log-rank test on wide cells",),
    "dpcurves_survival.kaplan_meier:notes_on_wide_cells": ("wide cells of time",),
    "dpcurves_survival.survival_models:SurvivalModelQuestion.steps": PASSED,
    "dpcurves_survival.variants:IntervalCensoredSurvival.from_counts": PASSED,
    "dpcurves_survival.variants:WeightedSurvivalQuestion.steps": PASSED,
}  # fmt: skip
"""Each function of `note_sites`, and the checks that judge its notes, or why there are none."""


class Alarms(NamedTuple):
    """How often a note appeared, of so many releases of each kind of data."""

    name: str
    ordinary: int
    alarming: int
    releases: int
    alarming_releases: int

    @property
    def verdict(self) -> str:
        """Pass; or false: more than 1 % of ordinary data, by two standard errors; or silent: not where it must."""
        most = MOST_ALARMS + 2 * sqrt(MOST_ALARMS * (1 - MOST_ALARMS) / self.releases)
        if self.ordinary / self.releases > most:
            return "false"
        return "silent" if self.alarming < LEAST_ALARMS * self.alarming_releases else "pass"


def count_alarms(name: str, releases: int, alarming_releases: int) -> Alarms:
    """Count a note on ordinary data, and on data that must have it."""
    check = CHECKS[name]
    counts = [
        sum(any(check.words in note for note in notes(seed)) for seed in range(many))
        for notes, many in ((check.ordinary, releases), (check.alarming, alarming_releases))
    ]
    return Alarms(name, *counts, releases, alarming_releases)
