"""The gallery: short files that show one thing each, long notebooks, and every question of the package in them."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import example_pages
import examples
import kernels
import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from PIL import Image

import dpcurves as dp

EVERY = examples.found([])
LONGEST = 60
TEXT = "\n".join(example.path.read_text(encoding="utf-8") for example in EVERY)
WORDS = {
    "zCDP": "PrivacyLoss.zcdp", "a budget that runs out": "BudgetExceeded", "bounded units": "rows_per_unit",
    "by category": "Categories", "hints": "hint=", "DuckDB": "duckdb", "Polars": "polars", "pandas": "pandas",
    "Parquet": "parquet", "a ledger in PostgreSQL": "pgserver", "two servers": "aggregator --party",
    "scikit-learn": "make_pipeline", "DAWA": "DawaEstimator", "HB": "HierarchyEstimator", "R": "jsonlite",
    "JavaScript": "JSON.parse", "a report page": "display.render_report", "two curves": "ks_test",
    "resuming": "request=", "a calibration study": "CalibrationQuestion",
}  # fmt: skip
"""What a newcomer looks for, and a word that stands where it is shown."""


def questions() -> list[str]:
    """What can be asked, but for what other questions are made of."""
    return sorted(name for name in dp.__all__ if name.endswith("Question") and name != "Question")


def asked(question: str) -> bool:
    """Whether an example asks it: by its own name, or by a function of one call."""
    stem = re.sub(r"(?<!^)(?=[A-Z])", "_", question.removesuffix("Question")).lower()
    calls = {name for name in dp.__all__ if name.startswith(stem)}
    return any(re.search(rf"\bdp\.{name}\b", TEXT) for name in {question, *calls})


def test_every_question_has_an_example() -> None:
    assert [question for question in questions() if not asked(question)] == []
    assert len(EVERY) >= 24 + 3


@pytest.mark.parametrize("topic", WORDS)
def test_a_newcomer_finds(topic: str) -> None:
    assert WORDS[topic] in TEXT


@pytest.mark.parametrize("example", EVERY, ids=lambda example: example.name)
def test_an_example_has_a_title_says_what_is_learnt_is_short_and_keeps_its_pictures(example: examples.Example) -> None:
    assert example.path.read_text(encoding="utf-8").startswith("# %% [markdown]\n# # ")
    assert 40 < len(example.learnt) < 260
    assert example.is_long or example.lines <= LONGEST
    assert example.drawn(examples.KEPT)[0] == example.name
    parts = [cell.cell_type for cell in example.cells.cells]
    assert not example.is_long or parts.count("markdown") >= 8  # prose between code


def test_kept_pictures_belong_to_examples() -> None:
    belong = {name for example in EVERY for name in example.drawn(examples.KEPT)}
    assert {path.stem for path in examples.KEPT.iterdir()} == belong


def test_a_picture_that_changed_fails_and_both_are_laid_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OUT", "KEPT"):
        monkeypatch.setattr(examples, name, tmp_path / name)
        (tmp_path / name).mkdir()
    before, after = (Image.new("RGB", (800, 600), colour) for colour in ("white", "navy"))
    assert "no picture is kept" in examples.compared("one", before, keep=False)
    assert examples.compared("one", before, keep=True) == ""
    assert examples.compared("one", before, keep=False) == ""
    assert "one.unlike.png" in examples.compared("one", after, keep=False)
    with Image.open(tmp_path / "OUT" / "one.unlike.png") as both:
        assert both.size == (800, 300)
        assert both.getpixel((10, 150)) == (255, 255, 255)
        assert both.getpixel((790, 150)) == (0, 0, 128)


def test_an_example_that_shows_a_folder_of_the_machine_is_told(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell("tell()")
    book = nbformat.v4.new_notebook(cells=[cell])
    for shown, told in (("a/b", False), (str(tmp_path / "a"), True)):
        cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=shown)]
        assert examples.tells(book) is told


def shown(folder: Path, *cells: str) -> list[str]:
    """What these cells print, in one process."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(book, timeout=120, kernel_name="python3", resources=resources).execute()
    return ["".join(output.get("text", "") for output in cell.outputs) for cell in book.cells]


@pytest.mark.reproduction
@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")
def test_copies_are_processes_of_their_own_with_nothing_of_another(tmp_path: Path) -> None:
    mark = "import os, random, sys, numpy as np\nprint('left' in globals(), hasattr(np, 'left'), 'LEFT' in os.environ)"
    drawn = "left = np.left = os.environ['LEFT'] = 'a word'\nprint(os.getpid(), random.random(), np.random.random())"
    place = "print(os.getcwd(), [path for path in sys.path if path.endswith('docs')], os.getsid(0) == os.getpid())"
    with kernels.copied():
        found = [shown(tmp_path, mark, drawn, place) for _ in range(2)]
        ended = [int(each[1].split()[0]) for each in found]
    assert [each[0] for each in found] == ["False False False\n"] * 2
    assert all(one != other for one, other in zip(*(each[1].split() for each in found), strict=True))
    assert [each[2] for each in found] == [f"{tmp_path} [] True\n"] * 2
    assert not any(Path(f"/proc/{number}").exists() for number in ended)
    for number in ended:
        kernels.Copy(number).send_signal(signal.SIGTERM)  # as a manager does whose kernel ends just then


