from __future__ import annotations

import numpy as np
import pytest
from by_hand import answer, both
from numpy.typing import NDArray
from scipy.special import gammainc

import dpcurves as dp
from dpcurves.curves import CDF, CdfHistogram, CdfQuestion
from dpcurves.data import Grid, Outside
from dpcurves.privacy import AddRemove, Adjacency, PrivacyLoss, ReplaceOne

GRID = Grid(0, 10, cells=128)
X = np.random.default_rng(2).gamma(2, 1.2, size=4000).clip(0, 10)
HUGE = PrivacyLoss.pure(10**9)


def curve(loss: PrivacyLoss, adjacency: Adjacency, seed: int = 1, grid: Grid = GRID) -> CDF:
    found: CDF = answer(CdfQuestion("x", grid), {"x": X}, loss, adjacency, seed)
    return found


def shares(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.histogram(X, edges)[0] / len(X)  # closed on the right at the last edge, as grids are


@pytest.mark.parametrize("adjacency", both(len(X)))
def test_at_a_huge_epsilon_shares_are_those_of_numpy(adjacency: AddRemove | ReplaceOne) -> None:
    for bins in (1, 8, 64, GRID.edges[[0, 3, 50, 127, 128]], GRID.edges[5:9]):
        found = curve(HUGE, adjacency).histogram(bins)
        assert np.allclose(found.share, shares(found.x), atol=1e-8)
        assert np.allclose(found.count, np.histogram(X, found.x)[0], atol=1e-4)


@pytest.mark.parametrize("loss", [PrivacyLoss.pure(0.05), PrivacyLoss.zcdp(0.001)])
@pytest.mark.parametrize("adjacency", both(len(X)))
def test_no_bin_is_negative_and_all_add_up(loss: PrivacyLoss, adjacency: AddRemove | ReplaceOne) -> None:
    noisy = curve(loss, adjacency)
    for bins in (1, 7, 100, 128):
        found = noisy.histogram(bins)
        assert found.share.min() >= 0
        assert found.share.sum() == pytest.approx(1, abs=1e-12)
        assert found.count.sum() == pytest.approx(noisy.count)


def test_values_outside_of_the_grid_are_in_no_bin() -> None:
    apart = Grid(1, 4, cells=64, outside=Outside.APART)
    found = curve(HUGE, both(len(X))[0], grid=apart).histogram(6)
    assert np.allclose(found.share, shares(found.x), atol=2 / len(X))
    assert found.share.sum() < 0.9


@pytest.mark.reproduction
@pytest.mark.parametrize("adjacency", both(len(X)))
@pytest.mark.parametrize("bins", [16, np.array([0.011, 1.303, 2.6, 7.77])])  # some between edges of the grid
def test_intervals_hold_all_true_shares_at_once(
    adjacency: AddRemove | ReplaceOne, bins: int | NDArray[np.float64]
) -> None:
    held = 0
    for seed in range(20):
        found = curve(PrivacyLoss.pure(1), adjacency, seed).histogram(bins)
        ends, true = found.intervals(0.9), shares(found.x)
        assert ((ends[:, 0] <= found.share) & (found.share <= ends[:, 1])).all()
        held += bool(((ends[:, 0] <= true) & (true <= ends[:, 1])).all())
    assert held >= 13  # of 20 at 0.9: 4 sigma below 18 is 12.6; the seeds are fixed


def test_intervals_of_measured_bins_are_narrower_than_the_band_makes_them() -> None:
    noisy = curve(PrivacyLoss.pure(1), both(10**7)[0])
    found = noisy.histogram(GRID.edges)
    lower, upper = noisy.band(0.95)
    lengths = np.diff(found.intervals(0.95), axis=1)[:, 0]
    assert np.median(lengths) < 0.8 * np.median(upper[1:] - lower[:-1])


def test_without_noise_measured_bins_are_exact() -> None:
    found = curve(HUGE, both(len(X))[0]).histogram(8)
    assert np.abs(found.intervals(0.95) - found.share[:, None]).max() < 1e-6


def test_a_histogram_of_a_curve_is_drawn_and_tabulated() -> None:
    found = curve(PrivacyLoss.pure(1), both(len(X))[1]).histogram(10)
    assert isinstance(found, dp.CdfHistogram)
    assert list(found.to_frame().columns) == ["left", "right", "share", "count"]
    assert (found.to_frame(level=0.9)["lower"].to_numpy() == found.intervals(0.9)[:, 0]).all()
    assert "Histogram of x" in found._repr_html_()
    assert found.plot(level=0.9).get_ylabel() == "share of records per unit of x"


@pytest.mark.parametrize("bins", [0, -1, [1], [1, 1], [2, 1], [-1, 5], [0, 10.01], [[0, 1]], [0, np.nan]])
def test_bins_that_are_none_are_refused(bins: int | list[float]) -> None:
    with pytest.raises(ValueError, match="^bins: "):
        curve(HUGE, both(len(X))[0]).histogram(bins)


def test_an_edge_that_is_none_of_the_grid_is_moved_to_the_nearest_one_and_said_so() -> None:
    grid = Grid(-10, 40, cells=41)  # 0 lies inside a cell
    records = {"x": np.repeat([-5.0, 0.0, 5.0], [20, 500, 480])}
    found = answer(CdfQuestion("x", grid), records, HUGE, both(1000)[1], 1)
    with pytest.warns(
        dp.CurveWarning, match=r"^bins: moved to the nearest edges of the grid: 0 to -0\.243902439"
    ) as told:
        bins = found.histogram([-10, 0, 40])
    assert [warning.filename for warning in told] == [__file__]
    assert bins.x.tolist() == [-10, float(grid.edges[8]), 40]
    assert bins.share[0] == pytest.approx(0.02, abs=1e-6)  # true of the edge that is shown
    assert CdfHistogram.from_json(bins.to_json()).notes == bins.notes


def test_bins_of_one_nearest_edge_are_refused_with_that_edge() -> None:
    with pytest.raises(ValueError, match=r"^bins: 5\.001 and 5\.002 have the same nearest edge of the grid, 5: give"):
        curve(HUGE, both(len(X))[0]).histogram([0, 5.001, 5.002, 10])
    with pytest.raises(
        ValueError, match=r"^bins: a number of bins from 1 to 128, the cells of the grid, is needed, got 1000$"
    ):
        curve(HUGE, both(len(X))[0]).histogram(1000)


@pytest.mark.reproduction
@pytest.mark.parametrize("adjacency", both(len(X)))
def test_intervals_for_the_population_are_wider_and_hold_it(adjacency: AddRemove | ReplaceOne) -> None:
    """40 samples at level 0.9: below 29 held in less than 1 of 10,000 suites; the seeds are fixed."""
    draw, held = np.random.default_rng(8), 0
    true = np.diff(gammainc(2, np.array([0, 1, 2, 4]) / 1.2))
    for seed in range(40):
        sample = draw.gamma(2, 1.2, size=2000)
        units = ReplaceOne(adjacency.unit, 2000) if isinstance(adjacency, ReplaceOne) else adjacency
        noisy = answer(CdfQuestion("x", Grid(0, 16, cells=64)), {"x": sample}, PrivacyLoss.pure(0.5), units, seed)
        bins = noisy.histogram([0, 1, 2, 4])
        records, ends = bins.intervals(0.9), bins.intervals(0.9, population=True)
        assert ((ends[:, 0] <= records[:, 0]) & (records[:, 1] <= ends[:, 1])).all()
        held += bool(((ends[:, 0] <= true) & (true <= ends[:, 1])).all())
    assert held >= 29


def test_an_edge_off_by_rounding_is_that_of_the_grid() -> None:
    grid = Grid(0, 0.3, cells=3)
    found = curve(HUGE, both(len(X))[0], grid=grid).histogram([0.1, 0.2 + 1e-12, 0.3])
    assert isinstance(found, CdfHistogram)
    assert found.x.tolist() == grid.edges[1:].tolist()


@pytest.mark.parametrize("outside", Outside)
def test_bins_come_back_from_json_with_their_intervals(outside: Outside) -> None:
    found = curve(PrivacyLoss.pure(1), both(len(X))[0], grid=Grid(1, 4, cells=128, outside=outside)).histogram(
        [1, 2.03, 4]
    )
    again = CdfHistogram.from_json(found.to_json())
    assert np.array_equal(again.x, found.x)
    assert np.allclose(again.share, found.share, atol=1e-12)
    assert again.total == pytest.approx(found.total)
    assert (again.label, again.privacy) == (found.label, found.privacy)
    assert np.allclose(again.intervals(0.9), found.intervals(0.9))
    assert again.to_json() == found.to_json()


def test_damaged_bins_are_refused_in_one_line() -> None:
    text = curve(PrivacyLoss.pure(1), both(len(X))[0]).histogram(4).to_json()
    for old, new in (('"cdf-histogram"', '"cdf"'), ('"x": [0.0, 2.5', '"x": [2.6, 2.5'), ('"x": [0.0,', '"x": [-1.0,')):
        assert old in text
        with pytest.raises(ValueError, match=r"^[^\n]+$"):
            CdfHistogram.from_json(text.replace(old, new, 1))
