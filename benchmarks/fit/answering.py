"""Questions about scores, answered in process: mechanisms and reading are the product's, without ledger and engine."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcurves.curves import Question
from dpcurves.data import Axis, Grid, Outside
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
    axis = query.axes[-1]
    if not isinstance(axis, Axis):
        raise TypeError("axes: the last one is a column of numbers")
    places = _first_of_each_slot(records.score, axis.grid)
    if isinstance(query, SumQuery):
        distances = axis.grid.offset_of(records.score, query.half)
        return _rows(distances, records.label, places, query.rows).astype(object)
    return _rows(np.ones(len(records.score), dtype=np.int64), records.label, places, query.rows)


def _first_of_each_slot(rising: NDArray[np.float64], grid: Grid) -> NDArray[np.int64]:
    """Where, among rising scores, the ones of each slot begin; and how many scores there are."""
    inner = grid.boundary(np.arange(1, grid.slots))
    first = np.searchsorted(rising, inner, side="left")
    if grid.outside is Outside.APART:  # the upper end is inside
        first[-1] = np.searchsorted(rising, inner[-1], side="right")
    return np.concatenate(([0], first, [len(rising)]))


def _rows(each: NDArray[np.int64], label: NDArray[np.int64], places: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Sums over the records of each slot: of all, or of negatives and then positives; and nobody who is missing."""
    parts = [each] if rows == 1 else [each * (1 - label), each * label]
    below = [np.concatenate(([0], np.cumsum(part)))[places] for part in parts]
    return np.concatenate([*map(np.diff, below), [0]])
