"""What a release wrote is opened for ever; what it promised is gone only where the changelog says so."""

from __future__ import annotations

import json
import math
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import keeping
import public_names as names
import pytest

import dpcurves as dp
from dpcurves.curves.result import result_from_json

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "tests" / "released"

VERSIONS = sorted(path.name for path in KEPT.iterdir() if path.joinpath("ledger.sql").exists())


def restored(version: str, folder: Path) -> Path:
    """The ledger of a version as it lay on its disk."""
    with closing(sqlite3.connect(folder / "budget.db")) as opened:
        opened.executescript((KEPT / version / "ledger.sql").read_text(encoding="utf-8"))
    (folder / "budget.db.key").write_bytes((KEPT / version / "key.txt").read_bytes())
    return folder


@pytest.mark.parametrize("version", VERSIONS)
def test_a_ledger_of_every_release_opens_verifies_and_gives_its_answers_again_for_nothing(
    version: str, tmp_path: Path
) -> None:
    told = (KEPT / version / "curves.jsonl").read_text(encoding="utf-8").splitlines()
    with keeping.session(restored(version, tmp_path)) as opened:
        left = opened.remaining
        for (request, question), text in zip(keeping.QUESTIONS.items(), told, strict=False):
            again = json.loads(opened.ask(question, keeping.LOSS, request).to_json())
            assert again["evidence"]["releases"] == json.loads(text)["evidence"]["releases"], request
        assert opened.remaining == left
        opened.ask(dp.HistogramQuestion("x", keeping.GRID), keeping.LOSS, "a new one")
        with pytest.raises(dp.BudgetExceeded):
            opened.ask(dp.HistogramQuestion("x", keeping.GRID), keeping.LOSS, "one too many")
    assert dp.Ledger.open(f"sqlite:///{tmp_path / 'budget.db'}").verify()


@pytest.mark.parametrize("version", VERSIONS)
def test_what_every_release_wrote_as_json_is_read_with_its_numbers(version: str) -> None:
    for text in (KEPT / version / "curves.jsonl").read_text(encoding="utf-8").splitlines():
        written, read = json.loads(text), json.loads(result_from_json(text).to_json())
        assert _alike({name: read[name] for name in written}, written)


def _alike(read: object, written: object) -> bool:
    """Compare both but for fields that came, and last digits of numbers, which differ by processor."""
    if isinstance(read, dict) and isinstance(written, dict):
        return read.keys() >= written.keys() and all(_alike(read[name], written[name]) for name in written)
    if isinstance(read, list) and isinstance(written, list):
        return len(read) == len(written) and all(map(_alike, read, written))
    if isinstance(read, float) and isinstance(written, float):
        return math.isclose(read, written, rel_tol=1e-9, abs_tol=1e-12)
    return read == written


def test_results_whose_class_has_another_name_than_their_kind_are_read_by_a_fresh_process(tmp_path: Path) -> None:
    lines = (KEPT / VERSIONS[-1] / "curves.jsonl").read_text(encoding="utf-8").splitlines()
    by_class = {type(result_from_json(line)).__name__.lower(): (json.loads(line)["kind"], line) for line in lines}
    renamed = {kind: line for name, (kind, line) in by_class.items() if kind not in ("curves", name)}
    renamed = {kind: line for kind, line in renamed.items() if kind.replace("-", "") not in by_class}
    assert {"interval-censored", "weighted-cdf-histogram"} <= set(renamed)
    for kind, line in renamed.items():
        (tmp_path / "result.json").write_text(line, encoding="utf-8")
        script = f"import dpcurves as dp; dp.read_result({str(tmp_path / 'result.json')!r})"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (kind, done.stderr)


def test_the_newest_release_keeps_a_result_of_every_kind() -> None:
    kinds = set(dp.curve_schema()["$defs"]["kind of a curve"]["properties"]["kind"]["enum"])
    assert len(kinds) > 30
    lines = (KEPT / VERSIONS[-1] / "curves.jsonl").read_text(encoding="utf-8").splitlines()
    assert kinds <= {json.loads(line)["kind"] for line in lines}


def test_no_public_name_goes_or_changes_without_a_word_in_the_changelog() -> None:
    kept = names.last()
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if kept.stem == names.version(ROOT):  # names are free until their version is released
        assert f"## {kept.stem} (unreleased)" in changelog
        return
    before, now = names.read(kept), names.public(ROOT)
    assert list(names.unsaid(before, now, names.since(changelog, kept.stem))) == []


def test_a_name_that_goes_comes_or_changes_is_found_unless_the_changelog_says_so() -> None:
    before = {"cdf": "(values, *:grid)", "Grid": "", "Grid.edges": ""}
    now = {"cdf": "(values, *:grid, *:hint=)", "Grid": "", "roc_curve": "(label)"}
    assert list(names.unsaid(before, now, "`Grid` is as it was")) == [
        "Grid.edges is gone",
        "cdf is changed",
        "roc_curve is new",
    ]
    assert list(names.unsaid(before, now, "`dp.cdf` has hints; `dp.roc_curve`; `Grid.edges` is `Grid.cut`")) == []


def test_the_changelog_since_a_release_is_what_stands_above_it() -> None:
    text = "# Changelog\n\n## 0.2.0 (unreleased)\n\nnew\n\n## 0.1.0 - 2026-01-01\n\nold\n"
    assert "new" in names.since(text, "0.1.0")
    assert "old" not in names.since(text, "0.1.0")
    assert "old" in names.since(text.replace(" - 2026-01-01", " (unreleased)"), "0.1.0")
