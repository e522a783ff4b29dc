"""What is published: an archive that can be tested, a page that an index can show, few packages that are needed."""

from __future__ import annotations

import ast
import email
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import archives
import pytest
import release
import yaml
from readme_renderer import markdown

import dpcurves

ROOT = Path(__file__).resolve().parents[1]
BUILD = "import setuptools.build_meta as backend; backend.build_sdist('.'); backend.build_wheel('.')"
NAME = re.compile(r"^[A-Za-z0-9._-]+")
MADE = {"PKG-INFO", "setup.cfg"}
HOME = "https://example.org/dpcurves"
COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)
FENCED = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
UNREACHED = re.compile(r"dns error|[Cc]onnect|[Nn]etwork|Failed to fetch|timed out")


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


def test_names_of_packages_beside_the_core_are_declared_with_the_extras_that_they_need() -> None:
    project = settings()
    declared = project["entry-points"]["dpcurves.wings"]
    assert set(declared) == set(dpcurves._EXTENSION_NAMES)
    assert set(dpcurves._EXTENSION_NAMES.values()) <= set(project["optional-dependencies"])
    assert {place.partition(":")[0].partition(".")[0] for place in declared.values()} == {
        file.parent.name for file in (ROOT / "src").glob("dpcurves_*/__init__.py")
    } - set(project["entry-points"]["dpcurves.extensions"].values()) - {"dpcurves_sim"}  # a program of its own


def test_a_name_of_a_package_that_is_not_installed_says_which_extra_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpcurves.extensions._entry_points_of_group", lambda _: ())
    with pytest.raises(ImportError, match=r"^streams: more packages are needed: pip install dpcurves\[streams\]$"):
        _ = dpcurves.streams


def first_page(python: Path) -> Iterator[list[str]]:
    """What a stranger types who has nothing but the home page, in its order: its code is one program."""
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    code = ""
    for kind, block in FENCED.findall(page):
        if kind == "python":
            code += block
            yield [str(python), "-c", code]
        else:
            yield from (shlex.split(line) for line in COMMAND.findall(block))


def installed(wheel: Path, asked: str, folder: Path) -> Path:
    """The programs of a fresh environment that has the wheel; what other tests use is taken where uv keeps it."""
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "--quiet", "--no-python-downloads", "--python", sys.executable, folder], check=True)
    words = ["--constraint", str(ROOT / "constraints.txt"), f"{asked} @ {wheel.as_uri()}"]
    done = subprocess.run(
        [uv, "pip", "install", "--quiet", "--python", folder, *words], check=False, capture_output=True, text=True
    )
    if done.returncode != 0 and UNREACHED.search(done.stderr):
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    return folder / "bin"


