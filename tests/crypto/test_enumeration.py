"""The whole domain at once: point functions and their running sums."""

from __future__ import annotations

import numpy as np
import pytest
from engines import ENGINES, NAMES, PORTABLE

from dpcurves.noise import Randomness
from dpcurves_parties.crypto import Z64, Z128, Domain, Engine, Ring, prefix_sums, share_cells
from dpcurves_parties.crypto.comparison import cell_sums, evaluate_keys, is_enumeration_cheaper


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
@pytest.mark.parametrize("ring", [Z64, Z128], ids=["64", "128"])
@pytest.mark.parametrize("bits", [1, 2, 7])
def test_every_cell_is_counted_once_for_every_key(bits: int, ring: Ring, engine: Engine) -> None:
    cells = np.array([0, 2**bits - 1, 1, 0], np.uint64)
    both = share_cells(cells, Domain(bits, ring), PORTABLE, Randomness.from_seed(bits))
    counts = ring.to_integers(ring.add(*(cell_sums(both.keys(party), engine) for party in (0, 1))))
    assert counts == tuple(np.bincount(cells.astype(np.int64), minlength=2**bits).tolist())


@pytest.mark.parametrize("ring", [Z64, Z128], ids=["64", "128"])
def test_one_key_is_right_at_every_cell_of_a_domain(ring: Ring) -> None:
    domain = Domain(10, ring)
    for cell in (0, 1, 511, 512, 1022, 1023):
        both = share_cells(np.array([cell], np.uint64), domain, PORTABLE, Randomness.from_seed(cell))
        counts = ring.to_integers(ring.add(*(cell_sums(both.keys(party), PORTABLE) for party in (0, 1))))
        assert counts == tuple(int(place == cell) for place in range(1024))


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
def test_running_sums_are_the_shares_of_thresholds_up_to_what_both_servers_share(engine: Engine) -> None:
    domain, cells = Domain(6, Z64), np.array([5, 5, 40, 63], np.uint64)
    both = share_cells(cells, domain, PORTABLE, Randomness.from_seed(4))
    everywhere = list(range(64))
    assert is_enumeration_cheaper(domain, everywhere)
    assert not is_enumeration_cheaper(domain, [3])
    sums = Z64.reconstruct(*(prefix_sums(both.keys(party), everywhere, engine) for party in (0, 1)))
    assert sums == tuple(int((cells <= threshold).sum()) for threshold in everywhere)
    walked = [evaluate_keys(both.keys(party), everywhere, engine).sum(axis=1) for party in (0, 1)]
    assert tuple((walked[0] + walked[1])[:, 0].tolist()) == sums


@pytest.mark.parametrize("thresholds", [[3], [1, 60], list(range(64))], ids=len)
def test_servers_with_different_engines_answer_together(thresholds: list[int]) -> None:
    both = share_cells(np.array([5, 5, 40, 63], np.uint64), Domain(6, Z64), PORTABLE, Randomness.from_seed(4))
    for engine in ENGINES:
        halves = prefix_sums(both.keys(0), thresholds, PORTABLE), prefix_sums(both.keys(1), thresholds, engine)
        assert Z64.reconstruct(*halves) == tuple(
            sum(x <= threshold for x in (5, 5, 40, 63)) for threshold in thresholds
        )


def test_large_domains_are_not_enumerated() -> None:
    keys = share_cells(np.array([1], np.uint64), Domain(21, Z64), PORTABLE, Randomness.from_seed(4)).keys(0)
    assert not is_enumeration_cheaper(keys.domain, range(2**15))
    with pytest.raises(ValueError, match="21 bits are too many"):
        cell_sums(keys, PORTABLE)
