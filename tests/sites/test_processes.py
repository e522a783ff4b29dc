"""Federations of real processes: who dies comes back, who lies is found out, and nothing is shown then."""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from time import monotonic
from typing import Any

import numpy as np
import pytest
from federated import AGE, LONG, PLACE, Federated
from sqlalchemy import select

import dpcurves as dp
from dpcurves.arguments import ProtocolError
from dpcurves.ledger import Ledger
from dpcurves.privacy import PrivacyLoss
from dpcurves_sites.remote import LEFT_OUT_RULE
from dpcurves_sites.secure_sum import KEYS, MASKED, OPENED, SHARE_SIZE, SHARES, SIGNED
from dpcurves_sites.site import SUM_STEP_TABLE, SUM_VECTOR_TABLE
from dpcurves_sites.trust import SecureSum

ONE = PrivacyLoss.pure(1)
BINS = dp.HistogramQuestion("age", dp.Grid(0, 100, cells=4))


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federated]:
    """Five sites, of which one may collude and one be left out."""
    with Federated(tmp_path_factory.mktemp("five"), SecureSum(5, 2, max_dropouts=1)).all() as federation:
        federation.wait(lambda: "listens" in federation.log("hub"), "the start")
        federation.wait(lambda: len(federation.signed()) == 5, "the signing")
        yield federation


def ledger(federation: Federated, number: int) -> Ledger:
    return Ledger.open_existing(f"sqlite:///{federation.folder / f's{number}.db'}")


def spent(federation: Federated) -> list[float]:
    return [float(ledger(federation, number).balance("data").spent.exact) for number in range(federation.model.sites)]


def in_the_end(ask: Callable[[], Any]) -> Any:
    """The answer, once sites have let go of what they were told when the coordinator lied."""
    end = monotonic() + LONG
    while True:
        try:
            return ask()
        except ProtocolError:
            assert monotonic() < end


def require_one_kind_of_mask_opened(federation: Federated) -> None:
    """Over all turns, whatever was tried: of each site one kind of mask was opened by all together."""
    kinds: dict[tuple[str, int], set[int]] = defaultdict(set)
    for number in range(federation.model.sites):
        query = select(SUM_STEP_TABLE.c.round, SUM_STEP_TABLE.c.message).where(SUM_STEP_TABLE.c.stage == OPENED)
        for row in ledger(federation, number).database.run_read(lambda connection: connection.execute(query).all()):  # noqa: B023
            body = row.message[PLACE + 3 + 32 : -64]  # behind place, stage, site and list; before the signature
            assert body
            assert len(body) % (3 + SHARE_SIZE) == 0
            for start in range(0, len(body), 3 + SHARE_SIZE):
                kinds[row.round, int.from_bytes(body[start : start + 2], "little")].add(body[start + 2])
    assert kinds
    assert all(len(each) == 1 for each in kinds.values())


def test_sites_answer_together_and_the_same_request_again_alike(five: Federated) -> None:
    before = spent(five)
    with five.analyst() as analyst:
        curve = analyst.ask(dp.CdfQuestion("age", AGE), PrivacyLoss.pure(4), "r")
        again = analyst.ask(dp.CdfQuestion("age", AGE), PrivacyLoss.pure(4), "r")
    ages = np.concatenate(five.ages)
    assert curve.to_json() == again.to_json()
    assert abs(np.interp(50, curve.x, curve.y) - (ages < 50).mean()) < 0.05
    assert curve.privacy.trust.startswith("secure sum of 5 sites, 1 of which may collude and 1 be left out")
    assert spent(five) == [each + 4 for each in before]


def test_each_site_filters_and_derives_and_its_ledger_says_what_was_asked(five: Federated) -> None:
    """At epsilon 40 the noise of five sites in a count has deviation 0.1: 5 off is no chance."""
    question = dp.HistogramQuestion("age / 2", dp.Grid(0, 50, cells=2), where="age >= 30 AND age <> 40")
    before = spent(five)
    with five.analyst() as analyst:
        bars = analyst.ask(question, PrivacyLoss.pure(40), "filtered")
        with pytest.raises(
            ProtocolError, match=r"site 'airline \d': where: the filter cannot be evaluated at this site$"
        ):
            analyst.ask(dp.CountQuestion(where="weight > 3"), ONE)
    ages = np.concatenate(five.ages)
    ages = ages[(ages >= 30) & (ages != 40)]
    exact = [(ages < 50).sum(), (ages >= 50).sum()]
    assert np.abs(bars.unbiased_counts - exact).max() < 5
    assert bars.privacy.where == question.where
    assert spent(five) == [each + 40 for each in before]
    purposes = [[grant.purpose for grant in ledger(five, site).statement("data").grants] for site in range(5)]
    assert all(f"records where {question.where}" in "".join(texts) for texts in purposes)


