"""SECRET. Owner's reading of a table: the whole numbers of its people, as a task of pairs declares them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpcurves.arrays import IntArray
from dpcurves.privacy import EACH_RECORD
from dpcurves.records import open_records

from .task import PairTask


def read_values(task: PairTask, table: Any, delimiter: str = ",", columns: Sequence[str] | None = None) -> IntArray:
    """SECRET: the whole numbers of the people of a table, a column for each; `columns`: by the table's own names.

    What is less than 0, or too large, is the nearest whole number of the declared bits; what is missing is 0.

    Raises:
        ValueError: a column is not there or of the wrong type; or there are no people, or more than the task takes.
    """
    axes = [
        replace(axis, column=name) for axis, name in zip(task.query.axes, columns or task.kernel.columns, strict=True)
    ]
    with open_records(table, unit=EACH_RECORD, key=bytes(32), delimiter=delimiter) as records:
        places = [records.places([axis]) for axis in axes]
    values = [np.where(place == axis.slots, 0, place) for place, axis in zip(places, axes, strict=True)]
    return task.require_few(np.stack(values, axis=1))
