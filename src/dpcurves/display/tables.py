"""Unique column names of result tables (data frames, CSV files, workbooks, terminals), also if names collide.

A result by category has two kinds of columns. Label columns hold categories, and are named after the user's columns,
such as ``sex``. Columns of numbers have names of this package, such as ``value``.

    join_columns             label columns, columns of numbers -> columns by unique names
    name_label_columns       names -> unique names
    find_declared_numbers    the label columns whose categories are numbers
    convert_date_columns     days or seconds since 1970 -> ISO 8601 texts

If a user's column has one of the package's names, or differs from another only in case, which many programs ignore, the
label column becomes ``NAME_category``, with a number if that is taken, too. Names of the package never change, so
programs can rely on them. The functions arrange released numbers and read no records.

>>> join_columns([("value", ["a", "b"])], {"value": [1, 2]})
{'value_category': ['a', 'b'], 'value': [1, 2]}
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .numerals import format_in_iso

LabelColumns = Sequence[tuple[str, ArrayLike]]
"""Label columns: for each the user's name, and the label of every row. Names may repeat, because a user can give the
same label to several results (`ReleasedResult.with_labels`).
"""
ENDINGS = ("", "_lower", "_upper", "_lower_population", "_upper_population")
"""Suffixes that turn the name of a column into names of its interval bounds, for these records and for the population;
the empty one means the column itself."""
RESERVED = ("lower", "upper", "lower_population", "upper_population", "data", "result")
"""Columns that some outputs add: interval bounds, the source of the data (``data``) and the result that a row belongs
to (``result``). A label column of one of these names is renamed."""


def name_label_columns(names: Sequence[str], ours: Iterable[str]) -> list[str]:
    """Return a unique name for each label column.

    Names are compared ignoring case, as many programs do. Names of interval bounds are reserved even if the table has
    none, so that a label column has the same name in all outputs.

    Args:
        names: The user's names of the label columns. They may repeat.
        ours: The package's names of the columns of numbers. They are never changed.

    Returns:
        A name for each of `names`, in their order. A name that is free is unchanged.

    >>> name_label_columns(["ward", "Value", "data"], ["value"])
    ['ward', 'Value_category', 'data_category']
    >>> name_label_columns(["sex", "SEX", "value", "value_category"], ["value"])
    ['sex', 'SEX_category', 'value_category_2', 'value_category']
    """
    used = {f"{name}{ending}".casefold() for name in ours for ending in ENDINGS} | set(RESERVED)
    chosen: dict[int, str] = {}
    for place, name in enumerate(names):  # assign unchanged names first, so that no renamed column takes them
        if name.casefold() not in used:
            used.add(name.casefold())
            chosen[place] = name
    for place, name in enumerate(names):
        if place not in chosen:
            numbered = (f"{name}_category" if number == 1 else f"{name}_category_{number}" for number in count(1))
            chosen[place] = next(candidate for candidate in numbered if candidate.casefold() not in used)
            used.add(chosen[place].casefold())
    return [chosen[place] for place in range(len(names))]


def join_columns(labels: LabelColumns, ours: Mapping[str, Any], *, reserved: Iterable[str] = ()) -> dict[str, Any]:
    """Return the columns of a table by unique names: label columns first, then columns of numbers.

    Args:
        labels: Label columns, each a pair of the user's name and the labels of all rows.
        ours: Columns of numbers by the package's names, with as many rows.
        reserved: Further names of the package that the same table has in other outputs, which no label column gets.

    >>> join_columns([("value", ["a", "b"])], {"value": [1, 2]})
    {'value_category': ['a', 'b'], 'value': [1, 2]}
    """
    names = name_label_columns([name for name, _ in labels], [*ours, *reserved])
    return {**dict(zip(names, (values for _, values in labels), strict=True)), **ours}


def find_declared_numbers(
    categories: Sequence[tuple[str, Sequence[Any]]], columns: Collection[str]
) -> dict[str, dict[str, Any]]:
    """Return the label columns whose declared categories are numbers, with the number of each label.

    A column counts if all of its categories are integers or floats; True and False are not numbers here. Files write
    these labels as numbers, and all other labels as text.

    Args:
        categories: For each label column, in order, the user's name and the declared categories.
        columns: Names of all columns of the table; the label columns come first, in the same order.

    Returns:
        By name of the column, the category as a number by its text.

    >>> find_declared_numbers([("value", [-1, 2]), ("sex", ["1", "2"])], ["value_category", "sex", "value"])
    {'value_category': {'-1': -1, '2': 2}}
    """
    return {
        name: {str(value): value for value in values}
        for name, (_, values) in zip(columns, categories, strict=False)
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    }


def convert_date_columns(
    columns: Mapping[str, NDArray[Any]], axes: Mapping[str, str], edges: Collection[str]
) -> dict[str, NDArray[Any]]:
    """Return the columns of a table with dates as ISO 8601 texts, such as ``2024-02-29``.

    A number beyond the calendar has no date and becomes infinite; NaN stays. A row is left out if none of its edges of
    cells is a date, because no record with a date can lie in that cell.

    Args:
        columns: All columns of the table, (rows,) each. Dates are days or seconds since 1970-01-01.
        axes: For each column of dates, by its name, the label of its axis, which ends with ``(date)`` for days,
            ``(moment)`` for seconds.
        edges: Names of the columns that hold edges of cells. Others never remove a row.
    """
    dates = {name: np.array(format_in_iso(columns[name], label), dtype=object) for name, label in axes.items()}
    converted = {**columns, **dates}
    bounding = [[not isinstance(edge, str) for edge in converted[name]] for name in axes if name in edges]
    if not bounding:
        return converted
    inside = ~np.all(bounding, axis=0)
    return {name: column[inside] for name, column in converted.items()}
