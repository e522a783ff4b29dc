"""Exact integer noise, private selection, and the only source of randomness."""

from . import discrete_gaussian, discrete_laplace
from .exponential import sample_bernoulli_exp, sample_exponential_mechanism, selection_probabilities
from .randomness import InProcessMemory, Memory, Randomness

__all__ = [
    "InProcessMemory",
    "Memory",
    "Randomness",
    "discrete_gaussian",
    "discrete_laplace",
    "sample_bernoulli_exp",
    "sample_exponential_mechanism",
    "selection_probabilities",
]  # fmt: skip
