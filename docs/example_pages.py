"""A page for each example and one of them all, made when the site is built: what `docs/examples.py` wrote is shown.

Where it wrote nothing, as in a build without `make examples`, pages have code and no pictures, and say so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
from examples import OUT, Example, found

GALLERY = "examples/index.md"
INTRODUCTION = """# Examples

Each of these is one file of plain Python that runs as it stands, and a notebook with what came out. Data is made up by
the file, or comes with a package; nothing is downloaded. The noise of these pictures is seeded, as each of them says,
so that a test can hold them against the pictures that are kept.

<div class="grid cards" markdown>
"""


def on_files(files: Files, config: Any) -> Files:
    """Add pages, pictures and notebooks of all examples."""
    examples = found([])
    files.append(File.generated(config, GALLERY, content=gallery(examples)))
    for example in examples:
        files.append(File.generated(config, f"examples/{example.name}.md", content=page(example)))
        files.append(File.generated(config, f"examples/{example.name}.py", abs_src_path=str(example.path)))
        for name in (f"{example.name}.png", f"{example.name}.small.png", f"{example.name}.ipynb"):
            if (OUT / name).exists():
                files.append(File.generated(config, f"examples/{name}", abs_src_path=str(OUT / name)))
    return files


def gallery(examples: list[Example]) -> str:
    """All examples with their thumbnails."""
    cards = [[_picture(each, ".small"), f"[{each.title}]({each.name}.md)", each.learnt] for each in examples]
    return (
        INTRODUCTION + "\n" + "\n\n".join("- " + "\n\n    ".join(filter(None, card)) for card in cards) + "\n\n</div>\n"
    )


def page(example: Example) -> str:
    """One example: its text, code and picture, what it prints, and what can be downloaded."""
    notebook = OUT / f"{example.name}.ipynb"
    cells = nbformat.read(notebook, 4).cells if notebook.exists() else example.cells.cells
    first, *parts = [part for cell in cells for part in _shown(cell)]
    downloads = [f"[Python file]({example.name}.py)"]
    if notebook.exists():
        downloads.append(f"[notebook with outputs]({notebook.name})")
    picture = _picture(example) or "*Pictures are drawn by `make examples`.*"
    return "\n\n".join([first, picture, *parts, "Download: " + ", ".join(downloads)]) + "\n"


def _shown(cell: Any) -> Iterator[str]:
    """A cell of text; or code, and what it printed."""
    if cell.cell_type == "markdown":
        yield cell.source
        return
    yield f"````python\n{cell.source}\n````"
    printed = "".join(output.text for output in cell.get("outputs", ()) if output.get("name") == "stdout")
    if printed:
        yield f"````text\n{printed.rstrip()}\n````"


def _picture(example: Example, size: str = "") -> str:
    name = f"{example.name}{size}.png"
    return f"![{example.title}]({name})" if (OUT / name).exists() else ""
