"""The built site in a real browser: what its search finds; and if asked, every page: other hosts, width, size, axe."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, SimpleQueue
from statistics import median
from threading import Thread
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit
from zlib import crc32

import archives
import dial
import pytest
import site_pages
from browser import FLAGS, require_chromium
from PIL import Image

BROWSER = require_chromium()
sync_api = importlib.import_module("playwright.sync_api")
axe = importlib.import_module("axe_playwright_python.base")

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "site"
HEAD = (ROOT / "docs" / "theme" / "main.html").read_text(encoding="utf-8")
SOURCES = "docs", "src", "examples", "mkdocs.yml"
MODES_ASKED = os.environ.get("DPCURVES_SITE_MODES", "")
"""`all` or `one`: axe reads every page in all modes, as in `make site-check`, or in the mode that its name falls to."""
KINDS = (
    "", "404.html", "differential_privacy/", "epsilon/", "law/", "people_ask/", "first_curve/", "budgets/", "experts/",
    "choose/", "dial/", "tutorial/", "promise/", "judging/",
    "one_number/", "trust_models/",
    "examples/", "examples/roc_curve/", "api/", "api/roc-curves-and-auc/", "commands/", "commands/ledger/",
)  # fmt: skip
"""Pages that axe reads whole in all modes: one of each kind. On all others it reads the article alone."""
SHELL = ".md-header", ".md-tabs", ".md-sidebar", ".md-footer", ".md-search"
"""Parts around the article, which are alike on all pages: half of what axe reads."""
RUN_AXE = (
    "([exclude, rules]) => axe.run({include: [['html']], exclude: exclude.map(part => [part])},"
    " {resultTypes: ['violations'], rules})"
    ".then(results => results.violations.map(violation => violation.id + ' ' + violation.nodes[0].html))"
)
COLOUR_RULES = "color-contrast", "link-in-text-block"
"""Rules of axe that depend on the scheme, and in an article not on the width; no other rule depends on the scheme."""
WIDTH, NARROW = 1200, 360
MODES = tuple((scheme, width) for scheme in ("light", "dark") for width in (WIDTH, NARROW))
A4 = 794
"""Its width in pixels, as browsers print."""
MOST_BYTES, MOST_OF_SEARCH = 300_000, 450_000
"""Bytes of a page, and of the compressed index of all pages, which is loaded at the first search."""
PAINTED = "performance.getEntriesByName('first-contentful-paint').map(each => each.startTime)"
HIDDEN = ".md-header, .md-tabs, .md-sidebar, .md-footer, .md-search, .headerlink"
SHOWN = "(all) => all.filter(each => each.getClientRects().length > 0).map(each => each.className)"
PICTURES = "image", "font"


def newest(*places: Path) -> float:
    files = [file for place in places for file in (place.rglob("*") if place.is_dir() else [place])]
    return max(file.stat().st_mtime for file in files if file.is_file() and "__pycache__" not in file.parts)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site that `make docs` built, if it is of today's sources; else one that is built now."""
    if (SITE / "404.html").exists() and newest(SITE / "404.html") > newest(*(ROOT / name for name in SOURCES)):
        return SITE
    return built(tmp_path_factory.mktemp("pages"))


def built(folder: Path) -> Path:
    """The site, of pages that are written to a folder beside it."""
    settings, site = site_pages.write(folder / "pages"), folder / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(settings), "-d", str(site)]
    subprocess.run(command, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True, capture_output=True)
    return site


