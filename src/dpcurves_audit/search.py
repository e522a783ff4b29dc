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

from dpcurves.arguments import Refused

from .bound import Claim, Counted, guessed_rho, lower_rho, poisson
from .family import Family, Pair
from .feature import Floats, Reader, Sample, Score, scores
from .report import Report, Shown, Tried
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
        both = Scored.by(score, left, right)
        if both is not None:
            found += [event for event in (both.best(claim, reverse=way) for way in (False, True)) if event is not None]
    return sorted(found, key=lambda each: (-round(each.guess, 2), each.score.learned))[:most]


@dataclass(frozen=True)
class Scored:
    """A score of two samples, sorted once for both directions and all cuts.

    Attributes:
        score: The score.
        sorted: Its values in each sample, sorted; outcomes without one are left out.
        sizes: Outcomes of each sample.
        values: Those of both, sorted.
        cuts: Where events begin or end: all distinct values, or quantiles, closer to each other at the ends.
    """

    score: Score
    sorted: tuple[Floats, Floats]
    sizes: tuple[int, int]
    values: Floats
    cuts: Floats

    @classmethod
    def by(cls, score: Score, left: Sample, right: Sample) -> Scored | None:
        """Values of a score; None: no outcome has one."""
        a, b = (np.sort(found[~np.isnan(found)]) for found in map(score.of, (left, right)))
        values = np.sort(np.concatenate([a, b]), kind="stable")  # merges the two
        if not len(values):
            return None
        cuts = values[np.append(True, values[1:] != values[:-1])]
        if len(cuts) > MOST_CUTS:
            tails = np.geomspace(3 / len(values), 0.1, 40)
            shares = np.concatenate([tails, np.linspace(0.1, 0.9, MOST_CUTS - 80), 1 - tails])
            cuts = quantiles_of(values, np.sort(shares))
        return cls(score, (a, b), (len(left), len(right)), values, cuts)

    def best(self, claim: Claim, *, reverse: bool) -> Event | None:
        """The event that suggests the largest loss in one direction."""
        (a, b), (n, m) = (self.sorted, self.sizes) if not reverse else (self.sorted[::-1], self.sizes[::-1])
        if not len(a):
            return None
        if claim.rho is not None:
            return self._partition(reverse)
        from_ours, from_theirs = (np.searchsorted(x, self.cuts, side="left") for x in (a, b))
        to_ours, to_theirs = (np.searchsorted(x, self.cuts, side="right") for x in (a, b))
        hits = np.concatenate([len(a) - from_ours, to_ours, to_ours - from_ours])
        others = np.concatenate([len(b) - from_theirs, to_theirs, to_theirs - from_theirs])
        guesses = _guesses(hits, others, n, m, claim.delta)
        place = int(np.argmax(guesses))
        kind, cut = divmod(place, len(self.cuts))
        at = float(self.cuts[cut])
        low, high = ((at, inf), (-inf, at), (at, at))[kind]
        return Event(self.score, low, high, reverse, (), float(guesses[place]))

    def _partition(self, reverse: bool) -> Event:
        """Cells of about equal frequency, few or many, whichever suggest the larger loss."""
        found: list[Event] = []
        for cells in (2, 4, CELLS, 2 * CELLS):
            at = quantiles_of(self.values, np.arange(1, cells) / cells)
            ours, theirs = (
                np.append(np.diff(np.searchsorted(x, at), prepend=0, append=len(x)), size - len(x))
                for x, size in zip(self.sorted, self.sizes, strict=True)
            )
            guess = guessed_rho(theirs, ours, CAUTION) if reverse else guessed_rho(ours, theirs, CAUTION)
            found.append(Event(self.score, -inf, inf, reverse, tuple(at.tolist()), guess))
        return max(found, key=lambda each: each.guess)


def quantiles_of(values: Floats, shares: Floats) -> Floats:
    """Distinct values below or at which a sorted sample has these shares, at least.

    >>> quantiles_of(np.array([1.0, 2.0, 2.0, 7.0]), np.array([0.25, 0.3, 0.75, 0.8])).tolist()
    [1.0, 2.0, 7.0]
    """
    found: Floats = np.unique(values[np.maximum(np.ceil(shares * len(values)).astype(np.int64) - 1, 0)])
    return found


def _guesses(hits: NDArray[np.int64], others: NDArray[np.int64], n: int, m: int, delta: float) -> Floats:
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


