"""Half widths that the dial of the documentation says, beside the mean of releases, in twelve settings.

`python benchmarks/dial.py [--releases N] [--pairs N]`. For each setting: the half width of the 95% interval for these
records that the page says (`docs/dial.json`), the mean of 200 releases (or N) of records that are drawn anew every 20,
its standard error, and their ratio, which is asked to lie within 20% of one. Then pairs of settings of one product of
records and epsilon, with the mean of 40 releases (or N) of each: half widths depend on the product alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import dpcurves as dp
from dpcurves.forecasts.rehearsals import rehearse_answers

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))
import dial

OF_ONE_TABLE = 20
FAR = 0.2


class Case(NamedTuple):
    """A line of the dial, and what it is turned to."""

    curve: str
    cells: int
    adjacency: str
    shape: str
    records: int
    epsilon: str

    @property
    def setting(self) -> dial.Setting:
        """The line."""
        return dial.Setting(*self[:4])


HILL, TAIL, ZERO = dial.PLACES
CASES = (
    Case("cdf", 64, "replace-one", HILL, 2_000, "0.7"),
    Case("cdf", 256, "replace-one", TAIL, 5_000, "1.5"),
    Case("cdf", 256, "add-remove", ZERO, 20_000, "0.4"),
    Case("cdf", 1024, "replace-one", ZERO, 3_000, "1"),
    Case("cdf", 1024, "add-remove", TAIL, 1_500, "2"),
    Case("cdf", 4096, "replace-one", HILL, 50_000, "0.5"),
    Case("cdf", 4096, "add-remove", ZERO, 8_000, "0.3"),
    Case("roc", 0, "replace-one", "as many of each class", 4_000, "0.8"),
    Case("survival", 0, "add-remove", TAIL, 6_000, "0.5"),
    Case("histogram", 0, "replace-one", TAIL, 2_500, "1"),
    Case("calibration", 0, "replace-one", "as many of each class", 7_000, "1"),
    Case("mean", 0, "add-remove", HILL, 1_200, "0.25"),
)
PAIRS = (
    Case("cdf", 64, "replace-one", HILL, 1_000, "1"), Case("cdf", 64, "replace-one", HILL, 10_000, "0.1"),
    Case("cdf", 1024, "replace-one", TAIL, 5_000, "2"), Case("cdf", 1024, "replace-one", TAIL, 100_000, "0.1"),
    Case("roc", 0, "add-remove", "tied scores", 2_000, "1"), Case("roc", 0, "add-remove", "tied scores", 20_000, "0.1"),
    Case("survival", 0, "replace-one", HILL, 3_000, "1"), Case("survival", 0, "replace-one", HILL, 30_000, "0.1"),
    Case("mean", 0, "replace-one", TAIL, 900, "3"), Case("mean", 0, "replace-one", TAIL, 27_000, "0.1"),
)  # fmt: skip


def halves(case: Case, releases: int) -> Any:
    """Half widths of so many releases, in percent."""
    question, kind, adjacency = dial.given(case.setting)
    half_of: Any = kind.half_width
    draw, per = np.random.default_rng(20_261_126), dial.CURVES[case.curve].per(case.records)
    found: list[float] = []
    while len(found) < releases:
        table = kind.fill_columns(question, kind.distributions[case.shape](draw, case.records))
        loss, seed = dp.PrivacyLoss.pure(case.epsilon), int(draw.integers(2**31))
        answered = rehearse_answers(question, table, loss, adjacency, seed)
        found += [half_of(curve, False) for curve in islice(answered, min(OF_ONE_TABLE, releases - len(found)))]
    return 100 * per * np.array(found)


def said(case: Case) -> float:
    """The half width that the page says, in percent."""
    (line,) = (each for each in LINES if dial.Setting(*(each[name] for name in dial.Setting._fields)) == case.setting)
    return dial.read(line, case.records * float(case.epsilon))


LINES = json.loads(dial.NUMBERS.read_text(encoding="utf-8"))["lines"]


def table_of(title: str, cases: tuple[Case, ...], releases: int) -> Table:
    """A row for each case."""
    table = Table(title=f"{title}, {releases} releases each", title_justify="left")
    for name in ("curve", "cells", "adjacency", "records like", "n", "epsilon", "dial, %", "releases, %", "ratio", ""):
        table.add_column(name, justify="left" if name in ("curve", "adjacency", "records like") else "right")
    for case in cases:
        found, told = halves(case, releases), said(case)
        mean, error = float(found.mean()), float(found.std(ddof=1) / np.sqrt(len(found)))
        ratio = told / mean
        row = (case.curve, str(case.cells or ""), case.adjacency, case.shape, f"{case.records:,}", case.epsilon)
        verdict = "" if abs(ratio - 1) <= FAR else "FAR"
        table.add_row(*row, f"{told:.3g}", f"{mean:.3g} ± {error:.1g}", f"{ratio:.3f}", verdict)
        print(*row, f"{told:.4g} {mean:.4g} {error:.2g} {ratio:.3f}", file=sys.stderr, flush=True)
    return table


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--releases", type=int, default=200, metavar="N")
    parser.add_argument("--pairs", type=int, default=40, metavar="N")
    given = parser.parse_args()
    console = Console(width=140)
    console.print(table_of("the dial beside releases", CASES, given.releases))
    console.print(table_of("one product of records and epsilon", PAIRS, given.pairs))


if __name__ == "__main__":
    main()
