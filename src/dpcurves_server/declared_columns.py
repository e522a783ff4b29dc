"""The public schema of a table, and dummy tables drawn evenly from it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dpcurves.arguments import Refused
from dpcurves.curves.question_json import columns_read, columns_written
from dpcurves.data import Categories
from dpcurves.inference import public_generator
from dpcurves.models import Ranged

Declared = Ranged | Categories
MOST = 2000


def columns_to_json(columns: Sequence[Declared]) -> list[dict[str, Any]]:
    """Write columns as plain objects, as questions write theirs.

    >>> columns_to_json([Ranged("age", 0, 90), Categories("sex", ("f", "m"))])[0]
    {'column': 'age', 'lower': 0.0, 'upper': 90.0}
    """
    return columns_written(columns)


def columns_from_json(stored: Any) -> tuple[Declared, ...]:
    """The columns that were written by `columns_to_json`, or by hand.

    Raises:
        ValueError: they are none, or too many, or two have one name; one line names what is wrong.
    """
    found = columns_read("columns", stored)
    names = [str(each.column) for each in found]
    if not 1 <= len(names) <= MOST or len(set(names)) < len(names):
        raise Refused("columns", f"1 to {MOST} columns are needed, each of its own name")
    return found


MOST_ROWS = 1_000_000
USUAL_ROWS = 10_000
"""The number of units where it is private."""


def dummy_table(columns: Sequence[Declared], rows: int, only: Collection[str] | None = None) -> pa.Table:
    """A table of so many rows; each value is as likely as any other that its column declares.

    Arguments:
        columns: The public schema.
        rows: How many.
        only: The columns that are wanted; None: all. A column is the same whichever others are there.

    >>> from dpcurves.data import Categories
    >>> dummy_table((Categories("sex", ("f", "m")),), 3).num_rows
    3
    """
    chances = public_generator(None).spawn(len(columns))
    wanted = [each for each in zip(columns, chances, strict=True) if only is None or str(each[0].column) in only]
    return pa.table({str(column.column): _drawn(column, chance, rows) for column, chance in wanted})


def _drawn(column: Declared, chance: np.random.Generator, rows: int) -> Any:
    if isinstance(column, Categories):
        values = list(column.values)
        kept = values if len({type(each) for each in values}) == 1 else list(map(str, values))
        return pa.array(kept).take(pa.array(chance.integers(len(kept), size=rows)))
    return pa.array(chance.uniform(column.lower, column.upper, rows))
