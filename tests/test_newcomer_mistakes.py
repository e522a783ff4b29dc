"""First guesses of people who are new: accepted, or answered with the words that help; and cards in notebooks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import dpcurves as dp
from dpcurves.curves.question_json import question_from_json

GRID = dp.Grid(0, 100, cells=16)
AGES = pd.Series(np.arange(2000.0) % 100, name="age")
SEXES = ["F", "M"] * 1000
ONE: dict[str, Any] = {"epsilon": 1, "adjacency": dp.ADD_REMOVE}


def test_all_missing_arguments_are_named_with_a_call_that_works() -> None:
    with pytest.raises(TypeError, match="missing 2 required keyword-only arguments: 'bounds', 'adjacency'") as refused:
        dp.mean(AGES)  # type: ignore[call-arg]
    call = str(refused.value).partition("a complete call: ")[2]
    assert "dp.REPLACE_ONE (the number of records is public)" in str(refused.value)
    assert eval(call, {"dp": dp, "values": AGES}).count > 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: dp.mean(AGES, lower=0, upper=1, **ONE),  # type: ignore[call-arg]
            r"'lower': both ends are one argument, bounds=\(lower, upper\)",
        ),
        (
            lambda: dp.roc_curve([0, 1], np.ones((2, 2)), **ONE),
            r"y_score: the array has two columns; .* scores\[:, 1\]",
        ),
        (
            lambda: dp.roc_curve(np.array(["no", "yes"]), [0.1, 0.9], **ONE),
            'pos_label: .*pos_label="yes", neg_label="no"',
        ),
        (lambda: dp.MeanQuestion("age", bounds=(0, 1, 2)), "bounds: two numbers are needed"),
        (lambda: question_from_json({"ask": "mean", "column": "age", "bounds": "0-1"}), "bounds: two numbers"),
        (
            lambda: question_from_json({"ask": "count", "column": "age", "by": {"sex": ["F", "M"]}}),
            "^by: column and categories are needed",
        ),
        (
            lambda: dp.count(AGES, **ONE).with_source(""),
            "source: a name and a version are needed, in up to 200 printable characters, as in 'visits@2025'$",
        ),
        (lambda: dp.read_result(""), "^path: the path of a file is needed, as in 'result.csv'$"),
        (
            lambda: dp.read_result(dp.count(AGES, **ONE).to_json()),
            "^path: got the text of a result; give the path of the file that holds it$",
        ),
        (lambda: dp.read_result(__file__), "^path: the text is no JSON: use the text that to_json wrote$"),
    ],
)
def test_a_wrong_guess_is_told_what_helps(call: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        call()


def test_bounds_have_one_spelling_that_says_what_two_fields_say() -> None:
    for kind in (dp.SumQuestion, dp.MeanQuestion, dp.VarianceQuestion, dp.SummaryQuestion):
        assert kind("age", bounds=(0, 90)) == kind("age", 0, 90)
    written = {"ask": "mean", "column": "age"}
    assert question_from_json({**written, "bounds": "0:90"}) == question_from_json({**written, "bounds": [0, 90]})
    assert question_from_json({**written, "lower": 0, "upper": 90}) == dp.MeanQuestion("age", 0, 90)


def test_a_series_names_the_axis() -> None:
    assert dp.histogram(AGES, grid=GRID, **ONE).label == "age"
    assert dp.histogram(AGES, grid=GRID, label="value", **ONE).label == "value"
    assert dp.histogram(AGES.to_list(), grid=GRID, **ONE).label == "value"
    ill = pd.Series([0, 1] * 1000, name="ill")
    assert dp.roc_curve(ill, AGES.rename("risk") / 100, **ONE)._title() == "ROC curve of risk for ill"
    assert dp.roc_curve(ill, AGES.rename("ill") / 100, **ONE)._title() == "ROC curve of y_score for y_true"


def test_a_session_and_its_results_print_what_is_left() -> None:
    table, two = {"age": AGES, "sex": SEXES}, dp.PrivacyLoss.pure(2)
    with dp.Session(table, budget=two, adjacency=dp.ADD_REMOVE) as session:
        mean = session.ask(
            dp.MeanQuestion("age", 0, 100, by=dp.Categories("sex", ("F", "M"))), dp.PrivacyLoss.pure("0.5")
        )
        assert repr(session).endswith("budget epsilon 2, spent epsilon 0.5, remaining epsilon 1.5)")
        card = session._repr_html_()
        assert "mean of age by sex" in card
        assert "<td>epsilon 1.5</td>" in card
    own = mean._repr_html_()
    assert "epsilon 1.5 of epsilon 2 remained after this" in own
    assert "95% interval for these records" in own
    assert " to " in own.partition("<td>F</td>")[2].partition("</tr>")[0]
    assert "was left" not in mean.to_json()
    assert "was left" not in dp.mean(AGES, bounds=(0, 100), **ONE)._repr_html_()


def test_declared_data_stand_on_every_picture_and_file_and_no_hash_of_the_data_does() -> None:
    question, one = dp.CdfQuestion("age", GRID), dp.PrivacyLoss.pure(1)
    curves = []
    for records in (AGES, AGES):
        table = {"age": records}
        with dp.Session(table, budget=one, adjacency=dp.ADD_REMOVE, source="Ages, version 2") as session:
            curves.append(session.ask(question, one))
    first, second = (curve.privacy.source for curve in curves)
    assert first.startswith("Ages, version 2 (release ")
    assert first != second  # of the same records: it tells releases apart, and nothing of the data
    curve = curves[0]
    assert first in dp.CDF.from_json(curve.to_json()).privacy.source
    assert first in curve.to_csv_text().splitlines()[1]
    below = [text.get_text() for text in curve.plot().figure.findobj(Text)]
    assert any("Data: Ages, version 2" in " ".join(text.split()) for text in below)
    for other in (
        dp.quantiles(AGES, grid=GRID, **ONE), dp.roc_curve([0, 1] * 1000, AGES / 100, **ONE),
        dp.scores([0, 1] * 1000, AGES / 100, **ONE), dp.calibration_curve([0, 1] * 1000, AGES / 100, **ONE),
        dp.bounds(AGES, unit=1, coverage="0.9", **ONE), dp.survival(AGES, [0, 1] * 1000, grid=GRID, **ONE),
    ):  # fmt: skip
        told = other.with_source("Ages, version 2")
        assert told.privacy.source.startswith("Ages, version 2 (release ")
        assert type(told).from_json(told.to_json()).privacy.source == told.privacy.source
        assert told.to_csv_text().replace(f',"{told.privacy.source}"', "").replace(",data", "") == other.to_csv_text()
    assert "source" not in dp.cdf(AGES, grid=GRID, **ONE).to_json().partition('"privacy"')[2].partition("}")[0]


def test_a_study_has_words_for_its_readers_and_asks_the_same() -> None:
    asked = """
    epsilon = 4
    {words}
    [[question]]
    ask = "mean"
    column = "age"
    bounds = "0:100"
    by = [{{column = "sex", categories = ["F", "M"]}}]
    [[question]]
    ask = "contingency"
    rows = {{column = "sex", categories = ["F", "M"]}}
    columns = {{column = "class", categories = ["a", "b"]}}
    """
    words = """
    title = "Ages"
    source = "Ages, version 2"
    labels = {age = "Age in years", sex = "Sex"}
    categories = {sex = {F = "Women"}}
    """
    plain, told = dp.Study.from_text(asked.format(words="")), dp.Study.from_text(asked.format(words=words))
    assert [plain.request(each) for each in plain.questions] == [told.request(each) for each in told.questions]
    table = {"age": AGES, "sex": SEXES, "class": ["a", "b"] * 1000}
    with dp.Session(table, budget=dp.PrivacyLoss.pure(4), adjacency=dp.ADD_REMOVE) as session:
        (_, mean), (_, counts) = told.ask(session)
    assert list(mean) == ["Women", "M"]
    assert (mean.column, mean["Women"].label) == ("Sex", "Age in years")
    assert counts._title() == "Records by Sex and class"
    assert counts.rows.values == ("Women", "M")
    assert mean.privacy.source.startswith("Ages, version 2 (release ")
    assert type(mean).from_json(mean.to_json()).to_json() == mean.to_json()
    with pytest.raises(ValueError, match="categories: two categories would have the same label"):
        mean.with_labels({}, {"Sex": {"Women": "M"}})
    with pytest.raises(ValueError, match="labels: a table from names of columns"):
        dp.Study.from_text(asked.format(words='labels = "Age"'))


def test_crowded_grids_and_few_records_are_noted() -> None:
    incomes = np.random.default_rng(1).lognormal(10, 1, 3000)
    with pytest.warns(dp.CurveWarning, match="nearly all records lie in . of 100 cells"):
        dp.cdf(incomes, grid=dp.Grid(0, 5e6, cells=100), **ONE)
    with pytest.warns(dp.CurveWarning, match="too few records for this loss"):
        dp.cdf(AGES[:60], grid=dp.Grid(0, 100, cells=64), epsilon=0.5, adjacency=dp.ADD_REMOVE, randomness=SEEDED)


SEEDED = dp.Randomness.from_seed(3)
