"""The pictures of the page on what is promised: made-up data, seeded noise; `make pictures`."""

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
    "secure sums of sites": ("coordinator", ("masked counts", "answers")),
    "people at home": ("who collects", ("randomised reports", "answers")),
    "pairs of people": ("their server", ("sealed letters", "answers")),
    "a verification server": ("analyst", ("answers",)),
}
SEEN = (
    "records", "exact counts", "noise", "shares", "own noise", "masked counts", "randomised reports", "sealed letters",
    "answers",
)  # fmt: skip


def beside(titles: Sequence[str], shared: bool = True) -> tuple[Figure, list[Axes]]:
    """Empty axes side by side, with shares upwards."""
    figure, axes = plt.subplots(1, len(titles), figsize=(9, 3.2), sharey=shared, layout="constrained")
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
    figure, axes = beside(["", "", ""])
    for ax, records in zip(axes, (1, 2, 8), strict=True):
        words: dict[str, Any] = {"unit": "person", "rows_per_unit": records, "adjacency": dp.ADD_REMOVE}
        seed = dp.Randomness.from_seed(7)
        with dp.Session(table, budget=dp.PrivacyLoss.pure(1), randomness=seed, **words) as session:
            found = session.ask(dp.CdfQuestion("days", GRID), dp.PrivacyLoss.pure("0.1"))
        curve(ax, found)
        lower, upper = found.band(0.95)
        ax.set_title(f"at most {records} of a person: {100 * (upper - lower).mean():.1f} points wide", fontsize=9)
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
    """One curve in both bands; and how wide bands are, on average, of more and more records."""
    figure, (ax, widths) = beside(["300 records, ε = 4", "how wide both are, ε = 4"], shared=False)
    found = asked(AGES[:300], "4")
    curve(ax, found, RED, population=True)
    curve(ax, found)
    ax.set_xlabel("age in years")
    widths.tick_params(labelleft=True)
    many = np.floor(np.clip(np.random.default_rng(12).gamma(9, 5, 30_000), 0, 119))
    numbers = (300, 1000, 3000, 10_000, 30_000)
    curves = [asked(many[:number], "4") for number in numbers]
    for population, colour, words in ((True, RED, "for the population"), (False, BLUE, "for these records")):
        sides = [each.band(0.95, population=population) for each in curves]
        wide = [100 * float((upper - lower).mean()) for lower, upper in sides]
        widths.plot(numbers, wide, "o-", color=colour, label=words)
    widths.set(xscale="log", yscale="log", ylim=(0.03, 20), xlabel="records", ylabel="mean width of the band, points")
    widths.set_xticks(numbers, [f"{number:,}" for number in numbers], fontsize=8)
    widths.set_yticks((0.03, 0.1, 0.3, 1, 3, 10), ["0.03", "0.1", "0.3", "1", "3", "10"])
    widths.minorticks_off()
    widths.legend(frameon=False, fontsize=9)
    return figure


def integers() -> Figure:
    """The distribution of two noisy counts at epsilon 1."""
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
