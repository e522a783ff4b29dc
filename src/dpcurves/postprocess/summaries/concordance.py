"""Pairs of people of a table of two ordered columns: how many agree in order, and how many are tied."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray


def pairs_of(tables: FloatArray) -> FloatArray:
    """Concordant less discordant pairs, and pairs that are apart in rows, and in columns: (..., rows, columns) to
    (..., 3).

    Bilinear forms of the counts, worked out by running sums: in as many steps as there are cells, never over pairs.

    >>> pairs_of(np.array([[2.0, 0.0], [1.0, 3.0]])).tolist()
    [6.0, 8.0, 9.0]
    """
    before = np.cumsum(tables, axis=-2) - tables
    sides = 2 * np.cumsum(before, axis=-1) - before - before.sum(axis=-1, keepdims=True)
    people = tables.sum(axis=(-2, -1))
    apart = [(people**2 - (tables.sum(axis=axis) ** 2).sum(axis=-1)) / 2 for axis in (-1, -2)]
    return np.stack([(tables * sides).sum(axis=(-2, -1)), *apart], axis=-1)
