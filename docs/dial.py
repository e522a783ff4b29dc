"""Half widths of intervals that `plan` forecasts, for the page on which one turns epsilon; `python docs/dial.py`.

They depend on the number of records times epsilon alone, as long as epsilon is not large (`benchmarks/dial.py`). So
each setting is forecast for some such products, and `dial.js` reads between them along straight lines of logarithms.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice, pairwise, product
from math import log
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

import dpcurves as dp
from dpcurves.arrays import FloatArray
from dpcurves.forecasts.expected_errors import MOST_TABLES, ForecastKind, find_forecast_kind
from dpcurves.forecasts.rehearsals import rehearse_answers, trace_band

HERE = Path(__file__).parent
NUMBERS = HERE / "dial.json"
PRODUCTS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
"""Records times epsilon."""
STEEP, CLOSE = 1.25, 1.08
"""Where a half width falls by so much more than a product grows, another way of asking begins: products are added
there, until two of them are this close."""
CERTAIN = 100_000
"""From this product on half widths hardly differ from one rehearsal to the next."""
LEAST_RECORDS = 10_000
ADJACENCIES = {"replace-one": dp.REPLACE_ONE, "add-remove": dp.ADD_REMOVE}
POINTS = 33
"""At most so many places of a curve are drawn."""
MIDDLES = {"a hill": 0.5, "a long tail": 0.15}
"""Means of records, as parts of their range."""
ALL_OF_IT = 0.5
"""A half width says nothing from here on."""


class Curve(NamedTuple):
    """A kind of curve.

    Attributes:
        name: What people call it.
        question: What is asked, with a number of cells.
        cells: The numbers of cells that can be chosen; one where there is no choice.
        shapes: What records may be like, by the names of the forecasts' distributions.
        rehearsals: How many answers a half width is the mean of.
        known: What is known to within a half width, in words.
        axes: What the axes of the picture show.
        joined: Whether its points are joined.
        plan: The command that forecasts it.
        ask: The command that asks it.
        python: The line of Python that asks it.
        filtered: The line of Python that asks it about the rows that pass a filter.
        per: A half width of 1 in the question's own unit, as a share: of the records, or of the range.
    """

    name: str
    question: Any
    cells: tuple[int, ...]
    shapes: tuple[str, ...]
    rehearsals: int
    known: str
    axes: tuple[str, str]
    joined: bool
    plan: str
    ask: str
    python: str
    filtered: str
    per: Any = lambda records: 1.0


PLACES = ("a hill", "a long tail", "a third zero, the rest heaped")
TERMS = " --epsilon {epsilon} --adjacency {adjacency}"
PYTHON = ', epsilon="{epsilon}", adjacency={python})'
FILTERED = (
    'dp.Session(people, budget=dp.PrivacyLoss.pure("{epsilon}"), adjacency={python}).ask('
    'QUESTION, where="age >= 65"), dp.PrivacyLoss.pure("{epsilon}"))'
)
PLANNED = "{units}" + TERMS + " --forecast {records}"


def _templates(word: str, options: str, named: str, call: str, question: str) -> tuple[str, str, str, str]:
    """The command that plans, the command that asks, and the lines of Python without and with a filter."""
    return (
        f"dpcurves plan {word} {options}{PLANNED}",
        " ".join(filter(None, (f"dpcurves {word} people.parquet", named, options))) + TERMS,
        f"dp.{call}{PYTHON}",
        FILTERED.replace("QUESTION", f"dp.{question}"),
    )


CURVES: Mapping[str, Curve] = {
    "cdf": Curve(
        "Distribution function of a column", lambda cells: dp.CdfQuestion("age", dp.Grid(0, 120, cells=cells)),
        (64, 256, 1024, 4096), PLACES, 12, "the whole curve", ("age", "share below"), True,
        *_templates(
            "cdf", "--grid 0:120:{cells}", "--column age", 'cdf(people["age"], grid=dp.Grid(0, 120, cells={cells})',
            'CdfQuestion("age", dp.Grid(0, 120, cells={cells})',
        ),
    ),
    "roc": Curve(
        "ROC curve of a score", lambda cells: dp.RocQuestion("ill", "risk"), (),
        ("as many of each class", "tied scores", "one positive in fifty"), 16, "the area under the curve",
        ("false positive rate", "true positive rate"), True,
        *_templates(
            "roc", "--label ill --score risk", "", 'roc_curve(people["ill"], people["risk"]',
            'RocQuestion("ill", "risk"',
        ),
    ),
    "survival": Curve(
        "Survival curve, 60 months",
        lambda cells: dp.SurvivalQuestion("months", "died", dp.Grid(0, 60, cells=60)), (),
        ("a hill", "a long tail"), 8, "the curve, on average over time,", ("months", "share that survives"), True,
        *_templates(
            "survival", "--time months --event died --grid 0:60:60", "",
            'survival(people["months"], people["died"], grid=dp.Grid(0, 60, cells=60)',
            'SurvivalQuestion("months", "died", dp.Grid(0, 60, cells=60)',
        ),
    ),
    "histogram": Curve(
        "Histogram, 24 cells", lambda cells: dp.HistogramQuestion("age", dp.Grid(0, 120, cells=24)), (), PLACES[:2],
        20, "each cell, simultaneously,", ("age", "share in a cell"), False,
        *_templates(
            "histogram", "--grid 0:120:24", "--column age", 'histogram(people["age"], grid=dp.Grid(0, 120, cells=24)',
            'HistogramQuestion("age", dp.Grid(0, 120, cells=24)',
        ),
        lambda records: 1 / records,
    ),
    "calibration": Curve(
        "Calibration curve, ten groups", lambda cells: dp.CalibrationQuestion("ill", "risk", groups=10), (),
        ("as many of each class", "classes far apart"), 16, "a group, on average,",
        ("mean score", "share of positives"), False,
        *_templates(
            "calibration", "--label ill --score risk --groups 10", "",
            'calibration_curve(people["ill"], people["risk"], groups=10',
            'CalibrationQuestion("ill", "risk", groups=10',
        ),
    ),
    "mean": Curve(
        "Mean of a column", lambda cells: dp.MeanQuestion("age", 0, 120), (), PLACES[:2], 40,
        "the mean, in percent of its range,", ("", "mean, as a part of the range"), False,
        *_templates(
            "mean", "--bounds 0:120", "--column age", 'mean(people["age"], bounds=(0, 120)',
            'MeanQuestion("age", 0, 120',
        ),
        lambda records: 1 / 120,
    ),
}  # fmt: skip


class Setting(NamedTuple):
    """A line of the table: a curve, its cells (0: no choice), the adjacency, and what records are like."""

    curve: str
    cells: int
    adjacency: str
    shape: str


def settings() -> Iterator[Setting]:
    """All of them."""
    for name, curve in CURVES.items():
        for cells, adjacency, shape in product(curve.cells or (0,), ADJACENCIES, curve.shapes):
            yield Setting(name, cells, adjacency, shape)


def terms(product: int) -> tuple[int, str]:
    """A number of records and an epsilon of this product: few records would not show what they are like."""
    records = max(LEAST_RECORDS, product)
    return records, f"{product / records:g}"


class Rehearsed(NamedTuple):
    """Answers about made-up records: the half width as a share, on average and in the single answers from the least to
    the most, and the curve and half of its band at some places.
    """

    half: float
    low: float
    high: float
    x: FloatArray
    y: FloatArray
    band: FloatArray


def given(setting: Setting) -> tuple[Any, ForecastKind, dp.Neighbours]:
    """The question of a setting, how it is forecast, and the adjacency."""
    question = CURVES[setting.curve].question(setting.cells)
    return question, find_forecast_kind(question), ADJACENCIES[setting.adjacency]


def seeded(setting: Setting, records: int, epsilon: str) -> np.random.Generator:
    """Random numbers of its own."""
    return np.random.default_rng(crc32(f"{setting} {records} {epsilon}".encode()))


def rehearsals(setting: Setting, records: int) -> int:
    """Number of answers whose half widths are averaged."""
    return CURVES[setting.curve].rehearsals if records < CERTAIN else 4


def rehearsed(setting: Setting, records: int, epsilon: str) -> Rehearsed:
    """Answer as often as `forecast` does, and with the same random numbers; no errors are computed here."""
    question, kind, adjacency = given(setting)
    half_of: Any = kind.half_width
    draw, times = seeded(setting, records, epsilon), rehearsals(setting, records)
    tables = [kind.fill_columns(question, kind.distributions[setting.shape](draw, records)) for _ in range(MOST_TABLES)]
    halves, traces = [], []
    for number, table in enumerate(tables):
        loss, seed = dp.PrivacyLoss.pure(epsilon), int(draw.integers(2**31))
        answered = rehearse_answers(question, table, loss, adjacency, seed)
        for place, curve in enumerate(islice(answered, len(range(number, times, MOST_TABLES)))):
            if kind.trace_curve is not None and (place == 0 or kind.trace_curve is trace_band):
                traces.append(kind.trace_curve(curve))
            if kind.trace_curve is trace_band:
                _, _, lower, upper = traces[-1]
                within = (upper - lower) / 2
                halves.append(within.max() if setting.curve == "cdf" else within[1:].mean())
            else:
                halves.append(half_of(curve, False))
    per = CURVES[setting.curve].per(records)
    half, low, high = (min(float(each) * per, ALL_OF_IT) for each in (np.mean(halves), min(halves), max(halves)))
    if not traces:
        return Rehearsed(half, low, high, np.zeros(1), np.full(1, MIDDLES.get(setting.shape, 0.5)), np.full(1, half))
    traces = [each for each in traces if len(each[0]) == len(traces[0][0])]
    x, y, lower, upper = (np.mean(column, axis=0) for column in zip(*traces, strict=True))
    seen = np.unique(np.linspace(0, len(x) - 1, min(POINTS, len(x))).round().astype(int))
    return Rehearsed(half, low, high, x[seen], per * y[seen], per * (upper - lower)[seen] / 2)


def forecast(setting: Setting, records: int, epsilon: str) -> float:
    """The half width of this setting as a share, as `dp.forecast` says it."""
    question, kind, adjacency = given(setting)
    found = dp.forecast(
        question, dp.PrivacyLoss.pure(epsilon), adjacency, records=records,
        like=lambda draw, size: kind.fill_columns(question, kind.distributions[setting.shape](draw, size)),
        rehearsals=rehearsals(setting, records), generator=seeded(setting, records, epsilon),
    )  # fmt: skip
    return float(min(found.expected_errors[0].half_width * CURVES[setting.curve].per(records), ALL_OF_IT))


def line(setting: Setting) -> dict[str, Any]:
    """The setting's half widths in percent, its curve, and half of its band at places in hundredths of a percent."""
    found = {each: rehearsed(setting, *terms(each)) for each in PRODUCTS}
    for low, high in pairwise(PRODUCTS):
        _fill(setting, found, low, high)
    ordered = [found[each] for each in sorted(found)]
    facts = {
        "products": sorted(found),
        **{name: [float(f"{100 * getattr(each, name):.4g}") for each in ordered] for name in ("half", "low", "high")},
        "x": [float(f"{each:.4g}") for each in ordered[-1].x], "y": np.round(ordered[-1].y, 4).tolist(),
        "bands": [np.rint(10_000 * _at(ordered[-1].x, each)).astype(int).tolist() for each in ordered],
    }  # fmt: skip
    return {**setting._asdict(), **facts}


