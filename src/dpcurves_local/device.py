"""SECRET. A person's device: where a value lies in a task's table, rounding to a cell, and reports that are kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from math import inf, nan, prod
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import IntArray
from dpcurves.conversation import UnsupportedQuery
from dpcurves.curves import HistogramQuestion
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.data.grid import Spacing
from dpcurves.noise.randomness import Randomness

from .report_file import normalize_name

_CLASSES = (str, int, float)


def find_slot(axes: Sequence[Axis | Categories], value: Any) -> int:
    """The number of the cell of a value, row by row; where something is missing, how many cells there are.

    Formal guarantees: it raises nothing and warns of nothing, so that neither a crash nor a line in a log of the device
    tells the value. What is no number, or no declared category, is missing; a number too large for a float is as far
    out as infinity.

    Args:
        axes: The axes of the table.
        value: SECRET. Of one axis the value, of several a mapping from columns to values.
    """
    slot = 0
    for axis, each in zip(axes, _split_value(axes, value), strict=True):
        own = _find_category(axis, each) if isinstance(axis, Categories) else _find_cell(axis, each)
        if own == axis.slots:
            return prod(axis.slots for axis in axes)
        slot = slot * axis.slots + own
    return slot


def _split_value(axes: Sequence[Axis | Categories], value: Any) -> list[Any]:
    """The value of each axis; None: there is none."""
    try:
        if isinstance(value, Mapping):
            return [value.get(axis.column) for axis in axes]
    except Exception:  # a mapping may do anything
        return [None for _ in axes]
    return [None] * (len(axes) - 1) + [value]


def _find_cell(axis: Axis, value: Any) -> int:
    return int(axis.grid.cell_of(np.array([_parse_number(value)]))[0])


def _parse_number(value: Any) -> float:
    """NaN for what is no number: text, octets, truth values, what can not be converted, whatever it raises."""
    try:
        return nan if isinstance(value, bool) or not isinstance(value, Real | Decimal) else _to_float(value)
    except Exception:  # a class of numbers may do anything
        return nan


def _to_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _find_category(axis: Categories, value: Any) -> int:
    """The declared category that a value is, or prints like; all of them: it is none."""
    with suppress(Exception):  # a class of values may do anything; and a whole number may be too long to print
        known = value.item() if isinstance(value, np.generic) else value
        if isinstance(known, _CLASSES):
            name = str(known).lower() if isinstance(known, bool) else str(known)
            same = (known == each or name == str(each) or str(known) == str(each) for each in axis.values)
            return next(place for place, is_same in enumerate(same) if is_same)
    return axis.slots


PARTS = 2**32
FINEST = 2**20
"""Cells that tell where a number lies between two middles."""


class Rounding(StrEnum):
    """The rule by which a number becomes a cell.

    `SIMPLE`: the cell that it lies in. `CHANCE`: one of the two cells whose middles it lies between, the nearer one the
    more often, so that on average it stays where it is.
    """

    SIMPLE = "simple"
    CHANCE = "chance"


@dataclass(frozen=True)
class StochasticRounding:
    """Rounds numbers to the middles of cells of equal width, so that each is kept on average.

    Where a share t of the way from one middle to the next is behind a number, it goes to the next one with chance t.
    What lies before the first middle or behind the last one goes there. (Bell et al. 2019 name it in section 3, and
    leave it for later.) A number is taken to lie in the middle of one of 2**20 fine cells or fewer, and chances are
    whole numbers of ``2**-32``: on average it is kept to half of a fine cell, and to a part in 2**32 of a cell.

    Formal guarantees: what is randomised is one of two cells, drawn by chances that follow from the value. A report is
    a mixture of their reports, and so at most exp(epsilon) times as likely for one value as for another.

    Attributes:
        axis: The column, and its cells.

    Raises:
        UnsupportedQuery: the cells are not of equal width, or values outside are counted apart.
    """

    axis: Axis

    def __post_init__(self) -> None:
        grid = self.axis.grid
        if grid.spacing is not Spacing.LINEAR or grid.outside is Outside.APART:
            raise UnsupportedQuery("rounding", "numbers are rounded by chance to cells of equal width that clamp")
        if not 2 <= grid.cells <= FINEST // 2:
            raise InvalidArgument(
                "rounding", f"from 2 to {FINEST // 2} cells have middles to round to, got {grid.cells}"
            )

    @classmethod
    def from_question(cls, question: object, axes: Sequence[Axis | Categories]) -> StochasticRounding:
        """The rounding of what a question asks. Raises `UnsupportedQuery` if it is not of one column of numbers."""
        axis = axes[-1]
        if not isinstance(question, HistogramQuestion) or len(axes) != 1 or not isinstance(axis, Axis):
            raise UnsupportedQuery("rounding", "numbers of a histogram are rounded by chance, no others")
        return cls(axis)

    @cached_property
    def fine_axis(self) -> Axis:
        """The column on the fine cells, of which each cell has as many."""
        grid = self.axis.grid
        return replace(self.axis, grid=Grid(grid.lower, grid.upper, cells=grid.cells * self._fine_cells_per_cell))

    @property
    def _fine_cells_per_cell(self) -> int:
        return FINEST // self.axis.grid.cells

    def find_probabilities(self, fine: IntArray) -> tuple[IntArray, IntArray]:
        """The cell before these fine cells, and the chance of the one behind it, in parts of `PARTS`."""
        twice = (
            2 * self._fine_cells_per_cell
        )  # places in whole numbers: twice as many as fine cells, so that their middles are some
        before, past = np.divmod(2 * fine + 1 - self._fine_cells_per_cell, twice)
        inside = (before >= 0) & (before < self.axis.grid.cells - 1)
        return np.clip(before, 0, self.axis.grid.cells - 1), np.where(inside, past * PARTS // twice, 0)

    def round_cells(self, fine: IntArray, randomness: Randomness) -> IntArray:
        """SECRET argument `fine`. A cell for each fine cell; what is missing stays missing."""
        cells, chances = self.find_probabilities(fine)
        drawn = np.frombuffer(randomness.random_bytes(4 * len(fine)), dtype="<u4").astype(np.int64)
        missing = fine == self.axis.grid.cells * self._fine_cells_per_cell
        return np.where(missing, self.axis.grid.cells, cells + (drawn < chances))


TABLE = "CREATE TABLE IF NOT EXISTS kept (task TEXT, person TEXT, report BLOB NOT NULL, PRIMARY KEY (task, person))"
WAIT = 60.0


@dataclass(frozen=True)
class ReportMemo:
    """A file of reports that were made, as they were sent: it holds no value.

    Formal guarantees: for each task and person there is one report, whoever asks how often: asked a thousand times, the
    aggregator sees one draw of the randomiser, and averages nothing. It is written before it is given out. Names that
    differ in case, compatible characters or spaces are one person's.

    Attributes:
        path: The file; made when it is needed first.
    """

    path: Path

    @classmethod
    def from_path(cls, path: str | Path) -> ReportMemo:
        """The file of this name."""
        return cls(Path(path))

    def load_or_create(self, task: str, person: str, make_report: Callable[[], bytes]) -> bytes:
        """The report that was made first; if there is none, `make_report` makes it.

        Raises:
            ValueError: the file can not be used.
        """
        person = normalize_name(person)
        with self._open_store() as store:
            store.execute("BEGIN IMMEDIATE")
            found = store.execute("SELECT report FROM kept WHERE task = ? AND person = ?", (task, person)).fetchone()
            if found is not None:
                store.execute("COMMIT")
                return bytes(found[0])
            report = make_report()
            store.execute("INSERT INTO kept VALUES (?, ?, ?)", (task, person, report))
            store.execute("COMMIT")
            return report

    @contextmanager
    def _open_store(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=WAIT, isolation_level=None)) as store:
                store.execute(TABLE)
                yield store
        except sqlite3.Error:
            raise InvalidArgument(
                "kept", "the file of reports can not be used: it is locked, damaged or of another kind"
            ) from None
