from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcurves.data import Axis, CountQuery, Grid, Read
from dpcurves.data.records import open_records
from dpcurves.ledger import Purse
from dpcurves.mechanisms import Flat
from dpcurves.noise import FleetingMemory
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves.trust import Central, Curator

QUERY = CountQuery((Axis("x", Grid(0, 1, cells=4)),), Read.CELLS)
EACH = AddRemove(EACH_RECORD)


def test_the_curator_counts_and_adds_noise_once() -> None:
    records = open_records({"x": np.array([0.1, 0.1, 0.9, np.nan])}, unit=EACH_RECORD, key=b"k" * 32)
    payment = Purse.rehearsing(PrivacyLoss.pure(10**6)).pay("counts", Fraction(1))
    model = Central()
    plan = model.plan(QUERY, payment.loss, EACH)
    release = model.run(plan, [Curator(records, FleetingMemory())], payment, Randomness.from_seed(1))
    assert release.values == (2, 0, 0, 1, 1)
    assert release.seeded
    assert plan.made_by.startswith("one curator: ")


def test_without_the_right_payment_nothing_runs() -> None:
    payment = Purse.rehearsing(PrivacyLoss.pure(1)).pay("counts", Fraction(1, 2))
    plan = Central(Flat()).plan(QUERY, PrivacyLoss.pure(1), EACH)
    with pytest.raises(ValueError, match=r"the payment is for epsilon 0.5"):
        Central(Flat()).run(plan, [], payment, Randomness.system())
