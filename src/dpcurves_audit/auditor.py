"""The auditor: `audit` tests a release on neighbouring data sets, and returns a report.

It searches for an event whose probabilities on neighbours contradict the claimed loss (`search`). Further checks look
for faults that an event of one release cannot show:

    check_noise_reuse, check_new_processes, check_forked_workers    noise that repeats: a clock, a seed, a fork
    check_lattice                                                   published doubles that lie on no lattice
    check_timing                                                    run times that differ between neighbours

Checks of repeated noise compare coincidences of outcomes with coincidences of unrelated calls, by Fisher's exact test.

>>> has_excess_coincidences(24, 0, 24), has_excess_coincidences(3, 1, 24)  # of 24 pairs of calls each
(True, False)
"""

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

from .confidence_limits import Claim
from .neighbouring_datasets import NeighbouringDatasets, NeighbourPair
from .outcome_scores import Floats, OutcomeParser, Sample, find_lowest_bits, hash_outcomes
from .report import Finding, Report
from .samplers import (
    SAMPLER_SECONDS,
    BatchSampler,
    CallableSampler,
    PackageSampler,
    Sampler,
    fork_process,
    make_picklable,
)
from .search import MOST_SAMPLES, Search

FALSE_REPORT_PROBABILITY = 1e-4
"""Probability with which a comparison wrongly reports a release whose noise is fresh at every call. A smaller one needs
more equal pairs before it reports."""
COMPARED_CALLS = 24
"""Pairs of calls of a release in a comparison, which looks for releases whose noise is equal in two calls. Fewer miss a
release that repeats its noise only sometimes."""
FEW_COMPARED_CALLS = 14
"""Pairs of calls in a comparison if a release is slow or the audit quick, instead of `COMPARED_CALLS`."""


def has_excess_coincidences(
    simultaneous: int,
    unrelated: int,
    calls: int,
    error: float = FALSE_REPORT_PROBABILITY,
    unrelated_calls: int | None = None,
) -> bool:
    """Return True if simultaneous calls coincide significantly more often than unrelated calls.

    The test is Fisher's exact test of two numbers of coincidences.

    Args:
        simultaneous: Number of coincidences of simultaneous calls.
        unrelated: Number of coincidences of unrelated calls.
        calls: Number of compared pairs of simultaneous calls.
        error: Largest p-value that counts as an excess.
        unrelated_calls: Number of compared pairs of unrelated calls; None if it is `calls`.

    >>> has_excess_coincidences(24, 0, 24), has_excess_coincidences(24, 24, 24), has_excess_coincidences(3, 1, 24)
    (True, False, False)
    """
    others = calls if unrelated_calls is None else unrelated_calls
    total = simultaneous + unrelated
    arrangements = sum(comb(calls, k) * comb(others, total - k) for k in range(simultaneous, min(total, calls) + 1))
    return arrangements / comb(calls + others, total) < error


