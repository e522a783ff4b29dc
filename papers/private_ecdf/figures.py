"""The figures as the paper draws them, ours beside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import calibration
import inverse
import matplotlib as mpl
import roc
import runtime
import smoothing
from matplotlib.axes import Axes
from matplotlib.figure import Figure

STYLES: dict[str, dict[str, Any]] = {
    "true": {"color": "black", "linewidth": 2.0},
    "raw": {"color": "0.6", "linewidth": 0.8},
    "p = 1": {"color": "C0", "linestyle": "--"},
    "p = 2": {"color": "C1"},
    "isotonic": {"color": "C4", "linestyle": ":"},
    "curve": {"color": "C0"},
    "inverse": {"color": "C3"},
    "inverse, smoothed": {"color": "C1"},
    "dpcurves": {"color": "C2", "linewidth": 2.0},
}


def draw_effects(figure2: smoothing.Effect, figure3: smoothing.Effect, out: Path) -> None:
    """Figures 2 and 3."""
    for name, effect, label, title in (
        ("figure_2", figure2, "ε", "Poisson(3)"), ("figure_3", figure3, "λ, records per point", "ε = 1")
    ):  # fmt: skip
        figure, axes = _frame(label, "squared error over that of raw noise", f"Effect of smoothing, {title}")
        _lines(axes, effect.along, effect.ratio)
        axes.axhline(1.0, color="black", linewidth=0.5)
        axes.set_ylim(0, 1.3)
        _save(figure, axes, out / f"{name}.png")


def draw_inverse(errors: inverse.Errors, out: Path) -> None:
    """Figure 4."""
    figure, axes = _frame("ε", "mean squared error on the unit square", "A curve and its inverse, Poisson(3)")
    names = {"curve": "curve", "inverse": "inverse", "smoothed inverse": "inverse, smoothed"}
    series = {names.get(name, name): values for name, values in errors.squared.items() if name != "dpcurves"}
    _lines(axes, errors.epsilons, {**series, "dpcurves": errors.squared["dpcurves"]})
    axes.set_yscale("log")
    _save(figure, axes, out / "figure_4.png")


def draw_roc(figures: Mapping[str, roc.Shown], out: Path) -> None:
    """Figures 1, 8 and 9: the paper's curves on the left, ours on the right."""
    numbers = {"heart": 1, "bank": 8, "diabetes": 9}
    for name, shown in figures.items():
        figure = Figure(figsize=(9, 4.6), layout="constrained")
        for axes, ways in zip(figure.subplots(1, 2), (("raw", "p = 1", "p = 2"), ("dpcurves",)), strict=True):
            for way, curve in {"true": shown.truth, **{way: shown.example[way] for way in ways}}.items():
                axes.plot(curve.fpr, curve.tpr, label=way, **STYLES[way])
            axes.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(-0.05, 1.1), ylim=(-0.05, 1.1))
            axes.legend(loc="lower right")
        figure.suptitle(f"ROC of a logistic regression, {name}, ε = {roc.SHOWN[name]:g}")
        figure.savefig(out / f"figure_{numbers[name]}.png", dpi=120)


def draw_areas(areas: roc.Areas, out: Path) -> None:
    """Figure 5."""
    figure, axes = _frame("ε", "area between true and private ROC curve", "Bank")
    _lines(axes, areas.epsilons, areas.between)
    axes.set_yscale("log")
    _save(figure, axes, out / "figure_5.png")


def draw_statistic(errors: Mapping[str, calibration.Errors], out: Path) -> None:
    """Figures 6 and 10."""
    numbers = {"bank": 6, "diabetes": 10}
    for name, error in errors.items():
        figure, axes = _frame("ε", "relative squared error", f"Hosmer-Lemeshow statistic, {name}")
        for color, way in zip(("C3", "C0", "C2"), calibration.WAYS, strict=True):
            axes.plot(error.epsilons, error.mean[way], color=color, marker="o", label=f"{way}, mean")
            axes.plot(error.epsilons, error.median[way], color=color, linestyle=":", label=f"{way}, median")
        axes.set_yscale("log")
        _save(figure, axes, out / f"figure_{numbers[name]}.png")


def draw_seconds(seconds: runtime.Seconds, out: Path) -> None:
    """Figure 7."""
    figure, axes = _frame("N", "seconds of one core", "Solving equation 3")
    for name, values in seconds.taken.items():
        color = "C3" if name.startswith("CVXOPT") else "C2"
        axes.plot(
            seconds.points, values, color=color, marker="o", linestyle="--" if "p = 1" in name else "-", label=name
        )
    axes.set_yscale("log")
    _save(figure, axes, out / "figure_7.png")


def _frame(x: str, y: str, title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(6, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel=x, ylabel=y, title=title, xscale="log")
    return figure, axes


def _lines(axes: Axes, along: roc.FloatArray, series: Mapping[str, roc.FloatArray]) -> None:
    for name, values in series.items():
        axes.plot(along, values, marker="o", markersize=3, label=name, **STYLES.get(name, {}))


def _save(figure: Figure, axes: Axes, file: Path) -> None:
    axes.legend()
    with mpl.rc_context({"savefig.facecolor": "white"}):
        figure.savefig(file, dpi=120)
