"""How many cells people report about: as many as leave the least error, which is what comes out."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.conversation import Release
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.noise import Randomness
from dpcurves.session import ask_with_budget
from dpcurves_local.task import Task, choose_grid, predict_error
from dpcurves_local.trust import ReportAggregator, make_messages

LOSS = dp.PrivacyLoss.pure(1)


def apart(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.abs(x - y)


def read(task: Task, cells: IntArray, seed: int) -> dp.Histogram:
    tables = ReportAggregator(task.plan)
    tables.add_messages(make_messages(task.plan, cells, Randomness.from_seed(seed)))

    def reply(_: object, paid: Allotment) -> Release:
        return tables.release(paid, seeded=True)

    curve: dp.Histogram = ask_with_budget(
        task.question, task.plan.adjacency, dp.Local(), QuestionBudget.from_external_charge("task", LOSS), reply
    )
    return curve


@pytest.mark.reproduction
def test_errors_are_about_those_that_were_expected() -> None:
    """Mean squares of 80 releases are within 4 sigma, once what cells leave open is taken off (the seed is fixed)."""
    people, runs = 4000, 80
    grid = choose_grid(apart, 0, 1, people=people, loss=LOSS)
    task = Task(dp.HistogramQuestion("x", grid), LOSS, people=people)
    kernel = dp.MidpointKernel(apart)
    middle = float(np.mean(kernel(grid.edges).mean))
    open_ = float(np.mean(kernel(grid.edges).max_deviation))
    squares = []
    for seed in range(runs):
        cells = np.random.default_rng(seed).integers(0, grid.cells, people)
        squares.append((dp.u_statistic(read(task, cells, seed), kernel).value - middle) ** 2)
    expected = predict_error(apart, grid, people, LOSS) ** 2 - open_**2
    assert abs(np.mean(squares) - expected) < 4 * np.std(squares) / sqrt(runs)


@pytest.mark.reproduction
def test_more_people_and_more_epsilon_are_asked_about_more_cells() -> None:
    cells = [choose_grid(apart, 0, 10, people=people, loss=LOSS).cells for people in (100, 10**4, 10**6)]
    assert cells == sorted(cells)
    assert cells[0] < cells[-1]
    assert choose_grid(apart, 0, 10, people=10**4, loss=dp.PrivacyLoss.pure(6)).cells > cells[1]
    for wrong in ({"people": 1}, {"lower": 1, "upper": 0}, {"kernel": lambda x, y: x - 2 * y}):
        given = {"kernel": apart, "lower": 0, "upper": 1, "people": 100, "loss": LOSS} | wrong
        with pytest.raises(ValueError, match=r"^(people|upper|grid|lower|kernel)"):
            choose_grid(given.pop("kernel"), given.pop("lower"), given.pop("upper"), **given)  # type: ignore[arg-type]
