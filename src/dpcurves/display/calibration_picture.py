"""Calibration curves and Hosmer-Lemeshow groups as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import BoolArray, FloatArray
from ..release import PrivacyStatement
from .canvas import LANDSCAPE, SQUARE, canvas
from .finish import leave_room
from .line_styles import GREY, LineStyle, explain, is_blank, next_style
from .numerals import numeral
from .safe_text import legend_lettering
from .shade import POPULATION, Shade, once

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNKNOWN = "anything from 0 to 1"
FLOOR = -0.16
TALLEST = 0.12
MOST_TICKS = 12
TICK = 8.5
ROOM = 0.6
THIN, THICK, WITHIN = 1.1, 5.0, 0.4
"""Widths of the bars of intervals for the population and for these records, and how pale the latter are."""


def draw_calibration(
    prob_pred: ArrayLike,
    prob_true: ArrayLike,
    count: ArrayLike,
    privacy: PrivacyStatement,
    *,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw observed against predicted shares of positives, the diagonal of perfect calibration and bars of group sizes.

    A group whose interval reaches from 0 to 1, and so says nothing, is a hollow point that the line leaves out.

    Args:
        prob_pred: Mean score of each group.
        prob_true: Share of positives in each group.
        count: Records in each group.
        privacy: The privacy statement that is written below the picture.
        shades: Intervals, by the lower and upper end of each group, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    from .figure_note import sign

    ax = canvas(ax, SQUARE)
    style = next_style(ax)
    if is_blank(ax):
        _draw_frame(ax)
    predicted, observed = np.asarray(prob_pred, dtype=float), np.asarray(prob_true, dtype=float)
    known = _known(shades, len(observed))
    ax.plot(predicted[known], observed[known], color=style.color, linestyle=style.dash, linewidth=1.4)
    _draw_observed(ax, predicted, observed, style, shades=shades, name=name)
    if not known.all():
        (hollow,) = ax.plot(predicted[~known], observed[~known], "o", color=style.color, markersize=4.5, zorder=4)
        hollow.set(markerfacecolor="white", label=once(ax, UNKNOWN))
    _draw_sizes(ax, predicted, np.asarray(count, dtype=float), style)
    explain(ax, "above")
    sign(ax, privacy, name)
    return ax


def _known(shades: Sequence[Shade], groups: int) -> BoolArray:
    known = np.ones(groups, dtype=bool)
    for shade in shades:
        known &= (np.asarray(shade.lower) > 0) | (np.asarray(shade.upper) < 1)
    return known


def _draw_frame(ax: Axes) -> None:
    ax.plot([0, 1], [0, 1], color=GREY, linestyle=(0, (1, 2)), linewidth=1.2)
    ax.axhline(0, color=GREY, linewidth=0.6)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(FLOOR, 1.02)
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.set_aspect("equal")
    ax.set_xlabel("mean predicted probability")
    ax.set_ylabel("share of positives")


def _draw_observed(
    ax: Axes, x: FloatArray, y: FloatArray, style: LineStyle, *, shades: Sequence[Shade], name: str | None
) -> None:
    for shade in shades:
        _draw_intervals(ax, x, shade, style)
    words = "observed" if name is None else f"{legend_lettering(name)}: observed"
    ax.plot(x, y, "o", color=style.color, markersize=4.5, label=words, zorder=3)


def _draw_intervals(ax: Axes, x: FloatArray, shade: Shade, style: LineStyle) -> None:
    """For the population thin, with caps; for these records thick, and within."""
    ends, title = np.asarray(shade.lower), once(ax, shade.words)
    wide = POPULATION in shade.words
    thickness, alpha = (THIN, 1.0) if wide else (THICK, WITHIN)
    ax.vlines(x, ends, shade.upper, color=style.color, linewidth=thickness, alpha=alpha, label=title)
    if wide:
        for end in (shade.lower, shade.upper):
            ax.plot(x, end, "_", color=style.color, markersize=6)


def _draw_sizes(ax: Axes, predicted: FloatArray, count: FloatArray, style: LineStyle) -> None:
    largest = np.fmax.reduce(count, initial=1.0)
    tops = FLOOR + TALLEST * np.clip(count, 0, None) / largest
    words = f"records per group, up to {largest:,.0f}"
    ax.vlines(predicted, FLOOR, tops, color=style.color, alpha=0.35, linewidth=5, label=words)


def draw_hosmer_lemeshow(
    groups: Sequence[Mapping[str, float]],
    statistic: float,
    p_value: float,
    privacy: PrivacyStatement,
    *,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw observed and expected positives, group by group.

    Args:
        groups: What each has: ``lower`` and ``upper`` score, ``count``, ``positives`` and ``expected`` positives.
        statistic: The statistic of the test.
        p_value: The p-value of the test.
        privacy: The privacy statement that is written below the picture.
        shades: Intervals, by the lower and upper end of each group, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the model.
    """
    from .figure_note import sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    style = next_style(ax)
    middles = np.arange(0.5, len(groups))
    if is_blank(ax):
        _mark_groups(ax, groups)
    observed = np.array([group["positives"] for group in groups], dtype=float)
    _draw_observed(ax, middles, observed, style, shades=shades, name=name)
    _draw_expected(ax, middles, groups, style)
    ax.plot([], [], " ", label=f"Hosmer-Lemeshow {numeral(statistic)}, {_chance(p_value)} {POPULATION}")
    leave_room(ax, ROOM)
    write_plainly(ax)
    explain(ax, "best")
    sign(ax, privacy, name)
    return ax


def _draw_expected(ax: Axes, middles: FloatArray, groups: Sequence[Mapping[str, float]], style: LineStyle) -> None:
    expected = [group["expected"] for group in groups]
    left, right = middles - 0.35, middles + 0.35
    ax.hlines(expected, left, right, color=style.color, linewidth=2.5, alpha=0.45, label="expected by the model")


def _mark_groups(ax: Axes, groups: Sequence[Mapping[str, float]]) -> None:
    cuts = [group["lower"] for group in groups] + [group["upper"] for group in groups[-1:]]
    every = max(1, -(-len(cuts) // MOST_TICKS))
    ax.set_xticks(range(0, len(cuts), every), [f"{cut:.2g}" for cut in cuts[::every]], fontsize=TICK)
    ax.set_xlim(-0.1, len(groups) + 0.1)
    ax.set_xlabel("score, cut into groups")
    ax.set_ylabel("positives")
    ax.axhline(0, color="0.4", linewidth=0.6)


def _chance(p_value: float) -> str:
    return "p < 0.0001" if p_value < 0.0001 else f"p = {p_value:.2g}"
