"""Federations of real processes: who dies comes back, who lies is found out, and nothing is shown then."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from federated import AGE, Federated

import dpcurves as dp
from dpcurves.arguments import ProtocolAborted
from dpcurves.ledger import Ledger
from dpcurves.privacy import PrivacyLoss
from dpcurves_sites.trust import SecureSum

ONE = PrivacyLoss.pure(1)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federated]:
    with Federated(tmp_path_factory.mktemp("three"), SecureSum(3, 1)).all() as federation:
        yield federation


def test_sites_answer_together_and_the_same_request_again_alike(three: Federated) -> None:
    with three.analyst() as analyst:
        curve = analyst.ask(dp.CdfQuestion("age", AGE), PrivacyLoss.pure(4), "r")
        again = analyst.ask(dp.CdfQuestion("age", AGE), PrivacyLoss.pure(4), "r")
    ages = np.concatenate(three.ages)
    assert curve.to_json() == again.to_json()
    assert abs(np.interp(50, curve.x, curve.y) - (ages < 50).mean()) < 0.05
    assert curve.privacy.trust.startswith("secure sum of 3 sites, 1 of which may collude")
    for number in range(3):
        ledger = Ledger.existing(f"sqlite:///{three.folder / f's{number}.db'}")
        assert str(ledger.balance("data").spent) == "epsilon 4"


def test_what_a_site_can_not_answer_ends_the_turn_in_its_words(three: Federated) -> None:
    with three.analyst() as analyst, pytest.raises(ProtocolAborted, match=r"turn: site 'airline \d'.*height"):
        analyst.ask(dp.HistogramQuestion("height", AGE), ONE)
    with three.analyst() as analyst, pytest.raises(ProtocolAborted, match="has epsilon"):
        analyst.ask(dp.HistogramQuestion("age", AGE), PrivacyLoss.pure(100))
