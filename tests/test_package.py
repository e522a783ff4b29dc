"""What is published: an archive that can be tested, a page that an index can show, few packages that are needed."""

from __future__ import annotations

import email
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from readme_renderer import markdown

ROOT = Path(__file__).resolve().parents[1]
BUILD = "import setuptools.build_meta; setuptools.build_meta.build_sdist('.')"
NAME = re.compile(r"^[A-Za-z0-9._-]+")
MADE = {"PKG-INFO", "setup.cfg"}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive of a clone: of a copy of what is tracked, so that nothing is left beside it."""
    clone = tmp_path_factory.mktemp("clone")
    for name in tracked():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, clone / name)
    subprocess.run([sys.executable, "-c", BUILD], cwd=clone, check=True, capture_output=True)
    (built,) = clone.glob("*.tar.gz")
    return built


def tracked() -> set[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=False, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("this is no clone: what it should hold is not known")
    return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}


def settings() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def test_the_source_archive_has_all_that_a_clone_has(archive: Path) -> None:
    with tarfile.open(archive) as opened:
        held = {member.name.partition("/")[2] for member in opened.getmembers() if member.isfile()}
    assert {name for name in held if ".egg-info/" not in name} - MADE == tracked()


def test_the_page_of_an_index_is_rendered_and_has_no_link_into_the_repository(archive: Path) -> None:
    with tarfile.open(archive) as opened:
        facts = opened.extractfile(f"{archive.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert facts is not None
        described = email.message_from_string(facts.read().decode("utf-8"))
    assert described["Description-Content-Type"] == "text/markdown"
    page = markdown.render(str(described.get_payload()))
    assert page is not None
    assert "<h1" in page
    assert [
        target for target in re.findall(r'(?:src|href)="([^"]*)"', page) if not re.match(r"#|[a-z]+:", target)
    ] == []


def test_every_package_has_one_floor() -> None:
    extras = settings()["optional-dependencies"]
    asked = [*settings()["dependencies"], *(each for extra in extras.values() for each in extra)]
    names = Counter(NAME.match(each)[0] for each in asked)  # type: ignore[index]
    assert {name for name, times in names.items() if times > 1} <= {"dpcurves"}  # which extras name to bring others


def test_what_only_some_need_is_an_extra() -> None:
    needed = {NAME.match(each)[0] for each in settings()["dependencies"]}  # type: ignore[index]
    assert not needed & {"numba", "llvmlite", "matplotlib", "fastapi", "psycopg", "pandas", "polars"}
