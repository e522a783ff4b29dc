"""Average residuals of groups of like predictions, and how far noise and chance move them."""

from __future__ import annotations

import numpy as np

from .goodness import GroupNoise, Groups
from .tree import FloatArray

STANDARD_ERRORS = 2.0


def mean_residuals(groups: Groups) -> FloatArray:
    """Mean of label less prediction, (..., groups): between -upper and 1 - lower whatever the noise says.

    Fewer than one record stand as one.
    """
    residuals = groups.surplus / np.maximum(groups.count, 1.0)
    return np.asarray(np.clip(residuals, -groups.upper, 1 - groups.lower))


def residual_envelope(groups: Groups, noise: GroupNoise) -> FloatArray:
    """Two standard errors of the mean residual of a model that is right, noise included: (groups,), at most 1.

    A record of prediction p has a residual of variance ``p * (1 - p)``. Its mean over a group is at most that of the
    mean prediction, for ``p * (1 - p)`` is concave. The noise of the sum of residuals adds to it.

    Args:
        groups: As released, (groups,).
        noise: Of what was released.
    """
    of_noise = noise.surplus(groups.middle).var(axis=0)
    count = np.maximum(groups.count, 1.0)
    errors = np.sqrt(groups.mean * (1 - groups.mean) * count + of_noise) / count
    return np.asarray(np.minimum(STANDARD_ERRORS * errors, 1.0))
