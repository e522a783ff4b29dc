"""Evaluation of numeric forecasts: quantile coverage, pinball loss, PIT, and predicted against observed means.

    QuantileForecastsQuestion    counts errors of forecast quantiles in public cells -> `QuantileForecasts`
    PredictedObservedQuestion    counts outcomes by cells of the prediction -> `PredictedObserved`

Let e be the outcome minus the forecast of its quantile p. Then

    share below            share of e < 0                          p for a calibrated forecast
    coverage, q = 1 - p    share below the forecast of q minus share below the forecast of p        q - p if calibrated
    pinball loss           mean of max(p * e, (p - 1) * e)         least for the true quantile
    mean at a bin          mean outcome of records with a prediction in the bin

Losses are computed with the middles of cells. The pinball loss is also called quantile loss. The histogram of the
probability integral transform (PIT) is the shares between neighbouring quantiles.

Formal guarantees: a record lies in one cell of each table, and the table of each quantile gets an equal fraction of the
loss (basic composition). All numbers are computed from the noisy counts without records, so they lose nothing more
(post-processing).

References: Koenker and Bassett 1978 (pinball loss); Gneiting, Balabdaoui and Raftery 2007 (calibration).

>>> errors = np.array([10.0, 20.0, 50.0, 20.0])  # counts in cells of e: two below 0, two above
>>> float(_compute_share_below([errors], index=0, under=np.array([True, True, False, False])))
0.3
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Unpack

import numpy as np

from dpcurves import display
from dpcurves.arguments import InvalidArgument, require_number, require_sequence
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.conversation import CellWorkload, Needs, PrefixWorkload, Setting
from dpcurves.curves.by_category import describe_grouping
from dpcurves.curves.outside import separate_outside
from dpcurves.curves.question import By, TableQuestion, parse_grouping, prepend_category_axes
from dpcurves.curves.result import PlotArguments
from dpcurves.data import Axis, Grid
from dpcurves.data.axis import Predictor
from dpcurves.data.grid import middles_of, require_clipped

from .counted_numbers import (
    CountedNumbers,
    Statistic,
    Tables,
    ask_one_table,
    ask_tables,
    divide_counts,
    require_few_counts,
)


@dataclass(frozen=True, eq=False, repr=False)
class QuantileForecasts(CountedNumbers):
    """Shares of outcomes below forecast quantiles, the pinball loss of each, and coverage of intervals.

    If forecasts do not cross, the shares between neighbouring quantiles are the histogram of the probability integral
    transform (PIT).
    """

    KIND = "quantile-forecasts"
    TITLE = "Forecasts of quantiles"
    SIZE = display.SQUARE

    @property
    def shares_below(self) -> FloatArray:
        """The share of outcomes below each forecast quantile, in their order."""
        return np.array([self.value(f"below {share:g}") for share in self.question.quantiles])

    @property
    def pit(self) -> FloatArray:
        """Histogram of the probability integral transform: the share of outcomes between neighbouring forecast
        quantiles, from below the first to above the last.
        """
        return np.diff(self.shares_below, prepend=0.0, append=1.0)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the share of outcomes below each forecast quantile against the quantile, with intervals.

        Args:
            shades: Intervals, one row for each number of the result.
            **how: Axes, text and colours of the plot.

        Returns:
            The axes.
        """
        quantiles = len(self.question.quantiles)
        shares = np.asarray(self.question.quantiles)
        shades_below = [shade.select_rows(slice(quantiles)) for shade in shades]
        ax = display.draw_calibration(shares, self.shares_below, None, shades=shades_below, **how)
        ax.set(xlabel="quantile that was forecast", ylabel="share of outcomes below it")
        return ax


