"""The search of an audit: finds an event whose probabilities on two neighbours contradict the claimed loss.

It works in rounds of growing numbers of samples. Each round screens all pairs of neighbours with few samples, examines
the best ones, and chooses an event for each finalist. Fresh samples then confirm the event, so the choice does not bias
the bound.

Formal guarantees: the lower bounds of all rounds together are wrong with at most the error probability of the audit.
`Tuning` only decides how soon a violation is found.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import inf
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument

from .confidence_limits import Claim, EventCounts, estimate_rho, find_rho_lower_bound, sample_poisson
from .neighbouring_datasets import NeighbouringDatasets, NeighbourPair
from .outcome_scores import Floats, OutcomeParser, Sample, Score, fit_scores
from .report import PairResult, Report, ScoreHistogram
from .samplers import Sampler

MOST_SAMPLES = 2_000_000
"""Default largest number of samples per data set for confirming an event that tells the two data sets apart; more give
a tighter lower bound of the loss, and take longer."""


@dataclass(frozen=True)
class Tuning:
    """Numbers that steer a search. Bounds hold for any values: these only decide how soon a violation is found."""

    most_cuts: int = 200
    """Largest number of thresholds of a score at which events begin or end."""
    caution: float = 2.5
    """Standard errors that are subtracted from an estimated loss before events are compared: small counts vary most."""
    cells: int = 8
    """Cells of a partition for rho; 2, 4 and twice as many are tried as well."""
    first: int = 150
    """Samples of each data set of a finalist in the first round."""
    growth: int = 10
    """Ratio of the samples of a round to the samples of the previous round."""
    screened: float = 0.1
    """Fraction of a round's samples for screening all pairs."""
    examined: float = 0.3
    """Fraction of a round's samples for examining the best pairs."""
    confirmed: float = 0.6
    """Fraction of a round's samples for confirming the finalists."""
    screening_end: float = 0.45
    """Fraction of a round's time after which no further pair is screened, since a busy machine may slow down."""
    examining_end: float = 0.75
    """Fraction of a round's time after which no further pair is examined."""
    least_confirming: float = 0.3
    """Fraction of a round's time that confirming gets in any case, even beyond the end of the round. Without fresh
    samples, the time for choosing an event would be lost."""
    examined_pairs: int = 6
    """Pairs that are examined in a round."""
    pairs: tuple[int, ...] = (1, 4)
    """Pairs of neighbouring data sets in the first and the second round, which find gross faults. Later rounds use all
    pairs."""
    error_shares: tuple[float, ...] = (0.05, 0.15)
    """Fractions of the audit's error probability for the first and the second round. Each later round gets half of the
    remainder."""
    fewest_screened: int = 40
    """Samples below which screening is useless. If time is short, fewer pairs are screened."""
    timed: float = 0.05
    """Seconds: only draws that take longer measure the speed."""
    piece: float = 0.5
    """Seconds of draws between two readings of the clock."""
    probes: int = 3
    """Draws of each size that measure the speed at first. The fastest one counts, because a machine may be busy."""
    slowest: float = 1.0
    """Seconds: a draw that takes longer is not repeated to measure the speed."""
    worthwhile: float = 0.1
    """Fraction of the audit's time that must remain for another round to begin."""
    candidates: int = 2
    """Best pairs of earlier rounds that are screened again before pairs that no round has screened."""
    one_sided: float = 0.2
    """Fraction of a round's error probability for an event seen on one data set only. Such an event is too rare to be
    clear on the few samples that choose events, but may be clear on the many fresh ones."""
    fewest_hits: int = 3
    """Hits that an event needs to be considered."""
    hopeless: int = 50
    """Calls after which a search ends if all of them failed."""


TUNING = Tuning()
"""Default numbers of a search. Bounds hold for any: they only decide how soon a violation is found."""


