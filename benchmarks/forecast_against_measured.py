"""Forecasts beside what is then measured: errors and printed half widths, for every kind of question.

`python benchmarks/forecast_against_measured.py [KIND ...] [--data D ...] [--records N ...] [--epsilon E ...]
[--rehearsals N] [--seed N] [--json FILE]`. Records are tied, zero-inflated or smooth, of distributions that are none of
those that forecasts make up. Two tables of a distribution are drawn. Of one the forecast is made, as of public records
that are like the confidential ones; of the other the error of answers and the half width of the 95% interval are
measured, with all rounds and their noise. The adjacency alternates from case to case. Columns are forecast over
measured: the error, the half width for these records and that for the population (an error counts for a fiftieth of the
half width at least); then by how much what is measured lies outside the range of forecasts from made-up records (1:
inside), as the ratio to its nearest end, for error and half width. The last table says for each kind the geometric mean
of the ratios with its standard error, in how many cases a ratio is within a tenth of 1, or of its noise, and in how
many cases what is measured is within a tenth of the made-up range.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from interval_against_error import people, population
from rich.console import Console
from rich.progress import track
from rich.table import Table

import dpcurves as dp
from dpcurves.forecasts import ExpectedError

DATA = ("tied", "zero-inflated", "smooth")
NAMES = {"tied": "tied", "zero-inflated": "zero-inflated", "smooth": "continuous"}
"""Names of these kinds of data where intervals are held against errors."""
RECORDS = (300, 3_000, 30_000)
EPSILONS = ("0.1", "1")
BOTH = dp.REPLACE_ONE, dp.ADD_REMOVE
TENTH = 1.1
Draw = np.random.Generator
Columns = dict[str, Any]
MODEL = dp.DISJOINT_RECORDS
KEYS = {
    "tied": (("a", "b", "c"), (0, 1)),
    "zero-inflated": (("a", "b", "c", "d"), (0, 1, 2, 3)),
    "smooth": (("a", "b", "c", "d"), (0, 1, 2)),
}


def one_column(data: str, draw: Draw, size: int) -> Columns:
    """Values of a population that interval_against_error.py has."""
    return {"x": draw.choice(population(NAMES[data])[0], size)}


def classes(data: str, draw: Draw, size: int) -> Columns:
    """Scores and labels of a population."""
    score, likely = people(NAMES[data])
    drawn = draw.integers(len(score), size=size)
    return {"label": (draw.random(size) < likely[drawn]).astype(np.int64), "score": score[drawn]}


def times(data: str, draw: Draw, size: int) -> Columns:
    """Times of events, half of which are watched until another time alone."""
    values, grid = population(NAMES[data])
    time, until = (np.maximum(draw.choice(values, size), grid.lower) for _ in range(2))
    until = np.where(draw.random(size) < 0.5, 1.4 * until, np.inf)
    return {"t": np.minimum(time, until), "e": (time <= until).astype(np.int64)}


def pairs(data: str, draw: Draw, size: int) -> Columns:
    """Two columns of categories: of about one size, mostly one pair, or of many sizes."""
    a, b = KEYS[data]
    of = {"tied": 50.0, "zero-inflated": 0.15, "smooth": 1.0}[data]
    shares = np.random.default_rng(5).dirichlet(np.full(len(a) * len(b), of))
    first, second = np.divmod(draw.choice(len(shares), size, p=shares), len(b))
    return {"a": np.array(a)[first], "b": np.array(b)[second]}


def points(data: str, draw: Draw, size: int) -> Columns:
    """Points of a plane: a leaning cloud, on whole tenths, or with a third on the left edge."""
    x = np.clip(draw.normal(0.4, 0.15, size), 0, 1)
    y = np.clip(0.3 + 0.5 * x + draw.normal(0, 0.1, size), 0, 1)
    if data == "tied":
        return {"x": x.round(1), "y": y.round(1)}
    return {"x": np.where(draw.random(size) < 0.31, 0.0, x) if data == "zero-inflated" else x, "y": y}


def residuals(data: str, draw: Draw, size: int) -> Columns:
    """Predictions and residuals of a model, on whole numbers, or a third of the residuals nothing."""
    x = draw.gamma(2, 1.5, size)
    y = np.sin(x) + draw.laplace(0, 1, size)
    if data == "tied":
        return {"x": x.round(), "y": y.round()}
    return {"x": x, "y": np.where(draw.random(size) < 0.31, 0.0, y) if data == "zero-inflated" else y}


def pay(data: str, draw: Draw, size: int) -> Columns:
    """Pay by years and place: on whole hundreds, or a third without any."""
    years, place = draw.integers(8, 21, size), np.array(["north", "south"])[draw.integers(2, size=size)]
    paid = np.clip(300 + 12 * years + draw.gamma(2, 250, size), 0, 2_000)
    if data == "tied":
        paid = paid.round(-2)
    if data == "zero-inflated":
        paid = np.where(draw.random(size) < 0.31, 0.0, paid)
    return {"pay": paid, "years": years, "place": place}


class Kind(NamedTuple):
    """A kind of question: how it is asked of a kind of data, and the records that it is asked of."""

    question: Callable[[str], Any]
    columns: Callable[[str, Draw, int], Columns]


def _grid(data: str) -> dp.Grid:
    return population(NAMES[data])[1]


def _between(question: Any) -> Kind:
    return Kind(lambda data: question("x", _grid(data).lower, _grid(data).upper), one_column)


PLANE = dp.Grid(0, 1, cells=32)
CLAIM = (
    dp.NumericColumn("pay", 0, 2_000),
    (dp.NumericColumn("years", 8, 20), dp.Categories("place", ("north", "south"))),
)
KINDS: dict[str, Kind] = {
    "count": Kind(lambda data: dp.CountQuestion("x"), one_column),
    "sum": _between(dp.SumQuestion),
    "mean": _between(dp.MeanQuestion),
    "variance": _between(dp.VarianceQuestion),
    "summary": _between(dp.SummaryQuestion),
    "cdf": Kind(lambda data: dp.CdfQuestion("x", _grid(data)), one_column),
    "quantiles": Kind(lambda data: dp.QuantilesQuestion("x", _grid(data), (0.25, 0.5, 0.75)), one_column),
    "histogram": Kind(lambda data: dp.HistogramQuestion("x", _grid(data)), one_column),
    "bounds": Kind(lambda data: dp.BoundsQuestion("x", 1, "0.9"), residuals),
    "bounds of two": Kind(
        lambda data: dp.PlaneBoundsQuestion(dp.BoundsQuestion("x", 1, "0.9"), dp.BoundsQuestion("y", 1, "0.9")),
        residuals,
    ),
    "roc": Kind(lambda data: dp.RocQuestion("label", "score"), classes),
    "scores": Kind(lambda data: dp.ScoresQuestion("label", "score"), classes),
    "smooth area": Kind(lambda data: dp.SmoothAucQuestion("label", "score"), classes),
    "calibration": Kind(lambda data: dp.CalibrationQuestion("label", "score"), classes),
    "hosmer-lemeshow": Kind(lambda data: dp.HosmerLemeshowQuestion("label", "score"), classes),
    "binned residuals": Kind(lambda data: dp.BinnedResidualsQuestion("label", "score", MODEL), classes),
    "survival": Kind(lambda data: dp.SurvivalQuestion("t", "e", dp.Grid(0, _grid(data).upper, cells=60)), times),
    "contingency": Kind(
        lambda data: dp.ContingencyQuestion(
            dp.Categories("a", KEYS[data][0]), dp.Categories("b", KEYS[data][1])
        ),
        pairs,
    ),
    "two axes": Kind(lambda data: dp.Histogram2DQuestion("x", "y", PLANE, PLANE), points),
    "residual plot": Kind(lambda data: dp.ResidualPlotQuestion("x", "y", 1, 1, "0.95", MODEL), residuals),
    "verification": Kind(lambda data: dp.VerifyQuestion(*CLAIM, "years", above=0), pay),
}  # fmt: skip


class Case(NamedTuple):
    """A question, its records and its terms."""

    kind: str
    data: str
    records: int
    epsilon: str

    @property
    def adjacency(self) -> dp.Neighbours:
        """Either adjacency in turn."""
        places = (DATA.index(self.data), RECORDS.index(self.records) if self.records in RECORDS else 0)
        return BOTH[(sum(places) + len(self.epsilon)) % 2]

    @property
    def asked(self) -> tuple[Any, dp.PrivacyLoss, dp.Neighbours]:
        return KINDS[self.kind].question(self.data), dp.PrivacyLoss.pure(self.epsilon), self.adjacency


class Found(NamedTuple):
    """The forecast from records alike, the measurement, and the forecasts from made-up records."""

    case: Case
    forecast: ExpectedError
    measured: ExpectedError
    made_up: tuple[ExpectedError, ...]

    def ratio(self, of: str) -> float:
        """Forecast over measured."""
        return self._at_least(self.forecast, of) / self._at_least(self.measured, of)

    @property
    def noise(self) -> float:
        """The relative standard error of the ratio of errors."""
        return float(np.hypot(self._noise_of(self.forecast), self._noise_of(self.measured)))

    def outside(self, of: str) -> tuple[float, float]:
        """The measurement over the nearest end of the made-up range, and its relative error; 1 inside."""
        measured, ends = self._at_least(self.measured, of), [self._at_least(each, of) for each in self.made_up]
        low, high = int(np.argmin(ends)), int(np.argmax(ends))
        nearest = low if measured < ends[low] else high
        noise = float(np.hypot(self._noise_of(self.measured), self._noise_of(self.made_up[nearest])))
        inside = not measured < ends[low] and not measured > ends[high]
        return (1.0 if inside else measured / ends[nearest]), noise if of == "error" else 0.0

    def _at_least(self, each: ExpectedError, of: str) -> float:
        """An error counts for a fiftieth of the half width at least, which bounds that cover enough have not."""
        value = float(getattr(each, of))
        return (
            value if of != "error" or np.isnan(self.measured.half_width) else max(value, self.measured.half_width / 50)
        )

    def _noise_of(self, each: ExpectedError) -> float:
        return each.standard_error / self._at_least(each, "error")


def found(case: Case, rehearsals: int | None, seed: int, *, made_up: bool = True) -> Found:
    """Draw two tables of the distribution; forecast of the one, measure on the other; and forecast of made-up
    records."""
    draw = np.random.default_rng([seed, case.records, DATA.index(case.data), *case.kind.encode()])
    tables = [KINDS[case.kind].columns(case.data, draw, case.records) for _ in range(2)]
    alike, measured = (
        dp.forecast(*case.asked, like=table, rehearsals=rehearsals, generator=draw).expected_errors[0]
        for table in tables
    )
    if not made_up:
        return Found(case, alike, measured, ())
    others = dp.forecast(*case.asked, records=case.records, rehearsals=rehearsals, generator=draw)
    return Found(case, alike, measured, others.expected_errors)


def told(all_found: Sequence[Found]) -> Iterator[tuple[str, ...]]:
    """A row for each case."""
    for each in all_found:
        case = each.case
        errors = f"{each.ratio('error'):.2f} ± {each.ratio('error') * each.noise:.2f}"
        yield (
            case.kind, case.data, f"{case.records:,}", case.epsilon, case.adjacency.value, errors,
            f"{each.ratio('half_width'):.2f}", f"{each.ratio('population_half_width'):.2f}",
            f"{each.outside('error')[0]:.2f}",
            f"{each.outside('half_width')[0]:.2f}",
        )  # fmt: skip


def summary(all_found: Sequence[Found]) -> Iterator[dict[str, Any]]:
    """A line for each kind."""
    for kind in dict.fromkeys(each.case.kind for each in all_found):
        own = [each for each in all_found if each.case.kind == kind]
        row: dict[str, Any] = {"kind": kind, "cases": len(own)}
        for of in ("error", "half_width", "population_half_width"):
            logs = np.log([each.ratio(of) for each in own if 0 < each.ratio(of) < np.inf])
            row[of] = float(np.exp(logs.mean())) if len(logs) else np.nan
            row[f"{of}_se"] = float(row[of] * logs.std(ddof=1) / np.sqrt(len(logs))) if len(logs) > 1 else np.nan
            row[f"{of}_within"] = sum(_near(each.ratio(of), each.noise if of == "error" else 0.0) for each in own)
        row["range"] = sum(_near(*each.outside("error")) for each in own)
        row["range_of_widths"] = sum(_near(*each.outside("half_width")) for each in own)
        yield row


def _near(ratio: float, noise: float = 0.0) -> bool:
    """Tell whether a ratio is within a tenth of 1, or at most two standard errors beyond; so is none at all."""
    return bool(np.isnan(ratio) or (ratio > 0 and abs(np.log(ratio)) <= np.log(TENTH) + 2 * noise))


def show(console: Console, all_found: Sequence[Found], rows: Sequence[Mapping[str, Any]]) -> None:
    """Print both tables."""
    cases = Table("kind", "data", "records", "eps", "adjacency", "error", "half width", "for population",
                  "error outside made-up", "half width outside", title="Case by case")  # fmt: skip
    for row in told(all_found):
        cases.add_row(*row)
    table = Table("kind", "cases", "error", "within 1.1", "half width", "within 1.1", "for population", "within 1.1",
                  "error in made-up range", "half width in it", title="Forecast over measured")  # fmt: skip
    for row in rows:
        means = {
            of: f"{row[of]:.3f} ± {row[f'{of}_se']:.3f}" for of in ("error", "half_width", "population_half_width")
        }
        table.add_row(
            row["kind"], str(row["cases"]), means["error"], str(row["error_within"]), means["half_width"],
            str(row["half_width_within"]), means["population_half_width"],
            str(row["population_half_width_within"]), str(row["range"]),
            str(row["range_of_widths"]),
        )  # fmt: skip
    console.print(cases, table)
    of = sum(row["cases"] for row in rows)
    names = {"error_within": "errors within a tenth", "half_width_within": "half widths within a tenth",
             "population_half_width_within": "half widths for the population within a tenth",
             "range": "errors within a tenth of the made-up range",
             "range_of_widths": "half widths within a tenth of it"}  # fmt: skip
    for key, words in names.items():
        console.print(f"{words}: {sum(row[key] for row in rows)} of {of}", highlight=False)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all unless said")
    options.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    options.add_argument("--records", nargs="+", type=int, default=RECORDS)
    options.add_argument("--epsilon", nargs="+", default=EPSILONS)
    options.add_argument("--rehearsals", type=int, help="answers to each table; as many as a forecast has unless said")
    options.add_argument("--seed", type=int, default=29)
    options.add_argument("--json", type=Path, help="file for the numbers")
    asked = options.parse_args(arguments)
    for name in asked.kinds:
        if name not in KINDS:
            options.error(f"{name!r} is none of {', '.join(KINDS)}")
    cases = [Case(*each) for each in product(asked.kinds or KINDS, asked.data, asked.records, asked.epsilon)]
    running = track(cases, "forecasts", console=Console(stderr=True))
    all_found = [found(case, asked.rehearsals, asked.seed) for case in running]
    rows = list(summary(all_found))
    show(Console(width=150), all_found, rows)
    if asked.json:
        plain = {"kinds": rows, "cases": [[*each.case, *each.forecast, *each.measured] for each in all_found]}
        asked.json.write_text(json.dumps(plain, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
