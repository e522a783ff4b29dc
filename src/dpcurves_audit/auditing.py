"""The auditor: a release and its neighbours in, a report out."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from itertools import pairwise
from math import comb
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

from dpcurves.arguments import Exact, InvalidArgument, require_number

from .bound import Claim
from .family import NeighbouringDatasets, NeighbourPair
from .feature import Floats, OutcomeParser, Sample, find_lowest_bits, hash_outcomes
from .report import Finding, Report
from .samplers import PATIENCE, BatchSampler, CallableSampler, PackageSampler, Sampler, fork_process, make_picklable
from .search import MOST, Search

ERROR = 1e-4
"""Chance with which a release with fresh noise is taken for another one, in each comparison."""
CALLS, FEW_CALLS = 24, 14
A_TICK = 1.05
"""Seconds after which clocks that count seconds have moved on."""
TICKS = 5
"""Ticks that are waited for, at most, where calls at once agree: two seeds may give the same noise, but not six."""


def has_excess_coincidences(near: int, far: int, calls: int, error: float = ERROR) -> bool:
    """Tell whether calls coincide more often than calls that have nothing to do with each other.

    Fisher's exact test of two numbers of coincidences among as many pairs of calls each.

    >>> has_excess_coincidences(24, 0, 24), has_excess_coincidences(24, 24, 24), has_excess_coincidences(3, 1, 24)
    (True, False, False)
    """
    both = near + far
    above = sum(comb(calls, k) * comb(calls, both - k) for k in range(near, min(both, calls) + 1))
    return above / comb(2 * calls, both) < error


def check_noise_reuse(sampler: Sampler, pair: NeighbourPair, calls: int = CALLS) -> list[Finding]:
    """Findings on fresh noise that need no other process: calls in one tick of a clock, and calls of neighbours.

    Args:
        sampler: The release.
        pair: Neighbours.
        calls: Pairs of calls that are compared.
    """
    reader = OutcomeParser()

    def draw_one(data: Any) -> Sample:
        return reader.parse_outcomes(sampler.draw(data, 1))

    first = [(draw_one(pair.left), draw_one(pair.right)) for _ in range(calls)]
    again = [(draw_one(pair.left), draw_one(pair.left)) for _ in range(calls)]
    found = []
    near = sum(_is_same_outcome(a, b) for a, b in again)
    for _ in range(TICKS):
        sleep(A_TICK)
        far = sum(_is_same_outcome(a, draw_one(pair.left)) for a, _ in again)
        if has_excess_coincidences(near, far, calls, ERROR / TICKS):
            told = f"{near} of {calls} calls at once gave the same outcome, and {far} of {calls} seconds apart"
            found.append(Finding("seeded by a clock", f"noise depends on the time: {told}.", is_flagged=True))
            break
        if 3 * near < 2 * calls:  # no clock
            break
    moved = [_subtract_outcomes(a, b) for a, b in first]
    mixed = [_subtract_outcomes(first[place][0], first[(place + calls // 2) % calls][1]) for place in range(calls)]
    near, far = (sum(_is_same_step(x, y) for x, y in pairwise(each)) for each in (moved, mixed))
    if has_excess_coincidences(near, far, calls):
        told = (
            f"the same difference in {near} of {calls - 1} pairs of calls that followed each other, in {far} of others"
        )
        found.append(Finding("shared noise", f"neighbours' outcomes have noise in common: {told}.", is_flagged=True))
    return found


def check_forked_workers(sampler: Sampler, pair: NeighbourPair, calls: int = CALLS) -> Finding | None:
    """Finding that workers forked from this process repeat each other's noise; None: they do not.

    Not flagged: it contradicts no claim about one call. A server that forks its workers shows it.
    """
    rows = [_draw_in_child(sampler, pair.left, calls) for _ in range(2)]
    reader = OutcomeParser()
    first, second = (reader.parse_outcomes(row) for row in rows)
    if has_repeated_noise(first, second):
        return Finding(
            "forked workers", "workers that are forked from one process draw the same noise.", is_flagged=False
        )
    return None


def check_new_processes(
    function_path: str, pair: NeighbourPair, calls: int = CALLS, timeout: float = PATIENCE
) -> Finding | None:
    """Finding that new processes repeat each other's noise, as a fixed seed makes them; None: they do not."""
    reader = OutcomeParser()
    rows = []
    for _ in range(2):
        sampler = PackageSampler(function_path, timeout=timeout)
        rows.append(reader.parse_outcomes(sampler.draw(pair.left, calls)))
        sampler.close()
    if has_repeated_noise(*rows):
        return Finding("new processes", "each new process draws the same noise: its seed is fixed.", is_flagged=True)
    return None


