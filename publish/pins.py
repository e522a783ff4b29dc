"""Checks the pinned versions against the advisories of the package index: `python publish/pins.py`.

An index that speaks PyPI's JSON API lists the known vulnerabilities of a version (https://docs.pypi.org/api/json/). An
index that does not, or cannot be reached, is said in one line, and is no failure: an office's mirror has no advisories.
Advisories that do not concern this package are listed in the threat model of `SECURITY.md`, each with its reason.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[1]
INDEX = "https://pypi.org/simple"
SECONDS = 20
"""Seconds for an answer of the index."""
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)")
Fetch = Callable[[str], Mapping[str, Any]]


class NoAdvisories(Exception):
    """The index cannot say which versions are vulnerable."""


def read_pins(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and versions of a constraints file.

    >>> list(read_pins("# ours\\nattrs==23.2.0\\nduckdb==1.4.1 ; python_version < '4'\\n"))
    [('attrs', '23.2.0'), ('duckdb', '1.4.1')]
    """
    for line in text.splitlines():
        match = PIN.match(line)
        if match:
            yield match[1], match[2]


def read_threat_model(security: str) -> dict[str, Any]:
    """Return the machine-readable part of SECURITY.md, its block of TOML."""
    (block,) = re.findall(r"^```toml\n(.*?)^```$", security, re.DOTALL | re.MULTILINE)
    return tomllib.loads(block)


def find_advisories(pins: Iterator[tuple[str, str]], fetch: Fetch, dismissed: Mapping[str, str]) -> list[str]:
    """Return a line for each advisory of a pinned version that was not withdrawn and is not dismissed.

    Raises:
        NoAdvisories: the index does not answer the first question.
    """
    lines = []
    for name, version in pins:
        for advisory in fetch(f"{name}/{version}").get("vulnerabilities", ()):
            names = {advisory["id"], *advisory.get("aliases", ())}
            if not advisory.get("withdrawn") and not names & dismissed.keys():
                fixed = ", ".join(advisory.get("fixed_in", ())) or "no version"
                lines.append(f"{name} {version}: {advisory['id']}, repaired in {fixed}")
    return lines


def fetch_from_index(path: str) -> Mapping[str, Any]:
    """Return what the index of pip's settings says of a version.

    Raises:
        NoAdvisories: it has no such API, or cannot be reached.
    """
    parts = urlsplit(os.environ.get("PIP_INDEX_URL") or INDEX)
    try:
        with urlopen(f"{parts.scheme}://{parts.netloc}/pypi/{path}/json", timeout=SECONDS) as answer:
            content: Mapping[str, Any] = json.load(answer)
            return content
    except HTTPError as error:
        raise NoAdvisories(f"status {error.code}") from None
    except (OSError, ValueError) as error:
        raise NoAdvisories(type(error).__name__) from None


def main(fetch: Fetch = fetch_from_index) -> int:
    """Print the advisories. Returns 1 if there are any."""
    model = read_threat_model((ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    dismissed = {entry["id"]: entry["why"] for entry in model["known_non_findings"] if "id" in entry}
    pins = read_pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    try:
        lines = find_advisories(pins, fetch, dismissed)
    except NoAdvisories as error:
        print(f"pins: not checked: the index has no advisories ({error})")
        return 0
    print(*lines or ["pins: no advisory concerns them"], sep="\n")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
