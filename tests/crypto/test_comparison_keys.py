"""Keys as bytes: there and back, and refused when anything is not exactly as it must be."""

from __future__ import annotations

import numpy as np
import pytest

from dpcurves.noise import Randomness
from dpcurves_parties.crypto import (
    Z64,
    Z128,
    ComparisonKeys,
    Domain,
    PortableEngine,
    PublicShare,
    SeedShare,
    share_cells,
)

ENGINE = PortableEngine.from_task(b"task of the tests")


def keys(domain: Domain, party: int = 0) -> ComparisonKeys:
    cells = np.array([0, 2**domain.bits - 1, 1], np.uint64)
    return share_cells(cells, domain, ENGINE, Randomness.from_seed(3)).keys(party)


@pytest.mark.parametrize("domain", [Domain(1, Z64), Domain(10, Z128), Domain(32, Z64), Domain(64, Z128)])
@pytest.mark.parametrize("party", [0, 1])
def test_bytes_come_back_as_the_same_keys(domain: Domain, party: int) -> None:
    blob = keys(domain, party).to_bytes()
    again = ComparisonKeys.from_bytes(domain, party, blob)
    assert again.to_bytes() == blob
    assert len(blob) == 16 + 3 * 8 * (PublicShare.record_words(domain) + 2)
    assert ComparisonKeys.concatenate([again[:1], again[1:]]).to_bytes() == blob


def test_a_key_of_32_bits_takes_800_bytes() -> None:
    assert len(keys(Domain(32, Z64))[:1].to_bytes()) == 800


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, -1])
def test_another_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=r"^comparison keys of server 0: .* bytes.*, got \d+( bytes)?; send them"):
        ComparisonKeys.from_bytes(Domain(8, Z64), 0, keys(Domain(8, Z64)).to_bytes()[:length])


def test_bytes_that_trail_are_refused() -> None:
    with pytest.raises(ValueError, match="bytes for 3 records"):
        ComparisonKeys.from_bytes(Domain(8, Z64), 0, keys(Domain(8, Z64)).to_bytes() + b"\0")


def test_a_frame_with_one_flipped_bit_is_refused_whichever_it_is() -> None:
    domain = Domain(3, Z64)
    blob = keys(domain)[:1].to_bytes()
    for bit in range(8 * len(blob)):
        tampered = bytearray(blob)
        tampered[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match=r"^comparison keys of server 0: [^\n]*$"):
            ComparisonKeys.from_bytes(domain, 0, bytes(tampered))


def test_keys_of_another_server_domain_or_ring_are_refused() -> None:
    blob = keys(Domain(8, Z64)).to_bytes()
    for domain, party, part in (
        (Domain(8, Z64), 1, "kind"),
        (Domain(9, Z64), 0, "bits"),
        (Domain(8, Z128), 0, "words"),
    ):
        with pytest.raises(ValueError, match=f": {part} of its header "):
            ComparisonKeys.from_bytes(domain, party, blob)


def test_bits_where_none_belong_are_refused() -> None:
    domain = Domain(8, Z64)
    rows = keys(domain).public.records()
    rows[1, domain.levels * 3] |= np.uint64(1 << domain.levels)
    with pytest.raises(ValueError, match=r"^comparison keys: bits past level 7 must be 0; contribute again"):
        PublicShare.from_records(domain, rows)
    with pytest.raises(ValueError, match=r"^seeds of server 0: must have the top bit 0 in every seed"):
        SeedShare(0, keys(domain, party=1).seeds.words)


def test_there_are_two_servers() -> None:
    with pytest.raises(ValueError, match="must be 0 or 1, got 2"):
        SeedShare(2, np.zeros((1, 2), np.uint64))
