"""Questions answered in process: mechanisms and reading are the product's, without its ledger and its engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcurves.conversation import Evidence, Release, Step
from dpcurves.curves import Question
from dpcurves.data import Axis
from dpcurves.ledger import Grant, QuestionBudget
from dpcurves.mechanisms import AUTO, Mechanism
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne
from dpcurves.queries import PartitionQuery, Query
from dpcurves.session import answer_steps
from dpcurves.trust import Central, run_conversation

from .data import Sample

Curve = TypeVar("Curve")
COLUMN = "x"


def answer(
    question: Question[Curve],
    sample: Sample,
    loss: PrivacyLoss,
    seed: int,
    mechanism: Mechanism = AUTO,
    *,
    adjacency: AddRemove | ReplaceOne | None = None,
) -> Curve:
    """The curve that a session would give; if not said otherwise under replace-one: the number of records is public."""
    asked = _replace_one(sample) if adjacency is None else adjacency
    return answer_steps(
        run_conversation(question, loss, asked, Central()), _replies(sample, loss, seed, mechanism, asked)
    )


def counts_of_partition(question: Question[object], sample: Sample, loss: PrivacyLoss, seed: int) -> Evidence:
    """What a question is told about the partition that it asks for first, before it reads a curve from that."""
    adjacency = _replace_one(sample)
    steps = run_conversation(question, loss, adjacency, Central())
    reply = _replies(sample, loss, seed, AUTO, adjacency)
    step = next(steps)
    while not isinstance(step.query, PartitionQuery):
        step = steps.send(reply(step))
    steps.close()
    return Evidence.from_release(reply(step))


def _replace_one(sample: Sample) -> ReplaceOne:
    return ReplaceOne(EACH_RECORD, sample.records)


def _replies(
    sample: Sample, loss: PrivacyLoss, seed: int, mechanism: Mechanism, adjacency: AddRemove | ReplaceOne
) -> Callable[[Step], Release]:
    budget, randomness = QuestionBudget(Grant("benchmark", loss, "benchmark", 1)), Randomness.from_seed(seed)

    def reply(step: Step) -> Release:
        allotment = budget.pay(step.query.charged_query, step.budget_fraction)
        plan = mechanism.plan(step.query, allotment.loss, adjacency)
        values = mechanism.run(table_of(sample, step.query), plan, randomness)
        return Release(plan, values, allotment, seeded=True)

    return reply


def table_of(sample: Sample, query: Query) -> NDArray[np.int64]:
    """The exact table of a query along the one column. No record is missing."""
    (axis,) = query.axes
    if not isinstance(axis, Axis):
        raise TypeError("axes: one column of numbers is needed")
    if axis.grid == sample.grid:
        return np.append(sample.counts, 0)
    cells = axis.grid.cell_of(sample.middles)
    return np.bincount(cells, weights=sample.counts, minlength=axis.slots + 1).astype(np.int64)
