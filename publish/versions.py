"""Lays the pages of this code beside those of other versions: `python publish/versions.py VERSION [ALIAS ...]`.

Each version is a commit of the branch `pages`, made by mike in the environment that runs this; nothing
is pushed. `0.1 latest` is a release: who comes to the address is led there, and what stands nowhere gets its page "no
such page". `dev` is what is not released. A page of any version but the latest says so on top.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from mike.git_utils import Commit, FileInfo, GitEmptyCommit, read_file

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import site_pages  # noqa: E402 - it stands there

BRANCH, LATEST, ABSENT = "pages", "latest", "404.html"


def lay(version: str, aliases: list[str], address: str) -> None:
    """Build the pages, and commit them as those of a version."""
    with tempfile.TemporaryDirectory() as name:
        settings = site_pages.write(Path(name, "pages"), address)
        _mike(settings, "deploy", "--update-aliases", "--alias-type", "redirect", version, *aliases)
        if LATEST in aliases:
            _mike(settings, "set-default", LATEST)
            _absent(version)


def _absent(version: str) -> None:
    """What a host shows in the place of any page that is not there: the page of the latest version."""
    page = read_file(BRANCH, f"{version}/{ABSENT}")
    try:
        with Commit(BRANCH, f"Show what version {version} says of pages that are not there") as commit:
            commit.add_file(FileInfo(ABSENT, page))
    except GitEmptyCommit:
        return  # it says what it said


def _mike(settings: Path, word: str, *more: str) -> None:
    """Mike calls mkdocs by its name: that of this environment."""
    programs = Path(sys.executable).parent
    there = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "NO_MKDOCS_2_WARNING": "1"}
    words = [str(programs / "mike"), word, "--config-file", str(settings), "--branch", BRANCH, *more]
    subprocess.run(words, check=True, env=there)


def said() -> str:
    """The address that stands in pyproject.toml."""
    read = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return str(read["tool"]["dpcurves"]["pages"])


def main() -> int:
    """Lay them; without an address a line says who knows it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("version")
    parser.add_argument("aliases", nargs="*")
    parser.add_argument("--address", default=said(), help="where the site stands; else `pages` of pyproject.toml")
    given = parser.parse_args()
    if not given.address:
        print("versions: fill in `pages` in pyproject.toml: links to other versions are made from it", file=sys.stderr)
        return 1
    lay(given.version, given.aliases, given.address)
    return 0


if __name__ == "__main__":
    sys.exit(main())
