"""SENSITIVE. Columns of a task: what each site has to hold, whatever it is called there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import Refused
from dpcurves.arrays import FloatArray
from dpcurves.data import Axis, Categories, Grid
from dpcurves.data.axis import Predictor
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.queries import SubsetQuery, WeighedQuery
from dpcurves.records.counting import NumberSource

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


class Renamed:
    """Records whose columns are called as in questions. Shows nothing of them.

    Args:
        records: The records, as the site calls its columns.
        names: The site's name of a column, by that in questions; others are called alike.
    """

    __slots__ = ("_names", "_records")

    def __init__(self, records: NumberSource, names: Mapping[str, str]) -> None:
        self._records, self._names = records, dict(names)

    def __repr__(self) -> str:
        return "Renamed(hidden)"

    @property
    def moment(self) -> int | None:
        return self._records.moment

    def close(self) -> None:
        self._records.close()

    def check(self, axes: Axes) -> None:
        self._records.check(self._own(axes))

    def counts(self, axes: Axes) -> NDArray[np.int64]:
        return self._records.counts(self._own(axes))

    def sums(self, axes: Axes, half: int) -> list[int]:
        return self._records.sums(self._own(axes), half)

    def squares(self, axes: Axes, half: int) -> list[int]:
        return self._records.squares(self._own(axes), half)

    def prefixes(self, axes: Axes, at: Sequence[int]) -> list[int]:
        return self._records.prefixes(self._own(axes), at)

    def places(self, axes: Axes) -> NDArray[np.int64]:
        return self._records.places(self._own(axes))

    def confirmed(self, query: SubsetQuery) -> int:
        return self._records.confirmed(replace(query, axes=tuple(self._own(query.axes))))

    def weighed(self, query: WeighedQuery) -> list[int]:
        axes, weight = tuple(self._own(query.axes)), query.weights.column
        own = replace(query.weights, column=self._names.get(weight, weight))
        return self._records.weighed(replace(query, axes=axes, weights=own))

    def units(self) -> int:
        return self._records.units()

    def unit_sizes(self, doublings: int) -> NDArray[np.int64]:
        return self._records.unit_sizes(doublings)

    def sized_units(self, axis: Axis | Categories, doublings: int) -> NDArray[np.int64]:
        (own,) = self._own([axis])
        return self._records.sized_units(own, doublings)

    def names(self, axis: Categories) -> dict[str, int]:
        (own,) = self._own([axis])
        return self._records.names(cast("Categories", own))

    def each_batch(self, axes: Axes, take: Callable[[Sequence[FloatArray]], None]) -> None:
        self._records.each_batch(self._own(axes), take)

    def _own(self, axes: Axes) -> list[Axis | Categories]:
        return [
            replace(axis, column=self._names.get(axis.column, axis.column)) if isinstance(axis.column, str) else axis
            for axis in axes
        ]


def require_held(records: NumberSource, schema: Schema) -> None:
    """Refuse a table that has not the columns of the task, or not of their kinds. Looks at the schema alone.

    Raises:
        ValueError: names the first one.
    """
    for name, kind in schema.items():
        refusals = [error for axis in kind.axes if (error := _refusal(records, axis(name))) is not None]
        if len(refusals) == len(kind.axes):
            raise Refused("columns", f"the task has {name!r}, a {kind.value}; here {refusals[0].rule}")


def used_rows(records: NumberSource, schema: Schema, unit: Unit) -> int:
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


def _refusal(records: NumberSource, axis: Axis | Categories) -> Refused | None:
    try:
        records.check((axis,))
    except Refused as error:
        return error
    return None
