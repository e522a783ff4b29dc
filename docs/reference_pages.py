"""Pages that are made from the code itself: the API reference, the commands and the errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import api_pages
import command_pages
import error_pages

API, COMMANDS, ERRORS = "api.md", "commands/index.md", "errors.md"


def pages(root: Path, contents: Any) -> dict[str, str]:
    """The text of each page that a table of contents asks for, and of what stands below it, by its place."""
    made: dict[str, str] = {}
    if _stands(contents, API):
        source = (root / "docs" / API).read_text(encoding="utf-8")
        made[API] = api_pages.contents(source)
        made |= {page.place: page.text for group in api_pages.groups(source).values() for page in group}
    if _stands(contents, COMMANDS):
        made[COMMANDS] = command_pages.contents()
        made |= {page.place: page.text for page in command_pages.pages()}
    if _stands(contents, ERRORS):
        made[ERRORS] = error_pages.page(root / "src")
    return made


def whole(root: Path, contents: Any) -> Any:
    """The table of contents with what stands below the reference and the commands."""
    if _stands(contents, API):
        groups = api_pages.groups((root / "docs" / API).read_text(encoding="utf-8"))
        contents = _with(contents, API, [{group: [page.place for page in own]} for group, own in groups.items()])
    if _stands(contents, COMMANDS):
        contents = _with(contents, COMMANDS, [{page.name: page.place} for page in command_pages.pages()])
    return contents


def _stands(contents: Any, place: str) -> bool:
    if isinstance(contents, dict):
        return any(_stands(each, place) for each in contents.values())
    if isinstance(contents, list):
        return any(_stands(each, place) for each in contents)
    return bool(contents == place)


def _with(contents: Any, place: str, below: list[Any]) -> Any:
    """The table of contents with a section in the place of one page: that page, and those below it."""
    if isinstance(contents, dict):
        return {title: _with(each, place, below) for title, each in contents.items()}
    if isinstance(contents, list):
        return [_with(each, place, below) for each in contents]
    return [contents, *below] if contents == place else contents
