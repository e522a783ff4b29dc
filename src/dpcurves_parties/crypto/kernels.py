"""Compiled loops with the processor's AES and SHA instructions, emitted as LLVM code for numba.

    compile_generation, compile_descent      write correction words; walk down the trees of keys
    compile_expansion, compile_leaf_sums     expand whole levels; sum the leaves
    compile_digests                          SHA-256 of many messages of 48 bytes

`FastEngine` calls these. Import this module only on processors that have the instructions.
"""

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
# A block has two 64-bit words. A register holds `lanes` blocks, and `GROUPS` registers are processed together, because
# a round of AES takes several cycles. The remaining blocks are processed one at a time. The words of a key, or of a
# number, are contiguous in all arrays. numba caches compiled loops until their own file changes: empty `__pycache__`
# after a change of the emitter.
GROUPS = 4
"""Registers whose AES rounds are interleaved, because a round takes several cycles, in which the processor would wait.
Results do not depend on it."""
ROUNDS = 10
"""Rounds of AES-128 (FIPS 197, section 5), each with a round key; another key is added before the first."""
_I64 = ir.IntType(64)
"""LLVM's type of a 64-bit integer: calling it with a number gives a constant of the emitted code."""
_TOOLS: Any = cgutils
"""numba's module of code generation helpers under the type Any, because it has no type annotations."""
_INTRINSIC_SUFFIX = {1: "", 2: ".256"}
"""End of the name of LLVM's AES instruction, by 16-byte blocks per register: none for 128-bit registers, .256 for
VAES."""


def define_intrinsic(*names: str) -> Callable[[Callable[[Any, Any, Any, Any], None]], Any]:
    """Return a decorator that turns an emitter of LLVM code into a numba intrinsic, which returns nothing.

    The emitter is called with numba's context, the LLVM builder, the argument types and the arguments. The type of an
    integer that is a compile-time constant has a `literal_value`.

    Args:
        names: Names of the arguments of the intrinsic.

    Returns:
        Decorator that replaces an emitter by the intrinsic, which compiled loops can call.
    """

    def decorate_emitter(emit: Callable[[Any, Any, Any, Any], None]) -> Any:
        """Turn an emitter of LLVM code into a numba intrinsic, which compiled loops can call.

        Args:
            emit: Function of numba's context, the LLVM builder, the types of the arguments and their values.
        """

        def type_call(typing: Any, *kinds: Any) -> Any:
            """Type a call for numba: it returns nothing for any argument types.

            Args:
                typing: Typing context of numba; without effect.
                kinds: Types of the arguments of the call.

            Returns:
                The signature of the call, and the function that generates its code.
            """

            def generate_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                """Emit the code of one call into the LLVM builder.

                Args:
                    context: Numba's context.
                    builder: The LLVM builder.
                    signature: Signature of the call, with the types of its arguments.
                    arguments: LLVM values of the arguments.

                Returns:
                    LLVM's dummy value, because the intrinsic returns nothing.
                """
                emit(context, builder, signature.args, arguments)
                return context.get_dummy_value()

            return types.void(*kinds), generate_code

        parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in ("typing", *names)]
        type_call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        type_call.__name__ = emit.__name__
        return intrinsic(prefer_literal=True)(type_call)

    return decorate_emitter


