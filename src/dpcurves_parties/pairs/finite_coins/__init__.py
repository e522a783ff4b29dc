"""Noise from finite coins that two parties throw together, as circuits: pure epsilon, without a delta."""

from .laplace import FiniteLaplace, Lattice
from .response import Flip, Response, Wire, Wires, around
from .rounded import Rounded, ThreeAnswers, response_for

__all__ = [
    "FiniteLaplace", "Flip", "Lattice", "Response", "Rounded", "ThreeAnswers", "Wire", "Wires", "around",
    "response_for",
]  # fmt: skip
