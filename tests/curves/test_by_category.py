"""One curve for each declared category: together on a picture, beside each other, in a file."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import answer, both
from matplotlib import pyplot as plt

from dpcurves.curves import CDF, ByCategory, CdfQuestion, Histogram, HistogramQuestion, Summary, SummaryQuestion
from dpcurves.curves.by_category import merge_notes
from dpcurves.data import Categories, Grid
from dpcurves.display import headless_axes
from dpcurves.privacy import PrivacyLoss

DRAW = np.random.default_rng(3)
GRID = Grid(0, 8, cells=32)


def asked(many: int) -> ByCategory[CDF]:
    table = {"x": DRAW.gamma(2, 1, 4000), "ward": np.arange(4000) % many}
    question = CdfQuestion("x", GRID, by=Categories("ward", tuple(range(many))))
    found: ByCategory[CDF] = answer(question, table, PrivacyLoss.pure(1), both(4000)[1], 3)
    return found


def test_few_categories_share_a_picture_with_all_their_bands() -> None:
    ax = asked(4).plot(headless_axes())
    legend = ax.get_legend()
    assert legend is not None
    assert {text.get_text() for text in legend.get_texts()} == {
        "wherever values lie in their cells", "95% band for the population", "95% band for these records",
        *"0123",
    }  # fmt: skip
    assert legend.get_title().get_text() == "ward"
    assert len(ax.lines) == 4


def test_categories_beyond_what_a_legend_holds_have_small_pictures_with_the_same_axes() -> None:
    curves, place = asked(7), headless_axes()
    figure = place.figure
    first = curves.plot(place)
    figure.canvas.figure.draw_without_rendering()
    *small, below = figure.axes
    assert [ax.get_title() for ax in small] == list("0123456")
    assert small[0] is first
    assert {ax.get_xlim() for ax in small} == {first.get_xlim()}
    assert all(len(ax.lines) == 1 and ax.get_legend() is None for ax in small)
    (legend,) = figure.legends
    assert legend.get_title().get_text() == "ward"
    assert [text.get_text() for text in legend.get_texts()] == [
        "wherever values lie in their cells", "95% band for the population", "95% band for these records",
    ]  # fmt: skip
    (claims,) = below.texts
    assert "epsilon 1, replace-one" in claims.get_text()
    assert sum(len(ax.texts) for ax in small) == 0
    assert "SEEDED" in claims.get_text()


def test_without_axes_a_figure_is_made_that_has_room_for_all() -> None:
    first = asked(20).plot(level=None)
    width, height = plt.gcf().get_size_inches()
    assert (width > 10, height > 7) == (True, True)
    assert len(first.patches) == 0
    assert "<svg" in asked(6)._repr_html_()
    plt.close("all")


@pytest.mark.parametrize("many", [2, 6])
def test_curves_come_back_from_json_with_their_categories_and_bands(many: int) -> None:
    curves = asked(many)
    again = ByCategory.from_json(curves.to_json(), CDF)
    assert list(again) == list(range(many))  # numbers, not texts
    assert again.to_json() == curves.to_json()
    assert (again[1].band(0.9)[0] == curves[1].band(0.9)[0]).all()
    assert again.privacy == curves.privacy
    with pytest.raises(ValueError, match=r"^curve.kind: 'histogram' is needed, got 'cdf': pass the text"):
        ByCategory.from_json(curves.to_json(), Histogram)
    with pytest.raises(ValueError, match=r"^curve.kind: 'curves' is needed, got 'cdf': pass the text"):
        ByCategory.from_json(curves[0].to_json(), CDF)
    with pytest.raises(ValueError, match="^curve.evidence.question: "):
        ByCategory.from_json(curves.to_json().replace('"by"', '"of"', 1), CDF)


def test_histograms_by_category_come_back_too() -> None:
    table = {"x": DRAW.gamma(2, 1, 900), "ward": np.where(np.arange(900) % 3, "a", "b")}
    question = HistogramQuestion("x", GRID, by=Categories("ward", ("a", "b")))
    bars = answer(question, table, PrivacyLoss.pure(1), both(900)[0], 3)
    again = ByCategory.from_json(bars.to_json(), Histogram)
    assert (again["b"].unbiased_counts == bars["b"].unbiased_counts).all()


def test_no_category_has_more_records_than_a_public_number_says() -> None:
    """All of 20 records are of one category; a category without records is as good as not known."""
    columns = {"x": np.full(20, 2.5), "g": np.array(["a"] * 20)}
    by = Categories("g", ("a", "b"))
    for seed in range(12):
        for question in (HistogramQuestion("x", Grid(0, 4, cells=4), by=by), SummaryQuestion("x", 0, 4, by=by)):
            loss = PrivacyLoss.pure("0.3")
            for adjacency, most in zip(both(20), (np.inf, 20), strict=True):
                for category in answer(question, columns, loss, adjacency, seed).values():
                    assert np.nanmax(np.append(category.count, 0.0)) <= most
                    for population in (False, True):
                        ends = category.intervals(0.95, population=population)
                        assert (ends[0] if isinstance(category, Summary) else ends).max() <= most
                        assert not isinstance(category, Histogram) or (ends[:, 0] <= ends[:, 1]).all()


def test_notes_of_many_are_told_once() -> None:
    notes = {str(number): (f"{30 + number}% lie above",) for number in range(9)}
    assert merge_notes(notes) == ("30% to 38% lie above",)
    assert merge_notes({**notes, "z": ()}) == ("0, 1, 2, 3, 4, 5 and 3 more: 30% to 38% lie above",)
    assert merge_notes({"a": ("5% lie above",), "b": ("5% lie above", "nearly all")}) == (
        "5% lie above",
        "b: nearly all",
    )
