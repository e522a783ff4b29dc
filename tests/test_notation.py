"""The page of names holds every public noun, and every name that a room offers is there."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))
nouns = import_module("nouns")
symbols = import_module("symbols")


def test_the_page_of_names_is_that_of_today() -> None:
    assert nouns.PAGE.read_text(encoding="utf-8") == nouns.page(), "python docs/nouns.py"


@pytest.mark.parametrize("room", nouns.ROOMS)
def test_every_name_that_a_room_offers_is_there(room: str) -> None:
    module = import_module(f"dpcurves.{room}")
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_the_first_of_each_symbol_on_a_page_leads_to_its_meaning() -> None:
    known = symbols.symbols(nouns.PAGE.read_text(encoding="utf-8"))
    assert set(known) == set("ερδΔ")
    code = "# At ε\n\n`ε` and ![ε](a.png)\n\n```\nε\n```\n"
    page = f"{code}\nScale Δ/ε, then ε again, and β.\n"
    way = "../notation.md#"
    led = f"{code}\nScale [Δ]({way}capital-delta)/[ε]({way}small-epsilon), then ε again, and β.\n"
    assert symbols.linked(page, "decisions/one.md", known) == led
    places = [f"{{ #{symbols.anchor(each)} }}" for each in known]
    named = symbols.named(nouns.PAGE.read_text(encoding="utf-8"))
    assert [named.count(place) for place in places] == [1] * len(known)
