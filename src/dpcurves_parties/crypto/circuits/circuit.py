"""Boolean circuits: the interface of machines that evaluate them, evaluation in the clear, and sums over a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcurves.arguments import Refused


class Kind(IntEnum):
    """Kind of a gate: the Boolean function of its wires."""

    XOR = 0
    AND = 1
    NOT = 2
    ZERO = 3


class Gate(NamedTuple):
    """Gate; its own wire is numbered after the inputs and the gates before it. NOT has its own twice, ZERO none."""

    kind: Kind
    left: int
    right: int


class Number(NamedTuple):
    """An output: its wires, the lowest bit first, and the range of the integer in them.

    It is a two's complement where `low` is negative.
    """

    wires: tuple[int, ...]
    low: int
    high: int


Wire = TypeVar("Wire")


class Machine(Protocol[Wire]):
    """Interface of machines that evaluate gates. A wire holds one bit for each instance of a batch."""

    def xor(self, left: Wire, right: Wire) -> Wire: ...

    def conjunction(self, left: Wire, right: Wire) -> Wire:
        """Logical AND."""
        ...

    def negation(self, wire: Wire) -> Wire: ...

    def zeros(self, like: Wire) -> Wire:
        """A wire that is 0 in each instance."""
        ...


@dataclass(frozen=True, slots=True)
class Circuit:
    """Boolean circuit: gates in topological order.

    Attributes:
        inputs: Bits of each input; their wires come first, in order.
        gates: Gates in the order of their wires.
        outputs: Numbers that are read off the wires.

    Raises:
        ValueError: there is no input bit, or a gate or an output has a wire that comes later, or does not exist.
    """

    inputs: tuple[int, ...]
    gates: tuple[Gate, ...]
    outputs: tuple[Number, ...]
    _last: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if sum(self.inputs) < 1 or min(self.inputs) < 0:
            raise Refused("inputs", "a circuit needs at least one bit of input")
        last, first = [-1] * (sum(self.inputs) + len(self.gates)), sum(self.inputs)
        for place, gate in enumerate(self.gates):
            if gate.kind != Kind.ZERO and not (0 <= gate.left < first + place and 0 <= gate.right < first + place):
                raise Refused("gates", f"gate {place} reads a wire that comes later, or is none")
            last[gate.left] = last[gate.right] = place
        for wire in self.output_wires:
            if not 0 <= wire < len(last):
                raise Refused("outputs", "an output is no wire of the circuit")
            last[wire] = len(self.gates)
        object.__setattr__(self, "_last", tuple(last))

    @property
    def output_wires(self) -> tuple[int, ...]:
        """Wires of all outputs, number by number."""
        return tuple(wire for number in self.outputs for wire in number.wires)

    @property
    def ands(self) -> int:
        """Number of AND gates: the cost of a circuit, for other gates are free."""
        return sum(gate.kind == Kind.AND for gate in self.gates)

    def run(self, machine: Machine[Wire], inputs: Sequence[Wire]) -> list[Wire]:
        """Evaluate the circuit: wires of all outputs, from those of all inputs. A wire is freed after its last use.

        Raises:
            ValueError: there are not as many input wires as bits.
        """
        if len(inputs) != sum(self.inputs):
            raise Refused("inputs", f"{sum(self.inputs)} wires are needed, got {len(inputs)}")
        wires: list[Wire | None] = [*inputs, *([None] * len(self.gates))]
        for place, gate in enumerate(self.gates, len(inputs)):
            wires[place] = _run(machine, gate, wires, inputs[0])
            for read in {gate.left, gate.right}:
                if self._last[read] == place - len(inputs):
                    wires[read] = None
        return [_there(wires[wire]) for wire in self.output_wires]


def _run(machine: Machine[Wire], gate: Gate, wires: Sequence[Wire | None], like: Wire) -> Wire:
    if gate.kind == Kind.ZERO:
        return machine.zeros(like)
    left, right = _there(wires[gate.left]), _there(wires[gate.right])
    if gate.kind == Kind.XOR:
        return machine.xor(left, right)
    return machine.conjunction(left, right) if gate.kind == Kind.AND else machine.negation(left)


def _there(wire: Wire | None) -> Wire:
    if wire is None:
        raise Refused("gates", "a wire is read after it was let go")
    return wire


# Evaluation of circuits in the clear: a reference for tests, simulations and plans.
Bools = NDArray[np.bool_]
_WORD = 63


class InTheClear:
    """Runs gates on arrays of bits, one for each instance."""

    def xor(self, left: Bools, right: Bools) -> Bools:
        return left ^ right

    def conjunction(self, left: Bools, right: Bools) -> Bools:
        return left & right

    def negation(self, wire: Bools) -> Bools:
        return ~wire

    def zeros(self, like: Bools) -> Bools:
        return np.zeros_like(like)


def bits_of(values: ArrayLike, width: int) -> list[Bools]:
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


def numbers_of(wires: Sequence[Bools], number: Number) -> NDArray[Any]:
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


def read(circuit: Circuit, wires: Sequence[Bools]) -> tuple[NDArray[Any], ...]:
    """The integers of all outputs, from their wires."""
    found, start = [], 0
    for number in circuit.outputs:
        found.append(numbers_of(wires[start : start + len(number.wires)], number))
        start += len(number.wires)
    return tuple(found)


Words = TypeVar("Words", bound=NDArray[Any])
LEAST = 3 * 1024
"""Bits of one weight that are worth a gate before the end."""


def total_offset(number: Number, count: int) -> int:
    """Offset that is added to the sum of so many instances, so that it is never negative."""
    return count << (len(number.wires) - 1) if number.low < 0 else 0


def total_width(number: Number, count: int) -> int:
    """Bits of the sum of so many instances, with `total_offset`."""
    return (count * ((1 << len(number.wires)) - 1)).bit_length()


@dataclass(slots=True)
class Piles(Generic[Words]):
    """Carry-save adder of a circuit's output over all instances: full adders of three bits of one weight, one AND each.

    Bits of one weight lie on one pile. Three of them become one of their weight and one of twice that, in a batch of
    all that are there; so n bits take less than n ANDs.

    Attributes:
        machine: Machine that evaluates the gates.
        number: Type of the numbers that are added.
        count: Number of instances added.
    """

    machine: Machine[Words]
    number: Number
    count: int = 0
    _piles: list[list[Words]] = field(default_factory=list)

    @property
    def offset(self) -> int:
        """Excess of the total's wires over the total: the sum of the offsets of signed numbers."""
        return total_offset(self.number, self.count)

    @property
    def width(self) -> int:
        """Bits of the total."""
        return total_width(self.number, self.count)

    def add(self, wires: Sequence[Words]) -> None:
        """Add the instances of one chunk.

        Raises:
            ValueError: there are not as many wires as the number has.
        """
        if len(wires) != len(self.number.wires):
            raise Refused("wires", f"{len(self.number.wires)} are needed, got {len(wires)}")
        for weight, wire in enumerate(wires):
            turned = self.number.low < 0 and weight == len(wires) - 1
            self._put(weight, self.machine.negation(wire) if turned else wire)
        self.count += len(wires[0]) if wires else 0
        self._reduce(LEAST)

    def total(self) -> list[Words]:
        """The bits of the sum, plus `offset`, of all that were added: one instance of each.

        Raises:
            ValueError: nothing was added.
        """
        if self.count < 1:
            raise Refused("numbers", "at least one is needed")
        self._reduce(3)
        return [self._only(weight) for weight in range(self.width)]

    def _put(self, weight: int, wire: Words) -> None:
        while len(self._piles) <= weight:
            self._piles.append([])
        self._piles[weight].append(wire)

    def _reduce(self, least: int) -> None:
        """Apply full adders from the lowest weight on, till fewer than `least` lie on each pile."""
        weight = 0
        while weight < len(self._piles):
            while sum(map(len, self._piles[weight])) >= least:
                self._add_thirds(weight)
            weight += 1

    def _add_thirds(self, weight: int) -> None:
        pile: Any = np.concatenate(self._piles[weight])
        third = len(pile) // 3
        a, b, c = (pile[place * third : (place + 1) * third] for place in range(3))
        first, second = self.machine.xor(a, c), self.machine.xor(b, c)
        self._piles[weight] = [pile[3 * third :], self.machine.xor(first, b)]
        self._put(weight + 1, self.machine.xor(self.machine.conjunction(first, second), c))

    def _only(self, weight: int) -> Words:
        """The sum of the last two bits of a weight, or the last one; their carry goes on."""
        pile: Any = np.concatenate(self._piles[weight])
        while len(pile) > 1:
            if len(pile) > 2:
                self._add_thirds(weight)
            else:
                first, second = pile[:1], pile[1:]
                self._piles[weight] = [self.machine.xor(first, second)]
                self._put(weight + 1, self.machine.conjunction(first, second))
            pile = np.concatenate(self._piles[weight])
        found: Words = pile
        return found
