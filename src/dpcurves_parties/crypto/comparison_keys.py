"""Keys of comparison functions, in batches: public correction words, and the keys of each server."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcurves.arguments import Refused

from .domain import MOST_BITS, Domain
from .ring import Words
from .rows import as_rows, by_level
from .server_keys import Corrections, ServerKeys
from .wire import Frame

_KIND = 0  # of server 0; that of server 1 is one more


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PublicShare(Corrections):
    """Correction words of some keys: what both servers get. It has no repr, for one seed more would open it.

    Attributes:
        leaf: ``(keys, 2)``: for the comparison.
        point: ``(keys, 2)``: for the point function; ``(keys, 0)`` if the domain is not enumerable.
    """

    leaf: Words
    point: Words

    @classmethod
    def blank(cls, domain: Domain, count: int) -> PublicShare:
        """Space for correction words. Turns are 0."""
        return cls(
            domain,
            np.empty((domain.levels, count, 2), np.uint64),
            np.empty((domain.levels, count, domain.ring.words), np.uint64),
            np.zeros(count, np.uint64),
            np.empty((count, 2), np.uint64),
            np.empty((count, 2 * domain.is_enumerable), np.uint64),
        )

    def records(self) -> Words:
        """Correction words as rows, ``(keys, domain.record_words)``: equal rows are equal correction words."""
        return as_rows(self.seeds, self.values, self.turns[None, :, None], self.leaf[None], self.point[None])

    @classmethod
    def from_records(cls, domain: Domain, records: Words) -> PublicShare:
        """The keys of rows.

        Raises:
            ValueError: a row has bits where none belong.
        """
        sizes = np.cumsum([2 * domain.levels, domain.ring.words * domain.levels, 1, 2])
        seeds, values, turns, leaf, point = np.split(records, sizes, axis=1)
        if domain.levels < MOST_BITS and bool(np.any(turns >> np.uint64(domain.levels))):
            raise Refused("comparison keys", f"bits of turns past level {domain.levels} must be 0")
        seeds, values = by_level(seeds, domain.levels, 2), by_level(values, domain.levels, domain.ring.words)
        return cls(domain, seeds, values, turns[:, 0].copy(), leaf.copy(), point.copy())


class ComparisonKeys(ServerKeys[PublicShare]):
    """SECRET: complete keys of one server for some comparison functions: 784 bytes each for 32 bits."""

    __slots__ = ()

    @classmethod
    def _frame(cls, domain: Domain, party: int) -> Frame:
        return Frame(f"comparison keys of server {party}", _KIND + party, domain.bits, domain.ring.words)

    @classmethod
    def _record_words(cls, domain: Domain) -> int:
        return domain.record_words

    @classmethod
    def _corrections(cls, domain: Domain, records: Words) -> PublicShare:
        return PublicShare.from_records(domain, records)
