"""SECRET. Owner's reading of a table: the cells of its records, as a task of counts declares them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpcurves.arrays import IntArray
from dpcurves.data import Axis, Categories
from dpcurves.privacy import EACH_RECORD
from dpcurves.records import open_records

from .task import Task


def read_places(
    task: Task, table: Any, delimiter: str = ",", axes: Sequence[Axis | Categories] | None = None
) -> IntArray:
    """SECRET: the places of the records of a table, as the task reads them; `axes`: by the table's own names.

    Raises:
        ValueError: a column is not there or of the wrong type; or there are no records, or more than the task takes.
    """
    with open_records(table, unit=EACH_RECORD, key=bytes(32), delimiter=delimiter) as records:
        places = records.places(task.axes if axes is None else axes)
    return task.require_few(places)
