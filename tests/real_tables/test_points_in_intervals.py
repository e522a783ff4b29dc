"""Every reading of every kind of result lies in its interval, and one that is not known is so at every level.

Results are those of `test_hostile_names`, of tables on which little or nothing is known; readings are the columns of
their tables and all public methods of their classes: a new kind, column or method is tried without a line of its own.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import test_hostile_names
from test_arguments_of_results import REFUSALS, SLOW, VALID, WITH_EVIDENCE
from test_hostile_names import COLUMNS, LABELS

import dpcurves as dp

METRICS = "auc", "average-precision", "ks", "brier", "ece", "log-loss", "precision", "recall", "selection rate"
PAIRS = ((LABELS[0], LABELS[1]), (COLUMNS[1], "r"))
"""Values of `first` and `second`: categories of some kinds, models of others."""
POINTS = "value", "consistent", "incidence", "observed", "prob_true", "benefit", "share", "y", "count", "x"
"""Columns whose interval is called `lower` and `upper`: the first one that a table has."""
LEVELS = 0.95, 0.5
OUTPUTS = re.compile(r"to_\w+|columns_with_intervals|describe_\w+|report_tables|summary_facts|with_\w+|get|keys")
"""Methods that write or copy the whole result."""
CLOSE = 1e-9  # relative to 1; points and ends are computed by different sums
WITHOUT_ENDS = "VerifyQuestion", "PairwiseScorerQuestion", "ResidualPlotQuestion", "PlaneBoundsQuestion"
"""Questions whose results have no intervals; only the whole sweep asks them."""


def make_results(patch: pytest.MonkeyPatch, records: int, epsilon: str, *, one_class: bool, whole: bool) -> list[Any]:
    """Return one result of each class, also of those that others are made of."""
    table, questions = test_hostile_names.made_table, test_hostile_names.questions
    labels = {"y": np.zeros(records, dtype=int)} if one_class else {}
    patch.setattr(test_hostile_names, "RECORDS", records)
    patch.setattr(test_hostile_names, "LOSS", dp.PrivacyLoss.pure(epsilon))
    patch.setattr(test_hostile_names, "made_table", lambda: {**table(), **labels})
    asked = [question for question in questions() if whole or type(question).__name__ not in WITHOUT_ENDS]
    patch.setattr(test_hostile_names, "questions", lambda: iter(asked))
    found: dict[type[Any], Any] = {}
    for result in test_hostile_names.results.__wrapped__().values():
        found.setdefault(type(result), result)
        if isinstance(result, dp.ByCategory) and len(result):
            member = next(iter(result.values()))
            found.setdefault(type(member), member)
    return list(found.values())


def valid_calls(result: Any, *, whole: bool) -> Iterator[tuple[str, list[Any]]]:
    """Call each public method with valid arguments; yield its name and what it returns at each level."""
    for name, member in inspect.getmembers(type(result), inspect.isfunction):
        if name.startswith("_") or any(pattern.fullmatch(name) for pattern in (SLOW, WITH_EVIDENCE, OUTPUTS)):
            continue
        parameters = inspect.signature(member).parameters
        needed = {key: VALID.get(key, result) for key, each in parameters.items() if each.default is each.empty}
        needed = {key: value for key, value in needed.items() if key not in ("self", "level")}
        choices = [needed]
        if "first" in needed:
            choices = [{**needed, "first": first, "second": second} for first, second in PAIRS]
        if "metric" in needed:
            metrics = METRICS if whole else METRICS[:1]
            choices = [{**each, "metric": metric} for each in choices for metric in metrics]
        if "population" in parameters and whole:
            choices = [{**each, "population": population} for each in choices for population in (False, True)]
        for arguments in choices:
            returned = []
            for level in LEVELS if "level" in parameters else (None,):
                with suppress(*REFUSALS, TypeError, KeyError, AttributeError):
                    returned.append(member(result, **arguments, **({} if level is None else {"level": level})))
            yield f"{type(result).__name__}.{name}({arguments})", returned


def parts(answer: Any) -> Iterator[Any]:
    """The estimates of an answer, or of each category, or column, of it."""
    if isinstance(answer, dict):
        yield from answer.values()
    elif isinstance(answer, list | tuple) and not hasattr(answer, "value"):
        yield from answer
    else:
        yield answer


def point_and_ends(estimate: Any, level: float) -> list[np.ndarray] | None:
    """Points and their interval; None of an answer that has none."""
    value, ends = getattr(estimate, "value", None), [getattr(estimate, key, None) for key in ("lower", "upper")]
    if ends[0] is None and callable(getattr(estimate, "interval", None)):
        with suppress(*REFUSALS, TypeError):
            ends = np.moveaxis(np.asarray(estimate.interval(level), dtype=float), -1, 0).tolist()
    if value is None or callable(value) or any(end is None or callable(end) for end in ends):
        return None
    return list(np.broadcast_arrays(*(np.asarray(each, dtype=float) for each in (value, *ends))))


def columns_and_ends(result: Any, level: float) -> dict[str, list[np.ndarray]]:
    """Columns of points and of their intervals, for these records and for the population."""
    columns = result.columns_with_intervals(level=level)
    found = {}
    for lower in columns:
        word, middle, suffix = lower.rpartition("lower")
        point = word.removesuffix("_") or next((name for name in POINTS if name in columns), None)
        if middle and point in columns and f"{word}upper{suffix}" in columns:
            names = point, lower, f"{word}upper{suffix}"
            found[point + suffix] = [np.asarray(columns[name], dtype=float) for name in names]
    return found


def judge(place: str, at_levels: list[list[np.ndarray]]) -> Iterator[str]:
    """Points outside their interval, and intervals of what is not known that depend on the level."""
    for value, lower, upper in at_levels:
        outside = ~np.isnan(value) & ~((lower - CLOSE <= value) & (value <= upper + CLOSE))
        if outside.any():
            yield f"{place}: {value[outside]} not in {lower[outside]}, {upper[outside]}"
    (value, *first), (*_, lower, upper) = at_levels[0], at_levels[-1]
    is_open = np.isnan(value) & np.isfinite(first).all(axis=0)
    moved = is_open & ((first[0] != lower) | (first[1] != upper))
    if moved.any():
        ends = [end[moved] for end in (*first, lower, upper)]
        yield f"{place}: not known at {np.flatnonzero(moved)}, with ends that differ by level: {ends}"


def sweep(results: list[Any], *, whole: bool) -> tuple[int, list[str]]:
    """The number of intervals that were read, and those that are wrong."""
    read, wrong = 0, list[str]()
    for result in results:
        if hasattr(result, "columns_with_intervals"):
            tables = [columns_and_ends(result, level) for level in (LEVELS if whole else LEVELS[:1])]
            for name in tables[0]:
                for table in tables:  # what is known is decided at one level, so that ends at others may say more
                    wrong += judge(f"{type(result).__name__} {name}", [table[name]])
                read += 1
        for call, returned in valid_calls(result, whole=whole):
            for estimates in zip(*map(parts, returned), strict=False):
                levels = LEVELS if len(estimates) == len(LEVELS) else LEVELS[:1]
                at_levels = [point_and_ends(estimate, level) for estimate, level in zip(estimates, levels, strict=True)]
                known = [each for each in at_levels if each is not None]
                if known and len(known) == len(at_levels):
                    wrong += judge(call, known)
                    read += 1
    return read, wrong


@pytest.mark.filterwarnings("ignore")
def test_every_reading_of_few_records_lies_in_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    read, wrong = sweep(make_results(monkeypatch, 12, "0.3", one_class=False, whole=False), whole=False)
    assert read > 50
    assert not wrong, "\n".join(wrong)


@pytest.mark.reproduction
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("one_class", [False, True])
@pytest.mark.parametrize(
    ("records", "epsilon"), [(1, "1"), (12, "0.3"), (40, "1"), (40, "0.01"), (300, "1"), (600, "100")]
)
def test_every_reading_of_every_table_lies_in_its_interval(
    records: int, epsilon: str, one_class: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, wrong = sweep(make_results(monkeypatch, records, epsilon, one_class=one_class, whole=True), whole=True)
    assert read > 100
    assert not wrong, "\n".join(wrong)


def test_the_sweep_finds_a_point_outside_and_ends_that_move() -> None:
    class Wrong:
        def outside(self, level: float) -> Any:
            return Reading(0.9, 0.1, level * 0.2)

        def moving(self, level: float) -> Any:
            return Reading(np.nan, 0.0, level)

    read, wrong = sweep([Wrong()], whole=False)
    assert read == 2
    assert [line.partition("(")[0] for line in wrong] == ["Wrong.moving", "Wrong.outside", "Wrong.outside"]


class Reading:
    """A number and its interval."""

    def __init__(self, value: float, lower: float, upper: float) -> None:
        self.value, self.lower, self.upper = value, lower, upper
