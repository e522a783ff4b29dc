"""Questions about times until an event: tiny neighbours lose what was paid for all turns together, exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from exact_loss import worst_loss
from tiny_tables import ADJACENCIES

import dpcurves as dp
from dpcurves.conversation import Release
from dpcurves.curves import Question
from dpcurves.mechanisms import AUTO
from dpcurves.privacy import EACH_RECORD, Adjacency, PrivacyLoss
from dpcurves.queries import CountQuery, PartitionQuery
from dpcurves.records import open_records, tabulate
from dpcurves.trust import Central, run_conversation

ONE = dp.Grid(0, 1, cells=1)
QUESTIONS: dict[str, Question[object]] = {
    "competing": dp.CompetingRisksQuestion("t", "e", ONE, (1, 2), 0),
    "delayed": dp.DelayedEntryQuestion("s", "t", "e", ONE),
    "between": dp.IntervalCensoredQuestion("s", "t", ONE),
    "model": dp.SurvivalModelQuestion("s", "t", "e", ONE, dp.Grid(0, 1, cells=2), groups=2),
}


def asked(question: Question[object], loss: PrivacyLoss, adjacency: Adjacency) -> list[tuple[Any, Fraction]]:
    """All queries of a rehearsal, with their shares of the loss."""
    steps, found = run_conversation(question, loss, adjacency, Central()), list[tuple[Any, Fraction]]()
    step = next(steps)
    try:
        while True:
            assert isinstance(step.query, CountQuery | PartitionQuery)  # of entries of few records
            found.append((step.query, step.budget_fraction))
            step = steps.send(Release.make_placeholder(AUTO.plan(step.query, loss * step.budget_fraction, adjacency)))
    except StopIteration:
        return found


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_tiny_neighbours_lose_at_most_what_was_paid(name: str, adjacency: Adjacency) -> None:
    for loss, claimed in ((PrivacyLoss.pure("0.7"), "0.7"), (PrivacyLoss.zcdp("0.3"), "0.3")):
        lost = Fraction(0)
        for query, share in asked(QUESTIONS[name], loss, adjacency):
            distribution: Any = AUTO.plan(query, loss * share, adjacency).distribution
            lost += worst_loss(query, distribution, adjacency)
        assert 0.97 * float(claimed) < lost <= Fraction(claimed)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_record_lies_in_one_cell_of_each_table_whatever_stands_in_its_columns(name: str) -> None:
    kinds = list(product((-1.0, 0.5, np.inf, np.nan), (-1.0, 0.25, 9.0, np.nan), (0, 1, 2, 3)))
    for query, _ in asked(QUESTIONS[name], PrivacyLoss.pure(1), ADJACENCIES[0]):
        for kind in kinds[::7]:
            columns = {each: np.array([value]) for each, value in zip(("s", "t", "e"), kind, strict=True)}
            with open_records(columns, unit=EACH_RECORD, key=b"key") as records:
                assert sorted(tabulate(records, query).tolist())[-2:] == [0, 1]
