"""A verification server from setup to audit: two analysts, a wrong and a right model, an audited budget.

Run by ``make demo-server``. The server holds the flights of one half of the aircraft; analysts have the other half
in place of a synthetic table. All people act through the server's pages. The results are in ``demo/out/server``,
with a picture of each page if Chromium and playwright are installed.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import replace
from http.cookiejar import CookieJar
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, HTTPSHandler, Request, build_opener

import pandas as pd
from flights import CATEGORIES, LATE, NUMBERS, flights, is_evaluated, trained
from rich.console import Console
from size import OUT as OUTPUTS
from size import choose

import dpcurves as dp
from dpcurves.cli.app import build

OUT = OUTPUTS / "server"
HOST, STORE = "127.0.0.1", "sqlite:///server.db"
CAP, SHARE, PRICE = "3", "1.5", "0.5"
PEOPLE = ("olga", "stefan", "ann", "bob", "ada")
PASSWORDS = {name: secrets.token_urlsafe(12) for name in PEOPLE}
RANGES = {"distance": (0.0, 5000.0), "hour": (0.0, 24.0)}
HALF = "Not synthetic: flights of the other half of the aircraft, which stand in for a synthetic table here."
PATIENCE = 300.0


def main() -> None:
    """Set up, serve, work, audit."""
    console = Console(highlight=False)
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    open_half = table(flights[~flights["tailnum"].map(is_evaluated)])
    register(table(flights[flights["tailnum"].map(is_evaluated)]), open_half)
    with serving() as url:
        console.print(f"the server listens at {url}: {len(open_half):,} flights are open, the others confidential")
        work(console, url)
    console.print(f"Pages and tables: {OUT.relative_to(Path.cwd()) if OUT.is_relative_to(Path.cwd()) else OUT}")


def work(console: Console, url: str) -> None:
    """Act as the people: a steward divides the budget, two analysts ask, a steward publishes, an auditor verifies."""
    stefan, ann, bob, ada = (Person(url, name) for name in ("stefan", "ann", "bob", "ada"))
    divide(stefan)
    right, wrong = models()
    found = {}
    for who, model, words in (
        (ann, right, "as it was fitted"),
        (bob, wrong, "with a slip: the hour has the other sign"),
    ):
        who.post("/projects/delays", "/projects/delays/models", model=model.to_json())
        typed = {"label": "late", "score": f"@{model.name}", "amount": PRICE}
        found[model.name] = who.asked("roc", **typed)
        console.print(f"{who.name} asked for the ROC curve of {model.name!r}, {words}: {area(who, found[model.name])}")
    low, high = (interval(who, found[model.name]) for who, model in ((bob, wrong), (ann, right)))
    told = "told apart" if low[1] < high[0] else "not told apart"
    console.print(f"the two models are {told}: 95% intervals for these flights {low} and {high}")
    tests = {"label": "late", "score": f"@{right.name}", "amount": PRICE}
    ann.asked("calibration", **tests)
    ann.asked("histogram", column="arr_delay", grid="-100:300:80", amount=PRICE)
    console.print(f"ann asks for more: {ann.refused('cdf', column='arr_delay', grid='-100:300:80')}")
    again = bob.asked("histogram", column="arr_delay", grid="-100:300:80", amount=PRICE)
    console.print(f"bob asks what ann asked: one answer, and one price; {left(bob)}")
    stefan.post(again, f"{again}/publish")
    head = verified(ada)
    console.print(f"ada verified the chain; its head is to be kept elsewhere: {head[:24]}...")
    (OUT / "audit.jsonl").write_text(ada.get("/audit.jsonl"), encoding="utf-8")
    seen = {
        ann: ["/datasets", "/datasets/flights", "/projects/delays", *found.values()],
        stefan: ["/manage/flights", again], bob: ["/projects/delays/ask", "/projects/delays/ask/roc"],
        ada: ["/audit"], Person(url, "olga"): ["/people"],
    }  # fmt: skip
    pictures(console, url, seen)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the flights that landed, with the columns of the public schema."""
    landed = rows.dropna(subset=["arr_delay"])
    return landed[["tailnum", "arr_delay", *NUMBERS, *CATEGORIES]].assign(late=(landed["arr_delay"] > LATE).astype(int))


