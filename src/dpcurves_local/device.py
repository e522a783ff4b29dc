"""The code of a person's device. SECRET: it places a value in a task's table, rounds it, and stores reports.

    find_slot             the slot of a value in the task's table; it raises nothing and warns of nothing
    StochasticRounding    rounds a number to the middle of one of the two cells beside it, unbiased
    ReportMemo            a file of reports that were sent: one for each task and person, returned again if asked again

So no crash, log line or repeated question says more about the value than one randomised report.

Formal guarantees: a report is a mixture of the reports of both cells, so its loss is that of the randomiser; averaging
repeated reports reduces no noise, because they are one draw.
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

_CLASSES = (str, int, float)


def find_slot(axes: Sequence[Axis | Categories], value: Any) -> int:
    """Return the slot of a value in row-major order; the number of cells if a value is missing.

    Formal guarantees: the function raises nothing and warns of nothing, so that neither a crash nor a line in a log
    reveals the value. A value that is not a number or a declared category is missing; a number too large for a float
    is treated as infinity.

    Args:
        axes: Axes of the table.
        value: SECRET. For one axis the value, for several a mapping from columns to values.
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
    """Return one value per axis: of a mapping, the entry of each axis's column; any other value belongs to the last
    axis. None where a value is missing.
    """
    try:
        if isinstance(value, Mapping):
            return [_read_column(axis, value) for axis in axes]
    except Exception:  # a mapping of the caller may raise anything
        return [None for _ in axes]
    return [None] * (len(axes) - 1) + [value]


def _invert_axis(axis: Axis | Categories) -> Axis | Categories:
    """Return an axis of a logarithm or an exponential as one of the values inside, on the inverse grid."""
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
    """SECRET: return whether both times of each axis that has two are in order; an open end, without a time, is so.
    Raises nothing.
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
    """SECRET: return whether a person's mapping from columns to values meets the filter of the task, if it has one.
    Raises nothing.
    """
    where = next((axis.where for axis in axes if axis.where), "")
    if not where:
        return True
    with suppress(Exception):  # a mapping of the caller may raise anything
        return bool(_evaluate(where, value, ValueType.TRUTH) == 1)
    return False


def _read_column(axis: Axis | Categories, value: Mapping[Any, Any]) -> Any:
    """SECRET: return a person's value for an axis: 1 for all records, the value of a column (None if the mapping lacks
    it), or the value of an expression. Raises if an expression needs a column that the mapping lacks.
    """
    name = str(axis.column)
    if name == ALL_RECORDS and isinstance(axis, Axis):
        return 1
    if not is_expression(axis, value):
        return value.get(axis.column)
    result = _evaluate(name, value, ValueType.NUMBER if isinstance(axis, Axis) else None)
    return result.item() if isinstance(result, np.generic) else result


def _evaluate(text: str, value: Mapping[str, Any], expected: ValueType | None) -> Any:
    """SECRET: return the value of an expression for one person. Raises if the mapping lacks a column, or holds values
    of other types.
    """
    table = {name: [component] for name, component in value.items()}
    return evaluate_expression(parse_expression(text), table, expected)[0]


def _find_cell(axis: Axis, value: Any) -> int:
    """SECRET: return the index of the cell that holds a value; the number of cells if it is missing. Raises nothing."""
    number = _parse_number(value)
    if isinstance(axis, OpenEndedAxis) and isnan(number) and (value is None or isinstance(value, Real)):
        number = inf if axis.missing_above else -inf
    return int(axis.grid.cell_of(np.array([number]))[0])


def _parse_number(value: Any) -> float:
    """Convert to a float; NaN for text, bytes, booleans, and values whose conversion raises any exception."""
    try:
        return nan if isinstance(value, bool) or not isinstance(value, Real | Decimal) else _to_float(value)
    except Exception:  # a number class of the caller may raise anything
        return nan


def _to_float(value: Any) -> float:
    """SECRET: return a number as a float; infinity with its sign if it is too large."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _find_category(axis: Categories, value: Any) -> int:
    """Return the index of the category that equals a value or its text; if none does, the number of categories.

    The last of selected or listed categories has every other value that is not missing.
    """
    has_other = isinstance(axis, SelectedCategories)
    with suppress(Exception):  # a class of the caller may raise anything; an integer may be too long to print
        scalar = value.item() if isinstance(value, np.generic) else value
        if isinstance(scalar, _CLASSES) and not (isinstance(scalar, float) and isnan(scalar)):
            name = str(scalar).lower() if isinstance(scalar, bool) else str(scalar)
            same = (
                scalar == category or name == str(category) or str(scalar) == str(category)
                for category in axis.values[: len(axis.values) - has_other]
            )
            return next((index for index, is_same in enumerate(same) if is_same), axis.slots - has_other)
    return axis.slots


