"""The page of papers says what the committed records say, and records say what their numbers say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from reproduction import claims, record
from reproduction.claims import Claim
from reproduction.measured import Measured

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = sorted(file.parent for file in (ROOT / "papers").glob("*/claims.toml"))


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    made = importlib.util.spec_from_file_location("pages_of_papers", ROOT / "papers" / "pages.py")
    assert made is not None
    assert made.loader is not None
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


def test_the_page_of_papers_fits_the_records(pages: ModuleType) -> None:
    assert pages.page(pages.recorded()) == (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_claim_of_a_record_has_the_verdict_of_its_numbers(folder: Path) -> None:
    if not (folder / record.FILE).exists():
        pytest.skip(f"{folder.name} has no record yet")
    paper, rows = record.recorded(folder)
    assert {row.claim.id: row.verdict for row in rows} == record.verdicts(folder / record.FILE)
    assert len({claim.id for claim in paper.claims}) == len(paper.claims)


def claim(rule: str, number: float, tolerance: float = 0.0) -> Claim:
    return Claim("id", "Theorem 1", "is private", rule, number, tolerance)


@pytest.mark.parametrize(
    ("rule", "printed", "corrected", "verdict"),
    [
        ("equal", 1.0, None, claims.HOLDS),
        ("equal", 1.2, None, claims.FAILS),
        ("at most", 0.5, None, claims.HOLDS),
        ("at most", 1.5, 1.05, claims.CORRECTED),
        ("at most", 1.5, 1.2, claims.FAILS),
        ("at least", 0.95, None, claims.HOLDS),
        ("at least", float("inf"), None, claims.HOLDS),
        ("at most", float("inf"), 1.0, claims.CORRECTED),
        ("at most", float("nan"), None, claims.FAILS),
    ],
)
def test_a_verdict_follows_from_the_numbers(rule: str, printed: float, corrected: float | None, verdict: str) -> None:
    assert claim(rule, 1.0, tolerance=0.1).verdict(Measured(printed, corrected)) == verdict


def test_a_run_keeps_the_lines_of_what_it_did_not_run(tmp_path: Path) -> None:
    stated = [Claim(name, "", "", "at most", 1.0, 0.0) for name in ("first", "second")]
    file = tmp_path / record.FILE
    record.write(claims.rows(stated, {"first": Measured(1.0), "second": Measured(float("inf"), 0.25, -1e-10)}), file)
    before = file.read_text(encoding="utf-8")
    record.write(claims.rows(stated, {"first": Measured(2.0)}), file)
    assert record.findings(file) == {"first": Measured(2.0), "second": Measured(float("inf"), 0.25, -1e-10)}
    assert record.verdicts(file) == {"first": claims.FAILS, "second": claims.CORRECTED}
    assert before != file.read_text(encoding="utf-8")


def test_a_finding_that_nobody_claims_is_refused() -> None:
    with pytest.raises(ValueError, match="findings: each answers a claim"):
        claims.rows([claim("equal", 1.0)], {"other": Measured(1.0)})
