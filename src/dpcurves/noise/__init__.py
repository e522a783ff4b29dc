"""Exact integer noise, private choice, and the one source of randomness."""

from . import discrete_gaussian, discrete_laplace
from .exponential import coin
from .randomness import FleetingMemory, Memory, Randomness
from .selection import choose, probabilities

__all__ = [
    "FleetingMemory", "Memory", "Randomness", "choose", "coin", "discrete_gaussian", "discrete_laplace",
    "probabilities",
]  # fmt: skip
