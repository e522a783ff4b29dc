"""Claims of a paper, as `claims.toml` states them, and the words for what was found."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reproduction.measured import Findings, Measured

FILE = "claims.toml"
HOLDS = "holds"
CORRECTED = "holds after the correction"
FAILS = "does not hold"
NOT_RUN = "not run: no data"
VERDICTS = HOLDS, CORRECTED, FAILS


@dataclass(frozen=True)
class Claim:
    """What a paper states, as one number.

    Attributes:
        id: Its name in the findings.
        place: Where it stands in the paper.
        claim: What is stated, with the unit of the number.
        rule: How a measured number compares: "equal", "at most" or "at least".
        number: The paper's.
        tolerance: How far ours may be off.
        why: What is behind a verdict other than "holds"; a remark otherwise.
    """

    id: str
    place: str
    claim: str
    rule: str
    number: float
    tolerance: float
    why: str = ""

    def agrees(self, value: float) -> bool:
        """Whether a measured number bears the claim out."""
        off = {"equal": abs(value - self.number), "at most": value - self.number, "at least": self.number - value}
        return off[self.rule] <= self.tolerance

    def verdict(self, measured: Measured | None) -> str:
        """What the measured numbers say."""
        if measured is None:
            return NOT_RUN
        if self.agrees(measured.printed):
            return HOLDS
        return CORRECTED if measured.corrected is not None and self.agrees(measured.corrected) else FAILS


@dataclass(frozen=True)
class Paper:
    """A paper, in a folder of its own."""

    folder: Path
    title: str
    authors: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Row:
    """One line of a report."""

    claim: Claim
    measured: Measured | None

    @property
    def verdict(self) -> str:
        """What the measured numbers say."""
        return self.claim.verdict(self.measured)


def load(folder: Path) -> Paper:
    """The paper of this folder, its claims in the order of the file."""
    read = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))
    return Paper(
        folder, read["paper"]["title"], read["paper"]["authors"], tuple(Claim(**each) for each in read["claim"])
    )


def rows(claims: Iterable[Claim], findings: Findings) -> list[Row]:
    """Each claim with what was found; findings that nobody claims are an error."""
    found = [Row(claim, findings.get(claim.id)) for claim in claims]
    if unknown := sorted(findings.keys() - {row.claim.id for row in found}):
        raise ValueError(f"findings: each answers a claim; {FILE} has none for {', '.join(unknown)}")
    return found


def counts(found: Sequence[Row]) -> dict[str, int]:
    """How many claims have each verdict, the three usual ones first."""
    counted = Counter(row.verdict for row in found)
    return {verdict: counted[verdict] for verdict in (*VERDICTS, *sorted(counted.keys() - set(VERDICTS)))}
