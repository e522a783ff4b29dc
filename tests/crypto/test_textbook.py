"""The product's keys and values are, bit for bit, those of an implementation that was written from the papers."""

from __future__ import annotations

import numpy as np
import pytest
from engines import ENGINES, NAMES, TASK
from textbook import Textbook, TextbookChecked, task_keys

from dpcurves.noise import Randomness
from dpcurves_parties.crypto import Domain, Engine, Ring, SeedShare, evaluate_keys, share_cells, share_checked_cells

HEAD = 16
CASES = [(bits, words) for words in (1, 2) for bits in (1, 2, 5, 20, 21, 32, 64)]


def cells_of(bits: int) -> list[int]:
    return sorted({0, 2**bits - 1, 2 ** (bits - 1), 0x5A5A5A5A5A5A5A5A % 2**bits})


def roots(share: SeedShare) -> list[int]:
    return [low | high << 64 for low, high in share.words.tolist()]


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
@pytest.mark.parametrize(("bits", "words"), CASES)
def test_keys_and_values_are_those_of_the_textbook(bits: int, words: int, engine: Engine) -> None:
    book, domain, cells = Textbook(task_keys(TASK), bits, 64 * words), Domain(bits, Ring(words)), cells_of(bits)
    both = share_cells(np.array(cells, np.uint64), domain, engine, Randomness.from_seed(bits))
    seeds = [roots(share) for share in both.seeds]
    made = [book.generate(cell, *pair) for cell, *pair in zip(cells, *seeds, strict=True)]
    for party in (0, 1):
        records = [book.record(key, seed) for key, seed in zip(made, seeds[party], strict=True)]
        assert both.keys(party).to_bytes()[HEAD:] == b"".join(records)
        read = evaluate_keys(both.keys(party), cells, engine)
        assert [domain.ring.to_integers(row) for row in read] == [
            tuple(book.evaluate(party, seed, key, x) for seed, key in zip(seeds[party], made, strict=True))
            for x in cells
        ]


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
@pytest.mark.parametrize(("bits", "words"), CASES)
def test_checked_keys_are_those_of_the_textbook(bits: int, words: int, engine: Engine) -> None:
    book, domain, cells = TextbookChecked(task_keys(TASK), bits, 64 * words), Domain(bits, Ring(words)), cells_of(bits)
    both = share_checked_cells(np.array(cells, np.uint64), domain, engine, Randomness.from_seed(bits))
    seeds = [roots(share) for share in both.seeds]
    records = both.public.records().astype("<u8")
    for record, cell, first, second in zip(records, cells, *seeds, strict=True):
        assert record.tobytes() == book.checked_record(cell, first, second)


def test_the_textbook_is_right_by_itself() -> None:
    for size in (64, 128):
        book = Textbook(task_keys(b"another"), 4, size)
        for alpha in range(16):
            seeds = [alpha * 17 + 1, 2**127 + alpha]
            key = book.generate(alpha, *seeds)
            for x in range(16):
                shares = [book.evaluate(party, seeds[party], key, x) for party in (0, 1)]
                assert sum(shares) % 2**size == (x >= alpha)
