"""Pages that are made when the site is built: the API reference, the commands and the errors, from the code itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import api_pages
import command_pages
import error_pages

HERE = Path(__file__).parent
API, COMMANDS, ERRORS = "api.md", "commands/index.md", "errors.md"


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that the table of contents asks for, and what stands below them."""
    if _stands(config.nav, API):
        groups = api_pages.groups((HERE / API).read_text(encoding="utf-8"))
        below = [{group: [page.place for page in pages]} for group, pages in groups.items()]
        _add(files, config, {page.place: page.text for pages in groups.values() for page in pages})
        config.nav = _with(config.nav, API, below)
    if _stands(config.nav, COMMANDS):
        commands = {page.place: page.text for page in command_pages.pages()}
        _add(files, config, {COMMANDS: command_pages.contents(), **commands})
        config.nav = _with(config.nav, COMMANDS, [{page.name: page.place} for page in command_pages.pages()])
    if _stands(config.nav, ERRORS):
        _add(files, config, {ERRORS: error_pages.page(HERE.parent / "src" / "dpcurves")})
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The first page of the API reference lists the others."""
    if page.file.src_uri != API:
        return markdown
    return api_pages.contents(markdown)


def _add(files: Files, config: Any, texts: dict[str, str]) -> None:
    for place, text in texts.items():
        files.append(File.generated(config, place, content=text))


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
