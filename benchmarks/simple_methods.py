"""The default distribution function over the best of simple methods, on a public list of cells.

`python benchmarks/simple_methods.py [--quick] [--known | --regimes] [--only TEXT ...] [--releases N] [--json FILE]`.
For each cell of `accuracy/public_cells.py`: mean errors of the default, over those of the best of flat counts, a
clipped histogram, trees of degree 2, 4 and 16, 8 to 512 bins, Legendre polynomials, a straight line, and OpenDP's tree
if it is installed. The best is chosen on one half of the releases and judged on the other, both ways round. Errors
below .25 record or a tenth of the sampling error count as equal. Marks: median at most .9, 95 % of cells at most 1.15,
no cell whose 99 % interval lies above 1.3, for each of KS, W1 and RMSE. The whole list takes an hour of one core,
`--quick` minutes. `--regimes` measures few shapes at 3,000 to 10**6 records on 64 to 4,096 cells, with means by size,
beside methods that need NumPy alone.
Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import process_time
from zlib import crc32

import numpy as np
from accuracy.data import FloatArray, Sample
from accuracy.public_cells import CELLS, KNOWN_CELLS, REGIME_CELLS, PublicCell
from accuracy.rows import Ask, ours
from accuracy.simple_methods import Task, list_methods
from rich.console import Console
from rich.progress import track
from rich.table import Table

from dpcurves.privacy import Neighbours, PrivacyLoss

METRICS = "KS", "W1", "RMSE"
MEDIAN_MARK, MOST_MARK, WORST_MARK = 0.9, 1.15, 1.3
Z = 2.576
"""Normal quantile of a two-sided 99 % interval."""
QUICK_STEP, QUICK_RELEASES, QUICK_CELLS = 5, 8, 2**14
"""Every so many cells of the list, releases of each, and the largest grid, with `--quick`."""


def measure_cell(cell: PublicCell, releases: int, *, uses_packages: bool = True) -> dict[str, FloatArray]:
    """Return the errors of all methods, (releases, 3) each; two releases share one sample.

    `uses_packages` says whether methods of other packages take part, beside those that need NumPy alone.
    """
    loss = PrivacyLoss.pure(cell.epsilon) if cell.is_pure else PrivacyLoss.zcdp(cell.epsilon**2 / 2)
    neighbours = Neighbours.REPLACE_ONE if cell.neighbours == "replace-one" else Neighbours.ADD_REMOVE
    seed = crc32(cell.name.encode())  # no two cells share their noise: their errors would rise and fall together
    errors: dict[str, list[tuple[float, float, float]]] = {}
    for release in range(releases):
        sample = cell.sample(np.random.default_rng([len(cell.name), *cell.name.encode(), release // 2]))
        shares = ours(Ask(sample, loss, neighbours, seed + release))
        errors.setdefault("dpcurves", []).append(measure_errors(shares, sample))
        task = Task(sample, cell.epsilon, cell.neighbours == "replace-one", cell.is_pure)
        for number, (name, method) in enumerate(list_methods(cell.cells, cell.is_pure).items()):
            if name == "OpenDP" and not uses_packages:
                continue
            generator = np.random.default_rng([seed, release, number])
            errors.setdefault(name, []).append(measure_errors(method(task, generator), sample))
    return {name: np.array(values) for name, values in errors.items()}


def measure_errors(shares: FloatArray, sample: Sample) -> tuple[float, float, float]:
    """Return largest, mean absolute and root mean squared error over all edges."""
    difference = np.abs(shares - sample.shares)
    return float(difference.max()), float(difference.mean()), float((difference**2).mean() ** 0.5)


def least_errors(cell: PublicCell) -> FloatArray:
    """Return the errors below which all count as equal, (3,): .25 record or a tenth of the sampling error."""
    below = cell.sample(np.random.default_rng(0)).shares
    deviation = np.sqrt(below * (1 - below) / cell.records)
    sampling = 0.87 / cell.records**0.5, 0.8 * deviation.mean(), float((deviation**2).mean() ** 0.5)
    return np.maximum(np.array(sampling) / 10, 0.25 / cell.records)


def compare_cell(errors: Mapping[str, FloatArray], least: FloatArray) -> tuple[FloatArray, FloatArray, list[str]]:
    """Return the ratio to the best simple method, the standard error of its logarithm, and who is the best: (3,)."""
    ratios, noise, names = np.ones(3), np.zeros(3), []
    others = {name: values for name, values in errors.items() if name != "dpcurves"}
    for metric in range(3):
        best = [min(others, key=lambda name: others[name][half::2, metric].mean()) for half in (0, 1)]
        simple = np.concatenate([others[best[0]][1::2, metric], others[best[1]][::2, metric]])
        default = errors["dpcurves"][:, metric]
        means = [max(float(values.mean()), float(least[metric])) for values in (default, simple)]
        ratios[metric] = means[0] / means[1]
        noise[metric] = (
            sum(
                float(values.var(ddof=1)) / len(values) / mean**2
                for values, mean in zip((default, simple), means, strict=True)
            )
            ** 0.5
        )
        names.append(best[0])
    return ratios, noise, names


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all cells that are asked for, and print them, worst first, and the marks."""
    options = _parse_options(arguments)
    listed = REGIME_CELLS if options.regimes else CELLS
    cells = [cell for cell in listed if not options.only or any(text in cell.name for text in options.only)]
    if options.known:
        cells = [cell for cell in cells if cell in KNOWN_CELLS]
    if options.quick:
        cells = [cell for cell in cells[::QUICK_STEP] if cell.cells <= QUICK_CELLS and cell.records <= 10**5]
    releases = options.releases or (QUICK_RELEASES if options.quick else 24)
    console, rows, started = Console(width=160), [], process_time()
    for cell in track(cells, console=console):
        ratios, noise, names = compare_cell(
            errors := measure_cell(cell, releases, uses_packages=not options.regimes), least_errors(cell)
        )
        own = errors["dpcurves"].mean(axis=0)
        rows.append((cell, ratios, noise, names, own))
    _show(console, rows, options.rows)
    if options.regimes:
        _show_sizes(console, rows)
    console.print(f"{len(rows)} cells, {releases} releases of each, {process_time() - started:.0f} CPU s")
    if options.json:
        plain = [
            {"cell": cell.name, "shape": cell.shape, "records": cell.records, "cells": cell.cells,
             "releases": releases, "drawn": cell.is_drawn, "ratios": ratios.tolist(), "noise": noise.tolist(),
             "best": names, "errors": own.tolist()} for cell, ratios, noise, names, own in rows
        ]  # fmt: skip
        options.json.write_text(json.dumps(plain, indent=1), encoding="utf-8")