def check_noise_reuse(sampler: Sampler, pair: NeighbourPair, calls: int = COMPARED_CALLS) -> list[Finding]:
    """Return findings of two tests for noise that repeats within this process, as with a badly seeded generator.

    One check compares calls at once with calls seconds apart, which finds noise seeded by a clock. Another compares the
    differences between neighbours' outcomes, which finds noise shared by successive calls.

    Args:
        sampler: The release.
        pair: Neighbouring data sets.
        calls: Pairs of calls to compare.
    """
    parser = OutcomeParser()

    def draw_one(data: Any) -> Sample:
        """Call the release once, and return its outcome as a sample of one.

        Args:
            data: Data set of the pair.
        """
        return parser.parse_outcomes(sampler.draw(data, 1))

    first = [(draw_one(pair.left), draw_one(pair.right)) for _ in range(calls)]
    repeated = [(draw_one(pair.left), draw_one(pair.left)) for _ in range(calls)]
    findings = []
    simultaneous = sum(_is_same_outcome(a, b) for a, b in repeated)
    clock_ticks = 5  # to wait, if simultaneous calls agree: two seeds may give the same noise, but hardly six
    later = 0
    for tick in range(1, clock_ticks + 1):
        sleep(1.05)  # seconds: a clock in whole seconds has advanced
        # counted over all ticks: on a busy machine the calls of one tick may have two seeds
        later += sum(_is_same_outcome(a, draw_one(pair.left)) for a, _ in repeated)
        later_calls = tick * calls
        if has_excess_coincidences(
            simultaneous, later, calls, FALSE_REPORT_PROBABILITY / clock_ticks, unrelated_calls=later_calls
        ):
            evidence = (
                f"{simultaneous} of {calls} calls at once gave the same outcome,"
                f" and {later} of {later_calls} seconds apart"
            )
            findings.append(Finding("seeded by a clock", f"noise depends on the time: {evidence}.", is_flagged=True))
            break
        if 3 * simultaneous < 2 * calls:  # no clock
            break
    differences = [_subtract_outcomes(a, b) for a, b in first]
    shuffled = [_subtract_outcomes(first[index][0], first[(index + calls // 2) % calls][1]) for index in range(calls)]
    simultaneous, later = (sum(_is_same_step(x, y) for x, y in pairwise(steps)) for steps in (differences, shuffled))
    if has_excess_coincidences(simultaneous, later, calls):
        evidence = (
            f"the same difference in {simultaneous} of {calls - 1} pairs of calls that followed each other, "
            f"in {later} of others"
        )
        findings.append(
            Finding("shared noise", f"neighbours' outcomes have noise in common: {evidence}.", is_flagged=True)
        )
    return findings


def check_forked_workers(sampler: Sampler, pair: NeighbourPair, calls: int = COMPARED_CALLS) -> Finding | None:
    """Return a flagged finding if two workers forked from this process draw the same noise; None otherwise.

    If two of these workers answer on neighbours, their answers differ by the exact difference, so their loss is
    unbounded.

    Args:
        sampler: The release.
        pair: Neighbours, of which the first is used.
        calls: Calls of each worker.
    """
    rows = [_draw_in_child(sampler, pair.left, calls) for _ in range(2)]
    parser = OutcomeParser()
    first, second = (parser.parse_outcomes(row) for row in rows)
    if has_repeated_noise(first, second):
        return Finding(
            "forked workers", "workers that are forked from one process draw the same noise.", is_flagged=True
        )
    return None


def check_new_processes(
    function_path: str, pair: NeighbourPair, calls: int = COMPARED_CALLS, timeout: float = SAMPLER_SECONDS
) -> Finding | None:
    """Return a flagged finding if two new processes draw the same noise, as with a fixed seed; None otherwise.

    Args:
        function_path: The release as ``module:function``.
        pair: Neighbours, of which the first is used.
        calls: Calls in each process.
        timeout: Seconds after which a call counts as hanging.
    """
    parser = OutcomeParser()
    rows = []
    for _ in range(2):
        sampler = PackageSampler(function_path, timeout=timeout)
        rows.append(parser.parse_outcomes(sampler.draw(pair.left, calls)))
        sampler.close()
    if has_repeated_noise(*rows):
        return Finding("new processes", "each new process draws the same noise: its seed is fixed.", is_flagged=True)
    return None


def has_repeated_noise(first: Sample, second: Sample) -> bool:
    """Return True if two rows of outcomes agree at equal positions more often than at positions shifted by one.

    A release that ignores its data gives identical outcomes, which agree at all positions; it is not reported.

    Args:
        first: Outcomes of one process, in order.
        second: Outcomes of another, in order.
    """
    a = hash_outcomes(first)
    b = hash_outcomes(second)
    if len(a) != len(b):
        return False
    return has_excess_coincidences(int((a == b).sum()), int((a == np.roll(b, 1)).sum()), len(a))


def _draw_in_child(sampler: Sampler, data: Any, calls: int) -> list[Any]:
    """Return outcomes of calls that a forked child process makes, to compare its random numbers with the random numbers
    of the parent.

    Args:
        sampler: The audited release.
        data: The data set.
        calls: Number of calls.

    Returns:
        One outcome per call; an empty list if the child died.
    """
    read, write = os.pipe()
    child = fork_process()
    if child == 0:
        try:
            message = pickle.dumps([make_picklable(outcome) for outcome in sampler.draw(data, calls)])
            with os.fdopen(write, "wb") as pipe:
                pipe.write(message)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return list(pickle.loads(text)) if text else []


def _is_same_outcome(a: Sample, b: Sample) -> bool:
    """Return True if two calls gave the same outcome: equal type and equal numbers.

    Args:
        a: Sample of one outcome.
        b: Sample of one outcome.
    """
    return bool(hash_outcomes(a)[0] == hash_outcomes(b)[0])


def _subtract_outcomes(a: Sample, b: Sample) -> Floats | None:
    """Return the difference of two outcomes' numbers if both outcomes have the same type and some numbers, else
    None.

    Args:
        a: Sample of a single outcome.
        b: Sample of another outcome.
    """
    if a.kinds[0] != b.kinds[0] or a.numbers.shape != b.numbers.shape or not a.numbers.shape[1]:
        return None
    with np.errstate(over="ignore"):  # numbers that stand for infinite ones
        return np.asarray(np.round(b.numbers[0] - a.numbers[0], 9))


def _is_same_step(x: Floats | None, y: Floats | None) -> bool:
    """Return True if both outcomes changed by the same differences, which would show reused noise.

    Args:
        x: Differences between the outcomes of two calls; None if the outcomes have different structures.
        y: Differences between the outcomes of two other calls, or None.
    """
    return x is not None and y is not None and bool(np.array_equal(x, y, equal_nan=True))


def check_lattice(sampler: Sampler, pair: NeighbourPair, calls: int = 400) -> list[Finding]:
    """Return a finding for each published number that lies on no lattice.

    The lowest bits of an exact value plus floating-point noise depend on the exact value (Mironov 2012). The search
    tests events of lowest bits. This check reports numbers that have no common lattice; it does not flag the release.

    Args:
        sampler: The release.
        pair: Neighbours.
        calls: Number of calls of the release on each data set.
    """
    parser = OutcomeParser()
    left, right = (parser.parse_outcomes(sampler.draw(data, calls)).numbers for data in (pair.left, pair.right))
    findings = []
    for column in range(min(left.shape[1], right.shape[1], 8)):
        bits_by_side = [find_lowest_bits(rows[:, column]) for rows in (left, right)]
        lowest = min((_find_lowest_bit(bits) for bits in bits_by_side), default=0.0)
        # -40: exponent of two: outcomes with no lower bits lie on a chosen lattice; doubles have lower bits
        if lowest < -40:
            message = f"number {column + 1} has bits down to 2^{lowest:.0f}: it lies on no lattice, and may be porous."
            findings.append(Finding("floating point", message, is_flagged=False))
    return findings


def _find_lowest_bit(bits: Floats) -> float:
    """Return the lowest exponent of two among those of `find_lowest_bits`, without NaN; 0 if all are NaN.

    Args:
        bits: Exponents of the lowest set bits of an outcome's numbers.
    """
    known = bits[~np.isnan(bits)]
    return float(known.min()) if len(known) else 0.0


def check_timing(sampler: Sampler, pair: NeighbourPair, calls: int = 60) -> list[Finding]:
    """Return a finding if calls take longer on one of two neighbours (Mann-Whitney test).

    Neighbours differ by one record, so calls should take equally long. Calls alternate between both data sets. The
    finding does not flag the release.

    Args:
        sampler: The release.
        pair: Neighbours.
        calls: Calls on each of both.
    """
    from scipy.stats import mannwhitneyu

    times: list[list[float]] = [[], []]
    for call in range(2 * calls):
        side = (call + call // 2) % 2
        times[side].append(_time_call(sampler, (pair.left, pair.right)[side]))
    p_value = float(mannwhitneyu(np.array(times[0]), np.array(times[1])).pvalue)
    if p_value >= FALSE_REPORT_PROBABILITY:
        return []
    medians = [float(np.median(side_times)) for side_times in times]
    message = f"calls take {1000 * medians[0]:.3g} and {1000 * medians[1]:.3g} ms (p = {p_value:.1g}), for {pair.name}."
    return [Finding("timing", message, is_flagged=False)]


def _time_call(sampler: Sampler, data: Any) -> float:
    """Return the wall time of one call of the release on `data`, in seconds.

    Args:
        sampler: The release.
        data: Data set of the pair.
    """
    start = perf_counter()
    sampler.draw(data, 1)
    return perf_counter() - start


def run_extra_checks(sampler: Sampler, pair: NeighbourPair) -> list[Finding]:
    """Run the quick extra checks of a release, and return findings on repeated noise, lattices and run times.

    A slow release (2 ms a call or more) is called less often, and its lattice and run time are not checked.

    Args:
        sampler: The release.
        pair: Neighbours.
    """
    start = perf_counter()
    sampler.draw(pair.left, 1)
    is_slow = perf_counter() - start > 0.002  # seconds a call
    findings = check_noise_reuse(sampler, pair, FEW_COMPARED_CALLS if is_slow else COMPARED_CALLS)
    if not is_slow:
        findings += check_lattice(sampler, pair)
        findings += check_timing(sampler, pair)
    return findings


def as_sampler(release: Callable[..., Any] | Sampler, *, batch: bool) -> Sampler:
    """Return the sampler of a release; a sampler is returned unchanged.

    Args:
        release: A function, or a sampler.
        batch: Whether the function returns many outcomes at once, as `BatchSampler` takes it.
    """
    if not isinstance(release, Sampler):
        return BatchSampler(release) if batch else CallableSampler(release)
    return release


class Audit:
    """Audits a release that is given as a callable.

    Attributes:
        families: Functions that make neighbouring data sets.
    """

    from . import neighbouring_datasets as families

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
        """Search for distinguishing events of a release, and return a lower confidence bound of its privacy loss.

        Everything that a call publishes is an outcome: numbers in any structure, texts, exceptions, printed output, and
            a timeout. Calls must be independent: a release that caches its answers is called in fresh processes
            instead.

        Args:
            release: ``release(data)`` with fresh noise at each call, or a sampler.
            family: Pairs of neighbouring data sets: from `families`, or other pairs.
            epsilon: The claimed epsilon, for the neighbours of the family.
            delta: The claimed delta, with epsilon.
            rho: The claimed zero-concentrated loss, instead of epsilon.
            seconds: Seconds to search. A flagged release ends the search earlier.
            samples: The largest number of outcomes of each data set of a finalist; None: two million.
            confidence: The least probability with which the bound is below the true loss.
            batch: Whether the release also takes a number and returns as many outcomes at once: one row of an array
                each.
            learn: Whether boosted trees are fitted to outcomes as well, if scikit-learn is installed (extra ``audit``).
            confirm_twice: Whether a flagged event is confirmed on further fresh samples before it is reported.
            extra_checks: Whether calls in one tick of a clock, consecutive calls on neighbours, and times of calls are
                compared as well, for about a second; for some more seconds if simultaneous calls agree.
            file: A file that is written after each round, from which the same audit resumes.

        Formal guarantees: with the stated confidence, the bound is at most the privacy loss of the release for any of
            these neighbours, if its calls are independent. Pairs, scores and events are chosen on samples that are then
            discarded; on fresh samples the limits are exact, by Clopper and Pearson (1934), or for the ratio of Poisson
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
        level = require_number("confidence", confidence)
        if not 0 < level < 1:
            raise InvalidArgument(
                "confidence", f"a probability strictly between 0 and 1 is needed, as in 0.95, got {confidence}"
            )
        if not isinstance(family, NeighbouringDatasets):
            raise InvalidArgument(
                "family", "neighbouring data sets are needed, as audit.families.values(edges, adjacency=...)"
            )
        if not require_number("seconds", seconds) > 0:
            raise InvalidArgument("seconds", "a number of seconds above zero is needed, as in 60")
        if samples is not None and samples < 20:
            raise InvalidArgument("samples", "at least 20 outcomes of each data set are needed, as in samples=1000")
        sampler = as_sampler(release, batch=batch)
        search = Search(sampler, family, claim, level, samples or MOST_SAMPLES, learn, confirm_twice=confirm_twice)
        report = search.run(seconds, None if file is None else Path(file))
        if report.is_silent or not extra_checks:  # without answers there is nothing to compare
            return report
        return report.with_findings(*run_extra_checks(sampler, family.pairs[0]))


audit = Audit()
