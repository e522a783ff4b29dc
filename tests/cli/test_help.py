from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Any

import pytest
from click.testing import Result

from dpcurves.cli.app import build

Run = Callable[..., Result]

HEAVY = {
    "numpy", "scipy", "numba", "duckdb", "pyarrow", "narwhals", "sqlalchemy", "cryptography", "rich", "matplotlib",
    "pandas", "polars", "pydantic",
}  # fmt: skip
KINDS = (
    "cdf",
    "quantiles",
    "histogram",
    "summary",
    "scores",
    "roc",
    "calibration",
    "hosmer-lemeshow",
    "binned-residuals",
    "residuals",
)
COMMANDS = [
    *((kind,) for kind in KINDS),
    *(("plan", kind) for kind in KINDS),
    *(("ledger", kind) for kind in ("create", "show", "verify", "head")),
    *(("ledger", "allowance", kind) for kind in ("set", "show")),
    *(("task", kind) for kind in ("identity", "create", "show", "close")),
    ("aggregator",),
    ("contribute",),
    *(("audit", kind) for kind in ("cdf", "command", "hosmer-lemeshow", "package", "self")),
    *(("ask", kind) for kind in (*KINDS[:3], "survival", *KINDS[4:9])),
]


def imported(*arguments: str) -> set[str]:
    """What a fresh process has imported once it has answered."""
    ask = f"""
import sys
from dpcurves.cli import main
sys.argv = ["dpcurves", *{arguments!r}]
try:
    main()
finally:
    print(*{{name.partition(".")[0] for name in sys.modules}}, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False)
    assert done.stdout
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [("--help",), ("cdf", "--help"), ("--version",), ()])
def test_help_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert imported(*arguments) & HEAVY == set()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_with_an_example(run: Run, command: tuple[str, ...]) -> None:
    for option in ("--help", "-h"):
        result = run(*command, option)
        assert result.exit_code == 0
        assert f"Example: dpcurves {' '.join(command)}" in result.stdout
        assert "default: None" not in result.stdout


@pytest.mark.parametrize("group", [(), ("plan",), ("ledger",), ("ledger", "allowance"), ("task",), ("ask",)])
def test_without_a_command_the_commands_are_shown(run: Run, group: tuple[str, ...]) -> None:
    result = run(*group)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.strip() == run(*group, "--help").stdout.strip()


def test_the_version_is_that_of_the_package(run: Run) -> None:
    assert run("--version").stdout == f"dpcurves {version('dpcurves')}\n"


@cache
def all_commands() -> Any:
    return build(())


@pytest.mark.parametrize(
    "typed", ["cdf", "plan cdf", "ask cdf", "federation ask cdf", "ledger allowance show", "serve"]
)
def test_a_command_that_is_typed_is_built_alone_and_is_what_it_is_among_all(typed: str) -> None:
    alone: Any = build(typed.split())
    whole = all_commands()
    for word in typed.split():
        names = list(getattr(alone, "commands", {}))
        assert names == [word]
        alone, whole = alone.commands[word], whole.commands[word]
    assert [vars(each).keys() for each in alone.params] == [vars(each).keys() for each in whole.params]
    assert [(each.name, each.opts, each.default) for each in alone.params] == [
        (each.name, each.opts, each.default) for each in whole.params
    ]


def test_commands_are_listed_whole_and_completed() -> None:
    ask = [sys.executable, "-m", "dpcurves.cli"]
    told = subprocess.run([*ask, "--help"], capture_output=True, text=True, check=True).stdout
    assert "..." not in told.replace("[ARGS]...", "")
    assert "\nOne column:\n  cdf" in told
    assert "\nMore:\n" not in told  # a new command must be added to a section
    for typed, offered in (("dpcurves histog", "plain,histogram"), ("dpcurves cdf peo", "file,peo")):
        words = {"_DPCURVES_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": f"{typed.count(' ')}"}
        completed = subprocess.run(ask, capture_output=True, text=True, check=True, env={**os.environ, **words}).stdout
        assert completed.split() == [offered]
    script = subprocess.run([*ask, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    assert "_DPCURVES_COMPLETE=bash_complete" in script


def test_commands_with_many_options_list_them_in_sections_and_leave_none_out(run: Run) -> None:
    command = build().commands["survival"]
    text = run("survival", "--help").stdout
    places = [text.index(f"\n{title}:\n") for title in ("Question", "Privacy", "Results", "Table")]
    assert places == sorted(places)
    assert "\nOptions:\n" not in text
    assert text.index("\n  --epsilon") > text.index("\nPrivacy:") > text.index("\n  --time")
    for option in command.params:
        if option.param_type_name == "option":
            assert f"\n  {option.opts[0]}" in text
    assert "\nOptions:\n" in run("ledger", "show", "--help").stdout
