"""Drafts that killed processes left beside their outputs are removed by the next command, and no others."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dpcurves import drafts
from dpcurves.cli.output import Output
from dpcurves.drafts import hold_draft, sweep_drafts, sweep_scratch_folders, write_whole
from dpcurves.ledger.chain import publish_file
from dpcurves.publication import _write_files

KILLED = """
import sys, time
from pathlib import Path
from dpcurves.cli import output
def fill(draft):
    draft.write_text("half of it")
    print(draft.name, flush=True)
    time.sleep(600)
output._write_atomically("json", Path(sys.argv[1]), fill)
"""


def start_writing(path: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process in the midst of writing a file, and its draft."""
    writer = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    return writer, path.parent / writer.stdout.readline().strip()


def kill(writer: subprocess.Popen[str]) -> None:
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert writer.stdout is not None
    writer.stdout.close()


def test_the_draft_of_a_killed_process_is_removed_by_the_next_command_and_that_of_a_living_one_stays(
    tmp_path: Path,
) -> None:
    dead, left_over = start_writing(tmp_path / "curve.json")
    kill(dead)
    assert left_over.read_text() == "half of it"
    alive, draft = start_writing(tmp_path / "other.json")
    try:
        others = (".hidden", ".dpcurves-draft-mine", ".dpcurves-draft-0123456789abcdeg")
        for name in others:
            (tmp_path / name).write_text("mine")
        (tmp_path / ".dpcurves-draft-0123456789abcdef").symlink_to(tmp_path / ".hidden")
        Output(json=str(tmp_path / "curve.json")).require_writable()
        assert not left_over.exists()
        assert draft.read_text() == "half of it"
        assert all((tmp_path / name).read_text() == "mine" for name in others)
        assert not (tmp_path / "curve.json").exists()
    finally:
        kill(alive)
    assert sweep_drafts(tmp_path) == 1


def test_drafts_of_secret_files_are_swept_too_and_keep_their_mode(tmp_path: Path) -> None:
    with hold_draft(tmp_path / "ledger.db.key", 0o600) as draft:
        assert draft.stat().st_mode & 0o077 == 0
        os.link(draft, tmp_path / "kept")
    (tmp_path / ".dpcurves-draft-00112233445566aa.key").write_text("secret")
    (tmp_path / ".dpcurves-draft-00112233445566bb.db").write_text("a database")
    (tmp_path / ".dpcurves-draft-00112233445566bb.db-journal").write_text("and its journal")
    assert publish_file(tmp_path / "ledger.db.key", lambda draft: draft.write_text("key"))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["kept", "ledger.db.key"]


def test_what_sqlite_keeps_beside_a_draft_that_is_being_written_stays(tmp_path: Path) -> None:
    with hold_draft(tmp_path / "ledger.db") as draft:
        journal = draft.with_name(f"{draft.name}-journal")
        journal.write_text("pages")
        assert sweep_drafts(tmp_path) == 0
        assert journal.read_text() == "pages"


def test_a_writer_whose_draft_was_swept_before_its_lock_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open
    swept: list[str] = []

    def open_and_sweep(path: object, *rest: int) -> int:
        descriptor = opened(path, *rest)  # type: ignore[arg-type]
        if not swept and rest[0] & os.O_EXCL:
            swept.append(str(path))
            os.unlink(str(path))
        return descriptor

    monkeypatch.setattr(os, "open", open_and_sweep)
    with hold_draft(tmp_path / "a.json") as draft:
        assert draft.exists()
        assert str(draft) not in swept


PUBLISHING = """
import os, signal, sys
from pathlib import Path
from dpcurves.publication import _write_files
write = Path.write_bytes
def write_half_and_die(path, content):
    if content == b"new page":
        write(path, content[:4])
        os.kill(os.getpid(), signal.SIGKILL)
    return write(path, content)
Path.write_bytes = write_half_and_die
_write_files(Path(sys.argv[1]), {"a.json": b"new numbers", "index.html": b"new page", "SHA256SUMS": b"new sums"})
"""


