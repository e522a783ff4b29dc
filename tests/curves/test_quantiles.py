from __future__ import annotations

import json
import re

import numpy as np
import pytest
from by_hand import answer, both
from numpy.typing import NDArray

from dpcurves.curves import CDF, Quantiles, QuantilesQuestion
from dpcurves.data import Grid, Outside
from dpcurves.privacy import PrivacyLoss
from dpcurves.summaries import inverse_at

HUGE = PrivacyLoss.pure(10**9)

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
    assert list(found.to_frame().columns) == ["p", "x", "cell_lower", "cell_upper"]
    assert (found.to_frame(level=0.99)["upper"].to_numpy() == ends[:, 1]).all()


def heaped(draw: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Incomes as people say them: many zeros, else in hundreds, mostly in thousands."""
    income = draw.lognormal(10.2, 0.9, size)
    said = np.where(draw.random(size) < 0.7, np.round(income, -3), np.round(income, -2))
    return np.where(draw.random(size) < 0.2, 0.0, said)


AGES = np.floor(np.random.default_rng(6).beta(2, 2.5, size=5000) * 90)
INCOMES = heaped(np.random.default_rng(7), 5000)
TIED = [
    *((AGES, Grid(0, 90, cells=cells)) for cells in (90, 45, 18)),
    *((INCOMES, Grid(0, 250_000, cells=cells)) for cells in (1024, 240, 64)),
    (INCOMES, Grid(0, 30_000, cells=64)),  # a third lies above, and is clipped
    (INCOMES, Grid(1000, 30_000, cells=64, outside=Outside.APART)),
]


@pytest.mark.reproduction
@pytest.mark.parametrize(("values", "grid"), TIED, ids=[f"{grid.cells}-{grid.upper:g}" for _, grid in TIED])
def test_intervals_hold_quantiles_of_heaps_wherever_they_lie_inside_cells(
    values: NDArray[np.float64], grid: Grid
) -> None:
    """All three quartiles in each of 20 releases: below 15 in less than 1 of 10,000 suites if the level is 0.95."""
    held, p = 0, (0.25, 0.5, 0.75)
    true = np.quantile(values, p, method="inverted_cdf")
    for seed in range(20):
        adjacency = both(len(values))[seed % 2]
        found = answer(QuantilesQuestion("x", grid, p), {"x": values}, PrivacyLoss.pure(1), adjacency, seed)
        ends = found.intervals(0.95)
        assert ((ends[:, 0] <= found.cells[:, 0]) & (found.cells[:, 1] <= ends[:, 1])).all()
        held += bool(((ends[:, 0] <= true) & (true <= ends[:, 1])).all())
    assert held >= 15


def test_the_interval_of_one_quantile_is_no_wider_than_the_band_but_for_one_cell_a_side() -> None:
    for values, grid in TIED:
        found = answer(QuantilesQuestion("x", grid, (0.5,)), {"x": values}, PrivacyLoss.pure(1), both(5000)[1], 3)
        assert isinstance(found.curve, CDF)
        lower, upper = found.curve.band(0.95)
        noise = [inverse_at(found.curve.x, end, 0.5) for end in (upper, lower)]
        cell = np.diff(grid.edges)[0]
        ((left, right),) = found.intervals(0.95).tolist()
        assert noise[0] - cell <= left <= found.cells[0, 0]
        assert found.cells[0, 1] <= right <= noise[1] + cell


def test_a_quantile_among_clipped_values_has_one_end_and_a_note_names_their_share() -> None:
    grid = Grid(0, 30_000, cells=64)
    found = answer(QuantilesQuestion("x", grid, (0.1, 0.5, 0.9)), {"x": INCOMES}, PrivacyLoss.pure(1), both(5000)[1], 3)
    assert found.x[2] == grid.edges[-2]
    assert found.cells[2].tolist() == [grid.edges[-2], np.inf]
    assert found.intervals(0.95)[2].tolist() == [grid.edges[-2], np.inf]
    assert found.x[0] == 0
    assert found.intervals(0.95)[0, 0] == 0  # zero has a cell of its own, apart from what is below
    share = np.mean(grid.cell_of(INCOMES) == 63)
    (last,) = found.notes
    assert last.startswith(f"{share:.0%} of the records lie in the last cell (29,531 and above), which also holds all")
    again = Quantiles.from_json(found.to_json())
    assert np.array_equal(again.cells, found.cells)
    assert np.array_equal(again.intervals(0.95), found.intervals(0.95))
    assert again.notes == found.notes
    written = json.loads(found.to_json())
    assert (written["cell_lower"][0], written["cell_upper"][2]) == (0, None)
    assert "at or above 29,531" in found._repr_html_()


def test_what_is_counted_apart_is_beyond_the_ends() -> None:
    grid = Grid(1000, 30_000, cells=64, outside=Outside.APART)
    found = answer(QuantilesQuestion("x", grid, (0.1, 0.9)), {"x": INCOMES}, PrivacyLoss.pure(1), both(5000)[1], 3)
    assert found.cells.tolist() == [[-np.inf, 1000], [30_000, np.inf]]
    assert found.x.tolist() == [1000, 30_000]
    (note,) = found.notes
    shares = re.search(r"outside of 1,000 to 30,000 \((\d+)% below, (\d+)% above\), by the released counts", note)
    assert shares is not None
    true = 100 * np.array([np.mean(INCOMES < 1000), np.mean(INCOMES >= 30_000)])
    assert np.abs(np.array(shares.groups(), dtype=float) - true).max() < 1  # percent: half is rounding, noise 0.1


def test_the_least_and_the_greatest_record_may_lie_outside_of_a_grid_that_clips() -> None:
    found = answer(QuantilesQuestion("x", Grid(-0.5, 89.5, cells=90), (0.0, 1.0)), {"x": AGES}, HUGE, both(5000)[1], 3)
    assert found.cells[0, 0] == np.min(AGES)
    assert found.intervals(0.95)[:, 0].tolist()[0] == -np.inf
    assert found.intervals(0.95)[1, 1] == np.inf


@pytest.mark.parametrize("at", [(), (-0.1,), (0.5, 1.5), (float("nan"),)])
def test_shares_outside_zero_to_one_are_refused(at: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="^probabilities: "):
        QuantilesQuestion("x", Grid(0, 10, cells=8), at)
