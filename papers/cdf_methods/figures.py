"""The figures as the article draws them, ours beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from comparison import (
    CHARGED,
    DICHOTOMY,
    DISTANCES,
    GLOBAL,
    HISTOGRAM,
    PACKAGE,
    SMOOTH,
    UNIFORM,
    Along,
    BySize,
    budget,
    package_curve,
    sample,
)
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from methods import ENDS, METHODS
from numpy.typing import NDArray
from sizes import Size

from dpcurves.noise import Randomness
from dpcurves.summaries import Distribution

STYLES: dict[str, dict[str, Any]] = {
    GLOBAL: {"color": "C3"},
    SMOOTH: {"color": "C1"},
    CHARGED: {"color": "C0", "linestyle": "--"},
    HISTOGRAM: {"color": "C0"},
    DICHOTOMY: {"color": "C4"},
    UNIFORM: {"color": "0.6", "linestyle": ":"},
    PACKAGE[0]: {"color": "C2", "linewidth": 2.2},
    PACKAGE[1]: {"color": "C2", "linestyle": "--", "linewidth": 1.4},
}
COLORS = {0.01: "C1", 0.1: "C9", 1.0: "C0", 10.0: "C4"}


def draw_curves(size: Size, sizes: Mapping[str, BySize], seed: int, out: Path) -> None:
    """One curve of each method for every epsilon, with the size that is best at epsilon 1; ours last."""
    shown = [GLOBAL, SMOOTH, CHARGED, DICHOTOMY, PACKAGE[0]]
    figure = Figure(figsize=(15, 3.9), layout="constrained")
    values = sample(size.records, 1.0, seed)
    for axes, name in zip(figure.subplots(1, len(shown), sharey=True), shown, strict=True):
        best = None if name in PACKAGE else _best(sizes[name])
        for epsilon, color in COLORS.items():
            if epsilon in size.epsilons:
                x, y = _one(size, name, best, epsilon, seed)
                axes.plot(x, y, color=color, linewidth=1.1, label=f"ε = {epsilon:g}")
        axes.plot(values, np.arange(len(values)) / len(values), color="black", linewidth=1.4, label="sample", zorder=1)
        axes.set(xlabel="x", xlim=ENDS, title=name if best is None else f"{name}, {best}")
    figure.axes[0].set_ylabel("share of records below")
    _legend_below(figure)
    figure.suptitle("One release of each method")
    figure.savefig(out / "figure_1.png", dpi=120)


def draw_along(along: Along, label: str, title: str, number: int, out: Path) -> None:
    """Three distances side by side."""
    figure = Figure(figsize=(14, 4.4), layout="constrained")
    for which, axes in enumerate(figure.subplots(1, 3)):
        for name, mean in along.mean.items():
            axes.plot(along.x, mean[:, which], marker="o", markersize=3, label=name, **STYLES[name])
        _logarithmic(axes, label, along.x, DISTANCES[which])
    _legend_below(figure)
    figure.suptitle(title)
    figure.savefig(out / f"figure_{number}.png", dpi=120)


def draw_sizes(sizes: Mapping[str, BySize], ours: NDArray[np.float64], number: int, out: Path) -> None:
    """Distances against the number of bins or rounds; ours has none to be chosen."""
    figure = Figure(figsize=(14, 4.4), layout="constrained")
    for which, axes in enumerate(figure.subplots(1, 3)):
        for name in (CHARGED, HISTOGRAM, DICHOTOMY):
            found = sizes[name]
            axes.plot(found.sizes, found.mean[:, which], marker="o", markersize=3, label=name, **STYLES[name])
        axes.axhline(ours[which], label=PACKAGE[0], **STYLES[PACKAGE[0]])
        _logarithmic(axes, "bins, or rounds", sizes[HISTOGRAM].sizes, DISTANCES[which])
    _legend_below(figure)
    figure.suptitle("ε = 1, standard deviation 1: the size has to be chosen")
    figure.savefig(out / f"figure_{number}.png", dpi=120)


def _legend_below(figure: Figure) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8)


def _logarithmic(axes: Axes, label: str, ticks: Sequence[float], distance: str) -> None:
    axes.set(xlabel=label, xscale="log", yscale="log", title=f"{distance} distance")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=8)
    axes.set_xticks([], minor=True)
    axes.grid(color="0.92")


def _best(found: BySize) -> int:
    return found.sizes[int(np.argmin(found.mean[:, 0]))]


def _one(
    size: Size, name: str, best: int | None, epsilon: float, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A curve as points of a line."""
    values, randomness = sample(size.records, 1.0, seed), Randomness.from_seed(seed)
    if best is None:
        curve = package_curve(name, values, epsilon, budget(size, epsilon).delta, randomness)
        return curve.x, curve.y
    found: Distribution = METHODS[name](values, budget(size, epsilon), best, randomness, np.random.default_rng(seed))
    return np.repeat(found.knots, 2), np.stack([found.left_limits, found.right_limits], axis=1).ravel()
