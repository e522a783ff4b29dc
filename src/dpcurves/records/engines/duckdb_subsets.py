"""SENSITIVE. Used rows, each with the subset that its unit was put into in secret."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from ...data.axis import Axis
from ...data.grid import Grid
from ...privacy import EACH_RECORD, Unit
from ..column import Column, Kind, called

PURPOSE = b"subsets of units"
SUBSET = Axis("subset", Grid(0, 1, cells=1))
SUBSET_COLUMN = Column("subset", Kind.NUMBERS, "subset", "NULL")
"""How the number of the subset is read."""


def subset_key(key: bytes) -> bytes:
    """The secret key of subsets, which tells nothing of that of used rows."""
    return sha256(PURPOSE + key).digest()


def with_subsets(  # noqa: PLR0917
    rows: str, unit: Unit, column: Column | None, unit_place: int, kept: Sequence[int], subsets: int
) -> str:
    """SQL for the columns at `kept` and `subset`, with the parameters that `pads` gives of `subset_key`.

    Formal guarantees: the subset of a row is a function of the key and of its unit. Where each record is one, it is
    named by the row itself and by a number among those that are the same: 1, 2, ..., in no order, for they are the
    same. One row more has the next number, and moves no other; and rows that are the same lie in all subsets. Else it
    is the unit's name. Texts of equal names may differ, as of 0.0 and -0.0, so the least one among the unit's own rows
    is taken; rows without a unit are one unit.

    Args:
        rows: The used rows: with `whole`, where each record is a unit, and otherwise with the unit's column.
        unit: Whose records they are.
        column: The unit's column.
        unit_place: Where it stands.
        kept: Places of the columns that are needed.
        subsets: How many subsets there are.
    """
    columns = "".join(f"{called(place)}, " for place in kept)
    if unit == EACH_RECORD or column is None:
        copy = "encode(CAST(row_number() OVER (PARTITION BY whole) AS VARCHAR))"
        own = f"SELECT {columns}whole || {copy} AS name FROM {rows}"
        return f"SELECT {columns}{_subset('name', subsets)} AS subset FROM ({own})"
    own = f"SELECT {columns}{column.unit.format(called(unit_place))} AS unit FROM {rows}"
    text = "min(coalesce(CAST(unit AS VARCHAR), '')) OVER (PARTITION BY unit)"
    named = f"SELECT {columns}encode({text}) AS name FROM ({own})"
    return f"SELECT {columns}{_subset('name', subsets)} AS subset FROM ({named})"


def _subset(name: str, subsets: int) -> str:
    """SQL for HMAC-SHA256, of which sixty bits say the subset."""
    digest = f"sha256($outer::BLOB || unhex(sha256($inner::BLOB || {name})))"
    return f"CAST(CAST('0x' || substr({digest}, 1, 15) AS UBIGINT) % {subsets} AS DOUBLE)"
