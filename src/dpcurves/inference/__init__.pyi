from .bands import (
    Band,
    Sample,
    dvoretzky,
    interval,
    monotone_hull,
    population_band,
    simultaneous_band,
    simultaneous_errors,
    upper_quantile,
    upper_quantiles,
)
from .groups import GroupCounts, GroupNoise, hosmer_lemeshow, mean_residuals, simulated_p_value
from .moments import mean_intervals, positive_intervals, residual_envelope, share_intervals
from .quantiles import Bracket, PathQuantile, Weighed, bisected, cell_at, ends_at, inside, tail_bound
from .rates import RocBand, population_roc_band, roc_band
from .simulation import DRAWS, public_generator

__all__ = [
    "DRAWS", "Band", "Bracket", "GroupCounts", "GroupNoise", "PathQuantile", "RocBand", "Sample", "Weighed",
    "bisected", "cell_at", "dvoretzky", "ends_at", "hosmer_lemeshow", "inside", "interval",
    "mean_intervals", "mean_residuals", "monotone_hull", "population_band", "population_roc_band",
    "positive_intervals", "public_generator", "residual_envelope", "roc_band", "share_intervals",
    "simulated_p_value", "simultaneous_band", "simultaneous_errors", "tail_bound", "upper_quantile",
    "upper_quantiles",
]  # fmt: skip
