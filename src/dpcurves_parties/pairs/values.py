"""SECRET. Conversion of any value to a whole number: who takes part, and what is shown, must not depend on values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def whole(value: Any, bits: int) -> int:
    """SECRET: the whole number of so many bits that anything counts as. It raises nothing.

    One too large is the largest, one below 0 is 0, and so is what is no number.

    >>> [whole(value, 3) for value in (5, -1, 9, 4.0, "4", None)]
    [5, 0, 7, 4, 0, 0]
    """
    try:
        number = 0 if isinstance(value, str | bytes | bytearray) else int(value)
    except Exception:  # a class of numbers may do anything
        return 0
    return min(max(number, 0), (1 << bits) - 1)


def whole_numbers(values: Any, bits: int) -> NDArray[np.uint64]:
    """SECRET: `whole` of each."""
    return np.array([whole(value, bits) for value in values], dtype=np.uint64)
