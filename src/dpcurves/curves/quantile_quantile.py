"""Quantiles of one distribution against those of another: on the diagonal where both are one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import display
from ..arguments import Refused, chance, several, share
from ..arrays import FloatArray
from ..postprocess.inference.paired_region import paired_region
from .covering import scopes
from .question import card_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes


PERCENTS = tuple(number / 100 for number in range(1, 100))


def shares_of(p: Sequence[float]) -> FloatArray:
    """Shares of records, rising, each once.

    Raises:
        TypeError: `p` is no list.
        ValueError: one is not between 0 and 1, or there is none.
    """
    found = [share("p", each) for each in several("p", p, "a list of shares, as in [0.25, 0.5],")]
    if not found:
        raise Refused("p", "at least one share between 0 and 1 is needed")
    return np.unique(np.array(found, dtype=np.float64))


@dataclass(frozen=True, eq=False, repr=False)
class QuantileQuantile:
    """Quantiles of two released curves beside each other; nothing more is spent.

    Attributes:
        p: Shares of records, rising, of shape ``(quantiles,)``.
        first: The `CDF` along x.
        second: The `CDF` along y.

    As a data frame: columns ``p``, ``first`` and ``second``.
    """

    p: FloatArray
    first: Any
    second: Any

    @property
    def x(self) -> FloatArray:
        """Quantiles of the first curve."""
        return np.asarray(self.first.quantile(self.p))

    @property
    def y(self) -> FloatArray:
        """Quantiles of the second curve."""
        return np.asarray(self.second.quantile(self.p))

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be known before the numbers are believed, of both curves."""
        return tuple(dict.fromkeys((*self.first.notes, *self.second.notes)))

    @property
    def scopes(self) -> Mapping[str, bool]:
        """Whom the intervals speak of; of the population only where each unit of both is one record."""
        both = [scopes(each.privacy) for each in (self.first, self.second)]
        return min(both, key=len)

    def intervals(self, level: float, *, population: bool = False) -> tuple[FloatArray, FloatArray]:
        """Ends of the quantiles of the first and of the second curve, each of shape ``(quantiles, 2)``.

        All quantiles of both lie between their ends at once, with chance `level`: half of the error chance goes to each
        curve, so nothing is assumed of how their noises, or their records, depend on each other. For that, and as they
        end at edges of cells, they hold more often than `level` says. They hold quantiles of
        these records, or of the `population`; an end is infinite where the quantile may lie outside the grid.

        Raises:
            ValueError: `level` is no chance; or for the population, units have several records.
        """
        each = (1 + chance("level", level)) / 2
        one, other = (
            curve.quantile_intervals(self.p, each, population=population) for curve in (self.first, self.second)
        )
        return one, other

    def region(self, level: float, *, population: bool = False) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Steps that have all points of the true plot from the first to the last share between them: see `intervals`.

        Returns:
            Edges along x, ``(steps + 1,)``, and the least and the largest y between two of them, ``(steps,)``. What
            may lie outside the grids ends at them.
        """
        ends = self.intervals(level, population=population)
        inside = [
            np.clip(each, curve.x[0], curve.x[-1]) for each, curve in zip(ends, (self.first, self.second), strict=True)
        ]
        return paired_region(inside[0], inside[1])

    def plot(self, ax: Axes | None = None, *, level: float | None = 0.95, population: bool = True) -> Axes:
        """Draw a point for each share, the diagonal, and what holds the true plot. Spends nothing.

        Args:
            ax: Where; None: on a new figure.
            level: The chance that a shaded region holds all of the true plot; None: none is drawn.
            population: Whether that for the population is drawn beside that for these records.

        Raises:
            ValueError: `level` is no chance.
        """
        whom = {who: asked for who, asked in self.scopes.items() if population or not asked}
        shaded = [] if level is None else [
            display.SteppedShade(
                *self.region(level, population=asked), words=display.covering(level, "region", who)
            )
            for who, asked in whom.items()
        ]  # fmt: skip
        return display.draw_quantile_quantile(
            self.x, self.y, (self.first.privacy, self.second.privacy), labels=self._labels,
            shades=tuple(reversed(shaded)), ax=ax,
        )  # fmt: skip

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """The quantiles as a data frame; with a `level`, also the ends of their intervals."""
        columns = {"p": self.p, "first": self.x, "second": self.y}
        if level is not None:
            ends = zip(("first", "second"), self.intervals(level, population=population), strict=True)
            for name, found in ends:
                columns |= {f"{name}_lower": found[:, 0], f"{name}_upper": found[:, 1]}
        return display.to_frame(columns)

    @property
    def _labels(self) -> tuple[str, str]:
        first, second = self.first.label, self.second.label
        return (first, second) if first != second else (f"first: {first}", f"second: {second}")

    def __repr__(self) -> str:
        return f"QuantileQuantile({self.first.label} against {self.second.label}, {len(self.p)} quantiles)"

    def _repr_html_(self) -> str:
        rows = [("first", repr(self.first)), ("second", repr(self.second))]
        return card_of("Quantiles against quantiles", self.plot, rows, self.first.privacy, size=display.SQUARE)
