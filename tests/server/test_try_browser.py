"""`dpcurves try` in a real browser: from a path to a published folder, by axe, on a phone and in the dark."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browser import FLAGS, require_chromium
from table_kinds import MAKERS, TableMaker

from dpcurves.publication import read_result
from dpcurves_server.local_app import LocalAccess, write_opening_page
from dpcurves_server.local_table import open_local_table

BROWSER = require_chromium()
sync_api = importlib.import_module("playwright.sync_api")
axe = importlib.import_module("axe_playwright_python.base")
pytestmark = pytest.mark.reproduction  # a browser and four processes for each table; `make site-check` runs it

RUN_AXE = "() => axe.run().then(found => found.violations.map(each => each.id + ' ' + each.nodes[0].html))"
MOST_CLICKS = 8
MILLISECONDS = 120_000
FOCUSED = """(selector) => {
    const focused = document.activeElement, style = getComputedStyle(focused), box = focused.getBoundingClientRect();
    const ring = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2) || style.boxShadow !== 'none';
    const seen = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    return [focused.matches(selector), focused === document.body || (ring && seen), focused.outerHTML.slice(0, 120)];
}"""
"""Whether the focused element is the wanted one; whether its focus is seen; and the element."""


class Principal:
    """A newcomer at a page, whose clicks are counted; what goes wrong in the browser is kept."""

    def __init__(self, page: Any, address: str, opening_page: Path | None = None) -> None:
        self.page, self.clicks, self.wrong = page, 0, list[str]()
        page.set_default_timeout(MILLISECONDS)
        if opening_page is not None:
            page.goto(opening_page.as_uri())
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda line: self.wrong.append(line.text) if line.type == "error" else None)
        origin = address.partition("/?")[0]
        page.on("request", lambda sent: self.wrong.append(sent.url) if not sent.url.startswith(origin) else None)
        if opening_page is None:
            page.goto(address)
        page.wait_for_url(f"{origin}/")

    def click(self, selector: str) -> None:
        self.clicks += 1
        self.page.click(selector)

    def choose(self, selector: str, value: str) -> None:
        self.clicks += 1
        self.page.select_option(selector, value)

    def look(self) -> None:
        """Read the page by axe, and check that it is no wider than the window and that choices can be read."""
        self.page.evaluate(Path(axe.AXE_FILE_PATH).read_text(encoding="utf-8"))
        assert self.page.evaluate(RUN_AXE) == []
        assert self.page.evaluate("document.documentElement.scrollWidth") <= self.page.viewport_size["width"]
        widths = self.page.locator("select:visible").evaluate_all("all => all.map(one => one.clientWidth)")
        assert all(width >= 100 for width in widths), widths  # pixels: a word of a choice beside its arrow


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def run_try(path: Path) -> Iterator[tuple[Any, str]]:
    """Run the command on a table, and yield its process and the address that it prints."""
    command = [sys.executable, "-m", "dpcurves.cli", "try", str(path), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", process.stdout.readline())
        assert found is not None
        yield process, found[0]


@contextmanager
def open_table(path: Path, *, stop_by: signal.Signals = signal.SIGTERM) -> Iterator[str]:
    """Run the command on a table, yield the address that it prints, and end it by a signal (SIGINT is Ctrl-C)."""
    with run_try(path) as (process, address):
        try:
            yield address
        finally:
            process.send_signal(stop_by)


def find_worker(process: Any) -> int:
    """Return the process id of the worker of a command."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    commands = {int(child): Path(f"/proc/{child}/cmdline").read_bytes() for child in children}
    (worker,) = (child for child, command in commands.items() if b"dpcurves_server.worker" in command)
    return worker


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 360)])
def test_from_a_path_to_a_published_folder_in_eight_clicks(
    browser: Any, tmp_path: Path, scheme: Any, width: int
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age;sex;died\n" + "".join(f"{n % 90};{'fm'[n % 2]};{n % 3 % 2}\n" for n in range(3000)))
    with (
        open_table(path) as address,
        browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 850}) as context,
    ):
        newcomer = Principal(context.new_page(), address)
        page = newcomer.page
        newcomer.look()
        page.fill("#amount", "1")
        page.fill("#values-1", "f,m")
        newcomer.click("text=Continue")
        page.wait_for_selector("text=Choose a picture")
        newcomer.look()
        newcomer.click("text=Distribution >> nth=0")
        newcomer.choose("#f-column", "age")
        page.fill("#f-amount", "0.5")
        page.wait_for_selector("#plan >> text=epsilon 0.5")
        newcomer.look()
        newcomer.click("button[value=ask]")
        page.wait_for_url("**/releases/*")
        page.wait_for_selector("figure img.picture")
        newcomer.look()
        newcomer.click("button.main >> text=Publish")
        page.wait_for_selector("text=Published in the folder")
        newcomer.look()
        assert newcomer.clicks <= MOST_CLICKS
        assert newcomer.wrong == []
    (folder,) = (entry for entry in tmp_path.iterdir() if entry.is_dir())
    assert read_result(next(folder.glob("*.json"))).privacy.epsilon == 0.5
    assert (folder / "index.html").exists()


