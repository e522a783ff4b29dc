"""A curve as its steps, from nothing to the most it may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import Refused
from ...arrays import FloatArray


@dataclass(frozen=True, slots=True)
class AtMost:
    """The last point is `count` or less."""

    count: float

    def __post_init__(self) -> None:
        _require_count(self.count)


@dataclass(frozen=True, slots=True)
class Exactly:
    """The last point is `count`: it stands at the public maximum, and the number of records is public."""

    count: float

    def __post_init__(self) -> None:
        _require_count(self.count)


Ceiling = AtMost | Exactly | None
"""What is known of the last point; None: nothing."""


def steps_to(noisy: ArrayLike, points: int, ceiling: Ceiling) -> FloatArray:
    """The rises from 0 to the first point, from point to point, and from the last to the ceiling: (points + 1,).

    Without a ceiling, the last is infinite.

    Raises:
        ValueError: the curve does not have as many points, or one is not finite.
    """
    curve = np.asarray(noisy, dtype=np.float64)
    if curve.shape != (points,):
        raise Refused("noisy", f"{points} points are needed, got an array of shape {curve.shape}")
    if not np.all(np.isfinite(curve)):
        raise Refused("noisy", "finite numbers are needed")
    return np.diff(curve, prepend=0.0, append=np.inf if ceiling is None else ceiling.count)


def curve_of(steps: FloatArray, ceiling: Ceiling) -> FloatArray:
    """The curve that rises by these steps, (points,), and keeps to its ceiling whatever was rounded."""
    curve = np.cumsum(steps[:-1])
    if ceiling is None:
        return curve
    if isinstance(ceiling, Exactly):
        curve[-1] = ceiling.count
    return np.minimum(curve, ceiling.count)


def is_smooth(steps: FloatArray, ceiling: Ceiling) -> bool:
    """Tell whether the curve does not fall, and keeps to its ceiling."""
    return not np.any(steps < 0) and not (isinstance(ceiling, Exactly) and steps[-1] > 0)


def _require_count(count: float) -> None:
    if not (np.isfinite(count) and count >= 0):
        raise Refused("count", f"a finite number of at least zero is needed, got {count}")
