"""What a stream does not count: totals so far by reason, and notes where that is much of what came."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, pi, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from dpcurves.arrays import FloatArray
from dpcurves.conversation import Plan
from dpcurves.data import Axis, Categories
from dpcurves.laws import Family

from ..laws import CountsAndUncountedTotals, RunningTotalEstimator
from ..queries import TUPLE_REASONS, UncountedReason, released_reasons
from .constrained import MonotoneTotals
from .question import LEVEL, STATED, Interval, NoisyValues

NAMES_SHOWN = 8
"""States that a note lists, at most."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """When a note is made.

    Attributes:
        least_share: Share of the tuples that are used which has a reason, from which on it is noted.
        least_beyond: Share of the tuples that are used which are of users beyond the cap: a cap is to leave tuples out.
        recent_ticks: Steps that are looked at together, before which step 1 is left out: a file has all tuples without a
            readable time there.
        false_alarm: Probability of any note of a stream whose shares are below these, for each of three spans of steps.
    """

    least_share: float = 0.05
    least_beyond: float = 0.25
    recent_ticks: int = 16
    false_alarm: float = 0.003


class NoteFacts(NamedTuple):
    """Public facts that notes name.

    Attributes:
        time: The field of the time.
        schedule_text: Start, end and length of the steps, in words.
        grace_text: How long a step waits, in words.
        tuples_per_user: How many tuples of a user in a step are used; None: no cap.
    """

    time: str
    schedule_text: str
    grace_text: str
    tuples_per_user: int | None


@dataclass(frozen=True, slots=True)
class UncountedReading:
    """What was not counted up to a tick.

    Attributes:
        tick: Its number, from 1 on.
        reasons: Why tuples are not counted; the last one, if there is a cap, counts users in one step.
        totals: How many so far, (reasons,): whole numbers that never fall.
        noisy: The unbiased totals, and the standard deviations of their noise.
        counted_tuples: The unbiased number of tuples that are counted so far.
        notes: What should be read along with the counts, by reason: from released numbers alone.
        notes_so_far: Notes on all ticks so far, should the stream be left here.
    """

    tick: int
    reasons: tuple[UncountedReason, ...]
    totals: FloatArray
    noisy: NoisyValues
    counted_tuples: float
    notes: Mapping[UncountedReason, str]
    notes_so_far: Mapping[UncountedReason, str]

    def interval(self, level: float) -> Interval:
        """Confidence intervals for the totals, for these records: lower and upper ends, (reasons,) each.

        Raises:
            ValueError: the level is not between 0 and 1.
        """
        return self.noisy.interval(level, self.totals)

    def to_dicts(self) -> list[dict[str, Any]]:
        """A plain object for each reason, with its note if there is one."""
        low, high = self.interval(LEVEL)
        return [
            {
                "uncounted": reason.value, "total": float(self.totals[place]), "low": float(low[place]),
                "high": float(high[place]), "unbiased": float(self.noisy.values[place]), **STATED,
                **({"note": self.notes[reason]} if reason in self.notes else {}),
            }
            for place, reason in enumerate(self.reasons)
        ]  # fmt: skip


class TickSpan(NamedTuple):
    """Unbiased numbers of a span of ticks.

    Attributes:
        counted_tuples: The number of counted tuples.
        uncounted_tuples: How many have each reason, (reasons,).
        width: How many ticks it has; None: all so far.
    """

    counted_tuples: float
    uncounted_tuples: FloatArray
    width: int | None


class UncountedReader:
    """Reads totals of what is not counted, tick by tick. It holds public numbers alone.

    Args:
        plan: The plan of the stream.
        facts: What notes name.
        tuning: When a note is made.
    """

    __slots__ = (
        "_counted", "_facts", "_law", "_past", "_query", "_reasons", "_shown", "_tuning", "_variances_known", "tick",
    )  # fmt: skip

    def __init__(self, plan: Plan, facts: NoteFacts, tuning: Tuning | None = None) -> None:
        self._law, self._facts, self._tuning = (
            plan.law.require_type(CountsAndUncountedTotals),
            facts,
            tuning or Tuning(),
        )
        query: Any = plan.query
        self._query = query
        self._reasons = released_reasons(self._law.users_beyond_cap is not None)
        self._counted = RunningTotalEstimator(self._law.counts, query.keys)
        self._shown = MonotoneTotals([-1] * len(self._reasons))
        self._past: deque[tuple[float, FloatArray]] = deque(maxlen=self._tuning.recent_ticks + 1)
        self._variances_known: dict[int | None, FloatArray] = {}  # of this tick
        self.tick = 0

    def read_next(self, counts: Sequence[int], uncounted: Sequence[int]) -> UncountedReading:
        """The reading after the integers of the next tick: those of its counts, and those of what is not counted."""
        self.tick += 1
        self._variances_known = {}
        totals = np.array(uncounted, dtype=np.float64)
        so_far = TickSpan(self._counted.estimate_next(counts), totals, None)
        self._past.append((so_far.counted_tuples, totals))
        deviations = np.sqrt(self._cached_variances(None))
        noisy = NoisyValues(self._law.uncounted.family, totals, deviations)
        notes = self._note_excesses(
            self._recent_span(), self._test_level(self.tick), f" of the last {len(self._past) - 1} steps"
        )
        last = self._notes_at_marks(so_far)
        return UncountedReading(
            self.tick, self._reasons, self._shown.estimate_next(totals, deviations), noisy, so_far.counted_tuples, {**notes, **last},
            last or self._note_excesses(so_far, self._test_level(1), " so far"),
        )  # fmt: skip

    def _notes_at_marks(self, so_far: TickSpan) -> dict[UncountedReason, str]:
        """Notes of all ticks so far: after the last one, or without an end after 1, 2, 4, 8, ... of them."""
        ticks, tick = self._query.ticks, self.tick
        is_mark = tick == ticks if ticks is not None else tick & (tick - 1) == 0
        number = 1 if ticks is not None else tick.bit_length()
        return self._note_excesses(so_far, self._test_level(number), " so far") if is_mark else {}

    def _test_level(self, test_number: int) -> float:
        """The probability of a false alarm of one reason, in test number 1, 2, ...: all of them add up."""
        return self._tuning.false_alarm / len(self._reasons) / test_number**2 * (6 / pi**2)

    def _recent_span(self) -> TickSpan | None:
        width = len(self._past) - 1
        if width < 1:
            return None
        (first, before), (last, after) = self._past[0], self._past[-1]
        return TickSpan(last - first, after - before, width)

    def _cached_variances(self, width: int | None) -> FloatArray:
        if width not in self._variances_known:
            self._variances_known[width] = self._compute_variances(width)
        return self._variances_known[width]

    def _compute_variances(self, width: int | None) -> FloatArray:
        laws = [self._law.uncounted] * len(TUPLE_REASONS) + (
            [] if self._law.users_beyond_cap is None else [self._law.users_beyond_cap]
        )
        found = {id(law): law.variance(self.tick, width) for law in laws}
        return np.array([found[id(law)] for law in laws])

    def _note_excesses(self, span: TickSpan | None, level: float, when: str) -> dict[UncountedReason, str]:
        """Notes of reasons whose share is above the least one, beyond what noise makes of it at this level."""
        if span is None:
            return {}
        far = max(-NormalDist().inv_cdf(level), -log(2 * level) / sqrt(2) if self._is_laplace else 0.0)
        tuples, found = len(TUPLE_REASONS), {}
        used = span.counted_tuples + float(span.uncounted_tuples[:tuples].sum())
        for place, reason in enumerate(self._reasons):
            weight = (
                1.0 if place < tuples else float(self._facts.tuples_per_user or 1)
            )  # tuples of a user beyond the cap
            least = self._tuning.least_share if place < tuples else self._tuning.least_beyond
            excess = weight * float(span.uncounted_tuples[place]) - least * used
            if excess > 0 and excess > far * sqrt(self._variance_of_excess(place, weight, least, span.width)):
                share = min(weight * float(span.uncounted_tuples[place]) / max(used, 1.0), 1.0)
                found[reason] = self._format_note(reason, share, when)
        return found

    def _variance_of_excess(self, place: int, weight: float, least: float, width: int | None) -> float:
        """The variance of the noise of what a reason has more than its least share of the tuples that are used."""
        weights = np.where(np.arange(len(self._reasons)) < len(TUPLE_REASONS), -least, 0.0)
        weights[place] += weight
        return float(weights**2 @ self._cached_variances(width)) + least**2 * self._counted.variance(width)

    @property
    def _is_laplace(self) -> bool:
        return self._law.uncounted.family is Family.LAPLACE

    def _format_note(self, reason: UncountedReason, share: float, when: str) -> str:
        facts = self._facts
        capped = "" if facts.tuples_per_user is None else f" (at most {facts.tuples_per_user} of a user in a step)"
        said = {
            UncountedReason.UNREADABLE: f"cannot be read, or {facts.time!r} is no time (ISO 8601, or seconds since 1970)",
            UncountedReason.OUTSIDE: f"have a time outside the steps or ahead of the clock; steps: {facts.schedule_text}",
            UncountedReason.LATE: f"came after their step had closed; grace: {facts.grace_text}",
            UncountedReason.OTHER_STATE: _describe_states(self._query.axes),
            UncountedReason.BEYOND_CAP: f"are of users with more than {facts.tuples_per_user} in a step; the others are not used",
        }
        return f"about {share:.0%} of the tuples{when}{capped} {said[reason]}".replace("%", " %", 1)


def _describe_states(axes: Sequence[Axis | Categories]) -> str:
    """What is said of tuples in no declared state."""
    parts = []
    for axis in axes:
        if isinstance(axis, Categories):
            names = ", ".join(str(value) for value in axis.values[:NAMES_SHOWN])
            rest = len(axis.values) - NAMES_SHOWN
            parts.append(f"states of {axis.column!r} listed: {names}" + (f" and {rest} more" if rest > 0 else ""))
        else:
            edges = axis.grid.edges
            parts.append(f"cells of {axis.column!r}: {float(edges[0]):g} to {float(edges[-1]):g}")
    is_listed = all(isinstance(axis, Categories) for axis in axes)
    missing = "a state that is not listed" if is_listed else "no value in the cells"
    return f"have {missing}; {'; '.join(parts)}"
