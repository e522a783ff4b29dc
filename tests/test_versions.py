"""Pages of several versions, laid by the program that lays the real ones, served on loopback, and seen in a browser."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from browser import FLAGS, require_chromium

pytestmark = pytest.mark.reproduction  # what lays the versions that are published, three sites and a browser
BROWSER = require_chromium()
sync_api = importlib.import_module("playwright.sync_api")
pytest.importorskip("mike", reason="mike is not installed: pip install --group dev")

ROOT = Path(__file__).resolve().parents[1]
NAV = "\nnav:\n  - index.md\n  - second.md\n  - Examples: examples/index.md\n"
WARNING = ".md-banner--warning"
NAMES = "all => all.map(each => each.firstChild.textContent.trim())"


class Host(SimpleHTTPRequestHandler):
    """Files as hosts of pages send them: what is not there is answered by the page 404.html of the root."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        page = Path(self.directory, "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def git(folder: Path, *words: str) -> bytes:
    person = ["-c", "user.name=Anna", "-c", "user.email=anna@example.org"]
    return subprocess.run(["git", *person, *words], cwd=folder, check=True, capture_output=True).stdout


def small(folder: Path) -> None:
    """A repository with two pages, and the programs and settings of this one."""
    for pattern in ("docs/*.py", "docs/theme/*", "docs/site.js", "docs/stylesheets/*", "docs/images/*", "publish/*.py"):
        for path in filter(Path.is_file, ROOT.glob(pattern)):
            (folder / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / path.relative_to(ROOT))
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[0]
    (folder / "mkdocs.yml").write_text(settings + NAV, "utf-8")
    shutil.copy(ROOT / "pyproject.toml", folder / "pyproject.toml")
    (folder / "src").mkdir()
    (folder / "docs" / "second.md").write_text("# Second\n\nAnother page.\n", "utf-8")


def lay(folder: Path, address: str, *version: str) -> None:
    (folder / "docs" / "index.md").write_text(f"# Pages of {version[0]}\n\n[Second](second.md)\n", "utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", version[0])
    person = {f"GIT_{who}_{what}": "anna@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    words = [sys.executable, "publish/versions.py", *version, "--address", address]
    subprocess.run(words, cwd=folder, env=os.environ | person, check=True, capture_output=True)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where version 0.1 was laid, then 0.2 as the latest, then what is not released."""
    folder, served = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("served")
    small(folder)
    git(folder, "init", "--quiet")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Host, directory=str(served))) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        for version in (("0.1", "latest"), ("0.2", "latest"), ("dev",)):
            lay(folder, address, *version)
        (served / "all.tar").write_bytes(git(folder, "archive", "pages"))
        shutil.unpack_archive(served / "all.tar", served, filter="data")
        Thread(target=server.serve_forever, daemon=True).start()
        yield address
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    page = browser.new_page()
    page.set_default_timeout(60_000)
    yield page
    page.close()


@pytest.mark.parametrize(("place", "led"), [("", "0.2/"), ("latest/", "0.2/"), ("latest/second/", "0.2/second/")])
def test_who_asks_for_the_latest_is_led_there(page: Any, address: str, place: str, led: str) -> None:
    page.goto(address + place)
    page.wait_for_url(address + led)
    page.wait_for_selector("h1")


@pytest.mark.parametrize(("version", "warned"), [("0.1", True), ("0.2", False), ("dev", True)])
def test_a_page_that_is_not_of_the_latest_version_says_so(page: Any, address: str, version: str, warned: bool) -> None:
    page.goto(f"{address}{version}/second/")
    page.wait_for_selector(".md-version")  # the list of versions, without which nothing is known of the latest
    assert page.is_visible(WARNING) is warned
    assert page.eval_on_selector_all(".md-version__link", NAMES) == ["dev", "0.2", "0.1"]
    if warned:
        page.click(f"{WARNING} a")
        page.wait_for_url(f"{address}0.2/second/")


@pytest.mark.parametrize("place", ["nowhere/", "0.1/nowhere/deep/down/", "latest/nowhere/"])
def test_a_page_that_is_not_there_shows_the_way(page: Any, address: str, place: str) -> None:
    failed: list[str] = []
    page.on("requestfailed", lambda asked: failed.append(asked.url))
    answer = page.goto(address + place)
    assert answer.status == 404
    assert page.inner_text("h1").startswith("No such page")
    drawn = page.evaluate("[...document.styleSheets].map(each => each.cssRules.length)")
    assert len(drawn) >= 2  # and not the page 404 in the place of a style sheet
    assert min(drawn) > 10
    assert failed == []
    page.click("article a")
    page.wait_for_url(f"{address}0.2/")


def test_a_version_has_the_picture_of_shared_links_by_its_whole_address(page: Any, address: str) -> None:
    page.goto(f"{address}0.1/second/")
    shown = page.get_attribute("meta[property='og:image']", "content")
    assert shown == f"{address}0.1/images/card.png"
    assert page.request.get(shown).status == 200
