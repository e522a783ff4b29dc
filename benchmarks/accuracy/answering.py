"""Questions answered in process: mechanisms and reading are the product's, without its ledger and its engine."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcurves.curves import Question
from dpcurves.data import Axis, Query
from dpcurves.ledger import Grant, Purse
from dpcurves.mechanisms import AUTO, Mechanism
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
from dpcurves.release import Release, Setting, Step
from dpcurves.session import converse

from .data import Sample

Curve = TypeVar("Curve")
COLUMN = "x"


def answer(
    question: Question[Curve], sample: Sample, loss: PrivacyLoss, seed: int, mechanism: Mechanism = AUTO
) -> Curve:
    """The curve that a session would give under replace-one, where the number of records is public."""
    purse, randomness = Purse(Grant("benchmark", loss, "benchmark", 1)), Randomness.from_seed(seed)
    adjacency = ReplaceOne(EACH_RECORD, sample.records)

    def reply(step: Step) -> Release:
        payment = purse.pay(step.query.paid_as, step.share)
        plan = mechanism.plan(step.query, payment.loss, adjacency)
        values = mechanism.run(table_of(sample, step.query), plan, randomness)
        return Release(plan, values, payment, seeded=True)

    return converse(question.steps(Setting(loss, adjacency, adaptive=True)), reply)


def table_of(sample: Sample, query: Query) -> NDArray[np.int64]:
    """The exact table of a query along the one column. No record is missing."""
    (axis,) = query.axes
    if not isinstance(axis, Axis):
        raise TypeError("axes: one column of numbers is needed")
    if axis.grid == sample.grid:
        return np.append(sample.counts, 0)
    cells = axis.grid.cell_of(sample.middles)
    return np.bincount(cells, weights=sample.counts, minlength=axis.slots + 1).astype(np.int64)
