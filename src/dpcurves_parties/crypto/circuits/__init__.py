"""Boolean circuits of XOR, AND and NOT: traced from Python functions, read and written as Bristol Fashion."""

from .bits import Bits, Record, Wiring, from_bristol, mux, sign, to_bristol, total, traced
from .circuit import (
    Circuit,
    Gate,
    InTheClear,
    Kind,
    Machine,
    Number,
    Piles,
    bits_of,
    evaluated,
    numbers_of,
    total_offset,
    total_width,
)

__all__ = [
    "Bits", "Circuit", "Gate", "InTheClear", "Kind", "Machine", "Number", "Piles", "Record", "Wiring", "bits_of",
    "evaluated", "from_bristol", "mux", "numbers_of", "sign", "to_bristol", "total", "total_offset",
    "total_width", "traced",
]  # fmt: skip
