"""How numbers of the `Tuning` classes matter: each field halved and doubled, with the change of the result.

A row has the field, its value, the case with its number, this number, and the ratios of the numbers with half and with
twice the value; 1.00 means that the field does not matter in the case. All three use the same seeds, so a ratio shows
the field rather than chance. Numbers are means over releases of synthetic records: the mean absolute error of a curve,
a quantile, an area or a mean, the mean width of a band or an interval, a p-value, or a number of notes. Numbers in
tuples are scaled together; whole numbers stay whole. "fails" means that the estimator needs a number in a range.

``python benchmarks/tuning.py [--quick] [--only WORD]``: `--only` selects modules whose name contains a word,
``--quick`` makes 2 releases of each case instead of 20. The rows of ``--quick`` are in `benchmarks/tuning.md`.
`tests/benchmarks/test_tuned_modules.py` requires a case for every module.
"""

from __future__ import annotations

import argparse
import functools
import gc
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import dpcurves as dp
from dpcurves.forecasts.compared_groups import forecast_larger_value
from dpcurves.forecasts.rehearsals import histogram_half_width, rehearse_answers

Numbers = dict[str, float]
Case = Callable[[int], Numbers]
FloatArray = np.ndarray[Any, np.dtype[np.float64]]
SOURCE = Path(dp.__file__).parents[1]


def draw_records(seed: int, records: int = 3000) -> FloatArray:
    """Return skewed values between 0 and 100, of which a tenth are zero, as counts and amounts are."""
    generator = np.random.default_rng(seed)
    values = np.minimum(generator.gamma(2.0, 10.0, records), 100.0)
    return np.where(generator.random(records) < 0.1, 0.0, values)


def draw_classes(seed: int, records: int = 3000) -> tuple[FloatArray, FloatArray]:
    """Return labels 0 and 1, and scores between 0 and 1 that go with them."""
    generator = np.random.default_rng(seed)
    labels = (generator.random(records) < 0.3).astype(np.float64)
    return labels, 1 / (1 + np.exp(-generator.normal(labels - 0.5, 1.0)))


def answer(
    question: Any, seed: int, /, epsilon: str = "0.5", adjacency: dp.Neighbours = dp.ADD_REMOVE, **columns: Any
) -> Any:
    """Return the released answer to a question about synthetic columns."""
    return next(rehearse_answers(question, columns, dp.PrivacyLoss.pure(epsilon), adjacency, seed))


def ask_session(question: Any, seed: int, table: Mapping[str, Any], **unit: str) -> Any:
    """Return the answer of a session with a ledger, at epsilon 2 under add-remove adjacency."""
    loss = dp.PrivacyLoss.pure(2)
    randomness = dp.Randomness.from_seed(seed)
    with dp.Session(table, budget=loss, adjacency=dp.ADD_REMOVE, randomness=randomness, **unit) as session:
        return session.ask(question, loss)


def width(interval: Any) -> float:
    """Return the mean width of an interval or a band."""
    low, high = interval
    return float(np.mean(np.asarray(high, dtype=np.float64) - np.asarray(low, dtype=np.float64)))


def curve_error(curve: Any, values: FloatArray) -> float:
    """Return the mean absolute error of a distribution function over the range of the values."""
    points = np.linspace(values.min(), values.max(), 102)[1:-1]
    released = np.interp(points, np.asarray(curve.x, dtype=np.float64), np.asarray(curve.y, dtype=np.float64))
    return float(np.mean(np.abs(released - np.searchsorted(np.sort(values), points, side="right") / len(values))))


def measure_curve(
    seed: int, *, cells: int = 512, distribution: str = "skewed", epsilon: str = "0.5", rho: bool = False
) -> Numbers:
    """Return error and band of a distribution function on declared cells."""
    generator = np.random.default_rng(seed)
    values = {
        "skewed": draw_records(seed),
        "even": generator.uniform(0, 100, 3000),
        "smooth": np.clip(generator.normal(50, 12, 3000), 0, 100),
        "heaped": np.minimum(np.round(generator.gamma(2.0, 10.0, 3000) / 5) * 5, 100.0),
    }[distribution]
    question = dp.CdfQuestion("value", dp.Grid(0, 100, cells=cells))
    loss = dp.PrivacyLoss.zcdp("0.125") if rho else dp.PrivacyLoss.pure(epsilon)
    curve = next(rehearse_answers(question, {"value": values}, loss, dp.ADD_REMOVE, seed))
    return {"error": curve_error(curve, values), "width": width(curve.band(0.95, population=True))}


