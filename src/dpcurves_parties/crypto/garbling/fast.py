"""The fast engine of gates: the processor's AES instructions, by code that numba compiles."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpcurves.arguments import Refused

from ..fast import lanes_here
from ..ring import Words
from .engine import GateEngine
from .portable import PortableGates

_LEAST = 64
"""Instances that are worth the fast loops."""


@dataclass(slots=True, repr=False, eq=False)
class FastGates:
    """Garbles in registers of one block or two; a few instances are left to the portable engine.

    Formal guarantees: neither branches nor places in memory depend on labels.
    """

    lanes: int
    _portable: PortableGates = field(default_factory=PortableGates, init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.lanes <= lanes_here():
            raise Refused("lanes", f"this processor has instructions for {lanes_here()} blocks, got {self.lanes}")

    def garble(self, left: Words, right: Words, offset: Words, key: Words) -> tuple[Words, Words]:
        if len(left) < _LEAST:
            return self._portable.garble(left, right, offset, key)
        from .gate_kernels import garbling

        tables, output = np.empty((2, len(left), 2), np.uint64), np.empty((len(left), 2), np.uint64)
        labels = np.ascontiguousarray(left), np.ascontiguousarray(right)
        garbling(self.lanes)(labels, (tables[0], tables[1], output), key, np.tile(offset, self.lanes))
        return tables, output

    def evaluate(self, left: Words, right: Words, tables: Words, key: Words) -> Words:
        if len(left) < _LEAST:
            return self._portable.evaluate(left, right, tables, key)
        from .gate_kernels import evaluation

        output, tables = np.empty((len(left), 2), np.uint64), np.ascontiguousarray(tables)
        labels = np.ascontiguousarray(left), np.ascontiguousarray(right)
        evaluation(self.lanes)(labels, (tables[0], tables[1]), (output,), key)
        return output


def gates_here(instances: int) -> GateEngine:
    """The engine for so many instances: the fast one where this machine has it, and they are worth its start."""
    return FastGates(lanes_here()) if instances >= _LEAST and lanes_here() else PortableGates()
