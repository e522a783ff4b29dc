"""Errors of ROC curves, and the areas that are told apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from ranking import TOLD_APART, Errors, Power

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


def draw_power(power: Power, out: Path) -> None:
    """Figure 4, against records times epsilon."""
    figure = Figure(figsize=(5.2, 4.2), layout="constrained")
    axes = figure.subplots()
    for least, color, label in (
        (power.printed, PAPER, "PriROC, as printed (not private)"), (power.package, PACKAGE, "dpcurves"),
    ):  # fmt: skip
        axes.plot(list(least), list(least.values()), marker="o", color=color, label=label)
    axes.plot(list(TOLD_APART), list(TOLD_APART.values()), "kD", linestyle="none", label="the paper's", zorder=0)
    axes.set(title="ROC curves: least difference told apart", ylabel="difference of areas", ylim=(0, None))
    axes.set(xscale="log", xlabel="records times ε")
    axes.set_xticks(list(power.printed), [str(tick) for tick in power.printed], fontsize=8)
    axes.minorticks_off()
    axes.legend(fontsize=8)
    figure.savefig(out / "overview_roc.png", dpi=80)
