"""Allowances on the command line: set, shown, and refused in the words of the option."""

from __future__ import annotations

from collections.abc import Callable

from click.testing import Result

Run = Callable[..., Result]


def test_allowances_are_set_and_shown(run: Run, ledger: str) -> None:
    empty = run("ledger", "allowance", "show", ledger)
    assert "there are no allowances in 'flights'; epsilon 2 of its cap remains" in empty.stdout
    allowance = ("ledger", "allowance", "set", ledger, "--project", "delays")
    assert run(*allowance, "--epsilon", "1.5").exit_code == 0
    assert run(*allowance, "--analyst", "ann", "--epsilon", "0.75").exit_code == 0
    shown = run("ledger", "allowance", "show", ledger)
    assert shown.exit_code == 0, shown.output
    for words in ("delays", "ann", "all", "epsilon 1.5", "epsilon 0.75", "allowances divide the cap"):
        assert words in shown.stdout
    assert run("ledger", "verify", ledger).stdout.startswith("verified: 3 entries")


def test_what_adds_up_to_more_than_the_cap_has_to_be_said(run: Run, ledger: str) -> None:
    assert run("ledger", "allowance", "set", ledger, "--project", "delays", "--epsilon", "1.5").exit_code == 0
    more = ("ledger", "allowance", "set", ledger, "--project", "noise", "--epsilon", "1")
    refused = run(*more)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == (
        "dpcurves: epsilon: the allowances in dataset 'flights' add up to 2.5 of epsilon 2; "
        "set less, or allow that with the rule 'may exceed'\n"
    )
    assert run(*more, "--may-exceed").exit_code == 0
    alone = run("ledger", "allowance", "set", ledger, "--project", "noise", "--epsilon", "3", "--may-exceed")
    assert alone.stderr.startswith("dpcurves: epsilon: an allowance must not exceed the epsilon 2 of dataset 'flights'")
    orphan = run("ledger", "allowance", "set", ledger, "--project", "x", "--analyst", "ann", "--epsilon", "1")
    assert orphan.stderr.startswith("dpcurves: project: 'x' has no allowance; set the one of the project before")
    rho = run("ledger", "allowance", "set", ledger, "--project", "delays", "--rho", "0.1")
    assert rho.stderr.startswith("dpcurves: rho: this account is kept in epsilon")
