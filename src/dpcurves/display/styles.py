"""Styles of plots (paper, slides, dark) as settings of matplotlib, and sizes that follow a user's own settings.

`use_style` is a context manager that plots in one of the three styles, or with matplotlib's current settings.
`scale_font_size` and `scale_line_width` scale sizes by those settings, so that a user's own style keeps its effect.
`is_dark` returns whether the background is dark. matplotlib is imported only when a plot is made. No numbers and no
records are handled here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import InvalidArgument, MissingPackage

if TYPE_CHECKING:
    from matplotlib.axes import Axes


NO_MATPLOTLIB = "matplotlib is needed for pictures: pip install 'dpcurves[plot]'"
"""Rule in the error if a plot is asked for and matplotlib is not installed."""


def require_matplotlib() -> None:
    """Refuse a plot unless matplotlib is installed.

    Raises:
        ImportError: matplotlib is not installed. The message has the command that installs it.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingPackage("plot", NO_MATPLOTLIB) from None


def is_dark(ax: Axes) -> bool:
    """Return True if the background of `ax` is dark."""
    from matplotlib.colors import to_rgb

    return float(np.dot(to_rgb(ax.get_facecolor()), (0.299, 0.587, 0.114))) < 0.5  # brightness, from 0 to 1


def scale_font_size(size: float) -> float:
    """Return a font size in points, scaled by the ratio of matplotlib's current size to its default of 10 points.

    Args:
        size: Font size in points at matplotlib's default.
    """
    from matplotlib import rcParams

    return float(size * rcParams["font.size"] / 10)


def scale_line_width(width: float) -> float:
    """Return a line width in points, scaled by the ratio of matplotlib's current width to its default of 1.5 points.

    Args:
        width: Line width in points at matplotlib's default.
    """
    from matplotlib import rcParams

    return float(width * rcParams["lines.linewidth"] / 1.5)


DARK_BACKGROUND = "#14171a"
"""Background colour of figures and axes in the style ``dark``."""
DARK_TEXT = "#e8eaed"
"""Colour of text in the style ``dark``."""
DARK_FRAMES = "#9aa0a6"
"""Colour of frames and grid lines in the style ``dark``."""
STYLES: dict[str, dict[Any, Any]] = {
    "paper": {
        "font.size": 9, "lines.linewidth": 1.2, "axes.linewidth": 0.6, "xtick.major.width": 0.6,
        "ytick.major.width": 0.6, "axes.spines.top": False, "axes.spines.right": False,
    },
    "slides": {"font.size": 14, "lines.linewidth": 2.4, "axes.linewidth": 1.2},
    "dark": {
        "figure.facecolor": DARK_BACKGROUND, "axes.facecolor": DARK_BACKGROUND, "savefig.facecolor": "auto",
        "text.color": DARK_TEXT,
        "axes.labelcolor": DARK_TEXT, "axes.titlecolor": DARK_TEXT,
        "xtick.color": DARK_TEXT, "ytick.color": DARK_TEXT,
        "axes.edgecolor": DARK_FRAMES, "grid.color": DARK_FRAMES, "legend.labelcolor": DARK_TEXT,
        "legend.facecolor": DARK_BACKGROUND,
    },
}  # fmt: skip
"""Settings of matplotlib (``rcParams``) by style: small font and thin frames, large font and thick lines, and light on
dark. Another style is refused."""


@contextmanager
def use_style(style: str | None, ax: Axes | None) -> Iterator[None]:
    """Plot in a style while the context is open.

    Args:
        style: ``paper``, ``slides`` or ``dark``; None: matplotlib's current settings.
        ax: Existing axes to repaint in the style; None: new axes will be made.

    Raises:
        ValueError: the style does not exist.
        ImportError: matplotlib is not installed.
    """
    if style is None:
        yield
        return
    if style not in STYLES:
        raise InvalidArgument("style", f"must be one of {', '.join(STYLES)} or None, got {style!r}")
    require_matplotlib()
    from matplotlib import rc_context

    with rc_context(STYLES[style]):
        if ax is not None:
            _repaint(ax, STYLES[style])
        yield


def _repaint(ax: Axes, settings: Mapping[str, Any]) -> None:
    """Apply the frame, background and text colour of a style to existing axes.

    Args:
        ax: The axes; its figure gets the background, too.
        settings: Settings of matplotlib, by name. Without a background, only the frame changes.
    """
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
