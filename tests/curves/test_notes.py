from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import dpcurves as dp
from dpcurves.curves.result import Result, notes_on_width
from dpcurves.histograms import CellEstimator, DawaEstimator
from dpcurves.noise.randomness import Randomness

mpl.use("Agg")
GRID = dp.Grid(0, 10, cells=8)
WORDS = ["yes", "no"] * 500


def text_as_numbers() -> dp.CDF:
    with pytest.warns(dp.CurveWarning):
        return dp.cdf(WORDS, grid=GRID, epsilon=1, adjacency=dp.REPLACE_ONE, label="answer")


def test_a_note_is_a_warning_at_the_line_that_asked() -> None:
    with pytest.warns(dp.CurveWarning, match="nearly all records are missing") as told:
        dp.cdf(WORDS, grid=GRID, epsilon=1, adjacency=dp.REPLACE_ONE)
    assert {warning.filename for warning in told} == {__file__}


def test_a_note_stands_on_the_curve_its_picture_its_summary_and_its_file() -> None:
    curve = text_as_numbers()
    note, nothing = curve.notes
    assert "next to nothing" in nothing
    footnote = " ".join(text.get_text() for text in curve.plot().texts).replace("\n", " ")
    assert f"Note: {note[:60]}" in footnote
    assert note[:60] in curve._repr_html_()
    assert dp.CDF.from_json(curve.to_json()).notes == (note, nothing)


