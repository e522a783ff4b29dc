"""How often intervals held, case by case and over many cases; what is too few, and what is too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from kinds import CONTINUOUS, Case
from scipy.stats import binom, norm

Covered = Callable[[Case, float, int], Iterator[tuple[str, bool]]]
"""One release at a level, drawn by a seed: each kind of interval, and whether it held all that it promises."""
FIELDS = (None, *Case._fields)
FALSE_ALARM = float(norm.sf(4))
"""Chance to call a share too small, or too large, that is not: 3e-5, that of 4 standard deviations to one side."""


@dataclass(frozen=True)
class Share:
    """How many of independent intervals held."""

    held: int
    drawn: int

    def is_below(self, level: float) -> bool:
        return bool(binom.cdf(self.held, self.drawn, level) < FALSE_ALARM)

    def could_be_below(self, level: float) -> bool:
        """Whether there are enough that some number of those that hold would be too small."""
        return Share(0, self.drawn).is_below(level)

    def is_above(self, level: float) -> bool:
        return bool(binom.sf(self.held - 1, self.drawn, level) < FALSE_ALARM)

    def __str__(self) -> str:
        return f"{self.held} of {self.drawn}"


@dataclass(frozen=True)
class Tally:
    """How many intervals of each kind held in each case, of how many."""

    held: Mapping[tuple[Case, str], int]
    drawn: Mapping[tuple[Case, str], int]
    level: float

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(kind for _, kind in self.drawn))

    def pooled(self, field: str | None) -> dict[tuple[object, str], Share]:
        """Over all cases that agree in a field; None: over all cases."""
        held, drawn = Counter[tuple[object, str]](), Counter[tuple[object, str]]()
        for (case, kind), many in self.drawn.items():
            where = None if field is None else getattr(case, field)
            drawn[where, kind] += many
            held[where, kind] += self.held[case, kind]
        return {place: Share(held[place], drawn[place]) for place in drawn}

    def too_few(self) -> dict[object, str]:
        """Where, of all cases together or of those that agree in a field, intervals held too rarely."""
        found = [each for field in FIELDS for each in self.pooled(field).items()]
        return {place: str(share) for place, share in found if share.is_below(self.level)}

    def too_many(self, cautious: Collection[str]) -> dict[str, str]:
        """Which kinds, but for the cautious ones, held too often of continuous data."""
        found = self.pooled("data")
        shares = {kind: found[CONTINUOUS, kind] for kind in self.kinds if kind not in cautious}
        return {kind: str(share) for kind, share in shares.items() if share.is_above(self.level)}


def seed_of(number: int, release: int) -> int:
    """A seed for a release of a case: what is told by turns depends on nothing else of it."""
    return int(np.random.default_rng([number, release]).integers(2**31))


def tally(covered: Covered, cases: Iterable[Case], level: float, releases: int) -> Tally:
    """So many releases of each case."""
    held, drawn = Counter[tuple[Case, str]](), Counter[tuple[Case, str]]()
    for number, case in enumerate(cases):
        for release in range(releases):
            for kind, holds in covered(case, level, seed_of(number, release)):
                held[case, kind] += bool(holds)
                drawn[case, kind] += 1
    return Tally(held, drawn, level)
