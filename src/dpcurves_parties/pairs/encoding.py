"""SECRET. Values of people as XOR shares for two servers: each uniform on its own, whatever values are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import Refused
from dpcurves.arrays import IntArray
from dpcurves.noise.randomness import Randomness

from .values import whole_numbers

Words = NDArray[np.uint64]
Octets = NDArray[np.uint8]


@dataclass(frozen=True)
class PairEncoding:
    """Encoding of the reports of a task of pairs: the declared bits of all columns, one behind another.

    Attributes:
        widths: Bits of each column.
    """

    widths: tuple[int, ...]

    @property
    def public_size(self) -> int:
        """Size of the public half of a report, zero: both servers know nothing of it in common."""
        return 0

    @property
    def size(self) -> int:
        """Bytes of a report for one server."""
        return -(-sum(self.widths) // 8)

    def shared(self, rows: IntArray, randomness: Randomness) -> list[tuple[bytes, bytes]]:
        """SECRET: shares of each person for server 0 and for server 1.

        Formal guarantees: the first share is uniform, and the second one is its XOR with the values' declared bits: so
        each of them alone is uniform, whatever values are. What is no number of so many bits counts as `whole` says.

        Args:
            rows: Whole numbers, a column for each width.
            randomness: Source of the masks.
        """
        values = self._packed([whole_numbers(rows[:, place], width) for place, width in enumerate(self.widths)])
        drawn = randomness.octets(values.size)
        masks = np.frombuffer(drawn, np.uint8).reshape(values.shape) & self._used
        return [(one.tobytes(), other.tobytes()) for one, other in zip(masks, masks ^ values, strict=True)]

    def require(self, party: int, shares: Sequence[bytes]) -> None:
        """Refuse invalid shares.

        Raises:
            ValueError: a share has another size, or bits behind the declared ones.
        """
        if bool((self._octets(shares) & ~self._used).any()):
            raise Refused("shares", f"{sum(self.widths)} bits are needed")

    def columns(self, shares: Sequence[bytes]) -> list[Words]:
        """SECRET: one server's shares of each column, in order.

        Raises:
            ValueError: a share has another size.
        """
        bits = np.unpackbits(self._octets(shares), axis=1, bitorder="little").astype(np.uint64)
        ends = np.cumsum(self.widths)
        return [
            (bits[:, end - width : end] << np.arange(width, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
            for end, width in zip(ends, self.widths, strict=True)
        ]

    def warm(self) -> None:
        """Do nothing, because nothing is compiled."""

    @property
    def _used(self) -> Octets:
        """The bits that are declared."""
        return np.packbits(np.ones(sum(self.widths), np.bool_), bitorder="little")

    def _packed(self, values: Sequence[Words]) -> Octets:
        bits = [
            (each[:, None] >> np.arange(width, dtype=np.uint64)) & np.uint64(1)
            for each, width in zip(values, self.widths, strict=True)
        ]
        return np.packbits(np.concatenate(bits, axis=1).astype(np.bool_), axis=1, bitorder="little")

    def _octets(self, shares: Sequence[bytes]) -> Octets:
        if any(len(share) != self.size for share in shares):
            raise Refused("shares", f"{self.size} bytes are needed")
        return np.frombuffer(b"".join(shares), np.uint8).reshape(len(shares), self.size)
