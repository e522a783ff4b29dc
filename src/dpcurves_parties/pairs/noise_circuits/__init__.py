"""Noise from finitely many random bits of two parties, as circuits: pure epsilon, without a delta."""

from .response import BinaryResponse, Response, Wire, Wires, add_modulo
from .rounded import FiniteLaplace, LaplaceResponse, RoundedResponse, TernaryResponse, choose_response

__all__ = [
    "BinaryResponse",
    "FiniteLaplace",
    "LaplaceResponse",
    "Response",
    "RoundedResponse",
    "TernaryResponse",
    "Wire",
    "Wires",
    "add_modulo",
    "choose_response",
]  # fmt: skip
