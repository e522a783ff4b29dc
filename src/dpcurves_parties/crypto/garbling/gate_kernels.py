"""Loops over AND gates with the processor's AES instructions, emitted as LLVM code. Import this only where they exist.

(As in `crypto.kernels`, whose emitter this builds on: whoever changes it has to empty `__pycache__`.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from dpcurves.arrays import compiled

from ..kernels import ROUNDS, Emitter, emitted, place_of

GARBLED, EVALUATED = 2, 4
"""Registers of each input that are worked on side by side."""
_I64 = ir.IntType(64)
_TOOLS: Any = cgutils


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
