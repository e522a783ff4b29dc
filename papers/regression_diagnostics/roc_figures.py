"""ROC curves, their errors, and the areas that are told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from answering import Columns
from curves import confidential
from matplotlib.figure import Figure
from numpy.typing import NDArray
from ranking import METHODS, PRINTED, QUANTILES, RIGHT, Errors
from roc_sizes import RocSize
from telling import TOLD_APART, Power

TITLES = "error of the area", "area between curves"
COLORS = {PRINTED: "C3", RIGHT: "C1", QUANTILES: "C2"}
NAMES = {PRINTED: "PriROC, as printed (not private)", RIGHT: "PriROC, put right", QUANTILES: "dpcurves"}
EPSILONS, SEED = (1.0, 0.1), 1


def draw_curves(sets: Mapping[str, Columns], out: Path) -> None:
    """Figure 1: one release of each, beside the curve without noise."""
    figure = Figure(figsize=(4.6 * len(sets), 9.2), layout="constrained")
    for epsilon, row in zip(EPSILONS, figure.subplots(len(EPSILONS), len(sets), squeeze=False), strict=True):
        for (name, columns), axes in zip(sets.items(), row, strict=True):
            truth = confidential(columns)
            axes.plot(truth.fpr, truth.tpr, "k", label="confidential")
            for method, color in COLORS.items():
                curve = METHODS[method](columns, epsilon, SEED)
                axes.plot(curve.fpr, curve.tpr, color=color, label=NAMES[method])
            axes.set(title=f"{name}, ε = {epsilon:g}", xlabel="false positive rate", ylabel="true positive rate")
            axes.set_aspect("equal")
            axes.legend(fontsize=8, loc="lower right")
    figure.savefig(out / "figure_1.png", dpi=80)


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
                style = "--" if "printed" in method else ":" if "right" in method else "-"
                axes.plot(epsilons, errors[places, kind], style, marker="o", markersize=4, label=method)
            axes.set(xscale="log", yscale="log", title=f"{name}: {TITLES[kind]}", xlabel="ε", ylabel="mean")
    grid[0, 0].legend(fontsize=8)
    figure.savefig(out / "figures_2_and_3.png", dpi=110)


def draw_regret(found: Mapping[str, NDArray[np.float64]], out: Path) -> None:
    """Table 4.4: of all algorithms."""
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(found))
    for kind, title in enumerate(TITLES):
        bars = axes.barh(places + 0.4 * kind, [regret[kind] for regret in found.values()], 0.4, label=title)
        axes.bar_label(bars, fmt="%.2f", fontsize=8, padding=2)
    axes.set_yticks(places + 0.2, list(found))
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.set(title="Average regret of histogram algorithms", xlabel="errors over those of the best")
    axes.legend(fontsize=8)
    figure.savefig(out / "table_4_4.png", dpi=80)


def draw_split(names: Sequence[str], size: RocSize, found: Errors, out: Path) -> None:
    """Figure 4.10: errors for each share of the budget that thresholds have."""
    settings = [(name, epsilon) for name in names for epsilon in size.split_epsilons]
    figure = Figure(figsize=(9.6, 7.2), layout="constrained")
    for row, (method, errors) in zip(figure.subplots(len(found), 2, sharex=True), found.items(), strict=True):
        for kind, axes in enumerate(row):
            for (name, epsilon), means in zip(settings, errors, strict=True):
                axes.plot(size.ratios, means[:, kind], marker="o", markersize=4, label=f"{name}, ε = {epsilon:g}")
            axes.set(yscale="log", title=f"{method}: {TITLES[kind]}", xlabel="share for thresholds", ylabel="mean")
            axes.legend(fontsize=8)
    figure.savefig(out / "figure_4_10.png", dpi=80)


def draw_power(power: Power, out: Path) -> None:
    """Figure 4, against records times epsilon."""
    figure = Figure(figsize=(5.2, 4.2), layout="constrained")
    axes = figure.subplots()
    for method, color in COLORS.items():
        least = power.least(method)
        axes.plot(list(least), list(least.values()), marker="o", color=color, label=NAMES[method])
    axes.plot(list(TOLD_APART), list(TOLD_APART.values()), "kD", linestyle="none", label="the paper's", zorder=0)
    axes.set(title="ROC curves: least difference told apart", ylabel="difference of areas", ylim=(0, None))
    axes.set(xscale="log", xlabel="records times ε")
    ticks = list(power.of[QUANTILES])
    axes.set_xticks(ticks, [str(tick) for tick in ticks], fontsize=8, rotation=45)
    axes.minorticks_off()
    axes.legend(fontsize=8)
    figure.savefig(out / "overview_roc.png", dpi=80)
