"""Views of an account on the command line: defined once, and named by later questions, studies and statements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]
STUDY = 'epsilon = 0.1\n[[question]]\nask = "count"\ncolumn = "hours late"\nview = "late"\n'


def test_a_view_of_an_account_is_named_by_questions_studies_and_statements(
    run: Run, csv: Path, ledger: str, tmp_path: Path
) -> None:
    assert "there are no views in 'flights'" in run("ledger", "view", "list", ledger).stdout
    add = ("ledger", "view", "add", ledger, "--name")
    assert run(*add, "some", "--where", "delay > 0").exit_code == 0
    late = ("late", "--base", "some", "--column", "hours late=delay / 60", "--where", "carrier <> 'ada@example.org'")
    added = run(*add, *late)
    assert added.exit_code == 0, added.output
    assert "'ada@example.org' is published" in added.stderr
    listed = run("ledger", "view", "list", ledger).stdout.splitlines()
    assert listed[:3] == ["some", "  where delay > 0", "late, on some"]
    assert listed[3:] == ["  where carrier <> 'ada@example.org'", "  hours late = delay / 60"]

    asked = run(
        "count", csv, "--column", "hours late", "--ledger", ledger, "--view", "late", "--epsilon", "0.1",
        "--adjacency", "replace-one",
    )  # fmt: skip
    assert asked.exit_code == 0, asked.output
    purpose = "count of delay / 60, where delay > 0 AND carrier <> 'ada@example.org'"
    assert purpose in " ".join(asked.stdout.split())
    plan = ("plan", "count", "--column", "hours late", "--epsilon", "0.1", "--adjacency", "add-remove")
    spent = run("ledger", "show", ledger).stdout
    planned = run(*plan, "--ledger", ledger, "--view", "late")
    assert purpose in " ".join(planned.stdout.split()), planned.output
    assert run("ledger", "show", ledger).stdout == spent
    for options, rule in (
        (("--view", "late"), "view: name the ledger that stores the view with --ledger URL"),
        (("--ledger", ledger), "ledger: a plan charges no ledger; leave --ledger out, or name a view with --view NAME"),
        (("--ledger", ledger, "--view", "lat"), "view: 'lat' is not the name of a view; views: some, late"),
    ):
        assert run(*plan, *options).stderr.startswith(f"dpcurves: {rule}")
    statement = 'SELECT dp_count("hours late") FROM late'
    paid = ("--ledger", ledger, "--epsilon", "0.1", "--adjacency", "replace-one")
    (tmp_path / "study.toml").write_text(STUDY)
    commands = (
        ("sql", csv, statement, *paid),
        ("study", tmp_path / "study.toml", csv, "--ledger", ledger, "--adjacency", "replace-one", "--out", tmp_path),
    )
    for command in commands:
        done = run(*command)
        assert done.exit_code == 0, done.output
    shown = run("ledger", "show", ledger).stdout
    assert shown.count("delay / 60") == 3, shown


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (("add", "--name", "late", "--column", "hours"), "column: a name and its expression are needed, once"),
        (("add", "--name", "late", "--where", "delay > random()"), "where: "),
        (("add", "--name", "late", "--base", "late"), "base: 'late' is not the name of a view"),
        (("add", "--name", "", "--where", "delay > 0"), "name: a name of 1 to 200"),
        (("remove", "--name", "late"), "name: 'late' is not the name of a view"),
    ],
)
def test_a_wrong_view_is_refused_under_its_option(run: Run, ledger: str, arguments: tuple[str, ...], rule: str) -> None:
    action, *rest = arguments
    refused = run("ledger", "view", action, ledger, *rest)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"dpcurves: {rule}"), refused.stderr
    assert refused.stderr.count("\n") == 1


def test_a_view_needs_a_ledger_that_has_it(run: Run, csv: Path, ledger: str) -> None:
    ask = ("count", csv, "--view", "late", "--epsilon", "1", "--adjacency", "replace-one")
    assert "dpcurves: view: only questions that a ledger pays for" in run(*ask).stderr
    refused = run(*ask, "--ledger", ledger)
    assert refused.stderr == "dpcurves: view: 'late' is not the name of a view; views: none is defined\n"
    assert (
        "epsilon 2 of 2" in run("ledger", "show", ledger).stdout or "delay" not in run("ledger", "show", ledger).stdout
    )
