"""How exact tables become noisy integers, and the chooser."""

from .base import ExactTable, Mechanism
from .choice import AUTO, LINEAR, Choice, LinearChoice
from .flat import Flat
from .haar import Haar
from .k_ary import KAry
from .linear import Linear
from .recursive_cuts import RecursiveCuts
from .square_root import SquareRoot
from .tree import Tree

__all__ = [
    "AUTO", "LINEAR", "Choice", "ExactTable", "Flat", "Haar", "KAry", "Linear", "LinearChoice", "Mechanism",
    "RecursiveCuts", "SquareRoot", "Tree",
]  # fmt: skip
