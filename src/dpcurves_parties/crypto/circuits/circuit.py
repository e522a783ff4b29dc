"""Boolean circuits, and the interface of machines that evaluate them: in the clear, or on garbled labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, Protocol, TypeVar

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
