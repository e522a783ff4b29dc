"""Lattices of published numbers: their lowest bits, which noise of floating point leaves where it was added."""

from __future__ import annotations

import numpy as np

from .door import Door
from .family import Pair
from .feature import Floats, Reader, lowest_bits
from .report import Finding

COARSE = -40
"""Lowest bit from which on all outcomes lie on a lattice that was chosen: those of doubles are finer."""


def lattice(door: Door, pair: Pair, calls: int = 400) -> list[Finding]:
    """Findings on the lattice of numbers that are published, for each number that is not always whole.

    Sums of an exact value and noise of floating point have bits that depend on the exact value (Mironov 2012): the
    search looks for events of lowest bits; here it is said where there is no common lattice to begin with.
    """
    reader = Reader()
    left, right = (reader.read(door.draw(data, calls)).numbers for data in (pair.left, pair.right))
    found = []
    for column in range(min(left.shape[1], right.shape[1], 8)):
        sides = [lowest_bits(rows[:, column]) for rows in (left, right)]
        lowest = min((_lowest(bits) for bits in sides), default=0.0)
        if lowest < COARSE:
            words = f"number {column + 1} has bits down to 2^{lowest:.0f}: it lies on no lattice, and may be porous."
            found.append(Finding("floating point", words, flagged=False))
    return found


def _lowest(bits: Floats) -> float:
    known = bits[~np.isnan(bits)]
    return float(known.min()) if len(known) else 0.0
