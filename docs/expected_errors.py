"""The page "Which error to expect" and its picture, from what was measured: `python docs/expected_errors.py`.

The numbers stand in ``expected_errors.json`` beside this file, which `benchmarks/expected_errors.py` writes; `make
expected-errors` does both. A test holds that the page is made of these numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Any

FOLDER = Path(__file__).parent
NUMBERS, PAGE = FOLDER / "expected_errors.json", FOLDER / "expected_errors.md"
PICTURE = FOLDER / "images" / "expected_errors.png"
COLUMNS_OF_PANELS = 2
HELPS, HARMS = 0.9, 1.1
SURE = 3
"""Standard errors by which a hint must differ from none before the page says that it helps or harms."""
HINTS = {
    "peaked": "Hint.PEAKED: in a small part",
    "atoms": "Hint.ATOMS: single cells hold much",
}
Found = dict[str, Any]
INTRODUCTION = """# Which error to expect

How large is the error of a whole answer, after all rounds and all estimation from them? That depends on records times
epsilon, and on the distribution of the records. The tables have the mean error of answers to simulated records, at
epsilon {epsilon} under {adjacency}, {rehearsals} answers each, with a standard error. They say nothing about records of
other kinds: `dp.forecast(question, loss, adjacency, like=records)` predicts the error for public records that are like
yours, and `dpcurves plan KIND ... --forecast N` that for these kinds on your own grid. These errors are those by noise
alone. Sampling error comes on top; the bands and intervals for the population cover it.

How good are forecasts? From other records of the same distribution, `dp.forecast` gave 0.97 to 1.04 times the error
that was then measured, for each of the eight kinds below, under both adjacencies, with a standard error of 0.02
(`python benchmarks/regimes.py --full --half judge --parts forecasts`). Forecasts from simulated records give a range;
residual plots of records that lie close together have smaller errors.

Intervals are wider than these errors, and `dp.forecast` tells their half widths beside the error. Errors and half
widths that were forecast, over those then measured, are printed for every kind of question, on tied, zero-inflated and
smooth data, by `python benchmarks/forecast_against_measured.py`. At 3,000 records and epsilon 1 half widths were 0.99
to 1.01 of those of means, 0.96 to 1.05 of bands of distribution functions, 0.93 to 1.09 of areas under ROC curves, 0.97
to 1.04 of survival curves, and 1.00 of tables of two columns. Intervals of quantiles end at edges of cells and are one
or two cells wide, so their mean width over a few answers is known to about 20 % only.

![Errors of eight kinds of answers, each against records times epsilon](images/expected_errors.png)

This page and its picture are made by `make expected-errors`. How far defaults are from the best choice in hindsight is
another table, which `make bench-accuracy` prints.
"""
ON_HINTS = """## Which hint still helps

A hint says what is publicly known of the distribution of the records; it must not come from them. The tables below have
the error of a distribution function with the hint, divided by that without one, on the same records, and its standard
error: below 1 the hint helps.

These are root mean squares. For atoms the **largest** error gives another result: for 10,000 records on 4,096 cells at
epsilon 1 (`python benchmarks/which_mechanism.py --hints`), errors with the right hint, divided by those without:

| records | hint | largest error | root mean square |
|---|---|---|---|
| normal, a standard deviation of a thousandth of it | `peaked` | 1 ± 0.08 | 1 ± 0.07 |
| rounded to 21 values | `atoms` | 0.42 ± 0.03 | 1.18 ± 0.1 |

So `atoms` lowers the largest error by more than half where single values hold nearly all records, and `peaked` changes
nothing, since the method is the same without a hint. A wrong `atoms` makes the largest error of those 10,000 records
1.2 to 1.3 times as large, and the root mean square of few records up to 3.5 times. `spread` changes nothing: whether
records are spread is told by what was counted (`python benchmarks/smooth_distributions.py --parts hint`).
"""

ON_SCORES = """## What still helps where scores are judged

ROC curves, calibration curves and residual plots take no `Hint`. The table says what may be declared instead, from
public knowledge, and by how much it changes the error (records are those of `benchmarks/regimes.py --parts
diagnostics`; replace-one; errors of areas are medians, others means):

| question | what is said | records times ε | error, over that of the default |
|---|---|---|---|
| ROC, scores in a twentieth of [0, 1] | `grid=` that ends where scores do | 100 | about 0.14 (0.036 in place of 0.26) |
| ROC, scores all over the grid | `thresholds=FIXED` and 8, 16, 32 even cells in place of 4 | 100 | 1.4, 2.0, 2.1 |
| calibration | `groups=10` in place of 3 | 100 | 1.2 |
| calibration | `groups=10` in place of 7 | 1,000 | 1.03 |
| calibration, chances right, too near to 0.3, bent | `groups=10` in place of 20 | 20,000 | 1.27, 1.06, 1.96 |
| residual plot | a count of 16 x 16 cells in place of blocks | 500 | 1.6 (total variation) |

