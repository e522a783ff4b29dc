from __future__ import annotations

import numpy as np
import pytest
from by_hand import answer, both
from scipy.special import ndtr

from dpcurves.curves import Histogram, HistogramQuestion
from dpcurves.data import Categories, Grid, Outside
from dpcurves.privacy import AddRemove, PrivacyLoss, Unit

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
    assert bars.unbiased_counts.min() < 0
    assert bars.error > 10


def test_a_histogram_is_written_and_read() -> None:
    bars = answer(HistogramQuestion("x", Grid(-2, 2, cells=8)), {"x": X}, PrivacyLoss.zcdp(1), both(500)[1], seed=1)
    assert (Histogram.from_json(bars.to_json()).unbiased_counts == bars.unbiased_counts).all()


def test_each_category_has_its_own_histogram() -> None:
    question = HistogramQuestion("x", Grid(-2, 2, cells=8), by=Categories("k", (1, 2)))
    kinds = np.where(X > 0, 1, 2)
    bars = answer(question, {"x": X, "k": kinds}, HUGE, both(500)[0], seed=1)
    assert np.allclose(bars[1].count[:4], 0, atol=1e-6)
    assert bars[2].count.sum() > 200
    assert list(bars.to_frame().columns) == ["k", "left", "right", "count"]
    assert list(bars.to_frame(level=0.9, population=True).columns) == ["k", "left", "right", "count", "lower", "upper"]


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("outside", Outside)
def test_intervals_hold_all_counts_at_once_and_those_of_the_population(outside: Outside) -> None:
    """60 samples at level 0.9: fewer than 45 held in less than 1 of 10,000 suites; the seeds are fixed."""
    grid, draw, releases = Grid(-2, 2, cells=8, outside=outside), np.random.default_rng(3), 60
    held = {"records": 0, "population": 0, "groups": 0}
    shares = np.diff(ndtr(grid.edges))
    if outside is Outside.CLIPPED:
        shares[[0, -1]] += ndtr(-2)
    at = np.array([0, 3, 8])
    for seed in range(releases):
        sample = draw.normal(size=500)
        loss = PrivacyLoss.pure(0.5) if seed % 2 else PrivacyLoss.zcdp(0.05)
        bars = answer(HistogramQuestion("x", grid), {"x": sample}, loss, both(500)[seed % 2], seed)
        slots = grid.cell_of(sample) - int(outside is Outside.APART)
        exact = np.bincount(slots[(slots >= 0) & (slots < 8)], minlength=8)
        for name, true, ends in (
            ("records", exact, bars.intervals(0.9)),
            ("population", 500 * shares, bars.intervals(0.9, population=True)),
            ("groups", np.add.reduceat(exact, at[:-1]), bars.intervals(0.9, edges=at)),
        ):
            held[name] += bool(((ends[:, 0] <= true) & (true <= ends[:, 1])).all())
    assert min(held.values()) >= 45
    assert held["records"] <= 60  # of which about 54 by design


def test_counts_of_neighbours_leave_no_cell_out() -> None:
    bars = answer(HistogramQuestion("x", Grid(-9, 9, cells=100)), {"x": X}, PrivacyLoss.pure(1), both(500)[1], seed=1)
    at = bars.group_edges(40)
    assert (at[0], at[-1]) == (0, 100)
    assert len(at) - 1 <= 40
    assert bars.unbiased_counts.sum() == pytest.approx(np.add.reduceat(bars.unbiased_counts, at[:-1]).sum())
    assert bars.group_edges(100).tolist() == list(range(101))


def test_clipped_values_are_noted_and_of_units_with_several_records_no_population_is_spoken_of() -> None:
    unit = AddRemove(Unit("patient", 2))
    bars = answer(HistogramQuestion("x", Grid(-2, 0, cells=8)), {"x": X}, PrivacyLoss.pure(1), unit, seed=1)
    (note,) = bars.notes
    assert "in the last cell (-0.25 and above), which also holds all values above 0" in note
    with pytest.raises(ValueError, match="^population: independent units"):
        bars.intervals(0.9, population=True)
    legend = bars.plot().get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["95% simultaneous intervals for these records"]
    below = " ".join(" ".join(text.get_text().split()) for text in bars.plot().texts)
    assert "not for the population" in below


def test_ends_are_whole_and_possible_and_a_count_of_which_noise_leaves_all_open_is_not_known() -> None:
    """Three records at epsilon 0.1 under each adjacency, an empty column, and groups of neighbouring cells."""
    question, few, at = HistogramQuestion("x", Grid(0, 4, cells=4)), np.array([0.5, 1.5, 1.5]), np.array([0, 2, 4])
    for seed in range(10):
        private, public = (answer(question, {"x": few}, PrivacyLoss.pure("0.1"), each, seed) for each in both(3))
        empty = answer(question, {"x": few[:0]}, PrivacyLoss.pure(1), both(3)[0], seed)
        for bars in (private, empty):
            ends = bars.intervals(0.95)
            assert np.isfinite(bars.count).all()
            assert (ends == np.rint(ends)).all()
            assert (ends[:, 0] >= 0).all()
            assert (ends[:, 0] < ends[:, 1]).all()
        assert np.isnan(public.count).all()
        assert np.isnan(public.count_between(at)).all()
        assert (public.intervals(0.95) == (0.0, 3.0)).all()
        assert (public.intervals(0.95, population=True, edges=at) == (0.0, 3.0)).all()
        assert np.isnan(Histogram.from_json(public.to_json()).count).all()
    assert public.plot().has_data()


def test_no_count_is_above_a_public_number_of_records() -> None:
    """All of 40 records lie in one cell, so every second estimate is above 40 before it is limited."""
    above = []
    for seed in range(30):
        bars = answer(HistogramQuestion("x", Grid(0, 4, cells=4)), {"x": np.full(40, 2.5)}, PrivacyLoss.pure(1),
                      both(40)[1], seed)  # fmt: skip
        above.append(bars.unbiased_counts[2] > 40)
        assert bars.count[2] <= 40
        assert bars.intervals(0.9)[2, 1] == 40 or not above[-1]
    assert 3 < sum(above) < 27
