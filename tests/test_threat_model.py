"""The threat model of SECURITY.md: readable by programs, bound to this version; and the check of pinned versions."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pins
import pytest

ROOT = Path(__file__).resolve().parents[1]
FIELDS = {
    "assets": {"name", "holders"}, "adversaries": {"name", "can"}, "promises": {"property", "against", "tests"},
    "disclaimed": {"property"}, "known_non_findings": {"report", "why"},
}  # fmt: skip


def test_the_threat_model_is_of_this_version_and_each_promise_names_tests_that_are_there() -> None:
    model = pins.read_threat_model((ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert model["version"] == project["version"]
    for part, fields in FIELDS.items():
        assert model[part]
        assert all(fields <= entry.keys() for entry in model[part])
    adversaries = {entry["name"] for entry in model["adversaries"]} | {"administrator by mistake"}
    for promise in model["promises"]:
        assert set(promise["against"]) <= adversaries
        assert all((ROOT / path).exists() for path in promise["tests"])


def say(advisories: Mapping[str, Any]) -> pins.Fetch:
    """An index with these advisories by pin."""
    return lambda path: {"vulnerabilities": advisories.get(path, ())}


def test_advisories_of_pinned_versions_are_found_and_dismissed_or_withdrawn_ones_are_not() -> None:
    found = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fixed_in": ["2.0"]}
    fetch = say({"a/1.0": [found], "b/1.0": [{**found, "withdrawn": "2026-01-01"}], "c/2.0": []})
    text = "a==1.0\nb==1.0\nc==2.0\n"
    assert pins.find_advisories(pins.read_pins(text), fetch, {}) == ["a 1.0: PYSEC-1, repaired in 2.0"]
    assert pins.find_advisories(pins.read_pins(text), fetch, {"CVE-1": "not reached"}) == []


def test_an_index_without_advisories_is_said_in_one_line_and_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(path: str) -> Mapping[str, Any]:
        raise pins.NoAdvisories("status 404")

    assert pins.main(refuse) == 0
    assert capsys.readouterr().out == "pins: not checked: the index has no advisories (status 404)\n"
    assert pins.main(say({})) == 0
    first = next(pins.read_pins((ROOT / "constraints.txt").read_text(encoding="utf-8")))
    advisory = {"id": "X-1", "fixed_in": []}
    assert pins.main(say({"/".join(first): [advisory]})) == 1
