"""Generic tree of seeds for incremental point functions: the drafts' and the product's differ by the rules alone.

Every rule that differs has a name in `Rules`; what is not named there is written once, below, for both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from vdaf_bases import (
    FIELD_64,
    FIELD_255,
    RING_64,
    RING_128,
    Field,
    Stream,
    tag,
    xof_fixed_key,
    xof_turboshake,
    xor,
)

Path = tuple[int, ...]


@dataclass(frozen=True)
class State:
    """A server's seed and control bit at a node."""

    seed: bytes
    control: int


@dataclass(frozen=True)
class Node:
    """A server's view of a node, with the weight in its own sign and the corrected proof."""

    state: State
    weight: list[int]
    proof: bytes


@dataclass(frozen=True)
class Correction:
    """Correction word of one level."""

    seed: bytes
    controls: tuple[int, int]
    weight: list[int]
    proof: bytes


@dataclass(frozen=True)
class Rules:
    """Differences between schemes.

    Attributes:
        extend: Children of a state at a level, before they are corrected.
        convert: Seed that goes on from a corrected child at a level, and the numbers of its weight.
        field: Field or ring of the weights of a level.
        proof: Hash of the state of the node at the end of a path; empty where nodes are not proved.
    """

    extend: Callable[[int, State], tuple[State, State]]
    convert: Callable[[int, State], tuple[bytes, list[int]]]
    field: Callable[[int], Field]
    proof: Callable[[Path, State], bytes]


def _corrected(child: State, correction_seed: bytes, control: int, by: int) -> State:
    return State(xor(child.seed, correction_seed), child.control ^ control) if by else child


def generate(rules: Rules, path: Path, weights: Sequence[Sequence[int]], keys: tuple[bytes, bytes]) -> list[Correction]:
    """Correction words for weights along a path, one a level, from both servers' seeds."""
    states, made = [State(keys[0], 0), State(keys[1], 1)], []
    for level, (turn, wanted) in enumerate(zip(path, weights, strict=True)):
        children = [rules.extend(level, state) for state in states]
        seed = xor(*(pair[1 - turn].seed for pair in children))
        left, right = (children[0][side].control ^ children[1][side].control ^ (side == turn) for side in (0, 1))
        controls = int(left), int(right)
        kept = [
            _corrected(pair[turn], seed, controls[turn], state.control)
            for pair, state in zip(children, states, strict=True)
        ]
        (first, w0), (second, w1) = (rules.convert(level, state) for state in kept)
        states = [State(first, kept[0].control), State(second, kept[1].control)]
        field = rules.field(level)
        weight = field.added(field.subtracted(wanted, w0), w1)
        proof = xor(*(rules.proof(path[: level + 1], state) for state in states))
        made.append(Correction(seed, controls, field.negated(weight) if states[1].control else weight, proof))
    return made


def step(rules: Rules, state: State, correction: Correction, path: Path) -> Node:
    """The node at the end of a path, from the state one level above it. Weights have no sign yet."""
    level, turn = len(path) - 1, path[-1]
    child = _corrected(rules.extend(level, state)[turn], correction.seed, correction.controls[turn], by=state.control)
    seed, weight = rules.convert(level, child)
    below = State(seed, child.control)
    proof = rules.proof(path, below)
    if below.control:
        weight, proof = rules.field(level).added(weight, correction.weight), xor(proof, correction.proof)
    return Node(below, weight, proof)


def root(key: bytes, party: int) -> State:
    return State(key, party)


def evaluate(rules: Rules, party: int, corrections: Sequence[Correction], key: bytes, path: Path) -> list[int]:
    """Share of the weight at the end of a path, in the server's sign."""
    state = root(key, party)
    for level in range(len(path)):
        node = step(rules, state, corrections[level], path[: level + 1])
        state = node.state
    return rules.field(len(path) - 1).negated(node.weight) if party else node.weight


# The drafts: a stream for each state, keyed by the report's nonce; the control bit is the lowest bit of the first byte.
def _from_stream(stream: Stream) -> tuple[State, State]:
    blocks = stream.take(16), stream.take(16)
    left, right = (State(bytes([block[0] & 0xFE]) + block[1:], block[0] & 1) for block in blocks)
    return left, right


def idpf_rules(bits: int, values: int, ctx: bytes, nonce: bytes) -> Rules:
    """IdpfBBCGGI21 of the VDAF draft: Field64 above leaves, Field255 and TurboSHAKE at leaves, no proofs."""

    def stream(level: int, seed: bytes, usage: int) -> Stream:
        xof = xof_fixed_key if level < bits - 1 else xof_turboshake
        return xof(seed, tag(1, 0, usage, ctx), nonce)

    def field(level: int) -> Field:
        return FIELD_64 if level < bits - 1 else FIELD_255

    def convert(level: int, state: State) -> tuple[bytes, list[int]]:
        numbers = stream(level, state.seed, 1)
        return numbers.take(16), numbers.elements(field(level), values)

    return Rules(
        lambda level, state: _from_stream(stream(level, state.seed, 0)), convert, field, lambda path, state: b""
    )


