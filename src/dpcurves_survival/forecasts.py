"""Forecasts of questions about the time until an event, on records that are made up or drawn like a released curve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcurves.arrays import FloatArray
from dpcurves.data import Categories, Grid, Outside
from dpcurves.forecasts import true_readings as read
from dpcurves.forecasts.expected_errors import AREA, OF_ONE_AREA, OF_SLOW, ForecastKind, Table, named_column, quarter
from dpcurves.forecasts.more_questions import made_weights, steps_of
from dpcurves.forecasts.reference_laws import CLASSES, PLACES, Bits, Generator, Law, Places, along, chances_of, within
from dpcurves.forecasts.true_readings import LEVEL, Columns, half_of_each, off

from . import variants
from .competing_risks import CompetingRisks, CompetingRisksQuestion, table_of
from .inference import survival
from .kaplan_meier import Survival, SurvivalQuestion, event_of
from .survival_models import AtHorizon, SurvivalModel, SurvivalModelQuestion

# One kind of event, from the beginning of observation.


def _watched(places: Places) -> Callable[[Generator, int], tuple[FloatArray, Bits]]:
    """Times at these places, and whether they are those of an event: half of the records are watched until another."""

    def drawn(draw: Generator, size: int) -> tuple[FloatArray, Bits]:
        time, until = places(draw, size), 1.3 * places(draw, size)
        until = np.where(draw.random(size) < 0.5, until, np.inf)
        return np.minimum(time, until), (time <= until).astype(np.int64)

    return drawn


TIMES = MappingProxyType({name: _watched(PLACES[name]) for name in ("a hill", "a long tail", "tied values")})


def _times(question: SurvivalQuestion, drawn: tuple[FloatArray, Bits]) -> Table:
    time, event = drawn
    values = event_of(question).values
    return {question.time: along(question.grid, time), question.event: np.array(values)[event]}


def of_survival(question: Any, curve: Survival, records: Columns, steps: FloatArray | None = None) -> float:
    """Root mean square over edges, beside Kaplan and Meier's estimate from exact times, or from their weights."""
    came = np.asarray(records[question.event]) == question.came
    known, place = np.unique(np.asarray(records[question.time], dtype=np.float64), return_inverse=True)
    left, events = np.bincount(place, steps), np.bincount(place, came if steps is None else steps * came)
    share = np.append(1.0, np.cumprod(1 - events / np.maximum(np.cumsum(left[::-1])[::-1], 1e-9)))
    return off(curve.extrapolated, share[np.searchsorted(known, curve.x, side="left")])


PLAIN = ForecastKind(
    TIMES, _times, of_survival, "share that survives, root mean square",
    lambda curve, population: float(read.band_of(curve, population)[1:].mean()),
    "the band, on average", quarter, OF_SLOW,
)  # fmt: skip


def _traced_curve(curve: Survival) -> read.Traced:
    """A curve along its grid, carried on past its end, in its band."""
    return (curve.x, curve.extrapolated, *curve.band(LEVEL))


# No horizon: times lie between zero and 1000.


THOUSAND = Grid(0, 1000, cells=100)


def _unbounded_columns(question: Any, drawn: Any) -> dict[str, Any]:
    return _times(question.along(THOUSAND), drawn)


# Survey weights.


def _weighted_columns(question: Any, drawn: Any) -> Table:
    return {**_times(question, drawn), question.weight: made_weights(question, len(drawn[1]))}


def _weighted_error(question: Any, found: Survival, records: Columns) -> float:
    return of_survival(question, found, records, steps_of(question, records))


# Several kinds of events, and counts of made-up records.


def counted(records: Columns, *sides: tuple[str, Grid | Categories]) -> FloatArray:
    """Counts of records by columns: by their categories, or by cells, with those outside the grid apart."""
    places, shape = [], []
    for column, side in sides:
        values = np.asarray(records[column])
        if isinstance(side, Categories):
            places.append(np.array([list(side.values).index(each) for each in values.tolist()]))
            shape.append(side.slots)
        else:
            apart = side.with_outside(Outside.APART)
            places.append(apart.cell_of(values.astype(np.float64)))
            shape.append(apart.slots)
    found = np.zeros(shape)
    np.add.at(found, tuple(places), 1.0)
    return found


def _cause_columns(question: Any, drawn: Any) -> dict[str, Any]:
    time, event = drawn
    kinds = np.arange(len(event)) % len(question.causes) + 1
    values = np.array([question.censored, *question.causes], dtype=object)
    return {question.time: along(question.grid, time), question.event: values[np.where(event, kinds, 0)]}


def _cause_error(question: Any, found: CompetingRisks, records: Columns) -> float:
    event = Categories(question.event, (question.censored, *question.causes))
    censored, *events = counted(records, (question.event, event), (question.time, question.grid))
    table = table_of(censored, events, tied=True)
    return off(found.extrapolated, table.curves(table.records > 0, found.x[1:]).come)


# Late entry.


def _entry_columns(question: Any, drawn: Any) -> dict[str, Any]:
    """A third of the records enter where the grid begins, the others on the way to their exit."""
    found = _times(question, drawn)
    lower, way = question.grid.lower, np.arange(len(drawn[0])) % 3 / 3
    return {**found, question.entry: lower + (found[question.time] - lower) * way}


