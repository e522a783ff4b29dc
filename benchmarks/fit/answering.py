"""Questions about scores, answered in process: mechanisms and reading are the product's, without ledger and engine."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcurves.curves import Question
from dpcurves.data import Axis
from dpcurves.ledger import Grant, QuestionBudget
from dpcurves.mechanisms import AUTO
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import Query, SumQuery
from dpcurves.release import Release, Setting, Step
from dpcurves.session import converse

from .scores import Table

Curve = TypeVar("Curve")
LABEL, SCORE = "label", "score"


def answer(question: Question[Curve], records: Table, loss: PrivacyLoss, adjacency: Adjacency, seed: int) -> Curve:
    """The curve that a session would give."""
    budget, randomness = QuestionBudget(Grant("benchmark", loss, "benchmark", 1)), Randomness.from_seed(seed)

    def reply(step: Step) -> Release:
        allotment = budget.pay(step.query.paid_as, step.share)
        plan = AUTO.plan(step.query, allotment.loss, adjacency)
        return Release(plan, AUTO.run(table_of(records, step.query), plan, randomness), allotment, seeded=True)

    return converse(question.steps(Setting(loss, adjacency, adaptive=True)), reply)


def table_of(records: Table, query: Query) -> NDArray[np.object_] | NDArray[np.int64]:
    """The exact table of a query of scores, or of labels and scores. No record is missing."""
    axis, size = query.axes[-1], query.rows * query.cells
    if not isinstance(axis, Axis):
        raise TypeError("axes: the last one is a column of numbers")
    place = axis.grid.cell_of(records.score) + (records.label * query.cells if query.rows > 1 else 0)
    if not isinstance(query, SumQuery):
        return np.bincount(place, minlength=size + 1).astype(np.int64)
    sums = np.zeros(size + 1, dtype=np.int64)
    np.add.at(sums, place, axis.grid.offset_of(records.score, query.half))
    return sums.astype(object)
