"""Writes what the site is built from to `build/pages`: plain Markdown, pictures and settings, and no program.

`python docs/site_pages.py [FOLDER] [--address URL]`. Pages of `docs/` are copied; those of the reference, the commands,
the errors and the examples are made. So any builder that reads Markdown and `mkdocs.yml` makes the whole site. With the
address that the site will have, its pages know of other versions of themselves (`publish/versions.py`).
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from os.path import relpath
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parent))
import blocks
import example_pages
import reference_pages
import symbols
from examples import found

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = ROOT / "build" / "pages"
SETTINGS = "mkdocs.yml"
THEME = "theme"
NOT_SHOWN = DOCS / "images" / "shots"
"""Pictures of the site are no part of it."""
EXERCISES = DOCS / "exercises"
"""Its folders hold edits and new code, which `make exercise` reads; the page beside them is part of the site."""
VERSIONS = {"provider": "mike", "default": "latest", "alias": True}


def write(folder: Path, address: str = "") -> Path:
    """All pages and settings, in a folder that is made anew; the settings."""
    shutil.rmtree(folder, ignore_errors=True)
    for place, path in copied():
        _target(folder, place).write_bytes(_text(path) if path.suffix == ".md" else path.read_bytes())
    read = yaml.safe_load((ROOT / SETTINGS).read_text(encoding="utf-8"))
    for place, text in made(read["nav"]).items():
        hidden = HIDDEN if place in NOT_SEARCHED else ""
        _target(folder, f"docs/{place}").write_text(hidden + text, encoding="utf-8")
    settings = folder / SETTINGS
    settings.write_text(yaml.safe_dump(adapted(read, folder, address), sort_keys=False), encoding="utf-8")
    return settings


def copied() -> Iterator[tuple[str, Path]]:
    """Files as they lie in `docs`, but programs, and what examples drew; each with its place."""
    for path in sorted(DOCS.rglob("*")):
        is_exercise = EXERCISES in path.parents and path.parent != EXERCISES
        if path.is_file() and path.suffix not in (".py", ".pyc") and NOT_SHOWN not in path.parents and not is_exercise:
            place = path.relative_to(DOCS if path.parent == DOCS / THEME else ROOT)
            yield place.as_posix(), path
    for name, drawn in example_pages.beside(found([])).items():
        yield f"docs/{name}", drawn


def _text(page: Path) -> bytes:
    """A page of `docs` on which symbols lead to their meaning."""
    notation, place = DOCS / symbols.NOTATION, page.relative_to(DOCS).as_posix()
    text = page.read_text(encoding="utf-8")
    if page == notation:
        text = symbols.named(text)
    elif notation.exists():
        text = symbols.linked(text, place, symbols.symbols(notation.read_text(encoding="utf-8")))
    if place == HOME:
        text = VERSION.sub(lambda _: version_line(), text)
    head = HIDDEN if place in NOT_SEARCHED or place.startswith(DECISIONS) else BOOSTED if place in GUIDE else ""
    return (head + text).encode()


HOME, PROJECT, VERSION = "index.md", ROOT / "pyproject.toml", re.compile(r"\bVERSION\b")


def published() -> str:
    """Address of the published repository; empty: there is none, or these are pages of no project."""
    if not PROJECT.exists():
        return ""
    return str(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["dpcurves"]["repository"])


def version_line() -> str:
    """The version of this code, its licence, its Pythons, and a link to the repository if it is published."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    repository = published()
    first, last = re.findall(r"3[.](\d+)", project["requires-python"])
    source = f'<a href="{repository}">repository</a>' if repository else "repository not published yet"
    return f"Version {project['version']} · {source} · {project['license']} · Python 3.{first} to 3.{int(last) - 1}"


NOT_SEARCHED = frozenset(
    {
        "accuracy.md",
        "api/mechanisms-and-distributions-of-streams.md",
        "api/pairs-of-people.md",
        "audit_peers.md",
        "comparison_functions.md",
        "coverage.md",
        "errata.md",
        "exercises/README.md",
        "expected_errors.md",
        "intervals.md",
        "notation.md",
        "one_number.md",
        "papers.md",
        "simulation.md",
        "trust_questions.md",
        "wire.md",
    }
)
"""Pages for reference by experts: a search would find them before what people look for, and loads twice as long."""
DECISIONS = "decisions/"
"""Folder of records for maintainers, which no search finds either."""
HIDDEN = "---\nsearch:\n  exclude: true\n---\n\n"
GUIDE = blocks.GUIDE - {"index.md"}
"""Pages of the guide: a search finds them before pages of reference that have the same words."""
BOOSTED = "---\nsearch:\n  boost: 3\n---\n\n"


def made(contents: Any) -> dict[str, str]:
    """The text of each page that is made, by its place."""
    return reference_pages.pages(ROOT, contents) | example_pages.pages(found([]))


def adapted(read: Mapping[str, Any], folder: Path, address: str) -> dict[str, Any]:
    """The settings as they are said from a folder elsewhere, with all pages in the table of contents."""
    away = Path(relpath(ROOT, folder))
    settings: dict[str, Any] = {**read, "docs_dir": "docs", "site_dir": "site"}
    settings["nav"] = [
        {"Examples": example_pages.contents(found([]))} if entry == {"Examples": example_pages.GALLERY} else entry
        for entry in reference_pages.whole(ROOT, read["nav"])
    ]
    settings["theme"] = {**read["theme"], "custom_dir": THEME}
    for plugin in settings["plugins"]:
        if "mkdocstrings" in plugin:
            python = plugin["mkdocstrings"]["handlers"]["python"]
            python["paths"] = [str(away / path) for path in python["paths"]]
            python["options"]["extensions"] = [str(away / path) for path in python["options"]["extensions"]]
    if repository := published():
        settings["repo_url"] = repository
    if address:
        settings |= {"site_url": address, "extra": {"version": VERSIONS}}
    return settings


def _target(folder: Path, place: str) -> Path:
    target = folder / place
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def main() -> None:
    """Write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", nargs="?", type=Path, default=PAGES)
    parser.add_argument("--address", default="", help="where the site will stand, for pages of several versions")
    given = parser.parse_args()
    write(given.folder, given.address)


if __name__ == "__main__":
    main()
