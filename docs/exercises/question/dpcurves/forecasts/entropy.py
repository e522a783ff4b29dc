"""The forecast of the entropy of a column of categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import curves
from ..arrays import FloatArray
from ..curves.entropy import compute_entropy
from . import rehearsals as read
from .expected_errors import MORE_WIDTHS, OF_ONE_NUMBER, ForecastKind, Table
from .reference_laws import PLACES


def _categories_at(question: Any, places: FloatArray) -> Table:
    """Records whose categories, in their order, lie along [0, 1]."""
    slots = question.column.slots
    return {
        question.column.column: np.array(question.column.values)[np.minimum((places * slots).astype(int), slots - 1)]
    }


def _error_in_bits(question: Any, found: curves.Entropy, records: read.Columns) -> float:
    """The absolute error; where the entropy is not known, that of half the maximum."""
    values = np.asarray(records[question.column.column]).tolist()
    truth = float(
        compute_entropy(np.array([values.count(value) for value in question.column.values], dtype=np.float64))
    )
    return abs((found.maximum / 2 if np.isnan(found.entropy) else found.entropy) - truth)


ENTROPY = ForecastKind(
    PLACES, _categories_at, _error_in_bits, "entropy in bits, mean error", read.interval_half_width, "the entropy",
    lambda question, size: float(np.log2(question.column.slots)) / 4, OF_ONE_NUMBER, MORE_WIDTHS,
)  # fmt: skip
