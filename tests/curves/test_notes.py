from __future__ import annotations

import warnings

import matplotlib as mpl
import pytest

import dpcurves as dp
from dpcurves.curves.result import Result

mpl.use("Agg")
GRID = dp.Grid(0, 10, cells=8)
WORDS = ["yes", "no"] * 500


def text_as_numbers() -> dp.CDF:
    with pytest.warns(dp.CurveWarning):
        return dp.cdf(WORDS, grid=GRID, epsilon=1, adjacency=dp.REPLACE_ONE, label="answer")


def test_a_note_is_a_warning_at_the_line_that_asked() -> None:
    with pytest.warns(dp.CurveWarning, match="nearly all records are missing") as told:
        dp.cdf(WORDS, grid=GRID, epsilon=1, adjacency=dp.REPLACE_ONE)
    assert [warning.filename for warning in told] == [__file__]


def test_a_note_stands_on_the_curve_its_picture_its_card_and_its_file() -> None:
    curve = text_as_numbers()
    (note,) = curve.notes
    footnote = " ".join(text.get_text() for text in curve.plot().texts).replace("\n", " ")
    assert f"Note: {note[:60]}" in footnote
    assert note[:60] in curve._repr_html_()
    assert dp.CDF.from_json(curve.to_json()).notes == (note,)


def test_what_is_well_has_no_note() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve = dp.cdf([1.0, 5.0, 7.0] * 500, grid=GRID, epsilon=1, adjacency=dp.REPLACE_ONE)
    assert curve.notes == ()


def test_every_result_prints_as_one_short_line() -> None:
    curve = dp.cdf([1.0, 5.0] * 500, grid=dp.Grid(0, 10, cells=4096), epsilon=1, adjacency=dp.REPLACE_ONE)
    assert repr(curve) == "CDF(value, 4096 cells, epsilon 1, replace-one)"
    assert all("__repr__" not in kind.__dict__ for kind in Result.__subclasses__())
