"""Circuits say what Python says, for as few ANDs as are known, and are read back as they were written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves_parties.crypto.circuits import (
    CarrySaveAdder,
    Circuit,
    CircuitBuilder,
    CircuitOutput,
    CleartextMachine,
    Gate,
    GateKind,
    SymbolicInteger,
    evaluate_circuit,
    from_bristol,
    mux,
    sign,
    split_into_bits,
    to_bristol,
    total,
    trace_circuit,
)

Kernel = Callable[..., Any]
Columns = {"a": 32, "b": 32}


def kendall(x: Any, y: Any) -> Any:
    return sign(x.a - y.a) * sign(x.b - y.b)


@pytest.mark.parametrize(
    ("kernel", "ands"),
    [
        (lambda x, y: x < y, 32), (lambda x, y: x == y, 31), (lambda x, y: abs(x - y), 63), (lambda x, y: x + y, 32),
        (lambda x, y: x - y, 32), (lambda x, y: x ^ y, 0), (lambda x, y: x & y, 32), (lambda x, y: sign(x - y), 63),
        (lambda x, y: x < 40_001, 31), (lambda x, y: x < 2**31, 0), (lambda x, y: mux(x < y, y, x), 64),
        (lambda x, y: (x < y) + (x < y) + (y < x), 64), (lambda x, y: (x & 0) + y * 0, 0),
    ],
)  # fmt: skip
def test_kernels_of_32_bits_cost_what_is_known_to_be_enough(kernel: Kernel, ands: int) -> None:
    assert trace_circuit(kernel, 32, 32).and_count == ands


def test_a_product_of_signs_with_ties_costs_at_most_132_ands() -> None:
    assert trace_circuit(kendall, Columns, Columns).and_count == 128


OF_TWO: list[tuple[Kernel, Kernel]] = [
    (lambda x, y: x < y, lambda x, y: x < y),
    (lambda x, y: x >= y + 3, lambda x, y: x >= y + 3),
    (lambda x, y: x == y, lambda x, y: x == y),
    (lambda x, y: (x - y) != (y - 9), lambda x, y: (x - y) != (y - 9)),
    (lambda x, y: (x - 100) < (y - x), lambda x, y: (x - 100) < (y - x)),
    (lambda x, y: abs(x - y), lambda x, y: abs(x - y)),
    (lambda x, y: abs(3 * x - y * 5 - 9), lambda x, y: abs(3 * x - y * 5 - 9)),
    (lambda x, y: (x - y) * (x - y), lambda x, y: (x - y) ** 2),
    (lambda x, y: (x - 7) * (y - 200), lambda x, y: (x - 7) * (y - 200)),
    (lambda x, y: sign(x - y) * (y - 128), lambda x, y: np.sign(x - y) * (y - 128)),
    (lambda x, y: sign(x - 128) * sign(y - 3), lambda x, y: np.sign(x - 128) * np.sign(y - 3)),
    (lambda x, y: sign(-x) * sign(y), lambda x, y: np.sign(-x) * np.sign(y)),
    (lambda x, y: mux(x < y, x - y, 300), lambda x, y: np.where(x < y, x - y, 300)),
    (lambda x, y: (x & y) + (x | y) - (x ^ 19), lambda x, y: (x & y) + (x | y) - (x ^ 19)),
    (lambda x, y: ~x + ~(x < y), lambda x, y: (255 - x) + (x >= y)),
    (lambda x, y: -x - y, lambda x, y: -x - y),
    (lambda x, y: sum([x, y, x < y], 0 * x), lambda x, y: x + y + (x < y)),
    (lambda x, y: total([x, y, x < y, y - 5, 1 - x]), lambda x, y: 2 * y - 4 + (x < y)),
    (lambda x, y: (x > y) - (x < y), lambda x, y: np.sign(x - y)),
]


@pytest.mark.parametrize("number", range(len(OF_TWO)))
def test_circuits_say_what_python_says_of_all_pairs_of_bytes(number: int) -> None:
    kernel, plain = OF_TWO[number]
    x, y = (each.ravel() for each in np.meshgrid(np.arange(256), np.arange(256)))
    circuit = trace_circuit(kernel, 8, 8)
    (found,) = evaluate_circuit(circuit, x, y)
    assert np.array_equal(found, plain(x, y))
    assert found.min() >= circuit.outputs[0].low
    assert found.max() <= circuit.outputs[0].high
    again = from_bristol(to_bristol(circuit))
    assert again.and_count == circuit.and_count
    assert np.array_equal(evaluate_circuit(again, x, y)[0], found % 2 ** len(circuit.outputs[0].wires))


def at_ends(bits: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Random numbers, among them ties, and all pairs of those at zero, at the middle and at the ends."""
    generator, top = np.random.default_rng(seed), 2**bits
    ends = np.array([0, 1, 2, top // 2 - 1, top // 2, top // 2 + 1, top - 2, top - 1])
    pairs = [each.ravel() for each in np.meshgrid(ends, ends)]
    drawn = generator.integers(0, top, (2, 100_000))
    drawn[1, :1000] = drawn[0, :1000]
    x, y = (np.concatenate([one, other]) for one, other in zip(pairs, drawn, strict=True))
    return x, y


def test_kernels_of_32_bits_are_right_at_random_and_where_signs_change() -> None:
    (x, y), (z, w) = at_ends(32, 1), at_ends(32, 2)
    assert np.array_equal(evaluate_circuit(trace_circuit(lambda x, y: x < y, 32, 32), x, y)[0], x < y)
    assert np.array_equal(evaluate_circuit(trace_circuit(lambda x, y: x == y, 32, 32), x, y)[0], x == y)
    assert np.array_equal(evaluate_circuit(trace_circuit(lambda x, y: abs(x - y), 32, 32), x, y)[0], abs(x - y))
    found = evaluate_circuit(trace_circuit(kendall, Columns, Columns), x, z, y, w)[0]
    assert np.array_equal(found, np.sign(x - y) * np.sign(z - w))


def test_products_that_no_word_holds_are_whole_numbers_of_python() -> None:
    circuit = trace_circuit(lambda x, y: x * y, 64, 64)
    assert evaluate_circuit(circuit, [2**64 - 1, 3], [2**64 - 1, 4])[0].tolist() == [(2**64 - 1) ** 2, 12]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 7, 8, 100, 4097])