def has_repeated_noise(first: Sample, second: Sample) -> bool:
    """Tell whether two rows of outcomes agree place by place more often than at places that differ by one.

    A row of a single outcome, as from data that are not asked for, agrees everywhere and says nothing.
    """
    a, b = hash_outcomes(first), hash_outcomes(second)
    if len(a) != len(b):
        return False
    return has_excess_coincidences(int((a == b).sum()), int((a == np.roll(b, 1)).sum()), len(a))


def _draw_in_child(sampler: Sampler, data: Any, calls: int) -> list[Any]:
    """Outcomes of calls in a forked child."""
    read, write = os.pipe()
    child = fork_process()
    if child == 0:
        try:
            found = pickle.dumps([make_picklable(each) for each in sampler.draw(data, calls)])
            with os.fdopen(write, "wb") as pipe:
                pipe.write(found)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return list(pickle.loads(text)) if text else []


def _is_same_outcome(a: Sample, b: Sample) -> bool:
    return bool(hash_outcomes(a)[0] == hash_outcomes(b)[0])


def _subtract_outcomes(a: Sample, b: Sample) -> Floats | None:
    """Difference of two outcomes' numbers, where both have the same kind and some numbers."""
    if a.kinds[0] != b.kinds[0] or a.numbers.shape != b.numbers.shape or not a.numbers.shape[1]:
        return None
    return np.asarray(np.round(b.numbers[0] - a.numbers[0], 9))


def _is_same_step(x: Floats | None, y: Floats | None) -> bool:
    return x is not None and y is not None and bool(np.array_equal(x, y, equal_nan=True))


COARSE = -40
"""Lowest bit from which on all outcomes lie on a lattice that was chosen: those of doubles are finer."""


def check_lattice(sampler: Sampler, pair: NeighbourPair, calls: int = 400) -> list[Finding]:
    """Findings on the lattice of numbers that are published, for each number that is not always whole.

    Sums of an exact value and noise of floating point have bits that depend on the exact value (Mironov 2012): the
    search looks for events of lowest bits; here it is said where there is no common lattice to begin with.
    """
    reader = OutcomeParser()
    left, right = (reader.parse_outcomes(sampler.draw(data, calls)).numbers for data in (pair.left, pair.right))
    found = []
    for column in range(min(left.shape[1], right.shape[1], 8)):
        sides = [find_lowest_bits(rows[:, column]) for rows in (left, right)]
        lowest = min((_find_lowest_bit(bits) for bits in sides), default=0.0)
        if lowest < COARSE:
            words = f"number {column + 1} has bits down to 2^{lowest:.0f}: it lies on no lattice, and may be porous."
            found.append(Finding("floating point", words, is_flagged=False))
    return found


def _find_lowest_bit(bits: Floats) -> float:
    known = bits[~np.isnan(bits)]
    return float(known.min()) if len(known) else 0.0


