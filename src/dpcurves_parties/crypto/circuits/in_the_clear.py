"""Evaluation of circuits in the clear: a reference for tests, simulations and plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcurves.arguments import Refused

from .circuit import Circuit, Number

Wire = NDArray[np.bool_]
_WORD = 63


class InTheClear:
    """Runs gates on arrays of bits, one for each instance."""

    def xor(self, left: Wire, right: Wire) -> Wire:
        return left ^ right

    def conjunction(self, left: Wire, right: Wire) -> Wire:
        return left & right

    def negation(self, wire: Wire) -> Wire:
        return ~wire

    def zeros(self, like: Wire) -> Wire:
        return np.zeros_like(like)


def bits_of(values: ArrayLike, width: int) -> list[Wire]:
    """The bits of whole numbers, the lowest first.

    Raises:
        ValueError: a number is negative or has more bits. It is not shown.
    """
    given = np.asarray(values)
    good = given.dtype.kind in "bui" and not bool(np.any(given < 0))
    numbers = given.astype(np.uint64) if good else np.zeros(1, np.uint64)
    if not good or (width < 64 and bool(np.any(numbers >> np.uint64(width)))):
        raise Refused("values", f"all must be whole numbers below 2**{width}")
    return [(numbers >> np.uint64(place) & np.uint64(1)).astype(np.bool_) for place in range(width)]


def numbers_of(wires: Sequence[Wire], number: Number) -> NDArray[Any]:
    """The integers that an output's wires hold: Python's own where 64 bits are too few."""
    kind: Any = np.int64 if len(wires) <= _WORD else object
    weights = [1 << place for place in range(len(wires))]
    if number.low < 0:
        weights[-1] = -weights[-1]
    parts = [wire.astype(kind) * weight for wire, weight in zip(wires, weights, strict=True)]
    return np.asarray(sum(parts)) if parts else np.zeros(0, np.int64)


def evaluated(circuit: Circuit, *values: ArrayLike) -> tuple[NDArray[Any], ...]:
    """Evaluate a circuit in the clear on arrays of whole numbers, one array for each input: one for each output.

    Raises:
        ValueError: there are not as many as inputs, or they have other lengths, or more bits.

    >>> from dpcurves_parties.crypto.circuits import traced
    >>> evaluated(traced(lambda x, y: abs(x - y), 8, 8), [3, 250], [7, 1])
    (array([  4, 249]),)
    """
    if len(values) != len(circuit.inputs):
        raise Refused("values", f"{len(circuit.inputs)} inputs are needed, got {len(values)}")
    arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(each, dtype=np.uint64)) for each in values))
    given = [wire for each, width in zip(arrays, circuit.inputs, strict=True) for wire in bits_of(each, width)]
    return read(circuit, circuit.run(InTheClear(), given))


def read(circuit: Circuit, wires: Sequence[Wire]) -> tuple[NDArray[Any], ...]:
    """The integers of all outputs, from their wires."""
    found, start = [], 0
    for number in circuit.outputs:
        found.append(numbers_of(wires[start : start + len(number.wires)], number))
        start += len(number.wires)
    return tuple(found)
