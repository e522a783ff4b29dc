"""Figures and axes of pictures. matplotlib is imported here, and only when something is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..arguments import NotInstalled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LANDSCAPE = (5.6, 4.0)
SQUARE = (4.8, 5.4)
NO_MATPLOTLIB = "matplotlib is needed for pictures: pip install 'dpcurves[plot]'"


def canvas(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """`ax`, or the axes of a new pyplot figure of `size` inches.

    Raises:
        ImportError: matplotlib is not installed.
    """
    if ax is not None:
        return ax
    _require_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def headless_axes(size: tuple[float, float] = LANDSCAPE) -> Axes:
    """The axes of a figure for files and pages, which opens no window and does not touch the state of pyplot.

    Raises:
        ImportError: matplotlib is not installed.
    """
    _require_matplotlib()
    from matplotlib.figure import Figure

    axes: Axes = Figure(figsize=size, layout="constrained").subplots()
    return axes


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise NotInstalled("plot", NO_MATPLOTLIB) from None
