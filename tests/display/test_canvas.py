"""Where pictures are drawn, and what is said where they cannot be."""

from __future__ import annotations

import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from dpcurves.display import SQUARE, headless_axes
from dpcurves.display.canvas import LANDSCAPE, prepare_axes

mpl.use("Agg")


def test_axes_that_are_given_are_used() -> None:
    ax = headless_axes()
    assert prepare_axes(ax, SQUARE) is ax


def test_without_axes_a_pyplot_figure_is_made() -> None:
    ax = prepare_axes(None, LANDSCAPE)
    assert plt.gcf() is ax.figure
    assert tuple(plt.gcf().get_size_inches()) == LANDSCAPE
    plt.close("all")


def test_headless_axes_leave_pyplot_alone() -> None:
    plt.close("all")
    headless_axes(SQUARE)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("make", [headless_axes, lambda: prepare_axes(None, SQUARE)])
def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, make: object) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"^plot: .* pip install 'dpcurves\[plot\]'$"):
        make()  # type: ignore[operator]


def test_a_curve_that_cannot_be_drawn_says_what_to_install_in_one_line() -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
from dpcurves.display import draw_cdf
from dpcurves.conversation import PrivacyStatement
try:
    draw_cdf([0, 1], [0, 1], PrivacyStatement(1.0, 0.5, "replace-one", "", 1, 9, "a", "b", False, "c"), label="x")
except ImportError as missing:
    print(missing)
"""
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert said == "plot: matplotlib is needed for pictures: pip install 'dpcurves[plot]'\n"
