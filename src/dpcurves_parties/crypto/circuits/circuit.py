"""Boolean circuits for secure computation: gates, evaluation in the clear, and sums over a batch (carry-save adders).

A circuit is a list of gates. Wires are numbered: the bits of all inputs first, then the output of each gate.

    Circuit             gates XOR, AND, NOT, ZERO; the cost of a circuit is its number of AND gates
    evaluate_circuit    circuit and arrays of integers -> arrays of outputs, in the clear, for tests and simulations
    Machine             interface that evaluates a gate on wires with one bit per instance: `CleartextMachine`, and the
                        garbler and evaluator of `crypto.garbling`
    CarrySaveAdder      sums an output over instances by full adders with one AND each: n bits take fewer than n ANDs

An output is an integer of some wires, lowest bit first, in two's complement if it may be negative.

Reference: Kolesnikov, Sadeghi and Schneider 2009 (adders with one AND per bit).

>>> gates = Gate(GateKind.XOR, 0, 1), Gate(GateKind.AND, 0, 1)
>>> half_adder = Circuit((1, 1), gates, (CircuitOutput((2, 3), low=0, high=2),))
>>> evaluate_circuit(half_adder, [0, 1, 1], [0, 0, 1]), half_adder.and_count
((array([0, 1, 2]),), 1)
"""

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
    """A gate, whose output wire is numbered after the inputs and earlier gates.

    Attributes:
        kind: Function of the gate.
        left: Number of an input wire.
        right: Number of the other one. NOT has its input twice; the inputs of ZERO do not matter.
    """

    kind: GateKind
    left: int
    right: int


class CircuitOutput(NamedTuple):
    """An output of a circuit: an integer.

    Attributes:
        wires: Numbers of its wires, lowest bit first.
        low: Smallest possible integer; two's complement if it is negative.
        high: Largest possible integer.
    """

    wires: tuple[int, ...]
    low: int
    high: int


Wire = TypeVar("Wire")


class Machine(Protocol[Wire]):
    """Interface of machines that evaluate gates. A wire holds one bit for each instance of a batch."""

    def xor(self, left: Wire, right: Wire) -> Wire:
        """Return a wire with the XOR of both wires' bits, instance by instance.

        Args:
            left: Wire with a bit for each instance.
            right: Wire with a bit for each instance.
        """
        ...

    def conjunction(self, left: Wire, right: Wire) -> Wire:
        """Return a wire with the AND of both wires' bits, instance by instance.

        Args:
            left: Wire with a bit for each instance.
            right: Wire with a bit for each instance.
        """
        ...

    def negation(self, wire: Wire) -> Wire:
        """Return the wire of the opposite bit of each instance."""
        ...

    def zeros(self, like: Wire) -> Wire:
        """Return a wire that is publicly 0 in each instance, with as many instances as `like`."""
        ...


