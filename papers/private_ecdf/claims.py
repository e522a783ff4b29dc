"""Claims of the paper, and the words for what was found."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from measured import Findings, Measured

FILE = Path(__file__).with_name("claims.toml")
HOLDS = "holds"
CORRECTED = "holds after the correction"
FAILS = "does not hold"
NOT_RUN = "not run: no data"


@dataclass(frozen=True)
class Claim:
    """What the paper states, as one number.

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


def load() -> list[Claim]:
    """All claims, in the order of the paper."""
    return [Claim(**entry) for entry in tomllib.loads(FILE.read_text(encoding="utf-8"))["claim"]]


def verdict(claim: Claim, measured: Measured | None) -> str:
    """What the measured numbers say."""
    if measured is None:
        return NOT_RUN
    if claim.agrees(measured.printed):
        return HOLDS
    return CORRECTED if measured.corrected is not None and claim.agrees(measured.corrected) else FAILS


@dataclass(frozen=True)
class Row:
    """One line of the report."""

    claim: Claim
    measured: Measured | None
    verdict: str


def rows(claims: Sequence[Claim], findings: Findings) -> list[Row]:
    """Each claim with what was found."""
    return [Row(claim, findings.get(claim.id), verdict(claim, findings.get(claim.id))) for claim in claims]
