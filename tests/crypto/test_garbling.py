"""Garbled gates are those of the textbook, in all engines; what an evaluator sees holds no offset."""

from __future__ import annotations

from itertools import combinations

import garbled_textbook as textbook
import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.arguments import ProtocolError
from dpcurves.noise import Randomness
from dpcurves_parties.crypto import supported_lanes
from dpcurves_parties.crypto.circuits import (
    Circuit,
    CircuitOutput,
    CleartextMachine,
    Gate,
    GateKind,
    evaluate_circuit,
    join_bits,
    sign,
    split_into_bits,
    trace_circuit,
)
from dpcurves_parties.crypto.garbling import (
    Evaluator,
    FastGates,
    Garbler,
    GateEngine,
    GateKeys,
    PortableGates,
    draw_offset,
    permute_bits,
    reconstruct_bits,
)

Words = NDArray[np.uint64]
SALT = bytes(range(16))
ENGINES: list[GateEngine] = [PortableGates(), *(FastGates(lanes) for lanes in range(1, supported_lanes() + 1))]


def labels(count: int, seed: int) -> Words:
    return Randomness.from_seed(seed).sample_words(2 * count).reshape(count, 2)


def number(words: Words) -> int:
    return int(words[0]) + (int(words[1]) << 64)


@pytest.mark.parametrize("count", [1, 63, 64, 211])
def test_all_engines_garble_and_evaluate_as_the_textbook_does(count: int) -> None:
    left, right, key = labels(count, 1), labels(count, 2), labels(1, 3)[0]
    offset, x, y = draw_offset(Randomness.from_seed(4)), *(labels(count, 5) & np.uint64(1)).T
    octets = key.tobytes()
    for engine in ENGINES:
        tables, output = engine.garble(left, right, offset, key)
        active = left ^ x[:, None] * offset, right ^ y[:, None] * offset
        found = engine.evaluate(*active, tables, key)
        for place in range(count):
            ends = number(left[place]), number(right[place])
            wanted = textbook.garble(*ends, number(offset), octets, place)
            assert (number(tables[0, place]), number(tables[1, place]), number(output[place])) == wanted
            seen = [number(side[place]) for side in active]
            assert number(found[place]) == textbook.evaluate(seen, wanted[:2], octets, place)
            assert number(found[place]) == wanted[2] ^ int(x[place] & y[place]) * number(offset)


def drawn_circuit(seed: int) -> Circuit:
    """Four input bits, gates of all kinds between any wires, and every wire an output."""
    generator, gates = np.random.default_rng(seed), []
    for place in range(4, 20):
        gates.append(
            Gate(GateKind(int(generator.choice(4, p=[0.3, 0.4, 0.2, 0.1]))), *generator.integers(0, place, 2).tolist())
        )
    return Circuit((2, 2), tuple(gates), (CircuitOutput(tuple(range(20)), 0, 2**20 - 1),))


@pytest.mark.parametrize("seed", range(6))
def test_every_wire_of_small_circuits_has_the_label_of_its_value_for_all_inputs(seed: int) -> None:
    circuit, offset = drawn_circuit(seed), draw_offset(Randomness.from_seed(seed))
    x, y = (each.ravel() for each in np.meshgrid(np.arange(4), np.arange(4)))
    values = [*split_into_bits(x, 2), *split_into_bits(y, 2)]
    garbler = Garbler(ENGINES[-1], GateKeys(SALT), offset)
    zeros = [labels(16, 10 + place) for place in range(4)]
    made = circuit.run(garbler, zeros)
    evaluator = Evaluator(ENGINES[0], GateKeys(SALT))
    evaluator.load_tables(garbler.take_tables())
    seen = circuit.run(evaluator, [zero ^ bit[:, None] * offset for zero, bit in zip(zeros, values, strict=True)])
    evaluator.finish()
    for zero, label, value in zip(made, seen, circuit.run(CleartextMachine(), values), strict=True):
        assert np.array_equal(label, zero ^ value[:, None] * offset)
    shares = reconstruct_bits(list(map(permute_bits, made)), list(map(permute_bits, seen)))
    assert np.array_equal(join_bits(shares, circuit.outputs[0]), evaluate_circuit(circuit, x, y)[0])


def test_no_two_blocks_that_an_evaluator_sees_differ_by_the_offset() -> None:
    """Labels of all wires, tables and hashes: 128 bits do not meet by chance."""
    circuit = trace_circuit(lambda x, y: sign(x - y), 2, 2)
    circuit = Circuit(circuit.inputs, circuit.gates, (CircuitOutput(tuple(range(4 + len(circuit.gates))), 0, 1),))
    offset = draw_offset(Randomness.from_seed(1))
    garbler = Garbler(PortableGates(), GateKeys(SALT), offset)
    zeros = [labels(16, 10 + place) for place in range(4)]
    circuit.run(garbler, zeros)
    tables, evaluator = garbler.take_tables(), Evaluator(PortableGates(), GateKeys(SALT))
    evaluator.load_tables(tables)
    x, y = (each.ravel() for each in np.meshgrid(np.arange(4), np.arange(4)))
    bits = [*split_into_bits(x, 2), *split_into_bits(y, 2)]
    seen = circuit.run(evaluator, [zero ^ bit[:, None] * offset for zero, bit in zip(zeros, bits, strict=True)])
    blocks = {number(row) for wire in seen for row in wire}
    blocks |= {number(row) for row in np.frombuffer(tables, np.uint64).reshape(-1, 2)} | {0}
    assert len(blocks) > 16 * circuit.and_count
    assert all(one ^ other != number(offset) for one, other in combinations(blocks, 2))


def test_no_key_of_a_gate_is_used_again() -> None:
    keys = GateKeys(SALT)
    found = [keys.next_key().tobytes() for _ in range(1000)]
    assert found == [textbook.gate_key(SALT, place) for place in range(1000)]
    assert len(set(found)) == 1000


def test_an_offset_is_odd_new_and_needed_so() -> None:
    offsets = [draw_offset(Randomness.from_seed(seed)) for seed in range(64)]
    assert all(int(offset[0]) & 1 for offset in offsets)
    assert len({number(offset) for offset in offsets}) == 64
    with pytest.raises(ValueError, match="^offset: .*lowest of which is 1"):
        Garbler(PortableGates(), GateKeys(SALT), offsets[0] ^ np.array([1, 0], np.uint64))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("cut", "must have a multiple of 32 bytes, but the message was cut off; start the session again"),
        (
            "less",
            "must be as many as the circuit's AND gates, but fewer were sent; run the same circuit at both parties",
        ),
        (
            "more",
            "must be as many as the circuit's AND gates, but more were sent; run the same circuit at both parties",
        ),
    ],
)
def test_tables_of_another_circuit_abort(change: str, rule: str) -> None:
    """The refusal is constant: it has no number of what was sent."""
    offset, left, right = draw_offset(Randomness.from_seed(1)), labels(5, 1), labels(5, 2)
    garbler = Garbler(PortableGates(), GateKeys(SALT), offset)
    garbler.conjunction(left, right)
    tables = garbler.take_tables()
    changed = {"cut": tables[:-1], "less": tables[:-32], "more": tables + tables[:32]}[change]
    evaluator = Evaluator(PortableGates(), GateKeys(SALT))
    with pytest.raises(ProtocolError, match=f"^tables: {rule}$"):
        evaluate(evaluator, changed, left, right)


def evaluate(evaluator: Evaluator, tables: bytes, left: Words, right: Words) -> None:
    evaluator.load_tables(tables)
    evaluator.conjunction(left, right)
    evaluator.finish()
