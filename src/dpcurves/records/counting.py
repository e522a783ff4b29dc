"""SENSITIVE. Exact counting of one data holder's records, as input of differentially private mechanisms.

"SENSITIVE" marks code that reads records: it is the trusted side of a release, before noise is added. A query describes
a table by public axes, that is columns with declared cells or categories. An engine (DuckDB here) counts it:

    table[cell] = number of used records in the cell, or exact sums of their amounts
    used        = rows that pass the filter, at most `records` of each unit

Results are exact integers in 64 bits or Python integers, and no floating point addition decides a count.

Formal guarantees: a record lies in one cell or is missing, for any content: after the check of the schema no row raises
an error or changes how others are counted. Nothing leaves this file but to a mechanism, which adds noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import singledispatch, wraps
from threading import Lock
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument, WrongArgumentType, describe_value
from ..arrays import BoolArray, FloatArray, IntArray, compile_loop
from ..data import (
    ALL_RECORDS,
    Axis,
    Categories,
    Category,
    DurationAxis,
    Grid,
    HashUniverse,
    LatticeAxis,
    ListedCategories,
    OpenEndedAxis,
    OrderedAxis,
    Predictor,
    SelectedCategories,
    TypedAxis,
    UnlistedCategories,
    is_expression,
)
from ..data.universe import BITS_A_DIGIT
from ..expressions import Expression, col, parse_expression, rename_columns, when
from ..privacy import Unit
from ..queries import query as queries
from ..queries.weights import WeightedQuery
from .engines import engine as engines
from .monotone import Step, find_chain, invert_grid
from .source import DURATION, Column, ColumnKind, find_column, hide_failure
from .value_names import category_key

# SENSITIVE. Regressions in disjoint subsets. Each fit is a function of the records in its subset, not of their order.


@dataclass(frozen=True, slots=True)
class NewtonTuning:
    """Numbers that steer Newton's method for logistic regressions on columns scaled to [-1, 1]."""

    steps: int = 25
    """Newton steps: a fixed number, so that the work does not depend on the records."""
    singular_pivot: float = 1e-9
    """Curvature per record. Smallest pivot; below it a fit counts as singular."""
    converged_gradient: float = 1e-6
    """Gradient per record. Largest gradient of a fit that counts as converged."""
    largest_logit: float = 40.0
    """Logits. Larger ones are clipped: exp(-40) is below the resolution of doubles near 1."""
    longest_step: float = 4.0
    """Units of a coefficient (of columns scaled to [-1, 1]). Longer steps are clipped, so that separable data do not
    overflow.
    """


TUNING = NewtonTuning()
"""The values that every regression of a subset uses unless a caller passes others."""


def count_confirming_subsets(
    query: queries.SubsetQuery, columns: Sequence[FloatArray], subset: FloatArray, tuning: NewtonTuning = TUNING
) -> int:
    """Return the number of subsets of units that confirm a claim: the regression fit exists, and its coefficient lies
    between the bounds.

    Formal guarantees: the result of a subset depends on the multiset of its records alone. Records are sorted by all
    their values before anything is summed, and every sum is a separate loop in that order: no result depends on the
    position of records or on other subsets. Nothing raises an error: a fit that is singular, does not converge, or has
    no more records than coefficients confirms nothing.

    Args:
        query: The claim: axes, coefficient and bounds.
        columns: A column for each axis: numbers, or indices of categories. A record with a NaN is left out.
        subset: Subset of each record.
        tuning: Numbers that steer the fit.
    """
    is_complete = ~np.any([np.isnan(column) for column in columns], axis=0)
    scaled = [_scale_column(axis, column[is_complete]) for axis, column in zip(query.axes, columns, strict=True)]
    outcome = scaled[0][:, -1]
    design = np.concatenate([np.ones((int(is_complete.sum()), 1)), *scaled[1:]], axis=1)
    order = np.lexsort((*design.T, outcome, subset[is_complete]))
    starts = np.searchsorted(subset[is_complete][order], np.arange(query.subsets + 1))
    is_logistic = isinstance(query.outcome, Categories)
    coefficients, exists = _fit_subsets(design[order], outcome[order], starts, is_logistic, tuning)
    low, high = _scaled_bounds(query)
    estimates = coefficients[:, 1 + query.coefficient]
    return int(np.count_nonzero(exists & (low < estimates) & (estimates < high)))


def _scale_column(axis: Axis | Categories, values: FloatArray) -> FloatArray:
    """Scale numbers from their declared range to [-1, 1]; encode categories but the first as 0/1 columns.

    Args:
        axis: Column with its declared range or categories.
        values: Numbers, or indices of categories, one for each row.

    Returns:
        Columns, (rows, 1), or (rows, categories - 1).
    """
    if isinstance(axis, Categories):
        return np.asarray(values[:, None] == np.arange(1, axis.slots), dtype=np.float64)
    middle, half_width = _middle_and_half_width(axis)
    clipped = np.clip(values, axis.grid.lower, axis.grid.upper)
    return np.asarray((clipped - middle) / half_width + 0.0)[:, None]  # -0.0 becomes 0.0, so that equal rows are equal


def _middle_and_half_width(axis: Axis) -> tuple[float, float]:
    """Return the middle and half the width of the axis's declared range, in units of the column.

    Args:
        axis: Column with its declared range.
    """
    return axis.grid.lower / 2 + axis.grid.upper / 2, axis.grid.upper / 2 - axis.grid.lower / 2


def _scaled_bounds(query: queries.SubsetQuery) -> tuple[float, float]:
    """Return the bounds of the regression coefficient after columns were scaled from their declared ranges to [-1, 1].

    Args:
        query: Query with the bounds `above` and `below` in units of the columns.
    """
    column_axes = [axis for axis in query.axes[1:] for _ in range(1 if isinstance(axis, Axis) else axis.slots - 1)]
    axis = column_axes[query.coefficient]
    outcome = query.outcome
    column_width = _middle_and_half_width(axis)[1] if isinstance(axis, Axis) else 1.0
    outcome_width = _middle_and_half_width(outcome)[1] if isinstance(outcome, Axis) else 1.0
    scale = column_width / outcome_width
    return query.above * scale, query.below * scale