@dataclass(frozen=True, slots=True)
class Circuit:
    """Boolean circuit: gates in topological order.

    Attributes:
        inputs: Bits of each input; their wires come first, in order.
        gates: Gates in the order of their wires.
        outputs: Numbers that are output.

    Raises:
        ValueError: there is no input bit, or a gate or an output has a wire that comes later or does not exist.
    """

    inputs: tuple[int, ...]
    gates: tuple[Gate, ...]
    outputs: tuple[CircuitOutput, ...]
    _last_use: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if sum(self.inputs) < 1 or min(self.inputs) < 0:
            raise InvalidArgument("inputs", "must have at least one bit, and no negative width, as in (8, 8)")
        last_use = [-1] * (sum(self.inputs) + len(self.gates))
        input_count = sum(self.inputs)
        for index, gate in enumerate(self.gates):
            if gate.kind != GateKind.ZERO and not (
                0 <= gate.left < input_count + index and 0 <= gate.right < input_count + index
            ):
                raise InvalidArgument(
                    "gates",
                    f"gate {index} must read wires of inputs or earlier gates; put gates in the order of their use",
                )
            last_use[gate.left] = last_use[gate.right] = index
        for wire in self.output_wires:
            if not 0 <= wire < len(last_use):
                raise InvalidArgument("outputs", "must be wires of inputs or gates, numbered from 0 in their order")
            last_use[wire] = len(self.gates)
        object.__setattr__(self, "_last_use", tuple(last_use))

    @property
    def output_wires(self) -> tuple[int, ...]:
        """Indices of the wires of all output numbers, in the order of the outputs; within a number, the lowest bit
        first.
        """
        return tuple(wire for number in self.outputs for wire in number.wires)

    @property
    def and_count(self) -> int:
        """Number of AND gates, which is the cost of the circuit, because other gates are free."""
        return sum(gate.kind == GateKind.AND for gate in self.gates)

    def run(self, machine: Machine[Wire], inputs: Sequence[Wire]) -> list[Wire]:
        """Evaluate the circuit gate by gate. A wire is freed after its last use.

        Args:
            machine: Evaluates the gates.
            inputs: One wire for each input bit, in order.

        Returns:
            The wires of all outputs, in order.

        Raises:
            ValueError: the number of input wires is wrong.
        """
        if len(inputs) != sum(self.inputs):
            raise InvalidArgument(
                "inputs", f"must be {sum(self.inputs)} wires, one for each input bit, got {len(inputs)}"
            )
        wires: list[Wire | None] = [*inputs, *([None] * len(self.gates))]
        for index, gate in enumerate(self.gates, len(inputs)):
            wires[index] = _evaluate_gate(machine, gate, wires, inputs[0])
            for used_wire in {gate.left, gate.right}:
                if self._last_use[used_wire] == index - len(inputs):
                    wires[used_wire] = None
        return [_require_wire(wires[wire]) for wire in self.output_wires]


def _evaluate_gate(machine: Machine[Wire], gate: Gate, wires: Sequence[Wire | None], like: Wire) -> Wire:
    """Evaluate one gate of a circuit: return its output wire in the given machine.

    Args:
        machine: Evaluates the gate.
        gate: The gate.
        wires: All wires by number; None if not computed yet, or freed.
        like: Any wire, which gives the number of instances.

    Raises:
        ValueError: an input wire was already freed.
    """
    if gate.kind == GateKind.ZERO:
        return machine.zeros(like)
    left = _require_wire(wires[gate.left])
    right = _require_wire(wires[gate.right])
    if gate.kind == GateKind.XOR:
        return machine.xor(left, right)
    return machine.conjunction(left, right) if gate.kind == GateKind.AND else machine.negation(left)


def _require_wire(wire: Wire | None) -> Wire:
    """Return a circuit's wire, after checking that the evaluation has not freed it.

    Raises:
        ValueError: the wire was freed after its last use, so the circuit's gates are inconsistent.
    """
    if wire is None:
        raise InvalidArgument(
            "gates", "must read no wire after its last use: give each circuit its own last uses, as trace_circuit does"
        )
    return wire


# Evaluation of circuits in the clear: a reference for tests, simulations and plans.
Bools = NDArray[np.bool_]


class CleartextMachine:
    """Runs gates on arrays of bits, one bit per instance."""

    def xor(self, left: Bools, right: Bools) -> Bools:
        """Return the XOR of two wires, which are arrays of bits in this machine without encryption.

        Args:
            left: Bits, of shape ``(instances,)``.
            right: Bits, of shape ``(instances,)``.
        """
        return left ^ right

    def conjunction(self, left: Bools, right: Bools) -> Bools:
        """Return the AND of two wires, which are arrays of bits in this machine without encryption.

        Args:
            left: Bits, of shape ``(instances,)``.
            right: Bits, of shape ``(instances,)``.
        """
        return left & right

    def negation(self, wire: Bools) -> Bools:
        """Return the negation of a wire, which is an array of bits in this machine without encryption.

        Args:
            wire: Bits, of shape ``(instances,)``.
        """
        return ~wire

    def zeros(self, like: Bools) -> Bools:
        """Return an array of false bits in the shape of `like`."""
        return np.zeros_like(like)


