"""Where pictures are drawn, and what is said where they cannot be."""

from __future__ import annotations

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from dpcurves.display import SQUARE, headless_axes
from dpcurves.display.canvas import LANDSCAPE, canvas

mpl.use("Agg")


def test_axes_that_are_given_are_used() -> None:
    ax = headless_axes()
    assert canvas(ax, SQUARE) is ax


def test_without_axes_a_pyplot_figure_is_made() -> None:
    ax = canvas(None, LANDSCAPE)
    assert plt.gcf() is ax.figure
    assert tuple(plt.gcf().get_size_inches()) == LANDSCAPE
    plt.close("all")


def test_headless_axes_leave_pyplot_alone() -> None:
    plt.close("all")
    headless_axes(SQUARE)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("make", [headless_axes, lambda: canvas(None, SQUARE)])
def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, make: object) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"install dpcurves\[plot\]"):
        make()  # type: ignore[operator]
