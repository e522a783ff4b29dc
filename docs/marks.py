"""Print what people see, as figures beside their marks: words, links, media, labels, searches, and `dpcurves try`.

`make marks` builds the site and runs all. With ``--quick`` nothing is opened in a browser, with ``--only WORDS`` only
the measures run whose name contains the words. Figures of pages are counted here; the others are those of the tests
that hold them, which run now, with the CPU seconds of their processes. The exit code is 1 if a mark is missed.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import words
import yaml

ROOT = Path(__file__).resolve().parents[1]
MOST_README_WORDS = 900
FEWEST_README_SCREENSHOTS = 2
GUIDE_PAGES = 10
MOST_GUIDE_WORDS = 20_000
PAGES = "README, guide and links"
"""Measure of the rows that are counted here."""
PARALLEL = ("-n", "4", "--dist", "load")
"""Options of tests that need minutes of several cores: a picture for each name, style and kind, and pages of code."""
TESTS = {
    "numbers that differ: 12 results in 6 media": ("tests/released/test_tables_of_media.py",),
    "pictures whose description lacks a number": ("tests/display/test_picture_description.py",),
    "labels that are cut, equal or overprinted": ("tests/display/test_labels.py", *PARALLEL),
    "blocks that fail or show another output": ("tests/test_docs.py", "-k", "blocks_of_a_page", *PARALLEL),
}
"""Tests, by what they count."""
BROWSER_TESTS = {
    "searches that miss their page": ("tests/test_site.py", "-k", "search_finds"),
    "console blocks that paste a prompt": ("tests/test_site.py", "-k", "console_blocks"),
    "questions that their marked fields do not answer": (
        "tests/server/test_try_command.py", "-k", "answered_from_its_needed"),
    "tables that `try` does not publish in 8 clicks": ("tests/server/test_try_browser.py", "-k", "tables_of_ten_kinds"),
    "pages of `try` with axe violations": ("tests/server/test_try_browser.py", "-k", "in_eight_clicks"),
    "pages of the site with axe violations": ("tests/test_site.py", "-k", "is_for_everybody"),
}  # fmt: skip
"""Tests that open a browser, or ask every question of `dpcurves try`."""
OUTCOMES = re.compile(r"(\d+) (passed|failed|error)")
TRIED = re.compile(r"^mark: (.+): (\d+) clicks, (\d+) s$", re.MULTILINE)
"""What the test of `dpcurves try` prints for each table."""
MOST_SECONDS = 180
"""Seconds from a path to a published page."""


class Row(NamedTuple):
    """A measure: what is measured, its figure, its mark, and whether the figure meets the mark."""

    measure: str
    figure: str
    mark: str
    is_met: bool


class _PageLinks(HTMLParser):
    """Collects the addresses and the anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the anchor of an element, and the address that it links to or shows."""
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.addresses.append(value)


@cache
def read_links(page: Path) -> _PageLinks:
    """Return the addresses and anchors of an HTML page."""
    links = _PageLinks()
    links.feed(page.read_text(encoding="utf-8"))
    return links


def find_broken_links(site: Path) -> tuple[int, list[str]]:
    """Return the number of links within a built site, and those that lead to no file or no anchor."""
    count, broken = 0, []
    for page in sorted(site.rglob("*.html")):
        for address in read_links(page).addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc or page.name == "404.html":
                continue
            count += 1
            path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = path / "index.html" if path.is_dir() else path
            anchor = unquote(parts.fragment)
            is_missing = not target.is_file()
            if not is_missing and anchor and target.suffix == ".html" and anchor != "__codelineno":
                is_missing = anchor not in read_links(target).anchors
            if is_missing:
                broken.append(f"{page.relative_to(site)}: {address}")
    return count, broken


def list_guide_pages() -> list[str]:
    """Return the files of the pages that the site's navigation has under Guide."""
    settings = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), yaml.BaseLoader)
    (guide,) = (section["Guide"] for section in settings["nav"] if "Guide" in section)
    return [place for page in guide for place in page.values()]


def count_pages() -> Iterator[Row]:
    """Yield the measures of the README, of the guide and of the built site."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    length, shots = words.words(readme), readme.count("docs/images/shots/")
    yield Row("words of the README", f"{length:,}", f"at most {MOST_README_WORDS}", length <= MOST_README_WORDS)
    yield Row("screenshots in the README", str(shots), "2 or more", shots >= FEWEST_README_SCREENSHOTS)
    counted = words.counted(words.PAGES)
    places = list_guide_pages()
    guide = sum(counted.get(place, 0) for place in places)
    is_built = all(place in counted for place in places)
    yield Row("pages of the guide", str(len(places)), f"at most {GUIDE_PAGES}", is_built and len(places) <= GUIDE_PAGES)
    yield Row("words of the guide", f"{guide:,}", f"at most {MOST_GUIDE_WORDS:,}", 0 < guide <= MOST_GUIDE_WORDS)
    prose = sum(number for place, number in counted.items() if not words.group(place))
    yield Row("words of all pages but reference", f"{prose:,}", f"at most {words.MOST:,}", 0 < prose <= words.MOST)
    count, broken = find_broken_links(ROOT / "site")
    for line in broken:
        print(line)
    yield Row("broken links", f"{len(broken)} of {count:,}", "0", count > 0 and not broken)


def measure_cpu_seconds() -> float:
    """Return the CPU seconds of all processes that were started here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_tests(measure: str, arguments: tuple[str, ...]) -> Iterator[Row]:
    """Yield how many tests failed with their CPU seconds, and clicks and seconds of tables that were tried."""
    command = [sys.executable, "-m", "pytest", "-s", "-m", "reproduction or not reproduction", *arguments]
    environment = {**os.environ, "DPCURVES_SITE_MODES": "one"}  # axe reads each page in one scheme and width
    started = measure_cpu_seconds()
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment).stdout
    outcomes = {word: int(number) for number, word in OUTCOMES.findall(printed.splitlines()[-1] if printed else "")}
    passed, failed = outcomes.get("passed", 0), outcomes.get("failed", 0) + outcomes.get("error", 0)
    figure = f"{failed} of {passed + failed}, {measure_cpu_seconds() - started:.0f} CPU s"
    yield Row(measure, figure, "0", passed > 0 and failed == 0)
    for table, clicks, seconds in TRIED.findall(printed):
        is_met = int(seconds) <= MOST_SECONDS
        yield Row(f"  {table}", f"{clicks} clicks, {seconds} s", f"8 clicks, {MOST_SECONDS} s", is_met)


def main(arguments: list[str] | None = None) -> int:
    """Print all measures; return 1 if one misses its mark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="open no browser")
    parser.add_argument("--only", metavar="WORDS", default="", help="only measures whose name contains the words")
    options = parser.parse_args(arguments)
    tests = TESTS if options.quick else {**TESTS, **BROWSER_TESTS}
    measures = {PAGES: count_pages(), **{measure: run_tests(measure, test) for measure, test in tests.items()}}
    chosen = [rows for measure, rows in measures.items() if options.only in measure]
    if not chosen:
        parser.error(f"--only: no measure has these words; there are: {'; '.join(measures)}")
    print(f"{'measure':<52}{'today':>20}{'mark':>20}")
    is_met = True
    for rows in chosen:
        for row in rows:
            is_met &= row.is_met
            print(f"{row.measure:<52}{row.figure:>20}{row.mark:>20}{'' if row.is_met else '  MISSED'}", flush=True)
    return int(not is_met)


if __name__ == "__main__":
    sys.exit(main())
