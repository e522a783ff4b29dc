"""The part of the run on residual plots."""

from __future__ import annotations

import figures
import residuals
from reproduction.command import Options
from reproduction.measured import Findings
from reproduction.report import Steps
from rich.console import Console
from rich.progress import Progress
from sizes import Size


def findings(options: Options[Size], progress: Progress, _: Console) -> Findings:
    """Figure 7."""
    size = options.size
    found = residuals.separation(size, Steps(progress, "Figure 7: residual plots", size.residual_products))
    figures.draw_separation(found, options.out)
    return residuals.findings(found)
