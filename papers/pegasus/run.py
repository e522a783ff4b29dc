"""Streams under differential privacy, claim by claim: `python papers/pegasus/run.py [--quick]`.

Works out the loss of the Grouper and of PRUNE, goes through the examples, and releases six public streams. Data is read
from `../shared/data` beside the repository, from --data, or from $DPCURVES_DATA; without it, figures are skipped.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # what all papers share

import data
import figures
import numpy as np
import streams
import theorems
from reproduction import command, report
from reproduction.measured import Findings, Measured
from reproduction.report import Steps
from sizes import FULL, QUICK, TINY, Size
from streams import Errors

SEED = 13
FIRST = 8000
"""So many time steps of the busy stream are drawn."""
EPSILONS = {"01": "0.1", "001": "0.01"}


def main() -> None:
    """Measure, report."""
    options = command.parse(__file__, __doc__, FULL, QUICK, TINY)
    console = report.console()
    there = data.are_there(options.data)
    if not there:
        console.print(f"Skipped: Figures 5.2 to 5.7. There is no {data.FILE} in {options.data}", soft_wrap=True)
    have_states = data.have_states(options.data)
    if not have_states:
        console.print(f"Skipped: Figure 5.8. There is no {data.SENSORS} in {options.data}", soft_wrap=True)
    findings = theorems.findings(options.size, SEED)
    with report.progress(console) as progress:
        if there:
            steps = Steps(progress, "Figures 5.3 and 5.4: streams", data.STREAMS)
            findings |= _of_streams(options.size, options.data, steps)
            counts = data.stream(options.data, data.BUSY, min(FIRST, options.size.time_steps))
            findings |= figures.findings(counts, options.size.runs, np.random.default_rng(SEED))
        if have_states:
            generator = np.random.default_rng(SEED)
            leaves = data.states(options.data, options.size.time_steps, generator)
            findings |= figures.of_hierarchy(leaves, max(1, options.size.runs // 4), generator)
    command.finish(options, findings, console)


def _of_streams(size: Size, folder: Path, step: Steps) -> Findings:
    """Figures 5.3 and 5.4."""
    generator = np.random.default_rng(SEED)
    found: dict[str, list[Errors]] = {name: [] for name in EPSILONS}
    for counts in data.streams(folder, size.time_steps).values():
        for name, epsilon in EPSILONS.items():
            found[name].append(streams.errors(counts, epsilon, size.runs, generator))
        step()
    best = {f"section561-best-{name}": _over_best(each) for name, each in found.items()}
    sparse = found["01"][0]
    return best | {
        "section561-zeros": Measured(*(each / sparse.zeros for each in (sparse.medians, sparse.wide, sparse.auto))),
        "section561-medians": Measured(max(one.medians / one.averages for each in found.values() for one in each)),
    }


def _over_best(found: list[Errors]) -> Measured:
    """Ratios to the better of clipped noise and backward means: the largest over streams."""
    others = [min(each.clipped, each.backward) for each in found]
    ratios = [[each.medians, each.wide, each.auto] for each in found]
    return Measured(*(max(np.array(ratios)[:, way] / others) for way in range(3)))


if __name__ == "__main__":
    main()
