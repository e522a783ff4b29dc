"""Average residuals of groups of similar predictions."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray
from .hosmer_lemeshow import GroupCounts


def mean_residuals(groups: GroupCounts) -> FloatArray:
    """Mean of label less prediction, (..., groups): between -upper and 1 - lower whatever the noise says.

    A count below one record is taken as one.
    """
    residuals = groups.surplus / np.maximum(groups.count, 1.0)
    return np.asarray(np.clip(residuals, -groups.upper, 1 - groups.lower))
