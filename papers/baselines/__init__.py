"""Ways that no curve takes: methods to compare with, and shares for more servers than two."""

from .additive import AdditiveShare, SeededShare, WordShare, share_indicators, share_vectors
from .block_paths import path_graph, regular_bounds
from .gaussian_calibration import delta_of_gaussian, gaussian_variance
from .k_ary import KAry
from .noisy_buckets import NoisyBuckets
from .path_counters import PathCounter, binary, mean_variance, subtracting, theorem_3
from .shrinkage import shrunken
from .subtraction import subtracted_prefixes, subtraction_graph, subtraction_variances
from .uniform import UniformEstimator
from .weighted_isotonic import weighted_isotonic

__all__ = [
    "AdditiveShare", "KAry", "NoisyBuckets", "PathCounter", "SeededShare", "UniformEstimator", "WordShare", "binary",
    "delta_of_gaussian", "gaussian_variance", "mean_variance", "path_graph", "regular_bounds", "share_indicators",
    "share_vectors", "shrunken", "subtracted_prefixes", "subtracting", "subtraction_graph", "subtraction_variances",
    "theorem_3", "weighted_isotonic",
]  # fmt: skip
