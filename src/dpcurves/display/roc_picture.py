"""ROC curves as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..release import PrivacyStatement
from .canvas import SQUARE, canvas
from .decimation import visible
from .line_styles import GREY, LineStyle, explain, is_blank, next_style
from .numerals import numeral, span
from .safe_text import legend_lettering, lettering
from .shade import Shade, draw_between, once

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHANCE = "chance level (AUC = 0.5)"
CURVE = "ROC curve"
CLOSEST = 1e-4
"""No digit of an area stands for less than a tenth of this."""


class DrawnArea(NamedTuple):
    """A confidence interval for the area under a curve.

    Attributes:
        lower: Its lower end.
        upper: Its upper end.
        words: Its level, its kind, and whether it is for these records or for the population.
    """

    lower: float
    upper: float
    words: str


class Region(NamedTuple):
    """The band of a ROC curve: lower and upper bounds between each edge and the next.

    Attributes:
        edges: False positive rates, rising from 0 to 1, (steps + 1,).
        shade: Its bounds between them, (steps,), and its label in the legend.
    """

    edges: ArrayLike
    shade: Shade


def draw_roc(
    fpr: ArrayLike,
    tpr: ArrayLike,
    auc: float,
    privacy: PrivacyStatement,
    *,
    title: str = "",
    positive: str = "",
    areas: Sequence[DrawnArea] = (),
    regions: Sequence[Region] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a ROC curve with its bands, the diagonal of chance, and the area under the curve in the legend.

    Args:
        fpr: Share of negatives above each threshold.
        tpr: Share of positives above each threshold.
        auc: Area under the curve.
        privacy: The privacy statement that is written below the picture.
        title: The title, for a curve without `name`; named curves may share one picture.
        positive: Which label is positive, for the axes.
        areas: Confidence intervals for the area, the one for these records first.
        regions: Bands, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    from .figure_note import sign

    ax = canvas(ax, SQUARE)
    style = next_style(ax)
    if is_blank(ax):
        _draw_frame(ax, positive)
    if name is None and not ax.get_title():
        ax.set_title(lettering(title), fontsize=10, parse_math=False)
    for edges, shade in regions:
        sides = (np.asarray(side, dtype=float) for side in (edges, shade.lower, shade.upper))
        draw_between(ax, *sides, color=style.color, alpha=shade.depth, title=once(ax, shade.words))
    _draw_curve(ax, np.asarray(fpr, dtype=float), np.asarray(tpr, dtype=float), style, _words(name, auc, areas))
    explain(ax, "lower right", size=8)
    sign(ax, privacy, name)
    return ax


def area_rows(auc: float, areas: Sequence[DrawnArea]) -> list[tuple[str, str]]:
    """The area under the curve with as many digits as are known, and its intervals: a name and a text for each.

    >>> area_rows(0.64137, [DrawnArea(0.6311, 0.6519, "95% interval for these records")])
    [('AUC', '0.641'), ('95% interval for these records', '0.631 to 0.652')]
    """
    known = max(areas[0].upper - areas[0].lower, CLOSEST) if areas else 0.0
    return [("AUC", numeral(auc, width=known)), *((area.words, span(area.lower, area.upper, known)) for area in areas)]


def _words(name: str | None, auc: float, areas: Sequence[DrawnArea]) -> str:
    (_, digits), *intervals = area_rows(float(auc), areas)
    first = f"{CURVE if name is None else legend_lettering(name)} (AUC = {digits})"
    return "\n".join([first, *(f"{words}: {ends}" for words, ends in intervals)])


def _draw_curve(ax: Axes, across: np.ndarray, upwards: np.ndarray, style: LineStyle, words: str) -> None:
    seen = visible(across, upwards)
    ax.plot(across[seen], upwards[seen], color=style.color, linestyle=style.dash, linewidth=1.6, label=words)


def _draw_frame(ax: Axes, positive: str) -> None:
    ax.plot([0, 1], [0, 1], color=GREY, linestyle=(0, (1, 2)), linewidth=1.2, label=CHANCE)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    label = f" (positive label: {lettering(positive, 30)})" if positive else ""
    ax.set_xlabel(f"false positive rate{label}", parse_math=False)
    ax.set_ylabel(f"true positive rate{label}", parse_math=False)
