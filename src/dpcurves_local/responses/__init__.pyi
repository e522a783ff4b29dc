from .randomiser import (
    RANDOMISERS,
    HadamardResponse,
    KaryRandomisedResponse,
    Randomiser,
    SubsetSelection,
    Support,
    UnaryEncoding,
    choose_randomiser,
    make_randomiser,
)

__all__ = [
    "RANDOMISERS", "HadamardResponse", "KaryRandomisedResponse", "Randomiser", "SubsetSelection",
    "Support", "UnaryEncoding",
    "choose_randomiser", "make_randomiser",
]  # fmt: skip