def _entry_error(question: Any, found: variants.DelayedEntry, records: Columns) -> float:
    came = np.where(np.asarray(records[question.event]) == question.came, 1, 0)
    columns, grid = {**records, question.event: came}, question.grid
    exits = counted(columns, (question.event, Categories(question.event, (0, 1))), (question.time, grid))
    entries = counted(columns, (question.entry, grid))
    at_risk = variants.leaving_of(exits[0], exits[1], entries, found.entries_first).at_risk
    return off(found.extrapolated, np.append(1.0, survival(at_risk, at_risk.records > 0)))


# Between two looks.


def _look_columns(question: Any, drawn: Any) -> dict[str, Any]:
    """Events that are seen up to a quarter of the grid later, and looks at those that have none."""
    time, event = drawn
    at, wide = along(question.grid, time), (question.grid.upper - question.grid.lower) / 4
    look = np.arange(len(at)) % 4 / 4 * wide
    last = np.where(event, at - wide / 8 - look / 2, at)
    return {question.last: last, question.first: np.where(event, at + look / 2, np.inf)}


def _look_error(question: Any, found: variants.IntervalCensored, records: Columns) -> float:
    counts = counted(records, (question.last, question.grid), (question.first, question.grid))
    return off(found.extrapolated[1:], 1 - np.cumsum(variants.turnbull(variants.collapsed(counts, early=False)))[:-1])


# Models at a horizon.


def _model_columns(question: Any, drawn: Any) -> dict[str, Any]:
    """Positives have an event before the horizon; of the others a quarter is censored before it."""
    bits, score = drawn
    values = event_of(question).values
    way, upper = np.arange(len(bits)) % 16 / 16, question.times.upper
    early = (bits == 1) | (np.arange(len(bits)) % 4 == 0)
    time = np.where(early, question.times.lower + (upper - question.times.lower) * way, upper * 1.5 + 1)
    return {named_column(question.score): along(question.scores, score), question.time: time,
            question.event: np.array(values)[bits]}  # fmt: skip


def _half_of_area(found: SurvivalModel, population: bool) -> float:
    return read.half(found.auc.interval(LEVEL, population=population))


def _model_error(question: Any, found: SurvivalModel, records: Columns) -> float:
    """Absolute error of the area; of what is not known, half its interval."""
    if np.isnan(found.auc.value):
        return _half_of_area(found, False)
    came = np.where(np.asarray(records[question.event]) == question.came, 1, 0)
    columns, kinds = {**records, question.event: came}, Categories(question.event, (0, 1))
    sides = (question.event, kinds), (question.time, question.times), (question.score, found.scores)
    counts = counted(columns, *sides)
    inside = counts[..., 1:-1]
    inside[..., 0] += counts[..., 0]
    inside[..., -1] += counts[..., -1]
    known = None if found.watched is None else np.asarray(found.watched)
    return abs(found.auc.value - float(AtHorizon.weighted(inside, early=False, known=known).area()))


OF_MODELS = ForecastKind(
    CLASSES, _model_columns, _model_error, AREA, _half_of_area, "the area", quarter, OF_ONE_AREA,
)  # fmt: skip


OF_EDGES = PLAIN._replace(half=half_of_each)
FORECASTS: Mapping[type[Any], ForecastKind] = MappingProxyType({
    SurvivalQuestion: PLAIN._replace(traced=_traced_curve, labels=("time", "share that survives")),
    variants.UnboundedSurvivalQuestion: PLAIN._replace(columns=_unbounded_columns),
    variants.WeightedSurvivalQuestion: PLAIN._replace(
        columns=_weighted_columns, error=_weighted_error, words="share of the weight that survives, root mean square"
    ),
    CompetingRisksQuestion: OF_EDGES._replace(
        columns=_cause_columns, error=_cause_error, words="share with an event, root mean square"
    ),
    variants.DelayedEntryQuestion: OF_EDGES._replace(columns=_entry_columns, error=_entry_error),
    variants.IntervalCensoredQuestion: OF_EDGES._replace(columns=_look_columns, error=_look_error, widths=2),
    SurvivalModelQuestion: OF_MODELS,
})  # fmt: skip


def law_like(question: Any, curve: Survival) -> tuple[Law, float] | None:
    """The law of records like those of a released survival curve; None: the question is about other columns."""
    if not (hasattr(question, "time") and hasattr(question, "came")):
        return None
    return _of_times(question, curve), float(curve.at_risk[0])


def _of_times(question: Any, curve: Survival) -> Law:
    """Times of events by the curve, and times until which records are watched by how many are at risk beside it."""
    names = np.array(event_of(question).values)
    left = np.append(curve.at_risk[1:], 0.0) / max(float(curve.at_risk[0]), 1.0)
    watched = np.minimum.accumulate(np.clip(left / np.maximum(curve.extrapolated, 1e-9), 0.0, 1.0))
    edges, values = curve.x, curve.grid.values
    happens, ends = (chances_of(np.append(-np.diff(each), each[-1])) for each in (curve.extrapolated, watched))

    def drawn(draw: Generator, size: int) -> Table:
        cell, until = (draw.choice(len(edges), size, p=each) for each in (happens, ends))
        placed = [within(edges, values, np.minimum(each, len(edges) - 2), draw) for each in (cell, until)]
        time, stop = (
            np.where(each < len(edges) - 1, at, np.inf) for each, at in zip((cell, until), placed, strict=True)
        )
        came = (time <= stop) & np.isfinite(time)
        seen = np.minimum(np.minimum(time, stop), edges[-1])
        return {question.time: seen, question.event: names[came.astype(np.int64)]}

    return drawn


LIKE: Mapping[type[Any], Callable[[Any, Any], tuple[Law, float] | None]] = MappingProxyType({Survival: law_like})
