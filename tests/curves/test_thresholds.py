"""Counts below a few edges."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from matplotlib import pyplot as plt

from dpcurves.curves import Thresholds, ThresholdsQuestion
from dpcurves.curves.thresholds import edges_below
from dpcurves.data import Axis, Grid, Outside
from dpcurves.laws import Family, Noise, PathSums
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves.queries import PrefixQuery
from dpcurves.release import ALL, Evidence, Plan, PrivacyStatement, Release, Setting

ONE = PrivacyLoss.pure(1)
WHO = AddRemove(EACH_RECORD)
GRID = Grid(0, 8, cells=8)
LAW = PathSums(8, (8, 0, 3, 5), 4, Noise(Family.LAPLACE, Fraction(2)), Noise(Family.LAPLACE, Fraction(1)))
FACE = PrivacyStatement(1.0, 0.5, "add-remove", "", 1, None, "one curator", "noise path", False, "a")


def read(grid: Grid = GRID) -> Thresholds:
    return Thresholds.read(Evidence(LAW, (90, 0, 40, 35, 2), None), grid, "age", FACE)


def test_counts_are_read_in_the_order_of_the_edges() -> None:
    found = read()
    assert found.x.tolist() == [0, 3, 5, 8]
    assert found.count.tolist() == [0, 40, 35, 90]
    np.testing.assert_allclose(found.error, [0, *[sqrt(LAW.variance)] * 3])
    assert found.evidence.path.at == (0, 3, 5, 8)
    assert found.evidence.values == (0, 40, 35, 90, 2)


def test_neighbouring_counts_share_noise() -> None:
    shared = [[0, 0, 0, 0], [0, 4, 1, 1], [0, 1, 4, 2], [0, 1, 2, 4]]
    np.testing.assert_allclose(read().covariance, np.array(shared) * LAW.noise.variance)


def test_rising_counts_are_the_closest_that_rise() -> None:
    assert read().rising.tolist() == [0, 37.5, 37.5, 90]


def test_it_asks_for_slots_of_the_grid() -> None:
    for outside, slots in ((Outside.CLAMPED, (3, 0, 8)), (Outside.APART, (4, 1, 9))):
        grid = Grid(0, 8, cells=8, outside=outside)
        question = ThresholdsQuestion("age", grid, (3, 0, 8))
        steps = question.steps(Setting(ONE, WHO, True))
        (step, share) = next(steps)
        assert step == PrefixQuery((Axis("age", grid),), slots)
        assert (share, step.paid_as) == (ALL, question.paid_as)
        plan = Plan(step, ONE, WHO, "one curator: path", PathSums(step.cells, slots, 4, LAW.noise, None), 1.0)
        with pytest.raises(StopIteration) as end:
            steps.send(Release.rehearsed(plan))
        assert end.value.value.x.tolist() == [0, 3, 8]


def test_slots_end_at_edges_and_beyond_the_grid_at_its_ends() -> None:
    apart = Grid(0, 8, cells=8, outside=Outside.APART)
    assert edges_below(GRID, np.array([0, 1, 8])).tolist() == [0, 1, 8]
    assert edges_below(apart, np.array([0, 1, 2, 9, 10])).tolist() == [0, 0, 1, 8, 8]


def test_intervals_hold_all_counts_by_the_exact_law_of_their_noise() -> None:
    """4,000 draws of the exact law at level 0.9: at least 0.9 less 4 sigma, which is conservative by design."""
    draw, true, level, held = np.random.default_rng(4), np.array([0, 30, 60, 100]), 0.9, 0
    law = PathSums(8, (0, 3, 5, 8), 4, LAW.noise, LAW.missing)
    stop = 1 - np.exp(-0.5)  # of discrete Laplace noise of scale 2, on each of four levels
    noises = (draw.geometric(stop, (4000, 4, 4)) - draw.geometric(stop, (4000, 4, 4))).sum(-1)
    for noise in noises[:, 1:]:
        values = (0, *(true[1:] + noise).tolist(), 2)
        found = Thresholds.read(Evidence(law, values, None), GRID, "age", FACE)
        ends = found.intervals(level)
        held += bool(((ends[:, 0] <= true) & (true <= ends[:, 1])).all())
    assert held / 4000 >= level - 4 * sqrt(level * (1 - level) / 4000)


def test_intervals_for_the_population_are_wider_and_need_independent_units() -> None:
    for total in (None, 100):
        found = Thresholds.read(Evidence(LAW, (90, 0, 40, 35, 2), total), GRID, "age", FACE)
        ends, wider = found.intervals(0.9), found.intervals(0.9, population=True)
        assert ((wider[:, 0] <= ends[:, 0]) & (ends[:, 1] <= wider[:, 1])).all()
    several = Thresholds.read(Evidence(LAW, (90, 0, 40, 35, 2), None), GRID, "age", replace(FACE, rows_per_unit=2))
    with pytest.raises(ValueError, match="^population: independent units"):
        several.intervals(0.9, population=True)
    legend = several.plot().get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["95% intervals, all at once, for these records"]
    plt.close("all")


@pytest.mark.parametrize("at", [(), (1, 1), (-1,), (9,)])
def test_edges_that_are_none_are_refused(at: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"^at: "):
        ThresholdsQuestion("age", GRID, at)


def test_it_is_drawn_and_shown() -> None:
    assert "age" in read().plot().get_xlabel()
    assert "<svg" in read()._repr_html_()
    assert str(ThresholdsQuestion("age", GRID, (1,))) == "counts of age below edges of a grid"
    plt.close("all")
