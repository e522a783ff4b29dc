"""Pictures of ten pages, twelve pictures and six pages of a server, in light, dark and narrow: `make pictures`.

They lie in `docs/images/shots`, and are no part of the site. The site is the one that `make docs` built; the server is
that of the tests, with made-up flights; results are of made-up records, and seeded. Debian's Chromium shows the pages;
where it is not installed, a line says so, and pictures alone are drawn.
"""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

import dpcurves as dp
from dpcurves import display

ROOT = Path(__file__).resolve().parents[1]
SHOTS = ROOT / "docs" / "images" / "shots"
PAGES = {
    "home": "", "dial": "dial/", "first-curve": "first_curve/", "which-question": "choose/",
    "trust-model": "trust_models/", "numbers": "numbers/", "budgets": "budgets/", "server": "server/",
    "experts": "experts/", "api": "api/",
}  # fmt: skip
SERVER = ("dataset", "kinds", "question", "release", "together", "manage")
DRAWN = (
    "distribution", "distribution-by", "quantiles", "histogram-by", "geometric", "survival", "roc", "calibration",
    "decision", "table", "means", "quantile-quantile",
)  # fmt: skip
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]


class Way(NamedTuple):
    """Viewing mode: the scheme of pages, the window, and style and inches of pictures."""

    name: str
    scheme: str
    width: int
    style: str
    inches: float | None = None


WAYS = (
    Way("light", "light", 1280, "paper"), Way("dark", "dark", 1280, "dark"),
    Way("narrow", "light", 390, "paper", 4.2),
)  # fmt: skip
HIGHEST = 2600
"""Pixels of a page that are kept, from its top."""
HIGHEST_OF = {"page-dial-light": 1180}
"""Pixels of a page of which the README shows the upper part."""
QUALITY, WIDEST = 55, 960


def names() -> list[str]:
    """The names of all files, without their ending."""
    groups = {"page": PAGES, "picture": DRAWN, "server": SERVER}
    return [f"{kind}-{name}-{way.name}" for kind, own in groups.items() for name in own for way in WAYS]


def keep(octets: bytes, name: str) -> None:
    """Keep a picture, small."""
    picture = Image.open(BytesIO(octets)).convert("RGB")
    picture = picture.crop((0, 0, picture.width, min(picture.height, HIGHEST_OF.get(name, HIGHEST))))
    if picture.width > WIDEST:
        picture = picture.resize((WIDEST, round(picture.height * WIDEST / picture.width)), Image.Resampling.LANCZOS)
    picture.save(SHOTS / f"{name}.webp", quality=QUALITY, method=6)


# Results of made-up records, as the library draws them.


def results() -> dict[str, Any]:
    """A result for each kind of picture."""
    chance, one, curator = np.random.default_rng(5), dp.PrivacyLoss.pure(1), dp.REPLACE_ONE
    terms: dict[str, Any] = {"epsilon": 1, "adjacency": curator, "randomness": dp.Randomness.from_seed(1)}
    ages, groups = chance.gamma(9, 5, 6000), chance.choice(["north", "south", "east", "west"], 6000)
    work = [f"occupation group {number:03d}" for number in range(12)]
    home = [f"household region {number:03d}" for number in range(12)]
    states = tuple(f"state {number:02d}" for number in range(1, 52))
    table = {
        "age": ages + np.where(groups == "north", 8, 0), "group": groups, "work": chance.choice(work, 6000),
        "home": chance.choice(home, 6000), "state": chance.choice(states, 6000),
    }  # fmt: skip
    table["age"] += np.array([int(each[-2:]) for each in table["state"]]) / 4

    def asked(question: Any) -> Any:
        with dp.Session(table, budget=one, adjacency=curator, randomness=dp.Randomness.from_seed(1)) as session:
            return session.ask(question, one)

    grid, by = dp.Grid(0, 120, cells=60), dp.Categories("group", ("north", "south", "east", "west"))
    score = chance.beta(2, 5, 6000)
    label = (chance.random(6000) < score).astype(int)
    rare = chance.beta(1, 30, 20_000)
    late, left = chance.exponential(40, 6000), chance.uniform(0, 100, 6000)
    months = dp.survival(np.minimum(late, left), late <= left, grid=dp.Grid(0, 100, cells=50), **terms)
    curves = [dp.cdf(ages + more, grid=grid, label=name, **terms) for name, more in (("before", 0), ("after", 6))]
    wages = chance.lognormal(10.3, 1, 6000)
    return {
        "distribution": dp.cdf(ages, grid=grid, label="age in years", **terms),
        "distribution-by": asked(dp.CdfQuestion("age", grid, by=by)),
        "quantiles": dp.quantiles(ages, grid=grid, label="age in years", **terms),
        "histogram-by": asked(dp.HistogramQuestion("age", dp.Grid(0, 120, cells=30), by=by)),
        "geometric": dp.cdf(wages, grid=dp.Grid.geometric(100, 3e6, cells=256), label="wage", **terms),
        "survival": months,
        "roc": dp.roc_curve(label, score, **terms),
        "calibration": dp.calibration_curve((chance.random(20_000) < rare).astype(int), rare, **terms),
        "decision": dp.scores(label, score, **terms).decision_curve(),
        "table": asked(dp.ContingencyQuestion(dp.Categories("work", tuple(work)), dp.Categories("home", tuple(home)))),
        "means": asked(dp.SummaryQuestion("age", 0, 120, by=dp.Categories("state", states))),
        "quantile-quantile": curves[0].quantile_quantile(curves[1], [0.1, 0.25, 0.5, 0.75, 0.9]),
    }  # fmt: skip


