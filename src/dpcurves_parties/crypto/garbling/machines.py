"""Garbled-circuit machines: the garbler writes tables, the evaluator reads them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpcurves.arguments import ProtocolAborted

from ..ring import Words
from .engine import GateEngine
from .gate_keys import GateKeys
from .labels import require_offset


@dataclass(slots=True, repr=False, eq=False)
class Garbler:
    """SECRET: runs gates on labels of 0, ``(instances, 2)``.

    Attributes:
        engine: Hash engine of the gates.
        keys: Those of the session's gates.
        offset: Global offset of free XOR, the difference of labels of 0 and 1, in the whole session and in no other.

    Raises:
        ValueError: the offset is even.
    """

    engine: GateEngine
    keys: GateKeys
    offset: Words
    _tables: list[Words] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        require_offset(self.offset)

    def xor(self, left: Words, right: Words) -> Words:
        return left ^ right

    def negation(self, wire: Words) -> Words:
        return wire ^ self.offset

    def zeros(self, like: Words) -> Words:
        """The label of 0 is all zeros, and the evaluator knows it: the value is known to all."""
        return np.zeros_like(like)

    def conjunction(self, left: Words, right: Words) -> Words:
        tables, wire = self.engine.garble(left, right, self.offset, self.keys.next())
        self._tables.append(tables)
        return wire

    def written(self) -> bytes:
        """The tables since this was last asked for: 32 bytes an AND."""
        tables, self._tables = self._tables, []
        return b"".join([table.astype("<u8", copy=False).data.cast("B") for table in tables])


@dataclass(slots=True, repr=False, eq=False)
class Evaluator:
    """SECRET: runs gates on the labels that stand for the values, with tables from the garbler.

    Attributes:
        engine: Hash engine of the gates.
        keys: Those of the session's gates.
    """

    engine: GateEngine
    keys: GateKeys
    _tables: Words = field(default_factory=lambda: np.empty(0, np.uint64), init=False)
    _read: int = field(default=0, init=False)

    def read(self, tables: bytes | memoryview) -> None:
        """Go on with these tables, when those before are used up.

        Raises:
            ProtocolAborted: they are not, or these are cut off.
        """
        self.finish()
        if len(tables) % 32:
            raise ProtocolAborted("tables", "they are cut off")
        self._tables, self._read = np.frombuffer(tables, dtype="<u8").astype(np.uint64, copy=False), 0

    def finish(self) -> None:
        """Require that all tables are used up.

        Raises:
            ProtocolAborted: there are more than the circuit has gates.
        """
        if self._read != len(self._tables):
            raise ProtocolAborted("tables", "there are more of them than gates")

    def xor(self, left: Words, right: Words) -> Words:
        return left ^ right

    def negation(self, wire: Words) -> Words:
        """Leave the label: the garbler alone has turned what it stands for."""
        return wire

    def zeros(self, like: Words) -> Words:
        return np.zeros_like(like)

    def conjunction(self, left: Words, right: Words) -> Words:
        end = self._read + 4 * len(left)
        if end > len(self._tables):
            raise ProtocolAborted("tables", "there are fewer of them than gates")
        tables = self._tables[self._read : end].reshape(2, len(left), 2)
        self._read = end
        return self.engine.evaluate(left, right, tables, self.keys.next())