def register(confidential: pd.DataFrame, open_half: pd.DataFrame) -> None:
    """Act as the machine's administrator: create accounts, the dataset, and the open table."""
    confidential.to_parquet(OUT / "confidential.parquet")
    open_half.drop(columns="tailnum").to_parquet(OUT / "open.parquet")
    categories = {name: sorted(open_half[name].unique().tolist()) for name in CATEGORIES}
    numbers = [{"column": name, "lower": low, "upper": high} for name, (low, high) in RANGES.items()]
    schema = [
        {"column": "arr_delay", "lower": -100, "upper": 1300}, *numbers, {"column": "late", "categories": [0, 1]},
        *({"column": name, "categories": values} for name, values in categories.items()),
    ]  # fmt: skip
    (OUT / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    for name in PEOPLE:
        command("server", "person", name, said=PASSWORDS[name])
    command(
        "server", "dataset", "confidential.parquet", "--name", "flights", "--schema", "schema.json", "--epsilon", CAP,
        "--adjacency", "add-remove", "--description", "Flights that left New York in 2013.",
    )  # fmt: skip
    command("server", "synthetic", "open.parquet", "--dataset", "flights", "--statement", HALF)
    command("server", "person", "olga", "--role", "operator")
    command("server", "person", "ada", "--role", "auditor")
    command("server", "person", "stefan", "--role", "steward", "--dataset", "flights")


def command(*words: str, said: str = "") -> None:
    """Run an administrator command; a password is sent to its standard input.

    All commands run in this process, because a process of its own takes two seconds to start.
    """
    with chdir(OUT), redirect_stdout(StringIO()), patch("sys.stdin", StringIO(said)):
        try:
            build(words)([*words, "--store", STORE])
        except SystemExit as end:
            if end.code:
                raise


@contextmanager
def serving() -> Iterator[str]:
    """Run the server while it is used, and return its address."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        place = f"{HOST}:{found.getsockname()[1]}"
    given = [
        "serve", "--store", STORE, "--listen", place, "--tls", "cert.pem,key.pem", "--every", "1",
        "--workers", choose("2", "1"),
    ]  # fmt: skip
    server = subprocess.Popen(
        [sys.executable, "-m", "dpcurves.cli", *given], cwd=OUT, stdout=subprocess.PIPE, text=True
    )
    try:
        if not any("listens" in line for line in server.stdout or ()):
            raise RuntimeError("the server did not start")
        yield f"https://{place}"
    finally:
        server.terminate()
        server.communicate(timeout=60)


class Person:
    """A user of the pages without scripts, who reads them and submits their forms."""

    def __init__(self, url: str, name: str) -> None:
        self.url, self.name, self.jar = url, name, CookieJar()
        trusted = ssl.create_default_context(cafile=str(OUT / "cert.pem"))
        self._opener = build_opener(HTTPSHandler(context=trusted), HTTPCookieProcessor(self.jar))
        self._open("/sign-in", {"name": name, "password": PASSWORDS[name]})

    def _open(self, path: str, typed: dict[str, str] | None = None) -> tuple[str, str]:
        """Return the final URL and its page."""
        sent = None if typed is None else urlencode(typed).encode()
        try:
            with self._opener.open(Request(self.url + path, sent, {"Origin": self.url})) as answer:
                return answer.url.removeprefix(self.url), answer.read().decode()
        except HTTPError as error:
            with error:
                return path, error.read().decode()

    def get(self, path: str) -> str:
        """Return a page."""
        return self._open(path)[1]

    def post(self, page: str, path: str, **typed: str) -> tuple[str, str]:
        """Submit a form of a page."""
        (token, *_) = re.findall(r'name="csrf" value="([^"]+)"', self.get(page))
        return self._open(path, {"csrf": token, **typed})

    def asked(self, word: str, **typed: str) -> str:
        """Ask a question, wait for the answer, and return its address."""
        form, ends = f"/projects/delays/ask/{word}", time.monotonic() + PATIENCE
        place, text = self.post(form, form, do="ask", **typed)
        while not place.startswith("/releases/"):
            if "refused" in text or place == form or time.monotonic() > ends:
                why = " ".join(
                    re.findall(r'<div class="said bad"[^>]*><p>([^<]*)|<p>([^<]*)</p><p>Nothing was', text)[0]
                )
                raise RuntimeError(f"{self.name}: {word} was not answered: {why}")
            time.sleep(0.5)
            place, text = self._open(place)
        return place

    def refused(self, word: str, **typed: str) -> str:
        """Return why a question cannot be paid; the page says so before it is asked."""
        form = f"/projects/delays/ask/{word}"
        return " ".join(
            re.findall(r"This is more than[^<]*", self.post(form, form, do="plan", amount=PRICE, **typed)[1])
        )


def divide(stefan: Person) -> None:
    """Let a steward create a project, admit two analysts, and give each half of the cap."""
    manage = "/manage/flights"
    # the operator's command has proposed the open table: a steward looks at it and confirms it
    (digest,) = re.findall(r'name="digest" value="([^"]+)"', stefan.get(manage))
    stefan.post(manage, f"{manage}/synthetic/confirm", digest=digest)
    stefan.post(manage, f"{manage}/projects", name="delays", description="Which flights arrive late?")
    for name in ("ann", "bob"):
        stefan.post(manage, f"{manage}/people", do="admit", project="delays", person=name)
    stefan.post(manage, f"{manage}/allowances", project="delays", most=CAP)
    for name in ("ann", "bob"):
        stefan.post(manage, f"{manage}/allowances", project="delays", analyst=name, most=SHARE)


def models() -> tuple[dp.Scorecard, dp.Scorecard]:
    """Return a model of the open half, and a copy with the sign of one coefficient flipped."""
    fitted = trained(flights[~flights["tailnum"].map(is_evaluated)])
    right = dp.Scorecard.from_sklearn(fitted, name="right", ranges=RANGES)
    slipped = [replace(term, coefficient=-term.coefficient) if of_hour(term) else term for term in right.terms]
    return right, replace(right, name="wrong", terms=tuple(slipped))


def of_hour(term: Any) -> bool:
    return any(getattr(factor, "column", "") == "hour" for factor in term.factors)


def released(who: Person, place: str) -> dict[str, Any]:
    """Return a release as JSON."""
    return dict(json.loads(who.get(f"{place}/export.json")))


def interval(who: Person, place: str) -> tuple[float, float]:
    curve = dp.ROC.from_json(who.get(f"{place}/export.json"))
    low, high = curve.auc_interval(0.95)
    return round(low, 3), round(high, 3)


def area(who: Person, place: str) -> str:
    """Return the area, and the page's comparison with the open table."""
    low, high = interval(who, place)
    verdict, ends = "", time.monotonic() + PATIENCE
    while not verdict and time.monotonic() < ends:  # a busy machine renders later: reload until it is there
        verdict = "".join(re.findall(r'class="verdict">([^<]*)', who.get(f"{place}/comparison")))
        if not verdict:
            time.sleep(0.5)  # the server limits the requests of a minute
    if not verdict:
        raise RuntimeError("the tables were not compared")
    return f"area {low} to {high}; beside the open half: {verdict}"


def left(who: Person) -> str:
    (amount, *_) = re.findall(r'<b class="amount">([^<]*)</b>', who.get("/projects/delays"))
    return f"{amount} is left to {who.name}"


def verified(ada: Person) -> str:
    """Verify every seal of the chain, and return its head."""
    _, text = ada.post("/audit", "/audit")
    if "Every seal was computed again and fits." not in text:
        raise RuntimeError("the chain was changed")
    return re.findall(r"<dt>Head</dt><dd><code>([^<]+)", text)[0]


def pictures(console: Console, url: str, seen: dict[Person, list[str]]) -> None:
    """Save a picture of each page, if there is a browser."""
    browser = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        browser = None
    if browser is None:
        console.print("no pictures of pages: they need chromium and playwright")
        return
    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=browser, args=flags)
        for who, paths in seen.items():
            for scheme in choose(("light", "dark"), ("light",)):
                context = chromium.new_context(ignore_https_errors=True, color_scheme=scheme)
                context.add_cookies(
                    [{"name": each.name, "value": each.value or "", "url": url, "secure": True} for each in who.jar]
                )
                page = context.new_page()
                for path in choose(paths, paths[:1]):
                    answer = page.goto(url + path)
                    if answer is None or not answer.ok:
                        raise RuntimeError(f"{path} was not shown")
                    page.evaluate("() => Promise.all([...document.images].map(i => (i.loading = 'eager', i.decode())))")
                    page.screenshot(path=OUT / f"{who.name}{path[:24].replace('/', '-')}-{scheme}.png", full_page=True)
                context.close()
        chromium.close()


if __name__ == "__main__":
    main()
