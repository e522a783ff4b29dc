"""How released integers scatter around the truth: one file for each law. Public, and known before any data is seen."""

from .gls_weights import measured_edges
from .haar_sums import HaarSums
from .haar_tensor_sums import HaarTensorSums
from .law import Family, IntervalSums, Level, Noise, PartitionDecisions, Selection
from .least_squares import Estimate, least_squares, least_squares_batch
from .noise_law import NoiseLaw, NoisySums
from .path_sums import Block, PathSums
from .threshold_answers import ThresholdAnswers
from .toeplitz_sums import ToeplitzSums

__all__ = [
    "Block", "Estimate", "Family", "HaarSums", "HaarTensorSums", "IntervalSums", "Level", "Noise", "NoiseLaw",
    "NoisySums", "PartitionDecisions", "PathSums", "Selection", "ThresholdAnswers", "ToeplitzSums", "least_squares",
    "least_squares_batch", "measured_edges",
]  # fmt: skip
