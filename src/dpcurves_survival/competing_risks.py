"""Competing risks: the cumulative incidence of each cause (Aalen and Johansen 1978) and its hazard, with bands.

An event of one cause, such as death, prevents the events of others, such as relapse. `CompetingRisksQuestion` asks for
counts of events by cause and of censored records in cells of time. `CompetingRisks` holds the incidences.

Formal guarantees: a record lies in one cell of one table, so the question has the loss of one histogram. Everything
else is post-processing.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Unpack

import numpy as np

from dpcurves import display
from dpcurves.arguments import InvalidArgument, require_probability, require_type
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.conversation import WHOLE_BUDGET, Evidence, Needs, PrefixWorkload, PrivacyStatement, Setting, ask_workload
from dpcurves.curves.by_category import collect_by_category, describe_grouping, format_axis_label, split_rows
from dpcurves.curves.outside import note_thresholds_for_times
from dpcurves.curves.question import (
    By,
    TableQuestion,
    build_privacy_statement,
    declared_values_to_json,
    grid_from_cells,
    prepend_category_axes,
)
from dpcurves.curves.result import IntervalResult, PlotArguments, interval_scopes, name_ends, notes_on_dependence
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.data.axis import Category
from dpcurves.display import format_number
from dpcurves.display.numerals import describe_point
from dpcurves.inference import public_generator
from dpcurves.inference.known_numbers import KNOWN_LEVEL, known_curve
from dpcurves.inference.simulation import choose_draws, simulate_cell_noise
from dpcurves.summaries.two_classes import isotonic_projection

from . import inference
from .hazards import TUNING, HazardPosterior, NoisyCounts, estimate_shrunken_hazards
from .inference import (
    AtRisk,
    Curves,
    RiskTable,
    band_over_orders,
    count_at_risk,
    count_censored_inside,
    find_known_cells,
)
from .kaplan_meier import PLOT_LEVEL, require_event_column, require_times
from .pictures import AtRiskRow, draw_steps
from .survival_readings import (
    EVENT_SHARE,
    MORE,
    TIME,
    Estimate,
    RiskTableReader,
    estimate_hazard_ratio,
    estimate_statistic,
    find_nearest_edge,
)


def risk_table_from_counts(censored: FloatArray, events: Sequence[FloatArray], *, tied: bool) -> RiskTable:
    """Return events of each cause and numbers at risk in each cell, from counts that include values outside the grid.

    Args:
        censored: Counts of censored records, (..., cells + 2).
        events: Counts of events of each cause, (..., cells + 2) each, in the order of the causes.
        tied: Whether all times of a cell are equal, as at declared values. Events then precede censoring, so the fewest
            at risk equal the number at risk.
    """
    whole = count_at_risk(np.sum(events, axis=0), censored)
    inside = [count_censored_inside(event) for event in events]
    fewest = whole.records if tied else whole.records - count_censored_inside(censored)
    return RiskTable(np.stack(inside, axis=-2), whole.records, fewest)


@dataclass(frozen=True, eq=False, repr=False)
class CompetingRisks(IntervalResult):
    """Cumulative incidence: the share of records with an event of each cause before each edge (Aalen and Johansen
    1978).

    Events of a cell precede censoring, like ties in the textbook, and bands hold for any order; see `Survival`, also
    for the end of curves. Hazards are cause-specific: a record with an event of another cause is no longer at risk.

    Attributes:
        causes: The event values.
        label: Label of the x axis.
        privacy: The privacy statement, shown on every plot.
        evidence: The released counts of censored records, and of events of each cause.
        grid: The cells.

    Data frame: a row for each cause and edge.
    """

    KIND = "competing-risks"
    TITLE = "Competing risks over {label}"
    COLUMN_WORDS = display.describe_columns(
        cause="cause",
        x="{label}",
        incidence=("share with an event", display.CellFormat.SHARE),
        hazard="cumulative hazard",
        at_risk=("at risk", display.CellFormat.COUNT),
    )
    MEASURED = "incidence"
    REPR_FACTS = "{label}, {causes_text}"
    ARRAYS = ("x", "at_risk")
    JSON_SCHEMAS = MappingProxyType(
        {name: {"type": "object", "additionalProperties": display.NUMBERS} for name in ("incidence", "hazard")}
    )
    INTERVAL_NAME = "band"
    NOTES_UNKNOWN = True

    causes: tuple[Category, ...]
    label: str
    privacy: PrivacyStatement
    evidence: tuple[Evidence, ...]
    grid: Grid

    @classmethod
    def from_counts(
        cls,
        evidence: tuple[Evidence, ...],
        causes: tuple[Category, ...],
        grid: Grid,
        label: str,
        privacy: PrivacyStatement,
    ) -> CompetingRisks:
        """Return the result computed from released counts of censored records and of events of each cause.

        Args:
            evidence: Released counts by cell of time, with times outside the grid separate: of the censored, then of
                each cause.
            causes: Public values of the event column, one for each cause.
            grid: The grid of times whose cells were counted.
            label: What the times are, as on the axis of a picture.
            privacy: The statement of what was spent; notes on dependence are added to it.
        """
        return cls(causes, label, privacy.with_notes(*notes_on_dependence(privacy)), evidence, grid)

    @property
    def causes_text(self) -> str:
        """Number of causes as printed in summaries."""
        return f"{len(self.causes)} causes"

    @cached_property
    def x(self) -> FloatArray:
        """Edges of the grid, of shape ``(cells + 1,)``."""
        return self.grid.edges

    @cached_property
    def incidence(self) -> FloatArray:
        """The share with an event of each cause before each edge, of shape ``(causes, cells + 1)``, nondecreasing.

        NaN past the end of follow-up, unless all records had an event before.
        """
        settled = bool(self._estimated_curves.survival[int(self._followed_cells.sum())] <= 0)
        come = inference.mask_unfollowed(self.extrapolated_incidence[:, 1:], self._followed_cells, settled=settled)
        return np.concatenate([np.zeros((len(self.causes), 1)), come], axis=1)

    @cached_property
    def extrapolated_incidence(self) -> FloatArray:
        """The shares `incidence`, constant past the end of follow-up, for simulation.

        Returns:
            Shares, (causes, cells + 1); at each edge they add up to at most 1.
        """
        come = np.stack([isotonic_projection(row) for row in self._estimated_curves.incidence]).clip(0.0, 1.0)
        return np.asarray(come / np.maximum(come.sum(axis=0), 1.0))

    @cached_property
    def hazard(self) -> FloatArray:
        """The cumulative hazard of each cause before each edge, of shape ``(causes, cells + 1)``, nondecreasing.

        NaN past the end of follow-up.
        """
        hazards = self._extrapolated_hazards
        return np.concatenate([hazards[:, :1], inference.mask_unfollowed(hazards[:, 1:], self._followed_cells)], axis=1)

    @cached_property
    def _extrapolated_hazards(self) -> FloatArray:
        """Cumulative hazard of each cause before each edge, (causes, cells + 1): nondecreasing, at least 0, and
        constant past the end of follow-up."""
        return np.stack([np.maximum(isotonic_projection(row), 0.0) for row in self._estimated_curves.cumulative_hazard])

    @property
    def follow_up_end(self) -> float:
        """The last edge, or declared value, up to which the released number at risk is significantly above zero."""
        followed = int(self._followed_cells.sum())
        return float(self._cell_bounds[followed - 1, 1]) if followed else float(self.x[0])

    @cached_property
    def at_risk(self) -> FloatArray:
        """Number at risk in the cell that ends at each edge, at least 0 and nonincreasing; at the first edge all:
        ``(cells + 1,)``."""
        return inference.estimate_at_risk(*self._at_risk_with_noise)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return simultaneous confidence bands of all incidences at `level`: ``(causes * (cells + 1), 2)``, cause by
        cause.

        They are for the estimate from exact times of these records; with `population`, for the population, which needs
        independent units of one record each, and censoring that is independent of later events.

        Args:
            level: Confidence level, between 0 and 1.
            population: If True, the bands are for the population.
        """
        level = require_probability("level", level)
        draws = RISK_TABLE_READER.sample_group(self, 0, population=population)
        bounds_of_table = self._risk_table.bound_curves(draws.known_cells, self._cell_bounds)
        ends = []
        for both_orders in (bounds_of_table, draws[2:]):
            flat = [curves.incidence.reshape(*curves.incidence.shape[:-2], -1) for curves in both_orders]
            ends.append(tuple(flat))
        lower, upper = (bounds.reshape(self.incidence.shape) for bounds in band_over_orders(ends[0], ends[1], level))  # type: ignore[arg-type]
        lower = np.fmin(np.maximum.accumulate(lower, axis=1).clip(0, 1), self.incidence)
        upper = np.minimum.accumulate(upper[:, ::-1], axis=1)[:, ::-1].clip(0, 1)
        return np.stack([lower.ravel(), np.fmax(upper, self.incidence).ravel()], axis=1)

    def at_risk_intervals(self, level: float) -> FloatArray:
        """Return lower and upper bounds of `at_risk`, simultaneous at `level`, of shape ``(cells + 1, 2)``.

        They are for the numbers of these records, so they cover noise alone. They contain `at_risk` and, like it, do
        not rise.

        Args:
            level: Confidence level of all intervals together, between 0 and 1.

        Raises:
            ValueError: `level` is not between 0 and 1.
        """
        return inference.bound_at_risk(*self._at_risk_with_noise, require_probability("level", level))

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """Return the numbers as a data frame; with a `level`, also bounds of the bands and of the numbers at risk.

        Bands are for these records or, with `population`, for the population. Numbers at risk are always of these
        records.

        Args:
            level: Confidence level of the bounds; None: without bounds.
            population: If True, the bands are for the population.
        """
        return super().to_frame(level=level, population=population)

    def _interval_columns(self, level: float, *, population: bool) -> dict[str, Any]:
        """Return the bounds of the bands, and of the numbers at risk, repeated for each cause.

        Args:
            level: Confidence level, between 0 and 1; bands are simultaneous, intervals of numbers at risk are not.
            population: Whether the bands are for the population; numbers at risk are always of these records.

        Returns:
            Columns by name, (causes * (cells + 1),) each, cause by cause.
        """
        lower, upper = np.tile(self.at_risk_intervals(level), (len(self.causes), 1)).T
        bands = super()._interval_columns(level, population=population)
        return {**bands, "at_risk_lower": lower, "at_risk_upper": upper}

    def incidence_at(self, cause: Category, time: float) -> Estimate:
        """Return the share with an event of this cause before `time`, rounded to the nearest edge of a cell.

        Args:
            cause: Value of the event column, one of `causes`.
            time: Time, in the unit of the grid.

        Returns:
            Estimate with `interval`.

        Raises:
            ValueError: the cause does not exist, or `time` lies beyond the grid.
        """
        row, (edge, at) = self._cause_index(cause), find_nearest_edge(self, "time", time)
        words = f"share with event {cause} at {describe_point(at, time)}"
        return estimate_statistic(
            words, (self,), lambda one: one.incidence[..., row, edge], EVENT_SHARE, RISK_TABLE_READER
        )

    def time_lost(self, cause: Category, until: float) -> Estimate:
        """Return the mean time without an event that this cause takes away up to `until` (Andersen 2013); see
        `restricted_mean`.

        Args:
            cause: Value of the event column, one of `causes`.
            until: Time to which lost time is counted, in the unit of the grid.

        Returns:
            Estimate in the unit of the grid, with `interval`.

        Raises:
            ValueError: the cause does not exist, or `until` lies beyond the grid.
        """
        row, (edge, time) = self._cause_index(cause), find_nearest_edge(self, "until", until)
        middle = estimate_statistic(
            f"time lost to {cause} up to {describe_point(time, until)}",
            (self,),
            _time_lost_statistic(row, edge, time),
            TIME,
            RISK_TABLE_READER,
            maximum=time,
        )
        return middle

    def incidence_difference(self, other: CompetingRisks, cause: Category, time: float) -> Estimate:
        """Return the share with an event of this cause before `time`, minus the share in another group.

        Args:
            other: Competing risks of another group, with the same causes and grid.
            cause: One of `causes`.
            time: The time, in units of the grid; the nearest edge is used.

        Raises:
            ValueError: the cause does not exist, `time` lies beyond the grid, or grids or causes differ.
        """
        row, (edge, at) = self._require_same_causes(other, cause), find_nearest_edge(self, "time", time)
        words = f"difference of shares with event {cause} at {describe_point(at, time)}"
        return estimate_statistic(
            words, (self, other), lambda one: one.incidence[..., row, edge],
            MORE, RISK_TABLE_READER,
        )  # fmt: skip

    def hazard_ratio(self, other: CompetingRisks, cause: Category) -> Estimate:
        """Return the cause-specific hazard ratio over another group; see `dpcurves.hazard_ratio`.

        Args:
            other: Result for the other group.
            cause: The cause.

        Raises:
            ValueError: the cause does not exist, or grids or causes differ.
        """
        row = self._require_same_causes(other, cause)
        return estimate_hazard_ratio(f"hazard ratio of {cause}", (self, other), RISK_TABLE_READER, row)

    def _cause_index(self, cause: Category) -> int:
        """Return the row of a cause in `causes`.

        Args:
            cause: Value of the event column.

        Raises:
            InvalidArgument: there is no such cause.
        """
        if not isinstance(cause, Hashable) or cause not in self.causes:
            raise InvalidArgument("cause", f"must be one of {', '.join(map(str, self.causes))}")
        return self.causes.index(cause)

    def _require_same_causes(self, other: CompetingRisks, cause: Category) -> int:
        """Check that another group has the same causes on the same grid; return the row of a cause in `causes`.

        Args:
            other: Result of the other group.
            cause: Value of the event column.

        Raises:
            WrongArgumentType: `other` is no result with competing risks.
            InvalidArgument: causes or grids differ, or there is no such cause.
        """
        require_type("other", other, CompetingRisks, "competing risks of another group")
        if other.causes != self.causes or not np.array_equal(other.x, self.x):
            raise InvalidArgument(
                "other", "must have the causes and the grid of this curve: ask for both groups with the same ones"
            )
        return self._cause_index(cause)

    @property
    def _cell_bounds(self) -> FloatArray:
        """Lower and upper bound of the event times of each cell, (cells, 2): its edges, or its declared value in
        both columns."""
        values = self.grid.values
        return np.stack([self.x[:-1], self.x[1:]] if values is None else [values, values], axis=1)

    @cached_property
    def _risk_table(self) -> RiskTable:
        """The unbiased released risk table: events (causes, cells), and records at risk (cells,)."""
        censored, *events = (turn.unbiased_cells[0] for turn in self.evidence)
        return risk_table_from_counts(censored, events, tied=self.grid.values is not None)

    def _sample_noise(self, draw: np.random.Generator) -> RiskTable:
        """Return simulated noise of the risk table, with a leading axis of draws. `draw` is the generator of random
        numbers."""
        noise = [
            simulate_cell_noise(turn.sums, turn.total, choose_draws(turn.sums.cells), draw)[:, 0]
            for turn in self.evidence
        ]
        return risk_table_from_counts(noise[0], noise[1:], tied=self.grid.values is not None)

    @cached_property
    def _at_risk_with_noise(self) -> tuple[AtRisk, AtRisk]:
        """Released events of all causes and records at risk, and draws of their noise.

        Returns:
            Table of the release, (cells,), and table of the noise, (draws, cells).
        """
        tables = self._risk_table, self._sample_noise(public_generator(None))
        released, noise = (AtRisk(table.events.sum(axis=-2), table.records) for table in tables)
        return released, noise

    @cached_property
    def _known_cells(self) -> BoolArray:
        """Mask of the leading cells whose number at risk is clear of the noise, (cells,)."""
        return find_known_cells(*self._at_risk_with_noise)

    def _is_unknown(self) -> bool:
        """Return True if no cell has significantly many records at risk, so that bands span all possible values."""
        return not self._followed_cells.any()

    @cached_property
    def _followed_cells(self) -> BoolArray:
        """Mask of the cells up to the last one whose number at risk is significantly above zero, (cells,)."""
        return inference.find_followed_cells(*self._at_risk_with_noise)

    @cached_property
    def _estimated_curves(self) -> Curves:
        """Survival, incidences and cumulative hazards from the released table, with hazards shrunk by
        `_shrunken_hazards` unless the noise is negligible."""
        if self._shrunken_hazards is None:
            return self._risk_table.estimate_curves(self._followed_cells, self._cell_bounds.mean(axis=1))
        return split_curves_by_cause(self._shrunken_hazards, self._cause_fractions, self._cell_bounds.mean(axis=1))

    @cached_property
    def _shrunken_hazards(self) -> HazardPosterior | None:
        """Hazards of all causes together, shrunk by empirical Bayes where noise dominates; None if the noise is
        negligible.
        """
        noise = list[FloatArray]()
        generator = public_generator(None)
        for turn in self.evidence:
            noise.append(simulate_cell_noise(turn.sums, turn.total, choose_draws(turn.sums.cells), generator)[:, 0])
        slots = [turn.unbiased_cells[0] for turn in self.evidence]
        tables = [count_at_risk(np.sum(rows[1:], axis=0), rows[0]) for rows in (slots, noise)]
        events, records = (NoisyCounts(*pair) for pair in zip(*tables, strict=True))
        censored = NoisyCounts(count_censored_inside(slots[0]), count_censored_inside(noise[0]))
        if max(float(np.mean(counts.noise**2)) for counts in (events, censored)) < TUNING.negligible_noise**2:
            return None
        return estimate_shrunken_hazards(
            events, censored, NoisyCounts(records.counts[0], records.noise[:, 0]), public_generator(None)
        )

    @cached_property
    def _cause_fractions(self) -> FloatArray:
        """Fraction of each cause in the events of each cell, (causes, cells), shrunk to its fraction in all cells.

        The deviation from the overall fraction is kept in proportion to its variance by sampling and time over its
        total variance, which includes noise.
        """
        noise = self._sample_noise(public_generator(None))
        hazards = np.zeros(len(self._known_cells))
        if self._shrunken_hazards is not None:
            hazards = self._shrunken_hazards.weight @ self._shrunken_hazards.hazard
        least_events = 1e-9  # events of a cell: lower limit, so that a share of them has a divisor
        expected = np.maximum(hazards * np.maximum(self._risk_table.records, 0.0), least_events)
        whole = np.maximum(self._risk_table.events.sum(axis=-1), 0.0) + least_events
        usual = (whole / whole.sum())[:, None]
        apart = self._risk_table.events - usual * self._risk_table.events.sum(axis=-2)
        noisy = (noise.events - usual * noise.events.sum(axis=-2, keepdims=True)).var(axis=0)
        # prior standard deviation over time of the fraction of a cause
        likely = expected * usual * (1 - usual) + (0.2 * expected) ** 2
        weight = likely / np.maximum(likely + noisy, least_events)
        shares = np.maximum(usual * expected + weight * apart, 0.0) + least_events * usual
        return np.asarray(shares / shares.sum(axis=0))

    @cached_property
    def _known_curves(self) -> Mapping[str, FloatArray]:
        """Incidences and hazards, NaN for causes of which nothing is known: (causes, cells + 1)."""
        lower, upper = self.intervals(KNOWN_LEVEL).T.reshape(2, *self.incidence.shape)
        incidence = [known_curve(*each) for each in zip(self.incidence, zip(lower, upper, strict=True), strict=True)]
        return {"incidence": np.array(incidence), "hazard": np.where(np.isnan(incidence), np.nan, self.hazard)}

    def _columns(self) -> dict[str, Any]:
        """Return the columns of the data frame, each of length causes * (cells + 1): cause by cause, edge by edge."""
        edges, (incidence, hazard) = len(self.x), self._known_curves.values()
        return {
            "cause": [str(cause) for cause in self.causes for _ in range(edges)],
            "x": np.tile(self.x, len(self.causes)), "incidence": incidence.ravel(), "hazard": hazard.ravel(),
            "at_risk": np.tile(self.at_risk, len(self.causes)),
        }  # fmt: skip

    def _arrays(self) -> Mapping[str, object]:
        """Return the arrays of the JSON document: `x`, `at_risk`, and incidence and hazard as a mapping from cause
        to values."""
        rows = {
            name: dict(zip(map(str, self.causes), curves, strict=True)) for name, curves in self._known_curves.items()
        }
        return {**super()._arrays(), **rows}

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the incidence of each cause as steps with its band on the same axes, and return the axes.

        Args:
            shades: Bands of all causes, wider ones first; empty: neither bands nor intervals are drawn.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        ax = how["ax"]
        before = "" if how["name"] is None else f"{how['name']}, "
        size = len(self.x)
        for row, cause in enumerate(self.causes):
            cause_shades = [shade.select_rows(slice(row * size, (row + 1) * size)) for shade in shades]
            words: Any = {"label": self.label, "upwards": "share with an event", "share": True}
            if row == 0:  # all causes have the same records at risk
                intervals = self.at_risk_intervals(PLOT_LEVEL) if shades else None
                words["at_risk"] = AtRiskRow.from_numbers(self.x, self.at_risk, intervals)
                words["at_risk_name"] = how["name"]
            plot_arguments: PlotArguments = {"privacy": how["privacy"], "ax": ax, "name": f"{before}{cause}"}
            ax = draw_steps(
                self.x, self._known_curves["incidence"][row], shades=cause_shades, **words, **plot_arguments
            )
        if not before and ax is not None:  # causes are often numbers, which name nothing by themselves
            display.set_legend_title(ax, "cause")
        return ax

    def _question(self) -> Mapping[str, object]:
        """Return the JSON fields that restore the result with `_from_json`: label, causes and declared values of the
        grid."""
        return {"label": self.label, "causes": list(self.causes), **declared_values_to_json(self.grid)}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> CompetingRisks:
        """Return the result from a parsed JSON document.

        Args:
            document: Parsed JSON document of the result.

        Raises:
            InvalidArgument: there is not one row of counts for the censored and one for each cause.
        """
        question, turns = document.question, document.releases
        causes = tuple(question["causes"])
        grid = grid_from_cells(question, document.arrays["x"], Outside.APART)
        if len(turns) != 1 + len(causes):
            raise InvalidArgument(
                "curve.evidence.releases",
                "counts of the censored and of events of each cause are needed: use the text that to_json wrote",
            )
        return cls.from_counts(turns, causes, grid, question["label"], document.privacy)

    def key_columns(self, level: float, *, population: bool = True) -> dict[str, Any]:
        """Return the number at risk at the beginning, and each cause's cumulative incidence at the end of follow-up
        with the ends of its band there.

        Args:
            level: Confidence level of the band.
            population: Whether a band for the population is added to the band for these records; it is left out if
                units may have several records.

        Returns:
            Values by column name: ``records``, and for cause i ``cause_i``, ``cause_i_lower`` and ``cause_i_upper``,
            with the population ``cause_i_lower_population`` and ``cause_i_upper_population`` too.
        """
        end = int(np.flatnonzero(np.isfinite(self.incidence[0]))[-1])
        edges = len(self.x)
        columns: dict[str, Any] = {"records": float(self.at_risk[0])}
        scopes = interval_scopes(self.privacy, population=population).values()
        bands = {of_population: self._interval_limits(level, population=of_population) for of_population in scopes}
        for row, share in enumerate(self._known_curves["incidence"][:, end].tolist()):
            limits = {}
            for of_population, band in bands.items():
                limits[of_population] = [float(np.ravel(ends)[row * edges + end]) for ends in band]
            columns |= {f"cause_{row}": share, **name_ends(f"cause_{row}", limits)}
        return columns

    def _key_words(self) -> Mapping[str, display.ColumnWords]:
        """Return the title and the number format of each of the result's key numbers, for tables that compare groups.

        Key numbers are the number of records and the final share of each cause.

        Returns:
            Title and format by name of the key number.
        """
        titles = {
            f"cause_{row}": display.ColumnWords(
                f"share with event {cause} at the end of follow-up", display.CellFormat.SHARE
            )
            for row, cause in enumerate(self.causes)
        }
        return {"records": display.ColumnWords("records", display.CellFormat.COUNT), **titles}

    def _summary(self) -> list[tuple[str, str]]:
        """Return for each cause a pair of texts: a description, and the share with an event at the last edge of
        follow-up."""
        end = int(np.flatnonzero(np.isfinite(self.incidence[0]))[-1])
        words = f"before {self.x[end]:g}"
        if self.grid.values is not None and end > 0:
            words = f"up to {self._cell_bounds[end - 1, 1]:g}"
        shares = zip(self.causes, self._known_curves["incidence"][:, end], strict=True)
        return [(f"share with event {cause} {words}", format_number(float(share))) for cause, share in shares]


