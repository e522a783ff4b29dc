"""The end of each picture of a column: axes get names, numbers are written plainly, legend and statement are set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..release import PrivacyStatement
from .line_styles import explain
from .safe_text import lettering

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLOSE = 0.05


def finish(ax: Axes, privacy: PrivacyStatement, *, across: str, upwards: str, name: str | None) -> Axes:
    """Name the axes, by a column and by what is counted, and set what stands on every picture."""
    from .figure_note import sign
    from .ticks import write_plainly

    ax.set_xlabel(lettering(across), parse_math=False)
    ax.set_ylabel(upwards, parse_math=False)
    write_plainly(ax)
    explain(ax, "best")
    sign(ax, privacy, name)
    return ax


def leave_room(ax: Axes, room: float) -> None:
    """Leave this part of the height free for the legend, above all that was drawn."""
    ax.autoscale(axis="y")
    ax.margins(y=CLOSE)
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, top + room * (top - bottom))
