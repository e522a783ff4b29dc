"""Randomness is uniform, is given out once, and never shared by two processes."""

from __future__ import annotations

import os
import warnings
from hashlib import sha256

import numpy as np
import pytest
from agreement import agree

from dpcurves.noise import Randomness


def test_a_seed_gives_the_same_bits_for_ever() -> None:
    drawn = Randomness.from_seed(7).random_bytes(16)
    assert drawn.hex() == "d4ce3f4ef082ab391f9e2b25f5f6db78"
    assert Randomness.from_seed(8).random_bytes(16) != drawn


def test_a_seed_gives_the_chacha20_stream_under_its_hash() -> None:
    drawn = np.frombuffer(Randomness.from_seed(-3).random_bytes(128), dtype="<u4")
    np.testing.assert_array_equal(drawn, np.concatenate([chacha20(b"-3", 0), chacha20(b"-3", 1)]))


def chacha20(seed: bytes, counter: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """One block as in RFC 8439, section 2.3, in plain steps."""
    start = np.frombuffer(b"expand 32-byte k" + sha256(seed).digest() + bytes(16), dtype="<u4").astype(np.uint32)
    start[12] = counter
    state = start.copy()
    columns = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
    diagonals = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
    for a, b, c, d in (columns + diagonals) * 10:
        for to, by, turned, places in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[to : to + 1] += state[by : by + 1]
            mixed = state[turned : turned + 1] ^ state[to : to + 1]
            state[turned : turned + 1] = mixed << np.uint32(places) | mixed >> np.uint32(32 - places)
    return state + start


def test_a_key_and_a_name_have_one_stream_and_no_other_has_it() -> None:
    key = bytes(range(32))
    stream = Randomness.from_key(key, "a").random_bytes(16)
    assert stream == Randomness.from_key(key, "a").random_bytes(16)
    assert (
        len(
            {
                stream,
                Randomness.from_key(key, "b").random_bytes(16),
                Randomness.from_key(bytes(32), "a").random_bytes(16),
            }
        )
        == 3
    )
    assert not Randomness.from_key(key, "a").is_seeded
    with pytest.raises(ValueError, match="at least 32 bytes are needed, as .*, got 31"):
        Randomness.from_key(key[1:], "a")


def test_only_a_seeded_source_says_that_it_is_seeded() -> None:
    assert Randomness.from_seed(0).is_seeded
    assert not Randomness.from_system().is_seeded


def test_its_repr_shows_no_state() -> None:
    shown = repr(Randomness.from_seed(123456))
    assert "123456" not in shown
    assert "octets" not in shown


def test_words_and_halfwords_are_the_same_stream_in_other_sizes() -> None:
    octets = Randomness.from_seed(3).random_bytes(32)
    words, halves = Randomness.from_seed(3).sample_words(4), Randomness.from_seed(3).sample_halfwords(16)
    assert words.dtype == np.uint64
    assert halves.dtype == np.uint16
    assert b"".join(int(word).to_bytes(8, "little") for word in words) == octets
    assert b"".join(int(half).to_bytes(2, "little") for half in halves) == octets


@pytest.mark.parametrize("n", [1, 2, 6, 255, 256, 257, 3 * 2**64])
def test_below_is_uniform(n: int) -> None:
    source = Randomness.from_seed(n)
    drawn = [source.sample_below(n) for _ in range(20_000)]
    cells = min(n, 7)
    counts = np.bincount([number * cells // n for number in drawn], minlength=cells)
    widths = np.bincount([start * cells // n for start in range(n)]) / n if n < 1000 else np.full(cells, 1 / cells)
    assert 0 <= min(drawn) <= max(drawn) < n
    assert agree(counts, widths)


def test_below_one_needs_no_bits() -> None:
    assert Randomness(random_bytes=never, is_seeded=True).sample_below(1) == 0


def never(length: int) -> bytes:
    assert length == 0
    return b""


@pytest.mark.parametrize("n", [0, -5])
def test_below_needs_an_outcome(n: int) -> None:
    with pytest.raises(ValueError, match="n: a number of outcomes of at least 1 is needed"):
        Randomness.from_system().sample_below(n)


def test_a_forked_child_draws_other_bits_than_its_parent() -> None:
    source = Randomness.from_system()
    source.random_bytes(100)
    reading, writing = os.pipe()
    with warnings.catch_warnings():  # newer Pythons warn of any fork where threads run
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.write(writing, source.random_bytes(64))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 64) != source.random_bytes(64)
    os.close(reading)
    os.close(writing)