def test_an_answer_of_an_earlier_start_is_copied_and_published_after_the_next_start(
    browser: Any, tmp_path: Path
) -> None:
    """The first start is ended by Ctrl-C; the second one shows what is left, and publishes without a further charge."""
    path = tmp_path / "library loans 2025.csv"
    rows = "".join(f"{n % 97 + 1},{n % 10};{('Nord', 'Mitte')[n % 2]}\n" for n in range(2000))
    path.write_text("Lesezeit (min);Zweigstelle\n" + rows)
    with browser.new_context(permissions=["clipboard-read", "clipboard-write"]) as context:
        with open_table(path, stop_by=signal.SIGINT) as address:
            newcomer = Principal(context.new_page(), address)
            newcomer.page.fill("#amount", "1")
            newcomer.click("text=Continue")
            newcomer.click("text=Distribution >> nth=0")
            newcomer.choose("#f-column", "Lesezeit (min)")
            newcomer.page.fill("#f-amount", "0,5")
            newcomer.page.wait_for_selector("#plan >> text=epsilon 0.5")
            newcomer.click("button[value=ask]")
            newcomer.page.wait_for_url("**/releases/*")
        with open_table(path) as address:
            newcomer = Principal(context.new_page(), address)
            page = newcomer.page
            assert "0.5 of epsilon 1 spent" in page.inner_text("main")
            newcomer.click("table a >> nth=0")
            page.wait_for_selector("figure img.picture")
            copied = []
            for form in ("as Python", "as a command"):
                newcomer.click(f"button:has-text('{form}')")
                page.wait_for_function("navigator.clipboard.readText().then(text => text !== '')")
                copied.append(page.evaluate("navigator.clipboard.readText()"))
                page.evaluate("navigator.clipboard.writeText('')")
            with page.expect_download() as download:
                newcomer.click("text=Download notebook")
            notebook = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
            newcomer.click("button.main >> text=Publish")
            page.wait_for_selector("text=Published in the folder")
            newcomer.look()
            page.goto(address.partition("?")[0])
            assert "0.5 of epsilon 1 spent" in page.inner_text("main")
            assert newcomer.wrong == []
    (folder,) = (entry for entry in tmp_path.iterdir() if entry.is_dir())
    assert read_result(next(folder.glob("*.json"))).privacy.epsilon == 0.5
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([sys.executable, "-c", copied[0]], check=True, env=environment)  # spends what is left
    refused = subprocess.run(["bash", "-c", copied[1]], check=False, capture_output=True, text=True, env=environment)
    assert "costs epsilon 0.5; 0 of 1 is left" in refused.stderr
    assert "AutoRangeCdfQuestion" in "".join("".join(cell["source"]) for cell in notebook["cells"])


