"""Pictures for the gallery: what a curator sees, and what is released at epsilon 1 and 0.1.

`python papers/gallery.py [--out FOLDER]`. Data is made up, by the recipes of the papers, so nothing is read, and every
picture says so. The noise is seeded.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.progress import track

import dpcurves as dp
from dpcurves.display import made_up_data

FloatArray = NDArray[np.float64]
EPSILONS = "1", "0.1"
RECORDS, SCORED = 50_000, 5000
SEED = 13
COLORS = 96


def binned_residuals() -> Figure:
    """Chen (2018), section 4.4.3: a logistic regression in x, where the truth is linear, and where it has a square."""
    truths: dict[str, Callable[[FloatArray], FloatArray]] = {
        "right model": lambda x: 2 * x, "a square is missing": lambda x: x**2 + 2 * x - 1
    }  # fmt: skip
    figure = Figure(figsize=(10.5, 7.6), layout="constrained")
    rows = figure.subplots(2, 3, sharex=True)
    for axes, (name, truth) in zip(rows, truths.items(), strict=True):
        label, score = _judged(truth)
        _draw_confidential(axes[0], label, score, name)
        for ax, epsilon in zip(axes[1:], EPSILONS, strict=True):
            chance = dp.Randomness.from_seed(SEED)
            found = dp.binned_residuals(
                label, score, model=dp.DISJOINT_RECORDS, epsilon=epsilon, adjacency=dp.REPLACE_ONE, randomness=chance
            )
            found.plot(ax=ax)
            ax.set_title(f"{name}, epsilon {epsilon}", fontsize=10)
        for ax in axes:
            ax.set_ylim(-0.2, 0.2)
    _explain_once(figure)
    return figure


def _judged(truth: Callable[[FloatArray], FloatArray]) -> tuple[NDArray[np.int64], FloatArray]:
    """Labels, and predictions of a model of x alone that was trained on as many other records."""
    from sklearn.linear_model import LogisticRegression

    chance = np.random.default_rng(SEED)
    x = chance.uniform(-1, 1, 2 * RECORDS)
    label = (chance.random(x.size) < 1 / (1 + np.exp(-truth(x)))).astype(np.int64)
    model: Any = LogisticRegression(C=1e6).fit(x[:RECORDS, None], label[:RECORDS])
    return label[RECORDS:], model.predict_proba(x[RECORDS:, None])[:, 1]


def _draw_confidential(ax: Axes, label: NDArray[np.int64], score: FloatArray, name: str) -> None:
    """Sixteen bins of equal size, without noise."""
    bins = np.array_split(np.argsort(score), 16)
    mean = np.array([score[own].mean() for own in bins])
    residual = np.array([(label[own] - score[own]).mean() for own in bins])
    within = 2 * np.sqrt(mean * (1 - mean) / np.array([len(own) for own in bins]))
    ax.axhline(0, color="0.5", linewidth=0.8)
    ax.plot(mean, np.column_stack([within, -within]), color="0.4", linewidth=0.9)
    ax.plot(mean, residual, "o", color="black")
    ax.set(title=f"{name}, confidential", ylabel="mean residual: label minus prediction")
    ax.title.set_fontsize(10)


def roc_curves() -> Figure:
    """Chen (2018), Figure 4.7: scores that rank well, where few records are negative, and others."""
    chance = np.random.default_rng(SEED)
    models = {"ranks well": _scored(2.0, 1.6, chance), "ranks less well": _scored(0.0, 0.75, chance)}
    figure = Figure(figsize=(10.5, 8.2), layout="constrained")
    for axes, (name, (label, score)) in zip(figure.subplots(2, 3), models.items(), strict=True):
        _draw_confidential_roc(axes[0], label, score, name)
        for ax, epsilon in zip(axes[1:], EPSILONS, strict=True):
            found = dp.roc_curve(
                label, score, epsilon=epsilon, adjacency=dp.REPLACE_ONE, randomness=dp.Randomness.from_seed(SEED)
            )
            _draw_true_roc(ax, label, score)
            found.plot(ax=ax, level=0.95)
            low, high = found.auc_interval(0.95)
            ax.set_title(f"{name}, epsilon {epsilon}\nAUC {found.auc:.2f} ({low:.2f} to {high:.2f})", fontsize=10)
    _explain_once(figure)
    return figure


def _explain_once(figure: Figure) -> None:
    """One legend below all, of what the last picture has besides its own numbers."""
    for ax in figure.axes:
        if ax.get_legend() is not None:
            ax.get_legend().remove()
    shown = zip(*figure.axes[-1].get_legend_handles_labels(), strict=True)
    handles, words = zip(*((handle, word) for handle, word in shown if not word.startswith("ROC curve")), strict=True)
    figure.legend(handles, words, loc="outside lower center", ncols=3, frameon=False, fontsize=9)


def _scored(shift: float, strength: float, chance: np.random.Generator) -> tuple[NDArray[np.int64], FloatArray]:
    """Labels, and scores that are right of them: with a larger shift more are positive."""
    logit = shift + strength * chance.standard_normal(SCORED)
    score = 1 / (1 + np.exp(-logit))
    return (chance.random(SCORED) < score).astype(np.int64), score


def _draw_confidential_roc(ax: Axes, label: NDArray[np.int64], score: FloatArray, name: str) -> None:
    from sklearn.metrics import roc_auc_score

    ax.plot([0, 1], [0, 1], color="0.6", linestyle=":", linewidth=1.2)
    _draw_true_roc(ax, label, score)
    ax.set(
        title=f"{name}, confidential\nAUC {roc_auc_score(label, score):.2f}",
        xlabel="false positive rate",
        ylabel="true positive rate",
        aspect="equal",
    )
    ax.title.set_fontsize(10)


def _draw_true_roc(ax: Axes, label: NDArray[np.int64], score: FloatArray) -> None:
    """Without noise, as a thin line."""
    from sklearn.metrics import roc_curve

    fpr, tpr, _ = roc_curve(label, score)
    ax.plot(fpr, tpr, color="black", linewidth=0.9, label="without noise")


DISTRIBUTIONS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "ideal": lambda x, error: x + error,
    "the variance grows": lambda x, error: x + error * np.sqrt(x),
    "a square is missing": lambda x, error: x + 0.01 * x**2 + error,
}
DRAWN_RECORDS = 5000


def residual_plots() -> Figure:
    """Chen (2018), section 4.2.3: residuals of a line, where all is well, and where an assumption fails."""
    figure = Figure(figsize=(10.5, 11.5), layout="constrained")
    rows = figure.subplots(len(DISTRIBUTIONS), 3)
    for axes, (name, distribution) in zip(rows, DISTRIBUTIONS.items(), strict=True):
        predicted, residual = _fitted(distribution)
        axes[0].scatter(predicted, residual, s=5, color="black", alpha=0.5, linewidths=0)
        axes[0].axhline(0, color="0.5", linewidth=0.8)
        axes[0].set(title=f"{name}, confidential", xlabel="predicted", ylabel="residual")
        for ax, epsilon in zip(axes[1:], EPSILONS, strict=True):
            found = dp.residual_plot(
                predicted, residual, unit_predicted=1, unit_residual=1, coverage=0.95, model=dp.DISJOINT_RECORDS,
                epsilon=epsilon, adjacency=dp.REPLACE_ONE, randomness=dp.Randomness.from_seed(SEED),
            )  # fmt: skip
            found.plot(ax=ax)
            ax.get_legend().remove()
            ax.set_title(f"{name}, epsilon {epsilon}\nabout {found.unplotted_share:.1%} lie outside")
        for ax in axes:
            ax.title.set_fontsize(10)
            ax.set(xlim=axes[0].get_xlim(), ylim=axes[0].get_ylim())
    return figure


def _fitted(distribution: Callable[[FloatArray, FloatArray], FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Predictions and residuals of a line that was fitted to as many other records."""
    chance = np.random.default_rng(SEED)
    x, error = chance.uniform(1, 50, 2 * DRAWN_RECORDS), chance.normal(size=2 * DRAWN_RECORDS)
    y = distribution(x, error)
    slope, intercept = np.polyfit(x[:DRAWN_RECORDS], y[:DRAWN_RECORDS], 1)
    predicted = intercept + slope * x[DRAWN_RECORDS:]
    return predicted, y[DRAWN_RECORDS:] - predicted


DRAWN: dict[str, Callable[[], Figure]] = {
    "binned_residuals": binned_residuals, "residual_plots": residual_plots, "roc_curves": roc_curves
}  # fmt: skip


def main() -> None:
    """Draw all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    images = Path(__file__).resolve().parents[1] / "docs" / "images"
    parser.add_argument("--out", type=Path, default=images, help="folder for pictures")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, draw in track(DRAWN.items(), description="Pictures"):
        with made_up_data():
            figure = draw()
        figure.savefig(out / f"{name}.png", dpi=100)
        _shrink(out / f"{name}.png")


def _shrink(picture: Path) -> None:
    """Fewer colours: a third of the size, and nobody sees it."""
    from PIL import Image

    few = Image.open(picture).convert("RGB").quantize(COLORS)
    few.save(picture, optimize=True)


if __name__ == "__main__":
    main()