@dataclass(frozen=True)
class Event:
    """The event whose probabilities on both data sets are compared.

    It is a closed interval of a score; for rho it is a partition of the outcomes by a score.

    Attributes:
        score: The score.
        low: Lower bound of the interval.
        high: Upper bound of the interval.
        reverse: Whether the event is likelier on the right data set.
        cuts: First values of the cells of the partition; empty for an interval.
        estimated_loss: Estimated privacy loss, minus standard errors, on the samples that chose the event.
    """

    score: Score
    low: float
    high: float
    reverse: bool
    cuts: tuple[float, ...]
    estimated_loss: float

    def __str__(self) -> str:
        if self.cuts:
            return f"{self.score.name}, in {len(self.cuts) + 1} cells"
        if self.low == self.high:
            return f"{self.score.name} is {self.low:.6g}"
        if self.low == -inf:
            return f"{self.score.name} is at most {self.high:.6g}"
        return f"{self.score.name} is at least {self.low:.6g}"

    def is_same_set(self, other: Event) -> bool:
        """Return True if another event is the same set of outcomes of the release, and is likelier on the same data
        set.
        """
        return (self.score.name, self.low, self.high, self.reverse) == (
            other.score.name, other.low, other.high, other.reverse
        )  # fmt: skip

    def mark_hits(self, sample: Sample) -> NDArray[np.bool_]:
        """Return a mask of the outcomes in the event, (outcomes,).

        Args:
            sample: Outcomes of one data set.
        """
        values = self.score.compute(sample)
        return np.asarray((values >= self.low) & (values <= self.high))

    def count_cells(self, sample: Sample) -> NDArray[np.int64]:
        """Count outcomes in the cells of the partition; outcomes without a score are in the last cell.

        Args:
            sample: Outcomes of one data set.

        Returns:
            Array of shape ``(cuts + 2,)``.
        """
        values = self.score.compute(sample)
        cells = np.where(np.isnan(values), len(self.cuts) + 1, np.searchsorted(self.cuts, values, side="right"))
        return np.bincount(cells, minlength=len(self.cuts) + 2)

    def count_hits(self, left: Sample, right: Sample) -> EventCounts:
        """Count the hits of both data sets; the data set on which the event is likelier comes first.

        Args:
            left: Outcomes of the first data set.
            right: Outcomes of the second data set.
        """
        likelier, other = (right, left) if self.reverse else (left, right)
        return EventCounts(
            int(self.mark_hits(likelier).sum()), int(self.mark_hits(other).sum()), len(likelier), len(other)
        )

    def bound_loss(self, left: Sample, right: Sample, claim: Claim, error: float, *, as_ratio: bool) -> float:
        """Return a lower limit of the privacy loss, in the claimed parameter, from fresh samples.

        Args:
            left: Fresh outcomes of one data set.
            right: Fresh outcomes of the other data set.
            claim: The claimed loss.
            error: Probability that the limit is wrong, between 0 and 1.
            as_ratio: Whether the numbers of samples are Poisson.
        """
        if claim.rho is None:
            return self.count_hits(left, right).bound_epsilon(claim, error, as_ratio=as_ratio)
        likelier, other = (right, left) if self.reverse else (left, right)
        return find_rho_lower_bound(self.count_cells(likelier), self.count_cells(other), error)


def sort_scores(scores: Iterable[Score], left: Sample, right: Sample, tuning: Tuning) -> list[SortedScore]:
    """Return the sorted values of the scores that any outcome has.

    Args:
        scores: Functions of an outcome.
        left: Outcomes of one data set.
        right: Outcomes of the other data set.
        tuning: The largest number of cuts of a score.
    """
    sorted_scores = (SortedScore.from_samples(score, left, right, tuning) for score in scores)
    return [sorted_score for sorted_score in sorted_scores if sorted_score is not None]


def rank_events(sorted_scores: Iterable[SortedScore], claim: Claim) -> list[Event]:
    """Return the best event of each score and direction, by decreasing estimated loss; learned scores come last among
    equal losses.

    Args:
        sorted_scores: Scores of both samples, sorted.
        claim: Claimed loss.
    """
    best = (score.find_best_event(claim, reverse=reverse) for score in sorted_scores for reverse in (False, True))
    events = [event for event in best if event is not None]
    return sorted(events, key=lambda event: (-round(event.estimated_loss, 2), event.score.is_learned))


def choose_one_sided_event(sorted_scores: Iterable[SortedScore], claim: Claim) -> Event | None:
    """Return the most frequent event that one data set alone has shown; None without one-sided events, or if rho is
    claimed.

    Args:
        sorted_scores: Scores of both data sets' outcomes.
        claim: Claimed privacy loss.
    """
    if claim.rho is not None:
        return None
    candidates = [score.find_one_sided_event(claim, reverse) for score in sorted_scores for reverse in (False, True)]
    return max((one for one in candidates if one is not None), default=None, key=lambda event: event.estimated_loss)