def test_ctrl_c_ends_the_command_while_its_worker_gets_no_time_and_the_next_start_answers(
    browser: Any, tmp_path: Path
) -> None:
    """The worker is halted, as on a machine that is busy with other work, wherever it is in its first answer."""
    path = tmp_path / "people.csv"
    path.write_text("age,sex\n" + "".join(f"{n % 90},{'fm'[n % 2]}\n" for n in range(3000)))
    with run_try(path) as (process, address), browser.new_context() as context:
        newcomer = Principal(context.new_page(), address)
        page = newcomer.page
        page.fill("#amount", "1")
        newcomer.click("text=Continue")
        newcomer.click("text=Distribution >> nth=0")
        newcomer.choose("#f-column", "age")
        page.fill("#f-amount", "0.5")
        page.wait_for_selector("#plan >> text=epsilon 0.5")
        newcomer.click("button[value=ask]")
        page.wait_for_url("**/releases/*")
        os.kill(find_worker(process), signal.SIGSTOP)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        print(f"\nmark: Ctrl-C with a halted worker: ended after {time.monotonic() - started:.1f} s")
        ending = "ended; what was spent stands in people.csv.dpcurves-ledger, for the next start"
        assert process.stdout.read().splitlines() == ["Ctrl-C ends this.", ending]
    with open_table(path) as address, browser.new_context() as context:
        newcomer = Principal(context.new_page(), address)
        newcomer.page.wait_for_load_state("networkidle")
        newcomer.click("table a >> nth=0")
        newcomer.page.wait_for_selector("figure img.picture")
        assert newcomer.wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_sketch_says_that_it_is_being_drawn_until_it_is_there(browser: Any, tmp_path: Path, scheme: Any) -> None:
    """A question without a range is sketched in seconds, and a picture below the window is asked for only when seen."""
    path = tmp_path / "loans.csv"
    path.write_text("days kept,genre\n" + "".join(f"{n % 90},{'xyz'[n % 3]}\n" for n in range(3000)))
    with open_table(path) as address, browser.new_context(color_scheme=scheme) as context:
        newcomer = Principal(context.new_page(), address)
        page = newcomer.page
        page.fill("#amount", "1")
        newcomer.click("text=Continue")
        newcomer.click("text=Distribution >> nth=0")
        newcomer.choose("#f-column", "days kept")
        page.fill("#f-amount", "two")
        page.wait_for_selector("#f-amount[aria-invalid=true]")
        page.fill("#f-amount", "0.5")
        page.wait_for_selector("#plan figure.drawing")
        assert page.locator("[aria-invalid]").count() == 0
        words = "getComputedStyle(document.querySelector('#plan figure'), '::before').content"
        assert page.evaluate(words) == '"The sketch is being drawn …"'
        newcomer.look()
        page.wait_for_selector("#plan figure:not(.drawing)")
        assert page.evaluate("document.querySelector('#plan img').naturalWidth") > 0
        assert page.evaluate(words) == "none"
        assert newcomer.wrong == []


