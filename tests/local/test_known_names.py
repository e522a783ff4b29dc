"""Names that were counted: each is new once, whatever they are and however they come."""

from __future__ import annotations

import numpy as np
import pytest

from dpcurves_local.aggregator import SortedNameSet
from dpcurves_local.report_file import PSEUDONYM_SIZE, HashedNameSet, Octets


def octets(numbers: list[int]) -> Octets:
    return np.array(numbers, dtype="<u8").view(np.uint8).reshape(-1, PSEUDONYM_SIZE)


def test_what_is_new_is_what_was_not_there_before() -> None:
    """Beside the plain list: names that repeat within and between batches, zero and the largest one among them."""
    chance, known, plain = np.random.default_rng(1), HashedNameSet(), SortedNameSet()
    for batch in range(30):
        numbers = chance.integers(0, 40 * (batch + 1) ** 2, int(chance.integers(0, 2000))).tolist()
        names = octets([*numbers, 2**64 - 1, 0, 2**63])
        assert known.mark_new(names).tolist() == plain.mark_new(names).tolist()
    assert known.count == plain.count > 10_000


@pytest.mark.parametrize("key", [1, 2**63 + 1, 0x9E3779B97F4A7C15])
def test_names_that_fall_together_are_told_apart(key: int) -> None:
    """With a number that is known to whoever makes up names, all of them point to the last place."""
    known = HashedNameSet()
    known._key = np.uint64(key)
    inverse = pow(key, -1, 2**64)
    names = octets([(2**64 - 1 - step) * inverse % 2**64 for step in range(300)])
    assert known.mark_new(names).all()
    assert not known.mark_new(names[::-1]).any()
    assert known.count == 300
