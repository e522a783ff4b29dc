"""Quantiles that are searched for along a grid that nobody lays out."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from math import inf, isnan

import numpy as np
import pytest
from by_hand import answer, both
from matplotlib import pyplot as plt

from dpcurves.conversation import WHOLE_BUDGET, Plan, Release
from dpcurves.curves import Quantiles, QuantilesQuestion
from dpcurves.data import Grid, Outside
from dpcurves.distributions import Family, Noise, PathSums
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves.queries import Hint, PrefixQuery
from dpcurves.trust import Central, run_conversation

ONE = PrivacyLoss.pure(1)
WHO = AddRemove(EACH_RECORD)
TINY = Noise(Family.LAPLACE, Fraction(1, 1000))


def of(grid: Grid, *p: float, level: float = 0.95) -> QuantilesQuestion:
    return QuantilesQuestion("age", grid, p, search=level)


def place(found: Quantiles, level: float = 0.95) -> list[tuple[float, ...]]:
    """The value of each quantile, and the ends of its interval."""
    return [(x, *ends) for x, ends in zip(found.x.tolist(), found.intervals(level).tolist(), strict=True)]


def asked(question: QuantilesQuestion, values: list[float]) -> tuple[Quantiles, list[tuple[int, ...]]]:
    """The quantiles of these values, without noise, and the thresholds of each turn."""
    cells, turns, steps = (
        question.grid.cell_of(np.array(values)),
        list[tuple[int, ...]](),
        run_conversation(question, ONE, WHO, Central()),
    )
    try:
        step = next(steps)
        while True:
            query = step.query
            assert isinstance(query, PrefixQuery)
            assert (step.budget_fraction, query.charged_query) == (WHOLE_BUDGET, question.charged_query)
            turns.append(query.prefix_lengths)
            distribution = PathSums(query.cells, query.prefix_lengths, 4, TINY, TINY)
            plan = Plan(query, ONE, WHO, "one curator: noise path", distribution, 1.0)
            counts = tuple(int(np.sum(cells < slots)) for slots in query.prefix_lengths)
            step = steps.send(replace(Release.make_placeholder(plan), values=(*counts, 0)))
    except StopIteration as end:
        return end.value, turns


def test_it_finds_the_edges_above_the_quantiles_in_as_many_looks_as_halvings() -> None:
    grid, values = Grid(0, 16, cells=16), [1.5, 3.5, 3.6, 7.5, 12.5]
    expected = {0.1: 2, 0.3: 4, 0.5: 4, 0.7: 8, 0.9: 13}
    for p, x in expected.items():
        found, turns = asked(of(grid, p), values)
        assert place(found) == [(x, x - 1, x)]
        assert (len(turns), turns[0]) == (4, (8, 16))
    found, turns = asked(of(grid, *expected), values)
    assert place(found) == [(x, x - 1, x) for x in expected.values()]
    assert len(turns) == 4


def test_a_grid_of_one_cell_needs_one_turn() -> None:
    found, turns = asked(of(Grid(0, 5, cells=1), 0.5), [1, 2])
    assert turns == [(1,)]
    assert found.intervals(0.95).tolist() == found.cells.tolist() == [[-inf, inf]]  # for values outside are in it
    assert isnan(found.x[0])


def test_values_apart_from_the_grid_are_found_at_its_ends() -> None:
    grid = Grid(0, 4, cells=4, outside=Outside.APART)
    below, above, inside = (asked(of(grid, 0.5), values)[0] for values in ([-9, -9, 1.5], [9, 9, 1.5], [-9, 1.5, 9]))
    assert (place(below), below.cells.tolist()) == ([(0, -inf, 0)], [[-inf, 0]])
    assert (place(above), above.cells.tolist()) == ([(4, 4, inf)], [[4, inf]])
    assert place(inside) == [(2, 1, 2)]


def test_a_quantile_among_clipped_values_has_one_end_and_keeps_it_in_json() -> None:
    found, _ = asked(of(Grid(0, 4, cells=4), 0.9), [1.5, 9, 9, 9])
    again = Quantiles.from_json(found.to_json())
    for each in (found, again):
        assert (place(each), each.cells.tolist()) == ([(3, 3, inf)], [[3, inf]])
        assert each.intervals(0.95, population=True).tolist() == [[1, inf]]  # of four records
    written = json.loads(found.to_json())
    assert (written["x"], written["cell_upper"]) == ([3], [None])
    assert "at or above 3" in found._repr_html_()


def test_intervals_for_the_population_are_searched_for_in_the_same_turns_and_are_wider() -> None:
    values = np.arange(1000) / 100
    found, turns = asked(of(Grid(0, 16, cells=256), 0.5), values.tolist())
    assert len(turns) == 8
    assert found.intervals(0.95).tolist() == [[4.9375, 5.0625]]  # for noise might feign that 5 is reached
    ((left, right),) = found.intervals(0.95, population=True)
    sampling = 10 * np.sqrt(np.log(2 / 0.025) / 2000)  # by Dvoretzky, Kiefer and Wolfowitz, at half of the error
    assert abs(left - (5 - sampling)) <= 2 / 16
    assert abs(right - (5 + sampling)) <= 2 / 16
    legend = found.plot().get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "95% interval for the population", "95% interval for these records"
    ]  # fmt: skip
    plt.close("all")


def test_at_another_level_than_was_searched_for_intervals_hold_but_are_not_the_shortest() -> None:
    values = np.random.default_rng(2).normal(8, 2, 500)
    truth = float(np.quantile(values, 0.5, method="inverted_cdf"))
    question = of(Grid(0, 16, cells=2**20), 0.5, level=0.9)
    found = answer(question, {"age": values}, ONE, both(500)[0], 4)
    ends = np.array([found.intervals(level)[0] for level in (0.5, 0.9, 0.99, 0.9999)])
    assert ((ends[1:, 0] < truth) & (truth <= ends[1:, 1])).all()
    assert (np.diff(ends[1:, 0]) <= 0).all()
    assert (np.diff(ends[1:, 1]) >= 0).all()


def test_of_units_with_several_records_nothing_is_said_of_the_population() -> None:
    found, _ = asked(of(Grid(0, 8, cells=8), 0.25), [5, 6])
    several = replace(found.curve, privacy=replace(found.privacy, rows_per_unit=2))
    with pytest.raises(ValueError, match="^population: independent units"):
        Quantiles(found.p, several).intervals(0.9, population=True)


def test_the_face_counts_the_loss_once_however_many_looks_there_were() -> None:
    found, turns = asked(of(Grid(0, 64, cells=64), 0.5), [5, 6])
    assert len(turns) == 6
    assert found.privacy.epsilon == 1


def test_a_grid_that_is_too_fine_to_be_laid_out_is_searched_anyhow() -> None:
    fine, coarse = (QuantilesQuestion("age", Grid(0, 1, cells=2**bits), (0.5,)) for bits in (21, 20))
    assert isinstance(fine.charged_query, PrefixQuery)
    assert coarse.charged_query is None
    assert (fine.with_level_of_search(0.8).search, coarse.with_level_of_search(0.8).search) == (0.8, None)


def test_what_is_no_chance_is_refused() -> None:
    for level in (0.0, 1.0, 2.0):
        with pytest.raises(ValueError, match="^search: "):
            of(Grid(0, 1, cells=8), 0.5, level=level)
    with pytest.raises(ValueError, match="^hint: a search does not use a hint"):
        QuantilesQuestion("age", Grid(0, 1, cells=8), (0.5,), hint=Hint.ATOMS, search=0.9)


def test_it_is_drawn_and_shown() -> None:
    found, _ = asked(QuantilesQuestion("age", Grid(0, 8, cells=8), (0.25,), "years", search=0.9), [5, 6])
    assert found.plot().get_xlabel() == "age (years)"
    assert "lower quartile" in found._repr_html_()
    plt.close("all")
