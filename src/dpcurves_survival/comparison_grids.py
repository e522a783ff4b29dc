"""Forecast which number of cells of time compares survival in two arms of a trial most exactly.

A differentially private survival curve is computed from noisy counts in cells of time. Many narrow cells add noise to
the numbers at risk. Few wide cells hide the order of events inside them. The best number of cells depends on public
numbers alone: privacy loss, neighbouring relation and number of records.

`forecast_comparison` simulates answers for each number of cells. Its measure is the half width of the 95 % interval of
the difference of restricted mean survival times, which covers any order of the events inside cells. `describe_plan`
recommends other cells if they reduce the half width by a factor of `Tuning.gain` or more.

Formal guarantees: all records are simulated, so no confidential record is read, and no budget is spent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import NamedTuple

import numpy as np

from dpcurves.arguments import (
    InvalidArgument,
    check_common_arguments,
    require_integer,
    require_number,
    require_sequence,
    require_type,
)
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.data import Categories, Grid, Outside
from dpcurves.distributions import NoisySums
from dpcurves.forecasts.compared_groups import count_compared_records, recommend_cells
from dpcurves.forecasts.reference_distributions import VALUE_SAMPLERS, Bits, Generator, Places, interpolate_grid
from dpcurves.forecasts.rehearsals import LEVEL
from dpcurves.inference import public_generator
from dpcurves.inference.simulation import simulate_cell_noise
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves.session import plan_question

from .inference import count_at_risk, count_censored_inside, find_known_cells, interval_over_orders
from .kaplan_meier import EventTable, SurvivalQuestion
from .survival_readings import risk_table_from_events


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the forecast of a comparison. Privacy does not depend on them."""

    cells: tuple[int, ...] = (6, 12, 24, 48, 96)  # numbers of cells to try, besides the number of the question
    draws: int = 400  # simulated draws of the noise
    releases: int = 9  # simulated releases for each number of cells; the median half width is taken
    simulated_records: int = 20_000  # records of the public distribution, from which expected counts are taken
    gain: float = 1.25  # ratio of half widths from which other cells are recommended


TUNING = Tuning()
"""Default numbers that steer the forecast of a comparison; privacy does not depend on them."""
ARM = Categories("arm", (0, 1))
"""Made-up column of the two arms of a comparison, in the question whose errors are forecast to choose a grid."""


class ComparisonForecast(NamedTuple):
    """Expected precision of a difference of restricted mean survival times, for one number of cells.

    Attributes:
        cells: Number of cells of time.
        half_width: Half the width of the 95 % interval for these records, in the unit of time.
    """

    cells: int
    half_width: float


@check_common_arguments
def forecast_comparison(
    question: SurvivalQuestion,
    loss: PrivacyLoss,
    adjacency: Neighbours,
    *,
    records: int,
    until: float | None = None,
    cells: tuple[int, ...] | None = None,
    generator: np.random.Generator | None = None,
    tuning: Tuning = TUNING,
) -> tuple[ComparisonForecast, ...]:
    """Forecast how exactly two arms are compared with each number of cells, from public numbers alone.

    Answers are simulated for two equal arms of records from a public distribution, half of whom may be censored.
    Nothing confidential is read, and no budget is spent. `min` by `half_width` finds the best grid.

    Args:
        question: The question; its grid gives the range of times. Categories are not used.
        loss: The loss of the question.
        adjacency: Replace-one or add-remove.
        records: The number of records of both arms together: public, or a guess of it.
        until: The time up to which means are compared; None: the end of the grid.
        cells: Numbers of cells to try; None: 6, 12, 24, 48, 96 and the number of the question.
        generator: Random generator for records and noise; None: a fixed public seed, so that results can be repeated.
        tuning: Numbers that steer the forecast.

    Returns:
        The forecast of each number of cells, in increasing order.

    Raises:
        ValueError: The grid has declared values, or a number is below 2.
        TypeError: `question` is no `SurvivalQuestion`, or a loss or an adjacency is something else.

    >>> import dpcurves as dp
    >>> question = dp.SurvivalQuestion("months", "died", dp.Grid(0, 24, cells=96))
    >>> asked = {"records": 1000, "cells": (12, 96)}
    >>> coarse, fine = dp.forecast_comparison(question, dp.PrivacyLoss.pure("0.5"), dp.REPLACE_ONE, **asked)
    >>> coarse.half_width < fine.half_width
    True
    """
    require_type("question", question, SurvivalQuestion, "a SurvivalQuestion")
    require_type("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(0.5),")
    require_type("adjacency", adjacency, Neighbours, "dp.REPLACE_ONE or dp.ADD_REMOVE")
    if question.grid.values is not None:
        raise InvalidArgument(
            "grid", "must have cells, as in Grid(0, 10, cells=40), because declared values are never merged"
        )
    count = require_integer("records", records)
    tried = (*tuning.cells, question.grid.cells) if cells is None else require_sequence("cells", cells, "whole numbers")
    tried = tuple(sorted({require_integer("cells", number) for number in tried}))
    for name, number in (("records", count), *(("cells", number) for number in tried)):
        if number < 2:
            raise InvalidArgument(name, f"must be at least 2, as in 8, got {number}")
    random = public_generator(generator)
    time, event = censor_times(VALUE_SAMPLERS["a hill"])(random, tuning.simulated_records)
    end = question.grid.upper if until is None else require_number("until", until)
    forecasts = []
    for number in tried:
        grid = Grid(question.grid.lower, question.grid.upper, cells=number)
        released = adjacency.to_adjacency(EACH_RECORD, count if adjacency.has_public_units else None)
        (plan,) = plan_question(replace(question, grid=grid, by=ARM), loss, released)
        counts = _count_expected_records(grid, time, event, count / 2)
        distribution = plan.distribution.require_type(NoisySums)  # type: ignore[type-abstract]
        total = None if distribution.missing is None else plan.query.public_total(released.public_record_count)
        noise = simulate_cell_noise(distribution, total, tuning.draws, random)
        half_widths = []
        for release in noise[: tuning.releases]:
            arms = [
                _bound_restricted_means(grid, counts + release[rows], noise[:, rows], end)
                for rows in (slice(0, 2), slice(2, 4))
            ]
            low, high = interval_over_orders(arms[0][0] - arms[1][1], arms[0][1] - arms[1][0], LEVEL)
            half_widths.append((high - low) / 2)
        forecasts.append(ComparisonForecast(number, median(half_widths)))
    return tuple(forecasts)


