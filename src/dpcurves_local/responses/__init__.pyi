from .choice import RANDOMISERS, choose_randomiser, randomiser_named
from .hadamard import Hadamard
from .k_ary import KAry
from .randomiser import Randomiser, Support
from .subset import Subset
from .unary import Unary

__all__ = [
    "RANDOMISERS", "Hadamard", "KAry", "Randomiser", "Subset", "Support", "Unary", "choose_randomiser",
    "randomiser_named",
]  # fmt: skip
