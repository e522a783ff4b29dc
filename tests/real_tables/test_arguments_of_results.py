"""Whatever is passed to a public function, or to a public method of a result, is answered, or refused in one line
that begins with the name of an argument.

Results of all kinds are those of `test_hostile_names`; methods and properties are all public ones of their classes, and
functions all of `dpcurves`: a new one is tried without a line of its own.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_hostile_names import COLUMNS, LABELS, results

import dpcurves as dp
from dpcurves.arguments import ArgumentError, check_common_arguments

ODD: tuple[Any, ...] = (
    None, "odd", 10**400, [1, 2], float("nan"), np.array([[1, 2]]), -1, {}, b"odd", object(), (), 0.5, dp.CdfQuestion,
    [None], "", "\0", True, {"a": 1}, np.array([True, False]), 1j, range(3), iter([1]), "\ud800",
)  # fmt: skip
PARTS = 8  # of classes, and of functions, each of which is tried by itself
THINNED = 2  # odd values of an argument that was tried with all of them before, or of a slow call; they rotate
LINE = re.compile(r"[\w. \[\]'\"-]+(, [a-z_]+)*: [^\n]+")
REFUSALS = ArgumentError, dp.UnsupportedQuery, OSError, ImportError
WITH_EVIDENCE = re.compile(r"from_(?!json)\w+|\w+_document|parse_\w+")
"""Methods that take released counts from the package itself."""
DRAWING = re.compile(r"plot\w*|to_excel|to_workbook|render_html|describe_picture")
"""Methods that take a tenth of a second for valid values: they are tried on one kind of result each."""
SLOW = re.compile(rf"{DRAWING.pattern}|publish|model_card|survival_figure|forecast\w*")
"""Calls that take a tenth of a second for valid values: few odd values of each argument are tried."""
NOT_TRIED = {"audit"}  # runs for a minute
VALID: dict[str, Any] = {
    "level": 0.9, "p": 0.5, "threshold": 0.5, "time": 0.5, "times": [0.5], "x": 0.5, "lower": 0.1, "upper": 0.9,
    "columns": {}, "metric": "auc", "until": 0.5, "cause": LABELS[1], "category": LABELS[0], "name": LABELS[0],
    "key": LABELS[0], "probabilities": [0.25, 0.5], "bins": 2, "most": 2, "source": "visits@1", "picture": "<svg/>",
    "statistic": "mean", "first": COLUMNS[1], "second": "r", "edges": [0, 2], "text": "{}", "fpr": 0.5,
}  # fmt: skip


def call_with_odd_values(
    call: Callable[..., Any], turns: Iterator[int], other: Any, tried: set[tuple[str, ...]], valid: dict[str, Any]
) -> Iterator[tuple[str, Any, str]]:
    """Call a function with odd values for each of its arguments; yield those that fail without a clear line.

    All values are tried for an argument that is not in `tried`: of a method by its name, of a function by its type.
    """
    parameters = inspect.signature(call).parameters.values()
    needed = {
        one.name: valid.get(one.name, other)
        for one in parameters
        if one.default is one.empty and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    }
    for name in ("epsilon", "delta") if "randomness" in inspect.signature(call).parameters else ():
        if name in valid and name in inspect.signature(call).parameters:
            needed[name] = valid[name]
    for parameter in parameters:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD and parameter.kind is not parameter.KEYWORD_ONLY:
            continue
        place = call.__qualname__ if inspect.ismethod(call) else str(parameter.annotation)
        is_known = (place, parameter.name) in tried or SLOW.fullmatch(call.__name__)
        tried.add((place, parameter.name))
        for _ in range(THINNED if is_known else len(ODD)):
            odd = ODD[next(turns) % len(ODD)]
            try:
                call(**{**needed, parameter.name: odd})
            except REFUSALS as error:
                if isinstance(error, ArgumentError) and not LINE.fullmatch(str(error)):
                    yield parameter.name, odd, str(error)
            except Exception as error:
                yield parameter.name, odd, f"{type(error).__name__}: {error}"


def released_results() -> dict[type[Any], Any]:
    """Return one result of each class, also of those that others are made of."""
    found: dict[type[Any], Any] = {}
    for result in results().values():
        found.setdefault(type(result), result)
        if isinstance(result, dp.ByCategory) and len(result):
            member = next(iter(result.values()))
            found.setdefault(type(member), member)
    curve, scores = results()["SurvivalQuestion"], results()["ScoresQuestion"]
    readings = dp.survival_at(curve, 0.5), dp.partial_auc(scores, 0.5), dp.gini_coefficient(results()["CdfQuestion"])
    return {**found, **{type(reading): reading for reading in readings}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.quick_share(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_method_of_a_result_answers_or_names_the_argument(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some odd values are file names
    turns, failures, drawn, tried, arguments = count(), [], set[str](), set[str](), set[tuple[str, ...]]()
    for kind, result in list(released_results().items())[part::PARTS]:
        for name in dir(kind):
            member = inspect.getattr_static(kind, name)
            is_method = inspect.isfunction(member) or isinstance(member, classmethod | staticmethod)
            if name.startswith("_") or not is_method or WITH_EVIDENCE.fullmatch(name):
                continue
            if DRAWING.fullmatch(name) and (name in drawn or drawn.add(name)):  # type: ignore[func-returns-value]
                continue
            tried.add(f"{kind.__name__}.{name}")
            failures += [
                f"{kind.__name__}.{name}({argument}={odd!r:.40}): {text}"
                for argument, odd, text in call_with_odd_values(getattr(result, name), turns, result, arguments, VALID)
            ]
    assert len(tried) > 100 / PARTS
    assert not failures, "\n".join(failures)


def test_a_property_of_a_result_has_a_value_or_names_an_argument() -> None:
    failures, tried = [], 0
    for kind, result in released_results().items():
        for name in dir(kind):
            if name.startswith("_") or callable(inspect.getattr_static(kind, name)):
                continue
            tried += 1
            try:
                getattr(result, name)
            except ArgumentError as error:
                failures += [] if LINE.fullmatch(str(error)) else [f"{kind.__name__}.{name}: {error}"]
            except Exception as error:
                failures.append(f"{kind.__name__}.{name}: {type(error).__name__}: {error}")
    assert tried > 500
    assert not failures, "\n".join(failures)


def arguments_of_functions(folder: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return valid arguments of public functions by name, and those of single functions."""
    found, size = results(), 40
    numbers, bits, texts = np.arange(size) / size, np.arange(size) % 2, np.array(["a", "b"] * (size // 2))
    curve, scores, survival = found["CdfQuestion"], found["ScoresQuestion"], found["SurvivalQuestion"]
    cells = dp.Grid(0, 1, cells=4)
    valid = {
        **VALID, **dict.fromkeys(("values", "y_score", "y_prob", "x", "y", "predicted", "residual", "time"), numbers),
        **dict.fromkeys(("y_true", "event"), bits), **dict.fromkeys(("rows", "columns", "names"), texts),
        **dict.fromkeys(("row_categories", "column_categories"), ("a", "b")), "adjacency": dp.ADD_REMOVE, "epsilon": 1,
        **dict.fromkeys(("grid", "x_grid", "y_grid"), cells), "bounds": (0, 1), "coverage": "0.9",
        "model": dp.PUBLIC_MODEL, "condition": dp.col("x") > 1, "value": 3, "question": dp.CdfQuestion("x", cells),
        "loss": dp.PrivacyLoss.pure(1), "records": 1000, "kernel": np.maximum, "url": "http://localhost:1",
        "table": "t", "language": "de", "scores": scores, "max_fpr": 0.5, "specificity": 0.5,
        "results": found["CountQuestion by"], "numbers": found["CountQuestion by"], "folder": folder / "out",
        "noisy": [3, 4], "edges": [0, 1, 2], "path": folder / "none.json", "statement": "SELECT dp_count(x) FROM t",
        "risks": [found["CompetingRisksQuestion"]] * 2, "curves": found["SurvivalQuestion by"], "text": "{}",
        "connection": {"x": numbers},
    }  # fmt: skip
    categories = found["ScoresQuestion by"]
    single: dict[str, dict[str, Any]] = {
        "metric_difference": {"first": scores, "second": scores}, "group_rates": {"scores": categories},
        "group_curves": {"scores": categories}, "make_consistent": {"results": {"a": found["CountQuestion by"]}},
        "select_partitions": {"delta": "1e-6"}, "model_card": {"results": {"a": curve}},
        "survival_figure": {"curves": {"a": survival, "b": survival}},
        "forecast_comparison": {"question": dp.SurvivalQuestion("x", "y", cells)},
        "kendall_tau_a": {"table": found["ContingencyQuestion"]},
        "kendall_tau_b": {"table": found["ContingencyQuestion"]},
        "plan_question": {"adjacency": dp.ADD_REMOVE.to_adjacency(dp.EACH_RECORD, None)},
    }  # fmt: skip
    readings = "hazard_ratio log_rank_test median_difference number_needed_to_treat restricted_mean_difference"
    for name in [*readings.split(), "survival_difference"]:
        single[name] = {"first": survival, "second": survival, "time": 0.5}
    for name in ("cumulative_hazard_at", "survival_at", "restricted_mean", "median_follow_up"):
        single[name] = {"curve": survival, "time": 0.5}
    return valid, single


@pytest.mark.filterwarnings("ignore")
@pytest.mark.quick_share(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_public_function_answers_or_names_the_argument(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, 255 of 8,602 calls failed otherwise: comparisons with arrays, paths, tunings, adjacencies."""
    monkeypatch.chdir(tmp_path)
    valid, single = arguments_of_functions(tmp_path)
    turns, failures, tried, names = count(), [], set[tuple[str, ...]](), set[str]()
    functions = [name for name in sorted(dir(dp)) if inspect.isfunction(getattr(dp, name)) and name not in NOT_TRIED]
    for name in functions[part::PARTS]:
        function = getattr(dp, name)
        names.add(name)
        failures += [
            f"{name}({argument}={odd!r:.40}): {text}"
            for argument, odd, text in call_with_odd_values(
                function, turns, results()["CdfQuestion"], tried, valid | single.get(name, {})
            )
        ]
    assert len(names) > 60 / PARTS
    assert not failures, "\n".join(failures)


def test_common_arguments_are_checked_by_their_annotation() -> None:
    @check_common_arguments
    def read(level: float | None = None, *, raw: bool = False, draws: int = 5) -> tuple[Any, ...]:
        return level, raw, draws

    assert read(None) == (None, False, 5)
    numbers: dict[str, Any] = {"raw": np.bool_(True), "draws": np.int64(7)}
    assert read(0.5, **numbers) == (0.5, True, 7)
    refusals: tuple[tuple[dict[str, Any], str], ...] = (
        ({"level": 2}, r"^level: a number between 0 and 1"), ({"raw": 1}, r"^raw: True or False is needed, got 1$"),
        ({"raw": np.array(True)}, "^raw: True or False"), ({"draws": 10**7}, r"^draws: .* 1 to 1,000,000"),
        ({"draws": None}, "^draws: a whole number"),
    )  # fmt: skip
    for wrong, line in refusals:
        with pytest.raises(ValueError, match=line):
            read(**wrong)
    with warnings.catch_warnings(action="ignore"), pytest.raises(ValueError, match="^population: True or False"):
        results()["CdfQuestion"].band(0.9, population=[True])
