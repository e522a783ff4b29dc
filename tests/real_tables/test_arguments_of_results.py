"""Whatever is passed to a public method or function that reads a released result is answered, or refused in one line
that begins with the name of an argument.

Results of all kinds are those of `test_hostile_names`, and methods are all public ones of their classes: a new one is
tried without a line of its own.
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
THINNED = 2  # odd values of each argument of each method; the values rotate
LINE = re.compile(r"[\w. \[\]'\"-]+(, [a-z_]+)*: [^\n]+")
REFUSALS = ArgumentError, dp.UnsupportedQuery, OSError, ImportError
WITH_EVIDENCE = re.compile(r"from_(?!json)\w+|\w+_document|parse_\w+")
"""Methods that take released counts from the package itself."""
DRAWING = re.compile(r"plot\w*|to_excel|to_workbook|render_html|describe_picture")
"""Methods that take a tenth of a second for valid values: they are tried on one kind of result each."""
VALID: dict[str, Any] = {
    "level": 0.9, "p": 0.5, "threshold": 0.5, "time": 0.5, "times": [0.5], "x": 0.5, "lower": 0.1, "upper": 0.9,
    "columns": {}, "metric": "auc", "until": 0.5, "cause": LABELS[1], "category": LABELS[0], "name": LABELS[0],
    "key": LABELS[0], "probabilities": [0.25, 0.5], "bins": 2, "most": 2, "source": "visits@1", "picture": "<svg/>",
    "statistic": "mean", "first": COLUMNS[1], "second": "r", "edges": [0, 2], "text": "{}", "fpr": 0.5,
}  # fmt: skip


def call_with_odd_values(call: Callable[..., Any], turns: Iterator[int], other: Any) -> Iterator[tuple[str, Any, str]]:
    """Call a function with some odd values for each of its arguments; yield those that fail without a clear line."""
    parameters = inspect.signature(call).parameters.values()
    needed = {
        one.name: VALID.get(one.name, other)
        for one in parameters
        if one.default is one.empty and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    }
    for parameter in parameters:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD and parameter.kind is not parameter.KEYWORD_ONLY:
            continue
        for _ in range(THINNED):
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
def test_a_method_of_a_result_answers_or_names_the_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some odd values are file names
    turns, failures, drawn, tried = count(), [], set[str](), set[str]()
    for kind, result in released_results().items():
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
                for argument, odd, text in call_with_odd_values(getattr(result, name), turns, result)
            ]
    assert len(tried) > 100
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
