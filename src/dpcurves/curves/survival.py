"""Survival with censoring: Kaplan-Meier and Nelson-Aalen curves in bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import display
from ..arguments import Refused, chance
from ..arrays import BoolArray, FloatArray
from ..data import Axis, Grid, Outside
from ..data.axis import Category
from ..display import numeral, span
from ..display.survival_picture import draw_survival
from ..postprocess import public_generator, simultaneous_errors
from ..postprocess.estimation.hazards import Counts, Hazards, hazards_of_few
from ..postprocess.inference.survival import (
    FEWEST_AT_RISK,
    AtRisk,
    Orders,
    cumulative_hazard,
    known_cells,
    log_errors,
    median_cells,
    survival,
    survival_band,
)
from ..release import ALL, Evidence, PrivacyStatement, Setting
from ..workloads import Needs, Prefixes, needed
from .by_category import ByCategory, rows_of
from .keys import By, axes_of, columns_of, combined, keys_of
from .notes import notes_on_width
from .question import require_independent, statement_of
from .result import Covered
from .turns.declared_grid import declared_values, read_cells
from .turns.labels import labels
from .turns.leaving import Leaving
from .turns.one_table import axis_label, in_words
from .wide_cells import notes_on_wide_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Opened, Shade

MOST_CELLS = 2**14
QUIET = 0.05
"""Noise of a smaller standard deviation leaves counts as they are."""
EVERYWHERE = "the band at every time"
LEVEL = 0.95
"""The level of the intervals of numbers at risk on pictures."""


@dataclass(frozen=True, eq=False, repr=False)
class Survival(Covered):
    """The share of records without an event before each edge of the grid, as Kaplan and Meier estimate it.

    Events of a cell are taken to come before records are censored in it, as at ties of the textbook: where times are
    whole numbers and cells as wide as their unit, the share before an edge is the one past the value below it. Declared
    values (`Values`) have cells of their own, whose edges lie half way between: nothing is unknown inside. Where times
    are finer than cells the estimate from exact times is lower; bands and intervals contain it in whatever order
    records left, and where released counts show that it may be much lower, a note says how much. Times beyond the grid
    are censored at its end; times below it count in the first cell.

    Attributes:
        label: What the x axis shows.
        privacy: The privacy statement, which every picture shows.
        evidence: The released counts of censored records and of events.
        grid: Where the cells lie.
    """

    KIND: ClassVar[str] = "survival"

    label: str
    privacy: PrivacyStatement
    evidence: tuple[Evidence, Evidence]
    grid: Grid

    @classmethod
    def read(cls, evidence: tuple[Evidence, Evidence], grid: Grid, label: str, privacy: PrivacyStatement) -> Survival:
        """From counts of the censored and of events, each of one row of cells, with those outside apart."""
        told, noises = Leaving.counted(evidence), Leaving.noise(evidence, public_generator(None))
        known = known_cells(told.at_risk, noises.at_risk)
        noted = privacy.noted(*notes_on_wide_cells(told.within(known), noises.within(known)))
        read = cls(label, noted, evidence, grid)
        return replace(read, privacy=noted.noted(*read._notes_on_noise()))

    def _notes_on_noise(self) -> tuple[str, ...]:
        """A note if nothing is known of the curve at any time."""
        lower, upper = self.band(LEVEL)
        return notes_on_width((upper - lower)[1:], EVERYWHERE)

    @cached_property
    def x(self) -> FloatArray:
        """Edges of the grid, of shape ``(cells + 1,)``."""
        return self.grid.edges

    @cached_property
    def y(self) -> FloatArray:
        """The share without an event before each edge: 1 at the first, and non-increasing; of the shape of `x`.

        Where noise is large beside the counts, hazards are shrunk to smooth or constant ones, as far as released
        counts tell no more; see `postprocess.estimation.hazards`. Bands and intervals come from the counts alone.
        """
        share = survival(self._found, self._known) if self._few is None else self._few.share
        return np.append(1.0, share)

    @cached_property
    def cumulative_hazard(self) -> FloatArray:
        """The estimate of Nelson and Aalen before each edge, of the shape of `x`."""
        hazard = cumulative_hazard(self._found, self._known) if self._few is None else self._few.cumulative
        return np.append(0.0, hazard)

    @cached_property
    def at_risk(self) -> FloatArray:
        """Records at risk in the cell that ends at each edge, unbiased; at the first edge all records.

        See `at_risk_intervals`.
        """
        return np.append(self._found.records[:1], self._found.records)

    @cached_property
    def _few(self) -> Hazards | None:
        """Shrunken hazards; None where there is hardly any noise."""
        told, noise = self._told, self._noises
        events = Counts(told.at_risk.events, noise.at_risk.events)
        censored = Counts(told.gone - events.found, noise.gone - events.noise)
        if max(float(np.mean(each.noise**2)) for each in (events, censored)) < QUIET**2:
            return None
        records = Counts(told.at_risk.records[0], noise.at_risk.records[:, 0])
        return hazards_of_few(events, censored, records, public_generator(None))

    @property
    def turns(self) -> Sequence[Evidence]:
        """The releases: rows of one table."""
        return self.evidence

    @property
    def median_cell(self) -> tuple[float, float]:
        """The edges of the cell at whose end at most half are left for the first time; both infinite if none is.

        Where times are declared values, the value of that cell, twice.
        """
        passed = np.flatnonzero(self.y[1:] <= 0.5)
        if not len(passed):
            return inf, inf
        lower, upper = self._cells[passed[0]].tolist()
        return lower, upper

    @property
    def _cells(self) -> FloatArray:
        """The ends of each cell, (cells, 2): edges, or the value that was declared for it."""
        values = self.grid.values
        return np.stack([self.x[:-1], self.x[1:]] if values is None else [values, values], axis=1)

    @property
    def median(self) -> float:
        """The lower edge of `median_cell`: for whole numbers on cells of width one, the first time past which at most
        half are left; infinite if there is none.
        """
        return self.median_cell[0]

    def median_interval(self, level: float, *, population: bool = False) -> tuple[float, float]:
        """A confidence interval for the median, between edges of cells, with probability `level`.

        It begins at the lower edge of the first cell that the median may lie in and ends at the upper edge of the last
        one, in whatever order records left inside cells; see `median_cells`. Where cells are wide and the noise is
        small the coverage is higher.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        first, last = median_cells(*self._orders(population), chance("level", level))
        cells = np.concatenate([self._cells, [[self._cells[-1, 1], inf]]])
        return float(cells[first, 0]), float(cells[last, 1])

    def band(self, level: float, *, population: bool = False) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the curve, all correct at once with chance `level`; see `survival_band`.

        They are for Kaplan and Meier's estimate of these records, from times as exact as they may be, before each edge.
        With `population`, they are for that of the population that the records were drawn from; that needs independent
        units of one record each, and censoring that does not depend on the time of the event. For the population, where
        20 records or fewer are at risk, the lower end is 0 and the upper end is that of the cell before. They contain
        `y`.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        orders, known = self._orders(population)
        lower, upper = survival_band(orders, known, chance("level", level))
        return np.minimum(np.append(1.0, lower), self.y), np.maximum(np.append(1.0, upper), self.y)

    def _ends(self, level: float, /, *, population: bool) -> tuple[FloatArray, FloatArray]:
        return self.band(level, population=population)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """The band as ends, of shape ``(cells + 1, 2)``.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        return np.stack(self.band(level, population=population), axis=1)

    def _orders(self, population: bool) -> tuple[Orders, BoolArray]:
        """Both orders of the records of a cell, and the cells of which anything is said."""
        noises, known, normal = self._noises, self._known, None
        if population:
            require_independent(self.privacy)
            draw = public_generator(None)
            noises = Leaving.noise(self.evidence, draw)
            normal = draw.standard_normal(noises.censored.shape)  # after the noise, so that it does not depend on it
            known = np.logical_and.accumulate(known & (self._found.records > FEWEST_AT_RISK))
        late = self._found, noises.at_risk
        # At a declared value times are tied, and events come first, as in the textbook: no order is open.
        both = late, late if self.grid.values is not None else (self._told.early, noises.early)
        shares = [survival(found, known) for found, _ in both]
        errors = [log_errors(found, noise, known, normal) for found, noise in both]
        return Orders(shares[0], shares[1], errors[0], errors[1]), known

    @cached_property
    def _told(self) -> Leaving:
        return Leaving.counted(self.evidence)

    @cached_property
    def _noises(self) -> Leaving:
        return Leaving.noise(self.evidence, public_generator(None))

    @property
    def _found(self) -> AtRisk:
        return self._told.at_risk

    @property
    def _noise(self) -> AtRisk:
        return self._noises.at_risk

    @property
    def _known(self) -> BoolArray:
        return known_cells(self._found, self._noise)

    def at_risk_intervals(self, level: float) -> FloatArray:
        """Lower and upper ends of `at_risk`, all correct at once with chance `level`: shape ``(cells + 1, 2)``.

        They are for the numbers of these records, so they account for noise alone.

        Raises:
            ValueError: `level` is not between 0 and 1.
        """
        error = simultaneous_errors([self._noise.records], chance("level", level))
        ends = np.stack([self._found.records - error, self._found.records + error], axis=1)
        return np.asarray(np.maximum(np.concatenate([ends[:1], ends]), 0.0))

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """The numbers as a data frame; with a `level`, also ends of the band and of the numbers at risk.

        The band is for these records, or, with `population`, for the population; numbers at risk are always of these
        records.
        """
        if level is None:
            return super().to_frame()
        ends = dict(zip(("at_risk_lower", "at_risk_upper"), self.at_risk_intervals(level).T, strict=True))
        band = dict(zip(self._named_ends(), self.band(level, population=population), strict=True))
        return display.to_frame({**self._columns(), **band, **ends})

    def _covers(self) -> str:
        return "band"

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        error = np.diff(self.at_risk_intervals(LEVEL), axis=1)[1:, 0] / 2 if shaded else None
        risk = display.AtRiskRow(self.x, self.at_risk[1:], error)
        return draw_survival(self.x, self.y, privacy, label=self.label, at_risk=risk, shades=shaded, ax=ax, name=name)

    def _columns(self) -> dict[str, FloatArray]:
        return {"x": self.x, "y": self.y, "cumulative_hazard": self.cumulative_hazard, "at_risk": self.at_risk}

    def _question(self) -> dict[str, object]:
        return {"label": self.label, **declared_values(self.grid)}

    @classmethod
    def _opened(cls, opened: Opened) -> Survival:
        releases = [Evidence.from_json(release) for release in opened.evidence["releases"]]
        if len(releases) != 2:
            raise Refused("curve.evidence.releases", "counts of the censored and of events are needed")
        question = {**opened.evidence["question"], "outside": Outside.APART.name}
        grid = read_cells(question, opened.arrays["x"])
        return cls.read((releases[0], releases[1]), grid, question["label"], opened.privacy)

    def _in_short(self) -> tuple[str, ...]:
        return self.label, f"median {self.median_in_words}"

    def _title(self) -> str:
        return f"Survival over {self.label}"

    def _summary(self) -> list[tuple[str, str]]:
        words = span(*self.median_interval(0.95))
        return [("median", self.median_in_words), ("95% interval of the median for these records", words)]

    @property
    def median_in_words(self) -> str:
        """The median and its cell, as they are printed."""
        lower, upper = self.median_cell
        if any(note.startswith(EVERYWHERE) for note in self.notes):
            return "not known"
        if lower == upper < inf:
            return numeral(lower)
        return f"{numeral(lower)}, in the cell {span(lower, upper)}" if lower < inf else "beyond the grid"


@dataclass(frozen=True, slots=True)
class SurvivalQuestion:
    """Time until an event, where some records are censored. One turn.

    Attributes:
        time: A column of numbers: the time of the event, or of censoring.
        event: The column that says whether the event happened.
        grid: Public cells of time; times outside are counted apart, whatever the grid says.
        by: Categories that were declared in public: one curve for each, all together at the privacy loss of one. A
            tuple of several columns: one for each combination.
        came: The value of `event` for an event.
        censored: The value of `event` for a censored record; may be left out where `came` is 1, 0, -1, True or False.
        measured_in: The measuring unit of time.

    Raises:
        ValueError: there are over 16,384 cells, or the labels cannot be told apart.
        TypeError: a field is of another kind.
    """

    time: str
    event: str
    grid: Grid
    by: By = None
    came: Category = 1
    censored: Category | None = None
    measured_in: str = ""

    def __post_init__(self) -> None:
        grid = Axis(self.time, self.grid).grid
        labels(self.event, self.came, self.censored, ("censored", "came"))
        axis_label(self.time, self.measured_in)
        keys_of(self.by)
        if grid.cells > MOST_CELLS:
            raise Refused("grid", f"at most {MOST_CELLS} cells of time are counted, got {grid.cells}")

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for one table: counts of censored records and of events in each cell, summed from the end."""
        axis = Axis(self.time, self.grid.with_outside(Outside.APART))
        axes = (labels(self.event, self.came, self.censored, ("censored", "came")), axis)
        found = yield from needed(Prefixes(axes_of(self.by, *axes)), ALL)
        rows, privacy = rows_of(found.counts), statement_of(found.releases)
        label = axis_label(self.time, self.measured_in)
        curves = [Survival.read(pair, axis.grid, label, privacy) for pair in zip(rows[::2], rows[1::2], strict=True)]
        if self.by is None:
            return curves[0]
        return ByCategory(columns_of(self.by), dict(zip(combined(keys_of(self.by)), curves, strict=True)))

    def __str__(self) -> str:
        return in_words(f"survival by {self.event}", self.time, self.by)


def _first(x: FloatArray, holds: BoolArray) -> float:
    return float(x[np.argmax(holds)]) if holds.any() else inf
