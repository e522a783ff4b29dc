"""Residual plots as a whole: on every way they take, tiny neighbours lose what was paid at most.

The distributions of both bounds are enumerated; of counts the loss is known in closed form, for each answer of the
turns before, for they decide what is asked next.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from by_hand import table_of
from exact_loss import losses_of_pairs
from numpy.typing import NDArray
from threshold_distribution import FAR, chance
from tiny_tables import ADJACENCIES, data_sets, neighbours

from dpcurves.conversation import Plan, Release, Step
from dpcurves.curves import ResidualPlotQuestion
from dpcurves.curves.residuals import COUNT_FRACTION, MOST_BOUND_FRACTION, TUNING
from dpcurves.distributions import NoisySums, ThresholdAnswers
from dpcurves.histograms import CellEstimator
from dpcurves.mechanisms import AUTO
from dpcurves.mechanisms.thresholds import compute_differences
from dpcurves.privacy import PUBLIC_MODEL, Adjacency, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import CoverageQuery
from dpcurves.session import plan_question
from dpcurves.trust import Central, run_conversation

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

QUESTION = ResidualPlotQuestion("x", "r", 1, 1, "0.95", PUBLIC_MODEL, cells=2, estimator=CellEstimator())
VALUES = (0.0, 1.5, np.inf, np.nan)  # in all intervals, in all but the first, in none, and missing
RECORDS = list(product(VALUES, VALUES))
SETS = data_sets(len(RECORDS), 2)
CROWD = {(0.0, 0.0): 170, (1.5, 1.5): 20, (np.inf, np.inf): 10}
"""Records that are beside those of a data set where so many are public that bounds spare some."""
CROWDED = ReplaceOne(Unit("patient", 1), sum(CROWD.values()) + 3)
EVERY = (*ADJACENCIES, CROWDED)
COUNTED = (-5, 100, 10**6)
"""Answers of the turn that counts records, if there is one."""
BOUNDS = (0, 1, 63, 64)
"""Answers of the turns of bounds: two narrow ones, the widest, and none."""
LOSSES = {"pure": PrivacyLoss.pure("1.5"), "concentrated": PrivacyLoss.zcdp("0.2")}


def turns(loss: PrivacyLoss, adjacency: Adjacency, counted: int, bounds: tuple[int, int]) -> list[tuple[Step, Plan]]:
    """The turns, where records are counted as so many, and the bounds found so."""
    steps, found, left = run_conversation(QUESTION, loss, adjacency, Central()), list[tuple[Step, Plan]](), list(bounds)
    step = next(steps)
    try:
        while True:
            plan = AUTO.plan(step.query, loss * step.budget_fraction, adjacency)
            found.append((step, plan))
            values = (
                (left.pop(0),) if isinstance(plan.query, CoverageQuery) else (counted,) * (plan.distribution.size or 1)
            )
            step = steps.send(Release(plan, values, allotment=None, seeded=True))
    except StopIteration:
        return found


@cache
def tables(plan: Plan) -> IntArray:
    """The exact table of each tiny data set."""
    x, r = (np.array(column) for column in zip(*RECORDS, strict=True))
    each = np.array([table_of({"x": x[[i]], "r": r[[i]]}, plan.query) for i in range(len(RECORDS))])
    crowd = [CROWD.get(record, 0) * (plan.adjacency == CROWDED) for record in RECORDS]
    return np.asarray((SETS + crowd) @ each)


@cache
def pairs(adjacency: Adjacency) -> IntArray:
    return neighbours(SETS, adjacency)


@cache
def lost_by_sums(plan: Plan) -> FloatArray:
    """What each pair of neighbours loses by one turn of noisy sums: see `exact_loss`."""
    assert isinstance(plan.distribution, NoisySums)
    return losses_of_pairs(tables(plan), plan.distribution, pairs(plan.adjacency))


@cache
def log_chances(distribution: ThresholdAnswers, exact: tuple[int, ...]) -> FloatArray:
    """The logarithm of the chance of each of `BOUNDS`, where records in intervals exceed what is asked by so many."""
    steps = [(bound,) if bound < len(exact) else () for bound in BOUNDS]
    return np.log([chance(np.array(exact), answer, distribution, FAR) for answer in steps])


@cache
def lost_by_bounds(plan: Plan) -> FloatArray:
    """What each pair of neighbours loses by each of `BOUNDS`, ``(answers, pairs)``."""
    assert isinstance(plan.query, CoverageQuery)
    assert isinstance(plan.distribution, ThresholdAnswers)
    compared = plan.query.comparison_matrix
    logs = np.array(
        [log_chances(plan.distribution, tuple(compute_differences(table, compared))) for table in tables(plan)]
    )
    ours, theirs = pairs(plan.adjacency).T
    return np.asarray((logs[ours] - logs[theirs]).T)


def losses(loss: PrivacyLoss, adjacency: Adjacency) -> Iterator[tuple[list[Plan], FloatArray, FloatArray]]:
    """Plans of all turns, what their sums lose, and what the answers of their bounds lose, between all neighbours."""
    for counted, bounds in product(
        COUNTED[::2] if adjacency.public_record_count is None else COUNTED[:1], product(BOUNDS, BOUNDS)
    ):
        found = turns(loss, adjacency, counted, bounds)
        assert sum((step.budget_fraction for step, _ in found), start=Fraction(0)) == 1
        assert len({step.query.charged_query for step, _ in found}) == len(
            found
        )  # each is paid, and has noise of its own
        plans = [plan for _, plan in found]
        asked = [plan for plan in plans if isinstance(plan.query, CoverageQuery)]
        sums = np.sum([lost_by_sums(plan) for plan in plans if plan not in asked], axis=0)
        answers = [lost_by_bounds(plan)[BOUNDS.index(answer)] for plan, answer in zip(asked, bounds, strict=True)]
        yield plans, sums, np.sum(answers, axis=0)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("adjacency", EVERY, ids=repr)
def test_a_pure_loss_is_never_exceeded_by_any_answers(adjacency: Adjacency) -> None:
    worst = max(float((abs(told) + sums).max()) for _, sums, told in losses(LOSSES["pure"], adjacency))
    assert 0.9 < worst <= 1.5 + 1e-9


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("adjacency", EVERY, ids=repr)
def test_a_concentrated_loss_is_never_exceeded(adjacency: Adjacency) -> None:
    """Bounds lose an epsilon, whose half square is their part of rho; sums lose theirs in closed form."""
    for plans, sums, _ in losses(LOSSES["concentrated"], adjacency):
        asked = [lost_by_bounds(plan) for plan in plans if isinstance(plan.query, CoverageQuery)]
        rho = sums + sum(np.abs(each).max(axis=0) ** 2 / 2 for each in asked)
        assert float(rho.max()) <= 0.2 + 1e-9


@pytest.mark.parametrize("adjacency", EVERY, ids=repr)
def test_a_private_number_of_records_is_counted_first(adjacency: Adjacency) -> None:
    """What was counted, or is public, decides what bounds get and what they spare: a quarter, and an eighth at most."""
    seen = set()
    for counted in COUNTED:
        found = [step for step, _ in turns(LOSSES["pure"], adjacency, counted, (1, 1))]
        shares = [step.budget_fraction for step in found if isinstance(step.query, CoverageQuery)]
        spared = {step.query.spare for step in found if isinstance(step.query, CoverageQuery)}
        assert shares[0] == shares[1] <= MOST_BOUND_FRACTION
        assert len(spared) == 1
        assert (
            max(spared)
            <= max(counted if adjacency.public_record_count is None else adjacency.public_record_count, 0)
            / TUNING.spared_records
        )
        assert (found[0].budget_fraction == COUNT_FRACTION) == (adjacency.public_record_count is None)
        assert isinstance(found[0].query, CoverageQuery) == (adjacency.public_record_count is not None)
        seen.add((shares[0], *spared))
    assert (len(seen) > 2) == (adjacency.public_record_count is None)


def test_bounds_spare_records_where_their_number_is_public_and_large() -> None:
    """So that the losses above are of such bounds, too."""
    (_, plan), *_ = turns(LOSSES["pure"], CROWDED, 0, (1, 1))
    assert isinstance(plan.query, CoverageQuery)
    assert plan.query.spare == 20


@pytest.mark.parametrize("adjacency", EVERY, ids=repr)
def test_a_plan_says_where_bounds_depend_on_a_count(adjacency: Adjacency) -> None:
    notes = plan_question(QUESTION, LOSSES["pure"], adjacency).notes
    assert [note.startswith("round 1 counts the records") for note in notes] == [True] * (
        adjacency.public_record_count is None
    )
