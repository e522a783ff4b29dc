"""What a verification server takes for pages, plans and answers, with 50 analysts who think for 5 seconds.

``python benchmarks/verification_server.py [ANALYSTS] [SECONDS] [ROWS] [SIGNED_IN] [STORE]``. Between two thoughts an
analyst looks at three pages and at the plan of a question with its sketch, and one time in five asks, waits as the page
does and looks at the answer, its picture and its comparison with the synthetic table. SIGNED_IN sessions besides look
at a page a minute. Clients are one light process beside the server, its workers and the process that draws sketches:
what each takes of the processors is printed. Percentiles are in milliseconds: for answers without the wait for the
strike of the public clock that follows the question. Nobody waits for a sketch or a comparison before they go on, as
in a browser; some are not drawn, where the same analyst has wanted another one by then. The first ten seconds, in which
all come at once and libraries are read, are not counted.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Coroutine
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
from command_line import make_parser

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "server"))

from light_browser import Browser, Heard, believing
from running import Running
from scene import ROWS, made, written

from dpcurves.ledger import AllowanceRule
from dpcurves.privacy import PrivacyLoss
from dpcurves_server import MACHINE
from dpcurves_server.authentication import COOKIE

THINK, VISIT = 5.0, 60.0
"""Seconds between what analysts do, and between two pages of who is signed in besides."""
EVERY = 2.0
POLLS_EACH = 0.5
"""Seconds between polls of the page that waits."""
PATIENCE = 60
WARM = 10.0
"""Seconds that are not counted."""
PAGES = ("/datasets", "/datasets/flights", "/projects/delays")
PICTURE = b"/picture.svg"
SKETCH = re.compile(r'src="([^"]+/sketch[.]svg[^"]*)"')
FORM = "/projects/delays/ask/histogram"
TARGETS = {"page": 200, "plan": 400, "answer": 3000}
TICKS = os.sysconf("SC_CLK_TCK")


class Crowd:
    """Analysts, and what they waited for."""

    def __init__(self, running: Running, analysts: int, besides: int, seconds: float) -> None:
        self.running, self.seconds = running, seconds
        self.took: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []
        self.analysts = [f"analyst {number}" for number in range(analysts)]
        self.besides = [f"reader {number}" for number in range(besides)]
        self.context = believing(str(running.scene.folder / "cert.pem"))
        self.csrf: dict[str, str] = {}
        self.drawing: set[asyncio.Task[None]] = set()
        self.left_over = 0
        self.gave_way: dict[str, int] = defaultdict(int)
        self.browsers: dict[str, Browser] = {}
        self.used: dict[str, float] = {}
        self.counts_from = 0.0

    def admit(self) -> None:
        gate, steward = self.running.scene.gate, self.running.scene.stu
        table = (self.running.scene.folder / "synthetic.parquet").read_bytes()
        gate.synthetic.replace_table(MACHINE, gate.datasets.get(MACHINE, "flights"), table, "the same flights, once")
        gate.projects.set_allowance(MACHINE, "delays", PrivacyLoss.pure(90_000), None, AllowanceRule.MAY_EXCEED)
        for name in self.analysts:
            gate.people.add(MACHINE, name, "correct horse battery")
            gate.projects.add_member(steward, "delays", name)
            gate.projects.set_allowance(MACHINE, "delays", PrivacyLoss.pure(1000), name, AllowanceRule.MAY_EXCEED)
        for name in (*self.analysts, *self.besides):
            # Who is signed in besides are sessions of the same people, at other machines.
            session = gate.sessions.begin_session(
                name if name in self.analysts else random.Random(name).choice(self.analysts)
            )
            own = {"Cookie": f"{COOKIE}={session.cookie}", "Origin": f"https://127.0.0.1:{self.running.port}"}
            self.csrf[name] = session.csrf
            self.browsers[name] = Browser(self.running.port, self.context, own)

    async def play(self) -> None:
        self.counts_from = time.monotonic() + WARM
        end = self.counts_from + self.seconds
        people = [self.analyst(name, end) for name in self.analysts] + [self.reader(name, end) for name in self.besides]
        playing = asyncio.gather(*people)
        await asyncio.sleep(WARM)
        before, began = self.processors(), time.monotonic()
        await playing
        for each in [*self.drawing]:
            each.cancel()
        self.left_over = len(self.drawing)
        lasted = time.monotonic() - began
        self.used = {who: (now - before[who]) / lasted for who, now in self.processors().items()}

    async def analyst(self, name: str, end: float) -> None:
        draws, browser = random.Random(name), self.browsers[name]
        await asyncio.sleep(draws.random() * THINK)
        while time.monotonic() < end:
            await self.noted(self.one(draws, browser, name))
            await thought(draws.expovariate(1 / THINK), end)
        browser.close()

    async def reader(self, name: str, end: float) -> None:
        draws, browser = random.Random(name), self.browsers[name]
        await asyncio.sleep(draws.random() * VISIT)
        while time.monotonic() < end:
            await self.noted(self.timed("page", browser.get(draws.choice(PAGES))))
            await thought(draws.expovariate(1 / VISIT), end)
        browser.close()

    async def noted(self, work: Awaitable[object]) -> None:
        try:
            await work
        except Exception as error:
            self.errors.append(f"{type(error).__name__}: {error}"[:200])

    async def one(self, draws: random.Random, browser: Browser, name: str) -> None:
        """Three pages, a plan, and now and then a question."""
        for path in PAGES:
            await self.timed("page", browser.get(path))
        heard = await self.timed("plan", browser.post(f"{FORM}/plan", *self.typed(name, draws.randrange(10, 100_000))))
        (place,) = SKETCH.findall(heard.body.decode())
        self.beside(self.pictured("sketch", name, unescape(place)))
        if draws.random() < 0.2:
            await self.ask(name, browser, *self.typed(name, draws.randrange(10, 5000), do="ask"))

    def beside(self, work: Coroutine[object, object, None]) -> None:
        """Begin what nobody waits for."""
        begun = asyncio.create_task(work)
        self.drawing.add(begun)
        begun.add_done_callback(self.drawing.discard)

    async def pictured(self, what: str, name: str, place: str) -> None:
        """A picture that stands on a page, on a connection of its own."""
        own, begun = self.browsers[name].another(), time.monotonic()
        try:
            heard = await own.get(place)
        finally:
            own.close()
        if heard.status == 503:
            self.gave_way[what] += 1
        elif heard.status == 200:
            self.note(what, begun, time.monotonic() - begun)
        else:
            self.errors.append(f"{what}: answered {heard.status}")

    def typed(self, name: str, cells: int, **more: str) -> tuple[bytes, str]:
        fields = {"csrf": self.csrf[name], "column": "delay", "grid": f"-60:600:{cells}", "amount": "0.01", **more}
        return urlencode(fields).encode(), "application/x-www-form-urlencoded"

    async def ask(self, name: str, browser: Browser, body: bytes, kind: str) -> None:
        asked = require(await browser.post(FORM, body, kind), 303).headers["location"]
        begun = time.monotonic()
        strike = EVERY - time.time() % EVERY
        answer = ""
        while not answer:
            if time.monotonic() - begun > PATIENCE:
                raise TimeoutError(f"no answer in {PATIENCE} seconds")
            await asyncio.sleep(POLLS_EACH)
            looked = require(await browser.get(f"{asked}/progress"))
            answer = looked.headers.get("hx-redirect", "")
        self.note("answer", begun, max(time.monotonic() - begun - strike, 0))
        begun, heard = time.monotonic(), await self.timed("page", browser.get(answer))
        while PICTURE not in heard.body:  # the place of the picture comes again, as the page has it
            await asyncio.sleep(POLLS_EACH)
            heard = await self.timed("page", browser.get(f"{answer}/figure"))
        require(await browser.get(f"{answer}/picture.svg"))
        self.note("picture", begun, time.monotonic() - begun)
        self.beside(self.pictured("compared", name, f"{answer}/comparison"))

    async def timed(self, what: str, coming: Awaitable[Heard]) -> Heard:
        begun = time.monotonic()
        heard = require(await coming)
        self.note(what, begun, time.monotonic() - begun)
        return heard

    def note(self, what: str, begun: float, seconds: float) -> None:
        if begun > self.counts_from:
            self.took[what].append(seconds * 1000)

    def processors(self) -> dict[str, float]:
        """Seconds of a processor that each has taken."""
        assert self.running.process is not None
        workers = sum(map(seconds_of, self.running.children()))
        return {"server": seconds_of(self.running.process.pid), "workers": workers, "clients": time.process_time()}

    def table(self) -> str:
        lines = [f"{'':8} {'n':>6} {'p50':>8} {'p95':>8} {'p99':>8} {'asked':>8}"]
        for what, took in self.took.items():
            found = " ".join(f"{each:8.0f}" for each in np.percentile(took, [50, 95, 99]))
            lines.append(f"{what:8} {len(took):6} {found} {TARGETS.get(what, ''):>8}")
        asked = sum(map(len, self.took.values())) / self.seconds
        used = ", ".join(f"{who} {share:.2f}" for who, share in self.used.items())
        each_request = ", ".join(f"{who} {1000 * share / asked:.1f}" for who, share in self.used.items())
        opened = sum(each.opened for each in self.browsers.values())
        lines.append(f"processors of {os.cpu_count()}: {used}; {asked:.0f} requests a second, {opened} connections")
        lines.append(f"milliseconds of a processor for a request: {each_request}")
        lines.append(f"not drawn, for too many or newer ones waited: {dict(self.gave_way)}; not yet: {self.left_over}")
        return "\n".join([*lines, f"errors: {len(self.errors)} {sorted(set(self.errors))[:3]}"])


async def thought(seconds: float, end: float) -> None:
    """Think, until all is over at the latest."""
    await asyncio.sleep(max(min(seconds, end - time.monotonic()), 0))


def require(heard: Heard, status: int = 200) -> Heard:
    if heard.status != status:
        raise ValueError(f"answered {heard.status}: {heard.body[:80]!r}")
    return heard


def seconds_of(process: int) -> float:
    """Seconds of a processor that a process has taken; none once it has ended."""
    try:
        facts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(facts[11]) + int(facts[12])) / TICKS


def main() -> None:
    """Print the table."""
    parser = make_parser(__doc__)
    for name, default in (("analysts", 50), ("seconds", 60), ("rows", 1_000_000), ("signed_in", 0)):
        parser.add_argument(name, nargs="?", type=int, default=default, metavar=name.upper())
    parser.add_argument("store", nargs="?", metavar="STORE")
    given = parser.parse_args()
    analysts, seconds, rows, besides, store = (
        given.analysts, given.seconds, given.rows, given.signed_in, given.store
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scene = made(folder, store, cap="100000", times=rows // ROWS)
        written(folder, name="synthetic.parquet")
        running = Running(scene, workers=2, every=str(EVERY))
        running.start()
        try:
            crowd = Crowd(running, analysts, besides, seconds)
            crowd.admit()
            asyncio.run(crowd.play())
        finally:
            running.stop()
    print(f"{analysts} analysts for {seconds} s, {besides} signed in besides, {rows} rows, clock every {EVERY:g} s")
    print(crowd.table())


if __name__ == "__main__":
    main()