def processor() -> float:
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
        most: Samples of each data set of a finalist, at most.
        learn: Whether boosted trees are fitted.
        finalists: Events that are confirmed in a round; the error is divided among them.
        again: Whether what is flagged is confirmed a second time.
        clock: Seconds, of the wall or of the processor.
    """

    sampler: Sampler
    family: Family
    claim: Claim
    confidence: float
    most: int = MOST
    learn: bool = False
    finalists: int = 1
    again: bool = False
    clock: Callable[[], float] = monotonic
    reader: Reader = field(default_factory=Reader)
    calls: int = 0
    pace: float = 50.0
    used: int = 0
    ranking: list[int] = field(default_factory=list)
    tried: dict[int, Tried] = field(default_factory=dict)

    def run(self, seconds: float, file: Path | None = None) -> Report:
        """Search for so many seconds, from where the file has an earlier search; write it after each round."""
        self.ranking = list(range(len(self.family.pairs)))
        report, done = self._resumed(file)
        before = report.seconds
        self._probe()
        begun = self.clock()  # what is loaded once takes no time of the search
        while not report.flagged and self.used < self.most:
            left = seconds - (self.clock() - begun)
            if left <= 0:
                break
            target = FIRST * GROWTH**done if done else min(FIRST, self.most // 8)
            enough = 3 * target >= self.most - self.used
            target = self.most - self.used if enough else target
            late = file is None and left * self.pace < (4 if done else 8) * target
            if late:
                target = self.most - self.used
            last = late or (enough and self.most < MOST)
            share = 1 - sum(map(share_of, range(done))) if last else share_of(done)
            found = self._round(done, target, (1 - self.confidence) * share, left * (1.0 if done or late else 0.2))
            done, self.used = done + 1, self.most if late else self.used + target
            taken = before + self.clock() - begun
            report = self._better(report, replace(found, rounds=done, seconds=taken))
            self._keep(file, report, done)
        return report

    # One round.

    def _round(self, done: int, target: int, error: float, seconds: float) -> Report:
        calls, ends = max(8.0, seconds * self.pace), self.clock() + seconds
        first = PAIRS[done] if done < len(PAIRS) and self.used + target < self.most else len(self.ranking)
        pairs = self._screened(self.ranking[:first], target, 0.25 * calls, ends - (1 - SCREENED_BY) * seconds)
        looked = self._looked(pairs, target, 0.25 * calls, ends - (1 - LOOKED_BY) * seconds)
        if not looked:
            return self._report(error)
        draws = 2 * len(looked) * (1.5 if self.again else 1.0)
        samples = int(max(4, min(CONFIRM * target, (ends - self.clock()) * self.pace / draws)))
        best: Report | None = None
        for place, event, samples_seen in looked:
            found = self._confirmed(self.family.pairs[place], event, samples, error / len(looked), samples_seen)
            best = found if best is None or found.lower > best.lower else best
        return best if best is not None else self._report(error)

    def _screened(self, order: list[int], target: int, calls: float, ends: float) -> dict[int, tuple[Sample, Sample]]:
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
            left, right = self._draw(pair.left, samples), self._draw(pair.right, samples)
            found[place] = left, right
            events = self._events(left, right)
            guesses[place] = events[0].guess if events else -np.inf
            self._note(place, samples, events)
        rest = [place for place in self.ranking if place not in found]
        kept = sorted(found, key=lambda place: -guesses[place])
        self.ranking = [*kept[: max(LOOKED_AT, len(kept) // 2)], *rest]
        return found

    def _looked(
        self, screened: dict[int, tuple[Sample, Sample]], target: int, calls: float, ends: float
    ) -> list[tuple[int, Event, tuple[Sample, Sample]]]:
        """Events of the pairs that stand out, on more samples; the best ones, each of another pair."""
        places = [place for place in self.ranking if place in screened][:LOOKED_AT]
        samples = int(min(LOOK * target, calls / (2 * len(places))))
        found: list[tuple[int, Event, tuple[Sample, Sample]]] = []
        for place in places:
            if found and self.clock() > ends:
                break
            pair, (left, right) = self.family.pairs[place], screened[place]
            if samples:
                left, right = left + self._draw(pair.left, samples), right + self._draw(pair.right, samples)
            events = self._events(left, right, learn=self.learn)
            self._note(place, len(left), events)
            if events:
                found.append((place, events[0], (left, right)))
        found.sort(key=lambda each: -each[1].guess)
        return found[: self.finalists]

    def _confirmed(self, pair: Pair, event: Event, samples: int, error: float, seen: tuple[Sample, Sample]) -> Report:
        """The event on fresh samples, whose numbers are Poisson: its limit, and what it looks like."""
        as_ratio = event.counted(*seen).ratio_is_sharper(samples, error)
        left, right = (self._draw(data, poisson(samples)) for data in (pair.left, pair.right))
        lower = event.lower(left, right, self.claim, error, as_ratio=as_ratio)
        again = None
        if self.again and lower > self.claim.amount:
            other = [self._draw(data, poisson(samples)) for data in (pair.left, pair.right)]
            again = event.lower(other[0], other[1], self.claim, error, as_ratio=as_ratio)
        counted = event.counted(left, right)
        return replace(
            self._report(error), lower=max(0.0, lower), again=again, pair=pair.name, event=str(event),
            likelier="right" if event.reverse else "left", hits=(counted.ours, counted.theirs),
            samples=(counted.ours_of, counted.theirs_of), shown=shown(event, left, right),
            visible=self.claim.visible(samples, error),
        )  # fmt: skip

    def _events(self, left: Sample, right: Sample, *, learn: bool = False) -> list[Event]:
        """Events by scores that are fitted to two fifths of the samples and chosen on the others."""
        a, b = max(1, 2 * len(left) // 5), max(1, 2 * len(right) // 5)
        fitted = scores(left.part(0, a), right.part(0, b), learn=learn)
        return chosen(fitted, left.part(a), right.part(b), self.claim)

    # Draws, and what is known of them.

    def _draw(self, data: Any, samples: int) -> Sample:
        """Outcomes, in pieces: memory stays small, and the time that one takes is known."""
        found = Sample(np.empty(0, dtype=np.int64), np.empty((0, 0)))
        while len(found) < samples:
            piece = int(max(1, min(samples - len(found), 500_000, self.pace * PIECE)))
            begun = self.clock()
            sample = self.reader.read(self.sampler.draw(data, piece))
            taken = self.clock() - begun
            if taken > PROBED:  # long enough to show the pace
                self.pace = (self.pace + piece / taken) / 2
            self.calls += piece
            found = found + sample if len(found) else sample
        return found

    def _probe(self) -> None:
        """Learn how many calls a second there are, from draws that are not used: the first one loads and compiles."""
        data = self.family.pairs[0].left
        self.reader.read(self.sampler.draw(data, 1))
        self.calls += 1
        poisson(1)  # loads the laws that limits need, before anything is timed
        for calls in (1, 8, 64):
            begun = self.clock()
            self.reader.read(self.sampler.draw(data, calls))
            self.calls += calls
            taken = self.clock() - begun
            self.pace = calls / max(taken, 1e-6)
            if taken > PROBED:
                return

    def _note(self, place: int, samples: int, events: list[Event]) -> None:
        name = self.family.pairs[place].name
        best = events[0] if events else None
        told = None if best is None or not np.isfinite(best.guess) else round(best.guess, 6)
        self.tried[place] = Tried(name, samples, "" if best is None else str(best), told)

    def _report(self, error: float) -> Report:
        claim = self.claim
        return Report(
            self.sampler.name, self.family.name, self.family.adjacency.value, claim.word, claim.amount, claim.delta,
            self.confidence, calls=self.calls, tried=tuple(self.tried[place] for place in sorted(self.tried)),
            kinds=tuple(self.reader.words)[:50], visible=claim.visible(0, error),
        )  # fmt: skip

    def _better(self, before: Report, found: Report) -> Report:
        """The report of both rounds whose bound is larger; of calls and pairs, those of both."""
        kept = found if found.lower >= before.lower or found.flagged or not before.event else before
        visible = found.visible if found.visible is not None else before.visible
        return replace(
            kept, calls=self.calls, tried=found.tried, kinds=found.kinds, rounds=found.rounds, seconds=found.seconds,
            visible=visible, samples=kept.samples,
        )  # fmt: skip

    # The file from which a search that was stopped goes on.

    @property
    def _key(self) -> str:
        told = (
            self.sampler.name, self.family.name, self.family.adjacency.value, str(self.claim), self.confidence,
            self.most, [pair.name for pair in self.family.pairs],
        )  # fmt: skip
        return sha256(json.dumps(told).encode()).hexdigest()

    def _resumed(self, file: Path | None) -> tuple[Report, int]:
        empty = self._report(1 - self.confidence)
        if file is None or not file.exists():
            return empty, 0
        try:
            kept = json.loads(file.read_text(encoding="utf-8"))
            if kept["key"] != self._key:
                raise Refused("file", "it is of another audit: release, family, claim or confidence differ")
            self.ranking = [int(place) for place in kept["ranking"]]
            self.calls, self.used = int(kept["report"]["calls"]), int(kept["used"])
            self.tried = {int(place): Tried(**each) for place, each in kept["tried"].items()}
            return Report.from_dict(kept["report"]), int(kept["done"])
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError):
            raise Refused("file", "no audit is kept in it") from None

    def _keep(self, file: Path | None, report: Report, done: int) -> None:
        if file is None:
            return
        kept = {
            "key": self._key, "done": done, "used": self.used, "ranking": self.ranking,
            "tried": {place: vars(each) for place, each in self.tried.items()}, "report": report.to_dict(),
        }  # fmt: skip
        draft = file.with_name(f"{file.name}.draft")
        draft.write_text(json.dumps(kept), encoding="utf-8")
        draft.replace(file)


def share_of(done: int) -> float:
    """Share of the error chance of the round after so many; all that may follow have 1 together.

    >>> [share_of(done) for done in range(4)]
    [0.05, 0.15, 0.4, 0.2]
    """
    return SHARES[done] if done < len(SHARES) else (1 - sum(SHARES)) * 0.5 ** (done - len(SHARES) + 1)


def shown(event: Event, left: Sample, right: Sample) -> Shown | None:
    """Both histograms of the event's score, on bars of about equal width between the outer thousandths."""
    a, b = event.score.of(left), event.score.of(right)
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
    return Shown(
        tuple(edges.tolist()), tuple(shares[0].tolist()), tuple(shares[1].tolist()), tuple(map(bool, inside.tolist()))
    )
