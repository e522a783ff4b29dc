"""Questions answered without a session: tables are counted by NumPy, noise is drawn by the chosen mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, Decimal
from operator import add
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcurves.conversation import Release, Step
from dpcurves.curves import Question
from dpcurves.data import Axis, Categories, LatticeAxis, OpenEndedAxis, OrderedAxis, Outside, SelectedCategories
from dpcurves.data.axis import Predictor
from dpcurves.ledger import Grant, QuestionBudget
from dpcurves.mechanisms import AUTO
from dpcurves.mechanisms.auto import LINEAR_CHOICE
from dpcurves.noise.randomness import InProcessMemory, Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import PrefixQuery, Query, SquareQuery, SumQuery
from dpcurves.session import answer_steps
from dpcurves.trust import Central, run_conversation
from dpcurves_parties.shares.function_shares import FunctionShares

Curve = TypeVar("Curve")
Columns = Mapping[str, ArrayLike]


def answer(question: Question[Curve], columns: Columns, loss: PrivacyLoss, adjacency: Adjacency, seed: int) -> Curve:
    """The curve that a session would give, without its ledger and its database."""
    budget, randomness = QuestionBudget(Grant("by hand", loss, "test", 1)), Randomness.from_seed(seed)
    memory = InProcessMemory()

    def reply(step: Step) -> Release:
        allotment = budget.pay(step.query.charged_query, step.budget_fraction)
        plan = AUTO.plan(step.query, allotment.loss, adjacency)
        if isinstance(step.query, PrefixQuery):
            counts = AUTO.answer(_counter(columns, step.query), plan, memory, randomness)
            return Release(plan, counts, allotment, seeded=True)
        return Release(plan, AUTO.run(table_of(columns, step.query), plan, randomness), allotment, seeded=True)

    return answer_steps(run_conversation(question, loss, adjacency, Central()), reply)


def answer_of_two_servers(
    question: Question[Curve], columns: Columns, loss: PrivacyLoss, units: int, seed: int
) -> Curve:
    """What two servers would make of shared records: the exact table, and the noise of each of them."""
    budget, randomness, adjacency = (
        QuestionBudget(Grant("by hand", loss, "test", 1)),
        Randomness.from_seed(seed),
        both(units)[1],
    )

    def reply(step: Step) -> Release:
        allotment = budget.pay(step.query.charged_query, step.budget_fraction)
        plan, alone = (
            FunctionShares().plan_query(step.query, allotment.loss, adjacency),
            LINEAR_CHOICE.plan(step.query, allotment.loss, adjacency),
        )
        table = table_of(columns, step.query)
        halves = [LINEAR_CHOICE.run(each, alone, randomness) for each in (table, np.zeros_like(table))]
        return Release(plan, tuple(map(add, *halves)), allotment, seeded=True)

    return answer_steps(run_conversation(question, loss, adjacency, FunctionShares()), reply)


def _counter(columns: Columns, query: PrefixQuery) -> Callable[[tuple[int, ...]], list[int]]:
    """Counts of records below thresholds, and of missing ones."""
    places = np.sort(_places(columns, query))
    missing = len(places) - int(np.searchsorted(places, query.slots))
    return lambda at: [*np.searchsorted(places, at).tolist(), missing]


def both(units: int) -> tuple[Adjacency, Adjacency]:
    """Both adjacencies, each record on its own."""
    return AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, units)


def table_of(columns: Columns, query: Query) -> NDArray[Any]:
    """The exact table of a query."""
    size, place = query.rows * query.cells, _places(columns, query)
    if isinstance(query, SumQuery):
        return _sums(columns, query, place, size)
    return np.bincount(place, minlength=size + 1).astype(np.int64)


def _places(columns: Columns, query: Query) -> NDArray[np.int64]:
    cells = [_cells(axis, _values(columns, axis)) for axis in query.axes]
    missing = np.any([cell >= axis.slots for cell, axis in zip(cells, query.axes, strict=True)], axis=0)
    for axis in query.axes:
        if isinstance(axis, OrderedAxis):
            missing |= ~_are_ordered(columns, axis)
    place = np.zeros(len(missing), dtype=np.int64)
    for cell, axis in zip(cells, query.axes, strict=True):
        place = place * axis.slots + np.minimum(cell, axis.slots - 1)
    place[missing] = query.rows * query.cells
    return place


def _are_ordered(columns: Columns, axis: OrderedAxis) -> NDArray[np.bool_]:
    """Whether both times of each record are in order, or one is not known and its end open."""
    earlier, later = (np.asarray(columns[name], dtype=np.float64) for name in (axis.earlier, axis.later))
    is_open = (np.isnan(earlier) | np.isnan(later)) & isinstance(axis, OpenEndedAxis)
    ordered: NDArray[np.bool_] = is_open | (earlier < later) | ((earlier == later) & axis.allows_equal)
    return ordered


def _values(columns: Columns, axis: Axis | Categories) -> NDArray[Any]:
    """A column, or what a model makes of several."""
    if isinstance(axis.column, Predictor):
        numbers = all(each.values is None for each in axis.column.inputs)
        given = [np.asarray(columns[each.column], dtype=np.float64) for each in axis.column.inputs if numbers]
        return axis.column.compute_values(given) if numbers else axis.column.predict(columns)
    return np.asarray(columns[axis.column])


def _cells(axis: Axis | Categories, values: NDArray[Any]) -> NDArray[np.int64]:
    if isinstance(axis, LatticeAxis):
        return find_lattice_cells(axis, values.astype(np.float64))
    if isinstance(axis, Axis):
        return axis.grid.cell_of(values.astype(np.float64))
    found = np.full(len(values), axis.slots)
    for number, category in enumerate(axis.values):
        found[values == category] = number
    if isinstance(axis, SelectedCategories):  # every other value that is not missing
        is_given = np.array([value is not None and str(value) != "nan" for value in values], dtype=bool)
        found[(found == axis.slots) & is_given] = axis.slots - 1
    return found


def find_lattice_cells(axis: LatticeAxis, values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the cell of each number by decimals, for multiples that print as the number does: 0 for zero, 1 for
    others, or one for each; the last cell for all other numbers."""
    lower, upper = axis.bounds
    off = axis.slots - 1
    found = np.full(len(values), off, dtype=np.int64)
    first = (Decimal(repr(lower)) / Decimal(repr(axis.step))).to_integral_value(ROUND_CEILING)
    for place, value in enumerate(values.tolist()):
        if np.isnan(value):
            found[place] = axis.slots
        elif axis.is_clipped and not lower <= value <= upper:
            found[place] = off - 1 if axis.has_points and value > upper else 0
        elif lower <= value <= upper:
            quotient = Decimal(repr(value)) / Decimal(repr(axis.step))
            if quotient == quotient.to_integral_value():
                found[place] = int(quotient - first) if axis.has_points else value != 0
    return found


def _sums(columns: Columns, query: SumQuery, place: NDArray[np.int64], size: int) -> NDArray[Any]:
    axis = query.axes[-1]
    assert isinstance(axis, Axis)
    given = np.asarray(_values(columns, axis), dtype=np.float64)
    values = np.clip(given, axis.grid.lower, axis.grid.upper)
    edges, sums = axis.grid.edges, np.zeros(size + 1, dtype=np.int64)
    cell = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, axis.grid.cells - 1)
    middle, width = (edges[cell] + edges[cell + 1]) / 2, edges[cell + 1] - edges[cell]
    offsets = np.floor((values - middle) / width * (2 * query.half))
    if axis.grid.outside is Outside.APART:
        offsets[given != values] = 0
    added = np.clip(np.nan_to_num(offsets), -query.half, query.half).astype(np.int64)
    np.add.at(sums, place, 2 * added**2 - query.half**2 if isinstance(query, SquareQuery) else added)
    sums[size] = 0
    return sums.astype(object)
