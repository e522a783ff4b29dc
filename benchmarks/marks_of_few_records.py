"""Marks of few records and of intervals: what is asked, what is measured, and why what misses its mark does.

`python benchmarks/marks_of_few_records.py [--kept] [--keep] [--only TEXT ...] [--releases N] [--tasks N] [--quick]
[--seed N] [--data FOLDER] [--file FILE]`. Each line is a task, its mark (at most, unless it says at least), what was
measured with its standard error, the worst case, of how many releases of each case, and whether it is at its mark;
below stands why not, from `accuracy/reasons.toml` and `few_reasons.toml` beside it. Everything is measured by functions
of other benchmarks: curves of few records by `regimes.py`, `smooth_distributions.py` and `survival_few.py`, intervals
by `interval_against_error.py` and `coverage_of_intervals.py`, tests by `levels_of_tests.py`, forecasts by
`forecast_against_measured.py`. `--kept` measures nothing and prints what earlier runs kept with `--keep`; lines of
other tasks stay in the file. A whole run takes hours of one core; `--releases` says how many releases each case has,
`--tasks` how many tasks each regime has at most. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "curves"))

import forecast_against_measured
import interval_against_error
import levels_of_tests
import smooth_distributions
import survival_few
from accuracy import data, diagnostics, distributions, few, peers
from accuracy.lines import Effort, Line, Run, show
from accuracy.shapes import Half
from accuracy.targets import POISSON_RECORDS
from families import FAMILIES
from interval_against_error import DATA, Case, Release, Told, population
from rich.console import Console
from tally import tally

import dpcurves as dp
from dpcurves.curves import QuantilesQuestion, SummaryQuestion
from dpcurves.data import Categories, Outside

FloatArray = NDArray[np.float64]
FILE = Path(__file__).with_name("accuracy") / "few_marks.json"
LEVEL, EPSILON = 0.9, "1"
AGAIN = 200  # how often releases are drawn again for the standard error of a ratio
WIDTH = 180
ALL = 1000  # tasks of a regime
JUDGE = (Half.JUDGE,)
NEVER = 1e-12


class Terms(NamedTuple):
    """Effort of a run.

    Attributes:
        releases: Of each case.
        tasks: How many tasks each regime has, at most.
        seed: What records and noise are drawn from.
        folder: Where real tables are.
    """

    releases: int
    tasks: int
    seed: int
    folder: Path

    def run(self, *only: str, halves: tuple[Half, ...] = tuple(Half)) -> Run:
        """Say it to the table of regimes: two releases of each draw of the records, under both adjacencies."""
        effort = Effort("full", max(self.releases // 2, 1), min(self.releases, 2), self.tasks, 4096)
        return Run(effort, self.seed, halves, self.folder, only)

    @property
    def distributions(self) -> Namespace:
        """Say it to smooth distributions."""
        return Namespace(releases=self.releases, seed=self.seed, cells=4096, records=[1_000, 10_000], half=None)


class Ratio(NamedTuple):
    """A figure of one case, and its relative standard error."""

    case: str
    value: float
    error: float


Measure = Callable[[Terms], Iterator[Line]]
Part = Callable[[Run, Callable[[str], None]], Iterator[Any]]
BOTH_SIZES = 3_000, 30_000


def _line(regime: str, asked: str, mark: float, cases: Sequence[Ratio], *, either: bool = False) -> Line:
    """The geometric mean over cases, its standard error, and the worst case."""
    logs = np.log([max(each.value, NEVER) for each in cases])
    worst, mean = int((np.abs(logs) if either else logs).argmax()), float(np.exp(logs.mean()))
    error = mean * float(np.sqrt(sum(each.error**2 for each in cases))) / len(cases)
    return Line(regime, asked, mark, mean, error, cases[worst].value, cases[worst].case, either=either)


def _of_one(regime: str, asked: str, mark: float, case: Ratio) -> Line:
    """A figure of one case alone."""
    return Line(regime, asked, mark, case.value, case.value * case.error, case.value, case.case)


def _worst(cases: Sequence[Ratio]) -> Ratio:
    return max(cases, key=lambda each: each.value)


def _mean(case: str, errors: FloatArray) -> Ratio:
    return Ratio(case, float(errors.mean()), float(errors.std(ddof=1) / len(errors) ** 0.5 / max(errors.mean(), NEVER)))


def _over(case: str, mine: FloatArray, other: FloatArray) -> Ratio:
    """Our mean error over another one."""
    ours, theirs = _mean(case, mine), _mean(case, other)
    return Ratio(case, ours.value / max(theirs.value, NEVER), float(np.hypot(ours.error, theirs.error)))


# A. Few records.


def survival(terms: Terms) -> Iterator[Line]:
    """228 records on 35 cells, on the distributions that nothing was chosen on."""
    distributions = [distribution for distribution in survival_few.DISTRIBUTIONS if "chosen on" not in distribution]
    for epsilon, mark in (("0.5", 0.06), ("1", 0.05), ("2", 0.04), ("5", 0.025)):
        found = {
            distribution: np.array(
                [survival_few.errors(distribution, 228, epsilon, seed) for seed in range(terms.releases)]
            )
            for distribution in distributions
        }
        regime = f"survival, n 228, epsilon {epsilon}"
        errors = [_mean(distribution, each[:, 0]) for distribution, each in found.items()]
        for distribution in errors:
            yield _of_one(regime, f"RMSE: {distribution.case}", mark, distribution)
        lines = [_over(distribution, each[:, 0], each[:, 2]) for distribution, each in found.items()]
        yield _of_one(regime, "RMSE over a straight line: the worst distribution", 1.0, _worst(lines))


def lung(terms: Terms) -> Iterator[Line]:
    """The lung cohort, beside the one figure that the literature prints: 0.04 at epsilon 10."""
    columns = few.cohort("lung")
    for epsilon in ("0.5", "1", "2", "5", "10") if columns is not None else ():
        found = survival_few.lung_errors(columns, epsilon, terms.releases)
        regime = f"lung cohort, epsilon {epsilon}"
        yield _of_one(regime, "RMSE over edges; theirs at epsilon 10", 0.04, _mean("228 patients", found[:, 0]))


def smooth(terms: Terms) -> Iterator[Line]:
    """The distribution functions of smooth distributions at n * epsilon = 1,000."""
    cases = []
    for name, errors in smooth_distributions.distributions(terms.distributions):
        mine, *others = (each[:, 0] for each in errors.values())
        cases.append(_over(name, mine, min(others, key=np.mean)))
    regime, asked = "CDF, smooth distributions, n*eps 1,000", "KS over the better of 6 and 10 coefficients"
    yield _line(regime, asked, smooth_distributions.DISTINGUISHING_FACT, cases)
    yield _of_one(
        regime, f"{asked}: the worst of {len(cases)}", smooth_distributions.DISTINGUISHING_FACT, _worst(cases)
    )
    for case in cases:
        if case.case.startswith("beta(2, 5)"):
            yield _of_one(regime, f"{asked}: {case.case}", smooth_distributions.DISTINGUISHING_FACT, case)


def hints(terms: Terms) -> Iterator[Line]:
    """A hint that records are spread, where they are not."""
    cases = [
        _over(name, errors["ours"][:, 2], errors["no hint"][:, 2])
        for name, errors in smooth_distributions.hint(terms.distributions)
    ]
    yield _of_one(
        "wrong hint, epsilon 0.1", "RMSE over that without: the worst", smooth_distributions.HINT_MARK, _worst(cases)
    )


def papers(terms: Terms) -> Iterator[Line]:
    """The tasks of the first paper."""
    marks = {"normal": (("KS, x 1e-3", 0, 1e3, 3.85), ("W1, x 1e-3", 1, 1e3, 8.8)),
             "pois15": (("RMSE, records", 2, POISSON_RECORDS, 16.5),)}  # fmt: skip
    terms = terms._replace(releases=4 * terms.releases)
    for name, errors in smooth_distributions.papers(terms.distributions):
        for asked, metric, unit, mark in marks.get(name, ()):
            line = _of_one(
                f"first paper, {name}, n*eps 1e4", asked, mark, _mean(name, errors["ours"][:, metric] * unit)
            )
            yield line._replace(releases=terms.releases)


def of_regimes(
    lines: Part, marks: Mapping[str, float], halves: tuple[Half, ...] = JUDGE, *, more: int = 1, answers: int = 1
) -> Measure:
    """Lines of regimes that begin so, with the marks of this table; worst cases keep theirs.

    There are `more` times as many releases as for other tasks, and so many `answers` to each where a regime asks often.
    """

    def measure(terms: Terms) -> Iterator[Line]:
        terms = terms._replace(releases=more * terms.releases)
        for found in lines(terms.run(*marks, halves=halves), _said):
            if isinstance(found, Line):
                mark = next(mark for regime, mark in marks.items() if found.regime.startswith(regime))
                line = found if found.asked.startswith("worst") else found._replace(mark=mark)
                asked = f"{line.asked}, {terms.tasks} tasks" if terms.tasks < ALL else line.asked
                yield line._replace(asked=asked, releases=answers * terms.releases)

    return measure


def _said(doing: str) -> None:
    print(doing, file=sys.stderr)


def few_regime(terms: Terms) -> Iterator[Line]:
    """The regime of few records: over all numbers of records and epsilons, for each kind of curve."""
    for kind in few.KINDS:
        found = list(few.lines(terms.run(f"few, {kind}"), _said))
        for asked in dict.fromkeys(each.asked for each in found):
            own = [each for each in found if each.asked == asked]
            cases = [
                Ratio(
                    each.regime.removeprefix(f"few, {kind}, ").removesuffix(", pure"), each.mean, each.error / each.mean
                )
                for each in own
            ]
            regime, tasks = f"few, {kind}, n 50 to 1,000, epsilon 0.5 to 2", len(few.KINDS[kind].tasks(terms.run()))
            yield _line(regime, f"{asked}, {min(tasks, terms.tasks)} of {tasks} tasks", own[0].mark, cases)


# B. Intervals.


@lru_cache
def told(family: str, kind: str, records: int, releases: int) -> Mapping[tuple[str, str], Sequence[Told]]:
    """Intervals that releases of one case give, by reading and coverage."""
    found: dict[tuple[str, str], list[Told]] = {}
    for seed in range(releases):
        for each in interval_against_error.FAMILIES[family](Release(Case(kind, records, EPSILON), LEVEL, seed)):
            found.setdefault((each.name, each.whom), []).append(each)
    return found


def width_over_error(case: str, own: Sequence[Told]) -> Ratio:
    """The ratio of the table of intervals; its standard error by drawing the releases again."""

    def ratio(places: Sequence[int]) -> float:
        drawn = {("", ""): [own[place] for place in places]}
        return next(iter(interval_against_error.rows(drawn, Case(case, 0, EPSILON), LEVEL))).ratio

    draw, many = np.random.default_rng(0), len(own)
    again = [ratio(draw.integers(many, size=many).tolist()) for _ in range(AGAIN)]
    found = ratio(range(many))
    return Ratio(case, found, float(np.std([each for each in again if np.isfinite(each)])) / found)


class Wide(NamedTuple):
    """A reading whose intervals are held against errors, and the mark of their width."""

    family: str
    reading: str
    mark: float
    records: tuple[int, ...] = (3_000,)
    data: tuple[str, ...] = DATA
    whom: str = "records"


def widths(*asked: Wide) -> Measure:
    """Two lines for each reading and number of records: width over error, and the share that held."""

    def measure(terms: Terms) -> Iterator[Line]:
        for each, records in ((wide, size) for wide in asked for size in wide.records):
            found = {kind: told(each.family, kind, records, terms.releases) for kind in each.data}
            named = each.data[0] if len(each.data) == 1 else f"{len(each.data)} kinds of data"
            regime = f"interval, {each.reading}, {named}, n {records:,}"
            ratios = [width_over_error(kind, own[each.reading, each.whom]) for kind, own in found.items()]
            yield _line(regime, f"width over error, {each.whom}", each.mark, ratios)
            yield _coverage(regime, each.reading, found)

    return measure


def _coverage(regime: str, reading: str, found: Mapping[str, Mapping[tuple[str, str], Sequence[Told]]]) -> Line:
    """The share that held, for these records and for the population; kinds of data share random numbers."""
    held = {
        f"{kind}, {whom}": np.array([each.holds for each in own[reading, whom]], dtype=np.float64)
        for kind, own in found.items()
        for whom in interval_against_error.WHOM
    }
    shares = {case: float(own.mean()) for case, own in held.items()}
    least = min(shares, key=lambda case: shares[case])
    by_release = np.mean([own[: min(map(len, held.values()))] for own in held.values()], axis=0)
    error = float(by_release.std(ddof=1) / len(by_release) ** 0.5)
    mean = float(np.mean(list(shares.values())))
    return Line(regime, f"share that held, of {LEVEL:g}", LEVEL, mean, error, shares[least], least, least=True)


def medians(terms: Terms) -> Iterator[Line]:
    """Survival medians of whole numbers, beside Kaplan and Meier's own."""
    for reading in ("survival median", "survival median, declared values"):
        found = {"tied": told("survival", "tied", 3_000, terms.releases)}
        yield _coverage(f"interval, {reading}, whole numbers, n 3,000", reading, found)


