"""The picture of the two servers in the README: who holds what, what travels, and who sees it."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

OUT = Path(__file__).parents[1] / "docs" / "images" / "two_servers.png"
INK, SOFT, BLUE, ORANGE = "#222222", "#666666", "#0072b2", "#b35900"


def main() -> None:
    figure = Figure(figsize=(10, 4.3), layout="constrained")
    axes = figure.subplots()
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 43)
    axes.set_axis_off()
    box(
        axes,
        (1, 12, 17, 20),
        "owners",
        "each sees its own\nrecords; makes two\nshares of each, sends\nthem, and goes",
        INK,
    )
    box(
        axes,
        (41, 25, 24, 16),
        "server 0",
        "sees its share of every\nreport: random bits; knows\nits own noise, and half 1",
        BLUE,
    )
    box(
        axes,
        (41, 2, 24, 16),
        "server 1",
        "sees its share of every\nreport: random bits; knows\nits own noise",
        ORANGE,
    )
    box(axes, (84, 12, 15, 20), "analyst", "sees counts with\nboth noises, at\nthe thresholds\nit asks for", INK)
    arrow(axes, (18, 25), (41, 34), BLUE)
    arrow(axes, (18, 19), (41, 9), ORANGE)
    arrow(axes, (50, 25), (50, 18), SOFT)
    arrow(axes, (56, 18), (56, 25), SOFT)
    arrow(axes, (84, 26), (65, 35), SOFT)
    arrow(axes, (65, 31), (84, 22), INK)
    note(axes, 28, 35, "share 0, sealed\nto server 0", BLUE)
    note(axes, 28, 7.2, "share 1, sealed\nto server 1", ORANGE)
    note(axes, 77, 34.5, "thresholds", SOFT)
    note(axes, 78.5, 18.6, "noisy counts", INK)
    note(axes, 45, 21.5, "thresholds", SOFT)
    note(axes, 57.5, 21.5, "half 1: sum of its shares,\nplus its own full noise", SOFT, "left")
    note(axes, 68.5, 8, "Assumed: the two do not\ncollude. Together they\nwould know every record.", SOFT, "left")
    figure.savefig(OUT, dpi=150)


def box(axes: Axes, place: tuple[float, float, float, float], name: str, words: str, ink: str) -> None:
    x, y, width, height = place
    axes.add_patch(FancyBboxPatch((x, y), width, height, "round,pad=0,rounding_size=1.5", fc="white", ec=ink, lw=1.6))
    axes.text(x + width / 2, y + height - 1.6, name, ha="center", va="top", color=ink, weight="bold", size=11)
    axes.text(x + width / 2, y + height - 5.4, words, ha="center", va="top", color=INK, size=9, linespacing=1.35)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], ink: str) -> None:
    style = {"arrowstyle": "-|>", "mutation_scale": 13, "color": ink, "lw": 1.5, "shrinkA": 3, "shrinkB": 3}
    axes.add_patch(FancyArrowPatch(start, end, **style))


def note(  # noqa: PLR0917
    axes: Axes, x: float, y: float, words: str, ink: str, align: str = "center"
) -> None:
    axes.text(x, y, words, ha=align, va="center", color=ink, size=9, linespacing=1.3)


if __name__ == "__main__":
    main()
