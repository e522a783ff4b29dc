"""What a server gets looks uniform to it, though it knows its own seed: every bit, whatever the cell is."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from engines import PORTABLE

from dpcurves.noise import Randomness
from dpcurves_parties.crypto import Z64, Z128, Domain, Ring, share_cells, share_checked_cells
from dpcurves_parties.crypto.ring import Words

KEYS = 2000
ALLOWED = (
    5.5  # deviations: a bit is off by more once in 2.6e7 times, and there are below 13,000 bits: 0.05 % of false alarms
)


class OneSeedOf:
    """Seeds of one server that are all the same, and fresh ones of the other."""

    def __init__(self, party: int) -> None:
        self.calls, self.party, self.source = -1, party, Randomness.from_seed(40 + party)

    def random_bytes(self, length: int) -> bytes:
        self.calls += 1
        return bytes(range(16)) * (length // 16) if self.calls == self.party else self.source.random_bytes(length)


def unbalanced(records: Words, turns: int, levels: int) -> list[tuple[int, int]]:
    """Words and bits that are not 1 for about half of the keys. Bits of turns past the levels are left out."""
    ones = (records[..., None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)).sum(axis=0).astype(np.int64)
    off = np.abs(ones - KEYS // 2) > ALLOWED * sqrt(KEYS) / 2
    off[turns, levels:] = False
    return [(int(word), int(bit)) for word, bit in np.argwhere(off)]


@pytest.mark.parametrize("ring", [Z64, Z128], ids=["64", "128"])
@pytest.mark.parametrize("party", [0, 1])
@pytest.mark.parametrize(("bits", "cell"), [(1, 0), (1, 1), (4, 0), (4, 6), (4, 15)])
def test_every_bit_of_a_key_is_balanced_given_ones_own_seed(bits: int, cell: int, party: int, ring: Ring) -> None:
    domain = Domain(bits, ring)
    public = share_cells(np.full(KEYS, cell, np.uint64), domain, PORTABLE, OneSeedOf(party)).public
    assert unbalanced(public.records(), domain.levels * (2 + ring.words), domain.levels) == []


@pytest.mark.parametrize("party", [0, 1])
@pytest.mark.parametrize("cell", [0, 2, 7])
def test_every_bit_of_a_checked_key_is_balanced_given_ones_own_seed(cell: int, party: int) -> None:
    domain = Domain(3, Z64)
    public = share_checked_cells(np.full(KEYS, cell, np.uint64), domain, PORTABLE, OneSeedOf(party)).public
    assert unbalanced(public.records(), 3 * 7, 3) == []


def test_the_test_sees_a_bit_that_is_not_masked() -> None:
    public = share_cells(np.full(KEYS, 6, np.uint64), Domain(4, Z64), PORTABLE, OneSeedOf(0)).public
    public.leaf[:, 1] &= ~np.uint64(1 << 9)
    assert unbalanced(public.records(), 9, 3) == [(11, 9)]
