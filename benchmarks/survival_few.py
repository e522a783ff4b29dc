"""Survival curves of few records: how far they are off, beside a straight line and an exponential from two noisy sums.

`python benchmarks/survival_few.py [--records N ...] [--epsilon E ...] [--releases N] [--law NAME ...]`. Root mean
square errors over the edges of a grid of 35 cells, beside Kaplan and Meier's estimate of the same records on these
cells, averaged over releases that alternate between the adjacencies. *Released* is what `dp.survival` gives, *from
counts alone* the same release without shrinking, *straight line* falls from 1 to 0 and knows no data, *exponential* is
read from a noisy number of events and a noisy sum of times, each with half of the loss. Constants of the shrinking were
chosen on the laws that are marked so. The lung cohort (228 patients) takes part where `lifelines` is installed:
Veeraragavan et al. 2024 (arXiv 2412.05164) print 0.04 for it at epsilon 10.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "curves"))

from by_hand import answer, both

import dpcurves as dp
from dpcurves.curves import SurvivalQuestion
from dpcurves.postprocess.inference.survival import survival
from dpcurves.privacy import PrivacyLoss

FloatArray = NDArray[np.float64]
CELLS = 35
Draw = np.random.Generator
Drawn = tuple[FloatArray, FloatArray]
WAYS = ("released", "from counts alone", "straight line", "exponential")
LAWS: Mapping[str, tuple[Callable[[Draw, int], FloatArray], Callable[[Draw, int], FloatArray]]] = {
    "rising hazard (chosen on)": (lambda d, n: d.weibull(1.3, n) * 14, lambda d, n: d.uniform(5, 60, n)),
    "falling hazard (chosen on)": (lambda d, n: d.weibull(0.7, n) * 10, lambda d, n: d.uniform(5, 60, n)),
    "lognormal (chosen on)": (lambda d, n: d.lognormal(2.5, 0.6, n), lambda d, n: d.exponential(60, n)),
    "a plateau (chosen on)": (
        lambda d, n: np.where(d.random(n) < 0.4, 1e3, d.weibull(1.2, n) * 8),
        lambda d, n: d.uniform(10, 50, n),
    ),
    "bathtub": (
        lambda d, n: np.where(d.random(n) < 0.3, d.exponential(3, n), 25 + d.normal(0, 5, n).clip(-20)),
        lambda d, n: d.uniform(15, 60, n),
    ),
    "gamma": (lambda d, n: d.gamma(2, 9, n), lambda d, n: d.uniform(2, 45, n)),
    "heavy censoring": (lambda d, n: d.gamma(1.5, 16, n), lambda d, n: d.exponential(10, n)),
    "whole numbers": (lambda d, n: np.floor(d.weibull(1.1, n) * 12), lambda d, n: np.floor(d.uniform(6, 40, n))),
}


def drawn(law: str, records: int, draw: Draw) -> Drawn:
    """Times and events, (records,) each."""
    if law == "lung cohort":
        from lifelines.datasets import load_lung

        lung = load_lung()
        return lung["time"].to_numpy() / 1050 * CELLS, (lung["status"].to_numpy() == lung["status"].max()).astype(float)
    times, until = (make(draw, records) for make in LAWS[law])
    return np.minimum(times, until), (times <= until).astype(np.float64)


def kaplan_meier(time: FloatArray, event: FloatArray) -> FloatArray:
    """The share before each edge, cell by cell."""
    cell = np.floor(time).astype(int)
    at_risk = np.array([(cell >= each).sum() for each in range(CELLS)])
    died = np.array([((cell == each) & (event == 1)).sum() for each in range(CELLS)])
    return np.append(1.0, np.cumprod(1 - died / np.maximum(at_risk, 1)))


def errors(law: str, records: int, epsilon: str, seed: int) -> list[float]:
    """Measure one release, by each way."""
    draw = np.random.default_rng([seed, records])
    time, event = drawn(law, records, draw)
    adjacency = both(len(time))[seed % 2]
    question = SurvivalQuestion("t", "e", dp.Grid(0, CELLS, cells=CELLS))
    found = answer(question, {"t": time, "e": event}, PrivacyLoss.pure(epsilon), adjacency, seed)
    counted = np.append(1.0, survival(found._found, found._known))
    sensitivity = 1 + seed % 2  # replaced: two records differ
    noise = draw.laplace(scale=2 * sensitivity / float(epsilon), size=2)
    inside = np.minimum(time, CELLS)
    hazard = max((event[time < CELLS].sum() + noise[0]), 0.5) / max(inside.sum() + CELLS * noise[1], 1.0)
    curves = found.y, counted, np.linspace(1, 0, CELLS + 1), np.exp(-hazard * np.arange(CELLS + 1))
    truth = kaplan_meier(time, event)
    return [float(np.sqrt(np.mean((curve - truth) ** 2))) for curve in curves]


def main() -> None:
    """Measure, and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--records", nargs="+", type=int, default=[50, 100, 228, 500, 1000])
    options.add_argument("--epsilon", nargs="+", default=["0.5", "1", "2", "5"])
    options.add_argument("--releases", type=int, default=20)
    options.add_argument("--law", nargs="+", default=[*LAWS, "lung cohort"])
    asked = options.parse_args()
    console, table = Console(), Table("law", "records", "epsilon", *WAYS, title=f"{asked.releases} releases of each")
    cases = [(law, n, e) for law in asked.law for n in (asked.records if law in LAWS else [228]) for e in asked.epsilon]
    for law, records, epsilon in track(cases, "cases", console=Console(stderr=True)):
        try:
            found = np.mean([errors(law, records, epsilon, seed) for seed in range(asked.releases)], axis=0)
        except ModuleNotFoundError:
            console.print("The lung cohort is left out: lifelines is not installed.")
            break
        table.add_row(law, str(records), epsilon, *(f"{each:.3f}" for each in found))
    console.print(table)


if __name__ == "__main__":
    main()
