"""Tables of results: columns that carry names of the user's columns, kept apart from columns of ours.

A table by category has a column of labels for each column of the user's data, called as that column is, and columns of
numbers, which have names of ours. Any name may be both. The rule is the same in frames, CSV files, workbooks and on
terminals: ours keep their names, and a label column whose name is also one of ours, whatever its case, is called
``NAME_category``. A name that is taken all the same gets a number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .numerals import format_in_iso

LabelColumns = Sequence[tuple[str, ArrayLike]]
"""Names of the user's columns, each with the labels of all rows. Two may have one name: see `ReleasedResult.with_labels`."""
ENDINGS = ("", "_lower", "_upper", "_lower_population", "_upper_population")
"""What follows a column's name in those of its interval bounds; the plain name itself is reserved, too."""
RESERVED = ("lower", "upper", "lower_population", "upper_population", "data", "result")
"""Columns that some outputs add to a table: interval bounds, the source of the data, the result that a row is of."""


def name_label_columns(names: Sequence[str], ours: Iterable[str]) -> list[str]:
    """Return the name of each label column in a table with these columns of ours.

    Names are compared without regard to case, as many programs that read tables do. Interval bounds of our columns are
    reserved whether they are in this table or not, so that a label column has one name in all outputs.

    >>> name_label_columns(["ward", "Value", "data"], ["value"])
    ['ward', 'Value_category', 'data_category']
    >>> name_label_columns(["sex", "SEX", "value", "value_category"], ["value"])
    ['sex', 'SEX_category', 'value_category_2', 'value_category']
    """
    taken = {f"{name}{ending}".casefold() for name in ours for ending in ENDINGS} | set(RESERVED)
    chosen: dict[int, str] = {}
    for place, name in enumerate(names):  # names that are free go first: no renamed one takes them
        if name.casefold() not in taken:
            taken.add(name.casefold())
            chosen[place] = name
    for place, name in enumerate(names):
        if place not in chosen:
            numbered = (f"{name}_category" if number == 1 else f"{name}_category_{number}" for number in count(1))
            chosen[place] = next(each for each in numbered if each.casefold() not in taken)
            taken.add(chosen[place].casefold())
    return [chosen[place] for place in range(len(names))]


def join_columns(labels: LabelColumns, ours: Mapping[str, Any], *, reserved: Iterable[str] = ()) -> dict[str, Any]:
    """Return the columns of a table: those of labels first, then `ours`, with no name twice.

    Args:
        labels: The user's columns.
        ours: Our columns by name.
        reserved: Names of ours that the same table has in other outputs.

    >>> join_columns([("value", ["a", "b"])], {"value": [1, 2]})
    {'value_category': ['a', 'b'], 'value': [1, 2]}
    """
    names = name_label_columns([name for name, _ in labels], [*ours, *reserved])
    return {**dict(zip(names, (values for _, values in labels), strict=True)), **ours}


def find_declared_numbers(
    categories: Sequence[tuple[str, Sequence[Any]]], columns: Collection[str]
) -> dict[str, dict[str, Any]]:
    """Return the label columns of a table whose categories are numbers: by name, from each label to its number.

    Files have these as numbers, and all other labels as text.

    Args:
        categories: The user's columns, each with its categories as they were declared.
        columns: The names of all columns of the table, those of labels first.

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
    """Return the columns with dates, as ISO 8601 text, in the place of days or seconds since 1970.

    Rows of cells whose edges all lie beyond the calendars are left out: no record of a date is there.

    Args:
        columns: All columns of the table.
        axes: Those of dates, each with the label of its axis.
        edges: Those of edges of cells.
    """
    dates = {name: np.array(format_in_iso(columns[name], label), dtype=object) for name, label in axes.items()}
    found = {**columns, **dates}
    bounding = [[not isinstance(edge, str) for edge in found[name]] for name in axes if name in edges]
    if not bounding:
        return found
    inside = ~np.all(bounding, axis=0)
    return {name: column[inside] for name, column in found.items()}
