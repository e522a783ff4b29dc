"""Search for events that contradict a claim: chosen on samples, and confirmed on fresh ones, in growing rounds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import inf
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument

from .bound import Claim, EventCounts, estimate_rho, find_rho_lower_bound, sample_poisson
from .family import NeighbouringDatasets, NeighbourPair
from .feature import Floats, OutcomeParser, Sample, Score, fit_scores
from .report import PairResult, Report, ScoreHistogram
from .samplers import Sampler

MOST_CUTS = 200
CAUTION = 2.5
"""Standard errors by which a guess is lowered before events are compared: small counts win by chance otherwise."""
CELLS = 8


@dataclass(frozen=True)
class Event:
    """Event whose chances are compared: a score in a closed interval; or, under zCDP, a partition of a score.

    Attributes:
        score: The score.
        low: Lower end.
        high: Upper end.
        reverse: Whether it is likelier on the right data set.
        cuts: Where cells of the partition begin; empty: there is none.
        estimated_loss: Privacy loss that the samples suggest that chose it, lowered by their error.
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

    def mark_hits(self, sample: Sample) -> NDArray[np.bool_]:
        """Tell which outcomes it holds."""
        values = self.score.compute(sample)
        return np.asarray((values >= self.low) & (values <= self.high))

    def count_cells(self, sample: Sample) -> NDArray[np.int64]:
        """Counts of outcomes in the cells of the partition; outcomes without a score are in the last one."""
        values = self.score.compute(sample)
        places = np.where(np.isnan(values), len(self.cuts) + 1, np.searchsorted(self.cuts, values, side="right"))
        return np.bincount(places, minlength=len(self.cuts) + 2)

    def count_hits(self, left: Sample, right: Sample) -> EventCounts:
        """Hits of both data sets, that of the likelier one first."""
        ours, theirs = (right, left) if self.reverse else (left, right)
        return EventCounts(int(self.mark_hits(ours).sum()), int(self.mark_hits(theirs).sum()), len(ours), len(theirs))

    def bound_loss(self, left: Sample, right: Sample, claim: Claim, error: float, *, as_ratio: bool) -> float:
        """Lower limit of the privacy loss, in the claim's currency, from fresh samples."""
        if claim.rho is None:
            return self.count_hits(left, right).bound_epsilon(claim, error, as_ratio=as_ratio)
        ours, theirs = (right, left) if self.reverse else (left, right)
        return find_rho_lower_bound(self.count_cells(ours), self.count_cells(theirs), error)


def choose_events(scores: Iterable[Score], left: Sample, right: Sample, claim: Claim, most: int = 1) -> list[Event]:
    """Events that suggest the largest privacy loss on these samples, at most one of each score and direction."""
    found: list[Event] = []
    for score in scores:
        both = SortedScore.from_samples(score, left, right)
        if both is not None:
            found += [
                event
                for event in (both.find_best_event(claim, reverse=way) for way in (False, True))
                if event is not None
            ]
    return sorted(found, key=lambda each: (-round(each.estimated_loss, 2), each.score.is_learned))[:most]


