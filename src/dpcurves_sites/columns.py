"""SENSITIVE. Columns of a task: what each site has to hold, whatever it is called there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum

from dpcurves.arguments import InvalidArgument
from dpcurves.data import Axis, Categories, Grid
from dpcurves.data.axis import Predictor
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import Records

Axes = Sequence[Axis | Categories]


class ColumnKind(Enum):
    """The kind of values of a column of a task."""

    NUMBER = "number"
    CATEGORY = "category"

    @property
    def axis_builders(self) -> Sequence[Callable[[str], Axis | Categories]]:
        """Ways to ask for a column of this kind, one of which its site has to allow."""
        if self is ColumnKind.NUMBER:
            return (lambda name: Axis(name, Grid(0, 1, cells=1)),)
        return (lambda name: Categories(name, ("a",)), lambda name: Categories(name, (0,)))


Schema = Mapping[str, ColumnKind]
"""Columns of a task by their names; empty: none are declared, and questions may name any."""


def parse_schema(text: str) -> Schema:
    """Read columns and kinds, as in ``age:number,sex:category``.

    Raises:
        ValueError: it is of another form, or a column is there twice.
    """
    found: dict[str, ColumnKind] = {}
    kinds = {kind.value: kind for kind in ColumnKind}
    for each in text.split(","):
        name, sign, kind = each.rpartition(":")
        if not sign or not name or kind not in kinds or name in found:
            raise InvalidArgument("columns", f"each once, as in age:number,sex:category, is needed, got {each!r}")
        found[name] = kinds[kind]
    return found


def require_known_columns(schema: Schema, axes: Axes) -> None:
    """Refuse axes along columns that the task does not have, or numbers where it has categories.

    Raises:
        ValueError: names the column.
    """
    if not schema:
        return
    for name, is_number in _iterate_columns(axes):
        if name not in schema:
            raise InvalidArgument("column", f"{name!r} is none of the task, which has {', '.join(schema)}", name)
        if is_number and schema[name] is ColumnKind.CATEGORY:
            raise InvalidArgument("column", f"{name!r} has categories in this task, a number is needed", name)


def _iterate_columns(axes: Axes) -> Iterator[tuple[str, bool]]:
    """Names of columns that are read, those of models among them, and whether as numbers."""
    for axis in axes:
        if isinstance(axis.column, Predictor):
            yield from ((each.column, each.values is None) for each in axis.column.inputs)
        else:
            yield axis.column, isinstance(axis, Axis)


def require_task_columns(records: Records, schema: Schema) -> None:
    """Refuse a table that has not the columns of the task, or not of their kinds. Looks at the schema alone.

    Raises:
        ValueError: names the first one.
    """
    for name, kind in schema.items():
        refusals = [error for axis in kind.axis_builders if (error := _find_refusal(records, axis(name))) is not None]
        if len(refusals) == len(kind.axis_builders):
            raise InvalidArgument("columns", f"the task has {name!r}, a {kind.value}; here {refusals[0].rule}")


def count_used_rows(records: Records, schema: Schema, unit: Unit) -> int:
    """SECRET: the number of records that this site uses.

    Raises:
        ValueError: there is no column that they could be counted by.
    """
    if unit == EACH_RECORD:
        return records.units()
    for axis in _build_axes([*schema, unit.column]):
        with suppress(InvalidArgument):
            return int(records.counts((axis,)).sum())
    raise InvalidArgument("most_rows", "name the columns of the task: records of units are counted by one of them")


def _build_axes(names: Iterable[str]) -> list[Axis | Categories]:
    return [axis(name) for name in names for kind in ColumnKind for axis in kind.axis_builders]


def _find_refusal(records: Records, axis: Axis | Categories) -> InvalidArgument | None:
    try:
        records.check((axis,))
    except InvalidArgument as error:
        return error
    return None
