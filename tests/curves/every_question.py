"""Seeded answers to every question and estimator, and to what is smoothed, as text that can be compared."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import numpy as np
from baselines import NoisyBuckets, path_graph, regular_bounds

import dpcurves as dp
from dpcurves.conversation import WHOLE_BUDGET, Release, Setting
from dpcurves.curves import Question
from dpcurves.data import Axis
from dpcurves.histograms import AhpEstimator, DawaEstimator
from dpcurves.mechanisms import AUTO, Mechanism
from dpcurves.privacy import EACH_RECORD, AddRemove
from dpcurves.queries import IntervalPartitionQuery
from dpcurves.smoothing import AtMost, project_isotonic_l1, project_isotonic_l2

GRID, LOSS, WHO = dp.Grid(0, 1, cells=64), dp.PrivacyLoss.pure(1), AddRemove(EACH_RECORD)
AXIS = (Axis("x", GRID),)
CHANCE = np.random.default_rng(1)
X = CHANCE.beta(2, 5, 600)
TABLE = {"x": X, "r": CHANCE.normal(0, 1, 600), "y": CHANCE.integers(0, 2, 600), "w": np.arange(600) % 3}
COUNTS = np.bincount(GRID.cell_of(X), minlength=65)
ERRORS = dp.BoundsQuestion("r", 0.25, "0.9")

QUESTIONS: tuple[Question[object], ...] = (
    dp.CdfQuestion("x", GRID),
    dp.CdfQuestion("x", GRID, by=dp.Categories("y", (0, 1))),
    dp.CdfQuestion("x", GRID, hint=dp.Hint.ATOMS),
    dp.CdfQuestion("x", GRID, method=dp.AdaptivePartition()),
    dp.CdfQuestion("x", GRID, method=dp.QuantilePartition(6)),
    dp.CdfQuestion("x", GRID, method=dp.Bisection(3)),
    dp.QuantilesQuestion("x", GRID, (0.25, 0.5)),
    dp.AutoRangeCdfQuestion("r"),
    dp.AutoRangeQuantilesQuestion("x", (0.25, 0.5)),
    dp.AutoRangeScoresQuestion("y", "r"),
    dp.AutoRangeSurvivalQuestion("x", "y"),
    dp.AutoRangeHistogramQuestion("r"),
    dp.AutoRangeSumQuestion("r"),
    dp.AutoRangeMeanQuestion("r"),
    dp.AutoRangeVarianceQuestion("r"),
    dp.AutoRangeSummaryQuestion("r"),
    dp.HistogramQuestion("x", GRID),
    dp.Histogram2DQuestion("x", "r", GRID, dp.Grid(-3, 3, cells=8)),
    dp.CdfQuestion("x", GRID, edges=(7, 50)),
    dp.QuantilesQuestion("x", GRID, (0.5,), search=0.9),
    dp.RocQuestion("y", "x", GRID, edges=(7, 50)),
    *(dp.RocQuestion("y", "x", thresholds=cuts) for cuts in dp.RocThresholds),
    dp.ScoresQuestion("y", "x"),
    dp.SmoothAucQuestion("y", "x"),
    dp.CalibrationQuestion("y", "x", groups=4),
    dp.HosmerLemeshowQuestion("y", "x", groups=4),
    dp.BinnedResidualsQuestion("y", "x", model=dp.PUBLIC_MODEL),
    dp.BarChartQuestion(dp.Categories("w", (0, 2))),
    dp.ContingencyQuestion(dp.Categories("y", (0, 1)), dp.Categories("w", (0, 1, 2))),
    dp.ModelPairQuestion("y", "x", "r", GRID, dp.Grid(-2, 2, cells=8), cells=8),
    dp.ModelComparisonQuestion("y", ("x", "r", "w"), dp.Grid(-2, 2, cells=8), cells=8),
    dp.MulticlassQuestion(dp.Categories("w", (0, 1, 2)), ("x", "r", "y")),
    dp.OrdinalClassesQuestion(dp.Categories("w", (0, 1, 2)), "x"),
    dp.UpliftQuestion("y", "w", "x", GRID),
    dp.QuantileForecastsQuestion(("r",), (0.5,), dp.Grid(-2, 2, cells=8)),
    dp.PredictedObservedQuestion("x", "r", dp.Grid(0, 1, cells=4), dp.Grid(-2, 2, cells=8)),
    dp.PairwiseScorerQuestion("y", (dp.NumericColumn("x", 0, 1), dp.NumericColumn("r", -2, 2))),
    dp.SurvivalQuestion("x", "y", GRID),
    dp.WeightedCdfQuestion("x", GRID, "w", 2),
    dp.WeightedHistogramQuestion("x", GRID, "w", 2),
    dp.WeightedQuantilesQuestion("x", GRID, (0.25, 0.5), "w", 2),
    dp.WeightedSummaryQuestion("r", -2, 2, "w", 2),
    dp.WeightedSurvivalQuestion("x", "y", GRID, "w", 2),
    dp.AutoRangeWeightedCdfQuestion("r", "w", 2),
    dp.AutoRangeWeightedHistogramQuestion("r", "w", 2),
    dp.AutoRangeWeightedQuantilesQuestion("r", (0.25, 0.5), "w", 2),
    dp.AutoRangeWeightedSummaryQuestion("r", "w", 2),
    dp.CompetingRisksQuestion("x", "w", GRID, (1, 2)),
    dp.DelayedEntryQuestion("r", "x", "y", GRID),
    dp.IntervalCensoredQuestion("r", "x", dp.Grid(0, 1, cells=8)),
    dp.SurvivalModelQuestion("x", "r", "y", dp.Grid(0, 1, cells=2), dp.Grid(0, 1, cells=8), groups=2),
    dp.SummaryQuestion("r", -2, 2),
    dp.SummaryQuestion("x", 0, 1, by=dp.Categories("y", (0, 1)), moments=1),
    dp.CountQuestion("r"),
    dp.SumQuestion("r", 0, 2),
    dp.MeanQuestion("r", -2, 2),
    dp.VarianceQuestion("x", 0, 1, by=dp.Categories("y", (0, 1))),
    ERRORS,
    dp.PlaneBoundsQuestion(dp.BoundsQuestion("x", 0.25, "0.9"), ERRORS),
    dp.ResidualPlotQuestion("x", "r", 0.25, 0.25, "0.9", model=dp.PUBLIC_MODEL),
    dp.VerifyQuestion(dp.Categories("y", (0, 1)), (dp.NumericColumn("x", 0, 1),), "x", above=-1e6, subsets=20),
)


def of_question(question: Question[object]) -> str:
    session = dp.Session(
        TABLE, budget=LOSS, adjacency=dp.ADD_REMOVE, randomness=dp.Randomness.from_seed(5), dataset="made"
    )
    curve = session.ask(question, LOSS, request="once")
    to_json: Callable[[], str] = getattr(curve, "to_json", lambda: repr(curve))
    return to_json()


def of_buckets(mechanism: Mechanism) -> str:
    plan = mechanism.plan(IntervalPartitionQuery(AXIS, tuple(range(64))), LOSS, WHO)
    return str(mechanism.run(COUNTS, plan, dp.Randomness.from_seed(6)))


def of_estimator(estimator: AhpEstimator | DawaEstimator) -> str:
    steps = estimator.estimate_table(AXIS, Setting(LOSS, WHO), WHOLE_BUDGET)
    try:
        step = next(steps)
        while True:
            plan = AUTO.plan(step.query, LOSS * step.budget_fraction, WHO)
            drawn = AUTO.run(COUNTS, plan, dp.Randomness.from_seed(7))
            step = steps.send(Release(plan, drawn, None, seeded=True))
    except StopIteration as end:
        return str(end.value.cells.tolist())


def answers(step: int = 1) -> dict[str, str]:
    """By name; what is asked of the same kind is numbered. With a step, those of every so many questions."""
    asked = list(enumerate(QUESTIONS))[::step]
    found = {f"{number} {type(each).__name__}": of_question(each) for number, each in asked}
    found |= {type(each).__name__: of_buckets(each) for each in (AUTO, NoisyBuckets())}
    found |= {type(each).__name__: of_estimator(each) for each in (AhpEstimator(), DawaEstimator())}
    noisy, graph = np.round(CHANCE.normal(np.arange(64), 9)), path_graph(regular_bounds(64, 2), [1.0] * 7)
    smoothed = (smooth(noisy, graph, AtMost(64.0)).tolist() for smooth in (project_isotonic_l2, project_isotonic_l1))
    return found | {"smoothed": str(list(smoothed))}


if __name__ == "__main__":
    json.dump(answers(int(sys.argv[-1])), sys.stdout)
