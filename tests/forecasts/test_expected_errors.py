from __future__ import annotations

from itertools import cycle
from typing import Any
from warnings import catch_warnings

import numpy as np
import pytest

import dpcurves as dp
from dpcurves import display
from dpcurves.forecasts import ExpectedError, expected_errors, rehearsals
from dpcurves.forecasts.expected_errors import find_forecast_kind
from dpcurves.forecasts.reference_distributions import VALUE_SAMPLERS, distribution_from_curve
from dpcurves.forecasts.rehearsals import rehearse_answers
from dpcurves.models import Power, Term
from dpcurves.noise.randomness import Randomness
from dpcurves.records import open_records

LOSS = dp.PrivacyLoss.pure("0.5")
GRID = dp.Grid(0, 1, cells=32)
SMALL = dp.Grid(0, 1, cells=8)
BOUNDS = dp.BoundsQuestion("x", 1, "0.9")
AGE = Term(0.1, (Power("years"),))
YEARS = dp.NumericColumn("years", 8, 20)
ROC = dp.RocQuestion("label", "score", pos_label="yes", neg_label="no")
QUESTIONS = (
    dp.CdfQuestion("x", GRID),
    dp.QuantilesQuestion("x", GRID, (0.25, 0.5)),
    dp.HistogramQuestion("x", GRID),
    dp.AutoRangeCdfQuestion("x"),
    dp.AutoRangeQuantilesQuestion("x"),
    dp.AutoRangeScoresQuestion("label", "score"),
    dp.AutoRangeSurvivalQuestion("t", "e"),
    dp.AutoRangeHistogramQuestion("x"),
    dp.AutoRangeSumQuestion("x"),
    dp.AutoRangeMeanQuestion("x"),
    dp.AutoRangeVarianceQuestion("x"),
    dp.AutoRangeSummaryQuestion("x"),
    ROC,
    dp.CalibrationQuestion("label", "score"),
    dp.BinnedResidualsQuestion("label", "score", dp.DISJOINT_RECORDS),
    dp.Histogram2DQuestion("x", "y", SMALL, SMALL),
    dp.ResidualPlotQuestion("x", "y", 1, 1, "0.95", dp.DISJOINT_RECORDS, cells=8),
    dp.CountQuestion("x"),
    dp.SumQuestion("x", 0, 4),
    dp.MeanQuestion("x", 0, 4),
    dp.VarianceQuestion("x", 0, 4),
    dp.SummaryQuestion("x", 0, 4),
    dp.ScoresQuestion("label", "score", dp.Grid(0, 1, cells=1000)),
    dp.HosmerLemeshowQuestion("label", "score", groups=4),
    dp.SurvivalQuestion("t", "e", dp.Grid(0, 40, cells=40)),
    dp.WeightedCdfQuestion("x", GRID, "w", 5),
    dp.WeightedHistogramQuestion("x", GRID, "w", 5),
    dp.WeightedQuantilesQuestion("x", GRID, (0.25, 0.5), "w", 5),
    dp.WeightedSummaryQuestion("x", 0, 4, "w", 5),
    dp.AutoRangeWeightedCdfQuestion("x", "w", 5),
    dp.AutoRangeWeightedHistogramQuestion("x", "w", 5),
    dp.AutoRangeWeightedQuantilesQuestion("x", (0.25, 0.5), "w", 5),
    dp.AutoRangeWeightedSummaryQuestion("x", "w", 5),
    dp.WeightedSurvivalQuestion("t", "e", dp.Grid(0, 40, cells=40), "w", 5),
    dp.CompetingRisksQuestion("t", "e", dp.Grid(0, 40, cells=20), ("left", "died"), "none"),
    dp.DelayedEntryQuestion("s", "t", "e", dp.Grid(0, 40, cells=20)),
    dp.IntervalCensoredQuestion("s", "t", dp.Grid(0, 40, cells=8)),
    dp.SurvivalModelQuestion("p", "t", "e", dp.Grid(0, 40, cells=2), dp.Grid(0, 1, cells=20), groups=4),
    dp.BarChartQuestion(dp.Categories("a", ("u", "v", "w"))),
    dp.ContingencyQuestion(dp.Categories("a", ("u", "v", "w")), dp.Categories("b", (0, 1))),
    BOUNDS,
    dp.PlaneBoundsQuestion(BOUNDS, dp.BoundsQuestion("y", 2, "0.8")),
    dp.SmoothAucQuestion("label", "score"),
    dp.ModelPairQuestion("label", "score", "other", cells=10),
    dp.ModelComparisonQuestion("label", ("a", "b", "c"), cells=10),
    dp.MulticlassQuestion(dp.Categories("k", (0, 1, 2)), ("a", "b", "c")),
    dp.OrdinalClassesQuestion(dp.Categories("k", (0, 1, 2)), "score"),
    dp.UpliftQuestion("good", "treated_value", "score", dp.Grid(0, 1, cells=20)),
    dp.QuantileForecastsQuestion(("e",), (0.5,), dp.Grid(-1, 1, cells=20)),
    dp.PredictedObservedQuestion("p", "y", dp.Grid(0, 1, cells=4), dp.Grid(0, 1, cells=20)),
    dp.PairwiseScorerQuestion("label", (dp.NumericColumn("score", 0, 1), dp.NumericColumn("other", 0, 1))),
    dp.VerifyQuestion(dp.Categories("y", ("no", "yes")), (YEARS, dp.Categories("c", ("a", "b"))), "c", "b", above=0),
)


