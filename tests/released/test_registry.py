"""Entries for the registry of differential-privacy deployments: valid for each kind of result, loss and trust model."""

from __future__ import annotations

import re
from copy import copy, deepcopy
from dataclasses import fields, replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.cli.app import build
from dpcurves.conversation import EXTERNAL_TRUST_PREFIX, OPEN_TRUST_MODEL, PrivacyStatement
from dpcurves.curves.result import ReleasedResult, result_from_json
from dpcurves.foreign_text import escape_for_markdown, escape_for_terminal
from dpcurves.registry import (
    ENTRY_FIELDS,
    NO_DETAILS,
    TEMPLATE,
    About,
    check_entry,
    format_entry,
    list_missing,
    make_entry,
    parse_about,
)
from dpcurves_local import trust as local_trust
from dpcurves_parties.pairs.mechanisms import PAIRS_BY_SERVERS
from dpcurves_parties.shares.function_shares import TRUST_NAME
from dpcurves_sites.trust import SecureSum

KEPT = Path(__file__).parent / "0.1.0" / "curves.jsonl"
UNCOMMENTED = re.sub(r"(?m)^# (?=[a-z_]+ = |\[purposes|\")", "", TEMPLATE).replace('= ""', '= "stated"')
ABOUT = parse_about(UNCOMMENTED)
REQUIRED = {entry_field.path for entry_field in ENTRY_FIELDS if entry_field.is_required}


@pytest.fixture(scope="module")
def kept() -> list[ReleasedResult]:
    """A released result of each kind."""
    return [result_from_json(line) for line in KEPT.read_text().splitlines()]


def with_statement(result: ReleasedResult, **changes: Any) -> ReleasedResult:
    """Return the result with other facts in its privacy statement."""
    changed = copy(result)
    object.__setattr__(changed, "privacy", replace(result.privacy, **changes))
    return changed


