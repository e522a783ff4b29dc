"""Whatever was written as JSON is read as what it was, also where several results have one form."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.curves.result import result_from_json

GRID, LOSS = dp.Grid(0, 1, cells=8), dp.PrivacyLoss.pure(8)
CHANCE = np.random.default_rng(1)
TABLE = {"x": CHANCE.random(200), "z": CHANCE.normal(0, 1, 200), "y": CHANCE.integers(0, 2, 200)}
BY = dp.Categories("y", (0, 1))
QUESTIONS = (
    dp.CdfQuestion("x", GRID),
    dp.CdfQuestion("x", GRID, by=BY),
    dp.HistogramQuestion("x", GRID, by=BY),
    dp.SummaryQuestion("x", 0, 1, by=BY),
    dp.ScoresQuestion("y", "x", by=BY),
    dp.PlaneBoundsQuestion(dp.BoundsQuestion("x", 0.25, "0.5"), dp.BoundsQuestion("z", 0.25, "0.5")),
)


def answered(question: dp.Question[object]) -> object:
    with dp.Session(TABLE, budget=LOSS, adjacency=dp.REPLACE_ONE) as session:
        return session.ask(question, LOSS)


@pytest.mark.filterwarnings("ignore::dpcurves.CurveWarning")
def test_a_result_is_read_as_one_of_its_own_class() -> None:
    results = [answered(question) for question in QUESTIONS]
    results.append(results[1][0].quantile_quantile(results[1][1], [0.25, 0.5]))  # type: ignore[index]
    for result in results:
        read = result_from_json(result.to_json())  # type: ignore[attr-defined]
        assert type(read) is type(result)
        assert read.to_json() == result.to_json()


@pytest.mark.filterwarnings("ignore::dpcurves.CurveWarning")
def test_what_no_result_wrote_is_refused() -> None:
    stored = json.loads(answered(QUESTIONS[1]).to_json())  # type: ignore[attr-defined]
    stored["evidence"]["question"] = {}
    with pytest.raises(InvalidArgument, match="no result is of the kind 'curves'"):
        result_from_json(json.dumps(stored))
    with pytest.raises(InvalidArgument):
        result_from_json(json.dumps({"kind": "curves"}))
