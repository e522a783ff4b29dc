"""Loops over the leaves of keys, emitted as LLVM code. Import this only where there are AES instructions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dpcurves.compiled import compiled

from .kernels import GROUPS, Emitter

_I64 = ir.IntType(64)


def _typed_read(  # noqa: PLR0917 (numba's functions have no keywords)
    typing: Any, arrays: Any, round_keys: Any, first: Any, lanes: Any, words: Any, groups: Any
) -> Any:
    """Typed intrinsic that evaluates leaves of some keys: ``(leaves, corrections, blocks)``."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        code = Emitter(context, builder, lanes.literal_value, words.literal_value, groups.literal_value)
        leaves, corrections, blocks = code.data(signature.args[0], given[0])
        key = context.make_array(round_keys)(context, builder, given[1]).data
        said = [
            builder.bitcast(builder.add(*both), code.wide) for both in _said(code, (leaves, corrections), key, given[2])
        ]
        code.store(said, blocks, given[2], 2)
        return context.get_dummy_value()

    return types.void(arrays, round_keys, first, lanes, words, groups), emit


_read: Any = intrinsic(prefer_literal=True)(_typed_read)


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
    """The loop that reads leaves: ``(keys, 2)`` to ``(keys, 2)``."""
    groups, width = GROUPS, GROUPS * lanes

    def read(leaves: Any, corrections: Any, blocks: Any, wide: Any, single: Any) -> None:
        whole, arrays = len(blocks) // width * width, (leaves, corrections, blocks)
        for i in range(0, whole, width):
            _read(arrays, wide, i, lanes, words, groups)
        for i in range(whole, len(blocks)):
            _read(arrays, single, i, 1, words, 1)

    return compiled(read)


def _typed_gather(  # noqa: PLR0917
    typing: Any, arrays: Any, round_keys: Any, first: Any, lanes: Any, words: Any, groups: Any
) -> Any:
    """Typed intrinsic that adds up the values of leaves of some keys: ``(leaves, corrections, sums)``."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        code = Emitter(context, builder, lanes.literal_value, words.literal_value, groups.literal_value)
        leaves, points, sums = code.data(signature.args[0], given[0])
        _emit_gather(
            code, (leaves, points, sums), context.make_array(round_keys)(context, builder, given[1]).data, given[2]
        )
        return context.get_dummy_value()

    return types.void(arrays, round_keys, first, lanes, words, groups), emit


def _emit_gather(code: Emitter, at: tuple[Any, Any, Any], key: Any, first: Any) -> None:
    leaves, points, sums = at
    build, kind = code.builder, code.wide if code.words == 1 else code.numbers
    total = build.bitcast(code.load(sums, _I64(0), 2, code.wide)[0], kind)
    for block, masked in _said(code, (leaves, points), key, first):
        total = build.add(total, build.add(block, masked))
    code.store([build.bitcast(total, code.wide)], sums, _I64(0), 2)


_gather: Any = intrinsic(prefer_literal=True)(_typed_gather)


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
