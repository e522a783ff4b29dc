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

from dpcurves.arrays import compile_loop

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


def define_intrinsic(*names: str) -> Callable[[Callable[[Any, Any, Any, Any], None]], Any]:
    """Intrinsic of numba with arguments of these names, whose code a function writes. It returns nothing.

    The function is told numba's context, a builder of code, the types of the arguments, and the arguments. Whole
    numbers that are known when code is compiled are of types that have a `literal_value`.
    """

    def decorate_emitter(emit: Callable[[Any, Any, Any, Any], None]) -> Any:
        def type_call(typing: Any, *kinds: Any) -> Any:
            def generate_code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
                emit(context, builder, signature.args, given)
                return context.get_dummy_value()

            return types.void(*kinds), generate_code

        parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in ("typing", *names)]
        type_call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        type_call.__name__ = emit.__name__
        return intrinsic(prefer_literal=True)(type_call)

    return decorate_emitter


def data_pointer(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Pointer to the data of an array."""
    return context.make_array(kind)(context, builder, array).data


class AesEmitter:
    """Emits code for `groups` registers of `lanes` blocks each, from key number `first` on."""

    def __init__(self, context: Any, builder: Any, lanes: int, words: int, groups: int) -> None:
        self.context, self.builder = context, builder
        self.lanes, self.words, self.groups = lanes, words, groups
        self.wide = ir.VectorType(_I64, 2 * lanes)  # of blocks
        self.narrow = ir.VectorType(_I64, lanes)  # of words
        self.numbers = self.narrow if words == 1 else ir.VectorType(ir.IntType(128), lanes)

    def data_pointers(self, kinds: Any, arrays: Any) -> list[Any]:
        """Pointers to the data of the arrays in a tuple."""
        return [
            data_pointer(self.context, self.builder, kind, array)
            for kind, array in zip(kinds, _TOOLS.unpack_tuple(self.builder, arrays), strict=True)
        ]

    def load(self, base: Any, first: Any, stride: int, kind: Any) -> list[Any]:
        """A register for each group, from arrays with `stride` words a key."""
        return [
            self._load(self._pointer(base, first, group * self.lanes, stride, kind)) for group in range(self.groups)
        ]

    def store(self, registers: Sequence[Any], base: Any, first: Any, stride: int) -> None:
        for group, register in enumerate(registers):
            place = self._pointer(base, first, group * self.lanes, stride, register.type)
            self.builder.store(register, place, align=8)

    def _pointer(self, base: Any, first: Any, offset: int, stride: int, kind: Any) -> Any:
        key = self.builder.add(first, _I64(offset))
        return self.builder.bitcast(self.builder.gep(base, [self.builder.mul(key, _I64(stride))]), kind.as_pointer())

    def _load(self, place: Any) -> Any:
        loaded = self.builder.load(place)
        loaded.align = 8
        return loaded

    def expand_blocks(self, blocks: Sequence[Any], *schedules: Any) -> list[list[Any]]:
        """``AES(blocks) xor blocks`` under each schedule of round keys ``(11, 2 * lanes)``, all rounds side by side."""
        kind = ir.FunctionType(self.wide, [self.wide, self.wide])
        name = "llvm.x86.aesni.aesenc{}" + _SUFFIX[self.lanes]
        middle, last = (
            _TOOLS.get_or_insert_function(self.builder.module, kind, name.format(part)) for part in ("", "last")
        )
        place = partial(self._pointer, offset=0, stride=2 * self.lanes, kind=self.wide)
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

    def constant_vector(self, kind: Any, value: int) -> Any:
        """Vector with one constant everywhere."""
        return ir.Constant(kind, [value] * kind.count)

    def control_bits(self) -> Any:
        """The control bits of blocks."""
        return ir.Constant(self.wide, [0, _TOP] * self.lanes)

    def broadcast(self, number: Any, kind: Any) -> Any:
        """Broadcast a number known only when the code runs."""
        alone = self.builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.IntType(32)(0))
        return self._shuffle_words(alone, alone, [0] * kind.count)

    def control_mask(self, block: Any) -> Any:
        """Bit mask of blocks: ones in both words where the control bit is set, else zeros."""
        high = self._shuffle_words(block, block, [2 * (place // 2) + 1 for place in range(2 * self.lanes)])
        return self.builder.ashr(high, self.constant_vector(self.wide, 63))

    def extract_words(self, block: Any, place: int) -> Any:
        """The low word of each block (place 0), or the high one."""
        return self._shuffle_words(block, block, [2 * lane + place for lane in range(self.lanes)])

    def duplicate_words(self, words: Any) -> Any:
        """Blocks with the same word twice."""
        return self._shuffle_words(words, words, [lane // 2 for lane in range(2 * self.lanes)])

    def place_high_words(self, words: Any) -> Any:
        """Blocks with these high words; their low words are 0."""
        places = [place for lane in range(self.lanes) for place in (lane, self.lanes + lane)]
        return self._shuffle_words(self.constant_vector(self.narrow, 0), words, places)

    def extract_numbers(self, block: Any, place: int) -> Any:
        """The numbers of blocks: of two 64-bit numbers the one at `place`, else the only one."""
        return self.extract_words(block, place) if self.words == 1 else self.builder.bitcast(block, self.numbers)

    def choose_side(self, right: Any, left_side: Any, right_side: Any) -> Any:
        """The right side where the mask is all ones."""
        either = self.builder.and_(self.builder.xor(left_side, right_side), right)
        return self.builder.xor(left_side, either)

    def apply_corrections(
        self, blocks: Sequence[Any], controls: Sequence[Any], corrections: Sequence[Any]
    ) -> list[Any]:
        """The blocks, corrected where their parents' control bits are set."""
        masked = [self.builder.and_(*both) for both in zip(corrections, controls, strict=True)]
        return [self.builder.xor(*both) for both in zip(blocks, masked, strict=True)]

    def turn_corrections(self, turns: Any, first: Any, level: Any) -> list[Any]:
        """Correction of the control bits of right children, beyond that of left ones."""
        shift = self.broadcast(self.builder.sub(_I64(63), level), self.narrow)
        words = [self.builder.shl(bits, shift) for bits in self.load(turns, first, 1, self.narrow)]
        return [self.builder.and_(self.place_high_words(word), self.control_bits()) for word in words]

    def _shuffle_words(self, first: Any, second: Any, places: list[int]) -> Any:
        kind = ir.VectorType(ir.IntType(32), len(places))
        return self.builder.shuffle_vector(first, second, ir.Constant(kind, places))


@define_intrinsic("state", "public", "round_keys", "first", "level", "lanes", "words", "turn", "groups")
def _descend_level(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    """Expand nodes to the next level of the tree, in place."""
    first, level, (lanes, words, turn, groups) = given[3], given[4], (kind.literal_value for kind in kinds[5:])
    code = AesEmitter(context, builder, lanes, words, groups)
    at = [place for number in range(3) for place in code.data_pointers(kinds[number], given[number])]
    seeds, values, seed_words, value_words, turns, child, value = at
    build, stride = code.builder, code.words
    blocks = code.load(seeds, first, 2, code.wide)
    children, gains = code.expand_blocks(blocks, child, value)
    controls = [code.control_mask(block) for block in blocks]
    children = code.apply_corrections(children, controls, code.load(seed_words, first, 2, code.wide))
    if turn:
        children = code.apply_corrections(children, controls, code.turn_corrections(turns, first, level))
    code.store(children, seeds, first, 2)
    sums = code.load(values, first, stride, code.numbers)
    owed = code.load(value_words, first, stride, code.numbers)
    for place, control in enumerate(controls):
        corrected = build.and_(owed[place], code.extract_numbers(control, 1))
        sums[place] = build.add(sums[place], build.add(code.extract_numbers(gains[place], turn), corrected))
    code.store(sums, values, first, stride)


@cache
def compile_descent(lanes: int, words: int) -> Callable[..., None]:
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
                    _descend_level(state, public, (wide[1], wide[3]), i, level, lanes, words, 1, groups)
                for i in range(whole, len(turns)):
                    _descend_level(state, public, (single[1], single[3]), i, level, 1, words, 1, 1)
            else:
                for i in range(0, whole, width):
                    _descend_level(state, public, (wide[0], wide[2]), i, level, lanes, words, 0, groups)
                for i in range(whole, len(turns)):
                    _descend_level(state, public, (single[0], single[2]), i, level, 1, words, 0, 1)

    return compile_loop(descend)


@define_intrinsic("owner", "public", "round_keys", "first", "bit", "level", "lanes", "words")
def _correct_level(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    """Correction words of one level, and the seeds of both servers one level deeper."""
    (first, bit, level), (lanes, words) = given[3:6], (kind.literal_value for kind in kinds[6:])
    code = AesEmitter(context, builder, lanes, words, 1)
    at = [place for number in range(2) for place in code.data_pointers(kinds[number], given[number])]
    keys = data_pointer(context, builder, kinds[2], given[2])
    cells, firsts, seconds, owed, seed_words, value_words, turns = at
    build = code.builder
    pair = [code.load(base, first, 2, code.wide)[0] for base in (firsts, seconds)]
    cell = code.load(cells, first, 1, code.narrow)[0]
    one = code.constant_vector(code.narrow, 1)
    below = build.sub(
        code.constant_vector(code.narrow, 0), build.and_(build.lshr(cell, code.broadcast(bit, code.narrow)), one)
    )
    right = code.duplicate_words(below)
    schedules = [build.gep(keys, [_I64(number * 22 * code.lanes)]) for number in range(2 + code.words)]
    lefts, rights, *blocks = code.expand_blocks(pair, *schedules)
    correction, turn = _correct_seeds(code, right, build.xor(*lefts), build.xor(*rights))
    code.store([correction], seed_words, first, 2)
    moved = build.lshr(code.extract_words(turn, 1), code.broadcast(build.sub(_I64(63), level), code.narrow))
    code.store([build.or_(code.load(turns, first, 1, code.narrow)[0], moved)], turns, first, 1)
    correction = build.xor(correction, build.and_(turn, right))
    for number, base in enumerate((firsts, seconds)):
        kept = code.choose_side(right, lefts[number], rights[number])
        masked = build.and_(correction, code.control_mask(pair[number]))
        code.store([build.xor(kept, masked)], base, first, 2)
    ways = [[code.extract_numbers(block, place) for block in blocks[place % len(blocks)]] for place in (0, 1)]
    _correct_values(
        code,
        [code.extract_numbers(part, 1) for part in (right, code.control_mask(pair[1]))],
        ways,
        (owed, value_words),
        first,
    )


def _correct_seeds(code: AesEmitter, right: Any, left_difference: Any, right_difference: Any) -> tuple[Any, Any]:
    """The correction of seeds, and where control bits of right children are corrected otherwise."""
    build, top = code.builder, code.control_bits()
    left_control = build.and_(build.xor(left_difference, build.not_(right)), top)
    right_control = build.and_(build.xor(right_difference, right), top)
    lost = code.choose_side(right, right_difference, left_difference)
    return build.or_(build.and_(lost, build.not_(top)), left_control), build.xor(left_control, right_control)


def _correct_values(code: AesEmitter, masks: list[Any], ways: list[list[Any]], at: tuple[Any, Any], first: Any) -> None:
    """The correction of values, and what is owed one level deeper; `ways`: of both servers, left and right."""
    build, (right, sign), (owed, value_words) = code.builder, masks, at
    kept = [code.choose_side(right, left, other) for left, other in zip(*ways, strict=True)]
    lost = [code.choose_side(right, other, left) for left, other in zip(*ways, strict=True)]
    unit = build.and_(build.not_(right), code.constant_vector(code.numbers, 1))
    before = code.load(owed, first, code.words, code.numbers)[0]
    gained = build.add(build.sub(lost[1], lost[0]), build.sub(unit, before))
    code.store([build.sub(build.xor(gained, sign), sign)], value_words, first, code.words)
    code.store([build.add(build.add(before, build.sub(*kept)), gained)], owed, first, code.words)


@cache
def compile_generation(lanes: int, words: int) -> Callable[..., None]:
    """Compile the loop that makes correction words of all levels."""

    def generate(  # noqa: PLR0917
        owner: Any, seed_words: Any, value_words: Any, turns: Any, wide: Any, single: Any, bits: int
    ) -> None:
        whole = len(turns) // lanes * lanes
        for level in range(len(seed_words)):
            public, bit = (seed_words[level], value_words[level], turns), bits - 1 - level
            for i in range(0, whole, lanes):
                _correct_level(owner, public, wide, i, bit, level, lanes, words)
            for i in range(whole, len(turns)):
                _correct_level(owner, public, single, i, bit, level, 1, words)

    return compile_loop(generate)


@define_intrinsic("blocks", "public", "round_keys", "first", "level", "lanes", "groups")
def _expand_children(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    first, level, (lanes, groups) = given[3], given[4], (kind.literal_value for kind in kinds[5:])
    code = AesEmitter(context, builder, lanes, 1, groups)
    (parents, left, right), (words, turns), keys = (code.data_pointers(kinds[n], given[n]) for n in range(3))
    seeds = code.load(parents, first, 2, code.wide)
    controls = [code.control_mask(seed) for seed in seeds]
    corrections = code.load(words, first, 2, code.wide)
    lefts, rights = (code.apply_corrections(side, controls, corrections) for side in code.expand_blocks(seeds, *keys))
    code.store(lefts, left, first, 2)
    code.store(code.apply_corrections(rights, controls, code.turn_corrections(turns, first, level)), right, first, 2)


@cache
def compile_expansion(lanes: int) -> Callable[..., None]:
    """The loop from nodes ``(nodes, keys, 2)`` of a level to their children ``(2 * nodes, keys, 2)``."""
    groups, width = GROUPS, GROUPS * lanes

    def expand_children(  # noqa: PLR0917
        nodes: Any, below: Any, seed_words: Any, turns: Any, wide: Any, single: Any, level: int
    ) -> None:
        whole, public = len(turns) // width * width, (seed_words, turns)
        for node in range(len(nodes)):
            blocks = nodes[node], below[2 * node], below[2 * node + 1]
            for i in range(0, whole, width):
                _expand_children(blocks, public, (wide[0], wide[1]), i, level, lanes, groups)
            for i in range(whole, len(turns)):
                _expand_children(blocks, public, (single[0], single[1]), i, level, 1, 1)

    return compile_loop(expand_children)


@define_intrinsic("arrays", "round_keys", "first", "lanes", "words", "groups")
def _read_leaves(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    code = AesEmitter(context, builder, *(kind.literal_value for kind in kinds[3:]))
    leaves, corrections, blocks = code.data_pointers(kinds[0], given[0])
    parts = _leaf_numbers(code, (leaves, corrections), data_pointer(context, builder, kinds[1], given[1]), given[2])
    code.store([builder.bitcast(builder.add(*both), code.wide) for both in parts], blocks, given[2], 2)


def _leaf_numbers(code: AesEmitter, at: tuple[Any, Any], key: Any, first: Any) -> list[tuple[Any, Any]]:
    """Blocks of leaves and their corrections, both as numbers to be added."""
    kind = code.wide if code.words == 1 else code.numbers
    seeds = code.load(at[0], first, 2, code.wide)
    (blocks,) = code.expand_blocks(seeds, key)
    corrections = code.load(at[1], first, 2, code.wide)
    masked = [code.builder.and_(code.control_mask(seed), each) for seed, each in zip(seeds, corrections, strict=True)]
    numbers = [[code.builder.bitcast(each, kind) for each in part] for part in (blocks, masked)]
    return list(zip(*numbers, strict=True))


@cache
def compile_leaf_values(lanes: int, words: int) -> Callable[..., None]:
    """The compiled loop that adds up a key's leaves at all points: two 64-bit words for each key."""
    groups, width = GROUPS, GROUPS * lanes

    def read_leaves(leaves: Any, corrections: Any, blocks: Any, wide: Any, single: Any) -> None:
        whole, arrays = len(blocks) // width * width, (leaves, corrections, blocks)
        for i in range(0, whole, width):
            _read_leaves(arrays, wide, i, lanes, words, groups)
        for i in range(whole, len(blocks)):
            _read_leaves(arrays, single, i, 1, words, 1)

    return compile_loop(read_leaves)


@define_intrinsic("arrays", "round_keys", "first", "lanes", "words", "groups")
def _sum_leaves(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    code = AesEmitter(context, builder, *(kind.literal_value for kind in kinds[3:]))
    (leaves, points, sums), key = (
        code.data_pointers(kinds[0], given[0]),
        data_pointer(context, builder, kinds[1], given[1]),
    )
    kind = code.wide if code.words == 1 else code.numbers
    total = builder.bitcast(code.load(sums, _I64(0), 2, code.wide)[0], kind)
    for block, masked in _leaf_numbers(code, (leaves, points), key, given[2]):
        total = builder.add(total, builder.add(block, masked))
    code.store([builder.bitcast(total, code.wide)], sums, _I64(0), 2)


@cache
def compile_leaf_sums(lanes: int, words: int) -> Callable[..., None]:
    """The loop that adds up what leaves ``(nodes, keys, 2)`` say, a lane at a time: ``(nodes, 2 * lanes)``."""
    groups, width = GROUPS, GROUPS * lanes

    def sum_leaves(nodes: Any, point: Any, sums: Any, wide: Any, single: Any) -> None:
        whole = len(point) // width * width
        for node in range(len(nodes)):
            arrays = nodes[node], point, sums[node]
            for i in range(0, whole, width):
                _sum_leaves(arrays, wide, i, lanes, words, groups)
            for i in range(whole, len(point)):
                _sum_leaves(arrays, single, i, 1, words, 1)

    return compile_loop(sum_leaves)


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


class _Sha256Emitter:
    """Emits code over one register of each message."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def call_instruction(self, name: str, *registers: Any) -> Any:
        kind = ir.FunctionType(_FOUR, [_FOUR] * len(registers))
        function = _TOOLS.get_or_insert_function(self.builder.module, kind, f"llvm.x86.sha256{name}")
        return self.builder.call(function, registers)

    def swap_bytes(self, register: Any) -> Any:
        """With the bytes of each word the other way round."""
        kind = ir.FunctionType(_FOUR, [_FOUR])
        return self.builder.call(
            _TOOLS.get_or_insert_function(self.builder.module, kind, "llvm.bswap.v4i32"), [register]
        )

    def shuffle_words(self, first: Any, second: Any, *places: int) -> Any:
        return self.builder.shuffle_vector(first, second, ir.Constant(_FOUR, places))

    def register_pointer(self, base: Any, message: Any, words: int, number: int) -> Any:
        """Pointer to register `number` of a message, in rows of so many 64-bit words."""
        start = self.builder.add(self.builder.mul(message, _WIDE(words)), _WIDE(2 * number))
        return self.builder.bitcast(self.builder.gep(base, [start]), _FOUR.as_pointer())

    def load_message(self, base: Any, message: Any) -> list[Any]:
        """The sixteen words of a message's block."""
        loaded = []
        for number in range(3):
            register = self.builder.load(self.register_pointer(base, message, MESSAGE_WORDS, number))
            register.align = 8
            loaded.append(self.swap_bytes(register))
        return [*loaded, ir.Constant(_FOUR, [1 << 31, 0, 0, 64 * MESSAGE_WORDS])]

    def next_words(self, words: Sequence[Any]) -> Any:
        """The four words after the last sixteen."""
        shifted = self.shuffle_words(words[2], words[3], 1, 2, 3, 4)
        return self.call_instruction(
            "msg2", self.builder.add(self.call_instruction("msg1", words[0], words[1]), shifted), words[3]
        )

    def four_rounds(self, state: tuple[Any, Any], words: Any, number: int) -> tuple[Any, Any]:
        """Words f e b a and h g d c of the state, after rounds ``4 * number`` to ``4 * number + 3``."""
        first, second = state
        keyed = self.builder.add(words, ir.Constant(_FOUR, ROUND_WORDS[4 * number : 4 * number + 4]))
        second = self.call_instruction("rnds2", second, first, keyed)
        first = self.call_instruction("rnds2", first, second, self.shuffle_words(keyed, keyed, 2, 3, 0, 0))
        return first, second

    def store(self, state: tuple[Any, Any], base: Any, message: Any) -> None:
        first, second = state
        for number, places in enumerate(((3, 2, 7, 6), (1, 0, 5, 4))):
            register = self.swap_bytes(self.shuffle_words(first, second, *places))
            self.builder.store(register, self.register_pointer(base, message, _DIGEST_WORDS, number), align=8)


@define_intrinsic("messages", "digests", "first", "groups")
def _digest(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    code = _Sha256Emitter(builder)
    read, written = (data_pointer(context, builder, kinds[n], given[n]) for n in (0, 1))
    numbers = [builder.add(given[2], _WIDE(group)) for group in range(kinds[3].literal_value)]
    a, b, c, d, e, f, g, h = START_WORDS
    start = ir.Constant(_FOUR, [f, e, b, a]), ir.Constant(_FOUR, [h, g, d, c])
    words = [code.load_message(read, number) for number in numbers]
    states = [start for _ in numbers]
    for number in range(16):
        states = [code.four_rounds(state, each[0], number) for state, each in zip(states, words, strict=True)]
        words = [[*each[1:], code.next_words(each)] if number < 12 else each[1:] for each in words]
    for state, number in zip(states, numbers, strict=True):
        added = code.builder.add(state[0], start[0]), code.builder.add(state[1], start[1])
        code.store(added, written, number)


@cache
def compile_digests() -> Callable[..., None]:
    """The loop from messages ``(count, 6)`` to digests ``(count, 4)``, both little-endian words."""
    groups = HASH_GROUPS

    def digest(messages: Any, digests: Any) -> None:
        whole = len(messages) // groups * groups
        for i in range(0, whole, groups):
            _digest(messages, digests, i, groups)
        for i in range(whole, len(messages)):
            _digest(messages, digests, i, 1)

    return compile_loop(digest)


# Looks at a node of checked keys: both children, their hashes and weights, and a mark of all of it.
SEEN = 128
"""Keys that are looked at together, so that all of it stays in the first cache."""
MARKED = 5


@define_intrinsic("arrays", "round_keys", "first", "lanes", "groups")
def _expand_blocks(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    code = AesEmitter(context, builder, kinds[3].literal_value, 1, kinds[4].literal_value)
    (blocks, written), key = code.data_pointers(kinds[0], given[0]), data_pointer(context, builder, kinds[1], given[1])
    (found,) = code.expand_blocks(code.load(blocks, given[2], 2, code.wide), key)
    code.store(found, written, given[2], 2)


@define_intrinsic("planes", "written", "round_keys", "first", "lanes", "groups")
def _mark_blocks(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    """The sum (xor) of the blocks of each key, which lie in a plane for each place, each encrypted."""
    lanes, groups = (kind.literal_value for kind in kinds[4:])
    code = AesEmitter(context, builder, lanes, 1, groups)
    written, key = (data_pointer(context, builder, kinds[n], given[n]) for n in (1, 2))
    blocks = [
        block for plane in code.data_pointers(kinds[0], given[0]) for block in code.load(plane, given[3], 2, code.wide)
    ]
    (found,) = code.expand_blocks(blocks, key)
    marks = []
    for group in range(groups):
        total = code.constant_vector(code.wide, 0)
        for block, after in zip(blocks[group::groups], found[group::groups], strict=True):
            total = builder.xor(total, builder.xor(block, after))  # AES alone, without what it was expanded by
        marks.append(total)
    code.store(marks, written, given[3], 2)


@cache
def compile_node_evaluation(lanes: int) -> Callable[..., Any]:
    """The loop that looks at a node of some keys: it writes marks, and returns the sum of the left children's weights.

    `words`: correction words of the node's children: seeds, values, proofs and turns. `own`: that of the node's own
    value, or none at the root, whose weight is `start`.
    """
    groups, width = GROUPS, GROUPS * lanes

    def evaluate_node(  # noqa: PLR0912, PLR0917
        seeds: Any, own: Any, start: Any, words: Any, head: Any, level: int, wide: Any, single: Any, key: Any,
        masks: Any, marks: Any,
    ) -> Any:  # fmt: skip
        seed_words, value_words, proof_words, turns = words
        mark_wide, mark_single = np.empty((11, 2 * lanes), np.uint64), np.empty((11, 2), np.uint64)
        _expand_aes_key(key, mark_wide, lanes)
        _expand_aes_key(key, mark_single, 1)
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
                _expand_children(family, public, (wide[0], wide[1]), i, level, lanes, groups)
                _expand_blocks((parents, blocks[0]), wide[2], i, lanes, groups)
                _expand_blocks((below[0], blocks[1]), wide[2], i, lanes, groups)
                _expand_blocks((below[1], blocks[2]), wide[2], i, lanes, groups)
            for i in range(whole, count):
                _expand_children(family, public, (single[0], single[1]), i, level, 1, 1)
                _expand_blocks((parents, blocks[0]), single[2], i, 1, 1)
                _expand_blocks((below[0], blocks[1]), single[2], i, 1, 1)
                _expand_blocks((below[1], blocks[2]), single[2], i, 1, 1)
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
                _mark_blocks(every, found, mark_wide, i, lanes, 2)
            for i in range(whole, count):
                _mark_blocks(every, found, mark_single, i, 1, 1)
        return total

    return compile_loop(evaluate_node)


# Loops over AND gates of garbled circuits.
GARBLED, EVALUATED = 2, 4
"""Registers of each input that are worked on side by side."""


class _GateEmitter(AesEmitter):
    """Emits code over labels: four words of a register are those of two."""

    def sigma(self, labels: Any, tweaks: Any) -> Any:
        """``sigma(x) xor t``."""
        low = self._shuffle_words(labels, labels, [2 * (place // 2) for place in range(2 * self.lanes)])
        zeros = self.constant_vector(self.wide, 0)
        places = [place + 1 if place % 2 == 0 else 2 * self.lanes for place in range(2 * self.lanes)]
        return self.builder.xor(self.builder.xor(low, self._shuffle_words(labels, zeros, places)), tweaks)

    def tweaks(self, first: Any, half: int) -> list[Any]:
        """Twice the number of each instance, plus one in the evaluator's half, in low words."""
        doubled = self.broadcast(self.builder.shl(first, _I64(1)), self.wide)
        low = self.builder.and_(doubled, ir.Constant(self.wide, [2**64 - 1, 0] * self.lanes))
        return [
            self.builder.add(low, ir.Constant(self.wide, self._tweak_words(group * self.lanes, half)))
            for group in range(self.groups)
        ]

    def _tweak_words(self, start: int, half: int) -> list[int]:
        return [word for lane in range(self.lanes) for word in (2 * (start + lane) + half, 0)]

    def permute_mask(self, labels: Any) -> Any:
        """Bit mask of labels: ones in both words where the lowest bit (permute bit) is set, else zeros."""
        low = self._shuffle_words(labels, labels, [2 * (place // 2) for place in range(2 * self.lanes)])
        top = self.constant_vector(self.wide, 63)
        return self.builder.ashr(self.builder.shl(low, top), top)

    def declare_aes_instruction(self, name: str, *more: Any) -> Any:
        """An AES instruction on one block."""
        kind = ir.FunctionType(self.wide, [self.wide, *more])
        return _TOOLS.get_or_insert_function(self.builder.module, kind, f"llvm.x86.aesni.aes{name}")

    def xor_all(self, *vectors: Any) -> Any:
        found = vectors[0]
        for vector in vectors[1:]:
            found = self.builder.xor(found, vector)
        return found


@define_intrinsic("labels", "written", "public", "first", "lanes", "groups")
def _garble(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    """Tables and labels of 0 of some instances of an AND."""
    first, (lanes, groups) = given[3], (kind.literal_value for kind in kinds[4:])
    code, build = _GateEmitter(context, builder, lanes, 1, groups), builder
    labels, written, (schedule, offsets) = (code.data_pointers(kinds[number], given[number]) for number in range(3))
    offset = code.load(offsets, _I64(0), 2, code.wide)[0]
    inputs = [code.load(base, first, 2, code.wide) for base in labels]
    other = code.sigma(offset, code.constant_vector(code.wide, 0))
    zeros = [
        code.sigma(label, tweak)
        for half, side in enumerate(inputs)
        for label, tweak in zip(side, code.tweaks(first, half), strict=True)
    ]
    (hashes,) = code.expand_blocks([*zeros, *(build.xor(block, other) for block in zeros)], schedule)
    size = len(inputs[0])
    rows = [hashes[start : start + size] for start in range(0, 4 * size, size)]
    found = [
        _half_gates(code, offset, both, four)
        for both, four in zip(zip(*inputs, strict=True), zip(*rows, strict=True), strict=True)
    ]
    for base, registers in zip(written, zip(*found, strict=True), strict=True):
        code.store(registers, base, first, 2)


def _half_gates(code: _GateEmitter, offset: Any, inputs: Any, hashes: Any) -> tuple[Any, Any, Any]:
    """Both tables and the output, from hashes of left and right labels of 0, then of 1."""
    build, (left, right), (left_zero, right_zero, left_one, right_one) = code.builder, inputs, hashes
    left_mask, right_mask = code.permute_mask(left), code.permute_mask(right)
    first = code.xor_all(left_zero, left_one, build.and_(right_mask, offset))
    both = build.xor(right_zero, right_one)
    output = code.xor_all(left_zero, right_zero, build.and_(left_mask, first), build.and_(right_mask, both))
    return first, build.xor(both, left), output


@define_intrinsic("labels", "tables", "written", "public", "first", "lanes", "groups")
def _evaluate(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    """The labels that some instances of an AND come to."""
    first, (lanes, groups) = given[4], (kind.literal_value for kind in kinds[5:])
    code, build = _GateEmitter(context, builder, lanes, 1, groups), builder
    labels, tables, (output,), (schedule,) = (code.data_pointers(kinds[number], given[number]) for number in range(4))
    left, right = (code.load(base, first, 2, code.wide) for base in labels)
    lower, upper = (code.load(base, first, 2, code.wide) for base in tables)
    blocks = [
        code.sigma(label, tweak)
        for half, side in enumerate((left, right))
        for label, tweak in zip(side, code.tweaks(first, half), strict=True)
    ]
    (hashes,) = code.expand_blocks(blocks, schedule)
    found = [
        code.xor_all(
            hashes[place],
            hashes[place + len(left)],
            build.and_(code.permute_mask(left[place]), lower[place]),
            build.and_(code.permute_mask(right[place]), build.xor(upper[place], left[place])),
        )
        for place in range(len(left))
    ]
    code.store(found, output, first, 2)


@define_intrinsic("key", "rounds", "lanes")
def _expand_aes_key(context: Any, builder: Any, kinds: Any, given: Any) -> None:
    """The round keys of AES-128, ``(11, 2 * lanes)``, once for each block of a register (FIPS 197, section 5.2)."""
    base, written = (data_pointer(context, builder, kinds[n], given[n]) for n in (0, 1))
    code, build, lanes = _GateEmitter(context, builder, 1, 1, 1), builder, kinds[2].literal_value
    words = ir.VectorType(ir.IntType(32), 4)
    assist = code.declare_aes_instruction("keygenassist", ir.IntType(8))
    key, constant, zeros = code.load(base, _I64(0), 2, code.wide)[0], 1, ir.Constant(words, [0] * 4)
    for number in range(ROUNDS + 1):
        for lane in range(lanes):
            code.store([key], written, _I64(number * lanes + lane), 2)
        helped = build.bitcast(build.call(assist, [key, ir.IntType(8)(constant)]), words)
        parts = [build.bitcast(key, words)]
        for moved in range(1, 4):
            parts.append(code._shuffle_words(zeros, parts[0], [*range(moved), *range(4, 8 - moved)]))
        key = build.bitcast(code.xor_all(*parts, code._shuffle_words(helped, helped, [3] * 4)), code.wide)
        constant = (constant << 1) ^ (0x11B if constant & 0x80 else 0)


@cache
def compile_garbling(lanes: int) -> Callable[..., None]:
    """The loop over instances of one AND, at the garbler; the offset is there once for each block of a register."""
    groups, width = GARBLED, GARBLED * lanes

    def garble(labels: Any, written: Any, key: Any, offset: Any) -> None:
        wide, single = np.empty((11, 2 * lanes), np.uint64), np.empty((11, 2), np.uint64)
        _expand_aes_key(key, wide, lanes)
        _expand_aes_key(key, single, 1)
        count = len(labels[0])
        whole = count // width * width
        for i in range(0, whole, width):
            _garble(labels, written, (wide, offset), i, lanes, groups)
        for i in range(whole, count):
            _garble(labels, written, (single, offset), i, 1, 1)

    return compile_loop(garble)


@cache
def compile_evaluation(lanes: int) -> Callable[..., None]:
    """The loop over instances of one AND, at the evaluator."""
    groups, width = EVALUATED, EVALUATED * lanes

    def evaluate(labels: Any, tables: Any, written: Any, key: Any) -> None:
        wide, single = np.empty((11, 2 * lanes), np.uint64), np.empty((11, 2), np.uint64)
        _expand_aes_key(key, wide, lanes)
        _expand_aes_key(key, single, 1)
        count = len(labels[0])
        whole = count // width * width
        for i in range(0, whole, width):
            _evaluate(labels, tables, written, (wide,), i, lanes, groups)
        for i in range(whole, count):
            _evaluate(labels, tables, written, (single,), i, 1, 1)

    return compile_loop(evaluate)
