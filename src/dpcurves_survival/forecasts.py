"""Forecasts of questions about times until an event, from synthetic records or records like a released curve.

For each question, synthetic records are made (`_time_columns` and others), answered with noise, and compared with the
estimate from exact counts of the same records:

    curves          root mean square difference over edges: Kaplan-Meier, Turnbull, incidences
    area            absolute difference

Formal guarantees: no confidential record is read; a released curve may give the distribution of the records
(`distribution_from_curve`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcurves.arrays import FloatArray
from dpcurves.data import Categories, Grid, Outside
from dpcurves.forecasts import rehearsals
from dpcurves.forecasts.expected_errors import (
    AREA,
    AREA_REHEARSALS,
    SLOW_REHEARSALS,
    ForecastKind,
    Table,
    quarter_of_shares,
    require_column_name,
)
from dpcurves.forecasts.more_questions import synthesise_weights, weight_steps
from dpcurves.forecasts.reference_distributions import (
    CLASSES,
    PLACES,
    Bits,
    Generator,
    RecordDistribution,
    interpolate_grid,
    normalise_weights,
    sample_within_cells,
)
from dpcurves.forecasts.rehearsals import LEVEL, Columns, interval_half_width, root_mean_square_error

from . import variants
from .comparison_grids import censor_times, describe_plan
from .competing_risks import CompetingRisks, CompetingRisksQuestion, risk_table_from_counts
from .inference import estimate_survival
from .kaplan_meier import Survival, SurvivalQuestion, event_categories
from .survival_models import HorizonCounts, SurvivalModel, SurvivalModelQuestion

# Survival from the start of observation.


TIMES = MappingProxyType({name: censor_times(PLACES[name]) for name in ("a hill", "a long tail", "tied values")})


def _time_columns(question: SurvivalQuestion, sample: tuple[FloatArray, Bits]) -> Table:
    """Return the synthetic table of a question: times scaled to its grid, and the value of the event column for each
    record."""
    time, event = sample
    values = event_categories(question).values
    return {question.time: interpolate_grid(question.grid, time), question.event: np.array(values)[event]}


def survival_error(question: Any, curve: Survival, records: Columns, steps: FloatArray | None = None) -> float:
    """Return the root mean square difference, over edges, between a released curve and the Kaplan-Meier estimate
    from the exact times of `records`. `steps` are their integer weights; None: unweighted."""
    is_event = np.asarray(records[question.event]) == question.event_value
    times, time_index = np.unique(np.asarray(records[question.time], dtype=np.float64), return_inverse=True)
    leaving = np.bincount(time_index, steps)
    events = np.bincount(time_index, is_event if steps is None else steps * is_event)
    share = np.append(1.0, np.cumprod(1 - events / np.maximum(np.cumsum(leaving[::-1])[::-1], 1e-9)))
    return root_mean_square_error(curve.extrapolated_survival, share[np.searchsorted(times, curve.x, side="left")])


SURVIVAL_FORECAST = ForecastKind(
    distributions=TIMES, fill_columns=_time_columns, measure_error=survival_error,
    error_label="share that survives, root mean square",
    half_width=lambda curve, population: float(rehearsals.band_half_widths(curve, population)[1:].mean()),
    interval_label="the band, on average", uninformative_width=quarter_of_shares, rehearsals=SLOW_REHEARSALS,
)  # fmt: skip


def _trace_curve(curve: Survival) -> rehearsals.Traced:
    """Return a curve along its grid, extrapolated past its end, with its band."""
    return (curve.x, curve.extrapolated_survival, *curve.band(LEVEL))


# Automatic range: times lie between 0 and 1000.


def _unbounded_columns(question: Any, sample: Any) -> dict[str, Any]:
    """Return the synthetic table of a question with automatic range, with times between 0 and 1,000."""
    # even cells, since the question finds its own grid
    return _time_columns(question.with_grid(Grid(0, 1000, cells=100)), sample)


# Survey weights.


def _weighted_columns(question: Any, sample: Any) -> Table:
    """Return the synthetic table of a weighted question: times, events and survey weights."""
    return {**_time_columns(question, sample), question.weight: synthesise_weights(question, len(sample[1]))}


def _weighted_error(question: Any, curve: Survival, records: Columns) -> float:
    """Return `survival_error` against the weighted Kaplan-Meier estimate of the synthetic records."""
    return survival_error(question, curve, records, weight_steps(question, records))


# Competing risks, and counts of synthetic records.


def count_cells(records: Columns, *sides: tuple[str, Grid | Categories]) -> FloatArray:
    """Return exact counts of synthetic records by categories or by cells, one axis for each side; values outside a
    grid have the first and last place of its axis."""
    places = []
    shape = []
    for column, side in sides:
        values = np.asarray(records[column])
        if isinstance(side, Categories):
            places.append(np.array([list(side.values).index(value) for value in values.tolist()]))
            shape.append(side.slots)
        else:
            apart = side.with_outside(Outside.APART)
            places.append(apart.cell_of(values.astype(np.float64)))
            shape.append(apart.slots)
    counts = np.zeros(shape)
    np.add.at(counts, tuple(places), 1.0)
    return counts


def _cause_columns(question: Any, sample: Any) -> dict[str, Any]:
    """Return the synthetic table of competing risks: the causes alternate among records with an event."""
    time, event = sample
    kinds = np.arange(len(event)) % len(question.causes) + 1
    values = np.array([question.censored_value, *question.causes], dtype=object)
    return {question.time: interpolate_grid(question.grid, time), question.event: values[np.where(event, kinds, 0)]}


def _cause_error(question: Any, risks: CompetingRisks, records: Columns) -> float:
    """Return the root mean square error of the incidences of all causes, compared with the incidences of exact
    counts."""
    event = Categories(question.event, (question.censored_value, *question.causes))
    censored, *events = count_cells(records, (question.event, event), (question.time, question.grid))
    table = risk_table_from_counts(censored, events, tied=True)
    return root_mean_square_error(
        risks.extrapolated_incidence, table.estimate_curves(table.records > 0, risks.x[1:]).incidence
    )


# Delayed entry.


def _entry_columns(question: Any, sample: Any) -> dict[str, Any]:
    """Return columns in which a third of the records enter at the start of the grid, and the others on the way to their
    exit."""
    columns = _time_columns(question, sample)
    lower = question.grid.lower
    fractions = np.arange(len(sample[0])) % 3 / 3
    return {**columns, question.entry: lower + (columns[question.time] - lower) * fractions}


def _entry_error(question: Any, curve: variants.DelayedEntry, records: Columns) -> float:
    """Return the root mean square error of survival with delayed entry against the estimate from the exact counts by
    cell."""
    is_event = np.where(np.asarray(records[question.event]) == question.event_value, 1, 0)
    columns = {**records, question.event: is_event}
    grid = question.grid
    exits = count_cells(columns, (question.event, Categories(question.event, (0, 1))), (question.time, grid))
    entries = count_cells(columns, (question.entry, grid))
    at_risk = variants.event_table_from_slots(exits[0], exits[1], entries, curve.entries_first).at_risk
    return root_mean_square_error(
        curve.extrapolated_survival, np.append(1.0, estimate_survival(at_risk, at_risk.records > 0))
    )


# Interval censoring.


def _interval_censored_columns(question: Any, sample: Any) -> dict[str, Any]:
    """Return two columns of examination times of synthetic records: an event is first seen up to 3/16 of the grid
    after it; records without an event have a last examination, and `inf` as the first one with the event."""
    time, event = sample
    at = interpolate_grid(question.grid, time)
    wide = (question.grid.upper - question.grid.lower) / 4
    delay = np.arange(len(at)) % 4 / 4 * wide
    last = np.where(event, at - wide / 8 - delay / 2, at)
    return {question.last: last, question.first: np.where(event, at + delay / 2, np.inf)}


def _interval_censored_error(question: Any, curve: variants.IntervalCensoredSurvival, records: Columns) -> float:
    """Return the root mean square error of survival against Turnbull's estimate from the exact counts of pairs of
    cells."""
    counts = count_cells(records, (question.last, question.grid), (question.first, question.grid))
    return root_mean_square_error(
        curve.extrapolated_survival[1:],
        1 - np.cumsum(variants.estimate_turnbull_masses(variants.collapse_pairs(counts, round_down=False)))[:-1],
    )


# Models at a horizon.


def _model_columns(question: Any, sample: Any) -> dict[str, Any]:
    """Return columns in which positives have an event before the horizon, and a quarter of the others is censored
    before it."""
    bits, score = sample
    values = event_categories(question).values
    fractions = np.arange(len(bits)) % 16 / 16
    upper = question.times.upper
    early = (bits == 1) | (np.arange(len(bits)) % 4 == 0)
    time = np.where(early, question.times.lower + (upper - question.times.lower) * fractions, upper * 1.5 + 1)
    return {require_column_name(question.score): interpolate_grid(question.scores, score), question.time: time,
            question.event: np.array(values)[bits]}  # fmt: skip


def _auc_half_width(model: SurvivalModel, population: bool) -> float:
    """Return half the width of the interval of the area under the ROC curve at the confidence level of forecasts."""
    return rehearsals.mean_half_width(model.auc.interval(LEVEL, population=population))


def _model_error(question: Any, model: SurvivalModel, records: Columns) -> float:
    """Return the absolute error of the area under the ROC curve against the area from exact counts by cell, or half
    the width of its interval if the area is NaN."""
    if np.isnan(model.auc.value):
        return _auc_half_width(model, False)
    is_event = np.where(np.asarray(records[question.event]) == question.event_value, 1, 0)
    columns = {**records, question.event: is_event}
    kinds = Categories(question.event, (0, 1))
    sides = (question.event, kinds), (question.time, question.times), (question.score, model.scores)
    counts = count_cells(columns, *sides)
    inside = counts[..., 1:-1]
    inside[..., 0] += counts[..., 0]
    inside[..., -1] += counts[..., -1]
    censoring = None if model.censoring_survival is None else np.asarray(model.censoring_survival)
    return abs(
        model.auc.value
        - float(HorizonCounts.from_counts(inside, censored_first=False, censoring_survival=censoring).auc())
    )


OF_MODELS = ForecastKind(
    distributions=CLASSES, fill_columns=_model_columns, measure_error=_model_error, error_label=AREA,
    half_width=_auc_half_width, interval_label="the area", uninformative_width=quarter_of_shares,
    rehearsals=AREA_REHEARSALS,
)  # fmt: skip


OF_EDGES = SURVIVAL_FORECAST._replace(half_width=interval_half_width)
FORECASTS: Mapping[type[Any], ForecastKind] = MappingProxyType({
    SurvivalQuestion: SURVIVAL_FORECAST._replace(
        trace_curve=_trace_curve, axis_labels=("time", "share without an event")
    ),
    variants.AutoRangeSurvivalQuestion: SURVIVAL_FORECAST._replace(fill_columns=_unbounded_columns),
    variants.WeightedSurvivalQuestion: SURVIVAL_FORECAST._replace(
        fill_columns=_weighted_columns, measure_error=_weighted_error,
        error_label="share of the weight that survives, root mean square"
    ),
    CompetingRisksQuestion: OF_EDGES._replace(
        fill_columns=_cause_columns, measure_error=_cause_error, error_label="share with an event, root mean square"
    ),
    variants.DelayedEntryQuestion: OF_EDGES._replace(fill_columns=_entry_columns, measure_error=_entry_error),
    variants.IntervalCensoredQuestion: OF_EDGES._replace(
        fill_columns=_interval_censored_columns, measure_error=_interval_censored_error, width_rehearsals=2
    ),
    SurvivalModelQuestion: OF_MODELS,
})  # fmt: skip


PLAN_NOTES: Mapping[type[Any], Callable[..., tuple[str, ...]]] = MappingProxyType({SurvivalQuestion: describe_plan})


def distribution_from_curve(question: Any, curve: Survival) -> tuple[RecordDistribution, float] | None:
    """Return a sampler of records like a released survival curve and their estimated number, or None if the question
    has no time and event columns of this kind."""
    if not (hasattr(question, "time") and hasattr(question, "event_value")):
        return None
    return _time_distribution_from_curve(question, curve), float(curve.at_risk[0])


def _time_distribution_from_curve(question: Any, curve: Survival) -> RecordDistribution:
    """Return a sampler of records whose event times follow the curve and whose censoring times follow the numbers at
    risk divided by the curve."""
    names = np.array(event_categories(question).values)
    remaining = np.append(curve.at_risk[1:], 0.0) / max(float(curve.at_risk[0]), 1.0)
    observed = np.minimum.accumulate(np.clip(remaining / np.maximum(curve.extrapolated_survival, 1e-9), 0.0, 1.0))
    edges = curve.x
    values = curve.grid.values
    happens, ends = (
        normalise_weights(np.append(-np.diff(survival), survival[-1]))
        for survival in (curve.extrapolated_survival, observed)
    )

    def sample_records(draw: Generator, size: int) -> Table:
        """Return a table of `size` synthetic records: observed times, up to the end of the grid, and the value of
        the event column."""
        cell, until = (draw.choice(len(edges), size, p=masses) for masses in (happens, ends))
        placed = [
            sample_within_cells(edges, values, np.minimum(cells, len(edges) - 2), draw) for cells in (cell, until)
        ]
        time, stop = (
            np.where(cells < len(edges) - 1, at, np.inf) for cells, at in zip((cell, until), placed, strict=True)
        )
        is_event = (time <= stop) & np.isfinite(time)
        seen = np.minimum(np.minimum(time, stop), edges[-1])
        return {question.time: seen, question.event: names[is_event.astype(np.int64)]}

    return sample_records


LIKE: Mapping[type[Any], Callable[[Any, Any], tuple[RecordDistribution, float] | None]] = MappingProxyType(
    {Survival: distribution_from_curve}
)
