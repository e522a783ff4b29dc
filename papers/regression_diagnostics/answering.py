"""Questions answered in process: mechanisms and reading are the package's, without its ledger and its engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcurves.conversation import Release, Setting, Step
from dpcurves.curves import Question
from dpcurves.data import Axis, Categories
from dpcurves.ledger import Grant, QuestionBudget
from dpcurves.mechanisms import AUTO
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
from dpcurves.queries import Query
from dpcurves.session import answer_steps
from dpcurves.trust import Central, run_conversation

Curve = TypeVar("Curve")
Columns = Mapping[str, NDArray[np.float64]]
DIGITS = 12


def answer(question: Question[Curve], columns: Columns, epsilon: float, seed: int) -> Curve:
    """The curve that a session would give under replace-one, where the number of records is public."""
    steps = run_conversation(question, _loss(epsilon), _adjacency(columns), Central())
    return answer_steps(steps, replies(columns, epsilon, seed))


def setting(columns: Columns, epsilon: float) -> Setting:
    """What is public."""
    return Setting(_loss(epsilon), _adjacency(columns))


def replies(columns: Columns, epsilon: float, seed: int) -> Callable[[Step], Release]:
    """Each step answered from exact tables, with noise, out of one budget."""
    budget, randomness = QuestionBudget(Grant("paper", _loss(epsilon), "paper", 1)), Randomness.from_seed(seed)
    adjacency = _adjacency(columns)

    def reply(step: Step) -> Release:
        allotment = budget.pay(step.query.charged_query, step.budget_fraction)
        plan = AUTO.plan(step.query, allotment.loss, adjacency)
        return Release(plan, AUTO.run(table_of(columns, step.query), plan, randomness), allotment, seeded=True)

    return reply


def table_of(columns: Columns, query: Query) -> NDArray[np.int64]:
    """The exact counts of a query. No record is missing."""
    place = np.zeros(_records(columns), dtype=np.int64)
    for axis in query.axes:
        place = place * axis.slots + _cells(axis, columns[axis.column])
    return np.bincount(place, minlength=query.rows * query.cells + 1).astype(np.int64)


def _cells(axis: Axis | Categories, values: NDArray[np.float64]) -> NDArray[np.int64]:
    if isinstance(axis, Axis):
        return axis.grid.cell_of(values)
    return np.asarray(np.argmax([values == category for category in axis.values], axis=0))


def _loss(epsilon: float) -> PrivacyLoss:
    return PrivacyLoss.pure(f"{epsilon:.{DIGITS}g}")


def _adjacency(columns: Columns) -> ReplaceOne:
    return ReplaceOne(EACH_RECORD, _records(columns))


def _records(columns: Columns) -> int:
    return len(next(iter(columns.values())))