class Quiet(SimpleHTTPRequestHandler):
    """Files, and no line for each of them."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Visit:
    """A browser at the site; what it asked for, and what went wrong."""

    def __init__(self, site: Path, url: str, browser: Any) -> None:
        self.site, self.url = site, url
        self.asked: list[Any] = []
        self.wrong: list[str] = []
        context = browser.new_context()
        context.add_init_script(path=axe.AXE_FILE_PATH)
        self.page = context.new_page()
        self.page.set_default_timeout(300_000)
        self.page.on("request", lambda asked: self.asked.append(asked))  # noqa: PLW0108 - a method has no place for a mark
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda told: self.wrong.append(told.text) if told.type == "error" else None)

    def see(self, place: str) -> None:
        self.asked.clear()
        self.wrong.clear()
        self.page.goto(f"{self.url}/{place}")

    def run_axe(self, reading: Reading) -> list[str]:
        """Return the violations on the page that is open."""
        rules = {rule: {"enabled": False} for rule in reading.left_out}
        if reading.only:
            known = self.page.evaluate("axe.getRules().map(rule => rule.ruleId)")
            rules = {rule: {"enabled": False} for rule in known if rule not in reading.only}
        return [str(violation) for violation in self.page.evaluate(RUN_AXE, [list(reading.excluded), rules])]

    def weight(self) -> int:
        """The bytes of what was asked for, but pictures, as hosts of files send them."""
        paths = {urlsplit(each.url).path for each in self.asked if each.resource_type not in PICTURES}
        return sum(self._sent(path) for path in paths if not path.endswith("search_index.json"))

    @cache  # noqa: B019
    def _sent(self, path: str) -> int:
        file = self.site / path.lstrip("/")
        return len(gzip.compress((file / "index.html" if file.is_dir() else file).read_bytes()))


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The address of the site on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@contextmanager
def visiting(site: Path, address: str) -> Iterator[Visit]:
    """A visit to the site in a browser of its own."""
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=list(FLAGS))
        yield Visit(site, address, browser)
        browser.close()


@pytest.fixture(scope="module")
def visit(site: Path, address: str) -> Iterator[Visit]:
    """A visit that the tests of this file share."""
    with visiting(site, address) as visit:
        yield visit


def places(site: Path) -> list[str]:
    pages = sorted(file.relative_to(site).as_posix() for file in site.rglob("*.html"))
    return [page.removesuffix("index.html") for page in pages]


class Reading(NamedTuple):
    """How axe reads a page: scheme and width of the window, parts and rules that are left out, or the only rules."""

    scheme: str
    width: int
    excluded: tuple[str, ...] = SHELL
    left_out: tuple[str, ...] = ()
    only: tuple[str, ...] = ()


def list_readings(place: str) -> list[Reading]:
    """Return how axe reads a page: whole in all modes, or its article, each rule in the modes that it depends on."""
    if MODES_ASKED != "all":
        return [Reading(*MODES[crc32(place.encode()) % len(MODES)])]
    if place in KINDS:
        return [Reading(*mode, excluded=()) for mode in MODES]
    narrow = Reading("light", NARROW, left_out=COLOUR_RULES)
    return [Reading("light", WIDTH), narrow, Reading("dark", WIDTH, only=COLOUR_RULES)]


class Findings(NamedTuple):
    """What is wrong with a page in a mode, the milliseconds until its first paint, and the seconds that it took."""

    name: str
    wrong: list[str]
    painted: list[float]
    seconds: float


def read_page(visit: Visit, place: str) -> Iterator[Findings]:
    """Yield what is wrong with a page, for each reading."""
    for reading in list_readings(place):
        begun = perf_counter()
        visit.page.emulate_media(color_scheme=reading.scheme)
        visit.page.set_viewport_size({"width": reading.width, "height": 900})
        visit.see(place)
        elsewhere = [
            request.url for request in visit.asked if not request.url.startswith((visit.url, "data:", "blob:"))
        ]
        wrong = visit.wrong + elsewhere + visit.run_axe(reading)
        painted = visit.page.evaluate(PAINTED)
        visit.page.set_viewport_size({"width": NARROW, "height": 900})
        if visit.page.evaluate("document.documentElement.scrollWidth") > NARROW:
            wrong.append("wider than its window")
        if visit.weight() > MOST_BYTES:
            wrong.append(f"{visit.weight()} bytes")
        yield Findings(f"{place or 'home'} {reading.scheme} {reading.width}", wrong, painted, perf_counter() - begun)


def read_pages(site: Path, address: str, waiting: SimpleQueue[str]) -> list[Findings]:
    """Read pages in a browser until none is waiting, and print what is wrong with each as soon as it is read."""
    findings: list[Findings] = []
    with visiting(site, address) as visit:
        while True:
            try:
                place = waiting.get_nowait()
            except Empty:
                return findings
            for finding in read_page(visit, place):
                findings.append(finding)
                verdict = "; ".join(finding.wrong) or "ok"
                print(
                    f"{waiting.qsize():>4} pages wait; {finding.name}, {finding.seconds:.1f} s: {verdict}", flush=True
                )


def test_the_pages_of_each_kind_are_there(site: Path) -> None:
    assert sorted(set(KINDS) - set(places(site))) == []


@pytest.mark.skipif(not MODES_ASKED, reason="pages are all read by axe in `make site-check`: a quarter of an hour")
def test_every_page_is_for_everybody_fits_its_window_is_light_and_asks_no_other_host(site: Path, address: str) -> None:
    """Pages without a violation of axe, in as many browsers as there are cores."""
    waiting = SimpleQueue[str]()
    for place in sorted(places(site), key=lambda place: place not in KINDS):
        waiting.put(place)
    with ThreadPoolExecutor() as browsers:
        started = [browsers.submit(read_pages, site, address, waiting) for _ in range(os.cpu_count() or 1)]
        findings = [finding for browser in started for finding in browser.result()]
    painted = [moment for finding in findings for moment in finding.painted]
    print(f"\nfirst contentful paint of {len(painted)}: median {median(painted):.0f} ms, at most {max(painted):.0f} ms")
    assert len(painted) == sum(len(list_readings(place)) for place in places(site))
    wrong = [f"{finding.name}: {finding.wrong}" for finding in findings if finding.wrong]
    assert wrong == [], "\n".join(wrong)


def test_a_printed_page_is_its_text_alone_and_fits_the_paper(visit: Visit) -> None:
    visit.page.emulate_media(media="print", color_scheme="light")
    visit.page.set_viewport_size({"width": A4, "height": 1123})
    for place in KINDS:
        visit.see(place)
        assert visit.page.eval_on_selector_all(HIDDEN, SHOWN) == [], place
        assert visit.page.is_visible("article h1"), place
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= A4, place
    visit.page.emulate_media(media="screen")


def test_every_page_has_its_icon_and_the_picture_of_shared_links(site: Path) -> None:
    for place in places(site):
        text = (site / place / "index.html" if place.endswith("/") or not place else site / place).read_text("utf-8")
        for found in (r'<link rel="icon" href="([^"]+)"', r'<meta property="og:image" content="([^"]+)"'):
            (named,) = re.findall(found, text)
            assert (site / urljoin(f"/{place}", named).lstrip("/")).is_file(), place
        assert re.search(r'<meta property="og:title" content="[^"]+"', text), place
        assert re.search(r'<meta name="description" content="[^"]+"', text), place
        assert not re.search(r"<th[^>]*>\s*</th>", text), f"{place}: a table has a column without a heading"


def test_no_page_names_a_folder_of_somebody_or_a_host_of_downloads(site: Path) -> None:
    assert archives.telling({place: (site / place).read_bytes() for place in texts(site)}) == {}


def texts(site: Path) -> list[str]:
    kinds = ".html", ".json", ".ipynb", ".py", ".xml", ".txt"
    return [file.relative_to(site).as_posix() for file in site.rglob("*") if file.suffix in kinds]


SAID = "document.querySelector('.dial .said').textContent"


@pytest.mark.parametrize("place", ["", "dial/"])
def test_the_dial_is_turned_by_keyboard_and_says_what_its_table_says(visit: Visit, place: str) -> None:
    visit.page.set_viewport_size({"width": NARROW, "height": 900})
    visit.see(place)
    visit.page.wait_for_selector(".dial .said")
    lines = {tuple(each.values())[:4]: each for each in json.loads(dial.NUMBERS.read_text(encoding="utf-8"))["lines"]}
    line = lines["cdf", 256, "replace-one", dial.PLACES[0]]
    assert _points(visit) == pytest.approx(dial.read(line, 3_000), rel=0.05)
    visit.page.focus(".dial input[name=epsilon]")
    visit.page.keyboard.press("Tab")  # to its slider
    for _ in range(3):
        visit.page.keyboard.press("ArrowLeft")
    epsilon = float(visit.page.input_value(".dial input[name=epsilon]"))
    assert epsilon < 1
    assert _points(visit) == pytest.approx(dial.read(line, 3_000 * epsilon), rel=0.05)
    visit.page.select_option(".dial select[name=cells]", "64")
    visit.page.select_option(".dial select[name=adjacency]", "add-remove")
    line = lines["cdf", 64, "add-remove", dial.PLACES[0]]
    assert _points(visit) == pytest.approx(dial.read(line, 3_000 * epsilon), rel=0.05)
    code = " ".join(visit.page.eval_on_selector_all(".dial code", "all => all.map(each => each.textContent)"))
    assert f"--grid 0:120:64 --epsilon {epsilon:g} --adjacency add-remove --forecast 3000" in code
    assert f'cells=64), epsilon="{epsilon:g}", adjacency=dp.ADD_REMOVE)' in code
    visit.page.fill(".dial input[name=records]", "30000")
    visit.page.fill(".dial input[name=share]", "0.1")
    assert _points(visit) == pytest.approx(dial.read(line, 3_000 * epsilon), rel=0.05)
    assert "30,000 records, of which 3,000 pass the filter, at epsilon" in visit.page.evaluate(SAID)
    code = " ".join(visit.page.eval_on_selector_all(".dial code", "all => all.map(each => each.textContent)"))
    assert '--where "age >= 65" --share-of-rows 0.1' in code
    for curve in dial.CURVES:
        visit.page.select_option(".dial select[name=curve]", curve)
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= NARROW
        assert "is known to within ± " in visit.page.evaluate(SAID)
    assert visit.wrong == []


def _points(visit: Visit) -> float:
    said = re.fullmatch(
        r".*, the whole curve is known to within ± ([\d.]+) percentage points?"
        r"(?:, in rehearsed releases ([\d.]+) to ([\d.]+))?[.]",
        visit.page.evaluate(SAID),
    )
    assert said is not None
    if said[2] is not None:
        assert float(said[2]) <= float(said[1]) <= float(said[3])
    return float(said[1])


def test_the_dial_refuses_what_lies_outside_its_fields_and_names_the_range(visit: Visit) -> None:
    visit.see("dial/")
    visit.page.wait_for_selector(".dial .said")
    for name, value, sentence in (
        ("epsilon", "1e9", "Epsilon: enter a number from 0.01 to 3."),
        ("epsilon", "", "Epsilon: enter a number from 0.01 to 3."),
        ("records", "0", "Records: enter a whole number from 1 to 10,000,000."),
        ("records", "2.5", "Records: enter a whole number from 1 to 10,000,000."),
        ("share", "0", "Share of rows that pass a filter: enter a number from 0.001 to 1."),
    ):
        before = visit.page.input_value(f".dial input[name={name}]")
        visit.page.fill(f".dial input[name={name}]", value)
        assert visit.page.evaluate(SAID) == sentence
        assert not visit.page.is_visible(".dial svg")
        assert not visit.page.is_visible(".dial pre >> nth=0")
        visit.page.fill(f".dial input[name={name}]", before)
        assert visit.page.is_visible(".dial svg")
        assert "is known to within ± " in visit.page.evaluate(SAID)
    assert visit.wrong == []


def test_console_blocks_copy_what_is_typed_and_nothing_else(visit: Visit) -> None:
    """Prompts and output stay out of the clipboard; of the dial, too, its commands can be copied."""
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expected = {
        "": "pip install 'dpcurves[plot]'",
        "server/": "pip install 'dpcurves[server]'",
        "sql/": "dpcurves example people.duckdb\ndpcurves sql people.duckdb",
    }
    for place, beginning in expected.items():
        visit.see(place)
        block = visit.page.locator("div.highlight:has(.gp)").first
        block.hover()
        block.locator("button[data-clipboard-target]").click()
        copied = visit.page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith(beginning), place
        assert "$ " not in copied
    visit.see("dial/")
    visit.page.wait_for_selector(".dial pre button")
    visit.page.locator(".dial pre button").nth(1).click()
    copied = visit.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("dpcurves cdf people.parquet --column age")


def _page_text(site: Path, place: str) -> str:
    file = site / place / "index.html" if place.endswith("/") or not place else site / place
    return file.read_text("utf-8")


def test_every_example_page_leads_to_the_gallery_and_to_the_next_one(site: Path) -> None:
    for place in places(site):
        if re.fullmatch(r"examples/\w+/", place):
            text = _page_text(site, place)
            assert re.search(r'<a href="../" class="md-nav__link', text), place
            assert "md-footer__link--prev" in text, place
            assert "md-footer__link--next" in text, place


def test_a_table_is_sorted_by_its_headings(visit: Visit) -> None:
    visit.see("one_number/")
    button, first = visit.page.locator(".sortable th button"), visit.page.locator(".sortable tbody tr:first-child td")
    for place, text in ((7, "< 0.001 %"), (7, "4.15 %"), (0, "Bar chart of ten categories")):
        button.nth(place).press("Enter")
        assert first.nth(place).inner_text().replace("\xa0", " ") == text
    assert visit.page.get_attribute(".sortable th >> nth=0", "aria-sort") == "ascending"
    assert visit.wrong == []


PHONE = {"width": 390, "height": 844}
SCROLLING = ".md-typeset__scrollwrap:not(:has([data-cards]))"
CARDS = ".md-typeset table[data-cards]"
WITHOUT_NAME = """tables => tables.flatMap(table => [...table.querySelectorAll("td:not(:first-child, :empty)")])
    .filter(cell => getComputedStyle(cell, "::before").content !== JSON.stringify(cell.dataset.label)
        || !cell.dataset.label).map(cell => cell.textContent)"""
"""Cells that do not show the heading of their column."""
SIDES = "element => { const box = element.getBoundingClientRect(); return [box.left, box.right]; }"


def test_a_table_wider_than_a_phone_shows_by_a_shadow_that_more_of_it_can_be_scrolled_to(visit: Visit) -> None:
    visit.page.set_viewport_size(PHONE)
    visit.see("audit/")
    table = visit.page.locator(SCROLLING).first
    table.wait_for()
    assert table.evaluate("wrap => wrap.scrollWidth > wrap.clientWidth")
    attachments = "wrap => getComputedStyle(wrap).backgroundAttachment.split(', ')"
    assert table.evaluate(attachments)[:4] == ["local", "local", "scroll", "scroll"]
    no_ground = "rgba(0, 0, 0, 0)"  # a ground of the table would hide the shadows
    assert table.locator("table").evaluate("table => getComputedStyle(table).backgroundColor") == no_ground


def test_a_line_of_code_longer_than_a_phone_is_wide_ends_in_a_shadow(visit: Visit) -> None:
    visit.page.set_viewport_size(PHONE)
    visit.see("first_curve/")
    code = visit.page.locator("pre > code").first
    assert code.evaluate("code => code.scrollWidth > code.clientWidth")
    shadows = "code => getComputedStyle(code).backgroundAttachment.split(', ').slice(0, 4)"
    assert code.evaluate(shadows) == ["local", "local", "scroll", "scroll"]


def test_a_table_that_is_scrolled_on_a_phone_keeps_its_first_column_in_sight(visit: Visit) -> None:
    visit.page.set_viewport_size(PHONE)
    visit.see("audit/")
    table = visit.page.locator(SCROLLING).first
    table.wait_for()
    table.evaluate("wrap => { wrap.scrollLeft = wrap.scrollWidth; }")
    assert table.evaluate("wrap => wrap.scrollLeft") > 0
    for cell in ("thead th:first-child", "tbody tr:last-child td:first-child"):
        left, right = table.locator(cell).evaluate(SIDES)
        assert 0 <= left < right <= PHONE["width"] * 0.5
    visit.page.emulate_media(media="print")
    assert table.locator("td").first.evaluate("cell => getComputedStyle(cell).position") == "static"
    visit.page.emulate_media(media="screen")


def test_rows_of_long_texts_are_cards_on_a_phone_and_a_table_elsewhere(visit: Visit) -> None:
    for place in ("choose/", "audit/"):
        visit.page.set_viewport_size(PHONE)
        visit.see(place)
        visit.page.locator(CARDS).first.wait_for()
        assert visit.page.eval_on_selector_all(CARDS, WITHOUT_NAME) == []
        overflow = "tables => tables.filter(table => table.getBoundingClientRect().right > innerWidth).length"
        assert visit.page.eval_on_selector_all(CARDS, overflow) == 0
        visit.page.set_viewport_size({"width": WIDTH, "height": 900})
        assert (
            visit.page.locator(f"{CARDS} td").first.evaluate("cell => getComputedStyle(cell).display") == "table-cell"
        )
        visit.page.set_viewport_size({"width": PHONE["width"], "height": 900})
        visit.page.emulate_media(media="print")
        assert (
            visit.page.locator(f"{CARDS} td").first.evaluate("cell => getComputedStyle(cell).display") == "table-cell"
        )
        visit.page.emulate_media(media="screen")
    assert visit.wrong == []


def test_the_picture_of_shared_links_has_the_size_that_is_said(site: Path) -> None:
    with Image.open(site / "images" / "card.png") as card:
        sides = [re.search(rf'og:image:{side}" content="(\d+)"', HEAD) for side in ("width", "height")]
        assert [int(side[1]) for side in sides if side] == list(card.size)


def test_the_index_of_the_search_is_light_too(site: Path) -> None:
    assert len(gzip.compress((site / "search" / "search_index.json").read_bytes())) <= MOST_OF_SEARCH


SEARCHES = {
    "AUC confidence interval": "api/roc-curves-and-auc/",
    "percentile": "api/quantiles-and-the-median/",
    "histogram by group": "api/histograms-and-bar-charts/",
    "median": "api/quantiles-and-the-median/",
    "kaplan meier": "api/survival-curves/",
    "reliability diagram": "api/calibration/",
    "gini": "api/inequality-rank-correlation-and-u-statistics/",
    "kolmogorov smirnov": "api/comparing-two-curves/",
    "precision recall": "api/all-that-a-score-tells/",
    "standard deviation": "api/means-and-variances/",
    "confusion matrix": "api/all-that-a-score-tells/",
    "chi-squared test": "api/contingency-tables-and-the-chi-squared-test/",
    "heat map": "choose/",
    "postgres": "postgres/",
    "spark": "spark/",
    "two servers": "two_servers/",
    "local differential privacy": "local/",
    "which epsilon": "epsilon/",
    "how do I pick epsilon": "epsilon/",
    "how to choose epsilon": "epsilon/",
    "what is differential privacy": "differential_privacy/",
    "jupyter": "people_ask/",
    "docker": "people_ask/",
    "excel": "people_ask/",
    "weights": "people_ask/",
    "small groups": "people_ask/",
    "roadmap": "people_ask/",
    "cite": "people_ask/",
    "GDPR": "law/",
    "HIPAA": "law/",
    "NIST": "law/",
    "census": "law/",
    "install": "install/",
    "what is adjacency": "differential_privacy/",
    "budget": "budgets/",
    "which question": "choose/",
    "trust model": "trust_models/",
    "how many records": "people_ask/",
    "first curve": "first_curve/",
    "streams": "streams/",
    "ledger create": "commands/ledger/",
    "budget exceeded": "api/budgets-and-ledgers/",
    "roc_curve": "api/roc-curves-and-auc/",
    "residual plot": "examples/residual_plot/",
}
"""What people type, and a page that has to stand among the first three that are found."""
FIELD, FOUND = "input.md-search__input", ".md-search-result__item > a"


def test_a_search_finds_its_page_among_the_first_three(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": WIDTH, "height": 900})
    visit.see("")  # once: to index the site takes the browser longer than to search it
    found = {words: searched(visit, words) for words in SEARCHES}
    missed = {words: pages for words, pages in found.items() if SEARCHES[words] not in pages}
    assert missed == {}, "\n".join(f"{words!r} finds {pages}, not {SEARCHES[words]}" for words, pages in missed.items())


def searched(visit: Visit, words: str) -> list[str]:
    """Return the first three pages that the site itself lists for these words."""
    visit.page.eval_on_selector_all(FOUND, "all => all.forEach(each => each.dataset.former = 'yes')")
    visit.page.click(FIELD)
    visit.page.fill(FIELD, words)
    visit.page.press(FIELD, "End")  # the theme listens to keys
    visit.page.wait_for_selector(f"{FOUND}:not([data-former])")  # each search makes its links anew
    assert visit.page.query_selector_all(f"{FOUND}[data-former]") == []
    places = visit.page.eval_on_selector_all(FOUND, "all => all.map(each => each.href)")
    return list(dict.fromkeys(urlsplit(place).path.lstrip("/") for place in places))[:3]
