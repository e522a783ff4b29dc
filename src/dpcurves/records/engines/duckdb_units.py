"""SENSITIVE. Which records of a unit are used: drawn in secret, once, and from that unit's records alone."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from ..column import Column, called

BLOCK = 64


def used_rows(rows: str, unit: Column, unit_place: int, places: Sequence[int], records: int) -> str:
    """SQL for the columns at `places` of the rows that are used, with the parameters that `pads` gives.

    The rows of a unit are ranked by HMAC-SHA256, under the secret key of the data set, of all that stands in a row,
    and the first `records` of them are used. Rows without a unit are one unit together.

    Formal guarantees: which rows of a unit are used is a function of the key and of that unit's rows. So when one unit
    comes, goes or changes, at most `records` used rows go and at most `records` come, all of this unit. Neither the
    order of rows nor other units matter. (Of equal rows, any one may be used.)
    """
    kept = "".join(f"{called(place)}, " for place in places)
    rank = "sha256($outer::BLOB || unhex(sha256($inner::BLOB || whole)))"
    named = f"SELECT {kept}{unit.unit.format(called(unit_place))} AS unit, {rank} AS rank FROM {rows}"
    ranked = f"SELECT {kept}row_number() OVER (PARTITION BY unit ORDER BY rank) AS place FROM ({named})"
    return f"SELECT {kept.removesuffix(', ')} FROM ({ranked}) WHERE place <= {records}"


def pads(key: bytes) -> dict[str, bytes]:
    """The inner and the outer pad of HMAC (Bellare, Canetti and Krawczyk 1996; RFC 2104)."""
    key = (sha256(key).digest() if len(key) > BLOCK else key).ljust(BLOCK, b"\0")
    return {"inner": bytes(byte ^ 0x36 for byte in key), "outer": bytes(byte ^ 0x5C for byte in key)}


def units_in(rows: str, unit: Column, unit_place: int) -> str:
    """SQL for the number of units, where the rows without a unit count as one."""
    named = f"SELECT {unit.unit.format(called(unit_place))} AS unit FROM {rows}"
    return f"SELECT count(DISTINCT unit) + CAST(count(*) > count(unit) AS BIGINT) FROM ({named})"
