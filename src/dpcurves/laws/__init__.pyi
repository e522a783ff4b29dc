from .haar_sums import HaarSums, HaarTensorSums, TableEstimate, bands, mean_squares, remaining, wavelet_estimate
from .interval_sums import IntervalSums, LeastSquares, Tier, in_parts, least_squares, least_squares_batch
from .law import (
    LEAST_VARIANCE,
    CountLaw,
    Family,
    Law,
    Noise,
    NoisySums,
    PartitionDecisions,
    Selection,
    ThresholdAnswers,
    law_from_json,
    printed,
)
from .path_sums import Block, PathSums, ThresholdSums, read_in_cells
from .toeplitz_sums import ToeplitzSums

__all__ = [
    "LEAST_VARIANCE", "Block", "CountLaw", "Family", "HaarSums", "HaarTensorSums", "IntervalSums", "Law",
    "LeastSquares", "Noise", "NoisySums", "PartitionDecisions", "PathSums", "Selection", "TableEstimate",
    "ThresholdAnswers", "ThresholdSums", "Tier", "ToeplitzSums", "bands", "in_parts", "law_from_json",
    "least_squares", "least_squares_batch", "mean_squares", "printed", "read_in_cells", "remaining",
    "wavelet_estimate",
]  # fmt: skip