@dataclass(frozen=True)
class SortedScore:
    """A score of two samples, sorted once for both directions and all cuts.

    Attributes:
        score: The score.
        sorted_samples: Its values in each sample, sorted; outcomes without one are left out.
        sample_sizes: Outcomes of each sample.
        values: Those of both, sorted.
        cuts: Where events begin or end: all distinct values, or quantiles, closer to each other at the ends.
    """

    score: Score
    sorted_samples: tuple[Floats, Floats]
    sample_sizes: tuple[int, int]
    values: Floats
    cuts: Floats

    @classmethod
    def from_samples(cls, score: Score, left: Sample, right: Sample) -> SortedScore | None:
        """Values of a score; None: no outcome has one."""
        a, b = (np.sort(found[~np.isnan(found)]) for found in map(score.compute, (left, right)))
        values = np.sort(np.concatenate([a, b]), kind="stable")  # merges the two
        if not len(values):
            return None
        cuts = values[np.append(True, values[1:] != values[:-1])]
        if len(cuts) > MOST_CUTS:
            tails = np.geomspace(3 / len(values), 0.1, 40)
            shares = np.concatenate([tails, np.linspace(0.1, 0.9, MOST_CUTS - 80), 1 - tails])
            cuts = find_quantiles(values, np.sort(shares))
        return cls(score, (a, b), (len(left), len(right)), values, cuts)

    def find_best_event(self, claim: Claim, *, reverse: bool) -> Event | None:
        """The event that suggests the largest loss in one direction."""
        (a, b), (n, m) = (
            (self.sorted_samples, self.sample_sizes)
            if not reverse
            else (self.sorted_samples[::-1], self.sample_sizes[::-1])
        )
        if not len(a):
            return None
        if claim.rho is not None:
            return self._find_best_partition(reverse)
        from_ours, from_theirs = (np.searchsorted(x, self.cuts, side="left") for x in (a, b))
        to_ours, to_theirs = (np.searchsorted(x, self.cuts, side="right") for x in (a, b))
        hits = np.concatenate([len(a) - from_ours, to_ours, to_ours - from_ours])
        others = np.concatenate([len(b) - from_theirs, to_theirs, to_theirs - from_theirs])
        guesses = _estimate_log_ratios(hits, others, n, m, claim.delta)
        place = int(np.argmax(guesses))
        kind, cut = divmod(place, len(self.cuts))
        at = float(self.cuts[cut])
        low, high = ((at, inf), (-inf, at), (at, at))[kind]
        return Event(self.score, low, high, reverse, (), float(guesses[place]))

    def _find_best_partition(self, reverse: bool) -> Event:
        """Cells of about equal frequency, few or many, whichever suggest the larger loss."""
        found: list[Event] = []
        for cells in (2, 4, CELLS, 2 * CELLS):
            at = find_quantiles(self.values, np.arange(1, cells) / cells)
            ours, theirs = (
                np.append(np.diff(np.searchsorted(x, at), prepend=0, append=len(x)), size - len(x))
                for x, size in zip(self.sorted_samples, self.sample_sizes, strict=True)
            )
            guess = estimate_rho(theirs, ours, CAUTION) if reverse else estimate_rho(ours, theirs, CAUTION)
            found.append(Event(self.score, -inf, inf, reverse, tuple(at.tolist()), guess))
        return max(found, key=lambda each: each.estimated_loss)


def find_quantiles(values: Floats, shares: Floats) -> Floats:
    """Distinct values below or at which a sorted sample has these shares, at least.

    >>> find_quantiles(np.array([1.0, 2.0, 2.0, 7.0]), np.array([0.25, 0.3, 0.75, 0.8])).tolist()
    [1.0, 2.0, 7.0]
    """
    found: Floats = np.unique(values[np.maximum(np.ceil(shares * len(values)).astype(np.int64) - 1, 0)])
    return found


def _estimate_log_ratios(hits: NDArray[np.int64], others: NDArray[np.int64], n: int, m: int, delta: float) -> Floats:
    """Logarithm of the ratio of frequencies, less standard errors; minus infinity where there are next to no hits."""
    p, q = hits / n, (others + 1) / (m + 1)
    over = p - delta
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        error = np.sqrt((1 - p) / np.maximum(hits, 1) * (p / np.maximum(over, 1e-300)) ** 2 + (1 - q) / (others + 1))
        guess = np.log(np.maximum(over, 0)) - np.log(q) - CAUTION * error
    return np.where((hits >= 3) & (over > 0), guess, -inf)


FIRST, GROWTH, MOST = 150, 10, 2_000_000
"""Samples of each data set of a finalist: in the first round, from one to the next, and at most."""
SCREEN, LOOK, CONFIRM = 0.1, 0.3, 0.6
"""Parts of a round's samples of one data set."""
SCREENED_BY, LOOKED_BY = 0.45, 0.75
"""Parts of the time of a round after which no other pair is begun with: a busy machine slows down on the way."""
LOOKED_AT = 6
PAIRS = 1, 4
"""Pairs of the first rounds, which find gross faults; later ones begin with all."""
SHARES = 0.05, 0.15
"""Shares of the error chance of the first rounds; each later one has half of what is left."""
LEAST = 40
"""Samples below which a screen tells nothing: with little time fewer pairs are screened."""
PROBED = 0.05
"""Seconds of a draw from which on it shows the pace."""
PIECE = 0.5
"""Seconds of draws between two looks at the clock."""
BARS = 40
WAITING = 20
"""Seconds of waiting that count as one of the processor."""


def read_processor_clock() -> float:
    """Seconds of the processor, with those of processes that have ended; what waits counts a twentieth.

    A search by this clock sees as much on a busy machine as on an idle one.
    """
    times = os.times()
    return process_time() + times.children_user + times.children_system + monotonic() / WAITING