def test_entries_of_all_kinds_are_valid_and_read_back_unchanged(kept: list[ReleasedResult]) -> None:
    assert len(kept) > 40
    for result in kept:
        entry = make_entry({"a": result}, ABOUT)
        assert check_entry(entry) == []
        assert (entry["tier"], list_missing(entry)) == (3, [])
        stored = yaml.safe_load(format_entry(entry))
        assert check_entry(stored) == []
        assert stored == entry
        assert stored["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == result.privacy.epsilon
        described = make_entry({"a": result}, NO_DETAILS)["deployment"]["basic"]["description"]
        assert f"- a: {escape_for_markdown(result._title())}." in described
        assert f"{type(result).__name__}(" not in described


def test_missing_facts_are_named_and_not_invented(kept: list[ReleasedResult]) -> None:
    entry = make_entry({"a": kept[0]}, NO_DETAILS)
    text = format_entry(entry)
    assert {problem.removesuffix(" is missing") for problem in check_entry(entry)} == REQUIRED - {
        "deployment.basic.data_product_type", "deployment.basic.description",
        "deployment.administrative.registry_authors",
    }  # fmt: skip
    assert entry["tier"] == 1
    named = set(re.findall(r"^# Missing \(required\): (\S+?);", text, re.MULTILINE))
    assert named == {problem.removesuffix(" is missing") for problem in check_entry(entry)}
    for absent in ("data_curators:", "publication_date:", "data_product_region:", "access_type:", "actors: null"):
        assert absent not in text
    assert "commit 3e9c812 of 2026-07-15" in text


LOSSES: tuple[tuple[dict[str, Any], str | None, dict[str, float]], ...] = (
    ({"epsilon": 0.3}, "Pure DP", {"epsilon": 0.3}),
    ({"epsilon": 0.3, "delta": 1e-9}, "Approximate DP", {"epsilon": 0.3, "delta": 1e-9}),
    ({"epsilon": None, "rho": 1e-7}, "Zero-concentrated DP", {"rho": 1e-7}),
    ({"epsilon": None, "rho": 0.1, "delta": 1e-6}, "Custom", {"rho": 0.1, "delta": 1e-6}),
    ({"seeded": True}, None, {}),
    ({"trust": OPEN_TRUST_MODEL}, None, {}),
    ({"trust": f"{EXTERNAL_TRUST_PREFIX}OpenDP"}, None, {}),
)


@pytest.mark.parametrize(("changes", "variant", "parameters"), LOSSES)
def test_each_loss_has_its_variant(
    kept: list[ReleasedResult], changes: dict[str, Any], variant: str | None, parameters: dict[str, float]
) -> None:
    entry = make_entry({"a": with_statement(kept[0], **changes)}, ABOUT)
    assert check_entry(entry) == []
    stored = yaml.safe_load(format_entry(entry))["deployment"]
    assert stored["dp_variant"].get("variant_name") == variant
    assert stored.get("privacy_loss", {}).get("privacy_parameters", {}) == parameters
    assert ("SEEDED: NOT PRIVATE" in str(stored)) == bool(changes.get("seeded"))


def test_losses_of_several_releases_are_added_once_and_rounded_up(kept: list[ReleasedResult]) -> None:
    first, second = with_statement(kept[0], epsilon=0.1), with_statement(kept[2], epsilon=0.2)
    entry = make_entry({"a": first, "b": second, "again": first}, ABOUT)
    assert yaml.safe_load(format_entry(entry))["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.3}
    third = with_statement(kept[0], epsilon=1 / 3)
    assert yaml.safe_load(format_entry(make_entry({"a": third}, ABOUT)))["deployment"]["privacy_loss"][
        "privacy_parameters"
    ] == {"epsilon": 0.333333333334}
    mixed = make_entry({"a": first, "b": with_statement(kept[2], adjacency="add-remove")}, ABOUT)
    assert check_entry(mixed) == []
    assert mixed["deployment"]["dp_variant"]["variant_name"] == "Custom"
    assert "privacy_parameters" not in mixed["deployment"]["privacy_loss"]


@pytest.mark.parametrize(
    ("trust", "model"),
    [
        ("one curator", "Central"), ("one curator, who counts in PostgreSQL", "Central"),
        ("each person at home", "Local"), (str(SecureSum(10, 3, max_dropouts=1)), "Federated"),
        (f"{TRUST_NAME}, owners named", "Federated"), (PAIRS_BY_SERVERS, "Federated"),
        ("a trust model of others", None),
    ],
)  # fmt: skip
def test_each_trust_model_has_its_deployment_model(kept: list[ReleasedResult], trust: str, model: str | None) -> None:
    entry = make_entry({"a": with_statement(kept[0], trust=trust)}, replace(ABOUT, actors=""))
    assert check_entry(entry) == []
    described = entry["deployment"]["deployment_model"]
    assert described.get("model_name") == model
    assert ("actors" in described) == (model is not None)
    assert trust in described["model_name_details"]
    assert local_trust.__doc__  # its plans are made by "each person at home"


NAMES = '<b>x</b> | "a"', "a: b # c", "1. *a* _b_ `c`", "x\ny", "[l](http://a.b)", "\u202eab\x07", "$x$ & ~~b~~", "- a"


def test_names_survive_as_yaml_and_as_markdown(kept: list[ReleasedResult]) -> None:
    from markdown_it import MarkdownIt

    for name in NAMES:
        entry = make_entry({"a": with_statement(kept[0], unit=name, rows_per_unit=2)}, replace(ABOUT, region=name))
        stored = yaml.safe_load(format_entry(entry))
        assert stored == entry
        assert stored["deployment"]["basic"]["data_product_region"] == name
        for markdown in (escape_for_markdown(name), stored["deployment"]["privacy_loss"]["privacy_unit"]):
            rendered = MarkdownIt("gfm-like", {"linkify": False}).render(markdown)
            assert set(re.findall(r"<[^>]*>", rendered)) == {"<p>", "</p>"}
            assert escape_for_terminal(name) in unescape(rendered)


def test_what_breaks_the_schema_is_found(kept: list[ReleasedResult]) -> None:
    whole = make_entry({"a": kept[0]}, ABOUT)
    for entry_field in ENTRY_FIELDS:
        for wrong in (None, 5, [], ["a", 1], "no choice", {"alpha": 1}, {"epsilon": "1"}):
            is_allowed = (
                isinstance(wrong, str) and entry_field.kind == "text" and not entry_field.choices
            )  # fmt: skip
            broken = deepcopy(whole)
            broken["deployment"][entry_field.section][entry_field.name] = wrong
            assert (check_entry(broken) == []) == is_allowed, (entry_field, wrong)
        broken = deepcopy(whole)
        broken["deployment"][entry_field.section].pop(entry_field.name, None)
        assert bool(check_entry(broken)) == entry_field.is_required
    for change in ({"tier": 4}, {"tier": True}, {"status": "Done"}, {"more": 1}, {"url_slug": ""}, {"deployment": 1}):
        assert check_entry({**whole, **change})
    for section in whole["deployment"]:
        assert check_entry({**whole, "deployment": {**whole["deployment"], section: {"more": "x"}}})
    assert check_entry({**whole, "deployment": {**whole["deployment"], "more": {}}})
    assert check_entry([])


def test_the_template_has_each_key_and_wrong_keys_are_refused() -> None:
    assert parse_about(TEMPLATE) == About()
    assert all(getattr(ABOUT, about_field.name) for about_field in fields(About))
    for text, named in (
        ("curator = ['a']", "did you mean curators?"), ("name = 5", "name must be a text"),
        ("published = 'May'", "published must be a day"), ("sector = 'Health'", "sector must be Technology or"),
        ("authors = [1]", "authors must be a list"), ("purposes = 'a'", "purposes must be a table"),
        ("= 1", "not TOML"),
    ):  # fmt: skip
        with pytest.raises(InvalidArgument, match=re.escape(named)):
            parse_about(text)


def test_a_publication_has_an_entry_and_says_what_it_lacks(tmp_path: Path) -> None:
    curve = dp.cdf([3, 5, 8] * 100, grid=dp.Grid(0, 10, cells=8), epsilon=1, adjacency=dp.REPLACE_ONE)
    (tmp_path / "a.json").write_text(curve.to_json())

    def run(*words: object) -> Any:
        """Run a command in this process."""
        return CliRunner().invoke(build(["publish"]), ["publish", *map(str, words)])

    about, out = tmp_path / "about.toml", tmp_path / "out"
    assert run("--about-template", about).exit_code == 0
    assert about.read_text() == TEMPLATE
    assert "exists; name a new file" in run("--about-template", about).stderr
    lacking = run(tmp_path / "a.json", "--out", out, "--about", about, "--title", "Waits")
    assert "registry.yaml lacks 3 required facts" in " ".join(lacking.stdout.split())
    basic = yaml.safe_load((out / "registry.yaml").read_text())["deployment"]["basic"]
    assert (basic["name"], f"Published on {basic['publication_date']}," in (out / "index.html").read_text()) == (
        "Waits", True,
    )  # fmt: skip
    about.write_text("curators = ['a']\nauthors = ['b']\nregion = 'c'\nintended_use = 'd'\npublished = 2026-01-31\n")
    whole = run(tmp_path / "a.json", "--out", out, "--about", about, "--title", "Waits")
    assert (whole.exit_code, "lacks" in whole.stdout) == (0, False)
    entry = yaml.safe_load((out / "registry.yaml").read_text())
    assert check_entry(entry) == []
    assert (entry["url_slug"], entry["status"]) == ("waits-2026", "Draft")
    assert entry["deployment"]["basic"]["publication_date"] == "2026-01-31"  # the file has the last word
    assert "registry.yaml" in (out / "SHA256SUMS").read_text()
    about.write_text("curator = 'a'")
    assert run(tmp_path / "a.json", "--out", out, "--about", about).exit_code == 2
    assert isinstance(curve.privacy, PrivacyStatement)