def measure_range(seed: int, *, steps: bool = False) -> Numbers:
    """Return error and band of a distribution function, and error of a median, whose range is found privately."""
    values = np.round(draw_records(seed)) * 7 if steps else draw_records(seed)
    curve = answer(dp.AutoRangeCdfQuestion("value"), seed, value=values)
    median = answer(dp.AutoRangeQuantilesQuestion("value", (0.5,)), seed, value=values)
    shift = float(np.mean(values <= float(median.x[0]))) - 0.5
    return {"error": curve_error(curve, values), "width": width(curve.band(0.95)), "rank": abs(shift)}


def measure_quantiles(seed: int) -> Numbers:
    """Return error and interval of the median and the 90 % quantile."""
    values = draw_records(seed)
    released = answer(dp.QuantilesQuestion("value", dp.Grid(0, 100, cells=512), (0.5, 0.9)), seed, value=values)
    errors = np.abs(np.asarray(released.x) - np.quantile(values, (0.5, 0.9)))
    return {"error": float(np.mean(errors)), "width": width(np.transpose(released.intervals(0.95, population=True)))}


def measure_area(seed: int) -> Numbers:
    """Return error and interval of the area under a ROC curve with private cuts."""
    labels, scores = draw_classes(seed)
    curve = answer(dp.RocQuestion("label", "score", dp.Grid(0, 1, cells=256)), seed, label=labels, score=scores)
    positive, negative = scores[labels == 1], np.sort(scores[labels == 0])
    truth = float(np.mean(np.searchsorted(negative, positive) / len(negative)))
    return {"error": abs(curve.auc - truth), "width": width(curve.auc_interval(0.95, population=True))}


def measure_declared_area(seed: int) -> Numbers:
    """Return error and interval of the area under a ROC curve of ten declared scores of 200 records."""
    labels, scores = draw_classes(seed, 200)
    scores = np.round(scores * 9)
    question = dp.RocQuestion("label", "score", dp.Values(range(10)))
    columns = {"label": labels, "score": scores}
    curve = next(rehearse_answers(question, columns, dp.PrivacyLoss.pure(1), dp.REPLACE_ONE, seed))
    positive, negative = scores[labels == 1], np.sort(scores[labels == 0])
    won = np.searchsorted(negative, positive, "left") + np.searchsorted(negative, positive, "right")
    truth = float(np.mean(won / (2 * len(negative))))
    return {"error": abs(curve.auc - truth), "width": width(curve.auc_interval(0.95, population=True))}


def measure_stepped_area(seed: int) -> Numbers:
    """Return error and interval of the area under a ROC curve of scores that are tenths, on the default grid."""
    labels, scores = draw_classes(seed)
    scores = np.round(scores, 1)
    curve = answer(dp.RocQuestion("label", "score"), seed, label=labels, score=scores)
    positive = scores[labels == 1]
    negative = np.sort(scores[labels == 0])
    won = np.searchsorted(negative, positive, "left") + np.searchsorted(negative, positive, "right")
    truth = float(np.mean(won / (2 * len(negative))))
    return {"error": abs(curve.auc - truth), "width": width(curve.auc_interval(0.95))}


def measure_many_cells(seed: int) -> Numbers:
    """Return the half widths of intervals of 1,024 counts, as a forecast finds them."""
    histogram = answer(dp.HistogramQuestion("value", dp.Grid(0, 100, cells=1024)), seed, value=draw_records(seed))
    return {
        "records": histogram_half_width(histogram, population=False),
        "population": histogram_half_width(histogram, population=True),
    }


def measure_calibration(seed: int) -> Numbers:
    """Return the mean distance of a calibration curve from the line that its scores follow, and its interval."""
    generator = np.random.default_rng(seed)
    scores = generator.beta(2, 3, 3000)
    labels = (generator.random(3000) < scores).astype(np.float64)
    curve = answer(dp.CalibrationQuestion("label", "score"), seed, label=labels, score=scores)
    return {
        "error": float(np.nanmean(np.abs(np.asarray(curve.prob_true) - np.asarray(curve.prob_pred)))),
        "width": float(np.nanmean(np.diff(curve.intervals(0.95), axis=0 if len(curve.intervals(0.95)) == 2 else 1))),
    }


def measure_mean(seed: int) -> Numbers:
    """Return error and interval of a mean whose clipping bounds are found privately."""
    values = draw_records(seed)
    released = answer(dp.AutoRangeMeanQuestion("value"), seed, value=values)
    return {"error": abs(float(released.mean) - float(values.mean())), "width": width(released.interval(0.95))}


