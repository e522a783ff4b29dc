"""Where nothing is known no number stands: in every reading of every result, in all outputs.

Results are those of all questions that are registered for forecasts, and readings are all numbers of their tables that
stand between ends. So a new question, or a new number of an old one, is held to this without a line of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from re import IGNORECASE, search
from typing import Any

import numpy as np
import pytest
from every_question import QUESTIONS

import dpcurves as dp
from dpcurves.curves.class_table import Metric
from dpcurves.curves.result import IntervalResult, result_from_json
from dpcurves.display import frame_columns
from dpcurves.forecasts.expected_errors import FORECAST_KINDS
from dpcurves.forecasts.reference_distributions import import_forecast_modules
from dpcurves.inference.known_numbers import is_uninformative, known_curve, known_number, known_values

LONG = {"BoundsQuestion", "PlaneBoundsQuestion", "ResidualPlotQuestion", "VerifyQuestion", "Histogram2DQuestion"}
"""Questions whose results have no numbers between ends."""
CHOSEN = [
    question for place, question in enumerate(QUESTIONS)
    if type(question).__name__ not in LONG and str(question) not in {str(each) for each in QUESTIONS[:place]}
    and not (isinstance(question, dp.RocQuestion) and question.thresholds is dp.RocThresholds.FIXED)
    and not (isinstance(question, dp.CdfQuestion) and question.by is not None)  # its column y is that of shares, too
]  # fmt: skip
WITHOUT_RANGE = {
    "BarChart",
    "Histogram", "Summary", "WeightedSummary", "Contingency", "HosmerLemeshow", "CdfHistogram", "WeightedHistogram",
    "ConsistentTotals", "Verification",
    "CompetingRisks", "CountedNumbers", "Scores", "Confusion", "SurvivalNumbers", "Drift", "ReleasedResult",
    "IntervalResult",
    "CompositeResult", "ClassTableResult", "BandedTableResult", "GroupIntervalResult", "Ranking", "ByCategory",
    "ScoresByCategory",
    "SummaryByCategory", "WeightedSummaryByCategory", "GroupRates", "CurvesByGroup",
}  # fmt: skip
"""Kinds whose numbers are counts, which are always known, or are left open where they are read, value by value."""


def table(size: int, seed: int, *, empty: bool = False, alike: bool = False) -> dict[str, Any]:
    """Records of which one class, and two of three groups, may have none, or whose two scores may be equal."""
    draw = np.random.default_rng(seed)
    x, r = draw.beta(2, 5, size), draw.normal(0, 1, size)
    y = (draw.random(size) < x).astype(int)
    w = draw.integers(0, 3, size)
    none = np.zeros(size, dtype=int)
    return {"x": x, "r": x.copy() if alike else r, "y": none if empty else y, "w": none if empty else w}


def answered(question: Any, records: Any, epsilon: str, seed: int) -> Any:
    loss, chance = dp.PrivacyLoss.pure(epsilon), dp.Randomness.from_seed(seed)
    with dp.Session(records, budget=loss, adjacency=dp.ADD_REMOVE, randomness=chance) as session:
        return session.ask(question, loss)


def readings(result: Any) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray, Any, Any]]:
    """Columns of values with ends, and what they lie between; of results by category those of each."""
    if isinstance(result, dp.ByCategory) and not isinstance(result, dp.GroupRates):
        for member in result.values():
            yield from readings(member)
        return
    if not isinstance(result, IntervalResult | dp.GroupRates):
        return
    columns = frame_columns(result.to_frame(level=0.95))
    for name, values in columns.items():
        if name in getattr(result, "POSSIBLE_RANGES", ()):
            least, most, *ends = result._possible_range(name)
            lower, upper = ends or result.INTERVAL_COLUMNS[:2]
        elif name == "value":
            (least, most), lower, upper = ranges_of(result, len(values)), "lower", "upper"
        else:
            continue
        yield name, values, columns[lower], columns[upper], least, most


def ranges_of(result: Any, size: int) -> tuple[Any, Any]:
    """What numbers in rows lie between: from the question's own statistics, else the usual ranges."""
    if isinstance(getattr(result, "_statistics", None), dict):
        statistics = list(result._statistics.values())
        return np.array([each.minimum for each in statistics]), np.array([each.maximum for each in statistics])
    if isinstance(result, dp.Scores):
        return np.zeros(size), np.array([each.value.upper_limit(result.table) for each in result.metrics])
    if isinstance(result, dp.SurvivalNumbers):
        estimates = list(result.estimates.values())
        return np.array([each.least for each in estimates]), np.array([each.most for each in estimates])
    if isinstance(result, dp.Confusion):
        return np.zeros(size), np.ones(size)
    return np.full(size, -np.inf), np.full(size, np.inf)


