"""Questions about survey weights: tiny neighbours lose what was paid for all turns together, exactly."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from exact_loss import unit_loss
from test_refining_loss import answers
from tiny_tables import ADJACENCIES, IntArray, data_sets, neighbours

import dpcurves as dp
from dpcurves.conversation import Plan, Release, Step
from dpcurves.curves import Question
from dpcurves.curves.weighted import SQUARES_FRACTION
from dpcurves.curves.weighted_summary import (
    COUNT_FRACTIONS,
    HALF_RANGE_SQUARE_STEPS,
    HALF_RANGE_STEPS,
    ROUND_FRACTIONS,
)
from dpcurves.data import Axis, Categories, Weights
from dpcurves.distributions import Family, NoisySums
from dpcurves.mechanisms import AUTO
from dpcurves.mechanisms.linear import compute_exact_sums
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import (
    CountUse,
    Query,
    SquaredWeightQuery,
    WeightedQuery,
    WeightedSpreadQuery,
    WeightedSumQuery,
    WeightQuery,
)
from dpcurves.records import open_records, tabulate
from dpcurves.records.engines.engine import CellAmounts, SlotCells
from dpcurves.session import answer_steps
from dpcurves.trust import Central, run_conversation

CAP = 5.0
W = Weights("w", CAP)
GIVEN = (
    0.0,
    -0.0,
    1e-300,
    CAP / 2**17,
    1.3,
    CAP,
    np.nextafter(CAP, 0),
    7.5,
    1e308,
    -1e-9,
    -CAP,
    np.nan,
    np.inf,
    -np.inf,
)
"""Weights: none, tiny, a half step (which is rounded to an even one), inside, the cap, above it, and no weights."""
X, COARSE, ONE = (Axis("x", dp.Grid(0, 2, cells=cells)) for cells in (2, 1, 1))
E = Categories("e", (0, 1))
FAR = tuple(
    WeightedSpreadQuery((ONE,), W, HALF_RANGE_SQUARE_STEPS, (center,))
    for center in (0, 97, -HALF_RANGE_SQUARE_STEPS, HALF_RANGE_SQUARE_STEPS)
)
FAR_BY_CATEGORY = tuple(
    WeightedSpreadQuery((E, ONE), W, HALF_RANGE_SQUARE_STEPS, centers)
    for centers in ((0, 97), (HALF_RANGE_SQUARE_STEPS, -HALF_RANGE_SQUARE_STEPS))
)
QUESTIONS: dict[str, tuple[tuple[tuple[WeightedQuery, ...], Fraction], ...]] = {
    "curve": (
        ((WeightQuery((X,), W, CountUse.PREFIXES),), 1 - SQUARES_FRACTION),
        ((SquaredWeightQuery((COARSE,), W), SquaredWeightQuery((X,), W)), SQUARES_FRACTION),
    ),
    "histogram by category": (
        ((WeightQuery((E, X), W, CountUse.CELLS),), 1 - SQUARES_FRACTION),
        ((SquaredWeightQuery((E, COARSE), W), SquaredWeightQuery((E, X), W)), SQUARES_FRACTION),
    ),
    "survival": (
        ((WeightQuery((E, X), W, CountUse.PREFIXES),), 1 - SQUARES_FRACTION),
        ((SquaredWeightQuery((E, COARSE), W), SquaredWeightQuery((E, X), W)), SQUARES_FRACTION),
    ),
    "summary": (
        ((WeightQuery((ONE,), W, CountUse.CELLS),), ROUND_FRACTIONS[0]),
        ((WeightedSumQuery((ONE,), W, HALF_RANGE_STEPS),), ROUND_FRACTIONS[1]),
        ((SquaredWeightQuery((ONE,), W),), ROUND_FRACTIONS[2]),
        (FAR, ROUND_FRACTIONS[3]),
    ),
    "summary by category": (
        ((WeightQuery((E, ONE), W, CountUse.CELLS),), ROUND_FRACTIONS[0]),
        ((WeightedSumQuery((E, ONE), W, HALF_RANGE_STEPS),), ROUND_FRACTIONS[1]),
        ((SquaredWeightQuery((E, ONE), W),), ROUND_FRACTIONS[2]),
        (FAR_BY_CATEGORY, ROUND_FRACTIONS[3]),
    ),
    "count by category": (
        ((WeightQuery((E, ONE), W, CountUse.CELLS),), COUNT_FRACTIONS[0]),
        ((SquaredWeightQuery((E, ONE), W),), COUNT_FRACTIONS[1]),
    ),
}
"""The turns of each question, with what may be asked in it, by earlier answers, and its share of the loss."""
LEAST: dict[Any, float] = {("summary", ReplaceOne): 0.25, ("summary by category", ReplaceOne): 0.7}
"""No replaced record moves all sums of one cell the most at once: how much of what is paid is lost at the least."""


def counted(query: WeightedQuery, records: list[tuple[float, int, float]]) -> list[int]:
    """The exact table of these records, as a curator counts it."""
    x, e, w = (np.array(column, dtype=float) for column in zip(*records, strict=True)) if records else ([], [], [])
    with open_records({"x": x, "e": e, "w": w}, unit=EACH_RECORD, key=b"key") as opened:
        told: list[int] = tabulate(opened, query).tolist()
        assert told == tabulate(opened, query).tolist()
        return told


@cache
def kinds(name: str) -> tuple[list[Any], list[Any]]:
    """Contributions of a record of each kind to the table of each query; kinds that add the same to all are one."""
    queries = [query for asked, _ in QUESTIONS[name] for query in asked]
    added = set()
    for row in product((-1.0, 0.0, 1.0, 1.7, 2.0, np.nan), (0, 1, np.nan), GIVEN):
        each = []
        for query in queries:
            told = [isinstance(axis, Categories) for axis in query.axes]
            tally = CellAmounts(SlotCells(query.axes, told), query)
            columns = dict(zip("xew", np.array(row)[:, None], strict=True))
            tally.add([columns[str(axis.column)] for axis in query.input_axes])
            each.append(tuple(tally.totals))
        added.add(tuple(each))
    return queries, sorted(added)


def losses(plan: Plan, sets: IntArray, pairs: IntArray, each: Any) -> Any:
    """Exact loss of each pair of neighbours by one turn, as `exact_loss` has it: Python's integers."""
    distribution = plan.distribution
    assert isinstance(distribution, NoisySums)
    tables = sets.astype(object) @ np.array(each, dtype=object)
    released = [compute_exact_sums(table, distribution) for table in tables]
    lost: Any = np.zeros(len(pairs), dtype=object)
    for part, (_, noise) in enumerate(released[0]):
        sums = np.array([found[part][0] for found in released], dtype=object)
        shift = sums[pairs[:, 0]] - sums[pairs[:, 1]]
        moved = abs(shift) if noise.family is Family.LAPLACE else shift**2
        lost = lost + moved.sum(axis=1) * unit_loss(noise)
    return lost


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_tiny_neighbours_lose_at_most_what_was_paid(name: str, adjacency: Adjacency) -> None:
    turns = QUESTIONS[name]
    queries, added = kinds(name)
    few = sorted({*added[:: max(len(added) // 7, 1)], added[0], added[-1]}, key=added.index)
    worst = [max(added, key=lambda one, at=at: max(map(abs, one[at]))) for at in range(len(queries))]  # type: ignore[misc]
    least = min(added, key=lambda one: sum(map(abs, one[0])))
    chosen = list(dict.fromkeys([*few, *worst, least]))
    sets = data_sets(len(chosen), 2 if len(chosen) > 9 else 3)
    pairs = neighbours(sets, adjacency)
    for loss, claimed in ((PrivacyLoss.pure("0.7"), "0.7"), (PrivacyLoss.zcdp("0.3"), "0.3")):
        lost: Any = 0
        for asked, share in turns:
            plans = [AUTO.plan(query, loss * share, adjacency) for query in asked]
            each = [losses(plan, sets, pairs, [one[queries.index(plan.query)] for one in chosen]) for plan in plans]
            lost = lost + np.max(np.array(each, dtype=object), axis=0)  # whichever is asked after earlier answers
        assert LEAST.get((name, type(adjacency)), 0.9) * float(claimed) < max(lost) <= Fraction(claimed)


AUTOMATIC: dict[str, Question[Any]] = {
    "curve": dp.AutoRangeWeightedCdfQuestion("x", "w", CAP),
    "histogram by category": dp.AutoRangeWeightedHistogramQuestion("x", "w", CAP, by=E, cells=3),
    "mean by category": dp.AutoRangeWeightedSummaryQuestion("x", "w", CAP, by=E),
}


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("name", AUTOMATIC)
@pytest.mark.parametrize("adjacency", ADJACENCIES[::2], ids=str)
def test_on_an_automatic_range_tiny_neighbours_lose_what_was_paid_whatever_is_answered(
    name: str, adjacency: Adjacency
) -> None:
    """The losses of all rounds on the cells and bounds that scripted answers choose add up, in closed form.

    Tables are sums over records, so the loss of neighbours follows from the records in which they differ: one, or two.
    """
    rows = [(x, 0, w) for x, w in product((1.7, 1e9, np.nan), (0.0, CAP, np.nan))]
    sets = data_sets(len(rows), 1)
    pairs = neighbours(sets, adjacency)
    for loss, way in ((PrivacyLoss.pure("0.7"), 2), (PrivacyLoss.zcdp("0.3"), 3)):
        plans: list[Plan] = []

        def reply(step: Step, loss: PrivacyLoss = loss, way: int = way, plans: list[Plan] = plans) -> Release:
            """Return an answer of the `way` for the plan of a step, which is kept."""
            plans.append(AUTO.plan(step.query, loss * step.budget_fraction, adjacency))
            distribution = plans[-1].distribution
            assert isinstance(distribution, NoisySums)
            values = answers(distribution.size, len(plans), way)
            return Release(plans[-1], tuple(values.tolist()), allotment=None, seeded=True)

        answer_steps(run_conversation(AUTOMATIC[name], loss, adjacency, Central()), reply)
        added = zip(*(tabulate_record([plan.query for plan in plans], row) for row in rows), strict=True)
        lost: Any = sum(losses(plan, sets, pairs, tables) for plan, tables in zip(plans, added, strict=True))
        claimed = loss.epsilon if loss.epsilon is not None else loss.rho
        assert claimed / 2 < max(lost) <= claimed
        assert len(plans) == 3 + (2 if name != "mean by category" else 5)


def tabulate_record(queries: list[Query], row: tuple[float, int, float]) -> list[list[int]]:
    """Return the exact table of one record for each query."""
    columns = {name: np.array([value], dtype=float) for name, value in zip("xew", row, strict=True)}
    with open_records(columns, unit=EACH_RECORD, key=b"key") as opened:
        return [tabulate(opened, query).tolist() for query in queries]


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_record_adds_at_most_its_sensitivity_whatever_stands_in_its_columns(name: str) -> None:
    queries, added = kinds(name)
    for place, query in enumerate(queries):
        tables = np.array([one[place] for one in added], dtype=object)
        assert abs(tables).sum(axis=1).max() == query.per_record_sensitivity  # the cap is reached, and not passed
        assert query.is_signed or tables.min() == 0
        if isinstance(query, WeightQuery):  # so that the sum of the table is public where the number of records is
            assert set(tables.sum(axis=1)) == {query.per_record_sensitivity}


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("name", QUESTIONS)
def test_tables_are_sums_of_what_records_add_in_any_order_and_batch(name: str) -> None:
    rows = [(x, e, w) for x, e, w in product((0.0, 1.7, np.nan), (0, 1), GIVEN)]
    for query in (asked[-1] for asked, _ in QUESTIONS[name]):
        parts = [counted(query, rows[start::3]) for start in range(3)]
        assert counted(query, rows) == counted(query, rows[::-1]) == np.array(parts, dtype=object).sum(axis=0).tolist()
        assert set(counted(query, [])) == {0}


def test_steps_are_rounded_to_even_and_what_is_no_weight_is_missing() -> None:
    steps = W.to_steps(np.array(GIVEN)).tolist()
    assert steps[:6] == [0, 0, 0, 0, round(1.3 / CAP * Weights.STEPS), Weights.STEPS]
    assert steps[7:] == [Weights.STEPS] * 2 + [-1] * 5
    assert W.to_steps(np.array([1.5, 2.5, 3.5]) * W.step).tolist() == [2, 2, 4]


def test_where_records_are_private_no_total_is_told() -> None:
    query = WeightQuery((X,), W, CountUse.PREFIXES)
    assert (query.public_total(None), query.public_total(3)) == (None, 3 * Weights.STEPS)
    assert SquaredWeightQuery((X,), W).public_total(3) is None
    assert AddRemove(EACH_RECORD).public_record_count is None


def test_a_spread_has_one_center_for_each_row_of_its_table() -> None:
    for centers in ((0,), (0, 0, 0)):
        with pytest.raises(ValueError, match=r"^centers: one center for each row of the table is needed"):
            WeightedSpreadQuery((E, ONE), W, 8, centers)
