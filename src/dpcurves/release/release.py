"""Noisy integers that are public for ever: the answer to a step, and what of it curves are read from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import Refused
from ..arrays import FloatArray
from ..laws import IntervalSums, Law, NoisySums, PathSums, law_from_json, read_in_cells
from ..ledger import Allotment
from .plan import Plan


@dataclass(frozen=True, slots=True)
class Release:
    """The answer to one step. Made by trust models alone.

    Attributes:
        plan: The query, its price, its noise law, and the trust model that made it.
        values: The noisy integers of the mechanism, in the order of the law.
        allotment: What paid for it. None: a rehearsal, no data was touched.
        seeded: True if the noise was seeded and can be subtracted: then the release is not private.
    """

    plan: Plan
    values: tuple[int, ...]
    allotment: Allotment | None
    seeded: bool

    @classmethod
    def rehearsed(cls, plan: Plan) -> Release:
        """A placeholder answer to a step, with which a question can be planned without data."""
        return cls(plan, plan.law.blank(), allotment=None, seeded=True)

    @classmethod
    def from_json(cls, text: str, plan: Plan, allotment: Allotment) -> Release:
        """The release that was stored, if it answers `plan`."""
        stored = json.loads(text)
        if stored["plan"] != plan.fingerprint:
            raise Refused("request", f"{allotment.request!r} was answered under another plan; ask under a new request")
        return cls(plan, tuple(stored["values"]), allotment, stored["seeded"])

    def __post_init__(self) -> None:
        if self.plan.law.size not in (None, len(self.values)):
            raise Refused("values", f"{len(self.values)} values do not answer a plan of {self.plan.law.size}")

    def to_json(self) -> str:
        """Integers, and a fingerprint of the plan: all else can be made again from public facts."""
        return json.dumps({"plan": self.plan.fingerprint, "values": self.values, "seeded": self.seeded})


@dataclass(frozen=True, slots=True)
class Evidence:
    """The released numbers of one turn and the distribution of their noise: what a curve is computed from.

    Attributes:
        law: The distribution of the noise.
        values: The integers that were released.
        total: The public number of records in all cells together; None where it is private.
    """

    law: Law
    values: tuple[int, ...]
    total: int | None

    @classmethod
    def of(cls, release: Release) -> Evidence:
        """What one release says. Sums over records do not add up to a number of records, public or not."""
        law = release.plan.law
        return cls(law, release.values, None if law.missing is None else release.plan.adjacency.total)

    @property
    def sums(self) -> NoisySums:
        """The law of noisy sums of any kind. Raises `TypeError` if the values are something else."""
        return self.law.required(NoisySums).given(self.values)  # type: ignore[type-abstract]

    def in_cells(self, rows: int = 1) -> Evidence:
        """Read counts of prefixes as counts of the cells between their thresholds; all else stays as it is.

        Args:
            rows: In how many rows of equally many places the prefixes lie, one behind the other.

        Raises:
            ValueError: thresholds differ between the rows, or all records of a row were not counted.
        """
        return Evidence(*read_in_cells(self.law, self.values, rows), self.total)

    @property
    def unbiased(self) -> FloatArray:
        """The best linear unbiased cells, (rows, cells), whatever the law. Raises `TypeError` if it is of no sums."""
        return self.sums.reconstruct(np.asarray(self.values, dtype=np.float64), self.total)[0]

    @property
    def path(self) -> PathSums:
        """The law of counts of prefixes. Raises `TypeError` if the values are something else."""
        return self.law.required(PathSums)

    @property
    def measured(self) -> IntervalSums:
        """The law of noisy sums over intervals: of randomised reports, that of their debiased counts.

        Raises `TypeError` if the values are something else.
        """
        return self.law.required(NoisySums).nested.required(IntervalSums)  # type: ignore[type-abstract]

    def to_json(self) -> dict[str, Any]:
        """Plain objects."""
        return self.law.to_json(self.values, self.total)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Evidence:
        """The inverse of `to_json`.

        Raises:
            ValueError: the object is not what `to_json` writes.
        """
        try:
            return cls._read(stored)
        except (KeyError, TypeError, AttributeError, ZeroDivisionError):
            raise Refused("evidence", "the stored release is damaged or of another kind") from None

    @classmethod
    def _read(cls, stored: Mapping[str, Any]) -> Evidence:
        law = law_from_json(stored)
        listed, total = law.values_in(stored)
        values = tuple(int(value) for value in listed)
        if law.size not in (None, len(values)):
            raise Refused("evidence", f"{len(values)} values do not fit a law of {law.size}")
        return cls(law, values, None if total is None else int(total))
