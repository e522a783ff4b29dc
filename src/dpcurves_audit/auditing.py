"""The auditor: a release and its neighbours in, a report out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from dpcurves.arguments import Exact, Refused, number

from . import determinism
from .bound import Claim
from .door import Door, ManyDoor, OneDoor
from .family import Family, Pair
from .report import Finding, Report
from .search import MOST, Search

SLOW = 0.002
"""Seconds of a call from which on fewer calls are compared beside the bound, and no times and lattices."""


def found_beside(door: Door, pair: Pair) -> list[Finding]:
    """Findings beside the bound: on fresh noise, lattices and times, from few calls where a call takes long."""
    begun = perf_counter()
    door.draw(pair.left, 1)
    slow = perf_counter() - begun > SLOW
    found = determinism.beside(door, pair, 14 if slow else determinism.CALLS)
    if not slow:
        found += determinism.lattice(door, pair)
        found += determinism.timed(door, pair)
    return found


def opened(release: Callable[..., Any] | Door, *, many: bool) -> Door:
    """The door of a release; one that was made is passed on."""
    if not isinstance(release, Door):
        return ManyDoor(release) if many else OneDoor(release)
    return release


class Audit:
    """Audits a release that is told by nothing but a callable.

    Attributes:
        families: Families of neighbours.
    """

    from . import family as families

    def __call__(
        self,
        release: Callable[..., Any] | Door,
        family: Family,
        *,
        epsilon: Exact | None = None,
        delta: float = 0.0,
        rho: Exact | None = None,
        seconds: float = 60.0,
        samples: int | None = None,
        confidence: float = 0.95,
        many: bool = False,
        learn: bool = False,
        again: bool = False,
        beside: bool = True,
        file: str | Path | None = None,
    ) -> Report:
        """Attack a release, and bound from below by samples of its outcomes what it really loses.

        All that a call publishes is an outcome: numbers of any structure, texts, exceptions, what it prints, and that
        it hangs. Calls have to be independent: a release that keeps its answers is called in fresh processes instead.

        Args:
            release: ``release(data)`` with fresh noise at each call, or a door that was made.
            family: Pairs of neighbours: `families`, or pairs of your own.
            epsilon: The loss that it is said to have at most, for the neighbours of the family.
            delta: Delta, beside epsilon.
            rho: Zero-concentrated loss that it is said to have, in the place of epsilon.
            seconds: Seconds to search. What is flagged ends it earlier.
            samples: Outcomes of each data set of a finalist, at most; left out: two millions.
            confidence: Chance, at least, with which the bound is below the true loss.
            many: The release takes a number, too, and gives as many outcomes at once: a row of an array each.
            learn: Boosted trees are fitted to outcomes, too, if scikit-learn is installed (extra ``audit``).
            again: Whatever is flagged is confirmed on fresh samples once more before it is said.
            beside: Calls in one tick of a clock, calls of neighbours that follow each other, and times of calls are
                compared, too, for about a second; for some where calls at once agree.
            file: A file that is written after each round, from which the same audit goes on.

        Formal guarantees: with the stated confidence, the bound is not above the privacy loss of the release for any
        of these neighbours, if its calls are independent: pairs, scores and events are chosen on samples that are then
        thrown away; on fresh ones the limits are exact, by Clopper and Pearson (1934), or of the ratio of Poisson
        counts; the error is divided among rounds and finalists. A bound below the claim proves nothing.

        Raises:
            ValueError: neither or both of epsilon and rho are given, or an argument is out of range.

        >>> import numpy as np
        >>> from dpcurves_audit import audit
        >>> rng = np.random.default_rng(1)
        >>> def release(data, k):
        ...     return np.round(len(data) + rng.laplace(scale=0.5, size=k), 3)
        >>> family = audit.families.values([0, 1], adjacency=audit.families.ADD_REMOVE)
        >>> report = audit(release, family, epsilon=1, seconds=20, many=True)
        >>> report.flagged, 1 < report.epsilon_lower < 2
        (True, True)
        """
        claim = Claim.said(epsilon, delta, rho)
        sure = number("confidence", confidence)
        if not 0 < sure < 1:
            raise Refused("confidence", f"a chance strictly between 0 and 1 is needed, got {confidence}")
        if not isinstance(family, Family):
            raise Refused("family", "a family of neighbours is needed, as audit.families.values(edges, adjacency=...)")
        if not number("seconds", seconds) > 0:
            raise Refused("seconds", "a number above zero is needed")
        if samples is not None and samples < 20:
            raise Refused("samples", "at least 20 outcomes of each data set are needed")
        door = opened(release, many=many)
        search = Search(door, family, claim, sure, samples or MOST, learn, again=again)
        report = search.run(seconds, None if file is None else Path(file))
        return report.with_findings(*found_beside(door, family.pairs[0])) if beside else report


audit = Audit()
