"""Interval censoring: the share without an event where events are only known to lie between two looks (Turnbull)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Unpack

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
from dpcurves.inference.bands import simultaneous_errors
from dpcurves.inference.simulation import noise_of, numbered_generator
from dpcurves.summaries.two_classes import on_simplex

from .pictures import draw_survival

# Turnbull's estimate from counts of pairs of cells: an event came after the one and by the end of the other.


STEPS, STEPS_OF_DRAWS, SETTLED = 20_000, 300, 1e-13
MIXED = 0.1
"""The share of an even law in the beginning: what has no mass never gets any."""
LEAST = 1e-300


def collapsed(slots: FloatArray, *, early: bool) -> FloatArray:
    """Counts by the first cell an event may lie in and by the cell past the last one: (..., cells + 1, cells + 1).

    Entry ``(a, b)`` holds events in cells a to b; the last cell is for those beyond the grid. Of whole numbers an event
    after the value of one cell lies in the next at the earliest. Where times are exact, this is where each is rounded
    up to the end of its cell; rounded down, an event lies in the same cell at the earliest, and before the one in which
    it was seen.

    Args:
        slots: By the last time without and the first time with an event, on a grid that counts values outside apart.
        early: Whether times are rounded down.
    """
    cells = slots.shape[-1] - 2
    last, first = np.meshgrid(np.arange(-1, cells + 1), np.arange(-1, cells + 1), indexing="ij")
    begin = np.clip(last if early else last + 1, 0, cells)
    end = np.clip(np.where(first > cells - 1, cells, first - early), 0, cells)
    alike = last == first  # both in one cell: it came there
    begin, end = np.where(alike, np.clip(last, 0, cells), begin), np.where(alike, np.clip(last, 0, cells), end)
    end = np.where((last < first) | alike, np.maximum(end, begin), -1)
    found = np.zeros((*slots.shape[:-2], cells + 1, cells + 1))
    for row, column in zip(*np.nonzero(end >= 0), strict=True):
        found[..., begin[row, column], end[row, column]] += slots[..., row, column]
    return found


def likely_of(counts: FloatArray) -> FloatArray:
    """Counts with none below zero and with the same sum, of pairs that are possible: the nearest ones.

    >>> likely_of(np.array([[3.0, -1.0], [0.0, 2.0]])).tolist()
    [[2.5, 0.0], [0.0, 1.5]]
    """
    size = counts.shape[-1]
    possible = np.triu(np.ones((size, size), dtype=np.bool_))
    rows = counts.reshape(-1, size, size)
    found = np.zeros_like(rows)
    for row, given in zip(found, rows, strict=True):
        row[possible] = on_simplex(given[possible], max(float(given[possible].sum()), 1.0))
    return found.reshape(counts.shape)


def turnbull(counts: FloatArray, start: FloatArray | None = None, steps: int = STEPS) -> FloatArray:
    """The most likely masses of cells, by self-consistency (Turnbull 1976; Efron 1967): (..., cells + 1).

    Args:
        counts: From `likely_of`, (..., cells + 1, cells + 1).
        start: Masses to begin with; None: even ones.
        steps: At most so many steps.
    """
    size = counts.shape[-1]
    even = np.full((*counts.shape[:-2], size), 1 / size)
    mass = even if start is None else (1 - MIXED) * start + MIXED * even
    whole = np.maximum(counts.sum(axis=(-2, -1)), LEAST)[..., None]
    for _ in range(steps):
        below = np.cumsum(mass, axis=-1)
        chance = below[..., None, :] - (below - mass)[..., :, None]
        share = np.divide(counts, chance, out=np.zeros_like(counts), where=(counts > 0) & (chance > LEAST))
        opened, closed = share.sum(axis=-1), share.sum(axis=-2)
        closed = np.concatenate([np.zeros((*closed.shape[:-1], 1)), closed[..., :-1]], axis=-1)
        moved = mass * np.cumsum(opened - closed, axis=-1) / whole
        change, mass = float(np.abs(moved - mass).max(initial=0.0)), np.maximum(moved, 0.0)
        if change < SETTLED:
            break
    return mass


def survivors(likely: FloatArray) -> FloatArray:
    """The share without an event past each cell, from counts of `likely_of`: (cells,)."""
    return 1 - np.cumsum(turnbull(likely))[:-1]


class Masses(NamedTuple):
    """The share without an event past each cell, and errors of it that noise, or sampling too, makes by simulation.

    Attributes:
        left: (cells,).
        errors: (draws, cells).
    """

    left: FloatArray
    errors: FloatArray

    @classmethod
    def simulated(cls, counts: FloatArray, noise: FloatArray, sampled: np.random.Generator | None) -> Masses:
        """From collapsed counts and draws of their noise; with a generator, also of as many records (a bootstrap)."""
        likely = likely_of(counts)
        found = turnbull(likely)
        drawn = likely + noise
        if sampled is not None:
            people = max(round(float(likely.sum())), 1)
            many = sampled.multinomial(people, likely.ravel() / max(float(likely.sum()), 1.0), size=len(noise))
            drawn += many.reshape(noise.shape) - likely
        moved = turnbull(likely_of(drawn), np.broadcast_to(found, (len(noise), len(found))), STEPS_OF_DRAWS)
        left = 1 - np.cumsum(found)[:-1]
        return cls(left, (1 - np.cumsum(moved, axis=-1)[:, :-1]) - left)

    def band(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Ends that hold all shares at once, each less what noise adds on average."""
        bias = self.errors.mean(axis=0)
        half = simultaneous_errors([self.errors - bias], level)
        return self.left - bias - half, self.left - bias + half


# Interval censoring: the share without an event where events are only known to lie between two looks.


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
