"""Binned residuals, how far right and wrong models are apart, and how budgets are split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from binned import METHODS, PACKAGE, PRINTED, PUT_RIGHT, REACHED, Records, Separation
from binned_split import Differences
from matplotlib.figure import Figure
from roc_sizes import BinnedSize

COLORS = {PRINTED: "C3", PUT_RIGHT: "C1", PACKAGE: "C2"}
EPSILONS, SEED = (1.0, 0.1), 1


def draw_plots(sets: Mapping[str, Records], out: Path) -> None:
    """Figures 4.12 and 4.13: without noise, and one release of each."""
    figure = Figure(figsize=(14.4, 3.2 * len(sets) * len(EPSILONS)), layout="constrained")
    rows = iter(figure.subplots(len(sets) * len(EPSILONS), 1 + len(METHODS), sharex=True, sharey=True))
    for model, records in sets.items():
        for epsilon in EPSILONS:
            row = next(rows)
            plots = {method: METHODS[method](records, epsilon, SEED) for method in METHODS}
            for axes, (name, plot) in zip(row, {"confidential": records.plot, **plots}.items(), strict=True):
                axes.axhline(0, color="0.5", linewidth=0.8)
                axes.plot(plot.mean, plot.residual, "o", markersize=3, color=COLORS.get(name, "black"))
                axes.set(title=f"{model}, ε = {epsilon:g}: {name}", ylim=(-0.3, 0.3))
    figure.savefig(out / "figures_4_12_and_4_13.png", dpi=70)


def draw_separation(found: Separation, without_noise: Mapping[int, float], out: Path) -> None:
    """Figure 4.14, against records times epsilon, and Table 4.5, against records."""
    figure = Figure(figsize=(5.2, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(list(without_noise), list(without_noise.values()), "k:", marker=".", label="without noise (ε = 1)")
    for method, color in COLORS.items():
        note = " (not private)" if method == PRINTED else ""
        axes.plot(list(found[method]), list(found[method].values()), "o-", color=color, label=method + note)
    axes.axhline(REACHED, color="black", linewidth=0.8)
    axes.set(title="Binned residuals: right against wrong models", ylabel="total variation distance", ylim=(0, 1.03))
    axes.set(xscale="log", xlabel="records times ε")
    ticks = 500, 1000, 2000, 5000, 10_000, 20_000
    axes.set_xticks(ticks, [str(tick) for tick in ticks], fontsize=8)
    axes.minorticks_off()
    axes.legend(fontsize=8)
    figure.savefig(out / "overview_binned.png", dpi=80)


def draw_split(names: Sequence[str], size: BinnedSize, found: Differences, out: Path) -> None:
    """Figure 4.15: mean difference of shapes."""
    settings = [(name, epsilon) for name in names for epsilon in size.split_epsilons]
    figure = Figure(figsize=(4.8 * len(found), 4.2), layout="constrained")
    for axes, (method, rows) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
        for (name, epsilon), means in zip(settings, rows, strict=True):
            axes.plot(size.ratios, means, marker="o", markersize=4, label=f"{name}, ε = {epsilon:g}")
        axes.set(yscale="log", title=method, xlabel="share for bins, and for joining them", ylabel="shape difference")
        axes.legend(fontsize=8)
    figure.savefig(out / "figure_4_15.png", dpi=80)
