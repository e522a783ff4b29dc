"""Why threshold tests need a cutoff, claim by claim: `python papers/sparse_vector/run.py [--quick]`.

Evaluates the counter-example of Theorem 4, runs the attack of Algorithms 6 and 7 on four histograms, and measures the
loss and the accuracy of the tests that are private. Draws two figures into `out/`. Data is read from
`../shared/data` beside the repository, from --data, or from $DPCURVES_DATA; without it, the attack is skipped.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # what all papers share

import attack
import counterexample
import data
import figures
import numpy as np
import theorems
from as_printed import CHEN, LEE, STODDARD
from reproduction import command, report
from reproduction.claims import load
from reproduction.measured import Findings, Measured
from reproduction.report import Steps
from rich.progress import Progress
from sizes import FULL, QUICK, TINY, Size

SEED = 11
EPSILONS = 1.0, 0.5, 0.1
KINDS = {"table32": "everywhere", "table33": "small"}


def main() -> None:
    """Measure, draw, report."""
    options = command.parse(__file__, __doc__, FULL, QUICK, TINY)
    console = report.console()
    there = data.are_there(options.data)
    if not there:
        console.print(f"Skipped: the attack. There are no histograms 'hist1d' in {options.data}", soft_wrap=True)
    with report.progress(console) as progress:
        findings = _without_data(options.size, options.out, progress)
        if there:
            claimed = {claim.id: claim.number for claim in load(options.paper).claims}
            findings |= _with_data(options.size, options.data, claimed, options.out, progress)
    command.finish(options, findings, console)


def _without_data(size: Size, out: Path, progress: Progress) -> Findings:
    """Theorems 2, 3, 4, 7 and 8."""
    losses = counterexample.against_copies(size.copies, Steps(progress, "Theorem 4: loss of an answer", size.copies))
    figures.draw_losses(losses, out)
    last, package = size.copies[-1], float(losses.package[-1])
    found = {
        "theorem4-lee": Measured(float(losses.printed[LEE.name][-1]), package=package),
        "theorem4-stoddard": Measured(counterexample.printed_loss(STODDARD, last), package=package),
        "theorem4-chen": Measured(float(losses.printed[CHEN.name][-1]), package=package),
        "theorem4-growth": Measured(min(counterexample.least_gain(losses, split) for split in (LEE, CHEN))),
        "section322-chen": Measured(float(losses.printed[CHEN.name][-1]), package=package),
    }
    return found | theorems.findings(size.pushing)


def _with_data(size: Size, folder: Path, claimed: dict[str, float], out: Path, progress: Progress) -> Findings:
    """Tables 3.1 to 3.3, Lemma 5 and Theorem 6."""
    histograms = {name: data.histogram(name, folder) for name in data.FILES}
    steps = [(name, epsilon) for name in histograms for epsilon in EPSILONS]
    found = attack.tables(histograms, EPSILONS, size.runs, SEED, Steps(progress, "Tables 3.2 and 3.3: attack", steps))
    figures.draw_rates(found, claimed, out)
    findings = Findings()
    for (name, epsilon), (printed, whole) in found.items():
        for table, kind in KINDS.items():
            findings[f"{table}-{name}-{round(100 * epsilon)}"] = Measured(
                printed.mean(kind, above_zero=False), corrected=whole.mean(kind, above_zero=True)
            )
    return findings | _of_tables(histograms) | _of_theorems(histograms, size.runs)


def _of_tables(histograms: dict[str, attack.IntArray]) -> Findings:
    found = Findings()
    for name, counts in histograms.items():
        found[f"table31-{name}-scale"] = Measured(float(counts.sum()))
        found[f"table31-{name}-k"] = Measured(float(data.support(counts)))
        found[f"table33-{name}-cells"] = Measured(float((counts <= attack.SMALL).sum()))
    return found


def _of_theorems(histograms: dict[str, attack.IntArray], runs: int) -> Findings:
    chance = np.random.default_rng(SEED)
    exact = [attack.share_exact(counts, data.support(counts), 1.0, runs, chance) for counts in histograms.values()]
    ordered = [attack.share_ordered(counts, 1.0, runs, chance) for counts in histograms.values()]
    return {"theorem6": Measured(min(exact)), "lemma5": Measured(min(ordered))}


if __name__ == "__main__":
    main()
