"""Search for the ends of an interval: the distances from an estimate at which a test begins to reject."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import FloatArray

Excess = Callable[[FloatArray], FloatArray]
HALVINGS = 24


def accepted(excess: Excess, inside: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
    """Ends of the numbers around `inside`, from `least` to `most`, whose excess is not above 0: (..., 2)."""
    return np.stack([_end(excess, inside, least), _end(excess, inside, most)], axis=-1)


def _end(excess: Excess, inside: FloatArray, end: FloatArray) -> FloatArray:
    """Where, between a point that is inside and an end, the excess rises above 0; the end if it does not there."""
    near, far = inside, end
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        holds = excess(middle) <= 0
        near, far = np.where(holds, middle, near), np.where(holds, far, middle)
    return np.where(excess(end) <= 0, end, far)
