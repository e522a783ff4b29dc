"""Loops over keys, leaves and AND gates with the processor's AES and SHA instructions, as LLVM code.

Import only where these exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from inspect import Parameter, Signature
from math import isqrt
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dpcurves.arrays import compiled

# Loops over keys with the processor's AES instructions, emitted as LLVM code. Import this only where they exist.
#
# A block is two 64-bit words. `lanes` blocks are held in one register, and `GROUPS` registers are worked on at a time,
# for a round of AES takes several cycles. Whatever is left over goes one block at a time. All arrays hold the words of
# one key, or of one number, side by side. numba keeps compiled loops till their own file changes: whoever changes the
# emitter has to empty `__pycache__`.
GROUPS = 4
ROUNDS = 10
_I64 = ir.IntType(64)
_TOP = 1 << 63
_TOOLS: Any = cgutils
_SUFFIX = {1: "", 2: ".256"}


def emitted(*names: str) -> Callable[[Callable[[Any, Any, Any, Any], None]], Any]:
    """Intrinsic of numba with arguments of these names, whose code a function writes. It returns nothing.

    The function is told numba's context, a builder of code, the types of the arguments, and the arguments. Whole
    numbers that are known when code is compiled are of types that have a `literal_value`.
    """

    def of(emit: Callable[[Any, Any, Any, Any], None]) -> Any:
        def typed(typing: Any, *kinds: Any) -> Any:
            def written(context: Any, builder: Any, signature: Any, given: Any) -> Any:
                emit(context, builder, signature.args, given)
                return context.get_dummy_value()

            return types.void(*kinds), written

        parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in ("typing", *names)]
        typed.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        typed.__name__ = emit.__name__
        return intrinsic(prefer_literal=True)(typed)

    return of


def place_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Pointer to the data of an array."""
    return context.make_array(kind)(context, builder, array).data


