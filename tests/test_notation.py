"""The page of names holds every public noun, and every name that a room offers is there."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))
nouns = import_module("nouns")


def test_the_page_of_names_is_that_of_today() -> None:
    assert nouns.PAGE.read_text(encoding="utf-8") == nouns.page(), "python docs/nouns.py"


@pytest.mark.parametrize("room", nouns.ROOMS)
def test_every_name_that_a_room_offers_is_there(room: str) -> None:
    module = import_module(f"dpcurves.{room}")
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
