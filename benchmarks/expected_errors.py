"""Which error to expect: errors of whole answers against records times epsilon, and what hints change.

`python benchmarks/expected_errors.py [--rehearsals N] [--sizes N ...] [--kinds K ...] [--seed N] [--json FILE]`. Each
number is what `dp.forecast` says: the mean error of answers to records of one public distribution, drawn afresh, with
all turns and their noise. For the page "Which error to expect" `--json` writes them, and
`python docs/expected_errors.py` makes the page of that file; `make expected-errors` does both, in about ten minutes of
one core. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track

import dpcurves as dp

EPSILON, SIZES = "0.5", (200, 2_000, 20_000, 200_000)
MODEL = dp.DISJOINT_RECORDS
GRID, CELLS = dp.Grid(0, 1, cells=1024), dp.Grid(0, 1, cells=64)
KINDS = {
    "distribution function, 1,024 cells": dp.CdfQuestion("x", GRID),
    "deciles, 1,024 cells": dp.QuantilesQuestion("x", GRID, tuple((np.arange(1, 10) / 10).tolist())),
    "histogram, 64 cells": dp.HistogramQuestion("x", CELLS),
    "ROC curve": dp.RocQuestion("label", "score"),
    "calibration, 10 groups": dp.CalibrationQuestion("label", "score", groups=10),
    "binned residuals": dp.BinnedResidualsQuestion("label", "score", MODEL),
    "residual plot": dp.ResidualPlotQuestion("x", "y", 1, 1, "0.95", MODEL),
    "two axes, 64 x 64 cells": dp.Histogram2DQuestion("x", "y", CELLS, CELLS),
}
HINTS = ("peaked", "atoms")
Row = dict[str, Any]


class Effort(NamedTuple):
    """How much is done: numbers of records, answers to each kind of them, and what all is drawn from."""

    sizes: tuple[int, ...]
    rehearsals: int
    seed: int


def errors(kind: str, effort: Effort) -> Iterator[Row]:
    """A row for each distribution and number of records."""
    for size in effort.sizes:
        found = _forecast(KINDS[kind], size, effort)
        for each in found.expected_errors:
            yield {
                "records": each.distribution,
                "size": size,
                "error": _short(each.error),
                "se": _short(each.standard_error),
            }


def hinted(effort: Effort) -> Iterator[Row]:
    """By how much each hint multiplies the error of a distribution function, on the same records."""
    question = dp.CdfQuestion("x", GRID)
    for size in effort.sizes:
        plain = _forecast(question, size, effort).expected_errors
        for hint in HINTS:
            told = _forecast(replace(question, hint=dp.Hint(hint)), size, effort).expected_errors
            for with_hint, without in zip(told, plain, strict=True):
                parts = (each.standard_error / each.error for each in (with_hint, without))
                ratio = with_hint.error / without.error
                error = _short(ratio * float(np.hypot(*parts)))
                yield {"hint": hint, "records": without.distribution, "size": size, "ratio": _short(ratio), "se": error}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write what was asked."""
    options = _options(arguments)
    console, effort = Console(width=110), Effort(tuple(options.sizes), options.rehearsals, options.seed)
    found: dict[str, Any] = {
        "epsilon": EPSILON,
        "adjacency": "replace-one",
        "rehearsals": options.rehearsals,
        "kinds": {},
    }
    for kind in track(options.kinds, description="Errors", console=console):
        words = dp.forecast(KINDS[kind], dp.PrivacyLoss.pure(1), dp.REPLACE_ONE, records=10, rehearsals=2).error_label
        found["kinds"][kind] = {"words": words, "rows": list(errors(kind, effort))}
        for row in found["kinds"][kind]["rows"]:
            console.print(f"{kind}: {row}")
    found["hints"] = list(hinted(effort))
    for row in found["hints"]:
        console.print(row)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _forecast(question: Any, size: int, effort: Effort) -> dp.Forecast:
    chance = np.random.default_rng([effort.seed, size])
    loss = dp.PrivacyLoss.pure(EPSILON)
    return dp.forecast(question, loss, dp.REPLACE_ONE, records=size, rehearsals=effort.rehearsals, generator=chance)


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rehearsals", type=int, default=20, help="of each kind of records")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), help="numbers of records")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS), help="of questions")
    parser.add_argument("--seed", type=int, default=18, help="of records and noise")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
