"""Styles of pictures: sizes of letters and lines, and light on dark. matplotlib is imported only when it is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import InvalidArgument, MissingPackage

if TYPE_CHECKING:
    from matplotlib.axes import Axes


NO_MATPLOTLIB = "matplotlib is needed for pictures: pip install 'dpcurves[plot]'"


def require_matplotlib() -> None:
    """Refuse to draw without matplotlib.

    Raises:
        ImportError: it is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingPackage("plot", NO_MATPLOTLIB) from None


def is_dark(ax: Axes) -> bool:
    """Tell whether lines on `ax` are drawn on dark ground, by a style of ours or of anybody else."""
    from matplotlib.colors import to_rgb

    return float(np.dot(to_rgb(ax.get_facecolor()), (0.299, 0.587, 0.114))) < DARK_GROUND


def scale_font_size(size: float) -> float:
    """The size of letters that is `size` where matplotlib's own is 10, as it is by default."""
    from matplotlib import rcParams

    return float(size * rcParams["font.size"] / 10)


def scale_line_width(width: float) -> float:
    """The width of a line that is `width` where matplotlib's own is 1.5, as it is by default."""
    from matplotlib import rcParams

    return float(width * rcParams["lines.linewidth"] / 1.5)


DARK_GROUND = 0.5
GROUND, TEXT, DIM = "#14171a", "#e8eaed", "#9aa0a6"
STYLES: dict[str, dict[Any, Any]] = {
    "paper": {
        "font.size": 9, "lines.linewidth": 1.2, "axes.linewidth": 0.6, "xtick.major.width": 0.6,
        "ytick.major.width": 0.6, "axes.spines.top": False, "axes.spines.right": False,
    },
    "slides": {"font.size": 14, "lines.linewidth": 2.4, "axes.linewidth": 1.2},
    "dark": {
        "figure.facecolor": GROUND, "axes.facecolor": GROUND, "savefig.facecolor": "auto", "text.color": TEXT,
        "axes.labelcolor": TEXT, "axes.titlecolor": TEXT, "xtick.color": TEXT, "ytick.color": TEXT,
        "axes.edgecolor": DIM, "grid.color": DIM, "legend.labelcolor": TEXT, "legend.facecolor": GROUND,
    },
}  # fmt: skip
"""Settings of matplotlib: small letters and thin frames, large letters and thick lines, or light on dark."""


@contextmanager
def use_style(style: str | None, ax: Axes | None) -> Iterator[None]:
    """Draw in one of the three styles; with None, as matplotlib is set.

    Raises:
        ValueError: there is no such style.
        ImportError: matplotlib is not installed.
    """
    if style is None:
        yield
        return
    if style not in STYLES:
        raise InvalidArgument("style", f"one of {', '.join(STYLES)} is needed, or none, got {style!r}")
    require_matplotlib()
    from matplotlib import rc_context

    with rc_context(STYLES[style]):
        if ax is not None:
            _repaint(ax, STYLES[style])
        yield


def _repaint(ax: Axes, settings: Mapping[str, Any]) -> None:
    """Give axes that are there already the background and the text colour of a style, if it has its own."""
    for edge in ("top", "right"):
        ax.spines[edge].set_visible(settings.get(f"axes.spines.{edge}", ax.spines[edge].get_visible()))
    if "axes.facecolor" not in settings:
        return
    ax.figure.set_facecolor(settings["figure.facecolor"])
    ax.set_facecolor(settings["axes.facecolor"])
    ax.spines[:].set_color(settings["axes.edgecolor"])
    ax.tick_params(colors=settings["xtick.color"])
    for words in (ax.xaxis.label, ax.yaxis.label, ax.title):
        words.set_color(settings["text.color"])
