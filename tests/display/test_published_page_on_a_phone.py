"""A published page in a real browser on a phone: words stay whole, and tables show that they go on."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from browser import FLAGS, require_chromium

import dpcurves as dp
from dpcurves.display import BalanceReport, ChargeRow, render_report

BROWSER = require_chromium()
sync_api = importlib.import_module("playwright.sync_api")
BROKEN_WORDS = """() => [...document.querySelectorAll(".dpcurves table:not(.numbers) th")].flatMap(cell => {
    const text = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), broken = [];
    for (let node = text.nextNode(); node; node = text.nextNode()) {
        for (const word of node.data.matchAll(/\\S+/g)) {
            const range = document.createRange();
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            if (range.getClientRects().length > 1 && !word[0].includes("-")) broken.push(word[0]);
        }
    }
    return broken;
})"""
"""Words in the names of numbers that stand on two lines; a line may end behind a hyphen."""


@pytest.mark.quick_share(2)
@pytest.mark.filterwarnings("ignore::dpcurves.CurveWarning")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_of_numbers_are_whole_words_and_wide_tables_have_a_shadow(tmp_path: Path, scheme: Any) -> None:
    table = {"ward": ["a", "b", "c"] * 400, "age": [number % 90 for number in range(1200)]}
    one = dp.PrivacyLoss.pure(1)
    with dp.Session(table, budget=dp.PrivacyLoss.pure(2), adjacency=dp.ADD_REMOVE) as session:
        curve = session.ask(dp.CdfQuestion("age", dp.Grid(0, 100, cells=50)), one)
        bars = session.ask(dp.BarChartQuestion(dp.Categories("ward", ("a", "b", "c"))), one)
    dp.publish({"bars": bars, "ages": curve}, tmp_path / "out", language="de")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=list(FLAGS))
        page = browser.new_context(color_scheme=scheme, viewport={"width": 390, "height": 844}).new_page()
        page.goto((tmp_path / "out" / "index.html").as_uri())
        assert page.evaluate(BROKEN_WORDS) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        scroll = page.locator(".scroll").first
        assert scroll.evaluate("box => box.scrollWidth > box.clientWidth")
        attachments = scroll.evaluate("box => getComputedStyle(box).backgroundAttachment.split(', ')")
        assert attachments == ["local", "local", "scroll", "scroll"]
        browser.close()


STAYS = """box => {
    box.scrollLeft = box.scrollWidth;
    const cell = box.querySelector("tbody tr > :first-child").getBoundingClientRect();
    return [box.scrollLeft, cell.left, cell.right];
}"""
"""How far a box was scrolled, and where its first column then stands."""


def test_the_first_column_of_an_account_stays_in_sight_when_it_is_scrolled(tmp_path: Path) -> None:
    charge = ChargeRow("distribution of the length of stay by ward", "epsilon 0.125", "f3" * 16, "2026-11-30 18:46:07")
    balance = BalanceReport("visits", "epsilon 2", "epsilon 0.125", "epsilon 1.875", [charge])
    (tmp_path / "page.html").write_text(render_report("Results", "", [], [balance]), encoding="utf-8")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto((tmp_path / "page.html").as_uri())
        scrolled, left, right = page.locator(".scroll").first.evaluate(STAYS)
        assert scrolled > 0
        assert 0 <= left < right <= 390 / 2
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        browser.close()