def test_what_a_site_can_not_answer_ends_the_turn_in_its_words(five: Federated) -> None:
    before = spent(five)
    with five.analyst(2) as analyst:
        with pytest.raises(ProtocolError, match=r"site 'airline \d': column: 'height' cannot be counted at this site$"):
            analyst.ask(dp.HistogramQuestion("height", AGE), ONE)
        with pytest.raises(ProtocolError, match="has epsilon"):
            analyst.ask(BINS, PrivacyLoss.pure(1000))
    assert spent(five) == before
    assert any("'height' is not in the data, which has 'age'" in five.log(f"s{number}") for number in range(5))


@pytest.mark.parametrize(
    "dies", [f"{when} {stage}" for stage in range(KEYS, OPENED + 1) for when in ("before", "after")]
)
def test_a_site_that_is_killed_comes_back_and_answers_as_if_nothing_had_been(five: Federated, dies: str) -> None:
    before = spent(five)
    five.trouble(2, dies)
    with ThreadPoolExecutor(1) as threads, five.analyst() as analyst:
        coming = threads.submit(analyst.ask, BINS, ONE)
        five.died(2)
        five.site(2)
        curve = coming.result(LONG)
    assert abs(curve.count.sum() - 1500) < 100
    five.wait(lambda: spent(five) == [each + 1 for each in before], "the charge of each site, once")


@pytest.mark.parametrize(
    ("process", "size", "line"),
    [("s2", 4096, "site 'airline 2': ledger: cannot be used at this site now; repeat the request later"),
     ("hub", 64, "the disk of this server cannot be written")],
    ids=["a site", "the coordinator"],
)  # fmt: skip
def test_a_disk_that_is_full_charges_nobody_and_ends_no_process(
    five: Federated, process: str, size: int, line: str
) -> None:
    """The limit of bytes in a file is that of a quota. A coordinator that is full is asked again until the analyst's
    time is over."""
    prlimit = getattr(resource, "prlimit", None) or pytest.skip("limits of other processes can not be set here")
    five.again(2)  # which a test before this may have left on its way back
    before, number, seen = spent(five), five.running[process].pid, five.folder / "hub.log.seen"
    kept = seen.rename(five.folder / "seen.before")  # what this test notes of messages needs no room, nor does the log
    seen.symlink_to("/dev/null")
    (five.folder / f"{process}.log").write_text("")
    _, most = prlimit(number, resource.RLIMIT_FSIZE)
    prlimit(number, resource.RLIMIT_FSIZE, (size, most))
    try:
        with five.analyst(timeout=3) as analyst, pytest.raises(ProtocolError, match=line):
            analyst.ask(BINS, ONE, f"full {process}")
    finally:
        prlimit(number, resource.RLIMIT_FSIZE, (most, most))
        kept.replace(seen)
    assert spent(five) == before
    with five.analyst() as analyst:
        curve = in_the_end(lambda: analyst.ask(BINS, ONE, f"full {process}"))
    assert abs(curve.count.sum() - 1500) < 100
    assert spent(five) == [each + 1 for each in before]
    assert five.running[process].exitcode is None


LIES = [
    *(f"alters {stage}" for stage in range(KEYS, OPENED + 1)),
    *(f"drops {stage}" for stage in (SHARES, MASKED, SIGNED)),
    *(f"replays {stage}" for stage in (KEYS, MASKED, OPENED)), *(f"invents {stage}" for stage in (KEYS, OPENED)),
    "shows two lists", "swaps vectors", "swaps stages", "leaves out site 4", "tells site 0 of another question",
]  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_coordinator_that_lies_is_found_out(five: Federated, lie: str) -> None:
    five.lie(lie)
    try:
        with five.analyst() as analyst:
            if lie == f"drops {SIGNED}":  # as if one had failed: that is allowed for
                assert analyst.ask(BINS, ONE).count.sum() > 1000
            else:
                with pytest.raises(ProtocolError):
                    analyst.ask(BINS, ONE)
    finally:
        five.lie("")


def test_a_turn_is_not_answered_again_for_other_sites(five: Federated) -> None:
    """Two rosters for one turn: the difference of both sums would be the vector of the one that was left out."""
    before = spent(five)
    with five.analyst() as analyst:
        curve = analyst.ask(BINS, ONE, "two rosters")
        five.lie("leaves out site 4")
        with pytest.raises(ProtocolError, match="this site has answered this stage already, to other messages"):
            analyst.ask(BINS, ONE, "two rosters")
        five.lie("")
        assert in_the_end(lambda: analyst.ask(BINS, ONE, "two rosters")).to_json() == curve.to_json()
    assert spent(five) == [each + 1 for each in before]


def test_who_says_that_a_site_failed_gets_the_sum_of_the_others_and_one_kind_of_its_masks(five: Federated) -> None:
    five.lie("says that site 4 failed")
    with five.analyst() as analyst:
        assert abs(analyst.ask(BINS, ONE, "claimed").count.sum() - 1200) < 100
        five.lie("")
        with pytest.raises(ProtocolError):  # the list with all five was never signed
            analyst.ask(BINS, ONE, "claimed")
    require_one_kind_of_mask_opened(five)