def _fit_subsets(
    design: FloatArray, outcome: FloatArray, starts: IntArray, logistic: bool, tuning: NewtonTuning
) -> tuple[FloatArray, BoolArray]:
    """Fit a linear or logistic regression in each subset of the records by Newton's method; a linear one needs a single
    step.

    Args:
        design: Predictors of all records, subset by subset, shape (records, coefficients).
        outcome: Outcome of each record, shape (records,).
        starts: First record of each subset.
        logistic: If True, the regression is logistic, else linear.
        tuning: Numbers that steer Newton's method.

    Returns:
        Coefficients of each subset, and whether each fit exists.
    """
    width = design.shape[1]
    coefficients = np.zeros((len(starts) - 1, width))
    sizes = np.diff(starts)
    exists = sizes > width
    for _ in range(tuning.steps if logistic else 1):
        gradient, curvature = _gradient_and_curvature(
            design, outcome, starts, coefficients, logistic, tuning.largest_logit
        )
        step, solved = _solve_newton_step(curvature, gradient, sizes, tuning.singular_pivot)
        exists = exists & solved
        if logistic:
            step = np.clip(step, -tuning.longest_step, tuning.longest_step)
        coefficients = coefficients + step
    gradient, _ = _gradient_and_curvature(design, outcome, starts, coefficients, logistic, tuning.largest_logit)
    converged = (np.abs(gradient) <= tuning.converged_gradient * (1 + sizes[:, None])).all(axis=1)
    return coefficients, exists & converged & np.isfinite(coefficients).all(axis=1)


