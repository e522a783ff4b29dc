"""Questions that judge models: tiny neighbours lose what was paid for all turns together, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from exact_loss import worst_loss
from tiny_tables import ADJACENCIES

import dpcurves as dp
from dpcurves.conversation import Release
from dpcurves.curves import Question
from dpcurves.distributions import NoisySums
from dpcurves.mechanisms import AUTO
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import CountQuery
from dpcurves.trust import Central, run_conversation

ONE, TWO = dp.Grid(0, 1, cells=1), dp.Values((-1.0, 1.0))
QUESTIONS: dict[str, Question[object]] = {
    "pair": dp.ModelPairQuestion("y", "a", "b", ONE, dp.Values((0.0, 1.0)), cells=2),
    "pair one by one": dp.ModelPairQuestion("y", "a", "b", ONE, dp.Values((0.0, 1.0)), cells=2, releases=2),
    "models in pairs": dp.ModelComparisonQuestion("y", ("a", "b", "c"), ONE, cells=2, releases="pairs"),
    "models one by one": dp.ModelComparisonQuestion("y", ("a", "b", "c"), ONE, cells=2, releases="scores"),
    "several": dp.MulticlassQuestion(dp.Categories("k", (0, 1, 2)), ("a", "b", "c"), grid=ONE),
    "ordered": dp.OrdinalClassesQuestion(dp.Categories("k", (0, 1, 2)), "a", ONE),
    "uplift": dp.UpliftQuestion("o", "t", "a", ONE),
    "quantiles": dp.QuantileForecastsQuestion(("a", "b"), (0.1, 0.9), TWO),
    "observed": dp.PredictedObservedQuestion("a", "b", TWO, TWO),
}


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_tiny_neighbours_lose_at_most_what_was_paid(name: str, adjacency: Adjacency) -> None:
    for loss, claimed in ((PrivacyLoss.pure("0.7"), "0.7"), (PrivacyLoss.zcdp("0.3"), "0.3")):
        lost, steps = Fraction(0), run_conversation(QUESTIONS[name], loss, adjacency, Central())
        step = next(steps)
        try:
            while True:
                assert isinstance(step.query, CountQuery)
                plan = AUTO.plan(step.query, loss * step.budget_fraction, adjacency)
                assert isinstance(plan.distribution, NoisySums)
                lost += worst_loss(step.query, plan.distribution, adjacency)
                step = steps.send(Release.make_placeholder(plan))
        except StopIteration:
            assert 0.97 * float(claimed) < lost <= Fraction(claimed)
