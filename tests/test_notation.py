"""The page of names holds every public noun, and every name that a room offers is there."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))
nouns = import_module("nouns")
symbols = import_module("symbols")
OWN_WORDS = re.compile(r"(?<![A-Za-z])(?<!model[ _-])(?:card|desk|ink|purse)s?(?![A-Za-z])", re.IGNORECASE)
"""Words of our own, for which the field has one: key bundle, HTML summary, to manage, text, remaining budget."""
SIGNED = 'b"dpcurves card 1\\n"'
"""What keys are signed under begins with it: it stays, for signatures do."""


def test_the_page_of_names_is_that_of_today() -> None:
    assert nouns.PAGE.read_text(encoding="utf-8") == nouns.page(), "python docs/nouns.py"


def test_each_term_stands_once_and_its_names_are_those_of_the_code() -> None:
    terms = [term for section in nouns.read_glossary() for term in section["terms"]]
    names = [term["term"] for term in terms]
    assert sorted(set(names)) == sorted(names)
    code = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    words = set(re.findall(r"\w+", code)) | {file.stem for file in (ROOT / "src").rglob("*.py")}
    used = [name for term in terms for name in term.get("code", "").split(", ") if name]
    assert [name for name in used if not set(re.findall(r"\w+", name)) <= words] == []


@pytest.mark.parametrize("room", nouns.ROOMS)
def test_every_name_that_a_room_offers_is_there(room: str) -> None:
    module = import_module(nouns.module_of(room))
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_no_word_of_our_own_stands_where_the_field_has_one() -> None:
    files = [file for file in (ROOT / "src").rglob("*") if file.suffix in (".py", ".html", ".css")]
    lines = [(file.name, line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(files) > 300
    assert [(name, line) for name, line in lines if OWN_WORDS.search(line.replace(SIGNED, ""))] == []


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
