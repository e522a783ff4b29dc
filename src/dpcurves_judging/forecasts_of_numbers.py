"""Forecasts of numbers: quantiles and their pinball losses, coverage of intervals, predicted against observed."""

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
from dpcurves.curves.outside import count_outside
from dpcurves.curves.question import By, parse_grouping, prepend_category_axes
from dpcurves.curves.result import PlotArguments
from dpcurves.data import Axis, Grid
from dpcurves.data.axis import Predictor
from dpcurves.data.grid import middles_of, require_clamped

from .counted_numbers import (
    CountedNumbers,
    Statistic,
    Tables,
    ask_one_table,
    ask_tables,
    divide_counts,
    require_few_counts,
)

MOST_QUANTILES = 50


@dataclass(frozen=True, eq=False, repr=False)
class QuantileForecasts(CountedNumbers):
    """How often outcomes lie below forecast quantiles, the pinball loss of each, and coverage of intervals.

    The shares between neighbouring quantiles are the histogram of the probability integral transform (PIT), where
    forecasts do not cross.
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
        """The share of outcomes between neighbouring quantiles, from below the first to above the last."""
        return np.diff(self.shares_below, prepend=0.0, append=1.0)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        many, shares = len(self.question.quantiles), np.asarray(self.question.quantiles)
        own = [shade.select_rows(slice(many)) for shade in shades]
        ax = display.draw_calibration(shares, self.shares_below, None, shades=own, **how)
        ax.set(xlabel="quantile that was forecast", ylabel="share of outcomes below it")
        return ax


@dataclass(frozen=True, slots=True)
class QuantileForecastsQuestion:
    """Are forecast quantiles right? The share of outcomes below each, and its pinball loss. One release for each.

    Formal guarantees: releases are composed, with equal shares of the loss; in each a record lies in one cell.

    Attributes:
        errors: For each quantile, the column of outcome less forecast; `Residual` gives one of a model in a file.
        quantiles: Rising shares between 0 and 1, one for each column.
        grid: Public cells of these errors, of which one begins at 0: errors of exactly 0 lie above it. Errors outside
            count in the end cells, so pinball losses are of errors that are cut off there, and rounded to the middle of
            their cells.
        model: What is stated about the model; it is printed with the result.

    Raises:
        ValueError: there are not as many columns as shares, shares do not rise from above 0 to below 1, or no cell
            begins at 0.
        TypeError: the grid is none.

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
        require_clamped("grid", self.grid)
        object.__setattr__(self, "errors", require_sequence("errors", self.errors, "columns, as in ('e10', 'e90')"))
        shares = require_sequence("quantiles", self.quantiles, "shares, as in (0.1, 0.9)")
        object.__setattr__(self, "quantiles", tuple(require_number("quantiles", each) for each in shares))
        for column in self.errors:
            Axis(column, self.grid)
        ends = (0.0, *self.quantiles, 1.0)
        if not all(one < other for one, other in pairwise(ends)) or not 1 <= len(self.quantiles) <= MOST_QUANTILES:
            raise InvalidArgument(
                "quantiles", f"1 to {MOST_QUANTILES} rising shares between 0 and 1 are needed, as in 0.1,0.9"
            )
        if len(self.errors) != len(self.quantiles):
            raise InvalidArgument("errors", f"{len(self.quantiles)} columns are needed, one for each quantile")
        require_few_counts(self.shapes(), "grid")
        if self.grid.values is None and 0.0 not in self.grid.edges:
            raise InvalidArgument(
                "grid", "an edge at 0 is needed: it parts outcomes below the forecast from those above"
            )

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Cells of each column of errors."""
        return ((self.grid.cells,),) * len(self.errors)

    def grids(self) -> tuple[int, ...]:
        """How many of the last axes of each table are on grids, whose values outside are counted apart."""
        return (1,) * len(self.errors)

    def statistics(self) -> Mapping[str, Statistic]:
        """Shares below, coverage of central intervals, and losses."""
        at, middles = list(enumerate(self.quantiles)), middles_of(self.grid)
        under = middles < 0
        found = {
            f"below {share:g}": Statistic(partial(_compute_share_below, at=place, under=under)) for place, share in at
        }
        for low, high in zip(at, reversed(at), strict=True):
            if low[0] < high[0] and abs(low[1] + high[1] - 1) < 1e-9:
                words = f"within {low[1]:g} to {high[1]:g}"
                found[words] = Statistic(partial(_compute_coverage, low=low[0], high=high[0], under=under))
        for place, share in at:
            loss = np.maximum(share * middles, (share - 1) * middles)
            found[f"pinball at {share:g}"] = Statistic(
                partial(_compute_mean_loss, at=place, loss=loss), float(loss.min()), float(loss.max())
            )
        return found

    def steps(self, setting: Setting) -> Needs[QuantileForecasts]:
        """Ask for one row of counts after the other."""
        return ask_tables(
            QuantileForecasts, self, [PrefixWorkload((Axis(each, count_outside(self.grid)),)) for each in self.errors]
        )

    def __str__(self) -> str:
        return f"{len(self.quantiles)} forecast quantiles"


def _compute_share_below(tables: Tables, at: int, under: BoolArray) -> FloatArray:
    return divide_counts(tables[at][..., under].sum(axis=-1), tables[at].sum(axis=-1))


def _compute_coverage(tables: Tables, low: int, high: int, under: BoolArray) -> FloatArray:
    return _compute_share_below(tables, high, under) - _compute_share_below(tables, low, under)


def _compute_mean_loss(tables: Tables, at: int, loss: FloatArray) -> FloatArray:
    return divide_counts(tables[at] @ loss, tables[at].sum(axis=-1))


@dataclass(frozen=True, eq=False, repr=False)
class PredictedObserved(CountedNumbers):
    """The mean of observed numbers in bins of similar predictions, and errors of all: mean, absolute and squared."""

    KIND = "predicted-observed"
    TITLE = "{question.observed} against {question.predicted}"
    SIZE = display.SQUARE

    @property
    def mean_observed(self) -> FloatArray:
        """The mean observed number of each bin; NaN where nobody seems to be."""
        return np.array([self.value(name) for name in self._statistics][: self.question.grid.cells])

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        grid = self.question.grid
        own = [shade.select_rows(slice(grid.cells)) for shade in shades]
        ax = display.draw_numbers(
            dict(zip(map(str, middles_of(grid)), self.mean_observed.tolist(), strict=True)), shades=own, **how
        )
        low, high = self.question.observed_grid.endpoints
        ax.set(xlim=(low, high), xlabel=f"mean {self.question.observed}", ylabel=f"{self.question.predicted}")
        ax.plot(middles_of(grid), np.arange(grid.cells)[::-1], ":", color="#8a8a8a", label="as predicted")
        return ax


@dataclass(frozen=True, slots=True)
class PredictedObservedQuestion:
    """Do predicted numbers come true? The mean observed number in bins of similar predictions. One turn.

    Formal guarantees: a record lies in one cell of one table.

    Attributes:
        predicted: The column of predictions, or a `Scorecard` or `Trees`.
        observed: The column of outcomes.
        grid: Public bins of predictions; predictions outside count in the end bins.
        observed_grid: Public cells of outcomes: outcomes are rounded to their middles, and cut off at the ends.
        by: Categories that were declared in public: one result for each, all together at the privacy loss of one.
        model: What is stated about the model; it is printed with the result.

    Raises:
        ValueError: there are too many cells, or both columns are one.
        TypeError: a grid is none.
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
            Axis(column, require_clamped(name, grid))
        parse_grouping(self.by)
        if self.predicted == self.observed:
            raise InvalidArgument("observed", "another column than that of predictions is needed")
        require_few_counts(self.shapes(), "grid")

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Bins of predictions, and cells of outcomes."""
        return ((self.grid.cells, self.observed_grid.cells),)

    def grids(self) -> tuple[int, ...]:
        """How many of the last axes of each table are on grids, whose values outside are counted apart."""
        return (2,)

    def statistics(self) -> Mapping[str, Statistic]:
        """Means of bins, and errors."""
        values, predicted = middles_of(self.observed_grid), middles_of(self.grid)
        low, high, edges = float(values.min()), float(values.max()), self.grid.edges
        names = [f"{one:g} to {other:g}" for one, other in pairwise(edges)]
        if self.grid.values is not None:
            names = [f"{value:g}" for value in predicted]
        found = {
            f"mean at {name}": Statistic(partial(_compute_bin_mean, at=place, values=values), low, high)
            for place, name in enumerate(names)
        }
        apart = values[None] - predicted[:, None]
        for words, of in (
            ("mean error", apart),
            ("mean absolute error", np.abs(apart)),
            ("mean squared error", apart**2),
        ):
            found[words] = Statistic(partial(_compute_weighted_mean, weights=of), float(of.min()), float(of.max()))
        return found

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for one table."""
        axes = Axis(self.predicted, count_outside(self.grid)), Axis(self.observed, count_outside(self.observed_grid))
        return ask_one_table(
            PredictedObserved, self, CellWorkload(prepend_category_axes(self.by, *axes)), self.grid.cells + 2
        )

    def __str__(self) -> str:
        return f"{self.observed} against {self.predicted}{describe_grouping(self.by)}"


def _compute_bin_mean(tables: Tables, at: int, values: FloatArray) -> FloatArray:
    own = tables[0][..., at, :]
    return divide_counts(own @ values, own.sum(axis=-1))


def _compute_weighted_mean(tables: Tables, weights: FloatArray) -> FloatArray:
    return divide_counts((tables[0] * weights).sum(axis=(-2, -1)), tables[0].sum(axis=(-2, -1)))
