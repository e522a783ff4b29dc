"""Reading laws of noise from JSON: each is found by its key, and only that one is imported."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from math import prod
from typing import Any, cast

from ..arguments import Refused
from .law import Law

MOST_CELLS = 2**22
"""The most cells in all rows together: a curator counts no more one by one."""
MOST_BITS = 256
GROUP = "dpcurves.laws"
"""Entry points of other packages: a law's `KEY`, and where its class is."""

PLACES: Mapping[str, str] = {
    "levels": "interval_sums:IntervalSums", "contrasts": "haar_sums:HaarSums",
    "convolved": "toeplitz_sums:ToeplitzSums",
    "path": "path_sums:PathSums", "wavelets": "haar_sums:HaarTensorSums", "chosen": "selection:Selection",
}  # fmt: skip
"""The `KEY` of each law in this room, its file and its class: a new law is its own file, and a word here."""


def law_from_json(stored: Mapping[str, Any]) -> Law:
    """The law of a release that `Law.to_json` wrote.

    Raises:
        KeyError: no law has this form.
        ValueError: it is larger than any that this package makes: a text of a few bytes could ask for all memory.
    """
    key = next((key for key in PLACES if key in stored), None)
    law = _elsewhere(stored) if key is None else _at(PLACES[key])
    _require_readable(stored)
    return law.from_json(stored)


def _at(place: str) -> type[Law]:
    file, _, name = place.partition(":")
    return cast(type[Law], getattr(import_module(f".{file}", __package__), name))


def _elsewhere(stored: Mapping[str, Any]) -> type[Law]:
    """A law that another installed package declares."""
    found = next((each for each in entry_points(group=GROUP) if each.name in stored), None)
    if found is None:
        raise KeyError("law")
    return cast(type[Law], found.load())


def _require_readable(stored: Mapping[str, Any]) -> None:
    """Refuse what would be laid out in more cells, or worked out in more digits, than is ever written."""
    for name in ("bits", "blocks"):
        if not 0 <= int(stored.get(name, 0)) <= MOST_BITS:
            raise Refused(f"evidence.{name}", f"at most {MOST_BITS} are read")
    cells = int(stored.get("rows", 1)) * int(stored.get("cells", 1))
    laid_out = prod(int(side) for side in stored.get("sides", ())) if "wavelets" in stored else cells
    if "path" not in stored and not 0 < laid_out <= MOST_CELLS:
        raise Refused("evidence.cells", f"from 1 to {MOST_CELLS} in all rows together are read, got {laid_out}")