@dataclass(frozen=True)
class SortedScore:
    """A score of two samples, sorted once for both directions and all cuts.

    Attributes:
        score: The score.
        sorted_samples: Its sorted values in each sample, without outcomes that have none.
        sample_sizes: Outcomes of each sample.
        values: The sorted values of both samples.
        cuts: Thresholds of events: all distinct values, or quantiles, which are denser in the tails.
        tuning: Numbers that steer the choice of an event.
    """

    score: Score
    sorted_samples: tuple[Floats, Floats]
    sample_sizes: tuple[int, int]
    values: Floats
    cuts: Floats
    tuning: Tuning = TUNING

    @classmethod
    def from_samples(cls, score: Score, left: Sample, right: Sample, tuning: Tuning = TUNING) -> SortedScore | None:
        """Return the sorted values of a score; None if no outcome has one.

        Args:
            score: Function of an outcome.
            left: Outcomes of one data set.
            right: Outcomes of the other data set.
            tuning: The largest number of cuts.
        """
        a, b = (np.sort(scores[~np.isnan(scores)]) for scores in map(score.compute, (left, right)))
        values = np.sort(np.concatenate([a, b]), kind="stable")  # merges the two
        if not len(values):
            return None
        cuts = values[np.append(True, values[1:] != values[:-1])]
        if len(cuts) > tuning.most_cuts:
            tails = np.geomspace(3 / len(values), 0.1, 40)
            shares = np.concatenate([tails, np.linspace(0.1, 0.9, tuning.most_cuts - 80), 1 - tails])
            cuts = find_quantiles(values, np.sort(shares))
        return cls(score, (a, b), (len(left), len(right)), values, cuts, tuning)

    def find_best_event(self, claim: Claim, *, reverse: bool) -> Event | None:
        """Return the event with the largest estimated loss in one direction.

        Args:
            claim: Claimed privacy loss.
            reverse: If True, the event is likelier on the second data set.
        """
        (a, b), (n, m) = self.sorted_samples, self.sample_sizes
        if reverse:
            a, b, n, m = b, a, m, n
        if not len(a):
            return None
        if claim.rho is not None:
            return self._find_best_partition(reverse)
        hits, other_hits = self._count_hits(a, b)
        estimates = _estimate_log_ratios(
            hits, other_hits, n, m, claim.delta, caution=self.tuning.caution, fewest=self.tuning.fewest_hits
        )
        best = int(np.argmax(estimates))
        return self._make_event(best, reverse, float(estimates[best]))

    def find_one_sided_event(self, claim: Claim, reverse: bool) -> Event | None:
        """Return the most frequent event of one direction that the other data set has not shown; None without such an
        event.

        Its estimated loss takes one hit for the other data set.

        Args:
            claim: Claimed privacy loss.
            reverse: If True, only the second data set has shown the event.
        """
        a, b = self.sorted_samples[::-1] if reverse else self.sorted_samples
        n, m = self.sample_sizes[::-1] if reverse else self.sample_sizes
        hits, other_hits = self._count_hits(a, b)
        hits = np.where(other_hits == 0, hits, 0)
        best = int(np.argmax(hits))
        if hits[best] < self.tuning.fewest_hits or hits[best] / n <= claim.delta:
            return None
        return self._make_event(best, reverse, float(np.log((hits[best] / n - claim.delta) * (m + 1))))

    def _count_hits(self, a: Floats, b: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the hits of two samples: at or above each cut, at or below it, and at the cut.

        Args:
            a: Sorted scores of one sample.
            b: Sorted scores of the other sample.

        Returns:
            Hits of each sample, (3 * cuts,).
        """
        below, other_below = (np.searchsorted(x, self.cuts, side="left") for x in (a, b))
        up_to, other_up_to = (np.searchsorted(x, self.cuts, side="right") for x in (a, b))
        hits = np.concatenate([len(a) - below, up_to, up_to - below])
        return hits, np.concatenate([len(b) - other_below, other_up_to, other_up_to - other_below])

    def _make_event(self, number: int, reverse: bool, estimated_loss: float) -> Event:
        """Return the event of a number in the order of `_count_hits`.

        Args:
            number: Position among the events of all cuts.
            reverse: If True, the event is likelier on the second data set.
            estimated_loss: Estimated loss of the event.
        """
        kind, cut = divmod(number, len(self.cuts))
        threshold = float(self.cuts[cut])
        low, high = ((threshold, inf), (-inf, threshold), (threshold, threshold))[kind]
        return Event(self.score, low, high, reverse, (), estimated_loss)

    def _find_best_partition(self, reverse: bool) -> Event:
        """Return the partition into cells of about equal frequency with the largest estimated loss.

        Args:
            reverse: Whether the event is likelier on the right data set.
        """
        events: list[Event] = []
        for cells in (2, 4, self.tuning.cells, 2 * self.tuning.cells):
            thresholds = find_quantiles(self.values, np.arange(1, cells) / cells)
            left_counts, right_counts = (
                np.append(np.diff(np.searchsorted(x, thresholds), prepend=0, append=len(x)), size - len(x))
                for x, size in zip(self.sorted_samples, self.sample_sizes, strict=True)
            )
            if reverse:
                left_counts, right_counts = right_counts, left_counts
            estimate = estimate_rho(left_counts, right_counts, self.tuning.caution)
            events.append(Event(self.score, -inf, inf, reverse, tuple(thresholds.tolist()), estimate))
        return max(events, key=lambda event: event.estimated_loss)


def find_quantiles(values: Floats, shares: Floats) -> Floats:
    """Return the distinct lower quantiles of a sorted sample at these levels.

    Args:
        values: Sorted sample, not empty.
        shares: Levels of the quantiles, from 0 to 1.

    Returns:
        The quantiles, increasing; fewer than the levels if some are equal.

    >>> find_quantiles(np.array([1.0, 2.0, 2.0, 7.0]), np.array([0.25, 0.3, 0.75, 0.8])).tolist()
    [1.0, 2.0, 7.0]
    """
    quantiles: Floats = np.unique(values[np.maximum(np.ceil(shares * len(values)).astype(np.int64) - 1, 0)])
    return quantiles


def _estimate_log_ratios(
    hits: NDArray[np.int64], other_hits: NDArray[np.int64], n: int, m: int, delta: float, *, caution: float, fewest: int
) -> Floats:
    """Return ``log((hits / n - delta) / q)`` minus `caution` standard errors, with ``q = (other_hits + 1) / (m + 1)``.

    `n` and `m` are the numbers of samples of the two data sets. Minus infinity where `hits` is below `fewest`,
    or its frequency at most `delta`.

    Args:
        hits: Hits of each event among the `n` samples.
        other_hits: Hits of each event among the `m` samples.
        n: Number of samples of the first data set.
        m: Number of samples of the second data set.
        delta: Claimed delta, subtracted from the frequency of hits.
        caution: Standard errors to subtract.
        fewest: Fewest hits of an event that may be chosen.
    """
    p = hits / n
    q = (other_hits + 1) / (m + 1)
    excess = p - delta
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        error = np.sqrt(
            (1 - p) / np.maximum(hits, 1) * (p / np.maximum(excess, 1e-300)) ** 2 + (1 - q) / (other_hits + 1)
        )
        estimate = np.log(np.maximum(excess, 0)) - np.log(q) - caution * error
    return np.where((hits >= fewest) & (excess > 0), estimate, -inf)


def read_processor_clock() -> float:
    """Return the processor seconds of this process and its ended children, plus a twentieth of the wall-clock seconds.

    A search by this clock does as much work on a busy machine as on an idle one.
    """
    times = os.times()
    return process_time() + times.children_user + times.children_system + monotonic() / 20


@dataclass
class Search:
    """State of an audit.

    Attributes:
        sampler: The release.
        family: The neighbouring data sets.
        claim: The claimed loss.
        confidence: Confidence of the bound.
        max_samples: The largest number of samples of each data set of a finalist.
        learn: Whether boosted trees are fitted.
        finalists: Events that are confirmed in a round; the error is divided among them.
        confirm_twice: Whether a flagged event is confirmed a second time.
        tuning: Numbers that steer the search.
        clock: Returns seconds, of the wall or of the processor.
    """

    sampler: Sampler
    family: NeighbouringDatasets
    claim: Claim
    confidence: float
    max_samples: int = MOST_SAMPLES
    learn: bool = False
    finalists: int = 1
    confirm_twice: bool = False
    tuning: Tuning = TUNING
    clock: Callable[[], float] = monotonic
    parser: OutcomeParser = field(default_factory=OutcomeParser)
    calls: int = 0
    calls_per_second: float = 50.0
    recent_speeds: deque[float] = field(default_factory=lambda: deque(maxlen=9))  # their median is the speed
    samples_used: int = 0
    ranking: list[int] = field(default_factory=list)
    pair_results: dict[int, PairResult] = field(default_factory=dict)

    def run(self, seconds: float, file: Path | None = None) -> Report:
        """Search for events that distinguish neighbouring data sets by more than the claim, in rounds of growing
        samples.

        Args:
            seconds: Time of the search.
            file: File of an earlier search, which is resumed, and written after each round; None: no file.

        Returns:
            Report with the largest lower bound of the loss.
        """
        self.ranking = list(range(len(self.family.pairs)))
        report, rounds = self._load_state(file)
        earlier_seconds = report.seconds
        self._measure_speed()
        start = self.clock()  # loading time is not part of the search
        error_left = 1 - sum(find_error_fraction(number, self.tuning.error_shares) for number in range(rounds))
        while not report.is_flagged and self.samples_used < self.max_samples:
            remaining = seconds - (self.clock() - start)
            if remaining <= (self.tuning.worthwhile * seconds if rounds else 0) or self._is_hopeless:
                break
            target = self.tuning.first * self.tuning.growth**rounds
            target = target if rounds else min(target, self.max_samples // 8)
            is_enough = 3 * target >= self.max_samples - self.samples_used
            target = self.max_samples - self.samples_used if is_enough else target
            is_short = file is None and remaining * self.calls_per_second < (4 if rounds else 8) * target
            if is_short:
                target = self.max_samples - self.samples_used
            is_last = not is_short and is_enough and self.max_samples < MOST_SAMPLES
            # A short round may end early if the machine was busy when its speed was measured: then a further round
            # follows.
            fraction = find_error_fraction(rounds, self.tuning.error_shares)
            error_share = error_left if is_last else min(fraction, 0.5 * error_left)
            error_share = 0.5 * error_left if is_short else error_share
            error_left -= error_share
            self._rank_unseen_pairs()
            round_report = self._run_round(
                rounds, target, (1 - self.confidence) * error_share, remaining * (1.0 if rounds or is_short else 0.2)
            )
            rounds = rounds + 1
            self.samples_used = self.samples_used + (0 if is_short else target)
            elapsed = earlier_seconds + self.clock() - start
            report = self._merge_reports(report, replace(round_report, rounds=rounds, seconds=elapsed))
            self._save_state(file, report, rounds)
        if self._is_hopeless:
            elapsed = earlier_seconds + self.clock() - start
            return replace(self._make_report(1 - self.confidence), rounds=rounds, seconds=elapsed)
        return report

    def _rank_unseen_pairs(self) -> None:
        """Rank the pairs that no round has screened yet behind the best `Tuning.candidates` pairs, and before all
        others.
        """
        seen = [index for index in self.ranking if index in self.pair_results]
        unseen = [index for index in self.ranking if index not in self.pair_results]
        self.ranking = [*seen[: self.tuning.candidates], *unseen, *seen[self.tuning.candidates :]]

    @property
    def _is_hopeless(self) -> bool:
        """Return True if many calls were made and all calls failed."""
        return self.calls >= self.tuning.hopeless and self._make_report(1 - self.confidence).is_silent

    # One round.

    def _run_round(self, done: int, target: int, error: float, seconds: float) -> Report:
        """Screen pairs, examine the best and confirm the finalists within this time; return the report with the largest
        lower bound.

        Args:
            done: Number of rounds before.
            target: Number of samples to use.
            error: Error probability of this round.
            seconds: Time of this round.
        """
        calls = max(8.0, seconds * self.calls_per_second)
        deadline = self.clock() + seconds
        tuning = self.tuning
        pair_count = len(self.ranking)
        if done < len(self.tuning.pairs) and self.samples_used + target < self.max_samples:
            pair_count = self.tuning.pairs[done]
        pairs = self._screen_pairs(
            self.ranking[:pair_count], target, 0.25 * calls, deadline - (1 - tuning.screening_end) * seconds
        )
        examined = self._examine_pairs(pairs, target, 0.25 * calls, deadline - (1 - tuning.examining_end) * seconds)
        if not examined or self._is_hopeless:
            return self._make_report(error)
        draws = 2 * len(examined) * (1.5 if self.confirm_twice else 1.0)
        time_left = max(deadline - self.clock(), tuning.least_confirming * seconds)
        samples = int(max(4, min(tuning.confirmed * target, time_left * self.calls_per_second / draws)))
        best: Report | None = None
        for index, events, samples_seen in examined:
            report = self._confirm_events(
                self.family.pairs[index], events, samples, error / len(examined), samples_seen
            )
            best = report if best is None or report.lower_bound > best.lower_bound else best
        return best if best is not None else self._make_report(error)

    def _screen_pairs(
        self, order: list[int], target: int, calls: float, deadline: float
    ) -> dict[int, tuple[Sample, Sample]]:
        """Draw small samples of these pairs, or of as many as time allows; rank them by estimated loss.

        Args:
            order: Indices of the pairs, best first.
            target: Number of samples of this round.
            calls: Number of calls for screening.
            deadline: Time of the clock after which no further pair is begun.

        Returns:
            Samples of the left and of the right data set, by index of the pair.
        """
        samples = int(min(self.tuning.screened * target, calls / (2 * len(order))))
        if samples < self.tuning.fewest_screened:
            samples = int(max(4, min(self.tuning.fewest_screened, calls / 2)))
            order = order[: max(1, int(calls / (2 * samples)))]
        samples_by_pair: dict[int, tuple[Sample, Sample]] = {}
        estimates: dict[int, float] = {}
        for index in order:
            if samples_by_pair and self.clock() > deadline:
                break
            pair = self.family.pairs[index]
            left = self._draw_sample(pair.left, samples)
            right = self._draw_sample(pair.right, samples)
            samples_by_pair[index] = left, right
            events, _ = self._find_events(left, right)
            estimates[index] = events[0].estimated_loss if events else -np.inf
            self._record_pair(index, samples, events)
        unscreened = [index for index in self.ranking if index not in samples_by_pair]
        ranked = sorted(samples_by_pair, key=lambda index: -estimates[index])
        self.ranking = [*ranked[: max(self.tuning.examined_pairs, len(ranked) // 2)], *unscreened]
        return samples_by_pair

    def _examine_pairs(
        self, samples_by_pair: dict[int, tuple[Sample, Sample]], target: int, calls: float, deadline: float
    ) -> list[tuple[int, list[Event], tuple[Sample, Sample]]]:
        """Return events of the best pairs on more samples, the best pairs first.

        A pair has its best event, and the most frequent event that one data set alone has shown.

        Args:
            samples_by_pair: Samples of screening, which are extended.
            target: Number of samples of this round.
            calls: Number of calls for examining.
            deadline: Time of the clock after which no further pair is begun.

        Returns:
            Index of a pair, its one or two events, and its samples.
        """
        best_pairs = [index for index in self.ranking if index in samples_by_pair][: self.tuning.examined_pairs]
        samples = int(min(self.tuning.examined * target, calls / (2 * len(best_pairs))))
        examined: list[tuple[int, list[Event], tuple[Sample, Sample]]] = []
        for index in best_pairs:
            if examined and self.clock() > deadline:
                break
            pair, (left, right) = self.family.pairs[index], samples_by_pair[index]
            if samples:
                left = left + self._draw_sample(pair.left, samples)
                right = right + self._draw_sample(pair.right, samples)
            events, one_sided = self._find_events(left, right, learn=self.learn)
            self._record_pair(index, len(left), events)
            if events:
                further = [] if one_sided is None or one_sided.is_same_set(events[0]) else [one_sided]
                examined.append((index, [events[0], *further], (left, right)))
        examined.sort(key=lambda item: -item[1][0].estimated_loss)
        return examined[: self.finalists]

    def _confirm_events(
        self, pair: NeighbourPair, events: Sequence[Event], samples: int, error: float,
        chosen_on: tuple[Sample, Sample],
    ) -> Report:  # fmt: skip
        """Return the report of a pair from fresh samples: the larger bound of its events, and a histogram.

        The samples have Poisson sizes, and the events share the error probability.

        Args:
            pair: Neighbouring data sets.
            events: One or two events, chosen on earlier samples.
            samples: Mean number of fresh samples of each data set.
            error: Probability that the bound may be wrong.
            chosen_on: Earlier samples, which decide how each event is bounded.
        """
        left, right = (self._draw_sample(data, sample_poisson(samples)) for data in (pair.left, pair.right))
        shares = (1 - self.tuning.one_sided, self.tuning.one_sided) if len(events) > 1 else (1.0,)
        bounds: list[tuple[float, Event, float, bool]] = []
        for event, share in zip(events, shares, strict=True):
            as_ratio = event.count_hits(*chosen_on).is_ratio_sharper(samples, error * share)
            bound = event.bound_loss(left, right, self.claim, error * share, as_ratio=as_ratio)
            bounds.append((bound, event, error * share, as_ratio))
        lower, event, error, as_ratio = max(bounds, key=lambda found: found[0])
        second_lower = None
        if self.confirm_twice and lower > self.claim.amount:
            further = [self._draw_sample(data, sample_poisson(samples)) for data in (pair.left, pair.right)]
            second_lower = event.bound_loss(further[0], further[1], self.claim, error, as_ratio=as_ratio)
        counts = event.count_hits(left, right)
        return replace(
            self._make_report(error), lower_bound=max(0.0, lower), second_lower_bound=second_lower,
            pair=pair.name, event=str(event),
            likelier_side="right" if event.reverse else "left", hits=(counts.hits, counts.other_hits),
            samples=(counts.samples, counts.other_samples), histogram=make_histogram(event, left, right),
            detectable_deficit=self.claim.find_detectable_deficit(samples, error),
        )  # fmt: skip

    def _find_events(self, left: Sample, right: Sample, *, learn: bool = False) -> tuple[list[Event], Event | None]:
        """Return the best event, and the most frequent event that one data set alone has shown.

        Scores are fitted to two fifths of the samples, and events are chosen on the rest.

        Args:
            left: Sample from one data set.
            right: Sample from the neighbouring one.
            learn: Whether scores are fitted by machine learning as well.

        Returns:
            A list of the best event, empty if no event was found; and the one-sided event, or None.
        """
        left_size = max(1, 2 * len(left) // 5)
        right_size = max(1, 2 * len(right) // 5)
        scores = fit_scores(left.slice_outcomes(0, left_size), right.slice_outcomes(0, right_size), learn=learn)
        rest = left.slice_outcomes(left_size), right.slice_outcomes(right_size)
        sorted_scores = sort_scores(scores, *rest, self.tuning)
        return rank_events(sorted_scores, self.claim)[:1], choose_one_sided_event(sorted_scores, self.claim)

    # Draws and their results.

    def _draw_sample(self, data: Any, samples: int) -> Sample:
        """Draw outcomes of the release in pieces, which bounds memory and measures the speed of the release.

        Args:
            data: The data set.
            samples: Number of outcomes.
        """
        outcomes = Sample(np.empty(0, dtype=np.int64), np.empty((0, 0)))
        while len(outcomes) < samples:
            piece = int(max(1, min(samples - len(outcomes), 500_000, self.calls_per_second * self.tuning.piece)))
            start = self.clock()
            sample = self.parser.parse_outcomes(self.sampler.draw(data, piece))
            elapsed = self.clock() - start
            if elapsed > self.tuning.timed:  # long enough to measure the speed
                self.recent_speeds.append(piece / elapsed)
                self.calls_per_second = float(np.median(self.recent_speeds))
            elif elapsed < piece / self.calls_per_second / 2:  # the machine was busy when the speed was measured
                self.calls_per_second *= 2
            self.calls += piece
            outcomes = outcomes + sample if len(outcomes) else sample
        return outcomes

    def _measure_speed(self) -> None:
        """Measure how many calls per second the release allows, by draws that are not used; the first call loads and
        compiles.
        """
        data = self.family.pairs[0].left
        self.parser.parse_outcomes(self.sampler.draw(data, 1))
        self.calls += 1
        sample_poisson(1)  # loads SciPy before the clock is read
        for calls in (1, 8, 64):
            elapsed = inf
            for _ in range(self.tuning.probes):
                start = self.clock()
                self.parser.parse_outcomes(self.sampler.draw(data, calls))
                self.calls += calls
                elapsed = min(elapsed, self.clock() - start)
                if elapsed <= self.tuning.timed or elapsed > self.tuning.slowest:
                    break
            self.calls_per_second = calls / max(elapsed, 1e-6)
            if elapsed > self.tuning.timed:
                return

    def _record_pair(self, index: int, samples: int, events: list[Event]) -> None:
        """Store the number of samples and the best event of a pair.

        Args:
            index: Index of the pair in the family.
            samples: Number of samples drawn.
            events: Events that were found, the best first.
        """
        name = self.family.pairs[index].name
        best = events[0] if events else None
        estimated_loss = None if best is None or not np.isfinite(best.estimated_loss) else round(best.estimated_loss, 6)
        self.pair_results[index] = PairResult(name, samples, "" if best is None else str(best), estimated_loss)

    def _make_report(self, error: float) -> Report:
        """Return a report without a bound: the claim, calls, pairs, outcome types, and the smallest detectable lack of
        noise.

        Args:
            error: Probability that a bound of the report is wrong, on which the smallest detectable lack of noise
                depends.
        """
        claim = self.claim
        return Report(
            self.sampler.name, self.family.name, self.family.adjacency.value, claim.parameter, claim.amount,
            claim.delta, self.confidence, calls=self.calls,
            pair_results=tuple(self.pair_results[place] for place in sorted(self.pair_results)),
            kinds=tuple(self.parser.kind_numbers)[:50], family_pairs=len(self.family.pairs),
            detectable_deficit=claim.find_detectable_deficit(0, error),
        )  # fmt: skip

    def _merge_reports(self, earlier: Report, later: Report) -> Report:
        """Merge the reports of several rounds of a search: the larger bound, with all calls and pairs.

        Args:
            earlier: Report of the rounds before.
            later: Report of the last round.
        """
        report = later if later.lower_bound >= earlier.lower_bound or later.is_flagged or not earlier.event else earlier
        deficit = later.detectable_deficit if later.detectable_deficit is not None else earlier.detectable_deficit
        return replace(
            report, calls=self.calls, pair_results=later.pair_results, kinds=later.kinds, rounds=later.rounds,
            seconds=later.seconds,
            detectable_deficit=deficit, samples=report.samples,
        )  # fmt: skip

    # The file from which a stopped search resumes.

    @property
    def _fingerprint(self) -> str:
        """SHA-256 of what a stored search must agree in: release, family, claim, confidence, samples and pairs."""
        facts = (
            self.sampler.name, self.family.name, self.family.adjacency.value, str(self.claim), self.confidence,
            self.max_samples, [pair.name for pair in self.family.pairs],
        )  # fmt: skip
        return sha256(json.dumps(facts).encode()).hexdigest()

    def _load_state(self, file: Path | None) -> tuple[Report, int]:
        """Return the report and the number of rounds of a stored search; an empty report without a file.

        Args:
            file: File of an earlier search; None, or a file that does not exist: a new search.

        Raises:
            InvalidArgument: the file is the state of another audit, or no state of an audit.
        """
        empty = self._make_report(1 - self.confidence)
        if file is None or not file.exists():
            return empty, 0
        try:
            state = json.loads(file.read_text(encoding="utf-8"))
            if state["key"] != self._fingerprint:
                raise InvalidArgument(
                    "file",
                    "the file is from another audit (release, family, claim or confidence differ);"
                    " resume it with the same arguments, or name a new file",
                )
            self.ranking = [int(index) for index in state["ranking"]]
            self.calls = int(state["report"]["calls"])
            self.samples_used = int(state["used"])
            self.pair_results = {int(index): PairResult(**result) for index, result in state["pair_results"].items()}
            return Report.from_dict(state["report"]), int(state["done"])
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError):
            raise InvalidArgument(
                "file", "the file holds no audit; give the file that an audit wrote, or name a new one"
            ) from None

    def _save_state(self, file: Path | None, report: Report, done: int) -> None:
        """Replace the file by the state after a round; do nothing without a file.

        Args:
            file: File of the state; None: nothing is stored.
            report: Report so far.
            done: Number of finished rounds.
        """
        if file is None:
            return
        state = {
            "key": self._fingerprint, "done": done, "used": self.samples_used, "ranking": self.ranking,
            "pair_results": {index: vars(result) for index, result in self.pair_results.items()},
            "report": report.to_dict(),
        }  # fmt: skip
        draft = file.with_name(f"{file.name}.draft")
        draft.write_text(json.dumps(state), encoding="utf-8")
        draft.replace(file)


def find_error_fraction(done: int, shares: Sequence[float] = TUNING.error_shares) -> float:
    """Return the fraction of the error probability for round `done`; the fractions of all rounds add up to at most 1.

    The first rounds get the fractions in `shares`; each later round gets half of the remainder.

    >>> [find_error_fraction(done) for done in range(4)]
    [0.05, 0.15, 0.4, 0.2]
    """
    return shares[done] if done < len(shares) else (1 - sum(shares)) * 0.5 ** (done - len(shares) + 1)


def make_histogram(event: Event, left: Sample, right: Sample, bins: int = 40) -> ScoreHistogram | None:
    """Return the histograms of the event's score on both data sets, to plot where the event lies.

    About `bins` equal bins lie between the scores' quantiles 0.001 and 0.999; a score of few values has a bin per
    value.

    Args:
        event: The event, with its score.
        left: Outcomes of one data set.
        right: Outcomes of the other data set.
        bins: Approximate largest number of bins.
    """
    a = event.score.compute(left)
    b = event.score.compute(right)
    values = np.concatenate([a[~np.isnan(a)], b[~np.isnan(b)]])
    if not len(values):
        return None
    distinct = np.unique(values)
    if len(distinct) <= bins:
        edges = np.append(distinct, np.inf)
    else:
        quantiles = np.quantile(values, [0.001, 0.999])
        edges = np.concatenate([[-np.inf], np.linspace(quantiles[0], quantiles[1], bins - 1), [np.inf]])
        edges = np.unique(np.append(edges, [bound for bound in (event.low, event.high) if np.isfinite(bound)]))
    shares = [np.histogram(x[~np.isnan(x)], edges)[0] / max(1, len(x)) for x in (a, b)]
    in_event = (edges[:-1] >= event.low) & ((edges[1:] <= event.high) | (edges[:-1] == event.high))
    return ScoreHistogram(
        tuple(edges.tolist()), tuple(shares[0].tolist()), tuple(shares[1].tolist()), tuple(map(bool, in_event.tolist()))
    )
