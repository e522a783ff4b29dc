"""Whole numbers whose bits are wires, the circuit builder, tracing of Python functions, and Bristol Fashion text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from dpcurves.arguments import InvalidArgument, WrongArgumentType, describe_value, require_integer

from .circuit import Circuit, CircuitOutput, Gate, GateKind

# Circuit builder: constants cost no gates, and common subexpressions are shared.
ZERO, ONE = -1, -2
"""Wires that are known when a circuit is made. They are in no gate."""


class CircuitBuilder:
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

    def input_wires(self, index: int) -> tuple[int, ...]:
        """The wires of one input."""
        start = sum(self.inputs[:index])
        return tuple(range(start, start + self.inputs[index]))

    def xor(self, left: int, right: int) -> int:
        if left == right:
            return ZERO
        if self._opposite.get(left) == right:
            return ONE
        for one, other in ((left, right), (right, left)):
            if one in (ZERO, ONE):
                return other if one == ZERO else self.negation(other)
        return self._add_gate(GateKind.XOR, *sorted((left, right)))

    def conjunction(self, left: int, right: int) -> int:
        """Logical AND."""
        if self._opposite.get(left) == right or ZERO in (left, right):
            return ZERO
        if right in (left, ONE):
            return left
        return right if left == ONE else self._add_gate(GateKind.AND, *sorted((left, right)))

    def disjunction(self, left: int, right: int) -> int:
        """Logical OR."""
        return self.negation(self.conjunction(self.negation(left), self.negation(right)))

    def negation(self, wire: int) -> int:
        if wire not in self._opposite:
            opposite = self._add_gate(GateKind.NOT, wire, wire)
            self._opposite |= {wire: opposite, opposite: wire}
        return self._opposite[wire]

    def multiplex(self, condition: int, one: int, other: int) -> int:
        """Multiplexer: the one where the condition is 1, else the other: one AND."""
        return self.xor(other, self.conjunction(condition, self.xor(one, other)))

    def carry(self, left: int, right: int, carry: int) -> int:
        """Carry bit of a full adder of three bits: a single AND."""
        return self.xor(carry, self.conjunction(self.xor(left, carry), self.xor(right, carry)))

    def build_circuit(self, outputs: Sequence[CircuitOutput]) -> Circuit:
        """The circuit of these outputs, without the gates that none of them needs."""
        wanted = {wire for number in outputs for wire in number.wires}
        for place in reversed(range(len(self._gates))):
            if self._first + place in wanted:
                wanted |= {self._gates[place].left, self._gates[place].right}
        return self._renumber_wires(outputs, wanted)

    def _renumber_wires(self, outputs: Sequence[CircuitOutput], wanted: set[int]) -> Circuit:
        places, gates = {wire: wire for wire in range(self._first)}, []
        if wanted & {ZERO, ONE}:
            places[ZERO] = self._first
            gates.append(Gate(GateKind.ZERO, 0, 0))
        if ONE in wanted:
            places[ONE] = self._first + 1
            gates.append(Gate(GateKind.NOT, self._first, self._first))
        for wire, gate in enumerate(self._gates, self._first):
            if wire in wanted:
                places[wire] = self._first + len(gates)
                gates.append(Gate(gate.kind, places[gate.left], places[gate.right]))
        moved = (CircuitOutput(tuple(places[wire] for wire in each.wires), each.low, each.high) for each in outputs)
        return Circuit(self.inputs, tuple(gates), tuple(moved))

    def _add_gate(self, kind: GateKind, left: int, right: int) -> int:
        gate = Gate(kind, left, right)
        if gate not in self._made:
            self._made[gate] = self._first + len(self._gates)
            self._gates.append(gate)
        return self._made[gate]


def bit_width(low: int, high: int) -> int:
    """Bits of the numbers from `low` to `high`: of a two's complement, where some are negative.

    >>> bit_width(0, 255), bit_width(-1, 1), bit_width(-128, 127)
    (8, 2, 8)
    """
    return high.bit_length() if low >= 0 else 1 + max(max(high, 0).bit_length(), (~low).bit_length())


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicInteger:
    """Symbolic whole number, of which only the range is known while the circuit is made. No result is ever too large.

    Numbers are combined by ``+ - * < <= > >= == != & | ^ ~ abs``, with each other and with Python's integers, and by
    `mux`, `sign`, `total` and the built-in `sum`. There is no truth value: no `if`, no `min`, no `max`.

    Attributes:
        builder: Builder of the circuit that has its wires.
        wires: The lowest bit first; a two's complement where `low` is negative.
        low: No value is below it.
        high: No value is above it.
    """

    builder: CircuitBuilder
    wires: tuple[int, ...]
    low: int
    high: int

    @classmethod
    def from_input(cls, builder: CircuitBuilder, index: int) -> SymbolicInteger:
        """An input: a number without a sign."""
        wires = builder.input_wires(index)
        return cls(builder, wires, 0, (1 << len(wires)) - 1)

    @classmethod
    def from_bits(cls, bits: Sequence[SymbolicInteger]) -> SymbolicInteger:
        """The number without a sign whose bits these are, the lowest first.

        Raises:
            ValueError: there is none.
        """
        if not bits:
            raise InvalidArgument("bits", "at least one is needed")
        wires = tuple(place.wires[0] if place.wires else ZERO for place in bits)
        return cls(bits[0].builder, wires, 0, (1 << len(wires)) - 1)

    def to_bits(self, size: int | None = None) -> list[SymbolicInteger]:
        """The bits, the lowest first, each a number of its own; of a negative one, those of its two's complement.

        Args:
            size: Number of wires; of a number that does not fit, the lowest ones.
        """
        return [self._bit(wire) for wire in self._extend_wires(len(self.wires) if size is None else size)]

    @property
    def output(self) -> CircuitOutput:
        """Description of this number as a circuit's output: its wires and its range."""
        return CircuitOutput(self.wires, self.low, self.high)

    def __add__(self, other: SymbolicInteger | int) -> SymbolicInteger:
        return self._add_or_subtract(self._coerce_operand(other), subtract=ZERO)

    __radd__ = __add__

    def __sub__(self, other: SymbolicInteger | int) -> SymbolicInteger:
        return self._add_or_subtract(self._coerce_operand(other), subtract=ONE)

    def __rsub__(self, other: int) -> SymbolicInteger:
        return self._coerce_operand(other) - self

    def __neg__(self) -> SymbolicInteger:
        return 0 - self

    def __mul__(self, other: SymbolicInteger | int) -> SymbolicInteger:
        one, many = sorted((self, self._coerce_operand(other)), key=lambda each: (each.high - each.low, each.low))
        if one.low >= -1 and one.high <= 1:
            return one._multiply_ternary(many)
        ends = [a * b for a in (one.low, one.high) for b in (many.low, many.high)]
        squared = one.wires == many.wires and (one.low < 0) == (many.low < 0)  # else the same wires are other numbers
        low = max(0, min(ends)) if squared else min(ends)
        found = total(one._partial_products(many))
        return self._with_range(found._extend_wires(bit_width(low, max(ends))), low, max(ends))

    __rmul__ = __mul__

    def __lt__(self, other: SymbolicInteger | int) -> SymbolicInteger:
        """1 where it is less; one AND a bit."""
        right = self._coerce_operand(other)
        size = bit_width(min(self.low, right.low), max(self.high, right.high))
        signed = min(self.low, right.low) < 0
        first, second = list(self._extend_wires(size)), list(right._extend_wires(size))
        if signed:  # numbers with a sign are in the order of those without, once their top bits are turned
            first[-1], second[-1] = self.builder.negation(first[-1]), self.builder.negation(second[-1])
        carry = ONE
        for a, b in zip(first, second, strict=True):
            carry = self.builder.carry(a, self.builder.negation(b), carry)
        return self._bit(self.builder.negation(carry))

    def __gt__(self, other: SymbolicInteger | int) -> SymbolicInteger:
        return self._coerce_operand(other) < self

    def __le__(self, other: SymbolicInteger | int) -> SymbolicInteger:
        return ~(self > other)

    def __ge__(self, other: SymbolicInteger | int) -> SymbolicInteger:
        return ~(self < other)

    def __eq__(self, other: SymbolicInteger | int) -> SymbolicInteger:  # type: ignore[override]
        """1 where they are equal; one AND less than bits."""
        right = self._coerce_operand(other)
        size = bit_width(min(self.low, right.low), max(self.high, right.high))
        pairs = zip(self._extend_wires(size), right._extend_wires(size), strict=True)
        return self._bit(self._and_all_wires([self.builder.negation(self.builder.xor(a, b)) for a, b in pairs]))

    def __ne__(self, other: SymbolicInteger | int) -> SymbolicInteger:  # type: ignore[override]
        return ~(self == other)

    def __and__(self, other: SymbolicInteger | int) -> SymbolicInteger:
        return self._apply_bitwise(other, self.builder.conjunction)

    def __or__(self, other: SymbolicInteger | int) -> SymbolicInteger:
        return self._apply_bitwise(other, self.builder.disjunction)

    def __xor__(self, other: SymbolicInteger | int) -> SymbolicInteger:
        return self._apply_bitwise(other, self.builder.xor)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> SymbolicInteger:
        """Complement of all bits: for a single bit b, 1 - b."""
        top = (1 << len(self._as_unsigned.wires)) - 1
        return self._with_range(map(self.builder.negation, self.wires), top - self.high, top - self.low)

    def __abs__(self) -> SymbolicInteger:
        """The number without its sign."""
        if self.low >= 0:
            return self
        high = max(-self.low, self.high)
        return self._negate_where(self.wires[-1], 0, high)

    def __bool__(self) -> NoReturn:
        raise WrongArgumentType("kernel", "a number in a circuit is neither true nor false while it is made: write mux")

    def __hash__(self) -> int:
        return hash((id(self.builder), self.wires))

    @property
    def _as_unsigned(self) -> SymbolicInteger:
        if self.low < 0:
            raise InvalidArgument("kernel", f"bit by bit, a number from 0 on is needed, got one from {self.low} on")
        return self

    def _coerce_operand(self, other: SymbolicInteger | int) -> SymbolicInteger:
        if isinstance(other, SymbolicInteger):
            if other.builder is not self.builder:
                raise InvalidArgument("kernel", "numbers of two circuits do not go together")
            return other
        return constant(self.builder, other)

    def _bit(self, wire: int) -> SymbolicInteger:
        return SymbolicInteger(self.builder, (wire,), 0, 1)

    def _extend_wires(self, size: int) -> tuple[int, ...]:
        """The wires of the same number with so many bits: fewer only where its range allows it."""
        top = self.wires[-1] if self.low < 0 else ZERO
        return (*self.wires, *([top] * (size - len(self.wires))))[:size]

    def _with_range(self, wires: Iterable[int], low: int, high: int) -> SymbolicInteger:
        return SymbolicInteger(self.builder, tuple(wires)[: bit_width(low, high)], low, high)

    def _add_or_subtract(self, right: SymbolicInteger, subtract: int) -> SymbolicInteger:
        ends = (-right.high, -right.low) if subtract == ONE else (right.low, right.high)
        low, high = self.low + ends[0], self.high + ends[1]
        size, carry, wires = bit_width(low, high), subtract, []
        turned = [self.builder.xor(wire, subtract) for wire in right._extend_wires(size)]
        for a, b in zip(self._extend_wires(size), turned, strict=True):
            wires.append(self.builder.xor(self.builder.xor(a, b), carry))
            carry = self.builder.carry(a, b, carry)
        return SymbolicInteger(self.builder, tuple(wires), low, high)

    def _negate_where(self, condition: int, low: int, high: int) -> SymbolicInteger:
        """The number, or minus it where the condition is 1: one AND a bit but for the highest."""
        carry, wires = condition, []
        for wire in self._extend_wires(bit_width(low, high)):
            turned = self.builder.xor(wire, condition)
            wires.append(self.builder.xor(turned, carry))
            carry = self.builder.conjunction(turned, carry)
        return SymbolicInteger(self.builder, tuple(wires), low, high)

    def _multiply_ternary(self, many: SymbolicInteger) -> SymbolicInteger:
        """The product, where this number is -1, 0 or 1."""
        ends = [one * other for one in (self.low, self.high) for other in (many.low, many.high)]
        low, high = min(0, *ends), max(0, *ends)
        if (self.low, self.high) == (many.low, many.high) == (-1, 1):
            # Each has two bits: whether it is odd, and whether it is negative.
            odd = self.builder.conjunction(self.wires[0], many.wires[0])
            negative = self.builder.conjunction(odd, self.builder.xor(self.wires[1], many.wires[1]))
            return SymbolicInteger(self.builder, (odd, negative), -1, 1)
        odd = self.wires[0] if self.wires else ZERO
        kept = tuple(self.builder.conjunction(odd, wire) for wire in many.wires)
        kept_number = SymbolicInteger(self.builder, kept, min(0, many.low), max(0, many.high))
        return kept_number if self.low >= 0 else kept_number._negate_where(self.wires[-1], low, high)

    def _partial_products(self, many: SymbolicInteger) -> Iterator[SymbolicInteger]:
        for place, wire in enumerate(self.wires):
            part = self._bit(wire)._multiply_ternary(many)
            weight = -(1 << place) if self.low < 0 and place == len(self.wires) - 1 else 1 << place
            yield -part._shift_left(place) if weight < 0 else part._shift_left(place)

    def _shift_left(self, places: int) -> SymbolicInteger:
        """The number times a power of two."""
        return SymbolicInteger(self.builder, (*([ZERO] * places), *self.wires), self.low << places, self.high << places)

    def _apply_bitwise(self, other: SymbolicInteger | int, gate: Callable[[int, int], int]) -> SymbolicInteger:
        first, second = self._as_unsigned, self._coerce_operand(other)._as_unsigned
        size = max(len(first.wires), len(second.wires))
        pairs = zip(first._extend_wires(size), second._extend_wires(size), strict=True)
        return SymbolicInteger(self.builder, tuple(gate(a, b) for a, b in pairs), 0, (1 << size) - 1)

    def _and_all_wires(self, wires: list[int]) -> int:
        """Wire of the AND of all wires, computed by a balanced tree."""
        while len(wires) > 1:
            odd = wires[len(wires) // 2 * 2 :]
            wires = [self.builder.conjunction(a, b) for a, b in zip(wires[::2], wires[1::2], strict=False)] + odd
        return wires[0] if wires else ONE


def constant(builder: CircuitBuilder, value: int) -> SymbolicInteger:
    """A number that everybody knows. Raises `TypeError`: it is no whole number."""
    found = require_integer("kernel", value)
    wires = tuple(ONE if found >> place & 1 else ZERO for place in range(bit_width(found, found)))
    return SymbolicInteger(builder, wires, found, found)


def mux(condition: SymbolicInteger, one: SymbolicInteger | int, other: SymbolicInteger | int) -> SymbolicInteger:
    """The one where the condition is 1, else the other: one AND a bit.

    Raises:
        ValueError: the condition may be something else than 0 or 1.
    """
    if condition.low < 0 or condition.high > 1:
        raise InvalidArgument("condition", f"a bit is needed, got a number from {condition.low} to {condition.high}")
    first, second = condition._coerce_operand(one), condition._coerce_operand(other)
    if not condition.wires:
        return second
    low, high = min(first.low, second.low), max(first.high, second.high)
    pairs = zip(first._extend_wires(bit_width(low, high)), second._extend_wires(bit_width(low, high)), strict=True)
    wires = tuple(condition.builder.multiplex(condition.wires[0], a, b) for a, b in pairs)
    return SymbolicInteger(condition.builder, wires, low, high)


def sign(number: SymbolicInteger) -> SymbolicInteger:
    """-1, 0 or 1: of a difference of two numbers, two ANDs a bit but one.

    >>> from dpcurves_parties.crypto.circuits import trace_circuit
    >>> trace_circuit(lambda x, y: sign(x - y), 32, 32).and_count
    63
    """
    signed, wires = number.low < 0, number.wires
    if signed and number.low > -(1 << len(wires) - 1):
        wires = wires[:-1]  # the top bit is never the only one
    turned = [number.builder.negation(wire) for wire in wires]
    odd = number.builder.negation(number._and_all_wires(turned))
    return SymbolicInteger(number.builder, (odd, number.wires[-1]), -1, 1) if signed else number._bit(odd)


def total(numbers: Iterable[SymbolicInteger]) -> SymbolicInteger:
    """The sum of all, by a tree: fewer ANDs than the built-in `sum`.

    Raises:
        ValueError: there is none.
    """
    left = list(numbers)
    if not left:
        raise InvalidArgument("numbers", "at least one is needed")
    while len(left) > 1:
        left = [a + b for a, b in zip(left[::2], left[1::2], strict=False)] + left[len(left) // 2 * 2 :]
    return left[0]


MOST_BITS = 64
Shape = int | Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Record:
    """Record of a party: its numbers by name."""

    _numbers: Mapping[str, SymbolicInteger]

    def __getattr__(self, name: str) -> SymbolicInteger:
        try:
            return self._numbers[name]
        except KeyError:
            raise AttributeError(f"{name} is none of {', '.join(self._numbers)}") from None


def trace_circuit(kernel: Callable[..., object], *shapes: Shape) -> Circuit:
    """The circuit of a function, which is called once, with numbers that stand for all values.

    Args:
        kernel: Takes as many arguments as there are shapes; returns one number or a tuple of them.
        shapes: Bits of each argument, which is a number without a sign; or of its parts, by name. Parts are inputs in
            their order.

    Raises:
        TypeError: the function returns something else, or asks whether a number is true.
        ValueError: a number has less than one bit or more than 64.

    >>> trace_circuit(lambda x, y: abs(x.income - y.income), {"income": 32}, {"income": 32}).and_count
    63
    """
    widths = [each for shape in shapes for each in (shape.values() if isinstance(shape, Mapping) else [shape])]
    for each in widths:
        if not 1 <= each <= MOST_BITS:
            raise InvalidArgument("bits", f"a number has 1 to {MOST_BITS} bits, got {describe_value(each)}")
    wiring = CircuitBuilder(widths)
    numbers = iter([SymbolicInteger.from_input(wiring, place) for place in range(len(widths))])
    arguments = [
        Record({name: next(numbers) for name in shape}) if isinstance(shape, Mapping) else next(numbers)
        for shape in shapes
    ]
    found = kernel(*arguments)
    results = found if isinstance(found, tuple) else (found,)
    if not all(isinstance(each, SymbolicInteger) for each in results):
        raise WrongArgumentType(
            "kernel", f"it has to return a number made of its arguments, got {describe_value(found)}"
        )
    return wiring.build_circuit([each.output for each in results])


_WORDS = {GateKind.XOR: "XOR", GateKind.AND: "AND", GateKind.NOT: "INV"}


def to_bristol(circuit: Circuit) -> str:
    """The circuit as text. What is copied to stand at the end, where outputs do, is a gate of its own (EQW).

    Ranges of numbers are not written.
    """
    first, ends = sum(circuit.inputs), circuit.output_wires
    wires = first + len(circuit.gates) + len(ends)
    lines = [_format_gate(gate, first + place) for place, gate in enumerate(circuit.gates)]
    lines += [f"1 1 {wire} {place} EQW" for place, wire in enumerate(ends, first + len(circuit.gates))]
    heads = [(len(lines), wires), (len(circuit.inputs), *circuit.inputs)]
    heads.append((len(circuit.outputs), *(len(number.wires) for number in circuit.outputs)))
    return "\n".join([*(" ".join(map(str, head)) for head in heads), "", *lines, ""])


def _format_gate(gate: Gate, wire: int) -> str:
    if gate.kind == GateKind.ZERO:
        return f"1 1 0 {wire} EQ"
    read = f"1 1 {gate.left}" if gate.kind == GateKind.NOT else f"2 1 {gate.left} {gate.right}"
    return f"{read} {wire} {_WORDS[gate.kind]}"


def from_bristol(text: str) -> Circuit:
    """The circuit of a text; outputs are numbers without a sign.

    Gates that no output needs, or that are there twice, or whose value is known, are left out.

    Raises:
        ValueError: it is none, or not of this form.
    """
    lines = [words for line in text.splitlines() if (words := line.split())]
    try:
        return _parse_bristol(lines)
    except (ValueError, IndexError, KeyError) as error:
        rule = error.rule if isinstance(error, InvalidArgument) else "a circuit in Bristol Fashion is needed"
        raise InvalidArgument("circuit", rule) from None


def _parse_bristol(lines: Sequence[Sequence[str]]) -> Circuit:
    (gates, count), (_, *inputs), (_, *outputs) = (tuple(map(int, line)) for line in lines[:3])
    if len(lines) - 3 != gates or [len(inputs), len(outputs)] != [int(line[0]) for line in lines[1:3]]:
        raise InvalidArgument("circuit", "its head counts other gates, inputs or outputs than there are")
    wiring = CircuitBuilder(inputs)
    wires = {wire: wire for wire in range(sum(inputs))}
    for words in lines[3:]:
        for wire, found in _parse_gate(wiring, wires, words):
            if wire in wires or not 0 <= wire < count:
                raise InvalidArgument("circuit", f"wire {wire} is written twice, or is none")
            wires[wire] = found
    return wiring.build_circuit(list(_parse_outputs(wires, outputs, count)))


def _parse_gate(wiring: CircuitBuilder, wires: dict[int, int], words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The wires that a gate writes, and what they are."""
    reads, writes, kind = int(words[0]), int(words[1]), words[-1]
    places = tuple(map(int, words[2:-1]))
    if len(places) != reads + writes or (kind != "MAND" and (reads, writes) != (_READS[kind], 1)):
        raise InvalidArgument("circuit", f"a gate {kind} has another number of wires")
    read, written = places[:reads], places[reads:]
    if kind == "MAND":
        pairs = zip(read[:writes], read[writes:], strict=True)
        yield from zip(written, [wiring.conjunction(wires[a], wires[b]) for a, b in pairs], strict=True)
    elif kind == "EQ":
        yield written[0], (ZERO, ONE)[read[0]]
    else:
        yield written[0], _apply_gate(wiring, kind, [wires[place] for place in read])


_READS = {"XOR": 2, "AND": 2, "INV": 1, "EQ": 1, "EQW": 1}


def _apply_gate(wiring: CircuitBuilder, kind: str, read: Sequence[int]) -> int:
    if kind == "XOR":
        return wiring.xor(*read)
    if kind == "AND":
        return wiring.conjunction(*read)
    return wiring.negation(*read) if kind == "INV" else read[0]


def _parse_outputs(wires: dict[int, int], widths: Sequence[int], count: int) -> Iterator[CircuitOutput]:
    start = count - sum(widths)
    for width in widths:
        yield CircuitOutput(tuple(wires[place] for place in range(start, start + width)), 0, (1 << width) - 1)
        start += width
