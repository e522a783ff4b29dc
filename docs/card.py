"""The picture beside a link that is shared: a curve in its band, and a name. `make pictures` draws it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dpcurves as dp

CARD = Path(__file__).parent / "images" / "card.png"
SIZE = 1200, 630
DOTS = 100
DARK, LIGHT, PALE = "#37474f", "#90caf9", "#cfd8dc"


def curve() -> dp.CDF:
    """The distribution of ages that are made up; the noise is seeded, as the card says."""
    ages = np.floor(np.clip(np.random.default_rng(11).gamma(9, 5, 600), 0, 119))
    grid, randomness = dp.Grid(0, 120, cells=120), dp.Randomness.from_seed(3)
    return dp.cdf(ages, grid=grid, epsilon="0.5", adjacency=dp.REPLACE_ONE, label="age", randomness=randomness)


def draw(drawn: dp.CDF) -> Figure:
    """The card, in the colours of the pages."""
    figure = Figure(figsize=(SIZE[0] / DOTS, SIZE[1] / DOTS), dpi=DOTS, facecolor=DARK)
    axes = figure.add_axes((0.0, 0.0, 1.0, 0.94))
    axes.set_axis_off()
    lower, upper = drawn.band(0.95)
    axes.fill_between(drawn.x, lower, upper, color=LIGHT, alpha=0.55, linewidth=0)
    axes.plot(drawn.x, drawn.y, color="white", linewidth=4)
    axes.set_xlim(-62, 108)
    axes.set_ylim(-0.12, 1.06)
    figure.text(0.06, 0.72, "dpcurves", color="white", fontsize=58, weight="bold")
    figure.text(0.06, 0.50, "Differentially private\ncurves from real tables", color=PALE, fontsize=27, linespacing=1.4)
    figure.text(0.97, 0.04, "made-up ages, epsilon 0.5, 95 % band; seeded", color=PALE, fontsize=15, ha="right")
    return figure


def main() -> None:
    """Draw it."""
    draw(curve()).savefig(CARD, dpi=DOTS, facecolor=DARK, metadata={"Software": None})


if __name__ == "__main__":
    main()
