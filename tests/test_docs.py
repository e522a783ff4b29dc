"""The pages are true: their code runs, their links lead somewhere, and none is left out of the site."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import api_pages
import blocks
import command_pages
import marks
import pytest
import screenshots
import words

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)[^)]*\)")
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:")


def pages() -> list[Path]:
    docs = sorted((ROOT / "docs").rglob("*.md"))
    return [
        page for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md") if page.exists()
    ] + docs


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


SLOW_PAGES = ("docs/cli.md", "docs/dial.md", "docs/epsilon.md", "docs/local.md", "docs/numbers.md", "docs/unknown.md")
"""Pages whose blocks take 3 to 25 seconds; `docs/blocks.py`, a part of `make site-check`, runs them too."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.reproduction) if name(page) in SLOW_PAGES else page for page in pages()],
    ids=name,
)
def test_the_blocks_of_a_page_run_from_top_to_bottom_and_show_what_they_print(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands run in an empty folder, with the tables that `dpcurves example` writes."""
    monkeypatch.chdir(tmp_path)
    text = blocks.rewrite(blocks.Page(page, is_quick=True))
    assert text == page.read_text(encoding="utf-8"), f"run docs/blocks.py --write {name(page)}, and read the difference"


@pytest.mark.parametrize("page", pages(), ids=name)
def test_a_link_to_a_file_finds_it(page: Path) -> None:
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [target.partition("#")[0] for target in LINK.findall(prose) if not SCHEME.match(target)]
    assert [target for target in targets if target and not (page.parent / target).exists() and not made(target)] == []


def made(target: str) -> bool:
    """Whether it is a page that a build makes."""
    folder, _, name = target.rpartition("/")
    if folder == "examples":
        sources = (ROOT / "examples").rglob(Path(name).with_suffix(".py").name)
        return name == "index.md" or any(sources)
    return target in reference()


@cache
def reference() -> set[str]:
    """Pages that are made of the code."""
    groups = api_pages.groups((ROOT / "docs" / "api.md").read_text("utf-8")).values()
    made = {page.place for pages in groups for page in pages}
    return {"errors.md", "commands/index.md", *(page.place for page in command_pages.pages())} | made


NAMED = re.compile(r"`(?:python )?((?:tests|papers|benchmarks)/[\w/]+\.py)")


def test_every_erratum_shows_code_or_names_what_shows_it() -> None:
    errata = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    assert [name for name in NAMED.findall(errata) if not (ROOT / name).exists()] == []
    entries = re.split(r"^## ", errata, flags=re.MULTILINE)[1:]
    assert [entry.partition("\n")[0] for entry in entries if not (BLOCK.search(entry) or NAMED.search(entry))] == []


def test_every_page_stands_in_the_table_of_contents() -> None:
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    docs = [page.relative_to(ROOT / "docs").as_posix() for page in sorted((ROOT / "docs").rglob("*.md"))]
    assert [page for page in docs if f" {page}\n" not in contents] == []


def test_the_pictures_of_the_page_on_numbers_are_those_that_are_drawn() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "pictures.py"))["NUMBERS"]
    page = (ROOT / "docs" / "numbers.md").read_text(encoding="utf-8")
    shown = re.findall(r"\]\(images/numbers/(\w+)\.png\)", page)
    kept = {path.stem for path in (ROOT / "docs" / "images" / "numbers").iterdir()}
    assert sorted(shown) == sorted(drawn) == sorted(kept)


def test_the_page_of_errors_is_made_of_the_numbers_that_were_measured() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "expected_errors.py"))
    measured = json.loads(made["NUMBERS"].read_text(encoding="utf-8"))
    assert made["PAGE"].read_text(encoding="utf-8") == made["page"](measured)
    assert made["PICTURE"].exists()
    assert len(made["draw"](measured).axes) == len(measured["kinds"]) == 8
    assert {row["hint"] for row in measured["hints"]} == set(made["HINTS"])


def test_the_page_on_accuracy_is_made_of_the_numbers_that_were_measured() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "accuracy.py"))
    measured, marked = (json.loads(made[name].read_text(encoding="utf-8")) for name in ("NUMBERS", "MARKED"))
    text = made["PAGE"].read_text(encoding="utf-8")
    assert text == made["page"](measured, marked)
    assert re.findall(r"images/(\w+)[.]png", text) == list(made["PICTURES"])
    for name, draw in made["PICTURES"].items():
        assert (made["IMAGES"] / f"{name}.png").exists()
        assert draw(measured).axes[0].lines
    worst = [{**row, "ratios": [2.0] * 3, "noise": [0.1] * 3} for row in measured]
    assert f"| 0 | {' | '.join([str(len(worst))] * 3)} |" in made["page"](worst, marked)
    assert {row["part"] for row in marked} == set("ABCD")
    for row in marked:
        assert bool(row["reason"]) == (row["verdict"] == "no"), row["name"]
        assert row["reason"] != "No reason is known.", row["name"]
        assert row["reason"] in text


def test_what_a_newcomer_may_read_is_counted_and_pictures_of_pages_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words are counted where pages are made, by `make docs`: more of them than is said fail it."""
    (tmp_path / "first_curve.md").write_text("one two three", "utf-8")
    for most, fails in ((3, 0), (2, 1)):
        monkeypatch.setattr(words, "MOST", most)
        assert words.main([str(tmp_path)]) == fails
    assert words.words("```python\nage = dp.cdf(ages)  # 1\n```\n[one](two.md) 3") == 4
    kept = sorted(path.stem for path in screenshots.SHOTS.iterdir())
    assert kept == sorted(screenshots.names())
    assert len(kept) == 3 * (10 + 12 + 6)


def test_broken_links_of_a_site_are_counted_beside_the_other_marks(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    whole = '<a href="a/">1</a><a href="a/#here">2</a><a href="#top" id="top">3</a><a href="https://a.org/x">4</a>'
    (tmp_path / "index.html").write_text(whole, "utf-8")
    (tmp_path / "a" / "index.html").write_text('<p id="here"><img src="../b.png">', "utf-8")
    assert marks.find_broken_links(tmp_path) == (4, ["a/index.html: ../b.png"])
    (tmp_path / "b.png").write_bytes(b"")
    (tmp_path / "a" / "index.html").write_text('<p id="there"><img src="../b.png">', "utf-8")
    marks.read_links.cache_clear()
    assert marks.find_broken_links(tmp_path) == (4, ["index.html: a/#here"])


def test_marks_count_the_guide_of_the_navigation_and_run_alone(capsys: pytest.CaptureFixture[str]) -> None:
    places = marks.list_guide_pages()
    assert len(places) == marks.GUIDE_PAGES == len(set(places))
    assert all((ROOT / "docs" / place).is_file() for place in places)
    assert sum(words.words((ROOT / "docs" / place).read_text("utf-8")) for place in places) <= marks.MOST_GUIDE_WORDS
    with pytest.raises(SystemExit) as ending:
        marks.main(["--quick", "--only", "searches"])
    assert ending.value.code == 2
    assert "no measure has these words; there are: README" in capsys.readouterr().err


def test_no_page_names_a_download_host() -> None:
    fetched = re.compile(r"https?://\S+\.(whl|tgz|tar\.gz|deb)|index-url")
    assert [name(page) for page in pages() if fetched.search(page.read_text(encoding="utf-8"))] == []


PROGRAMS = tuple(
    path.relative_to(ROOT / "docs").as_posix()
    for path in sorted((ROOT / "docs").rglob("*.*"))
    if path.suffix == ".py" or path.parent.name == "theme"
)
RECIPE = re.compile(r"^docs: .*\n\t\$\(BIN\)/python (docs/.*)\n\t.*\$\(BIN\)/mkdocs (build .*)$", re.MULTILINE)
SOUND = {"docs/index.md": "[here](index.md#sound)\n\n# Sound\n\n::: sound\n", "src/sound.py": '"""One line."""\n'}
DEFECTS = {
    "docs/index.md": "[there](nowhere.md)\n\n::: sound\n",
    "src/sound.py": 'def f(a: int) -> None:\n    """Do it.\n\n    Args:\n        b: A number.\n    """\n',
}
"""A link to no page, and a parameter that is none."""


def built(folder: Path, files: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """What `make docs` does, to a small site with the settings of this one."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[0]
    named = {
        "mkdocs.yml": f"{settings}\nnav:\n  - index.md\n  - Examples: examples/index.md\n",
        **{f"docs/{name}": (ROOT / "docs" / name).read_text(encoding="utf-8") for name in PROGRAMS},
    }
    for place, text in (named | SOUND | files).items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")
    ((pages, site),) = RECIPE.findall((ROOT / "Makefile").read_text(encoding="utf-8"))
    subprocess.run([sys.executable, *shlex.split(pages)], cwd=folder, check=True)
    command = [sys.executable, "-m", "mkdocs", *shlex.split(site)]
    there = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=folder, env=there, capture_output=True, text=True, check=False)


@pytest.mark.reproduction  # as `make docs` builds the whole of this one
def test_a_sound_site_is_built(tmp_path: Path) -> None:
    done = built(tmp_path, {})
    assert done.returncode == 0, done.stderr


def test_defects_of_the_pages_fail_their_build(tmp_path: Path) -> None:
    done = built(tmp_path, DEFECTS)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "in strict mode" in said
    for word in ("nowhere.md", "Parameter 'b'"):
        assert len(re.findall(rf"WARNING.*{word}", said)) == 1, said
