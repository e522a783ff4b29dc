"""A release without its history: the law and the values. All that is needed to read a curve again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .law import Chosen, Grown, Measured
from .law_json import law_from_json, law_to_json
from .noise_law import NoiseLaw, NoisySums
from .path_noise import PathNoise
from .release import Release
from .wavelets import Wavelets


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
        """Keep what one release says. Sums over records do not add up to a number of records, public or not."""
        law = release.plan.law
        counted = not isinstance(law, Chosen | Grown) and law.missing is not None
        return cls(law, release.values, release.plan.adjacency.total if counted else None)

    @property
    def sums(self) -> NoisySums:
        """The law of noisy sums of any kind.

        Raises:
            TypeError: the values are choices and carry no noise, or counts that share noise.
        """
        if isinstance(self.law, Chosen | Grown):
            raise TypeError("this turn chose; there is nothing that was measured")
        if isinstance(self.law, PathNoise):
            raise TypeError("this turn counted prefixes, not sums of cells; read it by its law")
        if isinstance(self.law, Wavelets):
            raise TypeError("this turn measured wavelets of a whole table; read it by its law")
        return self.law

    @property
    def path(self) -> PathNoise:
        """The law of counts of prefixes.

        Raises:
            TypeError: the values are others.
        """
        if not isinstance(self.law, PathNoise):
            raise TypeError("this turn counted no prefixes one by one; read it by its law")
        return self.law

    @property
    def measured(self) -> Measured:
        """The law of noisy sums over intervals.

        Raises:
            TypeError: the values are choices, or sums of another kind.
        """
        law = self.sums
        if not isinstance(law, Measured):
            raise TypeError("this turn measured no sums over intervals; read it by its law")
        return law

    def to_json(self) -> dict[str, Any]:
        """Plain objects."""
        if isinstance(self.law, Chosen | Grown):
            return {"chosen": list(self.values)}
        return {**law_to_json(self.law), "values": list(self.values), "total": self.total}

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
        values = tuple(int(value) for value in stored["chosen" if "chosen" in stored else "values"])
        if "chosen" in stored:
            return cls(Chosen(values), values, None)
        law = law_from_json(stored)
        if len(values) != law.size:
            raise ValueError(f"evidence: {len(values)} values do not fit a law of {law.size}")
        return cls(law, values, None if stored["total"] is None else int(stored["total"]))