@pytest.mark.reproduction
@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")
def test_a_copy_ends_after_its_threads_and_what_was_registered(tmp_path: Path) -> None:
    thread = "import pathlib, threading, time\ndef last():\n    time.sleep(1)\n    pathlib.Path('thread').touch()\n"
    begun = f"{thread}threading.Thread(target=last).start()"
    registered = "import atexit\natexit.register(lambda: pathlib.Path('registered').touch(exist_ok=False))"
    with kernels.copied():
        shown(tmp_path, begun, registered)
    assert {path.name for path in tmp_path.iterdir()} == {"thread", "registered"}


@pytest.mark.reproduction
@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")
def test_a_copy_draws_and_prints_what_a_fresh_process_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "OUT", tmp_path)
    (example,) = examples.found(["by_category"])
    with kernels.copied():
        copied = example.run()
    fresh = examples.Example(example.path).run()
    assert [cell.get("outputs") for cell in copied.cells] == [cell.get("outputs") for cell in fresh.cells]


def test_a_page_shows_what_came_out_where_it_came_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "two.py").write_text(
        "# %% [markdown]\n# # Two\n# Both are drawn.\n#\n# And more.\n\n# %%\n1 + 1\n", "utf-8"
    )
    two = examples.Example(tmp_path / "two.py")
    for room in (examples, example_pages):
        monkeypatch.setattr(room, "OUT", tmp_path)
    assert "make examples" in example_pages.page(two)
    assert (two.title, two.learnt) == ("Two", "Both are drawn.")
    drawn = nbformat.v4.new_output("display_data", {"image/png": "", "text/plain": ""})
    said = nbformat.v4.new_output("stream", name="stdout", text="said\n")
    book = nbformat.v4.new_notebook(
        cells=[two.cells.cells[0], *(nbformat.v4.new_code_cell(code, outputs=[said, drawn]) for code in "ab")]
    )
    nbformat.write(book, tmp_path / "two.ipynb")
    for name in ("two.png", "two-2.png", "two.small.png", "twofold.png"):
        (tmp_path / name).touch()
    page = example_pages.page(two)
    places = [page.index(part) for part in ("\na\n", "said", "two.png", "\nb\n", "two-2.png", "two.ipynb")]
    assert places == sorted(places)
    assert {path.name for path in example_pages.written(two)} == {"two.ipynb", "two.png", "two-2.png", "two.small.png"}
    assert example_pages.gallery([two]).count("](two.md)") == 1


def told_elsewhere(language: str, folder: Path) -> tuple[str, dp.CDF]:
    """The lines of another language in the example, and the curve that lies where they read it."""
    (example,) = examples.found(["json_elsewhere"])
    text = "\n".join(cell.source for cell in example.cells.cells)
    (code,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    values, grid = np.arange(1000) % 100, dp.Grid(0, 100, cells=100)
    curve = dp.cdf(values, grid=grid, epsilon=1, adjacency=dp.ADD_REMOVE, label="age")
    (folder / "age.json").write_text(curve.to_json(), "utf-8")
    return code, curve


def test_the_lines_of_javascript_read_what_was_released(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: the lines of JavaScript are not run")
    code, curve = told_elsewhere("javascript", tmp_path)
    program = f'const fs = require("fs");\n{code}console.log(JSON.stringify(median));'
    done = subprocess.run([node, "-e", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == curve.x[np.argmax(curve.y >= 0.5)]


def test_the_lines_of_r_read_and_draw_what_was_released(tmp_path: Path) -> None:
    rscript = shutil.which("Rscript")
    asked = [str(rscript), "-e", "library(jsonlite)"]
    if rscript is None or subprocess.run(asked, check=False, capture_output=True).returncode:
        pytest.skip("R with jsonlite is not installed: the lines of R are not run")
    code, curve = told_elsewhere("r", tmp_path)
    program = f'pdf("age.pdf")\n{code}cat(jsonlite::toJSON(curve[c("x", "y")], digits = NA))'
    done = subprocess.run([rscript, "-e", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    read = json.loads(done.stdout)
    np.testing.assert_allclose([read["x"], read["y"]], [curve.x, curve.y], rtol=1e-12)
    assert (tmp_path / "age.pdf").stat().st_size > 1000


def test_shown_names_are_public() -> None:
    shown = set(re.findall(r"\bdp\.([A-Za-z_]\w*)", TEXT))
    assert sorted(name for name in shown if not hasattr(dp, name)) == []


@pytest.mark.parametrize("example", EVERY, ids=lambda example: example.name)
def test_each_axes_that_an_example_makes_has_a_title(example: Any) -> None:
    """A picture is seen alone, too; a plot into given axes, or of a named curve, leaves the title to its caller."""
    source = example.path.read_text(encoding="utf-8")
    if re.search(r"plt\.subplots|plot\([^)\n]*name=", source):
        assert re.search(r"\.set_title\(|\btitle=f?\"", source)
