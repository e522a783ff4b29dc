"""What people who trust nobody can tell of pairs, claim by claim: `python papers/u_statistics/run.py [--quick]`.

Measures Algorithm 1, the frequency oracle and the recursion by theorem, lemma and corollary, Kendall's correlation of
ratings, pairs of people who compute in secret, and areas under ROC curves beside those of dpcurves, which it draws into
`out/`. Data is read from `../shared/data` beside the repository, from --data, or from $DPCURVES_DATA; without it, what
needs data is skipped. Parts can be run alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # what all papers share

import auc_part
import kernels_part
import pairs_part
from reproduction import command, report
from reproduction.command import Part
from sizes import FULL, QUICK, TINY, Size

PARTS: dict[str, Part[Size]] = {
    "kernels": kernels_part.findings,
    "areas": auc_part.findings,
    "pairs": pairs_part.findings,
}


def main() -> None:
    """Measure, draw, report."""
    options = command.parse(__file__, __doc__, FULL, QUICK, TINY, parts=list(PARTS))
    console = report.console()
    findings = command.measured(PARTS, options, console)
    command.finish(options, findings, console)


if __name__ == "__main__":
    main()
