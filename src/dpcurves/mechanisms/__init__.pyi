from .auto import AUTO, LINEAR, Choice, LinearChoice
from .base import Counter, ExactTable, Lazy, Mechanism
from .prefixes.lazy_tree import LazyTree
from .selection.exponential_partition import ExponentialPartition
from .selection.exponential_quantiles import ExponentialQuantiles
from .selection.exponential_worst_box import ExponentialWorstBox
from .selection.noisy_auc import NoisyAuc
from .selection.noisy_medians import NoisyMedians
from .sequential import Sequential, State
from .sums.flat import Flat
from .sums.haar import Haar
from .sums.linear import Linear
from .sums.privelet import Privelet
from .sums.regions import Regions
from .sums.square_root import SquareRoot
from .sums.tree import TreeSums
from .thresholds.merged_cells import MergedCells
from .thresholds.privtree import PrivTree
from .thresholds.sparse_vector import SparseVector

__all__ = [
    "AUTO",
    "LINEAR",
    "Choice",
    "Counter",
    "ExactTable",
    "ExponentialPartition",
    "ExponentialQuantiles",
    "ExponentialWorstBox",
    "Flat",
    "Haar",
    "Lazy",
    "LazyTree",
    "Linear",
    "LinearChoice",
    "Mechanism",
    "MergedCells",
    "NoisyAuc",
    "NoisyMedians",
    "PrivTree",
    "Privelet",
    "Regions",
    "Sequential",
    "SparseVector",
    "SquareRoot",
    "State",
    "TreeSums",
]  # fmt: skip
