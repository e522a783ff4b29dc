"""The values of a release, part by part."""

from __future__ import annotations

import numpy as np

from ..arguments import Refused
from ..arrays import FloatArray
from .law import NoisySums
from .noise import LEAST_VARIANCE


def in_parts(law: NoisySums, values: FloatArray) -> tuple[list[FloatArray], FloatArray]:
    """Values (..., size) as tables (..., rows, length), one for each part of the law, and missing counts (...).

    A missing count that was not asked for is 0.

    Raises:
        ValueError: the values do not fit the law.
    """
    if values.shape[-1:] != (law.size,):
        raise Refused("values", f"{law.size} are needed to fit the law, got an array of shape {values.shape}")
    ends = np.cumsum([law.rows * part.length for part in law.parts], dtype=np.int64)
    *parts, rest = np.split(values, ends, axis=-1)
    return [part.reshape(*part.shape[:-1], law.rows, -1) for part in parts], rest.sum(axis=-1)  # one value or none


def agreed(
    law: NoisySums, totals: FloatArray, row: float, missing: FloatArray, total: int | None
) -> tuple[FloatArray, FloatArray]:
    """Totals of the rows (..., rows), of variance `row`, and missing counts (...), that agree with a public total.

    What the public total has more than all of them is shared in proportion to their variances.
    """
    if total is None:
        return totals, missing
    apart = 0.0 if law.missing is None else max(law.missing.variance, LEAST_VARIANCE)
    residual = (total - totals.sum(axis=-1) - missing) / (law.rows * row + apart)
    return totals + row * residual[..., None], missing + apart * residual
