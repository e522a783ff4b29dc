"""Forecast of the number of grid cells at which two groups of a column are compared with the narrowest interval.

Two groups are compared by the probability that a value of one is larger than a value of the other (Mann-Whitney
statistic), from noisy counts of both groups in the cells of a grid. With narrow cells the noise of many counts adds up.
Wide cells leave open which of two values in a cell is larger. The best number of cells depends on public numbers alone:
the loss, the adjacency and the number of records. `describe_column_plan` takes a question and returns a note that
recommends the best number, if its interval is clearly narrower than with the question's number of cells.

Formal guarantees: no records are read and no budget is spent; noise is simulated for a public distribution of records.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..curves.cdf import CdfQuestion
from ..curves.question import parse_grouping
from ..data import Categories, Grid, Spacing
from ..distributions import NoisySums
from ..inference import public_generator
from ..inference.simulation import simulate_cell_noise
from ..inference.two_samples import mann_whitney_statistic
from ..privacy import EACH_RECORD, Neighbours, PrivacyLoss
from ..session import plan_question
from .reference_distributions import VALUE_SAMPLERS, interpolate_grid
from .rehearsals import LEVEL


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers of cells to try, and the size of the simulation."""

    cells: tuple[int, ...] = (6, 12, 24, 48, 96)  # numbers of cells to try, besides the number of the question
    draws: int = 400  # simulated draws of the noise
    simulated_records: int = 20_000  # records of the public distribution, from which expected counts are taken
    gain: float = 1.25  # ratio of half widths from which other cells are recommended


TUNING = Tuning()
"""Numbers of cells that are tried for comparing two groups, and the size of the simulation: see `Tuning`."""
PAIR = Categories("group", (0, 1))
"""Column with two groups in the made-up table from which the error of their comparison is simulated."""


def describe_column_plan(
    question: CdfQuestion, loss: PrivacyLoss, adjacency: Neighbours, records: int
) -> tuple[str, ...]:
    """Return a line for the plan of a question that recommends another number of grid cells for comparisons of groups.

    Args:
        question: A distribution function of a column, by groups.
        loss: Privacy budget of the question.
        adjacency: Kind of the neighbouring relation.
        records: Number of records in all groups.

    Returns:
        One line; empty if no other number of cells is clearly better, or if none can be forecast.
    """
    compared = count_compared_records(question, records)
    if compared is None:
        return ()
    half_widths = forecast_larger_value(question, loss, adjacency, compared)
    if question.grid.cells not in half_widths:
        return ()
    number = "the probability that a value of one exceeds a value of the other"
    return recommend_cells(question.grid, half_widths, TUNING.gain, number)


def count_compared_records(question: Any, records: int) -> int | None:
    """Return the expected number of records in two groups of a question together, if all groups have equal sizes.

    None if no other number of cells can be recommended: the question has fewer than two groups, two groups have fewer
    than two records, or the declared cells are not of equal width (then no even grid has what the user declared).

    Args:
        question: A question with a grid and groups (`by`).
        records: Number of records in all groups.
    """
    grid = question.grid
    if not isinstance(grid, Grid) or grid.values is not None or grid.spacing is not Spacing.LINEAR:
        return None
    groups = prod(len(group.values) for group in parse_grouping(question.by))
    compared = 2 * records // groups
    return compared if groups >= 2 and compared >= 2 else None


def recommend_cells(grid: Grid, half_widths: dict[int, float], gain: float, number: str) -> tuple[str, ...]:
    """Return a line that recommends the number of cells with the least half width, if it is clearly better.

    Args:
        grid: The grid of the question.
        half_widths: Forecast half width by number of cells, with the number of the grid among them.
        gain: Ratio of half widths from which other cells are recommended.
        number: The number whose interval is forecast, as text.

    Returns:
        One line, or an empty tuple.
    """
    best = min(half_widths, key=lambda cells: half_widths[cells])
    ratio = half_widths[grid.cells] / half_widths[best]
    if ratio < gain:
        return ()
    return (
        f"for a comparison of two groups, take {best} cells instead of {grid.cells}, "
        f"--grid {grid.lower:g}:{grid.upper:g}:{best}: if few values are equal, the interval of {number} is expected "
        f"to be {ratio:.1f} times narrower",
    )


def forecast_larger_value(
    question: CdfQuestion, loss: PrivacyLoss, adjacency: Neighbours, records: int, tuning: Tuning = TUNING
) -> dict[int, float]:
    """Return, by number of grid cells, the expected half width of the interval of P(a value of one group is larger).

    The interval, at `LEVEL` and for these records, is the one of `area_between` for two equal groups from a public
    distribution. Nothing confidential is read, and no budget is spent. Numbers of cells whose grid needs several rounds
    are left out, because their noise is not known in advance.

    Args:
        question: The question; its grid gives the range of values. Its categories are not used.
        loss: Privacy budget of the question.
        adjacency: Kind of the neighbouring relation.
        records: Number of records of both groups together.
        tuning: Numbers of cells to try, and of simulated draws.
    """
    random = public_generator(None)
    places = VALUE_SAMPLERS["a hill"](random, tuning.simulated_records)
    released = adjacency.to_adjacency(EACH_RECORD, records if adjacency.has_public_units else None)
    half_widths = {}
    for number in sorted({*tuning.cells, question.grid.cells}):
        grid = Grid(question.grid.lower, question.grid.upper, cells=number)
        plan, *later = plan_question(replace(question, grid=grid, by=PAIR), loss, released)
        if later:  # rounds that choose cells by the answers before: their noise is not known in advance
            continue
        distribution = plan.distribution.require_type(NoisySums)  # type: ignore[type-abstract]
        total = None if distribution.missing is None else plan.query.public_total(released.public_record_count)
        noise = simulate_cell_noise(distribution, total, tuning.draws, random)[..., :number]
        counts = np.bincount(grid.cell_of(interpolate_grid(grid, places)), minlength=number)[:number]
        half_widths[number] = _half_width_of_larger_value(counts * (records / 2 / counts.sum()), noise)
    return half_widths


def _half_width_of_larger_value(counts: FloatArray, noise: FloatArray) -> float:
    """Return half the width of the interval of the probability that a value of one group is larger, from 0 to 1/2.

    Args:
        counts: Expected records of either group, (cells,).
        noise: Simulated noise of both, (draws, 2, cells).
    """
    errors = mann_whitney_statistic(counts + noise[:, 0], counts + noise[:, 1]) - 1 / 2
    ties = float(((counts / counts.sum()) ** 2).sum())
    return min(float(np.quantile(np.abs(errors), LEVEL)) + ties / 2, 1 / 2)
