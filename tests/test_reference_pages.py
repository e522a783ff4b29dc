"""The reference is made from the code: every public name, command, option and error stands in it."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from inspect import getdoc, isfunction, signature
from pathlib import Path
from typing import Any

import api_pages
import command_pages
import error_pages
import pytest

import dpcurves as dp
import dpcurves_judging
import dpcurves_survival
from dpcurves import arguments, conversation, curves, ledger, shortcuts
from dpcurves.cli import terminal as refusal
from dpcurves.curves.result import IntervalResult

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
GROUPS = api_pages.groups((ROOT / "docs" / "api.md").read_text(encoding="utf-8"))
SHOWN = [name for pages in GROUPS.values() for page in pages for name in page.objects]


@cache
def errors_page() -> str:
    """The page of errors, which takes seconds to make."""
    return error_pages.page(SOURCE)


def found(name: str) -> Any:
    """What a directive of the reference shows: a module, or a name in one."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        module, _, own = name.rpartition(".")
        return getattr(found(module), own)


def test_the_reference_begins_with_the_distribution_function() -> None:
    assert SHOWN[0] == "dpcurves.shortcuts.cdf"


def test_every_name_of_a_curve_stands_in_the_reference_once() -> None:
    for room in (shortcuts, curves, dpcurves_judging, dpcurves_survival):
        names = [name for name in SHOWN if name.rpartition(".")[0] == room.__name__]
        assert sorted(names) == sorted(f"{room.__name__}.{name}" for name in room.__all__)


def test_every_room_has_a_place_in_the_reference() -> None:
    rooms = {f"dpcurves.{file.parent.name}" for file in SOURCE.glob("dpcurves/*/__init__.py")} - {curves.__name__}
    assert sorted(rooms - set(SHOWN)) == []
    packages = {file.parent.name for file in SOURCE.glob("dpcurves_*/__init__.py")}
    assert sorted(packages - {name.partition(".")[0] for name in SHOWN}) == []


@pytest.mark.parametrize("page", [page for page in GROUPS["Curves"]], ids=lambda page: page.title.replace(" ", "-"))
def test_a_page_on_curves_has_an_example_that_runs_and_words_to_find_it_by(page: api_pages.ApiPage) -> None:
    assert page.caption
    told = [documented(found(name)) for name in page.objects]
    assert any(">>> " in text for text in told)
    assert all(told)


def documented(shown: Any) -> str:
    members = vars(shown).values() if isinstance(shown, type) else ()
    texts = [getattr(each, "__doc__", None) or "" for each in (shown, *members)]
    return "\n".join(texts) if texts[0] else ""


def test_all_methods_that_give_intervals_say_what_they_take() -> None:
    found = [getattr(dp, name, None) for name in dp.__all__ if name[:1].isupper()]
    kinds = [each for each in found if isinstance(each, type) and issubclass(each, IntervalResult)]
    named = {getattr(kind, name) for kind in kinds for name in dir(kind) if re.search("interval|band", name)}
    methods = [each for each in named if isfunction(each) and not each.__name__.startswith("_")]
    taking = [each for each in methods if {"level", "population"} <= set(signature(each).parameters)]
    silent = [each.__qualname__ for each in taking if not re.search(r"\blevel\b", each.__doc__ or "")]
    assert (len(taking) > 20, silent) == (True, [])
    told = getdoc(curves.Confusion.intervals) or ""
    assert re.findall(r"^    (\w+): ", told, re.MULTILINE) == ["level", "population", "generator", "ValueError"]
    assert (getdoc(curves.Histogram.intervals) or "").count("Args:") == 1


def walked(command: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    below = getattr(command, "commands", {})
    return [(path, command)] + [each for name, own in below.items() for each in walked(own, (*path, name))]


def test_every_command_has_a_page_with_all_of_its_options() -> None:
    texts = {page.name: page.text for page in command_pages.pages()}
    for path, command in walked(command_pages._whole())[1:]:
        heading = f"# `dpcurves {' '.join(path)}`\n"
        assert heading in texts[path[0]]
        section = texts[path[0]].partition(heading)[2].partition("\n# ")[0]
        options = [name for each in command.params for name in each.opts if name.startswith("--")]
        if not getattr(command, "commands", {}):
            assert [name for name in options if not re.search(rf"^\| <code>.*{name}\b", section, re.MULTILINE)] == []
    contents = command_pages.contents()
    assert all(f"({name}.md)" in contents for name in texts)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: dp.Grid(1, 0, cells=3), None),
        (lambda: dp.Session([1.0], budget=1, adjacency=dp.ADD_REMOVE), None),  # type: ignore[arg-type]
    ],
    ids=["grid", "session"],
)
def test_an_error_stands_on_the_page_with_its_rule(wrong: Any, told: None) -> None:
    with pytest.raises(arguments.InvalidArgument) as refused:
        wrong()
    rows = [row for row in errors_page().splitlines() if row.startswith("| ")]
    assert any(re.fullmatch(pattern(row), f"| {refused.value.argument} | {refused.value.rule} |") for row in rows)


def pattern(row: str) -> str:
    """What a row of the page may say of an error: anything in the place of a word in italics."""
    argument, rule = row.split(" | ")[:2]
    parts = re.split(r"(?<!\\)\*[^*]*\*", f"{argument} | {rule} |".replace("\\", ""))
    return ".+".join(map(re.escape, parts))


def test_the_kinds_of_errors_are_what_the_page_says() -> None:
    for line in re.findall(r"^\| `.*", error_pages.INTRODUCTION, re.MULTILINE):
        kind, *above = re.findall(r"`(\w+)`", line.rpartition(" | ")[0])
        places = (arguments, refusal, conversation, ledger)
        own = next(getattr(place, kind) for place in places if hasattr(place, kind))
        assert {each.__name__ for each in own.__bases__} - {"ArgumentError"} == set(above)


def test_the_page_of_errors_has_all_of_them() -> None:
    calls = sum(
        len(re.findall(r"\bInvalidArgument\(", file.read_text(encoding="utf-8"))) for file in SOURCE.rglob("*.py")
    )
    assert calls * 0.8 < sum(each.kind == "InvalidArgument" for each in error_pages.raised(SOURCE)) <= calls
