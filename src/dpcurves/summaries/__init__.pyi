from .distances import Distribution, area_between, energy_between, largest_gap
from .kernels import Kernel, Midpoint, OnCells, quadratic
from .two_classes import (
    LEAST_MASS,
    above,
    auc,
    auc_of_counts,
    auc_of_steps,
    binormal_tpr,
    counts_to_prefixes,
    from_the_top,
    inverse_at,
    monotone_prefixes,
    non_decreasing,
    numbers,
    on_simplex,
    roc_points,
    value_at,
    value_below,
)

__all__ = [
    "LEAST_MASS", "Distribution", "Kernel", "Midpoint", "OnCells", "above", "area_between", "auc", "auc_of_counts",
    "auc_of_steps", "binormal_tpr", "counts_to_prefixes", "energy_between", "from_the_top", "inverse_at",
    "largest_gap", "monotone_prefixes", "non_decreasing", "numbers", "on_simplex", "quadratic", "roc_points",
    "value_at", "value_below",
]  # fmt: skip
