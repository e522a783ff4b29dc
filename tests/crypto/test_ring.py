"""Arithmetic modulo 2**64 and 2**128, beside Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcurves_parties.crypto import Z64, Z128, Ring
from dpcurves_parties.crypto.ring import Words

ONES = 2**64 - 1
RINGS = pytest.mark.parametrize("ring", [Z64, Z128], ids=["64", "128"])
WORD = st.integers(0, ONES) | st.sampled_from([0, 1, 2**32 - 1, 2**32, 2**63, ONES])
PAIRS = st.lists(st.tuples(WORD, WORD, WORD, WORD, st.booleans()), min_size=1, max_size=5)


def split(pairs: list[tuple[int, int, int, int, bool]], ring: Ring) -> tuple[Words, Words, Words]:
    table = np.array([pair[:4] for pair in pairs], np.uint64)
    mask = np.array([ONES * pair[4] for pair in pairs], np.uint64)
    return table[:, : ring.words].copy(), table[:, 2 : 2 + ring.words].copy(), mask


@RINGS
@given(pairs=PAIRS)
def test_sums_and_differences_are_those_of_integers(ring: Ring, pairs: list[tuple[int, int, int, int, bool]]) -> None:
    left, right, mask = split(pairs, ring)
    a, b = ring.to_integers(left), ring.to_integers(right)
    assert ring.to_integers(ring.add(left, right)) == tuple((x + y) % ring.modulus for x, y in zip(a, b, strict=True))
    assert ring.to_integers(ring.subtract(left, right)) == tuple(
        (x - y) % ring.modulus for x, y in zip(a, b, strict=True)
    )
    assert ring.to_integers(ring.negate(left)) == tuple(-x % ring.modulus for x in a)
    signed = [-x if sign else x for x, (*_, sign) in zip(a, pairs, strict=True)]
    assert ring.to_integers(ring.negate_where(mask, left)) == tuple(x % ring.modulus for x in signed)
    assert ring.to_integers(ring.units(mask)) == tuple(int(sign) for *_, sign in pairs)


@RINGS
@given(pairs=PAIRS)
def test_sums_of_many_are_those_of_integers(ring: Ring, pairs: list[tuple[int, int, int, int, bool]]) -> None:
    numbers, other, _ = split(pairs, ring)
    whole = ring.to_integers(numbers)
    assert ring.to_integers(ring.sums(numbers)[None]) == (sum(whole) % ring.modulus,)
    both = ring.sums(np.stack([numbers, other]))
    assert ring.to_integers(both) == (sum(whole) % ring.modulus, sum(ring.to_integers(other)) % ring.modulus)
    running = ring.to_integers(ring.running_sums(numbers))
    assert running == tuple(sum(whole[: count + 1]) % ring.modulus for count in range(len(whole)))


@RINGS
def test_what_is_opened_is_read_with_its_sign(ring: Ring) -> None:
    half = ring.modulus // 2
    assert ring.reconstruct((5, 0, half), (ring.modulus - 7, 0, 0)) == (ring.modulus - 2, 0, half)
    assert [ring.to_signed(number) for number in (ring.modulus - 2, 0, half - 1, half)] == [-2, 0, half - 1, -half]


def test_a_number_has_one_word_or_two() -> None:
    with pytest.raises(ValueError, match="words: must be 1 or 2, got 3"):
        Ring(3)