def split_into_bits(values: ArrayLike, width: int) -> list[Bools]:
    """Split unsigned integers into arrays of bits, one array per bit position, as inputs of a circuit.

    Args:
        values: Integers from 0 to below ``2**width``, of any shape.
        width: Number of bits, at most 64.

    Returns:
        `width` arrays of the same shape, lowest bit first.

    Raises:
        ValueError: a number is negative or too large. The message does not show it.
    """
    array = np.asarray(values)
    is_unsigned = array.dtype.kind in "bui" and not bool(np.any(array < 0))
    numbers = array.astype(np.uint64) if is_unsigned else np.zeros(1, np.uint64)
    if not is_unsigned or (width < 64 and bool(np.any(numbers >> np.uint64(width)))):
        raise InvalidArgument("values", f"must be whole numbers from 0 to below 2**{width}")
    return [(numbers >> np.uint64(position) & np.uint64(1)).astype(np.bool_) for position in range(width)]


def join_bits(wires: Sequence[Bools], number: CircuitOutput) -> NDArray[Any]:
    """Join an output's wires to integers: the inverse of `split_into_bits`, for signed numbers as well.

    Args:
        wires: Bits of the output, lowest first, each (instances,).
        number: The output, whose range says whether it is signed.

    Returns:
        Integers of 64 bits, (instances,); Python integers if there are more than 63 wires.
    """
    kind: Any = np.int64 if len(wires) <= 63 else object  # bits of a nonnegative 64-bit integer
    weights = [1 << position for position in range(len(wires))]
    if number.low < 0:
        weights[-1] = -weights[-1]
    summands = [wire.astype(kind) * weight for wire, weight in zip(wires, weights, strict=True)]
    return np.asarray(sum(summands)) if summands else np.zeros(0, np.int64)


def evaluate_circuit(circuit: Circuit, *values: ArrayLike) -> tuple[NDArray[Any], ...]:
    """Evaluate a circuit in the clear on arrays of integers.

    Args:
        circuit: The circuit.
        *values: One array per input, with an integer for each instance.

    Returns:
        One array of integers per output.

    Raises:
        ValueError: the number of arrays is wrong, their lengths differ, or a number has too many bits.

    >>> from dpcurves_parties.crypto.circuits import trace_circuit
    >>> evaluate_circuit(trace_circuit(lambda x, y: abs(x - y), 8, 8), [3, 250], [7, 1])
    (array([  4, 249]),)
    """
    if len(values) != len(circuit.inputs):
        raise InvalidArgument("values", f"must be {len(circuit.inputs)} arrays, one for each input, got {len(values)}")
    arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(array, dtype=np.uint64)) for array in values))
    input_wires = []
    for array, width in zip(arrays, circuit.inputs, strict=True):
        input_wires.extend(split_into_bits(array, width))
    return decode_outputs(circuit, circuit.run(CleartextMachine(), input_wires))


def decode_outputs(circuit: Circuit, wires: Sequence[Bools]) -> tuple[NDArray[Any], ...]:
    """Return the integers of each output of a circuit, from the bits of its wires.

    Args:
        circuit: The circuit.
        wires: Bits of all output wires, in order, each (instances,).

    Returns:
        One array (instances,) for each output.
    """
    integers = []
    start = 0
    for number in circuit.outputs:
        integers.append(join_bits(wires[start : start + len(number.wires)], number))
        start += len(number.wires)
    return tuple(integers)


Words = TypeVar("Words", bound=NDArray[Any])


def total_offset(number: CircuitOutput, count: int) -> int:
    """Return the number that is added to a sum over instances so that it cannot be negative.

    Args:
        number: The output that is summed.
        count: Number of instances.
    """
    return count << (len(number.wires) - 1) if number.low < 0 else 0


def total_width(number: CircuitOutput, count: int) -> int:
    """Return the number of bits of the sum over instances, including `total_offset`.

    Args:
        number: The output that is summed.
        count: Number of instances.
    """
    return (count * ((1 << len(number.wires)) - 1)).bit_length()


