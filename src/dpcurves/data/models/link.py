"""From a linear predictor to what is predicted: rising functions, worked out number by number."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from math import exp, isnan

import numpy as np

from ...arrays import FloatArray

LARGEST_EXPONENT = 700.0
"""Beyond it a logarithmic link stays where it is: still a double."""


class Link(Enum):
    """The link: the function that makes a prediction of a linear predictor.

    - `IDENTITY`: it is the prediction.
    - `LOGIT`: its logistic function is, a probability.
    - `LOG`: its exponential is.
    """

    IDENTITY = "identity"
    LOGIT = "logit"
    LOG = "log"

    def response(self, linear: FloatArray) -> FloatArray:
        """The prediction of each linear predictor: never falling as it rises, NaN where it is.

        One number at a time by the library of C: what NumPy takes for arrays differs in the last digit with the place
        in an array.
        """
        if self is Link.IDENTITY:
            return linear
        return one_by_one(_logistic if self is Link.LOGIT else _exponential, linear)


def one_by_one(function: Callable[[float], float], values: FloatArray) -> FloatArray:
    """The function of each number on its own."""
    return np.fromiter(map(function, values.tolist()), dtype=np.float64, count=len(values))


def _logistic(linear: float) -> float:
    """From an exponential that cannot overflow."""
    small = exp(-abs(linear))
    return (1.0 if linear >= 0 else small) / (1.0 + small)


def _exponential(linear: float) -> float:
    return linear if isnan(linear) else exp(min(linear, LARGEST_EXPONENT))
