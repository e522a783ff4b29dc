"""SENSITIVE. Columns of a task: what each site has to hold, whatever it is called there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum

from dpcurves.arguments import Refused
from dpcurves.data import Axis, Categories, Grid
from dpcurves.data.axis import Predictor
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import Records

Axes = Sequence[Axis | Categories]


class Holds(Enum):
    """The kind of values of a column of a task."""

    NUMBER = "number"
    CATEGORY = "category"

    @property
    def axes(self) -> Sequence[Callable[[str], Axis | Categories]]:
        """Ways to ask for a column of this kind, one of which its site has to allow."""
        if self is Holds.NUMBER:
            return (lambda name: Axis(name, Grid(0, 1, cells=1)),)
        return (lambda name: Categories(name, ("a",)), lambda name: Categories(name, (0,)))


Schema = Mapping[str, Holds]
"""Columns of a task by their names; empty: none are declared, and questions may name any."""


def schema_of(text: str) -> Schema:
    """Read columns and kinds, as in ``age:number,sex:category``.

    Raises:
        ValueError: it is of another form, or a column is there twice.
    """
    found: dict[str, Holds] = {}
    kinds = {kind.value: kind for kind in Holds}
    for each in text.split(","):
        name, sign, kind = each.rpartition(":")
        if not sign or not name or kind not in kinds or name in found:
            raise Refused("columns", f"each once, as in age:number,sex:category, is needed, got {each!r}")
        found[name] = kinds[kind]
    return found


def require_known(schema: Schema, axes: Axes) -> None:
    """Refuse axes along columns that the task does not have, or numbers where it has categories.

    Raises:
        ValueError: names the column.
    """
    if not schema:
        return
    for name, is_number in _read(axes):
        if name not in schema:
            raise Refused("column", f"{name!r} is none of the task, which has {', '.join(schema)}", name)
        if is_number and schema[name] is Holds.CATEGORY:
            raise Refused("column", f"{name!r} has categories in this task, a number is needed", name)


def _read(axes: Axes) -> Iterator[tuple[str, bool]]:
    """Names of columns that are read, those of models among them, and whether as numbers."""
    for axis in axes:
        if isinstance(axis.column, Predictor):
            yield from ((each.column, each.values is None) for each in axis.column.inputs)
        else:
            yield axis.column, isinstance(axis, Axis)


def require_held(records: Records, schema: Schema) -> None:
    """Refuse a table that has not the columns of the task, or not of their kinds. Looks at the schema alone.

    Raises:
        ValueError: names the first one.
    """
    for name, kind in schema.items():
        refusals = [error for axis in kind.axes if (error := _refusal(records, axis(name))) is not None]
        if len(refusals) == len(kind.axes):
            raise Refused("columns", f"the task has {name!r}, a {kind.value}; here {refusals[0].rule}")


def used_rows(records: Records, schema: Schema, unit: Unit) -> int:
    """SECRET: the number of records that this site uses.

    Raises:
        ValueError: there is no column that they could be counted by.
    """
    if unit == EACH_RECORD:
        return records.units()
    for axis in _countable([*schema, unit.column]):
        with suppress(Refused):
            return int(records.counts((axis,)).sum())
    raise Refused("most_rows", "name the columns of the task: records of units are counted by one of them")


def _countable(names: Iterable[str]) -> list[Axis | Categories]:
    return [axis(name) for name in names for kind in Holds for axis in kind.axes]


def _refusal(records: Records, axis: Axis | Categories) -> Refused | None:
    try:
        records.check((axis,))
    except Refused as error:
        return error
    return None