class Typist:
    """A person who has a keyboard and no mouse; each focus on the way must be seen."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def tab_to(self, selector: str) -> None:
        """Press Tab until an element has the focus."""
        for _ in range(60):
            self.page.keyboard.press("Tab")
            is_wanted, is_seen, element = self.page.evaluate(FOCUSED, selector)
            assert is_seen, element
            if is_wanted:
                return
        raise AssertionError(f"Tab does not reach {selector} on {self.page.url}")

    def enter(self, selector: str, text: str) -> None:
        """Type into the field that Tab reaches."""
        self.tab_to(selector)
        self.page.keyboard.type(text)

    def press(self, selector: str) -> None:
        """Press Enter on the button or the link that Tab reaches."""
        self.tab_to(selector)
        self.page.keyboard.press("Enter")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 360)])
def test_a_curve_is_published_by_tab_enter_and_arrows_alone(
    browser: Any, tmp_path: Path, scheme: Any, width: int
) -> None:
    """The curve is that of a column of dates; then the budget is raised for categories that nobody knows."""
    path = tmp_path / "people.csv"
    rows = (f"2024-{1 + n % 12:02d}-{1 + n % 28:02d},{'xyz'[n % 3]},{n % 90}\n" for n in range(3000))
    path.write_text("visit_date,ward,age\n" + "".join(rows))
    with (
        open_table(path) as address,
        browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 700}) as context,
    ):
        access = LocalAccess(int(re.findall(r":(\d+)/", address)[0]), address.partition("token=")[2])
        opening_page = write_opening_page(open_local_table(str(path)), access)
        newcomer = Principal(context.new_page(), address, opening_page)
        page, typist = newcomer.page, Typist(newcomer.page)
        typist.enter("#amount", "1")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Choose a picture")
        typist.press("a[href$='/ask/cdf']")
        page.wait_for_selector("#f-column")
        typist.tab_to("#f-column")
        page.keyboard.press("ArrowDown")
        assert page.input_value("#f-column") == "visit_date"
        typist.enter("#f-amount", "0.5")
        page.wait_for_selector("#plan >> text=epsilon 0.5")
        typist.press("button[value=ask]")
        page.wait_for_url("**/releases/*")
        page.wait_for_selector("figure img.picture")
        assert "2024-0" in page.inner_text("main")
        typist.press("button.main")
        page.wait_for_selector("text=Published in the folder")
        newcomer.look()
        typist.press("a[href='/']")
        page.wait_for_selector("text=Raise the budget")
        typist.press("a[href='/budget']")
        page.wait_for_selector("h1 >> text=Raise the budget")
        typist.enter("#f-amount", "2")
        typist.tab_to("#f-agreed")
        page.keyboard.press("Space")
        newcomer.look()
        typist.press("button.main")
        page.wait_for_selector("text=epsilon 1.5 is left")
        typist.press("a[href$='/ask/bars']")
        page.wait_for_selector("#f-column")
        typist.tab_to("#f-column")
        page.keyboard.press("ArrowDown")
        assert page.input_value("#f-column") == "ward"
        typist.enter("#f-amount", "1")
        page.wait_for_selector("#plan >> text=epsilon 1")
        newcomer.look()
        typist.press("button[value=ask]")
        page.wait_for_url("**/releases/*")
        assert "were found with epsilon 0.25" in page.inner_text("main")
        assert newcomer.wrong == []
    (folder,) = (entry for entry in tmp_path.iterdir() if entry.is_dir())
    assert (folder / "index.html").exists()


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__.removeprefix("make_"))
def test_tables_of_ten_kinds_are_published_in_eight_clicks(browser: Any, tmp_path: Path, make: Any) -> None:
    """The names of columns say nothing, and no range is known: at most the schema proposes a use."""
    seed = int(time.time()) // 86400  # other names each day; the numbers are not asserted
    asked = make(TableMaker(tmp_path, seed))
    started = time.monotonic()
    with open_table(asked.path) as address, browser.new_context() as context:
        newcomer = Principal(context.new_page(), address)
        page = newcomer.page
        page.fill("#amount", "2")
        for row in page.query_selector_all("tr[data-column]"):
            name = row.query_selector("th").inner_text()
            if name in asked.numbers or name in asked.categories:
                use = "numbers" if name in asked.numbers else "categories"
                newcomer.clicks += row.query_selector("select").input_value() != use
                row.query_selector("select").select_option(use)
            if name in asked.categories:
                row.query_selector("[data-use=categories] input").fill(asked.categories[name])
        if asked.unit:
            newcomer.choose("#unit", asked.unit)
        newcomer.click("text=Continue")
        newcomer.click(f"text={asked.picture} >> nth=0")
        for field, column in asked.fields.items():
            newcomer.choose(f"#f-{field}", column)
        page.fill("#f-amount", "1")
        page.wait_for_selector("#plan >> text=epsilon 1")
        newcomer.click("button[value=ask]")
        page.wait_for_url("**/releases/*")
        newcomer.click("button.main >> text=Publish")
        page.wait_for_selector("text=Published in the folder")
        kind = make.__name__.removeprefix("make_").replace("_", " ")
        print(f"\nmark: {kind}: {newcomer.clicks} clicks, {time.monotonic() - started:.0f} s")
        assert newcomer.clicks <= MOST_CLICKS
        assert newcomer.wrong == []
    (folder,) = (entry for entry in tmp_path.iterdir() if (entry / "index.html").exists())
    assert read_result(next(folder.glob("*.json"))).privacy.epsilon == 1


PHONE = {"width": 390, "height": 844}
FIRST_CELLS = """(table) => {
    const box = table.closest('.scroll'), cell = table.querySelector('tbody tr :first-child');
    const before = cell.getBoundingClientRect().left, next = cell.nextElementSibling.getBoundingClientRect().left;
    box.scrollLeft = 300;
    return {
        is_wide: box.scrollWidth > box.clientWidth + 300, stays: cell.getBoundingClientRect().left === before,
        moves: next - cell.nextElementSibling.getBoundingClientRect().left,
        covers: document.elementFromPoint(before + 5, cell.getBoundingClientRect().top + 5) === cell,
        ground: getComputedStyle(cell).backgroundColor, part: cell.offsetWidth / box.clientWidth,
    };
}"""
"""Whether the first column of a wide table stays where it is while its box is scrolled, over the other columns."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_wide_table_on_a_phone_scrolls_in_its_box_and_its_first_column_stays(
    browser: Any, tmp_path: Path, scheme: Any
) -> None:
    """On the page of an answer, and on the published page."""
    jobs, homes = ([f"{word} {number:02d}" for number in range(12)] for word in ("occupation group", "household type"))
    path = tmp_path / "people.csv"
    path.write_text("job,home\n" + "".join(f"{jobs[n % 12]},{homes[n * 7 % 13 % 12]}\n" for n in range(3000)))
    with (
        open_table(path) as address,
        browser.new_context(color_scheme=scheme, viewport=PHONE, has_touch=True) as context,
    ):
        newcomer = Principal(context.new_page(), address)
        page = newcomer.page
        page.fill("#amount", "1")
        for number, names in enumerate((jobs, homes)):
            page.select_option(f"select[name='use.{number}']", "categories")
            page.fill(f"#values-{number}", ",".join(names))
        page.click("text=Continue")
        page.click("text=Table of two columns >> nth=0")
        page.select_option("#f-rows", "job")
        page.select_option("#f-columns", "home")
        page.fill("#f-amount", "1")
        page.wait_for_selector("#plan >> text=epsilon 1")
        page.click("button[value=ask]")
        page.wait_for_url("**/releases/*")
        page.wait_for_selector("figure img.picture")
        newcomer.look()
        seen = [page.locator(".scroll table").first.evaluate(FIRST_CELLS)]
        page.click("button.main >> text=Publish")
        page.wait_for_selector("text=Published in the folder")
        (folder,) = (entry for entry in tmp_path.iterdir() if entry.is_dir())
        page.goto((folder / "index.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        seen.append(page.locator("table.numbers").first.evaluate(FIRST_CELLS))
        assert newcomer.wrong == [(folder / "index.html").as_uri()]
    for facts in seen:
        assert facts["is_wide"]
        assert facts["stays"]
        assert facts["moves"] == pytest.approx(300, abs=2)
        assert facts["covers"]
        assert facts["ground"] not in ("transparent", "rgba(0, 0, 0, 0)")
        assert facts["part"] <= 0.6
