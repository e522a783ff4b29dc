"""Boolean circuits from Python functions: symbolic integers, which record the gates that compute them.

trace_circuit                calls a function with symbolic integers, and returns its circuit
SymbolicInteger              a number made of wires, with its range; has the operators of integers
mux, sign, total             operations that are no operators
to_bristol, from_bristol     circuits as text (Bristol Fashion)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from dpcurves.arguments import InvalidArgument, WrongArgumentType, describe_value, require_integer

from .circuit import Circuit, CircuitOutput, Gate, GateKind

# Circuit builder: constants cost no gates, and common subexpressions are shared.
ZERO, ONE = -1, -2
"""Numbers of the constant wires 0 and 1; real wires are numbered from 0, so negative numbers are free."""


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
        """Return the wire numbers of input number `index`, lowest bit first.

        Args:
            index: Number of the input, from 0.
        """
        start = sum(self.inputs[:index])
        return tuple(range(start, start + self.inputs[index]))

    def xor(self, left: int, right: int) -> int:
        """Return the wire of the XOR of two wires, by number; constants, equal and opposite wires need no gate.

        Args:
            left: Number of a wire.
            right: Number of a wire.
        """
        if left == right:
            return ZERO
        if self._opposite.get(left) == right:
            return ONE
        for constant_wire, other_wire in ((left, right), (right, left)):
            if constant_wire in (ZERO, ONE):
                return other_wire if constant_wire == ZERO else self.negation(other_wire)
        return self._add_gate(GateKind.XOR, *sorted((left, right)))

    def conjunction(self, left: int, right: int) -> int:
        """Return the wire of the logical AND of two wires, by their numbers; constants, equal and opposite wires need
        no gate.

        Args:
            left: Number of a wire.
            right: Number of a wire.
        """
        if self._opposite.get(left) == right or ZERO in (left, right):
            return ZERO
        if right in (left, ONE):
            return left
        return right if left == ONE else self._add_gate(GateKind.AND, *sorted((left, right)))

    def disjunction(self, left: int, right: int) -> int:
        """Return the wire of the logical OR, by one AND.

        Args:
            left: Number of a wire.
            right: Number of a wire.

        Returns:
            Number of the wire.
        """
        return self.negation(self.conjunction(self.negation(left), self.negation(right)))

    def negation(self, wire: int) -> int:
        """Return the wire of the opposite bit; each wire has at most one NOT gate."""
        if wire not in self._opposite:
            opposite = self._add_gate(GateKind.NOT, wire, wire)
            self._opposite |= {wire: opposite, opposite: wire}
        return self._opposite[wire]

    def multiplex(self, condition: int, one: int, other: int) -> int:
        """Return a wire equal to `one` where the condition is 1, else to `other`; the circuit takes one AND gate.

        Args:
            condition: Number of the selecting wire.
            one: Number of the wire for condition 1.
            other: Number of the wire for condition 0.
        """
        return self.xor(other, self.conjunction(condition, self.xor(one, other)))

    def carry(self, left: int, right: int, carry: int) -> int:
        """Return the carry bit of a full adder: one AND.

        Args:
            left: Wire of one summand.
            right: Wire of the other.
            carry: Wire of the carry bit of the position before.
        """
        return self.xor(carry, self.conjunction(self.xor(left, carry), self.xor(right, carry)))

    def build_circuit(self, outputs: Sequence[CircuitOutput]) -> Circuit:
        """Return the circuit of these outputs, without gates that no output needs."""
        needed = {wire for number in outputs for wire in number.wires}
        for index in reversed(range(len(self._gates))):
            if self._first + index in needed:
                needed |= {self._gates[index].left, self._gates[index].right}
        return self._renumber_wires(outputs, needed)

    def _renumber_wires(self, outputs: Sequence[CircuitOutput], needed: set[int]) -> Circuit:
        """Return the circuit of the needed gates only, with consecutive wire numbers and gates for constant outputs."""
        new_numbers = {wire: wire for wire in range(self._first)}
        gates = []
        if needed & {ZERO, ONE}:
            new_numbers[ZERO] = self._first
            gates.append(Gate(GateKind.ZERO, 0, 0))
        if ONE in needed:
            new_numbers[ONE] = self._first + 1
            gates.append(Gate(GateKind.NOT, self._first, self._first))
        for wire, gate in enumerate(self._gates, self._first):
            if wire in needed:
                new_numbers[wire] = self._first + len(gates)
                gates.append(Gate(gate.kind, new_numbers[gate.left], new_numbers[gate.right]))
        renumbered = []
        for output in outputs:
            wires = tuple(new_numbers[wire] for wire in output.wires)
            renumbered.append(CircuitOutput(wires, output.low, output.high))
        return Circuit(self.inputs, tuple(gates), tuple(renumbered))

    def _add_gate(self, kind: GateKind, left: int, right: int) -> int:
        """Return the output wire of an XOR or AND gate on two wires. Equal gates are built once.

        Args:
            kind: XOR or AND.
            left: Number of the first input wire.
            right: Number of the second input wire.
        """
        gate = Gate(kind, left, right)
        if gate not in self._made:
            self._made[gate] = self._first + len(self._gates)
            self._gates.append(gate)
        return self._made[gate]


def bit_width(low: int, high: int) -> int:
    """Return the number of bits that integers from `low` to `high` need, in two's complement if some are negative.

    >>> bit_width(0, 255), bit_width(-1, 1), bit_width(-128, 127)
    (8, 2, 8)
    """
    return high.bit_length() if low >= 0 else 1 + max(max(high, 0).bit_length(), (~low).bit_length())


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicInteger:
    """Symbolic integer, of which only the range is known while the circuit is built. Operations never overflow.

    Numbers support ``+ - * < <= > >= == != & | ^ ~ abs``, with each other and with Python integers, and `mux`, `sign`,
    `total` and the built-in `sum`. They have no truth value: no `if`, no `min`, no `max`.

    Attributes:
        builder: Builder of the circuit that has its wires.
        wires: Lowest bit first; two's complement if `low` is negative.
        low: Lower bound of the values.
        high: Upper bound of the values.
    """

    builder: CircuitBuilder
    wires: tuple[int, ...]
    low: int
    high: int

    @classmethod
    def from_input(cls, builder: CircuitBuilder, index: int) -> SymbolicInteger:
        """Return an input of the circuit as an unsigned symbolic integer.

        Args:
            builder: The circuit that is built.
            index: Number of the input, from 0.
        """
        wires = builder.input_wires(index)
        return cls(builder, wires, 0, (1 << len(wires)) - 1)

    @classmethod
    def from_bits(cls, bits: Sequence[SymbolicInteger]) -> SymbolicInteger:
        """Return the unsigned integer with these bits, lowest bit first.

        Raises:
            ValueError: there are no bits.
        """
        if not bits:
            raise InvalidArgument("bits", "must be at least one; pass the numbers as a list")
        wires = tuple(bit.wires[0] if bit.wires else ZERO for bit in bits)
        return cls(bits[0].builder, wires, 0, (1 << len(wires)) - 1)

    def to_bits(self, size: int | None = None) -> list[SymbolicInteger]:
        """Return the bits, lowest first, as separate numbers; two's complement if negative.

        Args:
            size: Number of bits; if the number does not fit, its lowest bits. None: as many as its range needs.
        """
        return [self._bit(wire) for wire in self._extend_wires(len(self.wires) if size is None else size)]

    @property
    def output(self) -> CircuitOutput:
        """This number as an output of the circuit: its wires and its range."""
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
        narrow, wide = sorted(
            (self, self._coerce_operand(other)), key=lambda operand: (operand.high - operand.low, operand.low)
        )
        if narrow.low >= -1 and narrow.high <= 1:
            return narrow._multiply_ternary(wide)
        products = [a * b for a in (narrow.low, narrow.high) for b in (wide.low, wide.high)]
        # equal wires are equal numbers only if both are signed or both unsigned
        squared = narrow.wires == wide.wires and (narrow.low < 0) == (wide.low < 0)
        low = max(0, min(products)) if squared else min(products)
        product_sum = total(narrow._partial_products(wide))
        return self._with_range(product_sum._extend_wires(bit_width(low, max(products))), low, max(products))

    __rmul__ = __mul__

    def __lt__(self, other: SymbolicInteger | int) -> SymbolicInteger:
        """Return a wire that is 1 if this number is less than another, else 0, as a symbolic integer; one AND per bit.

        Args:
            other: Symbolic integer of the same circuit, or a constant.
        """
        right = self._coerce_operand(other)
        size = bit_width(min(self.low, right.low), max(self.high, right.high))
        signed = min(self.low, right.low) < 0
        first = list(self._extend_wires(size))
        second = list(right._extend_wires(size))
        if signed:  # flipping the top bits turns signed order into unsigned order
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
        """Return a wire that is 1 if both numbers are equal, else 0, as a symbolic integer; one AND per bit except one.

        Args:
            other: Symbolic integer of the same circuit, or a constant.
        """
        right = self._coerce_operand(other)
        size = bit_width(min(self.low, right.low), max(self.high, right.high))
        wire_pairs = zip(self._extend_wires(size), right._extend_wires(size), strict=True)
        return self._bit(self._and_all_wires([self.builder.negation(self.builder.xor(a, b)) for a, b in wire_pairs]))

    def __ne__(self, other: SymbolicInteger | int) -> SymbolicInteger:  # type: ignore[override]
        return ~(self == other)

    def __and__(self, other: SymbolicInteger | int) -> SymbolicInteger:
        return self._apply_bitwise(other, self.builder.conjunction)

    def __or__(self, other: SymbolicInteger | int) -> SymbolicInteger:
        return self._apply_bitwise(other, self.builder.disjunction)

    def __xor__(self, other: SymbolicInteger | int) -> SymbolicInteger:
        return self._apply_bitwise(other, self.builder.xor)

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __invert__(self) -> SymbolicInteger:
        """Complement of all bits: for a single bit b, 1 - b."""
        top = (1 << len(self._as_unsigned.wires)) - 1
        return self._with_range(map(self.builder.negation, self.wires), top - self.high, top - self.low)

    def __abs__(self) -> SymbolicInteger:
        """Return the absolute value."""
        if self.low >= 0:
            return self
        high = max(-self.low, self.high)
        return self._negate_where(self.wires[-1], 0, high)

    def __bool__(self) -> NoReturn:
        raise WrongArgumentType(
            "kernel",
            "a number in a circuit has no value while the circuit is made: replace if and while by dp.pairs.mux",
        )

    def __hash__(self) -> int:
        return hash((id(self.builder), self.wires))

    @property
    def _as_unsigned(self) -> SymbolicInteger:
        """Return this number unchanged, as an operand of a bitwise operation.

        Raises:
            InvalidArgument: the number may be negative.
        """
        if self.low < 0:
            raise InvalidArgument(
                "kernel",
                f"must use &, | and ^ on numbers that are never negative, got a number that may be {self.low}; add a "
                "constant first",
            )
        return self

    def _coerce_operand(self, other: SymbolicInteger | int) -> SymbolicInteger:
        """Return the other operand as a symbolic integer of this circuit.

        Raises `InvalidArgument` for a number of another circuit, `TypeError` for anything but an integer.
        """
        if isinstance(other, SymbolicInteger):
            if other.builder is not self.builder:
                raise InvalidArgument(
                    "kernel", "must combine numbers of the same circuit; make constants inside the function"
                )
            return other
        return constant(self.builder, other)

    def _bit(self, wire: int) -> SymbolicInteger:
        """Return a symbolic integer of one bit whose value is carried by `wire`."""
        return SymbolicInteger(self.builder, (wire,), 0, 1)

    def _extend_wires(self, size: int) -> tuple[int, ...]:
        """Return `size` wires of this number in two's complement, lowest bit first.

        Further high bits repeat the sign if the number may be negative, and are 0 otherwise. If `size` is smaller than
        the number's bits, high bits are dropped without a check: the caller must know that the range needs no more.
        """
        top = self.wires[-1] if self.low < 0 else ZERO
        return (*self.wires, *([top] * (size - len(self.wires))))[:size]

    def _with_range(self, wires: Iterable[int], low: int, high: int) -> SymbolicInteger:
        """Return the number with this range, on as many of the wires as the range needs.

        Args:
            wires: Wires of the bits, the lowest first.
            low: Smallest possible value.
            high: Largest possible value.
        """
        return SymbolicInteger(self.builder, tuple(wires)[: bit_width(low, high)], low, high)

    def _add_or_subtract(self, right: SymbolicInteger, subtract: int) -> SymbolicInteger:
        """Return the sum, or the difference if `subtract` is the wire ONE, by a ripple-carry adder: one AND per bit.

        Args:
            right: Second operand.
            subtract: The wire ZERO or ONE.
        """
        bounds = (-right.high, -right.low) if subtract == ONE else (right.low, right.high)
        low = self.low + bounds[0]
        high = self.high + bounds[1]
        size = bit_width(low, high)
        carry = subtract
        wires = []
        operand_wires = [self.builder.xor(wire, subtract) for wire in right._extend_wires(size)]
        for a, b in zip(self._extend_wires(size), operand_wires, strict=True):
            wires.append(self.builder.xor(self.builder.xor(a, b), carry))
            carry = self.builder.carry(a, b, carry)
        return SymbolicInteger(self.builder, tuple(wires), low, high)

    def _negate_where(self, condition: int, low: int, high: int) -> SymbolicInteger:
        """Return the number, negated where the condition is 1, with one AND per bit but the highest.

        Args:
            condition: A wire.
            low: Smallest possible result.
            high: Largest possible result.
        """
        carry = condition
        wires = []
        for wire in self._extend_wires(bit_width(low, high)):
            flipped = self.builder.xor(wire, condition)
            wires.append(self.builder.xor(flipped, carry))
            carry = self.builder.conjunction(flipped, carry)
        return SymbolicInteger(self.builder, tuple(wires), low, high)

    def _multiply_ternary(self, factor: SymbolicInteger) -> SymbolicInteger:
        """Return the product with `factor`, if this number is -1, 0 or 1; costs one AND gate per bit, and a conditional
        negation.
        """
        products = [self.low * factor.low, self.low * factor.high, self.high * factor.low, self.high * factor.high]
        low = min(0, *products)
        high = max(0, *products)
        if (self.low, self.high) == (factor.low, factor.high) == (-1, 1):
            # Each number has two bits: odd and negative.
            odd = self.builder.conjunction(self.wires[0], factor.wires[0])
            negative = self.builder.conjunction(odd, self.builder.xor(self.wires[1], factor.wires[1]))
            return SymbolicInteger(self.builder, (odd, negative), -1, 1)
        odd = self.wires[0] if self.wires else ZERO
        masked_wires = tuple(self.builder.conjunction(odd, wire) for wire in factor.wires)
        masked = SymbolicInteger(self.builder, masked_wires, min(0, factor.low), max(0, factor.high))
        return masked if self.low >= 0 else masked._negate_where(self.wires[-1], low, high)

    def _partial_products(self, factor: SymbolicInteger) -> Iterator[SymbolicInteger]:
        """Yield one summand of the product per bit of this number, shifted by the bit's position.

        The summand of the sign bit is subtracted.

        Args:
            factor: Second factor.
        """
        for position, wire in enumerate(self.wires):
            product = self._bit(wire)._multiply_ternary(factor)
            weight = -(1 << position) if self.low < 0 and position == len(self.wires) - 1 else 1 << position
            yield -product._shift_left(position) if weight < 0 else product._shift_left(position)

    def _shift_left(self, places: int) -> SymbolicInteger:
        """Multiply a symbolic integer by a power of two, which costs no gates.

        Args:
            places: Exponent of the power of two, at least 0.
        """
        return SymbolicInteger(self.builder, (*([ZERO] * places), *self.wires), self.low << places, self.high << places)

    def _apply_bitwise(self, other: SymbolicInteger | int, gate: Callable[[int, int], int]) -> SymbolicInteger:
        """Return the unsigned number whose bits are `gate` of both operands' bits.

        Raises `InvalidArgument` if an operand may be negative.

        Args:
            other: Second operand.
            gate: Function of two wires that returns the wire of their gate.
        """
        first = self._as_unsigned
        second = self._coerce_operand(other)._as_unsigned
        size = max(len(first.wires), len(second.wires))
        wire_pairs = zip(first._extend_wires(size), second._extend_wires(size), strict=True)
        return SymbolicInteger(self.builder, tuple(gate(a, b) for a, b in wire_pairs), 0, (1 << size) - 1)

    def _and_all_wires(self, wires: list[int]) -> int:
        """Return the wire of the AND of all wires, computed by a balanced tree."""
        while len(wires) > 1:
            odd = wires[len(wires) // 2 * 2 :]
            wires = [self.builder.conjunction(a, b) for a, b in zip(wires[::2], wires[1::2], strict=False)] + odd
        return wires[0] if wires else ONE


def constant(builder: CircuitBuilder, value: int) -> SymbolicInteger:
    """Return a public integer as a constant of the circuit, which costs no gates.

    Args:
        builder: Builder of the circuit.
        value: Integer; sign and size are free.

    Raises:
        TypeError: `value` is no integer.
    """
    number = require_integer("kernel", value)
    wires = tuple(ONE if number >> position & 1 else ZERO for position in range(bit_width(number, number)))
    return SymbolicInteger(builder, wires, number, number)


def mux(condition: SymbolicInteger, one: SymbolicInteger | int, other: SymbolicInteger | int) -> SymbolicInteger:
    """Return an integer equal to `one` where the condition is 1, else to `other`. It takes one AND gate per bit.

    Args:
        condition: 0 or 1, such as ``a < b``.
        one: Result for 1.
        other: Result for 0.

    Raises:
        ValueError: the condition has values other than 0 and 1.
    """
    if condition.low < 0 or condition.high > 1:
        raise InvalidArgument(
            "condition", f"must be 0 or 1, such as a < b, got a number from {condition.low} to {condition.high}"
        )
    first = condition._coerce_operand(one)
    second = condition._coerce_operand(other)
    if not condition.wires:
        return second
    low = min(first.low, second.low)
    high = max(first.high, second.high)
    wire_pairs = zip(first._extend_wires(bit_width(low, high)), second._extend_wires(bit_width(low, high)), strict=True)
    wires = tuple(condition.builder.multiplex(condition.wires[0], a, b) for a, b in wire_pairs)
    return SymbolicInteger(condition.builder, wires, low, high)


def sign(number: SymbolicInteger) -> SymbolicInteger:
    """Return the sign of a symbolic integer: -1, 0 or 1; for a difference, the circuit takes two ANDs per bit except
    one.

    >>> from dpcurves_parties.crypto.circuits import trace_circuit
    >>> trace_circuit(lambda x, y: sign(x - y), 32, 32).and_count
    63
    """
    signed = number.low < 0
    wires = number.wires
    if signed and number.low > -(1 << len(wires) - 1):
        wires = wires[:-1]  # the sign bit is never the only set bit
    negated = [number.builder.negation(wire) for wire in wires]
    is_nonzero = number.builder.negation(number._and_all_wires(negated))
    return SymbolicInteger(number.builder, (is_nonzero, number.wires[-1]), -1, 1) if signed else number._bit(is_nonzero)


def total(numbers: Iterable[SymbolicInteger]) -> SymbolicInteger:
    """Return the sum by a balanced tree, with fewer ANDs than the built-in `sum`.

    Raises:
        ValueError: there are no numbers.
    """
    summands = list(numbers)
    if not summands:
        raise InvalidArgument("numbers", "must be at least one; pass the numbers as a list")
    while len(summands) > 1:
        sums_of_pairs = [a + b for a, b in zip(summands[::2], summands[1::2], strict=False)]
        unpaired = summands[2 * len(sums_of_pairs) :]
        summands = sums_of_pairs + unpaired
    return summands[0]


Shape = int | Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Record:
    """A party's record: its numbers by name."""

    _numbers: Mapping[str, SymbolicInteger]

    def __getattr__(self, name: str) -> SymbolicInteger:
        try:
            return self._numbers[name]
        except KeyError:
            raise AttributeError(f"{name} is no column of the kernel; use one of {', '.join(self._numbers)}") from None


