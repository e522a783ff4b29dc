"""One quantile by bisection."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from math import inf, isnan

import numpy as np
import pytest
from matplotlib import pyplot as plt

from dpcurves.curves import Quantile, QuantileQuestion, Thresholds
from dpcurves.data import Grid, Outside
from dpcurves.laws import Family, Noise, PathSums
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves.queries import PrefixQuery
from dpcurves.release import ALL, Evidence, Plan, PrivacyStatement, Release, Setting

ONE = PrivacyLoss.pure(1)
SETTING = Setting(ONE, AddRemove(EACH_RECORD), True)
TINY = Noise(Family.LAPLACE, Fraction(1, 1000))
FACE = PrivacyStatement(1.0, 0.5, "add-remove", "", 1, None, "one curator", "noise path", False, "a")


def asked(question: QuantileQuestion, values: list[float]) -> tuple[Quantile, list[tuple[int, ...]]]:
    """The quantile of these values, without noise, and the thresholds of each look."""
    cells, looks, steps = question.grid.cell_of(np.array(values)), list[tuple[int, ...]](), question.steps(SETTING)
    try:
        step = next(steps)
        while True:
            query = step.query
            assert isinstance(query, PrefixQuery)
            assert (step.share, query.paid_as) == (ALL, question.paid_as)
            looks.append(query.at)
            law = PathSums(query.cells, query.at, 4, TINY, TINY)
            plan = Plan(query, ONE, SETTING.adjacency, "one curator: noise path", law, 1.0)
            counts = tuple(int(np.sum(cells < slots)) for slots in query.at)
            step = steps.send(replace(Release.rehearsed(plan), values=(*counts, 0)))
    except StopIteration as end:
        return end.value, looks


def test_it_finds_the_edge_above_the_quantile_in_as_many_looks_as_halvings() -> None:
    grid = Grid(0, 16, cells=16)
    values = [1.5, 3.5, 3.6, 7.5, 12.5]
    for p, x in ((0.1, 2), (0.3, 4), (0.5, 4), (0.7, 8), (0.9, 13)):
        found, looks = asked(QuantileQuestion("age", grid, p), values)
        assert (found.x, found.lower, found.upper) == (x, x - 1, x)
        assert len(looks) == 4
        assert looks[0] == (8, 16)


def test_a_grid_of_one_cell_needs_one_look() -> None:
    found, looks = asked(QuantileQuestion("age", Grid(0, 5, cells=1), 0.5), [1, 2])
    assert looks == [(1,)]
    assert (found.lower, found.cell, found.upper) == (-inf, (-inf, inf), inf)  # for values outside are in it
    assert isnan(found.x)


def test_values_apart_from_the_grid_are_found_at_its_ends() -> None:
    grid = Grid(0, 4, cells=4, outside=Outside.APART)
    below, above, inside = (
        asked(QuantileQuestion("age", grid, 0.5), values)[0] for values in ([-9, -9, 1.5], [9, 9, 1.5], [-9, 1.5, 9])
    )
    assert (below.x, below.cell, below.lower, below.upper) == (0, (-inf, 0), -inf, 0)
    assert (above.x, above.cell, above.lower, above.upper) == (4, (4, inf), 4, inf)
    assert (inside.x, inside.lower, inside.upper) == (2, 1, 2)


def test_a_quantile_among_clamped_values_has_one_end_and_keeps_it_in_json() -> None:
    found, _ = asked(QuantileQuestion("age", Grid(0, 4, cells=4), 0.9), [1.5, 9, 9, 9])
    assert (found.x, found.cell, found.lower, found.upper) == (3, (3, inf), 3, inf)
    again = Quantile.from_json(found.to_json())
    assert (again.x, again.cell, again.lower, again.upper) == (3, (3, inf), 3, inf)
    written = json.loads(found.to_json())
    assert (written["lower"], written["upper"], written["cell_upper"]) == (3, None, None)
    assert "at or above 3" in repr(found)
    assert again.population == found.population == (1, inf)  # of four records


def test_the_interval_for_the_population_is_searched_for_in_the_same_turns_and_is_wider() -> None:
    values = np.arange(1000) / 100
    found, looks = asked(QuantileQuestion("age", Grid(0, 16, cells=256), 0.5), values.tolist())
    assert len(looks) == 8
    assert (found.lower, found.upper) == (4.9375, 5.0625)  # for noise might feign that 5 is reached
    assert found.population is not None
    left, right = found.interval(population=True)
    sampling = 10 * np.sqrt(np.log(2 / 0.025) / 2000)  # by Dvoretzky, Kiefer and Wolfowitz, at half of the error
    assert abs(left - (5 - sampling)) <= 2 / 16
    assert abs(right - (5 + sampling)) <= 2 / 16
    legend = found.plot().get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "95% interval for the population", "95% interval for these records"
    ]  # fmt: skip
    plt.close("all")


def test_of_units_with_several_records_nothing_is_said_of_the_population() -> None:
    found, _ = asked(QuantileQuestion("age", Grid(0, 8, cells=8), 0.25), [5, 6])
    several = replace(found.looks, privacy=replace(found.privacy, rows_per_unit=2))
    again = Quantile.read(0.25, 0.95, several)
    assert again.population is None
    assert "population_lower" not in again.to_frame().columns
    with pytest.raises(ValueError, match="^population: independent units"):
        again.interval(population=True)


def test_the_face_counts_the_loss_once_however_many_looks_there_were() -> None:
    found, looks = asked(QuantileQuestion("age", Grid(0, 64, cells=64), 0.5), [5, 6])
    assert len(looks) == 6
    assert found.privacy.epsilon == 1


def test_counts_that_are_missing_are_noticed() -> None:
    law = PathSums(8, (8,), 4, TINY, None)
    with pytest.raises(ValueError, match=r"^looks: "):
        Quantile.read(0.5, 0.9, Thresholds.read(Evidence(law, (3,), None), Grid(0, 1, cells=8), "age", FACE))


@pytest.mark.parametrize(("p", "level", "rule"), [(-0.1, 0.9, "^p: "), (1.1, 0.9, "^p: "), (0.5, 1.0, "^level: ")])
def test_what_is_no_share_is_refused(p: float, level: float, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        QuantileQuestion("age", Grid(0, 1, cells=8), p, level)


def test_it_is_drawn_and_shown() -> None:
    found, _ = asked(QuantileQuestion("age", Grid(0, 8, cells=8), 0.25, measured_in="years"), [5, 6])
    assert found.plot().get_xlabel() == "age (years)"
    assert "0.25 quantile" in found._repr_html_()
    assert str(QuantileQuestion("age", Grid(0, 1, cells=8), 0.25)) == "0.25 quantile of age"
    plt.close("all")