def data_pointer(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return the LLVM pointer to the first element of a NumPy array argument of numba type `kind`.

    Args:
        context: Numba's context.
        builder: The LLVM builder.
        kind: Numba type of the array.
        array: LLVM value of the array.
    """
    return context.make_array(kind)(context, builder, array).data


class AesEmitter:
    """Emits LLVM code for several registers of AES blocks.

    A block belongs to one key. A register holds `lanes` blocks, and `groups` registers are processed together, because
    a round of AES takes several cycles.

    Args:
        context: Numba's context.
        builder: The LLVM builder.
        lanes: Blocks in a register, 1 or 2.
        words: 64-bit words of a number, 1 or 2.
        groups: Registers that are processed together.
    """

    def __init__(self, context: Any, builder: Any, lanes: int, words: int, groups: int) -> None:
        self.context = context
        self.builder = builder
        self.lanes = lanes
        self.words = words
        self.groups = groups
        self.wide = ir.VectorType(_I64, 2 * lanes)  # of blocks
        self.narrow = ir.VectorType(_I64, lanes)  # of words
        self.numbers = self.narrow if words == 1 else ir.VectorType(ir.IntType(128), lanes)

    def data_pointers(self, kinds: Any, arrays: Any) -> list[Any]:
        """Return the LLVM data pointers of a tuple of NumPy arrays whose numba types are `kinds`.

        Args:
            kinds: Numba type of the tuple.
            arrays: LLVM value of the tuple.
        """
        return [
            data_pointer(self.context, self.builder, kind, array)
            for kind, array in zip(kinds, _TOOLS.unpack_tuple(self.builder, arrays), strict=True)
        ]

    def load(self, base: Any, first: Any, stride: int, kind: Any) -> list[Any]:
        """Emit loads of one register per group; return the registers.

        Args:
            base: Pointer to an array.
            first: Key of the first block; the others follow.
            stride: Words per key in the array.
            kind: Type of a register.
        """
        return [
            self._load(self._pointer(base, first, group * self.lanes, stride, kind)) for group in range(self.groups)
        ]

    def store(self, registers: Sequence[Any], base: Any, first: Any, stride: int) -> None:
        """Emit the code that stores vector registers, which hold the blocks of successive keys, into an array.

        Args:
            registers: One register of `lanes` blocks, of `lanes` successive keys, for each group.
            base: Pointer to an array.
            first: Index of the key of the first block of the first register.
            stride: 64-bit words per key in the array.
        """
        for group, register in enumerate(registers):
            pointer = self._pointer(base, first, group * self.lanes, stride, register.type)
            self.builder.store(register, pointer, align=8)

    def _pointer(self, base: Any, first: Any, offset: int, stride: int, kind: Any) -> Any:
        """Return the LLVM pointer to the words of key ``first + offset`` in an array with `stride` words per key.

        Args:
            base: LLVM pointer to the array.
            first: LLVM value of the first key's index.
            offset: Keys after the first.
            stride: 64-bit words per key.
            kind: LLVM type that the pointer points to.
        """
        key = self.builder.add(first, _I64(offset))
        return self.builder.bitcast(self.builder.gep(base, [self.builder.mul(key, _I64(stride))]), kind.as_pointer())

    def _load(self, pointer: Any) -> Any:
        """Emit a load that need be aligned to 8 bytes only, as rows of NumPy arrays are; return its value.

        Args:
            pointer: LLVM pointer to a register.
        """
        loaded = self.builder.load(pointer)
        loaded.align = 8
        return loaded

    def expand_blocks(self, blocks: Sequence[Any], *schedules: Any) -> list[list[Any]]:
        """Return ``AES(blocks) xor blocks`` under each key schedule ``(11, 2 * lanes)``, with interleaved rounds."""
        kind = ir.FunctionType(self.wide, [self.wide, self.wide])
        name = "llvm.x86.aesni.aesenc{}" + _INTRINSIC_SUFFIX[self.lanes]
        middle, last = (
            _TOOLS.get_or_insert_function(self.builder.module, kind, name.format(suffix)) for suffix in ("", "last")
        )
        pointer_to = partial(self._pointer, offset=0, stride=2 * self.lanes, kind=self.wide)
        keys = [[self._load(pointer_to(schedule, _I64(n))) for n in range(ROUNDS + 1)] for schedule in schedules]
        chains = [[self.builder.xor(block, rounds[0]) for block in blocks] for rounds in keys]
        for number in range(1, ROUNDS + 1):
            round_function = last if number == ROUNDS else middle
            chains = [
                [self.builder.call(round_function, [block, rounds[number]]) for block in chain]
                for chain, rounds in zip(chains, keys, strict=True)
            ]
        return [
            [self.builder.xor(encrypted, block) for encrypted, block in zip(chain, blocks, strict=True)]
            for chain in chains
        ]

    def constant_vector(self, kind: Any, value: int) -> Any:
        """Return an LLVM constant: a vector of type `kind` with `value` in every element.

        Args:
            kind: LLVM type of a vector.
            value: Integer of each element.
        """
        return ir.Constant(kind, [value] * kind.count)

    def control_bits(self) -> Any:
        """Return the constant blocks in which only the control bit, the top bit of the high word, is set."""
        # 1 << 63: control bit in the second word of a seed
        return ir.Constant(self.wide, [0, 1 << 63] * self.lanes)

    def broadcast(self, number: Any, kind: Any) -> Any:
        """Return a vector of type `kind` whose elements all equal a number that is known at run time only."""
        first_element = self.builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.IntType(32)(0))
        return self._shuffle_words(first_element, first_element, [0] * kind.count)

    def control_mask(self, block: Any) -> Any:
        """Return a mask of blocks: ones in both words where the control bit is set, else zeros.

        Args:
            block: Register of blocks; the control bit is the top bit of a block.
        """
        high = self._shuffle_words(block, block, [2 * (index // 2) + 1 for index in range(2 * self.lanes)])
        return self.builder.ashr(high, self.constant_vector(self.wide, 63))

    def extract_words(self, block: Any, word_index: int) -> Any:
        """Return the low (`word_index` 0) or high (`word_index` 1) word of each block.

        Args:
            block: Register of blocks.
            word_index: Index of the word in a block.

        Returns:
            Register of half the length.
        """
        return self._shuffle_words(block, block, [2 * lane + word_index for lane in range(self.lanes)])

    def duplicate_words(self, words: Any) -> Any:
        """Return a vector of blocks in which each word of `words` occurs twice.

        Args:
            words: Register with one word per block.
        """
        return self._shuffle_words(words, words, [lane // 2 for lane in range(2 * self.lanes)])

    def place_high_words(self, words: Any) -> Any:
        """Return a vector of blocks with the high words `words` and low words of 0.

        Args:
            words: Register with one word per block.
        """
        indices = [index for lane in range(self.lanes) for index in (lane, self.lanes + lane)]
        return self._shuffle_words(self.constant_vector(self.narrow, 0), words, indices)

    def extract_numbers(self, block: Any, word_index: int) -> Any:
        """Emit the code that takes one number from each leaf block, and return its register.

        If numbers have one word, it is the word at `word_index` (0 low, 1 high); else it is the whole block.
        """
        return self.extract_words(block, word_index) if self.words == 1 else self.builder.bitcast(block, self.numbers)

    def choose_side(self, right: Any, left_side: Any, right_side: Any) -> Any:
        """Return `right_side` where the mask `right` is all ones, else `left_side`, elementwise.

        Args:
            right: Mask: all ones or all zeros in each element.
            left_side: Register of the same type.
            right_side: Register of the same type.
        """
        difference = self.builder.and_(self.builder.xor(left_side, right_side), right)
        return self.builder.xor(left_side, difference)

    def apply_corrections(
        self, blocks: Sequence[Any], controls: Sequence[Any], corrections: Sequence[Any]
    ) -> list[Any]:
        """Return the blocks, corrected where their parents' control bits are set.

        Args:
            blocks: Registers of blocks.
            controls: Masks of the control bits, one for each register.
            corrections: Correction words, one for each register.
        """
        masked = [self.builder.and_(*operands) for operands in zip(corrections, controls, strict=True)]
        return [self.builder.xor(*operands) for operands in zip(blocks, masked, strict=True)]

    def turn_corrections(self, turns: Any, first: Any, level: Any) -> list[Any]:
        """Return the additional corrections of right children's control bits, one register per group.

        They come from the bit `level` of each key's `turns`, in which bit i corrects the control bit on level i; all
        other bits are 0.

        Args:
            turns: LLVM pointer to the bits of all keys, one word per key.
            first: Index of the first key.
            level: Level of the tree, from 0.
        """
        shift = self.broadcast(self.builder.sub(_I64(63), level), self.narrow)
        words = [self.builder.shl(bits, shift) for bits in self.load(turns, first, 1, self.narrow)]
        return [self.builder.and_(self.place_high_words(word), self.control_bits()) for word in words]

    def _shuffle_words(self, first: Any, second: Any, places: list[int]) -> Any:
        """Return the vector whose words are picked by `places` from `first`, then `second`.

        Args:
            first: First vector.
            second: Second vector of the same type.
            places: Indices into the words of both vectors.
        """
        kind = ir.VectorType(ir.IntType(32), len(places))
        return self.builder.shuffle_vector(first, second, ir.Constant(kind, places))


@define_intrinsic("state", "public", "round_keys", "first", "level", "lanes", "words", "turn", "groups")
def _descend_level(context: Any, builder: Any, kinds: Any, arguments: Any) -> None:
    """Emit one level of the evaluation of function secret sharing keys: some keys' seeds and values are replaced, in
    place, by those of one child.

    The arguments of the emitted intrinsic are: `state`, seeds and values of all keys; `public`, correction words of the
    level; `round_keys` of AES; `first`, index of the first key; `level`; `lanes`, blocks in a register; `words`, 64-bit
    words of a value; `turn`, 0 for the left child and 1 for the right; `groups`, registers at once.

    Args:
        context: Numba's context.
        builder: The LLVM builder.
        kinds: Types of the intrinsic's arguments; the last ones are literals.
        arguments: LLVM values of the intrinsic's arguments, in this order.
    """
    first, level, (lanes, words, turn, groups) = arguments[3], arguments[4], (kind.literal_value for kind in kinds[5:])
    code = AesEmitter(context, builder, lanes, words, groups)
    pointers = [entry for number in range(3) for entry in code.data_pointers(kinds[number], arguments[number])]
    seeds, values, seed_words, value_words, turns, child, value = pointers
    build, stride = code.builder, code.words
    blocks = code.load(seeds, first, 2, code.wide)
    children, gains = code.expand_blocks(blocks, child, value)
    controls = [code.control_mask(block) for block in blocks]
    children = code.apply_corrections(children, controls, code.load(seed_words, first, 2, code.wide))
    if turn:
        children = code.apply_corrections(children, controls, code.turn_corrections(turns, first, level))
    code.store(children, seeds, first, 2)
    sums = code.load(values, first, stride, code.numbers)
    corrections = code.load(value_words, first, stride, code.numbers)
    for entry, control in enumerate(controls):
        masked = build.and_(corrections[entry], code.extract_numbers(control, 1))
        sums[entry] = build.add(sums[entry], build.add(code.extract_numbers(gains[entry], turn), masked))
    code.store(sums, values, first, stride)


@cache
def compile_descent(lanes: int, words: int) -> Callable[..., None]:
    """Compile the loop that moves keys down the tree by several levels, along a public path.

    Args:
        lanes: AES blocks in a vector register.
        words: 64-bit words of a value, 1 or 2.

    Returns:
        Compiled ``descend(state, seed_words, value_words, turns, wide, single, start, stop, path)``: it moves the
        states of all keys in place from level `start` to `stop` along the bits of `path`.
    """
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
        """Move in place the states ``(seeds, values)`` of all keys from level `start` to `stop` along the bits of
        `path`.

        Args:
            state: Seeds and values of all keys.
            seed_words, value_words, turns: Correction words of the keys, by level; `turns` are their control bits.
            wide, single: AES round keys for vectorised and for single blocks.
            start, stop: First level, and the level after the last.
            path: Bits of the node to reach; the last bit is that of level `stop` - 1.
        """
        vectorised_count = len(turns) // width * width
        for level in range(start, stop):
            public = seed_words[level], value_words[level], turns
            if path >> np.uint64(stop - 1 - level) & np.uint64(1):
                for i in range(0, vectorised_count, width):
                    _descend_level(state, public, (wide[1], wide[3]), i, level, lanes, words, 1, groups)
                for i in range(vectorised_count, len(turns)):
                    _descend_level(state, public, (single[1], single[3]), i, level, 1, words, 1, 1)
            else:
                for i in range(0, vectorised_count, width):
                    _descend_level(state, public, (wide[0], wide[2]), i, level, lanes, words, 0, groups)
                for i in range(vectorised_count, len(turns)):
                    _descend_level(state, public, (single[0], single[2]), i, level, 1, words, 0, 1)

    return compile_loop(descend)


@define_intrinsic("owner", "public", "round_keys", "first", "bit", "level", "lanes", "words")
def _correct_level(context: Any, builder: Any, kinds: Any, arguments: Any) -> None:
    """Emit one level of the generation of keys: write the correction words of some keys, and move both servers' seeds
    to the child on the path to the cell.

    The arguments of the emitted intrinsic are: the arrays of the owner (`cells`, the seeds of both servers, and
    `owed`), the correction words of the level, the round keys of AES, the index of the first key, the bit of the cell
    that the level decides, and the level. Last come the AES blocks in a vector register and the 64-bit words of a
    value, as literals.

    Args:
        context: Numba's context.
        builder: The LLVM builder.
        kinds: Types of the intrinsic's arguments; the last ones are literals.
        arguments: LLVM values of the intrinsic's arguments, in this order.
    """
    (first, bit, level), (lanes, words) = arguments[3:6], (kind.literal_value for kind in kinds[6:])
    code = AesEmitter(context, builder, lanes, words, 1)
    pointers = [entry for number in range(2) for entry in code.data_pointers(kinds[number], arguments[number])]
    keys = data_pointer(context, builder, kinds[2], arguments[2])
    cells, firsts, seconds, owed, seed_words, value_words, turns = pointers
    build = code.builder
    server_seeds = [code.load(base, first, 2, code.wide)[0] for base in (firsts, seconds)]
    cell = code.load(cells, first, 1, code.narrow)[0]
    one_vector = code.constant_vector(code.narrow, 1)
    path_bits = build.sub(
        code.constant_vector(code.narrow, 0), build.and_(build.lshr(cell, code.broadcast(bit, code.narrow)), one_vector)
    )
    right = code.duplicate_words(path_bits)
    schedules = [build.gep(keys, [_I64(number * 22 * code.lanes)]) for number in range(2 + code.words)]
    lefts, rights, *blocks = code.expand_blocks(server_seeds, *schedules)
    correction, turn = _correct_seeds(code, right, build.xor(*lefts), build.xor(*rights))
    code.store([correction], seed_words, first, 2)
    turn_bits = build.lshr(code.extract_words(turn, 1), code.broadcast(build.sub(_I64(63), level), code.narrow))
    code.store([build.or_(code.load(turns, first, 1, code.narrow)[0], turn_bits)], turns, first, 1)
    correction = build.xor(correction, build.and_(turn, right))
    for number, base in enumerate((firsts, seconds)):
        path_seed = code.choose_side(right, lefts[number], rights[number])
        masked = build.and_(correction, code.control_mask(server_seeds[number]))
        code.store([build.xor(path_seed, masked)], base, first, 2)
    children = [[code.extract_numbers(block, entry) for block in blocks[entry % len(blocks)]] for entry in (0, 1)]
    _correct_values(
        code,
        [code.extract_numbers(bit_words, 1) for bit_words in (right, code.control_mask(server_seeds[1]))],
        children,
        (owed, value_words),
        first,
    )


def _correct_seeds(code: AesEmitter, right: Any, left_difference: Any, right_difference: Any) -> tuple[Any, Any]:
    """Return the seed correction, and the mask of right children whose control bits need the opposite bit.

    Args:
        code: Emitter of LLVM code.
        right: All ones where the path turns right.
        left_difference: XOR of both servers' left children.
        right_difference: XOR of both servers' right children.
    """
    build, top = code.builder, code.control_bits()
    left_control = build.and_(build.xor(left_difference, build.not_(right)), top)
    right_control = build.and_(build.xor(right_difference, right), top)
    lost_difference = code.choose_side(right, right_difference, left_difference)
    return build.or_(build.and_(lost_difference, build.not_(top)), left_control), build.xor(left_control, right_control)


def _correct_values(
    code: AesEmitter, masks: list[Any], children: list[list[Any]], value_layout: tuple[Any, Any], first: Any
) -> None:
    """Emit the value corrections of some keys, and add the values one level deeper to the sums `owed`.

    Args:
        code: Emitter of LLVM code.
        masks: All ones where the path turns right, and where the second server's control bit is set.
        children: Value blocks of the left children and of the right children, each for both servers.
        value_layout: LLVM pointers to `owed` and to the value corrections of the level.
        first: Index of the first key.
    """
    build, (right, sign), (owed, value_words) = code.builder, masks, value_layout
    kept_values = [
        code.choose_side(right, left_number, right_number) for left_number, right_number in zip(*children, strict=True)
    ]
    lost_values = [
        code.choose_side(right, right_number, left_number) for left_number, right_number in zip(*children, strict=True)
    ]
    unit = build.and_(build.not_(right), code.constant_vector(code.numbers, 1))
    before = code.load(owed, first, code.words, code.numbers)[0]
    gained = build.add(build.sub(lost_values[1], lost_values[0]), build.sub(unit, before))
    code.store([build.sub(build.xor(gained, sign), sign)], value_words, first, code.words)
    code.store([build.add(build.add(before, build.sub(*kept_values)), gained)], owed, first, code.words)


@cache
def compile_generation(lanes: int, words: int) -> Callable[..., None]:
    """Compile the loop that generates keys of function secret sharing: it writes the correction words of all levels.

    Args:
        lanes: AES blocks in a vector register.
        words: 64-bit words of a value, 1 or 2.

    Returns:
        The compiled `generate`, which writes into its arguments.
    """

    def generate(  # noqa: PLR0917
        owner: Any, seed_words: Any, value_words: Any, turns: Any, wide: Any, single: Any, bits: int
    ) -> None:
        """Write the correction words of all keys, level by level. Seeds of both parties and the values that are still
        owed, in `owner`, are replaced by those of the child on the owner's path.

        Args:
            seed_words, value_words, turns: Correction words by level, written here; `turns` are control bits.
            wide, single: AES round keys for vectorised and for single blocks.
            bits: Number of bits of the owner's input.
        """
        vectorised_count = len(turns) // lanes * lanes
        for level in range(len(seed_words)):
            public, bit = (seed_words[level], value_words[level], turns), bits - 1 - level
            for i in range(0, vectorised_count, lanes):
                _correct_level(owner, public, wide, i, bit, level, lanes, words)
            for i in range(vectorised_count, len(turns)):
                _correct_level(owner, public, single, i, bit, level, 1, words)

    return compile_loop(generate)


@define_intrinsic("blocks", "public", "round_keys", "first", "level", "lanes", "groups")
def _expand_children(context: Any, builder: Any, kinds: Any, arguments: Any) -> None:
    """Emit the expansion of one node's seeds of some keys to the corrected seeds of its left and right children.

    The arguments of the emitted intrinsic are: the arrays of parents, left and right children; the correction words;
    the round keys of AES; the index of the first key; and the level. Last come the AES blocks in a vector register and
    the number of registers at once, as literals.

    Args:
        context: Numba's context.
        builder: The LLVM builder.
        kinds: Types of the intrinsic's arguments; the last ones are literals.
        arguments: LLVM values of the intrinsic's arguments, in this order.
    """
    first, level, (lanes, groups) = arguments[3], arguments[4], (kind.literal_value for kind in kinds[5:])
    code = AesEmitter(context, builder, lanes, 1, groups)
    (parents, left, right), (words, turns), keys = (code.data_pointers(kinds[n], arguments[n]) for n in range(3))
    seeds = code.load(parents, first, 2, code.wide)
    controls = [code.control_mask(seed) for seed in seeds]
    corrections = code.load(words, first, 2, code.wide)
    lefts, rights = (code.apply_corrections(side, controls, corrections) for side in code.expand_blocks(seeds, *keys))
    code.store(lefts, left, first, 2)
    code.store(code.apply_corrections(rights, controls, code.turn_corrections(turns, first, level)), right, first, 2)


@cache
def compile_expansion(lanes: int) -> Callable[..., None]:
    """Compile the loop that expands all nodes of a level of all keys to their children.

    Args:
        lanes: AES blocks in a vector register.

    Returns:
        Compiled function, which reads nodes (nodes, keys, 2) and writes children (2 * nodes, keys, 2).
    """
    groups, width = GROUPS, GROUPS * lanes

    def expand_children(  # noqa: PLR0917
        nodes: Any, below: Any, seed_words: Any, turns: Any, wide: Any, single: Any, level: int
    ) -> None:
        """Write the children `below` of all nodes of a level, for all keys.

        Args:
            nodes: Seeds of the nodes, ``(nodes, keys, 2)``.
            below: Output, ``(2 * nodes, keys, 2)``.
            seed_words: Seed corrections of the level, ``(keys, 2)``.
            turns: Bits of the corrections of right children, ``(keys,)``.
            wide: Round keys of AES for full registers: of left, then of right children.
            single: Round keys of AES for one block, in the same order.
            level: Level of the nodes, from 0.
        """
        vectorised_count, public = len(turns) // width * width, (seed_words, turns)
        for node in range(len(nodes)):
            blocks = nodes[node], below[2 * node], below[2 * node + 1]
            for i in range(0, vectorised_count, width):
                _expand_children(blocks, public, (wide[0], wide[1]), i, level, lanes, groups)
            for i in range(vectorised_count, len(turns)):
                _expand_children(blocks, public, (single[0], single[1]), i, level, 1, 1)

    return compile_loop(expand_children)


@define_intrinsic("arrays", "round_keys", "first", "lanes", "words", "groups")
def _read_leaves(context: Any, builder: Any, kinds: Any, arguments: Any) -> None:
    """Emit the computation of the corrected leaf blocks of some keys.

    The arguments of the emitted intrinsic are: the arrays of leaves, corrections and resulting blocks; the round key of
    AES; and the index of the first key. Last come literals: AES blocks in a vector register, 64-bit words of a value,
    and registers at once.

    Args:
        context: Numba's context.
        builder: The LLVM builder.
        kinds: Types of the intrinsic's arguments; the last ones are literals.
        arguments: LLVM values of the intrinsic's arguments, in this order.
    """
    code = AesEmitter(context, builder, *(kind.literal_value for kind in kinds[3:]))
    leaves, corrections, blocks = code.data_pointers(kinds[0], arguments[0])
    numbers = _leaf_numbers(
        code, (leaves, corrections), data_pointer(context, builder, kinds[1], arguments[1]), arguments[2]
    )
    code.store([builder.bitcast(builder.add(*operands), code.wide) for operands in numbers], blocks, arguments[2], 2)


def _leaf_numbers(code: AesEmitter, pointers: tuple[Any, Any], key: Any, first: Any) -> list[tuple[Any, Any]]:
    """Return the blocks of leaves and their masked corrections, as numbers to add.

    Args:
        code: Emitter of LLVM code.
        pointers: Pointers to the seeds of leaves, and to their correction words.
        key: AES round keys.
        first: Index of the first key.

    Returns:
        Pairs of a block and its correction, which is 0 unless the control bit is set; their sums are the shares.
    """
    kind = code.wide if code.words == 1 else code.numbers
    seeds = code.load(pointers[0], first, 2, code.wide)
    (blocks,) = code.expand_blocks(seeds, key)
    corrections = code.load(pointers[1], first, 2, code.wide)
    masked = [code.builder.and_(code.control_mask(seed), block) for seed, block in zip(seeds, corrections, strict=True)]
    numbers = [[code.builder.bitcast(block, kind) for block in group] for group in (blocks, masked)]
    return list(zip(*numbers, strict=True))


@cache
def compile_leaf_values(lanes: int, words: int) -> Callable[..., None]:
    """Compile the loop that evaluates the leaves of comparison keys: blocks of two 64-bit words per key, corrected.

    Args:
        lanes: AES blocks in a vector register.
        words: 64-bit words of a value, 1 or 2.

    Returns:
        Compiled function of seeds, corrections, result array and round keys for vectorised and single blocks.
    """
    groups, width = GROUPS, GROUPS * lanes

    def read_leaves(leaves: Any, corrections: Any, blocks: Any, wide: Any, single: Any) -> None:
        """Write the corrected leaf block of each key into `blocks`, ``(keys, 2)``.

        Args:
            leaves: Seeds of the leaves, ``(keys, 2)``.
            corrections: Corrections of the leaves, ``(keys, 2)``.
            blocks: Output, ``(keys, 2)``.
            wide: Round keys of AES for full registers.
            single: Round keys of AES for one block.
        """
        vectorised_count, arrays = len(blocks) // width * width, (leaves, corrections, blocks)
        for i in range(0, vectorised_count, width):
            _read_leaves(arrays, wide, i, lanes, words, groups)
        for i in range(vectorised_count, len(blocks)):
            _read_leaves(arrays, single, i, 1, words, 1)

    return compile_loop(read_leaves)


@define_intrinsic("arrays", "round_keys", "first", "lanes", "words", "groups")
def _sum_leaves(context: Any, builder: Any, kinds: Any, arguments: Any) -> None:
    """Emit the addition of some keys' corrected leaf blocks to the running sums of one node.

    The arguments of the emitted intrinsic are: the arrays of leaves, corrections and sums; the round key of AES; and
    the index of the first key. Last come literals: AES blocks in a vector register, 64-bit words of a value, and
    registers at once.

    Args:
        context: Numba's context.
        builder: The LLVM builder.
        kinds: Types of the intrinsic's arguments; the last ones are literals.
        arguments: LLVM values of the intrinsic's arguments, in this order.
    """
    code = AesEmitter(context, builder, *(kind.literal_value for kind in kinds[3:]))
    (leaves, points, sums), key = (
        code.data_pointers(kinds[0], arguments[0]),
        data_pointer(context, builder, kinds[1], arguments[1]),
    )
    kind = code.wide if code.words == 1 else code.numbers
    total = builder.bitcast(code.load(sums, _I64(0), 2, code.wide)[0], kind)
    for block, masked in _leaf_numbers(code, (leaves, points), key, arguments[2]):
        total = builder.add(total, builder.add(block, masked))
    code.store([builder.bitcast(total, code.wide)], sums, _I64(0), 2)


@cache
def compile_leaf_sums(lanes: int, words: int) -> Callable[..., None]:
    """Compile the sums of the corrected leaves ``(nodes, keys, 2)`` over all keys, by lane: ``(nodes, 2 * lanes)``.

    Args:
        lanes: AES blocks in a vector register.
        words: 64-bit words of a value, 1 or 2.

    Returns:
        Compiled function that adds to its array of sums, which must be zero at first.
    """
    groups, width = GROUPS, GROUPS * lanes

    def sum_leaves(nodes: Any, point: Any, sums: Any, wide: Any, single: Any) -> None:
        """Add the corrected leaf blocks of all keys to `sums`, node by node and lane by lane.

        Args:
            nodes: Seeds of the leaves, ``(nodes, keys, 2)``.
            point: Corrections of the leaves, ``(keys, 2)``.
            sums: Sums that are increased, ``(nodes, 2 * lanes)``.
            wide: Round keys of AES for full registers.
            single: Round keys of AES for one block.
        """
        vectorised_count = len(point) // width * width
        for node in range(len(nodes)):
            arrays = nodes[node], point, sums[node]
            for i in range(0, vectorised_count, width):
                _sum_leaves(arrays, wide, i, lanes, words, groups)
            for i in range(vectorised_count, len(point)):
                _sum_leaves(arrays, single, i, 1, words, 1)

    return compile_loop(sum_leaves)


# SHA-256 of short messages with the processor's instructions, emitted as LLVM code. Import this only where they exist.
#
# A message of 48 bytes fills one block with its padding. A register holds four 32-bit words; the registers of `GROUPS`
# messages are interleaved, because a round takes several cycles.
HASH_GROUPS = 2
"""Messages whose SHA-256 rounds are interleaved, because a round takes several cycles. Results do not depend on it."""
MESSAGE_WORDS = 6
"""64-bit words of a hashed message: task prefix (2), level, node number, seed (2). With its padding it fits into a
single block of SHA-256."""
_I32, _WIDE = ir.IntType(32), ir.IntType(64)  # LLVM's types of a 32-bit word of SHA-256 and of a 64-bit word
_FOUR_WORDS = ir.VectorType(_I32, 4)
"""LLVM's type of a 128-bit register of four 32-bit words, on which SHA-256 instructions work."""


def _primes(count: int) -> list[int]:
    """Return the first `count` prime numbers, by trial division."""
    primes: list[int] = []
    candidate = 2
    while len(primes) < count:
        if all(candidate % prime for prime in primes):
            primes.append(candidate)
        candidate += 1
    return primes


def _cube_root(number: int) -> int:
    """Return the largest integer whose cube is at most `number`, by bisection."""
    low, high = 0, 1 << (number.bit_length() // 3 + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= number else (low, middle - 1)
    return low


ROUND_WORDS = [_cube_root(prime << 96) % 2**32 for prime in _primes(64)]
"""SHA-256's 64 round constants: the first 32 fractional bits of cube roots of primes (FIPS 180-4, section 4.2.2)."""
START_WORDS = [isqrt(prime << 64) % 2**32 for prime in _primes(8)]
"""SHA-256's initial state: the first 32 fractional bits of square roots of 8 primes (FIPS 180-4, section 5.3.3)."""


class _Sha256Emitter:
    """Emits code that processes one register of each message."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def call_instruction(self, name: str, *registers: Any) -> Any:
        """Return the result of the SHA-256 instruction `name` (rnds2, msg1 or msg2) on registers of four words."""
        kind = ir.FunctionType(_FOUR_WORDS, [_FOUR_WORDS] * len(registers))
        function = _TOOLS.get_or_insert_function(self.builder.module, kind, f"llvm.x86.sha256{name}")
        return self.builder.call(function, registers)

    def swap_bytes(self, register: Any) -> Any:
        """Return the register with the bytes of each 32-bit word reversed, because SHA-256 reads big-endian words."""
        kind = ir.FunctionType(_FOUR_WORDS, [_FOUR_WORDS])
        return self.builder.call(
            _TOOLS.get_or_insert_function(self.builder.module, kind, "llvm.bswap.v4i32"), [register]
        )

    def shuffle_words(self, first: Any, second: Any, *places: int) -> Any:
        """Return the register whose four 32-bit words are picked by `places` from `first`, then `second`."""
        return self.builder.shuffle_vector(first, second, ir.Constant(_FOUR_WORDS, places))

    def register_pointer(self, base: Any, message: Any, words: int, number: int) -> Any:
        """Return the pointer to register `number` of a message, in rows of `words` 64-bit words.

        Args:
            base: LLVM pointer to the first message.
            message: LLVM value of the message's index.
            words: 64-bit words of a row.
            number: Index of the register in the row, from 0.
        """
        start = self.builder.add(self.builder.mul(message, _WIDE(words)), _WIDE(2 * number))
        return self.builder.bitcast(self.builder.gep(base, [start]), _FOUR_WORDS.as_pointer())

    def load_message(self, base: Any, message: Any) -> list[Any]:
        """Return the block of a message of 48 bytes with SHA-256's padding: four registers of four big-endian words.

        Args:
            base: LLVM pointer to the first message.
            message: LLVM value of the message's index.
        """
        loaded = []
        for number in range(3):
            register = self.builder.load(self.register_pointer(base, message, MESSAGE_WORDS, number))
            register.align = 8
            loaded.append(self.swap_bytes(register))
        return [*loaded, ir.Constant(_FOUR_WORDS, [1 << 31, 0, 0, 64 * MESSAGE_WORDS])]

    def next_words(self, words: Sequence[Any]) -> Any:
        """Return the next four words of the message schedule, from the last sixteen.

        Args:
            words: Four registers of four 32-bit words, the earliest first.

        Returns:
            Register of four words.
        """
        shifted = self.shuffle_words(words[2], words[3], 1, 2, 3, 4)
        return self.call_instruction(
            "msg2", self.builder.add(self.call_instruction("msg1", words[0], words[1]), shifted), words[3]
        )

    def four_rounds(self, state: tuple[Any, Any], words: Any, number: int) -> tuple[Any, Any]:
        """Return both registers of the SHA-256 state after four rounds, beginning with round ``4 * number``.

        The registers hold the words (f, e, b, a) and (h, g, d, c), as the processor's instructions expect.

        Args:
            state: Both registers of the state.
            words: Four words of the message schedule.
            number: Number of the group of four rounds, 0 to 15.
        """
        first, second = state
        keyed = self.builder.add(words, ir.Constant(_FOUR_WORDS, ROUND_WORDS[4 * number : 4 * number + 4]))
        second = self.call_instruction("rnds2", second, first, keyed)
        first = self.call_instruction("rnds2", first, second, self.shuffle_words(keyed, keyed, 2, 3, 0, 0))
        return first, second

    def store(self, state: tuple[Any, Any], base: Any, message: Any) -> None:
        """Emit the store of a state as the digest of a message, in SHA-256's byte order.

        Args:
            state: Both registers of the state of SHA-256.
            base: LLVM pointer to the first digest.
            message: LLVM value of the message's index.
        """
        first, second = state
        for number, places in enumerate(((3, 2, 7, 6), (1, 0, 5, 4))):
            register = self.swap_bytes(self.shuffle_words(first, second, *places))
            # 4: 64-bit words of a SHA-256 digest
            self.builder.store(register, self.register_pointer(base, message, 4, number), align=8)


@define_intrinsic("messages", "digests", "first", "groups")
def _digest(context: Any, builder: Any, kinds: Any, arguments: Any) -> None:
    """Emit SHA-256 of some messages of 48 bytes, whose rounds are interleaved so that the processor works on several
    at a time.

    Args:
        context: Numba's context.
        builder: The LLVM builder.
        kinds: Types of `arguments`.
        arguments: Messages, digests, index of the first message, and, as a literal, number of messages at once.
    """
    code = _Sha256Emitter(builder)
    source, target = (data_pointer(context, builder, kinds[n], arguments[n]) for n in (0, 1))
    numbers = [builder.add(arguments[2], _WIDE(group)) for group in range(kinds[3].literal_value)]
    a, b, c, d, e, f, g, h = START_WORDS
    start = ir.Constant(_FOUR_WORDS, [f, e, b, a]), ir.Constant(_FOUR_WORDS, [h, g, d, c])
    words = [code.load_message(source, number) for number in numbers]
    states = [start for _ in numbers]
    for number in range(16):
        states = [
            code.four_rounds(state, message_words[0], number)
            for state, message_words in zip(states, words, strict=True)
        ]
        words = [
            [*message_words[1:], code.next_words(message_words)] if number < 12 else message_words[1:]
            for message_words in words
        ]
    for state, number in zip(states, numbers, strict=True):
        added = code.builder.add(state[0], start[0]), code.builder.add(state[1], start[1])
        code.store(added, target, number)


@cache
def compile_digests() -> Callable[..., None]:
    """Compile the function that writes SHA-256 digests ``(count, 4)`` of messages ``(count, 6)``, little-endian words.

    Returns:
        Compiled function of messages and result array.
    """
    groups = HASH_GROUPS

    def digest(messages: Any, digests: Any) -> None:
        """Write the SHA-256 digest of each message into `digests`.

        Args:
            messages: Messages of 48 bytes, ``(count, 6)``.
            digests: Output, ``(count, 4)``.
        """
        vectorised_count = len(messages) // groups * groups
        for i in range(0, vectorised_count, groups):
            _digest(messages, digests, i, groups)
        for i in range(vectorised_count, len(messages)):
            _digest(messages, digests, i, 1)

    return compile_loop(digest)


# Evaluation of a node of checked keys: both children, their hashes and weights, and a mark of all these.
NODE_KEYS_AT_ONCE = 128
"""Checked keys (verifiable function secret sharing) that are evaluated in one pass at a tree node, so that all buffers
stay in the L1 cache. Results do not depend on it."""


@define_intrinsic("arrays", "round_keys", "first", "lanes", "groups")
def _expand_blocks(context: Any, builder: Any, kinds: Any, arguments: Any) -> None:
    """Emit ``AES(block) xor block`` of some keys' blocks under one key schedule.

    Args:
        context: Numba's context.
        builder: The LLVM builder.
        kinds: Types of `arguments`.
        arguments: Arrays of blocks and of results, round keys, index of the first key, and, as literals, AES blocks in
            a vector register and registers at once.
    """
    code = AesEmitter(context, builder, kinds[3].literal_value, 1, kinds[4].literal_value)
    (blocks, target), key = (
        code.data_pointers(kinds[0], arguments[0]),
        data_pointer(context, builder, kinds[1], arguments[1]),
    )
    (expanded,) = code.expand_blocks(code.load(blocks, arguments[2], 2, code.wide), key)
    code.store(expanded, target, arguments[2], 2)


@define_intrinsic("planes", "written", "round_keys", "first", "lanes", "groups")
def _mark_blocks(context: Any, builder: Any, kinds: Any, arguments: Any) -> None:
    """Emit the code that computes check marks of ``lanes * groups`` keys of distributed point functions.

    Two servers compare marks to check that a client's keys are valid. The mark of a key is the XOR of the AES
    encryptions of its blocks, one from each array in `arguments[0]`.

    Args:
        context: Numba's context.
        builder: The LLVM builder.
        kinds: Types of `arguments`.
        arguments: Arrays of blocks, array of marks, round keys, index of the first key, and, as literals, AES blocks in
            a vector register and registers at once.
    """
    lanes, groups = (kind.literal_value for kind in kinds[4:])
    code = AesEmitter(context, builder, lanes, 1, groups)
    target, key = (data_pointer(context, builder, kinds[n], arguments[n]) for n in (1, 2))
    blocks = []
    for plane in code.data_pointers(kinds[0], arguments[0]):
        blocks.extend(code.load(plane, arguments[3], 2, code.wide))
    (expanded,) = code.expand_blocks(blocks, key)
    marks = []
    for group in range(groups):
        total = code.constant_vector(code.wide, 0)
        for block, encrypted in zip(blocks[group::groups], expanded[group::groups], strict=True):
            total = builder.xor(total, builder.xor(block, encrypted))  # undoes the XOR of `expand_blocks`: AES alone
        marks.append(total)
    code.store(marks, target, arguments[3], 2)


@cache
def compile_node_evaluation(lanes: int) -> Callable[..., Any]:
    """Compile the evaluation of a node of some keys, which writes marks and returns the left children's weight sum.

    In the compiled function, `words` holds the correction words of the node's children: seeds, values, proofs and
    turns. `node_words` corrects the node's value; it is empty at the root, whose weight is `start`.

    Args:
        lanes: AES blocks in a vector register.

    Returns:
        Compiled function of numbers of one 64-bit word.
    """
    groups, width = GROUPS, GROUPS * lanes

    def evaluate_node(  # noqa: PLR0912, PLR0917
        seeds: Any, node_words: Any, start: Any, words: Any, head: Any, level: int, wide: Any, single: Any, key: Any,
        masks: Any, marks: Any,
    ) -> Any:  # fmt: skip
        """Evaluate one node of the tree for all keys: write a mark per key, by which two servers check the keys, and
        sum weights.

        Args:
            seeds: SECRET. Seeds at the node, ``(keys, 2)``.
            node_words: Corrections of the node's value, ``(keys, 1)``; at the root, without rows.
            start: Weight of the root; without effect at other nodes.
            words: Corrections of the children: seeds, values, proofs and turns.
            head: Four words that begin each hashed message: prefix of the task, level, and number of the left child.
            level: Level of the node, from 0.
            wide: Round keys of AES for full registers: of left children, right children and values.
            single: Round keys of AES for one block, in the same order.
            key: SECRET. AES key of marks, ``(2,)``.
            masks: SECRET. Masks of the five blocks of a mark, ``(5, 2)``.
            marks: Output, ``(keys, 2)``.

        Returns:
            Sum of the left children's weights over all keys, modulo ``2**64``.
        """
        seed_words, value_words, proof_words, turns = words
        mark_wide, mark_single = np.empty((11, 2 * lanes), np.uint64), np.empty((11, 2), np.uint64)
        _expand_aes_key(key, mark_wide, lanes)
        _expand_aes_key(key, mark_single, 1)
        child_seeds = np.empty((2, NODE_KEYS_AT_ONCE, 2), np.uint64)
        blocks = np.empty((3, NODE_KEYS_AT_ONCE, 2), np.uint64)
        messages = np.empty((2 * NODE_KEYS_AT_ONCE, MESSAGE_WORDS), np.uint64)
        digests = np.empty((2 * NODE_KEYS_AT_ONCE, 4), np.uint64)
        # 5: blocks of a mark (see `NodeMarkKey`): four of both children's hashes, one of their weights
        planes = np.zeros((5, NODE_KEYS_AT_ONCE, 2), np.uint64)
        for j in range(2 * NODE_KEYS_AT_ONCE):
            for word in range(4):
                messages[j, word] = head[word]
            messages[j, 3] += np.uint64(j & 1)
        total, sign_shift = np.uint64(0), np.uint64(63)
        for begin in range(0, len(seeds), NODE_KEYS_AT_ONCE):
            count = min(NODE_KEYS_AT_ONCE, len(seeds) - begin)
            marked_count, end = count // width * width, begin + count
            parents, public = seeds[begin:end], (seed_words[begin:end], turns[begin:end])
            family = parents, child_seeds[0], child_seeds[1]
            for i in range(0, marked_count, width):
                _expand_children(family, public, (wide[0], wide[1]), i, level, lanes, groups)
                _expand_blocks((parents, blocks[0]), wide[2], i, lanes, groups)
                _expand_blocks((child_seeds[0], blocks[1]), wide[2], i, lanes, groups)
                _expand_blocks((child_seeds[1], blocks[2]), wide[2], i, lanes, groups)
            for i in range(marked_count, count):
                _expand_children(family, public, (single[0], single[1]), i, level, 1, 1)
                _expand_blocks((parents, blocks[0]), single[2], i, 1, 1)
                _expand_blocks((child_seeds[0], blocks[1]), single[2], i, 1, 1)
                _expand_blocks((child_seeds[1], blocks[2]), single[2], i, 1, 1)
            for j in range(count):
                for side in range(2):
                    messages[2 * j + side, 4] = child_seeds[side, j, 0]
                    messages[2 * j + side, 5] = child_seeds[side, j, 1]
            for i in range(0, 2 * count, HASH_GROUPS):
                _digest(messages, digests, i, HASH_GROUPS)
            for j in range(count):
                weight = start
                if len(node_words):
                    weight = blocks[0, j, 0] + (
                        node_words[begin + j, 0] & (np.uint64(0) - (parents[j, 1] >> sign_shift))
                    )
                weight_error = np.uint64(0) - weight
                for side in range(2):
                    mask = np.uint64(0) - (child_seeds[side, j, 1] >> sign_shift)
                    child = blocks[1 + side, j, 0] + (value_words[begin + j, 0] & mask)
                    weight_error += child
                    if side == 0:
                        total += child
                    for word in range(4):
                        hash_word = digests[2 * j + side, word] ^ (proof_words[begin + j, word] & mask)
                        plane = 2 * side + (word >> 1)
                        planes[plane, j, word & 1] = hash_word ^ masks[plane, word & 1]
                planes[4, j, 0] = weight_error ^ masks[4, 0]
                planes[4, j, 1] = masks[4, 1]
            chunk_planes, chunk_marks = (planes[0], planes[1], planes[2], planes[3], planes[4]), marks[begin:end]
            marked_count = count // (2 * lanes) * (2 * lanes)
            for i in range(0, marked_count, 2 * lanes):
                _mark_blocks(chunk_planes, chunk_marks, mark_wide, i, lanes, 2)
            for i in range(marked_count, count):
                _mark_blocks(chunk_planes, chunk_marks, mark_single, i, 1, 1)
        return total

    return compile_loop(evaluate_node)


# Loops over AND gates of garbled circuits.
GARBLED, EVALUATED = 2, 4
"""Registers of each input whose AES rounds are interleaved, at the garbler (4 hashes each) and the evaluator (2)."""


class _GateEmitter(AesEmitter):
    """Emits code over wire labels of two words: a register of four words holds two labels."""

    def sigma(self, labels: Any, tweaks: Any) -> Any:
        """Return ``sigma(x) xor t`` of label x and tweak t, the input of the hash of a gate (Guo, Katz, Wang and Yu
        2020): sigma maps the halves (low, high) of a label to (high xor low, low).

        Args:
            labels: Register of labels.
            tweaks: Register of tweaks.
        """
        low = self._shuffle_words(labels, labels, [2 * (index // 2) for index in range(2 * self.lanes)])
        zeros = self.constant_vector(self.wide, 0)
        indices = [index + 1 if index % 2 == 0 else 2 * self.lanes for index in range(2 * self.lanes)]
        return self.builder.xor(self.builder.xor(low, self._shuffle_words(labels, zeros, indices)), tweaks)

    def tweaks(self, first: Any, half: int) -> list[Any]:
        """Return tweaks in low words: twice the instance number, plus one in the evaluator's half.

        Args:
            first: LLVM value of the first instance's number.
            half: 0 for the garbler's half of the gate, 1 for the evaluator's.

        Returns:
            A register for each group.
        """
        doubled = self.broadcast(self.builder.shl(first, _I64(1)), self.wide)
        low = self.builder.and_(doubled, ir.Constant(self.wide, [2**64 - 1, 0] * self.lanes))
        return [
            self.builder.add(low, ir.Constant(self.wide, self._tweak_words(group * self.lanes, half)))
            for group in range(self.groups)
        ]

    def _tweak_words(self, start: int, half: int) -> list[int]:
        """Return the constant low and high words of the tweaks of `lanes` instances from number `start` on.

        Args:
            start: Number of the first instance.
            half: 0 for the garbler's half of the gate, 1 for the evaluator's.
        """
        return [word for lane in range(self.lanes) for word in (2 * (start + lane) + half, 0)]

    def permute_mask(self, labels: Any) -> Any:
        """Return all ones for labels whose permute bit (the lowest) is set, and zeros for others, in both words."""
        low = self._shuffle_words(labels, labels, [2 * (index // 2) for index in range(2 * self.lanes)])
        top = self.constant_vector(self.wide, 63)
        return self.builder.ashr(self.builder.shl(low, top), top)

    def declare_aes_instruction(self, name: str, *more: Any) -> Any:
        """Return LLVM's function for the AES instruction `name` on one block, with further operand types `more`."""
        kind = ir.FunctionType(self.wide, [self.wide, *more])
        return _TOOLS.get_or_insert_function(self.builder.module, kind, f"llvm.x86.aesni.aes{name}")

    def xor_all(self, *vectors: Any) -> Any:
        """Emit the XOR of several vector registers, and return its register.

        Args:
            vectors: LLVM vectors of one type.
        """
        total = vectors[0]
        for vector in vectors[1:]:
            total = self.builder.xor(total, vector)
        return total


@define_intrinsic("labels", "written", "public", "first", "lanes", "groups")
def _garble(context: Any, builder: Any, kinds: Any, arguments: Any) -> None:
    """Emit the garbler's work for some instances of an AND gate: write both tables and the output's zero labels.

    Args:
        context: Numba's context.
        builder: The LLVM builder.
        kinds: Types of `arguments`.
        arguments: Labels of both inputs; both tables and the output; round keys and offset; number of the first
            instance; and, as literals, AES blocks in a vector register and registers at once.
    """
    first, (lanes, groups) = arguments[3], (kind.literal_value for kind in kinds[4:])
    code, build = _GateEmitter(context, builder, lanes, 1, groups), builder
    labels, targets, (schedule, offsets) = (code.data_pointers(kinds[number], arguments[number]) for number in range(3))
    offset = code.load(offsets, _I64(0), 2, code.wide)[0]
    inputs = [code.load(base, first, 2, code.wide) for base in labels]
    offset_multiple = code.sigma(offset, code.constant_vector(code.wide, 0))
    zeros = []
    for half, side in enumerate(inputs):
        zeros += [code.sigma(label, tweak) for label, tweak in zip(side, code.tweaks(first, half), strict=True)]
    (hashes,) = code.expand_blocks([*zeros, *(build.xor(block, offset_multiple) for block in zeros)], schedule)
    size = len(inputs[0])
    rows = [hashes[start : start + size] for start in range(0, 4 * size, size)]
    gates = [
        _half_gates(code, offset, instance_inputs, instance_hashes)
        for instance_inputs, instance_hashes in zip(zip(*inputs, strict=True), zip(*rows, strict=True), strict=True)
    ]
    for base, registers in zip(targets, zip(*gates, strict=True), strict=True):
        code.store(registers, base, first, 2)


def _half_gates(code: _GateEmitter, offset: Any, inputs: Any, hashes: Any) -> tuple[Any, Any, Any]:
    """Return the garbled AND gate of Zahur, Rosulek and Evans (half gates).

    Args:
        code: Emitter of LLVM code.
        offset: The secret difference of the labels of 1 and of 0.
        inputs: Zero labels of both input wires.
        hashes: Hashes of the left and right zero labels, then of the left and right labels of 1.

    Returns:
        First table, second table, and the output zero label.
    """
    build, (left, right), (left_zero, right_zero, left_one, right_one) = code.builder, inputs, hashes
    left_mask, right_mask = code.permute_mask(left), code.permute_mask(right)
    first = code.xor_all(left_zero, left_one, build.and_(right_mask, offset))
    right_difference = build.xor(right_zero, right_one)
    output = code.xor_all(left_zero, right_zero, build.and_(left_mask, first), build.and_(right_mask, right_difference))
    return first, build.xor(right_difference, left), output


@define_intrinsic("labels", "tables", "written", "public", "first", "lanes", "groups")
def _evaluate(context: Any, builder: Any, kinds: Any, arguments: Any) -> None:
    """Emit the evaluator's work for some instances of an AND gate: write the output's labels.

    Args:
        context: Numba's context.
        builder: The LLVM builder.
        kinds: Types of `arguments`.
        arguments: Labels of both inputs; both tables; output; round keys; number of the first instance; and, as
            literals, AES blocks in a vector register and registers at once.
    """
    first, (lanes, groups) = arguments[4], (kind.literal_value for kind in kinds[5:])
    code, build = _GateEmitter(context, builder, lanes, 1, groups), builder
    labels, tables, (output,), (schedule,) = (
        code.data_pointers(kinds[number], arguments[number]) for number in range(4)
    )
    left, right = (code.load(base, first, 2, code.wide) for base in labels)
    lower, upper = (code.load(base, first, 2, code.wide) for base in tables)
    blocks = []
    for half, side in enumerate((left, right)):
        blocks += [code.sigma(label, tweak) for label, tweak in zip(side, code.tweaks(first, half), strict=True)]
    (hashes,) = code.expand_blocks(blocks, schedule)
    labels_out = [
        code.xor_all(
            hashes[index],
            hashes[index + len(left)],
            build.and_(code.permute_mask(left[index]), lower[index]),
            build.and_(code.permute_mask(right[index]), build.xor(upper[index], left[index])),
        )
        for index in range(len(left))
    ]
    code.store(labels_out, output, first, 2)


@define_intrinsic("key", "rounds", "lanes")
def _expand_aes_key(context: Any, builder: Any, kinds: Any, arguments: Any) -> None:
    """Emit the eleven AES-128 round keys of a public key, written as ``(11, 2 * lanes)`` words, each repeated for all
    blocks of a register (FIPS 197, section 5.2).

    Args:
        context: Numba's context.
        builder: The LLVM builder.
        kinds: Types of `arguments`.
        arguments: Public key, array that is filled, and, as a literal, AES blocks in a vector register.
    """
    base, target = (data_pointer(context, builder, kinds[n], arguments[n]) for n in (0, 1))
    code, build, lanes = _GateEmitter(context, builder, 1, 1, 1), builder, kinds[2].literal_value
    words = ir.VectorType(ir.IntType(32), 4)
    assist = code.declare_aes_instruction("keygenassist", ir.IntType(8))
    key, constant, zeros = code.load(base, _I64(0), 2, code.wide)[0], 1, ir.Constant(words, [0] * 4)
    for number in range(ROUNDS + 1):
        for lane in range(lanes):
            code.store([key], target, _I64(number * lanes + lane), 2)
        assisted = build.bitcast(build.call(assist, [key, ir.IntType(8)(constant)]), words)
        terms = [build.bitcast(key, words)]
        for shift in range(1, 4):
            terms.append(code._shuffle_words(zeros, terms[0], [*range(shift), *range(4, 8 - shift)]))
        key = build.bitcast(code.xor_all(*terms, code._shuffle_words(assisted, assisted, [3] * 4)), code.wide)
        constant = (constant << 1) ^ (0x11B if constant & 0x80 else 0)


@cache
def compile_garbling(lanes: int) -> Callable[..., None]:
    """Compile the garbler's loop over many instances of one AND gate.

    Args:
        lanes: AES blocks in a vector register; the offset is repeated for each.

    Returns:
        Compiled function of labels, target arrays, AES key and offset, which writes tables and output labels.
    """
    groups, width = GARBLED, GARBLED * lanes

    def garble(labels: Any, written: Any, key: Any, offset: Any) -> None:
        """Write tables and output zero labels of all instances of one AND gate.

        Args:
            labels: SECRET. Zero labels of both inputs, ``(instances, 2)`` each.
            written: Output: both tables and the zero labels of the output, ``(instances, 2)`` each.
            key: Public AES key of the gate, ``(2,)``.
            offset: SECRET. Free-XOR offset, repeated for each block of a register.
        """
        wide, single = np.empty((11, 2 * lanes), np.uint64), np.empty((11, 2), np.uint64)
        _expand_aes_key(key, wide, lanes)
        _expand_aes_key(key, single, 1)
        count = len(labels[0])
        vectorised_count = count // width * width
        for i in range(0, vectorised_count, width):
            _garble(labels, written, (wide, offset), i, lanes, groups)
        for i in range(vectorised_count, count):
            _garble(labels, written, (single, offset), i, 1, 1)

    return compile_loop(garble)


@cache
def compile_evaluation(lanes: int) -> Callable[..., None]:
    """Compile the evaluator's loop over many instances of one garbled AND gate.

    Args:
        lanes: AES blocks in a vector register.

    Returns:
        Compiled function of input labels, tables, target array and AES key, which writes the output labels.
    """
    groups, width = EVALUATED, EVALUATED * lanes

    def evaluate(labels: Any, tables: Any, written: Any, key: Any) -> None:
        """Write the output labels of all instances of one AND gate.

        Args:
            labels: SECRET. Labels of both inputs' values, ``(instances, 2)`` each.
            tables: Both tables, ``(instances, 2)`` each.
            written: Output: an array of shape ``(instances, 2)``.
            key: Public AES key of the gate, ``(2,)``.
        """
        wide, single = np.empty((11, 2 * lanes), np.uint64), np.empty((11, 2), np.uint64)
        _expand_aes_key(key, wide, lanes)
        _expand_aes_key(key, single, 1)
        count = len(labels[0])
        vectorised_count = count // width * width
        for i in range(0, vectorised_count, width):
            _evaluate(labels, tables, written, (wide,), i, lanes, groups)
        for i in range(vectorised_count, count):
            _evaluate(labels, tables, written, (single,), i, 1, 1)

    return compile_loop(evaluate)