def trace_circuit(kernel: Callable[..., object], *shapes: Shape) -> Circuit:
    """Trace a function into a circuit by calling it once with symbolic integers.

    Args:
        kernel: Takes as many arguments as there are shapes; returns one number or a tuple of numbers.
        shapes: Bits of each argument, an unsigned number; or bits of its fields, by name. Fields are inputs in their
            order.

    Returns:
        The circuit, with one output number for each number that `kernel` returns, in order.

    Raises:
        TypeError: the function returns something else, or uses the truth value of a number.
        ValueError: a number has fewer than 1 bit or more than 64.

    >>> trace_circuit(lambda x, y: abs(x.income - y.income), {"income": 32}, {"income": 32}).and_count
    63
    """
    widths = [width for shape in shapes for width in (shape.values() if isinstance(shape, Mapping) else [shape])]
    most_input_bits = 64  # bits of an input's number, as servers hold inputs in 64-bit words
    for width in widths:
        if not 1 <= width <= most_input_bits:
            rule = f"must be from 1 to {most_input_bits} for each number, got {describe_value(width)}"
            raise InvalidArgument("bits", rule)
    builder = CircuitBuilder(widths)
    numbers = iter([SymbolicInteger.from_input(builder, index) for index in range(len(widths))])
    arguments: list[SymbolicInteger | Record] = []
    for shape in shapes:
        if isinstance(shape, Mapping):
            arguments.append(Record({name: next(numbers) for name in shape}))
        else:
            arguments.append(next(numbers))
    returned = kernel(*arguments)
    results = returned if isinstance(returned, tuple) else (returned,)
    if not all(isinstance(width, SymbolicInteger) for width in results):
        raise WrongArgumentType(
            "kernel",
            f"must return numbers computed from its arguments, as in a.x + b.x, got {describe_value(returned)}",
        )
    return builder.build_circuit([width.output for width in results])


