"""Garbled circuits by half gates and free XOR, batched over instances and streamed chunk by chunk."""

from .engine import GateEngine
from .fast import FastGates, gates_here
from .gate_keys import SALT_SIZE, GateKeys
from .labels import masked, offset_from, opened, permute_bits, require_offset
from .machines import Evaluator, Garbler
from .portable import PortableGates

__all__ = [
    "SALT_SIZE", "Evaluator", "FastGates", "Garbler", "GateEngine", "GateKeys", "PortableGates", "gates_here", "masked",
    "offset_from", "opened", "permute_bits", "require_offset",
]  # fmt: skip
