"""The parts of the run on residual plots."""

from __future__ import annotations

import discrimination
import earnings
import private_line
import regret
import residual_figures
import residuals
from reproduction.command import Options
from reproduction.measured import Findings
from reproduction.report import Steps
from rich.console import Console
from rich.progress import Progress
from sizes import Size

EPSILONS = 1.0, 0.1


def of_models(options: Options[Size], progress: Progress, _: Console) -> Findings:
    """Figures 5 to 7."""
    size, out = options.size.residual, options.out
    methods = {name: residuals.METHODS[name] for name in (residuals.PRINTED, residuals.PACKAGE)}
    residual_figures.draw_plots(residuals.models(size), methods, EPSILONS, out / "figures_5_and_6.png")
    found = residuals.separation(size, Steps(progress, "Figure 7: residual plots", size.products))
    residual_figures.draw_similarities(found, out)
    residual_figures.draw_separation(found, out)
    return residuals.findings(found)


def of_table(options: Options[Size], progress: Progress, _: Console) -> Findings:
    """Table 1."""
    size = options.size.residual
    steps = Steps(progress, "Table 1: the least that shows", size.table_records)
    return discrimination.findings(discrimination.table(size, steps))


def of_algorithms(options: Options[Size], progress: Progress, _: Console) -> Findings:
    """Figure 4.6 and Table 4.2."""
    found = regret.compared(options.size.residual, Steps(progress, "Table 4.2: histogram algorithms", regret.STEPS))
    residual_figures.draw_regrets(found, options.out)
    return regret.findings(found)


def of_cases(options: Options[Size], progress: Progress, console: Console) -> Findings:
    """Figure 8; and Figure 9 where the earnings are."""
    found = _of_private_line(options, progress)
    if earnings.is_there(options.data):
        return found | _of_earnings(options, progress)
    console.print(f"Skipped: Figure 9. There are no earnings '{earnings.FILE}' in {options.data}", soft_wrap=True)
    return found


def _of_private_line(options: Options[Size], progress: Progress) -> Findings:
    size = options.size.residual
    found = private_line.judged(size, Steps(progress, "Figure 8: a private line", private_line.OF_PLOTS))
    sets = {"private line": found.records}
    residual_figures.draw_plots(sets, private_line.METHODS, private_line.OF_PLOTS, options.out / "figure_8.png")
    return private_line.findings(found)


def _of_earnings(options: Options[Size], progress: Progress) -> Findings:
    steps = Steps(progress, "Figure 9: earnings", earnings.UNITS)
    found = earnings.fans(options.data, options.size.residual, steps)
    residual_figures.draw_plots(found.sets, earnings.METHODS, earnings.EPSILONS, options.out / "figure_9.png")
    return earnings.findings(found)


PARTS = {
    "residual-plots": of_models, "residual-table": of_table, "residual-algorithms": of_algorithms,
    "residual-cases": of_cases,
}  # fmt: skip
