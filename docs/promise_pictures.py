"""The pictures of the page on what is bought: made-up data, seeded noise; `make pictures`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import dpcurves as dp

IMAGES = Path(__file__).parent / "images" / "promise"
GRID = dp.Grid(0, 120, cells=120)
CHANCE = np.random.default_rng(11)
AGES = np.floor(np.clip(CHANCE.gamma(9, 5, 4000), 0, 119))
BLUE, RED, GREY = "#00629b", "#b3261e", "#777777"
PARTIES = {
    "one curator": ("curator", ("records", "exact counts", "noise", "answers")),
    "the reader of a curve": ("anybody", ("answers",)),
    "two servers": ("each of them", ("shares", "own noise", "answers")),
    "people at home": ("who collects", ("randomised reports", "answers")),
    "pairs of people": ("their server", ("sealed letters", "answers")),
    "a verification server": ("analyst", ("answers",)),
}
SEEN = (
    "records", "exact counts", "noise", "shares", "own noise", "randomised reports", "sealed letters", "answers",
)  # fmt: skip


def beside(titles: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """Empty axes side by side, with shares upwards."""
    figure, axes = plt.subplots(1, len(titles), figsize=(9, 3.2), sharey=True, layout="constrained")
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_ylim(-0.02, 1.02)
    axes[0].set_ylabel("share of the records")
    figure.get_layout_engine().set(rect=(0, 0.05, 1, 0.95))  # type: ignore[union-attr]
    figure.text(0.995, 0.01, "made-up records, seeded noise: not private", ha="right", fontsize=6, color=GREY)
    return figure, list(axes)


def curve(ax: Axes, found: dp.CDF, colour: str = BLUE, **words: Any) -> None:
    """One curve in its band."""
    lower, upper = found.band(0.95, **words)
    ax.fill_between(found.x, np.clip(lower, 0, 1), np.clip(upper, 0, 1), color=colour, alpha=0.25, linewidth=0)
    ax.plot(found.x, found.y, color=colour, linewidth=1.4)


def asked(values: Any, epsilon: str, adjacency: dp.Neighbours = dp.REPLACE_ONE) -> dp.CDF:
    """A curve of ages with noise that is the same each time."""
    return dp.cdf(values, grid=GRID, epsilon=epsilon, adjacency=adjacency, randomness=dp.Randomness.from_seed(5))


def epsilon() -> Figure:
    """One curve at three losses."""
    figure, axes = beside([f"ε = {epsilon}" for epsilon in ("0.1", "1", "10")])
    for ax, loss in zip(axes, ("0.1", "1", "10"), strict=True):
        curve(ax, asked(AGES, loss))
        ax.set_xlabel("age in years")
    return figure


def units() -> Figure:
    """One curve, of people with one to eight visits, of whom more or fewer are counted."""
    people = np.repeat(np.arange(2000), CHANCE.integers(1, 9, 2000))
    table = {"person": people, "days": CHANCE.gamma(2, 8, people.size)}
    figure, axes = beside([f"at most {records} of a person" for records in (1, 2, 8)])
    for ax, records in zip(axes, (1, 2, 8), strict=True):
        words: dict[str, Any] = {"unit": "person", "rows_per_unit": records, "adjacency": dp.ADD_REMOVE}
        seed = dp.Randomness.from_seed(7)
        with dp.Session(table, budget=dp.PrivacyLoss.pure(1), randomness=seed, **words) as session:
            curve(ax, session.ask(dp.CdfQuestion("days", GRID), dp.PrivacyLoss.pure("0.2")))
        ax.set_xlabel("days in hospital")
    return figure


def adjacency() -> Figure:
    """One curve of few records, whose number is private or public."""
    figure, axes = beside(["add-remove: how many is private", "replace-one: how many is public"])
    for ax, neighbours in zip(axes, (dp.ADD_REMOVE, dp.REPLACE_ONE), strict=True):
        curve(ax, asked(AGES[:400], "0.2", neighbours))
        ax.set_xlabel("age in years")
    return figure


def bands() -> Figure:
    """One curve in the band that knows the noise, and in the one that knows sampling too."""
    figure, axes = beside([f"{number:,} records, ε = 4" for number in (300, 4000)])
    for ax, number in zip(axes, (300, 4000), strict=True):
        found = asked(AGES[:number], "4")
        curve(ax, found, RED, population=True)
        curve(ax, found)
        ax.set_xlabel("age in years")
    axes[0].plot([], [], color=BLUE, alpha=0.5, linewidth=6, label="for these records")
    axes[0].plot([], [], color=RED, alpha=0.3, linewidth=6, label="for the population")
    axes[0].legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def integers() -> Figure:
    """The law of two noisy counts at epsilon 1."""
    figure, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
    at, ratio = np.arange(14, 28), np.exp(-1)
    for count, colour, aside in ((20, BLUE, -0.2), (21, RED, 0.2)):
        chances = (1 - ratio) / (1 + ratio) * ratio ** np.abs(at - count)
        ax.bar(at + aside, chances, width=0.36, color=colour, label=f"{count} records")
    ax.set(xticks=at, xlabel="noisy count that is shown", ylabel="chance, at ε = 1")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return figure


def parties() -> Figure:
    """What each party sees, as dots."""
    figure, ax = plt.subplots(figsize=(9, 3.4), layout="constrained")
    for row, (_, seen) in enumerate(PARTIES.values()):
        for column, thing in enumerate(SEEN):
            ax.plot(column, row, "o", markersize=11, color=BLUE if thing in seen else "#e4e4e4")
    ax.set_xticks(range(len(SEEN)), [thing.replace(" ", "\n", 1) for thing in SEEN], fontsize=8)
    ax.set_yticks(range(len(PARTIES)), [f"{model}: {who}" for model, (who, _) in PARTIES.items()])
    ax.set(xlim=(-0.6, len(SEEN) - 0.4), ylim=(len(PARTIES) - 0.4, -0.6))
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return figure


DRAWN = (epsilon, units, adjacency, bands, integers, parties)


def main() -> None:
    """Draw them all."""
    warnings.simplefilter("ignore", dp.CurveWarning)
    IMAGES.mkdir(exist_ok=True)
    for draw in DRAWN:
        figure = draw()
        figure.savefig(IMAGES / f"{draw.__name__}.png", dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