def split_curves_by_cause(hazards: HazardPosterior, cause_fractions: FloatArray, event_times: FloatArray) -> Curves:
    """Return survival, incidences and cumulative hazards of each cause, from hazards of all causes together.

    In each cell the total hazard is divided between the causes.

    Args:
        hazards: Weighted draws of the total hazard in each cell.
        cause_fractions: Fraction of each cause in the events of a cell, (causes, cells).
        event_times: Event time of each cell, (cells,).
    """
    survival = np.cumprod(1 - hazards.hazard, axis=1)
    before = np.concatenate([np.ones((len(survival), 1)), survival[:, :-1]], axis=1)
    come, hazard = (
        np.cumsum(hazards.weight @ probabilities * cause_fractions, axis=-1)
        for probabilities in (before * hazards.hazard, hazards.hazard)
    )
    start = np.zeros((len(cause_fractions), 1))
    share = np.append(1.0, hazards.weight @ survival)
    return Curves(
        share, np.hstack([start, come]), np.hstack([start, hazard]), event_times, event_times, share
    )  # fmt: skip


def _time_lost_statistic(row: int, edge: int, time: float) -> Any:
    """Return a function from `Curves` to the mean time lost to the cause in `row` up to `time`, the time of this
    edge.

    Args:
        row: Row of the cause in `causes`.
        edge: Index of the edge.
        time: Time of the edge.
    """
    return lambda one: one.time_lost(time, edge)[..., row]