def test_a_pile_adds_up_all_instances_for_less_than_an_and_each(count: int) -> None:
    class Counting(CleartextMachine):
        ands = 0

        def conjunction(self, left: Any, right: Any) -> Any:
            self.ands += len(left)
            return super().conjunction(left, right)

    bits = np.random.default_rng(count).integers(0, 2, count).astype(bool)
    machine = Counting()
    pile = CarrySaveAdder(machine, CircuitOutput((0,), 0, 1))
    for start in range(0, count, 1000):
        pile.add([bits[start : start + 1000]])
    wires = pile.total()
    assert sum(int(wire[0]) << place for place, wire in enumerate(wires)) == bits.sum()
    assert len(wires) == count.bit_length()
    assert machine.ands <= count


def test_a_pile_adds_numbers_with_signs() -> None:
    circuit = trace_circuit(lambda x, y: x - 2 * y, 8, 8)
    x, y = np.random.default_rng(3).integers(0, 256, (2, 777))
    wires = circuit.run(CleartextMachine(), [*split_into_bits(x, 8), *split_into_bits(y, 8)])
    pile = CarrySaveAdder(CleartextMachine(), circuit.outputs[0])
    pile.add(wires)
    assert sum(int(wire[0]) << place for place, wire in enumerate(pile.total())) - pile.offset == (x - 2 * y).sum()