def draw() -> None:
    """Draw all of them in all ways."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dp.CurveWarning)
        for name, result in results().items():
            for way in WAYS:
                wide, high = getattr(result, "SIZE", display.LANDSCAPE)
                size = None if way.inches is None else (way.inches, 1 + way.inches * high / wide)
                ax = None if size is None else display.headless_axes(size)
                axes = result.plot(ax=ax, style=way.style)
                made = BytesIO()
                axes.figure.savefig(made, format="png", dpi=110)
                keep(made.getvalue(), f"picture-{name}-{way.name}")


# Pages in a browser.


class Quiet(SimpleHTTPRequestHandler):
    """Files, and no line for each of them."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of a folder on this machine, as long as it is needed."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def see(browser: Any, way: Way, places: Mapping[str, str], cookie: Mapping[str, Any] | None = None) -> None:
    """Take pages from their tops, by their names and addresses."""
    size: Any = {"width": way.width, "height": 900}
    context = browser.new_context(viewport=size, color_scheme=way.scheme, ignore_https_errors=True)
    if cookie is not None:
        context.add_cookies([cookie])
    page = context.new_page()
    page.set_default_timeout(120_000)
    for name, place in places.items():
        page.goto(place)
        page.wait_for_load_state("networkidle")
        # The whole page is in the window: the theme takes its tabs away from who scrolls.
        page.set_viewport_size(size | {"height": min(page.evaluate("document.documentElement.scrollHeight"), HIGHEST)})
        page.evaluate(
            "() => Promise.all([...document.images].map(i => (i.loading = 'eager', i.decode().catch(() => 0))))"
        )
        keep(page.screenshot(animations="disabled"), f"{name}-{way.name}")
        page.set_viewport_size(size)
    context.close()


def see_server(browser: Any) -> None:
    """Ask two questions of a server as an analyst, and take its pages."""
    sys.path[:0] = [str(ROOT / "tests" / place) for place in ("server", "processes")]
    from running import Running
    from scene import made

    with TemporaryDirectory() as folder:
        scene = made(Path(folder))
        server = Running(scene)
        server.start()
        try:
            _see_pages(browser, scene, f"https://127.0.0.1:{server.port}")
        finally:
            server.stop()
            scene.gate.studio.stop()


def _see_pages(browser: Any, scene: Any, url: str) -> None:
    def cookie(name: str) -> dict[str, Any]:
        return {
            "name": "__Host-dpcurves", "value": scene.gate.sessions.begin(name).cookie, "url": url, "secure": True
        }  # fmt: skip

    context = browser.new_context(ignore_https_errors=True)
    context.add_cookies([cookie("ann")])
    page = context.new_page()
    page.set_default_timeout(120_000)
    for price in ("0.125", "0.5"):
        page.goto(f"{url}/projects/delays/ask/cdf")
        page.select_option("#f-column", "delay")
        page.fill("#f-grid-cells", "66")
        page.fill("#f-amount", price)
        page.wait_for_selector("#plan img")
        page.click("button[value=ask]")
        page.wait_for_url("**/releases/*")
        page.wait_for_selector("figure img.picture")
    last = page.url
    context.close()
    ids = "&".join(f"of={each.id}" for each in scene.gate.releases.all(scene.ann, "delays"))
    ask = "column=delay&grid.lower=-60&grid.upper=600&grid.cells=66&amount=0.25"
    places = {
        "dataset": f"{url}/datasets/flights", "kinds": f"{url}/projects/delays/ask",
        "release": last, "together": f"{url}/projects/delays/together?{ids}",
    }  # fmt: skip
    for way in WAYS:
        see(browser, way, {f"server-{name}": place for name, place in places.items()}, cookie("ann"))
        see(browser, way, {"server-manage": f"{url}/manage/flights"}, cookie("stu"))
        _see_form(browser, way, f"{url}/projects/delays/ask/histogram?{ask}", cookie("ann"))


def _see_form(browser: Any, way: Way, place: str, cookie: Any) -> None:
    """Take a form with its plan and its sketch."""
    size: Any = {"width": way.width, "height": 900}
    context = browser.new_context(viewport=size, color_scheme=way.scheme, ignore_https_errors=True)
    context.add_cookies([cookie])
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(place)
    page.select_option("#f-column", "delay")
    page.fill("#f-amount", "0.25")
    page.wait_for_selector("#plan img")
    page.wait_for_selector(".htmx-request", state="detached")
    page.evaluate("() => Promise.all([...document.images].map(i => (i.loading = 'eager', i.decode())))")
    keep(page.screenshot(animations="disabled", full_page=True), f"server-question-{way.name}")
    context.close()


def main() -> None:
    """Take them all."""
    shutil.rmtree(SHOTS, ignore_errors=True)
    SHOTS.mkdir(parents=True)
    draw()
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no pictures of pages: chromium is not installed")
        return
    from playwright.sync_api import sync_playwright

    with served(ROOT / "site") as url, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        for way in WAYS:
            see(browser, way, {f"page-{name}": f"{url}/{place}" for name, place in PAGES.items()})
        see_server(browser)
        browser.close()
    octets = sum(each.stat().st_size for each in SHOTS.iterdir())
    print(f"{len(names())} pictures, {octets / 2**20:.1f} MB, in {SHOTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
