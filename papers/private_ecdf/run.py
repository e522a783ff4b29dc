"""Every claim of the paper on private distribution functions, measured: `python papers/private_ecdf/run.py [--quick]`.

Prints a line for each claim: the paper's number, ours, what dpcurves does instead, and the verdict. Draws the figures
into `out/`. Data is read from `../shared/data` beside the repository, from --data, or from $DPCURVES_DATA; without it,
what needs data is skipped.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # what all papers share

import calibration
import data
import figures
import inverse
import roc
import runtime
import smoothing
import tables
import theorems
from reproduction import command, report
from reproduction.measured import Findings
from reproduction.report import Steps
from rich.progress import Progress
from sizes import FULL, QUICK, TINY, Size

SEED = 7


def main() -> None:
    """Measure, draw, report."""
    options = command.parse(__file__, __doc__, FULL, QUICK, TINY)
    console = report.console()
    there = (options.data / "tabular").is_dir()
    if not there:
        console.print(f"Skipped: all that needs data. There is no folder 'tabular' in {options.data}", soft_wrap=True)
    with report.progress(console) as progress:
        findings = _without_data(options.size, options.out, progress)
        if there:
            findings |= _with_data(options.size, options.data, options.out, progress)
    command.finish(options, findings, console)


def _without_data(size: Size, out: Path, progress: Progress) -> Findings:
    """Proofs, and all of Poisson counts."""
    found = theorems.findings(size, SEED)
    figure2 = smoothing.against_epsilon(size, SEED, Steps(progress, "Figure 2: smoothing", size.epsilons))
    figure3 = smoothing.against_rate(size, SEED, Steps(progress, "Figure 3: smoothing", size.rates))
    limit = smoothing.limit(size, SEED)
    figure4 = inverse.against_epsilon(size, SEED, Steps(progress, "Figure 4: inverse", size.epsilons))
    figure7 = runtime.against_points(size, SEED, Steps(progress, "Figure 7: runtime", size.solver_levels))
    figures.draw_effects(figure2, figure3, out)
    figures.draw_inverse(figure4, out)
    figures.draw_seconds(figure7, out)
    return found | smoothing.findings(figure2, figure3, limit) | inverse.findings(figure4) | runtime.findings(figure7)


def _with_data(size: Size, folder: Path, out: Path, progress: Progress) -> Findings:
    """Table 1, ROC curves and the statistic of Hosmer and Lemeshow."""
    from model import scored

    found, records, shown = Findings(), {}, {}
    step = Steps(progress, "Table 1, Figures 1, 8, 9: ROC", data.NAMES)
    for name in data.NAMES:
        table = data.table(name, folder)
        found |= tables.findings(name, table)
        records[name] = scored(table)
        shown[name] = roc.shown(name, records[name], size, SEED)
        step()
    epsilons = size.record_epsilons
    areas = roc.areas(records["bank"], size, SEED, Steps(progress, "Figure 5: areas", epsilons))
    statistic = {
        name: calibration.against_epsilon(
            records[name], size, SEED, Steps(progress, f"Figure {number}: Hosmer-Lemeshow", epsilons)
        )
        for name, number in (("bank", 6), ("diabetes", 10))
    }
    figures.draw_roc(shown, out)
    figures.draw_areas(areas, out)
    figures.draw_statistic(statistic, out)
    return found | roc.findings_of_shown(**shown) | roc.findings_of_areas(areas) | calibration.findings(**statistic)


if __name__ == "__main__":
    main()
