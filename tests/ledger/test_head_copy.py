"""A ledger that was put back to an older copy is refused before it is charged, until a restore is recorded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.cli.app import build
from dpcurves.drafts import DRAFT_PREFIX
from dpcurves.ledger import Account, Ledger, head_copy
from dpcurves.ledger.head_copy import RESTORE_ACTION, find_folder
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss

ONE = PrivacyLoss.pure(1)


@pytest.fixture(autouse=True)
def heads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "heads"
    monkeypatch.setenv("DPCURVES_HEADS", str(folder))
    return folder


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    Ledger.open(url).create(Account("ages", Neighbours.REPLACE_ONE, EACH_RECORD, PrivacyLoss.pure(9)))
    return url


def charge(url: str, request: str) -> object:
    return Ledger.open(url).charge("ages", ONE, request=request, purpose="a CDF", binding="0" * 64, units=100)


def put_back(tmp_path: Path, copy: Path) -> None:
    for name in ("budget.db-wal", "budget.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    shutil.copy(copy, tmp_path / "budget.db")


@pytest.fixture
def older(tmp_path: Path, url: str) -> Path:
    """A copy that was made before the last charge."""
    charge(url, "first")
    shutil.copy(tmp_path / "budget.db", tmp_path / "copy.db")
    charge(url, "second")
    return tmp_path / "copy.db"


def test_an_older_copy_is_refused_before_a_charge_and_answers_what_it_knows(
    tmp_path: Path, url: str, older: Path
) -> None:
    put_back(tmp_path, older)
    for request in ("second", "third"):
        with pytest.raises(InvalidArgument, match="an older copy was put back: it has 2 entries, and had 3"):
            charge(url, request)
    with pytest.raises(InvalidArgument, match="dpcurves ledger restore"):
        Ledger.open_persistent(url).create(Account("b", Neighbours.REPLACE_ONE, EACH_RECORD, ONE))
    assert charge(url, "first")  # nothing is written for it
    assert len(Ledger.open(url).statement("ages").grants) == 1


def test_a_copy_under_an_open_ledger_is_refused_and_so_is_one_of_before_any_charge(tmp_path: Path, url: str) -> None:
    """`cp` writes into the file that a running process has open, and leaves what SQLite keeps beside it."""
    book = Ledger.open(url)

    def charge_open(request: str) -> object:
        return book.charge("ages", ONE, request=request, purpose="a CDF", binding="0" * 64, units=100)

    for entries in (1, 2):
        shutil.copyfile(tmp_path / "budget.db", tmp_path / f"copy {entries}.db")
        charge_open(f"request {entries}")
    for entries in (2, 1):
        shutil.copyfile(tmp_path / f"copy {entries}.db", tmp_path / "budget.db")
        for request in ("request 2", "another"):
            with pytest.raises(InvalidArgument, match=f"an older copy was put back: it has {entries} entries, and had"):
                charge_open(request)
        assert book.verify().entries == entries
    assert book.statement("ages").grants == ()


def test_a_copy_that_went_on_elsewhere_is_refused_however_long_it_is(
    tmp_path: Path, url: str, older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_back(tmp_path, older)
    monkeypatch.setenv("DPCURVES_HEADS", "off")
    for request in ("a", "b", "c"):
        charge(url, request)
    monkeypatch.setenv("DPCURVES_HEADS", str(tmp_path / "heads"))
    with pytest.raises(InvalidArgument, match="another copy was put back: its entry 3 is not the one"):
        charge(url, "d")


def test_a_restore_on_purpose_is_one_command_and_stands_in_the_chain(tmp_path: Path, url: str, older: Path) -> None:
    def run() -> tuple[int, str]:
        found = CliRunner().invoke(build(), ["ledger", "restore", url])
        return found.exit_code, found.output

    status, words = run()
    assert (status, "no older copy was put back" in words) == (4, True)
    put_back(tmp_path, older)
    status, words = run()
    assert (status, "recorded: an older copy was put back" in words) == (0, True)
    (entry,) = Ledger.open(url).events()
    assert (entry.event.action, entry.event.subject) == (
        RESTORE_ACTION, "an older copy was put back: it has 2 entries",
    )  # fmt: skip
    charge(url, "second")
    assert Ledger.open(url).verify().entries == 4
    put_back(tmp_path, older)
    assert str(Ledger.open(url).accept_restored()) == Ledger.open(url).head()


def test_a_restore_whose_head_cannot_be_stored_says_so_and_is_completed_by_the_next_one(
    tmp_path: Path, url: str, older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_back(tmp_path, older)

    def fail(*_: object) -> None:
        """Report a full disk."""
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as context:
        context.setattr(head_copy.HeadCopy, "overwrite", fail)
        found = CliRunner().invoke(build(), ["ledger", "restore", url])
    assert found.exit_code == 4
    assert (
        "the restore is recorded, but the copy of the ledger's head cannot be replaced (No space left" in found.output
    )
    with pytest.raises(InvalidArgument, match="dpcurves ledger restore"):
        charge(url, "second")
    assert CliRunner().invoke(build(), ["ledger", "restore", url]).exit_code == 0
    charge(url, "second")


def test_a_ledger_works_where_no_head_can_be_kept_and_heads_say_nothing_of_questions(
    tmp_path: Path, url: str, heads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (head,) = heads.iterdir()
    assert head.stat().st_mode & 0o077 == 0
    assert head.read_text() == "{} {}\n".format(*Ledger.open(url).head().split("-"))
    head.write_text("damaged")
    charge(url, "first")
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("DPCURVES_HEADS", str(tmp_path / "a file" / "heads"))
    charge(url, "second")
    monkeypatch.delenv("DPCURVES_HEADS")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert find_folder() == tmp_path / "state" / "dpcurves" / "heads"
    with dp.Session({"age": [1.0, 1.5]}, budget=ONE, adjacency=dp.REPLACE_ONE) as session:  # in memory
        session.ask(dp.HistogramQuestion("age", dp.Grid(0, 2, cells=2)), ONE)
    assert not (tmp_path / "state").exists()


def test_a_head_that_a_power_failure_cut_off_refuses_nothing_and_drafts_of_killed_writers_go(
    url: str, heads: Path
) -> None:
    charge(url, "first")
    (head,) = heads.iterdir()
    whole = head.read_text()
    (heads / f"{DRAFT_PREFIX}{'0' * 16}.head").write_text("3 ab")  # of a process that was killed
    for cut in (0, 2, 4, len(whole) - 2, len(whole) - 1):  # "2 ab" passed for the head of another copy
        head.write_text(whole[:cut])
        charge(url, f"after {cut}")
    assert list(heads.iterdir()) == [head]
    assert head.read_text().startswith("7 ")


def test_a_head_is_flushed_before_it_has_its_name_and_its_name_afterwards(
    url: str, heads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a loss of power brings an earlier head back, with which an older copy of the ledger passes for the present
    one.
    """
    calls: list[tuple[str, bool]] = []

    def record(path: Path, *mode: int) -> None:
        calls.append((path.name[: len(DRAFT_PREFIX)], path.exists()))

    monkeypatch.setattr(head_copy, "flush", record)
    monkeypatch.setattr(head_copy, "flush_names", record)
    charge(url, "first")
    assert calls == [(DRAFT_PREFIX, True), (heads.name, True)]
