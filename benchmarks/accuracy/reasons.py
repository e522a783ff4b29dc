"""Why lines of the table of regimes are beside their marks: a bound, or the next best try and its figure."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

FILES = tuple(Path(__file__).with_name(name) for name in ("reasons.toml", "few_reasons.toml", "mark_reasons.toml"))
UNKNOWN = "No reason is known."


class Reason(NamedTuple):
    """An entry of a file: the first entry that fits a line is its reason.

    Attributes:
        regime: How the name of the line's regime begins.
        setting: How it ends: the adjacency and the kind of loss; empty: any.
        asked: How what is asked may begin; none: all.
        why: What is known, with figures.
    """

    regime: str
    why: str
    setting: str = ""
    asked: tuple[str, ...] = ()

    def fits(self, regime: str, asked: str) -> bool:
        named = regime.startswith(self.regime) and regime.endswith(self.setting)
        return named and (not self.asked or asked.startswith(self.asked))


def reason_of(regime: str, asked: str) -> str:
    """Why this line is beside its mark."""
    return next((each.why for each in reasons() if each.fits(regime, asked)), UNKNOWN)


@cache
def reasons() -> tuple[Reason, ...]:
    """Entries of all files, in order."""
    entries = [each for file in FILES for each in tomllib.loads(file.read_text(encoding="utf-8"))["reason"]]
    return tuple(Reason(**{**each, "asked": tuple(each.get("asked", ()))}) for each in entries)
