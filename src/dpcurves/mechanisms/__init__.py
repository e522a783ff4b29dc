"""How exact tables become noisy integers, and the chooser."""

from .base import ExactTable, Mechanism
from .choice import AUTO, LINEAR, Choice, LinearChoice
from .flat import Flat
from .linear import Linear
from .recursive_cuts import RecursiveCuts
from .tree import Tree

__all__ = [
    "AUTO", "LINEAR", "Choice", "ExactTable", "Flat", "Linear", "LinearChoice", "Mechanism", "RecursiveCuts", "Tree",
]  # fmt: skip