_BRISTOL_WORDS = {GateKind.XOR: "XOR", GateKind.AND: "AND", GateKind.NOT: "INV"}
"""Word by which Bristol Fashion, the file format of circuits that `to_bristol` writes, names a gate of each kind."""


def to_bristol(circuit: Circuit) -> str:
    """Return the circuit as Bristol Fashion text. EQW gates copy output wires to the end, where the format has them.

    The ranges of numbers are lost.
    """
    first = sum(circuit.inputs)
    ends = circuit.output_wires
    wires = first + len(circuit.gates) + len(ends)
    lines = [_format_gate(gate, first + position) for position, gate in enumerate(circuit.gates)]
    lines += [f"1 1 {wire} {position} EQW" for position, wire in enumerate(ends, first + len(circuit.gates))]
    heads = [(len(lines), wires), (len(circuit.inputs), *circuit.inputs)]
    heads.append((len(circuit.outputs), *(len(number.wires) for number in circuit.outputs)))
    return "\n".join([*(" ".join(map(str, head)) for head in heads), "", *lines, ""])


def _format_gate(gate: Gate, wire: int) -> str:
    """Return the line of Bristol Fashion of a gate that writes `wire`."""
    if gate.kind == GateKind.ZERO:
        return f"1 1 0 {wire} EQ"
    inputs = f"1 1 {gate.left}" if gate.kind == GateKind.NOT else f"2 1 {gate.left} {gate.right}"
    return f"{inputs} {wire} {_BRISTOL_WORDS[gate.kind]}"


