"""Figures 3 and 5, measured and drawn: the pruned recursion beside one round, and two, of dpcurves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from warnings import catch_warnings, simplefilter

import numpy as np
from auc_pruned import Reported, pruned_area, reported
from matplotlib.figure import Figure
from numpy.typing import NDArray

import dpcurves as dp
from dpcurves.noise.randomness import Randomness
from dpcurves.queries import CountUse
from dpcurves_local import Collection, FirstClass, Task, publish
from dpcurves_local.second_round import PROBABILITY_PARTS, estimate_shares

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Scores = Callable[[np.random.Generator], tuple[FloatArray, FloatArray]]
ROADS = {
    "pruned": "pruned recursion",
    "zero": "zero variant",
    "one": "dpcurves, one round",
    "two": "dpcurves, two rounds",
}
COLORS = {"pruned": "C3", "zero": "C1", "one": "C0", "two": "C2"}
LEAST = 1e-5
"""Errors below it are drawn at it."""
Errors = dict[str, list[float]]


def errors(scores: Scores, levels: int, epsilon: int, runs: int, seed: int) -> Errors:
    """Errors of each road over so many runs."""
    found: Errors = {road: [] for road in ROADS}
    for run in range(runs):
        high, low = scores(np.random.default_rng([seed, run]))
        cells = [np.minimum((each * 2**levels).astype(np.int64), 2**levels - 1) for each in (high, low)]
        exact, source = area(*cells, 2**levels), Randomness.from_seed(1000 * seed + run)
        loss = Fraction(epsilon)
        both = [Reported(reported(each, levels, loss, source), loss) for each in cells]
        found["pruned"].append(pruned_area(*both) - exact)
        found["zero"].append(pruned_area(*both, rest=0.0) - exact)
        for road, value in zip(("one", "two"), of_package(high, low, levels, epsilon, 1000 * seed + run), strict=True):
            found[road].append(value - exact)
    return found


def of_package(high: FloatArray, low: FloatArray, levels: int, epsilon: int, seed: int) -> tuple[float, float]:
    """The area by one round, and by two: the larger class first. That of one round is what `dp.area_between` tells."""
    grid, loss = dp.Grid(0, 1, cells=2**levels), dp.PrivacyLoss.pure(epsilon)
    first, classes = (
        (FirstClass.NEGATIVES, (low, high)) if len(low) >= len(high) else (FirstClass.POSITIVES, (high, low))
    )
    told = [
        collected(Task(dp.CdfQuestion("x", grid), loss, len(each), target=CountUse.AREA), each, 3 * seed + at)
        for at, each in enumerate(classes)
    ]
    with catch_warnings():
        simplefilter("ignore", dp.CurveWarning)
        curves = [each.curve() for each in told]
        second = publish(told[0], first, len(classes[1]))
        bits = collected(second, classes[1], 3 * seed + 2).curve()
    ahead, other = np.array(second.one_probabilities) / PROBABILITY_PARTS, np.diff(estimate_shares(curves[1]))
    return float(ahead @ other), bits.value


def collected(task: Task, values: FloatArray, seed: int) -> Collection:
    """The reports of these people."""
    collection = Collection(task)
    collection.add(task.randomize_table({"x": values}, randomness=Randomness.from_seed(seed)))
    return collection


def area(high: IntArray, low: IntArray, cells: int) -> float:
    """How often a positive's cell is above a negative's, ties counted half."""
    above = np.append(0, np.cumsum(np.bincount(low, minlength=cells)))
    return float((above[high] + above[high + 1]).mean() / 2 / len(low))


def draw(found: Mapping[str, Mapping[int, Errors]], out: Path, name: str) -> None:
    """Mean absolute errors along the logarithm of the number of cells, a panel for each setting.

    Where all scores lie in two cells, dpcurves may have no error at all: it is drawn at `LEAST`, at the lower end.
    """
    figure = Figure(figsize=(4.6 * len(found), 4.0), layout="constrained")
    for axes, (title, along) in zip(figure.subplots(1, len(found), squeeze=False)[0], found.items(), strict=True):
        for road, words in ROADS.items():
            means = [max(float(np.abs(each[road]).mean()), LEAST) for each in along.values()]
            axes.plot(list(along), means, marker="o", markersize=4, color=COLORS[road], label=words)
        axes.set(yscale="log", xlabel="log2 of the number of cells", ylabel="mean absolute error", title=title)
        if axes.get_ylim()[0] < LEAST:
            axes.annotate(
                "or less", (list(along)[-1], LEAST), (0, 6), textcoords="offset points", ha="right", fontsize=8
            )
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(ROADS), fontsize=9)
    figure.savefig(out / f"{name}.png", dpi=120)
