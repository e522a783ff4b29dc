"""Figures 3 and 5: areas under ROC curves by the pruned recursion, and by what dpcurves does instead."""

from __future__ import annotations

import auc_diabetes
import auc_figures
import numpy as np
from auc_figures import Errors
from reproduction.command import Options
from reproduction.measured import Findings, Measured
from rich.console import Console
from rich.progress import Progress
from sizes import Size

TWO_CELLS, EVEN = "all in two cells", "uniform"
EPSILONS = 1, 5, 10


def findings(options: Options[Size], progress: Progress, console: Console) -> Findings:
    """Both figures. Without the file of patients, Figure 3 is skipped."""
    found = _of_figure_5(options, progress)
    if not auc_diabetes.are_there(options.data):
        console.print(f"Skipped: Figure 3. There is no '{auc_diabetes.FILE}' in {options.data}", soft_wrap=True)
        return found
    return found | _of_figure_3(options, progress)


def _of_figure_5(options: Options[Size], progress: Progress) -> Findings:
    size, last = options.size, options.size.levels[-1]
    step = progress.add_task("Figure 5", total=2 * len(size.levels))
    drawn: dict[str, dict[int, Errors]] = {TWO_CELLS: {}, EVEN: {}}
    for name, along in drawn.items():
        for levels in size.levels:
            along[levels] = auc_figures.errors(_scores(name, size.people), levels, 1, size.areas, seed=5)
            progress.advance(step)
    auc_figures.draw(drawn, options.out, "figure_5")
    ends = [along[last] for along in drawn.values()]
    return {
        "figure5": Measured(_error(ends[0], "pruned") / _error(ends[1], "pruned")),
        "figure5-two-cells": Measured(_error(ends[0], "pruned"), package=_better(ends[0])),
        "figure5-uniform": Measured(_error(ends[1], "pruned"), package=_better(ends[1])),
    }


def _scores(name: str, people: int) -> auc_figures.Scores:
    if name == TWO_CELLS:
        return lambda chance: (np.ones(people), np.zeros(people))
    return lambda chance: (chance.random(people), chance.random(people))


def _error(found: Errors, road: str) -> float:
    return float(np.abs(found[road]).mean())


def _better(found: Errors) -> float:
    """The error of dpcurves: of the road with the smaller one."""
    return min(_error(found, road) for road in ("one", "two"))


def _of_figure_3(options: Options[Size], progress: Progress) -> Findings:
    size, found = options.size, dict[int, dict[int, Errors]]()
    high, low = auc_diabetes.scores(options.data)
    step = progress.add_task("Figure 3", total=len(EPSILONS) * len(size.levels))
    for epsilon in EPSILONS:
        found[epsilon] = along = {}
        for levels in size.levels:
            along[levels] = auc_figures.errors(lambda _: (high, low), levels, epsilon, 5 * size.areas, seed=3)
            progress.advance(step)
    auc_figures.draw({f"epsilon {epsilon}": each for epsilon, each in found.items()}, options.out, "figure_3")
    near = min(size.levels, key=lambda levels: abs(levels - 9))
    of_nine = {epsilon: along[near] for epsilon, along in found.items()}
    best = min(_error(each, "pruned") for each in found[5].values())
    growth = _better(of_nine[5]) / _better(of_nine[10])
    return {
        "figure3-cells": Measured(_error(of_nine[5], "pruned") / best),
        "figure3-epsilon": Measured(_error(of_nine[5], "pruned") / _error(of_nine[10], "pruned"), package=growth),
    }