def test_a_circuit_that_others_wrote_is_read_with_all_kinds_of_gates() -> None:
    """The parity of the bits that two numbers of two bits have in common; and 2, or 3 where the first one is even."""
    text = """
        9 14
        2 2 2
        2 1 2

        4 2 0 1 2 3 4 5 MAND
        2 1 4 5 6 XOR
        1 1 0 7 INV
        2 1 6 6 8 AND
        1 1 1 9 EQ
        1 1 1 10 INV
        1 1 8 11 EQW
        1 1 7 12 EQW
        1 1 9 13 EQW
    """
    circuit = from_bristol(text)
    x, y = (each.ravel() for each in np.meshgrid(np.arange(4), np.arange(4)))
    first, second = evaluate_circuit(circuit, x, y)
    assert circuit.and_count == 2
    assert np.array_equal(first, np.bitwise_count(x & y) % 2)
    assert np.array_equal(second, (x % 2 == 0) + 2)


@pytest.mark.parametrize(
    "text",
    ["", "1 3\n2 1 1\n1 1\n\n2 1 0 1 2 NAND", "1 3\n2 1 1\n1 1\n\n2 1 0 2 2 XOR", "2 3\n2 1 1\n1 1\n\n2 1 0 1 2 XOR",
     "1 3\n2 1 1\n1 1\n\n1 1 0 2 XOR", "1 3\n2 1 1\n1 1\n\n2 1 0 1 1 XOR", "1 3\n2 1 1\n2 1\n\n2 1 0 1 2 XOR",
     "1 3\n2 1 1\n1 1\n\n1 1 2 2 EQ"],
)  # fmt: skip
def test_a_text_that_is_no_circuit_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match="^circuit: [^\n]*$"):
        from_bristol(text)


def test_kernels_that_ask_what_nobody_knows_are_refused() -> None:
    with pytest.raises(TypeError, match="by dp.pairs.mux"):
        trace_circuit(lambda x, y: x if x < y else y, 8, 8)
    with pytest.raises(TypeError, match="computed from its arguments"):
        trace_circuit(lambda x, y: 3, 8, 8)
    with pytest.raises(AttributeError, match="age is no column of the kernel; use one of income"):
        trace_circuit(lambda x, y: x.age < y.income, {"income": 8}, {"income": 8})
    with pytest.raises(ValueError, match="must be 0 or 1"):
        trace_circuit(lambda x, y: mux(x, x, y), 8, 8)
    with pytest.raises(ValueError, match="on numbers that are never negative"):
        trace_circuit(lambda x, y: (x - y) & 1, 8, 8)
    with pytest.raises(ValueError, match="from 1 to 64 for each number"):
        trace_circuit(lambda x: x, 65)
    with pytest.raises(ValueError, match=r"below 2\*\*8"):
        evaluate_circuit(trace_circuit(lambda x: x, 8), [256])
    other = SymbolicInteger.from_input(CircuitBuilder([8]), 0)
    with pytest.raises(ValueError, match="numbers of the same circuit"):
        trace_circuit(lambda x: x + other, 8)


def test_a_circuit_whose_wires_come_later_is_refused() -> None:
    for gates, outputs in (
        ((Gate(GateKind.AND, 0, 2),), ()),
        ((), (CircuitOutput((5,), 0, 1),)),
        ((Gate(GateKind.AND, -1, 0),), ()),
    ):
        with pytest.raises(ValueError, match="wire"):
            Circuit((1, 1), gates, outputs)


def test_a_product_of_the_places_of_a_negative_number_is_not_taken_for_a_square() -> None:
    """Equal wires are another number there: the declared range holds it."""

    def product(x: SymbolicInteger, y: SymbolicInteger) -> SymbolicInteger:
        number = x + y - 7
        return number * SymbolicInteger.from_bits(number.to_bits())

    circuit = trace_circuit(product, 3, 3)
    both = np.meshgrid(np.arange(8, dtype=np.uint64), np.arange(8, dtype=np.uint64))
    (found,) = evaluate_circuit(circuit, *[each.ravel() for each in both])
    sums = (both[0] + both[1]).ravel().astype(np.int64) - 7
    assert np.array_equal(found, sums * (sums % 16))
    (number,) = circuit.outputs
    assert number.low <= found.min()
    assert found.max() <= number.high
