"""Noise from finite coins that two parties throw together, as circuits: pure epsilon, without a delta."""

from .response import Flip, Response, Wire, Wires, around
from .rounded import FiniteLaplace, Lattice, Rounded, ThreeAnswers, response_for

__all__ = [
    "FiniteLaplace", "Flip", "Lattice", "Response", "Rounded", "ThreeAnswers", "Wire", "Wires", "around",
    "response_for",
]  # fmt: skip
