"""The fast engine gives the bits of the portable one, and is used only where it can be."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256

import numpy as np
import pytest
from engines import CHUNK, ENGINES, FAST, PORTABLE

from dpcurves.noise import Randomness
from dpcurves_parties.crypto import (
    Z64,
    Z128,
    ComparisonKeys,
    Domain,
    FastEngine,
    PortableEngine,
    PublicShare,
    Ring,
    SeedShare,
    evaluate_keys,
    select_engine,
    share_cells,
    supported_lanes,
)
from dpcurves_parties.crypto.comparison import cell_sums
from dpcurves_parties.crypto.engine import expand_aes_key, supported_instructions

KEYS = 277  # no whole number of registers, nor of chunks

needed = pytest.mark.skipif(not FAST, reason="this processor has no AES instructions that numba may use")


@needed
@pytest.mark.parametrize("ring", [Z64, Z128], ids=["64", "128"])
@pytest.mark.parametrize("bits", [1, 2, 11, 32, 64])
def test_all_engines_make_and_read_the_same_bits(bits: int, ring: Ring) -> None:
    domain, generator = Domain(bits, ring), np.random.default_rng(bits)
    cells = generator.integers(0, 2**bits - 1, KEYS, np.uint64, endpoint=True)
    thresholds = generator.integers(0, 2**bits - 1, 9, np.uint64, endpoint=True).tolist()
    wanted = share_cells(cells, domain, PORTABLE, Randomness.from_seed(bits))
    narrow = [FastEngine(PORTABLE.keys, 1, CHUNK)] if ring == Z64 else []  # compiling takes a while
    for engine in [*FAST, *narrow]:
        made = share_cells(cells, domain, engine, Randomness.from_seed(bits))
        for party in (0, 1):
            assert made.keys(party).to_bytes() == wanted.keys(party).to_bytes()
            first, second = (evaluate_keys(made.keys(party), thresholds, one) for one in (PORTABLE, engine))
            assert np.array_equal(first, second)


@needed
@pytest.mark.parametrize("ring", [Z64, Z128], ids=["64", "128"])
def test_words_may_lie_anywhere(ring: Ring) -> None:
    """Loops that take words to lie side by side are not given others: rows of a table, and every other cell."""
    domain, cells = Domain(9, ring), np.repeat(np.arange(KEYS, dtype=np.uint64), 2)[::2]
    keys = share_cells(cells, domain, FAST[0], Randomness.from_seed(3)).keys(1)
    assert keys.to_bytes() == share_cells(cells, domain, PORTABLE, Randomness.from_seed(3)).keys(1).to_bytes()
    table = np.repeat(keys.public.records(), 2, axis=0)[::2]
    width, words = PublicShare.record_words(domain), ring.words
    seeds, numbers = np.split(table[:, : domain.levels * (2 + words)], [2 * domain.levels], axis=1)
    scattered = PublicShare(
        domain,
        seeds.reshape(KEYS, -1, 2).swapaxes(0, 1),
        numbers.reshape(KEYS, -1, words).swapaxes(0, 1),
        table[:, width - 5],
        table[:, width - 4 : width - 2],
        table[:, width - 2 :],
    )
    odd = np.repeat(keys.seeds.words, 2, axis=0)[::2]
    for public in (scattered, PublicShare.from_records(domain, table)):
        other = ComparisonKeys(public, SeedShare(1, odd))
        assert np.array_equal(evaluate_keys(other, [3, 80, 500], FAST[0]), evaluate_keys(keys, [3, 80, 500], PORTABLE))
        assert np.array_equal(cell_sums(other, FAST[0]), cell_sums(keys, PORTABLE))


@needed
def test_words_are_not_written_where_they_do_not_lie_side_by_side() -> None:
    blank = PublicShare.allocate(Domain(9, Z64), 8)
    public = PublicShare(
        blank.domain, blank.seeds[:, ::2], blank.values[:, ::2], blank.turns[::2], blank.leaf, blank.point
    )
    with pytest.raises(ValueError, match=r"^public: must have contiguous words of keys"):
        FAST[0].generate(public, np.zeros(4, np.uint64), *np.zeros((2, 4, 2), np.uint64))


@needed
@pytest.mark.parametrize("ring", [Z64, Z128], ids=["64", "128"])
def test_all_engines_enumerate_alike(ring: Ring) -> None:
    domain = Domain(9, ring)
    keys = share_cells(np.arange(KEYS, dtype=np.uint64), domain, PORTABLE, Randomness.from_seed(2)).keys(1)
    for engine in FAST:
        assert np.array_equal(cell_sums(keys, engine), cell_sums(keys, PORTABLE))


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_hashes_are_those_of_the_standard_library(count: int) -> None:
    messages = np.random.default_rng(count).integers(0, 2**64, (count, 6), np.uint64)
    wanted = [sha256(message.astype("<u8").tobytes()).digest() for message in messages]
    for engine in ENGINES:
        assert [digest.astype("<u8").tobytes() for digest in engine.hash_messages(messages)] == wanted


def test_round_keys_are_those_of_the_standard() -> None:
    rounds = expand_aes_key(bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c"))  # FIPS 197, appendix A.1
    assert [rounds[number].tobytes().hex() for number in (1, 10)] == [
        "a0fafe1788542cb123a339392a6c7605",
        "d014f9a8c9ee2589e13f0cc8b6630ca6",
    ]


def test_registers_that_the_processor_lacks_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^lanes: .* got 3$"):
        FastEngine(PORTABLE.keys, 3)


def test_the_fastest_engine_of_a_task_has_its_keys() -> None:
    assert select_engine(b"a task").keys == PortableEngine.from_task(b"a task").keys
    assert select_engine(b"a task").keys != select_engine(b"another").keys


def test_what_numba_may_not_use_is_not_used() -> None:
    program = "from dpcurves_parties.crypto import *; print(supported_lanes(), type(select_engine(b'x')).__name__)"
    environment = os.environ | {"NUMBA_CPU_NAME": "generic"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "PortableEngine"], done.stderr


def test_without_compilation_nothing_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    supported_instructions.cache_clear()
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    assert type(select_engine(b"x")) is PortableEngine
    monkeypatch.undo()
    supported_instructions.cache_clear()
    assert [engine.lanes for engine in FAST] == [supported_lanes()][: len(FAST)]