def one_cell_more(terms: Terms) -> Iterator[Line]:
    """By how many cells three quantiles' intervals are wider than noise asks; and how many have no end below."""
    excess = []
    for kind in DATA:
        own = told("distribution", kind, 3_000, terms.releases)["three quantiles", "records"]
        asks = 2 * float(np.quantile([each.error for each in own], LEVEL))
        excess.append(Ratio(kind, float(np.mean([each.width for each in own]) - asks) / own[0].cell, 0.0))
    mean = float(np.mean([each.value for each in excess]))
    error = float(np.std([each.value for each in excess], ddof=1) / len(excess) ** 0.5)
    worst = _worst(excess)
    regime = "interval, three quantiles, 6 kinds of data, n 3,000"
    yield Line(regime, "cells more than the noise asks, records", 1.0, mean, error, worst.value, worst.case)
    values, grid = population("zero-inflated")
    for named, cells in (("", grid), (" and outside apart", grid.with_outside(Outside.APART))):
        endless = []
        for seed in range(terms.releases):
            release = Release(Case("zero-inflated", 3_000, EPSILON), LEVEL, seed)
            sample = release.draw.choice(values, 3_000)
            found = release.answer(QuantilesQuestion("x", cells, (0.25, 0.5, 0.75)), {"x": sample})
            endless.append(float(np.isinf(found.intervals(LEVEL)).any()))
        regime = f"interval, quartiles of wages with zeros{named}, n 3,000"
        yield _share(regime, "share with an end at infinity", endless)


