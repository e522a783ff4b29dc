from .estimation.reconstruction import shrunken_estimate, smoothed, unbiased
from .inference.bands import (
    Band,
    dvoretzky,
    interval,
    monotone_hull,
    simultaneous_band,
    simultaneous_errors,
    upper_quantile,
    upper_quantiles,
)
from .inference.bisection import Bracket, bisected
from .inference.group_intervals import mean_intervals, positive_intervals, residual_envelope, share_intervals
from .inference.hosmer_lemeshow import GroupCounts, GroupNoise, hosmer_lemeshow, simulated_p_value
from .inference.outward import cell_at, ends_at, inside
from .inference.path_quantile import PathQuantile
from .inference.population_band import Sample, population_band
from .inference.rate_bands import RocBand, population_roc_band, roc_band
from .inference.residual_means import mean_residuals
from .inference.simulation_seed import DRAWS, public_generator
from .inference.tail_bound import Weighed, tail_bound
from .inference.warning_signs import crowded_ends
from .shape.interpolate import inverse_at, value_at, value_below
from .shape.monotone import counts_to_prefixes, monotone_prefixes, non_decreasing
from .smoothing.block_noise import prefix_graph
from .smoothing.increments import AtMost, Ceiling, Exactly
from .smoothing.noise_graph import NoiseGraph, noise_graph
from .smoothing.noisy_prefixes import noisy_prefixes
from .smoothing.smoothing_absolute import smooth_absolute
from .smoothing.smoothing_squares import smooth_squares
from .summaries.binormal import auc_of_steps, binormal_tpr
from .summaries.distances import Distribution, area_between, energy_between, largest_gap
from .summaries.roc import auc, auc_of_counts, roc_points

__all__ = [
    "DRAWS",
    "AtMost",
    "Band",
    "Bracket",
    "Ceiling",
    "Distribution",
    "Exactly",
    "GroupCounts",
    "GroupNoise",
    "NoiseGraph",
    "PathQuantile",
    "RocBand",
    "Sample",
    "Weighed",
    "area_between",
    "auc",
    "auc_of_counts",
    "auc_of_steps",
    "binormal_tpr",
    "bisected",
    "cell_at",
    "counts_to_prefixes",
    "crowded_ends",
    "dvoretzky",
    "ends_at",
    "energy_between",
    "hosmer_lemeshow",
    "inside",
    "interval",
    "inverse_at",
    "largest_gap",
    "mean_intervals",
    "mean_residuals",
    "monotone_hull",
    "monotone_prefixes",
    "noise_graph",
    "noisy_prefixes",
    "non_decreasing",
    "population_band",
    "population_roc_band",
    "positive_intervals",
    "prefix_graph",
    "public_generator",
    "residual_envelope",
    "roc_band",
    "roc_points",
    "share_intervals",
    "shrunken_estimate",
    "simulated_p_value",
    "simultaneous_band",
    "simultaneous_errors",
    "smooth_absolute",
    "smooth_squares",
    "smoothed",
    "tail_bound",
    "unbiased",
    "upper_quantile",
    "upper_quantiles",
    "value_at",
    "value_below",
]  # fmt: skip
