"""Boolean circuits of XOR, AND and NOT: traced from Python functions, read and written as Bristol Fashion."""

from .bits import Bits, mux, sign, total
from .bristol import from_bristol, to_bristol
from .circuit import Circuit, Gate, Kind, Machine, Number
from .in_the_clear import InTheClear, bits_of, evaluated, numbers_of
from .piles import Piles, total_offset, total_width
from .tracing import Record, traced
from .wiring import Wiring

__all__ = [
    "Bits", "Circuit", "Gate", "InTheClear", "Kind", "Machine", "Number", "Piles", "Record", "Wiring", "bits_of",
    "evaluated", "from_bristol", "mux", "numbers_of", "sign", "to_bristol", "total", "total_offset",
    "total_width", "traced",
]  # fmt: skip