def kept_vectors(federation: Federated) -> dict[tuple[str, int], np.ndarray[Any, Any]]:
    """SECRET: what each site added in each turn, as it lies beside its ledger."""
    found = {}
    for number in range(federation.model.sites):
        query = select(SUM_VECTOR_TABLE.c.round, SUM_VECTOR_TABLE.c.vector)
        for row in ledger(federation, number).database.run_read(lambda connection: connection.execute(query).all()):  # noqa: B023
            found[row.round, number] = np.frombuffer(row.vector, dtype="<i8")
    return found


def test_all_that_a_curious_coordinator_saw_holds_no_count(five: Federated) -> None:
    """No vector of a site, nor what two or more sites added, stands in it; the sum of all is what it works out."""
    question = dp.HistogramQuestion("age", dp.Grid(0, 100, cells=16))
    with five.analyst() as analyst:
        curve = analyst.ask(question, ONE, "curious")
    log = five.folder.joinpath("hub.log.seen").read_bytes() + five.folder.joinpath("hub.log").read_bytes()
    last = {key: vector for key, vector in kept_vectors(five).items() if len(vector) == len(curve.evidence.values)}
    (turn,) = {turn for turn, _ in last}
    own = [last[turn, number] for number in range(5)]
    assert np.sum(own, axis=0).tolist() == list(curve.evidence.values)
    subsets = [list(some) for size in range(1, 6) for some in combinations(range(5), size)]
    for some in subsets:
        added = np.sum([own[number] for number in some], axis=0)
        exact = np.histogram(np.concatenate([five.ages[number] for number in some]), 16, (0, 100))[0]
        for vector in (added, exact):
            for start in range(13):
                run = vector[start : start + 3]
                assert run.astype("<i8").tobytes() not in log
                assert str(run.tolist())[1:-1].encode() not in log
    assert b"curious" in log  # the question is


@pytest.mark.parametrize("stage", [SIGNED, OPENED])
def test_a_site_that_lags_holds_nobody_up(five: Federated, stage: int) -> None:
    before = spent(five)
    five.trouble(2, f"lags {stage}")
    with five.analyst() as analyst:
        for _ in range(2):
            assert abs(analyst.ask(BINS, ONE).count.sum() - 1500) < 100
    five.trouble(2, "")
    assert spent(five) == [each + 2 for each in before]


def test_who_repeats_and_reorders_changes_nothing(five: Federated) -> None:
    five.lie("repeats and reorders")
    try:
        with five.analyst() as analyst:
            assert abs(analyst.ask(BINS, ONE).count.sum() - 1500) < 100
    finally:
        five.lie("")
    require_one_kind_of_mask_opened(five)


def at_edges(*edges: int) -> dp.CdfQuestion:
    return dp.CdfQuestion("age", dp.Grid(0, 100, cells=2**20), edges=edges)


def test_a_site_that_stays_away_is_left_out_and_comes_back_for_the_next_question(five: Federated) -> None:
    five.kill("hub")
    five._patience = 15
    five.coordinator()
    five.kill("s4")
    with five.analyst() as analyst:
        curve = analyst.ask(BINS, ONE)
        assert abs(curve.count.sum() - 1200) < 100
        assert curve.notes == (f"{LEFT_OUT_RULE}airline 4",)
        assert curve.notes[0] in curve.to_json()
        below = analyst.ask(at_edges(2**19), ONE, "edges")
        five.kill("s3")
        with pytest.raises(ProtocolError, match=r"site 'airline 3' did not answer within 15 seconds"):
            analyst.ask(BINS, ONE)
        five.again(3, 4)
        whole = in_the_end(lambda: analyst.ask(BINS, ONE, "all are back"))
        assert abs(whole.count.sum() - 1500) < 100
        assert not whole.notes
        before = spent(five)
        more = analyst.ask(at_edges(2**18, 2**19), ONE, "edges")
        assert more.rounds[-1].values[1:] == below.rounds[-1].values  # without site 4, with the same noise
        assert spent(five) == before


def test_beyond_what_is_tolerated_a_turn_waits_is_refused_and_charged_and_is_never_drawn_again(five: Federated) -> None:
    before = spent(five)
    for number in (3, 4):
        five.trouble(number, f"before {MASKED}")
    with five.analyst() as analyst:
        for _ in range(2):
            with pytest.raises(ProtocolError, match="did not answer within 15 seconds"):
                analyst.ask(BINS, ONE, "late")
            assert spent(five) == [each + 1 for each in before]
        vectors = {key: vector.tolist() for key, vector in kept_vectors(five).items()}
        for number in (3, 4):
            five.died(number)
            five.site(number)
        assert abs(in_the_end(lambda: analyst.ask(BINS, ONE, "late")).count.sum() - 1500) < 100
    assert {key: vector.tolist() for key, vector in kept_vectors(five).items()} == vectors
    assert spent(five) == [each + 1 for each in before]
