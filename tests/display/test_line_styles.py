"""Colours, dashes and legends."""

from __future__ import annotations

import numpy as np

from dpcurves.conversation import PrivacyStatement
from dpcurves.display import draw_cdf, headless_axes
from dpcurves.display.canvas import next_style

PRIVACY = PrivacyStatement(1.0, 0.5, "replace-one", "", 1, 9, "one curator", "flat", False, "a")
LINE = np.linspace(0.0, 1.0, 5)


def test_curves_on_one_picture_differ_in_colour_and_dash() -> None:
    ax = headless_axes()
    styles = []
    for name in "ABCD":
        styles.append(next_style(ax))
        draw_cdf(LINE, LINE, PRIVACY, label="x", ax=ax, name=name)
    assert len({style.color for style in styles}) == len({style.dash for style in styles}) == 4
    assert [line.get_color() for line in ax.lines] == [style.color for style in styles]


def test_no_two_of_the_first_28_curves_look_the_same() -> None:
    ax = headless_axes()
    styles = []
    for _ in range(28):
        styles.append(next_style(ax))
        draw_cdf(LINE, LINE, PRIVACY, label="x", ax=ax)
    assert len(set(styles)) == 28


def test_a_curve_without_a_name_needs_no_legend() -> None:
    assert draw_cdf(LINE, LINE, PRIVACY, label="x", ax=headless_axes()).get_legend() is None


def test_legends_keep_odd_names_as_they_are() -> None:
    ax = headless_axes()
    for name in ("_hidden", "$x_{$"):
        draw_cdf(LINE, LINE, PRIVACY, label="x", ax=ax, name=name)
    ax.figure.canvas.figure.draw_without_rendering()
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text().strip() for text in legend.get_texts()] == ["_hidden", "$x_{$"]
