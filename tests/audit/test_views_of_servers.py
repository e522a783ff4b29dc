"""Two servers: whatever a record is, each server sees the same with the same answer, session by session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from coupling import Expansion, Gates, Streams
from protocols import SEED, Servers, counts_coupled, pairs_coupled

import dpcurves as dp
from dpcurves_parties.crypto import engine, oblivious_transfer
from dpcurves_parties.pairs import PairTask, Trust, WithoutRepetition
from dpcurves_parties.pairs.mechanisms import NoisePlacement
from dpcurves_parties.pairs.queries import commit_to_seed
from dpcurves_parties.shares.function_shares import Owners
from dpcurves_parties.shares.task import CountKind, Task

pytest.importorskip("rbcl")
BOTH, CELLS, VALUES = (0, 1), (0, 1, 2), tuple(product((0, 1), repeat=2))


def counting(folder: Path, owners: Owners, counted: CountKind, cells: int = 2) -> Servers:
    """Servers that count in so many cells."""

    def draft(servers: tuple[Any, Any]) -> Task:
        one = dp.PrivacyLoss.pure(1)
        return Task("t", "x", dp.Grid(0, 1, cells=cells), None, one, 3, servers, {}, owners=owners, count_kind=counted)

    servers = Servers(folder, draft)
    servers.at = () if counted is CountKind.CELLS else (*range(1, cells + 1),)
    return servers


def pairing(folder: Path, noise: NoisePlacement, people: int) -> Servers:
    """Servers of so many people in all pairs."""

    def draft(servers: tuple[Any, Any]) -> PairTask:
        return PairTask(
            "t", "kendall", (("rooms", 1), ("cleanliness", 1)), WithoutRepetition(people - 1),
            dp.PrivacyLoss.pure(Fraction(2)), Trust.TWO_SERVERS, noise, commit_to_seed(SEED), servers, {}, 3,
        )  # fmt: skip

    return Servers(folder, draft)


def answered(seen: list[dict[str, Any]]) -> bool:
    """True if some analyst was told an answer."""
    return any(event[0] == "answer" and isinstance(event[1], bytes) for each in seen for event in each["seen"])


def meets_nothing_else(servers: Servers, expansion: Expansion, view: int) -> None:
    """Have a server evaluate its reports at all thresholds: it meets no seed whose values were changed."""
    reports, every = servers.services[view]._counting.reports, range(1, servers.task.slots + 1)
    expansion.guarded = True
    try:
        reports.sum_prefix_shares(every) if servers.task.owners is Owners.UNCHECKED else reports.evaluate_thresholds(
            every
        )
    finally:
        expansion.guarded = False


def counts_seen(servers: Servers, expansion: Expansion, old: Any, cells: Iterable[int], views: Iterable[int]) -> int:
    """Hold what a server sees of a record against what it sees of others; how many were held."""
    expansion.changed.clear()
    servers.shifts, held = {}, 0
    first, drawn = servers.run(old, Gates(), Streams(), asks=2), servers.drawn
    assert answered(first)
    for view, cell in product(views, cells):
        new = np.array([cell, *old[1:]])
        counts_coupled(servers, expansion, drawn, old, new, view)
        second = servers.run(new, Gates(), Streams(), asks=2)
        assert second[view] == first[view]
        meets_nothing_else(servers, expansion, view)
        held += 1
    return held


def pairs_seen(servers: Servers, old: Any, values: Iterable[Sequence[int]], views: Iterable[int], asks: int = 2) -> int:
    """Hold what a server sees of a person against what it sees of others; how many were held."""
    gates, streams, held = Gates(), Streams(), 0
    servers.owners, servers.coins = {}, {}
    first, drawn = servers.run(old, gates, streams, asks=asks), servers.drawn
    assert answered(first)
    for view, value in product(views, values):
        new = old.copy()
        new[0] = value
        pairs_coupled(servers, drawn, old, new, view)
        second = servers.run(new, gates.again(), streams.again(), asks=asks)
        assert second[view] == first[view]
        held += 1
    return held


@pytest.mark.parametrize("counted", list(CountKind))
@pytest.mark.parametrize("owners", list(Owners))
def test_a_server_that_counts_sees_what_follows_from_the_noisy_counts(
    tmp_path: Path, owners: Owners, counted: CountKind
) -> None:
    expansion = Expansion()
    with expansion.run():
        servers = counting(tmp_path, owners, counted)
        assert counts_seen(servers, expansion, np.array((2, 1)), (0, 1), BOTH) == 4


@pytest.mark.parametrize(("noise", "people"), [(NoisePlacement.EACH, 2), (NoisePlacement.ON_SUM, 3)])
def test_a_server_of_pairs_sees_what_follows_from_the_noisy_answer(
    tmp_path: Path, noise: NoisePlacement, people: int
) -> None:
    servers = pairing(tmp_path, noise, people)
    assert pairs_seen(servers, np.array([(0, 1), (1, 0), (1, 1)][:people]), VALUES[::3], BOTH) == 4


@pytest.mark.reproduction
def test_sessions_that_were_cut_off_show_no_more(tmp_path: Path) -> None:
    """Cut after any message, and gone on with: both sessions together are seen as one answer alone."""
    servers = pairing(tmp_path, NoisePlacement.ON_SUM, 2)
    for cut in (5, 7):
        servers.cuts = {0: cut}
        assert pairs_seen(servers, np.array([(0, 1), (1, 0)]), [(1, 1)], BOTH, asks=2) == 2


def test_choices_that_are_not_masked_are_seen(tmp_path: Path) -> None:
    labels = oblivious_transfer.ExtensionReceiver.labels

    def told(side: Any, bits: Any) -> Any:
        made, sent = labels(side, bits)
        return made, sent[:-1] + bytes([sent[-1] & 0x7F | int(bits.sum() % 2) << 7])

    servers = pairing(tmp_path, NoisePlacement.ON_SUM, 2)
    with mock.patch.object(oblivious_transfer.ExtensionReceiver, "labels", told), pytest.raises(AssertionError):
        pairs_seen(servers, np.array([(0, 1), (1, 0)]), VALUES, [0])


def test_a_correction_that_is_not_masked_is_seen(tmp_path: Path) -> None:
    leaves = engine._CorrectionWriter.write_leaves

    def written(writer: Any, cells: Any, pair: Any, owed: Any) -> None:
        leaves(writer, cells, pair, owed)
        writer.public.point[:, 1] = cells

    expansion = Expansion()
    with (
        expansion.run(),
        mock.patch.object(engine._CorrectionWriter, "write_leaves", written),
        pytest.raises(AssertionError),
    ):
        counts_seen(counting(tmp_path, Owners.UNCHECKED, CountKind.CELLS), expansion, np.array((2, 1)), CELLS, [0])
