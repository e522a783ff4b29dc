from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result

from dpcurves.ledger import Grant
from dpcurves.ledger.chain import Chain
from dpcurves.ledger.verification import Charge

Run = Callable[..., Result]

DELAY = ("--column", "delay", "--grid", "-100:300:64")
CREATE = ("--dataset", "flights", "--epsilon", "2", "--adjacency", "replace-one")


def asked(run: Run, table: Path, ledger: str, *options: object) -> Result:
    return run("cdf", table, *DELAY, "--ledger", ledger, *options)


def left(run: Run, ledger: str) -> str:
    shown = run("ledger", "show", ledger)
    assert shown.exit_code == 0, shown.output
    return shown.stdout


def test_a_new_account_is_shown_with_its_cap_and_its_promise(run: Run, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/budget.db"
    made = run("ledger", "create", url, *CREATE[:-1], "add-remove", "--unit", "tail", "--rows-per-unit", "5")
    assert made.exit_code == 0, made.output
    for words in ("flights", "epsilon 2", "add-remove", "tail (at most 5 records each)"):
        assert words in made.stdout


def test_an_account_is_made_once_and_stays_what_it_is(run: Run, ledger: str) -> None:
    assert run("ledger", "create", ledger, *CREATE).exit_code == 0
    other = run("ledger", "create", ledger, "--dataset", "flights", "--epsilon", "3", "--adjacency", "replace-one")
    assert other.exit_code == 2
    assert other.stderr == (
        "dpcurves: budget: the account of 'flights' was opened with epsilon 2, not with epsilon 3; use epsilon 2, or"
        " name another dataset\n"
    )


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (CREATE[:2] + CREATE[4:], "epsilon: give --epsilon (pure) or --rho (zCDP)"),
        (CREATE[:4], "adjacency: give --adjacency replace-one"),
        (CREATE[2:], "dataset: --dataset is missing"),
        ((*CREATE[:3], "inf", *CREATE[4:]), "epsilon: a finite number above zero"),
        (("--dataset", "", *CREATE[2:]), "dataset: a name of 1 to 200 printable characters is needed"),
        ((*CREATE[:3], "1e-12", *CREATE[4:]), "epsilon: a number from 1e-9 to 1e9 is needed, as in 0.5, got 1e-12"),
    ],
)
def test_a_wrong_account_is_refused_and_no_file_is_made(
    run: Run, tmp_path: Path, options: tuple[str, ...], line: str
) -> None:
    refused = run("ledger", "create", f"sqlite:///{tmp_path}/budget.db", *options)
    assert refused.exit_code == 2
    assert refused.stderr.startswith(f"dpcurves: {line}")
    assert list(tmp_path.iterdir()) == []


def test_a_curve_is_paid_from_the_account_which_fixes_the_promise(run: Run, parquet: Path, ledger: str) -> None:
    result = asked(run, parquet, ledger, "--epsilon", "0.5")
    assert result.exit_code == 0, result.output
    assert "left: epsilon 1.5 of 2 in 'flights'" in result.stdout
    assert result.stderr == ""
    assert "distribution" in left(run, ledger)  # a narrow terminal breaks the line


def test_the_same_request_gives_the_same_curve_for_nothing(
    run: Run, parquet: Path, ledger: str, tmp_path: Path
) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    request = ("--epsilon", "1.5", "--request-id", "monday")
    assert asked(run, parquet, ledger, *request, "--json", first).exit_code == 0
    before = left(run, ledger)
    again = asked(run, parquet, ledger, *request, "--json", second)
    assert again.exit_code == 0, again.output
    assert first.read_bytes() == second.read_bytes()
    assert left(run, ledger) == before
    assert "left: epsilon 0.5 of 2" in again.stdout


def test_a_fresh_request_is_told_and_can_be_used_again(run: Run, parquet: Path, ledger: str) -> None:
    first = asked(run, parquet, ledger, "--epsilon", "1", "--json", "-")
    request = json.loads(first.stdout)["privacy"]["grant"]
    assert f"request: {request}" in first.stderr
    again = asked(run, parquet, ledger, "--epsilon", "1", "--json", "-", "--request-id", request)
    assert again.stdout == first.stdout


@pytest.mark.parametrize(
    "options",
    [
        ("--epsilon", "0.5", "--column", "score", *DELAY[2:]),
        ("--epsilon", "0.25", *DELAY),
        ("--epsilon", "0.5", *DELAY[:2], "--grid", "0:1:4"),
    ],
)
def test_another_question_under_the_same_request_is_refused(
    run: Run, parquet: Path, ledger: str, options: tuple[str, ...]
) -> None:
    assert asked(run, parquet, ledger, "--epsilon", "0.5", "--request-id", "monday").exit_code == 0
    before = left(run, ledger)
    refused = run("cdf", parquet, "--ledger", ledger, *options, "--request-id", "monday")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("dpcurves: request-id: 'monday' was used for another question")
    assert left(run, ledger) == before


