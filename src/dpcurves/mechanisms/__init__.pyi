from .auto import AUTO, LINEAR, Choice, LinearChoice
from .base import Counter, ExactTable, Lazy, Mechanism
from .exponential import ExponentialPartition, ExponentialQuantiles, ExponentialWorstBox
from .lazy_tree import LazyTree
from .linear import Flat, Linear, Regions, TreeSums
from .missing_reasons import draw_reasons, with_reasons
from .smooth_sensitivity import NoisyAuc, NoisyMedians
from .thresholds import MergedCells, PrivTree, SparseVector
from .wavelets import Haar, Privelet, SquareRoot

__all__ = [
    "AUTO", "LINEAR", "Choice", "Counter", "ExactTable", "ExponentialPartition", "ExponentialQuantiles",
    "ExponentialWorstBox", "Flat", "Haar", "Lazy", "LazyTree", "Linear", "LinearChoice", "Mechanism", "MergedCells",
    "NoisyAuc", "NoisyMedians", "PrivTree", "Privelet", "Regions", "SparseVector", "SquareRoot", "TreeSums",
    "draw_reasons", "with_reasons",
]  # fmt: skip
