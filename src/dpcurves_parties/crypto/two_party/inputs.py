"""SECRET: a party's inputs as bits, chunk by chunk, and labels for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from dpcurves.arguments import Refused

from ..circuits import bits_of
from ..ring import Words
from ..server_keys import Octets
from .job import Owner

Bits = NDArray[np.bool_]
Given = Sequence[NDArray[np.uint64] | None]
"""For each input the numbers of all instances; None where the party has none, and for coins."""
SEED_SIZE = 16
_WORD = 64


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Inputs:
    """SECRET: inputs of one party to one circuit.

    Attributes:
        widths: Bits of each input.
        owners: Owner of each input.
        values: Values that this party supplies.
        own: Role of this party.
        randomness: Source of its bits of coins.

    Raises:
        ValueError: it has not what it should have, or of another number of instances, or with more bits.
    """

    widths: tuple[int, ...]
    owners: tuple[Owner, ...]
    values: Given
    own: Owner
    randomness: Octets

    def require(self, count: int) -> None:
        """Refuse what does not fit so many instances."""
        if len(self.values) != len(self.owners):
            raise Refused("values", f"{len(self.owners)} inputs are needed, got {len(self.values)}")
        for owner, width, values in zip(self.owners, self.widths, self.values, strict=True):
            if (values is not None) != (owner in (self.own, Owner.SHARED)):
                raise Refused(
                    "values", f"a party has those that are its own, and shares, but no input of {owner.value}"
                )
            if values is not None and values.shape != (count,):
                raise Refused("values", f"one for each of {count} instances is needed")
            if values is not None and width < _WORD and bool(np.any(values >> np.uint64(width))):
                raise Refused("values", f"all must be whole numbers below 2**{width}")

    def bits(self, part: slice) -> Iterator[tuple[Owner, int, list[Bits]]]:
        """For each input its owner, its width, and this party's bits of it, which may be none."""
        size = part.stop - part.start
        for owner, width, values in zip(self.owners, self.widths, self.values, strict=True):
            if owner is Owner.COIN:
                yield owner, width, self._coins(width, size)
            else:
                yield owner, width, [] if values is None else bits_of(values[part], width)

    def _coins(self, width: int, size: int) -> list[Bits]:
        drawn = np.frombuffer(self.randomness.octets(-(-width * size // 8)), np.uint8)
        return list(np.unpackbits(drawn, count=width * size).astype(np.bool_).reshape(width, size))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LabelStream:
    """SECRET: labels of the garbler's own inputs, made of one seed by both parties: they tell the evaluator nothing.

    The seed stays between them, so that nobody on the way has labels either.
    """

    _context: CipherContext

    @classmethod
    def of(cls, seed: bytes | memoryview) -> LabelStream:
        return cls(Cipher(algorithms.AES128(bytes(seed)), modes.CTR(bytes(16))).encryptor())

    def next(self, width: int, size: int) -> Words:
        """Labels of so many wires, ``(width, size, 2)``."""
        drawn = self._context.update(bytes(16 * width * size))
        return np.frombuffer(drawn, dtype="<u8").astype(np.uint64, copy=False).reshape(width, size, 2)


def transferred(owners: Sequence[Owner], widths: Sequence[int]) -> int:
    """Bits of one instance that go through a transfer."""
    return sum(width for owner, width in zip(owners, widths, strict=True) if owner.is_given_by_evaluator)