def test_every_public_question_has_a_forecast() -> None:
    public = {getattr(dp, name) for name in dir(dp) if name.endswith("Question") and name != "Question"}
    assert len(public) > 15
    assert public == {type(each) for each in QUESTIONS}
    assert all(find_forecast_kind(each).error_label for each in QUESTIONS)


REPEATED = (
    dp.AutoRangeQuantilesQuestion, dp.AutoRangeScoresQuestion, dp.AutoRangeSurvivalQuestion,
    dp.AutoRangeSumQuestion, dp.AutoRangeVarianceQuestion, dp.AutoRangeSummaryQuestion, dp.ScoresQuestion,
    dp.CalibrationQuestion, dp.WeightedSurvivalQuestion, dp.AutoRangeWeightedQuantilesQuestion,
    dp.AutoRangeWeightedSummaryQuestion,
)  # fmt: skip
"""Questions that are answered as others here are, and take long; `make bench` tries these, too."""


def tried(*questions: Any) -> list[Any]:
    """Each question, those that repeat others only by `make bench`."""
    return [pytest.param(each, marks=REPRODUCTION) if isinstance(each, REPEATED) else each for each in questions]


REPRODUCTION = pytest.mark.reproduction


@pytest.mark.quick_share(10)
@pytest.mark.parametrize("question", tried(*QUESTIONS), ids=lambda question: type(question).__name__)
def test_with_next_to_no_noise_hardly_anything_is_off(question: Any) -> None:
    kind = find_forecast_kind(question)
    records = kind.fill_columns(question, next(iter(kind.distributions.values()))(np.random.default_rng(1), 400))
    loud, quiet = (
        dp.forecast(question, dp.PrivacyLoss.pure(epsilon), dp.REPLACE_ONE, like=records, rehearsals=2).high
        for epsilon in ("0.05", "1000")
    )
    assert 0 <= quiet < loud / 3 or (loud == quiet == 0 and isinstance(question, dp.PlaneBoundsQuestion))


