"""What the R package is tested on is what is released today: its tests run where there is R."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dpcurves as dp

KEPT = Path(__file__).resolve().parents[2] / "r" / "inst" / "extdata"


def _short(field: str) -> str:
    """Nine digits of each number: the last ones depend on the processor and on how many threads add up."""
    return "\n".join(f"{float(part):.9g}" if _is_number(part) else part for part in field.splitlines())


def _is_number(text: str) -> bool:
    try:
        return bool(text) and float(text) == float(text)
    except ValueError:
        return False


def _flatten(value: Any) -> dict[str, str]:
    """All numbers, shortened, and texts of nested objects and lists, by their path."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if parts is None:
        return {"": _short(str(value))}
    return {f"{key}.{path}": leaf for key, part in parts for path, leaf in _flatten(part).items()}


@pytest.mark.parametrize("name", sorted(path.stem for path in KEPT.glob("*.json")))
def test_results_that_r_reads_are_read_here_and_have_the_columns_of_their_csv(name: str) -> None:
    found = dp.read_result(KEPT / f"{name}.json")
    table = KEPT / f"{name}.csv"
    if table.exists():
        fields = found.to_csv_text(level=0.95, population=True).split(","), table.read_bytes().decode().split(",")
        assert [_short(field) for field in fields[0]] == [_short(field) for field in fields[1]]
    assert found.privacy.seeded
    picture = json.loads((KEPT / "pictures" / f"{name}.json").read_text())
    assert _flatten(json.loads(found.describe_picture().to_json())) == _flatten(picture)
