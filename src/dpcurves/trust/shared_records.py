"""Records shared between two servers: what an owner makes of them, and what a server holds of all reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..crypto import Z64, ComparisonKeys, Domain, Engine, PublicShare, SeedShare, prefix_sums, share_cells
from ..data.axis import Axis, Categories
from ..data.records import Records
from ..mechanisms.keyed_path import NoiseKey
from ..noise.randomness import Randomness

Words = NDArray[np.uint64]
SEED = 16


@dataclass(frozen=True)
class Encoding:
    """How the reports of one task are written: the same for owners and servers.

    Attributes:
        slots: A record is in one of these, or behind them if it is missing.
        engine: What expands seeds, with the keys of the task.
    """

    slots: int
    engine: Engine

    @property
    def domain(self) -> Domain:
        """Of the slots, and the place behind them."""
        return Domain(self.slots.bit_length(), Z64)

    @property
    def public_size(self) -> int:
        """Bytes of the half of a report that both servers get."""
        return 8 * self.domain.record_words

    @property
    def size(self) -> int:
        """Bytes of what one server gets."""
        return self.public_size + SEED

    def shared(self, places: NDArray[np.int64], randomness: Randomness) -> list[tuple[bytes, bytes]]:
        """SECRET: of each record, what server 0 and what server 1 gets.

        Formal guarantees: what one server gets tells it nothing about the record (see `share_cells`).

        Raises:
            ValueError: a place is none of the slots, nor the one behind them.
        """
        if np.any((places < 0) | (places > self.slots)):
            raise ValueError(f"places: slots from 0 to {self.slots} are needed")
        shares = share_cells(places.astype(np.uint64), self.domain, self.engine, randomness)
        first, second = (_rows(np.hstack([shares.public.records(), seeds.words])) for seeds in shares.seeds)
        return list(zip(first, second, strict=True))

    def keys(self, party: int, shares: Sequence[bytes]) -> ComparisonKeys:
        """SECRET: the keys in the shares of some reports, for one server.

        Raises:
            ValueError: a share is not of this encoding and party.
        """
        if any(len(share) != self.size for share in shares):
            raise ValueError(f"shares: {self.size} bytes are needed")
        words = np.frombuffer(b"".join(shares), dtype="<u8").astype(np.uint64, copy=False)
        public, seeds = np.split(words.reshape(len(shares), -1), [self.domain.record_words], axis=1)
        return ComparisonKeys(PublicShare.from_records(self.domain, public), SeedShare(party, seeds.copy()))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Reports:
    """SECRET. A `ShareHolder`: one server's shares of a set of reports that never changes. It has no repr.

    Attributes:
        keys: Of all reports.
        engine: What expands their seeds.
        noise: The key of this server's noise, for this set alone.
    """

    keys: ComparisonKeys
    engine: Engine
    noise: NoiseKey

    def below(self, at: Sequence[int]) -> tuple[int, ...]:
        """SECRET: shares, modulo 2**64, of how many reports lie in the first slots, for each of `at`."""
        return prefix_sums(self.keys, [slots - 1 for slots in at], self.engine)


def places_of(records: Records, axes: Sequence[Axis | Categories]) -> NDArray[np.int64]:
    """SECRET: the place of each record, as its owner reads it: its slot, or behind all slots if it is missing."""
    return records.places(axes)


def _rows(words: Words) -> list[bytes]:
    return [row.tobytes() for row in np.ascontiguousarray(words, dtype="<u8")]