def from_bristol(text: str) -> Circuit:
    """Return the circuit that a text in Bristol Fashion, the usual file format of Boolean circuits, describes.

    Outputs are unsigned numbers. Unused and duplicate gates, and gates of constant value, are removed.

    Raises:
        ValueError: the text is not a circuit in this format.
    """
    lines = [words for line in text.splitlines() if (words := line.split())]
    try:
        return _parse_bristol(lines)
    except (ValueError, IndexError, KeyError) as error:
        rule = error.rule if isinstance(error, InvalidArgument) else "must be text in Bristol Fashion"
        raise InvalidArgument("circuit", rule) from None


def _parse_bristol(lines: Sequence[Sequence[str]]) -> Circuit:
    """Return the circuit that the lines of a file in Bristol Fashion describe.

    Args:
        lines: Words of each line that is not empty: number of gates and wires, widths of inputs, widths of outputs,
            then one gate a line.

    Raises:
        ValueError, IndexError, KeyError: the lines are no circuit in this format.
    """
    (gates, count), (_, *inputs), (_, *outputs) = (tuple(map(int, line)) for line in lines[:3])
    if len(lines) - 3 != gates or [len(inputs), len(outputs)] != [int(line[0]) for line in lines[1:3]]:
        raise InvalidArgument(
            "circuit",
            "the first three lines count other gates, inputs or outputs than follow; write the numbers that follow",
        )
    wiring = CircuitBuilder(inputs)
    wires = {wire: wire for wire in range(sum(inputs))}
    for words in lines[3:]:
        for wire, value in _parse_gate(wiring, wires, words):
            if wire in wires or not 0 <= wire < count:
                raise InvalidArgument(
                    "circuit", f"wire {wire} is written twice, or not below the number of wires; write each wire once"
                )
            wires[wire] = value
    return wiring.build_circuit(list(_parse_outputs(wires, outputs, count)))


