"""Records that are parted by two columns: each lies in one cell, and tiny neighbours lose what was paid, exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from exact_loss import worst_loss
from tiny_tables import ADJACENCIES

from dpcurves.conversation import Release
from dpcurves.curves import CdfQuestion, HistogramQuestion, Question, ScoresQuestion, SummaryQuestion
from dpcurves.data import Categories, Grid, Outside
from dpcurves.distributions import NoisySums
from dpcurves.mechanisms import AUTO
from dpcurves.privacy import EACH_RECORD, Adjacency, PrivacyLoss
from dpcurves.queries import CountQuery, CountUse, SumQuery
from dpcurves.records import open_records, tabulate
from dpcurves.trust import Central, run_conversation
from dpcurves_survival import SurvivalQuestion

BY = Categories("sex", ("F", "M")), Categories("ward", (1, 2))
HALVES, ONE_CELL = Grid(0, 1, cells=2), Grid(0, 1, cells=1)
QUESTIONS: dict[str, Question[object]] = {
    "distribution": CdfQuestion("x", HALVES, by=BY),
    "histogram": HistogramQuestion("x", HALVES, by=BY),
    "scores": ScoresQuestion("label", "x", ONE_CELL.with_outside(Outside.CLIPPED), by=BY),
    "summary": SummaryQuestion("x", 0, 1, by=BY),
    "survival": SurvivalQuestion("x", "label", ONE_CELL, by=BY),
}


def asked(question: Question[object], loss: PrivacyLoss, adjacency: Adjacency) -> CountQuery:
    """The counts that it asks for first."""
    query = next(run_conversation(question, loss, adjacency, Central())).query
    assert isinstance(query, CountQuery)
    return query


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_record_lies_in_one_cell_whatever_stands_in_either_column(name: str) -> None:
    """The table counted from the records themselves: declared, undeclared and missing values in every column."""
    kinds = list(product(("F", "M", "X", None), (1, 2, 3, None), (0, 1, 2), (-1.0, 0.25, 1.0, 9.0, np.nan)))
    query = asked(QUESTIONS[name], PrivacyLoss.pure(1), ADJACENCIES[0])
    for kind in kinds[:: 7 if name == "distribution" else 23]:
        columns = {each: [value] for each, value in zip(("sex", "ward", "label", "x"), kind, strict=True)}
        typed = {"sex": np.array(columns["sex"], dtype=object), "ward": np.array(columns["ward"], dtype=np.float64)}
        with open_records({**columns, **typed}, unit=EACH_RECORD, key=b"key") as records:
            assert sorted(tabulate(records, query).tolist())[-2:] == [0, 1]


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize("read", [CountUse.CELLS, CountUse.PREFIXES])
def test_tiny_neighbours_lose_at_most_what_was_paid(read: CountUse, adjacency: Adjacency) -> None:
    for loss, claimed in ((PrivacyLoss.pure("0.7"), "0.7"), (PrivacyLoss.zcdp("0.3"), "0.3")):
        name = "distribution" if read is CountUse.PREFIXES else "histogram"
        query = asked(QUESTIONS[name], loss, adjacency)
        assert (query.use, query.rows, query.cells) == (read, 4, 2)
        distribution = AUTO.plan(query, loss, adjacency).distribution
        assert isinstance(distribution, NoisySums)
        worst = worst_loss(query, distribution, adjacency)
        assert 0.99 * float(claimed) < worst <= Fraction(claimed)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_sums_by_two_columns_lose_at_most_what_was_paid(adjacency: Adjacency) -> None:
    loss = PrivacyLoss.pure("0.7")
    assert loss.epsilon is not None
    steps = run_conversation(QUESTIONS["summary"], loss, adjacency, Central())
    step, spent, queries = next(steps), Fraction(0), list[CountQuery | SumQuery]()
    while not queries or not isinstance(queries[-1], SumQuery):  # values beyond the bounds, counts, sums
        query = step.query
        assert isinstance(query, CountQuery | SumQuery)
        queries.append(query)
        small = SumQuery(query.axes, half=1) if isinstance(query, SumQuery) else query  # a loss is by noise over `half`
        distribution = AUTO.plan(small, loss * step.budget_fraction, adjacency).distribution
        assert isinstance(distribution, NoisySums)
        worst = worst_loss(small, distribution, adjacency)
        assert worst <= loss.epsilon * step.budget_fraction
        spent += worst
        if isinstance(query, CountQuery):
            step = steps.send(Release.make_placeholder(AUTO.plan(query, loss * step.budget_fraction, adjacency)))
    assert [type(query) for query in queries] == [CountQuery, CountQuery, SumQuery]
    assert spent <= loss.epsilon