def measure_long_tail(seed: int) -> Numbers:
    """Return error and interval of the mean of a Pareto distribution of index 1.5 whose clipping bounds are found
    privately."""
    values = np.random.default_rng(seed).pareto(1.5, 3000)
    released = answer(dp.AutoRangeMeanQuestion("value"), seed, value=values)
    return {"error": abs(float(released.mean) - float(values.mean())), "width": width(released.interval(0.95))}


def measure_variance(seed: int) -> Numbers:
    """Return the interval of a variance of many records, and of a count of few, for the population."""
    variance = answer(dp.VarianceQuestion("value", 0, 100), seed, value=draw_records(seed, 30_000))
    count = answer(dp.CountQuestion("value"), seed, value=np.ones(12))
    return {"width": width(variance.interval(0.95)), "count": width(count.interval(0.95, population=True))}


def measure_weighted(seed: int, *, finds_range: bool = False) -> Numbers:
    """Return error and band of a weighted curve, and the interval of a weighted mean."""
    grid, bounds = ("auto", "auto") if finds_range else (dp.Grid(0, 100, cells=64), (0, 100))
    values, weights = draw_records(seed), np.random.default_rng(seed).uniform(0.5, 4, 3000)
    payment: dict[str, Any] = {"epsilon": "0.5", "adjacency": dp.ADD_REMOVE, "weight": weights, "weight_cap": 4}
    curve = dp.cdf(values, grid=grid, randomness=dp.Randomness.from_seed(seed), **payment)
    mean = dp.mean(values, bounds=bounds, randomness=dp.Randomness.from_seed(seed), **payment)
    return {
        "error": curve_error(curve, values),
        "width": width(curve.band(0.95, population=True)),
        "mean width": width(mean.interval(0.95, population=True)),
    }


def measure_bounds(seed: int) -> Numbers:
    """Return the width of private bounds of 90 % of few records, and of the axes of a residual plot."""
    generator = np.random.default_rng(seed)
    predicted, residual = generator.normal(0, 10, 300), generator.normal(0, 3, 300)
    plot = dp.residual_plot(
        predicted, residual, coverage="0.9", model=dp.PUBLIC_MODEL, adjacency=dp.ADD_REMOVE, epsilon="0.5",
        randomness=dp.Randomness.from_seed(seed),
    )  # fmt: skip
    return {"width": float(np.ptp(plot.y_edges))}


def measure_table(seed: int) -> Numbers:
    """Return the p-value of a test of independence in a table with an empty row."""
    generator = np.random.default_rng(seed)
    rows, columns = generator.integers(0, 3, 400), generator.integers(0, 3, 400)
    axes = dp.Categories("row", (0, 1, 2, 3)), dp.Categories("column", (0, 1, 2))
    return {"p-value": answer(dp.ContingencyQuestion(*axes), seed, row=rows, column=columns).p_value}


def measure_plane(seed: int) -> Numbers:
    """Return the error of the counts of a plane, by the usual estimator and by adaptive grids."""
    from dpcurves.histograms import AdaptiveGridEstimator

    generator = np.random.default_rng(seed)
    x, y = generator.normal(40, 8, 3000), generator.normal(60, 4, 3000)
    grid = dp.Grid(0, 100, cells=64)
    truth = np.histogram2d(x, y, bins=(grid.edges, grid.edges))[0]
    numbers = {}
    for name, estimator in (("refined", None), ("adaptive", AdaptiveGridEstimator())):
        question = dp.Histogram2DQuestion("x", "y", grid, grid, estimator=estimator)
        counts = np.asarray(answer(question, seed, x=x, y=y).count, dtype=np.float64)
        numbers[name] = float(np.mean(np.abs(counts - truth)))
    return numbers


def measure_tests(seed: int) -> Numbers:
    """Return p-values of tests of two curves, and of the rates of three groups, of which one is empty."""
    generator = np.random.default_rng(seed)
    grid = dp.Grid(0, 1, cells=64)
    curves = [answer(dp.CdfQuestion("value", grid), seed + 50 * side, value=generator.beta(2 + side / 9, 3, 2000))
              for side in (0, 1)]  # fmt: skip
    labels, scores = draw_classes(seed)
    groups = dp.Categories("group", ("a", "b", "none"))
    by_group = answer(
        dp.ScoresQuestion("label", "score", by=groups), seed, label=labels, score=scores,
        group=generator.choice(("a", "b"), 3000),
    )  # fmt: skip
    gap = dp.group_rates(by_group).largest_gap("flagged", 0.95, population=True)
    return {
        "p-value": dp.ks_test(*curves, generator=np.random.default_rng(seed)).p_value,
        "gap": gap.upper - gap.lower,
    }


