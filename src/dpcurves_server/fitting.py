"""Schema check: a registered table has the columns and types that were declared. Reads the schema alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpcurves.arguments import Named, Refused
from dpcurves.data import Axis, Categories, Grid
from dpcurves.privacy import Unit

from .declared_columns import Declared

if TYPE_CHECKING:
    from dpcurves.records.counting import Records

PLACES = ("data", "table", "delimiter")
"""What an error is about that speaks of where the records lie, and not of what is in them."""


def require_fits(data: object, delimiter: str, unit: Unit, columns: Sequence[Declared]) -> None:
    """Refuse records without a column that is declared, or with one of another kind. Looks at no row.

    What the records have instead is not said: the first line of a file without a header is somebody's.

    Raises:
        ValueError: names the first declared column that is not there, or that the records can not be opened.
    """
    records = _opened(data, delimiter, unit)
    try:
        for each in columns:
            _require(records, each)
    finally:
        records.close()


def _opened(data: object, delimiter: str, unit: Unit) -> Records:
    from dpcurves.records import open_records

    try:
        return open_records(data, unit=unit, key=bytes(32), delimiter=delimiter)
    except Named as error:
        if error.argument in PLACES:
            raise
        rule = f"the records have no column {unit.column!r} that names a unit"
    raise Refused("unit", rule, unit.column)


def _require(records: Records, declared: Declared) -> None:
    name = str(declared.column)
    axis = declared if isinstance(declared, Categories) else Axis(name, Grid(declared.lower, declared.upper, cells=1))
    try:
        records.check([axis])
        return
    except Named:
        kind = "categories" if isinstance(declared, Categories) else "numbers"
    raise Refused("schema", f"the records have no column {name!r} of {kind}, as declared", name)