def _share(regime: str, asked: str, seen: Sequence[float]) -> Line:
    """A share that is to be 0."""
    mean = float(np.mean(seen))
    return Line(regime, asked, 0.0, mean, (mean * (1 - mean) / len(seen)) ** 0.5, mean, "")


def never_wider(terms: Terms) -> Iterator[Line]:
    """The interval of a mean asked alone over that of a summary at the same loss, for the population."""
    cases = []
    for kind in DATA:
        own = told("moments", kind, 3_000, terms.releases)
        alone, beside = (
            np.array([each.width for each in own[name, "population"]]) for name in ("mean alone", "summary: mean")
        )
        cases.append(_over(kind, alone, beside))
    yield _line("interval, mean, 6 kinds of data, n 3,000", "width alone over width in a summary", 1.0, cases)


def kendall(terms: Terms) -> Iterator[Line]:
    """Kendall's tau: its intervals are to hold in 0.88 to 0.95."""
    for reading in ("Kendall tau-a", "Kendall tau-b"):
        found = {kind: told("tables", kind, 3_000, terms.releases) for kind in DATA}
        yield from _between(_coverage(f"interval, {reading}, 6 kinds of data, n 3,000", reading, found))


def local(terms: Terms) -> Iterator[Line]:
    """Areas of the local model, of one round and of two, in 20 cases of a tenth of the releases each."""
    family = FAMILIES["reports"]
    held = tally(family.covered, family.cases, LEVEL, max(terms.releases // 10, 1))
    for name in ("area", "two rounds"):
        own = {case: held.pooled("data")[case] for case in held.pooled("data") if case[1].startswith(f"{name}, ")}
        shares = {f"{kind}, {whose.split(', ')[1]}": each.held / each.drawn for (kind, whose), each in own.items()}
        mean, drawn = float(np.mean(list(shares.values()))), sum(each.drawn for each in own.values())
        least = min(shares, key=lambda case: shares[case])
        error = (mean * (1 - mean) / drawn) ** 0.5
        regime, asked = f"interval, local model: {name}", f"share that held, of {LEVEL:g}"
        line = Line(regime, asked, LEVEL, mean, error, shares[least], least, least=True)
        yield from _between(line._replace(releases=max(terms.releases // 10, 1)))


def _between(line: Line) -> Iterator[Line]:
    yield line._replace(mark=0.88)
    yield line._replace(mark=0.95, least=False, asked=f"{line.asked}, not too often")


def nothing_known(terms: Terms) -> Iterator[Line]:
    """An empty category, and a table of no records: how often a mean or a count outside what is possible is told."""
    values, grid = population("continuous")
    means, outside = [], []
    for seed in range(terms.releases):
        release = Release(Case("continuous", 300, EPSILON), LEVEL, seed)
        sample = release.draw.choice(values, 300)
        question = SummaryQuestion("x", grid.lower, grid.upper, by=Categories("g", (0, 1)))
        empty = release.answer(question, {"x": sample, "g": np.zeros(300, dtype=int)})[1]
        means.append(float(np.isfinite(empty.statistics["mean"])))
        ends = np.asarray(empty.intervals(LEVEL))
        outside.append(float(ends[0, 0] < 0 or ends[0, 1] > 300 or not np.all(ends[0] == np.round(ends[0]))))
    yield _share("nothing known, an empty category of 300 records", "share with a mean", means)
    yield _share("nothing known, an empty category of 300 records", "share with a count that can not be", outside)


def levels(tests: Sequence[str]) -> Measure:
    """True nulls of tests on four kinds of data: how far shares of p-values are above their levels."""

    def measure(terms: Terms) -> Iterator[Line]:
        options = Namespace(
            only=tests, data=levels_of_tests.DATA, releases=20 * terms.releases, records=1_000, epsilon="0.5",
            minutes=float("inf"),
        )  # fmt: skip
        with warnings.catch_warnings(action="ignore"):
            rows = list(levels_of_tests.measured(options))
        for test in dict.fromkeys(row.test for row in rows):
            cases = [
                Ratio(f"{row.data}, {level:g}: {share:.3f}", (share - level) / error, 0)
                for row in rows
                if row.test == test
                for share, level in zip(row.shares, levels_of_tests.LEVELS, strict=True)
                for error in [(level * (1 - level) / row.releases) ** 0.5]
            ]
            worst = _worst(cases)
            line = Line(f"level of a test, {test}", "most standard errors above a level", levels_of_tests.FAR,
                        worst.value, 1.0, worst.value, worst.case)  # fmt: skip
            yield line._replace(releases=min(row.releases for row in rows if row.test == test))

    return measure


def forecast_of(kind: str) -> Measure:
    """A question of 3,000 records at epsilon 1: forecast over measured, for the error and the half width.

    The standard error is that of the noise, or what three kinds of data differ by where that is more.
    """

    def measure(terms: Terms) -> Iterator[Line]:
        cases = [forecast_against_measured.Case(kind, each, 3_000, EPSILON) for each in forecast_against_measured.DATA]
        with warnings.catch_warnings(action="ignore"):
            found = [forecast_against_measured.found(case, terms.releases, terms.seed, made_up=False) for case in cases]
        for of in ("error", "half_width"):
            ratios = [Ratio(each.case.data, each.ratio(of), each.noise if of == "error" else 0.0) for each in found]
            known = [each for each in ratios if np.isfinite(each.value) and each.value > 0]
            if known:
                asked = f"{of.replace('_', ' ')}: forecast over measured"
                line = _line(f"forecast of {kind}, n 3,000, epsilon 1", asked, 1.1, known, either=True)
                apart = line.mean * float(np.log([each.value for each in known]).std(ddof=1)) / len(known) ** 0.5
                yield line._replace(error=max(line.error, apart))

    return measure


BOTH = tuple(each.value for each in dp.Neighbours)
TASKS: Mapping[str, Measure] = {
    "survival": survival,
    "lung cohort": lung,
    "smooth distributions": smooth,
    "hints": hints,
    "first paper": papers,
    "ROC": of_regimes(
        diagnostics.lines, {f"ROC, n*eps {size}, add-remove": 1.1 for size in ("100", "1,000")}, answers=5
    ),
    "calibration": of_regimes(
        diagnostics.lines,
        {f"calibration, n*eps {size}, {each}": 1.05 for size in ("1,000", "10,000") for each in BOTH},
        answers=5,
    ),
    "rough counts": of_regimes(distributions.lines, {"rough counts, epsilon 0.1, replace-one, pure": 1.1}),
    "thin tail": of_regimes(
        distributions.lines, {f"thin tail, epsilon 1, {each}, pure": 1.1 for each in BOTH}, tuple(Half), more=4
    ),
    "usual": of_regimes(distributions.lines, {"usual, replace-one, pure": 1.05}),
    **{
        f"tables, epsilon {epsilon}": of_regimes(
            distributions.lines, {f"tables, epsilon {epsilon}, replace-one, pure": 1.05}, tuple(Half)
        )
        for epsilon in ("0.1", "1", "10")
    },
    "few": few_regime,
    "survival medians": medians,
    "AUC": widths(
        Wide("scores", "AUC of roc", 1.3, BOTH_SIZES, ("continuous",)),
        Wide("scores", "AUC of roc", 1.3, BOTH_SIZES, ("tied",)),
        Wide("scores", "AUC of roc, declared values", 1.3, BOTH_SIZES, ("tied",)),
        Wide("scores", "scores: auc", 1.5, (30_000,), ("skewed",)),
    ),
    "Gini": widths(
        *(
            Wide("distribution", f"Gini {name}", 1.3, data=kinds)
            for name in ("mean difference", "coefficient") for kinds in (("tied",), DATA)
        ),
        *(
            Wide("distribution", f"Gini {name}, declared values", 1.3, data=("tied",))
            for name in ("mean difference", "coefficient")
        ),
    ),
    "numbers of scores": widths(
        *(Wide("scores", f"scores: {name}", 1.5) for name in ("average-precision", "ks", "brier"))
    ),
    "quantiles": one_cell_more,
    "one quantile": widths(Wide("distribution", "one quantile", 1.5)),
    "variance": widths(Wide("moments", "variance alone", 1.3, BOTH_SIZES, whom="population")),
    "mean": widths(Wide("moments", "mean alone", 1.3, whom="population")),
    "mean beside a summary": never_wider,
    "Kendall": kendall,
    "local model": local,
    "nothing known": nothing_known,
    **{f"levels of {test}": levels((test,)) for test in levels_of_tests.TESTS},
    **{f"forecast of {kind}": forecast_of(kind) for kind in forecast_against_measured.KINDS},
}  # fmt: skip


ELSEWHERE = (
    "peaks, atoms and rough shapes beside the version before smooth distributions were read (commit 05e37951), 15 "
    "shapes of two sizes, 12 releases: KS .98, W1 .98, RMSE .97 of it, worst 1.07, 1.03, 1.03: "
    "`smooth_distributions.py --parts rough --beside FILE`, where FILE is what that version wrote",
    "the first paper's tasks beside that version: bands equal, KS .95, W1 .79, RMSE .83 of it: "
    "`smooth_distributions.py --parts papers "
    "--beside FILE`",
)
OF_DISTRIBUTIONS = "rough counts", "thin tail", "usual", "tables"


# The table.


def called(text: str) -> list[str]:
    """The task of this name, or those whose names begin so."""
    return [text] if text in TASKS else [task for task in TASKS if task.startswith(text)]


def kept_in(file: Path) -> dict[str, list[Line]]:
    """The lines of each task that earlier runs kept."""
    if not file.exists():
        return {}
    plain = json.loads(file.read_text(encoding="utf-8"))
    return {task: [Line(**each) for each in lines] for task, lines in plain.items()}


def keep(found: Mapping[str, Sequence[Line]], file: Path) -> None:
    """Write the lines of all tasks, in the order of the table."""
    plain = {task: [line._asdict() for line in found[task]] for task in TASKS if task in found}
    file.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kept", action="store_true", help="measure nothing: print what was kept")
    options.add_argument("--keep", action="store_true", help="keep what is measured, task by task, and print all")
    options.add_argument(
        "--only", nargs="+", default=[], metavar="TEXT", help=f"of {', '.join(TASKS)}; or how they begin"
    )
    options.add_argument("--releases", type=int, default=24, help="of each case; 24 unless said")
    options.add_argument("--tasks", type=int, default=ALL, help="of each regime, at most; all unless said")
    options.add_argument("--quick", action="store_true", help="four releases, and four tasks of each regime")
    options.add_argument("--seed", type=int, default=29)
    options.add_argument("--data", type=Path, default=data.folder(), help="folder of the data sets")
    options.add_argument("--file", type=Path, default=FILE, help="where lines are kept")
    asked = options.parse_args(arguments)
    releases, tasks = (4, 4) if asked.quick else (asked.releases, asked.tasks)
    terms = Terms(releases, tasks, asked.seed, asked.data)
    chosen = {task for text in asked.only or [""] for task in called(text)}
    names = [task for task in TASKS if task in chosen]
    console = Console(width=None if Console().is_terminal else WIDTH)
    found = kept_in(asked.file) if asked.kept or asked.keep else {}
    if not asked.kept and any(task.startswith(OF_DISTRIBUTIONS) for task in names):
        peers.set_up(console.print)
    for task in () if asked.kept else names:
        print(f"{datetime.now():%H:%M:%S} {task}", file=sys.stderr)
        found[task] = [line._replace(releases=line.releases or terms.releases) for line in TASKS[task](terms)]
        if asked.keep:
            keep(found, asked.file)
    told_now = [line for task in names for line in found.get(task, ())]
    show(console, "Marks of few records and of intervals", told_now)
    for task in names:
        if not found.get(task):
            console.print(f"Not measured: {task}", highlight=False)
    for words in () if asked.only else ELSEWHERE:
        console.print(f"Measured apart: {words}", highlight=False)


if __name__ == "__main__":
    main()
