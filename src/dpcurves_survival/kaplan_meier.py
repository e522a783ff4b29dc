"""Survival with censoring: Kaplan-Meier and Nelson-Aalen curves with bands, and the log-rank test.

`SurvivalQuestion` asks for the numbers of events and of censored records in public cells of time. `Survival` holds the
curve, its band, the median and the numbers at risk. `log_rank_test` compares two curves, accounting for their noise.

Formal guarantees: a record lies in one cell of one table, so the question has the loss of one histogram. Everything
else is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self, Unpack

import numpy as np

from dpcurves import display
from dpcurves.arguments import InvalidArgument, require_power, require_probability, require_type
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.conversation import (
    WHOLE_BUDGET,
    Evidence,
    Needs,
    PrefixWorkload,
    PrivacyStatement,
    Release,
    Setting,
    ask_workload,
)
from dpcurves.conversation.notes import add_advice
from dpcurves.curves.by_category import collect_by_category, describe_grouping, format_axis_label, split_rows
from dpcurves.curves.outside import note_thresholds_for_times
from dpcurves.curves.question import (
    By,
    TableQuestion,
    build_privacy_statement,
    declared_values_to_json,
    grid_from_cells,
    parse_class_labels,
    parse_grouping,
    prepend_category_axes,
    require_independent,
)
from dpcurves.curves.result import (
    IntervalResult,
    PlotArguments,
    interval_scopes,
    name_ends,
    notes_on_width,
    warn_about_notes,
)
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.data.axis import Category
from dpcurves.display import format_interval, format_number
from dpcurves.inference import public_generator
from dpcurves.inference.simulation import choose_draws, simulate_cell_noise

from . import inference
from .hazards import TUNING, HazardPosterior, NoisyCounts, estimate_shrunken_hazards
from .pictures import AtRiskRow, draw_survival

Pair = tuple[Evidence, ...]
"""Counts of censored records and counts of events, as rows of cells, with times outside the grid counted separately."""


class EventTable(NamedTuple):
    """Unbiased counts of records that leave, or their noise.

    Attributes:
        at_risk: Events and records at risk, (..., cells).
        censored: Records censored in each cell, (..., cells).
        entries: Records that enter observation inside each cell, (..., cells); 0 if all are observed from the
            beginning.
    """

    at_risk: inference.AtRisk
    censored: FloatArray
    entries: FloatArray | float = 0.0

    @classmethod
    def from_counts(cls, pair: Pair) -> Self:
        """Return the table of unbiased released counts, (cells,).

        Args:
            pair: Released counts of censored records, then of events; both by cell.
        """
        censored, events = (counts.unbiased_cells[0] for counts in pair)
        return cls(inference.count_at_risk(events, censored), inference.count_censored_inside(censored))

    @classmethod
    def sample_noise(cls, pair: Pair, draw: np.random.Generator) -> Self:
        """Return simulated noise of the table, (draws, cells).

        Args:
            pair: Released counts of censored records, then of events.
            draw: Random numbers of the simulation.
        """
        censored, events = (
            simulate_cell_noise(turn.sums, turn.total, choose_draws(turn.sums.cells), draw)[:, 0] for turn in pair
        )
        return cls(inference.count_at_risk(events, censored), inference.count_censored_inside(censored))

    @property
    def at_risk_censored_first(self) -> inference.AtRisk:
        """Events and records at risk if censoring precedes events in each cell, and entries follow them: the fewest
        at risk."""
        return inference.AtRisk(self.at_risk.events, self.at_risk.records - self.censored - self.entries)

    @property
    def exits(self) -> FloatArray:
        """Events and censored records of each cell, (..., cells)."""
        return np.asarray(self.at_risk.events + self.censored)

    def select_subset(self, selection: Any) -> EventTable:
        """Return the table for some of the cells, or of the draws, by index.

        Args:
            selection: Index of NumPy, applied to the arrays (..., cells): a mask, a slice or a tuple of these.
        """
        entered = self.entries[selection] if isinstance(self.entries, np.ndarray) else self.entries
        return EventTable(self.at_risk.select_subset(selection), self.censored[selection], entered)


def notes_on_wide_cells(released_table: EventTable, noise: EventTable) -> tuple[str, ...]:
    """Return a note if survival may be overestimated because records are censored inside cells.

    Args:
        released_table: The released table, in cells with a known number at risk.
        noise: Its simulated noise.
    """
    share = inference.estimate_censoring_bias(
        released_table.at_risk, released_table.censored, noise.at_risk, noise.censored
    )
    if share == 0:
        return ()
    fact = (
        f"about {share:.0%} of the records may seem to survive only because cells are wide: those censored inside "
        "a cell count as at risk until its end, of which half would be if they left evenly over it"
    )
    return (add_advice(fact, "if times are written more finely, take narrower cells"),)


def notes_on_log_rank_bias(tables: Sequence[EventTable], noises: Sequence[EventTable]) -> tuple[str, ...]:
    """Return a note if censoring inside cells may produce a difference in a log-rank test of two groups.

    Args:
        tables: Released tables of both groups, in the cells of the test.
        noises: Their simulated noise.
    """
    (first_at_risk, first_censored, _), (second_at_risk, second_censored, _) = tables
    (moves, lost, _), (moved, missed, _) = noises
    deviations = inference.estimate_log_rank_bias(
        (first_at_risk, second_at_risk), (first_censored, second_censored), (moves, moved), (lost, missed)
    )
    if deviations == 0:
        return ()
    fact = (
        f"the test may be {deviations:.1f} standard deviations off because cells are wide, if times are written more "
        "finely: groups that are censored differently inside cells seem to survive differently"
    )
    return (add_advice(fact, "take narrower cells"),)


WHOLE_BAND = "the band at every time"
"""Beginning of a curve's note that its band is too wide at every time; the median then is `UNKNOWN_MEDIAN`."""
UNKNOWN_MEDIAN = "not known"
"""Text in the place of the median, in tables and summaries, if the band is too wide at every time."""
PLOT_LEVEL = 0.95
"""Coverage probability of the bands, and of the intervals of numbers at risk, on plots."""


