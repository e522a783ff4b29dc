"""Every output of a result whose labels are the 40 hostile names, for sweeps over what makes results."""

from __future__ import annotations

import csv
import re
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_hostile_names import NAMES, Texts, read_printed_table, require_publication, require_workbook

from dpcurves import display
from dpcurves.cli.output import IntervalSettings
from dpcurves.cli.released import SavedResultView
from dpcurves.curves.result import result_from_json

EXPECTED = {name: number + 1 for number, name in enumerate(NAMES)}
"""The n-th label is in n rows."""
LABELS = [name for name, rows in EXPECTED.items() for _ in range(rows)]
DRAWN = [name for name in NAMES if name.isprintable() and name == name.strip() != "" and len(name) < 30]
"""Names that pages show as they are: not cut, and without signs that cannot be seen."""


def require_tables(found: Any, column: str, folder: Path) -> None:
    """Look for all labels, and the column, in JSON, CSV, data frame, Parquet, workbook and on the terminal."""
    for result in (found, result_from_json(found.to_json())):
        head, *rows = csv.reader(StringIO(result.to_csv_text(), newline=""), strict=True)
        require_column(display.unescape_formula(head[0]), column)
        place = head.index("count" if "count" in head else "value")
        counts = {display.unescape_formula(row[0]): float(row[place]) for row in rows}
        assert {name: counts.pop(name) for name in NAMES} == pytest.approx(EXPECTED, abs=0.4)
        assert set(counts) <= {"other"}  # of a bar chart
    frame = display.frame_columns(found.to_frame())
    pq.write_table(pa.table({name: pa.array(list(cells)) for name, cells in frame.items()}), folder / "t.parquet")
    for columns in (frame, pq.read_table(folder / "t.parquet").to_pydict()):
        name, labels = next(iter(columns.items()))
        require_column(name, column)
        assert list(labels)[: len(NAMES)] == list(NAMES)
    require_workbook(found, found, {})
    for shown in SavedResultView(IntervalSettings(0.95, True)).tables(found):
        heads, cells = read_printed_table(shown)
        assert "" not in heads
        assert len(set(heads)) == len(heads)
        assert len(set(cells[0])) == len(cells[0]) >= len(NAMES)


def require_column(name: str, column: str) -> None:
    """Check that a table has the name of a column, to which a word may be added where it is one of ours."""
    assert name.startswith(column)
    assert re.fullmatch(r"(_category(_\d+)?)?", name.removeprefix(column))


def require_pictures(found: Any, folder: Path) -> None:
    """Look for labels in the picture, on the page and in the files of `publish`; no label is markup there."""
    svg = display.svg_text(found.plot_headless())
    page = Texts(display.render_report("title", "words", [found.render_html(svg)], ()))
    assert not {"b", "script"} & page.tags
    for texts in ({each.text or "" for each in ElementTree.fromstring(svg).iter("text")}, set(page.texts)):
        # where some names look alike, all have numbers
        assert set(DRAWN) <= {re.sub(r"^\d+: ", "", " ".join(text.split())) for text in texts}
    require_publication(found, folder / "published")
