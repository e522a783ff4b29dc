"""The record of a full run, `verdicts.toml`: what was measured for each claim, and what it says."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from reproduction.claims import NOT_RUN, Claim, Paper, Row, load, rows
from reproduction.measured import Findings, Measured

FILE = "verdicts.toml"
HEAD = "# What run.py measured. The table of the README and docs/papers.md are made from this file.\n"


def findings(file: Path) -> Findings:
    """The numbers that a record holds; none where there is no such file."""
    if not file.is_file():
        return {}
    read = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        name: Measured(**{part: entry[part] for part in entry if part != "verdict"}) for name, entry in read.items()
    }


def write(found: Sequence[Row], file: Path) -> None:
    """Puts the numbers of these claims down, and what they say; what was not run keeps the lines that it had."""
    before = findings(file)
    kept = ((row.claim, row.measured or before.get(row.claim.id)) for row in found)
    text = HEAD + "".join(_entry(claim, measured) for claim, measured in kept if measured is not None)
    file.write_text(text, encoding="utf-8")


def recorded(folder: Path) -> tuple[Paper, list[Row]]:
    """A paper, and each of its claims with the numbers of the committed record."""
    paper = load(folder)
    return paper, rows(paper.claims, findings(folder / FILE))


def verdicts(file: Path) -> dict[str, str]:
    """The words of a record."""
    read = tomllib.loads(file.read_text(encoding="utf-8"))
    return {name: entry.get("verdict", NOT_RUN) for name, entry in read.items()}


def _entry(claim: Claim, measured: Measured) -> str:
    numbers = {part: value for part, value in asdict(measured).items() if value is not None}
    lines = [f'verdict = "{claim.verdict(measured)}"', *(f"{part} = {value!r}" for part, value in numbers.items())]
    return "\n".join([f"\n[{claim.id}]", *lines, ""])