@pytest.mark.quick_share(4)
@pytest.mark.parametrize(
    ("question", "adjacency"),
    [
        pytest.param(each, adjacency, marks=[REPRODUCTION] * isinstance(each, REPEATED))
        for each, adjacency in zip(QUESTIONS[:-1], cycle((dp.ADD_REMOVE, dp.REPLACE_ONE)), strict=False)
    ],
    ids=lambda given: type(given).__name__,
)
def test_an_answer_is_the_one_of_a_session(question: Any, adjacency: dp.Neighbours) -> None:
    """From the same random numbers the same values are released, turn by turn; subsets alone depend on a secret key."""
    kind = find_forecast_kind(question)
    records = kind.fill_columns(question, next(iter(kind.distributions.values()))(np.random.default_rng(2), 400))
    with catch_warnings(action="ignore", category=dp.CurveWarning):
        chance = Randomness.from_seed(8)
        asked = dp.Session(records, budget=LOSS, adjacency=adjacency, randomness=chance).ask(question, LOSS)
    rehearsed = next(rehearse_answers(question, records, LOSS, adjacency, 8))
    assert [turn.values for turn in _turns(asked)] == [turn.values for turn in _turns(rehearsed)]


def _turns(curve: Any) -> Any:
    return (curve.x.evidence, curve.y.evidence) if isinstance(curve, dp.PlaneBounds) else curve.rounds


@pytest.mark.reproduction
def test_each_kind_of_records_is_its_own() -> None:
    """Intervals for the population of means of made-up records differ with their deviations."""
    question, loss = dp.MeanQuestion("x", 0, 1), dp.PrivacyLoss.pure(50)
    found = dp.forecast(question, loss, dp.ADD_REMOVE, records=4000, rehearsals=4).expected_errors
    assert len({round(each.population_half_width, 5) for each in found}) == len(found)
    assert max(each.population_half_width for each in found) > 1.3 * min(each.population_half_width for each in found)


def test_it_says_the_error_that_answers_to_the_given_records_have() -> None:
    """A histogram at epsilon 1 of cells that are all well filled: its noise is two-sided geometric of scale 2."""
    values = np.repeat(np.arange(8), 500) / 8
    found = dp.forecast(
        dp.HistogramQuestion("x", SMALL), dp.PrivacyLoss.pure(1), dp.REPLACE_ONE, like={"x": values}, rehearsals=60
    )
    (given,) = found.expected_errors
    assert given.distribution == "the given records"
    assert (
        abs(given.error - 8**0.5) < 4 * given.standard_error + 0.25
    )  # the mean of roots is below the root of the mean


def test_a_forecast_of_area_knows_ties_of_public_scores() -> None:
    label, score = np.array([0, 1] * 400), np.full(800, 0.5)
    question = dp.RocQuestion("label", "score")
    found = dp.forecast(
        question, dp.PrivacyLoss.pure(20), dp.ADD_REMOVE, like={"label": label, "score": score}, rehearsals=2
    )
    assert found.high < 0.01


