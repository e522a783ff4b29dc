"""The part of the run on ROC curves."""

from __future__ import annotations

import ranking
import roc_figures
import text
from reproduction.command import Options
from reproduction.measured import Findings
from reproduction.report import Steps
from rich.console import Console
from rich.progress import Progress
from sizes import Size


def findings(options: Options[Size], progress: Progress, console: Console) -> Findings:
    """Figures 2 and 3 where the texts are, and Figure 4."""
    if text.are_there(options.data):
        found = _of_texts(options, progress)
    else:
        console.print(f"Skipped: Figures 2 and 3. There are no texts 'text' in {options.data}", soft_wrap=True)
        found = Findings()
    steps = Steps(progress, "Figure 4: areas told apart", options.size.ranking_products)
    power = ranking.power(options.size, steps)
    roc_figures.draw_power(power, options.out)
    return found | ranking.findings_of_power(power)


def _of_texts(options: Options[Size], progress: Progress) -> Findings:
    sets = text.judged(options.data)
    settings = ranking.setting_names(sets, options.size)
    found = ranking.errors(sets, options.size, Steps(progress, "Figures 2 and 3: ROC curves of texts", settings))
    roc_figures.draw_errors(settings, found, options.out)
    return ranking.findings_of_errors(found)
