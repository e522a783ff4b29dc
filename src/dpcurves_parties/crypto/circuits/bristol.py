"""Circuits as text, in the form that is called Bristol Fashion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpcurves.arguments import Refused

from .circuit import Circuit, Gate, Kind, Number
from .wiring import ONE, ZERO, Wiring

_WORDS = {Kind.XOR: "XOR", Kind.AND: "AND", Kind.NOT: "INV"}


def to_bristol(circuit: Circuit) -> str:
    """The circuit as text. What is copied to stand at the end, where outputs do, is a gate of its own (EQW).

    Ranges of numbers are not written.
    """
    first, ends = sum(circuit.inputs), circuit.output_wires
    wires = first + len(circuit.gates) + len(ends)
    lines = [_line(gate, first + place) for place, gate in enumerate(circuit.gates)]
    lines += [f"1 1 {wire} {place} EQW" for place, wire in enumerate(ends, first + len(circuit.gates))]
    heads = [(len(lines), wires), (len(circuit.inputs), *circuit.inputs)]
    heads.append((len(circuit.outputs), *(len(number.wires) for number in circuit.outputs)))
    return "\n".join([*(" ".join(map(str, head)) for head in heads), "", *lines, ""])


def _line(gate: Gate, wire: int) -> str:
    if gate.kind == Kind.ZERO:
        return f"1 1 0 {wire} EQ"
    read = f"1 1 {gate.left}" if gate.kind == Kind.NOT else f"2 1 {gate.left} {gate.right}"
    return f"{read} {wire} {_WORDS[gate.kind]}"


def from_bristol(text: str) -> Circuit:
    """The circuit of a text; outputs are numbers without a sign.

    Gates that no output needs, or that are there twice, or whose value is known, are left out.

    Raises:
        ValueError: it is none, or not of this form.
    """
    lines = [words for line in text.splitlines() if (words := line.split())]
    try:
        return _read(lines)
    except (ValueError, IndexError, KeyError) as error:
        rule = error.rule if isinstance(error, Refused) else "a circuit in Bristol Fashion is needed"
        raise Refused("circuit", rule) from None


def _read(lines: Sequence[Sequence[str]]) -> Circuit:
    (gates, count), (_, *inputs), (_, *outputs) = (tuple(map(int, line)) for line in lines[:3])
    if len(lines) - 3 != gates or [len(inputs), len(outputs)] != [int(line[0]) for line in lines[1:3]]:
        raise Refused("circuit", "its head counts other gates, inputs or outputs than there are")
    wiring = Wiring(inputs)
    wires = {wire: wire for wire in range(sum(inputs))}
    for words in lines[3:]:
        for wire, found in _written(wiring, wires, words):
            if wire in wires or not 0 <= wire < count:
                raise Refused("circuit", f"wire {wire} is written twice, or is none")
            wires[wire] = found
    return wiring.circuit(list(_outputs(wires, outputs, count)))


def _written(wiring: Wiring, wires: dict[int, int], words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The wires that a gate writes, and what they are."""
    reads, writes, kind = int(words[0]), int(words[1]), words[-1]
    places = tuple(map(int, words[2:-1]))
    if len(places) != reads + writes or (kind != "MAND" and (reads, writes) != (_READS[kind], 1)):
        raise Refused("circuit", f"a gate {kind} has another number of wires")
    read, written = places[:reads], places[reads:]
    if kind == "MAND":
        pairs = zip(read[:writes], read[writes:], strict=True)
        yield from zip(written, [wiring.conjunction(wires[a], wires[b]) for a, b in pairs], strict=True)
    elif kind == "EQ":
        yield written[0], (ZERO, ONE)[read[0]]
    else:
        yield written[0], _gate(wiring, kind, [wires[place] for place in read])


_READS = {"XOR": 2, "AND": 2, "INV": 1, "EQ": 1, "EQW": 1}


def _gate(wiring: Wiring, kind: str, read: Sequence[int]) -> int:
    if kind == "XOR":
        return wiring.xor(*read)
    if kind == "AND":
        return wiring.conjunction(*read)
    return wiring.negation(*read) if kind == "INV" else read[0]


def _outputs(wires: dict[int, int], widths: Sequence[int], count: int) -> Iterator[Number]:
    start = count - sum(widths)
    for width in widths:
        yield Number(tuple(wires[place] for place in range(start, start + width)), 0, (1 << width) - 1)
        start += width
