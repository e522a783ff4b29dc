from __future__ import annotations

import numpy as np
import pytest
from by_hand import answer, both

from dpcurves.curves import Histogram, HistogramQuestion
from dpcurves.data import Categories, Grid, Outside
from dpcurves.privacy import PrivacyLoss

X = np.random.default_rng(2).normal(size=500)
HUGE = PrivacyLoss.pure(10**9)


def test_at_a_huge_epsilon_counts_are_those_of_numpy() -> None:
    grid = Grid(-2, 2, cells=16, outside=Outside.APART)
    for adjacency in both(len(X)):
        bars = answer(HistogramQuestion("x", grid), {"x": X}, HUGE, adjacency, seed=1)
        assert np.allclose(bars.count, np.histogram(X, grid.edges)[0], atol=1e-6)


def test_counts_are_never_negative_but_their_unbiased_ones_may_be() -> None:
    bars = answer(HistogramQuestion("x", Grid(-9, 9, cells=64)), {"x": X}, PrivacyLoss.pure(0.1), both(500)[0], seed=1)
    assert bars.count.min() == 0
    assert bars.unbiased.min() < 0
    assert bars.error > 10


def test_a_histogram_is_written_and_read() -> None:
    bars = answer(HistogramQuestion("x", Grid(-2, 2, cells=8)), {"x": X}, PrivacyLoss.zcdp(1), both(500)[1], seed=1)
    assert (Histogram.from_json(bars.to_json()).unbiased == bars.unbiased).all()


def test_each_category_has_its_own_histogram() -> None:
    question = HistogramQuestion("x", Grid(-2, 2, cells=8), by=Categories("k", (1, 2)))
    kinds = np.where(X > 0, 1, 2)
    bars = answer(question, {"x": X, "k": kinds}, HUGE, both(500)[0], seed=1)
    assert np.allclose(bars[1].count[:4], 0, atol=1e-6)
    assert bars[2].count.sum() > 200
    assert list(bars.to_frame().columns) == ["k", "left", "right", "count"]
    with pytest.raises(ValueError, match=r"^level: these curves have no bands$"):
        bars.to_frame(level=0.9)