Row = tuple[PublicCell, FloatArray, FloatArray, list[str], FloatArray]
"""A cell, ratios, standard errors of their logarithms, names of the best, and errors of the default."""


def _show(console: Console, rows: Sequence[Row], most: int) -> None:
    """Print the worst cells, then each mark for all cells and for those of the generator."""
    table = Table("cell", *(f"{metric} over best" for metric in METRICS), "best", "errors of the default")
    for cell, ratios, noise, names, own in sorted(rows, key=lambda row: -float(row[1].max()))[:most]:
        cells = (f"{ratio:.2f} ({ratio * error:.2f})" for ratio, error in zip(ratios, noise, strict=True))
        table.add_row(cell.name, *cells, ", ".join(names), " / ".join(f"{error:.3g}" for error in own))
    console.print(table)
    for title, part in (("all", rows), ("drawn by the generator", [row for row in rows if row[0].is_drawn])):
        if not part:
            continue
        ratios, noise = (np.array([row[column] for row in part]) for column in (1, 2))
        for index, metric in enumerate(METRICS):
            values = ratios[:, index]
            surely = values * np.exp(-Z * noise[:, index]) > WORST_MARK
            console.print(
                f"{title}, {metric}: median {np.median(values):.2f} (mark {MEDIAN_MARK}), geometric mean "
                f"{np.exp(np.log(values).mean()):.2f}, 95 % of cells at most {np.quantile(values, 0.95):.2f} "
                f"(mark {MOST_MARK}), surely above {WORST_MARK}: {int(surely.sum())} of {len(values)}"
            )


def _show_sizes(console: Console, rows: Sequence[Row]) -> None:
    """Print the geometric means over shapes for each number of records and cells."""
    table = Table("records", "cells", *(f"{metric} over best" for metric in METRICS), title="means over shapes")
    for records, cells in dict.fromkeys((row[0].records, row[0].cells) for row in rows):
        logarithms = [np.log(row[1]) for row in rows if (row[0].records, row[0].cells) == (records, cells)]
        means = np.exp(np.mean(logarithms, axis=0))
        table.add_row(f"{records:,}", f"{cells:,}", *(f"{mean:.2f}" for mean in means))
    console.print(table)


def _parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="every fifth cell, 8 releases, at most 16,384 cells")
    parser.add_argument("--known", action="store_true", help="only cells of the table of known regimes")
    parser.add_argument("--regimes", action="store_true", help="few shapes at each number of records and cells")
    parser.add_argument("--only", nargs="+", default=[], help="cells whose names contain one of these", metavar="TEXT")
    parser.add_argument("--releases", type=int, default=0, help="releases of each cell; 24 unless given")
    parser.add_argument("--rows", type=int, default=400, help="cells that are printed, worst first")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
