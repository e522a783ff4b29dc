"""Exact integer noise, private choice, and the one source of randomness."""

from . import discrete_gaussian, discrete_laplace
from .exponential import choose, coin, probabilities
from .randomness import FleetingMemory, Memory, Randomness

__all__ = [
    "FleetingMemory", "Memory", "Randomness", "choose", "coin", "discrete_gaussian", "discrete_laplace",
    "probabilities",
]  # fmt: skip
