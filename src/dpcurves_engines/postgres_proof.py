"""Conformance check of PostgreSQL: the cells of public constants, with no table involved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpcurves.arrays import FloatArray, IntArray
from dpcurves.data.grid import Grid
from dpcurves.records.engines.conformance import DECIMALS, Checked, findings

from . import postgres_sql as sql
from .postgres_link import Link
from .postgres_sql import Statement
from .postgres_types import NUMERIC, Typed, column_of


class PostgresProver:
    """Answers by the same SQL by which a table is counted."""

    decimals: Sequence[str] = DECIMALS

    def __init__(self, link: Link) -> None:
        self._link = link
        self.name = link.name

    def slots_of(self, grid: Grid, values: FloatArray) -> IntArray:
        statement = Statement()
        found = self._each(sql.grid_slot(grid, "n0", statement), self._sent(values, statement), statement)
        return np.array([grid.slots if slot is None else slot for slot in found], dtype=np.int64)

    def offsets_of(self, grid: Grid, values: FloatArray, half: int) -> IntArray:
        statement = Statement()
        slot = sql.grid_slot(grid, "n0", statement)
        offset = sql.offset(grid, "n0", "s0", half, statement)
        rows = f"(SELECT n0, {slot} AS s0, at FROM {self._sent(values, statement)} OFFSET 0) AS slotted"
        return np.array(self._each(offset, rows, statement), dtype=np.int64)

    def numbers_of(self, decimals: Sequence[str]) -> FloatArray:
        statement = Statement()
        number = column_of(Typed("x", NUMERIC, "b")).number.format("c0")
        rows = f"unnest({statement.texts(decimals)}::numeric[]) WITH ORDINALITY AS sent(c0, at)"
        found = self._each(number, rows, statement)
        return np.array([np.nan if each is None else each for each in found], dtype=np.float64)

    def digest_of(self, key: bytes, message: bytes) -> bytes:
        statement = Statement()
        digest = sql.hmac(key, statement.bytes(message), statement)
        return bytes(self._link.rows(f"SELECT {digest}", statement.parameters)[0][0])

    def _sent(self, values: FloatArray, statement: Statement) -> str:
        return f"unnest({statement.doubles(values)}) WITH ORDINALITY AS sent(n0, at)"

    def _each(self, expression: str, rows: str, statement: Statement) -> list[Any]:
        query = f"SELECT array_agg({expression} ORDER BY at) FROM {rows}"
        return list(self._link.rows(query, statement.parameters)[0][0])


def checked_postgres(url: str) -> Checked:
    """Run every check on the server at this URL.

    Raises:
        ValueError: it is not reached, or fails on a public number.
    """
    link = Link(url)
    try:
        link.begin()
        return Checked(link.name, tuple(findings(PostgresProver(link))))
    finally:
        link.close()
