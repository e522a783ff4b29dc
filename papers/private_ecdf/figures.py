"""The figures as the paper draws them, ours beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
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
    "true": {"color": "black", "linewidth": 1.6},
    "raw": {"color": "0.65", "linewidth": 0.6, "zorder": 1},
    "p = 1": {"color": "C0", "linestyle": "--"},
    "p = 2": {"color": "C1"},
    "isotonic": {"color": "C4", "linestyle": ":"},
    "curve": {"color": "C0"},
    "inverse": {"color": "C3"},
    "inverse, smoothed": {"color": "C1"},
    "printed": {"color": "C3"},
    "right formulas": {"color": "C0"},
    "CVXOPT, p = 1": {"color": "C3", "linestyle": "--"},
    "CVXOPT, p = 2": {"color": "C3"},
    "dpcurves, p = 1": {"color": "C2", "linestyle": "--"},
    "dpcurves, p = 2": {"color": "C2"},
    "dpcurves": {"color": "C2", "linewidth": 2.0},
}


def draw_roc(figures: Mapping[str, roc.Shown], out: Path) -> None:
    """Figures 1, 8 and 9: the paper's curves on the left, ours on the right."""
    numbers = {"heart": 1, "bank": 8, "diabetes": 9}
    for name, shown in figures.items():
        figure = Figure(figsize=(9, 4.8), layout="constrained")
        for axes, ways in zip(figure.subplots(1, 2), (("raw", "p = 1", "p = 2"), ("dpcurves",)), strict=True):
            for way, curve in {**{way: shown.example[way] for way in ways}, "true": shown.truth}.items():
                axes.plot(curve.fpr, curve.tpr, label=way, **STYLES[way])
            axes.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(-0.05, 1.1), ylim=(-0.05, 1.1))
            axes.set_aspect("equal")
            axes.legend(loc="lower right")
        figure.suptitle(f"Figure {numbers[name]}: ROC of a logistic regression, {name}, ε = {roc.SHOWN[name]:g}")
        _save(figure, out / f"figure_{numbers[name]}.png", 120)


@dataclass(frozen=True)
class Pictured:
    """What the figures but those of ROC curves show; None where data is missing."""

    figure2: smoothing.Effect
    figure3: smoothing.Effect
    figure4: inverse.Errors
    figure5: roc.Areas | None
    figure6: calibration.Errors | None
    figure7: runtime.Seconds
    figure10: calibration.Errors | None


def draw(pictured: Pictured, out: Path) -> None:
    """Figures 2 to 7 and 10, each in a file, and Figures 2 to 7 in one."""
    drawings = _drawings(pictured)
    for number, drawing in drawings.items():
        figure = Figure(figsize=(6.4, 4.4), layout="constrained")
        drawing(figure.subplots())
        _save(figure, out / f"figure_{number}.png", 120)
    some = [drawing for number, drawing in drawings.items() if number <= 7]
    overview = Figure(figsize=(12.6, 4.1 * -(-len(some) // 2)), layout="constrained")
    for axes, drawing in zip(overview.subplots(-(-len(some) // 2), 2).flat, some, strict=False):
        drawing(axes)
    _save(overview, out / "overview.png", 80)


def _drawings(pictured: Pictured) -> dict[int, Callable[[Axes], None]]:
    figure5, figure6, figure10 = pictured.figure5, pictured.figure6, pictured.figure10
    drawings: dict[int, Callable[[Axes], None]] = {
        2: partial(
            _effect, pictured.figure2, "ε", "Figure 2: effect of smoothing on the error, λ = 3 records per point"
        ),
        3: partial(
            _effect, pictured.figure3, "λ, records per point", "Figure 3: effect of smoothing on the error, ε = 1"
        ),
        4: partial(_inverse, pictured.figure4),
    }
    if figure5 is not None and figure6 is not None and figure10 is not None:
        drawings |= {
            5: partial(_areas, figure5),
            6: partial(_statistic, figure6, "Figure 6: Hosmer-Lemeshow statistic, bank"),
            10: partial(_statistic, figure10, "Figure 10: Hosmer-Lemeshow statistic, diabetes"),
        }
    return dict(sorted({**drawings, 7: partial(_seconds, pictured.figure7)}.items()))


def _effect(effect: smoothing.Effect, label: str, title: str, axes: Axes) -> None:
    _prepare(axes, label, effect.along, title)
    axes.axhline(1.0, color="black", linewidth=0.5)
    axes.set(ylabel="squared error over that of raw noise", ylim=(0, 1.3))
    _lines(axes, effect.along, effect.ratio)


def _inverse(errors: inverse.Errors, axes: Axes) -> None:
    _prepare(axes, "ε", errors.epsilons, "Figure 4: a curve and its inverse, λ = 3 records per point")
    axes.set(ylabel="mean squared error on the unit square", yscale="log")
    names = {"smoothed inverse": "inverse, smoothed"}
    series = {names.get(name, name): values for name, values in errors.squared.items() if name != "dpcurves"}
    _lines(axes, errors.epsilons, {**series, "dpcurves": errors.squared["dpcurves"]})


def _areas(areas: roc.Areas, axes: Axes) -> None:
    _prepare(axes, "ε", areas.epsilons, "Figure 5: ROC curves, bank")
    axes.set(ylabel="area between the true and the private curve", yscale="log")
    _lines(axes, areas.epsilons, areas.between)


def _statistic(error: calibration.Errors, title: str, axes: Axes) -> None:
    """Means over runs, as in the paper; medians and quartiles, for means follow single runs."""
    _prepare(axes, "ε", error.epsilons, title)
    for way in calibration.WAYS:
        color = STYLES[way]["color"]
        axes.plot(error.epsilons, error.mean[way], marker="o", markersize=3, label=f"{way}, mean", **STYLES[way])
        axes.plot(error.epsilons, error.median[way], linestyle=":", color=color)
        axes.fill_between(error.epsilons, *error.quartiles[way], color=color, alpha=0.15, linewidth=0)
    axes.plot([], [], color="0.4", linestyle=":", label="median, and half of the runs")
    axes.set(ylabel="relative squared error", yscale="log")
    axes.legend()


def _seconds(seconds: runtime.Seconds, axes: Axes) -> None:
    _prepare(axes, "N, points of the curve", seconds.points, "Figure 7: solving equation 3, one core")
    axes.set(ylabel="seconds", yscale="log")
    _lines(axes, seconds.points, seconds.taken)


def _prepare(axes: Axes, x: str, along: roc.FloatArray, title: str) -> None:
    """A logarithmic axis that names the values at which something was measured."""
    axes.set(xlabel=x, xscale="log")
    axes.set_title(title, fontsize=11)
    axes.set_xticks(along, [f"{value:g}" for value in along])
    axes.set_xticks([], minor=True)
    axes.grid(color="0.92")


def _lines(axes: Axes, along: roc.FloatArray, series: Mapping[str, roc.FloatArray]) -> None:
    for name, values in series.items():
        axes.plot(along, values, marker="o", markersize=3, label=name, **STYLES[name])
    axes.legend()


def _save(figure: Figure, file: Path, dpi: int) -> None:
    with mpl.rc_context({"savefig.facecolor": "white"}):
        figure.savefig(file, dpi=dpi)
