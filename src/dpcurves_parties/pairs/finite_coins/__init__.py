"""Noise from finite coins that two parties throw together, as circuits: pure epsilon, without a delta."""

from .choice import response_for
from .finite_laplace import FiniteLaplace
from .flip import Flip
from .lattice import Lattice
from .response import Response
from .rounded import Rounded
from .three_answers import ThreeAnswers
from .wires import Wire, Wires, around

__all__ = [
    "FiniteLaplace", "Flip", "Lattice", "Response", "Rounded", "ThreeAnswers", "Wire", "Wires", "around",
    "response_for",
]  # fmt: skip
