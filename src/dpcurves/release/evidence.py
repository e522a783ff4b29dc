"""A release without its history: the law and the values. All that is needed to read a curve again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..laws.haar_tensor_sums import HaarTensorSums
from ..laws.law import IntervalSums, PartitionDecisions, Selection
from ..laws.law_json import law_from_json, law_to_json
from ..laws.noise_law import NoiseLaw, NoisySums
from ..laws.path_sums import PathSums
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
        """Keep what one release says. Sums over records do not add up to a number of records, public or not."""
        law = release.plan.law
        counted = not isinstance(law, Selection | PartitionDecisions) and law.missing is not None
        return cls(law, release.values, release.plan.adjacency.total if counted else None)

    @property
    def sums(self) -> NoisySums:
        """The law of noisy sums of any kind.

        Raises:
            TypeError: the values are choices and carry no noise, or counts that share noise.
        """
        if isinstance(self.law, Selection | PartitionDecisions):
            raise TypeError("this turn chose; there is nothing that was measured")
        if isinstance(self.law, PathSums):
            raise TypeError("this turn counted prefixes, not sums of cells; read it by its law")
        if isinstance(self.law, HaarTensorSums):
            raise TypeError("this turn measured wavelets of a whole table; read it by its law")
        return self.law

    @property
    def path(self) -> PathSums:
        """The law of counts of prefixes.

        Raises:
            TypeError: the values are others.
        """
        if not isinstance(self.law, PathSums):
            raise TypeError("this turn counted no prefixes one by one; read it by its law")
        return self.law

    @property
    def measured(self) -> IntervalSums:
        """The law of noisy sums over intervals.

        Raises:
            TypeError: the values are choices, or sums of another kind.
        """
        law = self.sums
        if not isinstance(law, IntervalSums):
            raise TypeError("this turn measured no sums over intervals; read it by its law")
        return law

    def to_json(self) -> dict[str, Any]:
        """Plain objects."""
        if isinstance(self.law, Selection | PartitionDecisions):
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
            return cls(Selection(values), values, None)
        law = law_from_json(stored)
        if len(values) != law.size:
            raise ValueError(f"evidence: {len(values)} values do not fit a law of {law.size}")
        return cls(law, values, None if stored["total"] is None else int(stored["total"]))
