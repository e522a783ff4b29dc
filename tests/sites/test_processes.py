"""Federations of real processes: who dies comes back, who lies is found out, and nothing is shown then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from federated import AGE, LONG, Federated
from sqlalchemy import select

import dpcurves as dp
from dpcurves.arguments import ProtocolAborted
from dpcurves.ledger import Ledger
from dpcurves.privacy import PrivacyLoss
from dpcurves_sites.kept_turns import STEPS
from dpcurves_sites.secure_sum import KEYS, MASKED, OPENED, SHARE, SHARES, SIGNED
from dpcurves_sites.trust import SecureSum

ONE, PLACE = PrivacyLoss.pure(1), 120
BINS = dp.HistogramQuestion("age", dp.Grid(0, 100, cells=4))


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federated]:
    """Five sites, of which one may collude and one be left out."""
    with Federated(tmp_path_factory.mktemp("five"), SecureSum(5, 2, absent=1)).all() as federation:
        federation.wait(lambda: "listens" in federation.log("hub"), "the start")
        federation.wait(lambda: len(federation.signed()) == 5, "the signing")
        yield federation


def ledger(federation: Federated, number: int) -> Ledger:
    return Ledger.existing(f"sqlite:///{federation.folder / f's{number}.db'}")


def spent(federation: Federated) -> list[float]:
    return [float(ledger(federation, number).balance("data").spent.exact) for number in range(federation.model.sites)]


def require_one_kind_of_mask_opened(federation: Federated) -> None:
    """Over all turns, whatever was tried: of each site one kind of mask was opened by all together."""
    kinds: dict[tuple[str, int], set[int]] = defaultdict(set)
    for number in range(federation.model.sites):
        query = select(STEPS.c.turn, STEPS.c.message).where(STEPS.c.stage == OPENED)
        for row in ledger(federation, number).database.read(lambda connection: connection.execute(query).all()):  # noqa: B023
            body = row.message[PLACE + 3 + 32 : -64]  # behind place, stage, site and list; before the signature
            assert body
            assert len(body) % (3 + SHARE) == 0
            for start in range(0, len(body), 3 + SHARE):
                kinds[row.turn, int.from_bytes(body[start : start + 2], "little")].add(body[start + 2])
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


def test_what_a_site_can_not_answer_ends_the_turn_in_its_words(five: Federated) -> None:
    before = spent(five)
    with five.analyst(2) as analyst:
        with pytest.raises(ProtocolAborted, match=r"turn: site 'airline \d'.*height"):
            analyst.ask(dp.HistogramQuestion("height", AGE), ONE)
        with pytest.raises(ProtocolAborted, match="has epsilon"):
            analyst.ask(BINS, PrivacyLoss.pure(1000))
    assert spent(five) == before


@pytest.mark.parametrize(
    "dies", [f"{when} {stage}" for stage in range(KEYS, OPENED + 1) for when in ("before", "after")]
)
def test_a_site_that_is_killed_comes_back_and_answers_as_if_nothing_had_been(five: Federated, dies: str) -> None:
    before = spent(five)
    five.kill("s2")
    five.folder.joinpath("s2.log.died").unlink(missing_ok=True)
    five.site(2, dies)
    with ThreadPoolExecutor(1) as threads, five.analyst() as analyst:
        coming = threads.submit(analyst.ask, BINS, ONE)
        five.died(2)
        five.site(2)
        curve = coming.result(LONG)
    assert abs(curve.count.sum() - 1500) < 100
    five.wait(lambda: spent(five) == [each + 1 for each in before], "the charge of each site, once")


LIES = [
    *(f"alters {stage}" for stage in range(KEYS, OPENED + 1)),
    *(f"drops {stage}" for stage in (SHARES, MASKED, SIGNED)),
    *(f"replays {stage}" for stage in (KEYS, MASKED, OPENED)), "shows two lists",
]  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_coordinator_that_lies_is_found_out(five: Federated, lie: str) -> None:
    five.lie(lie)
    try:
        with five.analyst() as analyst:
            if lie == f"drops {SIGNED}":  # as if one had failed: that is allowed for
                assert analyst.ask(BINS, ONE).count.sum() > 1000
            else:
                with pytest.raises(ProtocolAborted):
                    analyst.ask(BINS, ONE)
    finally:
        five.lie("")


def test_who_repeats_and_reorders_changes_nothing(five: Federated) -> None:
    five.lie("repeats and reorders")
    try:
        with five.analyst() as analyst:
            assert abs(analyst.ask(BINS, ONE).count.sum() - 1500) < 100
    finally:
        five.lie("")
    require_one_kind_of_mask_opened(five)


def test_a_site_that_stays_away_is_left_out_and_comes_back_for_the_next_question(five: Federated) -> None:
    five.kill("hub")
    five._patience = 4
    five.coordinator()
    five.kill("s4")
    with five.analyst() as analyst:
        curve = analyst.ask(BINS, ONE)
        assert abs(curve.count.sum() - 1200) < 100
        five.kill("s3")
        with pytest.raises(ProtocolAborted, match=r"site 'airline 3' did not answer within 4 seconds"):
            analyst.ask(BINS, ONE)
        five.site(3)
        five.site(4)
        five.wait(lambda: five.log("s4").count("waiting for questions") >= 2, "the return")
        five.wait(lambda: five.log("s3").count("waiting for questions") >= 2, "the return")
        assert abs(analyst.ask(BINS, ONE).count.sum() - 1500) < 100