def test_the_same_generator_says_the_same() -> None:
    asked = dp.HistogramQuestion("x", SMALL), LOSS, dp.ADD_REMOVE
    first, again, other = (
        dp.forecast(*asked, records=300, rehearsals=2, generator=np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert first == again != other
    assert first.low < first.high
    assert str(first).splitlines()[1].startswith("  a hill: ")


def test_no_more_than_a_million_records_are_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpcurves.forecasts.expected_errors.MOST_SIMULATED_RECORDS", 200)
    asked = dp.HistogramQuestion("x", SMALL), LOSS, dp.ADD_REMOVE
    assert dp.forecast(*asked, records=10**12, rehearsals=2).size == 200


@pytest.mark.parametrize(
    ("changed", "argument"),
    [
        ({"records": None}, "records, like"),
        ({"like": {"x": [0.5]}}, "records, like"),
        ({"records": 0}, "records"),
        ({"rehearsals": 1}, "rehearsals"),
        ({"question": dp.CdfQuestion("x", GRID, by=dp.Categories("who", ("a", "b")))}, "question"),
        ({"question": dp.RocQuestion("label", dp.Scorecard("risk", 0.0, (YEARS,), (AGE,)))}, "question"),
        ({"records": None, "like": lambda draw, size: {"x": draw.random(size)}}, "records, like"),
        ({"like": lambda draw, size: {"x": []}}, "like"),
        ({"records": None, "like": {"x": []}}, "like"),
        ({"records": None, "like": {"x": [0.1], "y": [1, 2]}}, "like"),
    ],
    ids=range(10),
)  # fmt: skip
def test_what_can_not_be_forecast_is_refused_by_name(changed: dict[str, Any], argument: str) -> None:
    asked: dict[str, Any] = {"question": QUESTIONS[0], "loss": LOSS, "adjacency": dp.REPLACE_ONE, "records": 100}
    with pytest.raises(ValueError, match=f"^{argument}: "):
        dp.forecast(**{**asked, **changed})


def test_it_foretells_the_interval_that_is_printed() -> None:
    """Half widths of intervals for records and population, of tied, zero-inflated and smooth values: within a tenth."""
    draw = np.random.default_rng(3)
    tables = [
        np.floor(draw.beta(2, 3, 3000) * 40) / 40,
        np.where(draw.random(3000) < 0.3, 0.0, draw.lognormal(-2, 0.7, 3000)).clip(0, 1),
        draw.beta(2, 3, 3000),
    ]
    for values in tables:
        question, like = dp.MeanQuestion("x", 0, 1), {"x": values}
        found = dp.forecast(question, dp.PrivacyLoss.pure(1), dp.REPLACE_ONE, like=like, rehearsals=4)
        asked = [dp.mean(values, bounds=(0, 1), epsilon=1, adjacency=dp.REPLACE_ONE) for _ in range(4)]
        for whom, foretold in (
            (False, found.expected_errors[0].half_width),
            (True, found.expected_errors[0].population_half_width),
        ):
            printed = np.mean([np.diff(each.mean_interval(0.95, population=whom))[0] / 2 for each in asked])
            assert foretold == pytest.approx(float(printed), rel=0.1)


def test_it_says_that_so_few_records_would_tell_nothing() -> None:
    asked = dp.CdfQuestion("x", GRID), dp.PrivacyLoss.pure("0.05"), dp.REPLACE_ONE
    nothing, something = (dp.forecast(*asked, records=size, rehearsals=2) for size in (30, 30_000))
    assert nothing.notes == (str(nothing).splitlines()[-1],)
    assert "a release would be uninformative" in nothing.notes[0]
    assert something.notes == ()
    assert "95% interval ±" in str(something)


def test_records_of_a_distribution_that_is_given_are_drawn_anew() -> None:
    def distribution(draw: np.random.Generator, size: int) -> dict[str, Any]:
        drawn.append(size)
        return {"x": draw.random(size)}

    drawn: list[int] = []
    found = dp.forecast(QUESTIONS[2], LOSS, dp.ADD_REMOVE, records=90, like=distribution, rehearsals=6)
    assert drawn == [90] * 4
    assert [each.distribution for each in found.expected_errors] == ["the given distribution"]


@pytest.mark.reproduction
def test_a_released_curve_says_what_records_are_like() -> None:
    """Forecasts by curves without noise to speak of are those by the records themselves, for each kind of curve."""
    draw, loud = np.random.default_rng(4), dp.PrivacyLoss.pure(1000)
    for asked, released in RELEASED:
        kind = find_forecast_kind(asked)
        records = kind.fill_columns(asked, next(iter(kind.distributions.values()))(draw, 2000))
        with catch_warnings(action="ignore", category=dp.CurveWarning):
            curve = dp.Session(records, budget=loud, adjacency=dp.ADD_REMOVE).ask(released, loud)
        (alike,) = dp.forecast(asked, LOSS, dp.ADD_REMOVE, like=curve, rehearsals=4, generator=draw).expected_errors
        (exact,) = dp.forecast(asked, LOSS, dp.ADD_REMOVE, like=records, rehearsals=4, generator=draw).expected_errors
        assert alike.distribution == f"the released {type(curve).__name__}"
        sure = 5 * np.hypot(alike.standard_error, exact.standard_error)
        assert abs(alike.error - exact.error) < max(sure, 0.1 * exact.error)
        if not np.isnan(exact.population_half_width):
            assert alike.population_half_width == pytest.approx(exact.population_half_width, rel=0.2)


RELEASED: tuple[tuple[Any, Any], ...] = (
    (dp.QuantilesQuestion("x", GRID, (0.25, 0.5)), dp.CdfQuestion("x", GRID)),
    (dp.MeanQuestion("x", 0, 1), dp.HistogramQuestion("x", dp.Grid(0, 1, cells=64))),
    (dp.CalibrationQuestion("label", "score"), dp.ScoresQuestion("label", "score")),
    (dp.SurvivalQuestion("t", "e", dp.Grid(0, 40, cells=40)), dp.SurvivalQuestion("t", "e", dp.Grid(0, 40, cells=40))),
    *(
        (each, each)
        for each in QUESTIONS
        if isinstance(each, dp.ContingencyQuestion | dp.Histogram2DQuestion | dp.BarChartQuestion)
    ),
)


def test_values_that_were_declared_are_drawn_as_they_are() -> None:
    values = dp.Values((1, 2, 5))
    curve = dp.cdf([1, 2, 2, 5] * 300, grid=values, epsilon=1000, adjacency=dp.ADD_REMOVE, label="x")
    distribution, number = distribution_from_curve(dp.MeanQuestion("x", 0, 9), curve, "")
    drawn = distribution(np.random.default_rng(1), 4000)["x"]
    assert set(drawn.tolist()) == {1.0, 2.0, 5.0}
    assert abs(np.mean(drawn == 2) - 0.5) < 0.04
    assert round(number) == 1200


def test_a_curve_of_other_columns_is_refused() -> None:
    curve = dp.cdf([0.1] * 50, grid=GRID, epsilon=1, adjacency=dp.ADD_REMOVE)
    with pytest.raises(ValueError, match="^like: a CDF does not tell the distribution of the records of a RocQuestion"):
        dp.forecast(ROC, LOSS, dp.ADD_REMOVE, like=curve)
    with pytest.raises(TypeError, match="^like: columns of public records, a released curve, or a function"):
        dp.forecast(ROC, LOSS, dp.ADD_REMOVE, like=3)


def test_it_tells_how_far_it_is() -> None:
    told: list[tuple[int, int]] = []
    dp.forecast(QUESTIONS[2], LOSS, dp.ADD_REMOVE, records=50, rehearsals=3, progress=lambda *done: told.append(done))
    assert told == [(number, 15) for number in range(1, 16)]


def test_a_note_names_the_records_of_which_an_answer_says_nothing() -> None:
    expected = tuple(ExpectedError(name, 1.0, 0.1, half) for name, half in (("few", 0.4), ("many", 0.1)))
    found = dp.Forecast("share", 10, 2, expected, "the band", uninformative_width=0.25)
    assert found.notes == ("for few the interval would be as wide as half of all that is possible, or wider",)
    assert dp.Forecast("share", 10, 2, expected, "the band").notes == ()


PICTURED = dp.CdfQuestion, dp.HistogramQuestion, dp.RocQuestion, dp.CalibrationQuestion, dp.SurvivalQuestion


@pytest.mark.reproduction
@pytest.mark.parametrize("question", [each for each in QUESTIONS if isinstance(each, PICTURED)])
def test_its_picture_is_the_expected_curve_in_its_band(question: Any) -> None:
    found = dp.forecast(question, LOSS, dp.REPLACE_ONE, records=900, rehearsals=2)
    for each, curve in zip(found.expected_errors, found.curves, strict=True):
        assert len(curve.x) == len(curve.y) == len(curve.lower) == len(curve.upper)
        assert (curve.lower <= curve.y + 1e-9).all(), each.distribution
        assert (curve.y <= curve.upper + 1e-9).all(), each.distribution
    name = found.expected_errors[0].distribution
    ax = found.plot(name, ax=display.headless_axes())
    assert ax.get_title().startswith(f"{name}, 900 records; ")
    drawn = np.asarray(ax.lines[0].get_xydata())
    assert drawn[:, 1] == pytest.approx(np.interp(drawn[:, 0], found.curves[0].x, found.curves[0].y), nan_ok=True)
    widest = max(found.expected_errors, key=lambda each: each.half_width).distribution
    assert found.plot(ax=display.headless_axes()).get_title().startswith(f"{widest}, ")


@pytest.mark.parametrize(("cells", "tables"), [(1024, 4), (1025, 2)])
def test_on_many_cells_half_as_many_tables_are_opened_and_bands_found(
    monkeypatch: pytest.MonkeyPatch, cells: int, tables: int
) -> None:
    """Both take most of the time of a forecast on many cells; errors come from as many answers."""
    opened, widths = list[object](), list[bool]()
    find_widths = rehearsals.band_half_widths

    def open_and_count(table: object, **options: Any) -> object:
        opened.append(table)
        return open_records(table, **options)

    def find_and_count(curve: Any, population: bool) -> object:
        widths.append(population)
        return find_widths(curve, population)

    monkeypatch.setattr(rehearsals, "open_records", open_and_count)
    monkeypatch.setattr(rehearsals, "band_half_widths", find_and_count)
    question = dp.CdfQuestion("x", dp.Grid(0, 1, cells=cells))
    found = dp.forecast(question, LOSS, dp.REPLACE_ONE, records=300, rehearsals=4)
    assert found.rehearsals == 4
    assert len(opened) == len(VALUE_SAMPLERS) * tables
    assert widths.count(False) == widths.count(True) == len(VALUE_SAMPLERS) * tables


def test_a_distribution_function_on_many_cells_is_rehearsed_on_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rehearsed grid has the ends and the kind of cells of the one that is asked; that one is what is planned."""
    asked = list[Any]()
    rehearse = rehearse_answers

    def rehearse_and_note(question: Any, *setting: Any) -> Any:
        asked.append(question)
        return rehearse(question, *setting)

    monkeypatch.setattr(expected_errors, "rehearse_answers", rehearse_and_note)
    monkeypatch.setattr(expected_errors, "MOST_CURVE_CELLS", 100)
    grid = dp.Grid.geometric(1, 16, cells=4000, outside=dp.Outside.APART)
    found = dp.forecast(dp.CdfQuestion("x", grid), LOSS, dp.REPLACE_ONE, records=300, rehearsals=2)
    assert 0 < found.low < found.high < 1
    for question in asked:
        assert (question.grid.cells, question.grid.outside) == (100, dp.Outside.APART)
        np.testing.assert_allclose(question.grid.edges, np.geomspace(1, 16, 101), rtol=1e-9)
    few, values = dp.Grid(0, 1, cells=100), dp.Grid.from_edges(range(200))
    for kept in (dp.CdfQuestion("x", few), dp.HistogramQuestion("x", grid), dp.CountQuestion()):
        assert expected_errors._merge_cells(kept) is kept
    assert expected_errors._merge_cells(dp.CdfQuestion("x", values)).grid.edges[-1] == 199


def test_the_half_width_is_that_of_the_band_that_is_drawn() -> None:
    question = dp.CdfQuestion("age", dp.Grid(0, 1, cells=32))
    found = dp.forecast(question, LOSS, dp.REPLACE_ONE, records=5000, rehearsals=4)
    for each, curve in zip(found.expected_errors, found.curves, strict=True):
        assert (curve.upper - curve.lower).max() / 2 == pytest.approx(each.half_width, rel=0.02)


def test_a_picture_that_can_not_be_drawn_is_refused() -> None:
    found = dp.forecast(dp.MeanQuestion("age", 0, 1), LOSS, dp.REPLACE_ONE, records=90, rehearsals=2)
    with pytest.raises(ValueError, match="plot: only forecasts of CdfQuestion"):
        found.plot()
    found = dp.forecast(dp.CdfQuestion("age", dp.Grid(0, 1, cells=4)), LOSS, dp.REPLACE_ONE, records=90, rehearsals=2)
    with pytest.raises(ValueError, match="distribution: must be one of a hill"):
        found.plot("a valley")
