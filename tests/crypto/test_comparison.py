"""Comparison functions: every cell and every threshold, both rings, ties and ends."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from engines import ENGINES, NAMES, PORTABLE
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcurves.noise import Randomness
from dpcurves_parties.crypto import (
    Z64,
    Z128,
    ComparisonKeys,
    Domain,
    Engine,
    PortableEngine,
    Ring,
    SharedKeys,
    evaluate_keys,
    prefix_sums,
    share_cells,
)

ENGINE = PORTABLE
RINGS = pytest.mark.parametrize("ring", [Z64, Z128], ids=["64", "128"])


def shared(cells: list[int], domain: Domain) -> SharedKeys[ComparisonKeys]:
    return share_cells(np.array(cells, np.uint64), domain, ENGINE, Randomness.from_seed(5))


@pytest.mark.quick_share(4)
@RINGS
@pytest.mark.parametrize("bits", range(1, 11))
def test_every_key_is_one_from_its_cell_on_at_every_threshold(bits: int, ring: Ring) -> None:
    engine = ENGINES[bits % len(ENGINES)]  # 10 bits are the portable one's; all engines have the same bits
    domain, cells = Domain(bits, ring), np.arange(2**bits, dtype=np.uint64)
    both = share_cells(cells, domain, engine, Randomness.from_seed(bits))
    opened = ring.add(*(evaluate_keys(both.keys(party), range(2**bits), engine) for party in (0, 1)))
    assert np.array_equal(opened[..., 0], cells[:, None] >= cells)
    assert not opened[..., 1:].any()


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
@RINGS
@pytest.mark.parametrize("bits", [32, 63, 64])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_large_domains_count_what_lies_at_or_below(bits: int, ring: Ring, engine: Engine, data: st.DataObject) -> None:
    """Engine by engine from end to end, and each with keys that the portable one has made."""
    cell = st.integers(0, 2**bits - 1) | st.sampled_from([0, 1, 2 ** (bits - 1) - 1, 2 ** (bits - 1), 2**bits - 1])
    cells = data.draw(st.lists(cell, min_size=1, max_size=4))
    near = [threshold for x in cells for threshold in (x - 1, x, x + 1) if 0 <= threshold < 2**bits]
    thresholds = data.draw(st.permutations([*near, 0, 2**bits - 1, data.draw(cell)]))
    domain, wanted = Domain(bits, ring), tuple(sum(x <= each for x in cells) for each in thresholds)
    own = share_cells(np.array(cells, np.uint64), domain, engine, Randomness.from_seed(5))
    for both in (own, shared(cells, domain)):
        sums = domain.ring.reconstruct(*(prefix_sums(both.keys(party), thresholds, engine) for party in (0, 1)))
        assert sums == wanted


def test_chunks_and_their_order_change_nothing() -> None:
    domain, cells = Domain(9, Z64), np.arange(100, dtype=np.uint64)
    small = PortableEngine(ENGINE.keys, chunk_size=7)
    one, other = (share_cells(cells, domain, engine, Randomness.from_seed(1)).keys(1) for engine in (ENGINE, small))
    assert one.to_bytes() == other.to_bytes()
    assert prefix_sums(one, [50, 3, 50], ENGINE) == prefix_sums(one, [50, 3, 50], small)


def test_no_keys_and_no_thresholds_add_up_to_nothing() -> None:
    empty = shared([], Domain(32, Z64))
    assert prefix_sums(empty.keys(0), [7], ENGINE) == (0,)
    assert prefix_sums(shared([5], Domain(32, Z64)).keys(0), [], ENGINE) == ()


def test_what_lies_outside_the_domain_is_refused_without_saying_what() -> None:
    with pytest.raises(ValueError, match=r"^cells: must be below 2\*\*4$"):
        shared([3, 16], Domain(4, Z64))
    with pytest.raises(ValueError, match=r"^thresholds: .* got 16$"):
        prefix_sums(shared([3], Domain(4, Z64)).keys(0), [16], ENGINE)
    with pytest.raises(ValueError, match="bits: must be from 1 to 64"):
        Domain(65, Z64)


def test_secrets_have_no_face() -> None:
    both = shared([11], Domain(8, Z64))
    for secret in (both, both.public, both.seeds[0], both.keys(1)):
        assert "object at" in repr(secret)


@pytest.mark.parametrize("engine", ENGINES, ids=NAMES)
def test_threads_may_share_an_engine_and_keys(engine: Engine) -> None:
    keys = shared(list(range(500)), Domain(12, Z64)).keys(0)
    wanted = prefix_sums(keys, [7, 400], engine)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: prefix_sums(keys, [7, 400], engine), range(24))) == {wanted}