@dataclass(frozen=True, slots=True)
class QuantileForecastsQuestion(TableQuestion):
    """Ask for the share of outcomes below each forecast quantile, and for its pinball loss. One release for each.

    Formal guarantees: releases are composed, with equal budget fractions; in each a record lies in one cell.

    Attributes:
        errors: For each quantile, the column of outcome minus forecast; `Residual` computes it from a model in a file.
        quantiles: Increasing shares between 0 and 1, one for each column.
        grid: Public cells of these errors, of which one begins at 0: errors of exactly 0 count as above. Errors outside
            the grid have the sign of their side. Pinball losses use errors clipped to the grid, rounded to the middle
            of their cells.
        model: A statement about the model, printed with the result.

    Raises:
        ValueError: the numbers of columns and shares differ, shares do not increase from above 0 to below 1, no cell
            begins at 0, or all declared values lie on one side of 0.
        TypeError: the grid is no `Grid`.

    >>> import dpcurves as dp
    >>> question = dp.QuantileForecastsQuestion(("e50",), (0.5,), dp.Grid(-4, 4, cells=8))
    >>> with dp.Session({"e50": [-1, 1] * 500}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     found = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> type(found).__name__
    'QuantileForecasts'
    """

    errors: tuple[str, ...]
    quantiles: tuple[float, ...]
    grid: Grid
    model: str = "the model is taken as public"

    def __post_init__(self) -> None:
        require_clipped("grid", self.grid)
        object.__setattr__(self, "errors", require_sequence("errors", self.errors, "columns, as in ('e10', 'e90')"))
        shares = require_sequence("quantiles", self.quantiles, "shares, as in (0.1, 0.9)")
        object.__setattr__(self, "quantiles", tuple(require_number("quantiles", share) for share in shares))
        for column in self.errors:
            Axis(column, self.grid)
        bounds = (0.0, *self.quantiles, 1.0)
        most_quantiles = 50  # quantiles
        if (
            not all(lower < upper for lower, upper in pairwise(bounds))
            or not 1 <= len(self.quantiles) <= most_quantiles
        ):
            raise InvalidArgument(
                "quantiles", f"must be 1 to {most_quantiles} increasing shares between 0 and 1, as in 0.1,0.9"
            )
        if len(self.errors) != len(self.quantiles):
            raise InvalidArgument(
                "errors", f"must have {len(self.quantiles)} columns, one for each quantile: give as many of both"
            )
        require_few_counts(self.shapes(), "grid")
        if self.grid.values is None and 0.0 not in self.grid.edges[:-1]:
            raise InvalidArgument(
                "grid",
                "must have a cell that begins at 0, between outcomes below and above the forecast, as in"
                " Grid(-10, 10, cells=20)",
            )
        if self.grid.values is not None and not self.grid.lower <= 0 < self.grid.upper:
            raise InvalidArgument("grid", "must have values on both sides of 0, as in Values(range(-10, 11))")

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the shape of the table of each quantile: the cells of errors, and one more at each end for errors
        outside.
        """
        return ((self.grid.cells + 2,),) * len(self.errors)

    def grids(self) -> tuple[int, ...]:
        """Return for each table the number of last axes that get cells for values outside the grid: 0.

        `shapes` has these cells already: the signs of outside errors are known, so that they are not merged with the
        end cells.
        """
        return (0,) * len(self.errors)

    def statistics(self) -> Mapping[str, Statistic]:
        """Return the statistics of the result by name, each with its function of the tables and its range.

        They are the shares below each quantile, coverage of central intervals, and pinball losses.
        """
        indexed = list(enumerate(self.quantiles))
        middles = middles_of(self.grid)
        is_below = np.concatenate([[True], middles < 0, [False]])
        # at an end at 0, an outside error has the other sign than the end cell: it is clipped to the end
        middles = np.concatenate([[min(middles[0], 0.0)], middles, [max(middles[-1], 0.0)]])
        statistics = {
            f"below {share:g}": Statistic(partial(_compute_share_below, index=index, under=is_below))
            for index, share in indexed
        }
        for low, high in zip(indexed, reversed(indexed), strict=True):
            if low[0] < high[0] and abs(low[1] + high[1] - 1) < 1e-9:
                name = f"within {low[1]:g} to {high[1]:g}"
                statistics[name] = Statistic(partial(_compute_coverage, low=low[0], high=high[0], under=is_below))
        for index, share in indexed:
            loss = np.maximum(share * middles, (share - 1) * middles)
            statistics[f"pinball at {share:g}"] = Statistic(
                partial(_compute_mean_loss, index=index, loss=loss), float(loss.min()), float(loss.max())
            )
        return statistics

    def steps(self, setting: Setting) -> Needs[QuantileForecasts]:
        """Ask for one row of counts for each column of errors, one release after another.

        Args:
            setting: Loss and adjacency.

        Returns:
            A generator of queries that returns `QuantileForecasts`.
        """
        return ask_tables(
            QuantileForecasts,
            self,
            [PrefixWorkload((Axis(column, separate_outside(self.grid)),)) for column in self.errors],
        )

    def __str__(self) -> str:
        return f"{len(self.quantiles)} forecast quantiles"


def _compute_share_below(tables: Tables, index: int, under: BoolArray) -> FloatArray:
    """Return the share of outcomes below one forecast quantile, shape (...).

    Args:
        tables: For each quantile, counts of its errors, (..., cells).
        index: Number of the quantile.
        under: True for the cells of negative errors, (cells,).
    """
    return divide_counts(tables[index][..., under].sum(axis=-1), tables[index].sum(axis=-1))


def _compute_coverage(tables: Tables, low: int, high: int, under: BoolArray) -> FloatArray:
    """Return the share of outcomes between two forecast quantiles, shape (...).

    Args:
        tables: For each quantile, counts of its errors, (..., cells).
        low: Number of the lower quantile.
        high: Number of the upper quantile.
        under: True for the cells of negative errors, (cells,).
    """
    return _compute_share_below(tables, high, under) - _compute_share_below(tables, low, under)


def _compute_mean_loss(tables: Tables, index: int, loss: FloatArray) -> FloatArray:
    """Return the mean pinball loss of one forecast quantile, shape (...).

    Args:
        tables: For each quantile, counts of its errors, (..., cells).
        index: Number of the quantile.
        loss: Loss of an error in each cell, (cells,).
    """
    return divide_counts(tables[index] @ loss, tables[index].sum(axis=-1))


@dataclass(frozen=True, eq=False, repr=False)
class PredictedObserved(CountedNumbers):
    """Mean observed values in bins of similar predictions, and mean, absolute and squared errors of all records."""

    KIND = "predicted-observed"
    TITLE = "{question.observed} against {question.predicted}"
    SIZE = display.SQUARE

    @property
    def mean_observed(self) -> FloatArray:
        """The mean observed value of each bin; NaN where it is unknown."""
        return np.array([self.value(name) for name in self._statistics][: self.question.grid.cells])

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the mean observed value of each bin with its interval, and a dotted line of equal predicted values.

        Args:
            shades: Intervals, one row for each number of the result.
            **how: Axes, text and colours of the plot.

        Returns:
            The axes.
        """
        grid = self.question.grid
        bin_shades = [shade.select_rows(slice(grid.cells)) for shade in shades]
        ax = display.draw_numbers(
            dict(zip(map(str, middles_of(grid)), self.mean_observed.tolist(), strict=True)), shades=bin_shades, **how
        )
        low, high = self.question.observed_grid.endpoints
        ax.set(xlim=(low, high), xlabel=f"mean {self.question.observed}", ylabel=f"{self.question.predicted}")
        ax.plot(middles_of(grid), np.arange(grid.cells)[::-1], ":", color="#8a8a8a", label="as predicted")
        return ax


