"""The fast engine: the processor's AES instructions, by code that numba compiles. The same bits as the portable one."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from dpcurves.arguments import Refused

from .comparison_keys import PublicShare
from .engine import Engine, State, TaskKeys
from .portable import PortableEngine
from .ring import Words
from .round_keys import schedule


@dataclass(frozen=True, slots=True, repr=False)
class FastEngine:
    """Expands seeds in registers of one or two blocks. What is done once a key is left to the portable engine.

    Formal guarantees: neither branches nor places in memory depend on cells or seeds.
    """

    keys: TaskKeys
    lanes: int
    chunk: int = 8192
    _portable: PortableEngine = field(init=False)
    _schedules: tuple[Words, Words] = field(init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.lanes <= lanes_here():
            raise Refused("lanes", f"this processor has instructions for {lanes_here()} blocks, got {self.lanes}")
        rounds = np.stack(
            [schedule(key) for key in (self.keys.left, self.keys.right, self.keys.value, self.keys.other_value)]
        )
        object.__setattr__(self, "_portable", PortableEngine(self.keys))
        object.__setattr__(self, "_schedules", (rounds, np.tile(rounds, self.lanes)))

    @classmethod
    def of_task(cls, task: bytes) -> FastEngine:
        """An engine with the keys of the task so named."""
        return cls(TaskKeys.of_task(task), lanes_here())

    def generate(self, public: PublicShare, cells: Words, first: Words, second: Words) -> None:
        from .kernels import generation

        if not (_packed(public.seeds) and _packed(public.values) and _packed(public.turns)):
            raise Refused("public", "words of keys must lie side by side")
        ring, cells, pair = (
            public.domain.ring,
            np.ascontiguousarray(cells),
            (first.copy(order="C"), second.copy(order="C")),
        )
        owed, (single, wide) = np.zeros((len(cells), ring.words), np.uint64), self._schedules
        generation(self.lanes, ring.words)(
            (cells, *pair, owed), public.seeds, public.values, public.turns, wide, single, public.domain.bits
        )
        self._portable.close(public, cells, pair, owed)

    def descend(self, state: State, public: PublicShare, start: int, stop: int, path: int) -> None:
        from .kernels import descent

        words = public.domain.ring.words
        single, wide = (self._by_turn(rounds, words) for rounds in self._schedules)
        corrections = _laid(public.seeds), _laid(public.values), _laid(public.turns)
        state.seeds, state.values = _laid(state.seeds), _laid(state.values)
        descent(self.lanes, words)(
            (state.seeds, state.values), *corrections, wide, single, start, stop, np.uint64(path)
        )

    def leaves(self, state: State, public: PublicShare) -> Words:
        from .leaf_kernels import reading

        single, wide = self._schedules
        result = np.empty(state.seeds.shape, np.uint64)
        seeds, corrections = _laid(state.seeds), _laid(public.leaf)
        reading(self.lanes, public.domain.ring.words)(seeds, corrections, result, wide[2], single[2])
        return result

    def children(self, nodes: Words, seed_words: Words, turns: Words, level: int) -> Words:
        from .kernels import doubling

        single, wide = self._schedules
        below = np.empty((2 * len(nodes), *nodes.shape[1:]), np.uint64)
        doubling(self.lanes)(_laid(nodes), below, _laid(seed_words), _laid(turns), wide, single, level)
        return below

    def blocks(self, seeds: Words) -> Words:
        return self._portable.blocks(seeds)

    def digests(self, messages: Words) -> Words:
        if not {"sha", "sse4.1"} <= instructions_here():
            return self._portable.digests(messages)
        from .hash_kernel import digesting

        result = np.empty((len(messages), 4), np.uint64)
        digesting()(np.ascontiguousarray(messages), result)
        return result

    def leaf_sums(self, nodes: Words, public: PublicShare) -> Words:
        from .leaf_kernels import gathering

        ring, (single, wide) = public.domain.ring, self._schedules
        lanes = np.zeros((len(nodes), 2 * self.lanes), np.uint64)
        gathering(self.lanes, ring.words)(_laid(nodes), _laid(public.point), lanes, wide[0], single[0])
        numbers = lanes.reshape(len(nodes), self.lanes, 2 // ring.words, ring.words)
        return ring.sums(numbers.swapaxes(1, 2)).reshape(len(nodes), 2)

    def _by_turn(self, rounds: Words, words: int) -> Words:
        """Round keys of children, then of values, each left and right."""
        return rounds if words == 2 else rounds[[0, 1, 2, 2]]


def _packed(words: Words) -> bool:
    """True if the words of keys are contiguous along the last axis or two, which the compiled loops assume."""
    inner = words if words.ndim < 3 else words[:1]
    return inner.size == 0 or inner.flags.c_contiguous


def _laid(words: Words) -> Words:
    """Lay words side by side in memory."""
    return words if _packed(words) else np.ascontiguousarray(words)


@cache
def instructions_here() -> frozenset[str]:
    """Instruction sets that this processor has and numba may use: none where there is no numba."""
    try:
        import numba
    except ImportError:
        return frozenset()
    from llvmlite.binding import get_host_cpu_features
    from numba.core.registry import cpu_target

    config: Any = numba.config
    if config.DISABLE_JIT:
        return frozenset()
    _, _, allowed = cpu_target.target_context.codegen().magic_tuple()
    used = {name[1:] for name in allowed.split(",") if name.startswith("+")}
    return frozenset(name for name, has in get_host_cpu_features().items() if has and name in used)


def lanes_here() -> int:
    """Blocks per AES instruction of this processor; 0 if there is none, or numba may not use it."""
    if not {"aes", "sse2"} <= instructions_here():
        return 0
    return 2 if {"vaes", "avx2"} <= instructions_here() else 1


def engine_of_task(task: bytes) -> Engine:
    """The fastest engine that this machine has. All engines of a task give the same bits."""
    return FastEngine.of_task(task) if lanes_here() else PortableEngine.of_task(task)
