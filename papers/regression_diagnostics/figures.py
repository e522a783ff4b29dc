"""Errors of ROC curves, the areas that are told apart, and how far residual plots are apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from ranking import TOLD_APART, Errors, Power
from residuals import REACHED, Separation

TITLES = "error of the area", "area between curves"
PAPER, PACKAGE = "C3", "C2"


def draw_errors(settings: Sequence[tuple[str, float]], found: Errors, out: Path) -> None:
    """Figures 2 and 3: mean errors of each method, on each data set at each epsilon."""
    names = list(dict.fromkeys(name for name, _ in settings))
    figure = Figure(figsize=(9.6, 7.2), layout="constrained")
    grid = figure.subplots(len(names), len(TITLES), sharex=True, squeeze=False)
    for name, row in zip(names, grid, strict=True):
        places = [place for place, (own, _) in enumerate(settings) if own == name]
        epsilons = [settings[place][1] for place in places]
        for kind, axes in enumerate(row):
            for method, errors in found.items():
                style = "--" if "printed" in method else "-"
                axes.plot(epsilons, errors[places, kind], style, marker="o", markersize=4, label=method)
            axes.set(xscale="log", yscale="log", title=f"{name}: {TITLES[kind]}", xlabel="ε", ylabel="mean")
    grid[0, 0].legend(fontsize=8)
    figure.savefig(out / "figures_2_and_3.png", dpi=110)


def draw_power(power: Power, found: Separation, out: Path) -> None:
    """Figures 4 and 7, against records times epsilon."""
    figure = Figure(figsize=(10.4, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for least, color, label in (
        (power.printed, PAPER, "PriROC, as printed (not private)"), (power.package, PACKAGE, "dpcurves"),
    ):  # fmt: skip
        left.plot(list(least), list(least.values()), marker="o", color=color, label=label)
    left.plot(list(TOLD_APART), list(TOLD_APART.values()), "kD", linestyle="none", label="the paper's", zorder=0)
    left.set(title="ROC curves: least difference told apart", ylabel="difference of areas", ylim=(0, None))
    for (method, models), color in zip(found.of.items(), (PAPER, PACKAGE), strict=True):
        for (model, distances), style in zip(models.items(), ("-", "--"), strict=True):
            right.plot(found.products, distances, style, marker="o", color=color, label=f"{method}: {model}")
    right.axhline(REACHED, color="black", linewidth=0.8)
    right.set(title="Residual plots: Ideal against others", ylabel="total variation distance", ylim=(0, 1.03))
    for axes in (left, right):
        axes.set(xscale="log", xlabel="records times ε")
        ticks = np.unique([*power.printed, *found.products])
        axes.set_xticks(ticks, [str(tick) for tick in ticks], fontsize=8)
        axes.minorticks_off()
        axes.legend(fontsize=8)
    figure.savefig(out / "overview.png", dpi=80)