@dataclass(slots=True)
class CarrySaveAdder(Generic[Words]):
    """Carry-save adder: sums a circuit's output over all instances, by full adders with one AND each.

    Bits of one weight form a column. A full adder turns three of them into one of the same weight and one of twice the
    weight. All available triples of a column are added in one batch, so n bits take fewer than n ANDs.

    Attributes:
        machine: Machine that evaluates the gates.
        summand: Output that is summed.
        count: Number of instances added.
    """

    machine: Machine[Words]
    summand: CircuitOutput
    count: int = 0
    _columns: list[list[Words]] = field(default_factory=list)

    @property
    def offset(self) -> int:
        """Number that `total` adds to the sum, so that it is not negative; 0 if the output is unsigned."""
        return total_offset(self.summand, self.count)

    @property
    def width(self) -> int:
        """Number of bits of the sum that `total` returns."""
        return total_width(self.summand, self.count)

    def add(self, wires: Sequence[Words]) -> None:
        """Add the numbers of one chunk of instances to the sum.

        Args:
            wires: Wires of their bits, lowest first.

        Raises:
            ValueError: the number of wires is wrong.
        """
        if len(wires) != len(self.summand.wires):
            raise InvalidArgument(
                "wires", f"must be {len(self.summand.wires)}, one for each bit of the summand, got {len(wires)}"
            )
        for weight, wire in enumerate(wires):
            turned = self.summand.low < 0 and weight == len(wires) - 1
            self._add_to_column(weight, self.machine.negation(wire) if turned else wire)
        self.count += len(wires[0]) if wires else 0
        # 3 * 1024: bits in a column from which full adders run after a chunk; all others run at the end, in larger
        # batches
        self._reduce_columns(3 * 1024)

    def total(self) -> list[Words]:
        """Return the bits of the sum of all instances plus `offset`, lowest bit first, as wires with one instance each.

        Raises:
            ValueError: nothing was added.
        """
        if self.count < 1:
            raise InvalidArgument("numbers", "must be at least one; call add first")
        self._reduce_columns(3)
        return [self._finish_column(weight) for weight in range(self.width)]

    def _add_to_column(self, weight: int, wire: Words) -> None:
        """Append bits of equal weight to their column of the carry-save adder.

        Args:
            weight: Exponent: each bit is worth ``2**weight``.
            wire: The bits.
        """
        while len(self._columns) <= weight:
            self._columns.append([])
        self._columns[weight].append(wire)

    def _reduce_columns(self, target_height: int) -> None:
        """Apply full adders, lowest weight first, until no column is too high.

        Args:
            target_height: Number of bits below which a column is left alone, at least 3.
        """
        weight = 0
        while weight < len(self._columns):
            while sum(map(len, self._columns[weight])) >= target_height:
                self._apply_full_adders(weight)
            weight += 1

    def _apply_full_adders(self, weight: int) -> None:
        """Replace triples of bits of a column by one bit of the same weight and one of the next weight.

        Each triple costs one AND. One or two bits may be left over.

        Args:
            weight: Number of the column: its bits are worth ``2**weight``.
        """
        pile: Any = np.concatenate(self._columns[weight])
        third = len(pile) // 3
        a, b, c = (pile[third_index * third : (third_index + 1) * third] for third_index in range(3))
        first = self.machine.xor(a, c)
        second = self.machine.xor(b, c)
        self._columns[weight] = [pile[3 * third :], self.machine.xor(first, b)]
        self._add_to_column(weight + 1, self.machine.xor(self.machine.conjunction(first, second), c))

    def _finish_column(self, weight: int) -> Words:
        """Add up the last bits of a column; return the one that remains, and move carries to the next column.

        Args:
            weight: Number of the column, whose lower columns are finished.
        """
        last_bits: Any = np.concatenate(self._columns[weight])
        while len(last_bits) > 1:
            if len(last_bits) > 2:
                self._apply_full_adders(weight)
            else:
                first, second = last_bits[:1], last_bits[1:]
                self._columns[weight] = [self.machine.xor(first, second)]
                self._add_to_column(weight + 1, self.machine.conjunction(first, second))
            last_bits = np.concatenate(self._columns[weight])
        bits: Words = last_bits
        return bits
