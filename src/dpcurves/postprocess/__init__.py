"""Public numbers in, better public numbers out. Costs no privacy; covariance is born here."""

from .bands import (
    Band,
    dvoretzky,
    interval,
    monotone_hull,
    population_band,
    simultaneous_band,
    simultaneous_errors,
    upper_quantile,
    upper_quantiles,
)
from .binned import mean_residuals
from .binormal import auc_of_steps, binormal_tpr
from .bisection import Bracket, bisected
from .block_noise import path_graph, prefix_graph, regular_bounds, subtraction_graph
from .distances import Distribution, area_between, energy_between, largest_gap
from .end_cells import crowded_ends
from .generator import DRAWS, public_generator
from .goodness import GroupNoise, Groups, hosmer_lemeshow, simulated_p_value
from .group_intervals import positive_intervals, residual_envelope, share_intervals
from .increments import AtMost, Ceiling, Exactly
from .interpolate import inverse_at, value_at
from .least_squares import Estimate, least_squares, least_squares_batch
from .monotone import counts_to_prefixes, monotone_prefixes, non_decreasing
from .noise_graph import NoiseGraph, noise_graph
from .outward import cell_at, ends_at, inside
from .path_quantile import PathQuantile
from .reading import drawn_even, smoothed, unbiased, unbiased_batch
from .roc import auc, auc_ends, auc_of_counts, roc_points
from .sampling import mean_counts
from .shrinkage import shrunken
from .simulate import noise_by_source, noise_draws, prefix_noise
from .smoothing_absolute import smooth_absolute
from .smoothing_squares import smooth_squares
from .subtraction import subtracted_prefixes, subtraction_variances
from .tail_bound import Weighed, tail_bound
from .tree import measured_edges
from .wavelets import wavelet_estimate
from .weighted_isotonic import weighted_isotonic

__all__ = [
    "DRAWS", "AtMost", "Band", "Bracket", "Ceiling", "Distribution", "Estimate", "Exactly", "GroupNoise", "Groups",
    "NoiseGraph", "PathQuantile", "Weighed", "area_between", "auc", "auc_ends", "auc_of_counts", "auc_of_steps",
    "binormal_tpr", "bisected", "cell_at", "counts_to_prefixes", "crowded_ends", "drawn_even", "dvoretzky", "ends_at",
    "energy_between", "hosmer_lemeshow", "inside", "interval", "inverse_at", "largest_gap", "least_squares",
    "least_squares_batch", "mean_counts", "mean_residuals", "measured_edges", "monotone_hull", "monotone_prefixes",
    "noise_by_source", "noise_draws", "noise_graph", "non_decreasing", "path_graph", "population_band",
    "positive_intervals", "prefix_graph", "prefix_noise", "public_generator", "regular_bounds", "residual_envelope",
    "roc_points", "share_intervals", "shrunken", "simulated_p_value", "simultaneous_band", "simultaneous_errors",
    "smooth_absolute", "smooth_squares", "smoothed", "subtracted_prefixes", "subtraction_graph",
    "subtraction_variances", "tail_bound", "unbiased", "unbiased_batch", "upper_quantile", "upper_quantiles",
    "value_at", "wavelet_estimate", "weighted_isotonic",
]  # fmt: skip
