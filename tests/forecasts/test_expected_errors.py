from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.forecasts.kinds import KINDS

LOSS = dp.PrivacyLoss.pure("0.5")
GRID = dp.Grid(0, 1, cells=32)
SMALL = dp.Grid(0, 1, cells=8)
BOUNDS = dp.BoundsQuestion("x", 1, "0.9")
QUESTIONS = (
    dp.CdfQuestion("x", GRID),
    dp.QuantilesQuestion("x", GRID, (0.25, 0.5)),
    dp.HistogramQuestion("x", GRID),
    dp.RocQuestion("label", "score", pos_label="yes", neg_label="no"),
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
    dp.ContingencyQuestion(dp.Categories("a", ("u", "v", "w")), dp.Categories("b", (0, 1))),
)


def test_there_is_a_question_of_each_kind() -> None:
    assert {type(each) for each in QUESTIONS} == set(KINDS)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: type(question).__name__)
def test_with_next_to_no_noise_hardly_anything_is_off(question: Any) -> None:
    kind = KINDS[type(question)]
    records = kind.columns(question, next(iter(kind.laws.values()))(np.random.default_rng(1), 600))
    loud, quiet = (
        dp.forecast(question, dp.PrivacyLoss.pure(epsilon), dp.REPLACE_ONE, like=records, rehearsals=2).high
        for epsilon in ("0.05", "1000")
    )
    assert 0 <= quiet < loud / 3


def test_it_says_the_error_that_answers_to_the_given_records_have() -> None:
    """A histogram at epsilon 1 of cells that are all well filled: its noise is two-sided geometric of scale 2."""
    values = np.repeat(np.arange(8), 500) / 8
    found = dp.forecast(
        dp.HistogramQuestion("x", SMALL), dp.PrivacyLoss.pure(1), dp.REPLACE_ONE, like={"x": values}, rehearsals=60
    )
    (given,) = found.expected
    assert given.records == "the given records"
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
    monkeypatch.setattr("dpcurves.forecasts.expected_errors.MOST_RECORDS", 200)
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
        ({"question": BOUNDS}, "question"),
        ({"records": None, "like": {"x": []}}, "like"),
        ({"records": None, "like": {"x": [0.1], "y": [1, 2]}}, "like"),
    ],
    ids=range(8),
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
        found = dp.forecast(question, dp.PrivacyLoss.pure(1), dp.REPLACE_ONE, like=like, rehearsals=8)
        asked = [dp.mean(values, bounds=(0, 1), epsilon=1, adjacency=dp.REPLACE_ONE) for _ in range(12)]
        for whom, foretold in ((False, found.expected[0].half_width), (True, found.expected[0].population)):
            printed = np.mean([np.diff(each.mean_interval(0.95, population=whom))[0] / 2 for each in asked])
            assert foretold == pytest.approx(float(printed), rel=0.1)


def test_it_says_that_so_few_records_would_tell_nothing() -> None:
    asked = dp.CdfQuestion("x", GRID), dp.PrivacyLoss.pure("0.05"), dp.REPLACE_ONE
    nothing, something = (dp.forecast(*asked, records=size, rehearsals=2) for size in (30, 30_000))
    assert nothing.notes == (str(nothing).splitlines()[-1],)
    assert "next to nothing" in nothing.notes[0]
    assert something.notes == ()
    assert "95% interval ±" in str(something)
