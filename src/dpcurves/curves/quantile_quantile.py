"""Quantiles of one distribution against those of another: on the diagonal where both distributions are equal."""

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


class HasQuantileFunction(Protocol):
    """A released curve with quantiles, as `CDF`.

    Attributes:
        x: Its edges.
        label: What it is of.
        privacy: The privacy statement, which every picture shows.
    """

    @property
    def x(self) -> FloatArray: ...

    @property
    def label(self) -> str: ...

    @property
    def privacy(self) -> PrivacyStatement: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    def quantile(self, p: FloatArray, /) -> FloatArray:
        """Values at or below which these shares of the records lie."""
        ...

    def quantile_intervals(self, p: FloatArray, /, level: float, *, population: bool = False) -> FloatArray:
        """Ends of these quantiles, ``(quantiles, 2)``."""
        ...


def parse_shares(name: str, values: Any) -> tuple[float, ...]:
    """Shares of the records; `name` is what they are called where they are asked for.

    Raises:
        ValueError: one is not between 0 and 1, or there is none.
        TypeError: it is a single number, or one of them is none.
    """
    found = tuple(
        require_proportion(name, each)
        for each in require_sequence(name, values, "a list of shares, as in [0.25, 0.5],")
    )
    if not found:
        raise InvalidArgument(name, "at least one share between 0 and 1 is needed")
    return found


@dataclass(frozen=True, eq=False, repr=False)
class QuantileQuantile(CompositeResult):
    """Quantiles of two released curves beside each other; nothing more is spent.

    Attributes:
        p: Shares of records, rising, of shape ``(quantiles,)``.
        first: The `CDF` along x.
        second: The `CDF` along y.

    Data frame: columns ``p``, ``first`` and ``second``.
    """

    SIZE = display.SQUARE
    TITLE = "Quantiles against quantiles"
    DISTINGUISHING_FACT = "p"
    REPR_FACTS = "{first.label} against {second.label}, {p.size} quantiles"
    SUMMARY = (("first", "{first!r}"), ("second", "{second!r}"))
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
        """Quantiles of the first curve."""
        return np.asarray(self.first.quantile(self.p))

    @property
    def y(self) -> FloatArray:
        """Quantiles of the second curve."""
        return np.asarray(self.second.quantile(self.p))

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement of the first curve; a note adds that of the second, where it differs."""
        first, second = self.first.privacy, self.second.privacy
        told = (f"the second one: {second.loss}, {second.adjacency}, protects {second.protected_unit}",)
        return first.with_notes(*second.notes, *(() if self._has_same_privacy else told))

    def _axis_labels(self) -> dict[str, str]:
        labels = {name: str(getattr(getattr(self, name), "label", "")) for name in ("first", "second")}
        ends = "", "_lower", "_upper", "_lower_population", "_upper_population"
        return {f"{name}{end}": label for name, label in labels.items() for end in ends}

    @property
    def _has_same_privacy(self) -> bool:
        one, other = (replace(each.privacy, notes=(), grant="") for each in (self.first, self.second))
        return one == other

    @property
    def scopes(self) -> Mapping[str, bool]:
        """The scopes of the intervals: these records and, only where each unit is one record, the population."""
        both = [interval_scopes(each.privacy) for each in (self.first, self.second)]
        return min(both, key=len)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Ends of the quantiles of the first and of the second curve, of shape ``(2, quantiles, 2)``.

        The intervals of all quantiles of both curves hold at once with probability `level`. By Bonferroni's inequality
        half of the error probability goes to each curve, so dependence between their noises or their records does no
        harm. For this reason, and because intervals end at edges of cells, they hold more often than `level` says. They
        are for quantiles of these records, or, with `population`, of the population; an end is infinite where the
        quantile may lie outside the grid.
        """
        each = (1 + require_probability("level", level)) / 2
        both = (self.first, self.second)
        return np.stack([curve.quantile_intervals(self.p, each, population=population) for curve in both])

    def region(self, level: float, *, population: bool = False) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A region, bounded by two step functions, that contains the true plot from the first to the last share.

        Returns:
            Edges along x, ``(steps + 1,)``, and the least and the largest y between two of them, ``(steps,)``. Infinite
            ends of `intervals` are replaced by the ends of the grids.
        """
        return paired_region(*self._intervals_within_grids(level, population=population))

    def _intervals_within_grids(self, level: float, *, population: bool) -> tuple[FloatArray, FloatArray]:
        """The intervals of both, within their grids."""
        first, second = self.intervals(level, population=population)
        return np.clip(first, *self.first.x[[0, -1]]), np.clip(second, *self.second.x[[0, -1]])

    def _build_shades(self, scopes: Mapping[str, bool], level: float | None) -> Sequence[display.CrossedShade]:
        if level is None:
            return ()
        found = list[display.CrossedShade]()
        for who, asked in reversed(list(scopes.items())):
            words = display.describe_interval(level, self.INTERVAL_NAME, who)
            found.append(display.CrossedShade(*self._intervals_within_grids(level, population=asked), label=words))
        return found

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        both = self.first.privacy, self.second.privacy
        x, y = self._mask_unknown("first", self.x), self._mask_unknown("second", self.y)
        return display.draw_quantile_quantile(
            x, y, both, labels=self._labels, edges=(self.first.x, self.second.x), shades=shades, ax=how["ax"],
            name=how["name"],
        )  # fmt: skip

    def _interval_limits(self, level: float, /, *, population: bool) -> FloatArray:
        return np.concatenate([ends.T for ends in self.intervals(level, population=population)])

    def _members(self) -> dict[str, HasQuantileFunction]:
        return {"first": self.first, "second": self.second}

    def _question(self) -> dict[str, object]:
        return {"p": self.p}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> QuantileQuantile:
        return cls(np.array(document.question["p"], dtype=np.float64), **cls.parse_members(document))

    @property
    def _labels(self) -> tuple[str, str]:
        first, second = self.first.label, self.second.label
        return (first, second) if first != second else (f"first: {first}", f"second: {second}")