PARTS = 2**32
"""Denominator of rounding probabilities: 32 random bits decide."""
MOST_FINE_CELLS = 2**20
"""Fine cells of a grid at most, which resolve where a number lies between two cell middles."""


class Rounding(StrEnum):
    """The rule by which a number becomes a cell.

    `SIMPLE`: the cell that contains it. `RANDOMIZED`: one of the two cells whose middles enclose it, drawn so that the
    expected middle equals the number.
    """

    SIMPLE = "simple"
    RANDOMIZED = "randomized"


@dataclass(frozen=True)
class StochasticRounding:
    """Unbiased stochastic rounding of numbers to the middles of cells of equal width.

    A number at the fraction t of the way from one middle to the next is rounded to the next middle with probability t.
    A number beyond the first or the last middle is rounded to that middle. (Bell et al. 2019 mention this in section 3
    and leave it for later.) Numbers are first placed at the middle of one of at most 2**20 fine cells, and
    probabilities are multiples of ``2**-32``, so the bias is at most half a fine cell plus a 2**32th of a cell.

    Formal guarantees: the randomised response is to one of two cells, drawn with probabilities that depend on the
    value. A report is a mixture of the reports of both cells, and so at most exp(epsilon) times as likely for one value
    as for another.

    Attributes:
        axis: The column and its cells.

    Raises:
        UnsupportedQuery: cells have unequal widths, or values outside are counted apart.
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
        """Return the rounding for a question. Raises `UnsupportedQuery` if it is not about one column of numbers."""
        axis = axes[-1]
        if not isinstance(question, HistogramQuestion) or len(axes) != 1 or not isinstance(axis, Axis):
            raise UnsupportedQuery(
                "rounding", "is for histograms of one column of numbers; take simple rounding for other questions"
            )
        return cls(axis)

    @cached_property
    def fine_axis(self) -> Axis:
        """The column with fine cells, an equal number in each cell."""
        grid = self.axis.grid
        return replace(self.axis, grid=Grid(grid.lower, grid.upper, cells=grid.cells * self._fine_cells_per_cell))

    @property
    def _fine_cells_per_cell(self) -> int:
        """Number of fine cells in each cell of the grid."""
        return MOST_FINE_CELLS // self.axis.grid.cells

    def find_probabilities(self, fine: IntArray) -> tuple[IntArray, IntArray]:
        """Return for each fine cell the cell whose middle lies below it, and the probability of the next cell, in units
        of ``1 / PARTS``.
        """
        # positions in half fine cells, so that the middles of fine cells are integers
        twice = 2 * self._fine_cells_per_cell
        lower_cell, offset = np.divmod(2 * fine + 1 - self._fine_cells_per_cell, twice)
        inside = (lower_cell >= 0) & (lower_cell < self.axis.grid.cells - 1)
        return np.clip(lower_cell, 0, self.axis.grid.cells - 1), np.where(inside, offset * PARTS // twice, 0)

    def round_cells(self, fine: IntArray, randomness: Randomness) -> IntArray:
        """SECRET: return a cell for each fine cell, drawn so that its expected middle is the fine cell's; missing
        values stay missing.
        """
        cells, chances = self.find_probabilities(fine)
        words = np.frombuffer(randomness.random_bytes(4 * len(fine)), dtype="<u4").astype(np.int64)
        missing = fine == self.axis.grid.cells * self._fine_cells_per_cell
        rounds_up = words < chances
        return np.where(missing, self.axis.grid.cells, np.where(rounds_up, cells + 1, cells))


TABLE = "CREATE TABLE IF NOT EXISTS kept (task TEXT, person TEXT, report BLOB NOT NULL, PRIMARY KEY (task, person))"


@dataclass(frozen=True)
class ReportMemo:
    """A file of reports that were sent. It contains no value.

    Formal guarantees: each task and person has one report, for any number of requests by any party. Repeated requests
    return the same draw of the randomiser, so averaging cannot reduce the noise. A report is stored before it is
    returned. Names that differ in case, compatible characters or spaces belong to one person.

    Attributes:
        path: The file; it is created when it is first needed.
    """

    path: Path

    @classmethod
    def from_path(cls, path: str | Path) -> ReportMemo:
        """Return the memo in the file of this name."""
        return cls(Path(path))

    def load_or_create(self, task: str, person: str, make_report: Callable[[], bytes]) -> bytes:
        """Return the stored report; on the first call, store and return the result of `make_report`.

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
        """Open the database with its table. Raises `ValueError` if it is locked for too long, damaged or of another
        format.
        """
        try:
            # 60.0: seconds to wait while another process has locked the memo file, before it is an error
            with closing(sqlite3.connect(self.path, timeout=60.0, isolation_level=None)) as store:
                store.execute(TABLE)
                yield store
        except sqlite3.Error:
            raise InvalidArgument(
                "kept",
                "the file of reports is locked, damaged or of another format; end other programs that "
                "use it, or restore it from a copy",
            ) from None
