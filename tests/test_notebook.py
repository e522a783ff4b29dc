"""A notebook can ask, with and without widgets: DuckDB refuses some settings there."""

from __future__ import annotations

import nbformat
from nbclient import NotebookClient

CELL = """
import dpcurves as dp
print(dp.histogram([1, 1, 2] * 100, grid=dp.Grid(0, 4, cells=4), epsilon=1, adjacency=dp.REPLACE_ONE).count.size)
"""


def test_a_question_is_answered_in_a_notebook() -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    NotebookClient(book, timeout=120, kernel_name="python3").execute()
    assert [output["text"] for output in book.cells[0].outputs] == ["4\n"]
