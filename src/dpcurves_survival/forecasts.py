"""Forecast the errors of differentially private survival questions before budget is spent, by simulated releases.

For each type of question, records are synthesised, the question is answered on them with noise, and the result is
compared with the estimate from exact counts of the same records. The error is

    for curves (Kaplan-Meier, Turnbull, incidences)    the root mean square difference over the edges of the grid
    for the area under a ROC curve                     the absolute difference

`FORECASTS` has one `ForecastKind` per type of question: functions that synthesise its columns and measure its error.
`distribution_from_curve` synthesises records like those of an already released curve instead.

Formal guarantees: all records are synthetic, so no confidential record is read, and no budget is spent.
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
    AREA_ERROR_LABEL,
    AREA_REHEARSALS,
    SLOW_REHEARSALS,
    ForecastKind,
    Table,
    quarter_of_shares,
    require_column_name,
)
from dpcurves.forecasts.more_questions import synthesise_weights, weight_steps
from dpcurves.forecasts.reference_distributions import (
    CLASS_SAMPLERS,
    VALUE_SAMPLERS,
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


TIME_SAMPLERS = MappingProxyType(
    {name: censor_times(VALUE_SAMPLERS[name]) for name in ("a hill", "a long tail", "tied values")}
)
"""Samplers of synthetic censored times, as fractions of the grid, by the name of the distribution of event times. The
forecast takes several, as the true one is confidential."""


def _time_columns(question: SurvivalQuestion, sample: tuple[FloatArray, Bits]) -> Table:
    """Return synthetic columns for a question: times on its grid, and the value of its event column.

    Args:
        question: The question, which names the columns.
        sample: Times as fractions of the grid, and event indicators, shape (records,) each.

    Returns:
        Arrays of shape (records,) by column name.
    """
    time, event = sample
    values = event_categories(question).values
    return {question.time: interpolate_grid(question.grid, time), question.event: np.array(values)[event]}


def survival_error(question: Any, curve: Survival, records: Columns, steps: FloatArray | None = None) -> float:
    """Return the error of a released curve against the Kaplan-Meier estimate of the exact times of `records`.

    Args:
        question: The question, which names the columns.
        curve: The released curve.
        records: Synthetic records by column.
        steps: Integer weights of the records; None: unweighted.

    Returns:
        Root mean square difference over the edges of the grid.
    """
    is_event = np.asarray(records[question.event]) == question.event_value
    times, time_index = np.unique(np.asarray(records[question.time], dtype=np.float64), return_inverse=True)
    leaving = np.bincount(time_index, steps)
    events = np.bincount(time_index, is_event if steps is None else steps * is_event)
    share = np.append(1.0, np.cumprod(1 - events / np.maximum(np.cumsum(leaving[::-1])[::-1], 1e-9)))
    return root_mean_square_error(curve.extrapolated_survival, share[np.searchsorted(times, curve.x, side="left")])


SURVIVAL_FORECAST = ForecastKind(
    distributions=TIME_SAMPLERS, fill_columns=_time_columns, measure_error=survival_error,
    error_label="share that survives, root mean square",
    half_width=lambda curve, population: float(rehearsals.band_half_widths(curve, population)[1:].mean()),
    interval_label="the band, on average", uninformative_width=quarter_of_shares, rehearsals=SLOW_REHEARSALS,
)  # fmt: skip
"""Forecast of survival curves: the error of the curve, and the half width of its simultaneous band."""


def _trace_curve(curve: Survival) -> rehearsals.Traced:
    """Return edges, survival and the band's lower and upper limits of a curve, for a plot of the forecast.

    The curve is extrapolated past the end of follow-up; all arrays have the shape (cells + 1,).

    Args:
        curve: The released curve.
    """
    return (curve.x, curve.extrapolated_survival, *curve.band(LEVEL))


# Automatic range: times lie between 0 and 1000.


def _unbounded_columns(question: Any, sample: Any) -> dict[str, Any]:
    """Return synthetic columns, as `_time_columns`, for a question without a grid: times from 0 to 1,000.

    Args:
        question: Question with automatic range.
        sample: Simulated records: observed times, and 1 for an event or 0 for censoring.

    Returns:
        Columns by name.
    """
    # even cells, since the question finds its own grid
    return _time_columns(question.with_grid(Grid(0, 1000, cells=100)), sample)


# Survey weights.


def _weighted_columns(question: Any, sample: Any) -> Table:
    """Return synthetic columns, by name, for a weighted question: times, events and survey weights.

    Args:
        question: Question with a column of survey weights.
        sample: Simulated records: observed times, and 1 for an event or 0 for censoring.
    """
    return {**_time_columns(question, sample), question.weight: synthesise_weights(question, len(sample[1]))}


def _weighted_error(question: Any, curve: Survival, records: Columns) -> float:
    """Return the root mean square error of a weighted curve against the weighted Kaplan-Meier estimate of `records`.

    Args:
        question: Question with a column of survey weights.
        curve: Released curve.
        records: Synthetic records by column.
    """
    return survival_error(question, curve, records, weight_steps(question, records))


# Competing risks, and counts of synthetic records.


def count_cells(records: Columns, *sides: tuple[str, Grid | Categories]) -> FloatArray:
    """Return the exact counts of synthetic records in a table with one axis per column.

    Args:
        records: Synthetic records by column.
        sides: For each axis, the name of the column and its categories or grid. Numbers below or above a grid are
            counted in an additional first or last cell.

    Returns:
        Counts, with one axis for each of `sides`; an axis of a grid has two more cells than the grid.
    """
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
    """Return synthetic columns of competing risks: times, and causes that alternate among records with an event.

    Args:
        question: The question, which names the columns and the causes.
        sample: Times as fractions of the grid, and event indicators, (records,) each.
    """
    time, event = sample
    kinds = np.arange(len(event)) % len(question.causes) + 1
    values = np.array([question.censored_value, *question.causes], dtype=object)
    return {question.time: interpolate_grid(question.grid, time), question.event: values[np.where(event, kinds, 0)]}


def _cause_error(question: Any, risks: CompetingRisks, records: Columns) -> float:
    """Return the root mean square error of the incidences of all causes against those from exact counts.

    Args:
        question: The question, which names the columns and the causes.
        risks: The released incidences.
        records: Synthetic records by column.
    """
    event = Categories(question.event, (question.censored_value, *question.causes))
    censored, *events = count_cells(records, (question.event, event), (question.time, question.grid))
    table = risk_table_from_counts(censored, events, tied=True)
    return root_mean_square_error(
        risks.extrapolated_incidence, table.estimate_curves(table.records > 0, risks.x[1:]).incidence
    )


# Delayed entry.


def _entry_columns(question: Any, sample: Any) -> dict[str, Any]:
    """Return synthetic columns with delayed entry.

    A third of the records enter at the start of the grid, the others on the way to their exit.

    Args:
        question: The question, which names the columns of entry, exit and event.
        sample: Times as fractions of the grid, and event indicators, (records,) each.
    """
    columns = _time_columns(question, sample)
    lower = question.grid.lower
    fractions = np.arange(len(sample[0])) % 3 / 3
    return {**columns, question.entry: lower + (columns[question.time] - lower) * fractions}


def _entry_error(question: Any, curve: variants.DelayedEntry, records: Columns) -> float:
    """Return the root mean square error of survival with delayed entry against the estimate from exact counts.

    Args:
        question: The question, which names the columns of entry, exit and event.
        curve: The released curve.
        records: Synthetic records by column.
    """
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
    """Return synthetic examination times: the last examination without the event, and the first one with it.

    An event is first seen up to 3/16 of the grid after it. Records without an event have infinity as the first
    examination with it.

    Args:
        question: The question, which names the columns of both examinations.
        sample: Times as fractions of the grid, and event indicators, (records,) each.
    """
    time, event = sample
    at = interpolate_grid(question.grid, time)
    wide = (question.grid.upper - question.grid.lower) / 4
    delay = np.arange(len(at)) % 4 / 4 * wide
    last = np.where(event, at - wide / 8 - delay / 2, at)
    return {question.last: last, question.first: np.where(event, at + delay / 2, np.inf)}


def _interval_censored_error(question: Any, curve: variants.IntervalCensoredSurvival, records: Columns) -> float:
    """Return the root mean square error of survival against Turnbull's estimate from exact counts of pairs of cells.

    Args:
        question: The question, which names the columns of both examinations.
        curve: The released curve.
        records: Synthetic records by column.
    """
    counts = count_cells(records, (question.last, question.grid), (question.first, question.grid))
    return root_mean_square_error(
        curve.extrapolated_survival[1:],
        1 - np.cumsum(variants.estimate_turnbull_masses(variants.collapse_pairs(counts, round_down=False)))[:-1],
    )


# Models at a horizon.


def _model_columns(question: Any, sample: Any) -> dict[str, Any]:
    """Return synthetic columns of a model's scores, in which positives have an event before the horizon.

    A quarter of the other records is censored before the horizon.

    Args:
        question: The question, which names the columns of scores, times and events.
        sample: Classes (1: positive), and scores as fractions of the grid of scores, (records,) each.
    """
    bits, score = sample
    values = event_categories(question).values
    fractions = np.arange(len(bits)) % 16 / 16
    upper = question.times.upper
    early = (bits == 1) | (np.arange(len(bits)) % 4 == 0)
    time = np.where(early, question.times.lower + (upper - question.times.lower) * fractions, upper * 1.5 + 1)
    return {require_column_name(question.score): interpolate_grid(question.scores, score), question.time: time,
            question.event: np.array(values)[bits]}  # fmt: skip


def _auc_half_width(model: SurvivalModel, population: bool) -> float:
    """Return half the width of the interval of the area under the ROC curve at the confidence level of forecasts.

    Args:
        model: The released result.
        population: Whether the interval is for the population, sampling error included.
    """
    return rehearsals.mean_half_width(model.auc.interval(LEVEL, population=population))


def _model_error(question: Any, model: SurvivalModel, records: Columns) -> float:
    """Return the absolute error of the area under the ROC curve against the area from exact counts.

    Args:
        question: The question, which names the columns of scores, times and events.
        model: The released result.
        records: Synthetic records by column.

    Returns:
        The error; half the width of the area's interval if the released area is not known (NaN).
    """
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


MODEL_FORECAST = ForecastKind(
    distributions=CLASS_SAMPLERS, fill_columns=_model_columns, measure_error=_model_error, error_label=AREA_ERROR_LABEL,
    half_width=_auc_half_width, interval_label="the area", uninformative_width=quarter_of_shares,
    rehearsals=AREA_REHEARSALS,
)  # fmt: skip
"""Forecast of questions about a model at a time horizon: the error of the area under the ROC curve."""


INTERVAL_FORECAST = SURVIVAL_FORECAST._replace(half_width=interval_half_width)
"""Forecast of curves by the width of intervals at single times in the place of a simultaneous band."""
FORECASTS: Mapping[type[Any], ForecastKind] = MappingProxyType({
    SurvivalQuestion: SURVIVAL_FORECAST._replace(
        trace_curve=_trace_curve, axis_labels=("time", "share without an event")
    ),
    variants.AutoRangeSurvivalQuestion: SURVIVAL_FORECAST._replace(fill_columns=_unbounded_columns),
    variants.WeightedSurvivalQuestion: SURVIVAL_FORECAST._replace(
        fill_columns=_weighted_columns, measure_error=_weighted_error,
        error_label="share of the weight that survives, root mean square"
    ),
    CompetingRisksQuestion: INTERVAL_FORECAST._replace(
        fill_columns=_cause_columns, measure_error=_cause_error, error_label="share with an event, root mean square"
    ),
    variants.DelayedEntryQuestion: INTERVAL_FORECAST._replace(fill_columns=_entry_columns, measure_error=_entry_error),
    variants.IntervalCensoredQuestion: INTERVAL_FORECAST._replace(
        fill_columns=_interval_censored_columns, measure_error=_interval_censored_error, width_rehearsals=2
    ),
    SurvivalModelQuestion: MODEL_FORECAST,
})  # fmt: skip
"""How the errors of each type of question about survival are forecast, for plans."""


PLAN_NOTES: Mapping[type[Any], Callable[..., tuple[str, ...]]] = MappingProxyType({SurvivalQuestion: describe_plan})
"""Functions that write further lines of a printed plan, by type of question; plans of other types have none."""


def distribution_from_curve(question: Any, curve: Survival) -> tuple[RecordDistribution, float] | None:
    """Return a sampler of records like those of a released survival curve, and their estimated number.

    Args:
        question: The question to forecast.
        curve: A released survival curve.

    Returns:
        A function of a random generator and a number of records, which returns columns by name; and the number of
        records of the curve. None if the question has no columns of times and events.
    """
    if not (hasattr(question, "time") and hasattr(question, "event_value")):
        return None
    return _time_distribution_from_curve(question, curve), float(curve.at_risk[0])


def _time_distribution_from_curve(question: Any, curve: Survival) -> RecordDistribution:
    """Return a sampler of records like those of a released survival curve.

    Event times follow the curve. Censoring times follow the numbers at risk divided by the curve: the share at risk is
    the share without an event times the share that is not censored, if both are independent.

    Args:
        question: The question, which names the columns of times and events.
        curve: The released curve.
    """
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
        """Return columns of `size` synthetic records: observed times in the grid, and values of the event column.

        Args:
            draw: Random generator.
            size: Number of records.
        """
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
"""Functions that synthesise records like those of a released curve, by type of the curve; other curves have none."""
