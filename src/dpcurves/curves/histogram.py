"""Counts of records in the cells of a grid."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..data import Axis, Categories, Grid, Outside, Read
from ..postprocess import least_squares
from ..release import Evidence, Face, Release, Setting, Step
from .counted import axis_label, counted, in_words
from .question import card_of
from .result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Histogram(Result):
    """How many records lie in each cell of a grid.

    Attributes:
        x: Edges, of shape ``(cells + 1,)``.
        count: Records per cell, never below zero, of shape ``(cells,)``.
        unbiased: The same before values below zero were set to zero: sums of these have no bias.
        error: Standard deviation of the noise of one cell, in records.
        missing: Records without a value, unbiased.
        label: What the x axis shows.
        face: What stands on every picture.
        evidence: What the curve was read from.
        grid: Where the cells lie. Where outside values have cells of their own, these are left out here.
    """

    x: FloatArray
    count: FloatArray
    unbiased: FloatArray
    error: float
    missing: float
    label: str
    face: Face
    evidence: Evidence
    grid: Grid

    @classmethod
    def read(cls, evidence: Evidence, grid: Grid, label: str, face: Face) -> Histogram:
        """From counts of one row of cells."""
        law = evidence.measured
        estimate = least_squares(law, evidence.values, evidence.total)
        cells = estimate.cells[0]
        unbiased = cells[1:-1] if grid.outside is Outside.APART else cells
        error = sqrt(law.levels[-1].noise.variance)
        return cls(
            grid.edges, np.maximum(unbiased, 0.0), unbiased, error, float(estimate.missing), label, face, evidence, grid
        )

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Axes:
        """Draw the counts, with one standard deviation of the noise."""
        errors = np.full(len(self.count), self.error)
        return display.draw_histogram(self.x, self.count, self.face, label=self.label, errors=errors, ax=ax, name=name)

    def to_frame(self) -> Any:
        """Columns ``left``, ``right`` and ``count`` as a data frame."""
        return display.to_frame({"left": self.x[:-1], "right": self.x[1:], "count": self.count})

    def to_json(self) -> str:
        """The published format (``kind`` is ``histogram``)."""
        question = {"label": self.label, "outside": self.grid.outside.name}
        evidence = {"question": question, "releases": [self.evidence.to_json()]}
        return display.envelope("histogram", {"x": self.x, "count": self.count}, self.face, evidence)

    @classmethod
    def from_json(cls, text: str) -> Histogram:
        """The histogram that `to_json` wrote."""
        opened = display.opened(text, "histogram")
        question = opened.evidence["question"]
        grid = Grid.from_edges(opened.arrays["x"], outside=Outside[question["outside"]])
        return cls.read(Evidence.from_json(opened.evidence["releases"][0]), grid, question["label"], opened.face)

    def _in_short(self) -> tuple[str, ...]:
        return (self.label, f"{len(self.count)} cells")

    def _repr_html_(self) -> str:
        return card_of(f"Histogram of {self.label}", self.plot, self._summary(), self.face)

    def _summary(self) -> list[tuple[str, str]]:
        return [("cells", str(len(self.count))), ("noise of one cell", f"{self.error:.3g} records")]


@dataclass(frozen=True, slots=True)
class HistogramQuestion:
    """How many records lie in each cell of `grid`? One turn.

    Attributes:
        column: A column of numbers.
        grid: Public cells.
        by: Categories that were declared in public: one histogram for each, all for the price of one.
        measured_in: The measuring unit of the column, for the axis.
    """

    column: str
    grid: Grid
    by: Categories | None = None
    measured_in: str = ""

    def steps(self, setting: Setting) -> Generator[Step, Release, Any]:
        """One table of counts, read cell by cell."""
        label = axis_label(self.column, self.measured_in)
        return (yield from counted(Axis(self.column, self.grid), self.by, Read.CELLS, label, Histogram.read))

    def __str__(self) -> str:
        return in_words("histogram", self.column, self.by)
