"""Sections 3, A and B by theorem, lemma and corollary, and Kendall's correlation of Figure 4."""

from __future__ import annotations

import kendall
import oracle
import quantised
import recursion
from reproduction.command import Options
from reproduction.measured import Findings
from rich.console import Console
from rich.progress import Progress
from sizes import Size

SEED = 17


def findings(options: Options[Size], progress: Progress, console: Console) -> Findings:
    """All claims but those about areas of people. Without the file of ratings, Figure 4 is skipped."""
    size, step = options.size, progress.add_task("Theorems", total=3)
    found = quantised.findings(size.draws, size.kernels, SEED) | oracle.findings()
    progress.advance(step)
    found |= recursion.findings(size.trees, SEED)
    progress.advance(step)
    if kendall.are_there(options.data):
        found |= kendall.findings(options.data)
    else:
        console.print(f"Skipped: Figure 4. There is no '{kendall.FILE}' in {options.data}", soft_wrap=True)
    progress.advance(step)
    return found
