"""Ways that no curve takes: methods to compare with, and shares for more servers than two."""

from .additive import AdditiveShare, SeededShare, WordShare, share_indicators, share_vectors
from .block_paths import path_graph, regular_bounds
from .gaussian_calibration import delta_of_gaussian, gaussian_variance
from .k_ary import KAry
from .noisy_buckets import NoisyBuckets
from .shrinkage import shrunken
from .subtraction import subtracted_prefixes, subtraction_graph, subtraction_variances
from .uniform import UniformEstimator
from .weighted_isotonic import weighted_isotonic

__all__ = [
    "AdditiveShare", "KAry", "NoisyBuckets", "SeededShare", "UniformEstimator", "WordShare", "delta_of_gaussian",
    "gaussian_variance", "path_graph", "regular_bounds", "share_indicators", "share_vectors", "shrunken",
    "subtracted_prefixes", "subtraction_graph", "subtraction_variances", "weighted_isotonic",
]  # fmt: skip