@compile_loop
def _gradient_and_curvature(  # noqa: PLR0917
    design: FloatArray,
    outcome: FloatArray,
    starts: IntArray,
    coefficients: FloatArray,
    logistic: bool,
    largest_logit: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the gradient and the curvature of the log-likelihood of a regression, for each subset of the records.

    Args:
        design: Values of the terms, (records, terms).
        outcome: Outcomes, (records,).
        starts: First record of each subset, and the number of records, (subsets + 1,).
        coefficients: Present coefficients, (subsets, terms).
        logistic: Whether the regression is logistic, not linear.
        largest_logit: Bound of the linear predictor.

    Returns:
        Gradients, (subsets, terms), and the lower triangles of the curvatures, (subsets, terms, terms).
    """
    width = design.shape[1]
    gradient = np.zeros((len(starts) - 1, width))
    curvature = np.zeros((len(starts) - 1, width, width))
    for subset in range(len(starts) - 1):
        for record in range(starts[subset], starts[subset + 1]):
            predicted, weight = 0.0, 1.0
            for column in range(width):
                predicted += design[record, column] * coefficients[subset, column]
            if logistic:
                predicted = 1 / (1 + np.exp(-min(max(predicted, -largest_logit), largest_logit)))
                weight = predicted * (1 - predicted)
            for column in range(width):
                gradient[subset, column] += design[record, column] * (outcome[record] - predicted)
                for other in range(column + 1):
                    curvature[subset, column, other] += weight * design[record, column] * design[record, other]
    return gradient, curvature


@compile_loop
def _solve_newton_step(
    curvature: FloatArray, gradient: FloatArray, sizes: IntArray, singular_pivot: float
) -> tuple[FloatArray, BoolArray]:
    """Return the Newton step of each subset by Cholesky factorization in place, and whether its pivots suffice.

    Args:
        curvature: Curvatures, (subsets, terms, terms), whose lower triangles are overwritten by their factors.
        gradient: Gradients, (subsets, terms).
        sizes: Number of records of each subset.
        singular_pivot: Pivot per record below which a matrix counts as singular.

    Returns:
        Steps, (subsets, terms), and whether each could be solved, (subsets,).
    """
    step = gradient.copy()
    solved = np.ones(len(sizes), dtype=np.bool_)
    for subset in range(len(sizes)):
        factor = curvature[subset]
        width = gradient.shape[1]
        for row in range(width):
            for column in range(row + 1):
                total = factor[row, column]
                for inner in range(column):
                    total -= factor[row, inner] * factor[column, inner]
                if row > column:
                    factor[row, column] = total / factor[column, column]
                elif total > singular_pivot * (1 + sizes[subset]):
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


# SENSITIVE. Records of one data holder, and the exact integers counted from them.


NUMERIC_KINDS = {ColumnKind.NUMBERS, ColumnKind.UNTYPED, ColumnKind.FIELDS}
"""Kinds of columns that may hold numbers. A numeric axis on another kind is refused."""
TEXT_KINDS = {ColumnKind.TEXT, ColumnKind.OBJECTS}
"""Kinds of columns that hold labels. They can be counted by category only; a numeric axis on one is refused."""
UNTYPED_LABEL_KINDS = {ColumnKind.FIELDS, ColumnKind.OBJECTS}
"""Kinds of columns whose labels may be numbers or text: the schema does not say. Both classes of a label must be named,
because the default 0 and 1 would not match yes and no."""
LARGEST_SQUARED = 2**26
"""Steps. Largest half width of a cell whose squared offsets sum within 64 bits; a larger one is refused."""

Axes = Sequence[Axis | Categories]
Result = TypeVar("Result")
Tally = TypeVar("Tally", engines.CellCounts, engines.CellSums, engines.CellAmounts, engines.PrefixCounts)
NO_OTHER_NAMES: Mapping[str, str] = MappingProxyType({})
"""Default of `Records`: questions use the column names of the schema."""
MODEL_INPUT_GRID = Grid(0, 1, cells=1)
"""Grid of a model's input column. One cell, because the numbers themselves are read and no cell is looked up."""


@runtime_checkable
class CountsUnits(Protocol):
    """Engine that can count the rows of units."""

    def unit_sizes(self) -> Mapping[int, int]:
        """Return how many units have each number of rows: the number of units by number of rows.

        A unit is what privacy protects, such as a person with all rows. Rows without a unit are one unit together.
        """

    def sized_units(self, bound: engines.BoundAxis, doublings: int) -> IntArray:
        """Return counts of units by their number of rows and the cell of one of their rows, (classes, slots).

        The row is the unit's first in a secret pseudorandom order of rows. Classes of the number of rows are 1, 2, 3 to
        4, 5 to 8 and so on up to ``2**doublings``, and more than that.

        Args:
            bound: The axis with the cells, on a column of the table.
            doublings: Exponent d of the largest bounded class: there are d + 2 classes.
        """


@runtime_checkable
class DerivesColumns(Protocol):
    """Engine that evaluates expressions and filters."""

    def derive(self, text: str, is_numeric: bool, argument: str) -> tuple[Column, int]:
        """Return the column that an expression defines, and its position after the columns of the schema.

        Args:
            text: The expression as text.
            is_numeric: Whether the expression must be a number.
            argument: Name of the argument in error messages.

        Raises:
            ValueError: the expression cannot be parsed, or its columns or types are not those of the schema. No record
                is read to decide this.
        """

    def filtered(self, where: str, keeps_failing_rows: bool) -> engines.CountingEngine:
        """Return an engine on the same table that counts only rows which pass a filter. No row is read by this call.

        Args:
            where: The filter as an SQL condition. A row passes if it is true, and fails if it is false or missing.
            keeps_failing_rows: True: rows that fail stay in the table, and count as missing, so that the number of rows
                does not depend on the filter. False: they are left out.

        Raises:
            ValueError: the filter cannot be parsed, is no condition, or its columns or types are not those of the
                schema. No record is read to decide this.
        """


@runtime_checkable
class TellsReasons(Protocol):
    """Engine that can count missing records by reason."""

    def missing_reasons(self, bound: Sequence[engines.BoundAxis]) -> IntArray:
        """Return the number of used rows that are missing on any axis, by reason: one entry for each `MissingReason`,
        in its order.

        A row that is missing has exactly one reason. Rows that lie in a cell of every axis are not counted.

        Args:
            bound: Axes of the query, each with its column of the schema.
        """


@runtime_checkable
class ListsNames(Protocol):
    """Engine that can list the values of a column."""

    def names(self, bound: engines.BoundAxis) -> Mapping[str, int]:
        """Return the number of units that have each text in a column, by text; texts above 200 bytes of UTF-8 are
        omitted.

        Args:
            bound: The column, as an axis.

        Returns:
            Number of units by text; a unit counts once for each of its texts.
        """


@runtime_checkable
class SharesRows(Protocol):
    """Engine that can count the same state of its rows under another contribution bound."""

    def using(self, unit: Unit) -> engines.CountingEngine:
        """Return an engine on the same state of the rows under another contribution bound.

        Args:
            unit: Privacy unit with the bound: at most `unit.records` rows of each unit are used.
        """


@runtime_checkable
class TellsState(Protocol):
    """Engine that can identify the state of one table, independently of other tables."""

    def state(self) -> int | None:
        """Return a number that changes whenever the table's data changes; None if the engine cannot tell."""


NO_EXPRESSIONS = (
    "this engine evaluates no filters and expressions; add a column to the table, or name a view that filters it"
)
"""Rule in the error for a filter or an expression, if the engine cannot derive columns."""
Method = TypeVar("Method", bound=Callable[..., Any])


def apply_filter(method: Method) -> Method:
    """Decorate a method of `Records` whose first argument is axes, so that it reads the rows that pass their filter.

    Args:
        method: Method whose first argument is axes.

    Raises:
        ValueError: axes have different filters.
    """

    @wraps(method)
    def apply(records: Records, axes: Axes, *arguments: Any, **keywords: Any) -> Any:
        """Call the method on the rows that pass the filter of the axes, or on all rows if they have none.

        Args:
            records: Records of one data holder.
            axes: Axes of the question, which may have a filter.
            arguments: Further arguments of the method.
            keywords: Further keyword arguments of the method.

        Raises:
            InvalidArgument: the axes have different filters.
        """
        filters = {axis.where for axis in axes if getattr(axis, "where", "")}
        if not filters:
            return method(records, axes, *arguments, **keywords)
        if len(filters) > 1:
            raise InvalidArgument(
                "where", "the columns of a question have different filters; give the same filter to all of them"
            )
        unfiltered = [replace(axis, where="") for axis in axes]
        return method(records.with_filter(*filters), unfiltered, *arguments, **keywords)

    return cast("Method", apply)


class Records:
    """Opened records, of which at most ``unit.records`` of each unit are used. The repr shows nothing of them.

    The methods return exact integers, to which a trust model adds noise. Axes name columns as questions do. A model
    (`Predictor`) can replace a column: its score of a record is a function of that record, computed while it is read,
    so that it is counted like a column of scores.

    Args:
        engine: Engine that counts the records.
        one_at_a_time: Lock of its connection.
        names: Column names of the schema by names in questions; other columns have the same name.
        keeps_failing_rows: Whether rows that fail a filter count as missing, as under replace-one, where the number of
            units is public. Else they are left out.

    Formal guarantees: let two data sets differ in one unit. Their `counts` differ by at most ``unit.records`` in L1
    norm if the unit was added or removed, and by twice that if it was replaced; their `sums` by at most `half` times
    that, their `squares` by ``half**2`` times that, and their `weighted_sums` by the query's sensitivity times that.
    After `check`, no record makes any of these raise an error.

    Raises:
        ValueError: from each method that counts, as from `check`; or the source cannot be read at all.
    """

    __slots__ = ("_counted_units", "_engine", "_filtered", "_keeps_failing_rows", "_names", "_one_at_a_time")

    def __init__(
        self,
        engine: engines.CountingEngine,
        one_at_a_time: Lock | None = None,
        names: Mapping[str, str] = NO_OTHER_NAMES,
        *,
        keeps_failing_rows: bool = True,
    ) -> None:
        """Wrap an engine's opened table, so that questions can count its records.

        Args:
            engine: Engine that counts the rows.
            one_at_a_time: Lock for a connection that several objects share; None: a new one.
            names: The schema's name of each renamed column, by the name that questions use.
            keeps_failing_rows: Whether rows that fail a filter count as missing; else they are omitted.
        """
        self._engine = engine
        self._names = names
        self._keeps_failing_rows = keeps_failing_rows
        self._filtered: dict[str, Records] = {}
        self._one_at_a_time = one_at_a_time or Lock()  # threads share one connection and its table names
        self._counted_units: int | None = None

    def __repr__(self) -> str:
        return "Records(hidden)"

    def __enter__(self) -> Records:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def with_column_names(self, names: Mapping[str, str]) -> Records:
        """Return these records under other column names, as questions use them.

        Args:
            names: The schema's name of each renamed column, by its new name.
        """
        return Records(self._engine, self._one_at_a_time, dict(names), keeps_failing_rows=self._keeps_failing_rows)

    def with_filter(self, where: str) -> Records:
        """Return these records with a filter of the rows, which acts before the contribution bound; empty: all rows.

        Args:
            where: The filter as an SQL condition.

        Raises:
            ValueError: the engine evaluates no expressions, or the filter does not fit the schema.
        """
        if not where:
            return self
        if where not in self._filtered:
            engine = self._engine
            if not isinstance(engine, DerivesColumns):
                raise InvalidArgument("where", NO_EXPRESSIONS)
            with self._one_at_a_time:
                filtered = engine.filtered(self._rename_columns(where), self._keeps_failing_rows)
            self._filtered[where] = Records(
                filtered, self._one_at_a_time, self._names, keeps_failing_rows=self._keeps_failing_rows
            )
        return self._filtered[where]

    @apply_filter
    def each_batch(self, axes: Axes, take: Callable[[Sequence[FloatArray]], None]) -> None:
        """Read the given columns batch by batch, and pass each batch to a function.

        A batch has one array per axis: numbers, or indices of categories; NaN: missing.

        Args:
            axes: Columns to read.
            take: Function that gets the columns of each batch.
        """
        self.check(axes)
        _require_values(axes, self._engine.columns)

        def read_batches() -> None:
            """Read the batches, replace inputs by predictions if an axis is a model, and pass each batch to `take`."""
            for batch in self._engine.numbers(self._resolve_members(axes)):
                take(_apply_models(axes, batch) if _has_model(axes) else batch)

        self._hide_failure(read_batches)

    def close(self) -> None:
        """Close the engine and delete its temporary data."""
        self._engine.close()

    @property
    def moment(self) -> int | None:
        """Number that identifies the snapshot of the data that is counted; None if the engine cannot distinguish
        states.
        """
        return self._engine.moment

    def state(self) -> int | None:
        """Number that changes whenever this table's data changes; None if the engine cannot distinguish states."""
        engine = self._engine
        return self._hide_failure(engine.state) if isinstance(engine, TellsState) else None

    def with_unit(self, unit: Unit) -> Records | None:
        """Return these rows, in their present state, under another contribution bound; None if they must be opened
        again for that.

        Args:
            unit: Privacy unit with its contribution bound.

        Returns:
            The records; None if the engine cannot share its rows, so that they must be opened again.
        """
        engine = self._engine
        if not isinstance(engine, SharesRows):
            return None
        with self._one_at_a_time:
            return Records(
                engine.using(unit), self._one_at_a_time, self._names, keeps_failing_rows=self._keeps_failing_rows
            )

    def check_unit_sizes(self) -> None:
        """Check that the engine can count how many rows each unit has.

        Raises:
            ValueError: the engine cannot.
        """
        if not isinstance(self._engine, CountsUnits):
            raise InvalidArgument(
                "rows_per_unit",
                "this engine does not count the rows of each unit; give rows_per_unit, the largest number"
                " of rows used of a unit",
            )

    @apply_filter
    def check(self, axes: Axes) -> None:
        """Check by the schema alone, before any charge, that axes can be counted.

        Args:
            axes: Axes of a query.

        Raises:
            ValueError: a column is missing, is not numeric where an axis needs numbers, or has a declared type of which
                no value equals a category; or a column without a declared type is read as numbers and split by labels
                that are not numbers.
        """
        if not axes:
            raise InvalidArgument("axes", "at least one column is needed, as in Axis('age', Grid(0, 100, cells=20))")
        engines.require_known_axes(axes)
        bound = self._bind_axes(axes)
        for axis, column, *_ in bound:
            allowed_kinds = NUMERIC_KINDS | (TEXT_KINDS if isinstance(axis, Categories) else set())
            if column.kind not in allowed_kinds:
                rule = f"{axis.column!r} holds {column.kind.value}, {_describe_needed_kind(axis, column.kind)}"
                raise InvalidArgument("column", rule, str(axis.column))
            if isinstance(axis, UnlistedCategories) and not isinstance(self._engine, ListsNames):
                raise InvalidArgument(
                    "by", "this engine cannot find unlisted categories; give Categories(column, values)"
                )
            declared = axis.listed if isinstance(axis, ListedCategories) else axis
            if isinstance(declared, Categories) and not isinstance(declared, UnlistedCategories | SelectedCategories):
                require_matching_values(declared, column)
        _require_numeric_columns(bound)
        with self._one_at_a_time:
            self._engine.prepare(bound)

    @apply_filter
    def counts(self, axes: Axes) -> NDArray[np.int64]:
        """Return the exact number of used records in each cell, the last axis fastest, followed by those missing on any
        axis.

        Args:
            axes: Axes of the table.

        Returns:
            Array of shape ``(cells + 1,)``.
        """
        if _has_model(axes):
            return self._tally(axes, engines.CellCounts(_slot_cells(axes))).counts
        self.check(axes)
        return self._hide_failure(lambda: self._engine.counts(self._resolve_members(axes)))

    @apply_filter
    def missing_reasons(self, axes: Axes) -> IntArray:
        """Return the number of used records that are missing on any axis, by reason. They sum to the last entry of
        `counts`.

        Args:
            axes: Axes of the query.

        Returns:
            Numbers of records, in the order of `MissingReason`.

        Raises:
            ValueError: the engine cannot distinguish reasons.
        """
        self.check(axes)
        engine = self._engine
        if not isinstance(engine, TellsReasons):
            raise InvalidArgument(
                "data", "this engine cannot tell why records are missing; give them as a file or a data frame"
            )
        return self._hide_failure(lambda: engine.missing_reasons(self._resolve_members(axes)))

    @apply_filter
    def sums(self, axes: Axes, half: int) -> list[int]:
        """Return, for each cell, the exact sum of the values' offsets on the last axis, for means, followed by a 0.

        A value's offset is its distance from the middle of its cell, in steps (`Grid.offset_of`).

        Args:
            axes: Axes of the table; the last has a grid.
            half: Half the number of steps of a cell, and the largest offset from its middle, from 1 to ``2**52``.

        Returns:
            The sums as integers of any size, the last axis fastest.

        Raises:
            ValueError: the last axis has no grid, or `half` is out of range.
        """
        if _has_model(axes):
            return self._tally(axes, engines.CellSums(_slot_cells(axes), engines.offset_amounts(half))).totals
        self._check_sums(axes, half)
        return self._hide_failure(lambda: self._engine.sums(self._resolve_members(axes), half))

    @apply_filter
    def squares(self, axes: Axes, half: int) -> list[int]:
        """Return, for each cell, the exact sum of ``2 * offset**2 - half**2``, for variances, followed by a 0.

        A value's offset is its distance from the middle of its cell on the last axis, in steps (`Grid.offset_of`).

        Args:
            axes: Axes of the table; the last has a grid.
            half: Half the number of steps of a cell, and the largest offset from its middle, from 1 to ``2**26``.

        Returns:
            The sums as integers of any size, the last axis fastest.

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
        """Check that sums of values can be computed on these axes.

        Args:
            axes: Axes of the table; the last must have a grid.
            half: Half the number of steps of a cell.

        Raises:
            InvalidArgument: the last axis has no grid, or `half` is out of range.
        """
        self.check(axes)
        _require_values(axes, self._engine.columns)
        if not isinstance(axes[-1], Axis):
            raise InvalidArgument(
                "column",
                f"{axes[-1].column!r} is summed, so it must be declared on a grid, as in Axis(column, Grid(...))",
                str(axes[-1].column),
            )
        axes[-1].grid.offset_of(np.empty(0), half)  # refuses a wrong half before the charge

    @apply_filter
    def prefixes(self, axes: Axes, lengths: Sequence[int]) -> list[int]:
        """Return the number of used records in prefixes (the first cells) of a table, for each length, then of missing
        records.

        The cells are not stored, so the grid of the last axis may be as fine as doubles allow.

        Args:
            axes: Axes of the table.
            lengths: Lengths of the prefixes, in cells of the flattened table.

        Raises:
            ValueError: the last axis has no grid.
        """
        if _has_model(axes):
            return self._tally(axes, engines.PrefixCounts(axes, lengths, _slot_flags(axes))).totals
        self.check(axes)
        if not isinstance(axes[-1], Axis):
            raise InvalidArgument(
                "axes", "prefixes are counted along a column of numbers; declare the last column on a grid"
            )
        return self._hide_failure(lambda: self._engine.prefixes(self._resolve_members(axes), lengths))

    @apply_filter
    def places(self, axes: Axes) -> NDArray[np.int64]:
        """Return the number of the cell that each used record lies in, the last axis fastest; the number of cells for
        missing records.

        For the owner of the records only, who secret-shares the cells.

        Args:
            axes: Axes of the query.

        Returns:
            Indices, (records,).
        """
        if not _has_model(axes):
            self.check(axes)
            return self._hide_failure(lambda: self._engine.places(self._resolve_members(axes)))
        batches = [np.empty(0, dtype=np.int64)]
        cells = _slot_cells(axes)
        self.each_batch(axes, lambda columns: batches.append(cells.places(columns)))
        return np.concatenate(batches)

    def weighted_sums(self, query: WeightedQuery) -> list[int]:
        """Return the exact weighted sum of each cell, followed by the sum that the query defines for missing records.

        Args:
            query: Axes, column of weights, and what is added up.

        Raises:
            ValueError: the column of weights is missing or not numeric.
        """
        return self._tally(query.input_axes, engines.CellAmounts(_slot_cells(query.axes), query)).totals

    def _tally(self, axes: Axes, tally: Tally) -> Tally:
        """Add all batches of records to a tally (running counts or sums per cell), and return it. SENSITIVE.

        Args:
            axes: Axes of the table; they may be predictions of a model.
            tally: Counts or sums, which are changed.
        """
        self.each_batch(axes, tally.add)
        return tally

    def count_confirming_subsets(self, query: queries.SubsetQuery) -> int:
        """Return the exact number of random subsets of units that confirm the claim: the coefficient lies between the
        query's bounds.

        Args:
            query: Columns, number of subsets, and bounds of the coefficient.

        Returns:
            From 0 to the number of subsets.
        """
        if query.where:
            unfiltered = replace(query, axes=tuple(replace(axis, where="") for axis in query.axes))
            return self.with_filter(query.where).count_confirming_subsets(unfiltered)
        self.check(query.axes)
        _require_values(query.axes, self._engine.columns)

        def fit_subsets() -> int:
            """Read all records with the number of their subset, fit the regression in each subset, and return how many
            confirm the claim.
            """
            bound = self._resolve_members(query.axes)
            batches = list(self._engine.in_subsets(bound, query.subsets))
            joined = []
            for index in range(len(bound) + 1):
                columns = [batch[index] for batch in batches]
                joined.append(np.concatenate([np.empty(0), *columns]))
            return count_confirming_subsets(query, joined[:-1], joined[-1])

        return self._hide_failure(fit_subsets)

    def units(self) -> int:
        """Return the exact number of units. Records without a unit identifier are one unit together. SENSITIVE."""
        if self._counted_units is None:
            self._counted_units = self._hide_failure(self._engine.units)
        return self._counted_units

    def names(self, axis: Categories) -> dict[str, int]:
        """Return the number of units with each value of a column, by name, for names of at most 200 bytes.

        Formal guarantees: one unit changes the numbers of at most ``unit.records`` names, each by 1.

        Args:
            axis: The column. Its filter acts first; its declared values have no effect.

        Raises:
            ValueError: the engine cannot list names.
        """
        if axis.where:
            return self.with_filter(axis.where).names(replace(axis, where=""))
        self.check([axis])
        engine: Any = self._engine
        return dict(self._hide_failure(lambda: engine.names(self._bind_axes([axis])[0])))

    def unit_sizes(self, doublings: int, where: str = "") -> IntArray:
        """Return the number of units with 1, 2, up to 4, ..., up to ``2**doublings`` rows, with more, and with none.

        All rows that pass the filter count, not only used ones. Units without a passing row are reported under
        replace-one alone.

        Formal guarantees: a unit is in one cell, which is a function of the unit's rows.

        Args:
            doublings: Number of doublings from 1 row; the largest size that has an entry of its own is
                ``2**doublings``.
            where: Filter as an SQL condition; empty: all rows.

        Returns:
            Array of shape ``(doublings + 3,)``.

        Raises:
            ValueError: the engine cannot count the rows of units.
        """
        self.check_unit_sizes()
        engine: Any = self.with_filter(where)._engine
        units_by_size = np.zeros(doublings + 3, dtype=np.int64)
        for rows, units in self._hide_failure(engine.unit_sizes).items():
            if rows or self._keeps_failing_rows:
                units_by_size[min((rows - 1).bit_length(), doublings + 1) if rows else -1] += units
        return units_by_size

    def sized_units(self, axis: Axis | Categories, doublings: int) -> IntArray:
        """Return the number of units by their number of rows (size) and by the cell of one of their records, size
        first.

        Sizes are 1, 2, up to 4, ..., up to ``2**doublings`` rows, and more; the last entry counts units whose record
        has no value: ``((doublings + 2) * slots + 1,)``.

        Formal guarantees: a unit is in one cell, which is a function of the unit's rows and a secret key.

        Args:
            axis: The axis of the cells.
            doublings: Number of size classes beyond the first.

        Raises:
            ValueError: the engine cannot count the rows of units.
        """
        if axis.where:
            return self.with_filter(axis.where).sized_units(replace(axis, where=""), doublings)
        self.check([axis])
        engine = self._engine
        if not isinstance(engine, CountsUnits):
            raise InvalidArgument(
                "rows_per_unit",
                "this engine does not count the rows of each unit; give rows_per_unit, the largest number"
                " of rows used of a unit",
            )
        return self._hide_failure(lambda: engine.sized_units(self._resolve_members([axis])[0], doublings))

    def time_kind(self, column: str) -> str:
        """Return which kind of time the schema declares for a column: date, moment (timestamp), duration, or an empty
        text for none.

        Args:
            column: Name of the column.
        """
        columns = self._engine.columns
        if isinstance(column, str) and is_expression(
            Axis(column, Grid(0, 1, cells=1)), {known.name for known in columns}
        ):
            return self._derive_column(column, True)[0].time
        return columns[find_column(column, columns)].time

    def _rename_columns(self, text: str) -> str:
        """Return an expression with the columns' names in the schema in place of those in the question.

        Args:
            text: Expression with the names of the question.
        """
        return text if text == ALL_RECORDS or not self._names else rename_columns(text, self._names)

    def _derive_column(self, text: str, is_numeric: bool) -> tuple[Column, int]:
        """Return the derived column that an expression defines, with the question's column names, and its position.

        Args:
            text: Expression with the names of the question.
            is_numeric: Whether the expression is read as numbers, rather than as text.

        Returns:
            The column, and its position among the schema's and the derived columns.

        Raises:
            ValueError: the engine evaluates no expressions, or the expression does not fit the schema.
        """
        return self._derive_renamed(self._rename_columns(text), is_numeric, text)

    def _derive_renamed(self, text: str, is_numeric: bool, shown: str) -> tuple[Column, int]:
        """Return the derived column that an expression defines, with the schema's column names, and its position.

        Args:
            text: Expression with the names of the schema.
            is_numeric: Whether the result must be a number.
            shown: The expression as the question states it, which error messages show.

        Raises:
            InvalidArgument: the engine computes no expressions, or the expression is invalid.
        """
        engine = self._engine
        if not isinstance(engine, DerivesColumns):
            raise InvalidArgument("column", f"{shown}: {NO_EXPRESSIONS}", shown)
        try:
            return engine.derive(text, is_numeric, "column")
        except InvalidArgument as error:
            raise InvalidArgument("column", error.rule, shown) from None

    def _hide_failure(self, action: Callable[[], Result]) -> Result:
        """Run an action of the engine under the connection's lock, and replace its errors, which may quote a record.

        Args:
            action: Function that calls the engine.

        Raises:
            InvalidArgument: the engine failed; its message, which may quote a record, is left out.
        """
        with self._one_at_a_time:
            return hide_failure(action, self._engine.failure)

    def _bind_axes(self, axes: Axes) -> list[engines.BoundAxis]:
        """Match the axes of a query with columns of the schema: each axis itself, or the input columns of its model.

        Args:
            axes: Axes of the query.
        """
        columns = self._engine.columns
        input_axes = [input_axis for axis in axes for input_axis in _input_axes(axis)]
        if self._names:
            input_axes = [self._rename_axis(input_axis) for input_axis in input_axes]
        return [self._bind_axis(axis, columns) for axis in input_axes]

    def _rename_axis(self, axis: Any) -> Any:
        """Return an axis with the columns' names in the schema, which may differ from those in the question;
        expressions are unchanged.

        Args:
            axis: Axis with the names of the question.
        """
        members = ("column", "earlier", "later") if isinstance(axis, OrderedAxis) else ("column",)
        texts = {member: getattr(axis, member) for member in members}
        return replace(axis, **{member: self._names.get(text, text) for member, text in texts.items()})

    def _bind_axis(self, axis: Axis | Categories, columns: Sequence[Column]) -> engines.BoundAxis:
        """Match an axis with a column of the schema, or with a derived column that its expression defines.

        Args:
            axis: Axis with the schema's names.
            columns: Columns of the schema.

        Raises:
            ValueError: no column has the name, or the expression does not fit the schema.
        """
        if isinstance(axis, OrderedAxis):
            return self._bind_ordered(axis, columns)
        if isinstance(axis, LatticeAxis):
            return self._bind_lattice(axis, columns)
        if not is_expression(axis, {column.name for column in columns}):
            position = find_column(axis.column, columns)
            return engines.BoundAxis(axis, _adapt_column(axis, columns[position]), position)
        text = str(axis.column)
        if isinstance(axis, Axis) and (chain := find_chain(text)) is not None:
            axis = replace(axis, grid=invert_grid(chain.steps, axis.grid))
            text = chain.inner
        column, position = self._derive_column(text, isinstance(axis, Axis))
        return engines.BoundAxis(axis, _adapt_column(axis, column), position)

    def _bind_lattice(self, axis: LatticeAxis, columns: Sequence[Column]) -> engines.BoundAxis:
        """Match an axis that counts multiples of a step with a derived column, the index of the cell.

        Values of logarithms and exponentials never count as multiples, because their last bits differ between engines.

        Args:
            axis: Axis with cells for zero, for other multiples of a public step, and for other numbers.
            columns: Columns of the schema.
        """
        text = str(axis.column)
        if is_expression(axis, {column.name for column in columns}):
            chain = find_chain(text)
            number = Expression(
                parse_expression(self._rename_columns(text if chain is None else chain.inner), "column")
            )
            axis = axis if chain is None else replace(axis, bounds=(1.0, 0.0))
        else:
            position = find_column(text, columns)
            if columns[position].kind not in NUMERIC_KINDS:  # which `check` refuses
                return engines.BoundAxis(Axis(text, axis.grid, where=axis.where), columns[position], position)
            number = col(columns[position].name)
        cells = axis.build_expression(number.call("to_number"))
        column, position = self._derive_renamed(str(cells), True, text)
        return engines.BoundAxis(axis, column, position)

    def _bind_ordered(self, axis: OrderedAxis, columns: Sequence[Column]) -> engines.BoundAxis:
        """Match an axis of two ordered times with a derived column, which is missing where they are out of order.

        If an end of the axis is open, a missing time counts as a number beyond the grid.

        Args:
            axis: Axis of times of which one must not be after the other.
            columns: Columns of the schema.

        Raises:
            InvalidArgument: both times are on different scales.
        """
        numbers: dict[str, Expression] = {}
        steps: dict[str, tuple[Step, ...]] = {}
        for text in dict.fromkeys((axis.earlier, axis.later)):
            if not is_expression(Axis(text, axis.grid), {column.name for column in columns}):
                position = find_column(text, columns)
                if columns[position].kind not in NUMERIC_KINDS:  # which `check` refuses
                    return engines.BoundAxis(Axis(text, axis.grid, where=axis.where), columns[position], position)
                numbers[text], steps[text] = col(columns[position].name), ()
                continue
            chain = find_chain(text)
            inner, steps[text] = (text, ()) if chain is None else (chain.inner, chain.steps)
            numbers[text] = Expression(parse_expression(self._rename_columns(inner), "column"))
        if steps[axis.earlier] != steps[axis.later]:
            raise InvalidArgument(
                "column",
                f"{axis.earlier} and {axis.later} are compared, and need the same logarithm or exponential: write both "
                "on one scale, as in ln(entry) and ln(exit)",
                str(axis.column),
            )
        number = numbers[str(axis.column)]
        grid = axis.grid
        if steps[axis.earlier]:
            grid = invert_grid(steps[axis.earlier], grid)
        earlier, later = (numbers[text].call("to_number") for text in (axis.earlier, axis.later))
        if isinstance(axis, OpenEndedAxis):
            lower, upper = grid.closed_endpoints
            beyond = float(np.nextafter(upper, np.inf) if axis.missing_above else np.nextafter(lower, -np.inf))
            value = when(number.is_null(), beyond, number)
            ordered = when(earlier > later if axis.allows_equal else earlier >= later, None, value)
        else:
            ordered = when(earlier <= later if axis.allows_equal else earlier < later, number)
        column, position = self._derive_renamed(str(ordered), True, str(axis.column))
        return engines.BoundAxis(replace(axis, grid=grid), column, position)

    def _resolve_members(self, axes: Axes) -> list[engines.BoundAxis]:
        """SENSITIVE: match axes with columns, and hashed categories with the names in the records that have each hash.

        Names are hashed here, by the function that selected the categories. Engines only compare names.

        Args:
            axes: Axes of the query.
        """
        resolved = list[engines.BoundAxis]()
        engine = cast(Any, self._engine)
        for bound in self._bind_axes(axes):
            axis, names = bound.axis, bound.members
            if isinstance(axis, SelectedCategories) and axis.digits:
                universe = HashUniverse(axis.digits * BITS_A_DIGIT)
                members = {label: list[str]() for label in axis.values}
                for name in engine.names(bound):
                    members.get(universe.label(name), []).append(name)
                names = tuple(map(tuple, members.values()))
            resolved.append(bound._replace(members=names))
        return resolved


def _adapt_column(axis: Axis | Categories, column: Column) -> Column:
    """Return the column in the form in which the axis reads it: a time as a number, if the axis accepts the declared
    type.

    Args:
        axis: Axis of a question.
        column: Column of the schema.
    """
    is_declared_time = isinstance(axis, TypedAxis) and (column.time == DURATION or not isinstance(axis, DurationAxis))
    if is_declared_time and column.elapsed_time is not None:
        return replace(column, kind=ColumnKind.NUMBERS, number=column.elapsed_time)
    return column


def tabulate(records: Records, query: queries.Query) -> NDArray[Any]:
    """Return the exact table of `query`: 64-bit integers; for sums, Python integers in an object array.

    SENSITIVE: for trust models only, which add noise to it at once.

    Args:
        records: Records of one data holder.
        query: Query on their columns.

    Returns:
        The numbers of the query in its order, the last axis fastest. For names: pairs of name and number.
    """
    return _tabulate_query(query, records)


@singledispatch
def _tabulate_query(query: queries.Query, records: Records) -> NDArray[Any]:
    """Return the exact table of a query of any type without a special function: counts of the cells, then of missing
    records.

    Args:
        query: The query.
        records: Records of one data holder.
    """
    return records.counts(query.axes)


@_tabulate_query.register
def _(query: queries.SubsetQuery, records: Records) -> NDArray[Any]:
    """Return the exact number of subsets that confirm the query's claim, followed by a 0.

    Args:
        query: Columns, number of subsets, and bounds of the coefficient.
        records: Records of one data holder.

    Returns:
        Two integers; the 0 stands for missing records.
    """
    return np.array([records.count_confirming_subsets(query), 0])


@_tabulate_query.register(queries.PartitionSelectionQuery)
@_tabulate_query.register(queries.UniverseSelectionQuery)
def _(query: queries.Query, records: Records) -> NDArray[Any]:
    """Return pairs of a category's name (bytes) and its exact number of units, sorted by name.

    Args:
        query: Query with one axis of categories.
        records: Records of one data holder.

    Returns:
        Object array of shape ``(names, 2)``.

    Raises:
        TypeError: the axis is not one of categories.
    """
    (axis,) = query.axes
    if not isinstance(axis, Categories):
        raise WrongArgumentType(
            "axes", "only a column of categories has names; declare the column as Categories or TextUniverse"
        )
    found = sorted(records.names(axis).items())
    return np.array([(name.encode(), units) for name, units in found], dtype=object).reshape(-1, 2)


@_tabulate_query.register
def _(query: queries.UnitSizesQuery, records: Records) -> NDArray[Any]:
    """Return the exact number of units by number of rows, followed by the number of units without a row that counts.

    Args:
        query: Query, with its filter of the rows.
        records: Records of one data holder.

    Returns:
        Array of shape ``(classes + 1,)``; classes are 1, 2, up to 4, ..., up to ``2**MOST_DOUBLINGS`` rows, and more.
    """
    return records.unit_sizes(queries.MOST_DOUBLINGS, query.where)


@_tabulate_query.register
def _(query: queries.SizedUnitsQuery, records: Records) -> NDArray[Any]:
    """Return the exact number of units by number of rows, and by the cell of one of their records.

    Args:
        query: Query with one axis of values.
        records: Records of one data holder.

    Returns:
        Array of shape ``(classes * slots + 1,)``, slots fastest, followed by the units whose record has no value.
    """
    (axis,) = query.input_axes
    return records.sized_units(axis, queries.MOST_DOUBLINGS)


@_tabulate_query.register
def _(query: queries.SumQuery, records: Records) -> NDArray[Any]:
    """Return, for each cell, the exact sum of the values' offsets from its middle, for means, followed by a 0, as
    Python integers.

    Args:
        query: Axes, of which the last has a grid, and the number of steps in half a cell.
        records: Records of one data holder.

    Returns:
        Object array of shape ``(cells + 1,)``, the last axis fastest.
    """
    return np.array(records.sums(query.axes, query.half), dtype=object)


@_tabulate_query.register
def _(query: queries.SquareQuery, records: Records) -> NDArray[Any]:
    """Return, for each cell, the exact sum of centred squared offsets, for variances, followed by a 0, as Python
    integers.

    Args:
        query: Axes, of which the last has a grid, and the number of steps in half a cell.
        records: Records of one data holder.

    Returns:
        Object array of shape ``(cells + 1,)``, the last axis fastest.
    """
    return np.array(records.squares(query.axes, query.half), dtype=object)


@_tabulate_query.register
def _(query: queries.PrefixQuery, records: Records) -> NDArray[Any]:
    """Return the exact number of records in each requested prefix, followed by the missing records.

    Args:
        query: Axes and lengths of the prefixes, in slots of the flattened table.
        records: Records of one data holder.

    Returns:
        Array of shape ``(prefixes + 1,)``, in the order of the requested lengths.
    """
    return np.array(records.prefixes(query.axes, query.prefix_lengths))


@_tabulate_query.register
def _(query: WeightedQuery, records: Records) -> NDArray[Any]:
    """Return the exact weighted sum per cell, followed by the sum of missing records, as Python integers.

    Args:
        query: Axes and the column of weights.
        records: Records of one data holder.

    Returns:
        Object array, the last axis fastest.
    """
    return np.array(records.weighted_sums(query), dtype=object)


def _describe_needed_kind(axis: Axis | Categories, kind: ColumnKind) -> str:
    """Return the kind of values that a column needs, and how to get there if that is not obvious.

    Args:
        axis: Axis of the question, which does not fit the column.
        kind: Kind of the column in the schema, which does not fit the axis.

    Returns:
        Words for an error message, such as "a number is needed".
    """
    if kind in TEXT_KINDS and isinstance(axis, Axis):
        return (
            "a number is needed; name a column of numbers, or count labels with dp.bar_chart (dpcurves bars) or with "
            "--by NAME beside it"
        )
    remedy = "; give days or seconds as numbers (of dates: since a public day)" if kind is ColumnKind.TIMES else ""
    return f"{'a number' if isinstance(axis, Axis) else 'a number or text'} is needed{remedy}"


def require_matching_values(axis: Categories, column: Column) -> None:
    """Check that each category equals some value of the column's declared type; others would count nothing at full
    cost.

    If the schema declares text or no type, both classes must be named: the default 0 and 1 would not match yes and no.

    Args:
        axis: Declared categories.
        column: Column of the schema.

    Raises:
        ValueError: a category equals no value of the type, two categories are the same value, or a class has its
            default in a column of text or without a declared type.
    """
    if axis.is_implied and column.kind in UNTYPED_LABEL_KINDS:
        rule = (
            f"{axis.column!r} declares no type, and its labels may be text; "
            f"{_suggest_both_classes(axis.argument_names)}"
        )
        raise InvalidArgument(axis.argument_names[-1], rule)
    for argument, value in zip(axis.argument_names[::-1], axis.values[::-1], strict=True):  # positive label first
        if column.kind is ColumnKind.TEXT and not isinstance(value, str):
            raise InvalidArgument(
                argument, f"{describe_value(value)} is not text, but {axis.column!r} holds text; {_suggest_text(axis)}"
            )
        if spelling := column.suggest_spelling(value):
            rule = f"column `{axis.column}` is {column.type_name} in the schema; write {spelling}"
            raise InvalidArgument(argument, f"{describe_value(value)}: {rule}")
    if axis.is_implied and column.kind is ColumnKind.TEXT:
        rule = (
            f"{describe_value(axis.values[-1])} is a usual label, but {axis.column!r} holds text; "
            f"{_suggest_both_classes(axis.argument_names)}"
        )
        raise InvalidArgument(axis.argument_names[-1], rule)
    keys = [category_key(value, column.value_type) for value in axis.values]
    for index, key in enumerate(keys):
        if key is not None and key in keys[:index]:
            first, other = (describe_value(axis.values[position]) for position in (keys.index(key), index))
            raise InvalidArgument(
                axis.argument_names[index],
                f"{first} and {other} are the same value of column `{axis.column}`; declare one of them",
            )


def _is_number(label: Category) -> bool:
    """Return True if a category label is a number, or text that spells one.

    Args:
        label: Declared category.
    """
    if not isinstance(label, str):
        return True
    with suppress(ValueError):
        return not math.isnan(float(label))
    return False


def _require_numeric_columns(bound: Sequence[engines.BoundAxis]) -> None:
    """Check that no column without a declared type is both read as numbers and split by text labels.

    No field is both, so every count would be noise at full cost. Labels found by partition selection may be text, too.
    The rule depends on no record, and is the same before and after the charge.

    Args:
        bound: Axes of a query, bound to their columns.

    Raises:
        ValueError: a column is used in both ways.
    """
    numeric_positions = {bound_axis.place for bound_axis in bound if isinstance(bound_axis.axis, Axis)}
    for axis, column, position, _ in bound:
        if (
            position not in numeric_positions
            or column.kind not in {ColumnKind.FIELDS, ColumnKind.UNTYPED}
            or not isinstance(axis, Categories)
        ):
            continue
        has_selected_labels = isinstance(axis, UnlistedCategories | SelectedCategories)
        if has_selected_labels or not all(map(_is_number, axis.values)):
            rule = (
                f"{axis.column!r} is read as numbers here, but its labels are text or not declared, so no record would "
                f"be counted; name a column of numbers beside --by {axis.column}"
            )
            raise InvalidArgument("column", rule, str(axis.column))


def _suggest_text(axis: Categories) -> str:
    """Return the part of an error message that says how to name text labels: for two classes, both.

    Args:
        axis: Axis of categories whose column holds text.

    Returns:
        Words for the end of an error message.
    """
    return _suggest_both_classes(axis.argument_names) if axis.is_implied else "name it in quotes"


def _suggest_both_classes(arguments: tuple[str, ...]) -> str:
    """Return the part of an error message that says how to name both classes.

    Args:
        arguments: Names of the arguments for the classes, the negative class first.
    """
    negative, positive = arguments
    options = [f"--{argument.replace('_', '-')}" for argument in (positive, negative)]
    forms = (
        f"{options[0]} {positive_label} {options[1]} {negative_label}"
        for positive_label, negative_label in (("yes", "no"), ("1", "0"))
    )
    return f'name both classes, as in {positive}="yes", {negative}="no" ({" or ".join(forms)})'


# SENSITIVE. Predictions of models, computed record by record while the records are read.


def _require_values(axes: Axes, columns: Sequence[Column]) -> None:
    """Check that no axis is a logarithm or exponential where its values are used directly (as in sums): their last bits
    differ between libraries.

    Args:
        axes: Axes of the query.
        columns: Columns of the data.

    Raises:
        ValueError: an axis is of a logarithm or an exponential, and of no column with that name.
    """
    names = {column.name for column in columns}
    for axis in axes:
        chain = None
        if isinstance(axis, Axis) and isinstance(axis.column, str) and is_expression(axis, names):
            with suppress(InvalidArgument):  # the name of a column may have brackets
                chain = find_chain(axis.column)
            if chain is not None:
                raise InvalidArgument(
                    "column",
                    f"{axis.column}: logarithms and exponentials are counted on a grid, and not summed: their last "
                    f"bits differ between engines; ask for a distribution function, a histogram or quantiles",
                    axis.column,
                )


def _has_model(axes: Axes) -> bool:
    """Return True if any axis counts the predictions of a model instead of a column.

    Args:
        axes: Axes of a question.
    """
    return any(isinstance(axis.column, Predictor) for axis in axes)


def _input_axes(axis: Axis | Categories) -> list[Any]:
    """Return the columns that must be read for an axis, as axes: the inputs of its model, or the axis itself.

    Args:
        axis: Axis of a question.
    """
    if not isinstance(axis.column, Predictor):
        return [axis]
    return [
        Axis(model_input.column, MODEL_INPUT_GRID)
        if model_input.values is None
        else Categories(model_input.column, model_input.values)
        for model_input in axis.column.inputs
    ]


def _apply_models(axes: Axes, columns: Sequence[FloatArray]) -> list[FloatArray]:
    """Return one column per axis for a batch: the column itself, or the predictions that the axis's model computes from
    its inputs.

    Args:
        axes: Axes of the query.
        columns: Columns of a batch; an axis of a model has one for each of its inputs.
    """
    remaining = list(columns)
    values = []
    for axis in axes:
        width = len(_input_axes(axis))
        inputs, remaining = remaining[:width], remaining[width:]
        values.append(axis.column.compute_values(inputs) if isinstance(axis.column, Predictor) else inputs[0])
    return values


def _slot_flags(axes: Axes) -> list[bool]:
    """Return, for each axis, whether batches hold cell indices (slots) instead of numbers: True for categories.

    Args:
        axes: Axes of a table.

    Returns:
        A flag for each axis.
    """
    return [isinstance(axis, Categories) for axis in axes]


def _slot_cells(axes: Axes) -> engines.SlotCells:
    """Return the object that finds the cells of a table from batches of columns: numbers for grids, indices for
    categories.

    Args:
        axes: Axes of the table.
    """
    return engines.SlotCells(axes, _slot_flags(axes))
