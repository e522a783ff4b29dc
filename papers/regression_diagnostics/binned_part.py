"""The part of the run on binned residuals."""

from __future__ import annotations

import binned
import binned_figures
import binned_split
from reproduction.command import Options
from reproduction.measured import Findings
from reproduction.report import Steps
from rich.console import Console
from rich.progress import Progress
from sizes import Size


def findings(options: Options[Size], progress: Progress, _: Console) -> Findings:
    """Figures 4.12 to 4.15, Table 4.5."""
    size, out = options.size.binned, options.out
    without = binned.separation_without_noise(size, Steps(progress, "Table 4.5: binned residuals", size.open))
    sets = binned.data_sets(size.records)
    found = binned.separation(sets, size, Steps(progress, "Figure 4.14: right and wrong", binned.steps_of(size)))
    smaller = binned.data_sets(size.split_records)
    steps = Steps(progress, "Figure 4.15: split budgets", binned_split.steps_of(size))
    split = binned_split.differences(smaller, size, steps)
    binned_figures.draw_plots(sets, out)
    binned_figures.draw_separation(found, without, out)
    binned_figures.draw_split(list(smaller), size, split, out)
    return binned.findings(found, without) | binned_split.findings(split, size)
