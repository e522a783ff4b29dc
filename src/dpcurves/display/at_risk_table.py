"""Numbers at risk below the axis of a survival curve, one row for each curve, as the field shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import FloatArray
from .numerals import numeral
from .safe_text import lettering

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE, ROW, BELOW_TICKS = 7.0, 9.5, 18.0
"""In points: letters, the height of a row, and where the first row begins."""
HEAD = "number at risk"
SURE = "number at risk (±: 95% intervals for these records, all at once)"
MOST, NARROW, LONGEST = 6, 2.8, 12
"""Times that are told at most; inches below which there is no room for any; letters of a name."""
GROUP, DARK = "at risk", "#333333"


class AtRiskRow(NamedTuple):
    """A row of a table of numbers at risk.

    Attributes:
        edges: The edges of the grid, (cells + 1,).
        records: At risk in the cell that begins at each edge but the last, (cells,).
        error: Half the width of a confidence interval for each, (cells,); None: no interval is shown.
    """

    edges: FloatArray
    records: FloatArray
    error: FloatArray | None


def write_at_risk(ax: Axes, row: AtRiskRow, name: str | None, color: str) -> None:
    """Write one row more below `ax`, where there is room; before the axis is signed."""
    from .figure_note import make_room

    figure = ax.figure.get_figure(root=True)
    if figure is None or ax.get_position().width * figure.get_size_inches()[0] < NARROW:
        return
    rows = sum(text.get_gid() == GROUP for text in ax.texts)
    if rows == 0:
        _write(ax, (0.0, -BELOW_TICKS), HEAD if row.error is None else SURE, color=DARK, horizontalalignment="left")
    down = -BELOW_TICKS - ROW * (rows + 1)
    if name is not None:
        _write(ax, (-0.06, down), lettering(name, LONGEST), color=color, horizontalalignment="right")
    for time, words in _told(ax, row):
        _write(ax, (time, down), words, "data", color=color, horizontalalignment="center")
    ax.texts[-1].set_gid(GROUP)
    ax.xaxis.labelpad = BELOW_TICKS + ROW * (rows + 2) - 12.0
    make_room(ax, ROW * (2 if rows == 0 else 1))


def _told(ax: Axes, row: AtRiskRow) -> list[tuple[float, str]]:
    """Ticks inside the grid, and how many are at risk from there on."""
    inside = [float(tick) for tick in ax.get_xticks() if row.edges[0] <= tick < row.edges[-1]]
    times = inside[:: -(-len(inside) // MOST)] if inside else [float(row.edges[0])]
    cells = np.searchsorted(row.edges, times, side="right") - 1
    return [(time, _number(row, cell)) for time, cell in zip(times, cells.tolist(), strict=True)]


def _number(row: AtRiskRow, cell: int) -> str:
    records = numeral(round(max(float(row.records[cell]), 0.0)))
    return records if row.error is None else f"{records}±{numeral(np.ceil(row.error[cell]))}"


def _write(ax: Axes, place: tuple[float, float], words: str, across: str = "axes fraction", **style: Any) -> None:
    """Write at this place across, and so many points below the axis."""
    ax.annotate(
        words, (place[0], 0.0), (0.0, place[1]), xycoords=(across, "axes fraction"), textcoords="offset points",
        fontsize=SIZE, verticalalignment="top", annotation_clip=False, parse_math=False, **style,
    )  # fmt: skip
