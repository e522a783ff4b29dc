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

Each is one file of plain Python that runs as it stands, and a notebook with its outputs. Data is made up by the file,
or comes with a package. The noise of these pictures is seeded, as each of them says, so that a test can hold them
against the pictures that are kept.
"""
TASKS: dict[str, tuple[str, ...]] = {
    "How a number is distributed": (
        "distribution_function", "quantiles", "histogram", "by_category", "two_curves", "drift", "gini", "methods",
        "hints",
    ),
    "Counts, means and tables": (
        "bar_chart", "mean", "contingency", "heat_map", "survey_weights", "bounds", "bounded_units", "estimators",
    ),
    "Time until an event": (
        "survival", "survival_numbers", "cumulative_hazard", "competing_risks", "delayed_entry", "interval_censoring",
        "survival_model",
    ),
    "Judge a model": (
        "roc_curve", "precision_recall", "calibration_curve", "hosmer_lemeshow", "binned_residuals", "residual_plot",
        "two_models", "model_comparison", "groups_of_a_model", "multiclass", "ordinal_classes", "uplift",
        "quantile_forecasts", "pairwise_scorer", "area_alone", "model_as_numbers", "scikit_learn", "verification",
    ),
    "Budgets, files and reports": (
        "budget_runs_out", "zcdp", "resuming", "sources", "postgres_ledger", "json_elsewhere", "report_page",
        "synthetic_beside_private", "mistakes",
    ),
    "Streams, and nobody to trust": ("stream", "sites", "two_servers", "people_at_home", "pairs"),
}  # fmt: skip
"""Names of examples by task, in the order in which they are shown."""
NOTEBOOKS = "Notebooks to be read"


def pages(examples: list[Example]) -> dict[str, str]:
    """The text of each page, by its place."""
    return {GALLERY: gallery(examples)} | {f"examples/{example.name}.md": page(example) for example in examples}


def group_by_task(examples: list[Example]) -> dict[str, list[Example]]:
    """Return the examples of each task in the order in which they are shown; those of no task stand among the last."""
    short = {each.name: each for each in examples if not each.is_long}
    other = tuple(name for name in sorted(short) if name not in {each for names in TASKS.values() for each in names})
    groups = {task: [short[name] for name in names if name in short] for task, names in TASKS.items()}
    groups[list(TASKS)[-1]] += [short[name] for name in other]
    groups[NOTEBOOKS] = [each for each in examples if each.is_long]
    return {task: group for task, group in groups.items() if group}


def contents(examples: list[Example]) -> list[Any]:
    """Return the part of the table of contents with the gallery and each example, so that all have menus and arrows."""
    groups = group_by_task(examples).items()
    return [
        GALLERY, *({task: [{each.title: f"examples/{each.name}.md"} for each in group]} for task, group in groups)
    ]  # fmt: skip


def beside(examples: list[Example]) -> dict[str, Path]:
    """The files that the pages show, or lead to, by their places: pictures, notebooks, and the examples themselves."""
    own = {f"examples/{example.name}.py": example.path for example in examples}
    return own | {f"examples/{path.name}": path for example in examples for path in written(example)}


def written(example: Example) -> list[Path]:
    """Its notebook, its thumbnail and its pictures: those that are there."""
    named = [f"{example.name}.ipynb", f"{example.name}.small.png", *(f"{each}.png" for each in example.drawn(OUT))]
    return [OUT / name for name in named if (OUT / name).exists()]


def gallery(examples: list[Example]) -> str:
    """Return the page of all examples with their thumbnails, by task."""
    parts = [INTRODUCTION]
    for task, own in group_by_task(examples).items():
        cards = "\n\n".join(map(_card, own))
        parts.append(f'## {task}\n\n<div class="grid cards examples" markdown>\n\n{cards}\n\n</div>\n')
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


def _card(example: Example) -> str:
    """A thumbnail, and a title that leads to the page; of a notebook what is learnt, too."""
    learnt = example.learnt if example.is_long else ""
    parts = [_picture(example, f"{example.name}.small"), f"[{example.title}]({example.name}.md)", learnt]
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
