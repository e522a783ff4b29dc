"""The public schema of a table: its columns, numbers with their ranges and categories with their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpcurves.arguments import Refused
from dpcurves.curves.question_json import columns_read, columns_written
from dpcurves.data import Categories
from dpcurves.data.models import Ranged

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
