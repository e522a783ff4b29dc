"""How long until an event, where some records are censored: Kaplan-Meier and Nelson-Aalen curves in bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from ..postprocess.inference.survival import (
    FEWEST_AT_RISK,
    AtRisk,
    cumulative_hazard,
    known_cells,
    log_errors,
    median_edges,
    survival,
    survival_band,
)
from ..release import ALL, Evidence, PrivacyStatement, Setting
from ..workloads import Needs, Prefixes, needed
from .by_category import ByCategory, rows_of
from .keys import By, axes_of, columns_of, combined, keys_of
from .question import require_independent, statement_of
from .result import Covered
from .turns.labels import labels
from .turns.leaving import Leaving
from .turns.one_table import axis_label, in_words
from .wide_cells import notes_on_wide_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Opened, Shade

MOST_CELLS = 2**14
LEVEL = 0.95
"""The level of the intervals of numbers at risk on pictures."""


@dataclass(frozen=True, eq=False, repr=False)
class Survival(Covered):
    """The share of records without an event until each edge of the grid, as Kaplan and Meier estimate it.

    Events and censoring are taken to happen at the end of their cell, events first. If records are censored inside wide
    cells, the numbers at risk and the survival curve are therefore biased upwards, even without noise: choose cells as
    narrow as the unit in which times are recorded. Where released counts show that this bias may be large, a note says
    how large. Times beyond the grid are censored at its end; times below it count in the first cell.

    Attributes:
        x: Edges of the grid, of shape ``(cells + 1,)``.
        y: The share that survives up to each edge: 1 at the first, and non-increasing.
        cumulative_hazard: The estimate of Nelson and Aalen at each edge, of the same shape.
        at_risk: Records at risk in the cell that ends at each edge, unbiased; at the first edge all records. See
            `at_risk_intervals`.
        label: What the x axis shows.
        privacy: The privacy statement, which every picture shows.
        evidence: The released counts of censored records and of events.
        grid: Where the cells lie.
    """

    KIND: ClassVar[str] = "survival"

    x: FloatArray
    y: FloatArray
    cumulative_hazard: FloatArray
    at_risk: FloatArray
    label: str
    privacy: PrivacyStatement
    evidence: tuple[Evidence, Evidence]
    grid: Grid

    @classmethod
    def read(cls, evidence: tuple[Evidence, Evidence], grid: Grid, label: str, privacy: PrivacyStatement) -> Survival:
        """From counts of the censored and of events, each of one row of cells, with those outside apart."""
        told, noises = Leaving.counted(evidence), Leaving.noise(evidence, public_generator(None))
        found, known = told.at_risk, known_cells(told.at_risk, noises.at_risk)
        share, hazard = survival(found, known), cumulative_hazard(found, known)
        records = np.append(found.records[:1], found.records)
        noted = privacy.noted(*notes_on_wide_cells(told.within(known), noises.within(known)))
        return cls(grid.edges, np.append(1.0, share), np.append(0.0, hazard), records, label, noted, evidence, grid)

    @property
    def turns(self) -> Sequence[Evidence]:
        """What was released: rows of one table."""
        return self.evidence

    @property
    def median(self) -> float:
        """The first edge to which at most half survive; infinite if there is none."""
        return _first(self.x, self.y <= 0.5)

    def median_interval(self, level: float, *, population: bool = False) -> tuple[float, float]:
        """A confidence interval for the median between edges, with probability `level`; see `median_edges`.

        The interval includes its ends: where cells are wide and the noise is small the coverage is higher.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        errors, known = self._errors(population)
        ends = np.append(self.x[1:], inf)
        low, high = median_edges(self.y[1:], errors, known, chance("level", level))
        return float(ends[low]), float(ends[high])

    def band(self, level: float, *, population: bool = False) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of `y`, all correct at once with chance `level`; see `survival_band`.

        They are for the curve of these records on this grid. With `population`, they are for that of the population
        that the records were drawn from, with times moved to the ends of the same cells; that needs independent units
        of one record each, and censoring that does not depend on the time of the event. For the population, where 20
        records or fewer are at risk, the lower end is 0 and the upper end is that of the cell before.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        errors, known = self._errors(population)
        lower, upper = survival_band(self.y[1:], errors, known, chance("level", level))
        return np.append(1.0, lower), np.append(1.0, upper)

    def _ends(self, level: float, /, *, population: bool) -> tuple[FloatArray, FloatArray]:
        return self.band(level, population=population)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """The band as ends, of shape ``(cells + 1, 2)``.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        return np.stack(self.band(level, population=population), axis=1)

    def _errors(self, population: bool) -> tuple[FloatArray, BoolArray]:
        """Simulated errors of logarithms, and the cells of which anything is said."""
        if not population:
            return log_errors(self._found, self._noise, self._known, None), self._known
        require_independent(self.privacy)
        draw = public_generator(None)
        noise = Leaving.noise(self.evidence, draw).at_risk
        normal = draw.standard_normal(noise.events.shape)  # after the noise, so that it does not depend on it
        known = np.logical_and.accumulate(self._known & (self._found.records > FEWEST_AT_RISK))
        return log_errors(self._found, noise, known, normal), known

    @cached_property
    def _found(self) -> AtRisk:
        return Leaving.counted(self.evidence).at_risk

    @cached_property
    def _noise(self) -> AtRisk:
        return Leaving.noise(self.evidence, public_generator(None)).at_risk

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
        return {"label": self.label}

    @classmethod
    def _opened(cls, opened: Opened) -> Survival:
        releases = [Evidence.from_json(release) for release in opened.evidence["releases"]]
        if len(releases) != 2:
            raise Refused("curve.evidence.releases", "counts of the censored and of events are needed")
        grid = Grid.from_edges(opened.arrays["x"], outside=Outside.APART)
        return cls.read((releases[0], releases[1]), grid, opened.evidence["question"]["label"], opened.privacy)

    def _in_short(self) -> tuple[str, ...]:
        return self.label, f"median {numeral(self.median) if self.median < inf else 'beyond the grid'}"

    def _title(self) -> str:
        return f"Survival over {self.label}"

    def _summary(self) -> list[tuple[str, str]]:
        words = span(*self.median_interval(0.95))
        return [("median", numeral(self.median) if self.median < inf else "beyond the grid"),
                ("95% interval of the median for these records", words)]  # fmt: skip


@dataclass(frozen=True, slots=True)
class SurvivalQuestion:
    """How long until an event, where some records are censored? One turn.

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
        """One table: counts of censored records and of events in each cell, summed from the end."""
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
