"""What private ROC curves and residual plots tell, claim by claim: `python papers/regression_diagnostics/run.py`.

Releases ROC curves of two text data sets, tells apart ROC curves of different areas, and residual plots, binned or not,
of models that fit and of others: by the papers' algorithms as printed, which are not private, and by dpcurves. Draws
figures into `out/`. Data is read from `../shared/data` beside the repository, from --data, or from $DPCURVES_DATA;
without it, the text data sets are skipped. Parts can be run alone: `--parts roc` keeps the record of the others.

All of it takes some hours of processor time; the parts residual-plots and residual-table, which all cores share, take
six minutes of it each. Releases of dpcurves in these two are a tenth of the others, but where they lie close to a mark.
`--quick` makes a tenth of the releases and keeps no record. Where no terminal shows bars, each step prints a line.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # what all papers share

import binned_part
import overview
import residual_part
import roc_part
from reproduction import command, report
from reproduction.command import Part
from sizes import FULL, QUICK, TINY, Size

PARTS: dict[str, Part[Size]] = {
    **residual_part.PARTS, "roc": roc_part.findings, "binned": binned_part.findings
}  # fmt: skip


def main() -> None:
    """Measure, draw, report."""
    options = command.parse(__file__, __doc__, FULL, QUICK, TINY, parts=list(PARTS))
    console = report.console()
    findings = command.measured(PARTS, options, console)
    overview.draw(options.out)
    command.finish(options, findings, console)


if __name__ == "__main__":
    main()