def test_a_publication_that_was_killed_holds_whole_files_without_sums_and_is_written_again(tmp_path: Path) -> None:
    earlier = {"a.json": b"old numbers", "index.html": b"old page", "SHA256SUMS": b"old sums"}
    _write_files(tmp_path, earlier)
    killed = subprocess.run([sys.executable, "-c", PUBLISHING, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    whole = {
        path.name: path.read_bytes() for path in tmp_path.iterdir() if not path.name.startswith(drafts.DRAFT_PREFIX)
    }
    assert whole == {"a.json": b"new numbers", "index.html": b"old page"}
    assert len(list(tmp_path.iterdir())) == 3
    _write_files(tmp_path, earlier)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == earlier
    (tmp_path / "of others").write_text("")
    with pytest.raises(ValueError, match="files of other origin"):
        _write_files(tmp_path, earlier)


KILL_HALFWAY = """
import os, signal, sys
from pathlib import Path
from dpcurves.drafts import write_whole
write = Path.write_bytes
def write_half_and_die(path, content):
    write(path, content[:4])
    os.kill(os.getpid(), signal.SIGKILL)
Path.write_bytes = write_half_and_die
write_whole(sys.argv[1], "new page")
"""


def test_a_killed_writer_leaves_the_earlier_file_and_the_next_one_keeps_its_permissions(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("old page")
    page.chmod(0o640)
    killed = subprocess.run([sys.executable, "-c", KILL_HALFWAY, str(page)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (page.read_text(), len(list(tmp_path.iterdir()))) == ("old page", 2)
    link = tmp_path / "link.html"
    link.symlink_to(page)
    write_whole(link, "new page")
    assert link.is_symlink()
    assert (page.read_text(), page.stat().st_mode & 0o777) == ("new page", 0o640)
    write_whole(tmp_path / "secret", b"names", 0o600)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    write_whole(os.devnull, "shown to nobody")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.html", "page.html", "secret"]


WRITES_IN_PLACE = {
    "dpcurves/cli/output.py": "fills a draft",
    "dpcurves/display/picture_description.py": "a picture",
    "dpcurves/drafts.py": "fills a draft, or a device",
    "dpcurves/ledger/chain.py": "fills a draft",
    "dpcurves/ledger/head_copy.py": "fills a draft",
    "dpcurves/publication.py": "fills a draft",
    "dpcurves_audit/deployments.py": "a file of a scratch folder",
    "dpcurves_audit/samplers.py": "a file of a scratch folder",
    "dpcurves_audit/search.py": "fills a draft",
    "dpcurves_local/aggregator.py": "fills a draft",
    "dpcurves_parties/pairs/device.py": "fills a draft",
    "dpcurves_parties/serving/blobs.py": "fills a draft",
    "dpcurves_parties/serving/identity.py": "fills a draft",
    "dpcurves_server/cli/remotes.py": "fills a draft",
    "dpcurves_sites/relay.py": "a new file of a scratch folder",
    "dpcurves_sites/transport_apps.py": "files of a new app",
}
"""Modules that call `write_text` or `write_bytes` of a path, with the reason why no reader sees a part of a file."""


def test_files_under_their_final_names_are_written_whole() -> None:
    source = Path(drafts.__file__).parents[1]
    writers = {
        path.relative_to(source).as_posix()
        for package in source.glob("dpcurves*")
        for path in package.rglob("*.py")
        if package.name != "dpcurves_sim" and re.search(r"^[^>#]*[.]write_(?:text|bytes)\(", path.read_text(), re.M)
    }
    assert writers == set(WRITES_IN_PLACE)


SPILLING = """
import time
from pathlib import Path
from dpcurves.records.engines.duckdb import DuckConnection
engine = DuckConnection()
folder = engine.connection.execute("SELECT current_setting('temp_directory')").fetchone()[0]
(Path(folder) / "spilled").write_text("records")
print(folder, flush=True)
time.sleep(600)
"""


def test_scratch_folders_of_killed_processes_are_removed_by_the_next_and_those_of_living_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", SPILLING], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        for _ in range(2)
    ]  # fmt: skip
    dead, alive = (Path(process.stdout.readline().strip()) for process in started if process.stdout)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(drafts, "SWEPT_FOLDERS", set())
    try:
        kill(started[0])
        assert (dead / "spilled").read_text() == "records"
        mine = drafts.ScratchFolder()
        assert not dead.exists()
        assert (alive / "spilled").read_text() == "records"
        assert mine.path.stat().st_mode & 0o077 == 0
        mine.remove()
        assert sorted(mine.path.parent.glob(f"{mine.path.name}*")) == []
    finally:
        kill(started[1])
    assert sweep_scratch_folders(mine.path.parent) == 1
    assert list(mine.path.parent.iterdir()) == []


def test_a_folder_that_others_may_enter_holds_no_scratch_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / f"dpcurves-{os.getuid()}").mkdir(mode=0o755)
    folder = drafts.ScratchFolder()
    assert folder.path.parent.name != f"dpcurves-{os.getuid()}"
    assert folder.path.parent.stat().st_mode & 0o077 == 0
    folder.remove()
    assert [entry.name for entry in tmp_path.iterdir()] == [f"dpcurves-{os.getuid()}"]
