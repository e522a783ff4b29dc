"""How far the defaults are from the best choice in hindsight, regime by regime.

`python benchmarks/regimes.py [--full | --broad | --tiny] [--parts ...] [--only TEXT ...] [--half choose | judge]
[--seed N] [--data FOLDER] [--json FILE]`. Each line is a ratio of mean errors, ours over the best of the rows that are
named, the geometric mean over tasks with its standard error, and the worst task; beside it whether that is at its mark,
and below why not, as far as `accuracy/reasons.toml` knows. Below the distribution functions stands how far off each
other way is over ours, those of OpenDP and diffprivlib among them. Which row is the best is chosen by one half of the
releases and judged by the other. Records are drawn afresh at every run, unless a seed is given, from distributions that
stand in `accuracy/shapes.py`; real tables are read from ../shared/data beside the repository, from --data, or from
$DPCURVES_DATA. Constants of the package that say so were chosen on one half of the distributions and histograms:
`--half judge` leaves those out, and tables of `accuracy/tables.py` chose nothing. The usual run takes minutes of one
core and tells what is far off; a full one takes hours; a broad one has all tasks, but four releases of each.
Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from accuracy import data, diagnostics, distributions, few, forecasts, peers, planes, telling
from accuracy.beside import Beside, show_beside
from accuracy.lines import EFFORTS, QUICK, TINY, Line, Run, show
from accuracy.shapes import Half
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

WIDTH = 180  # of the report, where no terminal says otherwise
Part = Callable[[Run, Callable[[str], None]], Iterator[Line | Beside]]
PARTS: dict[str, Part] = {
    "distributions": distributions.lines,
    "planes": planes.lines,
    "diagnostics": diagnostics.lines,
    "few": few.lines,
    "telling": telling.lines,
    "forecasts": forecasts.lines,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print each part as soon as it is done."""
    options = _options(arguments)
    console = Console(width=None if Console().is_terminal else WIDTH)
    halves = tuple(Half) if options.half is None else (Half(options.half),)
    run = Run(EFFORTS[options.effort], options.seed, halves, options.data, tuple(options.only))
    missing = sorted(set(data.HISTOGRAMS) - {task.name for task in data.real(options.data)})
    if missing:
        console.print(f"Skipped: {', '.join(missing)}. There are no such files in {options.data / 'hist1d'}")
    if "few" in options.parts and few.missing(run):
        console.print(f"Skipped of few records: {', '.join(few.missing(run))}")
    if "distributions" in options.parts and run.effort is not TINY:
        peers.set_up(console.print)
    found: dict[str, list[Line | Beside]] = {}
    for part in options.parts:
        found[part] = _measured(PARTS[part], run, console)
        _show(console, f"{part}, seed {run.seed}", found[part])
    if options.json:
        options.json.write_text(json.dumps(_plain(found), indent=1), encoding="utf-8")


def _plain(found: Mapping[str, Sequence[Line | Beside]]) -> dict[str, list[dict[str, Any]]]:
    """The lines of each part, and what stands beside them."""
    plain = {part: [each.plain for each in own if isinstance(each, Line)] for part, own in found.items()}
    return plain | {"beside": [each.plain for own in found.values() for each in own if isinstance(each, Beside)]}


def _show(console: Console, title: str, found: Sequence[Line | Beside]) -> None:
    show(console, title, [each for each in found if isinstance(each, Line)])
    beside = [each for each in found if isinstance(each, Beside)]
    if beside:
        show_beside(console, beside)


def _measured(part: Part, run: Run, console: Console) -> list[Line | Beside]:
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console) as progress:
        bar = progress.add_task("", total=None)
        return list(part(run, lambda doing: progress.update(bar, description=doing)))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = parser.add_mutually_exclusive_group()
    for name in EFFORTS:
        sizes.add_argument(f"--{name}", dest="effort", action="store_const", const=name, help="how much is done")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="what to measure")
    parser.add_argument("--only", nargs="+", default=[], help="lines of regimes whose names begin so", metavar="TEXT")
    parser.add_argument("--half", choices=[half.value for half in Half], help="only these shapes and files")
    parser.add_argument("--seed", type=int, default=int(np.random.SeedSequence().entropy) % 10**6, help="of records")  # type: ignore[arg-type]
    parser.add_argument("--data", type=Path, default=data.folder(), help="folder of the data sets")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    parser.set_defaults(effort=QUICK.name)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
