"""Pictures of trust without a curator: who holds which data, what is sent, and who sees it."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

IMAGES = Path(__file__).parents[1] / "docs" / "images"
INK, SOFT, BLUE, ORANGE = "#222222", "#666666", "#0072b2", "#b35900"


def main() -> None:
    two_servers().savefig(IMAGES / "two_servers.png", dpi=150)
    secure_sums().savefig(IMAGES / "secure_sums.png", dpi=150)


def empty() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(10, 4.3), layout="constrained")
    axes = figure.subplots()
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 43)
    axes.set_axis_off()
    return figure, axes


def two_servers() -> Figure:
    """Plot the picture of the README, and of the page on two servers."""
    figure, axes = empty()
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
        "sees its share of every\nreport: random bits; knows\nits own noise; no result",
        BLUE,
    )
    box(
        axes,
        (41, 2, 24, 16),
        "server 1",
        "sees its share of every\nreport: random bits; knows\nits own noise; no result",
        ORANGE,
    )
    box(axes, (84, 12, 15, 20), "analyst", "opens both halves,\nand adds them:\ncounts with both\nnoises", INK)
    arrow(axes, (18, 25), (41, 34), BLUE)
    arrow(axes, (18, 19), (41, 9), ORANGE)
    arrow(axes, (50, 25), (50, 18), SOFT)
    arrow(axes, (56, 18), (56, 25), SOFT)
    arrow(axes, (84, 26), (65, 35), SOFT)
    arrow(axes, (65, 31), (84, 22), INK)
    note(axes, 28, 35, "share 0, sealed\nto server 0", BLUE)
    note(axes, 28, 7.2, "share 1, sealed\nto server 1", ORANGE)
    note(axes, 77, 34.5, "thresholds", SOFT)
    note(axes, 78.5, 18.6, "both halves,\nsealed", INK)
    note(axes, 45, 21.5, "thresholds", SOFT)
    note(axes, 57.5, 21.5, "half 1: sum of its shares\nplus its own full noise,\nsealed to the analyst", SOFT, "left")
    note(axes, 68.5, 8, "Assumed: the two do not\ncollude. Together they\nwould know every record.", SOFT, "left")
    return figure


def secure_sums() -> Figure:
    """Plot the picture of the page on sites that answer jointly."""
    figure, axes = empty()
    for number, (name, ink) in enumerate((("site 1", BLUE), ("site 2", INK), ("site 3", ORANGE))):
        place = 31 - 14.2 * number
        box(axes, (1, place, 28, 11), name, "sees its own records; adds its\nshare of the noise, then masks", ink)
        arrow(axes, (29, place + 5.5), (53, 22.3 - 2.6 * (number - 1)), ink)
    words = "sees what is asked, and\nmasked vectors: random bits,\nwhose sum is the noisy sum;\nholds no key"
    box(axes, (53, 14, 23, 16.5), "coordinator", words, INK)
    box(axes, (86, 14, 13.5, 16.5), "analyst", "sees the noisy\nsum; checks\nevery message", INK)
    arrow(axes, (86, 25.5), (76, 25.5), SOFT)
    arrow(axes, (76, 18.5), (86, 18.5), INK)
    note(axes, 81, 28.3, "a signed\nquestion", SOFT)
    note(axes, 81, 15.7, "all signed\nmessages", INK)
    note(axes, 40, 37.5, "its counts + its share of the noise\n+ masks that cancel in the sum", SOFT, "left")
    note(axes, 40, 6.2, "then: shares of keys, which take\nthe masks off the sum, and off nothing else", SOFT, "left")
    note(axes, 40, 1.6, "Assumed: at most c sites collude with the coordinator; sites tell the truth.", SOFT, "left")
    return figure


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
