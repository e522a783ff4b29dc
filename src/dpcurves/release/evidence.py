"""A release without its history: the law and the values. All that is needed to read a curve again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .law import Chosen, Family, Level, Measured, Noise, NoiseLaw
from .release import Release


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was released in one turn.

    Attributes:
        law: How the values scatter around the truth.
        values: The integers that were released.
        total: The public number of records in all cells together; None where it is private.
    """

    law: NoiseLaw
    values: tuple[int, ...]
    total: int | None

    @classmethod
    def of(cls, release: Release) -> Evidence:
        """Of one release. Sums over records do not add up to a number of records, public or not."""
        law = release.plan.law
        counted = isinstance(law, Measured) and law.missing is not None
        return cls(law, release.values, release.plan.adjacency.total if counted else None)

    @property
    def measured(self) -> Measured:
        """The law of noisy sums.

        Raises:
            TypeError: the values are choices and carry no noise.
        """
        if not isinstance(self.law, Measured):
            raise TypeError("this turn chose; there is nothing that was measured")
        return self.law

    def to_json(self) -> dict[str, Any]:
        """Plain objects."""
        if isinstance(self.law, Chosen):
            return {"chosen": list(self.values)}
        return {
            "rows": self.law.rows, "cells": self.law.cells,
            "levels": [{"starts": _starts(level.starts), **_noise(level.noise)} for level in self.law.levels],
            "missing": None if self.law.missing is None else _noise(self.law.missing),
            "values": list(self.values), "total": self.total,
        }  # fmt: skip

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Evidence:
        """The inverse of `to_json`.

        Raises:
            ValueError: the object is not what `to_json` writes.
        """
        try:
            return cls._read(stored)
        except (KeyError, TypeError, AttributeError, ZeroDivisionError):
            raise ValueError("evidence: the stored release is damaged or of another kind") from None

    @classmethod
    def _read(cls, stored: Mapping[str, Any]) -> Evidence:
        if "chosen" in stored:
            values = tuple(int(value) for value in stored["chosen"])
            return cls(Chosen(values), values, None)
        levels = tuple(Level(_read_starts(level["starts"]), _read_noise(level)) for level in stored["levels"])
        missing = None if stored["missing"] is None else _read_noise(stored["missing"])
        law = Measured(int(stored["rows"]), int(stored["cells"]), levels, missing)
        values = tuple(int(value) for value in stored["values"])
        if len(values) != law.size:
            raise ValueError(f"evidence: {len(values)} values do not fit a law of {law.size}")
        return cls(law, values, None if stored["total"] is None else int(stored["total"]))


def _starts(starts: range | tuple[int, ...]) -> dict[str, list[int]]:
    if isinstance(starts, range):
        return {"range": [starts.start, starts.stop, starts.step]}
    return {"list": list(starts)}


def _read_starts(stored: Mapping[str, Any]) -> range | tuple[int, ...]:
    return range(*stored["range"]) if "range" in stored else tuple(int(start) for start in stored["list"])


def _noise(noise: Noise) -> dict[str, str]:
    return {"family": noise.family.value, "parameter": str(noise.parameter)}


def _read_noise(stored: Mapping[str, Any]) -> Noise:
    return Noise(Family(stored["family"]), Fraction(stored["parameter"]))
