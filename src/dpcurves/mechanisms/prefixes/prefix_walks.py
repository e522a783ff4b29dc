"""The dyadic blocks of a record, such that the blocks on a path add up to the count of a prefix.

Take the ends of blocks as points 0, ..., 2**L, and each block as an edge between its two ends. The signed sum of the
blocks along a walk, rightwards added and leftwards subtracted, holds the places between its two ends once, and no
others. All walks here lead to one point, home: ``2**(levels - 1)``, where blocks have the levels below `levels`, of
which there are L or L + 1. From a point the walk takes the digits of its distance from home off, the lowest first, in
the form with digits -1, 0 and 1 of which no two neighbours differ from 0 (Reitwiesner 1960). A record in cell c counts
for the places from c to the end: for the walk from c home, and, if home is not the last point, for one step from there
to the last point.

So where a walk goes on depends on where it is alone: walks form a tree. A distance from home is at most
``2**(levels - 1)``, and has at most ``ceil(levels / 2)`` such digits other than 0.
"""

from __future__ import annotations

from typing import NamedTuple

from ...laws import Block


class SignedBlock(NamedTuple):
    """The records in the cells from `low` to before `high`, added (1) or subtracted (-1)."""

    sign: int
    low: int
    high: int


def terms(cells: int, levels: int, block: Block) -> tuple[SignedBlock, ...]:
    """The records that a block accounts for; of half of the blocks, none.

    The walk of cell c takes a step of level l from the odd multiple x of ``2**l`` (seen from home) to a multiple of
    ``2**(l + 2)``, or ends at home with it. It came to x by digits below l - 1, that add up to at most ``2**l / 3``.

    Formal guarantees: over the blocks of a path, as `PathSums.path` gives it, the records add up to those in the first
    t cells. A record is in the terms of at most ``depth // 2 + 1`` blocks, where ``2**depth`` is the least power of two
    that is not below `cells`. Terms of a record in one cell and in another differ in at most `levels` blocks, rounded
    up to an even number. No difference is above 1.

    >>> terms(cells=16, levels=4, block=(2, 1))
    (SignedBlock(sign=1, low=3, high=6),)
    """
    level, number = block
    home = 1 << (levels - 1)
    first, reach = number - (home >> level), (1 << level) // 3
    odd, even = (first, first + 1) if first % 2 else (first + 1, first)
    found = []
    if even % 4 == 0:
        point = home + (odd << level)
        found.append(SignedBlock(even - odd, max(point - reach, 0), min(point + reach + 1, cells)))
    if level == levels - 1 and number == 1:
        found.append(SignedBlock(1, 0, cells))  # home is not the last point
    return tuple(term for term in found if term.low < term.high)
