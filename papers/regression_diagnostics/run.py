"""What private ROC curves and residual plots tell, claim by claim: `python papers/regression_diagnostics/run.py`.

Releases ROC curves of two text data sets, tells apart ROC curves of different areas, and residual plots of lines that
fit and of others: by the papers' algorithms as printed, which are not private, and by dpcurves. Draws a figure into
`out/`. Data is read from `../shared/data` beside the repository, from --data, or from $DPCURVES_DATA; without it, the
text data sets are skipped.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # what all papers share

import figures
import ranking
import residuals
import text
from reproduction import command, report
from reproduction.measured import Findings
from reproduction.report import Steps
from rich.progress import Progress
from sizes import FULL, QUICK, TINY, Size


def main() -> None:
    """Measure, draw, report."""
    options = command.parse(__file__, __doc__, FULL, QUICK, TINY)
    console = report.console()
    there = text.are_there(options.data)
    if not there:
        console.print(f"Skipped: Figures 2 and 3. There are no texts 'text' in {options.data}", soft_wrap=True)
    with report.progress(console) as progress:
        findings = _with_data(options.size, options.data, options.out, progress) if there else Findings()
        findings |= _without_data(options.size, options.out, progress)
    command.finish(options, findings, console)


def _with_data(size: Size, folder: Path, out: Path, progress: Progress) -> Findings:
    """Figures 2 and 3."""
    sets = text.judged(folder)
    settings = ranking.setting_names(sets, size)
    found = ranking.errors(sets, size, Steps(progress, "Figures 2 and 3: ROC curves of texts", settings))
    figures.draw_errors(settings, found, out)
    return ranking.findings_of_errors(found)


def _without_data(size: Size, out: Path, progress: Progress) -> Findings:
    """Figures 4 and 7."""
    power = ranking.power(size, Steps(progress, "Figure 4: areas told apart", size.ranking_products))
    found = residuals.separation(size, Steps(progress, "Figure 7: residual plots", size.residual_products))
    figures.draw_power(power, found, out)
    return ranking.findings_of_power(power) | residuals.findings(found)


if __name__ == "__main__":
    main()
