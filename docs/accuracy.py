"""The page "Accuracy and its marks" and its pictures, from what was measured: `python docs/accuracy.py`.

The numbers stand beside this file: in ``accuracy.json``, which `benchmarks/simple_methods.py --regimes --json` writes,
and in ``accuracy_marks.json``, which `benchmarks/accuracy_marks.py --json` writes. A test holds that the page is made
of these numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

FOLDER = Path(__file__).parent
NUMBERS, MARKED = FOLDER / "accuracy.json", FOLDER / "accuracy_marks.json"
PAGE, IMAGES = FOLDER / "accuracy.md", FOLDER / "images"
METRICS = "largest", "mean", "root mean square"
MARKS = (("median", 0.5, 0.9), ("95 % at most", 0.95, 1.15))
"""Name of a quantile of the ratios, its level, and the largest value that the benchmark asks for."""
Z, WORST = 2.576, 1.3
"""Normal quantile of a 99 % interval, and the ratio that no interval may lie above."""
Row = dict[str, Any]
INTRODUCTION = """# Accuracy and its marks

Four tables say what is measured, what it is to be (at most, unless the mark says otherwise), and for a miss why.
Standard errors stand in brackets; a figure beside its mark by less than two of them is *not sure*. `make
bench-accuracy` measures all of it. This page is made by `python docs/accuracy.py` of what `python
benchmarks/accuracy_marks.py --json docs/accuracy_marks.json` and `python benchmarks/simple_methods.py --regimes
--releases {releases} --json docs/accuracy.json` wrote.

## A. The default curve beside simple methods

`dp.cdf` chooses its method from released counts. Could you do better with a simple method, if you knew which? Each
number is the mean error of the default over that of the best of flat counts, a clipped histogram, trees of degree 2, 4
and 16, 8 to 512 bins, Legendre polynomials and a straight line, here at epsilon 1 under replace-one, {releases}
releases of each setting. The best is chosen in hindsight on one half of the releases and judged on the other. Below 1
the default is ahead of all of them. Errors below a quarter of a record or a tenth of the sampling error count as equal.

![Root mean square errors over the best simple method, by records and cells](images/accuracy_sizes.png)

![The same for each shape: a point for each number of records and cells](images/accuracy_shapes.png)

![All ratios in order, with the marks](images/accuracy_marks.png)
"""
READING = """
Where the default is behind, it spends part of the budget to learn the shape and counts finer intervals than the best
bins: its band is then narrower than theirs. Where records lie on single values, it is behind for the largest error
until the first counts show these values. `hint=Hint.ATOMS`, or declared values, are then better.

Regimes in which a simple method was ahead of an earlier default, the worst ratio of the three errors:
"""
HEADINGS = {
    "B": "## B. Strategies beside the optimum\n\nMean squared error of a prefix when one record comes or goes.",
    "C": "## C. Widths of intervals over errors\n\nThe mean width over twice the quantile of the error at level 0.9, "
    "at epsilon 1: 1 is ideal.",
    "D": "## D. Questions without a range, and cost",
}
"""Heading and first sentence of each table behind the first."""


def page(rows: Sequence[Row], marked: Sequence[Row]) -> str:
    """Return the text of the page, from ratios by size and from rows with marks."""
    releases = rows[0]["releases"]
    blocks = [INTRODUCTION.format(releases=releases).rstrip(), *_list_marks(rows), "", *_list_sizes(rows), READING]
    blocks += _list_rows([row for row in marked if row["part"] == "A"])
    for part, heading in HEADINGS.items():
        blocks += ["", heading, "", *_list_rows([row for row in marked if row["part"] == part])]
    return "\n".join(blocks) + "\n"


def _list_rows(rows: Sequence[Row]) -> list[str]:
    """Return the lines of a table of figures with marks, and the reasons of its misses."""
    lines = ["| what | figure | before | today | mark | beside | releases | at it |", "|" + "---|" * 8]
    reasons = list(dict.fromkeys(row["reason"] for row in rows if row["reason"]))
    for row in rows:
        error = f" ({row['error']:.2g})" if row["error"] else ""
        mark = f"{'at least ' * row['is_least']}{row['mark']:g}"
        number = f" ({reasons.index(row['reason']) + 1})" if row["reason"] else ""
        cells = (
            row["name"], row["figure"], row["before"], f"{row['today']:.3g}{error}", mark, row["beside"],
            row["releases"] or "", f"{row['verdict']}{number}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return [*lines, *(f"\n({index}) {reason}" for index, reason in enumerate(reasons, start=1))]


def _list_marks(rows: Sequence[Row]) -> list[str]:
    """Return the lines of the table of marks."""
    ratios, noise = (np.array([row[name] for row in rows]) for name in ("ratios", "noise"))
    lines = ["", f"| of {len(rows)} settings | mark | {' | '.join(METRICS)} |", "|---|---|---|---|---|"]
    for name, level, mark in MARKS:
        lines.append(f"| {name} | {mark} | {_join(np.quantile(ratios, level, axis=0))} |")
    surely = (ratios * np.exp(-Z * noise) > WORST).sum(axis=0)
    return [*lines, f"| settings whose 99 % interval lies above {WORST} | 0 | {' | '.join(map(str, surely))} |"]


def _list_sizes(rows: Sequence[Row]) -> list[str]:
    """Return the lines of the table of geometric means by records and cells."""
    lines = [f"| records | cells | {' | '.join(METRICS)} |", "|---|---|---|---|---|"]
    for records, cells in _sizes(rows):
        lines.append(f"| {records:,} | {cells:,} | {_join(mean_ratios(rows, records, cells))} |")
    return lines


def _join(values: NDArray[np.float64]) -> str:
    return " | ".join(f"{value:.2f}" for value in values)


def _sizes(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Return the pairs of records and cells, in order."""
    return sorted({(row["records"], row["cells"]) for row in rows})


