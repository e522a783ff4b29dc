"""One curve as a fragment of HTML."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

from dpcurves.conversation import MISSING_RULE, PrivacyStatement
from dpcurves.display import SEEDED_STATEMENT, html_summary

PRIVACY = PrivacyStatement(
    0.5, 0.125, "replace-one", "tailnum", 5, 1000, "one curator", "flat", False, "request 1", "taken as public"
)
NASTY = '"><script>alert(1)</script><img src=x onerror="alert(1)">'


class Page(HTMLParser):
    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(attrs)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_a_summary_tells_title_picture_rows_and_privacy() -> None:
    page = Page(html_summary("ROC curve", '<svg role="img"></svg>', [("AUC", "0.71")], PRIVACY))
    text = " ".join(page.words)
    for word in (
        "ROC curve", "AUC", "0.71", "epsilon 0.5", "replace-one", "tailnum", "1,000, public", "a trusted curator",
        "flat", MISSING_RULE, "taken as public", "request 1",
    ):  # fmt: skip
        assert word in text
    assert "svg" in page.tags
    assert ("aria-label", "ROC curve") in page.attributes


def test_a_private_number_of_units_is_called_private() -> None:
    text = html_summary("a", "", [], replace(PRIVACY, adjacency="add-remove", units=None))
    assert "<td>private</td>" in text


def test_a_seeded_summary_says_so_on_top() -> None:
    assert f'role="alert">{SEEDED_STATEMENT}' in html_summary("a", "", [], replace(PRIVACY, seeded=True))
    assert SEEDED_STATEMENT not in html_summary("a", "", [], PRIVACY)


def test_everything_from_outside_is_escaped() -> None:
    privacy = replace(PRIVACY, unit=NASTY, trust=NASTY, mechanism=NASTY, grant=NASTY, model=NASTY, adjacency=NASTY)
    page = Page(html_summary(NASTY, "", [(NASTY, NASTY)], privacy))
    assert not {"script", "img"} & set(page.tags)
    assert not any(name == "src" or name.startswith("on") for name, _ in page.attributes)
    assert NASTY in "".join(page.words)


def test_rows_are_headed_for_those_who_listen() -> None:
    assert '<th scope="row">AUC</th><td>0.71</td>' in html_summary("a", "", [("AUC", "0.71")], PRIVACY)