def test_more_than_is_left_is_refused_with_a_status_of_its_own(run: Run, parquet: Path, ledger: str) -> None:
    assert asked(run, parquet, ledger, "--epsilon", "1.5").exit_code == 0
    before = left(run, ledger)
    refused = asked(run, parquet, ledger, "--epsilon", "0.7")
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert refused.stderr == (
        "dpcurves: budget: 'distribution function of delay' costs epsilon 0.7; 0.5 of 2 is left\n"
    )
    assert left(run, ledger) == before


def test_an_account_kept_in_epsilon_cannot_pay_in_rho(run: Run, parquet: Path, ledger: str) -> None:
    refused = asked(run, parquet, ledger, "--rho", "0.1")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("dpcurves: rho: this account is kept in epsilon")


def test_of_several_accounts_one_must_be_named(run: Run, parquet: Path, ledger: str) -> None:
    assert run("ledger", "create", ledger, "--dataset", "trains", *CREATE[2:]).exit_code == 0
    refused = asked(run, parquet, ledger, "--epsilon", "1")
    assert refused.exit_code == 2
    assert refused.stderr == "dpcurves: dataset: name the account that is charged, as --dataset NAME: flights, trains\n"
    assert "of 2 in 'trains'" in asked(run, parquet, ledger, "--epsilon", "1", "--dataset", "trains").stdout
    one = run("ledger", "show", ledger, "--dataset", "trains").stdout
    assert "trains" in one
    assert "flights" not in one


@pytest.mark.parametrize(
    ("url", "status", "line"),
    [
        ("sqlite:///{}/none.db", 2, "ledger: there is no ledger at this URL; make one with: dpcurves ledger create"),
        ("sqlite:///{}/none/none.db", 4, "ledger: "),
        ("sqlite://", 2, "ledger: a ledger in memory ends with the command"),
        ("sqlite:///:memory:", 2, "ledger: a ledger in memory ends with the command"),
        ("{}/budget.db", 2, "ledger: give the ledger's URL: sqlite:///budget.db"),
        ("mysql://user:zebrafinch@host/database", 2, "ledger: give the ledger's URL"),
    ],
)
@pytest.mark.parametrize("command", ["show", "verify", "head", "cdf"])
def test_a_url_without_a_ledger_is_refused(
    *, run: Run, parquet: Path, tmp_path: Path, command: str, url: str, status: int, line: str
) -> None:
    place = url.format(tmp_path)
    result = asked(run, parquet, place, "--epsilon", "1") if command == "cdf" else run("ledger", command, place)
    assert (result.exit_code, result.stdout) == (status, "")
    assert result.stderr.startswith(f"dpcurves: {line}")
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_without_accounts_says_how_to_make_one(run: Run, parquet: Path, tmp_path: Path) -> None:
    from dpcurves.ledger import Ledger

    url = f"sqlite:///{tmp_path}/budget.db"
    Ledger.open(url)
    assert run("ledger", "show", url).stdout == "this ledger has no account\n"
    refused = asked(run, parquet, url, "--epsilon", "1")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("dpcurves: dataset: this ledger has no account; make one with: dpcurves ledger")


def test_an_untouched_ledger_is_verified_and_keeps_its_head(run: Run, parquet: Path, ledger: str) -> None:
    head = run("ledger", "head", ledger).stdout.strip()
    assert asked(run, parquet, ledger, "--epsilon", "1").exit_code == 0
    verified = run("ledger", "verify", ledger, "--head", head)
    assert verified.exit_code == 0, verified.output
    assert verified.stdout.startswith("verified: ")
    assert run("ledger", "verify", ledger).exit_code == 0


def edit(tmp_path: Path, statement: str) -> None:
    with closing(sqlite3.connect(tmp_path / "budget.db")) as connection, connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE dpcurves_accounts SET cap = cap * 100",
        "UPDATE dpcurves_accounts SET spent = 0",
        "DELETE FROM dpcurves_grants",
        "UPDATE dpcurves_grants SET amount = 1",
    ],
)
def test_an_edit_without_the_key_is_found(run: Run, parquet: Path, ledger: str, tmp_path: Path, statement: str) -> None:
    assert asked(run, parquet, ledger, "--epsilon", "1").exit_code == 0
    edit(tmp_path, statement)
    found = run("ledger", "verify", ledger)
    assert (found.exit_code, found.stdout) == (4, "")
    assert found.stderr.startswith("dpcurves: ledger: ")
    assert found.stderr.count("\n") == 1


