"""Theorem 4 and the attack, drawn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from as_printed import CHEN, LEE, RESET
from attack import Rates
from counterexample import EPSILON, Losses
from matplotlib.figure import Figure

BARS = ("C0", "as printed"), ("C1", "each stage with all of epsilon")


def draw_losses(losses: Losses, out: Path) -> None:
    """Theorem 4: what one answer tells, against the number of copies of each query."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    for split, color in ((LEE, "C3"), (CHEN, "C1"), (RESET, "C4")):
        axes.plot(losses.along, losses.printed[split.name], marker="o", markersize=3, color=color, label=split.name)
        axes.plot(losses.along, losses.along * split.query, color=color, linestyle=":", linewidth=0.9)
    axes.plot([], [], color="0.4", linestyle=":", label="t ε₂, a lower bound")
    axes.plot(losses.along, losses.package, marker="o", markersize=3, color="C2", label="dpcurves, cutoff t")
    axes.axhline(EPSILON, color="black", linewidth=0.8, label="claimed: ε = 1")
    axes.set(xscale="log", yscale="log", xlabel="t, copies of each query", ylabel="log ratio of chances")
    axes.set_title("One answer of a test without a cutoff. Algorithm 3: infinite for all t", fontsize=10)
    axes.legend(fontsize=8)
    figure.savefig(out / "theorem_4.png", dpi=120)


def draw_rates(found: Mapping[tuple[str, float], tuple[Rates, Rates]], claimed: Mapping[str, float], out: Path) -> None:
    """Tables 3.2 and 3.3: the shares of counts that the attack reads, ours beside the printed ones."""
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    for axes, kind, table, title in zip(
        figure.subplots(1, 2, sharey=True), ("everywhere", "small"), ("table32", "table33"),
        ("all cells (Table 3.2)", "cells of up to 5 records (Table 3.3)"), strict=True,
    ):  # fmt: skip
        places = np.arange(len(found))
        for number, (color, label) in enumerate(BARS):
            heights = [pair[number].mean(kind, above_zero=bool(number)) for pair in found.values()]
            axes.bar(places + 0.4 * number - 0.2, heights, width=0.4, color=color, label=label)
        printed = [claimed[f"{table}-{name}-{round(100 * epsilon)}"] for name, epsilon in found]
        axes.plot(places, printed, linestyle="none", marker="D", color="black", label="the paper's")
        axes.set_xticks(places, [f"{name}\nε = {epsilon:g}" for name, epsilon in found], rotation=90, fontsize=8)
        axes.set(title=title, ylim=(0, 1.02))
    axes.legend(loc="lower right")
    figure.supylabel("share of counts found", fontsize=10)
    figure.savefig(out / "tables_3.png", dpi=120)
