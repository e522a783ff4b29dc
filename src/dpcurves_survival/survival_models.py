"""Evaluate survival models at a horizon: calibration, time-dependent AUC, Brier score, and Harrell's C-index.

`SurvivalModelQuestion` asks for counts by event, time and score. `SurvivalModel` holds the metrics with their
intervals. Records that are censored before the horizon are accounted for by weights.

Formal guarantees: metrics are post-processing of the released counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, Unpack

import numpy as np

from dpcurves import display
from dpcurves.arguments import InvalidArgument, WrongArgumentType, require_probability, require_type
from dpcurves.arrays import BoolArray, FloatArray, IntArray
from dpcurves.conversation import WHOLE_BUDGET, Evidence, Needs, PrefixWorkload, PrivacyStatement, Setting, ask_workload
from dpcurves.curves.by_category import collect_by_category, split_rows
from dpcurves.curves.outside import TUNING as OUTSIDE_TUNING
from dpcurves.curves.outside import note_thresholds_for_times, separate_outside
from dpcurves.curves.pair_mean import MergedCellCounts, SimulatedCounts, compute_basic_interval
from dpcurves.curves.question import (
    By,
    TableQuestion,
    build_privacy_statement,
    declared_values_to_json,
    grid_from_cells,
    grid_from_json,
    grid_to_json,
    parse_grouping,
    prepend_category_axes,
)
from dpcurves.curves.result import INDIVIDUAL_INTERVAL, IntervalResult, PlotArguments, notes_on_dependence
from dpcurves.data import Axis, Grid, Outside
from dpcurves.data.axis import Category, Predictor
from dpcurves.display import format_number
from dpcurves.inference import end_level
from dpcurves.summaries.two_classes import project_to_simplex

from . import inference
from .kaplan_meier import event_categories
from .survival_readings import SHARE, Estimate

LEAST_RECORDS = 0.5
"""Records: the least denominator of a ratio; a noisy count up to this is taken as zero."""


class HorizonCounts(NamedTuple):
    """Weighted counts by score, each (..., scores): events before the horizon, records past it, and all records."""

    events: FloatArray
    survivors: FloatArray
    records: FloatArray

    @classmethod
    def from_counts(
        cls, counts: FloatArray, *, censored_first: bool, censoring_survival: FloatArray | None
    ) -> HorizonCounts:
        """Return counts weighted by the inverse probability of observation: just before an event, and at the horizon.

        The probability is the Kaplan-Meier estimate for censoring (Robins and Rotnitzky 1992), pooled over scores.

        Args:
            counts: By censored or event, by cell of time (below, inside and beyond the grid whose end is the horizon),
                and by score, (..., 2, cells + 2, scores).
            censored_first: Whether censoring in a cell precedes its events.
            censoring_survival: Public probability of observation before each edge, (cells + 1,); None: estimated from
                counts.
        """
        inside = counts[..., 1:-1, :].copy()
        inside[..., 0, :] += counts[..., 0, :]
        censored, events = inside[..., 0, :, :], inside[..., 1, :, :]
        past = counts[..., -1, :].sum(axis=-2)
        leaving = censored.sum(axis=-1)
        died = events.sum(axis=-1)
        remaining = (leaving + died)[..., ::-1].cumsum(axis=-1)[..., ::-1] + past.sum(axis=-1)[..., None]
        at_risk = np.maximum(remaining if censored_first else remaining - died, LEAST_RECORDS)
        observed = np.cumprod(1 - (leaving / at_risk).clip(0, 1), axis=-1)
        before = np.concatenate([np.ones((*observed.shape[:-1], 1)), observed], axis=-1)
        if censoring_survival is not None:
            before = np.broadcast_to(censoring_survival, before.shape)
        before = np.maximum(before, 0.02)  # the smallest probability of observation to divide by
        at = before[..., 1:] if censored_first else before[..., :-1]
        total = counts.sum(axis=(-3, -2))
        return cls((events / at[..., None]).sum(axis=-2), past / before[..., -1:], total)

    def auc(self) -> FloatArray:
        """Return the probability that a record with an event before the horizon has a higher score than a record past
        it: (...).

        Cumulative cases and dynamic controls (Uno and others 2007); ties count one half.
        """
        below = np.cumsum(self.survivors, axis=-1) - self.survivors / 2
        events = self.events.sum(axis=-1)
        past = self.survivors.sum(axis=-1)
        won = (self.events * below).sum(axis=-1)
        some = (events > LEAST_RECORDS) & (past > LEAST_RECORDS)
        return np.asarray(np.divide(won, events * past, out=np.full_like(won, np.nan), where=some))

    def tie_allowance(self) -> FloatArray:
        """Return half the share of pairs (event, survivor) with equal score cells, (...): by so much the order of
        scores inside cells may change the area under the ROC curve."""
        whole = self.events.sum(axis=-1) * self.survivors.sum(axis=-1)
        both = (self.events * self.survivors).clip(0, None).sum(axis=-1) / 2
        return np.asarray(np.divide(both, whole, out=np.full_like(whole, 0.5), where=whole > 0))

    def brier_score(self, scores: FloatArray) -> FloatArray:
        """Return the Brier score at the horizon (Graf and others 1999) of these event probabilities: (...).

        Args:
            scores: Predicted probability of each score, (scores,).
        """
        loss = (self.events * (1 - scores) ** 2 + self.survivors * scores**2).sum(axis=-1)
        return np.asarray(loss / np.maximum(self.records.sum(axis=-1), LEAST_RECORDS))

    def event_fractions(self, starts: IntArray) -> FloatArray:
        """Return the share with an event before the horizon in each group of scores: (..., groups); NaN for empty
        groups.

        Args:
            starts: Index of the first score of each group, rising from 0.
        """
        events, past = (np.add.reduceat(weights, starts, axis=-1) for weights in (self.events, self.survivors))
        whole = events + past
        return np.asarray(np.divide(events, whole, out=np.full_like(whole, np.nan), where=whole > LEAST_RECORDS))


def compute_concordance_index(counts: FloatArray, *, in_random_order: bool = False) -> FloatArray:
    """Return Harrell's C-index: the share of comparable pairs in which the earlier event has the higher score, (...).

    A pair is comparable if one record has an event, and the other an event in a later cell of time, or was censored in
    the same cell or later (Harrell and others 1982), as in R's ``survival::concordance``, lifelines and
    scikit-survival. Equal scores count one half. NaN without comparable pairs. The two records of a pair lie in
    different cells of the table, so noise that is independent between cells leaves both numbers of pairs unbiased.

    Args:
        counts: By censored or event, by cell of time (below, inside and beyond the grid), and by increasing score,
            (..., 2, cells + 2, scores). Events beyond the grid count as censored.
        in_random_order: Whether times of one cell are in random order instead of tied. Half of the censored records of
            a cell then come after its events. Two events of a cell are comparable, and have either order of scores
            with probability one half, because both have the same hazards up to the same time.

    >>> censored, events = np.zeros((3, 2)), np.array([[0.0, 0], [0, 1], [1, 0]])
    >>> float(compute_concordance_index(np.stack([censored, events])))
    1.0
    """
    inside = counts[..., 1:-1, :].copy()
    inside[..., 0, :] += counts[..., 0, :]
    censored, events = inside[..., 0, :, :], inside[..., 1, :, :]
    leaving = np.concatenate([censored + events, counts[..., -1:, :].sum(axis=-3)], axis=-2)
    later = np.cumsum(leaving[..., ::-1, :], axis=-2)[..., ::-1, :][..., 1:, :]
    later = later + (censored / 2 if in_random_order else censored)
    with_lower_score = np.cumsum(later, axis=-1) - later / 2
    concordant = (events * with_lower_score).sum(axis=(-2, -1))
    events_of_cells = events.sum(axis=-1)
    comparable = (events_of_cells * later.sum(axis=-1)).sum(axis=-1)
    if in_random_order:
        pairs_of_events = (events_of_cells * (events_of_cells - 1) / 2).sum(axis=-1)
        concordant = concordant + pairs_of_events / 2
        comparable = comparable + pairs_of_events
    is_known = comparable > LEAST_RECORDS
    return np.asarray(np.divide(concordant, comparable, out=np.full_like(concordant, np.nan), where=is_known))


PROBABILITY_FIFTIETHS = Grid(0, 1, cells=50)
"""Default cells of predicted probabilities: 50 of width 0.02; scores are rounded to them."""


@dataclass(frozen=True, eq=False, repr=False)
class SurvivalModel(IntervalResult):
    """Agreement between predicted probabilities of an event before a horizon and observed events, with censoring.

    Records censored before the horizon have weight zero; the others have the inverse probability of being under
    observation (inverse probability of censoring weights). Statistics are NaN if the horizon lies past the end of
    follow-up, where no record gives information; the C-index needs no follow-up to the horizon. Scores are rounded to
    the middle of their cells; only the interval of the area also holds for exact scores. Censoring must be independent
    of the score.

    Attributes:
        times: Public cells of time, whose end is the horizon.
        scores: Public cells of scores.
        groups: Maximum number of groups of similar scores.
        censoring_survival: Public probability of observation before each edge of time; None: estimated from released
            counts.
        privacy: The privacy statement, shown on every plot.
        evidence: The released counts.

    Data frame: a row for each group.
    """

    KIND = "survival-model"
    TITLE = "Predicted events before {horizon:g}"
    COLUMN_WORDS = display.describe_columns(
        lower="predicted, from",
        predicted=("mean predicted share", display.CellFormat.SHARE),
        observed=("share with an event", display.CellFormat.SHARE),
        records=("records", display.CellFormat.COUNT),
    )
    INTERVAL_NAME = INDIVIDUAL_INTERVAL
    REPR_FACTS = "AUC {auc.value:.3f} at {horizon:g}"
    COLUMNS = ("lower", "predicted", "observed", "records")
    INTERVAL_COLUMNS = "observed_lower", "observed_upper"  # lower edges of groups are distinct
    POSSIBLE_RANGES = MappingProxyType({"observed": (0.0, 1.0)})
    NOTES_UNKNOWN = True
    JSON_SCHEMAS = MappingProxyType(dict.fromkeys(("auc", "brier", "concordance"), display.NUMBER))
    SIZE = display.SQUARE

    times: Grid
    scores: Grid
    groups: int
    censoring_survival: tuple[float, ...] | None
    privacy: PrivacyStatement
    evidence: Evidence

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the numbers of the result, one line each, written from released numbers alone."""
        metrics = self.auc, self.brier, self.concordance
        return super().notes if all(metric._is_unknown for metric in metrics) else self.privacy.notes

    @property
    def horizon(self) -> float:
        """The time up to which events count: the end of the last cell of time, or the last declared value."""
        values = self.times.values
        return self.times.upper if values is None else float(values[-1])

    @cached_property
    def auc(self) -> Estimate:
        """The time-dependent area under the ROC curve: cases have an event before the horizon, controls are observed
        past it.

        Equal to ``sksurv.metrics.cumulative_dynamic_auc``. Its interval holds for any order of scores inside cells.
        """

        def find_tie_allowance(found: HorizonCounts) -> FloatArray:
            """Return by how much the order of scores inside cells may change the area under the ROC curve.

            Args:
                found: Weighted counts by score, (..., scores).

            Returns:
                Largest change, (...); 0 for declared values of the score.
            """
            return found.tie_allowance() if self.scores.values is None else np.zeros(())

        return self._estimate_metric(f"AUC at {self.horizon:g}", HorizonCounts.auc, find_tie_allowance)

    @cached_property
    def brier(self) -> Estimate:
        """The Brier score at the horizon of scores that are event probabilities; see ``sksurv.metrics.brier_score``."""
        middles = self._score_midpoints
        return self._estimate_metric(f"Brier score at {self.horizon:g}", lambda found: found.brier_score(middles))

    @cached_property
    def concordance(self) -> Estimate:
        """Harrell's C-index up to the horizon, of scores and times rounded to their cells.

        Equal to ``sksurv.metrics.concordance_index_censored`` of these, with later times censored at the horizon. The
        interval also holds for times in random order inside their cells; declared values are tied.
        """

        def find_endpoints(level: float, population: bool) -> tuple[float, float]:
            """Return the ends of the interval of the C-index at `level`, over all orders of times in one cell; with
            `population` for the population.

            Args:
                level: Confidence level, between 0 and 1.
                population: Whether the interval is for the population, not for these records.
            """
            drawn = self._cell_counts.simulate_counts(population)
            intervals = []
            tables = self._cell_counts.counts, self._plausible_counts, drawn
            orders = []
            for in_random_order in self._tie_orders:
                orders.append([compute_concordance_index(counts, in_random_order=in_random_order) for counts in tables])
            known_draws = orders[0][2][np.isfinite(orders[0][2])]
            deviation = float(known_draws.std()) if len(known_draws) else 0.0
            apart = float(np.ptp([released for released, _, _ in orders]))
            if apart > 0 and deviation > 0 and not population:
                level = 2 * end_level(apart / deviation, level) - 1  # noise then misses at one end only
            for released, likely, moved in orders:
                intervals.append(_find_interval(float(released), moved - likely, level, population=population))
            return max(min(low for low, _ in intervals), 0.0), min(max(high for _, high in intervals), 1.0)

        value = float(np.clip(compute_concordance_index(self._cell_counts.counts), 0.0, 1.0))
        return Estimate(f"C-index up to {self.horizon:g}", value, find_endpoints, self.privacy, SHARE)

    @property
    def lower(self) -> FloatArray:
        """Lower edge of each group of similar scores, of shape ``(groups,)``."""
        return np.asarray(self.scores.edges[self._group_starts])

    @cached_property
    def predicted(self) -> FloatArray:
        """Mean score of each group, with scores at the middle of their cells, (groups,); NaN for groups that seem
        empty."""
        likely = self._records_by_score
        sums, sizes = (
            np.add.reduceat(values, self._group_starts) for values in (likely * self._score_midpoints, likely)
        )
        return np.divide(sums, sizes, out=np.full_like(sums, np.nan), where=sizes > 0)

    @cached_property
    def observed(self) -> FloatArray:
        """Share with an event before the horizon in each group, (groups,), weighted for censoring; NaN for empty
        groups, and everywhere if the horizon is past the end of follow-up."""
        observed = self._weight_counts(self._cell_counts.counts).event_fractions(self._group_starts).clip(0.0, 1.0)
        return observed if self._is_followed else np.full_like(observed, np.nan)

    @property
    def records(self) -> FloatArray:
        """Estimated number of records of each group, not negative, (groups,)."""
        unbiased = np.add.reduceat(self._cell_counts.counts.sum(axis=(0, 1)), self._group_starts)
        return np.maximum(unbiased, 0.0)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return lower and upper endpoints of `observed`, each at `level` separately: shape ``(groups, 2)``.

        Args:
            level: Probability that one interval holds, between 0 and 1.
            population: Whether they are for the population, not for these records.

        Returns:
            Ends between 0 and 1; 0 and 1 if follow-up ends before the horizon.
        """
        level = require_probability("level", level)
        simulated = self._cell_counts.simulate_counts(population)
        if not self._is_followed:
            return np.tile([0.0, 1.0], (len(self._group_starts), 1))
        ends = []
        for early in self._tie_orders:
            released, likely = (
                self._weight_counts(each, censored_first=early).event_fractions(self._group_starts)
                for each in (self._cell_counts.counts, self._plausible_counts)
            )
            moved = self._weight_counts(simulated, censored_first=early).event_fractions(self._group_starts) - likely
            ends.append(
                [_find_interval(*each, level, population=population) for each in zip(released, moved.T, strict=True)]
            )
        low = np.min(ends, axis=0)[:, 0]
        high = np.max(ends, axis=0)[:, 1]
        estimates = np.nan_to_num(self.observed, nan=0.5)
        return np.stack([np.minimum(low, estimates), np.maximum(high, estimates)], axis=1).clip(0.0, 1.0)

    def _estimate_metric(
        self,
        name: str,
        metric: Callable[[HorizonCounts], FloatArray],
        tie_allowance: Callable[[HorizonCounts], FloatArray] | None = None,
    ) -> Estimate:
        """Return the estimate of a metric of weighted counts, with a value between 0 and 1. `tie_allowance` widens
        its interval for unknown orders of scores inside cells; None: by nothing.

        Args:
            name: Name of the metric, for people.
            metric: Function of weighted counts that returns the metric, (...).
            tie_allowance: Function of weighted counts that returns the largest change by the order inside cells,
                (...).
        """

        def find_endpoints(level: float, population: bool) -> tuple[float, float]:
            """Return the interval, within 0 and 1, that covers the intervals of both orders of events and censoring
            inside cells; (0, 1) past the end of follow-up.

            Args:
                level: Confidence level.
                population: Whether it is for the population.
            """
            drawn = self._cell_counts.simulate_counts(population)
            found = []
            if not self._is_followed:
                return 0.0, 1.0
            for early in self._tie_orders:
                about, told = (
                    self._weight_counts(each, censored_first=early)
                    for each in (self._plausible_counts, self._cell_counts.counts)
                )
                more = 0.0 if tie_allowance is None else float(tie_allowance(about))
                moved = metric(self._weight_counts(drawn, censored_first=early)) - metric(about)
                low, high = _find_interval(float(metric(told)), moved, level, population=population)
                found.append((low - more, high + more))
            return max(min(low for low, _ in found), 0.0), min(max(high for _, high in found), 1.0)

        value = float(np.clip(metric(self._weight_counts(self._cell_counts.counts)), 0.0, 1.0))
        return Estimate(name, value, find_endpoints, self.privacy, SHARE)

    @cached_property
    def _followed_cells(self) -> BoolArray:
        """Mask of the cells of time to which significantly many records are followed, and last whether any are followed
        past the horizon, (cells + 1,).

        Counts of all scores are pooled, and so is their noise.
        """
        released, noise = (
            count_at_risk_to_horizon(counts.sum(axis=-1))
            for counts in (self._cell_counts.counts, self._cell_counts.noise)
        )
        return inference.find_followed_cells(released, noise)

    @property
    def _is_followed(self) -> bool:
        """Whether metrics at the horizon are known: records are followed past the horizon, or none is left before it
        that could have an event.
        """
        followed = self._followed_cells
        if followed.all():
            return True
        share = inference.estimate_survival(count_at_risk_to_horizon(self._cell_counts.counts.sum(axis=-1)), followed)
        return bool(followed.any() and share[int(followed.sum()) - 1] == 0)

    def _weight_counts(self, counts: FloatArray, *, censored_first: bool = False) -> HorizonCounts:
        """Return counts by score, weighted by the inverse probability of observation; `censored_first` makes
        censoring in a cell precede its events.

        Args:
            counts: Counts by outcome, time and score, with any leading axes.
            censored_first: Whether censoring in a cell precedes its events.
        """
        censoring = None if self.censoring_survival is None else np.asarray(self.censoring_survival)
        return HorizonCounts.from_counts(counts, censored_first=censored_first, censoring_survival=censoring)

    @property
    def _tie_orders(self) -> tuple[bool, ...]:
        """Orders of records inside a cell of time that intervals must cover, as values of `censored_first`: False alone
        for declared values, whose events precede censoring, else both.
        """
        return (False,) if self.times.values is not None else (False, True)

    @cached_property
    def _cell_counts(self) -> MergedCellCounts:
        """Unbiased released counts by event, cell of time and cell of score, (2, cells of time + 2, cells of score);
        scores outside are added to the first or last cell."""
        rows = (2, self.times.cells + 2)
        cells = self.scores.cells
        counts = self.evidence.unbiased_cells.reshape(*rows, cells + 2)
        simulated = SimulatedCounts(counts, self.evidence, self.privacy, self.privacy.notes, row_axes=2)
        return MergedCellCounts(simulated, (*rows, cells), clips=True)

    @cached_property
    def _records_by_score(self) -> FloatArray:
        """Estimated number of records in each cell of scores, over all events and times.

        Returns:
            Nonnegative numbers, (cells,).
        """
        counts = self._cell_counts.counts
        return np.asarray(project_to_simplex(counts, max(float(counts.sum()), 1.0)).sum(axis=(0, 1)))

    @property
    def _plausible_counts(self) -> FloatArray:
        """Nonnegative estimates of the counts, near the released ones and of their shape, used as records in
        simulations.
        """
        return self._cell_counts.likely_counts

    @property
    def _score_midpoints(self) -> FloatArray:
        """Middle of each cell of scores, or its declared value, (cells,)."""
        values = self.scores.values
        return (self.scores.edges[:-1] + self.scores.edges[1:]) / 2 if values is None else values

    @cached_property
    def _group_starts(self) -> IntArray:
        """First cell of scores of each group in which predicted and observed survival are compared, (groups,).

        Groups have about equal estimated numbers of records.
        """
        below = np.cumsum(self._records_by_score)
        shares = np.arange(1, self.groups) / self.groups
        cuts = np.searchsorted(below / max(float(below[-1]), 1.0), shares, side="left") + 1
        return np.unique(np.append(0, cuts[cuts < len(below)]))

    def _arrays(self) -> Mapping[str, object]:
        """Return the arrays of the JSON document: the columns of groups, `auc`, `brier` and `concordance`."""
        numbers = {"auc": self.auc.value, "brier": self.brier.value, "concordance": self.concordance.value}
        return {**self._columns(), **numbers}

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw observed shares against predicted probabilities, for groups that are not empty; return the axes.

        Args:
            shades: Intervals of the groups, wider ones first.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        seen = np.isfinite(self.predicted)
        plot_arguments = [shade.select_rows(seen) for shade in shades]
        observed = self._mask_unknown("observed", self.observed)[seen]
        ax = display.draw_calibration(self.predicted[seen], observed, self.records[seen], shades=plot_arguments, **how)
        ax.set(xlabel=f"predicted chance of an event before {self.horizon:g}", ylabel="share with an event, weighted")
        return ax

    def _question(self) -> Mapping[str, object]:
        """Return the JSON fields that restore the result with `_from_json`: cells of time and scores, groups, and
        the public probability of observation."""
        return {
            "edges": self.times.edges.tolist(), **declared_values_to_json(self.times),
            "scores": grid_to_json(self.scores),
            "groups": self.groups,
            "watched": None if self.censoring_survival is None else list(self.censoring_survival),
        }  # fmt: skip

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> SurvivalModel:
        """Return the result from a parsed JSON document.

        Args:
            document: Parsed JSON document of the result.

        Raises:
            InvalidArgument: the counts do not have the shape of the cells.
        """
        (evidence,), question = document.releases, document.question
        times = grid_from_cells(question, question["edges"], Outside.APART)
        watched = question["watched"]
        scores = grid_from_json(question["scores"])
        if (evidence.sums.rows, evidence.sums.cells) != (2 * (times.cells + 2), scores.cells + 2):
            raise InvalidArgument(
                "curve.evidence.releases",
                "counts by event, time and score are needed: use the text that to_json wrote",
            )
        shares = None if watched is None else tuple(map(float, watched))
        return cls(times, scores, question["groups"], shares, document.privacy, evidence)

    def _summary(self) -> list[tuple[str, str]]:
        """Return pairs of description and text: area, Brier score, and the end of follow-up if it is before the
        horizon."""
        end = self._follow_up_end
        estimates = self.auc, self.brier, self.concordance
        rows = [(estimate.name, format_number(estimate.value)) for estimate in estimates]
        if not self._is_followed:
            rows.append(("follow-up", "not known" if end is None else f"known up to {format_number(end)}"))
        return rows

    @property
    def _follow_up_end(self) -> float | None:
        """End of the last followed cell of time, or None if no cell is followed."""
        followed = int(self._followed_cells[:-1].sum())
        values = self.times.values
        ends = self.times.edges[1:] if values is None else values
        return float(ends[followed - 1]) if followed else None


def count_at_risk_to_horizon(counts: FloatArray) -> inference.AtRisk:
    """Return events and numbers at risk of each cell of time, and last the number followed past the horizon.

    Args:
        counts: By censored or event, and by cell of time (below, inside and beyond the grid), (..., 2, cells + 2).

    Returns:
        Both (..., cells + 1); there are no events past the horizon.
    """
    inside = inference.count_at_risk(counts[..., 1, :], counts[..., 0, :])
    past = counts[..., -1].sum(axis=-1)[..., None]
    return inference.AtRisk(
        np.concatenate([inside.events, np.zeros_like(past)], axis=-1),
        np.concatenate([inside.records, past], axis=-1),
    )


def _find_interval(found: float, moved: FloatArray, level: float, *, population: bool) -> tuple[float, float]:
    """Return the confidence interval of a share from its estimate and draws of its error; (0, 1) if nothing is known.

    Draws without records to divide by (NaN) count as errors; (0, 1) is also returned if they are more than half of the
    error probability.

    Args:
        found: The share as released; NaN if it is unknown.
        moved: Draws of its error, (draws,); NaN for a draw without records to divide by.
        level: Confidence level.
        population: If True, the interval is for the population.

    Returns:
        Lower and upper endpoint.
    """
    known = moved[np.isfinite(moved)]
    none = 1 - len(known) / len(moved)
    if not np.isfinite(found) or none > (1 - level) / 2:
        return 0.0, 1.0
    return compute_basic_interval(float(found), known, level + none, population)


@dataclass(frozen=True, slots=True)
class SurvivalModelQuestion(TableQuestion):
    """How well scores predict events before a horizon, with censoring. One round.

    Formal guarantees: a record lies in one cell of one table of events, times and scores, for any score.

    Attributes:
        score: Column of scores, or a `Scorecard` or `TreeEnsemble`: the predicted probability of an event.
        time: Numeric column: the time of the event, or of censoring.
        event: Column of the event indicator: event or censoring.
        times: Public cells of time from the start to the horizon; few are enough, because they only determine weights.
        scores: Public cells of scores; scores outside count in the first or last cell.
        groups: Maximum number of groups of similar scores.
        censoring_survival: Probability of observation before each edge of `times`, if it is public; else estimated from
            counts.
        by: Publicly declared categories: one result for each, all together at the privacy loss of one.
        event_value: Value of `event` for an event.
        censored_value: Value of `event` for a censored record; optional if `event_value` is 1, 0, -1, True or False.
        model: Statement about the origin of the model, printed with the result.

    Raises:
        ValueError: there are more than 16,384 counts, or `censoring_survival` does not fall from at most 1 to above 0.
        TypeError: a field has the wrong type.

    >>> import dpcurves as dp
    >>> table = {"risk": [0.2, 0.8] * 900, "months": [30, 9] * 900, "died": [0, 1] * 900}
    >>> question = dp.SurvivalModelQuestion("risk", "months", "died", dp.Grid(0, 24, cells=4), groups=2)
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     judged = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> judged.auc.value > 0.8
    True
    """

    score: str | Predictor
    time: str
    event: str
    times: Grid
    scores: Grid = PROBABILITY_FIFTIETHS
    groups: int = 10
    censoring_survival: tuple[float, ...] | None = None
    by: By = None
    event_value: Category = 1
    censored_value: Category | None = None
    model: str = "the model is taken as public"

    def __post_init__(self) -> None:
        times = Axis(self.time, self.times).grid
        _ = Axis(self.score, self.scores)
        event_categories(self)
        parse_grouping(self.by)
        require_type("groups", self.groups, int, "a whole number")
        if not 2 <= self.groups <= self.scores.cells:
            raise InvalidArgument(
                "groups",
                f"a number of groups from 2 to {self.scores.cells}, the cells of the scores, is needed, as in 5",
            )
        most_counts = 2**14  # counts of times, events and scores
        if 2 * (times.cells + 2) * self.scores.cells > most_counts:
            raise InvalidArgument(
                "times, scores",
                f"at most {most_counts} counts are allowed in a table; use fewer cells of time or of scores",
            )
        if self.censoring_survival is not None:
            plain = isinstance(self.censoring_survival, (tuple, list)) and all(
                type(each) in (int, float) for each in self.censoring_survival
            )
            if not plain:
                raise WrongArgumentType(
                    "censoring_survival", "a tuple of proportions is needed, as in (1, 0.9, 0.8); or leave it out"
                )
            object.__setattr__(self, "censoring_survival", tuple(self.censoring_survival))
            shares = np.asarray(self.censoring_survival, dtype=np.float64)
            falls = shares.shape == (times.cells + 1,) and bool((np.diff(shares) <= 0).all())
            if not falls or not 0 < shares[-1] <= shares[0] <= 1:
                raise InvalidArgument(
                    "censoring_survival",
                    "must have one probability for each edge of the cells of time, falling from at most 1 and above 0,"
                    " as in (1, 0.9, 0.8)",
                )

    def steps(self, setting: Setting) -> Needs[Any]:
        """Yield the only query: counts by event, cell of time and cell of score. Return the result, or one by category.

        Args:
            setting: Without effect: the table is the same for any loss.
        """
        times = self.times.with_outside(Outside.APART)
        scores = self.scores.with_outside(Outside.CLIPPED)
        axes = prepend_category_axes(
            self.by, event_categories(self), Axis(self.time, times), Axis(self.score, separate_outside(scores))
        )
        table = yield from ask_workload(PrefixWorkload(axes), WHOLE_BUDGET)
        privacy = build_privacy_statement(
            table.releases, self.model, note_thresholds_for_times(self.time, OUTSIDE_TUNING.horizon_share)
        )
        rows_of_counts = split_rows(table.counts, 2 * times.slots) if self.by is not None else [table.counts]
        facts = times, scores, self.groups, self.censoring_survival, privacy.with_notes(*notes_on_dependence(privacy))
        return collect_by_category(self.by, [SurvivalModel(*facts, part) for part in rows_of_counts])

    def __str__(self) -> str:
        return f"score {self.score} for {self.event} of {self.time} before {self.times.upper:g}"
