"""How far residual plots are apart."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from residuals import REACHED, Separation

PAPER, PACKAGE = "C3", "C2"


def draw_separation(found: Separation, out: Path) -> None:
    """Figure 7, against records times epsilon."""
    figure = Figure(figsize=(5.2, 4.2), layout="constrained")
    axes = figure.subplots()
    for (method, models), color in zip(found.of.items(), (PAPER, PACKAGE), strict=True):
        for (model, distances), style in zip(models.items(), ("-", "--"), strict=True):
            axes.plot(found.products, distances, style, marker="o", color=color, label=f"{method}: {model}")
    axes.axhline(REACHED, color="black", linewidth=0.8)
    axes.set(title="Residual plots: Ideal against others", ylabel="total variation distance", ylim=(0, 1.03))
    axes.set(xscale="log", xlabel="records times ε")
    axes.set_xticks(list(found.products), [str(product) for product in found.products], fontsize=8)
    axes.minorticks_off()
    axes.legend(fontsize=8)
    figure.savefig(out / "overview_residual_plots.png", dpi=80)