def _parse_gate(wiring: CircuitBuilder, wires: dict[int, int], words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the wires that a gate writes, each with its wire in the builder.

    Args:
        wiring: Builder, to which the gate is added.
        wires: Wire of the builder for each wire number of the file so far.
        words: Numbers of wires read and written, their wire numbers, and the kind of the gate.

    Yields:
        Pairs of a wire number in the file and a wire of the builder.

    Raises:
        InvalidArgument: the gate names another number of wires than its kind has.
    """
    reads = int(words[0])
    writes = int(words[1])
    kind = words[-1]
    wire_numbers = tuple(map(int, words[2:-1]))
    if len(wire_numbers) != reads + writes or (kind != "MAND" and (reads, writes) != (_INPUT_COUNTS[kind], 1)):
        raise InvalidArgument(
            "circuit",
            f"a {kind} gate names another number of wires than it reads and writes; correct its first two numbers",
        )
    inputs, outputs = wire_numbers[:reads], wire_numbers[reads:]
    if kind == "MAND":
        wire_pairs = zip(inputs[:writes], inputs[writes:], strict=True)
        yield from zip(outputs, [wiring.conjunction(wires[a], wires[b]) for a, b in wire_pairs], strict=True)
    elif kind == "EQ":
        yield outputs[0], (ZERO, ONE)[inputs[0]]
    else:
        yield outputs[0], _apply_gate(wiring, kind, [wires[wire_number] for wire_number in inputs])


_INPUT_COUNTS = {"XOR": 2, "AND": 2, "INV": 1, "EQ": 1, "EQW": 1}
"""Number of input wires of a gate, by its word in Bristol Fashion; a gate that lists another number of wires is
refused. MAND, several AND gates in one, is parsed separately."""


def _apply_gate(wiring: CircuitBuilder, kind: str, inputs: Sequence[int]) -> int:
    """Return the builder's wire of an XOR, AND, INV or EQW gate on these wires.

    Args:
        wiring: Builder, to which the gate is added.
        kind: Name of the gate.
        inputs: Wires of the builder: two for XOR and AND, one for INV and EQW.
    """
    if kind == "XOR":
        return wiring.xor(*inputs)
    if kind == "AND":
        return wiring.conjunction(*inputs)
    return wiring.negation(*inputs) if kind == "INV" else inputs[0]


def _parse_outputs(wires: dict[int, int], widths: Sequence[int], count: int) -> Iterator[CircuitOutput]:
    """Yield the outputs of `widths` bits each, whose wires are the last of the circuit's `count` wires."""
    start = count - sum(widths)
    for width in widths:
        yield CircuitOutput(
            tuple(wires[wire_number] for wire_number in range(start, start + width)), 0, (1 << width) - 1
        )
        start += width
