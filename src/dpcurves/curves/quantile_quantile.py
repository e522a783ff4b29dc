"""Q-Q plots of two released curves: quantiles of one distribution against the same quantiles of another.

`QuantileQuantile` has two released curves and levels p_k, and computes the points

    (quantile of the first curve at p_k,  quantile of the second curve at p_k)

If both distributions are equal, the points lie on the diagonal. Intervals of both coordinates hold for all levels of
both curves together. The region between the step functions through them therefore contains the whole true plot between
the first and the last level (`QuantileQuantile.region`).

Formal guarantees: no records are read and no budget is spent, because the plot is a function of two released curves
(post-processing).

Reference: Wilk and Gnanadesikan 1968, *Probability plotting methods for the analysis of data*.

>>> import dpcurves as dp
>>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 100, "adjacency": dp.REPLACE_ONE}
>>> early, late = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
>>> (early.quantile_quantile(late, [0.2, 0.8]).y - early.quantile([0.2, 0.8])).round().tolist()
[2.0, 2.0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from types import MappingProxyType
from typing import Any, Protocol, Unpack

import numpy as np

from .. import display
from ..arguments import InvalidArgument, require_probability, require_proportion, require_sequence
from ..arrays import FloatArray
from ..conversation import PrivacyStatement
from ..inference.quantiles import paired_region
from .result import CompositeResult, PlotArguments, interval_scopes

PERCENTS = tuple(number / 100 for number in range(1, 100))
"""Probabilities at which the quantiles of both samples are paired by default: 0.01 to 0.99."""


@dataclass(frozen=True, eq=False, repr=False)
class QuantileQuantile(CompositeResult):
    """Quantiles of two released curves against each other, at no further loss.

    Attributes:
        p: Increasing shares of records, of shape ``(quantiles,)``.
        first: The `CDF` along x.
        second: The `CDF` along y.

    Data frame: columns ``p``, ``first`` and ``second``.
    """

    SIZE = display.SQUARE
    TITLE = "Quantiles of {second.label} against {first.label}"
    COLUMN_WORDS = display.describe_columns(
        p="probability", first="first: {first.label}", second="second: {second.label}"
    )
    DISTINGUISHING_FACT = "p"
    REPR_FACTS = "{first.label} against {second.label}, {p.size} quantiles"
    SUMMARY = (("first", "{first.label}"), ("second", "{second.label}"))
    COLUMNS = ("p", "first=x", "second=y")
    INTERVAL_COLUMNS = ("first_lower", "first_upper", "second_lower", "second_upper")
    POSSIBLE_RANGES = MappingProxyType({
        "first": (-inf, inf, "first_lower", "first_upper"), "second": (-inf, inf, "second_lower", "second_upper")
    })  # fmt: skip

    p: FloatArray
    first: HasQuantileFunction
    second: HasQuantileFunction

    @property
    def x(self) -> FloatArray:
        """Quantiles of the first curve at the shares `p`, in units of its column.

        Shape ``(quantiles,)``.
        """
        return np.asarray(self.first.quantile(self.p))

    @property
    def y(self) -> FloatArray:
        """Quantiles of the second curve at the shares `p`, in units of its column.

        Shape ``(quantiles,)``.
        """
        return np.asarray(self.second.quantile(self.p))

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement of the first curve; if the second curve has a different statement, a note adds it."""
        first = self.first.privacy
        second = self.second.privacy
        second_note = (f"the second one: {second.loss}, {second.adjacency}, protects {second.protected_unit}",)
        return first.with_notes(*second.notes, *(() if self._has_same_privacy else second_note))

    def _title(self) -> str:
        """Return the title, which names both columns, or the column that both curves have."""
        label = self.first.label
        same = f"Quantiles of {label}, the second against the first"
        return same if label == self.second.label else super()._title()

    def _axis_labels(self) -> dict[str, str]:
        """Return the label of each column of values, by the curve that it belongs to.

        Returns:
            Labels by column name, for the columns ``first`` and ``second`` and their interval ends.
        """
        labels = {name: str(getattr(getattr(self, name), "label", "")) for name in ("first", "second")}
        suffixes = "", "_lower", "_upper", "_lower_population", "_upper_population"
        return {f"{name}{suffix}": label for name, label in labels.items() for suffix in suffixes}

    @property
    def _has_same_privacy(self) -> bool:
        """Whether both curves have the same privacy statement, apart from notes and grant."""
        first, second = (replace(curve.privacy, notes=(), grant="") for curve in (self.first, self.second))
        return first == second

    @property
    def scopes(self) -> Mapping[str, bool]:
        """Names of the scopes that intervals may have, each with its value of `population`.

        The scopes are these records and, if each unit of both curves is one record, the population.
        """
        curve_scopes = [interval_scopes(curve.privacy) for curve in (self.first, self.second)]
        return min(curve_scopes, key=len)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return limits of the quantiles of the first and of the second curve, of shape ``(2, quantiles, 2)``.

        The intervals of all quantiles of both curves hold simultaneously with probability `level`. By Bonferroni's
        inequality each curve gets half of the error probability, so their noises or records may be dependent. For this
        reason, and because intervals end at edges of cells, coverage exceeds `level`. A limit is infinite if the
        quantile may lie outside the grid.

        Args:
            level: Probability that all intervals hold, between 0 and 1.
            population: Whether intervals are for the quantiles of the population, not for the quantiles of these
                records.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        curve_level = (1 + require_probability("level", level)) / 2
        curves = (self.first, self.second)
        return np.stack([curve.quantile_intervals(self.p, curve_level, population=population) for curve in curves])

    def region(self, level: float, *, population: bool = False) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return a region, bounded by two step functions, that contains the true plot from the first to the last share.

        Args:
            level: Probability that the region contains it, between 0 and 1.
            population: Whether the plot of the population is meant, not the plot of these records.

        Returns:
            Edges along x, ``(steps + 1,)``, and the smallest and the largest y between neighbouring edges,
            ``(steps,)``. Infinite limits of `intervals` are replaced by the ends of the grids.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        return paired_region(*self._intervals_within_grids(level, population=population))

    def _intervals_within_grids(self, level: float, *, population: bool) -> tuple[FloatArray, FloatArray]:
        """Return the intervals of both curves, clipped to their grids.

        Args:
            level: Probability that all intervals of both curves hold at once, between 0 and 1.
            population: Whether the limits are for the population, not for these records.

        Returns:
            Intervals of the first and of the second curve, (quantiles, 2) each, in units of their columns.
        """
        first, second = self.intervals(level, population=population)
        return np.clip(first, *self.first.x[[0, -1]]), np.clip(second, *self.second.x[[0, -1]])

    def _build_shades(self, scopes: Mapping[str, bool], level: float | None) -> Sequence[display.CrossedShade]:
        """Return the crossed intervals of both curves for a plot, those for the population first.

        Args:
            scopes: Value of `population` by the name of the scope, as in `scopes`.
            level: Level of the intervals; None: no intervals.
        """
        if level is None:
            return ()
        crossed_shades = list[display.CrossedShade]()
        for scope_name, is_population in reversed(list(scopes.items())):
            interval_label = display.describe_interval(level, self.INTERVAL_NAME, scope_name)
            crossed_shades.append(
                display.CrossedShade(
                    *self._intervals_within_grids(level, population=is_population), label=interval_label
                )
            )
        return crossed_shades

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the quantiles of one curve against the other, with intervals and the diagonal; return the axes.

        Args:
            shades: Crossed intervals from `_build_shades`.
            how: Axes and name in the legend (`PlotArguments`); both privacy statements are drawn in place of one.
        """
        statements = self.first.privacy, self.second.privacy
        x = self._mask_unknown("first", self.x)
        y = self._mask_unknown("second", self.y)
        return display.draw_quantile_quantile(
            x, y, statements, labels=self._labels, edges=(self.first.x, self.second.x), shades=shades, ax=how["ax"],
            name=how["name"],
        )  # fmt: skip

    def _interval_limits(self, level: float, /, *, population: bool) -> FloatArray:
        """Return the columns of the data frame: lower and upper limits of the first, then of the second curve, (4,
        quantiles).

        Args:
            level: Probability that all intervals of both curves hold at once, between 0 and 1.
            population: Whether the limits are for the population, not for these records.
        """
        return np.concatenate([ends.T for ends in self.intervals(level, population=population)])

    def _members(self) -> dict[str, HasQuantileFunction]:
        """Return both curves for the JSON document, under the names ``first`` and ``second``."""
        return {"first": self.first, "second": self.second}

    def _question(self) -> dict[str, object]:
        """Return the JSON field ``p``: the shares of records at which quantiles are compared."""
        return {"p": self.p}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> QuantileQuantile:
        """Return the comparison from a parsed JSON document, the inverse of `to_json`.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        return cls(np.array(document.question["p"], dtype=np.float64), **cls.parse_members(document))

    @property
    def _labels(self) -> tuple[str, str]:
        """Labels of both curves; equal labels begin with ``first:`` and ``second:``."""
        first = self.first.label
        second = self.second.label
        return (first, second) if first != second else (f"first: {first}", f"second: {second}")


