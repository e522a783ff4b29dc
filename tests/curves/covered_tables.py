"""Whether intervals of a table of two columns held: all counts at once, and shares one by one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from by_hand import answer, both
from kinds import POPULATIONS, SIZE, Case, FloatArray

from dpcurves.curves import ContingencyQuestion
from dpcurves.data import Categories
from dpcurves.privacy import PrivacyLoss

ROWS, COLUMNS = 5, 3
QUESTION = ContingencyQuestion(Categories("a", tuple(range(ROWS))), Categories("b", tuple(range(COLUMNS))))


@lru_cache
def population(data: str) -> tuple[FloatArray, FloatArray]:
    """Fifths of the grid that values lie in, even ones or of very different size; and a class that leans on them."""
    values, grid = POPULATIONS[data]
    rows = np.clip((values - grid.lower) / (grid.upper - grid.lower) * ROWS, 0, ROWS - 1).astype(np.int64)
    columns = np.minimum(np.random.default_rng(44).random(SIZE) * COLUMNS + 0.2 * rows, COLUMNS - 1)
    return rows.astype(np.float64), np.floor(columns)


def counted(rows: FloatArray, columns: FloatArray) -> FloatArray:
    return np.histogram2d(rows, columns, bins=(np.arange(ROWS + 1), np.arange(COLUMNS + 1)))[0]


def covered(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Tell it of one release; of the shares in rows, and of those in columns, only of one, by turns."""
    drawn = np.random.default_rng([seed, case.units, case.adjacency]).integers(SIZE, size=case.units)
    rows, columns = (each[drawn] for each in population(case.data))
    adjacency, loss = both(case.units)[case.adjacency], PrivacyLoss.pure(case.epsilon)
    found, place = answer(QUESTION, {"a": rows, "b": columns}, loss, adjacency, seed), seed % (ROWS * COLUMNS)
    whole = counted(*population(case.data)) * (case.units / SIZE)
    for whom, table in (("records", counted(rows, columns)), ("population", whole)):
        population_too = whom == "population"
        yield f"counts, {whom}", within(found.intervals(level, population=population_too), table.ravel())
        in_rows = found.row_share_intervals(level, population=population_too), table.sum(axis=1, keepdims=True)
        in_columns = found.column_share_intervals(level, population=population_too), table.sum(axis=0, keepdims=True)
        for name, (ends, total) in (("row shares", in_rows), ("column shares", in_columns)):
            shares = np.divide(table, total, out=np.full(table.shape, 0.5), where=total > 0)
            yield f"{name}, {whom}", within(ends.reshape(-1, 2)[[place]], shares.ravel()[[place]])


def within(ends: FloatArray, truth: FloatArray) -> bool:
    return bool(((ends[:, 0] <= truth + 1e-9) & (truth <= ends[:, 1] + 1e-9)).all())
