"""Interval censoring: the share without an event where events are only known to lie between two looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from dpcurves import display
from dpcurves.arguments import Refused, chance, require_kind
from dpcurves.arrays import FloatArray
from dpcurves.conversation import ALL, Cells, Evidence, Needs, PrivacyStatement, Setting, needed
from dpcurves.curves.by_category import axis_label, in_words, parted, rows_of
from dpcurves.curves.question import (
    By,
    axes_of,
    declared_values,
    keys_of,
    read_cells,
    require_independent,
    statement_of,
)
from dpcurves.curves.result import Covered, Drawing, notes_on_dependence
from dpcurves.data import Axis, Grid, Outside
from dpcurves.display import numeral
from dpcurves.inference.simulation import noise_of, numbered_generator

from .pictures import draw_survival
from .turnbull import Masses, collapsed, likely_of, survivors

MOST_CELLS, DRAWS = 64, 400
"""Cells of time, for pairs of them are counted; and draws of their noise, of each of which a curve is estimated."""
PLACE = 26


@dataclass(frozen=True, eq=False, repr=False)
class IntervalCensored(Covered):
    """The share without an event before each edge of the grid, where events lie between two looks (Turnbull 1976).

    The estimate is the most likely one: where it is not unique, between looks that nobody had in between, it is one of
    those. Counts below zero are set to the nearest possible ones before, so that of few records it is biased by noise;
    bands account for that as far as the bias is that of the counts that seem likely.

    Attributes:
        label: What the x axis shows.
        privacy: The privacy statement, which every picture shows.
        evidence: The released counts of pairs of cells.
        grid: Where the cells lie.
    """

    KIND = "interval-censored"
    TITLE = "Survival over {label}, between looks"
    IN_SHORT = "{label}"
    COLUMNS = ("x", "y")
    COVERS = "band"

    label: str
    privacy: PrivacyStatement
    evidence: Evidence
    grid: Grid

    @classmethod
    def read(cls, evidence: Evidence, grid: Grid, label: str, privacy: PrivacyStatement) -> IntervalCensored:
        """From counts of pairs of cells, those outside the grid among them."""
        return cls(label, privacy.noted(*notes_on_dependence(privacy)), evidence, grid)

    @cached_property
    def x(self) -> FloatArray:
        """Edges of the grid, of shape ``(cells + 1,)``."""
        return self.grid.edges

    @cached_property
    def y(self) -> FloatArray:
        """The share without an event before each edge, of the shape of `x`."""
        return np.append(1.0, survivors(likely_of(self._collapsed(early=False))))

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Ends of a band that holds the whole curve with chance `level`, of shape ``(cells + 1, 2)``.

        Looks may have been anywhere inside their cells: the lower ends are those of times that are rounded down, the
        upper ends of times that are rounded up.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        level = chance("level", level)
        if population:
            require_independent(self.privacy)
        tied = self.grid.values is not None
        bands = [self._masses(population=population, early=early).band(level) for early in ({False, not tied})]
        lower, upper = np.minimum.reduce([band[0] for band in bands]), np.maximum.reduce([band[1] for band in bands])
        lower, upper = np.maximum.accumulate(lower[::-1])[::-1], np.minimum.accumulate(upper)
        ends = np.stack([np.append(1.0, lower), np.append(1.0, upper)], axis=1).clip(0.0, 1.0)
        return np.stack([np.minimum(ends[:, 0], self.y), np.maximum(ends[:, 1], self.y)], axis=1)

    def _masses(self, *, population: bool, early: bool) -> Masses:
        def make() -> Masses:
            counts = self._collapsed(early=early)
            noise = noise_of(self.evidence.sums, self.evidence.total, DRAWS, numbered_generator(PLACE))
            sampled = numbered_generator(PLACE + 1) if population else None
            shape = len(noise), *self._table.shape
            return Masses.simulated(counts, collapsed(noise.reshape(shape), early=early), sampled)

        return self._once((population, early), None, make)

    def _collapsed(self, *, early: bool) -> FloatArray:
        return collapsed(self._table, early=early)

    @property
    def _table(self) -> FloatArray:
        """Counts of pairs of cells, those outside the grid among them."""
        slots = self.grid.with_outside(Outside.APART).slots
        return self.evidence.unbiased.reshape(slots, slots)

    def _drawn(self, shades: Sequence[Any], /, **how: Unpack[Drawing]) -> Any:
        return draw_survival(self.x, self.y, label=self.label, shades=shades, **how)

    def _question(self) -> Mapping[str, object]:
        return {"label": self.label, **declared_values(self.grid)}

    @classmethod
    def _opened(cls, opened: display.Opened) -> IntervalCensored:
        (release,) = opened.evidence["releases"]
        question = {**opened.evidence["question"], "outside": Outside.APART.name}
        grid = read_cells(question, opened.arrays["x"])
        evidence = Evidence.from_json(release)
        if evidence.sums.rows * evidence.sums.cells != grid.slots**2:
            raise Refused("curve.evidence.releases", "counts of pairs of cells of the grid are needed")
        return cls.read(evidence, grid, question["label"], opened.privacy)

    def _summary(self) -> list[tuple[str, str]]:
        return [(f"share without an event before {self.x[-1]:g}", numeral(float(self.y[-1])))]


@dataclass(frozen=True, slots=True)
class IntervalCensoredQuestion:
    """Time until an event that is only known to lie between two looks. One turn.

    Formal guarantees: a record lies in one cell of one table of pairs of cells.

    Attributes:
        last: A column of numbers: the last look without the event; below the grid where there was none.
        first: A column of numbers: the first look with the event; beyond the grid, as infinity, where there was none. A
            record whose event was seen before its last look without it counts nowhere.
        grid: Public cells of time, at most 64, for pairs of them are counted.
        by: Categories that were declared in public: one curve for each, all together at the privacy loss of one.
        measured_in: The measuring unit of time.

    Raises:
        ValueError: there are over 64 cells, or both looks are one column.
        TypeError: a field is of another kind.

    >>> import dpcurves as dp
    >>> table = {"without": [2, 0] * 900, "with": [4, 3] * 900}
    >>> question = dp.IntervalCensoredQuestion("without", "with", dp.Values(range(1, 6)))
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     curve = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> bool(curve.y[5] < 0.1)
    True
    """

    last: str
    first: str
    grid: Grid
    by: By = None
    measured_in: str = ""

    def __post_init__(self) -> None:
        grid = Axis(self.last, self.grid).grid
        axis_label(self.first, self.measured_in)
        keys_of(self.by)
        for name, column in (("last", self.last), ("first", self.first)):
            require_kind(name, column, str, "a column")
        if self.first == self.last:
            raise Refused("first", "another column than that of the last look without the event is needed")
        if grid.cells > MOST_CELLS:
            raise Refused("grid", f"at most {MOST_CELLS} cells of time are counted in pairs, got {grid.cells}")

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for one table: counts of each pair of cells."""
        grid = self.grid.with_outside(Outside.APART)
        axes = axes_of(self.by, Axis(self.last, grid), Axis(self.first, grid))
        found = yield from needed(Cells(axes), ALL)
        privacy, label = statement_of(found.releases), axis_label(self.first, self.measured_in)
        parts = rows_of(found.counts, grid.slots) if self.by is not None else [found.counts]
        return parted(self.by, [IntervalCensored.read(each, grid, label, privacy) for each in parts])

    def __str__(self) -> str:
        return in_words(f"survival between {self.last} and first look", self.first, self.by)
