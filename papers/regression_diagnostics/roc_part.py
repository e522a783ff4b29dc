"""The part of the run on ROC curves."""

from __future__ import annotations

import ranking
import roc_figures
import roc_regret
import roc_split
import telling
import text
from reproduction.command import Options
from reproduction.measured import Findings
from reproduction.report import Steps
from rich.console import Console
from rich.progress import Progress
from sizes import Size


def findings(options: Options[Size], progress: Progress, console: Console) -> Findings:
    """Figures 1 to 3, 4.10 and 4.11 and Table 4.4 where the texts are; Figure 4 and Table 4.3."""
    if text.are_there(options.data):
        found = _of_texts(options, progress)
    else:
        console.print(f"Skipped: Figures 1 to 3. There are no texts 'text' in {options.data}", soft_wrap=True)
        found = Findings()
    steps = Steps(progress, "Figure 4: areas told apart", telling.steps_of(options.size.roc))
    power = telling.power(options.size.roc, steps)
    roc_figures.draw_power(power, options.out)
    return found | telling.findings(power)


def _of_texts(options: Options[Size], progress: Progress) -> Findings:
    size, sets = options.size.roc, text.judged(options.data)
    settings = ranking.setting_names(sets, size)
    errors = ranking.errors(sets, size, Steps(progress, "Figures 2 and 3: ROC curves of texts", settings))
    estimated = roc_regret.errors(sets, settings, size, Steps(progress, "Table 4.4: histogram algorithms", settings))
    split = roc_split.errors(sets, size, Steps(progress, "Figure 4.10: split budgets", roc_split.steps_of(sets, size)))
    roc_figures.draw_curves(sets, options.out)
    roc_figures.draw_errors(settings, errors, options.out)
    roc_figures.draw_regret(roc_regret.shown(estimated), options.out)
    roc_figures.draw_split(list(sets), size, split, options.out)
    return ranking.findings(errors, settings) | roc_regret.findings(estimated) | roc_split.findings(split, size)
