"""Garbled circuits by half gates and free XOR, batched over instances and streamed chunk by chunk."""

from .machines import (
    SALT_SIZE,
    Evaluator,
    FastGates,
    Garbler,
    GateEngine,
    GateKeys,
    PortableGates,
    gates_here,
    masked,
    offset_from,
    opened,
    permute_bits,
    require_offset,
)

__all__ = [
    "SALT_SIZE", "Evaluator", "FastGates", "Garbler", "GateEngine", "GateKeys", "PortableGates", "gates_here", "masked",
    "offset_from", "opened", "permute_bits", "require_offset",
]  # fmt: skip
