from __future__ import annotations

from pathlib import Path

import pytest

from dpcurves.ledger.chain import publish_file


def test_the_first_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for text in ("first", "second"):
        publish_file(path, lambda draft, text=text: draft.write_text(text))  # type: ignore[misc]
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_draft_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(draft: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        publish_file(tmp_path / "file", fail)
    assert list(tmp_path.iterdir()) == []


def test_a_draft_is_readable_by_its_owner_alone_from_the_start(tmp_path: Path) -> None:
    modes = []
    publish_file(tmp_path / "file", lambda draft: modes.append(draft.stat().st_mode & 0o777))
    assert modes == [0o600]