def check_timing(sampler: Sampler, pair: NeighbourPair, calls: int = 60) -> list[Finding]:
    """Findings on times of calls, which alternate between both data sets, by Mann and Whitney's test.

    Calls of neighbours differ by one record, so what a call takes in general says little; a rare record for which the
    release does more work shows.
    """
    from scipy.stats import mannwhitneyu

    taken: list[list[float]] = [[], []]
    for place in range(2 * calls):
        side = (place + place // 2) % 2
        taken[side].append(_time_call(sampler, (pair.left, pair.right)[side]))
    chance = float(mannwhitneyu(np.array(taken[0]), np.array(taken[1])).pvalue)
    if chance >= ERROR:
        return []
    middles = [float(np.median(each)) for each in taken]
    words = f"calls take {1000 * middles[0]:.3g} and {1000 * middles[1]:.3g} ms (p = {chance:.1g}), for {pair.name}."
    return [Finding("timing", words, is_flagged=False)]


def _time_call(sampler: Sampler, data: Any) -> float:
    begun = perf_counter()
    sampler.draw(data, 1)
    return perf_counter() - begun


SLOW = 0.002
"""Seconds of a call from which on fewer calls are compared beside the bound, and no times and lattices."""


def run_extra_checks(sampler: Sampler, pair: NeighbourPair) -> list[Finding]:
    """Findings beside the bound: on fresh noise, lattices and times, from few calls where a call takes long."""
    begun = perf_counter()
    sampler.draw(pair.left, 1)
    slow = perf_counter() - begun > SLOW
    found = check_noise_reuse(sampler, pair, FEW_CALLS if slow else CALLS)
    if not slow:
        found += check_lattice(sampler, pair)
        found += check_timing(sampler, pair)
    return found


def as_sampler(release: Callable[..., Any] | Sampler, *, batch: bool) -> Sampler:
    """The sampler of a release; one that was made is passed on."""
    if not isinstance(release, Sampler):
        return BatchSampler(release) if batch else CallableSampler(release)
    return release


class Audit:
    """Audits a release that is told by nothing but a callable.

    Attributes:
        families: Families of neighbours.
    """

    from . import family as families

    def __call__(
        self,
        release: Callable[..., Any] | Sampler,
        family: NeighbouringDatasets,
        *,
        epsilon: Exact | None = None,
        delta: float = 0.0,
        rho: Exact | None = None,
        seconds: float = 60.0,
        samples: int | None = None,
        confidence: float = 0.95,
        batch: bool = False,
        learn: bool = False,
        confirm_twice: bool = False,
        extra_checks: bool = True,
        file: str | Path | None = None,
    ) -> Report:
        """Attack a release, and bound from below by samples of its outcomes what it really loses.

        All that a call publishes is an outcome: numbers of any structure, texts, exceptions, what it prints, and that
        it hangs. Calls have to be independent: a release that keeps its answers is called in fresh processes instead.

        Args:
            release: ``release(data)`` with fresh noise at each call, or a sampler that was made.
            family: Pairs of neighbours: `families`, or pairs of your own.
            epsilon: The loss that it is said to have at most, for the neighbours of the family.
            delta: Delta, beside epsilon.
            rho: Zero-concentrated loss that it is said to have, in the place of epsilon.
            seconds: Seconds to search. What is flagged ends it earlier.
            samples: Outcomes of each data set of a finalist, at most; left out: two millions.
            confidence: Chance, at least, with which the bound is below the true loss.
            batch: The release takes a number, too, and gives as many outcomes at once: a row of an array each.
            learn: Boosted trees are fitted to outcomes, too, if scikit-learn is installed (extra ``audit``).
            confirm_twice: Whatever is flagged is confirmed on fresh samples once more before it is said.
            extra_checks: Calls in one tick of a clock, calls of neighbours that follow each other, and times of calls are
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
        >>> report = audit(release, family, epsilon=1, seconds=20, batch=True)
        >>> report.is_flagged, 1 < report.epsilon_lower < 2
        (True, True)
        """
        claim = Claim.from_parameters(epsilon, delta, rho)
        sure = require_number("confidence", confidence)
        if not 0 < sure < 1:
            raise InvalidArgument("confidence", f"a chance strictly between 0 and 1 is needed, got {confidence}")
        if not isinstance(family, NeighbouringDatasets):
            raise InvalidArgument(
                "family", "a family of neighbours is needed, as audit.families.values(edges, adjacency=...)"
            )
        if not require_number("seconds", seconds) > 0:
            raise InvalidArgument("seconds", "a number above zero is needed")
        if samples is not None and samples < 20:
            raise InvalidArgument("samples", "at least 20 outcomes of each data set are needed")
        sampler = as_sampler(release, batch=batch)
        search = Search(sampler, family, claim, sure, samples or MOST, learn, confirm_twice=confirm_twice)
        report = search.run(seconds, None if file is None else Path(file))
        return report.with_findings(*run_extra_checks(sampler, family.pairs[0])) if extra_checks else report


audit = Audit()