def mean_ratios(rows: Sequence[Row], records: int, cells: int) -> NDArray[np.float64]:
    """Return the geometric means of the three ratios over shapes at this size, (3,)."""
    ratios = [row["ratios"] for row in rows if (row["records"], row["cells"]) == (records, cells)]
    return np.asarray(np.exp(np.log(ratios).mean(axis=0)))


def draw_sizes(rows: Sequence[Row]) -> Figure:
    """Draw the mean ratio of root mean square errors against records, one line for each grid."""
    figure, axes = _new_figure("Root mean square errors, by records and cells", "records")
    for cells in sorted({row["cells"] for row in rows}):
        records = sorted({row["records"] for row in rows})
        means = [mean_ratios(rows, number, cells)[2] for number in records]
        axes.plot(records, means, marker="o", label=f"{cells:,} cells")
    axes.set_xscale("log")
    axes.legend(frameon=False)
    return figure


def draw_shapes(rows: Sequence[Row]) -> Figure:
    """Draw the ratio of root mean square errors of each cell, by shape."""
    figure, axes = _new_figure("Root mean square errors, by shape of the records", "")
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    for index, shape in enumerate(shapes):
        ratios = [row["ratios"][2] for row in rows if row["shape"] == shape]
        axes.plot([index] * len(ratios), ratios, "o", alpha=0.5, color="C0")
    axes.set_xticks(range(len(shapes)), shapes, rotation=30, ha="right")
    return figure


def draw_marks(rows: Sequence[Row]) -> Figure:
    """Draw all ratios in increasing order, for the three errors, with the marks."""
    figure, axes = _new_figure("Errors in all settings, and their marks", "share of the settings")
    levels = (np.arange(len(rows)) + 0.5) / len(rows)
    for metric, name in enumerate(METRICS):
        axes.plot(levels, np.sort([row["ratios"][metric] for row in rows]), label=f"{name} error")
    for name, level, mark in MARKS:
        axes.plot(level, mark, "kv")
        label = f"mark: {name} {mark}".replace(" at most", "")
        axes.annotate(label, (level, mark), xytext=(0, -8), textcoords="offset points", ha="center", va="top")
    axes.legend(frameon=False)
    return figure


def _new_figure(title: str, horizontal: str) -> tuple[Figure, Any]:
    """Return a figure with a title whose vertical axis has ratios, with a line at 1."""
    figure = Figure(figsize=(7, 3.4), layout="constrained")
    axes = figure.add_subplot()
    axes.axhline(1, color="0.6", linewidth=1)
    axes.set_title(f"{title}: dpcurves over the best simple method", fontsize=10)
    axes.set_xlabel(horizontal)
    axes.set_ylabel("error over the best\nsimple method's")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


PICTURES: dict[str, Callable[[Sequence[Row]], Figure]] = {
    "accuracy_sizes": draw_sizes, "accuracy_shapes": draw_shapes, "accuracy_marks": draw_marks,
}  # fmt: skip


def main() -> None:
    """Write the page and its pictures."""
    rows = json.loads(NUMBERS.read_text(encoding="utf-8"))
    marked = json.loads(MARKED.read_text(encoding="utf-8"))
    PAGE.write_text(page(rows, marked), encoding="utf-8")
    for name, draw in PICTURES.items():
        draw(rows).savefig(IMAGES / f"{name}.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