@dataclass(frozen=True, eq=False, repr=False)
class Survival(IntervalResult):
    """The Kaplan-Meier estimate: the share of records without an event before each edge of the grid.

    Events of a cell precede censoring in it, like ties in the textbook. For integer times and cells of width one, the
    value at an edge is survival past the integer below it. Declared values (`Values`) have their own cells, with edges
    half way between, so nothing inside a cell is unknown. If times are finer than cells, the estimate from exact times
    is lower: bands and intervals contain it for any order of records inside cells. If released counts show that it may
    be much lower, a note states by how much. Times beyond the grid are censored at its end; times below it count in the
    first cell.

    The curve ends with follow-up: it is NaN past the last cell in which the released number at risk is significantly
    above zero, while bands contain all possible values. A curve that has reached 0 stays 0. As in R's `survfit`, a
    median that the curve does not reach is `inf`, printed as "not reached".

    Attributes:
        label: Label of the x axis.
        privacy: The privacy statement, shown on every plot.
        evidence: The released counts of censored records and of events.
        grid: The cells.
    """

    KIND = "survival"
    TITLE = "Survival over {label}"
    COLUMN_WORDS = display.describe_columns(
        x="{label}",
        y=("share without an event", display.CellFormat.SHARE),
        cumulative_hazard="cumulative hazard",
        at_risk=("at risk", display.CellFormat.COUNT),
    )
    REPR_FACTS = "{label}, median {median_text}"
    COLUMNS = ("x", "y", "cumulative_hazard", "at_risk")
    INTERVAL_NAME = "band"
    # the hazard is known as far as survival is
    POSSIBLE_RANGES = MappingProxyType({"y": (0.0, 1.0), "cumulative_hazard": (0.0, 1.0)})
    IS_CURVE = True
    WEIGHTED: ClassVar[bool] = False
    IS_ADDITIVE = True

    label: str
    privacy: PrivacyStatement
    evidence: tuple[Evidence, ...]
    grid: Grid

    @classmethod
    def from_counts(cls, evidence: tuple[Evidence, ...], grid: Grid, label: str, privacy: PrivacyStatement) -> Self:
        """Return the curve for counts of censored records and counts of events.

        Args:
            evidence: The counts of both, with times outside the grid separate.
            grid: The grid of times whose cells were counted.
            label: What the times are, as on the axis of a picture.
            privacy: The statement of what was spent; notes on wide cells and wide bands are added to it.
        """
        return cls(label, privacy, evidence, grid)._add_notes()

    def _add_notes(self) -> Self:
        """Return the curve with notes in its privacy statement if cells or bands are too wide for its conclusions.

        The curve of a plan, which has no privacy loss yet, gets no notes: they would take most of the time of a plan.
        The note on bands uses the band before it is extended to contain the curve, which is slow to compute and at
        least as wide.
        """
        if not self.privacy.grant:
            return self
        known = self._known_cells
        released = self._event_table
        noises = self._simulated_noise
        # Declared values have a fixed order of ties.
        wide: tuple[str, ...] = ()
        if self.grid.values is None:
            wide = notes_on_wide_cells(released.select_subset(known), noises.select_subset((..., known)))
        lower, upper = inference.survival_band(*self._simulate_tie_orders(population=False), PLOT_LEVEL)
        return replace(self, privacy=self.privacy.with_notes(*wide, *notes_on_width(upper - lower, WHOLE_BAND)))

    @cached_property
    def x(self) -> FloatArray:
        """Edges of the grid, of shape ``(cells + 1,)``."""
        return self.grid.edges

    @cached_property
    def y(self) -> FloatArray:
        """The share without an event before each edge: 1 at the first edge, nonincreasing, of the shape of `x`.

        NaN past `follow_up_end`. If noise is large relative to the counts, hazards are shrunk towards smooth or
        constant hazards, as far as the released counts allow; see `dpcurves_survival.hazards`. Bands and intervals use
        the counts alone.
        """
        share = self.extrapolated_survival[1:]
        return np.append(1.0, inference.mask_unfollowed(share, self._followed_cells, settled=self._has_reached_zero))

    @cached_property
    def extrapolated_survival(self) -> FloatArray:
        """The curve `y`, continued past `follow_up_end`, where no record gives information; of the shape of `x`.

        For simulation only, not for statements.
        """
        if self._shrunken_hazards is not None:
            share = self._shrunken_hazards.survival
        else:
            share = inference.estimate_survival(self._event_table.at_risk, self._followed_cells)
        return np.append(1.0, share)

    @cached_property
    def cumulative_hazard(self) -> FloatArray:
        """The Nelson-Aalen estimate before each edge, of the shape of `x`; NaN past `follow_up_end`."""
        followed = self._followed_cells
        if self._shrunken_hazards is not None:
            hazard = self._shrunken_hazards.cumulative_hazard
        else:
            hazard = inference.estimate_cumulative_hazard(self._event_table.at_risk, followed)
        return np.append(0.0, inference.mask_unfollowed(hazard, followed))

    @property
    def follow_up_end(self) -> float:
        """The last edge, or declared value, up to which the released number at risk is significantly above zero."""
        followed = int(self._followed_cells.sum())
        return float(self._cell_bounds[followed - 1, 1]) if followed else float(self.x[0])

    @property
    def _has_reached_zero(self) -> bool:
        """Whether the curve is 0 at the end of follow-up, so that no record can have a later event."""
        return bool(self.extrapolated_survival[int(self._followed_cells.sum())] == 0)

    @cached_property
    def at_risk(self) -> FloatArray:
        """Number at risk in the cell that ends at each edge, at least 0; at the first edge the number of all records.

        Nonincreasing, unless records enter late; see `at_risk_intervals`.
        """
        return inference.estimate_at_risk(
            self._event_table.at_risk, self._simulated_noise.at_risk, may_rise=self.AT_RISK_MAY_RISE
        )

    @cached_property
    def _shrunken_hazards(self) -> HazardPosterior | None:
        """Posterior of hazards shrunk towards smooth or constant ones; None if the noise is negligible or no prior
        fits."""
        released, noise = self._event_table, self._simulated_noise
        events = NoisyCounts(released.at_risk.events, noise.at_risk.events)
        censored = NoisyCounts(released.exits - events.counts, noise.exits - events.noise)
        if max(float(np.mean(counts.noise**2)) for counts in (events, censored)) < TUNING.negligible_noise**2:
            return None
        records = NoisyCounts(released.at_risk.records[0], noise.at_risk.records[:, 0])
        return estimate_shrunken_hazards(events, censored, records, public_generator(None))

    @property
    def median_cell(self) -> tuple[float, float]:
        """The edges of the first cell at whose end survival is at most one half; both infinite if survival stays above.

        For declared values, the value of that cell, twice.
        """
        passed = np.flatnonzero(self.y[1:] <= 0.5)
        if not len(passed):
            return inf, inf
        lower, upper = self._cell_bounds[passed[0]].tolist()
        return lower, upper

    @property
    def _cell_bounds(self) -> FloatArray:
        """Bounds of each cell, (cells, 2): its edges, or its declared value twice."""
        values = self.grid.values
        return np.stack([self.x[:-1], self.x[1:]] if values is None else [values, values], axis=1)

    @property
    def median(self) -> float:
        """The lower edge of `median_cell`; infinite if the curve ends before. For integer times and cells of width one,
        the first time past which survival is at most one half."""
        return self.median_cell[0]

    def median_interval(self, level: float, *, population: bool = False) -> tuple[float, float]:
        """Return a confidence interval for the median, between edges of cells.

        It reaches from the lower edge of the first cell that may contain the median to the upper edge of the last, for
        any order of records inside cells; see `median_cells`. Coverage exceeds `level` for wide cells and little noise.

        Args:
            level: Confidence level, between 0 and 1.
            population: If True, the interval is for the population.

        Returns:
            Lower and upper end; the upper end is infinite if survival may stay above one half.
        """
        first, last = inference.median_cells(
            *self._simulate_tie_orders(population), require_probability("level", level)
        )
        cells = np.concatenate([self._cell_bounds, [[self._cell_bounds[-1, 1], inf]]])
        return float(cells[first, 0]), float(cells[last, 1])

    def band(self, level: float, *, population: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds of the curve, simultaneous at `level`; see `survival_band`.

        They are for the Kaplan-Meier estimate of these records from exact times, before each edge; with `population`,
        for the survival function of the population. That needs independent units of one record each, and censoring that
        is independent of event times. For the population, cells with 5 or fewer records at risk have the lower bound 0
        and the upper bound of the cell before. The band contains `y`.

        Args:
            level: Confidence level, between 0 and 1.
            population: If True, the band is for the population.
        """
        orders, known = self._simulate_tie_orders(population)
        lower, upper = inference.survival_band(orders, known, require_probability("level", level))
        y = np.fmin.accumulate(self.y)  # the curve may be constant past its end
        return np.fmin(np.append(1.0, lower), self.y), np.maximum(np.append(1.0, upper), y)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return the band as bounds, of shape ``(cells + 1, 2)``.

        Args:
            level: Confidence level, between 0 and 1.
            population: If True, the band is for the population, not for these records.

        Returns:
            Lower and upper bound at each edge, as in `band`; the band is simultaneous.

        Raises:
            ValueError: `level` is not between 0 and 1; or for the population, a unit may have several records.
        """
        return np.stack(self.band(level, population=population), axis=1)

    def _simulate_tie_orders(self, population: bool) -> tuple[inference.TieOrders, BoolArray]:
        """Return survival and its simulated errors under both extreme orders of records inside cells: all censoring
        after the events of its cell, or all before.

        Args:
            population: Whether sampling errors are simulated as well.

        Returns:
            Estimates and errors under both orders; and a mask of the cells whose number at risk is significant,
            (cells,).
        """
        noises = self._simulated_noise
        known = self._known_cells
        sampling = None
        late = self._event_table.at_risk
        if population:
            require_independent(self.privacy)
            draw = public_generator(None)
            noises = self._sample_noise(draw)
            known = np.logical_and.accumulate(known & (late.records > inference.TUNING.fewest_at_risk))
            records = np.maximum(late.records - noises.at_risk.records, 1.0)
            # Drawn after the noise, so that the noise does not depend on whether sampling is drawn.
            sampling = inference.sample_survival_errors(
                inference.hazards_from_survival(self.extrapolated_survival[1:]), records, draw
            )
        # At declared values times are tied, and events precede censoring, as in the textbook.
        is_tied = self.grid.values is not None
        early = late, noises.at_risk
        if not is_tied:
            early = self._event_table.at_risk_censored_first, noises.at_risk_censored_first
        floor, late_errors = inference.simulate_log_errors(late, noises.at_risk, known, sampling)
        _, early_errors = inference.simulate_log_errors(*early, known, sampling, before_next_event=True)
        shares = [inference.estimate_survival(table, known) for table in (late, early[0])]
        shares[0][known] = np.where(shares[0][known] > 0, shares[0][known], np.minimum.accumulate(floor))
        return inference.TieOrders(shares[0], shares[1], late_errors, early_errors), known

    @cached_property
    def _event_table(self) -> EventTable:
        """Unbiased released events, numbers at risk and censored records, (cells,)."""
        return EventTable.from_counts(self.evidence)

    @cached_property
    def _simulated_noise(self) -> EventTable:
        """Noise of `_event_table`, simulated with a fixed public seed, (draws, cells)."""
        return self._sample_noise(public_generator(None))

    def _sample_noise(self, draw: np.random.Generator) -> EventTable:
        """Return simulated noise of the event table, (draws, cells), from this generator of random numbers."""
        return EventTable.sample_noise(self.evidence, draw)

    @property
    def _known_cells(self) -> BoolArray:
        """Mask of the leading cells whose number at risk is clear of the noise, (cells,); bands use these cells."""
        return inference.find_known_cells(self._event_table.at_risk, self._simulated_noise.at_risk)

    @cached_property
    def _followed_cells(self) -> BoolArray:
        """Mask of the cells up to the last one whose number at risk is significantly above zero, (cells,): those
        where `y` is a number."""
        return inference.find_followed_cells(self._event_table.at_risk, self._simulated_noise.at_risk)

    def at_risk_intervals(self, level: float) -> FloatArray:
        """Return lower and upper bounds of `at_risk`, simultaneous at `level`, of shape ``(cells + 1, 2)``.

        They are for the numbers of these records, so they cover noise alone. They contain `at_risk` and, like it, do
        not rise, unless records enter late.

        Args:
            level: Confidence level of all intervals together, between 0 and 1.

        Raises:
            ValueError: `level` is not between 0 and 1.
        """
        tables = self._event_table.at_risk, self._simulated_noise.at_risk
        level = require_probability("level", level)
        return inference.bound_at_risk(*tables, level, may_rise=self.AT_RISK_MAY_RISE)

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """Return the numbers as a data frame; with a `level`, also bounds of the band and of the numbers at risk.

        The band is for these records or, with `population`, for the population. Numbers at risk are always of these
        records.

        Args:
            level: Confidence level of the bounds; None: without bounds.
            population: If True, the band is for the population.
        """
        return super().to_frame(level=level, population=population)

    def _interval_columns(self, level: float, *, population: bool) -> dict[str, Any]:
        """Return columns of the bounds of the band and of the numbers at risk, for the data frame.

        Args:
            level: Confidence level, between 0 and 1; the band is simultaneous, intervals of numbers at risk are not.
            population: Whether the band is for the population; numbers at risk are always of these records.

        Returns:
            Columns by name, (cells + 1,) each.
        """
        ends = dict(zip(("at_risk_lower", "at_risk_upper"), self.at_risk_intervals(level).T, strict=True))
        return super()._interval_columns(level, population=population) | ends

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the curve with its bands and, if bands are drawn, numbers at risk with 95 % intervals; return the
        axes.

        Args:
            shades: Bands, wider ones first; empty: neither bands nor intervals are drawn.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        risk = AtRiskRow.from_numbers(self.x, self.at_risk, self.at_risk_intervals(PLOT_LEVEL) if shades else None)
        plot_arguments: Any = {"label": self.label, "at_risk": risk, "weighted": self.WEIGHTED}
        return draw_survival(self.x, self._mask_unknown("y", self.y), shades=shades, **plot_arguments, **how)

    def _question(self) -> dict[str, object]:
        """Return the JSON fields that restore the curve with `_from_json`: label and declared values of the grid."""
        return {"label": self.label, **declared_values_to_json(self.grid)}

    RELEASES: ClassVar[int] = 2
    """Rows of released counts."""

    AT_RISK_MAY_RISE: ClassVar[bool] = False
    """Whether records enter observation late, so that the number at risk may rise."""

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Self:
        """Return the curve from a parsed JSON document.

        Args:
            document: Parsed JSON document of the result.

        Raises:
            InvalidArgument: there are not `RELEASES` rows of counts.
        """
        if len(turns := document.releases) != cls.RELEASES:
            raise InvalidArgument(
                "curve.evidence.releases",
                "must have two rows of counts, of the censored and of events: the text was changed, or is of another "
                "curve; use the text that to_json wrote",
            )
        grid = grid_from_cells(document.question, document.arrays["x"], Outside.APART)
        return cls.from_counts(turns, grid, document.question["label"], document.privacy)

    def _summary(self) -> list[tuple[str, str]]:
        """Return pairs of description and text: the median, its 95 % interval for these records, and the end of
        follow-up if it is before the end of the grid."""
        words = format_interval(*self.median_interval(0.95))
        ended = (
            [] if self._followed_cells.all() else [("follow-up", f"known up to {format_number(self.follow_up_end)}")]
        )
        return [("median", self.median_text), ("95% interval of the median for these records", words), *ended]

    KEY_WORDS = display.describe_columns(records=("records", display.CellFormat.COUNT), median="median of {label}")

    def key_columns(self, level: float, *, population: bool = True) -> dict[str, Any]:
        """Return the number at risk at the beginning, and the median with its intervals.

        Args:
            level: Confidence level of the intervals.
            population: Whether an interval for the population is added to the interval for these records; it is left
                out if units may have several records.

        Returns:
            Values by column name: ``records``, ``median`` (a text if it is unknown or beyond the grid),
            ``median_lower`` and ``median_upper``, with the population ``median_lower_population`` and
            ``median_upper_population`` too.
        """
        limits = {
            of_population: self.median_interval(level, population=of_population)
            for of_population in interval_scopes(self.privacy, population=population).values()
        }
        lower, upper = self.median_cell
        text = self.median_text
        is_number = isfinite(upper) and text != UNKNOWN_MEDIAN
        return {
            "records": float(self.at_risk[0]), "median": lower if is_number else text, **name_ends("median", limits)
        }  # fmt: skip

    @property
    def median_text(self) -> str:
        """The median and its cell as text; "not known" if bands are too wide, "not reached up to ..." if more than
        half survive."""
        lower, upper = self.median_cell
        if any(note.startswith(WHOLE_BAND) for note in self.notes):
            return UNKNOWN_MEDIAN
        if lower == upper < inf:
            return format_number(lower)
        if lower == inf:
            return f"not reached up to {format_number(self.follow_up_end)}"
        return f"{format_number(lower)}, in the cell {format_interval(lower, upper)}"


def event_categories(question: Any) -> Categories:
    """Return the event column of a question with its two public values: censored first, then event.

    Args:
        question: Question with columns of times and events.

    Raises:
        ValueError: the event column is the time column, or a value is not one of two classes.
    """
    require_event_column(question.event, question.time)
    return parse_class_labels(
        question.event, question.event_value, question.censored_value, ("censored_value", "event_value")
    )


def require_event_column(event: str, time: str) -> None:
    """Refuse the column of times as the column of events: a time that equals the event value is no event.

    Args:
        event: Name of the column of events.
        time: Name of the column of times.
    """
    if isinstance(event, str) and event == time:
        raise InvalidArgument("event", "must differ from time: name the column of the event")


def require_times(
    time: str,
    grid: Grid,
    measured_in: str,
    by: By = None,
    *,
    max_cells: int = 2**14,  # cells of time
    verb: str = "counted",
) -> None:
    """Raise if the time column, grid, unit of measurement or categories of a question are invalid.

    Args:
        time: Name of the time column.
        grid: Grid of times.
        measured_in: Unit of measurement.
        by: Columns of categories; None: no grouping.
        max_cells: Largest number of cells.
        verb: What is done with cells, for the message.

    Raises:
        ValueError: there are too many cells.
        TypeError: a column, the grid, the unit or the categories have the wrong type.
    """
    cells = Axis(time, grid).grid.cells
    format_axis_label(time, measured_in)
    parse_grouping(by)
    if cells > max_cells:
        raise InvalidArgument(
            "grid", f"at most {max_cells} cells of time can be {verb}, got {cells}: give a grid of fewer cells"
        )


@dataclass(frozen=True, slots=True)
class SurvivalQuestion(TableQuestion):
    """Time until an event, with censoring. One round.

    Attributes:
        time: Numeric column: the time of the event, or of censoring.
        event: Column of the event indicator: event or censoring.
        grid: Public cells of time; times outside are counted separately for any grid.
        by: Publicly declared categories: one curve for each, all together at the privacy loss of one. A tuple of
            several columns: one for each combination.
        event_value: Value of `event` for an event.
        censored_value: Value of `event` for a censored record; optional if `event_value` is 1, 0, -1, True or False.
        measured_in: Unit of time.

    Raises:
        ValueError: there are more than 16,384 cells, or the two labels are equal.
        TypeError: a field has the wrong type.
    """

    time: str
    event: str
    grid: Grid
    by: By = None
    event_value: Category = 1
    censored_value: Category | None = None
    measured_in: str = ""

    def __post_init__(self) -> None:
        require_times(self.time, self.grid, self.measured_in, self.by)
        event_categories(self)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Yield the only query: counts of censored records and of events in each cell of time. Return the Kaplan-Meier
        curve, or one by category.

        Args:
            setting: Loss and adjacency of the question; the query is the same for any.

        Returns:
            Generator of queries; its result is the curve.
        """
        return (yield from self.ask_with_budget_fraction(WHOLE_BUDGET, ()))

    def ask_with_budget_fraction(
        self, budget_fraction: Fraction, earlier_releases: tuple[Release, ...], axis_type: type[Axis] = Axis
    ) -> Needs[Any]:
        """Ask for the survival curve, or one for each category of `by`, with a fraction of the budget.

        Args:
            budget_fraction: Fraction of the question's privacy loss, above 0 and at most 1.
            earlier_releases: Releases that the question paid for before, for the privacy statement.
            axis_type: Class of the axis of times, which decides how values are mapped to cells.
        """
        axis = axis_type(self.time, self.grid.with_outside(Outside.APART))
        table = yield from ask_workload(
            PrefixWorkload(prepend_category_axes(self.by, event_categories(self), axis)), budget_fraction
        )
        rows = split_rows(table.counts)
        privacy = build_privacy_statement(
            (*earlier_releases, *table.releases), note_thresholds=note_thresholds_for_times(self.time)
        )
        label = format_axis_label(self.time, self.measured_in)
        curves = [
            Survival.from_counts(pair, axis.grid, label, privacy) for pair in zip(rows[::2], rows[1::2], strict=True)
        ]
        return collect_by_category(self.by, curves)

    def __str__(self) -> str:
        return f"survival over {self.time} until {self.event}{describe_grouping(self.by)}"


class LogRankTest(NamedTuple):
    """The log-rank statistic of two groups, and its p-value under equal survival.

    Attributes:
        statistic: The test statistic of the released counts.
        p_value: For the population, accounting for noise and sampling. Simulated, so a multiple of 1 / (draws + 1).
        notes: Cautions about the p-value, from released counts alone.

    Both numbers are NaN, *not known*, if no cell is known to have records at risk in both groups.
    """

    statistic: float
    p_value: float
    notes: tuple[str, ...] = ()


def log_rank_test(
    first: Survival | Sequence[Survival],
    second: Survival | Sequence[Survival],
    *,
    rho: float = 0.0,
    gamma: float = 0.0,
    generator: np.random.Generator | None = None,
) -> LogRankTest:
    """Test whether two groups survive alike: the log-rank test (Mantel 1966) with a p-value that accounts for the
    noise.

    The statistic is the squared difference of observed and expected events in the first group, divided by its variance
    from sampling and noise. Without noise it is the usual statistic, with events of one cell tied. Cells are used as
    long as the numbers at risk in both groups are significant. The p-value is simulated with noise and sampling. The
    groups may be censored differently, but censoring must be independent of event times.

    Inside a cell all events precede all censoring. If records are censored inside cells, groups with different
    censoring seem to survive differently, even without noise, and more often with more records: with 10,000 records,
    the exact test at level 5 % rejects in 10 % of cases on cells of a seventh of the mean time to an event, and in 93 %
    on cells of two thirds; if records are censored at the ends of cells, in 4 to 5 %. Choose cells as narrow as the
    unit of recorded times. If released counts show a possible bias of the statistic, a note states its size. Costs no
    privacy budget.

    With several curves per group, one per stratum, it is the stratified test: differences and variances of strata add
    up. `rho` and `gamma` give cells the weights of Fleming and Harrington (1991): pooled survival before the cell to
    the power `rho`, times one minus it to the power `gamma`. ``rho=1`` emphasises early differences (Peto and Peto's
    test), ``gamma=1`` late ones.

    Args:
        first: A curve, or a curve per stratum.
        second: A curve of *other* records on the same grid, such as another category or a separate release; or as many
            curves as in `first`, in the same order of strata.
        rho: First power, at least 0.
        gamma: Second power, at least 0.
        generator: Random numbers of the simulation.

    Returns:
        The `statistic`, its `p_value`, and `notes` about a possible bias.

    Raises:
        TypeError: an argument is not a `Survival`.
        ValueError: grids differ, units have several records, a power is negative, or the numbers of strata differ.

    Warns:
        CurveWarning: each of its `notes`.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=10), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.survival([when, 9.5] * 900, [1, 0] * 900, grid=grid, **spent) for when in (2.5, 5.5))
    >>> dp.log_rank_test(early, late).p_value < 0.01
    True
    """
    firsts, seconds = (
        (curves,) if not isinstance(curves, (list, tuple)) else tuple(curves) for curves in (first, second)
    )
    for name, curve in (*(("first", curve) for curve in firsts), *(("second", curve) for curve in seconds)):
        require_type(name, curve, Survival, "a survival curve, as dp.survival gives one,")
        require_independent(curve.privacy)
    if len(firsts) != len(seconds) or not firsts:
        raise InvalidArgument(
            "second", "the second group needs as many curves as the first one: give one for each stratum"
        )
    rho = require_power("rho", rho)
    gamma = require_power("gamma", gamma)

    # Each stratum compares two curves on cells where both groups are known to be followed.
    strata = list[inference.Stratum]()
    notes = dict[str, None]()
    random = public_generator(generator)
    for first_curve, second_curve in zip(firsts, seconds, strict=True):
        if not np.array_equal(first_curve.x, second_curve.x):
            raise InvalidArgument("second", "a curve on the same grid is needed: ask for both curves on one grid")
        groups = [first_curve._event_table, second_curve._event_table]
        noises = [first_curve._sample_noise(random), second_curve._sample_noise(random)]
        draws = min(len(noise.censored) for noise in noises)
        noises = [noise.select_subset(slice(draws)) for noise in noises]
        first_known = inference.find_known_cells(groups[0].at_risk, noises[0].at_risk)
        known = first_known & inference.find_known_cells(groups[1].at_risk, noises[1].at_risk)
        if known.any() and first_curve.grid.values is None:
            inner = known
            for group, noise in zip(groups, noises, strict=True):
                inner = inner & inference.find_inner_cells(group.at_risk, group.censored, noise.at_risk, noise.censored)
            within: Any = ..., inner
            stratum_notes = notes_on_log_rank_bias(
                [group.select_subset(within) for group in groups], [noise.select_subset(within) for noise in noises]
            )
            notes |= dict.fromkeys(stratum_notes)
        released_tables = groups[0].at_risk, groups[1].at_risk
        noise_tables = noises[0].at_risk, noises[1].at_risk
        has_entries = first_curve.RELEASES > Survival.RELEASES
        strata.append(inference.Stratum(released_tables, noise_tables, known, has_entries=has_entries))

    # Statistics of strata are added draw by draw, so all need the same number of draws.
    draws = min(len(stratum.noises[0].events) for stratum in strata)
    first_draws = [
        (stratum.noises[0].select_subset(slice(draws)), stratum.noises[1].select_subset(slice(draws)))
        for stratum in strata
    ]
    strata = [stratum._replace(noises=noises) for stratum, noises in zip(strata, first_draws, strict=True)]
    outcome = inference.log_rank(strata, random, rho, gamma)
    test = LogRankTest(outcome.statistic, outcome.p_value, tuple(notes))
    warn_about_notes(test)
    return test