def read_further(question: Any, result: Any) -> Iterator[Any]:
    """Readings that cost nothing more."""
    yield result
    if isinstance(result, dp.Scores):
        yield from (result.roc(), result.precision_recall(), result.confusion(0.5))
        if result.table.are_probabilities:
            yield result.calibration()


def unknown_of(result: Any) -> tuple[int, int]:
    """Numbers that are not known, and all; each that is open is not known, and where one is not, its ends are open."""
    unknown = every = 0
    for name, values, lower, upper, least, most in readings(result):
        is_free = is_uninformative(lower, upper, least, most)
        is_nan = np.isnan(values.astype(float))
        is_curve = getattr(result, "IS_CURVE", False)
        if is_curve:
            pinned = lower == upper
            is_free &= bool((is_free | pinned).all())
        assert (is_nan | ~is_free | (np.asarray(least) == np.asarray(most))).all(), (result, name, values)
        unknown, every = unknown + int(is_nan.sum()), every + len(values)
    return unknown, every


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("part", range(4))
def test_no_number_stands_where_nothing_is_known(part: int) -> None:
    """Results of 30 people at epsilon 0.1, of an empty class, of nobody, and of equal models."""
    cases = (
        (table(30, 1), "0.1", True), (table(300, 2, empty=True), "1", False), (table(0, 3), "1", True),
        (table(300, 5, alike=True), "0.02", False),
    )  # fmt: skip
    for place, question in list(enumerate(CHOSEN))[part::4]:
        records, epsilon, _ = cases[(place // 4) % len(cases)]
        for result in read_further(question, answered(question, records, epsilon, place)):
            unknown_of(result)
            texts = (repr(result), result.to_json(), result.to_csv_text(), str(result._summary()))
            assert not any(search(r"\bnan\b", text, IGNORECASE) for text in texts), texts[0]
            assert result_from_json(result.to_json()).to_json() == result.to_json()


@pytest.mark.parametrize("seeds", [1, pytest.param(3, marks=pytest.mark.reproduction)])
def test_ordinary_tables_have_their_numbers(seeds: int) -> None:
    """With 300 people of both classes at epsilon 1 at most 1 % of the single numbers are not known."""
    unknown = every = 0
    asked: list[Any] = [
        dp.ScoresQuestion("y", "x"), dp.RocQuestion("y", "x"), dp.CalibrationQuestion("y", "x", groups=4),
        dp.ModelPairQuestion("y", "x", "t", dp.Grid(0, 1, cells=8), cells=8),
        dp.UpliftQuestion("y", "a", "x", dp.Grid(0, 1, cells=8)),
        dp.QuantilesQuestion("x", dp.Grid(0, 1, cells=32), (0.25, 0.5, 0.75)), dp.SummaryQuestion("x", 0, 1),
        dp.OrdinalClassesQuestion(dp.Categories("w", (0, 1, 2)), "x"),
        dp.SurvivalQuestion("x", "y", dp.Grid(0, 1, cells=16)),
    ]  # fmt: skip
    for seed in range(seeds):
        draw = np.random.default_rng(seed)
        x = draw.random(300)
        records = {
            "x": x, "t": (x + draw.random(300)) / 2, "y": (draw.random(300) < x).astype(int),
            "a": draw.integers(0, 2, 300), "w": draw.integers(0, 3, 300),
        }  # fmt: skip
        for question in asked:
            counted = unknown_of(answered(question, records, "1", seed))
            unknown, every = unknown + counted[0], every + counted[1]
    assert every > 66 * seeds
    assert unknown <= 0.01 * every


ARMS = dp.Categories("arm", ("a", "b"))


def two_arms(empty: bool, events: bool = True) -> Any:
    draw = np.random.default_rng(8)
    records = {
        "t": draw.exponential(4, 400), "e": draw.integers(0, 2, 400) * events,
        "arm": ["a"] * 400 if empty else ["a", "b"] * 200,
    }  # fmt: skip
    return answered(dp.SurvivalQuestion("t", "e", dp.Grid(0, 10, cells=10), by=ARMS), records, "2", 2)


def test_an_arm_without_records_is_no_curve_and_no_number() -> None:
    arms = two_arms(empty=True)
    assert np.isnan(arms["b"].to_frame()["y"][1:]).all()
    assert not np.isnan(arms["a"].to_frame()["y"]).any()
    drawn = arms["b"].plot(level=None).get_lines()
    assert all(np.isnan(np.asarray(line.get_ydata(), float)[1:]).all() for line in drawn if len(line.get_ydata()) > 2)
    assert all(y is None for y in json.loads(arms["b"].to_json())["y"][1:])
    numbers = dp.survival_numbers(arms, until=8, times=(4,)).to_frame(level=0.95)
    of_a = numbers["group"].str.endswith(" a") & ~numbers["group"].str.contains("against")
    assert numbers["value"][of_a].notna().all()
    assert numbers["value"][~of_a].isna().all()  # no number of b, and no difference from it


@pytest.mark.parametrize("epsilon", ["1", "10", "1000"])
def test_a_distribution_of_no_record_is_not_known_however_little_noise_there_is(epsilon: str) -> None:
    """Before, from epsilon 10 on the curve of an empty group was 0, with a band of 0 to 0."""
    records = {"x": np.full(60, 0.3), "g": np.full(60, "a")}
    question = dp.CdfQuestion("x", dp.Grid(0, 1, cells=4), by=dp.Categories("g", ("a", "b")))
    groups = answered(question, records, epsilon, 1)
    for population in (False, True):
        lower, upper = groups["b"].band(0.95, population=population)
        assert lower[1:-1].tolist() == [0.0] * 3
        assert upper[1:-1].tolist() == [1.0] * 3
    assert np.isnan(groups["b"].to_frame()["y"][1:-1]).all()
    assert not np.isnan(groups["a"].to_frame()["y"]).any()


def test_a_hazard_ratio_without_events_may_be_any() -> None:
    arms = two_arms(empty=False, events=False)
    ratio = dp.hazard_ratio(arms["a"], arms["b"])
    assert np.isnan(ratio.value)
    assert ratio.interval(0.95) == ratio.interval(0.5) == (0.0, np.inf)


def test_an_uplift_without_treated_records_is_not_known() -> None:
    draw = np.random.default_rng(1)
    records = {"y": draw.integers(0, 2, 300), "a": np.zeros(300, int), "x": draw.random(300)}
    uplift = answered(dp.UpliftQuestion("y", "a", "x", dp.Grid(0, 1, cells=8)), records, "1", 4)
    assert uplift.to_frame()["value"].isna().all()
    assert np.isnan(uplift.uplift).all()
    assert "not known" in repr(uplift)


def test_the_registry_of_questions_is_read_whole() -> None:
    """Each question that has a forecast is among those of this file, or its result has no ends."""
    registered = {kind.__name__ for kind in FORECAST_KINDS} | {
        kind.__name__ for place in import_forecast_modules() for kind in place.FORECASTS
    }
    here = {type(question).__name__ for question in QUESTIONS}
    assert {name for name in registered if not name.startswith("Unbounded")} <= here | LONG


def test_each_kind_of_result_says_what_its_numbers_lie_between() -> None:
    """Or it is listed here as one of counts: a new kind that forgets both is found."""

    def kinds(base: type[Any]) -> Iterator[type[Any]]:
        for kind in base.__subclasses__():
            yield kind
            yield from kinds(kind)

    of_package = {kind for kind in kinds(IntervalResult) if kind.__module__.startswith("dpcurves")}
    without = {kind.__name__ for kind in of_package if not kind.POSSIBLE_RANGES}
    assert {"CDF", "ROC", "Survival"} <= {kind.__name__ for kind in of_package if kind.POSSIBLE_RANGES}
    counted = {kind.__name__ for kind in of_package if hasattr(kind, "_find_deciding_ends")}
    assert without <= WITHOUT_RANGE | counted


def test_one_rule_says_what_is_known() -> None:
    assert np.isnan(known_number(0.5, (0.0, 1.0), 0.0, 1.0))
    assert known_number(0.5, (0.0, 0.99), 0.0, 1.0) == 0.5
    assert np.isnan(known_values([3.0], ([-np.inf], [np.inf]), -np.inf, np.inf)).all()
    assert known_values([2.0], ([2.0], [2.0]), 2.0, 2.0).tolist() == [2.0]
    assert np.isnan(known_curve([0.1, 0.2], ([0, 0], [1, 1]))).all()


def scores_by_arm(size: int, epsilon: str, seed: int, *, without: str) -> Any:
    """Scores of three groups, without records of one group, without positives, or with all."""
    draw = np.random.default_rng(seed)
    x = draw.random(size)
    records = {
        "x": x, "y": (draw.random(size) < x).astype(int) * (without != "positives"),
        "g": np.array(["a", "b", "c"])[draw.integers(0, 2 if without == "group" else 3, size)],
    }  # fmt: skip
    by = dp.Categories("g", ("a", "b", "c"))
    return answered(dp.ScoresQuestion("y", "x", dp.Grid(0, 1, cells=8), by=by), records, epsilon, seed)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("without", ["nothing", "positives", "group"])
def test_a_difference_or_gap_that_is_not_known_may_be_any_at_every_level(without: str) -> None:
    """Before, differences from a number that is not known were NaN beside intervals such as -0.94 to 1."""
    unknown = known = 0
    for size, epsilon, seed in ((5, "1", 1), (30, "0.1", 2), (30, "1", 2), (300, "1", 1)):
        scores = scores_by_arm(size, epsilon, seed, without=without)
        rates = dp.group_rates(scores)
        for metric in Metric:
            most = max(metric.value.upper_limit(each.table) for each in scores.values())
            for level, population in ((0.95, False), (0.5, False), (0.99, True)):
                for other in "bc":
                    found = scores.difference(metric, "a", other, level, population=population)
                    is_unknown = np.isnan(found.value)
                    assert not is_unknown or found[1:3] == (-most, most), (metric, found)
                    assert is_unknown or found.lower <= found.value <= found.upper
                    if level == 0.95 and not population:
                        assert is_unknown == is_uninformative(found.lower, found.upper, -most, most)
                    unknown, known = unknown + is_unknown, known + (not is_unknown)
                gap = rates.largest_gap(metric.key, level, population=population)
                assert not np.isnan(gap.value) or gap[1:3] == (0.0, most), (metric, gap)
                assert np.isnan(gap.value) or gap.lower <= gap.value <= gap.upper
    assert unknown > 20
    assert known > 10 or without == "positives"


@pytest.mark.parametrize("coins", dp.local.Coins)
@pytest.mark.parametrize("people", [1, 2, 4])
def test_a_few_reports_of_people_at_home_print_no_share_with_a_band_of_all_shares(people: int, coins: Any) -> None:
    """Before, the median of one report was a number, beside a band from 0 to 100 %."""
    question = dp.CdfQuestion("age", dp.Grid(0, 100, cells=8))
    task = dp.local.Task(question, dp.PrivacyLoss.pure(2), people=5000, coins=coins)
    for start in range(8):
        names = (str(start + person) for person in range(people))
        curve = dp.local.aggregate([task.randomize(41, person=name) for name in names], task)
        y, (lower, upper) = np.asarray(curve.to_frame()["y"])[1:-1], curve.band(0.95)
        assert np.isnan(y[(lower <= 0)[1:-1] & (upper >= 1)[1:-1]]).all() or (upper - lower)[1:-1].min() <= 0.5
        assert not np.isnan(y).all() or any("next to nothing" in note for note in curve.notes)


def test_a_share_at_the_end_of_the_grid_says_nothing_about_the_curve() -> None:
    """That most values lie below the last edge is known long before anything inside the grid is."""
    ends = [0.0, 0.0, 0.0, 0.7], [0.0, 1.0, 1.0, 1.0]
    y = [0.0, 0.3, 0.6, 0.9]
    assert np.isnan(known_curve(y, ends, deciding=slice(1, -1))).tolist() == [False, True, True, False]
    assert known_curve(y, ends).tolist() == y
    assert known_curve(y, ([0.0, 0.0, 0.2, 0.7], [0.0, 1.0, 0.6, 1.0]), deciding=slice(1, -1)).tolist() == y