def _estimate_cause_hazards(risks: CompetingRisks) -> FloatArray:
    """Return the estimated hazard of each cause in each cell, (causes, cells); where they add up to more than 1,
    they are scaled to add up to 1.

    Args:
        risks: Released result of competing risks.
    """
    hazards = np.diff(risks._extrapolated_hazards, axis=1)
    return np.asarray(hazards / np.maximum(hazards.sum(axis=0), 1.0))


RISK_TABLE_READER = RiskTableReader(
    lambda found: found._risk_table, CompetingRisks._sample_noise, _estimate_cause_hazards,
    lambda found: found._estimated_curves._replace(incidence=found.incidence, cumulative_hazard=found.hazard),
)  # fmt: skip
"""How statistics of one cause read its counts at risk, simulate their noise, and estimate hazards."""


@dataclass(frozen=True, slots=True)
class CompetingRisksQuestion(TableQuestion):
    """Time until the first of several kinds of event, with censoring. One round.

    Formal guarantees: a record lies in one cell of one table of events and times. Adding or removing it changes one
    count, replacing it two, for any event.

    Attributes:
        time: Numeric column: the time of the event, or of censoring.
        event: Column of the event that happened; its value for censored records is `censored_value`.
        grid: Public cells of time; times outside are counted separately for any grid.
        causes: Values of `event` for events, publicly declared; other values count as missing.
        censored_value: Value of `event` for a censored record.
        by: Publicly declared categories: one result for each, all together at the privacy loss of one.
        measured_in: Unit of time.

    Raises:
        ValueError: there are more than 16,384 cells or 32 causes, or two labels are equal.
        TypeError: a field has the wrong type.

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
    censored_value: Category = 0
    by: By = None
    measured_in: str = ""

    def __post_init__(self) -> None:
        require_times(self.time, self.grid, self.measured_in, self.by)
        require_event_column(self.event, self.time)
        most_causes = 32  # each has a row of counts
        if not isinstance(self.causes, (tuple, list)) or not 1 <= len(self.causes) <= most_causes:
            raise InvalidArgument("causes", f"a tuple of 1 to {most_causes} kinds of event is needed, as in (1, 2)")
        object.__setattr__(self, "causes", tuple(self.causes))
        self._event_categories()

    def _event_categories(self) -> Categories:
        """Return the event column with its public values: censored first, then the causes."""
        return Categories(self.event, (self.censored_value, *self.causes))

    def steps(self, setting: Setting) -> Needs[Any]:
        """Yield the only query: counts of censored records and of events of each cause in each time cell. Return the
        result, or one by category.

        Args:
            setting: Without effect: the table is the same for any loss.
        """
        axis = Axis(self.time, self.grid.with_outside(Outside.APART))
        rows = 1 + len(self.causes)
        table = yield from ask_workload(
            PrefixWorkload(prepend_category_axes(self.by, self._event_categories(), axis)), WHOLE_BUDGET
        )
        rows_of_counts = split_rows(table.counts)
        privacy = build_privacy_statement(table.releases, note_thresholds=note_thresholds_for_times(self.time))
        label = format_axis_label(self.time, self.measured_in)
        groups = [tuple(rows_of_counts[first : first + rows]) for first in range(0, len(rows_of_counts), rows)]
        return collect_by_category(
            self.by, [CompetingRisks.from_counts(group, self.causes, axis.grid, label, privacy) for group in groups]
        )  # fmt: skip

    def __str__(self) -> str:
        return f"competing risks of {self.event} over {self.time}{describe_grouping(self.by)}"
