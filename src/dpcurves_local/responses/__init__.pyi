from .randomiser import (
    RANDOMISERS,
    Hadamard,
    KAry,
    Randomiser,
    Subset,
    Support,
    Unary,
    choose_randomiser,
    randomiser_named,
)

__all__ = [
    "RANDOMISERS", "Hadamard", "KAry", "Randomiser", "Subset", "Support", "Unary", "choose_randomiser",
    "randomiser_named",
]  # fmt: skip
