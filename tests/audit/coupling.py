"""Couplings of two runs of a protocol: other secret inputs, other coins, the same noisy answer and the same view.

What a party sees has a distribution that its own input and the noisy answer determine if, for two inputs and coins of
noise with one answer, there is a map of all other coins that keeps their measure and the view. Coins are scripted here;
hashes and ciphers that a proof takes for random functions are so, too: in the second run they have other values at
points that the party has never met, and only there. The maps add a constant to uniform numbers, so that equal views
prove equal distributions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import ProtocolError
from dpcurves.noise import Randomness
from dpcurves_parties.crypto import engine as engines
from dpcurves_parties.crypto import garbling, oblivious_transfer, share_checked_cells
from dpcurves_parties.crypto.engine import CONTROL_BIT
from dpcurves_parties.crypto.keys import CheckedShare, PublicShare, SeedShare

Words = NDArray[np.uint64]
Talk = Generator[bytes | None, bytes, Any]
ORDER = 2**252 + 27742317777372353535851937790883648493
"""Points of ristretto255."""
BLOCK = 16


class Coins:
    """Coins of a seed, but for those that are given, by the number of the draw."""

    def __init__(self, seed: int, given: Mapping[int, bytes] | None = None) -> None:
        self._source, self._given = Randomness.from_seed(seed), given or {}
        self.drawn: list[bytes] = []

    def random_bytes(self, length: int) -> bytes:
        fresh = self._source.random_bytes(length)
        found = self._given.get(len(self.drawn), fresh)
        assert len(found) == length
        self.drawn.append(found)
        return found

    @property
    def randomness(self) -> Randomness:
        return Randomness(self.random_bytes, is_seeded=True)


class Played(NamedTuple):
    """A run: messages with their senders, in order, and how each party ended.

    Attributes:
        messages: Sender and bytes.
        ends: The result of each party, or its error in words; None: it was cut off.
    """

    messages: tuple[tuple[int, bytes], ...]
    ends: tuple[Any, Any]

    def to(self, party: int) -> list[bytes]:
        """View of a party."""
        return [message for sender, message in self.messages if sender != party]

    @property
    def shape(self) -> list[tuple[int, int]]:
        """Senders and lengths, in order."""
        return [(sender, len(message)) for sender, message in self.messages]


def played(talks: Sequence[Talk], cut: int | None = None) -> Played:
    """Run both parties message by message. After so many messages have come, the line is cut."""
    ways: tuple[deque[bytes], deque[bytes]] = deque(), deque()
    messages: list[tuple[int, bytes]] = []
    ends: list[Any] = [None, None]
    todo, wanted, come = dict(enumerate(talks)), dict[int, bytes | None](), 0

    def step(number: int, message: bytes | None) -> None:
        try:
            wanted[number] = next(todo[number]) if message is None else todo[number].send(message)
        except StopIteration as end:
            ends[number] = end.value
            del todo[number]
        except ProtocolError as error:
            ends[number] = str(error)
            del todo[number]

    for number in list(todo):
        step(number, None)
    while todo and cut != come:
        ready = [each for each in todo if wanted[each] is not None or ways[each]]
        if not ready:
            break
        number = ready[0]
        message = wanted[number]
        if message is not None:
            messages.append((number, message))
            ways[1 - number].append(message)
            step(number, b"")
        else:
            come += 1
            step(number, ways[number].popleft())
    for talk in todo.values():
        talk.close()
    return Played(tuple(messages), (ends[0], ends[1]))


def scalar(octets: bytes) -> int:
    """The exponent that 64 bytes are reduced to."""
    return int.from_bytes(octets, "little") % ORDER


def octets_of(exponent: int) -> bytes:
    """64 bytes that are reduced to it. The map of exponents adds a constant; that of bytes keeps their classes."""
    return (exponent % ORDER).to_bytes(64, "little")


# The cipher of gates, as a random function of its key and block.


@dataclass
class Gates:
    """Hashes of labels. In the second run those that the evaluator never met are what the same tables need.

    A map of the function's values at two points of a gate: one is met, the other one is the table's row less what is
    met. For a fixed view this is a bijection of the values that were not met: each is uniform and in one row alone.

    Attributes:
        met: The evaluator's points and values, of the first run.
        rows: Tables of the first run, by key.
        changed: Values of the second run that are others.
        second: Whether this is the second run.
    """

    met: dict[bytes, bytes] = field(default_factory=dict)
    rows: dict[bytes, Words] = field(default_factory=dict)
    changed: dict[bytes, bytes] = field(default_factory=dict)
    second: bool = False

    def again(self) -> Gates:
        """Another second run, with a function that is not changed yet."""
        return Gates(self.met, self.rows, {}, second=True)

    @contextmanager
    def run(self) -> Iterator[None]:
        """Have machines of gates ask this function."""
        plain = garbling._hash_blocks

        def hashed(blocks: Words, key: Words) -> Words:
            found: Words = plain(blocks, key)
            if len(blocks) == 4:
                return self._garbled(blocks, key.tobytes(), found)
            for place in np.ndindex(blocks.shape[:2]):
                point = key.tobytes() + blocks[place].tobytes()
                if self.second:
                    assert point not in self.changed, "the evaluator meets what was changed"
                else:
                    self.met[point] = found[place].tobytes()
            return found

        with mock.patch.object(garbling, "_hash_blocks", hashed):
            yield

    def _garbled(self, blocks: Words, key: bytes, found: Words) -> Words:
        if not self.second:
            self.rows[key] = found
            self.rows[key + b"blocks"] = blocks.copy()
            return found
        if key not in self.rows:
            return found
        before, first = self.rows[key], self.rows[key + b"blocks"]
        for instance in range(blocks.shape[1]):
            wanted = _tables(first[:, instance], before[:, instance])
            for half, row in enumerate(_less(blocks[:, instance], wanted)):
                points = [key + blocks[2 * half + one, instance].tobytes() for one in (0, 1)]
                known = [point in self.met for point in points]
                unmet = known.index(False)  # tables that never came were not met at all
                value = found[2 * half + 1 - unmet, instance] ^ row
                if not np.array_equal(value, found[2 * half + unmet, instance]):
                    found[2 * half + unmet, instance] = value
                    self.changed[points[unmet]] = value.tobytes()
        return found


def _label(block: Words) -> Words:
    """The left half's label of a block: sigma's inverse. The place of an instance is in word 0, and is taken as 0."""
    return np.array([block[1], block[0] ^ block[1]], np.uint64)


def _less(blocks: Words, tables: Words) -> tuple[Words, Words]:
    """Sums of the two hashes of either half, from tables and labels of 0 (half gates)."""
    offset = _label(blocks[0] ^ blocks[1])
    return tables[0] ^ (blocks[2][1] & np.uint64(1)) * offset, tables[1] ^ _label(blocks[0])


def _tables(blocks: Words, hashes: Words) -> Words:
    """Both rows of a gate."""
    rest = _less(blocks, np.zeros((2, 2), np.uint64))
    return np.stack([hashes[0] ^ hashes[1] ^ rest[0], hashes[2] ^ hashes[3] ^ rest[1]])


# Key streams of extended transfers, as random functions of their seed.


class Stream:
    """A key stream, which may be another one in the second run."""

    def __init__(self, seed: bytes, plain: Callable[[bytes], Any], streams: Streams) -> None:
        self._seed, self._context, self._streams = seed, plain(seed), streams

    def update_into(self, zeros: bytes, room: Any) -> None:
        self._context.update_into(zeros, room)
        more = self._streams.more
        if more is not None and self._seed in self._streams.unmet:
            np.frombuffer(room, np.uint8)[: len(more)] ^= more


@dataclass
class Streams:
    """Streams of leaves. In the second run the one of each tree that the garbler has not got differs by the bits.

    Attributes:
        calls: How often each seed was met in the first run: once, and not by the garbler; or twice.
        choices: Bits of the first run, call by call.
        more: Bits that the stream that nobody else has is changed by, in this call.
        second: Whether this is the second run.
    """

    calls: dict[bytes, int] = field(default_factory=dict)
    choices: list[Any] = field(default_factory=list)
    more: NDArray[np.uint8] | None = None
    second: bool = False
    _call: int = 0

    def again(self) -> Streams:
        """Another second run."""
        return Streams(self.calls, self.choices, second=True)

    @property
    def unmet(self) -> set[bytes]:
        return {seed for seed, calls in self.calls.items() if calls == 1 and seed != bytes(BLOCK)}

    @contextmanager
    def run(self) -> Iterator[None]:
        """Have transfers ask these streams."""
        plain, labels = oblivious_transfer._create_stream, oblivious_transfer.ExtensionReceiver.labels

        def stream(seed: bytes) -> Any:
            if not self.second:
                self.calls[seed] = self.calls.get(seed, 0) + 1
            return Stream(seed, plain, self)

        def told(side: Any, bits: Any) -> Any:
            if not self.second:
                self.choices.append(np.asarray(bits).copy())
            elif self._call < len(self.choices):
                packed = np.packbits(self.choices[self._call] ^ bits, bitorder="little")
                self.more = np.zeros(oblivious_transfer.pad_bit_count(len(bits)) // 8, np.uint8)
                self.more[: len(packed)] = packed
            self._call += 1
            try:
                return labels(side, bits)
            finally:
                self.more = None

        self._call = 0
        with (
            mock.patch.object(oblivious_transfer, "_create_stream", stream),
            mock.patch.object(oblivious_transfer.ExtensionReceiver, "labels", told),
        ):
            yield


# Expansion of seeds, as random functions: the cells of reports.


@dataclass
class Expansion:
    """Ciphers and hashes of seeds. In the second run they have other values at seeds of one server's paths alone.

    Attributes:
        changed: What is added to the cipher's blocks (XOR), by key and block; and to hashes, by message.
        guarded: Whether whoever asks now must meet none of them.
    """

    changed: dict[bytes, Words] = field(default_factory=dict)
    guarded: bool = False

    def add(self, point: bytes, more: Words) -> None:
        self.changed[point] = self.changed.get(point, np.zeros(len(more), np.uint64)) ^ more

    @contextmanager
    def run(self) -> Iterator[None]:
        """Have the portable engine ask these, and no other engine be there."""
        expansion, plain, digests = self, engines._Cipher, engines.PortableEngine.hash_messages

        class Programmed(plain):  # type: ignore[misc, valid-type]
            __slots__ = ("key",)

            def __init__(self, key: bytes) -> None:
                super().__init__(key)
                self.key = key

            def encrypt(self, blocks: Words, out: Words) -> Words:
                names = [self.key + block.tobytes() for block in blocks]
                found: Words = super().encrypt(blocks, out)
                expansion._apply(names, found)
                return found

        def digested(engine: Any, messages: Words) -> Words:
            found = digests(engine, messages).copy()
            expansion._apply([message.tobytes() for message in messages], found)
            return found

        with (
            mock.patch.object(engines, "_Cipher", Programmed),
            mock.patch.object(engines.PortableEngine, "hash_messages", digested),
            mock.patch.object(engines, "supported_lanes", return_value=0),
        ):
            yield

    def _apply(self, names: Sequence[bytes], found: Words) -> None:
        for place, name in enumerate(names):
            if name in self.changed:
                assert not self.guarded, "a server meets a seed of the other one"
                found[place] ^= self.changed[name]


@dataclass
class Rewriting:
    """Chooses values of the other server's seeds for which a cell has the correction words that are wanted.

    Level by level: the child off the path is what the correction adds up to with this server's, both children's control
    bits are what theirs are, and so are values, by addition. What is chosen was uniform, and is nowhere else.

    Attributes:
        encoding: Of the task, with an engine that asks `expansion`.
        expansion: What is changed.
        cell: The cell of the second run.
        pair: The seeds that the owner drew for both servers.
        view: The server whose view stays as it is.
        wanted: The public words, as a row.
    """

    encoding: Any
    expansion: Expansion
    cell: int
    pair: tuple[bytes, bytes]
    view: int
    wanted: Words

    def __post_init__(self) -> None:
        self.checked = self.encoding.SHARE is share_checked_cells
        self.share: Any = (CheckedShare if self.checked else PublicShare).from_records(
            self.encoding.domain, self.wanted[None]
        )
        self.states = [SeedShare.sample(1, party, Coins(0, {0: self.pair[party]})).words for party in (0, 1)]

    def rewrite(self) -> None:
        domain = self.encoding.domain
        for level in range(domain.bits if self.checked else domain.levels):
            right = self.cell >> (domain.bits - 1 - level) & 1
            if not self.checked:
                self._value(1 - right, self.share.values[level, 0], self._now.values[level, 0])
            self._seeds(level, right)
            words, turns = self.share.seeds[level], self.share.turns
            self.states = [
                self.encoding.engine.children(state[None], words, turns, level)[right : right + 1, 0]
                for state in self.states
            ]
            if self.checked:
                self._value(0, self.share.values[level, 0], self._now.values[level, 0])
                node = np.array([level, self.cell >> (domain.bits - 1 - level), *self._state[0]], np.uint64)
                message = self.encoding.engine.keys.prefix + node.tobytes()
                self.expansion.add(message, self.share.proofs[level, 0] ^ self._now.proofs[level, 0])
        for word in () if self.checked else range(2):
            place = slice(word, word + 1)
            self._value(word, self.share.leaf[0, place], self._now.leaf[0, place])
            if domain.is_enumerable:
                self._value(word, self.share.point[0, place], self._now.point[0, place], left=True)
        assert np.array_equal(self._now.records()[0], self.wanted)

    @property
    def _now(self) -> Any:
        """The public words that the cell has as things are."""
        encoding, script = self.encoding, Coins(0, dict(enumerate(self.pair)))
        return encoding.SHARE(np.array([self.cell], np.uint64), encoding.domain, encoding.engine, script).public

    @property
    def _state(self) -> Words:
        return self.states[1 - self.view]

    def _seeds(self, level: int, right: int) -> None:
        keys, found = self.encoding.engine.keys, self._now
        low = self.share.seeds[level, 0] ^ found.seeds[level, 0]
        top = low[1] & CONTROL_BIT
        low[1] ^= top
        turn = (self.share.turns[0] ^ found.turns[0]) >> np.uint64(level) & np.uint64(1)
        for side, key in enumerate((keys.left, keys.right)):
            more = low.copy() if side != right else np.zeros(2, np.uint64)
            more[1] ^= top ^ (turn << np.uint64(63) if side else np.uint64(0))
            self.expansion.add(key + self._state[0].tobytes(), more)

    def _value(self, word: int, wanted: Words, found: Words, *, left: bool = False) -> None:
        """Change one word of the block of a seed by as much as a correction has to change.

        Server 0's block is subtracted from server 1's, whose control bit turns the correction's sign.
        """
        more = int(wanted[0]) - int(found[0])
        if (int(self.states[1][0, 1]) >> 63) != self.view:
            more = -more
        ciphers, keys = self.encoding.engine._ciphers(), self.encoding.engine.keys
        block = (ciphers.left if left else ciphers.value).expand_blocks(self._state)[0]
        change = np.zeros(2, np.uint64)
        change[word] = block[word] ^ np.uint64((int(block[word]) + more) % 2**64)
        self.expansion.add((keys.left if left else keys.value) + self._state[0].tobytes(), change)
