"""Grids and privacy losses show themselves as summaries: in notebooks as HTML, in terminals with rich as a table."""

from __future__ import annotations

import re
from html import unescape
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

import dpcurves as dp

APART = dp.Outside.APART


def shown_facts(thing: Any) -> dict[str, str]:
    """The rows of the summary of a notebook, each of which a terminal shows, too."""
    rows = re.findall(r'<tr><th scope="row">(.*?)</th><td>(.*?)</td></tr>', thing._repr_html_())
    facts = {unescape(name): unescape(text) for name, text in rows}
    file = StringIO()
    Console(file=file, width=200).print(thing)
    assert all(name in file.getvalue() and text in file.getvalue() for name, text in facts.items())
    return facts


@pytest.mark.parametrize(
    ("grid", "cells", "limits", "width"),
    [
        (dp.Grid(0, 120, width=5), "24", "0 to 120", {"width of a cell": "5"}),
        (dp.Grid(-1e6, 1e6, cells=2**20, outside=APART), "1,048,576", "-1,000,000 to 1,000,000", {}),
        (dp.Grid.geometric(1, 1000, cells=3), "3", "1 to 1,000", {"widths of cells": "9 to 900"}),
        (dp.Grid.from_edges([0, 1, 5]), "2", "0 to 5", {"widths of cells": "1 to 4"}),
        (dp.Grid.from_edges([0, 0.1, 0.2, 0.3]), "3", "0 to 0.3", {"width of a cell": "0.1"}),
    ],
)
def test_the_summary_of_a_grid_has_cells_range_and_widths(
    grid: dp.Grid, cells: str, limits: str, width: dict[str, str]
) -> None:
    facts = shown_facts(grid)
    assert facts["cells"] == cells
    assert facts["range"] == limits
    assert facts.items() >= width.items()
    assert ("own" in facts["values outside"]) == (grid.outside is APART)


@pytest.mark.parametrize(
    ("loss", "facts"),
    [
        (dp.PrivacyLoss.pure(1), {"loss": "epsilon 1", "meaning": "no outcome becomes more than 2.72 times as likely"}),
        (dp.PrivacyLoss.pure("0.5", "1e-6"), {"loss": "epsilon 0.5, delta 1e-06", "exception": "more may be lost"}),
        (dp.PrivacyLoss.pure(10**4), {"loss": "epsilon 10000", "meaning": "more than e to the power 10000 times"}),
        (dp.PrivacyLoss.zcdp("0.1"), {"loss": "rho 0.1", "epsilon at delta 0.000001": "2.1"}),
        (dp.PrivacyLoss.zcdp("0.1", "1e-9"), {"loss": "rho 0.1, delta 1e-09", "exception": "more may be lost"}),
    ],
)
def test_the_summary_of_a_loss_says_what_it_means(loss: dp.PrivacyLoss, facts: dict[str, str]) -> None:
    shown = shown_facts(loss)
    assert all(text in shown[name] for name, text in facts.items()), shown
    assert ("exception" in shown) == bool(loss.delta)


@pytest.mark.parametrize(
    ("thing", "facts"),
    [
        (dp.Categories("ward", tuple(range(13))), {"column": "ward", "number": "13", "categories": "10, 11, ..."}),
        (dp.Unit("patient", 5), {"column": "patient", "records of a unit that are used": "at most 5"}),
        (
            dp.CdfQuestion("age", dp.Grid(0, 90, cells=9), by=dp.Categories("sex", ("F", "M")), where="age > 5"),
            {"question": "distribution function of age by sex, where age > 5", "column": "age", "where": "age > 5"},
        ),
        (dp.SurvivalQuestion("t", "died", dp.Grid(0, 9, cells=9)), {"question": "survival over t until died"}),
    ],
    ids=["categories", "unit", "question", "field"],
)
def test_the_summary_of_a_question_and_of_its_parts_has_what_was_stated(thing: Any, facts: dict[str, str]) -> None:
    """Stated fields stand in the summary, defaults do not."""
    shown = shown_facts(thing)
    assert all(text in shown[name] for name, text in facts.items()), shown
    assert "hint" not in shown
