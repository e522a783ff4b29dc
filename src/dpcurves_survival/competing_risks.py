"""Competing risks: cumulative incidences (Aalen-Johansen) and cause-specific hazards, with bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Unpack

import numpy as np

from dpcurves import display
from dpcurves.arguments import Refused, chance, require_kind
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.conversation import ALL, Evidence, Needs, Prefixes, PrivacyStatement, Setting, needed
from dpcurves.curves.by_category import axis_label, in_words, parted, rows_of
from dpcurves.curves.outside import as_times
from dpcurves.curves.question import By, axes_of, declared_values, read_cells, statement_of
from dpcurves.curves.result import Covered, Drawing, notes_on_dependence
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.data.axis import Category
from dpcurves.display import numeral
from dpcurves.display.numerals import answered_point
from dpcurves.inference import public_generator
from dpcurves.inference.knowledge import KNOWN_AT, known_curve
from dpcurves.inference.simulation import draws_for, noise_of
from dpcurves.summaries.two_classes import non_decreasing

from . import inference
from .hazards import Counts, Hazards, hazards_of_few
from .inference import AtRisk, Curves, RiskTable, at_risk, band_between, censored_inside, known_cells
from .kaplan_meier import QUIET, require_times
from .pictures import draw_steps
from .survival_readings import CAME, MORE, TIME, Estimate, Of, edge_of, estimate, ratio_of_hazards

MOST_CAUSES = 32
LEAST_EVENTS = 1e-9  # events of a cell, at least, of which parts are taken
SHARES_DIFFER = 0.2  # standard deviation over time of the part of a cause in all events, before anything is known
ANY = "all causes together"


def table_of(censored: FloatArray, events: Sequence[FloatArray], *, tied: bool) -> RiskTable:
    """Risk tables from slots of a grid that counts values outside apart, each (..., cells + 2)."""
    whole, inside = at_risk(np.sum(events, axis=0), censored), [censored_inside(each) for each in events]
    fewest = whole.records if tied else whole.records - censored_inside(censored)
    return RiskTable(np.stack(inside, axis=-2), whole.records, fewest)


@dataclass(frozen=True, eq=False, repr=False)
class CompetingRisks(Covered):
    """The share of records with an event of each cause before each edge of the grid (Aalen and Johansen 1978).

    Events of a cell come before records are censored in it, as at ties of the textbook, and bands hold in whatever
    order they came; see `Survival`, also for where curves end. Hazards are those of each cause: whoever has an event of
    another one is no longer
    at risk.

    Attributes:
        causes: The events.
        label: What the x axis shows.
        privacy: The privacy statement, which every picture shows.
        evidence: The released counts of the censored, and of events of each cause.
        grid: Where the cells lie.

    Data frame: a row for each cause and edge.
    """

    KIND = "competing-risks"
    TITLE = "Competing risks over {label}"
    IN_SHORT = "{label}, {words}"
    ARRAYS = ("x", "at_risk")
    FORMS = MappingProxyType(
        {each: {"type": "object", "additionalProperties": display.NUMBERS} for each in ("incidence", "hazard")}
    )
    COVERS = "band"

    causes: tuple[Category, ...]
    label: str
    privacy: PrivacyStatement
    evidence: tuple[Evidence, ...]
    grid: Grid

    @classmethod
    def read(
        cls,
        evidence: tuple[Evidence, ...],
        causes: tuple[Category, ...],
        grid: Grid,
        label: str,
        privacy: PrivacyStatement,
    ) -> CompetingRisks:
        """From counts of the censored and of events of each cause, each of one row of cells, with those outside."""
        return cls(causes, label, privacy.noted(*notes_on_dependence(privacy)), evidence, grid)

    @property
    def words(self) -> str:
        """The number of causes, in words."""
        return f"{len(self.causes)} causes"

    @cached_property
    def x(self) -> FloatArray:
        """Edges of the grid, of shape ``(cells + 1,)``."""
        return self.grid.edges

    @cached_property
    def incidence(self) -> FloatArray:
        """The share with an event of each cause before each edge, of shape ``(causes, cells + 1)``; it never falls.

        NaN where nobody may be at risk, unless all have had an event before.
        """
        settled = bool(self._curves.left[int(self._followed.sum())] <= 0)
        come = inference.mask_unfollowed(self.extrapolated[:, 1:], self._followed, settled=settled)
        return np.concatenate([np.zeros((len(self.causes), 1)), come], axis=1)

    @cached_property
    def extrapolated(self) -> FloatArray:
        """The shares as `incidence` has them, level past the end of follow-up: for laws to simulate from."""
        come = np.stack([non_decreasing(row) for row in self._curves.come]).clip(0.0, 1.0)
        return np.asarray(come / np.maximum(come.sum(axis=0), 1.0))

    @cached_property
    def hazard(self) -> FloatArray:
        """The cumulative hazard of each cause before each edge, of shape ``(causes, cells + 1)``; it never falls.

        NaN where nobody may be at risk.
        """
        hazards = self._level_hazards
        return np.concatenate([hazards[:, :1], inference.mask_unfollowed(hazards[:, 1:], self._followed)], axis=1)

    @cached_property
    def _level_hazards(self) -> FloatArray:
        return np.stack([np.maximum(non_decreasing(row), 0.0) for row in self._curves.hazard])

    @property
    def follow_up_end(self) -> float:
        """The edge up to which the released number at risk is significantly above zero; the last value that is."""
        followed = int(self._followed.sum())
        return float(self._cells[followed - 1, 1]) if followed else float(self.x[0])

    @property
    def at_risk(self) -> FloatArray:
        """Records at risk in the cell that ends at each edge, unbiased; at the first edge all: ``(cells + 1,)``."""
        return np.append(self._told.records[:1], self._told.records)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Ends of bands of all incidences, at once with chance `level`: ``(causes * (cells + 1), 2)``, cause by cause.

        They are for the estimate from exact times of these records; with `population`, for that of the population,
        which needs independent units of one record each, and censoring that does not depend on what would have come.
        """
        level, drawn = chance("level", level), READ.drawn(self, 0, population=population)
        told = self._told.ends(drawn.known, self._cells)
        ends = [tuple(each.come.reshape(*each.come.shape[:-2], -1) for each in both) for both in (told, drawn[2:])]
        lower, upper = (each.reshape(self.incidence.shape) for each in band_between(ends[0], ends[1], level))  # type: ignore[arg-type]
        lower = np.fmin(np.maximum.accumulate(lower, axis=1).clip(0, 1), self.incidence)
        upper = np.minimum.accumulate(upper[:, ::-1], axis=1)[:, ::-1].clip(0, 1)
        return np.stack([lower.ravel(), np.fmax(upper, self.incidence).ravel()], axis=1)

    def incidence_at(self, cause: Category, time: float) -> Estimate:
        """The share with an event of this cause before `time`, rounded to the nearest edge of a cell.

        Raises:
            ValueError: there is no such cause, or `time` lies beyond the grid.
        """
        row, (edge, at) = self._row(cause), edge_of(self, "time", time)
        words = f"share with event {cause} at {answered_point(at, time)}"
        return estimate(words, (self,), lambda one: one.come[..., row, edge], CAME, READ)

    def time_lost(self, cause: Category, until: float) -> Estimate:
        """The mean time that this cause takes from `until` (Andersen 2013); see `restricted_mean`.

        Raises:
            ValueError: there is no such cause, or `until` lies beyond the grid.
        """
        row, (edge, time) = self._row(cause), edge_of(self, "until", until)
        middle = estimate(
            f"time lost to {cause} up to {answered_point(time, until)}",
            (self,),
            _lost(row, edge, time),
            TIME,
            READ,
            most=time,
        )
        return middle

    def incidence_difference(self, other: CompetingRisks, cause: Category, time: float) -> Estimate:
        """The share with an event of this cause before `time`, less that of another group.

        Raises:
            ValueError: there is no such cause, `time` lies beyond the grid, or grids or causes differ.
        """
        row, (edge, at) = self._beside(other, cause), edge_of(self, "time", time)
        words = f"difference of shares with event {cause} at {answered_point(at, time)}"
        return estimate(
            words, (self, other), lambda one: one.come[..., row, edge],
            MORE, READ,
        )  # fmt: skip

    def hazard_ratio(self, other: CompetingRisks, cause: Category) -> Estimate:
        """The hazard of this cause over that in another group; see `dpcurves.hazard_ratio`.

        Raises:
            ValueError: there is no such cause, or grids or causes differ.
        """
        row = self._beside(other, cause)
        return ratio_of_hazards(f"hazard ratio of {cause}", (self, other), READ, row)

    def _row(self, cause: Category) -> int:
        if cause not in self.causes:
            raise Refused("cause", f"one of {', '.join(map(str, self.causes))} is needed")
        return self.causes.index(cause)

    def _beside(self, other: CompetingRisks, cause: Category) -> int:
        require_kind("other", other, CompetingRisks, "competing risks of another group")
        if other.causes != self.causes or not np.array_equal(other.x, self.x):
            raise Refused("other", "the same causes on the same grid are needed")
        return self._row(cause)

    @property
    def _cells(self) -> FloatArray:
        values = self.grid.values
        return np.stack([self.x[:-1], self.x[1:]] if values is None else [values, values], axis=1)

    @cached_property
    def _told(self) -> RiskTable:
        censored, *events = (turn.unbiased[0] for turn in self.evidence)
        return table_of(censored, events, tied=self.grid.values is not None)

    def _noise(self, draw: np.random.Generator) -> RiskTable:
        drawn = [noise_of(turn.sums, turn.total, draws_for(turn.sums.cells), draw)[:, 0] for turn in self.evidence]
        return table_of(drawn[0], drawn[1:], tied=self.grid.values is not None)

    @cached_property
    def _at_risk(self) -> tuple[AtRisk, AtRisk]:
        """Events of all causes and records at risk, released ones and draws of their noise."""
        tables = self._told, self._noise(public_generator(None))
        released, noise = (AtRisk(table.events.sum(axis=-2), table.records) for table in tables)
        return released, noise

    @cached_property
    def _known(self) -> BoolArray:
        return known_cells(*self._at_risk)

    @cached_property
    def _followed(self) -> BoolArray:
        return inference.find_followed_cells(*self._at_risk)

    @cached_property
    def _curves(self) -> Curves:
        if self._few is None:
            return self._told.curves(self._followed, self._cells.mean(axis=1))
        return curves_of_causes(self._few, self._shares_of_causes, self._cells.mean(axis=1))

    @cached_property
    def _few(self) -> Hazards | None:
        """Shrunken hazards of all causes together, as of `Survival`; None where there is hardly any noise."""
        noise, generator = list[FloatArray](), public_generator(None)
        for turn in self.evidence:
            noise.append(noise_of(turn.sums, turn.total, draws_for(turn.sums.cells), generator)[:, 0])
        slots = [turn.unbiased[0] for turn in self.evidence]
        tables = [at_risk(np.sum(rows[1:], axis=0), rows[0]) for rows in (slots, noise)]
        events, records = (Counts(*pair) for pair in zip(*tables, strict=True))
        censored = Counts(censored_inside(slots[0]), censored_inside(noise[0]))
        if max(float(np.mean(each.noise**2)) for each in (events, censored)) < QUIET**2:
            return None
        return hazards_of_few(events, censored, Counts(records.found[0], records.noise[:, 0]), public_generator(None))

    @cached_property
    def _shares_of_causes(self) -> FloatArray:
        """The part of each cause in the events of each cell, (causes, cells), shrunk to that of all cells.

        What the events of a cause differ by from its usual part varies by chance, and with time; as much of it is kept
        as that is of the variance that noise gives it, too.
        """
        noise = self._noise(public_generator(None))
        hazards = self._few.weight @ self._few.hazard if self._few is not None else np.zeros(len(self._known))
        expected = np.maximum(hazards * np.maximum(self._told.records, 0.0), LEAST_EVENTS)
        whole = np.maximum(self._told.events.sum(axis=-1), 0.0) + LEAST_EVENTS
        usual = (whole / whole.sum())[:, None]
        apart = self._told.events - usual * self._told.events.sum(axis=-2)
        noisy = (noise.events - usual * noise.events.sum(axis=-2, keepdims=True)).var(axis=0)
        likely = expected * usual * (1 - usual) + (SHARES_DIFFER * expected) ** 2
        weight = likely / np.maximum(likely + noisy, LEAST_EVENTS)
        shares = np.maximum(usual * expected + weight * apart, 0.0) + LEAST_EVENTS * usual
        return np.asarray(shares / shares.sum(axis=0))

    @cached_property
    def _shown(self) -> Mapping[str, FloatArray]:
        """Incidences and hazards, each NaN for a cause of which nothing is known: (causes, cells + 1)."""
        lower, upper = self.intervals(KNOWN_AT).T.reshape(2, *self.incidence.shape)
        incidence = [known_curve(*each) for each in zip(self.incidence, zip(lower, upper, strict=True), strict=True)]
        return {"incidence": np.array(incidence), "hazard": np.where(np.isnan(incidence), np.nan, self.hazard)}

    def _columns(self) -> dict[str, Any]:
        edges, (incidence, hazard) = len(self.x), self._shown.values()
        return {
            "cause": [str(cause) for cause in self.causes for _ in range(edges)],
            "x": np.tile(self.x, len(self.causes)), "incidence": incidence.ravel(), "hazard": hazard.ravel(),
            "at_risk": np.tile(self.at_risk, len(self.causes)),
        }  # fmt: skip

    def _arrays(self) -> Mapping[str, object]:
        rows = {name: dict(zip(map(str, self.causes), found, strict=True)) for name, found in self._shown.items()}
        return {**super()._arrays(), **rows}

    def _drawn(self, shades: Sequence[Any], /, **how: Unpack[Drawing]) -> Any:
        ax, before, size = how["ax"], "" if how["name"] is None else f"{how['name']}, ", len(self.x)
        for row, cause in enumerate(self.causes):
            own = [shade.at(slice(row * size, (row + 1) * size)) for shade in shades]
            words: Any = {"label": self.label, "upwards": "share with an event", "share": True}
            told: Drawing = {"privacy": how["privacy"], "ax": ax, "name": f"{before}{cause}"}
            ax = draw_steps(self.x, self._shown["incidence"][row], shades=own, **words, **told)
        return ax

    def _question(self) -> Mapping[str, object]:
        return {"label": self.label, "causes": list(self.causes), **declared_values(self.grid)}

    @classmethod
    def _opened(cls, opened: display.Opened) -> CompetingRisks:
        question, turns = opened.question, opened.turns
        causes, grid = tuple(question["causes"]), read_cells(question, opened.arrays["x"], Outside.APART)
        if len(turns) != 1 + len(causes):
            raise Refused("curve.evidence.releases", "counts of the censored and of events of each cause are needed")
        return cls.read(turns, causes, grid, question["label"], opened.privacy)

    def _summary(self) -> list[tuple[str, str]]:
        end = int(np.flatnonzero(np.isfinite(self.incidence[0]))[-1])
        words = (
            f"before {self.x[end]:g}" if self.grid.values is None or end == 0 else f"up to {self._cells[end - 1, 1]:g}"
        )
        shares = zip(self.causes, self._shown["incidence"][:, end], strict=True)
        return [(f"share with event {cause} {words}", numeral(float(share))) for cause, share in shares]