@dataclass(frozen=True, slots=True)
class PredictedObservedQuestion(TableQuestion):
    """Ask for the mean observed value in bins of similar predictions. One round.

    Formal guarantees: a record lies in one cell of one table.

    Attributes:
        predicted: The column of predictions, or a `Scorecard` or `TreeEnsemble`.
        observed: The column of outcomes.
        grid: Public bins of predictions; outside predictions count in the end bins.
        observed_grid: Public cells of outcomes: outcomes are rounded to their middles, and clipped at the ends.
        by: Public categories: one result for each, all together at the privacy loss of one.
        model: A statement about the model, printed with the result.

    Raises:
        ValueError: there are too many cells, or both columns are equal.
        TypeError: a grid is no `Grid`.
    """

    predicted: str | Predictor
    observed: str
    grid: Grid
    observed_grid: Grid
    by: By = None
    model: str = "the model is taken as public"

    def __post_init__(self) -> None:
        sides = ("grid", self.grid, self.predicted), ("observed_grid", self.observed_grid, self.observed)
        for name, grid, column in sides:
            Axis(column, require_clipped(name, grid))
        parse_grouping(self.by)
        if self.predicted == self.observed:
            raise InvalidArgument("observed", "must differ from predicted: name the column of the outcomes")
        require_few_counts(self.shapes(), "grid")

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the shape of the only table: bins of predictions, and cells of outcomes."""
        return ((self.grid.cells, self.observed_grid.cells),)

    def grids(self) -> tuple[int, ...]:
        """Return, for each table, how many of its last axes are grids that count values outside in cells of their
        own.
        """
        return (2,)

    def statistics(self) -> Mapping[str, Statistic]:
        """Return the statistics of the result by name, each with its function of the table and its range.

        They are the mean outcome in each bin, and the mean, absolute and squared error of all records.
        """
        values = middles_of(self.observed_grid)
        predicted = middles_of(self.grid)
        low = float(values.min())
        high = float(values.max())
        edges = self.grid.edges
        names = [f"{lower:g} to {upper:g}" for lower, upper in pairwise(edges)]
        if self.grid.values is not None:
            names = [f"{value:g}" for value in predicted]
        statistics = {
            f"mean at {name}": Statistic(partial(_compute_bin_mean, index=index, values=values), low, high)
            for index, name in enumerate(names)
        }
        errors = values[None] - predicted[:, None]
        for name, weights in (
            ("mean error", errors),
            ("mean absolute error", np.abs(errors)),
            ("mean squared error", errors**2),
        ):
            statistics[name] = Statistic(
                partial(_compute_weighted_mean, weights=weights), float(weights.min()), float(weights.max())
            )
        return statistics

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for one table: counts by bin of prediction and cell of outcome.

        Args:
            setting: Loss and adjacency.

        Returns:
            A generator of queries that returns a `PredictedObserved`, or one for each category of `by`.
        """
        axes = (
            Axis(self.predicted, separate_outside(self.grid)),
            Axis(self.observed, separate_outside(self.observed_grid)),
        )
        return ask_one_table(
            PredictedObserved, self, CellWorkload(prepend_category_axes(self.by, *axes)), self.grid.cells + 2
        )

    def __str__(self) -> str:
        return f"{self.observed} against {self.predicted}{describe_grouping(self.by)}"


def _compute_bin_mean(tables: Tables, index: int, values: FloatArray) -> FloatArray:
    """Return the mean outcome in one bin of predictions, shape (...).

    Args:
        tables: One table of counts by bin and outcome, (..., bins, cells).
        index: Number of the bin.
        values: Outcome at the middle of each cell, (cells,).
    """
    bin_counts = tables[0][..., index, :]
    return divide_counts(bin_counts @ values, bin_counts.sum(axis=-1))


def _compute_weighted_mean(tables: Tables, weights: FloatArray) -> FloatArray:
    """Return the mean over records of a function of prediction and outcome, such as the squared error, shape (...).

    Args:
        tables: One table of counts by bin and outcome, (..., bins, cells).
        weights: Value of the function at each bin and cell, (bins, cells).
    """
    return divide_counts((tables[0] * weights).sum(axis=(-2, -1)), tables[0].sum(axis=(-2, -1)))
