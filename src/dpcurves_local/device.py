"""SECRET. Local differential privacy on a person's device: find the cell of a value, round it, and store the report.

    find_slot             value -> the cell of the task's table, as one index
    StochasticRounding    rounds a number to one of the two nearest cell middles, without bias
    ReportMemo            a file with one report per task and person, which is returned on each later request
                          (memoization)

The randomiser, which adds the noise, is elsewhere. Everything here may see the value, so no function logs it or puts it
into an error message, and `find_slot` turns errors into a missing value.

Formal guarantees: rounding only mixes the reports of two cells, so it does not increase the loss of the randomiser. A
repeated request returns the stored report, so asking again reveals nothing new.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from math import inf, isnan, nan, prod
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import IntArray
from dpcurves.conversation import UnsupportedQuery
from dpcurves.curves import HistogramQuestion
from dpcurves.data import (
    ALL_RECORDS,
    Axis,
    Categories,
    Grid,
    OpenEndedAxis,
    OrderedAxis,
    Outside,
    SelectedCategories,
    is_expression,
)
from dpcurves.data.grid import Spacing
from dpcurves.expressions import ValueType, evaluate_expression, parse_expression
from dpcurves.noise.randomness import Randomness
from dpcurves.records.monotone import find_chain, invert_grid

from .report_file import normalize_name

_SCALAR_TYPES = (str, int, float)
"""Types of values that can equal a category; any other value counts as matching none."""


def find_slot(axes: Sequence[Axis | Categories], value: Any) -> int:
    """Return the cell of a value as one index in row-major order; the number of cells if the value is missing.

    A value that is not a number or a declared category counts as missing. A number too large for a float counts as
    infinite.

    Formal guarantees: no exception and no warning depends on the value, so neither a crash nor a log line reveals it.

    Args:
        axes: Axes of the table, in order.
        value: SECRET. The value itself for one axis; a mapping from columns to values for several.
    """
    slot = 0
    read_axes = tuple(map(_invert_axis, axes))
    if not _passes_filter(axes, value) or not _has_ordered_times(read_axes, value):
        return prod(axis.slots for axis in axes)
    for axis, component in zip(read_axes, _split_value(read_axes, value), strict=True):
        index = _find_category(axis, component) if isinstance(axis, Categories) else _find_cell(axis, component)
        if index == axis.slots:
            return prod(axis.slots for axis in axes)
        slot = slot * axis.slots + index
    return slot


def _split_value(axes: Sequence[Axis | Categories], value: Any) -> list[Any]:
    """SECRET: return one value per axis, None where it is missing. Raises nothing.

    Args:
        axes: Axes of the table.
        value: A mapping, which is read column by column; any other value belongs to the last axis.
    """
    try:
        if isinstance(value, Mapping):
            return [_read_column(axis, value) for axis in axes]
    except Exception:  # a mapping of the caller may raise anything
        return [None for _ in axes]
    return [None] * (len(axes) - 1) + [value]


def _invert_axis(axis: Axis | Categories) -> Axis | Categories:
    """Return an axis on an increasing function of x, such as ``ln(x)``, as an axis on x itself, on the inverse grid.

    Args:
        axis: An axis. An axis on x itself, or on another function, is returned unchanged.

    Raises:
        ValueError: only one of the two times of an axis is a function, or their functions differ.
    """
    if not isinstance(axis, Axis) or not isinstance(axis.column, str) or "(" not in axis.column:
        return axis
    chain = find_chain(axis.column)
    if chain is None:
        return axis
    inner = replace(axis, column=chain.inner, grid=invert_grid(chain.steps, axis.grid))
    if not isinstance(inner, OrderedAxis):
        return inner
    earlier, later = (find_chain(text) for text in (inner.earlier, inner.later))
    if earlier is None or later is None or earlier.steps != later.steps:
        raise InvalidArgument(
            "column",
            "the earlier and the later time need the same function, as in ln(x): write both with it, or neither",
            axis.column,
        )
    return replace(inner, earlier=earlier.inner, later=later.inner)


def _has_ordered_times(axes: Sequence[Axis | Categories], value: Any) -> bool:
    """SECRET: return whether the earlier time precedes the later one, on each axis that has two times. Raises nothing.

    Args:
        axes: Axes of the table.
        value: The person's value or mapping. An open end, which has no time, counts as ordered.
    """
    for axis in axes:
        if not isinstance(axis, OrderedAxis):
            continue
        earlier, later = (
            _parse_number(_split_value([Axis(text, axis.grid)], value)[0]) for text in (axis.earlier, axis.later)
        )
        is_open = isinstance(axis, OpenEndedAxis) and (isnan(earlier) or isnan(later))
        if not (is_open or earlier < later or (axis.allows_equal and earlier == later)):
            return False
    return True


def _passes_filter(axes: Sequence[Axis | Categories], value: Any) -> bool:
    """SECRET: return whether a person's row meets the task's filter. Raises nothing.

    Args:
        axes: Axes of the table, of which the first with a filter decides; without one the result is True.
        value: The person's mapping from columns to values. False if the filter cannot be evaluated on it.
    """
    where = next((axis.where for axis in axes if axis.where), "")
    if not where:
        return True
    with suppress(Exception):  # a mapping of the caller may raise anything
        return bool(_evaluate(where, value, ValueType.TRUTH) == 1)
    return False


def _read_column(axis: Axis | Categories, value: Mapping[Any, Any]) -> Any:
    """SECRET: return a person's value for an axis.

    Args:
        axis: The axis; its column may be an expression.
        value: Mapping from columns to values.

    Returns:
        The value; 1 for an axis of all records; None if the mapping lacks the column.

    Raises:
        Exception: an expression needs a column that the mapping lacks, or a value of another type.
    """
    name = str(axis.column)
    if name == ALL_RECORDS and isinstance(axis, Axis):
        return 1
    if not is_expression(axis, value):
        return value.get(axis.column)
    result = _evaluate(name, value, ValueType.NUMBER if isinstance(axis, Axis) else None)
    return result.item() if isinstance(result, np.generic) else result


def _evaluate(text: str, value: Mapping[str, Any], expected: ValueType | None) -> Any:
    """SECRET: return the value of an expression for one person, computed from the person's columns.

    Args:
        text: The expression.
        value: Mapping from columns to values.
        expected: Type of the result; None: any.

    Raises:
        Exception: the mapping lacks a column, or a value has another type than the expression needs.
    """
    table = {name: [component] for name, component in value.items()}
    return evaluate_expression(parse_expression(text), table, expected)[0]


def _find_cell(axis: Axis, value: Any) -> int:
    """SECRET: return the index of the cell that holds a value; the number of slots if it is missing. Raises nothing.

    Args:
        axis: The axis.
        value: The person's value; anything that is no number counts as missing.
    """
    number = _parse_number(value)
    if isinstance(axis, OpenEndedAxis) and isnan(number) and (value is None or isinstance(value, Real)):
        number = inf if axis.missing_above else -inf
    return int(axis.grid.cell_of(np.array([number]))[0])


def _parse_number(value: Any) -> float:
    """SECRET: convert a value to a float. Raises nothing.

    Args:
        value: The value, of any type.

    Returns:
        The number, infinite if it is too large; NaN for text, bytes, booleans, and values that cannot be converted.
    """
    try:
        return nan if isinstance(value, bool) or not isinstance(value, Real | Decimal) else _to_float(value)
    except Exception:  # a number class of the caller may raise anything
        return nan


def _to_float(value: Any) -> float:
    """SECRET: return a number as a float; infinity with its sign if it is too large.

    Args:
        value: SECRET. Number of any type that converts to a float.
    """
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _find_category(axis: Categories, value: Any) -> int:
    """SECRET: return the index of the category that equals a value or its text. Raises nothing.

    Args:
        axis: The axis. If it ends with a category for all others, an unlisted, nonmissing value has that index.
        value: The person's value.

    Returns:
        The index; the number of categories if no category matches.
    """
    has_other = isinstance(axis, SelectedCategories)
    with suppress(Exception):  # a class of the caller may raise anything; an integer may be too long to print
        scalar = value.item() if isinstance(value, np.generic) else value
        if isinstance(scalar, _SCALAR_TYPES) and not (isinstance(scalar, float) and isnan(scalar)):
            name = str(scalar).lower() if isinstance(scalar, bool) else str(scalar)
            same = (
                scalar == category or name == str(category) or str(scalar) == str(category)
                for category in axis.values[: len(axis.values) - has_other]
            )
            return next((index for index, is_same in enumerate(same) if is_same), axis.slots - has_other)
    return axis.slots


ROUNDING_DENOMINATOR = 2**32
"""Denominator of the probabilities of rounding a number to a neighbouring cell: 32 random bits decide."""
MOST_FINE_CELLS = 2**20
"""Largest number of fine cells of a grid, which resolve where a number lies between two cell middles. A grid of more
than half as many cells is refused for this rounding."""


class Rounding(StrEnum):
    """The rule by which a device turns a number into a cell.

    `SIMPLE`: the cell that contains it. `RANDOMIZED`: one of the two cells whose middles enclose it, drawn so that the
    expected middle equals the number (stochastic rounding).
    """

    SIMPLE = "simple"
    RANDOMIZED = "randomized"


@dataclass(frozen=True)
class StochasticRounding:
    """Unbiased stochastic rounding of numbers to the middles of cells of equal width.

    A number at fraction t of the way from one middle to the next is rounded up with probability t. A number beyond the
    first or last middle is rounded to that middle. Bell et al. (2019, section 3) mention this method and leave it for
    later.

    Numbers are first placed in one of at most 2**20 fine cells, and probabilities are multiples of ``2**-32``. The bias
    is therefore at most half a fine cell plus ``2**-32`` of a cell.

    Formal guarantees: a report is a mixture of the reports of two cells. So it is at most exp(epsilon) times as likely
    for one value as for another, as without rounding.

    Attributes:
        axis: The column and its cells.

    Raises:
        UnsupportedQuery: cells have unequal widths, or values outside are counted apart.
        InvalidArgument: the grid has fewer than 2 or more than 2**19 cells.
    """

    axis: Axis

    def __post_init__(self) -> None:
        grid = self.axis.grid
        if grid.spacing is not Spacing.LINEAR or grid.outside is Outside.APART:
            raise UnsupportedQuery(
                "rounding",
                "needs cells of equal width and a grid that clips values outside; take another grid, "
                "or simple rounding",
            )
        if not 2 <= grid.cells <= MOST_FINE_CELLS // 2:
            raise InvalidArgument(
                "rounding",
                f"needs a grid of 2 to {MOST_FINE_CELLS // 2} cells, got {grid.cells}; take such a grid, or "
                "simple rounding",
            )

    @classmethod
    def from_question(cls, question: object, axes: Sequence[Axis | Categories]) -> StochasticRounding:
        """Return the stochastic rounding for the values of a question.

        Args:
            question: Question of the task.
            axes: Axes of its table.

        Raises:
            UnsupportedQuery: the question is not a histogram of one column of numbers.
        """
        axis = axes[-1]
        if not isinstance(question, HistogramQuestion) or len(axes) != 1 or not isinstance(axis, Axis):
            raise UnsupportedQuery(
                "rounding", "is for histograms of one column of numbers; take simple rounding for other questions"
            )
        return cls(axis)

    @cached_property
    def fine_axis(self) -> Axis:
        """Axis on which a device finds the cell of a value before rounding: each cell is divided into equally many fine
        cells, at most 2**20 in all.
        """
        grid = self.axis.grid
        return replace(self.axis, grid=Grid(grid.lower, grid.upper, cells=grid.cells * self._fine_cells_per_cell))

    @property
    def _fine_cells_per_cell(self) -> int:
        """Number of fine cells in each cell of the grid."""
        return MOST_FINE_CELLS // self.axis.grid.cells

    def find_probabilities(self, fine: IntArray) -> tuple[IntArray, IntArray]:
        """Return between which two cells each fine cell is rounded at random, and with which probability upwards.

        Args:
            fine: Indices of fine cells.

        Returns:
            The cell whose middle lies below, and the probability of the next cell instead, in units of ``1 /
            ROUNDING_DENOMINATOR``.
        """
        # positions in half fine cells, so that the middles of fine cells are integers
        twice = 2 * self._fine_cells_per_cell
        lower_cell, offset = np.divmod(2 * fine + 1 - self._fine_cells_per_cell, twice)
        inside = (lower_cell >= 0) & (lower_cell < self.axis.grid.cells - 1)
        return np.clip(lower_cell, 0, self.axis.grid.cells - 1), np.where(
            inside, offset * ROUNDING_DENOMINATOR // twice, 0
        )

    def round_cells(self, fine: IntArray, randomness: Randomness) -> IntArray:
        """SECRET: round each person's fine cell at random to a cell, so that the expected middle is that of the fine
        cell.

        Args:
            fine: Index of a fine cell for each person; the number of fine cells if the value is missing.
            randomness: Source of the random bits; 32 bits a person.

        Returns:
            Index of a cell for each person; the number of cells if the value is missing.
        """
        cells, chances = self.find_probabilities(fine)
        words = np.frombuffer(randomness.random_bytes(4 * len(fine)), dtype="<u4").astype(np.int64)
        missing = fine == self.axis.grid.cells * self._fine_cells_per_cell
        rounds_up = words < chances
        return np.where(missing, self.axis.grid.cells, np.where(rounds_up, cells + 1, cells))


KEPT_TABLE_SQL = (
    "CREATE TABLE IF NOT EXISTS kept (task TEXT, person TEXT, report BLOB NOT NULL, PRIMARY KEY (task, person))"
)
"""SQL of the table of a device's sent reports: one row per task and person, so that a repeated request gets the same
report."""


@dataclass(frozen=True)
class ReportMemo:
    """A file with the report of each task and person. It contains reports only, no value.

    Formal guarantees: a person has one report per task, for any number of requests by any requester. Repeated
    requests return the same draw, so averaging cannot reduce the noise. A report is stored before it is returned. Names
    that differ in case, compatible characters or spaces belong to one person.

    Attributes:
        path: The file (SQLite); it is created when it is first needed.
    """

    path: Path

    @classmethod
    def from_path(cls, path: str | Path) -> ReportMemo:
        """Return the memo (store of the reports that a device has sent) in the file of this name, which need not exist
        yet.

        Args:
            path: Path of the file.
        """
        return cls(Path(path))

    def load_or_create(self, task: str, person: str, make_report: Callable[[], bytes]) -> bytes:
        """Return the stored report of a person to a task; if there is none, store and return a new one.

        Args:
            task: Hash of the task.
            person: Name of the person.
            make_report: Function that makes a new report, called once at most.

        Raises:
            ValueError: the file cannot be used.
        """
        person = normalize_name(person)
        with self._open_store() as store:
            store.execute("BEGIN IMMEDIATE")
            row = store.execute("SELECT report FROM kept WHERE task = ? AND person = ?", (task, person)).fetchone()
            if row is not None:
                store.execute("COMMIT")
                return bytes(row[0])
            report = make_report()
            store.execute("INSERT INTO kept VALUES (?, ?, ?)", (task, person, report))
            store.execute("COMMIT")
            return report

    @contextmanager
    def _open_store(self) -> Iterator[sqlite3.Connection]:
        """Open the database with its table.

        Raises:
            InvalidArgument: the file is locked for more than 60 seconds, damaged, or of another format.
        """
        try:
            # 60.0: seconds to wait while another process has locked the memo file, before it is an error
            with closing(sqlite3.connect(self.path, timeout=60.0, isolation_level=None)) as store:
                store.execute(KEPT_TABLE_SQL)
                yield store
        except sqlite3.Error:
            raise InvalidArgument(
                "memo",
                "the file of reports is locked, damaged or of another format; end other programs that "
                "use it, or restore it from a copy",
            ) from None
