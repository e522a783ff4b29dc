"""SENSITIVE. Records of one holder, scored by models and fitted in subsets, and the exact integers counted from
them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import singledispatch
from threading import Lock
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument, WrongArgumentType, describe_value
from ..arrays import BoolArray, FloatArray, IntArray, compile_loop
from ..data import (
    Axis,
    Categories,
    Category,
    DurationAxis,
    Grid,
    HashUniverse,
    Predictor,
    SelectedCategories,
    TypedAxis,
    UnlistedCategories,
)
from ..data.universe import BITS_A_DIGIT
from ..privacy import Unit
from ..queries import query as queries
from ..queries.weighed import WeightedQuery
from .engines import engine as engines
from .source import DURATION, Column, ColumnKind, find_column, hide_failure
from .value_names import category_key, suggest_spelling

# SENSITIVE. Regressions in disjoint subsets: each a function of the records of its own subset, in no order.


STEPS = 25
"""Newton steps of a logistic regression: always so many, whatever the records are."""
SINGULAR = 1e-9
"""A part of what records can add to a pivot: below it there is no fit. Columns are scaled to [-1, 1] before."""
SETTLED = 1e-6
"""A part of what records can add to the gradient: above it a fit did not converge."""
LARGEST_LOGIT = 40.0
LONGEST_STEP = 4.0


def count_confirming_subsets(query: queries.SubsetQuery, columns: Sequence[FloatArray], subset: FloatArray) -> int:
    """In how many subsets the fit exists and the coefficient lies between the bounds.

    Formal guarantees: what one subset says depends on the multiset of its records alone. They are sorted by all that
    they hold before anything is added, and every sum is a loop of its own, in that order: no result depends on
    where records stand, nor on other subsets. Nothing fails: a fit that is singular, or does not converge, or has no
    more records than coefficients, confirms nothing.

    Args:
        query: What is asked.
        columns: A column for each axis, as numbers or places of categories; NaN: missing. Such a record is left out.
        subset: The subset of each record.
    """
    whole = ~np.any([np.isnan(column) for column in columns], axis=0)
    parts = [_scale_column(axis, column[whole]) for axis, column in zip(query.axes, columns, strict=True)]
    outcome, design = parts[0][:, -1], np.concatenate([np.ones((int(whole.sum()), 1)), *parts[1:]], axis=1)
    order = np.lexsort((*design.T, outcome, subset[whole]))
    starts = np.searchsorted(subset[whole][order], np.arange(query.subsets + 1))
    found, exists = _fit_subsets(design[order], outcome[order], starts, isinstance(query.outcome, Categories))
    low, high = _scaled_bounds(query)
    own = found[:, 1 + query.coefficient]
    return int(np.count_nonzero(exists & (low < own) & (own < high)))


def _scale_column(axis: Axis | Categories, values: FloatArray) -> FloatArray:
    """Numbers from -1 to 1 in their declared range; for each category but the first, 1 where it is."""
    if isinstance(axis, Categories):
        return np.asarray(values[:, None] == np.arange(1, axis.slots), dtype=np.float64)
    middle, half = _middle_and_half_width(axis)
    clipped = np.clip(values, axis.grid.lower, axis.grid.upper)
    return np.asarray((clipped - middle) / half + 0.0)[:, None]  # a zero has one sign, so that equal rows are the same


def _middle_and_half_width(axis: Axis) -> tuple[float, float]:
    return axis.grid.lower / 2 + axis.grid.upper / 2, axis.grid.upper / 2 - axis.grid.lower / 2


def _scaled_bounds(query: queries.SubsetQuery) -> tuple[float, float]:
    """The bounds of the coefficient of scaled columns."""
    own = [axis for axis in query.axes[1:] for _ in range(1 if isinstance(axis, Axis) else axis.slots - 1)]
    axis, outcome = own[query.coefficient], query.outcome
    scale = (_middle_and_half_width(axis)[1] if isinstance(axis, Axis) else 1.0) / (
        _middle_and_half_width(outcome)[1] if isinstance(outcome, Axis) else 1.0
    )
    return query.above * scale, query.below * scale


def _fit_subsets(
    design: FloatArray, outcome: FloatArray, starts: IntArray, logistic: bool
) -> tuple[FloatArray, BoolArray]:
    """Coefficients of each subset, and whether its fit exists. Least squares take one step, from 0."""
    width = design.shape[1]
    found = np.zeros((len(starts) - 1, width))
    sizes = np.diff(starts)
    exists = sizes > width
    for _ in range(STEPS if logistic else 1):
        gradient, curvature = _gradient_and_curvature(design, outcome, starts, found, logistic)
        step, solved = _solve_newton_step(curvature, gradient, sizes)
        exists = exists & solved
        if logistic:
            step = np.clip(step, -LONGEST_STEP, LONGEST_STEP)
        found = found + step
    gradient, _ = _gradient_and_curvature(design, outcome, starts, found, logistic)
    settled = (np.abs(gradient) <= SETTLED * (1 + sizes[:, None])).all(axis=1)
    return found, exists & settled & np.isfinite(found).all(axis=1)


@compile_loop
def _gradient_and_curvature(
    design: FloatArray, outcome: FloatArray, starts: IntArray, found: FloatArray, logistic: bool
) -> tuple[FloatArray, FloatArray]:
    """Gradient and curvature of each subset, record by record."""
    width = design.shape[1]
    gradient, curvature = np.zeros((len(starts) - 1, width)), np.zeros((len(starts) - 1, width, width))
    for subset in range(len(starts) - 1):
        for record in range(starts[subset], starts[subset + 1]):
            predicted, weight = 0.0, 1.0
            for column in range(width):
                predicted += design[record, column] * found[subset, column]
            if logistic:
                predicted = 1 / (1 + np.exp(-min(max(predicted, -LARGEST_LOGIT), LARGEST_LOGIT)))
                weight = predicted * (1 - predicted)
            for column in range(width):
                gradient[subset, column] += design[record, column] * (outcome[record] - predicted)
                for other in range(column + 1):
                    curvature[subset, column, other] += weight * design[record, column] * design[record, other]
    return gradient, curvature


@compile_loop
def _solve_newton_step(curvature: FloatArray, gradient: FloatArray, sizes: IntArray) -> tuple[FloatArray, BoolArray]:
    """The step of each subset by its Cholesky factor, in place; a pivot too small for one ends in no fit."""
    step, solved = gradient.copy(), np.ones(len(sizes), dtype=np.bool_)
    for subset in range(len(sizes)):
        factor, width = curvature[subset], gradient.shape[1]
        for row in range(width):
            for column in range(row + 1):
                total = factor[row, column]
                for inner in range(column):
                    total -= factor[row, inner] * factor[column, inner]
                if row > column:
                    factor[row, column] = total / factor[column, column]
                elif total > SINGULAR * (1 + sizes[subset]):
                    factor[row, row] = np.sqrt(total)
                else:
                    factor[row, row], solved[subset] = 1.0, False
        for row in range(width):
            for inner in range(row):
                step[subset, row] -= factor[row, inner] * step[subset, inner]
            step[subset, row] /= factor[row, row]
        for row in range(width - 1, -1, -1):
            for inner in range(row + 1, width):
                step[subset, row] -= factor[inner, row] * step[subset, inner]
            step[subset, row] /= factor[row, row]
    return step, solved


# SENSITIVE. Records of one holder, and the exact integers that are counted from them.


TEXTS = {ColumnKind.TEXT, ColumnKind.OBJECTS}
LABELLED_ANYHOW = {ColumnKind.FIELDS, ColumnKind.OBJECTS}
"""Kinds of columns whose labels may be numbers or text; which, nothing public tells."""
LARGEST_SQUARED = 2**26
"""The largest half of a cell, in steps, whose squares are added up without leaving 64 bits."""

Axes = Sequence[Axis | Categories]
Result = TypeVar("Result")
Tally = TypeVar("Tally", engines.CellCounts, engines.CellSums, engines.CellAmounts, engines.PrefixCounts)
ALIKE: Mapping[str, str] = MappingProxyType({})
READ = Grid(0, 1, cells=1)
"""Stands where a column of a model is read as numbers, whatever they are."""


@runtime_checkable
class CountsUnits(Protocol):
    """An engine that can tell how many records units have."""

    def unit_sizes(self) -> Mapping[int, int]:
        """Number of units by their number of rows; rows without a unit are one unit together."""

    def sized_units(self, bound: engines.BoundAxis, doublings: int) -> IntArray:
        """Units in cells of their number of rows, and in the cell of the one record of each that is used first."""


@runtime_checkable
class TellsReasons(Protocol):
    """An engine that can tell why records are missing."""

    def missing_reasons(self, bound: Sequence[engines.BoundAxis]) -> IntArray:
        """Rows that are missing on any axis, by `MissingReason`: each has one."""


@runtime_checkable
class ListsNames(Protocol):
    """An engine that can list the values of a column."""

    def names(self, bound: engines.BoundAxis) -> Mapping[str, int]:
        """Number of units with each text of a column: of at most `LONGEST_NAME` bytes, of Unicode characters."""


@runtime_checkable
class SharesRows(Protocol):
    """An engine that can count the same state of its rows with another number of rows of each unit."""

    def using(self, unit: Unit) -> engines.CountingEngine:
        """An engine on the same rows."""


@runtime_checkable
class TellsState(Protocol):
    """An engine that can tell the state of one table, whatever is written elsewhere."""

    def state(self) -> int | None:
        """A number of the state; None: not of this table."""


class Records:
    """Opened records, of which at most ``unit.records`` of each unit are used. Shows nothing of them.

    Exact integers leave it, for a trust model to add noise to. Axes call columns as questions do, and a model may stand
    for a column: its score of a record is a function of that record (`Predictor`), worked out as it is read, so that it
    is counted as a column of such numbers would be.

    Args:
        engine: The engine that counts them.
        one_at_a_time: The lock of its connection.
        names: The schema's name of a column, by that in questions; others are called alike.

    Formal guarantees: let two data sets differ in one unit. Their `counts` differ by at most ``unit.records`` in L1
    norm if it came or went, and by twice that if it was replaced; their `sums` by at most `half` times that, their
    `squares` by ``half**2`` times that, and what is `weighted_sums` by the query's sensitivity times that. After `check`, no
    record makes any of these fail.

    Raises:
        ValueError: from each method that counts, as from `check`; or the source cannot be read at all.
    """

    __slots__ = ("_counted_units", "_engine", "_names", "_one_at_a_time")

    def __init__(
        self, engine: engines.CountingEngine, one_at_a_time: Lock | None = None, names: Mapping[str, str] = ALIKE
    ) -> None:
        self._engine, self._names = engine, names
        self._one_at_a_time = one_at_a_time or Lock()  # threads share one connection, and the names in it
        self._counted_units: int | None = None

    def __repr__(self) -> str:
        return "Records(hidden)"

    def __enter__(self) -> Records:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def with_column_names(self, names: Mapping[str, str]) -> Records:
        """Let questions call columns by these names, each with that of the schema."""
        return Records(self._engine, self._one_at_a_time, dict(names))

    def each_batch(self, axes: Axes, take: Callable[[Sequence[FloatArray]], None]) -> None:
        """Give `take` one column for each axis, batch by batch: numbers, or the places of categories; NaN: missing."""
        self.check(axes)

        def read_batches() -> None:
            for batch in self._engine.numbers(self._resolve_members(axes)):
                take(_apply_models(axes, batch) if _has_model(axes) else batch)

        self._hide_failure(read_batches)

    def close(self) -> None:
        """Let go of the records, and of all that was kept of them."""
        self._engine.close()

    @property
    def moment(self) -> int | None:
        """A number of the state of the data; another state has another. None: nobody can tell states apart."""
        return self._engine.moment

    def state(self) -> int | None:
        """A number of the state of the table alone, whatever is written elsewhere; None: this engine knows none."""
        engine = self._engine
        return self._hide_failure(engine.state) if isinstance(engine, TellsState) else None

    def with_unit(self, unit: Unit) -> Records | None:
        """These rows in their present state, of which another number of each unit is used; None: open them anew."""
        engine = self._engine
        if not isinstance(engine, SharesRows):
            return None
        with self._one_at_a_time:
            return Records(engine.using(unit), self._one_at_a_time, self._names)

    def check_unit_sizes(self) -> None:
        """Refuse an engine that does not tell how many rows units have.

        Raises:
            ValueError: it does not.
        """
        if not isinstance(self._engine, CountsUnits):
            raise InvalidArgument("rows_per_unit", "this engine does not count rows of units: state a bound")

    def check(self, axes: Axes) -> None:
        """Refuse, by the schema alone, axes that cannot be counted.

        Raises:
            ValueError: a column is not there, or holds no numbers where an axis needs them, or declares a type of
                which no value equals one of the categories; or a column without a declared type is read as numbers
                and parted by categories that are none.
        """
        if not axes:
            raise InvalidArgument("axes", "at least one is needed")
        engines.require_known_axes(axes)
        for axis, column, *_ in self._bind_axes(axes):
            taken = {ColumnKind.NUMBERS, ColumnKind.UNTYPED, ColumnKind.FIELDS} | (
                TEXTS if isinstance(axis, Categories) else set()
            )
            if column.kind not in taken:
                rule = f"{axis.column!r} holds {column.kind.value}, {_describe_needed_kind(axis, column.kind)}"
                raise InvalidArgument("column", rule, str(axis.column))
            if isinstance(axis, UnlistedCategories) and not isinstance(self._engine, ListsNames):
                raise InvalidArgument("by", "this engine does not list names that nobody declared: give Categories")
            if isinstance(axis, Categories) and not isinstance(axis, UnlistedCategories | SelectedCategories):
                require_matching_values(axis, column)
        _require_numeric_columns(self._bind_axes(axes))
        with self._one_at_a_time:
            self._engine.prepare(self._bind_axes(axes))

    def counts(self, axes: Axes) -> NDArray[np.int64]:
        """Used records per cell, the last axis fastest, and behind them those that are missing on any axis."""
        if _has_model(axes):
            return self._tally(axes, engines.CellCounts(_slot_cells(axes))).found
        self.check(axes)
        return self._hide_failure(lambda: self._engine.counts(self._resolve_members(axes)))

    def missing_reasons(self, axes: Axes) -> IntArray:
        """Used records that are missing on any axis, by `MissingReason`: each has one, so they add up to that cell.

        Raises:
            ValueError: the engine does not tell reasons.
        """
        self.check(axes)
        engine = self._engine
        if not isinstance(engine, TellsReasons):
            raise InvalidArgument("data", "this engine does not tell why records are missing")
        return self._hide_failure(lambda: engine.missing_reasons(self._resolve_members(axes)))

    def sums(self, axes: Axes, half: int) -> list[int]:
        """Per cell the exact sum of ``Grid.offset_of(values, half)`` of the last axis; behind them a 0.

        Raises:
            ValueError: the last axis has no grid, or `half` is no half.
        """
        if _has_model(axes):
            return self._tally(axes, engines.CellSums(_slot_cells(axes), engines.offset_amounts(half))).totals
        self._check_sums(axes, half)
        return self._hide_failure(lambda: self._engine.sums(self._resolve_members(axes), half))

    def squares(self, axes: Axes, half: int) -> list[int]:
        """Per cell the exact sum of ``2 * offset**2 - half**2`` of those offsets; behind them a 0.

        Raises:
            ValueError: as `sums`; or `half` is above 2**26.
        """
        if _has_model(axes):
            return self._tally(axes, engines.CellSums(_slot_cells(axes), engines.squared_offset_amounts(half))).totals
        self._check_sums(axes, half)
        if half > LARGEST_SQUARED:
            raise InvalidArgument("half", f"a whole number up to {LARGEST_SQUARED} is needed for squares, got {half}")
        return self._hide_failure(lambda: self._engine.squares(self._resolve_members(axes), half))

    def _check_sums(self, axes: Axes, half: int) -> None:
        self.check(axes)
        if not isinstance(axes[-1], Axis):
            raise InvalidArgument("column", f"{axes[-1].column!r} is summed, so it needs a grid", str(axes[-1].column))
        axes[-1].grid.offset_of(np.empty(0), half)  # refuses a wrong half where this may still be said

    def prefixes(self, axes: Axes, at: Sequence[int]) -> list[int]:
        """Used records in the first slots of the table, so many for each entry; behind them the missing ones.

        No cell is laid out: the grid of the last axis may have as many as doubles can tell apart.

        Raises:
            ValueError: the last axis has no grid.
        """
        if _has_model(axes):
            return self._tally(axes, engines.PrefixCounts(axes, at, _slot_flags(axes))).totals
        self.check(axes)
        if not isinstance(axes[-1], Axis):
            raise InvalidArgument("axes", "prefixes are counted along a column of numbers")
        return self._hide_failure(lambda: self._engine.prefixes(self._resolve_members(axes), at))

    def places(self, axes: Axes) -> NDArray[np.int64]:
        """The cell of each used record, the last axis fastest; one that is missing on any axis lies behind them all.

        For the owner of the records alone, who shares them out.
        """
        if not _has_model(axes):
            self.check(axes)
            return self._hide_failure(lambda: self._engine.places(self._resolve_members(axes)))
        found, cells = [np.empty(0, dtype=np.int64)], _slot_cells(axes)
        self.each_batch(axes, lambda columns: found.append(cells.places(columns)))
        return np.concatenate(found)

    def weighted_sums(self, query: WeightedQuery) -> list[int]:
        """Per cell what the used records add by their weights, and behind them what the query says.

        Raises:
            ValueError: the column of weights is not there, or holds no numbers.
        """
        return self._tally(query.input_axes, engines.CellAmounts(_slot_cells(query.axes), query)).totals

    def _tally(self, axes: Axes, tally: Tally) -> Tally:
        self.each_batch(axes, tally.add)
        return tally

    def count_confirming_subsets(self, query: queries.SubsetQuery) -> int:
        """In how many subsets of the units the coefficient lies between its bounds."""
        self.check(query.axes)

        def fit_subsets() -> int:
            bound = self._resolve_members(query.axes)
            batches = list(self._engine.in_subsets(bound, query.subsets))
            joined = [np.concatenate([np.empty(0), *(batch[i] for batch in batches)]) for i in range(len(bound) + 1)]
            return count_confirming_subsets(query, joined[:-1], joined[-1])

        return self._hide_failure(fit_subsets)

    def units(self) -> int:
        """The number of units; the records without a unit are one together."""
        if self._counted_units is None:
            self._counted_units = self._hide_failure(self._engine.units)
        return self._counted_units

    def names(self, axis: Categories) -> dict[str, int]:
        """Number of units with each value of a column, by its text: of at most `LONGEST_NAME` bytes.

        Formal guarantees: one unit changes the numbers of as many names as records of it are used, each by 1.

        Raises:
            ValueError: the engine does not list names.
        """
        self.check([axis])
        engine: Any = self._engine
        return dict(self._hide_failure(lambda: engine.names(self._bind_axes([axis])[0])))

    def unit_sizes(self, doublings: int) -> IntArray:
        """Units that have 1, 2, up to 4, ..., up to ``2**doublings`` rows, and more; whatever rows are used.

        Formal guarantees: a unit lies in one cell, and in which one is told by its own rows.

        Raises:
            ValueError: the engine does not tell how many rows units have.
        """
        self.check_unit_sizes()
        engine: Any = self._engine
        found = np.zeros(doublings + 2, dtype=np.int64)
        for rows, units in self._hide_failure(engine.unit_sizes).items():
            found[min((rows - 1).bit_length(), doublings + 1)] += units
        return found

    def sized_units(self, axis: Axis | Categories, doublings: int) -> IntArray:
        """Units in the cells of `unit_sizes`, each by the cell of one of its records.

        Formal guarantees: a unit lies in one cell, and in which one is told by its own rows and a secret key.

        Raises:
            ValueError: the engine does not tell how many rows units have.
        """
        self.check([axis])
        engine = self._engine
        if not isinstance(engine, CountsUnits):
            raise InvalidArgument("rows_per_unit", "this engine does not count rows of units: state a bound")
        return self._hide_failure(lambda: engine.sized_units(self._resolve_members([axis])[0], doublings))

    def time_kind(self, column: str) -> str:
        """Tell what type of time the schema says that a column is of: a date, a moment, a duration or none."""
        columns = self._engine.columns
        return columns[find_column(column, columns)].time

    def _hide_failure(self, action: Callable[[], Result]) -> Result:
        with self._one_at_a_time:
            return hide_failure(action, self._engine.failure)

    def _bind_axes(self, axes: Axes) -> list[engines.BoundAxis]:
        """The columns that are read, as the schema calls them: each axis itself, or the columns of its model."""
        columns, own = self._engine.columns, [each for axis in axes for each in _input_axes(axis)]
        if self._names:
            own = [replace(each, column=self._names.get(each.column, each.column)) for each in own]
        places = [find_column(axis.column, columns) for axis in own]
        return [
            engines.BoundAxis(axis, _adapt_column(axis, columns[place]), place)
            for axis, place in zip(own, places, strict=True)
        ]

    def _resolve_members(self, axes: Axes) -> list[engines.BoundAxis]:
        """The columns that are read, with the names of records that groups of a hashed universe stand for.

        Names are hashed here, by the function that selected the groups, and on no engine: an engine compares names.
        """
        return [self._with_members(each) for each in self._bind_axes(axes)]

    def _with_members(self, bound: engines.BoundAxis) -> engines.BoundAxis:
        axis = bound.axis
        if not isinstance(axis, SelectedCategories) or not axis.digits:
            return bound
        engine: Any = self._engine
        hashed, members = HashUniverse(axis.digits * BITS_A_DIGIT), {label: list[str]() for label in axis.values}
        for name in engine.names(bound):
            members.get(hashed.label(name), []).append(name)
        return bound._replace(members=tuple(map(tuple, members.values())))


def _adapt_column(axis: Axis | Categories, column: Column) -> Column:
    """The column as the axis reads it: of a type of time as numbers, where the axis takes what the schema declares."""
    takes_it = isinstance(axis, TypedAxis) and (column.time == DURATION or not isinstance(axis, DurationAxis))
    if takes_it and column.elapsed_time is not None:
        return replace(column, kind=ColumnKind.NUMBERS, number=column.elapsed_time)
    return column


def tabulate(records: Records, query: queries.Query) -> NDArray[Any]:
    """The exact table of `query`: 64-bit integers; for sums, Python's integers in an array of objects.

    Sensitive: for trust models alone, which add noise to it at once.
    """
    return _tabulate_query(query, records)


@singledispatch
def _tabulate_query(query: queries.Query, records: Records) -> NDArray[Any]:
    return records.counts(query.axes)


@_tabulate_query.register
def _(query: queries.SubsetQuery, records: Records) -> NDArray[Any]:
    return np.array([records.count_confirming_subsets(query), 0])


@_tabulate_query.register(queries.PartitionSelectionQuery)
@_tabulate_query.register(queries.UniverseSelectionQuery)
def _(query: queries.Query, records: Records) -> NDArray[Any]:
    (axis,) = query.axes
    if not isinstance(axis, Categories):
        raise WrongArgumentType("axes", "names are listed of a column of categories")
    found = sorted(records.names(axis).items())
    return np.array([(name.encode(), units) for name, units in found], dtype=object).reshape(-1, 2)


@_tabulate_query.register
def _(query: queries.UnitSizesQuery, records: Records) -> NDArray[Any]:
    return np.append(records.unit_sizes(queries.MOST_DOUBLINGS), 0)


@_tabulate_query.register
def _(query: queries.SizedUnitsQuery, records: Records) -> NDArray[Any]:
    (axis,) = query.input_axes
    return records.sized_units(axis, queries.MOST_DOUBLINGS)


@_tabulate_query.register
def _(query: queries.SumQuery, records: Records) -> NDArray[Any]:
    return np.array(records.sums(query.axes, query.half), dtype=object)


@_tabulate_query.register
def _(query: queries.SquareQuery, records: Records) -> NDArray[Any]:
    return np.array(records.squares(query.axes, query.half), dtype=object)


@_tabulate_query.register
def _(query: queries.PrefixQuery, records: Records) -> NDArray[Any]:
    return np.array(records.prefixes(query.axes, query.prefix_lengths))


@_tabulate_query.register
def _(query: WeightedQuery, records: Records) -> NDArray[Any]:
    return np.array(records.weighted_sums(query), dtype=object)


def _describe_needed_kind(axis: Axis | Categories, kind: ColumnKind) -> str:
    """The kind of values that a column needs, and the way it gets there where that is not plain."""
    if kind in TEXTS and isinstance(axis, Axis):
        return "a number is needed; name a column of numbers, and count labels with --by NAME beside it"
    instead = "; give days or seconds as numbers (of dates: since a public day)" if kind is ColumnKind.TIMES else ""
    return f"{'a number' if isinstance(axis, Axis) else 'a number or text'} is needed{instead}"


def require_matching_values(axis: Categories, column: Column) -> None:
    """Refuse text that names no value of the declared type: it would find nothing, and be paid for.

    Where the schema declares text, or no type, both classes must be named: 0 and 1 would find nothing among yes and no.

    Raises:
        ValueError: a text names no value of the type, or two categories are the same value, or a class is left to its
            default in a column of text or of no declared type.
    """
    if axis.is_implied and column.kind in LABELLED_ANYHOW:
        rule = f"{axis.column!r} declares no type, and its labels may be text; {_suggest_both_classes(axis.argument_names)}"
        raise InvalidArgument(axis.argument_names[-1], rule)
    for argument, value in zip(axis.argument_names[::-1], axis.values[::-1], strict=True):  # the positive label first
        if column.kind is ColumnKind.TEXT and not isinstance(value, str):
            raise InvalidArgument(
                argument, f"{describe_value(value)} is no text, but {axis.column!r} holds text; {_suggest_text(axis)}"
            )
        if (
            column.kind is ColumnKind.NUMBERS
            and isinstance(value, str)
            and category_key(value, column.value_type) is None
        ):
            declared = column.declared_type or column.value_type.value
            instead = suggest_spelling(value, column.value_type)
            raise InvalidArgument(
                argument,
                f"{describe_value(value)}: column `{axis.column}` is {declared} in the schema; write {instead}",
            )
    if axis.is_implied and column.kind is ColumnKind.TEXT:
        rule = f"{describe_value(axis.values[-1])} is a usual label, but {axis.column!r} holds text; {_suggest_both_classes(axis.argument_names)}"
        raise InvalidArgument(axis.argument_names[-1], rule)
    keys = [category_key(value, column.value_type) for value in axis.values]
    for at, key in enumerate(keys):
        if key is not None and key in keys[:at]:
            one, other = (describe_value(axis.values[place]) for place in (keys.index(key), at))
            raise InvalidArgument(
                axis.argument_names[at], f"{one} and {other} are the same value of column `{axis.column}`"
            )


def _is_number(label: Category) -> bool:
    """Whether a label is a number, or text that spells one."""
    if not isinstance(label, str):
        return True
    with suppress(ValueError):
        return not math.isnan(float(label))
    return False


def _require_numeric_columns(bound: Sequence[engines.BoundAxis]) -> None:
    """Refuse a column without a declared type that is read as numbers and parted by its own labels, which are text.

    No record has both: it would be paid for, and every count would be noise. Labels that are found in private may be
    text as well. The rule looks at no record, and is the same before the charge and after it.

    Raises:
        ValueError: a column is asked for in both ways.
    """
    numbers = {each.place for each in bound if isinstance(each.axis, Axis)}
    for axis, column, place, _ in bound:
        if (
            place not in numbers
            or column.kind not in {ColumnKind.FIELDS, ColumnKind.UNTYPED}
            or not isinstance(axis, Categories)
        ):
            continue
        is_found = isinstance(axis, UnlistedCategories | SelectedCategories)
        if is_found or not all(map(_is_number, axis.values)):
            rule = (
                f"{axis.column!r} is read as numbers here, but its labels are text or not declared, so no record would "
                f"be counted; name a column of numbers beside --by {axis.column}"
            )
            raise InvalidArgument("column", rule, str(axis.column))


def _suggest_text(axis: Categories) -> str:
    """The way to name text: of two classes, both."""
    return _suggest_both_classes(axis.argument_names) if axis.is_implied else "name it in quotes"


def _suggest_both_classes(arguments: tuple[str, ...]) -> str:
    """The way to name two classes, whose arguments are these, the negative one first."""
    negative, positive = arguments
    options = [f"--{each.replace('_', '-')}" for each in (positive, negative)]
    forms = (f"{options[0]} {yes} {options[1]} {no}" for yes, no in (("yes", "no"), ("1", "0")))
    return f'name both classes, as in {positive}="yes", {negative}="no" ({" or ".join(forms)})'


# SENSITIVE. Columns that are worked out by models, record by record, as they are read.


def _has_model(axes: Axes) -> bool:
    return any(isinstance(axis.column, Predictor) for axis in axes)


def _input_axes(axis: Axis | Categories) -> list[Any]:
    if not isinstance(axis.column, Predictor):
        return [axis]
    return [
        Axis(each.column, READ) if each.values is None else Categories(each.column, each.values)
        for each in axis.column.inputs
    ]


def _apply_models(axes: Axes, columns: Sequence[FloatArray]) -> list[FloatArray]:
    """A column for each axis: as it was read, or what its model makes of several."""
    left, found = list(columns), []
    for axis in axes:
        width = len(_input_axes(axis))
        own, left = left[:width], left[width:]
        found.append(axis.column.compute_values(own) if isinstance(axis.column, Predictor) else own[0])
    return found


def _slot_flags(axes: Axes) -> list[bool]:
    """Columns of categories are slots as they are read."""
    return [isinstance(axis, Categories) for axis in axes]


def _slot_cells(axes: Axes) -> engines.SlotCells:
    return engines.SlotCells(axes, _slot_flags(axes))
