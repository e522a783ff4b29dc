"""Two servers: the counts are exact, the noise is both servers', and what one of them sees tells it nothing more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.data import Axis, Categories, Grid
from dpcurves.distributions import Family, IntervalSums, Noise, PathSums, Tier
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.mechanisms import LazyTree
from dpcurves.mechanisms.auto import LINEAR_CHOICE
from dpcurves.noise import InProcessMemory
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import CountQuery, CountUse, Hint, PrefixQuery, SumQuery
from dpcurves.records import open_records
from dpcurves.trust import Central, Curator
from dpcurves_parties.crypto import PortableEngine, select_engine
from dpcurves_parties.serving.noise_key import NoiseKey
from dpcurves_parties.shares.function_shares import SHARE_MODULUS, FunctionShares, combine_release, make_answer_share
from dpcurves_parties.shares.shared_records import CheckedReports, CheckedTreeEncoding, SharedReports, TreeEncoding

ENGINE = PortableEngine.from_task(b"test")
ONE = PrivacyLoss.pure(1)


def key(number: int) -> NoiseKey:
    return NoiseKey(number.to_bytes(32, "little"))


def query(slots: int, *at: int) -> PrefixQuery:
    return PrefixQuery((Axis("x", Grid(0, 1, cells=slots)),), at)


def allotment(loss: PrivacyLoss = ONE) -> Allotment:
    return QuestionBudget.for_planning(loss).pay("tree", Fraction(1))


def plan(slots: int, *at: int, loss: PrivacyLoss = ONE, reports: int = 9) -> Plan:
    return FunctionShares().plan_query(query(slots, *at), loss, ReplaceOne(EACH_RECORD, reports))


def servers(
    places: NDArray[np.int64], slots: int, secrets: tuple[int, int] = (1, 2)
) -> tuple[SharedReports, SharedReports]:
    encoding = TreeEncoding(slots, ENGINE)
    shares = encoding.share_records(places, Randomness.from_seed(5))
    first, second = (
        SharedReports(encoding.parse_keys(party, [share[party] for share in shares]), ENGINE, key(secret))
        for party, secret in enumerate(secrets)
    )
    return first, second


@dataclass(frozen=True, repr=False)
class Exact:
    """A server that was told the counts. Only tests have one."""

    places: NDArray[np.int64]
    noise_key: NoiseKey

    def sum_prefix_shares(self, thresholds: Sequence[int]) -> list[int]:
        return [int((self.places < slots).sum()) for slots in thresholds]


class Nothing(Exact):
    def sum_prefix_shares(self, thresholds: Sequence[int]) -> list[int]:
        return [0 for _ in thresholds]


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 7, 8, 9, 64, 100])
def test_the_engine_of_servers_reads_shares_that_came_as_bytes(slots: int) -> None:
    engine, places, at = select_engine(b"test"), np.arange(slots + 1), range(1, slots + 1)
    shares = TreeEncoding(slots, ENGINE).share_records(places, Randomness.from_seed(5))
    sums = [
        SharedReports(
            TreeEncoding(slots, engine).parse_keys(party, [share[party] for share in shares]), engine, key(party)
        ).sum_prefix_shares(at)
        for party in (0, 1)
    ]
    assert [sum(pair) % SHARE_MODULUS for pair in zip(*sums, strict=True)] == list(at)


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 7, 8, 9, 64, 100])
def test_shares_add_up_to_the_exact_counts_of_all_places_the_missing_one_included(slots: int) -> None:
    places = np.repeat(np.arange(slots + 1), 1 + np.arange(slots + 1) % 3)
    at = range(1, slots + 1)
    shares = [server.sum_prefix_shares(tuple(at)) for server in servers(places, slots)]
    counts = [sum(pair) % SHARE_MODULUS for pair in zip(*shares, strict=True)]
    assert counts == [int((places < each).sum()) for each in at]


@pytest.mark.parametrize("slots", [1, 2, 3, 7, 8, 20])
def test_checked_reports_add_up_and_one_that_was_changed_is_left_out(slots: int) -> None:
    encoding, places = CheckedTreeEncoding(slots, ENGINE), np.arange(slots + 1)
    shares = encoding.share_records(places, Randomness.from_seed(5))
    at = range(slots + 1)
    for damage in (0, 1):
        spoiled = [[share[party] for share in shares] for party in (0, 1)]
        for each in spoiled:
            each[0] = each[0][:-40] + bytes([each[0][-40] ^ damage]) + each[0][-39:]
        evaluations = [
            CheckedReports(encoding.parse_checked_keys(party, spoiled[party]), ENGINE, bytes(32)).evaluate_thresholds(
                at
            )
            for party in (0, 1)
        ]
        accepted = evaluations[0].find_accepted(evaluations[1].digests)
        assert accepted.tolist() == [not damage] + [True] * slots
        sums = [
            one.sum_accepted(accepted, key(party)).sum_prefix_shares(at[1:]) for party, one in enumerate(evaluations)
        ]
        kept = places[damage:]
        assert [sum(pair) % SHARE_MODULUS for pair in zip(*sums, strict=True)] == [
            int((kept < each).sum()) for each in at[1:]
        ]


@pytest.mark.parametrize("slots", [2**32 - 1, 2**32, 2**53])
def test_shares_add_up_at_the_ends_of_huge_grids(slots: int) -> None:
    places = np.array([0, 0, 1, 5, 5, slots // 2, slots - 2, slots - 1, slots - 1, slots])
    at = (1, 2, 5, 6, slots // 2, slots // 2 + 1, slots - 1, slots)
    shares = [server.sum_prefix_shares(at) for server in servers(places, slots)]
    assert [sum(pair) % SHARE_MODULUS for pair in zip(*shares, strict=True)] == [
        int((places < each).sum()) for each in at
    ]


def test_the_answer_is_the_exact_count_and_both_noises() -> None:
    slots, places = 100, np.arange(101) % 90
    both, asked = servers(places, slots), plan(100, 0, 50, 1, 100, reports=101)
    release = FunctionShares().run(asked, both, allotment(), Randomness.from_system())
    distribution = asked.distribution
    assert isinstance(distribution, PathSums)
    noises = [server.noise_key.derive_path_noise(distribution, distribution.prefix_lengths) for server in both]
    exact = [int((places < each).sum()) for each in distribution.prefix_lengths]
    assert release.values == tuple(sum(three) for three in zip(exact, *noises, strict=True))
    assert release.values[0] == 0
    assert not release.seeded


def test_without_noise_the_answer_is_that_of_one_curator() -> None:
    """At an epsilon of a million no noise is drawn: what is left are the counts of the central model."""
    table = {"x": np.random.default_rng(2).normal(size=500), "late": np.arange(500) % 3}
    records = open_records(table, unit=EACH_RECORD, key=bytes(32))
    loss, grid = PrivacyLoss.pure(10**6), Grid(-2, 2, cells=1000)
    asked = PrefixQuery((Axis("x", grid),), tuple(range(0, 1001, 50)))
    adjacency = ReplaceOne(EACH_RECORD, 500)
    places = records.places(asked.axes)
    both = servers(places, grid.slots)
    shared = FunctionShares().run(
        FunctionShares().plan_query(asked, loss, adjacency), both, allotment(loss), Randomness.from_system()
    )
    model = Central(LazyTree())
    curator = Curator(records, InProcessMemory())
    model.run(
        model.plan_query(asked.charged_query, loss, adjacency), [curator], allotment(loss), Randomness.from_system()
    )
    central = model.run(model.plan_query(asked, loss, adjacency), [curator], allotment(loss), Randomness.from_system())
    assert shared.values == central.values[: len(asked.prefix_lengths)]


def test_each_record_has_the_place_that_the_central_model_counts_it_in() -> None:
    table = {"x": [0.1, None, 0.9, float("nan"), 7.0, -3.0], "late": [1, 0, 0, 1, 2, 1]}
    records = open_records(table, unit=EACH_RECORD, key=bytes(32))
    score, label = Axis("x", Grid(0, 1, cells=4)), Categories("late", (0, 1))
    assert records.places((score,)).tolist() == [0, 4, 3, 4, 3, 0]
    assert records.places((label, score)).tolist() == [4, 8, 3, 8, 8, 4]
    for axes in ((score,), (label, score)):
        counted = records.counts(axes)
        assert np.bincount(records.places(axes), minlength=len(counted)).tolist() == counted.tolist()


def test_plan_states_twice_the_variance_and_the_trust_model() -> None:
    ours, theirs = plan(2**32, 7), Central(LazyTree()).plan_query(query(2**32, 7), ONE, ReplaceOne(EACH_RECORD, 9))
    assert ours.error == pytest.approx(sqrt(2) * theirs.error, rel=1e-8)
    assert ours.made_by.startswith("two servers that do not collude, owners unchecked: noise path through 32 levels")
    assert isinstance(ours.distribution, PathSums)
    assert (ours.distribution.noise.parties, ours.distribution.missing) == (2, None)


@pytest.mark.reproduction
@pytest.mark.parametrize("loss", [ONE, PrivacyLoss.zcdp("0.5")], ids=str)
def test_the_error_is_what_plan_says(loss: PrivacyLoss) -> None:
    """600 pairs of servers, 3 thresholds that share no block: 1800 squared errors; within 4 standard errors."""
    asked, draws = plan(64, 8, 32, 64, loss=loss), 600
    places, squares = np.arange(64), list[float]()
    for number in range(draws):
        pair = Exact(places, key(2 * number)), Nothing(places, key(2 * number + 1))
        values = FunctionShares().run(asked, pair, allotment(loss), Randomness.from_system()).values
        squares.extend((np.array(values) - (8, 32, 64)) ** 2)
    assert abs(np.mean(squares) - asked.error**2) <= 4 * np.std(squares) / sqrt(len(squares))


def test_what_a_server_opens_keeps_its_full_noise_against_the_other() -> None:
    """The other server, knowing its own shares and noise, is left with the count and one full noise: one curator's."""
    asked, places = plan(8, 3, 5, 8), np.array([0, 2, 2, 4, 7, 8])
    first, second = servers(places, 8)
    seen = make_answer_share(asked, first, allotment())
    distribution = asked.distribution
    assert isinstance(distribution, PathSums)
    known = second.sum_prefix_shares(distribution.prefix_lengths)
    left = [
        (one + other + SHARE_MODULUS // 2) % SHARE_MODULUS - SHARE_MODULUS // 2
        for one, other in zip(seen, known, strict=True)
    ]
    exact = [int((places < each).sum()) for each in distribution.prefix_lengths]
    noise = first.noise_key.derive_path_noise(distribution, distribution.prefix_lengths)
    assert left == [count + each for count, each in zip(exact, noise, strict=True)]
    central = LazyTree().plan(asked.query, ONE, asked.adjacency).distribution.require_type(PathSums)
    assert distribution.sum_over_parties(1) == replace(central, missing=None)


def test_a_threshold_has_one_answer_and_neighbours_a_common_noise() -> None:
    both = servers(np.arange(50), 64)
    run = FunctionShares().run
    one = run(plan(64, 7, 33), both, allotment(), Randomness.from_system()).values
    again = run(plan(64, 33, 64, 7), both, allotment(), Randomness.from_system()).values
    assert (again[2], again[0]) == one


def test_what_cannot_be_shared_is_refused() -> None:
    model, each = FunctionShares(), ReplaceOne(EACH_RECORD, 9)
    axis = Axis("x", Grid(0, 1, cells=4))
    for asked, loss, adjacency, words in (
        (SumQuery((axis,), 4), ONE, each, "cannot answer SumQuery"),
        (
            CountQuery((axis,), CountUse.CELLS),
            ONE,
            AddRemove(EACH_RECORD),
            "adjacency: must be replace-one with one record per report",
        ),
        (
            CountQuery((axis,), CountUse.CELLS),
            PrivacyLoss.pure(Fraction(1, 2**40)),
            each,
            "more noise than 64-bit shares",
        ),
        (CountQuery((Axis("x", Grid(0, 1, cells=2**16)),), CountUse.CELLS), ONE, each, "grid: .* take a coarser grid"),
        (query(4), ONE, AddRemove(EACH_RECORD), "adjacency: must be replace-one with one record per report"),
        (query(4), ONE, ReplaceOne(Unit("owner", 2), 9), "with one record per report"),
        (query(2**32), PrivacyLoss.pure(Fraction(1, 2**40)), each, "more noise than 64-bit shares can hold"),
    ):
        with pytest.raises(UnsupportedQuery, match=words):
            model.plan_query(asked, loss, adjacency)
    with pytest.raises(UnsupportedQuery, match="cannot answer SumQuery"):
        combine_release(Central().plan_query(SumQuery((axis,), 4), ONE, each), [(0,) * 4] * 2, allotment())


def test_halves_that_are_no_halves_are_refused() -> None:
    asked = plan(8, 3, 5)
    for halves in ([(1, 2)], [(1, 2), (3,)], [(1, 2), (3, SHARE_MODULUS)], [(1, -1), (2, 3)]):
        with pytest.raises(ValueError, match=r"^answer_shares: "):
            combine_release(asked, halves, allotment())
    with pytest.raises(ValueError, match="the payment is for epsilon 2"):
        make_answer_share(asked, Exact(np.arange(3), key(0)), allotment(PrivacyLoss.pure(2)))


def test_shares_of_another_size_or_party_are_refused() -> None:
    encoding = TreeEncoding(100, ENGINE)
    (mine, other), *_ = encoding.share_records(np.array([3]), Randomness.from_system())
    assert len(mine) == len(other) == encoding.size
    assert mine[: encoding.public_size] == other[: encoding.public_size]
    for party, share in ((0, mine[:-1]), (0, mine + b"0"), (1, mine), (0, other)):
        with pytest.raises(ValueError, match="must (be|have)"):
            encoding.parse_keys(party, [share])
    for places in ([-1], [101]):
        with pytest.raises(ValueError, match=r"^slots: "):
            encoding.share_records(np.array(places), Randomness.from_system())
    assert TreeEncoding(2**32 - 1, ENGINE).size <= 800


def test_neither_servers_reports_nor_their_keys_have_a_repr() -> None:
    server, _ = servers(np.array([3, 4]), 8)
    assert "0x" in repr(server)
    assert "0x" in repr(server.noise_key)


SCORE = Axis("x", Grid(0, 1, cells=5))
BY = Categories("ward", ("a", "b", "c"))
TABLES = (
    CountQuery((SCORE,), CountUse.CELLS),
    CountQuery((BY, SCORE), CountUse.PREFIXES),
    CountQuery((Axis("x", Grid(0, 1, cells=300)),), CountUse.PREFIXES),
    CountQuery((Axis("x", Grid(0, 1, cells=300)),), CountUse.PREFIXES, Hint.SPREAD),
)


def exact_sums(query: CountQuery, distribution: IntervalSums, places: NDArray[np.int64]) -> list[int]:
    """What one curator adds noise to: all sums of the distribution, and the missing."""
    table = np.bincount(places, minlength=query.rows * query.cells + 1)
    cells = distribution.apply_strategy(table[:-1].reshape(query.rows, query.cells))
    return [*(int(each) for part in cells for each in part.ravel()), int(table[-1])]


@pytest.mark.parametrize("query", TABLES, ids=range(len(TABLES)))
@pytest.mark.parametrize("loss", [ONE, PrivacyLoss.zcdp("0.5")], ids=str)
def test_all_cells_are_one_curators_sums_with_the_noise_of_both(query: CountQuery, loss: PrivacyLoss) -> None:
    """What is left to a server that knows its own shares and noise is one curator's release, with all of its noise."""
    slots = query.rows * query.cells
    places = np.random.default_rng(3).integers(0, slots + 1, 40)
    both, asked = servers(places, slots), FunctionShares().plan_query(query, loss, ReplaceOne(EACH_RECORD, 40))
    distribution, central = (
        asked.distribution.require_type(IntervalSums),
        LINEAR_CHOICE.plan(query, loss, asked.adjacency),
    )
    assert distribution.sum_over_parties(1) == central.distribution
    assert asked.error == pytest.approx(sqrt(2) * central.error, rel=1e-8)
    exact, noises = (
        exact_sums(query, distribution, places),
        [server.noise_key.derive_sum_noise(distribution) for server in both],
    )
    release = FunctionShares().run(asked, both, allotment(loss), Randomness.from_system())
    assert list(release.values) == [sum(three) for three in zip(exact, *noises, strict=True)]
    assert FunctionShares().run(asked, both, allotment(loss), Randomness.from_system()) == release
    seen = [make_answer_share(asked, server, allotment(loss)) for server in both]
    opened = combine_release(
        asked,
        [seen[0], [(half - own) % SHARE_MODULUS for half, own in zip(seen[1], noises[1], strict=True)]],
        allotment(loss),
    )
    assert list(opened.values) == [sum(pair) for pair in zip(exact, noises[0], strict=True)]


@pytest.mark.parametrize("loss", [ONE, PrivacyLoss.zcdp("0.5")], ids=str)
@pytest.mark.parametrize(
    "query",
    [
        CountQuery((Axis("x", Grid(0, 1, cells=n)),), read)
        for n in (1, 4)
        for read in (CountUse.CELLS, CountUse.PREFIXES)
    ]
    + [CountQuery((Categories("w", (0, 1)), Axis("x", Grid(0, 1, cells=2))), CountUse.CELLS)],
    ids=range(5),
)
def test_against_each_server_any_replaced_report_loses_at_most_the_loss_and_some_lose_it_all(
    query: CountQuery, loss: PrivacyLoss
) -> None:
    """All data sets of 3 reports, and all reports that may be replaced. The closed form is that of exact shifts."""
    slots = query.rows * query.cells
    asked = FunctionShares().plan_query(query, loss, ReplaceOne(EACH_RECORD, 3))
    distribution, silent = asked.distribution.require_type(IntervalSums), key(7)
    noise = silent.derive_sum_noise(distribution)
    parameters = [each.parameter for each, size in distribution.noises for _ in range(size)]

    def shifted(places: tuple[int, ...]) -> list[int]:
        """What a server opens, less its noise: it sees all records here, the other one nothing."""
        opened = make_answer_share(asked, Exact(np.array(places), silent), allotment(loss))
        return [
            (half - own + SHARE_MODULUS // 2) % SHARE_MODULUS - SHARE_MODULUS // 2
            for half, own in zip(opened, noise, strict=True)
        ]

    def lost(one: tuple[int, ...], other: tuple[int, ...]) -> Fraction:
        shifts = [a - b for a, b in zip(shifted(one), shifted(other), strict=True)]
        if loss.is_pure:
            return sum((abs(each) / scale for each, scale in zip(shifts, parameters, strict=True)), Fraction(0))
        return sum((each**2 / (2 * scale) for each, scale in zip(shifts, parameters, strict=True)), Fraction(0))

    others = list(combinations_with_replacement(range(slots + 1), 2))
    worst = max(
        lost((*rest, one), (*rest, other)) for rest in others for one in range(slots + 1) for other in range(one)
    )
    assert worst == (loss.epsilon if loss.is_pure else loss.rho)


def test_the_noise_of_two_servers_has_the_moments_that_its_distribution_says() -> None:
    """2000 keys of a distribution of 30 values: 60000 draws of each; within 4 standard errors."""
    distribution = IntervalSums(
        1, 29, (Tier(range(29), Noise(Family.LAPLACE, Fraction(5))),), Noise(Family.LAPLACE, Fraction(5))
    )
    noise = distribution.sum_over_parties(2).levels[0].noise
    drawn = np.array([key(n).derive_sum_noise(distribution.sum_over_parties(2)) for n in range(4000)], dtype=np.float64)
    sums = drawn[:2000] + drawn[2000:]
    simulated = distribution.sum_over_parties(2).simulate_values(2000, np.random.default_rng(4))
    for found in (sums, simulated):
        squares = found.ravel() ** 2
        assert abs(squares.mean() - noise.variance) <= 4 * squares.std() / sqrt(squares.size)
        fourth = found.ravel() ** 4 - 3 * noise.variance**2
        assert (
            abs(fourth.mean() - noise.fourth_cumulant)
            <= 4 * fourth.std() / sqrt(squares.size) + 0.01 * noise.fourth_cumulant
        )
