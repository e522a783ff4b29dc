"""Pictures of the built site as people see it: `make screenshots` writes them to `build/screenshots`.

The home page, both galleries, the dial and the page on choosing; light and dark, wide and narrow. Debian's Chromium
takes them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
SHOTS = ROOT / "build" / "screenshots"
PAGES = {
    "home": "",
    "examples": "examples/",
    "gallery": "gallery/",
    "choose": "choose/",
    "dial": "dial/",
    "404": "404.html",
}
SCHEMES = "light", "dark"
WIDTHS = {"wide": 1280, "narrow": 360}
HEIGHT = 900


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


def main() -> None:
    """Take them all, from top to bottom of each page."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    chromium, flags = shutil.which("chromium"), ["--headless", "--no-sandbox", "--disable-gpu"]
    with served(ROOT / "site") as url, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=flags)
        for (width, pixels), scheme in product(WIDTHS.items(), SCHEMES):
            size: Any = {"width": pixels, "height": HEIGHT}
            page = browser.new_context(viewport=size, color_scheme=scheme).new_page()
            for name, place in PAGES.items():
                page.goto(f"{url}/{place}")
                page.wait_for_load_state("networkidle")
                # The whole page is in the window: the theme takes its tabs away from who scrolls.
                height = page.evaluate("document.documentElement.scrollHeight")
                page.set_viewport_size(size | {"height": height})
                page.screenshot(path=SHOTS / f"{name}-{scheme}-{width}.png", animations="disabled")
                page.set_viewport_size(size)
        browser.close()
    print(f"{len(PAGES) * len(SCHEMES) * len(WIDTHS)} pictures in {SHOTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
