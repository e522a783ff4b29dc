"""What is published: an archive that can be tested, a page that an index can show, few packages that are needed."""

from __future__ import annotations

import email
import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from readme_renderer import markdown

ROOT = Path(__file__).resolve().parents[1]
BUILD = "import setuptools.build_meta as backend; backend.build_sdist('.'); backend.build_wheel('.')"
NAME = re.compile(r"^[A-Za-z0-9._-]+")
MADE = {"PKG-INFO", "setup.cfg"}
HOME = "https://example.org/dpcurves"


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


def test_the_wheel_has_the_package_and_nothing_else(archive: Path) -> None:
    (wheel,) = archive.parent.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        held = {name for name in opened.namelist() if ".dist-info/" not in name}
    assert held == {name.removeprefix("src/") for name in tracked() if name.startswith("src/")}


def test_an_index_would_take_what_is_published(archive: Path) -> None:
    made = [archive, *archive.parent.glob("*.whl")]
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *made], check=False, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout
    assert checked.stdout.count("PASSED") == 2


def test_a_named_repository_gives_the_page_of_an_index_its_links_and_pictures(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("setup.py", "README.md", "pyproject.toml"):
        shutil.copy(archive.parent / name, tmp_path / name)
    project = tmp_path / "pyproject.toml"
    written = project.read_text(encoding="utf-8")
    project.write_text(re.sub(r'^repository = ".*"', f'repository = "{HOME}"', written, flags=re.MULTILINE), "utf-8")
    told: dict[str, Any] = {}
    monkeypatch.setattr("setuptools.setup", lambda **words: told.update(words))
    spec = importlib.util.spec_from_file_location("setup_of_a_copy", tmp_path / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert told["project_urls"]["Source"] == HOME
    shown = markdown.render(told["long_description"])
    assert shown is not None
    places = re.findall(r'(?:src|href)="([^"]*)"', shown)
    pictures = [place for place in places if place.startswith(f"{HOME}/raw/v{settings()['version']}/docs/images/")]
    assert len(pictures) == (ROOT / "README.md").read_text(encoding="utf-8").count("![")
    assert [place for place in places if not re.match(r"#|[a-z]+:", place)] == []


def test_who_cites_names_the_version_that_is_published() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == settings()["version"]
    assert cited["license"] == settings()["license"]


def test_every_package_has_one_floor() -> None:
    extras = settings()["optional-dependencies"]
    asked = [*settings()["dependencies"], *(each for extra in extras.values() for each in extra)]
    names = Counter(NAME.match(each)[0] for each in asked)  # type: ignore[index]
    assert {name for name, times in names.items() if times > 1} <= {"dpcurves"}  # which extras name to bring others


def test_what_only_some_need_is_an_extra() -> None:
    needed = {NAME.match(each)[0] for each in settings()["dependencies"]}  # type: ignore[index]
    assert not needed & {"numba", "llvmlite", "matplotlib", "fastapi", "psycopg", "pandas", "polars"}
