"""Write ``docs/notation.md``: the terms of ``docs/glossary.toml``, and the first docstring line of each public class.

Usage: python docs/nouns.py
"""

from __future__ import annotations

import inspect
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "notation.md"
GLOSSARY = Path(__file__).parent / "glossary.toml"
HEAD = """# Notation

One term for one idea, the same in code, text, command line, JSON and plots. This page is made from `docs/glossary.toml`
and from the docstrings of public classes. A letter appears in code only inside a short function body that follows a
cited formula; then it is the letter of the source.
"""
ROOMS = (
    "privacy", "data", "models", "queries", "records", "noise", "ledger", "distributions", "conversation", "mechanisms",
    "trust", "summaries", "estimation", "smoothing", "inference", "display", "histograms", "strategies", "curves",
    "dpcurves_engines", "dpcurves_judging", "dpcurves_local",
    "dpcurves_parties.crypto", "dpcurves_parties.pairs", "dpcurves_parties.shares", "dpcurves_server",
    "dpcurves_streams", "dpcurves_streams.distributions", "dpcurves_streams.mechanisms", "dpcurves_survival",
)  # fmt: skip
"""Rooms of the core, and packages beside it by their whole names."""


def module_of(room: str) -> str:
    """The whole name of a room."""
    return room if room.startswith("dpcurves_") else f"dpcurves.{room}"


def nouns(room: str) -> dict[str, str]:
    """The public classes of a room, and the first line of their docstrings."""
    module = import_module(module_of(room))
    classes = {name: getattr(module, name) for name in module.__all__ if inspect.isclass(getattr(module, name))}
    return {name: (inspect.getdoc(kind) or "").partition("\n")[0].replace("|", "\\|") for name, kind in classes.items()}


def read_glossary() -> list[dict[str, Any]]:
    """Return the sections of the glossary, each with a title and its terms."""
    return list(tomllib.loads(GLOSSARY.read_text(encoding="utf-8"))["section"])


def format_section(section: dict[str, Any]) -> str:
    """Return a section of the glossary as a table in Markdown."""
    rows = [
        " | ".join(["", term["term"], term.get("symbol", ""), _definition(term), term.get("source", ""), ""]).strip()
        for term in section["terms"]
    ]
    head = "| term | symbol | definition | source |\n|---|---|---|---|"
    return f"## {section['title']}\n\n{head}\n" + "\n".join(rows) + "\n"


def _definition(term: dict[str, str]) -> str:
    names = ", ".join(f"`{name}`" for name in term.get("code", "").split(", ") if name)
    also = f" Also called: {term['also']}." if "also" in term else ""
    return f"{term['definition']}{also}{f' In code: {names}.' if names else ''}".replace("|", "\\|")


def page() -> str:
    """Return the page of today's glossary and code."""
    terms = "\n".join(format_section(section) for section in read_glossary())
    parts = [f"### {room}\n\n| name | what it is |\n|---|---|\n{_rows(nouns(room))}\n" for room in ROOMS if nouns(room)]
    return f"{HEAD}\n{terms}\n## Public names, module by module\n\n" + "\n".join(parts)


def _rows(found: dict[str, str]) -> str:
    return "\n".join(f"| `{name}` | {line} |" for name, line in sorted(found.items()))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
