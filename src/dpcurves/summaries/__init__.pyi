from .distances import Distribution, area_between, energy_between, largest_gap
from .two_classes import (
    auc,
    auc_of_counts,
    auc_of_steps,
    binormal_tpr,
    counts_to_prefixes,
    inverse_at,
    monotone_prefixes,
    non_decreasing,
    roc_points,
    value_at,
    value_below,
)

__all__ = [
    "Distribution", "area_between", "auc", "auc_of_counts", "auc_of_steps", "binormal_tpr", "counts_to_prefixes",
    "energy_between", "inverse_at", "largest_gap", "monotone_prefixes", "non_decreasing", "roc_points", "value_at",
    "value_below",
]  # fmt: skip
