"""Every claim of the paper on private distribution functions, measured: `python papers/private_ecdf/run.py [--quick]`.

Prints a line for each claim: the paper's number, ours, what dpcurves does instead, and the verdict. Draws the figures
into `out/`. Data is read from `../shared/data` beside the repository, from --data, or from $DPCURVES_DATA; without it,
what needs data is skipped.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import calibration
import claims
import data
import figures
import inverse
import roc
import runtime
import smoothing
import tables
import theorems
from measured import Findings
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sizes import FULL, QUICK, TINY, Size

SEED = 7
WIDTH = 150  # of the report, where no terminal says otherwise


def main() -> None:
    """Measure, draw, report."""
    options = _options()
    console = Console(width=None if Console().is_terminal else WIDTH)
    options.out.mkdir(parents=True, exist_ok=True)
    there = (options.data / "tabular").is_dir()
    if not there:
        console.print(f"Skipped: all that needs data. There is no folder 'tabular' in {options.data}", soft_wrap=True)
    bars = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(TextColumn("{task.description}"), *bars, console=console) as progress:
        findings = _without_data(options.size, options.out, progress)
        if there:
            findings |= _with_data(options.size, options.data, options.out, progress)
    rows = claims.rows(claims.load(), findings)
    _print(rows, console)
    found = [asdict(row) for row in rows]
    (options.out / "verdicts.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    console.print(f"Figures and verdicts.json are in {options.out}", soft_wrap=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", dest="size", action="store_const", const=QUICK, help="fewer runs, smaller N")
    sizes.add_argument("--tiny", dest="size", action="store_const", const=TINY, help="a slice for tests")
    parser.add_argument("--data", type=Path, default=data.folder(), help="folder of the data sets")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("out"), help="folder for pictures")
    parser.set_defaults(size=FULL)
    return parser.parse_args()


def _without_data(size: Size, out: Path, progress: Progress) -> Findings:
    """Proofs, and all of Poisson counts."""
    found = theorems.findings(size, SEED)
    figure2 = smoothing.against_epsilon(size, SEED, _Steps(progress, "Figure 2: smoothing", size.epsilons))
    figure3 = smoothing.against_rate(size, SEED, _Steps(progress, "Figure 3: smoothing", size.rates))
    limit = smoothing.limit(size, SEED)
    figure4 = inverse.against_epsilon(size, SEED, _Steps(progress, "Figure 4: inverse", size.epsilons))
    figure7 = runtime.against_points(size, SEED, _Steps(progress, "Figure 7: runtime", size.solver_levels))
    figures.draw_effects(figure2, figure3, out)
    figures.draw_inverse(figure4, out)
    figures.draw_seconds(figure7, out)
    return found | smoothing.findings(figure2, figure3, limit) | inverse.findings(figure4) | runtime.findings(figure7)


def _with_data(size: Size, folder: Path, out: Path, progress: Progress) -> Findings:
    """Table 1, ROC curves and the statistic of Hosmer and Lemeshow."""
    from model import scored

    found, records, shown = Findings(), {}, {}
    step = _Steps(progress, "Table 1, Figures 1, 8, 9: ROC", data.NAMES)
    for name in data.NAMES:
        table = data.table(name, folder)
        found |= tables.findings(name, table)
        records[name] = scored(table)
        shown[name] = roc.shown(name, records[name], size, SEED)
        step()
    epsilons = size.record_epsilons
    areas = roc.areas(records["bank"], size, SEED, _Steps(progress, "Figure 5: areas", epsilons))
    statistic = {
        name: calibration.against_epsilon(
            records[name], size, SEED, _Steps(progress, f"Figure {number}: Hosmer-Lemeshow", epsilons)
        )
        for name, number in (("bank", 6), ("diabetes", 10))
    }
    figures.draw_roc(shown, out)
    figures.draw_areas(areas, out)
    figures.draw_statistic(statistic, out)
    return found | roc.findings_of_shown(**shown) | roc.findings_of_areas(areas) | calibration.findings(**statistic)


class _Steps:
    """Moves one bar on each time it is called."""

    def __init__(self, progress: Progress, description: str, steps: Sequence[object]) -> None:
        self._progress = progress
        self._task = progress.add_task(description, total=len(steps))

    def __call__(self) -> None:
        self._progress.advance(self._task)


def _print(rows: Sequence[claims.Row], console: Console) -> None:
    report = Table("place", "claim", "paper", "ours", "corrected", "dpcurves", "verdict", show_lines=True)
    for row in rows:
        claim, measured = row.claim, row.measured
        parts = (None, None, None) if measured is None else (measured.printed, measured.corrected, measured.package)
        why = f"\n[dim]{claim.why}[/dim]" if claim.why else ""
        number = f"{claim.number:g}" if claim.rule == "equal" else f"{claim.rule} {claim.number:g}"
        report.add_row(claim.place, claim.claim + why, number, *map(_number, parts), row.verdict)
    console.print(report)
    counts = {word: sum(row.verdict == word for row in rows) for word in dict.fromkeys(row.verdict for row in rows)}
    console.print(", ".join(f"{count} {word}" for word, count in counts.items()), highlight=False)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}" if value.is_integer() else f"{value:.3g}"


if __name__ == "__main__":
    main()
