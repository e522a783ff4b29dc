"""Boolean circuits: the interface of machines that evaluate them, evaluation in the clear, and sums over a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcurves.arguments import InvalidArgument


class GateKind(IntEnum):
    """Kind of a gate: the Boolean function of its wires."""

    XOR = 0
    AND = 1
    NOT = 2
    ZERO = 3


class Gate(NamedTuple):
    """Gate; its own wire is numbered after the inputs and the gates before it. NOT has its own twice, ZERO none."""

    kind: GateKind
    left: int
    right: int


class CircuitOutput(NamedTuple):
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
    outputs: tuple[CircuitOutput, ...]
    _last_use: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if sum(self.inputs) < 1 or min(self.inputs) < 0:
            raise InvalidArgument("inputs", "a circuit needs at least one bit of input")
        last, first = [-1] * (sum(self.inputs) + len(self.gates)), sum(self.inputs)
        for place, gate in enumerate(self.gates):
            if gate.kind != GateKind.ZERO and not (0 <= gate.left < first + place and 0 <= gate.right < first + place):
                raise InvalidArgument("gates", f"gate {place} reads a wire that comes later, or is none")
            last[gate.left] = last[gate.right] = place
        for wire in self.output_wires:
            if not 0 <= wire < len(last):
                raise InvalidArgument("outputs", "an output is no wire of the circuit")
            last[wire] = len(self.gates)
        object.__setattr__(self, "_last_use", tuple(last))

    @property
    def output_wires(self) -> tuple[int, ...]:
        """Wires of all outputs, number by number."""
        return tuple(wire for number in self.outputs for wire in number.wires)

    @property
    def and_count(self) -> int:
        """Number of AND gates: the cost of a circuit, for other gates are free."""
        return sum(gate.kind == GateKind.AND for gate in self.gates)

    def run(self, machine: Machine[Wire], inputs: Sequence[Wire]) -> list[Wire]:
        """Evaluate the circuit: wires of all outputs, from those of all inputs. A wire is freed after its last use.

        Raises:
            ValueError: there are not as many input wires as bits.
        """
        if len(inputs) != sum(self.inputs):
            raise InvalidArgument("inputs", f"{sum(self.inputs)} wires are needed, got {len(inputs)}")
        wires: list[Wire | None] = [*inputs, *([None] * len(self.gates))]
        for place, gate in enumerate(self.gates, len(inputs)):
            wires[place] = _evaluate_gate(machine, gate, wires, inputs[0])
            for read in {gate.left, gate.right}:
                if self._last_use[read] == place - len(inputs):
                    wires[read] = None
        return [_require_wire(wires[wire]) for wire in self.output_wires]


def _evaluate_gate(machine: Machine[Wire], gate: Gate, wires: Sequence[Wire | None], like: Wire) -> Wire:
    if gate.kind == GateKind.ZERO:
        return machine.zeros(like)
    left, right = _require_wire(wires[gate.left]), _require_wire(wires[gate.right])
    if gate.kind == GateKind.XOR:
        return machine.xor(left, right)
    return machine.conjunction(left, right) if gate.kind == GateKind.AND else machine.negation(left)


def _require_wire(wire: Wire | None) -> Wire:
    if wire is None:
        raise InvalidArgument("gates", "a wire is read after it was let go")
    return wire


# Evaluation of circuits in the clear: a reference for tests, simulations and plans.
Bools = NDArray[np.bool_]
_WORD = 63


class CleartextMachine:
    """Runs gates on arrays of bits, one for each instance."""

    def xor(self, left: Bools, right: Bools) -> Bools:
        return left ^ right

    def conjunction(self, left: Bools, right: Bools) -> Bools:
        return left & right

    def negation(self, wire: Bools) -> Bools:
        return ~wire

    def zeros(self, like: Bools) -> Bools:
        return np.zeros_like(like)


def split_into_bits(values: ArrayLike, width: int) -> list[Bools]:
    """The bits of whole numbers, the lowest first.

    Raises:
        ValueError: a number is negative or has more bits. It is not shown.
    """
    given = np.asarray(values)
    good = given.dtype.kind in "bui" and not bool(np.any(given < 0))
    numbers = given.astype(np.uint64) if good else np.zeros(1, np.uint64)
    if not good or (width < 64 and bool(np.any(numbers >> np.uint64(width)))):
        raise InvalidArgument("values", f"all must be whole numbers below 2**{width}")
    return [(numbers >> np.uint64(place) & np.uint64(1)).astype(np.bool_) for place in range(width)]


def join_bits(wires: Sequence[Bools], number: CircuitOutput) -> NDArray[Any]:
    """The integers that an output's wires hold: Python's own where 64 bits are too few."""
    kind: Any = np.int64 if len(wires) <= _WORD else object
    weights = [1 << place for place in range(len(wires))]
    if number.low < 0:
        weights[-1] = -weights[-1]
    parts = [wire.astype(kind) * weight for wire, weight in zip(wires, weights, strict=True)]
    return np.asarray(sum(parts)) if parts else np.zeros(0, np.int64)


def evaluate_circuit(circuit: Circuit, *values: ArrayLike) -> tuple[NDArray[Any], ...]:
    """Evaluate a circuit in the clear on arrays of whole numbers, one array for each input: one for each output.

    Raises:
        ValueError: there are not as many as inputs, or they have other lengths, or more bits.

    >>> from dpcurves_parties.crypto.circuits import trace_circuit
    >>> evaluate_circuit(trace_circuit(lambda x, y: abs(x - y), 8, 8), [3, 250], [7, 1])
    (array([  4, 249]),)
    """
    if len(values) != len(circuit.inputs):
        raise InvalidArgument("values", f"{len(circuit.inputs)} inputs are needed, got {len(values)}")
    arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(each, dtype=np.uint64)) for each in values))
    given = [wire for each, width in zip(arrays, circuit.inputs, strict=True) for wire in split_into_bits(each, width)]
    return decode_outputs(circuit, circuit.run(CleartextMachine(), given))


def decode_outputs(circuit: Circuit, wires: Sequence[Bools]) -> tuple[NDArray[Any], ...]:
    """The integers of all outputs, from their wires."""
    found, start = [], 0
    for number in circuit.outputs:
        found.append(join_bits(wires[start : start + len(number.wires)], number))
        start += len(number.wires)
    return tuple(found)


Words = TypeVar("Words", bound=NDArray[Any])
LEAST = 3 * 1024
"""Bits of one weight that are worth a gate before the end."""


def total_offset(number: CircuitOutput, count: int) -> int:
    """Offset that is added to the sum of so many instances, so that it is never negative."""
    return count << (len(number.wires) - 1) if number.low < 0 else 0


def total_width(number: CircuitOutput, count: int) -> int:
    """Bits of the sum of so many instances, with `total_offset`."""
    return (count * ((1 << len(number.wires)) - 1)).bit_length()


@dataclass(slots=True)
class CarrySaveAdder(Generic[Words]):
    """Carry-save adder of a circuit's output over all instances: full adders of three bits of one weight, one AND each.

    Bits of one weight lie on one pile. Three of them become one of their weight and one of twice that, in a batch of
    all that are there; so n bits take less than n ANDs.

    Attributes:
        machine: Machine that evaluates the gates.
        summand: Type of the numbers that are added.
        count: Number of instances added.
    """

    machine: Machine[Words]
    summand: CircuitOutput
    count: int = 0
    _columns: list[list[Words]] = field(default_factory=list)

    @property
    def offset(self) -> int:
        """Excess of the total's wires over the total: the sum of the offsets of signed numbers."""
        return total_offset(self.summand, self.count)

    @property
    def width(self) -> int:
        """Bits of the total."""
        return total_width(self.summand, self.count)

    def add(self, wires: Sequence[Words]) -> None:
        """Add the instances of one chunk.

        Raises:
            ValueError: there are not as many wires as the number has.
        """
        if len(wires) != len(self.summand.wires):
            raise InvalidArgument("wires", f"{len(self.summand.wires)} are needed, got {len(wires)}")
        for weight, wire in enumerate(wires):
            turned = self.summand.low < 0 and weight == len(wires) - 1
            self._add_to_column(weight, self.machine.negation(wire) if turned else wire)
        self.count += len(wires[0]) if wires else 0
        self._reduce_columns(LEAST)

    def total(self) -> list[Words]:
        """The bits of the sum, plus `offset`, of all that were added: one instance of each.

        Raises:
            ValueError: nothing was added.
        """
        if self.count < 1:
            raise InvalidArgument("numbers", "at least one is needed")
        self._reduce_columns(3)
        return [self._finish_column(weight) for weight in range(self.width)]

    def _add_to_column(self, weight: int, wire: Words) -> None:
        while len(self._columns) <= weight:
            self._columns.append([])
        self._columns[weight].append(wire)

    def _reduce_columns(self, least: int) -> None:
        """Apply full adders from the lowest weight on, till fewer than `least` lie on each pile."""
        weight = 0
        while weight < len(self._columns):
            while sum(map(len, self._columns[weight])) >= least:
                self._apply_full_adders(weight)
            weight += 1

    def _apply_full_adders(self, weight: int) -> None:
        pile: Any = np.concatenate(self._columns[weight])
        third = len(pile) // 3
        a, b, c = (pile[place * third : (place + 1) * third] for place in range(3))
        first, second = self.machine.xor(a, c), self.machine.xor(b, c)
        self._columns[weight] = [pile[3 * third :], self.machine.xor(first, b)]
        self._add_to_column(weight + 1, self.machine.xor(self.machine.conjunction(first, second), c))

    def _finish_column(self, weight: int) -> Words:
        """The sum of the last two bits of a weight, or the last one; their carry goes on."""
        pile: Any = np.concatenate(self._columns[weight])
        while len(pile) > 1:
            if len(pile) > 2:
                self._apply_full_adders(weight)
            else:
                first, second = pile[:1], pile[1:]
                self._columns[weight] = [self.machine.xor(first, second)]
                self._add_to_column(weight + 1, self.machine.conjunction(first, second))
            pile = np.concatenate(self._columns[weight])
        found: Words = pile
        return found
