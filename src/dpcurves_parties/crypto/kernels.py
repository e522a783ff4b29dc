"""Loops over keys with the processor's AES instructions, emitted as LLVM code. Import this only where they exist.

A block is two 64-bit words. `lanes` blocks are held in one register, and `GROUPS` registers are worked on at a time,
for a round of AES takes several cycles. Whatever is left over goes one block at a time. All arrays hold the words of
one key, or of one number, side by side. numba keeps compiled loops till their own file changes: whoever changes the
emitter has to empty `__pycache__`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dpcurves.compiled import compiled

GROUPS = 4
ROUNDS = 10
_I64 = ir.IntType(64)
_TOP = 1 << 63
_TOOLS: Any = cgutils
_SUFFIX = {1: "", 2: ".256"}


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
            self.context.make_array(kind)(self.context, self.builder, array).data
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
        keys = [[self._round_key(schedule, number) for number in range(ROUNDS + 1)] for schedule in schedules]
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

    def _round_key(self, schedule: Any, number: int) -> Any:
        return self._load(self._place(schedule, _I64(number), 0, 2 * self.lanes, self.wide))

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


def _typed_down(  # noqa: PLR0917 (numba's functions have no keywords)
    typing: Any, state: Any, public: Any, round_keys: Any, first: Any, level: Any,
    lanes: Any, words: Any, turn: Any, groups: Any,
) -> Any:  # fmt: skip
    """Typed intrinsic that expands nodes to the next level of the tree, in place."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        code = Emitter(context, builder, lanes.literal_value, words.literal_value, groups.literal_value)
        at = [place for number in range(3) for place in code.data(signature.args[number], given[number])]
        _emit_down(code, at, given[3], given[4], turn.literal_value)
        return context.get_dummy_value()

    return types.void(state, public, round_keys, first, level, lanes, words, turn, groups), emit


_down: Any = intrinsic(prefer_literal=True)(_typed_down)


def _emit_down(code: Emitter, at: list[Any], first: Any, level: Any, turn: int) -> None:
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


def _typed_correct(  # noqa: PLR0917
    typing: Any, owner: Any, public: Any, round_keys: Any, first: Any, bit: Any, level: Any, lanes: Any, words: Any
) -> Any:
    """Correction words of one level, and the seeds of both servers one level deeper."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        code = Emitter(context, builder, lanes.literal_value, words.literal_value, 1)
        at = [place for number in range(2) for place in code.data(signature.args[number], given[number])]
        keys = context.make_array(round_keys)(context, builder, given[2]).data
        _emit_correct(code, [*at, keys], given[3], given[4], given[5])
        return context.get_dummy_value()

    return types.void(owner, public, round_keys, first, bit, level, lanes, words), emit


_correct: Any = intrinsic(prefer_literal=True)(_typed_correct)


def _emit_correct(code: Emitter, at: list[Any], first: Any, bit: Any, level: Any) -> None:
    cells, firsts, seconds, owed, seed_words, value_words, turns, keys = at
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


def _typed_double(  # noqa: PLR0917
    typing: Any, blocks: Any, public: Any, round_keys: Any, first: Any, level: Any, lanes: Any, groups: Any
) -> Any:
    """Both children of a node of each key: ``(parents, left, right)``."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        code = Emitter(context, builder, lanes.literal_value, 1, groups.literal_value)
        (parents, left, right), (words, turns), keys = (code.data(signature.args[n], given[n]) for n in range(3))
        seeds = code.load(parents, given[3], 2, code.wide)
        controls = [code.control(seed) for seed in seeds]
        corrections = code.load(words, given[3], 2, code.wide)
        lefts, rights = (code.corrected(side, controls, corrections) for side in code.expanded(seeds, *keys))
        code.store(lefts, left, given[3], 2)
        code.store(code.corrected(rights, controls, code.turned(turns, given[3], given[4])), right, given[3], 2)
        return context.get_dummy_value()

    return types.void(blocks, public, round_keys, first, level, lanes, groups), emit


_double: Any = intrinsic(prefer_literal=True)(_typed_double)


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
