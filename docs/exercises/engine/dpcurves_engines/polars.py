"""SENSITIVE. A Parquet file or a frame of Polars, counted by Polars: the same cells, bit for bit."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dpcurves.arguments import MissingPackage, WrongArgumentType
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.data import Axis, Categories, Grid, Outside, SelectedCategories
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records.engines.duckdb import assign_subsets
from dpcurves.records.engines.engine import (
    LOW_BITS,
    BoundAxis,
    CountingEngine,
    EngineTable,
    Keys,
    category_keys,
    require_grid,
    table_size,
)
from dpcurves.records.source import READ_FAILURE, Column, ColumnKind, column_from_arrow_type, find_column

from .conformance import ConformanceReport, require_conformance, run_checks
from .slots import OffsetConstants, PrefixIntervals, find_thresholds


def polars(data: Any) -> PolarsTable:
    """Return a table that Polars counts; give it to a `Session` in place of a file.

    Args:
        data: The path of a Parquet file, a `DataFrame` or a `LazyFrame`.

    Raises:
        TypeError: it is none of these.
    """
    pl = _library()
    if not isinstance(data, str | Path | pl.DataFrame | pl.LazyFrame):
        raise WrongArgumentType("data", f"a path or a frame of Polars is needed, got {type(data).__name__}")
    return PolarsTable(data)


def checked_polars() -> ConformanceReport:
    """Return the result of every conformance check of Polars."""
    prover = PolarsProver()
    return ConformanceReport(prover.name, tuple(run_checks(prover)))


def _library() -> Any:
    try:
        import polars as pl
    except ImportError:
        raise MissingPackage("data", "Polars is needed: pip install polars") from None
    return pl


@dataclass(frozen=True, slots=True, repr=False)
class PolarsTable(EngineTable):
    """The location of a table, or a frame. It shows nothing of the records."""

    data: Any = field(repr=False)

    def __repr__(self) -> str:
        return "polars(hidden)"

    @property
    def engine(self) -> str:
        return "Polars"

    def open(self, unit: Unit, key: bytes) -> CountingEngine:
        pl = _library()
        frame = pl.scan_parquet(self.data) if isinstance(self.data, str | Path) else self.data.lazy()
        return PolarsEngine(frame, unit, key)


class PolarsProver:
    """Finds the cells of public numbers by Polars, for conformance checks."""

    decimals: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._pl = _library()

    @property
    def name(self) -> str:
        return f"Polars {self._pl.__version__}"

    def find_slots(self, grid: Grid, values: FloatArray) -> IntArray:
        slots = self._slot(grid, self._pl.Series(values)).fill_null(grid.slots)
        return np.asarray(slots.to_numpy(), dtype=np.int64)

    def find_offsets(self, grid: Grid, values: FloatArray, half: int) -> IntArray:
        return np.asarray(self._offset(grid, self._pl.Series(values), half).to_numpy(), dtype=np.int64)

    def compute_digest(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, "sha256")

    def parse_decimals(self, decimals: Sequence[str]) -> FloatArray:
        return np.array([float(decimal) for decimal in decimals])

    def _slot(self, grid: Grid, values: Any) -> Any:
        """Return the number of thresholds at or below each value, by comparing doubles; null where it is missing."""
        values = values.fill_nan(None)
        thresholds = self._pl.Series(find_thresholds(grid), dtype=self._pl.Float64)
        slots = thresholds.search_sorted(values.fill_null(0.0), side="right").cast(self._pl.Int64)
        return self._pl.select(self._pl.when(values.is_not_null()).then(slots)).to_series()

    def _offset(self, grid: Grid, values: Any, half: int) -> Any:
        """Return the offset of each value, operation by operation as `Grid.offset_of` computes it."""
        cell, values, pl = self._slot(grid, values), values.fill_nan(None), self._pl
        constants, apart = OffsetConstants.from_grid(grid), int(grid.outside is Outside.APART)
        inner = (cell - apart).clip(0, grid.cells - 1).fill_null(0)
        middle, width = (pl.Series(constant).gather(inner) for constant in (constants.middle, constants.width))
        clipped = values.clip(grid.lower, grid.upper).fill_null(grid.lower)
        steps = (((clipped - middle) / width * float(2 * half)) + 0.5).floor().clip(float(-half), float(half))
        counted = cell.is_not_null() & (cell >= apart) & (cell < grid.cells + apart)
        return pl.select(pl.when(counted).then(steps.cast(pl.Int64)).otherwise(0)).to_series()


class PolarsEngine(PolarsProver):
    """Counts the used rows of a frame. The frame is read once, at the first count."""

    failure: str = READ_FAILURE
    moment: int | None = None

    def __init__(self, frame: Any, unit: Unit, key: bytes) -> None:
        super().__init__()
        self._frame, self._unit, self._key = frame, unit, key
        schema = frame.head(0).collect().to_arrow().schema
        self.columns: tuple[Column, ...] = tuple(column_from_arrow_type(entry.name, entry.type) for entry in schema)
        if unit != EACH_RECORD:
            find_column(unit.column, self.columns, "unit")

    def prepare(self, bound: Sequence[BoundAxis]) -> None:
        require_conformance(self, bound)

    def counts(self, bound: Sequence[BoundAxis]) -> IntArray:
        return np.bincount(self.places(bound), minlength=table_size(bound) + 1)

    def sums(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        return self._sum_in_cells(bound, self._offsets(bound, half))

    def squares(self, bound: Sequence[BoundAxis], half: int) -> list[int]:
        return self._sum_in_cells(bound, 2 * self._offsets(bound, half) ** 2 - half**2)

    def prefixes(self, bound: Sequence[BoundAxis], at: Sequence[int]) -> list[int]:
        pieces, (*first, last) = PrefixIntervals.from_entries(bound, at), bound
        row, values = self._places(first), self._number(last).fill_nan(None)
        bounds = self._pl.Series(pieces.start_values, dtype=self._pl.Float64)
        piece = bounds.search_sorted(values.fill_null(0.0), side="right").to_numpy().astype(np.int64)
        missing = (row == table_size(first)) | values.is_null().to_numpy()
        place = np.where(missing, len(pieces.zero_counts) - 1, row * pieces.count + piece)
        return pieces.sum_prefixes(np.bincount(place, minlength=len(pieces.zero_counts)))

    def numbers(self, bound: Sequence[BoundAxis]) -> Iterator[Sequence[FloatArray]]:
        yield self._columns(bound)

    def in_subsets(self, bound: Sequence[BoundAxis], subsets: int) -> Iterator[Sequence[FloatArray]]:
        yield [*self._columns(bound), assign_subsets(self._names(), self._key, subsets)]

    def places(self, bound: Sequence[BoundAxis]) -> IntArray:
        return self._places(bound)

    def units(self) -> int:
        units = self._units_of(self._all)
        return len(units) if self._unit == EACH_RECORD else int(units.n_unique())

    def close(self) -> None:
        self._frame = None
        for name in ("_all", "_used"):
            self.__dict__.pop(name, None)

    @cached_property
    def _all(self) -> Any:
        return self._frame.collect()

    @cached_property
    def _used(self) -> Any:
        """The used rows: of each unit the first ones, ranked by HMAC-SHA256 of all values of a row.

        Formal guarantees: as for `dpcurves.records.engines.duckdb.used_rows_sql`: which rows of a unit are used is a
        function of the key and of that unit's rows.
        """
        if self._unit == EACH_RECORD:
            return self._all
        ranks = [
            self.compute_digest(self._key, repr(row).encode("utf-8", "backslashreplace")) for row in self._all.rows()
        ]
        units = [repr(unit) for unit in self._units_of(self._all)]
        rows_of_unit: dict[str, int] = {}
        used_rows = []
        for row in sorted(range(len(ranks)), key=ranks.__getitem__):
            rows_of_unit[units[row]] = rows_of_unit.get(units[row], 0) + 1
            if rows_of_unit[units[row]] <= self._unit.records:
                used_rows.append(row)
        return self._all[used_rows]

    def _units_of(self, frame: Any) -> Any:
        """Return the unit of each row: NaN is a missing unit, and zeros of both signs are one unit."""
        if self._unit == EACH_RECORD:
            return self._pl.Series(range(len(frame)))
        units = frame.to_series(find_column(self._unit.column, self.columns))
        if not units.dtype.is_float():
            return units
        pl, units = self._pl, units.fill_nan(None)
        return pl.select(pl.when(units == 0).then(0.0).otherwise(units)).to_series()

    def _names(self) -> list[bytes]:
        """Return a name of the unit of each row; equal records are numbered, in arbitrary order."""
        if self._unit != EACH_RECORD:
            return [repr(unit).encode("utf-8", "backslashreplace") for unit in self._units_of(self._used)]
        copies: dict[str, int] = {}
        names = []
        for row in map(repr, self._used.rows()):
            copies[row] = copies.get(row, 0) + 1
            names.append(f"{copies[row]} {row}".encode("utf-8", "backslashreplace"))
        return names

    def _number(self, bound: BoundAxis) -> Any:
        series = self._used.to_series(bound.place)
        numeric = series.dtype.is_numeric() or series.dtype == self._pl.Boolean
        return (
            series.cast(self._pl.Float64) if numeric else self._pl.Series([None] * len(series), dtype=self._pl.Float64)
        )

    def _slots(self, bound: BoundAxis) -> Any:
        if isinstance(bound.axis, Categories):
            return self._category(bound, bound.axis)
        return self._slot(require_grid(bound.axis), self._number(bound))

    def _category(self, bound: BoundAxis, axis: Categories) -> Any:
        if isinstance(axis, SelectedCategories):
            raise WrongArgumentType("data", "Polars counts declared categories alone")
        pl, series = self._pl, self._used.to_series(bound.place)
        keys, slots = Keys.from_keys(category_keys(bound)), pl.Series([None] * len(series), dtype=pl.Int64)
        columns: list[tuple[Sequence[tuple[Any, int]], Any]] = [(keys.texts, series.cast(pl.String))]
        if bound.column.kind is ColumnKind.NUMBERS:
            columns.append((keys.numbers, self._number(bound)))
        for entries, values in columns:
            slot_of_key = dict(reversed(entries))  # of equal keys the first category counts
            if slot_of_key:
                matches = values.replace_strict(slot_of_key, default=None, return_dtype=pl.Int64)
                slots = pl.select(pl.coalesce(slots, matches)).to_series()
        return slots

    def _columns(self, bound: Sequence[BoundAxis]) -> list[FloatArray]:
        columns = (self._number(axis) if isinstance(axis.axis, Axis) else self._slots(axis) for axis in bound)
        return [column.cast(self._pl.Float64).fill_null(float("nan")).to_numpy() for column in columns]

    def _places(self, bound: Sequence[BoundAxis]) -> IntArray:
        pl = self._pl
        place = pl.Series([0] * len(self._used), dtype=pl.Int64)
        for axis in bound:
            place = place * axis.axis.slots + self._slots(axis)
        return np.asarray(place.fill_null(table_size(bound)).to_numpy(), dtype=np.int64)

    def _offsets(self, bound: Sequence[BoundAxis], half: int) -> IntArray:
        offsets = self._offset(require_grid(bound[-1].axis), self._number(bound[-1]), half)
        return np.asarray(offsets.to_numpy(), dtype=np.int64)

    def _sum_in_cells(self, bound: Sequence[BoundAxis], amounts: IntArray) -> list[int]:
        """Return exact sums of each cell, added up in two parts of 64 bits, and behind them 0."""
        place, high, low = self.places(bound), *np.zeros((2, table_size(bound) + 1), dtype=np.int64)
        np.add.at(high, place, amounts >> LOW_BITS)
        np.add.at(low, place, amounts & (2**LOW_BITS - 1))
        sums = [(upper << LOW_BITS) + lower for upper, lower in zip(high.tolist(), low.tolist(), strict=True)]
        return [*sums[:-1], 0]
