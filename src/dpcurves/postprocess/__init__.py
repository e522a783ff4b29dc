"""Public numbers in, better public numbers out. Costs no privacy; covariance is born here."""

from .bands import (
    Band,
    dvoretzky,
    interval,
    monotone_hull,
    population_band,
    simultaneous_band,
    upper_quantile,
)
from .generator import DRAWS, public_generator
from .goodness import Groups, hosmer_lemeshow, simulated_p_value
from .interpolate import inverse_at, value_at
from .least_squares import Estimate, least_squares, least_squares_batch
from .monotone import counts_to_prefixes, monotone_prefixes, non_decreasing
from .roc import auc, auc_of_counts, roc_points
from .shrinkage import shrunken
from .simulate import noise_draws
from .tree import measured_edges

__all__ = [
    "DRAWS", "Band", "Estimate", "Groups", "auc", "auc_of_counts", "counts_to_prefixes", "dvoretzky", "hosmer_lemeshow",
    "interval", "inverse_at", "least_squares", "least_squares_batch", "measured_edges", "monotone_hull",
    "monotone_prefixes", "noise_draws", "non_decreasing", "population_band", "public_generator", "roc_points",
    "shrunken", "simulated_p_value", "simultaneous_band", "upper_quantile", "value_at",
]  # fmt: skip
