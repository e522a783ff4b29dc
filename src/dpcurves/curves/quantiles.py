"""Named quantiles of one column, read off one paid distribution function."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import display
from ..arguments import Refused, several, share
from ..arrays import FloatArray
from ..data import Grid, Outside
from ..queries import Hint
from ..release import Release, Setting, Step
from .cdf import CDF, CdfQuestion, quantile_rows
from .covering import ends_of, pictured, scopes, shades
from .question import card_of
from .result import Result
from .turns.one_table import hint_of, hinted, in_words
from .turns.prefixes import Prefixes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..release import PrivacyStatement


@dataclass(frozen=True, eq=False, repr=False)
class Quantiles(Result):
    """Values at or below which given shares of the records lie.

    Attributes:
        p: Shares, of shape ``(quantiles,)``.
        x: Values, of the same shape, interpolated inside their cells. Where values outside the grid were clamped, a
            quantile among them is the inner edge of the end cell: it lies at or above, or below, that.
        curve: The distribution function that they were read from: it was paid, so it may be used.
    """

    p: FloatArray
    x: FloatArray
    curve: CDF

    @classmethod
    def read(cls, p: FloatArray, curve: CDF) -> Quantiles:
        """Off a distribution function."""
        return cls(p, curve.quantile(p), curve)

    @property
    def privacy(self) -> PrivacyStatement:
        """What stands on every picture."""
        return self.curve.privacy

    @property
    def cells(self) -> FloatArray:
        """Where the cell of each quantile begins and ends: all that was counted of it. Shape ``(quantiles, 2)``.

        A cell that also holds values outside of the grid ends in infinity.
        """
        return self.curve.quantile_cell(self.p)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Edges that have the quantiles between them, all correct at once with chance `level`: ``(quantiles, 2)``.

        They hold the quantiles of these records however the records are tied, or those of the `population` that they
        were drawn from; see `CDF.quantile_interval`. An end is infinite where the quantile may lie outside the grid.
        """
        return self.curve.quantile_intervals(self.p, level, population=population)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float | None = 0.95,
        population: bool = True,
        name: str | None = None,
    ) -> Axes:
        """Draw the quantiles with intervals for these records and for the `population`; without a `level`, alone."""
        whom = scopes(self.privacy, population=population)
        privacy, level = pictured(self.privacy, level, len(self.curve.x), population=population)
        words = "intervals, all at once," if len(self.p) > 1 else "interval"
        shaded, label = shades(whom, level, words, ends_of(self.intervals)), self.curve.label
        return display.draw_quantiles(
            self.p, self.x, privacy, label=label, cells=self.cells, shades=shaded, ax=ax, name=name
        )

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """Columns ``p``, ``x``, ``cell_lower`` and ``cell_upper``; with a `level`, also ``lower`` and ``upper``."""
        ends = {} if level is None else _columns("", self.intervals(level, population=population))
        return display.to_frame({"p": self.p, "x": self.x, **_columns("cell_", self.cells), **ends})

    def to_json(self) -> str:
        """The published format (``kind`` is ``quantiles``). A cell without an end has null in its place."""
        grid = self.curve.prefixes.grid
        question = {"label": self.curve.label, "outside": grid.outside.name, "edges": grid.edges.tolist()}
        releases = [turn.to_json() for turn in self.curve.prefixes.turns]
        arrays = {"p": self.p, "x": self.x, **_columns("cell_", self.cells)}
        return display.envelope("quantiles", arrays, self.privacy, {"question": question, "releases": releases})

    @classmethod
    def from_json(cls, text: str) -> Quantiles:
        """The quantiles that `to_json` wrote."""
        opened = display.opened(text, "quantiles")
        question = opened.evidence["question"]
        grid = Grid.from_edges(question["edges"], outside=Outside[question["outside"]])
        prefixes = Prefixes.from_json(opened.evidence["releases"], grid)
        return cls.read(np.array(opened.arrays["p"]), CDF.along(prefixes, question["label"], opened.privacy))

    def _in_short(self) -> tuple[str, ...]:
        return (self.curve.label, f"{len(self.p)} quantiles")

    def _repr_html_(self) -> str:
        return card_of(f"Quantiles of {self.curve.label}", self.plot, quantile_rows(self.curve, self.p), self.privacy)


@dataclass(frozen=True, slots=True)
class QuantilesQuestion:
    """At or below which values do shares `at` of the records lie? However many, they cost one `CdfQuestion`.

    Attributes:
        column: A column of numbers.
        grid: Public cells; inside a cell, values are taken as evenly spread. Values outside are clamped into the end
            cells, unless they are counted apart: of a quantile there, only one edge is known.
        at: Shares between 0 and 1.
        measured_in: The measuring unit of the column, for the axis.
        hint: As for `CdfQuestion`.

    Raises:
        ValueError: a share is not between 0 and 1, or there is none.
        TypeError: `at` is a single number, or holds what is none.
    """

    column: str
    grid: Grid
    at: tuple[float, ...]
    measured_in: str = ""
    hint: Hint | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "hint", hint_of(self.hint))
        object.__setattr__(self, "at", shares("at", self.at))

    def steps(self, setting: Setting) -> Generator[Step, Release, Quantiles]:
        """A distribution function, read at the shares."""
        whole = CdfQuestion(self.column, self.grid, measured_in=self.measured_in, hint=self.hint)
        curve = yield from whole.steps(setting)
        return Quantiles.read(np.array(self.at), curve)

    def __str__(self) -> str:
        return in_words("quantiles", self.column, None) + hinted(self.hint)


def _columns(prefix: str, ends: FloatArray) -> dict[str, FloatArray]:
    return {f"{prefix}lower": ends[:, 0], f"{prefix}upper": ends[:, 1]}


def shares(name: str, given: Any) -> tuple[float, ...]:
    """Shares of the records; `name` is what they are called where they are asked for.

    Raises:
        ValueError: one is not between 0 and 1, or there is none.
        TypeError: it is a single number, or one of them is none.
    """
    found = tuple(share(name, each) for each in several(name, given, "a list of shares, as in [0.25, 0.5],"))
    if not found:
        raise Refused(name, "at least one share between 0 and 1 is needed")
    return found
