"""Levels of all tests: how often each calls a difference what is none.

`python benchmarks/levels_of_tests.py [--releases N] [--only TEST ...] [--data KIND ...] [--minutes M] [--page FILE]`.
Nulls are true: both samples are of one population, groups survive alike, columns are independent, models are right.
Values are smooth, tied, heaped or zero-inflated; half of the releases are under each adjacency. For each test and kind
of data: the share of p-values up to .01, .05, .1 and .5, its standard error at that level, and a star where the share
is above the level by more than 2.6 of these. Binned residuals have an envelope in the place of a p-value: there it is
the share of bins, one of each release, that leave the envelope of the level that is left.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "curves"))

from by_hand import answer, both
from kinds import POPULATIONS, labels_of, scores

import dpcurves as dp
from dpcurves.curves import (
    BinnedResidualsQuestion,
    CdfQuestion,
    ContingencyQuestion,
    HistogramQuestion,
    HosmerLemeshowQuestion,
    RocQuestion,
)
from dpcurves.privacy import DISJOINT_RECORDS, PrivacyLoss
from dpcurves_survival import SurvivalQuestion

FloatArray = NDArray[np.float64]
LEVELS = (0.01, 0.05, 0.1, 0.5)
FAR = 2.6
SMOOTH = "continuous"
DATA = (SMOOTH, "tied", "heaped", "zero-inflated")
MONTHS = 16
BY = dp.Categories("g", (0, 1))
WARDS, SEASONS = dp.Categories("a", tuple(range(4))), dp.Categories("b", tuple(range(3)))

PAGE = """# Levels of tests

How often each test calls a difference what is none: the share of p-values up to a level, and its standard error at that
level. A star is above the level by more than {far} standard errors, as 1 in 200 shares of true tests are. Of
{records:,} records at epsilon {epsilon}, half of the releases under each adjacency. Binned residuals have an envelope
in the place of a p-value: the share of bins that leave it. `python benchmarks/levels_of_tests.py --page FILE` measures
it again.