def test_a_stranger_runs_the_home_page_in_its_order_in_a_bare_folder_from_the_wheel_alone(
    archive: Path, tmp_path: Path
) -> None:
    (wheel,) = archive.parent.glob("*.whl")
    (tmp_path / "bare").mkdir()
    programs: Path | None = None
    typed: list[str] = []
    for words in first_page(tmp_path / "env" / "bin" / "python"):
        typed.append(words[0])
        if words[:2] == ["pip", "install"]:
            programs = installed(wheel, words[2], tmp_path / "env")
            continue
        assert programs is not None, "the page installs before it runs anything"
        there = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path / "bare"), "MPLBACKEND": "Agg"}
        done = subprocess.run(words, cwd=tmp_path / "bare", env=there, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout
    assert typed.count("dpcurves") >= 2
    assert len(typed) >= 4


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


def test_a_release_says_what_a_person_has_to_fill_in(tmp_path: Path) -> None:
    project = '[project]\nauthors = [{ name = "Anna"ADDRESS }]\n[tool.dpcurves]\nrepository = "HOME"\npages = "HOME"\n'

    def written(address: str, home: str, heading: str) -> list[str]:
        (tmp_path / "pyproject.toml").write_text(project.replace("ADDRESS", address).replace("HOME", home), "utf-8")
        (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## 0.1.0 {heading}\n", "utf-8")
        return list(release.blanks(tmp_path, "0.1.0"))

    open_ones = written("", "", "(unreleased)")
    words = "`repository`", "`pages`", "`email`", "`## 0.1.0`"
    for word, line in zip(words, open_ones, strict=True):
        assert word in line
    assert written(', email = "anna@example.org"', HOME, "- 2026-12-01") == []


def test_a_release_is_tagged_once_it_was_made_of_this_commit_and_has_its_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "MADE", tmp_path / ".git" / "release.json")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
        monkeypatch.setenv(f"GIT_{name}", "anna@example.org")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 - 2026-12-01\n", "utf-8")
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "Release"]):
        archives.told(tmp_path, *words)
    commit = archives.told(tmp_path, "rev-parse", "HEAD")
    with pytest.raises(RuntimeError, match="no release was made"):
        release.tag("0.1.0", commit)
    release.MADE.write_text(json.dumps({"commit": commit, "tested": True}), "utf-8")
    release.tag("0.1.0", commit)
    assert archives.told(tmp_path, "rev-parse", "v0.1.0^{commit}") == commit


@pytest.mark.parametrize(("tested", "said"), [(True, "has no heading"), (False, "CI was not run")])
def test_a_release_that_ci_was_not_run_on_gets_no_tag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tested: bool, said: str
) -> None:
    monkeypatch.setattr(release, "MADE", tmp_path / "release.json")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 (unreleased)\n", "utf-8")
    release.MADE.write_text(json.dumps({"commit": "c0ffee", "tested": tested}), "utf-8")
    with pytest.raises(RuntimeError, match=said):
        release.tag("0.1.0", "c0ffee")


def test_no_archive_names_a_folder_of_somebody_or_a_host_of_downloads(archive: Path) -> None:
    for each in (archive, *archive.parent.glob("*.whl")):
        held = archives.opened(each)
        assert len(held) > 100
        assert archives.telling(held) == {}


@pytest.mark.parametrize("told", ["/ho" + "me/anna/x.py", f"{ROOT}/src", "https://example.org/a.w" + "hl"])
def test_what_is_nobodys_business_is_found(told: str) -> None:
    assert list(archives.telling({"one": b"plain", "other": f"see {told}".encode()})) == ["other"]


def test_who_cites_names_the_version_that_is_published() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == settings()["version"]
    assert cited["license"] == settings()["license"]


def test_every_package_has_one_floor() -> None:
    extras = settings()["optional-dependencies"]
    asked = [*settings()["dependencies"], *(each for extra in extras.values() for each in extra)]
    names = Counter(NAME.match(each)[0] for each in asked)  # type: ignore[index]
    assert {name for name, times in names.items() if times > 1} <= {"dpcurves"}  # which extras name to bring others


def test_what_only_some_need_is_an_extra_and_what_modules_of_the_core_begin_with_is_not() -> None:
    needed = {NAME.match(each)[0] for each in settings()["dependencies"]}  # type: ignore[index]
    assert not needed & {"numba", "llvmlite", "matplotlib", "fastapi", "httptools", "psycopg", "pandas", "polars"}
    imported = set[str]()
    for file in (ROOT / "src" / "dpcurves").rglob("*.py"):
        for each in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(each, ast.Import):
                imported |= {name.name.partition(".")[0] for name in each.names}
            elif isinstance(each, ast.ImportFrom) and not each.level:
                imported.add(str(each.module).partition(".")[0])
    known = packages_distributions()
    found = {known[name][0].lower() for name in imported - sys.stdlib_module_names - {"__future__"}}
    assert {"numpy", "duckdb", "arro3-core", "click", "lazy-loader"} <= found
    assert found - needed == {"matplotlib"}  # of pictures alone, which say that it is missing
