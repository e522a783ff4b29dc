from .auto import AUTO, LINEAR_CHOICE, LinearChoice, MechanismChoice
from .base import Counter, ExactTable, LazyMechanism, Mechanism
from .exponential import ExponentialPartition, ExponentialQuantiles, ExponentialWorstBox
from .lazy_tree import LazyTree
from .linear import FlatHistogram, LinearMechanism, RegionSums, TreeSums
from .missing_reasons import add_noise_to_reasons, add_reasons
from .smooth_sensitivity import NoisyAuc, NoisyMedians
from .thresholds import MergedCells, PrivTree, SparseVector
from .wavelets import Haar, Privelet, SquareRoot

__all__ = [
    "AUTO",
    "LINEAR_CHOICE",
    "Counter",
    "ExactTable",
    "ExponentialPartition",
    "ExponentialQuantiles",
    "ExponentialWorstBox",
    "FlatHistogram",
    "Haar",
    "LazyMechanism",
    "LazyTree",
    "LinearChoice",
    "LinearMechanism",
    "Mechanism",
    "MechanismChoice",
    "MergedCells",
    "NoisyAuc",
    "NoisyMedians",
    "PrivTree",
    "Privelet",
    "RegionSums",
    "SparseVector",
    "SquareRoot",
    "TreeSums",
    "add_noise_to_reasons",
    "add_reasons",
]  # fmt: skip
