"""Circuit builder: constants cost no gates, and common subexpressions are shared."""

from __future__ import annotations

from collections.abc import Sequence

from .circuit import Circuit, Gate, Kind, Number

ZERO, ONE = -1, -2
"""Wires that are known when a circuit is made. They are in no gate."""


class Wiring:
    """Circuit builder, wire by wire.

    Attributes:
        inputs: Bits of each input so far.
    """

    def __init__(self, inputs: Sequence[int]) -> None:
        self.inputs = tuple(inputs)
        self._first = sum(inputs)
        self._gates: list[Gate] = []
        self._made: dict[Gate, int] = {}
        self._opposite = {ZERO: ONE, ONE: ZERO}

    def input(self, number: int) -> tuple[int, ...]:
        """The wires of one input."""
        start = sum(self.inputs[:number])
        return tuple(range(start, start + self.inputs[number]))

    def xor(self, left: int, right: int) -> int:
        if left == right:
            return ZERO
        if self._opposite.get(left) == right:
            return ONE
        for one, other in ((left, right), (right, left)):
            if one in (ZERO, ONE):
                return other if one == ZERO else self.negation(other)
        return self._gate(Kind.XOR, *sorted((left, right)))

    def conjunction(self, left: int, right: int) -> int:
        """Logical AND."""
        if self._opposite.get(left) == right or ZERO in (left, right):
            return ZERO
        if right in (left, ONE):
            return left
        return right if left == ONE else self._gate(Kind.AND, *sorted((left, right)))

    def disjunction(self, left: int, right: int) -> int:
        """Logical OR."""
        return self.negation(self.conjunction(self.negation(left), self.negation(right)))

    def negation(self, wire: int) -> int:
        if wire not in self._opposite:
            opposite = self._gate(Kind.NOT, wire, wire)
            self._opposite |= {wire: opposite, opposite: wire}
        return self._opposite[wire]

    def choice(self, condition: int, one: int, other: int) -> int:
        """Multiplexer: the one where the condition is 1, else the other: one AND."""
        return self.xor(other, self.conjunction(condition, self.xor(one, other)))

    def carry(self, left: int, right: int, carry: int) -> int:
        """Carry bit of a full adder of three bits: a single AND."""
        return self.xor(carry, self.conjunction(self.xor(left, carry), self.xor(right, carry)))

    def circuit(self, outputs: Sequence[Number]) -> Circuit:
        """The circuit of these outputs, without the gates that none of them needs."""
        wanted = {wire for number in outputs for wire in number.wires}
        for place in reversed(range(len(self._gates))):
            if self._first + place in wanted:
                wanted |= {self._gates[place].left, self._gates[place].right}
        return self._renumbered(outputs, wanted)

    def _renumbered(self, outputs: Sequence[Number], wanted: set[int]) -> Circuit:
        places, gates = {wire: wire for wire in range(self._first)}, []
        if wanted & {ZERO, ONE}:
            places[ZERO] = self._first
            gates.append(Gate(Kind.ZERO, 0, 0))
        if ONE in wanted:
            places[ONE] = self._first + 1
            gates.append(Gate(Kind.NOT, self._first, self._first))
        for wire, gate in enumerate(self._gates, self._first):
            if wire in wanted:
                places[wire] = self._first + len(gates)
                gates.append(Gate(gate.kind, places[gate.left], places[gate.right]))
        moved = (Number(tuple(places[wire] for wire in each.wires), each.low, each.high) for each in outputs)
        return Circuit(self.inputs, tuple(gates), tuple(moved))

    def _gate(self, kind: Kind, left: int, right: int) -> int:
        gate = Gate(kind, left, right)
        if gate not in self._made:
            self._made[gate] = self._first + len(self._gates)
            self._gates.append(gate)
        return self._made[gate]