def _at(x: FloatArray, each: Rehearsed) -> FloatArray:
    """Half of a band at these places: with more noise there may be fewer groups of scores."""
    return each.band if len(each.x) == len(x) else np.interp(x, each.x, each.band)


def _fill(setting: Setting, found: dict[int, Rehearsed], low: int, high: int) -> None:
    """Forecast between two products as often as a straight line between them would be far off."""
    fall = found[low].half / found[high].half
    if high / low > CLOSE and fall > STEEP * high / low:
        middle = round((low * high) ** 0.5)
        found[middle] = rehearsed(setting, *terms(middle))
        _fill(setting, found, low, middle)
        _fill(setting, found, middle, high)


def read(line: Mapping[str, Any], product: float) -> float:
    """The half width for a product of records and epsilon, read off a line, as `dial.js` reads it; in percent."""
    products, half = line["products"], line["half"]
    if product <= products[0]:
        return float(min(half[0] * products[0] / product, 100 * ALL_OF_IT))
    if product >= products[-1]:  # as it fell between the last two: intervals that allow for ties do not fall for ever
        fall = log(half[-1] / half[-2]) / log(products[-1] / products[-2])
        return float(half[-1] * (product / products[-1]) ** min(max(fall, -1.0), 0.0))
    return float(np.exp(np.interp(log(product), np.log(products), np.log(half))))


def numbers() -> dict[str, Any]:
    """The whole table."""
    told = ("name", "cells", "shapes", "known", "axes", "joined", "plan", "ask", "python", "filtered")
    curves = {name: {each: getattr(curve, each) for each in told} for name, curve in CURVES.items()}
    lines = []
    for each in settings():
        lines.append(line(each))
        print(*each, dict(zip(lines[-1]["products"], lines[-1]["half"], strict=True)), flush=True)
    return {"curves": curves, "lines": lines}


def main() -> None:
    """Write the table."""
    NUMBERS.write_text(json.dumps(numbers(), separators=(",", ":"), allow_nan=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
