"""The forecast of the entropy of a column of categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import curves
from ..arrays import FloatArray
from ..curves.entropy import compute_entropy
from . import rehearsals
from .expected_errors import NUMBER_REHEARSALS, WIDTH_REHEARSALS, ForecastKind, Table
from .reference_distributions import VALUE_SAMPLERS


def _categories_at(question: Any, places: FloatArray) -> Table:
    """Records whose categories, in their order, lie along [0, 1]."""
    slots = question.column.slots
    return {
        question.column.column: np.array(question.column.values)[np.minimum((places * slots).astype(int), slots - 1)]
    }


def _error_in_bits(question: Any, found: curves.Entropy, records: rehearsals.Columns) -> float:
    """The absolute error; where the entropy is not known, that of half the maximum."""
    values = np.asarray(records[question.column.column]).tolist()
    truth = float(
        compute_entropy(np.array([values.count(value) for value in question.column.values], dtype=np.float64))
    )
    return abs((found.maximum / 2 if np.isnan(found.entropy) else found.entropy) - truth)


ENTROPY = ForecastKind(
    distributions=VALUE_SAMPLERS, fill_columns=_categories_at, measure_error=_error_in_bits,
    error_label="entropy in bits, mean error",
    half_width=rehearsals.interval_half_width, interval_label="the entropy",
    uninformative_width=lambda question, size: float(np.log2(question.column.slots)) / 4, rehearsals=NUMBER_REHEARSALS,
    width_rehearsals=WIDTH_REHEARSALS,
)  # fmt: skip
