"""Boolean circuits of XOR, AND and NOT: traced from Python functions, read and written as Bristol Fashion."""

from .bits import CircuitBuilder, Record, SymbolicInteger, from_bristol, mux, sign, to_bristol, total, trace_circuit
from .circuit import (
    CarrySaveAdder,
    Circuit,
    CircuitOutput,
    CleartextMachine,
    Gate,
    GateKind,
    Machine,
    evaluate_circuit,
    join_bits,
    split_into_bits,
    total_offset,
    total_width,
)

__all__ = [
    "CarrySaveAdder",
    "Circuit",
    "CircuitBuilder",
    "CircuitOutput",
    "CleartextMachine",
    "Gate",
    "GateKind",
    "Machine",
    "Record",
    "SymbolicInteger",
    "evaluate_circuit",
    "from_bristol",
    "join_bits",
    "mux",
    "sign",
    "split_into_bits",
    "to_bristol",
    "total",
    "total_offset",
    "total_width",
    "trace_circuit",
]  # fmt: skip
