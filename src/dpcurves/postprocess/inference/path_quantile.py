"""A quantile from counts of prefixes that share noise, and where the true one lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...laws import PathSums
from ...release import Evidence
from .bands import dvoretzky
from .bisection import Bracket, bisected
from .tail_bound import Weighed, tail_bound


@dataclass(frozen=True)
class PathQuantile:
    """Searches in one tree of noises: for the quantile, and for the ends of an interval around it.

    The excess of a threshold is its count less a share p of all records; it crosses 0 at the quantile. The search for
    the lower end takes a threshold as reached as soon as noise may hide that it is, that for the upper end only once
    noise cannot feign it. *The interval holds the true quantile with at least the chance that is asked.* For the true
    crossing q is no matter of chance, nor are the ``ceil(log2(cells))`` thresholds that a search without errors for q
    asks. The lower end comes to lie above q only if that search takes a threshold at or above q as not reached, and the
    first such threshold is one of these; the upper end likewise, at a threshold below q. There noise is beyond its
    margin, on the one side that matters for this threshold, and the chance of this was divided by their number.

    Two searches more are made where units are single and independent: for an interval that *holds the quantile of the
    population that they were drawn from*. Their margins have room for half of the chance of an error by noise, and for
    the other half by sampling: at all thresholds at once, shares of the records are off those of the population by no
    more than `dvoretzky` says, and the argument is the same, with the crossing of the population's shares for q.

    A search that meets a count that nobody asked for ends there, with a wider bracket. It made no step that the whole
    search would not make, so its interval holds with the same chance, whatever level was searched for.

    Attributes:
        law: The law of the counts.
        counts: By threshold.
        missing: How many records are missing, where that was asked for.
        total: The public number of records, where missing records were counted; else all are counted by noise.
        p: The share.
        level: The chance with which the interval holds the quantile.
        independent: Whether an interval for the population is searched for, too.
    """

    law: PathSums
    counts: Mapping[int, int]
    missing: int | None
    total: int | None
    p: float
    level: float
    independent: bool = False

    @classmethod
    def of(cls, evidence: Evidence, p: float, level: float, *, independent: bool = False) -> PathQuantile:
        """From all that was released."""
        law = evidence.path
        missing = None if law.missing is None else evidence.values[-1]
        counts = dict(zip(law.at, evidence.values, strict=False))
        return cls(law, counts, missing, evidence.total, p, level, independent)

    @property
    def asked(self) -> tuple[int, ...]:
        """The thresholds that are needed next; none once all searches have ended."""
        brackets = (*self.brackets, *self.outer) if self.independent else self.brackets
        needed = {bracket.middle for bracket in brackets} | {self.law.cells}
        return tuple(sorted(middle for middle in needed if middle is not None and middle not in self.counts))

    @property
    def brackets(self) -> tuple[Bracket, Bracket, Bracket]:
        """For the lower end, the quantile, and the upper end; they do not fall."""
        lower, middle, upper = (bisected(self.law.cells, self._reaches(side, self._margin)) for side in (-1, 0, 1))
        return lower, middle, upper

    def interval(self, *, population: bool) -> Bracket:
        """Thresholds that have the quantile of these records between them, or that of the population."""
        lower, *_, upper = self.outer if population else self.brackets
        return Bracket(lower.low, upper.high)

    @property
    def outer(self) -> tuple[Bracket, Bracket]:
        """For the lower and the upper end of the interval for the population."""
        lower, upper = (bisected(self.law.cells, self._reaches(side, self._wide_margin)) for side in (-1, 1))
        return lower, upper

    @property
    def present(self) -> float:
        """The number of records with a value."""
        if self.total is not None and self.missing is not None:
            return self.total - self.missing
        return self.counts[self.law.cells]

    def _reaches(self, side: int, margin: Callable[[int], float]) -> Callable[[int], bool | None]:
        """Tell whether a count reaches the quantile, by one side; None where it is not known."""

        def reached(threshold: int) -> bool | None:
            if threshold not in self.counts:
                return None
            excess = self.counts[threshold] - self.p * self.present
            return excess >= side * (margin(threshold) if side else 0.0)

        return reached

    def _margin(self, threshold: int) -> float:
        return self._noise_margin(threshold, 1 - self.level)

    def _wide_margin(self, threshold: int) -> float:
        units = max(self.present, 1.0)
        sampling = units * dvoretzky(units, (1 + self.level) / 2)
        return self._noise_margin(threshold, (1 - self.level) / 2) + sampling

    def _noise_margin(self, threshold: int, error: float) -> float:
        steps = max(1, (self.law.cells - 1).bit_length())
        return tail_bound(self._noises(threshold), error / steps)

    def _noises(self, threshold: int) -> tuple[Weighed, ...]:
        """The independent noises that the excess at a threshold is made of."""
        noise, levels = self.law.noise, self.law.levels
        if self.total is not None and self.law.missing is not None:
            return Weighed(levels, 1.0, noise), Weighed(1, self.p, self.law.missing)
        shared = self.law.shared(threshold, self.law.cells)
        alone = levels - shared
        return Weighed(shared, 1 - self.p, noise), Weighed(alone, 1.0, noise), Weighed(alone, self.p, noise)
