"""SENSITIVE. Schema validation in a federation: each site's table must have the columns that all sites agreed on.

A federation is a group of sites (such as hospitals) that answer questions about all their records together. Its task is
the public document that they agreed on; among other facts, it lists columns and types.

    parse_schema             columns and types of a task, as in ``age:number,sex:category``
    require_known_columns    refuses a question on other columns, or one that takes categories for numbers
    require_task_columns     refuses a site's table that lacks a column of the task
    count_used_rows          SECRET: the number of a site's records after at most the agreed number of rows per unit

Formal guarantees: all functions but `count_used_rows` read schemas only, so their errors reveal no record.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum

from dpcurves.arguments import InvalidArgument
from dpcurves.data import Axis, Categories, Grid, OrderedAxis, find_input_columns
from dpcurves.data.axis import Predictor
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import Records

Axes = Sequence[Axis | Categories]
"""Axes of a question: columns with their grids or categories."""


class ColumnKind(Enum):
    """The type of a column that the sites of a federation agreed on: numbers, or categories."""

    NUMBER = "number"
    CATEGORY = "category"

    @property
    def axis_builders(self) -> Sequence[Callable[[str], Axis | Categories]]:
        """Functions that make a small axis on a column of this type, to test whether a site's column fits the type.

        The column fits if its table accepts at least one of these axes.
        """
        if self is ColumnKind.NUMBER:
            return (lambda name: Axis(name, Grid(0, 1, cells=1)),)
        return (lambda name: Categories(name, ("a",)), lambda name: Categories(name, (0,)))


Schema = Mapping[str, ColumnKind]
"""The columns of a task by name; an empty schema allows any column."""


def parse_schema(text: str) -> Schema:
    """Parse the columns and types of a task.

    Args:
        text: Entries NAME:TYPE separated by commas, as in ``age:number,sex:category``.

    Returns:
        The type of each column by its name, in the order of the text.

    Raises:
        ValueError: The text is empty, an entry has another form or type, or a column is repeated.

    >>> {name: kind.value for name, kind in parse_schema("age:number,sex:category").items()}
    {'age': 'number', 'sex': 'category'}
    """
    schema: dict[str, ColumnKind] = {}
    kinds = {kind.value: kind for kind in ColumnKind}
    for entry in text.split(","):
        name, sign, kind = entry.rpartition(":")
        if not sign or not name or kind not in kinds or name in schema:
            raise InvalidArgument(
                "columns", f"must be NAME:TYPE with each column once, as in age:number,sex:category, got {entry!r}"
            )
        schema[name] = kinds[kind]
    return schema


def require_known_columns(schema: Schema, axes: Axes) -> None:
    """Require that a question reads columns of the task only, and reads as numbers only columns of numbers.

    No record is read. Columns in filters and expressions, and inputs of models, are checked too.

    Args:
        schema: Columns of the task by name; empty: any column is allowed.
        axes: Axes of a question: the columns that it counts by, with their grids or categories.

    Raises:
        ValueError: A column is not of the task, or has categories but is read as numbers; the message names it.
    """
    if not schema:
        return
    for name, is_number in _iterate_columns(axes, schema):
        if name not in schema:
            raise InvalidArgument(
                "column", f"{name!r} is not a column of the task; use one of {', '.join(schema)}", name
            )
        if is_number and schema[name] is ColumnKind.CATEGORY:
            raise InvalidArgument("column", f"{name!r} has categories in this task; use a column of numbers", name)


def _iterate_columns(axes: Axes, names: Container[str]) -> Iterator[tuple[str, bool]]:
    """Yield the columns that a question reads, each with whether it is read as numbers.

    Columns in filters and expressions, and inputs of models, are included.

    Args:
        axes: Axes of a question.
        names: Names of the columns of the task.

    Yields:
        Pairs of a column's name and whether it is read as numbers; a column may occur several times.
    """
    for axis in axes:
        if isinstance(axis.column, Predictor):
            yield from ((model_input.column, model_input.values is None) for model_input in axis.column.inputs)
            yield from ((column, False) for column in find_input_columns(axis, names))
        elif (columns := find_input_columns(axis, names)) == (axis.column,):
            yield axis.column, isinstance(axis, Axis)
        elif isinstance(axis, OrderedAxis):
            times = {axis.earlier, axis.later}
            yield from ((column, column in times) for column in columns)
        else:  # an expression, or a filter beside the column: types are checked where the records are
            yield from ((column, isinstance(axis, Axis) and column == axis.column) for column in columns)


def require_task_columns(records: Records, schema: Schema) -> None:
    """Require that a table has all columns of the task with their types. Reads the table's schema only.

    Args:
        records: The site's table.
        schema: Columns of the task.

    Raises:
        ValueError: A column is missing or has another type; the message names the first of these columns.
    """
    for name, kind in schema.items():
        refusals = [error for axis in kind.axis_builders if (error := _find_refusal(records, axis(name))) is not None]
        if len(refusals) == len(kind.axis_builders):
            raise InvalidArgument(
                "columns", f"must contain {name!r}, a {kind.value}, as the task says, but {refusals[0].rule}"
            )


def count_used_rows(records: Records, schema: Schema, unit: Unit) -> int:
    """SECRET. Return the exact number of records of a site within the contribution bound, to compare it with the task.

    If each record is a privacy unit, all records count. Otherwise at most the contribution bound of rows counts of each
    unit (such as a person).

    Args:
        records: The site's table.
        schema: Columns of the task by name.
        unit: The privacy unit, with its contribution bound.

    Raises:
        ValueError: The table has no column of the task, nor the unit's, by which its records can be counted.
    """
    if unit == EACH_RECORD:
        return records.units()
    # axes of every type on each of the named columns
    for axis in [axis(name) for name in [*schema, unit.column] for kind in ColumnKind for axis in kind.axis_builders]:
        with suppress(InvalidArgument):
            return int(records.counts((axis,)).sum())
    raise InvalidArgument(
        "max_rows", "needs --columns, of which one counts the records of each unit; declare them, as in age:number"
    )


def _find_refusal(records: Records, axis: Axis | Categories) -> InvalidArgument | None:
    """Return the error with which a table refuses an axis, such as a missing column; None if the table accepts it.

    Only the schema of the table is read.

    Args:
        records: Opened table of a site.
        axis: Column with its grid or categories, and its filter.
    """
    try:
        records.check((axis,))
    except InvalidArgument as error:
        return error
    return None
