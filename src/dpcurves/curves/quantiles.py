"""Named quantiles of one column, read off one paid distribution function."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..data import Grid, Hint, Outside
from ..privacy.given import several, share
from ..release import Release, Setting, Step
from .cdf import CDF, CdfQuestion
from .counted import hint_of, hinted, in_words
from .prefixes import Prefixes
from .question import card_of
from .result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..release import Face

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Quantiles(Result):
    """Values below which given shares of the records lie.

    Attributes:
        p: Shares, of shape ``(quantiles,)``.
        x: Values, of the same shape.
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
    def face(self) -> Face:
        """What stands on every picture."""
        return self.curve.face

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Lower and upper ends, all correct at once with chance `level`: shape ``(quantiles, 2)``."""
        return np.array([self.curve.quantile_interval(p, level, population=population) for p in self.p.tolist()])

    def plot(self, ax: Axes | None = None, *, level: float | None = None) -> Axes:
        """Draw the quantiles, with intervals if a `level` is given."""
        intervals = None if level is None else tuple(self.intervals(level).T)
        return display.draw_quantiles(
            self.p, self.x, self.face, label=self.curve.label, intervals=intervals, level=level, ax=ax
        )

    def to_frame(self, *, level: float | None = None) -> Any:
        """Columns ``p`` and ``x`` as a data frame; with a `level`, also the intervals as ``lower`` and ``upper``."""
        ends = {} if level is None else dict(zip(("lower", "upper"), self.intervals(level).T, strict=True))
        return display.to_frame({"p": self.p, "x": self.x, **ends})

    def to_json(self) -> str:
        """The published format (``kind`` is ``quantiles``)."""
        grid = self.curve.prefixes.grid
        question = {"label": self.curve.label, "outside": grid.outside.name, "edges": grid.edges.tolist()}
        releases = [turn.to_json() for turn in self.curve.prefixes.turns]
        arrays = {"p": self.p, "x": self.x}
        return display.envelope("quantiles", arrays, self.face, {"question": question, "releases": releases})

    @classmethod
    def from_json(cls, text: str) -> Quantiles:
        """The quantiles that `to_json` wrote."""
        opened = display.opened(text, "quantiles")
        question = opened.evidence["question"]
        grid = Grid.from_edges(question["edges"], outside=Outside[question["outside"]])
        prefixes = Prefixes.from_json(opened.evidence["releases"], grid)
        return cls.read(np.array(opened.arrays["p"]), CDF.along(prefixes, question["label"], opened.face))

    def _in_short(self) -> tuple[str, ...]:
        return (self.curve.label, f"{len(self.p)} quantiles")

    def _repr_html_(self) -> str:
        return card_of(f"Quantiles of {self.curve.label}", self.plot, self._summary(), self.face, level=0.95)

    def _summary(self) -> list[tuple[str, str]]:
        return [(f"{p:.4g} quantile", f"{x:.4g}") for p, x in zip(self.p.tolist(), self.x.tolist(), strict=True)]


@dataclass(frozen=True, slots=True)
class QuantilesQuestion:
    """Below which values do shares `at` of the records lie? The turns of one `CdfQuestion`, however many quantiles.

    Attributes:
        column: A column of numbers.
        grid: Public cells; inside a cell, values are taken as evenly spread.
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


def shares(name: str, given: Any) -> tuple[float, ...]:
    """Shares of the records; `name` is what they are called where they are asked for.

    Raises:
        ValueError: one is not between 0 and 1, or there is none.
        TypeError: it is a single number, or one of them is none.
    """
    found = tuple(share(name, each) for each in several(name, given, "a list of shares, as in [0.25, 0.5],"))
    if not found:
        raise ValueError(f"{name}: at least one share between 0 and 1 is needed")
    return found
