"""Survey weights: a column, the public cap on one record's weight, and the whole steps that weights are counted in."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

import numpy as np

from ..arguments import Refused, number, require_kind
from ..arrays import FloatArray, IntArray
from .axis import Axis
from .grid import Grid

SMALLEST_CAP, LARGEST_CAP = 1e-100, 1e100
CAP_RULE = (
    "give the public cap on the weight of one record; there is no default, because one record may move a weighted "
    "count by its cap, so the cap decides how much noise is needed, and it must not come from the data"
)
CAP_ALONE = "it caps the weights of a column: name that with weight="
MISSING_WEIGHTS = "records whose weight is missing, negative or not finite are left out"


@dataclass(frozen=True, slots=True)
class Weights:
    """A column of survey weights, each of which counts at most as its public cap.

    A weight above `cap` counts as `cap`. Weights are rounded to whole steps of ``cap / STEPS``, to the nearest, ties to
    the even one: so sums of weights are whole numbers, and the noise that is added to them is exact. A weight that is
    missing, negative or not finite is missing, and so is its record.

    Attributes:
        column: The column of weights.
        cap: The public cap, in units of the weights.

    Raises:
        ValueError: the cap is missing, or not from 1e-100 to 1e100.
        TypeError: one of them is of another kind.

    >>> Weights("w", 5).steps_of(np.array([0, 1, 5, 99, -1, np.nan, np.inf])).tolist()
    [0, 13107, 65536, 65536, -1, -1, -1]
    """

    STEPS: ClassVar[int] = 2**16

    column: str
    cap: float

    def __post_init__(self) -> None:
        require_kind("weight", self.column, str, "the name of a column")
        if self.cap is None:
            raise Refused("weight_cap", CAP_RULE)
        cap = number("weight_cap", self.cap)
        if not (isfinite(cap) and SMALLEST_CAP <= cap <= LARGEST_CAP):
            raise Refused("weight_cap", f"a number from {SMALLEST_CAP:g} to {LARGEST_CAP:g} is needed, got {cap:g}")
        object.__setattr__(self, "cap", cap)

    @property
    def axis(self) -> Axis:
        """The column, to be read as numbers: its cells say nothing."""
        return Axis(self.column, Grid(0, self.cap, cells=1))

    @property
    def step(self) -> float:
        """The weight of one step."""
        return self.cap / self.STEPS

    def steps_of(self, values: FloatArray) -> IntArray:
        """The whole steps of each weight, from 0 to `STEPS`; -1: it is missing.

        Formal guarantees: a function of each weight alone, in fixed operations of doubles; no weight makes it fail.
        """
        known = np.isfinite(values) & (values >= 0)
        shares = np.where(known, np.minimum(values, self.cap), 0.0) / self.cap
        return np.where(known, np.rint(shares * self.STEPS), -1).astype(np.int64)

    def __str__(self) -> str:
        return f"weighted by {self.column} up to {self.cap:g}"
