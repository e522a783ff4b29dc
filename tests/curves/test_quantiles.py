from __future__ import annotations

import numpy as np
import pytest
from by_hand import answer, both

from dpcurves.curves import Quantiles, QuantilesQuestion
from dpcurves.data import Grid
from dpcurves.privacy import PrivacyLoss

X = np.random.default_rng(2).uniform(0, 10, size=5000)
QUESTION = QuantilesQuestion("x", Grid(0, 10, cells=512), (0.25, 0.5, 0.75))


def test_quantiles_are_near_those_of_numpy() -> None:
    for adjacency in both(len(X)):
        found = answer(QUESTION, {"x": X}, PrivacyLoss.pure(10**6), adjacency, seed=1)
        assert np.abs(found.x - np.quantile(X, found.p)).max() < 10 / 512


def test_intervals_hold_the_quantiles_of_the_records() -> None:
    found = answer(QUESTION, {"x": X}, PrivacyLoss.pure(0.5), both(len(X))[1], seed=1)
    ends = found.intervals(0.99)
    assert (ends[:, 0] <= np.quantile(X, found.p)).all()
    assert (np.quantile(X, found.p) <= ends[:, 1]).all()
    again = Quantiles.from_json(found.to_json())
    assert (again.intervals(0.99) == ends).all()
    assert list(found.to_frame().columns) == ["p", "x"]
    assert (found.to_frame(level=0.99)["upper"].to_numpy() == ends[:, 1]).all()


@pytest.mark.parametrize("at", [(), (-0.1,), (0.5, 1.5), (float("nan"),)])
def test_shares_outside_zero_to_one_are_refused(at: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="^at: "):
        QuantilesQuestion("x", Grid(0, 10, cells=8), at)
