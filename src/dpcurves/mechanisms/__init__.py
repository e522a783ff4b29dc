"""How exact tables become noisy integers, and the chooser."""

from .base import Counter, ExactTable, Lazy, Mechanism
from .bucket_choice import BucketChoice
from .choice import AUTO, LINEAR, Choice, LinearChoice
from .flat import Flat
from .haar import Haar
from .k_ary import KAry
from .linear import Linear
from .merged_cells import MergedCells
from .misfit_choice import MisfitChoice
from .noise_path import NoisePath
from .noisy_auc import NoisyAuc
from .noisy_buckets import NoisyBuckets
from .noisy_medians import NoisyMedians
from .privelet import Privelet
from .privtree import PrivTree
from .recursive_cuts import RecursiveCuts
from .regions import Regions
from .sparse_vector import SparseVector
from .square_root import SquareRoot
from .tree import Tree

__all__ = [
    "AUTO", "LINEAR", "BucketChoice", "Choice", "Counter", "ExactTable", "Flat", "Haar", "KAry", "Lazy", "Linear",
    "LinearChoice", "Mechanism", "MergedCells", "MisfitChoice", "NoisePath", "NoisyAuc", "NoisyBuckets", "NoisyMedians",
    "PrivTree", "Privelet", "RecursiveCuts", "Regions", "SparseVector", "SquareRoot", "Tree",
]  # fmt: skip
