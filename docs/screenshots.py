"""Pictures of ten pages, twelve pictures and six pages of a server, in light, dark and narrow: `make pictures`.

They lie in `docs/images/shots`, and are no part of the site. The site is the one that `make docs` built; the server is
that of the tests, with made-up flights; results are of made-up records, as each picture says. Debian's Chromium shows
the pages; where it is not installed, or with `--pictures`, pictures alone are drawn.
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

import matplotlib.pyplot as plt
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


def keep(octets: bytes, folder: Path, name: str) -> None:
    """Write a picture into a folder, small."""
    picture = Image.open(BytesIO(octets)).convert("RGB")
    picture = picture.crop((0, 0, picture.width, min(picture.height, HIGHEST_OF.get(name, HIGHEST))))
    if picture.width > WIDEST:
        picture = picture.resize((WIDEST, round(picture.height * WIDEST / picture.width)), Image.Resampling.LANCZOS)
    picture.save(folder / f"{name}.webp", quality=QUALITY, method=6)


# Results of made-up records, as the library draws them.


def build_results() -> dict[str, Any]:
    """Return a result for each kind of picture, with names of columns that say what is counted."""
    generator, curator = np.random.default_rng(5), dp.REPLACE_ONE
    noise = dp.Randomness.from_key(b"public key of the documentation!", "screenshots")  # all records are made up
    ages, regions = generator.gamma(9, 5, 6000), generator.choice(["north", "south", "east", "west"], 6000)
    occupations = tuple(f"occupation group {number:03d}" for number in range(12))
    households = tuple(f"household region {number:03d}" for number in range(12))
    states = tuple(f"state {number:02d}" for number in range(1, 52))
    scores, rare = generator.beta(2, 5, 6000), generator.beta(1, 30, 6000)
    relapse, end = generator.exponential(40, 6000), generator.uniform(0, 100, 6000)
    table = {
        "age in years": ages + np.where(regions == "north", 8, 0), "region": regions,
        "occupation": generator.choice(occupations, 6000), "household": generator.choice(households, 6000),
        "state": generator.choice(states, 6000), "wage": generator.lognormal(10.3, 1, 6000),
        "risk": scores, "ill": (generator.random(6000) < scores).astype(int),
        "rare risk": rare, "rare disease": (generator.random(6000) < rare).astype(int),
        "months": np.minimum(relapse, end), "relapse": (relapse <= end).astype(int),
    }  # fmt: skip
    table["age in years"] += np.array([int(state[-2:]) for state in table["state"]]) / 4
    terms: dict[str, Any] = {"budget": dp.PrivacyLoss.pure(20), "adjacency": curator, "randomness": noise}
    grid, by = dp.Grid(0, 120, cells=60), dp.Categories("region", ("north", "south", "east", "west"))
    questions: dict[str, Any] = {
        "distribution": dp.CdfQuestion("age in years", grid),
        "distribution-by": dp.CdfQuestion("age in years", grid, by=by),
        "quantiles": dp.QuantilesQuestion("age in years", grid, (0.25, 0.5, 0.75)),
        "histogram-by": dp.HistogramQuestion("age in years", dp.Grid(0, 120, cells=30), by=by),
        "geometric": dp.CdfQuestion("wage", dp.Grid.geometric(100, 3e6, cells=256)),
        "survival": dp.SurvivalQuestion("months", "relapse", dp.Grid(0, 100, cells=50)),
        "roc": dp.RocQuestion("ill", "risk"),
        "calibration": dp.CalibrationQuestion("rare disease", "rare risk"),
        "table": dp.ContingencyQuestion(
            dp.Categories("occupation", occupations), dp.Categories("household", households)
        ),
        "means": dp.SummaryQuestion("age in years", 0, 120, by=dp.Categories("state", states)),
    }
    with dp.Session(table, **terms) as session:
        results: dict[str, Any] = {
            name: session.ask(question, dp.PrivacyLoss.pure(1)) for name, question in questions.items()
        }
        results["decision"] = session.ask(dp.ScoresQuestion("ill", "risk"), dp.PrivacyLoss.pure(1)).decision_curve()
    curves = [
        dp.cdf(ages + shift, grid=grid, label=name, epsilon=1, adjacency=curator, randomness=noise)
        for name, shift in (("age before", 0), ("age after", 6))
    ]
    results["quantile-quantile"] = curves[0].quantile_quantile(curves[1], [0.1, 0.25, 0.5, 0.75, 0.9])
    return {name: results[name] for name in DRAWN}


def draw(folder: Path) -> None:
    """Draw all results in all ways into a folder."""
    with warnings.catch_warnings(), display.made_up_data():
        warnings.simplefilter("ignore", dp.CurveWarning)
        for name, result in build_results().items():
            for way in WAYS:
                wide, high = getattr(result, "SIZE", display.LANDSCAPE)
                size = None if way.inches is None else (way.inches, 1 + way.inches * high / wide)
                ax = None if size is None else display.headless_axes(size)
                axes = result.plot(ax=ax, style=way.style)
                figure = axes.figure if ax is None else result._add_title(axes).figure
                made = BytesIO()
                figure.savefig(made, format="png", dpi=110)
                plt.close(figure)
                keep(made.getvalue(), folder, f"picture-{name}-{way.name}")


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


def see(
    browser: Any, folder: Path, way: Way, places: Mapping[str, str], cookie: Mapping[str, Any] | None = None
) -> None:
    """Take pages from their tops into a folder, by their names and addresses."""
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
        keep(page.screenshot(animations="disabled"), folder, f"{name}-{way.name}")
        page.set_viewport_size(size)
    context.close()


def see_server(browser: Any, target: Path) -> None:
    """Ask two questions of a server as an analyst, and take its pages."""
    sys.path[:0] = [str(ROOT / "tests" / place) for place in ("server", "processes")]
    from running import Running
    from scene import made

    with TemporaryDirectory() as folder:
        scene = made(Path(folder))
        server = Running(scene)
        server.start()
        try:
            _see_pages(browser, target, scene, f"https://127.0.0.1:{server.port}")
        finally:
            server.stop()
            scene.gate.studio.stop()


def _see_pages(browser: Any, target: Path, scene: Any, url: str) -> None:
    def cookie(name: str) -> dict[str, Any]:
        value = scene.gate.sessions.begin_session(name).cookie
        return {"name": "__Host-dpcurves", "value": value, "url": url, "secure": True}

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
        see(browser, target, way, {f"server-{name}": place for name, place in places.items()}, cookie("ann"))
        see(browser, target, way, {"server-manage": f"{url}/manage/flights"}, cookie("stu"))
        _see_form(browser, target, way, f"{url}/projects/delays/ask/histogram?{ask}", cookie("ann"))


def _see_form(browser: Any, target: Path, way: Way, place: str, cookie: Any) -> None:
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
    keep(page.screenshot(animations="disabled", full_page=True), target, f"server-question-{way.name}")
    context.close()


def main() -> None:
    """Take them all; those that lie there are replaced when all are taken, or the pictures alone without a browser."""
    with TemporaryDirectory() as folder:
        taken = Path(folder)
        draw(taken)
        chromium = shutil.which("chromium")
        if chromium is not None and "--pictures" not in sys.argv:
            see_all(chromium, taken)
        else:
            print("no pictures of pages: chromium is not installed, or --pictures was given")
        SHOTS.mkdir(parents=True, exist_ok=True)
        for path in (*SHOTS.iterdir(), *taken.iterdir()):
            if path.stem not in names():
                path.unlink()
            elif path.parent == taken:
                shutil.copy(path, SHOTS / path.name)
    octets = sum(path.stat().st_size for path in SHOTS.iterdir())
    print(f"{len(names())} pictures, {octets / 2**20:.1f} MB, in {SHOTS.relative_to(ROOT)}")


def see_all(chromium: str, folder: Path) -> None:
    """Take the pages of the site and of a server into a folder."""
    from playwright.sync_api import sync_playwright

    with served(ROOT / "site") as url, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        for way in WAYS:
            see(browser, folder, way, {f"page-{name}": f"{url}/{place}" for name, place in PAGES.items()})
        see_server(browser, folder)
        browser.close()


if __name__ == "__main__":
    main()
