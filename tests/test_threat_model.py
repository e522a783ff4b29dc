"""The threat model of SECURITY.md: readable by programs, bound to this version; and the check of pinned versions."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from http.client import HTTPException
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
    adversaries = {entry["name"] for entry in model["adversaries"]}
    for promise in model["promises"]:
        assert set(promise["against"]) <= adversaries
        assert all((ROOT / path).exists() for path in promise["tests"])


def say(advisories: Mapping[str, Any]) -> pins.Fetch:
    """Return an index with these advisories by pin; an exception is raised."""

    def fetch(path: str) -> Mapping[str, Any]:
        answer = advisories.get(path, ())
        if isinstance(answer, Exception):
            raise answer
        return {"vulnerabilities": answer}

    return fetch


FOUND = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fixed_in": ["2.0"]}
LINE = "a 1.0: PYSEC-1, repaired in 2.0"
OURS = [f"{name}/{version}" for name, version in pins.read_pins((ROOT / "constraints.txt").read_text("utf-8"))]


def test_advisories_of_pinned_versions_are_found_and_dismissed_or_withdrawn_ones_are_not() -> None:
    fetch = say({"a/1.0": [FOUND], "b/1.0": [{**FOUND, "withdrawn": "2026-01-01"}], "c/2.0": None})
    pinned = [("a", "1.0"), ("b", "1.0"), ("c", "2.0")]
    assert pins.find_advisories(pinned, fetch, {}) == ([LINE], {}, 3)
    assert pins.find_advisories(pinned, fetch, {"CVE-1": "not reached"}) == ([], {}, 3)


def test_advisories_that_were_found_are_kept_when_the_index_says_nothing_of_other_pins() -> None:
    """A version that the index does not know, or an index that goes down meanwhile, hides no advisory."""
    lost = pins.NoAdvisories("status 404")
    pinned = [(name, "1.0") for name in "abcdefgh"]
    some = {"b/1.0": lost, "a/1.0": [FOUND], "d/1.0": [{"name": "no id"}]}
    assert pins.find_advisories(pinned, say(some), {}) == (
        [LINE], {"b 1.0": "status 404", "d 1.0": "an answer without advisories"}, 6
    )  # fmt: skip
    down = {f"{name}/1.0": lost for name in "bcd"}
    asked = list[str]()
    fetch = say({**down, "a/1.0": [FOUND]})
    found = pins.find_advisories(pinned, lambda path: asked.append(path) or fetch(path), {})  # type: ignore[func-returns-value]
    assert found == ([LINE], {f"{name} 1.0": "status 404" for name in "bcdefgh"}, 1)
    assert asked == ["a/1.0", "b/1.0", "c/1.0", "d/1.0"]


def test_a_line_of_constraints_that_is_no_pin_is_refused_and_extras_are_none() -> None:
    text = "# ours\n\na [x,y] ==1.0 ; python_version < '4'  # why\nb === 2\n"
    assert list(pins.read_pins(text.replace("a [", "a["))) == [("a", "1.0"), ("b", "2")]
    for line in ("a>=1.0", "git+https://example.org/a", "-r other.txt", "a==1.0 b==2.0"):
        with pytest.raises(ValueError, match="is not a pin, as attrs==23.2.0 is"):
            list(pins.read_pins(line))


def test_an_index_without_advisories_is_said_in_one_line_and_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    lost = pins.NoAdvisories("status 404")
    assert pins.main(say(dict.fromkeys(OURS, lost))) == 0
    assert capsys.readouterr().out == "pins: not checked: the index has no advisories (status 404)\n"
    assert pins.main(say({})) == 0
    assert capsys.readouterr().out == "pins: no advisory concerns them\n"
    assert pins.main(say({OURS[0]: [{"id": "X-1\x1b[2K\n", "fixed_in": []}]})) == 1
    first = OURS[0].replace("/", " ")
    assert capsys.readouterr().out == f"{first}: X-1\\x1b[2K\\n, repaired in no version\n"
    assert pins.main(say({OURS[1]: lost})) == 2
    assert capsys.readouterr().out.startswith(f"pins: 1 of {len(OURS)} not checked, {OURS[1].replace('/', ' ')} the")


def test_a_password_in_the_address_of_an_index_is_sent_in_a_header_and_never_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = list[Any]()

    def refuse(request: Any, timeout: float) -> None:
        sent.append(request)
        raise HTTPException("no answer from office:s3cret@host")

    monkeypatch.setattr(pins, "urlopen", refuse)
    monkeypatch.setenv("PIP_INDEX_URL", "https://office:s3cret%21@mirror.example/simple")
    with pytest.raises(pins.NoAdvisories, match="^HTTPException$"):
        pins.fetch_from_index("a/1.0")
    assert sent[0].full_url == "https://mirror.example/pypi/a/1.0/json"
    assert sent[0].unredirected_hdrs == {"Authorization": "Basic b2ZmaWNlOnMzY3JldCE="}
