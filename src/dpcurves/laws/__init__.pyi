from .haar_sums import HaarSums
from .haar_tensor_sums import HaarTensorSums, TableEstimate, wavelet_estimate
from .interval_sums import IntervalSums
from .law import CountLaw, Law, NoisySums
from .least_squares import Estimate, least_squares, least_squares_batch
from .nested import Tier
from .noise import Family, Noise
from .path_sums import Block, PathSums
from .responses import Responses
from .selection import PartitionDecisions, Selection
from .stored import law_from_json
from .threshold_answers import ThresholdAnswers
from .threshold_sums import ThresholdSums, read_in_cells
from .toeplitz_sums import ToeplitzSums

__all__ = [
    "Block",
    "CountLaw",
    "Estimate",
    "Family",
    "HaarSums",
    "HaarTensorSums",
    "IntervalSums",
    "Law",
    "Tier",
    "Noise",
    "NoisySums",
    "PartitionDecisions",
    "PathSums",
    "Responses",
    "Selection",
    "TableEstimate",
    "ThresholdAnswers",
    "ThresholdSums",
    "ToeplitzSums",
    "law_from_json",
    "least_squares",
    "least_squares_batch",
    "read_in_cells",
    "wavelet_estimate",
]  # fmt: skip