def measure_totals(seed: int) -> Numbers:
    """Return the mean interval of counts by group that were adjusted to a released total."""
    generator = np.random.default_rng(seed)
    table = {"region": generator.choice(("a", "b"), 900), "sex": generator.integers(0, 2, 900)}
    region, sex = dp.Categories("region", ("a", "b")), dp.Categories("sex", (0, 1))
    questions = {"all": dp.CountQuestion("sex", by=region), "split": dp.ContingencyQuestion(region, sex)}
    loss, randomness = dp.PrivacyLoss.pure(1), dp.Randomness.from_seed(seed)
    with dp.Session(table, budget=loss * 2, adjacency=dp.ADD_REMOVE, randomness=randomness) as session:
        results = {name: session.ask(question, loss) for name, question in questions.items()}
    return {"width": width(np.moveaxis(np.asarray(dp.make_consistent(results).intervals(0.95)), -1, 0))}


def count_notes(seed: int) -> Numbers:
    """Return the mean number of notes on curves with a grid that is too narrow, too wide, or has missing values."""
    values = draw_records(seed)
    with_gaps = np.where(np.random.default_rng(seed).random(3000) < 0.02, np.nan, values)
    grids = (dp.Grid(0, 30, cells=64), dp.Grid(0, 98, cells=64), dp.Grid(0, 4000, cells=512))
    grids = (*grids, dp.Grid(0, 30, cells=64, outside=dp.Outside.APART))
    results = [
        answer(dp.CdfQuestion("value", grid), seed, value=column) for grid in grids for column in (values, with_gaps)
    ]
    atom = np.where(np.arange(3000) < 2000, 42.5, np.linspace(0, 100, 3000))
    results.append(answer(dp.CdfQuestion("value", dp.Grid(0, 100, cells=4096)), seed, value=atom))
    return {"notes": float(np.mean([len(result.notes) for result in results]))}


def measure_names(seed: int) -> Numbers:
    """Return notes and numbers of selected categories, of which one has no record that a curve counts."""
    generator = np.random.default_rng(seed)
    names, values = np.repeat(["aa", "bb", "cc"], 1000), generator.uniform(0, 1, 3000)
    values[:1000] = np.nan
    found = dp.UnlistedCategories("name", universe=dp.TextUniverse("abcd", 2))
    question = dp.CdfQuestion("value", dp.Grid(0, 1, cells=16), by=found)
    by_name = ask_session(question, seed, {"name": names, "value": values})
    return {"notes": float(len(by_name.privacy.notes)), "names": float(len(by_name))}


def measure_contribution_bound(seed: int) -> Numbers:
    """Return error and band of a curve whose contribution bound is found; people have geometric numbers of records."""
    generator = np.random.default_rng(seed)
    people = np.repeat(np.arange(1500), generator.geometric(0.3, 1500))
    values = generator.normal(50, 12, len(people)) + people % 7
    question = dp.CdfQuestion("value", dp.Grid(0, 100, cells=64))
    curve = ask_session(question, seed, {"person": people, "value": values}, unit="person")
    return {"error": curve_error(curve, values), "width": width(curve.band(0.95))}


def measure_verification(seed: int) -> Numbers:
    """Return the share of the subsets in which a logistic regression confirms a claim."""
    generator = np.random.default_rng(seed)
    age = generator.uniform(20, 65, 2000)
    ill = (generator.random(2000) < 1 / (1 + np.exp(3 - 0.05 * age))).astype(int)
    claim = dp.VerifyQuestion(dp.Categories("ill", (0, 1)), (dp.NumericColumn("age", 20, 65),), "age", above=0)
    return {"share": answer(claim, seed, ill=ill, age=age).share}


def measure_models(seed: int) -> Numbers:
    """Return the interval of the difference of two models' areas from one release."""
    labels, scores = draw_classes(seed)
    second = np.clip(scores + np.random.default_rng(seed).normal(0, 0.1, 3000), 0, 1)
    pair = answer(dp.ModelPairQuestion("label", "first", "second"), seed, label=labels, first=scores, second=second)
    return {"width": width(pair.interval("auc difference", 0.95, population=True))}


def draw_survival(seed: int, rate: float = 20.0) -> dict[str, Any]:
    """Return times in months, and whether an event ended them, of 2,000 people of two arms."""
    generator = np.random.default_rng(seed)
    arm = generator.integers(0, 2, 2000)
    event, censored = generator.exponential(rate * (1 + 0.4 * arm)), generator.uniform(5, 60, 2000)
    return {"time": np.minimum(event, censored), "event": (event < censored).astype(int), "arm": arm}