@dataclass
class Search:
    """State of an audit.

    Attributes:
        sampler: The release.
        family: Its neighbours.
        claim: The loss that it is said to have.
        confidence: Chance with which the bound is to hold.
        max_samples: Samples of each data set of a finalist, at most.
        learn: Whether boosted trees are fitted.
        finalists: Events that are confirmed in a round; the error is divided among them.
        confirm_twice: Whether what is flagged is confirmed a second time.
        clock: Seconds, of the wall or of the processor.
    """

    sampler: Sampler
    family: NeighbouringDatasets
    claim: Claim
    confidence: float
    max_samples: int = MOST
    learn: bool = False
    finalists: int = 1
    confirm_twice: bool = False
    clock: Callable[[], float] = monotonic
    parser: OutcomeParser = field(default_factory=OutcomeParser)
    calls: int = 0
    calls_per_second: float = 50.0
    samples_used: int = 0
    ranking: list[int] = field(default_factory=list)
    pair_results: dict[int, PairResult] = field(default_factory=dict)

    def run(self, seconds: float, file: Path | None = None) -> Report:
        """Search for so many seconds, from where the file has an earlier search; write it after each round."""
        self.ranking = list(range(len(self.family.pairs)))
        report, done = self._load_state(file)
        before = report.seconds
        self._measure_speed()
        begun = self.clock()  # what is loaded once takes no time of the search
        while not report.is_flagged and self.samples_used < self.max_samples:
            left = seconds - (self.clock() - begun)
            if left <= 0:
                break
            target = FIRST * GROWTH**done if done else min(FIRST, self.max_samples // 8)
            enough = 3 * target >= self.max_samples - self.samples_used
            target = self.max_samples - self.samples_used if enough else target
            late = file is None and left * self.calls_per_second < (4 if done else 8) * target
            if late:
                target = self.max_samples - self.samples_used
            last = late or (enough and self.max_samples < MOST)
            share = 1 - sum(map(find_error_fraction, range(done))) if last else find_error_fraction(done)
            found = self._run_round(done, target, (1 - self.confidence) * share, left * (1.0 if done or late else 0.2))
            done, self.samples_used = done + 1, self.max_samples if late else self.samples_used + target
            taken = before + self.clock() - begun
            report = self._merge_reports(report, replace(found, rounds=done, seconds=taken))
            self._save_state(file, report, done)
        return report

    # One round.

    def _run_round(self, done: int, target: int, error: float, seconds: float) -> Report:
        calls, ends = max(8.0, seconds * self.calls_per_second), self.clock() + seconds
        first = (
            PAIRS[done] if done < len(PAIRS) and self.samples_used + target < self.max_samples else len(self.ranking)
        )
        pairs = self._screen_pairs(self.ranking[:first], target, 0.25 * calls, ends - (1 - SCREENED_BY) * seconds)
        looked = self._examine_pairs(pairs, target, 0.25 * calls, ends - (1 - LOOKED_BY) * seconds)
        if not looked:
            return self._make_report(error)
        draws = 2 * len(looked) * (1.5 if self.confirm_twice else 1.0)
        samples = int(max(4, min(CONFIRM * target, (ends - self.clock()) * self.calls_per_second / draws)))
        best: Report | None = None
        for place, event, samples_seen in looked:
            found = self._confirm_event(self.family.pairs[place], event, samples, error / len(looked), samples_seen)
            best = found if best is None or found.lower_bound > best.lower_bound else best
        return best if best is not None else self._make_report(error)

    def _screen_pairs(
        self, order: list[int], target: int, calls: float, ends: float
    ) -> dict[int, tuple[Sample, Sample]]:
        """Small samples of these pairs, or of the first ones in the time; the ranking is by what they suggest."""
        samples = int(min(SCREEN * target, calls / (2 * len(order))))
        if samples < LEAST:
            samples = int(max(4, min(LEAST, calls / 2)))
            order = order[: max(1, int(calls / (2 * samples)))]
        found: dict[int, tuple[Sample, Sample]] = {}
        guesses: dict[int, float] = {}
        for place in order:
            if found and self.clock() > ends:
                break
            pair = self.family.pairs[place]
            left, right = self._draw_sample(pair.left, samples), self._draw_sample(pair.right, samples)
            found[place] = left, right
            events = self._find_events(left, right)
            guesses[place] = events[0].estimated_loss if events else -np.inf
            self._record_pair(place, samples, events)
        rest = [place for place in self.ranking if place not in found]
        kept = sorted(found, key=lambda place: -guesses[place])
        self.ranking = [*kept[: max(LOOKED_AT, len(kept) // 2)], *rest]
        return found

    def _examine_pairs(
        self, samples_by_pair: dict[int, tuple[Sample, Sample]], target: int, calls: float, ends: float
    ) -> list[tuple[int, Event, tuple[Sample, Sample]]]:
        """Events of the pairs that stand out, on more samples; the best ones, each of another pair."""
        places = [place for place in self.ranking if place in samples_by_pair][:LOOKED_AT]
        samples = int(min(LOOK * target, calls / (2 * len(places))))
        found: list[tuple[int, Event, tuple[Sample, Sample]]] = []
        for place in places:
            if found and self.clock() > ends:
                break
            pair, (left, right) = self.family.pairs[place], samples_by_pair[place]
            if samples:
                left, right = (
                    left + self._draw_sample(pair.left, samples),
                    right + self._draw_sample(pair.right, samples),
                )
            events = self._find_events(left, right, learn=self.learn)
            self._record_pair(place, len(left), events)
            if events:
                found.append((place, events[0], (left, right)))
        found.sort(key=lambda each: -each[1].estimated_loss)
        return found[: self.finalists]

    def _confirm_event(
        self, pair: NeighbourPair, event: Event, samples: int, error: float, chosen_on: tuple[Sample, Sample]
    ) -> Report:
        """The event on fresh samples, whose numbers are Poisson: its limit, and what it looks like."""
        as_ratio = event.count_hits(*chosen_on).is_ratio_sharper(samples, error)
        left, right = (self._draw_sample(data, sample_poisson(samples)) for data in (pair.left, pair.right))
        lower = event.bound_loss(left, right, self.claim, error, as_ratio=as_ratio)
        again = None
        if self.confirm_twice and lower > self.claim.amount:
            other = [self._draw_sample(data, sample_poisson(samples)) for data in (pair.left, pair.right)]
            again = event.bound_loss(other[0], other[1], self.claim, error, as_ratio=as_ratio)
        counted = event.count_hits(left, right)
        return replace(
            self._make_report(error), lower_bound=max(0.0, lower), second_lower_bound=again, pair=pair.name, event=str(event),
            likelier_side="right" if event.reverse else "left", hits=(counted.hits, counted.other_hits),
            samples=(counted.samples, counted.other_samples), histogram=make_histogram(event, left, right),
            detectable_deficit=self.claim.find_detectable_deficit(samples, error),
        )  # fmt: skip

    def _find_events(self, left: Sample, right: Sample, *, learn: bool = False) -> list[Event]:
        """Events by scores that are fitted to two fifths of the samples and chosen on the others."""
        a, b = max(1, 2 * len(left) // 5), max(1, 2 * len(right) // 5)
        fitted = fit_scores(left.slice_outcomes(0, a), right.slice_outcomes(0, b), learn=learn)
        return choose_events(fitted, left.slice_outcomes(a), right.slice_outcomes(b), self.claim)

    # Draws, and what is known of them.

    def _draw_sample(self, data: Any, samples: int) -> Sample:
        """Outcomes, in pieces: memory stays small, and the time that one takes is known."""
        found = Sample(np.empty(0, dtype=np.int64), np.empty((0, 0)))
        while len(found) < samples:
            piece = int(max(1, min(samples - len(found), 500_000, self.calls_per_second * PIECE)))
            begun = self.clock()
            sample = self.parser.parse_outcomes(self.sampler.draw(data, piece))
            taken = self.clock() - begun
            if taken > PROBED:  # long enough to show the pace
                self.calls_per_second = (self.calls_per_second + piece / taken) / 2
            self.calls += piece
            found = found + sample if len(found) else sample
        return found

    def _measure_speed(self) -> None:
        """Learn how many calls a second there are, from draws that are not used: the first one loads and compiles."""
        data = self.family.pairs[0].left
        self.parser.parse_outcomes(self.sampler.draw(data, 1))
        self.calls += 1
        sample_poisson(1)  # loads the laws that limits need, before anything is timed
        for calls in (1, 8, 64):
            begun = self.clock()
            self.parser.parse_outcomes(self.sampler.draw(data, calls))
            self.calls += calls
            taken = self.clock() - begun
            self.calls_per_second = calls / max(taken, 1e-6)
            if taken > PROBED:
                return

    def _record_pair(self, place: int, samples: int, events: list[Event]) -> None:
        name = self.family.pairs[place].name
        best = events[0] if events else None
        told = None if best is None or not np.isfinite(best.estimated_loss) else round(best.estimated_loss, 6)
        self.pair_results[place] = PairResult(name, samples, "" if best is None else str(best), told)

    def _make_report(self, error: float) -> Report:
        claim = self.claim
        return Report(
            self.sampler.name, self.family.name, self.family.adjacency.value, claim.parameter, claim.amount, claim.delta,
            self.confidence, calls=self.calls, pair_results=tuple(self.pair_results[place] for place in sorted(self.pair_results)),
            kinds=tuple(self.parser.kind_numbers)[:50], detectable_deficit=claim.find_detectable_deficit(0, error),
        )  # fmt: skip

    def _merge_reports(self, before: Report, found: Report) -> Report:
        """The report of both rounds whose bound is larger; of calls and pairs, those of both."""
        kept = found if found.lower_bound >= before.lower_bound or found.is_flagged or not before.event else before
        visible = found.detectable_deficit if found.detectable_deficit is not None else before.detectable_deficit
        return replace(
            kept, calls=self.calls, pair_results=found.pair_results, kinds=found.kinds, rounds=found.rounds, seconds=found.seconds,
            detectable_deficit=visible, samples=kept.samples,
        )  # fmt: skip

    # The file from which a search that was stopped goes on.

    @property
    def _fingerprint(self) -> str:
        told = (
            self.sampler.name, self.family.name, self.family.adjacency.value, str(self.claim), self.confidence,
            self.max_samples, [pair.name for pair in self.family.pairs],
        )  # fmt: skip
        return sha256(json.dumps(told).encode()).hexdigest()

    def _load_state(self, file: Path | None) -> tuple[Report, int]:
        empty = self._make_report(1 - self.confidence)
        if file is None or not file.exists():
            return empty, 0
        try:
            kept = json.loads(file.read_text(encoding="utf-8"))
            if kept["key"] != self._fingerprint:
                raise InvalidArgument("file", "it is of another audit: release, family, claim or confidence differ")
            self.ranking = [int(place) for place in kept["ranking"]]
            self.calls, self.samples_used = int(kept["report"]["calls"]), int(kept["used"])
            self.pair_results = {int(place): PairResult(**each) for place, each in kept["pair_results"].items()}
            return Report.from_dict(kept["report"]), int(kept["done"])
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError):
            raise InvalidArgument("file", "no audit is kept in it") from None

    def _save_state(self, file: Path | None, report: Report, done: int) -> None:
        if file is None:
            return
        kept = {
            "key": self._fingerprint, "done": done, "used": self.samples_used, "ranking": self.ranking,
            "pair_results": {place: vars(each) for place, each in self.pair_results.items()}, "report": report.to_dict(),
        }  # fmt: skip
        draft = file.with_name(f"{file.name}.draft")
        draft.write_text(json.dumps(kept), encoding="utf-8")
        draft.replace(file)


def find_error_fraction(done: int) -> float:
    """Share of the error chance of the round after so many; all that may follow have 1 together.

    >>> [find_error_fraction(done) for done in range(4)]
    [0.05, 0.15, 0.4, 0.2]
    """
    return SHARES[done] if done < len(SHARES) else (1 - sum(SHARES)) * 0.5 ** (done - len(SHARES) + 1)


def make_histogram(event: Event, left: Sample, right: Sample) -> ScoreHistogram | None:
    """Both histograms of the event's score, on bars of about equal width between the outer thousandths."""
    a, b = event.score.compute(left), event.score.compute(right)
    both = np.concatenate([a[~np.isnan(a)], b[~np.isnan(b)]])
    if not len(both):
        return None
    distinct = np.unique(both)
    if len(distinct) <= BARS:
        edges = np.append(distinct, np.inf)
    else:
        ends = np.quantile(both, [0.001, 0.999])
        edges = np.concatenate([[-np.inf], np.linspace(ends[0], ends[1], BARS - 1), [np.inf]])
        edges = np.unique(np.append(edges, [each for each in (event.low, event.high) if np.isfinite(each)]))
    shares = [np.histogram(x[~np.isnan(x)], edges)[0] / max(1, len(x)) for x in (a, b)]
    inside = (edges[:-1] >= event.low) & ((edges[1:] <= event.high) | (edges[:-1] == event.high))
    return ScoreHistogram(
        tuple(edges.tolist()), tuple(shares[0].tolist()), tuple(shares[1].tolist()), tuple(map(bool, inside.tolist()))
    )