def test_an_older_copy_that_was_put_back_is_found_by_the_head(
    run: Run, parquet: Path, ledger: str, tmp_path: Path
) -> None:
    older = (tmp_path / "budget.db").read_bytes()
    assert asked(run, parquet, ledger, "--epsilon", "1").exit_code == 0
    head = run("ledger", "head", ledger).stdout.strip()
    for file in tmp_path.glob("budget.db-*"):
        file.unlink()
    (tmp_path / "budget.db").write_bytes(older)
    assert run("ledger", "verify", ledger).exit_code == 0
    assert run("ledger", "verify", ledger, "--head", head).exit_code == 4


def test_a_head_that_is_none_is_wrong_usage(run: Run, ledger: str) -> None:
    refused = run("ledger", "verify", ledger, "--head", "abc")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("dpcurves: head: ")


def test_a_corrupt_ledger_is_refused_before_the_data_is_opened(run: Run, ledger: str, tmp_path: Path) -> None:
    for file in tmp_path.glob("budget.db-*"):
        file.unlink()
    (tmp_path / "budget.db").write_bytes(b"zebrafinch" * 1000)
    for result in (
        run("ledger", "show", ledger), run("ledger", "verify", ledger),
        asked(run, tmp_path / "missing.csv", ledger, "--epsilon", "1"),
    ):  # fmt: skip
        assert (result.exit_code, result.stdout) == (4, "")
        assert result.stderr.startswith("dpcurves: ledger: ")
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["show", "verify", "create", "cdf"])
def test_a_ledger_that_is_gone_is_not_begun_again_beside_its_key(
    *, run: Run, parquet: Path, ledger: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("dpcurves.ledger.sqlite.MISSING_SECONDS", 0)
    (tmp_path / "budget.db").unlink()
    if command == "cdf":
        refused = asked(run, parquet, ledger, "--epsilon", "1")
    else:
        refused = run("ledger", command, ledger, *(CREATE if command == "create" else ()))
    assert (refused.exit_code, refused.stdout) == (4, "")
    assert refused.stderr.startswith(
        f"dpcurves: ledger: '{tmp_path}/budget.db': the ledger is gone, and its key is still there: restore"
    )
    assert not (tmp_path / "budget.db").exists()


def test_a_ledger_without_its_key_is_refused(run: Run, ledger: str, tmp_path: Path) -> None:
    (tmp_path / "budget.db.key").unlink()
    refused = run("ledger", "show", ledger)
    assert refused.exit_code == 4
    assert refused.stderr.startswith("dpcurves: key: ")


def test_what_cannot_be_written_after_the_charge_is_had_again_for_nothing(
    run: Run, parquet: Path, ledger: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    file = tmp_path / "a.json"
    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", fail)
        failed = asked(run, parquet, ledger, "--epsilon", "1", "--json", file)
    assert failed.exit_code == 5
    assert "written: " not in failed.stdout
    assert failed.stderr.startswith(
        f"dpcurves: json: '{file}' could not be written (No space left on device); make room, or name a file"
        " elsewhere; the result is "
    )
    request = failed.stderr.partition("--request-id ")[2].split()[0]
    before = left(run, ledger)
    assert request in before
    assert asked(run, parquet, ledger, "--epsilon", "1", "--json", file, "--request-id", request).exit_code == 0
    assert left(run, ledger) == before
    assert file.exists()


def test_a_command_stopped_after_the_charge_tells_its_request(
    run: Run, parquet: Path, ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpcurves.ledger.Ledger.store_answer", stop)
    stopped = asked(run, parquet, ledger, "--epsilon", "1")
    assert (stopped.exit_code, stopped.stdout) == (130, "")
    assert stopped.stderr.startswith("dpcurves: stopped; the result is paid for: --request-id ")


def test_a_charge_that_may_or_may_not_have_been_written_tells_its_request(
    run: Run, parquet: Path, ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter = Charge.enter_grant

    def enter_and_be_stopped(charge: Charge, chain: Chain) -> Grant:
        grant = enter(charge, chain)
        monkeypatch.setattr(chain.connection.dialect, "do_commit", stop)
        return grant

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Charge, "enter_grant", enter_and_be_stopped)
    stopped = asked(run, parquet, ledger, "--epsilon", "1", "--request-id", "monday")
    assert (stopped.exit_code, stopped.stdout) == (130, "")
    assert (
        stopped.stderr == "dpcurves: stopped; the result may be paid for: --request-id monday never charges it twice\n"
    )


def test_a_command_that_is_told_to_end_removes_its_drafts_and_tells_its_request(
    run: Run, parquet: Path, ledger: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(figure: object, draft: Path) -> None:
        draft.write_text("half a picture")
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("dpcurves.display.save_picture", end)
    before = {path.name for path in tmp_path.iterdir()}
    ended = asked(run, parquet, ledger, "--epsilon", "1", "--plot", tmp_path / "a.svg", "--request-id", "monday")
    assert ended.exit_code == 143
    assert (
        ended.stderr == "dpcurves: stopped; the result is paid for: --request-id monday returns it again at no cost\n"
    )
    assert {path.name for path in tmp_path.iterdir()} == before
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