def measure_survival(seed: int) -> Numbers:
    """Return error and band of a survival curve of few records, and interval and p-value of two arms."""
    table = draw_survival(seed)
    grid = dp.Grid(0, 60, cells=60)
    question = dp.SurvivalQuestion("time", "event", grid, by=dp.Categories("arm", (0, 1)))
    arms = answer(question, seed, **table)
    first, second = (arms[category] for category in (0, 1))
    ratio = dp.hazard_ratio(first, second)
    return {
        "error": float(np.nanmean(np.abs(np.asarray(first.y) - np.exp(-np.asarray(first.x) / 20.0)))),
        "width": width(first.band(0.95, population=True)),
        "ratio": width(ratio.interval(0.95)),
        "p-value": dp.log_rank_test(first, second).p_value,
        "groups p": dp.multivariate_log_rank_test([first, second]).p_value,
    }


def measure_incidence(seed: int) -> Numbers:
    """Return the p-value of Gray's test of two groups."""
    table = draw_survival(seed)
    table["event"] = np.where(table["event"] == 1, 1 + np.random.default_rng(seed).integers(0, 2, 2000), 0)
    question = dp.CompetingRisksQuestion(
        "time", "event", dp.Grid(0, 60, cells=12), (1, 2), by=dp.Categories("arm", (0, 1))
    )
    arms = answer(question, seed, **table)
    test = dp.gray_test([arms[category] for category in (0, 1)], 1, generator=np.random.default_rng(seed))
    return {"p-value": test.p_value, "notes": float(len(test.notes))}


def measure_interval_censoring(seed: int) -> Numbers:
    """Return the band of a survival curve of events between two visits."""
    generator = np.random.default_rng(seed)
    event = generator.exponential(4, 1000)
    last = np.floor(event)
    question = dp.IntervalCensoredQuestion("last", "first", dp.Values(range(1, 9)))
    curve = answer(question, seed, last=last, first=last + 1)
    return {"width": width(np.moveaxis(curve.intervals(0.95), -1, 0))}


def measure_comparison_forecast(seed: int) -> Numbers:
    """Return the forecast half-width of a hazard ratio."""
    question = dp.SurvivalQuestion("time", "event", dp.Grid(0, 60, cells=60))
    forecasts = dp.forecast_comparison(
        question, dp.PrivacyLoss.pure("0.5"), dp.ADD_REMOVE, records=2000, generator=np.random.default_rng(seed)
    )
    return {"cells": float(forecasts[0].cells)}


def measure_compared_groups(seed: int) -> Numbers:
    """Return the least forecast half width of the probability that a value of one group is larger, and its number of
    cells."""
    question = dp.CdfQuestion("value", dp.Grid(0, 100, cells=10))
    half_widths = forecast_larger_value(question, dp.PrivacyLoss.pure(1), dp.ADD_REMOVE, records=2000)
    best = min(half_widths, key=lambda cells: half_widths[cells])
    return {"width": half_widths[best], "cells": float(best)}


def measure_picture(seed: int) -> Numbers:
    """Return the number of axes of a picture of four categories, and the share of its area that they have."""
    import matplotlib as mpl

    mpl.use("Agg")
    generator = np.random.default_rng(seed)
    names = tuple(f"a rather long name of category number {number}" for number in range(4))
    question = dp.CdfQuestion("value", dp.Grid(0, 100, cells=16), by=dp.Categories("name", names))
    curves = answer(question, seed, epsilon="0.02", name=generator.choice(names, 3000), value=draw_records(seed))
    chart = answer(dp.BarChartQuestion(dp.Categories("name", names)), seed, name=generator.choice(names, 3000))
    numbers = {}
    for kind, result in (("curves", curves), ("bars", chart)):
        figure = result.plot().figure
        figure.canvas.draw()
        boxes = [axes.get_window_extent() for axes in figure.axes]
        area = sum(box.width * box.height for box in boxes) / (figure.bbox.width * figure.bbox.height)
        numbers |= {f"{kind} axes": float(len(boxes)), f"{kind} area": float(area)}
    return numbers


def measure_audit(seed: int) -> Numbers:
    """Return the loss that an audit shows of noise that is half of what it should be."""
    generator = np.random.default_rng(seed)
    family = dp.audit.families.values([0, 1], adjacency=dp.ADD_REMOVE)  # type: ignore[attr-defined]

    def release(table: Any, size: int) -> Any:
        """Return noisy counts of ones with half the noise."""
        return np.sum(table) + generator.laplace(0, 0.5, size)

    report = dp.audit(release, family, epsilon=1, samples=4000, seconds=60, batch=True, extra_checks=False)
    return {"epsilon": float(report.lower_bound)}