def curves_of_causes(few: Hazards, shares: FloatArray, at: FloatArray) -> Curves:
    """The curves of hazards of all causes together, of which each cause has a part in each cell, (causes, cells)."""
    left = np.cumprod(1 - few.hazard, axis=1)
    before = np.concatenate([np.ones((len(left), 1)), left[:, :-1]], axis=1)
    come, hazard = (np.cumsum(few.weight @ each * shares, axis=-1) for each in (before * few.hazard, few.hazard))
    start, share = np.zeros((len(shares), 1)), np.append(1.0, few.weight @ left)
    return Curves(
        share, np.hstack([start, come]), np.hstack([start, hazard]), at, at, share
    )  # fmt: skip


def _lost(row: int, edge: int, time: float) -> Any:
    return lambda one: one.lost_to(time, edge)[..., row]


def _likely(found: CompetingRisks) -> FloatArray:
    hazards = np.diff(found._level_hazards, axis=1)
    return np.asarray(hazards / np.maximum(hazards.sum(axis=0), 1.0))


READ = Of(
    lambda found: found._told, CompetingRisks._noise, _likely,
    lambda found: found._curves._replace(come=found.incidence, hazard=found.hazard),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CompetingRisksQuestion:
    """Time until the first of several kinds of event, where some records are censored. One turn.

    Formal guarantees: a record lies in one cell of one table of events and times, and changes one count when it comes
    or goes, two when it is replaced, whichever event it has.

    Attributes:
        time: A column of numbers: the time of the event, or of censoring.
        event: The column that says which event happened, or that the record was censored.
        grid: Public cells of time; times outside are counted apart, whatever the grid says.
        causes: The values of `event` for events, declared in public; other values count as missing.
        censored: The value of `event` for a censored record.
        by: Categories that were declared in public: one result for each, all together at the privacy loss of one.
        measured_in: The measuring unit of time.

    Raises:
        ValueError: there are over 16,384 cells or 32 causes, or two labels are one.
        TypeError: a field is of another kind.

    >>> import dpcurves as dp
    >>> table = {"months": [3, 5, 9] * 900, "outcome": ["relapse", "death", "none"] * 900}
    >>> question = dp.CompetingRisksQuestion("months", "outcome", dp.Values(range(13)), ("relapse", "death"), "none")
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     risks = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> abs(risks.incidence_at("relapse", 6).value - 1 / 3) < 0.05
    True
    """

    time: str
    event: str
    grid: Grid
    causes: tuple[Category, ...]
    censored: Category = 0
    by: By = None
    measured_in: str = ""

    def __post_init__(self) -> None:
        require_times(self.time, self.grid, self.measured_in, self.by)
        if not isinstance(self.causes, (tuple, list)) or not 1 <= len(self.causes) <= MOST_CAUSES:
            raise Refused("causes", f"from 1 to {MOST_CAUSES} kinds of event are needed, in a tuple")
        object.__setattr__(self, "causes", tuple(self.causes))
        self._labels()

    def _labels(self) -> Categories:
        return Categories(self.event, (self.censored, *self.causes))

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for one table: counts of censored records and of events of each cause in each cell."""
        axis, rows = Axis(self.time, self.grid.with_outside(Outside.APART)), 1 + len(self.causes)
        found = yield from needed(Prefixes(axes_of(self.by, self._labels(), axis)), ALL)
        parts, privacy = rows_of(found.counts), statement_of(found.releases, least=as_times(self.time))
        label = axis_label(self.time, self.measured_in)
        groups = [tuple(parts[first : first + rows]) for first in range(0, len(parts), rows)]
        return parted(
            self.by, [CompetingRisks.read(each, self.causes, axis.grid, label, privacy) for each in groups]
        )  # fmt: skip

    def __str__(self) -> str:
        return in_words(f"competing risks by {self.event}", self.time, self.by)
