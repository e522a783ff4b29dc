"""How soon a page of the verification server is seen, and how much comes for it, in Debian's Chromium, cold.

``python benchmarks/first_paint.py [TIMES]``. Each page is opened so many times, each time in a context of its own: no
file is kept from before, and no connection is open. The server, on loopback over TLS, has answered nobody before the
first line. Printed are milliseconds to the first contentful paint as the browser tells it, and kilobytes that came.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from command_line import parse_numbers

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "server"))

from playwright.sync_api import sync_playwright
from running import Running
from scene import HISTOGRAM, LOSS, made

from dpcurves_server.queue import Queue
from dpcurves_server.worker import Worker

TARGET_MILLISECONDS, TARGET_KILOBYTES = 300, 100
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
PAINT = """() => new Promise(done => new PerformanceObserver(seen => {
    const found = seen.getEntriesByName('first-contentful-paint'); if (found.length) done(found[0].startTime)
}).observe({type: 'paint', buffered: true}))"""
CAME = """() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .reduce((sum, each) => sum + each.transferSize, 0)"""


def opened(browser: Any, running: Running, name: str | None, path: str) -> tuple[float, float]:
    """One page, cold: milliseconds to its first contentful paint, and kilobytes that came."""
    url = f"https://127.0.0.1:{running.port}"
    context = browser.new_context(ignore_https_errors=True, viewport={"width": 1200, "height": 850})
    if name is not None:
        cookie = running.scene.gate.sessions.begin_session(name).cookie
        context.add_cookies([{"name": "__Host-dpcurves", "value": cookie, "url": url, "secure": True}])
    page = context.new_page()
    page.goto(url + path, wait_until="networkidle")
    found = page.evaluate(PAINT), page.evaluate(CAME) / 1000
    context.close()
    return found


def main() -> None:
    """Print the table."""
    times = parse_numbers(__doc__, times=20).times
    with tempfile.TemporaryDirectory() as name, sync_playwright() as play:
        scene = made(Path(name))
        answer = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS).id
        Worker(scene.url, "here").work_once()
        Queue(scene.gate.archive).publish_states()
        running = Running(scene, workers=1, every="2")
        running.start()
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        print(f"first contentful paint, cold, at most {TARGET_MILLISECONDS} ms; page, at most {TARGET_KILOBYTES} kB")
        print(f"{'page':28} {'first':>6} {'p50':>6} {'worst':>6} {'kB':>6}")
        try:
            for who, path in (
                (None, "/sign-in"), ("ann", "/datasets"), ("ann", "/datasets/flights"), ("ann", "/projects/delays"),
                ("ann", "/projects/delays/ask"), ("ann", "/projects/delays/ask/roc"), ("ann", f"/releases/{answer}"),
                ("stu", "/manage/flights"), ("aud", "/audit"), ("oda", "/people"),
            ):  # fmt: skip
                took, came = zip(*(opened(browser, running, who, path) for _ in range(times)), strict=True)
                told = [took[0], float(np.median(took)), max(took)]
                print(f"{path[:28]:28} " + " ".join(f"{each:6.0f}" for each in told) + f" {max(came):6.1f}", flush=True)
        finally:
            browser.close()
            running.stop()


if __name__ == "__main__":
    main()
