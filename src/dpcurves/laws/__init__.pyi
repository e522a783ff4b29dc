from .buffered_prefixes import BufferedPrefixes
from .grouped_counts import GroupedCounts
from .haar_sums import HaarSums
from .haar_tensor_sums import HaarTensorSums, TableEstimate, wavelet_estimate
from .hierarchy_counts import HierarchyCounts, NodeEstimates
from .interval_sums import IntervalSums
from .law import CountLaw, Law, NoisySums
from .least_squares import Estimate, least_squares, least_squares_batch
from .nested import Level
from .noise import Family, Noise
from .pair_law import PairAnswers, PairLaw, PairSum
from .path_sums import Block, PathSums
from .prefix_trees import TreeCounts
from .pruned_counts import PrunedCounts
from .responses import Responses
from .selection import PartitionDecisions, Selection
from .stored import law_from_json
from .tallied import Tallied
from .threshold_answers import ThresholdAnswers
from .threshold_sums import ThresholdSums, read_in_cells
from .tick_law import PrefixLaw
from .toeplitz_sums import ToeplitzSums

__all__ = [
    "Block", "BufferedPrefixes", "CountLaw", "Estimate", "Family", "GroupedCounts", "HaarSums",
    "HaarTensorSums", "HierarchyCounts", "IntervalSums", "Law", "Level", "NodeEstimates", "Noise", "NoisySums",
    "PairAnswers", "PairLaw", "PairSum", "PartitionDecisions", "PathSums", "PrefixLaw", "PrunedCounts", "Responses",
    "Selection", "TableEstimate", "Tallied", "ThresholdAnswers", "ThresholdSums", "ToeplitzSums", "TreeCounts",
    "law_from_json", "least_squares", "least_squares_batch", "read_in_cells", "wavelet_estimate",
]  # fmt: skip
