"""The report is one accessible page that asks nothing of the outside."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np

from dpcurves.conversation import PrivacyStatement
from dpcurves.display import (
    SEEDED_STATEMENT,
    BalanceReport,
    ChargeRow,
    RefusalRow,
    draw_cdf,
    headless_axes,
    html_summary,
    render_report,
    svg_text,
)

PRIVACY = PrivacyStatement(
    0.5, 0.125, "replace-one", "tailnum", 5, 1000, "one curator", "flat", False, "request 1", "taken as public"
)
NASTY = '"><script src="//example.org/x.js"></script><img src=x onerror="alert(1)">'
LINE = np.linspace(0.0, 1.0, 20)
BALANCE = BalanceReport(
    "flights", "epsilon 2", "epsilon 1.5", "epsilon 0.5",
    [
        ChargeRow("cdf of delay", "epsilon 1", "request 1", "monday"),
        ChargeRow("ROC", "epsilon 0.5", "request 2", "tuesday"),
    ],
)  # fmt: skip
REFUSAL = RefusalRow("histogram", "costs epsilon 0.7; 0.5 of 2 is left")
EMPTY = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def values(self, name: str) -> list[str]:
        return [facts[name] for _, facts in self.tags if name in facts]


def curve_summary(privacy: PrivacyStatement = PRIVACY, title: str = "Delay") -> str:
    ax = draw_cdf(LINE, LINE**2, privacy, label="delay (minutes)", ax=headless_axes())
    return html_summary(title, svg_text(ax), [("median", "0.7")], privacy)


def whole() -> str:
    return render_report("Flights", "First.\n\nSecond.", [curve_summary(), curve_summary()], [BALANCE], [REFUSAL])


def test_the_page_refers_to_nothing_outside() -> None:
    page = Page(whole())
    assert not re.search(r"https?:|@import|url\((?!#)", whole())
    assert page.values("src") == []
    assert all(value.startswith("#") for value in page.values("href") + page.values("xlink:href"))
    assert not {"script", "link", "iframe", "img", "object", "base", "form"} & {tag for tag, _ in page.tags}
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'" in page.values("content")


def test_ids_are_unique_even_where_a_curve_comes_twice_and_every_reference_is_answered() -> None:
    page = Page(whole())
    ids = page.values("id")
    assert ids
    assert len(ids) == len(set(ids))
    assert {value[1:] for value in page.values("href")} <= set(ids)
    assert set(re.findall(r"url\(#([^)]*)\)", whole())) <= set(ids)


def test_all_tags_are_closed() -> None:
    assert Page(whole()).open == []


def test_the_page_tells_prices_what_is_left_and_what_was_refused() -> None:
    text = " ".join(Page(whole()).words)
    for word in (
        "Flights", "First.", "Second.", "cdf of delay", "request 2", "tuesday", "epsilon 1.5", "left epsilon 0.5",
        "Refused", "costs epsilon 0.7; 0.5 of 2 is left", "median",
    ):  # fmt: skip
        assert word in text


def test_without_refusals_there_is_no_box() -> None:
    assert "Refused" not in render_report("a", "", [], [BALANCE])


def test_without_accounts_there_is_no_list_of_prices() -> None:
    assert "Privacy budget" not in render_report("Curves", "Read from two servers.", [], [])


def test_the_page_can_be_listened_to() -> None:
    page = Page(whole())
    assert page.values("lang") == ["en"]
    assert [tag for tag, _ in page.tags].count("h1") == 1
    assert all(facts.get("scope") in ("row", "col") for tag, facts in page.tags if tag == "th")
    assert all(facts.get("aria-label") for tag, facts in page.tags if tag in ("figure", "svg", "section"))
    assert all(facts.get("aria-label") for _, facts in page.tags if "tabindex" in facts)


def luminance(colour: str) -> float:
    parts = [int(colour[1 + 2 * i : 3 + 2 * i] if len(colour) == 7 else 2 * colour[1 + i], 16) / 255 for i in range(3)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_text_stands_out_from_its_ground_by_day_and_by_night() -> None:
    themes = [dict(re.findall(r"--(\w+):(#\w+)", theme)) for theme in re.findall(r":root\{([^}]*)\}", whole())]
    assert len(themes) == 3
    for theme in themes:
        for color in ("text", "soft", "alarm"):
            for ground in ("ground", "box"):
                dark, light = sorted((luminance(theme[color]), luminance(theme[ground])))
                assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_one_seeded_curve_marks_the_whole_page() -> None:
    header = render_report("a", "", [curve_summary(), curve_summary(replace(PRIVACY, seeded=True))], []).partition(
        "</header>"
    )[0]
    assert SEEDED_STATEMENT in header
    assert SEEDED_STATEMENT not in render_report("a", "", [curve_summary()], [])


def test_everything_from_outside_is_escaped() -> None:
    privacy = replace(PRIVACY, unit=NASTY, model=NASTY, trust=NASTY)
    balance = BalanceReport(NASTY, NASTY, NASTY, NASTY, [ChargeRow(NASTY, NASTY, NASTY, NASTY)])
    page = Page(render_report(NASTY, NASTY, [curve_summary(privacy, NASTY)], [balance], [RefusalRow(NASTY, NASTY)]))
    assert page.open == []
    assert not {"script", "img"} & {tag for tag, _ in page.tags}
    assert page.values("src") == page.values("onerror") == []


def test_the_same_session_gives_the_same_page() -> None:
    assert whole() == whole()