class Emitter:
    """Emits code for `groups` registers of `lanes` blocks each, from key number `first` on."""

    def __init__(self, context: Any, builder: Any, lanes: int, words: int, groups: int) -> None:
        self.context, self.builder = context, builder
        self.lanes, self.words, self.groups = lanes, words, groups
        self.wide = ir.VectorType(_I64, 2 * lanes)  # of blocks
        self.narrow = ir.VectorType(_I64, lanes)  # of words
        self.numbers = self.narrow if words == 1 else ir.VectorType(ir.IntType(128), lanes)

    def data(self, kinds: Any, arrays: Any) -> list[Any]:
        """Pointers to the data of the arrays in a tuple."""
        return [
            place_of(self.context, self.builder, kind, array)
            for kind, array in zip(kinds, _TOOLS.unpack_tuple(self.builder, arrays), strict=True)
        ]

    def load(self, base: Any, first: Any, stride: int, kind: Any) -> list[Any]:
        """A register for each group, from arrays with `stride` words a key."""
        return [self._load(self._place(base, first, group * self.lanes, stride, kind)) for group in range(self.groups)]

    def store(self, registers: Sequence[Any], base: Any, first: Any, stride: int) -> None:
        for group, register in enumerate(registers):
            place = self._place(base, first, group * self.lanes, stride, register.type)
            self.builder.store(register, place, align=8)

    def _place(self, base: Any, first: Any, offset: int, stride: int, kind: Any) -> Any:
        key = self.builder.add(first, _I64(offset))
        return self.builder.bitcast(self.builder.gep(base, [self.builder.mul(key, _I64(stride))]), kind.as_pointer())

    def _load(self, place: Any) -> Any:
        loaded = self.builder.load(place)
        loaded.align = 8
        return loaded

    def expanded(self, blocks: Sequence[Any], *schedules: Any) -> list[list[Any]]:
        """``AES(blocks) xor blocks`` under each schedule of round keys ``(11, 2 * lanes)``, all rounds side by side."""
        kind = ir.FunctionType(self.wide, [self.wide, self.wide])
        name = "llvm.x86.aesni.aesenc{}" + _SUFFIX[self.lanes]
        middle, last = (
            _TOOLS.get_or_insert_function(self.builder.module, kind, name.format(part)) for part in ("", "last")
        )
        place = partial(self._place, offset=0, stride=2 * self.lanes, kind=self.wide)
        keys = [[self._load(place(schedule, _I64(n))) for n in range(ROUNDS + 1)] for schedule in schedules]
        chains = [[self.builder.xor(block, rounds[0]) for block in blocks] for rounds in keys]
        for number in range(1, ROUNDS + 1):
            turn = last if number == ROUNDS else middle
            chains = [
                [self.builder.call(turn, [block, rounds[number]]) for block in chain]
                for chain, rounds in zip(chains, keys, strict=True)
            ]
        return [
            [self.builder.xor(after, block) for after, block in zip(chain, blocks, strict=True)] for chain in chains
        ]

    def filled(self, kind: Any, value: int) -> Any:
        """Vector with one constant everywhere."""
        return ir.Constant(kind, [value] * kind.count)

    def top(self) -> Any:
        """The control bits of blocks."""
        return ir.Constant(self.wide, [0, _TOP] * self.lanes)

    def spread(self, number: Any, kind: Any) -> Any:
        """Broadcast a number known only when the code runs."""
        alone = self.builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.IntType(32)(0))
        return self._shuffled(alone, alone, [0] * kind.count)

    def control(self, block: Any) -> Any:
        """Bit mask of blocks: ones in both words where the control bit is set, else zeros."""
        high = self._shuffled(block, block, [2 * (place // 2) + 1 for place in range(2 * self.lanes)])
        return self.builder.ashr(high, self.filled(self.wide, 63))

    def word(self, block: Any, place: int) -> Any:
        """The low word of each block (place 0), or the high one."""
        return self._shuffled(block, block, [2 * lane + place for lane in range(self.lanes)])

    def both(self, words: Any) -> Any:
        """Blocks with the same word twice."""
        return self._shuffled(words, words, [lane // 2 for lane in range(2 * self.lanes)])

    def high(self, words: Any) -> Any:
        """Blocks with these high words; their low words are 0."""
        places = [place for lane in range(self.lanes) for place in (lane, self.lanes + lane)]
        return self._shuffled(self.filled(self.narrow, 0), words, places)

    def number(self, block: Any, place: int) -> Any:
        """The numbers of blocks: of two 64-bit numbers the one at `place`, else the only one."""
        return self.word(block, place) if self.words == 1 else self.builder.bitcast(block, self.numbers)

    def chosen(self, right: Any, left_side: Any, right_side: Any) -> Any:
        """The right side where the mask is all ones."""
        either = self.builder.and_(self.builder.xor(left_side, right_side), right)
        return self.builder.xor(left_side, either)

    def corrected(self, blocks: Sequence[Any], controls: Sequence[Any], corrections: Sequence[Any]) -> list[Any]:
        """The blocks, corrected where their parents' control bits are set."""
        masked = [self.builder.and_(*both) for both in zip(corrections, controls, strict=True)]
        return [self.builder.xor(*both) for both in zip(blocks, masked, strict=True)]

    def turned(self, turns: Any, first: Any, level: Any) -> list[Any]:
        """Correction of the control bits of right children, beyond that of left ones."""
        shift = self.spread(self.builder.sub(_I64(63), level), self.narrow)
        words = [self.builder.shl(bits, shift) for bits in self.load(turns, first, 1, self.narrow)]
        return [self.builder.and_(self.high(word), self.top()) for word in words]

    def _shuffled(self, first: Any, second: Any, places: list[int]) -> Any:
        kind = ir.VectorType(ir.IntType(32), len(places))
        return self.builder.shuffle_vector(first, second, ir.Constant(kind, places))


@emitted("state", "public", "round_keys", "first", "level", "lanes", "words", "turn", "groups")
def _down(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    """Expand nodes to the next level of the tree, in place."""
    first, level, (lanes, words, turn, groups) = given[3], given[4], (kind.literal_value for kind in kinds[5:])
    code = Emitter(context, builder, lanes, words, groups)
    at = [place for number in range(3) for place in code.data(kinds[number], given[number])]
    seeds, values, seed_words, value_words, turns, child, value = at
    build, stride = code.builder, code.words
    blocks = code.load(seeds, first, 2, code.wide)
    children, gains = code.expanded(blocks, child, value)
    controls = [code.control(block) for block in blocks]
    children = code.corrected(children, controls, code.load(seed_words, first, 2, code.wide))
    if turn:
        children = code.corrected(children, controls, code.turned(turns, first, level))
    code.store(children, seeds, first, 2)
    sums = code.load(values, first, stride, code.numbers)
    owed = code.load(value_words, first, stride, code.numbers)
    for place, control in enumerate(controls):
        corrected = build.and_(owed[place], code.number(control, 1))
        sums[place] = build.add(sums[place], build.add(code.number(gains[place], turn), corrected))
    code.store(sums, values, first, stride)


@cache
def descent(lanes: int, words: int) -> Callable[..., None]:
    """The loop that takes states down some levels, for registers of `lanes` blocks and numbers of `words` words."""
    groups, width = GROUPS, GROUPS * lanes

    def descend(  # noqa: PLR0917
        state: Any,
        seed_words: Any,
        value_words: Any,
        turns: Any,
        wide: Any,
        single: Any,
        start: int,
        stop: int,
        path: Any,
    ) -> None:
        whole = len(turns) // width * width
        for level in range(start, stop):
            public = seed_words[level], value_words[level], turns
            if path >> np.uint64(stop - 1 - level) & np.uint64(1):
                for i in range(0, whole, width):
                    _down(state, public, (wide[1], wide[3]), i, level, lanes, words, 1, groups)
                for i in range(whole, len(turns)):
                    _down(state, public, (single[1], single[3]), i, level, 1, words, 1, 1)
            else:
                for i in range(0, whole, width):
                    _down(state, public, (wide[0], wide[2]), i, level, lanes, words, 0, groups)
                for i in range(whole, len(turns)):
                    _down(state, public, (single[0], single[2]), i, level, 1, words, 0, 1)

    return compiled(descend)


@emitted("owner", "public", "round_keys", "first", "bit", "level", "lanes", "words")
def _correct(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    """Correction words of one level, and the seeds of both servers one level deeper."""
    (first, bit, level), (lanes, words) = given[3:6], (kind.literal_value for kind in kinds[6:])
    code = Emitter(context, builder, lanes, words, 1)
    at = [place for number in range(2) for place in code.data(kinds[number], given[number])]
    keys = place_of(context, builder, kinds[2], given[2])
    cells, firsts, seconds, owed, seed_words, value_words, turns = at
    build = code.builder
    pair = [code.load(base, first, 2, code.wide)[0] for base in (firsts, seconds)]
    cell = code.load(cells, first, 1, code.narrow)[0]
    one = code.filled(code.narrow, 1)
    below = build.sub(code.filled(code.narrow, 0), build.and_(build.lshr(cell, code.spread(bit, code.narrow)), one))
    right = code.both(below)
    schedules = [build.gep(keys, [_I64(number * 22 * code.lanes)]) for number in range(2 + code.words)]
    lefts, rights, *blocks = code.expanded(pair, *schedules)
    correction, turn = _corrections(code, right, build.xor(*lefts), build.xor(*rights))
    code.store([correction], seed_words, first, 2)
    moved = build.lshr(code.word(turn, 1), code.spread(build.sub(_I64(63), level), code.narrow))
    code.store([build.or_(code.load(turns, first, 1, code.narrow)[0], moved)], turns, first, 1)
    correction = build.xor(correction, build.and_(turn, right))
    for number, base in enumerate((firsts, seconds)):
        kept = code.chosen(right, lefts[number], rights[number])
        masked = build.and_(correction, code.control(pair[number]))
        code.store([build.xor(kept, masked)], base, first, 2)
    ways = [[code.number(block, place) for block in blocks[place % len(blocks)]] for place in (0, 1)]
    _correct_values(
        code, [code.number(part, 1) for part in (right, code.control(pair[1]))], ways, (owed, value_words), first
    )


def _corrections(code: Emitter, right: Any, left_difference: Any, right_difference: Any) -> tuple[Any, Any]:
    """The correction of seeds, and where control bits of right children are corrected otherwise."""
    build, top = code.builder, code.top()
    left_control = build.and_(build.xor(left_difference, build.not_(right)), top)
    right_control = build.and_(build.xor(right_difference, right), top)
    lost = code.chosen(right, right_difference, left_difference)
    return build.or_(build.and_(lost, build.not_(top)), left_control), build.xor(left_control, right_control)


def _correct_values(code: Emitter, masks: list[Any], ways: list[list[Any]], at: tuple[Any, Any], first: Any) -> None:
    """The correction of values, and what is owed one level deeper; `ways`: of both servers, left and right."""
    build, (right, sign), (owed, value_words) = code.builder, masks, at
    kept = [code.chosen(right, left, other) for left, other in zip(*ways, strict=True)]
    lost = [code.chosen(right, other, left) for left, other in zip(*ways, strict=True)]
    unit = build.and_(build.not_(right), code.filled(code.numbers, 1))
    before = code.load(owed, first, code.words, code.numbers)[0]
    gained = build.add(build.sub(lost[1], lost[0]), build.sub(unit, before))
    code.store([build.sub(build.xor(gained, sign), sign)], value_words, first, code.words)
    code.store([build.add(build.add(before, build.sub(*kept)), gained)], owed, first, code.words)


@cache
def generation(lanes: int, words: int) -> Callable[..., None]:
    """Compile the loop that makes correction words of all levels."""

    def generate(  # noqa: PLR0917
        owner: Any, seed_words: Any, value_words: Any, turns: Any, wide: Any, single: Any, bits: int
    ) -> None:
        whole = len(turns) // lanes * lanes
        for level in range(len(seed_words)):
            public, bit = (seed_words[level], value_words[level], turns), bits - 1 - level
            for i in range(0, whole, lanes):
                _correct(owner, public, wide, i, bit, level, lanes, words)
            for i in range(whole, len(turns)):
                _correct(owner, public, single, i, bit, level, 1, words)

    return compiled(generate)


@emitted("blocks", "public", "round_keys", "first", "level", "lanes", "groups")
def _double(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    first, level, (lanes, groups) = given[3], given[4], (kind.literal_value for kind in kinds[5:])
    code = Emitter(context, builder, lanes, 1, groups)
    (parents, left, right), (words, turns), keys = (code.data(kinds[n], given[n]) for n in range(3))
    seeds = code.load(parents, first, 2, code.wide)
    controls = [code.control(seed) for seed in seeds]
    corrections = code.load(words, first, 2, code.wide)
    lefts, rights = (code.corrected(side, controls, corrections) for side in code.expanded(seeds, *keys))
    code.store(lefts, left, first, 2)
    code.store(code.corrected(rights, controls, code.turned(turns, first, level)), right, first, 2)


@cache
def doubling(lanes: int) -> Callable[..., None]:
    """The loop from nodes ``(nodes, keys, 2)`` of a level to their children ``(2 * nodes, keys, 2)``."""
    groups, width = GROUPS, GROUPS * lanes

    def double(  # noqa: PLR0917
        nodes: Any, below: Any, seed_words: Any, turns: Any, wide: Any, single: Any, level: int
    ) -> None:
        whole, public = len(turns) // width * width, (seed_words, turns)
        for node in range(len(nodes)):
            blocks = nodes[node], below[2 * node], below[2 * node + 1]
            for i in range(0, whole, width):
                _double(blocks, public, (wide[0], wide[1]), i, level, lanes, groups)
            for i in range(whole, len(turns)):
                _double(blocks, public, (single[0], single[1]), i, level, 1, 1)

    return compiled(double)


@emitted("arrays", "round_keys", "first", "lanes", "words", "groups")
def _read(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    code = Emitter(context, builder, *(kind.literal_value for kind in kinds[3:]))
    leaves, corrections, blocks = code.data(kinds[0], given[0])
    parts = _said(code, (leaves, corrections), place_of(context, builder, kinds[1], given[1]), given[2])
    code.store([builder.bitcast(builder.add(*both), code.wide) for both in parts], blocks, given[2], 2)


def _said(code: Emitter, at: tuple[Any, Any], key: Any, first: Any) -> list[tuple[Any, Any]]:
    """Blocks of leaves and their corrections, both as numbers to be added."""
    kind = code.wide if code.words == 1 else code.numbers
    seeds = code.load(at[0], first, 2, code.wide)
    (blocks,) = code.expanded(seeds, key)
    corrections = code.load(at[1], first, 2, code.wide)
    masked = [code.builder.and_(code.control(seed), each) for seed, each in zip(seeds, corrections, strict=True)]
    numbers = [[code.builder.bitcast(each, kind) for each in part] for part in (blocks, masked)]
    return list(zip(*numbers, strict=True))


@cache
def reading(lanes: int, words: int) -> Callable[..., None]:
    """The compiled loop that adds up a key's leaves at all points: two 64-bit words for each key."""
    groups, width = GROUPS, GROUPS * lanes

    def read(leaves: Any, corrections: Any, blocks: Any, wide: Any, single: Any) -> None:
        whole, arrays = len(blocks) // width * width, (leaves, corrections, blocks)
        for i in range(0, whole, width):
            _read(arrays, wide, i, lanes, words, groups)
        for i in range(whole, len(blocks)):
            _read(arrays, single, i, 1, words, 1)

    return compiled(read)


@emitted("arrays", "round_keys", "first", "lanes", "words", "groups")
def _gather(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    code = Emitter(context, builder, *(kind.literal_value for kind in kinds[3:]))
    (leaves, points, sums), key = code.data(kinds[0], given[0]), place_of(context, builder, kinds[1], given[1])
    kind = code.wide if code.words == 1 else code.numbers
    total = builder.bitcast(code.load(sums, _I64(0), 2, code.wide)[0], kind)
    for block, masked in _said(code, (leaves, points), key, given[2]):
        total = builder.add(total, builder.add(block, masked))
    code.store([builder.bitcast(total, code.wide)], sums, _I64(0), 2)


@cache
def gathering(lanes: int, words: int) -> Callable[..., None]:
    """The loop that adds up what leaves ``(nodes, keys, 2)`` say, a lane at a time: ``(nodes, 2 * lanes)``."""
    groups, width = GROUPS, GROUPS * lanes

    def gather(nodes: Any, point: Any, sums: Any, wide: Any, single: Any) -> None:
        whole = len(point) // width * width
        for node in range(len(nodes)):
            arrays = nodes[node], point, sums[node]
            for i in range(0, whole, width):
                _gather(arrays, wide, i, lanes, words, groups)
            for i in range(whole, len(point)):
                _gather(arrays, single, i, 1, words, 1)

    return compiled(gather)


# SHA-256 of short messages with the processor's instructions, emitted as LLVM code. Import this only where they exist.
#
# A message is 48 bytes and fills one block with its padding. Words of 32 bits are held four in a register; the
# registers of `GROUPS` messages are worked on side by side, for a round takes several cycles.
HASH_GROUPS = 2
MESSAGE_WORDS = 6
_DIGEST_WORDS = 4
_I32, _WIDE = ir.IntType(32), ir.IntType(64)
_FOUR = ir.VectorType(_I32, 4)


def _primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % prime for prime in found):
            found.append(candidate)
        candidate += 1
    return found


def _cube_root(number: int) -> int:
    low, high = 0, 1 << (number.bit_length() // 3 + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= number else (low, middle - 1)
    return low


# The first 32 bits of the fractional parts of roots of primes (FIPS 180-4, sections 4.2.2 and 5.3.3).
ROUND_WORDS = [_cube_root(prime << 96) % 2**32 for prime in _primes(64)]
START_WORDS = [isqrt(prime << 64) % 2**32 for prime in _primes(8)]


class _Emitter:
    """Emits code over one register of each message."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def instruction(self, name: str, *registers: Any) -> Any:
        kind = ir.FunctionType(_FOUR, [_FOUR] * len(registers))
        function = _TOOLS.get_or_insert_function(self.builder.module, kind, f"llvm.x86.sha256{name}")
        return self.builder.call(function, registers)

    def swapped(self, register: Any) -> Any:
        """With the bytes of each word the other way round."""
        kind = ir.FunctionType(_FOUR, [_FOUR])
        return self.builder.call(
            _TOOLS.get_or_insert_function(self.builder.module, kind, "llvm.bswap.v4i32"), [register]
        )

    def shuffled(self, first: Any, second: Any, *places: int) -> Any:
        return self.builder.shuffle_vector(first, second, ir.Constant(_FOUR, places))

    def place(self, base: Any, message: Any, words: int, number: int) -> Any:
        """Pointer to register `number` of a message, in rows of so many 64-bit words."""
        start = self.builder.add(self.builder.mul(message, _WIDE(words)), _WIDE(2 * number))
        return self.builder.bitcast(self.builder.gep(base, [start]), _FOUR.as_pointer())

    def words(self, base: Any, message: Any) -> list[Any]:
        """The sixteen words of a message's block."""
        loaded = []
        for number in range(3):
            register = self.builder.load(self.place(base, message, MESSAGE_WORDS, number))
            register.align = 8
            loaded.append(self.swapped(register))
        return [*loaded, ir.Constant(_FOUR, [1 << 31, 0, 0, 64 * MESSAGE_WORDS])]

    def next_words(self, words: Sequence[Any]) -> Any:
        """The four words after the last sixteen."""
        shifted = self.shuffled(words[2], words[3], 1, 2, 3, 4)
        return self.instruction(
            "msg2", self.builder.add(self.instruction("msg1", words[0], words[1]), shifted), words[3]
        )

    def four_rounds(self, state: tuple[Any, Any], words: Any, number: int) -> tuple[Any, Any]:
        """Words f e b a and h g d c of the state, after rounds ``4 * number`` to ``4 * number + 3``."""
        first, second = state
        keyed = self.builder.add(words, ir.Constant(_FOUR, ROUND_WORDS[4 * number : 4 * number + 4]))
        second = self.instruction("rnds2", second, first, keyed)
        first = self.instruction("rnds2", first, second, self.shuffled(keyed, keyed, 2, 3, 0, 0))
        return first, second

    def store(self, state: tuple[Any, Any], base: Any, message: Any) -> None:
        first, second = state
        for number, places in enumerate(((3, 2, 7, 6), (1, 0, 5, 4))):
            register = self.swapped(self.shuffled(first, second, *places))
            self.builder.store(register, self.place(base, message, _DIGEST_WORDS, number), align=8)


@emitted("messages", "digests", "first", "groups")
def _digest(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    code = _Emitter(builder)
    read, written = (place_of(context, builder, kinds[n], given[n]) for n in (0, 1))
    numbers = [builder.add(given[2], _WIDE(group)) for group in range(kinds[3].literal_value)]
    a, b, c, d, e, f, g, h = START_WORDS
    start = ir.Constant(_FOUR, [f, e, b, a]), ir.Constant(_FOUR, [h, g, d, c])
    words = [code.words(read, number) for number in numbers]
    states = [start for _ in numbers]
    for number in range(16):
        states = [code.four_rounds(state, each[0], number) for state, each in zip(states, words, strict=True)]
        words = [[*each[1:], code.next_words(each)] if number < 12 else each[1:] for each in words]
    for state, number in zip(states, numbers, strict=True):
        added = code.builder.add(state[0], start[0]), code.builder.add(state[1], start[1])
        code.store(added, written, number)


@cache
def digesting() -> Callable[..., None]:
    """The loop from messages ``(count, 6)`` to digests ``(count, 4)``, both little-endian words."""
    groups = HASH_GROUPS

    def digest(messages: Any, digests: Any) -> None:
        whole = len(messages) // groups * groups
        for i in range(0, whole, groups):
            _digest(messages, digests, i, groups)
        for i in range(whole, len(messages)):
            _digest(messages, digests, i, 1)

    return compiled(digest)


# Looks at a node of checked keys: both children, their hashes and weights, and a mark of all of it.
SEEN = 128
"""Keys that are looked at together, so that all of it stays in the first cache."""
MARKED = 5


@emitted("arrays", "round_keys", "first", "lanes", "groups")
def _expand(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    code = Emitter(context, builder, kinds[3].literal_value, 1, kinds[4].literal_value)
    (blocks, written), key = code.data(kinds[0], given[0]), place_of(context, builder, kinds[1], given[1])
    (found,) = code.expanded(code.load(blocks, given[2], 2, code.wide), key)
    code.store(found, written, given[2], 2)


@emitted("planes", "written", "round_keys", "first", "lanes", "groups")
def _mark(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    """The sum (xor) of the blocks of each key, which lie in a plane for each place, each encrypted."""
    lanes, groups = (kind.literal_value for kind in kinds[4:])
    code = Emitter(context, builder, lanes, 1, groups)
    written, key = (place_of(context, builder, kinds[n], given[n]) for n in (1, 2))
    blocks = [block for plane in code.data(kinds[0], given[0]) for block in code.load(plane, given[3], 2, code.wide)]
    (found,) = code.expanded(blocks, key)
    marks = []
    for group in range(groups):
        total = code.filled(code.wide, 0)
        for block, after in zip(blocks[group::groups], found[group::groups], strict=True):
            total = builder.xor(total, builder.xor(block, after))  # AES alone, without what it was expanded by
        marks.append(total)
    code.store(marks, written, given[3], 2)


@cache
def seeing(lanes: int) -> Callable[..., Any]:
    """The loop that looks at a node of some keys: it writes marks, and returns the sum of the left children's weights.

    `words`: correction words of the node's children: seeds, values, proofs and turns. `own`: that of the node's own
    value, or none at the root, whose weight is `start`.
    """
    groups, width = GROUPS, GROUPS * lanes

    def see(  # noqa: PLR0912, PLR0917
        seeds: Any, own: Any, start: Any, words: Any, head: Any, level: int, wide: Any, single: Any, key: Any,
        masks: Any, marks: Any,
    ) -> Any:  # fmt: skip
        seed_words, value_words, proof_words, turns = words
        mark_wide, mark_single = np.empty((11, 2 * lanes), np.uint64), np.empty((11, 2), np.uint64)
        _schedule(key, mark_wide, lanes)
        _schedule(key, mark_single, 1)
        below, blocks = np.empty((2, SEEN, 2), np.uint64), np.empty((3, SEEN, 2), np.uint64)
        messages, digests = np.empty((2 * SEEN, MESSAGE_WORDS), np.uint64), np.empty((2 * SEEN, 4), np.uint64)
        planes = np.zeros((MARKED, SEEN, 2), np.uint64)
        for j in range(2 * SEEN):
            for word in range(4):
                messages[j, word] = head[word]
            messages[j, 3] += np.uint64(j & 1)
        total, few = np.uint64(0), np.uint64(63)
        for begin in range(0, len(seeds), SEEN):
            count = min(SEEN, len(seeds) - begin)
            whole, end = count // width * width, begin + count
            parents, public = seeds[begin:end], (seed_words[begin:end], turns[begin:end])
            family = parents, below[0], below[1]
            for i in range(0, whole, width):
                _double(family, public, (wide[0], wide[1]), i, level, lanes, groups)
                _expand((parents, blocks[0]), wide[2], i, lanes, groups)
                _expand((below[0], blocks[1]), wide[2], i, lanes, groups)
                _expand((below[1], blocks[2]), wide[2], i, lanes, groups)
            for i in range(whole, count):
                _double(family, public, (single[0], single[1]), i, level, 1, 1)
                _expand((parents, blocks[0]), single[2], i, 1, 1)
                _expand((below[0], blocks[1]), single[2], i, 1, 1)
                _expand((below[1], blocks[2]), single[2], i, 1, 1)
            for j in range(count):
                for side in range(2):
                    messages[2 * j + side, 4] = below[side, j, 0]
                    messages[2 * j + side, 5] = below[side, j, 1]
            for i in range(0, 2 * count, HASH_GROUPS):
                _digest(messages, digests, i, HASH_GROUPS)
            for j in range(count):
                weight = start
                if len(own):
                    weight = blocks[0, j, 0] + (own[begin + j, 0] & (np.uint64(0) - (parents[j, 1] >> few)))
                apart = np.uint64(0) - weight
                for side in range(2):
                    mask = np.uint64(0) - (below[side, j, 1] >> few)
                    child = blocks[1 + side, j, 0] + (value_words[begin + j, 0] & mask)
                    apart += child
                    if side == 0:
                        total += child
                    for word in range(4):
                        seen = digests[2 * j + side, word] ^ (proof_words[begin + j, word] & mask)
                        place = 2 * side + (word >> 1)
                        planes[place, j, word & 1] = seen ^ masks[place, word & 1]
                planes[4, j, 0] = apart ^ masks[4, 0]
                planes[4, j, 1] = masks[4, 1]
            every, found = (planes[0], planes[1], planes[2], planes[3], planes[4]), marks[begin:end]
            whole = count // (2 * lanes) * (2 * lanes)
            for i in range(0, whole, 2 * lanes):
                _mark(every, found, mark_wide, i, lanes, 2)
            for i in range(whole, count):
                _mark(every, found, mark_single, i, 1, 1)
        return total

    return compiled(see)


# Loops over AND gates of garbled circuits.
GARBLED, EVALUATED = 2, 4
"""Registers of each input that are worked on side by side."""


class _Gates(Emitter):
    """Emits code over labels: four words of a register are those of two."""

    def sigma(self, labels: Any, tweaks: Any) -> Any:
        """``sigma(x) xor t``."""
        low = self._shuffled(labels, labels, [2 * (place // 2) for place in range(2 * self.lanes)])
        zeros = self.filled(self.wide, 0)
        places = [place + 1 if place % 2 == 0 else 2 * self.lanes for place in range(2 * self.lanes)]
        return self.builder.xor(self.builder.xor(low, self._shuffled(labels, zeros, places)), tweaks)

    def tweaks(self, first: Any, half: int) -> list[Any]:
        """Twice the number of each instance, plus one in the evaluator's half, in low words."""
        doubled = self.spread(self.builder.shl(first, _I64(1)), self.wide)
        low = self.builder.and_(doubled, ir.Constant(self.wide, [2**64 - 1, 0] * self.lanes))
        return [
            self.builder.add(low, ir.Constant(self.wide, self._numbers(group * self.lanes, half)))
            for group in range(self.groups)
        ]

    def _numbers(self, start: int, half: int) -> list[int]:
        return [word for lane in range(self.lanes) for word in (2 * (start + lane) + half, 0)]

    def permuted(self, labels: Any) -> Any:
        """Bit mask of labels: ones in both words where the lowest bit (permute bit) is set, else zeros."""
        low = self._shuffled(labels, labels, [2 * (place // 2) for place in range(2 * self.lanes)])
        top = self.filled(self.wide, 63)
        return self.builder.ashr(self.builder.shl(low, top), top)

    def function(self, name: str, *more: Any) -> Any:
        """An AES instruction on one block."""
        kind = ir.FunctionType(self.wide, [self.wide, *more])
        return _TOOLS.get_or_insert_function(self.builder.module, kind, f"llvm.x86.aesni.aes{name}")

    def xors(self, *vectors: Any) -> Any:
        found = vectors[0]
        for vector in vectors[1:]:
            found = self.builder.xor(found, vector)
        return found


@emitted("labels", "written", "public", "first", "lanes", "groups")
def _garble(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    """Tables and labels of 0 of some instances of an AND."""
    first, (lanes, groups) = given[3], (kind.literal_value for kind in kinds[4:])
    code, build = _Gates(context, builder, lanes, 1, groups), builder
    labels, written, (schedule, offsets) = (code.data(kinds[number], given[number]) for number in range(3))
    offset = code.load(offsets, _I64(0), 2, code.wide)[0]
    inputs = [code.load(base, first, 2, code.wide) for base in labels]
    other = code.sigma(offset, code.filled(code.wide, 0))
    zeros = [
        code.sigma(label, tweak)
        for half, side in enumerate(inputs)
        for label, tweak in zip(side, code.tweaks(first, half), strict=True)
    ]
    (hashes,) = code.expanded([*zeros, *(build.xor(block, other) for block in zeros)], schedule)
    size = len(inputs[0])
    rows = [hashes[start : start + size] for start in range(0, 4 * size, size)]
    found = [
        _half_gates(code, offset, both, four)
        for both, four in zip(zip(*inputs, strict=True), zip(*rows, strict=True), strict=True)
    ]
    for base, registers in zip(written, zip(*found, strict=True), strict=True):
        code.store(registers, base, first, 2)


def _half_gates(code: _Gates, offset: Any, inputs: Any, hashes: Any) -> tuple[Any, Any, Any]:
    """Both tables and the output, from hashes of left and right labels of 0, then of 1."""
    build, (left, right), (left_zero, right_zero, left_one, right_one) = code.builder, inputs, hashes
    left_mask, right_mask = code.permuted(left), code.permuted(right)
    first = code.xors(left_zero, left_one, build.and_(right_mask, offset))
    both = build.xor(right_zero, right_one)
    output = code.xors(left_zero, right_zero, build.and_(left_mask, first), build.and_(right_mask, both))
    return first, build.xor(both, left), output


@emitted("labels", "tables", "written", "public", "first", "lanes", "groups")
def _evaluate(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    """The labels that some instances of an AND come to."""
    first, (lanes, groups) = given[4], (kind.literal_value for kind in kinds[5:])
    code, build = _Gates(context, builder, lanes, 1, groups), builder
    labels, tables, (output,), (schedule,) = (code.data(kinds[number], given[number]) for number in range(4))
    left, right = (code.load(base, first, 2, code.wide) for base in labels)
    lower, upper = (code.load(base, first, 2, code.wide) for base in tables)
    blocks = [
        code.sigma(label, tweak)
        for half, side in enumerate((left, right))
        for label, tweak in zip(side, code.tweaks(first, half), strict=True)
    ]
    (hashes,) = code.expanded(blocks, schedule)
    found = [
        code.xors(
            hashes[place],
            hashes[place + len(left)],
            build.and_(code.permuted(left[place]), lower[place]),
            build.and_(code.permuted(right[place]), build.xor(upper[place], left[place])),
        )
        for place in range(len(left))
    ]
    code.store(found, output, first, 2)


@emitted("key", "rounds", "lanes")
def _schedule(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    """The round keys of AES-128, ``(11, 2 * lanes)``, once for each block of a register (FIPS 197, section 5.2)."""
    base, written = (place_of(context, builder, kinds[n], given[n]) for n in (0, 1))
    code, build, lanes = _Gates(context, builder, 1, 1, 1), builder, kinds[2].literal_value
    words = ir.VectorType(ir.IntType(32), 4)
    assist = code.function("keygenassist", ir.IntType(8))
    key, constant, zeros = code.load(base, _I64(0), 2, code.wide)[0], 1, ir.Constant(words, [0] * 4)
    for number in range(ROUNDS + 1):
        for lane in range(lanes):
            code.store([key], written, _I64(number * lanes + lane), 2)
        helped = build.bitcast(build.call(assist, [key, ir.IntType(8)(constant)]), words)
        parts = [build.bitcast(key, words)]
        for moved in range(1, 4):
            parts.append(code._shuffled(zeros, parts[0], [*range(moved), *range(4, 8 - moved)]))
        key = build.bitcast(code.xors(*parts, code._shuffled(helped, helped, [3] * 4)), code.wide)
        constant = (constant << 1) ^ (0x11B if constant & 0x80 else 0)


@cache
def garbling(lanes: int) -> Callable[..., None]:
    """The loop over instances of one AND, at the garbler; the offset is there once for each block of a register."""
    groups, width = GARBLED, GARBLED * lanes

    def garble(labels: Any, written: Any, key: Any, offset: Any) -> None:
        wide, single = np.empty((11, 2 * lanes), np.uint64), np.empty((11, 2), np.uint64)
        _schedule(key, wide, lanes)
        _schedule(key, single, 1)
        count = len(labels[0])
        whole = count // width * width
        for i in range(0, whole, width):
            _garble(labels, written, (wide, offset), i, lanes, groups)
        for i in range(whole, count):
            _garble(labels, written, (single, offset), i, 1, 1)

    return compiled(garble)


@cache
def evaluation(lanes: int) -> Callable[..., None]:
    """The loop over instances of one AND, at the evaluator."""
    groups, width = EVALUATED, EVALUATED * lanes

    def evaluate(labels: Any, tables: Any, written: Any, key: Any) -> None:
        wide, single = np.empty((11, 2 * lanes), np.uint64), np.empty((11, 2), np.uint64)
        _schedule(key, wide, lanes)
        _schedule(key, single, 1)
        count = len(labels[0])
        whole = count // width * width
        for i in range(0, whole, width):
            _evaluate(labels, tables, written, (wide,), i, lanes, groups)
        for i in range(whole, count):
            _evaluate(labels, tables, written, (single,), i, 1, 1)

    return compiled(evaluate)