def measure_pairs(seed: int) -> Numbers:
    """Return the interval of a mean over pairs whose answers people randomise."""
    kernel = dp.pairs.Kernel(lambda x, y: abs(x.income - y.income), income=dp.pairs.Unsigned(8))
    plan = dp.pairs.plan(
        kernel, people=400, pairs_per_person=4, loss=dp.PrivacyLoss.pure(1), noise=dp.pairs.NoisePlacement.EACH
    )
    incomes = np.random.default_rng(seed).integers(0, 256, 400)
    return {"width": width(dp.pairs.simulate(kernel, {"income": incomes}, plan).interval(0.95, population=True))}


def measure_sites(seed: int) -> Numbers:
    """Return how many noisy sums two sites release for a calibration curve whose groups a pilot query cuts."""
    from dpcurves_sites.trust import SecureSum

    question, trust = dp.CalibrationQuestion("label", "score"), SecureSum(sites=2, collusion_threshold=1)
    adjacency = dp.ADD_REMOVE.to_adjacency(dp.EACH_RECORD, None)
    plans = dp.plan_question(question, dp.PrivacyLoss.pure(1), adjacency, trust=trust)
    return {"numbers": float(sum(plan.distribution.size for plan in plans))}


def measure_stream(seed: int) -> Numbers:
    """Return errors and notes of a stream of 16 steps, in which a tenth of the tuples are not counted."""
    generator = np.random.default_rng(seed)
    events = [
        {"ts": str(step), "place": ("a", "b", "elsewhere")[min(int(generator.integers(0, 20)) // 9, 2)], "user": number}
        for step in range(16)
        for number in range(generator.poisson(40))
    ]
    question = dp.streams.Counts((dp.Categories("place", ("a", "b")),))
    steps = list(
        dp.streams.follow(
            events, question, loss=dp.PrivacyLoss.pure("0.5"), store="sqlite://", start=0, every=1, end=16, time="ts",
            randomness=dp.Randomness.from_seed(seed),
        )
    )  # fmt: skip
    last = steps[-1].uncounted
    return {
        "notes": float(sum(len(step.uncounted.notes) for step in steps if step.uncounted)),
        "totals": float(np.sum(last.totals)),
        "width": width(last.interval(0.95)),
    }


def measure_stream_drift(seed: int) -> Numbers:
    """Return the shift of a window over its threshold, by the population stability index."""
    from dpcurves.distributions import Family
    from dpcurves_streams import DriftWatch, TimeStepReading
    from dpcurves_streams.readings.question import NoisyValues

    generator = np.random.default_rng(seed)
    readings = [
        TimeStepReading(step, counts, {}, {}, noisy=NoisyValues(Family.LAPLACE, counts, 2.0), noisy_windows={})
        for step, counts in enumerate(
            np.histogram(generator.beta(2 + step / 5, 3, 4000), np.linspace(0, 1, 11))[0].astype(np.float64)
            for step in (0, 1)
        )
    ]
    watch = DriftWatch(dp.Grid(0, 1, cells=10), readings[0], windows_per_year=52)
    return {"threshold": watch.compare_window(readings[1]).statistics["psi"].threshold}


def measure_pair_statistic(seed: int) -> Numbers:
    """Return the interval of Gini's mean difference for the population."""
    curve = answer(dp.CdfQuestion("value", dp.Grid(0, 100, cells=64)), seed, value=draw_records(seed))
    return {"width": width(dp.gini_mean_difference(curve).interval(0.95, population=True))}


def measure_whole_numbers(seed: int) -> Numbers:
    """Return the interval of Gini's mean difference of 30,000 whole numbers, and the error of their curve."""
    values, grid = np.floor(draw_records(seed, 30_000)), dp.Grid(0, 100, cells=100)
    curve = answer(dp.CdfQuestion("value", grid), seed, "1", dp.REPLACE_ONE, value=values)
    exact = np.searchsorted(np.sort(values), grid.edges[:-1]) / len(values)
    return {
        "width": width(dp.gini_mean_difference(curve).interval(0.95)),
        "curve error": float(np.abs(curve.y[:-1] - exact).mean()),
    }


def measure_column_drift(seed: int) -> Numbers:
    """Return the threshold of the population stability index of two windows of a column."""
    histograms = [
        answer(
            dp.HistogramQuestion("value", dp.Grid(0, 100, cells=10)), seed + 50 * side, value=draw_records(seed + side)
        )
        for side in (0, 1)
    ]
    return {"threshold": next(iter(dp.drift(*histograms).statistics.values())).threshold}


CASES: Mapping[str, Case] = {
    "curve": measure_curve,
    "curve, rho": functools.partial(measure_curve, rho=True),
    "few cells": functools.partial(measure_curve, cells=24, epsilon="8"),
    "even records": functools.partial(measure_curve, distribution="even"),
    "smooth records": functools.partial(measure_curve, distribution="smooth", cells=4096, epsilon="0.1"),
    "heaped records": functools.partial(measure_curve, distribution="heaped"),
    "range": measure_range,
    "range of steps": functools.partial(measure_range, steps=True),
    "quantiles": measure_quantiles,
    "area": measure_area,
    "declared area": measure_declared_area,
    "stepped area": measure_stepped_area,
    "many cells": measure_many_cells,
    "calibration": measure_calibration,
    "mean": measure_mean,
    "long tail": measure_long_tail,
    "variance": measure_variance,
    "weighted": measure_weighted,
    "weighted range": functools.partial(measure_weighted, finds_range=True),
    "bounds": measure_bounds,
    "table": measure_table,
    "plane": measure_plane,
    "tests": measure_tests,
    "totals": measure_totals,
    "notes": count_notes,
    "names": measure_names,
    "contribution bound": measure_contribution_bound,
    "verification": measure_verification,
    "models": measure_models,
    "survival": measure_survival,
    "incidence": measure_incidence,
    "interval censoring": measure_interval_censoring,
    "comparison forecast": measure_comparison_forecast,
    "compared groups": measure_compared_groups,
    "picture": measure_picture,
    "audit": measure_audit,
    "pairs": measure_pairs,
    "sites": measure_sites,
    "stream": measure_stream,
    "stream drift": measure_stream_drift,
    "pair statistic": measure_pair_statistic,
    "pairs of whole numbers": measure_whole_numbers,
    "column drift": measure_column_drift,
}
MODULES: Mapping[str, tuple[str, ...]] = {
    "dpcurves.curves.adaptive_histogram": ("mean", "long tail"),
    "dpcurves.curves.by_category": ("picture",),
    "dpcurves.curves.column_drift": ("column drift",),
    "dpcurves.curves.comparison": ("tests",),
    "dpcurves.curves.consistency": ("totals",),
    "dpcurves.curves.contingency": ("table",),
    "dpcurves.curves.outside": ("notes",),
    "dpcurves.curves.pair_mean": ("pair statistic", "pairs of whole numbers"),
    "dpcurves.curves.residuals": ("bounds",),
    "dpcurves.curves.result": ("notes",),
    "dpcurves.curves.straight_intervals": ("notes",),
    "dpcurves.curves.summary": ("variance",),
    "dpcurves.curves.weighted": ("weighted",),
    "dpcurves.curves.weighted_range": ("weighted range",),
    "dpcurves.curves.weighted_summary": ("weighted",),
    "dpcurves.display.layout": ("picture",),
    "dpcurves.estimation.empirical_bayes": ("curve",),
    "dpcurves.estimation.joint_estimate": ("curve", "range"),
    "dpcurves.estimation.slow_trends": ("even records",),
    "dpcurves.estimation.smooth_density": ("smooth records",),
    "dpcurves.estimation.two_classes": ("area", "calibration"),
    "dpcurves.forecasts.compared_groups": ("compared groups",),
    "dpcurves.forecasts.many_cells": ("many cells",),
    "dpcurves.histograms.block_estimators": ("plane",),
    "dpcurves.inference.areas": ("area", "stepped area"),
    "dpcurves.inference.bands": ("curve", "area"),
    "dpcurves.inference.groups": ("tests",),
    "dpcurves.inference.moments": ("variance",),
    "dpcurves.inference.quantiles": ("quantiles",),
    "dpcurves.inference.tails": ("long tail",),
    "dpcurves.mechanisms.auto": ("few cells",),
    "dpcurves.mechanisms.partition_selection": ("names",),
    "dpcurves.mechanisms.tree_strategy": ("few cells", "heaped records"),
    "dpcurves.records.counting": ("verification",),
    "dpcurves.strategies.choice": ("names",),
    "dpcurves.strategies.contribution_bounds": ("contribution bound",),
    "dpcurves.strategies.prefixes": ("curve", "curve, rho", "quantiles"),
    "dpcurves.strategies.range_search": ("range", "range of steps"),
    "dpcurves.strategies.lattices": ("stepped area", "pairs of whole numbers"),
    "dpcurves.strategies.ranks": ("area", "declared area"),
    "dpcurves_audit.search": ("audit",),
    "dpcurves_judging.model_pairs": ("models",),
    "dpcurves_parties.pairs.readings": ("pairs",),
    "dpcurves_sites.trust": ("sites",),
    "dpcurves_streams.readings.constrained": ("stream",),
    "dpcurves_streams.readings.drift": ("stream drift",),
    "dpcurves_streams.readings.uncounted": ("stream",),
    "dpcurves_survival.comparison_grids": ("comparison forecast",),
    "dpcurves_survival.group_tests": ("survival",),
    "dpcurves_survival.hazard_ratios": ("survival",),
    "dpcurves_survival.hazards": ("survival",),
    "dpcurves_survival.incidence_tests": ("incidence",),
    "dpcurves_survival.inference": ("survival",),
    "dpcurves_survival.variants": ("interval censoring",),
}


def find_tuned_modules() -> list[str]:
    """Return the modules that define a class of numbers that steer an estimator, in alphabetical order.

    The tuning of `dpcurves_sim` is left out: it says how often simulated faults strike.
    """
    files = sorted(file for file in SOURCE.glob("dpcurves*/**/*.py") if "dpcurves_sim" not in file.parts)
    return [
        ".".join(file.relative_to(SOURCE).with_suffix("").parts)
        for file in files
        if "Tuning:\n" in file.read_text(encoding="utf-8")
    ]


def find_tunings(module_name: str) -> dict[str, Any]:
    """Return the tunings of a module by name: its own constants whose class is named ``...Tuning``."""
    module, tunings = import_module(module_name), dict[str, Any]()
    for name, value in vars(module).items():
        entries = value if isinstance(value, dict) else {"": value}
        for key, entry in entries.items():
            is_own = type(entry).__module__ == module_name and type(entry).__name__.endswith("Tuning")
            if is_dataclass(entry) and is_own and not any(entry is other for other in tunings.values()):
                tunings[f"{name}{f'[{key}]' if key != '' else ''}"] = entry
    return tunings


def scale(value: Any, factor: float) -> Any:
    """Return a number, or each number of a tuple, times a factor; whole numbers are rounded, to at least 1."""
    if isinstance(value, tuple):
        return tuple(scale(part, factor) for part in value)
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return value
    if isinstance(value, Fraction):
        return value * Fraction(factor)
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


def clear_caches() -> None:
    """Forget all results of cached functions, which may depend on a field."""
    for thing in gc.get_objects():
        if type(thing) is functools._lru_cache_wrapper:  # isinstance fails on weak references to what is gone
            thing.cache_clear()


def mean_over_seeds(case: Case, releases: int) -> Numbers:
    """Return the means of the numbers of a case over the first seeds."""
    clear_caches()
    results = [case(seed) for seed in range(releases)]
    return {name: float(np.mean([result[name] for result in results])) for name in results[0]}


def vary(tuning: Any, name: str, factor: float, case: Case, releases: int) -> Numbers | None:
    """Return the numbers of a case with a scaled field, or None if it fails. The object is changed in place and
    restored, because functions hold it as a default."""
    value = getattr(tuning, name)
    object.__setattr__(tuning, name, scale(value, factor))
    try:
        return mean_over_seeds(case, releases)
    except Exception:  # any error shows that the field has a range
        return None
    finally:
        object.__setattr__(tuning, name, value)


def format_ratio(varied: Numbers | None, number: str, base: float) -> str:
    """Return a varied number over the number without a change."""
    if varied is None:
        return "fails"
    return f"{varied[number] / base:5.2f}" if base else f"{varied[number]:.3g}/0"


def rows(module_name: str, releases: int) -> Iterator[str]:
    """Yield a row for each field of a module, case and number."""
    for case_name in MODULES[module_name]:
        case = CASES[case_name]
        try:
            base = mean_over_seeds(case, releases)
        except Exception as error:
            yield f"case {case_name} fails: {type(error).__name__}: {error}"
            continue
        for tuning in find_tunings(module_name).values():
            for field in fields(tuning):
                varied = [vary(tuning, field.name, factor, case, releases) for factor in (0.5, 2.0)]
                value = getattr(tuning, field.name)
                shown = str(value) if len(str(value)) <= 24 else f"{type(value).__name__} of {len(value)}"
                for number, mean in base.items():
                    ratios = " ".join(format_ratio(result, number, mean) for result in varied)
                    yield f"{field.name:26} {shown:24} {case_name + ': ' + number:26} {mean:9.3g} {ratios}"


def main() -> None:
    """Print the rows of all modules."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2 releases of each case instead of 20")
    parser.add_argument("--only", default="", help="modules whose name contains this word")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("field, value, case: number, the number, and its ratios with half and with twice the value")
    for module_name in MODULES:
        if options.only in module_name:
            print(f"\n{module_name}")
            for row in rows(module_name, 2 if options.quick else 20):
                print(row, flush=True)


if __name__ == "__main__":
    main()
