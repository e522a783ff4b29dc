"""How exact tables become noisy integers, and the chooser."""

from .base import Counter, ExactTable, Lazy, Mechanism
from .choice import AUTO, LINEAR, Choice, LinearChoice
from .flat import Flat
from .haar import Haar
from .k_ary import KAry
from .linear import Linear
from .noise_path import NoisePath
from .privtree import PrivTree
from .recursive_cuts import RecursiveCuts
from .sparse_vector import SparseVector
from .square_root import SquareRoot
from .tree import Tree

__all__ = [
    "AUTO", "LINEAR", "Choice", "Counter", "ExactTable", "Flat", "Haar", "KAry", "Lazy", "Linear", "LinearChoice",
    "Mechanism", "NoisePath", "PrivTree", "RecursiveCuts", "SparseVector", "SquareRoot", "Tree",
]  # fmt: skip
