"""Residual plots beside private ones, how similar they are, and how far they are apart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from plane import Density, Floats, Records
from prirp import Method
from regret import PRINTED, SOUND, Compared
from residuals import MODELS, Separation

from dpcurves.curves.residuals import sample_points

PAPER, PACKAGE = "C3", "C2"
SHOWN, SEED = 4000, 1
REACHED = 0.95


def draw_plots(
    sets: Mapping[str, Records], methods: Mapping[str, Method], epsilons: tuple[float, ...], to: Path
) -> None:
    """Confidential plots, and one private plot of each by each method at each epsilon."""
    columns = [(name, epsilon) for name in methods for epsilon in epsilons]
    figure = Figure(figsize=(3.2 * (1 + len(columns)), 2.7 * len(sets)), layout="constrained")
    grid = figure.subplots(len(sets), 1 + len(columns), squeeze=False)
    for row, (title, records) in zip(grid, sets.items(), strict=True):
        points = np.column_stack([records.predicted, records.residual])
        _scatter(row[0], points[:SHOWN], f"{title}\nconfidential", "black")
        for axes, (name, epsilon) in zip(row[1:], columns, strict=True):
            density = methods[name](records, epsilon, SEED)
            color = PACKAGE if name == columns[-1][0] else PAPER
            _scatter(axes, _points(density), f"{title}\n{name}, ε = {epsilon:g}", color)
            axes.set_xlim(row[0].get_xlim())
            axes.set_ylim(row[0].get_ylim())
        row[0].set_ylabel("residual")
    for axes in grid[-1]:
        axes.set_xlabel("prediction")
    figure.savefig(to, dpi=80)


def _points(density: Density) -> Floats:
    if not density.shares.any():
        return np.empty((0, 2))
    return sample_points(density.shares, density.edges, min(density.points, SHOWN), np.random.default_rng(SEED))


def _scatter(axes: Axes, points: Floats, title: str, color: str) -> None:
    axes.scatter(points[:, 0], points[:, 1], s=2, color=color, alpha=0.4, linewidths=0)
    axes.axhline(0, color="0.6", linewidth=0.7)
    axes.set_title(title, fontsize=9)


def draw_similarities(found: Separation, out: Path) -> None:
    """Figure 7: distributions of similarities, for each product, as printed and by dpcurves."""
    methods = {name: one for name, one in found.of.items() if len(one) == max(len(each) for each in found.of.values())}
    products = list(next(iter(methods.values())))
    figure = Figure(figsize=(2.7 * len(products), 2.6 * len(methods)), layout="constrained")
    grid = figure.subplots(len(methods), len(products), squeeze=False, sharex=True)
    for row, (name, one) in zip(grid, methods.items(), strict=True):
        for axes, (product, similar) in zip(row, one.items(), strict=True):
            for model, color in zip(MODELS, ("black", "C0", "C1"), strict=True):
                axes.hist(
                    similar[model],
                    bins=np.linspace(0, 1, 51),
                    histtype="stepfilled",
                    alpha=0.5,
                    color=color,
                    label=model,
                )
            axes.set_title(f"{name}, n ε = {product}", fontsize=9)
            axes.set_yticks([])
        row[0].set_ylabel("plots")
    for axes in grid[-1]:
        axes.set_xlabel("distance to confidential Ideal")
    grid[0, 0].legend(fontsize=8)
    figure.savefig(out / "figure_7.png", dpi=80)


def draw_separation(found: Separation, out: Path) -> None:
    """The panels of Figure 7 with total variation, against records times epsilon."""
    figure = Figure(figsize=(5.2, 4.2), layout="constrained")
    axes = figure.subplots()
    for name, color in ((next(iter(found.of)), PAPER), (list(found.of)[-1], PACKAGE)):
        for model, style in zip(MODELS[1:], ("-", "--"), strict=True):
            apart = found.apart(name, model)
            axes.plot(list(apart), list(apart.values()), style, marker="o", color=color, label=f"{name}: {model}")
    axes.axhline(REACHED, color="black", linewidth=0.8)
    axes.set(title="Residual plots: Ideal against others", ylabel="total variation distance", ylim=(0, 1.03))
    axes.set(xscale="log", xlabel="records times ε")
    products = sorted({product for one in found.of.values() for product in one})
    axes.set_xticks(products, [str(product) for product in products], fontsize=8)
    axes.minorticks_off()
    axes.legend(fontsize=8)
    figure.savefig(out / "overview_residual_plots.png", dpi=80)


def draw_regrets(found: Compared, out: Path) -> None:
    """Figure 4.6: mean distances to the confidential plot, as printed and sound."""
    figure = Figure(figsize=(3.6 * len(MODELS) + 1.6, 6.4), layout="constrained")
    grid = figure.subplots(2, len(MODELS), sharex=True, squeeze=False)
    for row, kind in zip(grid, (PRINTED, SOUND), strict=True):
        for axes, model in zip(row, MODELS, strict=True):
            for place, (name, similar) in enumerate(found.of[kind].items()):
                style = ("-", "--")[place // 6 % 2]
                axes.plot(found.epsilons, similar[model], style, marker="o", markersize=3, label=name)
            axes.set(xscale="log", yscale="log")
            axes.set_title(f"{model}, {kind}", fontsize=10)
        row[0].set_ylabel("mean distance")
        row[-1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.02, 1))
    for axes in grid[-1]:
        axes.set_xlabel("ε")
    figure.savefig(out / "figure_4_6.png", dpi=80)
