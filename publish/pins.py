"""Checks the pinned versions against the advisories of the package index: `python publish/pins.py`.

An index that speaks PyPI's JSON API lists the known vulnerabilities of a version (https://docs.pypi.org/api/json/). An
index that answers about no pin has none to give, as an office's mirror: one line says so, and it is no failure. If it
answers about some pins alone, what it said is printed, and the check fails. Advisories that do not concern this package
are listed in the threat model of `SECURITY.md`, each with its reason.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote, unquote, urlsplit
from urllib.request import Request, urlopen

from dpcurves.foreign_text import escape_for_terminal

ROOT = Path(__file__).resolve().parents[1]
INDEX = "https://pypi.org/simple"
SECONDS = 20
"""Seconds for an answer of the index."""
PIN = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])? *===? *([^\s;]+) *(?:;.*)?")
"""A line of a constraints file: name, perhaps extras, version, perhaps a condition."""
MOST_LOST = 3
"""Pins in succession about which an index says nothing before it is asked no more: it is down, or has no advisories."""
Fetch = Callable[[str], Mapping[str, Any]]


class NoAdvisories(Exception):
    """The index cannot say which versions are vulnerable."""


def read_pins(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and versions of a constraints file.

    Raises:
        ValueError: a line is neither a pin nor a comment, so that its package would not be checked.

    >>> list(read_pins("# ours\\nattrs==23.2.0\\nduckdb[all]==1.4.1 ; python_version < '4'\\n"))
    [('attrs', '23.2.0'), ('duckdb', '1.4.1')]
    """
    for line in text.splitlines():
        written = line.partition("#")[0].strip()
        if not written:
            continue
        match = PIN.fullmatch(written)
        if match is None:
            raise ValueError(f"constraints: {written!r} is not a pin, as attrs==23.2.0 is")
        yield match[1], match[2]


def read_threat_model(security: str) -> dict[str, Any]:
    """Return the machine-readable part of SECURITY.md, its block of TOML."""
    (block,) = re.findall(r"^```toml\n(.*?)^```$", security, re.DOTALL | re.MULTILINE)
    return tomllib.loads(block)


class Found(NamedTuple):
    """What an index said of pinned versions.

    Attributes:
        lines: A line for each advisory that was not withdrawn and is not dismissed.
        unchecked: Each pin about which the index said nothing, with the reason.
        checked: Number of the other pins.
    """

    lines: list[str]
    unchecked: dict[str, str]
    checked: int


def find_advisories(pins: Iterable[tuple[str, str]], fetch: Fetch, dismissed: Mapping[str, str]) -> Found:
    """Return the advisories of pinned versions. An index that says nothing of several pins in succession is asked no
    more."""
    lines: list[str] = []
    unchecked: dict[str, str] = {}
    checked = 0
    lost = 0
    reason = ""
    for name, version in pins:
        if lost < MOST_LOST:
            try:
                lines += describe_advisories(f"{name} {version}", fetch(f"{name}/{version}"), dismissed)
            except NoAdvisories as error:
                reason = str(error)
                lost += 1
            else:
                checked += 1
                lost = 0
                continue
        unchecked[f"{name} {version}"] = reason
    return Found(lines, unchecked, checked)


def describe_advisories(pin: str, answer: Mapping[str, Any], dismissed: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each advisory in an index's answer that was not withdrawn and is not dismissed.

    Raises:
        NoAdvisories: the answer has another form.
    """
    try:
        for advisory in answer["vulnerabilities"] or ():
            names = {advisory["id"], *(advisory.get("aliases") or ())}
            if not advisory.get("withdrawn") and not names & dismissed.keys():
                fixed = ", ".join(map(str, advisory.get("fixed_in") or ())) or "no version"
                yield escape_for_terminal(f"{pin}: {advisory['id']}, repaired in {fixed}")
    except (LookupError, TypeError, AttributeError):
        raise NoAdvisories("an answer without advisories") from None


def fetch_from_index(path: str) -> Mapping[str, Any]:
    """Return what the index of pip's settings says of a version. A password in its address goes into a header.

    Raises:
        NoAdvisories: it has no such API, or cannot be reached. The message does not show the address.
    """
    try:
        parts = urlsplit(os.environ.get("PIP_INDEX_URL") or INDEX)
        user, _, host = parts.netloc.rpartition("@")
        request = Request(f"{parts.scheme}://{host}/pypi/{quote(path)}/json")
        if user:
            token = base64.b64encode(unquote(user).encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {token}")
        with urlopen(request, timeout=SECONDS) as answer:
            content: Mapping[str, Any] = json.load(answer)
            return content
    except HTTPError as error:
        raise NoAdvisories(f"status {error.code}") from None
    except (OSError, ValueError, HTTPException) as error:
        raise NoAdvisories(type(error).__name__) from None


def main(fetch: Fetch = fetch_from_index) -> int:
    """Print the advisories. Returns 1 if there are any, 2 if the index said nothing of some pins alone."""
    model = read_threat_model((ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    dismissed = {entry["id"]: entry["why"] for entry in model["known_non_findings"] if "id" in entry}
    found = find_advisories(read_pins((ROOT / "constraints.txt").read_text(encoding="utf-8")), fetch, dismissed)
    reasons = ", ".join(sorted(set(found.unchecked.values())))
    if not found.checked:
        print(f"pins: not checked: the index has no advisories ({reasons})")
        return 0
    if found.unchecked:
        total = len(found.unchecked) + found.checked
        first = next(iter(found.unchecked))
        print(f"pins: {len(found.unchecked)} of {total} not checked, {first} the first of them ({reasons})")
    elif not found.lines:
        print("pins: no advisory concerns them")
    for line in found.lines:
        print(line)
    return 1 if found.lines else 2 * bool(found.unchecked)


if __name__ == "__main__":
    sys.exit(main())
