"""The area that a curve stays in whose points are each known to lie in a box."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray
from .bands import Band

EDGES: FloatArray = np.linspace(0.0, 1.0, 201)
EDGES.flags.writeable = False
"""Between 0 and 1, along which the area is told."""


def swept(across: Band, upwards: Band, edges: FloatArray = EDGES) -> Band:
    """Lower and upper ends, between neighbouring `edges`, of curves whose points lie in boxes, joined in their order.

    A piece between two points stays within the least box that holds both of theirs. Where no box reaches nothing is
    known: from 0 to 1.

    Args:
        across: Ends of the points along the axis of `edges`, (points,) each.
        upwards: Ends along the other axis.
        edges: Rising, (cells + 1,).

    Returns:
        Of shape (cells,) each.

    >>> low, high = swept((np.array([0.0, 0.5]), np.array([0.1, 0.6])), (np.array([0.2, 0.4]), np.array([0.3, 0.5])))
    >>> (low[0], high[0], low[-1], high[-1]) == (0.2, 0.5, 0.0, 1.0)
    True
    """
    left, bottom = (np.minimum(ends[0][:-1], ends[0][1:]) for ends in (across, upwards))
    right, top = (np.maximum(ends[1][:-1], ends[1][1:]) for ends in (across, upwards))
    first = np.clip(np.searchsorted(edges, left, side="left") - 1, 0, len(edges) - 2)
    last = np.clip(np.searchsorted(edges, right, side="right") - 1, 0, len(edges) - 2)
    lower, upper = np.full(len(edges) - 1, np.inf), np.full(len(edges) - 1, -np.inf)
    for start, end, least, most in zip(first, last, bottom, top, strict=True):
        reached = slice(start, end + 1)
        np.minimum(lower[reached], least, out=lower[reached])
        np.maximum(upper[reached], most, out=upper[reached])
    unknown = lower > upper
    return np.where(unknown, 0.0, lower), np.where(unknown, 1.0, upper)
