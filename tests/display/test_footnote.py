"""The footer on a picture stays clear of all else, and speaks of every curve."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpcurves.conversation import PrivacyStatement
from dpcurves.display import (
    LANDSCAPE,
    SEEDED_STATEMENT,
    SQUARE,
    draw_calibration,
    draw_cdf,
    draw_roc,
    footer,
    headless_axes,
)
from dpcurves.display.artists import WARNING, Footnote

mpl.use("Agg")
PRIVACY = PrivacyStatement(
    0.5, 0.125, "add-remove", "tailnum", 5, None, "one curator who holds all records", "flat", False, "a"
)
LONG = replace(
    PRIVACY, seeded=True, model="fitted on other aircraft; covers the evaluation records only, and is public"
)
LINE = np.linspace(0.0, 1.0, 5)


def note_of(ax: Axes) -> Footnote:
    note = Footnote.from_axes(ax)
    assert note is not None
    return note


def drawn(kind: str, ax: Axes, privacy: PrivacyStatement = LONG, name: str | None = None) -> Axes:
    if kind == "cdf":
        return draw_cdf(LINE, LINE, privacy, label="delay (minutes)", ax=ax, name=name)
    if kind == "roc":
        return draw_roc(LINE, LINE, 0.5, privacy, ax=ax, name=name)
    return draw_calibration(LINE, LINE, 100 * LINE, privacy, ax=ax, name=name)


def assert_clear(ax: Axes) -> None:
    """The footnote hangs below the label, and inside the figure."""
    figure = ax.figure
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    note, label = note_of(ax).get_window_extent(), ax.xaxis.label.get_window_extent()
    assert note.y1 < label.y0
    assert note.x0 >= 0
    assert note.x1 <= figure.bbox.width
    assert note.y0 >= 0


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("kind", ["cdf", "roc", "calibration"])
@pytest.mark.parametrize("size", [LANDSCAPE, SQUARE, (6.4, 4.8), (3.6, 3.2)])
def test_the_footnote_is_clear_of_the_label_and_inside(kind: str, size: tuple[float, float]) -> None:
    assert_clear(drawn(kind, headless_axes(size)))


@pytest.mark.parametrize("kind", ["cdf", "roc", "calibration"])
def test_axes_without_a_layout_engine_make_room_within_their_place(kind: str) -> None:
    figure, ax = plt.subplots()
    before = ax.get_position(original=True)
    assert_clear(drawn(kind, ax))
    after = ax.get_position(original=True)
    assert after.y0 > before.y0
    assert (after.x0, after.x1, after.y1) == pytest.approx((before.x0, before.x1, before.y1))
    plt.close(figure)


def test_axes_with_a_layout_engine_keep_their_subplot() -> None:
    ax = drawn("cdf", headless_axes())
    assert ax.get_in_layout()


def test_all_facts_are_on_the_picture() -> None:
    text = note_of(drawn("cdf", headless_axes())).get_text()
    assert " ".join(text.split()) == " ".join(footer(LONG).split())
    assert SEEDED_STATEMENT in text


def test_a_seeded_picture_wears_the_colour_of_warnings() -> None:
    assert note_of(drawn("cdf", headless_axes())).get_color() == WARNING
    assert note_of(drawn("cdf", headless_axes(), PRIVACY)).get_color() != WARNING


def test_one_claim_for_many_curves_is_written_once() -> None:
    ax = headless_axes()
    for name in "ABC":
        drawn("cdf", ax, PRIVACY, name)
    assert " ".join(note_of(ax).get_text().split()) == footer(PRIVACY)


def test_claims_that_differ_say_whose_they_are() -> None:
    ax = headless_axes()
    for name, privacy in (("A", PRIVACY), ("B", LONG), ("C", PRIVACY)):
        drawn("cdf", ax, privacy, name)
    text = " ".join(note_of(ax).get_text().split())
    assert text.startswith(f"A, C: {footer(PRIVACY)} B: ")
    assert SEEDED_STATEMENT in text
    assert_clear(ax)


def test_dollar_signs_are_no_mathematics() -> None:
    ax = drawn("cdf", headless_axes(), replace(PRIVACY, unit="$x_{$"))
    ax.figure.canvas.figure.draw_without_rendering()
    assert "$x_{$" in note_of(ax).get_text()


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize(
    "unit", ["東京都千代田区霞が関一丁目の住民登録者数", "WWWW MMMM @@@@ " * 2], ids=["wide", "capitals"]
)
def test_lines_of_wide_letters_end_within_the_figure_on_any_axes(unit: str) -> None:
    wide = replace(LONG, unit=unit, model=unit)
    figure, narrow = plt.subplots(figsize=(3.6, 3.2))
    assert_clear(drawn("cdf", headless_axes((3.6, 3.2)), wide))
    drawn("cdf", narrow, wide)
    assert note_of(narrow).get_window_extent().x1 <= figure.bbox.width
    plt.close(figure)
