"""Events: outcomes whose score lies in an interval, chosen on samples, and held against a claim on fresh ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from .bound import Claim, Counted, guessed_rho, lower_rho
from .feature import Floats, Sample, Score

MOST_CUTS = 200
CAUTION = 2.5
"""Standard errors by which a guess is lowered before events are compared: small counts win by chance otherwise."""
CELLS = 8


@dataclass(frozen=True)
class Event:
    """An interval of a score, both ends included; or, for zero-concentrated privacy, a partition of the score.

    Attributes:
        score: The score.
        low: Lower end.
        high: Upper end.
        reverse: Whether it is likelier on the right data set.
        cuts: Where cells of the partition begin; empty: there is none.
        guess: Privacy loss that the samples suggest that chose it, lowered by their error.
    """

    score: Score
    low: float
    high: float
    reverse: bool
    cuts: tuple[float, ...]
    guess: float

    def __str__(self) -> str:
        if self.cuts:
            return f"{self.score.name}, in {len(self.cuts) + 1} cells"
        if self.low == self.high:
            return f"{self.score.name} is {self.low:.6g}"
        if self.low == -inf:
            return f"{self.score.name} is at most {self.high:.6g}"
        return f"{self.score.name} is at least {self.low:.6g}"

    def hits(self, sample: Sample) -> NDArray[np.bool_]:
        """Tell which outcomes it holds."""
        values = self.score.of(sample)
        return np.asarray((values >= self.low) & (values <= self.high))

    def cells(self, sample: Sample) -> NDArray[np.int64]:
        """Counts of outcomes in the cells of the partition; outcomes without a score are in the last one."""
        values = self.score.of(sample)
        places = np.where(np.isnan(values), len(self.cuts) + 1, np.searchsorted(self.cuts, values, side="right"))
        return np.bincount(places, minlength=len(self.cuts) + 2)

    def counted(self, left: Sample, right: Sample) -> Counted:
        """Hits of both data sets, that of the likelier one first."""
        ours, theirs = (right, left) if self.reverse else (left, right)
        return Counted(int(self.hits(ours).sum()), int(self.hits(theirs).sum()), len(ours), len(theirs))

    def lower(self, left: Sample, right: Sample, claim: Claim, error: float, *, as_ratio: bool) -> float:
        """Lower limit of the privacy loss, in the claim's currency, from fresh samples."""
        if claim.rho is None:
            return self.counted(left, right).lower(claim, error, as_ratio=as_ratio)
        ours, theirs = (right, left) if self.reverse else (left, right)
        return lower_rho(self.cells(ours), self.cells(theirs), error)


def chosen(scores: Iterable[Score], left: Sample, right: Sample, claim: Claim, most: int = 1) -> list[Event]:
    """Events that suggest the largest privacy loss on these samples, at most one of each score and direction."""
    found: list[Event] = []
    for score in scores:
        a, b = score.of(left), score.of(right)
        for reverse in (False, True):
            ours, theirs = (b, a) if reverse else (a, b)
            event = _best(score, ours, theirs, reverse, claim)
            if event is not None:
                found.append(event)
    return sorted(found, key=lambda each: (-round(each.guess, 2), each.score.learned))[:most]


def _best(score: Score, ours: Floats, theirs: Floats, reverse: bool, claim: Claim) -> Event | None:
    """The interval of a score that suggests the largest loss."""
    n, m = len(ours), len(theirs)
    a, b = np.sort(ours[~np.isnan(ours)]), np.sort(theirs[~np.isnan(theirs)])
    if not len(a):
        return None
    cuts = _cuts(a, b)
    if claim.rho is not None:
        return _partition(score, ours, theirs, reverse, cuts)
    from_ours, from_theirs = (np.searchsorted(x, cuts, side="left") for x in (a, b))
    to_ours, to_theirs = (np.searchsorted(x, cuts, side="right") for x in (a, b))
    hits = np.concatenate([len(a) - from_ours, to_ours, to_ours - from_ours])
    others = np.concatenate([len(b) - from_theirs, to_theirs, to_theirs - from_theirs])
    guesses = _guesses(hits, others, n, m, claim.delta)
    place = int(np.argmax(guesses))
    kind, cut = divmod(place, len(cuts))
    at = float(cuts[cut])
    low, high = ((at, inf), (-inf, at), (at, at))[kind]
    return Event(score, low, high, reverse, (), float(guesses[place]))


def _cuts(a: Floats, b: Floats) -> Floats:
    """Values at which events begin or end: all, or quantiles of both samples, closer to each other at the ends."""
    values = np.sort(np.concatenate([a, b]))
    distinct = np.unique(values)
    if len(distinct) <= MOST_CUTS:
        return distinct
    tails = np.geomspace(3 / len(values), 0.1, 40)
    shares = np.concatenate([tails, np.linspace(0.1, 0.9, MOST_CUTS - 80), 1 - tails])
    return np.unique(np.quantile(values, np.sort(shares), method="inverted_cdf"))


def _guesses(hits: NDArray[np.int64], others: NDArray[np.int64], n: int, m: int, delta: float) -> Floats:
    """Logarithm of the ratio of frequencies, less standard errors; minus infinity where there are next to no hits."""
    p, q = hits / n, (others + 1) / (m + 1)
    over = p - delta
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        error = np.sqrt((1 - p) / np.maximum(hits, 1) * (p / np.maximum(over, 1e-300)) ** 2 + (1 - q) / (others + 1))
        guess = np.log(np.maximum(over, 0)) - np.log(q) - CAUTION * error
    return np.where((hits >= 3) & (over > 0), guess, -inf)


def _partition(score: Score, ours: Floats, theirs: Floats, reverse: bool, cuts: Floats) -> Event | None:
    """Cells of about equal frequency, few or many, whichever suggest the larger loss."""
    best: Event | None = None
    both = np.concatenate([ours, theirs])
    both = both[~np.isnan(both)]
    for cells in (2, 4, CELLS, 2 * CELLS):
        at = np.unique(np.quantile(both, np.arange(1, cells) / cells, method="inverted_cdf"))
        found = Event(score, -inf, inf, reverse, tuple(at.tolist()), 0.0)
        places = [
            np.bincount(np.where(np.isnan(x), len(at) + 1, np.searchsorted(at, x, side="right")), minlength=len(at) + 2)
            for x in (ours, theirs)
        ]
        guess = guessed_rho(places[0], places[1], CAUTION)
        if best is None or guess > best.guess:
            best = Event(found.score, -inf, inf, reverse, found.cuts, guess)
    return best
