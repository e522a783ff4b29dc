"""A page for each example, and one of them all: what `docs/examples.py` wrote is shown.

Where it wrote nothing, as in a build without `make examples`, pages have code and no pictures, and say so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import nbformat

sys.path.insert(0, str(Path(__file__).parent))
from examples import OUT, PNG, Example

GALLERY = "examples/index.md"
INTRODUCTION = """# Examples

Each of these is one file of plain Python that runs as it stands, and a notebook with what came out. Data is made up by
the file, or comes with a package; nothing is downloaded. The noise of these pictures is seeded, as each of them says,
so that a test can hold them against the pictures that are kept.
"""
SECTIONS = {"Five notebooks, to be read": True, "One thing each": False}
"""Headings, and whether long notebooks stand below."""
FIRST = (
    "distribution_function", "quantiles", "histogram", "by_category", "mean", "survival", "survival_numbers",
    "roc_curve", "calibration_curve", "residual_plot", "two_curves", "contingency", "heat_map",
)  # fmt: skip
"""What newcomers look for; the others follow by name."""


def pages(examples: list[Example]) -> dict[str, str]:
    """The text of each page, by its place."""
    return {GALLERY: gallery(examples)} | {f"examples/{example.name}.md": page(example) for example in examples}


def beside(examples: list[Example]) -> dict[str, Path]:
    """The files that the pages show, or lead to, by their places: pictures, notebooks, and the examples themselves."""
    own = {f"examples/{example.name}.py": example.path for example in examples}
    return own | {f"examples/{path.name}": path for example in examples for path in written(example)}


def written(example: Example) -> list[Path]:
    """Its notebook, its thumbnail and its pictures: those that are there."""
    named = [f"{example.name}.ipynb", f"{example.name}.small.png", *(f"{each}.png" for each in example.drawn(OUT))]
    return [OUT / name for name in named if (OUT / name).exists()]


def gallery(examples: list[Example]) -> str:
    """All examples with their thumbnails: the long ones first."""
    parts = [INTRODUCTION]
    for heading, long in SECTIONS.items():
        cards = "\n\n".join(_card(each) for each in sorted(examples, key=_place) if each.is_long is long)
        parts.append(f'## {heading}\n\n<div class="grid cards" markdown>\n\n{cards}\n\n</div>\n')
    return "\n".join(parts)


def page(example: Example) -> str:
    """One example: its text and code, what it prints and draws, and what can be downloaded."""
    notebook = OUT / f"{example.name}.ipynb"
    cells = nbformat.read(notebook, 4).cells if notebook.exists() else example.cells.cells
    drawn = (example.picture(number) for number in count(1))
    parts = [part for cell in cells for part in _shown(example, cell, drawn)]
    downloads = [f"[Python file]({example.name}.py)"]
    if notebook.exists():
        downloads.append(f"[notebook with outputs]({notebook.name})")
    else:
        parts.append("*Pictures are drawn by `make examples`.*")
    return "\n\n".join([*parts, "Download: " + ", ".join(downloads)]) + "\n"


def _place(example: Example) -> tuple[int, str]:
    return FIRST.index(example.name) if example.name in FIRST else len(FIRST), example.name


def _card(example: Example) -> str:
    """A thumbnail, a title that leads to the page, and what is learnt."""
    parts = [_picture(example, f"{example.name}.small"), f"[{example.title}]({example.name}.md)", example.learnt]
    return "- " + "\n\n    ".join(filter(None, parts))


def _shown(example: Example, cell: Any, drawn: Iterator[str]) -> Iterator[str]:
    """A cell of text; or code, what it printed, and its pictures."""
    if cell.cell_type == "markdown":
        yield cell.source
        return
    yield f"````python\n{cell.source}\n````"
    outputs = cell.get("outputs", ())
    printed = "".join(output.text for output in outputs if output.get("name") == "stdout")
    if printed:
        yield f"````text\n{printed.rstrip()}\n````"
    yield from (_picture(example, next(drawn)) for output in outputs if PNG in output.get("data", {}))


def _picture(example: Example, name: str) -> str:
    return f"![{example.title}]({name}.png)" if (OUT / f"{name}.png").exists() else ""