def vidpf_rules(bits: int, values: int, ctx: bytes, nonce: bytes) -> Rules:
    """The verifiable point function of the Mastic draft: one field for all levels, and nodes' proofs by TurboSHAKE."""

    def convert(_level: int, state: State) -> tuple[bytes, list[int]]:
        numbers = xof_fixed_key(state.seed, mastic_tag(11, ctx), nonce)
        return numbers.take(16), numbers.elements(FIELD_64, values)

    def proof(path: Path, state: State) -> bytes:
        binder = bits.to_bytes(2, "little") + (len(path) - 1).to_bytes(2, "little") + packed_path(path)
        return xof_turboshake(state.seed, mastic_tag(9, ctx), binder).take(32)

    return Rules(
        lambda _level, state: _from_stream(xof_fixed_key(state.seed, mastic_tag(10, ctx), nonce)),
        convert,
        lambda _level: FIELD_64,
        proof,
    )


def mastic_tag(usage: int, ctx: bytes, algorithm: bytes = b"") -> bytes:
    return b"mastic" + bytes([0, usage]) + algorithm + ctx


def packed_path(path: Path) -> bytes:
    """Eight turns a byte, the first in the highest bit."""
    turns = [*path, *[0] * (-len(path) % 8)]
    return bytes(
        sum(turn << (7 - place) for place, turn in enumerate(turns[start : start + 8]))
        for start in range(0, len(turns), 8)
    )


def packed_bits(bits: Sequence[int]) -> bytes:
    """Eight bits a byte, the first in the lowest bit."""
    return sum(bit << place for place, bit in enumerate(bits)).to_bytes((len(bits) + 7) // 8, "little")


def packed_corrections(rules: Rules, corrections: Sequence[Correction]) -> bytes:
    """The public share of the drafts: all control bits, all seeds, all weights, all proofs."""
    return b"".join(
        [
            packed_bits([bit for correction in corrections for bit in correction.controls]),
            *(correction.seed for correction in corrections),
            *(rules.field(level).packed(correction.weight) for level, correction in enumerate(corrections)),
            *(correction.proof for correction in corrections),
        ]
    )


def unpacked_corrections(rules: Rules, raw: bytes, levels: int, values: int) -> list[Correction]:
    """Correction words of a public share without proofs.

    Raises:
        ValueError: bits or bytes are left over, or an element is not below its modulus.
    """
    size = (2 * levels + 7) // 8
    controls, raw = int.from_bytes(raw[:size], "little"), raw[size:]
    seeds, raw = [raw[16 * level : 16 * level + 16] for level in range(levels)], raw[16 * levels :]
    made = []
    for level, seed in enumerate(seeds):
        field = rules.field(level)
        weight, raw = field.elements(raw[: values * field.size]), raw[values * field.size :]
        pair = controls >> 2 * level & 1, controls >> 2 * level + 1 & 1
        made.append(Correction(seed, pair, weight, b""))
    if raw or controls >> 2 * levels:
        raise ValueError("something is left over")
    return made


# The product: AES keys of a task, a ring, the control bit kept in the seed's top bit where it goes through AES too.
def checked_rules(task_keys: Sequence[bytes], words: int) -> Rules:
    """Checked keys of the product.

    Args:
        task_keys: Keys of left and right children, of values, another one, and the prefix of hashes.
    """
    left, right, value = (
        Cipher(algorithms.AES128(key), modes.ECB()).encryptor() for key in (task_keys[0], task_keys[1], task_keys[2])
    )
    ring = RING_64 if words == 1 else RING_128

    def extend(_level: int, state: State) -> tuple[State, State]:
        block = whole(state)
        first, second = (split(xor(cipher.update(block), block)) for cipher in (left, right))
        return first, second

    def convert(_level: int, state: State) -> tuple[bytes, list[int]]:
        block = whole(state)
        return state.seed, ring.elements(xor(value.update(block), block)[: ring.size])

    def proof(path: Path, state: State) -> bytes:
        place = int("".join(map(str, path)), 2)
        numbers = (len(path) - 1).to_bytes(8, "little") + place.to_bytes(8, "little")
        return hashlib.sha256(task_keys[4] + numbers + whole(state)).digest()

    return Rules(extend, convert, lambda _level: ring, proof)


def whole(state: State) -> bytes:
    """Seed with its control bit in the top bit of the last byte."""
    return state.seed[:15] + bytes([state.seed[15] | state.control << 7])


def split(block: bytes) -> State:
    return State(block[:15] + bytes([block[15] & 0x7F]), block[15] >> 7)


def checked_record(rules: Rules, corrections: Sequence[Correction]) -> bytes:
    """Correction words as the product writes them: the right child's control bit is told by how it differs."""
    turns = sum((left ^ right) << level for level, (left, right) in enumerate(c.controls for c in corrections))
    return b"".join(
        [
            *(whole(State(correction.seed, correction.controls[0])) for correction in corrections),
            *(rules.field(level).packed(correction.weight) for level, correction in enumerate(corrections)),
            *(correction.proof for correction in corrections),
            turns.to_bytes(8, "little"),
        ]
    )
