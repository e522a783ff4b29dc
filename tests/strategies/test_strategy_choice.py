"""Every workload has a strategy, and a new trust model is a file of its own: curves read whatever answers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
import pytest
from by_hand import table_of

import dpcurves as dp
from dpcurves.arguments import WrongArgumentType
from dpcurves.conversation import (
    WHOLE_BUDGET,
    Plan,
    PrefixWorkload,
    Release,
    Setting,
    Step,
    Strategy,
    TableCounts,
    UnsupportedQuery,
    Workload,
)
from dpcurves.conversation import workload as workloads
from dpcurves.curves import Question
from dpcurves.ledger import Grant, QuestionBudget
from dpcurves.mechanisms import AUTO
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import PartitionQuery, Query
from dpcurves.session import ask_with_budget, plan_question
from dpcurves.strategies import choose_strategy
from dpcurves.strategies.choice import ADAPTIVE_STRATEGIES, ONE_ROUND_STRATEGIES
from dpcurves.trust import Central
from dpcurves_parties.shares.function_shares import FunctionShares

Answer = TypeVar("Answer")
HUGE, WHO = PrivacyLoss.pure(10**7), ReplaceOne(EACH_RECORD, 900)
CHANCE = np.random.default_rng(4)
X = CHANCE.beta(2, 5, 900)
TABLE: Mapping[str, Any] = {"x": X, "r": CHANCE.normal(0, 1, 900), "y": (CHANCE.random(900) < X).astype(np.int64)}
GRID = dp.Grid(0, 1, cells=16)


@dataclass(frozen=True)
class Halvings:
    """Counts along a grid by two nested tilings, all else on cells that are known beforehand. It knows no curve."""

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        if isinstance(workload, PrefixWorkload) and workload.method is None:
            return cast("Strategy[Answer]", _halved(workload))
        return choose_strategy(ONE_ROUND_STRATEGIES, workload, Setting(loss, adjacency))

    def plan_query(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        return replace(AUTO.plan(query, loss, adjacency), made_by="halvings: two tilings")


def _halved(workload: PrefixWorkload) -> Strategy[TableCounts]:
    cells = workload.axes[-1].slots
    query = PartitionQuery(workload.axes, (range(0, cells, 2), range(cells)))
    return TableCounts.from_last_release([(yield Step(query, WHOLE_BUDGET))])


def answered(question: Question[Any]) -> Any:
    budget, chance = QuestionBudget(Grant("by hand", HUGE, "test", 1)), Randomness.from_seed(1)

    def reply(step: Step, allotment: Any) -> Release:
        plan = Halvings().plan_query(step.query, allotment.loss, WHO)
        return Release(plan, AUTO.run(table_of(TABLE, step.query), plan, chance), allotment, seeded=True)

    return ask_with_budget(question, WHO, Halvings(), budget, reply)


def test_every_workload_has_a_strategy_of_either_kind() -> None:
    kinds = {each for each in vars(workloads).values() if isinstance(each, type) and issubclass(each, Workload)}
    assert set(ONE_ROUND_STRATEGIES) == set(ADAPTIVE_STRATEGIES) == kinds - {Workload}
    for strategies in (ONE_ROUND_STRATEGIES, ADAPTIVE_STRATEGIES):
        with pytest.raises(WrongArgumentType, match=r"a workload is needed, as CellWorkload\(axes\), not a Workload"):
            choose_strategy(strategies, Workload(), Setting(HUGE, WHO))


def test_a_trust_model_with_a_way_of_its_own_is_read_by_curves_that_do_not_know_it() -> None:
    curve = answered(dp.CdfQuestion("x", GRID, by=dp.Categories("y", (0, 1))))[1]
    assert curve.privacy.trust == "halvings"
    assert curve.y == pytest.approx([(X[TABLE["y"] == 1] < edge).mean() for edge in GRID.edges], abs=1e-3)
    scores, plain = answered(dp.ScoresQuestion("y", "x", GRID)), answered(dp.RocQuestion("y", "x", GRID))
    assert scores.value("auc") == pytest.approx(plain.auc, abs=1e-3)
    assert answered(dp.SurvivalQuestion("x", "y", GRID)).y[0] == 1
    groups = answered(dp.CalibrationQuestion("y", "x", groups=4, grid=GRID))
    assert groups.count.sum() == pytest.approx(900, abs=1)


def test_named_methods_are_played_by_whoever_can_ask_their_queries() -> None:
    question = dp.CdfQuestion("x", GRID, method=dp.QuantilePartition(4))
    assert len(plan_question(question, PrivacyLoss.pure(1), WHO, Central())) == 2
    assert len(plan_question(question, PrivacyLoss.pure(1), WHO, Halvings())) == 2
    with pytest.raises(UnsupportedQuery, match="counts of two servers cannot answer"):
        plan_question(question, PrivacyLoss.pure(1), WHO, FunctionShares())


def test_two_servers_count_the_cells_of_a_plane_as_they_are() -> None:
    question = dp.Histogram2DQuestion("x", "r", GRID, dp.Grid(-3, 3, cells=8))
    (plan,) = plan_question(question, PrivacyLoss.pure(1), WHO, FunctionShares())
    assert plan.query.shape == (16, 8)
    counts = answered(question)
    expected = np.histogram2d(X, np.clip(TABLE["r"], -3, 3), bins=(GRID.edges, np.linspace(-3, 3, 9)))[0]
    assert counts.count == pytest.approx(expected, abs=0.01)
