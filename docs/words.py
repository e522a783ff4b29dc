"""Count the words of the guide, without reference, papers, errata, proofs and decisions: `docs/words.py [FOLDER]`.

Pages are those that `docs/site_pages.py` writes. A word has a letter; code and tables count, links by their text. What
blocks of code print does not: it is made by running them, and read at a glance. Reference are the pages made of
docstrings, commands and refusals. With `--pages` each page is printed.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

PAGES = Path(__file__).resolve().parents[1] / "build" / "pages" / "docs"
MOST = 59_000
"""Words that people are asked to find their way in."""
REFERENCE = ("api.md", "api/", "commands/", "errors.md", "notation.md", "trust_questions.md")
PAPERS = ("papers.md", "papers/")
ERRATA = ("errata.md",)
PROOFS = (
    "accuracy.md", "audit_peers.md", "comparison_functions.md", "wire.md", "intervals.md", "coverage.md",
    "expected_errors.md", "simulation.md", "exercises/",
)  # fmt: skip
DECISIONS = ("decisions/",)
"""Records for maintainers, which no user is asked to read."""
APART = {
    "reference": REFERENCE, "papers": PAPERS, "errata": ERRATA, "proofs and evidence": PROOFS, "decisions": DECISIONS,
}  # fmt: skip
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
MARKUP = re.compile(r"<[^>\n]*>|^---$.*?^---$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^(```+)text[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
"""What a block above it prints."""
LETTER = re.compile(r"[^\W\d_]")


def words(text: str) -> int:
    """The number of words of a page in Markdown.

    >>> words("# A [curve](curve.md) of 20 ages")
    4
    """
    plain = MARKUP.sub(" ", LINK.sub(r"\1", PRINTED.sub(" ", text)))
    return sum(bool(LETTER.search(each)) for each in plain.split())


def group(place: str) -> str:
    """The group of a page by its place; empty: it counts."""
    return next((name for name, places in APART.items() if place.startswith(places)), "")


def counted(folder: Path) -> dict[str, int]:
    """Words of each page, by its place."""
    found = sorted(folder.rglob("*.md"))
    return {path.relative_to(folder).as_posix(): words(path.read_text(encoding="utf-8")) for path in found}


def main(arguments: list[str] | None = None) -> int:
    """Print the sum, and those of what does not count; 1 if there are more than `MOST`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=PAGES)
    parser.add_argument("--pages", action="store_true", help="print each page that counts")
    given = parser.parse_args(arguments)
    pages, sums = counted(given.folder), Counter[str]()
    for place, number in pages.items():
        sums[group(place)] += number
    if given.pages:
        for place, number in sorted(pages.items(), key=lambda each: -each[1]):
            if not group(place):
                print(f"{number:7,} {place}")
    apart = ", ".join(f"{name} {number:,}" for name, number in sums.items() if name)
    print(f"words: {sums['']:,} of at most {MOST:,} on {sum(not group(each) for each in pages)} pages; apart: {apart}")
    return int(sums[""] > MOST)


if __name__ == "__main__":
    sys.exit(main())