"""


class Null(NamedTuple):
    """A release in which nothing differs: its data, how many records, at which epsilon, and its random numbers."""

    data: str
    records: int
    epsilon: str
    seed: int

    @property
    def draw(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.records, DATA.index(self.data)])

    def values(self, draw: np.random.Generator, records: int) -> FloatArray:
        """Values of the population of this kind."""
        return draw.choice(POPULATIONS[self.data].values, records)

    def answer(self, question: Any, columns: Mapping[str, ArrayLike]) -> Any:
        adjacency = both(self.records)[self.seed % 2]
        return answer(question, columns, PrivacyLoss.pure(self.epsilon), adjacency, self.seed)

    def judged(self) -> Mapping[str, ArrayLike]:
        """Scores, and labels of a model that is right."""
        draw = self.draw
        score = scores(self.data, self.records, draw)
        return {"s": score, "y": labels_of(score, draw)}


Outcomes = Iterator[tuple[str, FloatArray]]
"""Names of tests, and for each level 1 where the test rejects its true null."""


def called(p_value: float) -> FloatArray:
    """An indicator for each level: 1 where the p-value is at most the level."""
    return np.array([float(p_value <= level) for level in LEVELS])


def of_two_samples(null: Null) -> Outcomes:
    """Two categories of one column."""
    draw = null.draw
    values, group = null.values(draw, null.records), (draw.random(null.records) < 0.4).astype(np.int64)
    question = CdfQuestion("x", POPULATIONS[null.data].grid, by=BY)
    pair = null.answer(question, {"x": values, "g": group}).values()
    yield "Kolmogorov-Smirnov", called(dp.ks_test(*pair, generator=draw).p_value)
    yield "rank sum", called(dp.rank_sum_test(*pair, generator=draw).p_value)


def of_tables(null: Null) -> Outcomes:
    """Histograms of a private and of a public table."""
    draw, grid = null.draw, POPULATIONS[null.data].grid
    private, public = ({"x": null.values(draw, null.records)} for _ in range(2))
    question = HistogramQuestion("x", grid)
    found = dp.compare(null.answer(question, private), question, public).p_value
    assert found is not None
    yield "public table: histogram", called(found)


def of_areas(null: Null) -> Outcomes:
    """Areas under the curve of a model, of a private and a public table."""
    question, public = RocQuestion("y", "s"), null._replace(seed=null.seed + 2**30).judged()
    found = dp.compare(null.answer(question, null.judged()), question, public).p_value
    assert found is not None
    yield "public table: area under ROC", called(found)


def of_survival(null: Null) -> Outcomes:
    """Two groups that are censored differently at ends of months, see `log_rank_test`."""
    draw, records = null.draw, null.records
    group = (draw.random(records) < 0.4).astype(np.int64)
    population = POPULATIONS[null.data].values
    times = null.values(draw, records) / np.quantile(population, 0.9) * MONTHS * 0.7
    month = np.maximum(np.floor(times), 0)
    until = np.floor(draw.uniform(2, np.where(group == 1, MONTHS, 2 * MONTHS)))
    columns = {"t": np.minimum(month, until), "e": (month <= until).astype(np.int64), "g": group}
    grid = dp.Grid(0, MONTHS, cells=MONTHS, outside=dp.Outside.APART)
    first, second = null.answer(SurvivalQuestion("t", "e", grid, by=BY), columns).values()
    yield "log-rank", called(dp.log_rank_test(first, second, generator=draw).p_value)


def of_columns(null: Null) -> Outcomes:
    """A category that values fall into, and an independent one."""
    draw, population = null.draw, POPULATIONS[null.data].values
    edges = np.quantile(population, [0.4, 0.7, 0.95])
    ward = np.searchsorted(edges, null.values(draw, null.records), side="left")
    season = draw.choice(3, null.records, p=(0.6, 0.3, 0.1))
    yield "independence", called(null.answer(ContingencyQuestion(WARDS, SEASONS), {"a": ward, "b": season}).p_value)


def of_groups(null: Null) -> Outcomes:
    """The test of a model that is right."""
    yield "Hosmer-Lemeshow", called(null.answer(HosmerLemeshowQuestion("y", "s"), null.judged()).p_value)


def of_residuals(null: Null) -> Outcomes:
    """Residuals of a model that is right, one bin of each release."""
    found = null.answer(BinnedResidualsQuestion("y", "s", DISJOINT_RECORDS), null.judged())
    bin_ = null.seed // 2 % len(found.residual)
    outside = [abs(found.residual[bin_]) > found.envelope_at(1 - level)[bin_] for level in LEVELS]
    yield "binned residuals", np.array(outside, dtype=np.float64)


TESTS: Mapping[str, Callable[[Null], Outcomes]] = MappingProxyType({
    "independence": of_columns, "hosmer-lemeshow": of_groups, "tables": of_tables, "areas": of_areas,
    "residuals": of_residuals, "two-samples": of_two_samples, "log-rank": of_survival,
})  # fmt: skip


class Row(NamedTuple):
    """The share of releases of one kind of data in which a test rejects a true null, at each level."""

    test: str
    data: str
    releases: int
    shares: tuple[float, ...]

    def shown(self) -> list[str]:
        """The shares with their standard errors and marks."""
        return [
            f"{share:.3f} ± {error:.3f}{'*' * (share - level > FAR * error)}"
            for share, level in zip(self.shares, LEVELS, strict=True)
            for error in [sqrt(level * (1 - level) / self.releases)]
        ]

    @property
    def words(self) -> list[str]:
        return [self.test, self.data, f"{self.releases:,}", *self.shown()]


HEAD = ("test", "data", "releases", *(f"p <= {level:g}" for level in LEVELS))


def measured(options: argparse.Namespace) -> Iterator[Row]:
    """A row for each test and kind of data; each has an equal part of the time that is left."""
    cases = [(name, data) for name in options.only for data in options.data]
    end = monotonic() + 60 * options.minutes
    with Progress(console=Console(stderr=True)) as bar:
        for number, (name, data) in enumerate(cases):
            task, begun = bar.add_task(f"{name}, {data}", total=options.releases), monotonic()
            until = begun + (end - begun) / (len(cases) - number)
            found: dict[str, list[FloatArray]] = {}
            for seed in range(options.releases):
                for test, outcome in TESTS[name](Null(data, options.records, options.epsilon, seed)):
                    found.setdefault(test, []).append(outcome)
                bar.advance(task)
                if monotonic() > until:
                    break
            for test, outcomes in found.items():
                yield Row(test, data, len(outcomes), tuple(np.mean(outcomes, axis=0).tolist()))


def page(rows: Sequence[Row], options: argparse.Namespace) -> str:
    """The table as a page."""
    lines = [HEAD, ["---"] * len(HEAD), *(row.words for row in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return PAGE.format(far=FAR, records=options.records, epsilon=options.epsilon) + table + "\n"


def main() -> None:
    """Measure, and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="+", choices=TESTS, default=tuple(TESTS), metavar="TEST")
    options.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    options.add_argument("--releases", type=int, default=2000, help="of each row; 2000 unless said")
    options.add_argument("--minutes", type=float, default=float("inf"), help="about as long as it may take")
    options.add_argument("--records", type=int, default=1000)
    options.add_argument("--epsilon", default="0.5")
    options.add_argument("--page", type=Path, help="file for the table, as Markdown")
    asked = options.parse_args()
    warnings.simplefilter("ignore")
    rows = sorted(measured(asked), key=lambda row: row.test)  # kinds of data stay in order
    table = Table(*HEAD, title=f"Levels of tests: {asked.records:,} records, epsilon {asked.epsilon}")
    for row in rows:
        table.add_row(*row.words)
    Console(width=140).print(table)
    if asked.page:
        asked.page.write_text(page(rows, asked), encoding="utf-8")


if __name__ == "__main__":
    main()
