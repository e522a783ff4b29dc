"""The cells that keys speak of, and the ring in which shares add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcurves.arguments import Refused

from .ring import Ring, Words

MOST_BITS = 64
ENUMERABLE_BITS = 20


@dataclass(frozen=True, slots=True)
class Domain:
    """Cells ``0, ..., 2**bits - 1``, and the ring in which shares add up.

    The tree of seeds ends one level early where two values fill one block of AES.

    Raises:
        ValueError: `bits` is not in 1, ..., 64.

    >>> from dpcurves_parties.crypto import Z64
    >>> Domain(32, Z64).levels
    31
    """

    bits: int
    ring: Ring

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= MOST_BITS:
            raise Refused("bits", f"a domain has 1 to {MOST_BITS} bits, got {self.bits}")

    @property
    def leaf_bits(self) -> int:
        return 2 - self.ring.words

    @property
    def levels(self) -> int:
        return self.bits - self.leaf_bits

    @property
    def is_enumerable(self) -> bool:
        """True if keys can be evaluated on the whole domain: they have one more block for that."""
        return self.bits <= ENUMERABLE_BITS

    @property
    def record_words(self) -> int:
        """64-bit words of one key's correction words."""
        return self.levels * (2 + self.ring.words) + 1 + 2 + 2 * self.is_enumerable

    def require(self, cells: Words) -> None:
        """Refuse cells outside the domain, without saying which.

        Raises:
            ValueError: there are some.
        """
        if self.bits < MOST_BITS and bool(np.any(cells >> np.uint64(self.bits))):
            raise Refused("cells", f"all must be below 2**{self.bits}")

    def in_order(self, thresholds: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """Thresholds from left to right, each with its place.

        Raises:
            ValueError: one is outside the domain.
        """
        for threshold in thresholds:
            if not 0 <= threshold < 1 << self.bits:
                raise Refused("thresholds", f"all must be in 0, ..., 2**{self.bits} - 1, got {threshold}")
        return tuple(sorted((int(threshold), place) for place, threshold in enumerate(thresholds)))