class HasQuantileFunction(Protocol):
    """A released curve with quantiles, like `CDF`.

    Attributes:
        x: Its edges.
        label: The label of its column.
        privacy: The privacy statement, which every plot shows.
    """

    @property
    def x(self) -> FloatArray:
        """Edges of the curve's cells, in units of its column.

        Increasing, of shape ``(edges,)``.
        """
        ...

    @property
    def label(self) -> str:
        """Axis label of the curve's column."""
        ...

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement of the curve."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the numbers of the curve, one line each."""
        ...

    def quantile(self, p: FloatArray, /) -> FloatArray:
        """Return the quantiles of the curve at the shares `p`, in units of its column.

        Args:
            p: Shares of the records, in [0, 1], of shape ``(quantiles,)``.

        Returns:
            Quantiles of the same shape.
        """
        ...

    def quantile_intervals(self, p: FloatArray, /, level: float, *, population: bool = False) -> FloatArray:
        """Return confidence intervals of the quantiles at `p`, ``(quantiles, 2)``, for these records or the population.

        Args:
            p: Shares of records, (quantiles,).
            level: Probability that all intervals hold.
            population: Whether quantiles of the population are meant.
        """
        ...


def parse_shares(name: str, values: Any) -> tuple[float, ...]:
    """Return shares of records as a tuple of numbers.

    Args:
        name: Name of the user's argument, for messages.
        values: A list of shares.

    Raises:
        ValueError: a share is not between 0 and 1, or the list is empty.
        TypeError: `values` is a single number, or an entry is not a number.
    """
    shares = tuple(
        require_proportion(name, share)
        for share in require_sequence(name, values, "a list of shares, as in [0.25, 0.5],")
    )
    if not shares:
        raise InvalidArgument(name, "at least one share between 0 and 1 is needed, as in (0.25, 0.5, 0.75)")
    return shares
