"""Exact integer noise, private choice, and the one source of randomness."""

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