def test_a_first_look_at_noise_does_not_say_that_nearly_all_is_missing() -> None:
    """Three of ten records have a value; the last of all turns tells that well."""
    values = [float(place) for place in range(600)] + [float("nan")] * 1400
    for seed in (5, 13):
        drawn = dp.Randomness.from_seed(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            curve = dp.cdf(values, epsilon=1, adjacency=dp.ADD_REMOVE, randomness=drawn)
        (note,) = (each for each in curve.notes if "missing" in each)
        assert re.fullmatch("about [67].% of the records are missing, by the released count; .*", note)


def test_survival_and_scores_say_that_no_range_stood_out() -> None:
    for size, said in ((0, True), (3000, False)):
        numbers, classes = [3.0] * size, [0, 1] * (size // 2)
        loss: dict[str, Any] = {"grid": "auto", "epsilon": 1, "adjacency": dp.ADD_REMOVE}
        with warnings.catch_warnings(action="ignore"):
            found = [
                ask(one, other, **loss, randomness=dp.Randomness.from_seed(1))
                for ask, one, other in ((dp.survival, numbers, classes), (dp.scores, classes, numbers))
            ]
        assert [any("no range was significant" in note for note in each.notes) for each in found] == [said, said]


def test_what_is_well_has_no_note() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve = dp.cdf([1.0, 5.0, 7.0] * 500, grid=GRID, epsilon=1, adjacency=dp.REPLACE_ONE)
    assert curve.notes == ()


def test_every_result_prints_as_one_short_line() -> None:
    curve = dp.cdf([1.0, 5.0] * 500, grid=dp.Grid(0, 10, cells=4096), epsilon=1, adjacency=dp.REPLACE_ONE)
    assert repr(curve) == "CDF(value, 4096 cells, epsilon 1, replace-one)"
    assert all("__repr__" not in kind.__dict__ for kind in Result.__subclasses__())


SCORES = [0.2, 0.7] * 500


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("ask", [dp.roc_curve, dp.calibration_curve, dp.hosmer_lemeshow])
def test_a_label_that_finds_nobody_is_told_of_from_released_counts(ask: Callable[..., Any]) -> None:
    paid: dict[str, Any] = {"epsilon": 200, "adjacency": dp.REPLACE_ONE}  # at 2, one of 300 releases counts somebody
    with pytest.warns(dp.CurveWarning, match="nearly all records are missing"):
        both = ask(WORDS, SCORES, **paid)
    assert any("records of neg_label 0 and of pos_label 1 cannot be told from none" in note for note in both.notes)
    with pytest.warns(dp.CurveWarning, match="records of pos_label 'Yes' cannot be told from none"):
        ask(WORDS, SCORES, pos_label="Yes", neg_label="no", **paid)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(WORDS, SCORES, pos_label="yes", neg_label="no", **paid)


def test_a_note_on_a_crowded_end_names_counting_apart_first_and_then_nothing_is_amiss() -> None:
    """Wages that begin in one cell: the first quartile is not below the grid if nothing was clipped."""
    wages = [0.3] * 600 + [float(2 + place % 9) for place in range(1400)]
    asked: dict[str, Any] = {"epsilon": 20, "adjacency": dp.REPLACE_ONE}
    with pytest.warns(dp.CurveWarning, match='outside="apart" .* too narrow'):
        clipped = dp.quantiles(wages, [0.25], grid=dp.Grid(0.25, 20.25, cells=40), **asked)
    assert clipped.intervals(0.9)[0, 0] == float("-inf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        apart = dp.quantiles(wages, [0.25], grid=dp.Grid(0.25, 20.25, cells=40, outside=dp.Outside.APART), **asked)
    assert apart.intervals(0.9)[0].tolist() == [0.25, 0.75]


FEW: dict[str, list[float]] = {"x": SCORES[:30], "label": [1.0, 0.0] * 15}
QUESTIONS = {
    "the band at every edge": dp.CdfQuestion("x", dp.Grid(0, 1, cells=16)),
    "the band at every false positive rate": dp.RocQuestion("label", "x"),
    "the interval of each group": dp.CalibrationQuestion("label", "x"),
    "the band at every time": dp.SurvivalQuestion("x", "label", dp.Grid(0, 1, cells=8)),
}


@pytest.mark.quick_share(8)
@pytest.mark.parametrize(("where", "question"), QUESTIONS.items())
@pytest.mark.parametrize("adjacency", [dp.REPLACE_ONE, dp.ADD_REMOVE])
def test_a_curve_that_tells_no_more_than_none_says_so_and_one_that_tells_more_does_not(
    where: str, question: Any, adjacency: dp.Neighbours
) -> None:
    """Thirty records at epsilon 0.01 tell nothing; three thousand at epsilon 20 have noise of a thousandth at most."""
    for table, epsilon in ((FEW, "0.01"), ({name: each * 100 for name, each in FEW.items()}, "20")):
        loss = dp.PrivacyLoss.pure(epsilon)
        randomness = Randomness.from_seed(5)
        with (
            warnings.catch_warnings(action="ignore", category=dp.CurveWarning),
            dp.Session(table, budget=loss, adjacency=adjacency, randomness=randomness) as session,
        ):
            curve = session.ask(question, loss)
        said = f"{where} is wider than 0.5: this release says next to nothing about the curve"
        assert (said in curve.notes) == (epsilon == "0.01")
        assert type(curve).from_json(curve.to_json()).notes == curve.notes


@pytest.mark.parametrize("adjacency", [dp.REPLACE_ONE, dp.ADD_REMOVE], ids=["replace-one", "add-remove"])
def test_notes_on_the_band_of_many_groups_agree_with_all_draws_without_simulating_each_curve(
    adjacency: dp.Neighbours,
) -> None:
    """Groups of 1 to 160 records: a few draws decide, and estimates are computed when they are read.

    A note is true of the band of all draws, and is there if that band is wider by an eighth. Seeds are fixed.
    """
    sizes = [round(1.09**number) for number in range(60)]
    group = np.repeat(np.arange(60), sizes)
    table = {"g": group, "x": np.random.default_rng(3).beta(2, 5, len(group))}
    question = dp.CdfQuestion("x", dp.Grid(0, 1, cells=64), by=dp.Categories("g", tuple(range(60))))
    terms: dict[str, Any] = {
        "budget": dp.PrivacyLoss.pure(1),
        "adjacency": adjacency,
        "randomness": Randomness.from_seed(4),
    }
    with warnings.catch_warnings(action="ignore"), dp.Session(table, **terms) as session:
        curves = list(session.ask(question, dp.PrivacyLoss.pure(1)).values())
    assert not any("y" in vars(curve) for curve in curves)
    assert sum(bool(curve._cache) for curve in curves) < 0.1 * len(curves)
    kinds = set()
    for curve in curves:
        lower, upper = curve._noise_band(0.95, None)
        wide = [note for note in curve.notes if note.startswith("the band")]
        possible = [
            list(notes_on_width(factor * (upper - lower)[1:-1], "the band at every edge", "the band at most edges"))
            for factor in (1.0, 8 / 9)
        ]
        assert wide in possible
        kinds |= {note[:16] for note in wide}
    assert kinds == {"the band at ever", "the band at most"}


@pytest.mark.parametrize("adjacency", [dp.REPLACE_ONE, dp.ADD_REMOVE], ids=["replace-one", "add-remove"])
@pytest.mark.parametrize("outside", dp.Outside)
@pytest.mark.parametrize("shape", ["smooth", "heaped", "zeros"])
def test_few_errors_in_single_precision_are_those_of_the_first_draws(
    shape: str, outside: dp.Outside, adjacency: dp.Neighbours
) -> None:
    """Curves of 3 to 300 records, so that some totals are near zero: errors agree up to rounding."""
    draw = np.random.default_rng(5)
    sizes = (3, 30, 300)
    group = np.repeat(np.arange(3), sizes)
    smooth = draw.beta(2, 5, len(group))
    values = {"smooth": smooth, "heaped": smooth.round(1), "zeros": np.where(draw.random(len(group)) < 0.7, 0, smooth)}
    question = dp.CdfQuestion("x", dp.Grid(0, 1, cells=40, outside=outside), by=dp.Categories("g", (0, 1, 2)))
    terms: dict[str, Any] = {
        "budget": dp.PrivacyLoss.pure(1), "adjacency": adjacency, "randomness": Randomness.from_seed(6)
    }  # fmt: skip
    table = {"g": group, "x": values[shape]}
    with warnings.catch_warnings(action="ignore"), dp.Session(table, **terms) as session:
        curves = list(session.ask(question, dp.PrivacyLoss.pure(1)).values())
    for curve in curves:
        exact = np.concatenate(list(curve.prefixes.simulate_share_errors(None)))[:400]
        few = curve.prefixes.simulate_few_share_errors(400)
        assert few.shape == exact.shape == (400, np.count_nonzero(curve.prefixes.measured_edges))
        np.testing.assert_allclose(few, exact, rtol=1e-4, atol=1e-5 * np.abs(exact).max())
        assert not few[:, np.abs(exact).max(axis=0) < 1e-12].any()


UNIT = dp.Grid(0, 1, cells=8)
WITHOUT_A_BAND = (
    dp.ModelPairQuestion("y", "x", "s", UNIT, UNIT, cells=8),
    dp.UpliftQuestion("y", "t", "x", UNIT),
    dp.QuantileForecastsQuestion(("r",), (0.5,), dp.Grid(-2, 2, cells=8)),
    dp.CompetingRisksQuestion("x", "cause", UNIT, (1, 2)),
    dp.IntervalCensoredQuestion("x", "later", UNIT),
    dp.SurvivalModelQuestion("x", "s", "y", dp.Grid(0, 0.5, cells=4), UNIT, groups=2),
)


@pytest.mark.parametrize("question", WITHOUT_A_BAND, ids=lambda question: type(question).__name__)
@pytest.mark.parametrize("adjacency", [dp.REPLACE_ONE, dp.ADD_REMOVE], ids=["replace-one", "add-remove"])
def test_five_records_have_a_note_and_a_picture_of_unknown_numbers_and_many_records_have_none(
    question: Any, adjacency: dp.Neighbours
) -> None:
    for size, loss in ((5, dp.PrivacyLoss.pure("0.3")), (6000, dp.PrivacyLoss.pure(1))):
        generator = np.random.default_rng(size)
        x = generator.beta(2, 3, size).round(generator.choice([1, 5]))
        table = {
            "x": x, "s": 0.7 * x + 0.3 * generator.random(size), "y": generator.random(size) < x,
            "t": np.arange(size) % 2, "r": generator.normal(0, 1, size), "cause": np.arange(size) % 3,
            "later": x + 0.1,
        }  # fmt: skip
        with (
            warnings.catch_warnings(action="ignore"),
            dp.Session(table, budget=loss, adjacency=adjacency, randomness=Randomness.from_seed(7)) as session,
        ):
            result = session.ask(question, loss)
        is_unknown = size == 5
        assert any("next to nothing" in note for note in result.notes) == is_unknown
        if is_unknown:
            figure = result.plot_headless(level=0.95, population=False).figure
            texts = " ".join(text.get_text() for axes in figure.axes for text in axes.texts).replace("\n", " ")
            assert texts.count("next to nothing") == 1
            assert type(result).from_json(result.to_json()).notes == result.notes


@pytest.mark.parametrize("adjacency", [dp.REPLACE_ONE, dp.ADD_REMOVE], ids=["replace-one", "add-remove"])
@pytest.mark.parametrize("estimator", [None, CellEstimator(), DawaEstimator()], ids=["default", "cells", "DAWA"])
def test_a_plane_of_five_records_says_so_in_its_notes_and_its_picture_and_one_of_many_does_not(
    estimator: Any, adjacency: dp.Neighbours
) -> None:
    question = dp.Histogram2DQuestion("x", "y", UNIT, UNIT, estimator=estimator)
    for size, loss in ((5, dp.PrivacyLoss.pure("0.3")), (600, dp.PrivacyLoss.pure(1))):
        generator = np.random.default_rng(size)
        x, y = generator.random((2, size))
        with (
            warnings.catch_warnings(action="ignore"),
            dp.Session(
                {"x": x, "y": y}, budget=loss, adjacency=adjacency, randomness=Randomness.from_seed(7)
            ) as session,
        ):
            result = session.ask(question, loss)
        texts = " ".join(text.get_text() for text in result.plot_headless(level=0.95, population=False).texts)
        for words in (" ".join(result.notes), texts.replace("\n", " ")):
            assert words.count("next to nothing") == (size == 5)


@pytest.mark.parametrize(
    "question",
    [
        dp.BoundsQuestion("x", 1, "0.9"),
        dp.PlaneBoundsQuestion(dp.BoundsQuestion("x", 1, "0.9"), dp.BoundsQuestion("y", 1, "0.9")),
    ],
    ids=["one column", "two columns"],
)
@pytest.mark.parametrize("adjacency", [dp.REPLACE_ONE, dp.ADD_REMOVE], ids=["replace-one", "add-remove"])
def test_bounds_that_may_hold_no_record_of_a_public_number_say_so(question: Any, adjacency: dp.Neighbours) -> None:
    for size, loss in ((5, dp.PrivacyLoss.pure("0.3")), (600, dp.PrivacyLoss.pure(1))):
        table = {name: np.random.default_rng(size).normal(0, 4, size) for name in ("x", "y")}
        terms: dict[str, Any] = {"adjacency": adjacency, "randomness": Randomness.from_seed(7)}
        with warnings.catch_warnings(action="ignore"), dp.Session(table, budget=loss, **terms) as session:
            result = session.ask(question, loss)
        texts = " ".join(text.get_text() for text in result.plot_headless(level=0.95, population=False).texts)
        for words in (" ".join(result.notes), texts.replace("\n", " ")):
            assert words.count("next to nothing") == (size == 5 and adjacency is dp.REPLACE_ONE)
