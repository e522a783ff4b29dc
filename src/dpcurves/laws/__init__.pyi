from .haar_sums import HaarSums, HaarTensorSums, TableEstimate, wavelet_estimate
from .interval_sums import IntervalSums, LeastSquares, Tier, least_squares, least_squares_batch
from .law import CountLaw, Family, Law, Noise, NoisySums, PartitionDecisions, Selection, ThresholdAnswers, law_from_json
from .path_sums import Block, PathSums, ThresholdSums, read_in_cells
from .toeplitz_sums import ToeplitzSums

__all__ = [
    "Block",
    "CountLaw",
    "Family",
    "HaarSums",
    "HaarTensorSums",
    "IntervalSums",
    "Law",
    "LeastSquares",
    "Noise",
    "NoisySums",
    "PartitionDecisions",
    "PathSums",
    "Selection",
    "TableEstimate",
    "ThresholdAnswers",
    "ThresholdSums",
    "Tier",
    "ToeplitzSums",
    "law_from_json",
    "least_squares",
    "least_squares_batch",
    "read_in_cells",
    "wavelet_estimate",
]  # fmt: skip
