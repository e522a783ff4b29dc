"""Pages in a real browser: every page and role, light, dark, narrow, by keyboard, without scripts; read by axe."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from authority import CLIENT, SUBJECT, Authority, authority
from browser import FLAGS, require_chromium
from free_ports import free_port
from scene import PASSWORD, Scene, made

from dpcurves.privacy import PrivacyLoss
from dpcurves_server import MACHINE
from dpcurves_server.cli.commands import ID, SECRET

BROWSER = require_chromium()
sync_api = importlib.import_module("playwright.sync_api")
axe = importlib.import_module("axe_playwright_python.base")

SHOTS = os.environ.get("DPCURVES_SCREENSHOTS", "")
"""A folder for pictures of all pages that are seen; empty: none are taken."""
RUN_AXE = "() => axe.run().then(found => found.violations.map(each => each.id + ' ' + each.nodes[0].html))"
WIDTH, NARROW = 1200, 360
SECONDS = 60_000
PAGES = {
    "ann": (
        "/datasets", "/datasets/flights", "/projects/delays", "/projects/delays/ask", "/projects/delays/ask/cdf",
        "/projects/delays/ask/roc", "/projects/delays/ask/verify", "/projects/delays/together", "/account",
    ),
    "stu": ("/manage/flights", "/projects/delays"),
    "aud": ("/audit", "/manage/flights"),
    "oda": ("/people",),
}  # fmt: skip


class Served:
    """The scene behind a server of its own, and a browser."""

    def __init__(self, scene: Scene, url: str, browser: Any, elsewhere: Authority) -> None:
        self.scene, self.url, self.browser, self.elsewhere = scene, url, browser, elsewhere
        self.release = ""

    @contextmanager
    def page(self, name: str | None, **settings: Any) -> Iterator[Any]:
        """A page of somebody who has signed in by a cookie; all that goes wrong in it is kept in `wrong`."""
        context = self.browser.new_context(ignore_https_errors=True, base_url=self.url, **settings)
        context.set_default_timeout(SECONDS)
        if name is not None:
            cookie = self.scene.gate.sessions.begin_session(name).cookie
            context.add_cookies([{"name": "__Host-dpcurves", "value": cookie, "url": self.url, "secure": True}])
        page = context.new_page()
        page.wrong = []
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("console", lambda told: page.wrong.append(told.text) if told.type == "error" else None)
        own = (self.url, self.elsewhere.url)
        page.on("request", lambda asked: page.wrong.append(asked.url) if not asked.url.startswith(own) else None)
        yield page
        assert page.wrong == []
        context.close()


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Authority]:
    with authority() as found:
        yield found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, elsewhere: Authority) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("browser")
    scene, port = made(folder), free_port()
    scene.gate.people.set_subject(MACHINE, "ann", elsewhere.url, SUBJECT)
    command = [
        "serve",
        "--store",
        scene.url,
        "--listen",
        f"127.0.0.1:{port}",
        "--tls",
        "cert.pem,key.pem",
        "--every",
        "1",
        "--oidc",
        elsewhere.url,
    ]
    server = subprocess.Popen(
        [sys.executable, "-m", "dpcurves.cli", *command, "--workers", "1"],
        cwd=folder,
        env={**os.environ, ID: CLIENT.id, SECRET: CLIENT.secret},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        assert any("listens at" in line for line in server.stdout)
        with sync_api.sync_playwright() as play:
            browser = play.chromium.launch(executable_path=BROWSER, args=list(FLAGS))
            yield Served(scene, f"https://127.0.0.1:{port}", browser, elsewhere)
            browser.close()
    finally:
        server.terminate()
        server.communicate(timeout=120)


def looked_at(page: Any, name: str) -> None:
    """Read by axe, as wide as the window, and kept as a picture where that is asked for."""
    page.evaluate(Path(axe.AXE_FILE_PATH).read_text(encoding="utf-8"))
    assert page.evaluate(RUN_AXE) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)


def pictures(page: Any) -> list[int]:
    """The widths of all pictures, once they are there; 0: one could not be drawn."""
    script = (
        "() => Promise.all([...document.images].map(i => (i.loading = 'eager', i.decode().then(() => i.naturalWidth))))"
    )
    return [int(width) for width in page.evaluate(script)]


def test_an_analyst_signs_in_plans_as_they_type_asks_and_sees_the_answer(served: Served) -> None:
    with served.page(None, viewport={"width": WIDTH, "height": 850}) as page:
        page.goto("/")
        looked_at(page, "sign-in")
        page.fill("#name", "ann")
        page.fill("#password", PASSWORD)
        page.click("button.main")
        page.wait_for_url("**/datasets")
        page.goto("/projects/delays/ask/histogram")
        page.select_option("#f-column", "delay")
        ends = [page.input_value(f"#f-grid-{part}") for part in ("lower", "upper")]
        assert list(map(float, ends)) == [-60, 600]
        page.fill("#f-grid-cells", "66")
        page.fill("#f-amount", "0.25")
        assert page.input_value("[data-slides=f-amount]") == "0.25"
        page.wait_for_selector("#plan img")
        assert "histogram of delay: epsilon 0.25" in page.inner_text("#plan")
        assert all(pictures(page))
        looked_at(page, "plan")
        page.fill("[data-slides=f-amount]", "0.5")
        assert page.input_value("#f-amount") == "0.5"
        page.wait_for_selector("#plan >> text=epsilon 0.5")
        page.click("button[value=ask]")
        looked_at(page, "waiting")
        page.wait_for_url("**/releases/*")
        page.wait_for_selector("figure img.picture")
        assert all(pictures(page))
        looked_at(page, "release")
        served.release = page.url.removeprefix(served.url)


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(("scheme", "width"), [("light", WIDTH), ("dark", NARROW)])
def test_every_page_of_every_role_is_read_by_axe_and_fits_its_window(served: Served, scheme: Any, width: int) -> None:
    """In the light and wide, the next page in the dark and narrow; each page in both where pictures are asked for."""
    for name, every in PAGES.items():
        paths = every if SHOTS else every[scheme == "dark" :: 2]
        with served.page(name, color_scheme=scheme, viewport={"width": width, "height": 850}) as page:
            for path in (*paths, *([served.release] if name == "ann" and served.release else [])):
                assert page.goto(path).status == 200
                looked_at(page, f"{name}{path[:30].replace('/', '-')}-{scheme}-{width}")


def test_without_scripts_a_question_is_planned_asked_and_answered(served: Served) -> None:
    with served.page("bob", java_script_enabled=False, viewport={"width": WIDTH, "height": 850}) as page:
        page.goto("/projects/delays/ask/cdf")
        page.select_option("#f-column", "delay")
        page.fill("#f-amount", "0.25")
        page.click("button[value=plan]")
        assert "distribution function of delay: epsilon 0.25" in page.inner_text("#plan")
        page.click("button[value=ask]")
        page.wait_for_url("**/releases/*")
        assert page.inner_text("h2 >> text=Result") == "Result"


def test_by_keyboard_alone_one_signs_in_and_opens_a_dataset(served: Served) -> None:
    with served.page(None, viewport={"width": WIDTH, "height": 850}) as page:
        page.goto("/sign-in")
        page.wait_for_selector("#name:focus")
        page.keyboard.type("ann")
        page.keyboard.press("Tab")
        page.keyboard.type(PASSWORD)
        assert (page.input_value("#name"), page.input_value("#password")) == ("ann", PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url("**/datasets")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "flights"
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("Enter")
        page.wait_for_url("**/datasets/flights")


def test_one_signs_in_by_another_authority_and_hears_on_the_same_page_why_not(served: Served) -> None:
    with served.page(None, viewport={"width": WIDTH, "height": 850}) as page:
        page.goto("/sign-in")
        page.click("text=Sign in with 127.0.0.1")
        page.wait_for_url("**/datasets")
        assert page.inner_text(".who span") == "ann"
        page.click("text=Sign out")
        page.wait_for_url("**/sign-in?said=out")
        served.elsewhere.subject = "somebody else"
        with page.expect_navigation(url="**/oidc/back?*"):
            page.click("text=Sign in with 127.0.0.1")
        assert "no account here is linked to your identity" in page.inner_text("[role=alert]")
        looked_at(page, "not-known-here")
        page.wrong = [each for each in page.wrong if "403" not in each]  # the browser says of its status, too


def test_on_paper_the_menu_and_the_buttons_are_left_out(served: Served) -> None:
    with served.page("ann", viewport={"width": WIDTH, "height": 850}) as page:
        page.emulate_media(media="print")
        page.goto("/projects/delays")
        assert page.is_hidden(".head nav")
        assert page.is_hidden("form")
        assert page.is_visible("h1")


def test_the_first_page_is_small(served: Served) -> None:
    """At most 100 KB with all that it asks for, and so is the one with most on it."""
    for name, path in ((None, "/sign-in"), ("ann", "/projects/delays/ask/roc")):
        with served.page(name) as page:
            sizes: list[int] = []
            page.on("response", lambda answer: sizes.append(len(answer.body())))  # noqa: B023
            page.goto(path, wait_until="networkidle")
            assert sum(sizes) < 100_000


def test_a_steward_sends_a_synthetic_table_and_analysts_find_it(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "made.csv"
    with served.page("stu", java_script_enabled=False, viewport={"width": WIDTH, "height": 850}) as page:
        for table, said in (
            ("delay,late\nsoon,1\n", "does not hold numbers"),
            ("delay,late\n3.5,1\n", "The table is proposed"),
        ):
            file.write_text(table)
            if page.url == "about:blank":
                page.goto("/manage/flights")
            page.set_input_files("#table-file", file)
            page.fill("#table-statement", "by a model of marginals, epsilon 1")
            page.click("text=Propose the table")
            page.wait_for_selector(f".said >> text={said}")
            page.wrong = [each for each in page.wrong if "400" not in each]
    with served.page("aud", java_script_enabled=False, viewport={"width": WIDTH, "height": 850}) as page:
        page.goto("/manage/flights")
        page.click("text=Confirm: it was made up")
        page.wait_for_selector(".said >> text=is available now")
    with served.page("ann") as page:
        page.goto("/datasets/flights")
        assert "by a model of marginals, epsilon 1" in page.inner_text("#dummy-h ~ p >> nth=0")


def test_an_answer_is_compared_with_the_synthetic_table_with_scripts_and_without(served: Served) -> None:
    for scripts, scheme, width in ((True, "light", WIDTH), (True, "dark", NARROW), (False, "light", WIDTH)):
        settings = {"java_script_enabled": scripts, "color_scheme": scheme, "viewport": {"width": width, "height": 850}}
        with served.page("ann", **settings) as page:
            page.goto(served.release)
            page.wait_for_selector("p.verdict")
            if scripts:
                assert all(pictures(page))
                looked_at(page, f"compared-{scheme}-{width}")


def test_a_steward_gives_a_share_and_publishes(served: Served) -> None:
    with served.page("stu", viewport={"width": WIDTH, "height": 850}) as page:
        page.goto("/manage/flights")
        page.fill("#new-name", "fares")
        page.click("text=Create the project")
        page.wait_for_url("**/manage/flights?said=made")
        assert served.scene.gate.projects.get(served.scene.stu, "fares").dataset == "flights"
        page.goto(served.release)
        page.click("main >> button >> text=Publish")
        page.wait_for_url("**?said=published")
        looked_at(page, "published")
        page.goto("/datasets/flights")
        assert page.inner_text("#published-h ~ div >> tbody th") == "histogram of delay"
    (published,) = served.scene.gate.releases.list_published(served.scene.bob, "flights")
    assert published.loss == PrivacyLoss.pure("0.5")