def censor_times(places: Places) -> Callable[[Generator, int], tuple[FloatArray, Bits]]:
    """Return a sampler of observed times and event indicators from a sampler of event times.

    Half of the records have an independent censoring time. It is observed if it comes before the event.

    Args:
        places: Sampler of event times as fractions of the grid: a function of a random generator and a number of
            records.

    Returns:
        A function of a random generator and a number of records, which returns times and indicators, (records,) each.
    """

    def sample_times(draw: Generator, size: int) -> tuple[FloatArray, Bits]:
        """Return observed times, as fractions of the grid, and 1 for an event or 0 for censoring, each (size,).

        Args:
            draw: Random generator.
            size: Number of records.
        """
        time = places(draw, size)
        until = 1.3 * places(draw, size)
        until = np.where(draw.random(size) < 0.5, until, np.inf)
        return np.minimum(time, until), (time <= until).astype(np.int64)

    return sample_times


def _count_expected_records(grid: Grid, time: FloatArray, event: IntArray, records: float) -> FloatArray:
    """Return the expected counts of an arm from simulated records.

    Args:
        grid: Cells of time.
        time: Simulated times, as fractions of the grid, (records,).
        event: 1 for an event, 0 for a censored record, (records,).
        records: Number of records of the arm, to which the counts are scaled.

    Returns:
        Counts of censored records and of events, (2, cells + 2); the first and last cells are outside the grid.
    """
    cells = grid.with_outside(Outside.APART).cell_of(interpolate_grid(grid, time))
    counts = np.stack(
        [np.bincount(cells[event == kind], minlength=grid.cells + 2)[: grid.cells + 2] for kind in (0, 1)]
    )
    return np.asarray(counts * (records / counts.sum()))


def _bound_restricted_means(
    grid: Grid, counts: FloatArray, noise: FloatArray, until: float
) -> tuple[FloatArray, FloatArray]:
    """Bound the restricted mean survival time of an arm over all orders of events inside cells.

    Args:
        grid: Cells of time.
        counts: Released counts of censored records and of events, shape (2, cells + 2).
        noise: Simulated noise of both, shape (draws, 2, cells + 2).
        until: Time up to which means are restricted.

    Returns:
        Draws of the lowest and of the highest restricted mean that the counts allow, in the unit of time, (draws,)
        each.
    """
    tables = [
        EventTable(count_at_risk(part[1], part[0]), count_censored_inside(part[0]))
        for part in (counts, noise.swapaxes(0, 1))
    ]
    released, moved = (risk_table_from_events(table, tied=False) for table in tables)
    known = find_known_cells(tables[0].at_risk, tables[1].at_risk)
    bounds = np.stack([grid.edges[:-1], grid.edges[1:]], axis=1)
    edge = int(np.argmin(np.abs(grid.edges - until)))
    lowest, highest = released.subtract_noise(moved, None).bound_curves(known, bounds)
    return lowest.restricted_mean(until, edge), highest.restricted_mean(until, edge)


def describe_plan(
    question: SurvivalQuestion, loss: PrivacyLoss, adjacency: Neighbours, records: int
) -> tuple[str, ...]:
    """Recommend other cells for a survival question by groups, if they compare two groups clearly better.

    Args:
        question: The question.
        loss: The loss of the question.
        adjacency: Replace-one or add-remove.
        records: Number of records of all groups together: public, or a guess of it.

    Returns:
        One line of text; empty if the cells of the question are good enough, or no two groups are compared.
    """
    compared = count_compared_records(question, records)
    if compared is None:
        return ()
    forecasts = forecast_comparison(question, loss, adjacency, records=compared)
    half_widths = {forecast.cells: forecast.half_width for forecast in forecasts}
    number = f"a difference of restricted means up to {question.grid.upper:g}"
    return recommend_cells(question.grid, half_widths, TUNING.gain, number)
