"""Write the list of public nouns into ``docs/notation.md``: the first line of what each class says of itself.

Usage: python docs/nouns.py
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

PAGE = Path(__file__).parent / "notation.md"
BEGIN = "<!-- the list below is written by docs/nouns.py -->\n"
ROOMS = (
    "privacy", "data", "models", "queries", "records", "noise", "ledger", "laws", "conversation", "mechanisms",
    "trust", "summaries", "estimation", "smoothing", "inference", "display", "histograms", "strategies", "curves",
    "dpcurves_engines", "dpcurves_judging", "dpcurves_local",
    "dpcurves_parties.crypto", "dpcurves_parties.pairs", "dpcurves_parties.shares", "dpcurves_server",
    "dpcurves_streams", "dpcurves_streams.laws", "dpcurves_streams.mechanisms", "dpcurves_survival",
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


def page() -> str:
    """The page with the list of today's code."""
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    parts = [f"### {room}\n\n| name | what it is |\n|---|---|\n{_rows(nouns(room))}\n" for room in ROOMS if nouns(room)]
    return f"{head}{BEGIN}\n## Public names, module by module\n\n" + "\n".join(parts)


def _rows(found: dict[str, str]) -> str:
    return "\n".join(f"| `{name}` | {line} |" for name, line in sorted(found.items()))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