So where records are few and known to have scores near one end, a grid that covers only these scores helps most, and
everything else is best left at its default.
"""


def page(found: Found) -> str:
    """The whole page."""
    parts = [INTRODUCTION.format(**found)]
    parts += [
        _section(kind, each["words"], each["rows"], float(found["epsilon"])) for kind, each in found["kinds"].items()
    ]
    return "\n".join([*parts, ON_HINTS, _hints(found["hints"], float(found["epsilon"])), ON_SCORES])


def _section(kind: str, words: str, rows: list[Found], epsilon: float) -> str:
    by_records = _cells(rows, "records", lambda row: f"{row['error']:g} ± {row['se']:.1g}")
    return (
        f"## {kind[0].upper()}{kind[1:]}\n\nIn units of: {words}.\n\n{_table('records', rows, epsilon, by_records)}\n"
    )


def _hints(rows: list[Found], epsilon: float) -> str:
    parts = []
    for hint, words in HINTS.items():
        own = [row for row in rows if row["hint"] == hint]
        cells = _cells(own, "records", lambda row: f"{row['ratio']:g} ± {row['se']:.1g}")
        parts.append(f"### {words}\n\n{_table('records', own, epsilon, cells)}\n\n{_verdict(own, epsilon)}\n")
    return "\n".join(parts)


def _verdict(rows: list[Found], epsilon: float) -> str:
    """Where it helps and where it harms, in words, beyond what chance explains."""
    helps = [row for row in rows if row["ratio"] + SURE * row["se"] < 1 and row["ratio"] < HELPS]
    harms = [row for row in rows if row["ratio"] - SURE * row["se"] > 1 and row["ratio"] > HARMS]
    said = (("It helps", helps), ("It harms", harms))
    return " ".join(f"{verb}: {_named(found, epsilon)}." for verb, found in said if found) or "No difference is seen."


def _named(rows: Iterable[Found], epsilon: float) -> str:
    return "; ".join(f"{row['records']} at {row['size'] * epsilon:,.0f} ({row['ratio']:.2f})" for row in rows)


def _table(first: str, rows: list[Found], epsilon: float, lines: dict[str, list[str]]) -> str:
    sizes = sorted({row["size"] for row in rows})
    head = " | ".join([first, *(f"records times ε = {size * epsilon:,.0f}" for size in sizes)])
    body = "\n".join(f"| {name} | {' | '.join(cells)} |" for name, cells in lines.items())
    return f"| {head} |\n|{'---|' * (len(sizes) + 1)}\n{body}"


def _cells(rows: list[Found], key: str, written: Any) -> dict[str, list[str]]:
    names = dict.fromkeys(row[key] for row in rows)
    of = {name: sorted((row for row in rows if row[key] == name), key=lambda row: row["size"]) for name in names}
    return {name: [written(row) for row in each] for name, each in of.items()}


def draw(found: Found) -> Any:
    """Errors against records times epsilon, a panel for each kind of question."""
    from matplotlib.figure import Figure

    kinds, epsilon = found["kinds"], float(found["epsilon"])
    figure = Figure(figsize=(9, 13), layout="constrained")
    panels = figure.subplots(-(-len(kinds) // COLUMNS_OF_PANELS), COLUMNS_OF_PANELS).ravel()
    for panel, (kind, each) in zip(panels, kinds.items(), strict=False):
        for name, rows in _by_records(each["rows"]):
            across = [row["size"] * epsilon for row in rows]
            upwards, spread = [row["error"] for row in rows], [2 * row["se"] for row in rows]
            low = [max(value - apart, value / 3) for value, apart in zip(upwards, spread, strict=True)]
            bars = [[v - lo for v, lo in zip(upwards, low, strict=True)], spread]
            panel.errorbar(across, upwards, yerr=bars, marker="o", markersize=3, capsize=2, linewidth=1.2, label=name)
        errors = [row["error"] for row in each["rows"]]
        scale = "log" if max(errors) > 10 * min(errors) else "linear"
        panel.set(xscale="log", yscale=scale, title=f"{kind[0].upper()}{kind[1:]}", xlabel="records times ε")
        panel.set_ylabel(fill(each["words"], 40), fontsize=9)
        panel.grid(which="major", alpha=0.3)
        panel.legend(fontsize=8, frameon=False)
    return figure


def _by_records(rows: list[Found]) -> Iterator[tuple[str, list[Found]]]:
    ordered = sorted(rows, key=lambda row: (row["records"], row["size"]))
    return ((name, list(each)) for name, each in groupby(ordered, key=lambda row: row["records"]))


if __name__ == "__main__":
    measured = json.loads(NUMBERS.read_text(encoding="utf-8"))
    PAGE.write_text(page(measured), encoding="utf-8")
    draw(measured).savefig(PICTURE, dpi=110, metadata={"Software": None})
