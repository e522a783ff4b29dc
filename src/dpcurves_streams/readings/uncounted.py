"""Data quality of a stream under differential privacy: how many tuples could not be counted, and for which reason.

A stream is a sequence of timestamped tuples (rows), which are counted by time step and by declared category (*state*).
A tuple that cannot be counted so has one reason: it is unreadable, outside of the time span, late, or in a state that
was not declared. If the tuples of a user in a step are capped, users beyond the cap are counted as well. Noisy running
totals of the reasons are released at every step. `UncountedReader.read_next` turns the totals of a step into an
`UncountedReading` with

    totals     integers that never decrease, with confidence intervals
    windows    unbiased numbers of the last steps
    notes      texts for reasons that have a significantly large share of the tuples (thresholds in `Tuning`)

Formal guarantees: all results are functions of released integers and public facts, and see no tuple. Such
post-processing loses no further privacy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log, pi, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from dpcurves.arrays import FloatArray
from dpcurves.conversation import Plan
from dpcurves.data import Axis, Categories
from dpcurves.distributions import Family

from ..distributions import CountsAndUncountedTotals, RunningTotalEstimator
from ..queries import TUPLE_REASONS, UncountedReason, released_reasons
from .constrained import MonotoneTotals
from .question import INTERVAL_LABEL, LEVEL, Interval, NoisyValues


@dataclass(frozen=True, slots=True)
class Tuning:
    """Thresholds for notes. A note warns that many tuples are uncounted for some reason, so that counts are too low.

    Privacy does not depend on them.
    """

    least_share: float = 0.05
    """Share of the used tuples: a note is made of a reason for which significantly more were left uncounted."""
    least_beyond: float = 0.25
    """Share of the used tuples from users beyond the cap, above which a note is made; larger, because a cap is meant to
    leave tuples out.
    """
    recent_time_steps: int = 16
    """Number of the newest steps that are tested together. Step 1 is left out of later spans: a file has all tuples
    without a readable timestamp there.
    """
    false_alarm: float = 0.003
    """Probability of any note in a stream whose shares are below `least_share` and `least_beyond`, for each of three
    kinds of spans.
    """


TUNING = Tuning()
"""The values that readings of uncounted tuples use unless a caller passes others."""


class NoteFacts(NamedTuple):
    """Public facts that notes mention.

    Attributes:
        time: Field of timestamps.
        schedule_text: Start, end and length of the steps, as text.
        grace_text: Grace period of a step, as text.
        tuples_per_user: Most used tuples of a user in a step; None without a cap.
    """

    time: str
    schedule_text: str
    grace_text: str
    tuples_per_user: int | None


@dataclass(frozen=True, slots=True)
class UncountedWindow:
    """Unbiased numbers of a window of steps.

    Attributes:
        counted_tuples: Number of counted tuples.
        counted_deviation: Standard deviation of its noise.
        noisy: Number of uncounted tuples with each reason, with the standard deviations of their noise, (reasons,).
    """

    counted_tuples: float
    counted_deviation: float
    noisy: NoisyValues


class UncountedWindows(Mapping[int, UncountedWindow]):
    """Mapping of window widths (in steps) to numbers, computed when they are read, as most windows are never read.

    Args:
        estimators: For each width a function that returns the numbers.
    """

    __slots__ = ("_estimators",)

    def __init__(self, estimators: Mapping[int, Callable[[], UncountedWindow]]) -> None:
        self._estimators = estimators

    def __getitem__(self, width: int) -> UncountedWindow:
        """Return the numbers of counted and uncounted tuples in the last `width` steps.

        Args:
            width: Width of a window of the question, in steps.
        """
        return self._estimators[width]()

    def __iter__(self) -> Iterator[int]:
        """Iterate over the widths."""
        return iter(self._estimators)

    def __len__(self) -> int:
        """Return the number of windows."""
        return len(self._estimators)


@dataclass(frozen=True, slots=True)
class UncountedReading:
    """Running totals of uncounted tuples after a time step.

    Attributes:
        time_step: Number of the step, from 1.
        reasons: Reasons; with a cap, the last one counts users per step.
        totals: Totals so far, (reasons,): integers that never decrease.
        noisy: Unbiased totals with the standard deviations of their noise.
        counted_tuples: Unbiased number of counted tuples so far.
        notes: Notes by reason, from released numbers only, that should be read with the counts.
        notes_so_far: Notes on all steps so far, in case the stream is left here.
        windows: Unbiased numbers of the last steps, by their number: 1, and the windows of the question.
    """

    time_step: int
    reasons: tuple[UncountedReason, ...]
    totals: FloatArray
    noisy: NoisyValues
    counted_tuples: float
    notes: Mapping[UncountedReason, str]
    notes_so_far: Mapping[UncountedReason, str]
    windows: Mapping[int, UncountedWindow] = field(default_factory=dict)

    def interval(self, level: float) -> Interval:
        """Return confidence intervals of the totals of these records (sampling error is not included).

        Args:
            level: Probability that an interval holds, between 0 and 1.

        Returns:
            Lower and upper bounds, (reasons,) each.

        Raises:
            ValueError: The level is not between 0 and 1.
        """
        return self.noisy.interval(level, self.totals)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one plain object for each reason, in the order of `reasons`, for JSON.

        Each has the reason, the total with its 95 % interval, the unbiased total, and the note if there is one.
        """
        low, high = self.interval(LEVEL)
        return [
            {
                "uncounted": reason.value, "total": float(self.totals[index]), "low": float(low[index]),
                "high": float(high[index]), "unbiased": float(self.noisy.values[index]), **INTERVAL_LABEL,
                **({"note": self.notes[reason]} if reason in self.notes else {}),
            }
            for index, reason in enumerate(self.reasons)
        ]  # fmt: skip


class TimeStepSpan(NamedTuple):
    """Unbiased numbers of a span of steps.

    Attributes:
        counted_tuples: Number of counted tuples.
        uncounted_tuples: Number of tuples with each reason, (reasons,).
        width: Number of steps; None: all so far.
    """

    counted_tuples: float
    uncounted_tuples: FloatArray
    width: int | None


class UncountedReader:
    """Reader of released totals of uncounted tuples, step by step. It holds public numbers only.

    Attributes:
        time_step: Number of steps that were read.
    """

    __slots__ = (
        "_counted",
        "_distribution",
        "_facts",
        "_past",
        "_query",
        "_reasons",
        "_shown",
        "_tuning",
        "_variances_known",
        "_widths",
        "time_step",
    )  # fmt: skip

    def __init__(self, plan: Plan, facts: NoteFacts, windows: Sequence[int] = (), tuning: Tuning = TUNING) -> None:
        """Begin to estimate the numbers of uncounted tuples from released totals, before the first step.

        Args:
            plan: Plan of the stream.
            facts: Public facts that notes mention.
            windows: Widths, in steps, of the windows of the question.
            tuning: Thresholds for notes.
        """
        self._distribution = plan.distribution.require_type(CountsAndUncountedTotals)
        self._facts = facts
        self._tuning = tuning
        query: Any = plan.query
        self._query = query
        self._reasons = released_reasons(self._distribution.users_beyond_cap is not None)
        self._widths = sorted({1, *windows})
        longest_span = max(self._tuning.recent_time_steps, self._widths[-1])
        self._counted = RunningTotalEstimator(self._distribution.counts, query.keys, longest_span)
        self._shown = MonotoneTotals([-1] * len(self._reasons))
        self._past: deque[tuple[float, FloatArray]] = deque(maxlen=longest_span + 1)
        self._variances_known: dict[int | None, FloatArray] = {}  # cache for the current step
        self.time_step = 0

    def read_next(self, counts: Sequence[int], uncounted: Sequence[int]) -> UncountedReading:
        """Return the estimated numbers of uncounted tuples after the next time step; steps are read in order.

        Args:
            counts: Released integers of the step's counts of states.
            uncounted: Released noisy running totals up to this step, (reasons,).
        """
        self.time_step += 1
        self._variances_known = {}
        totals = np.array(uncounted, dtype=np.float64)
        so_far = TimeStepSpan(self._counted.estimate_next(counts), totals, None)
        self._past.append((so_far.counted_tuples, totals))
        deviations = np.sqrt(self._cached_variances(None))
        noisy = NoisyValues(self._distribution.uncounted.family, totals, deviations)
        recent = self._recent_span()
        notes = self._note_excesses(recent, self._test_level(self.time_step), _describe_span(recent))
        last = self._notes_at_marks(so_far)
        return UncountedReading(
            self.time_step, self._reasons, self._shown.estimate_next(totals, deviations), noisy, so_far.counted_tuples,
            {**notes, **last}, last or self._note_excesses(so_far, self._test_level(1), " so far"),
            UncountedWindows({width: self._defer_window(width) for width in self._widths}),
        )  # fmt: skip

    def _defer_window(self, width: int) -> Callable[[], UncountedWindow]:
        """Return a function that computes the numbers of uncounted tuples in the last `width` steps when they are
        needed.

        It can be called after later steps were read; its result does not change.

        Args:
            width: Number of steps; all steps so far if they are fewer.
        """
        is_whole = width >= self.time_step
        time_step = self.time_step
        counted_before, totals_before = (0.0, 0.0) if is_whole else self._past[-1 - width]
        counted, totals = self._past[-1]
        counted_variance = self._counted.defer_variance(None if is_whole else width)

        def estimate_window() -> UncountedWindow:
            """Return the numbers of counted and uncounted tuples in the window, with the standard deviations of their
            noise.
            """
            deviations = np.sqrt(self._compute_variances(None if is_whole else width, time_step))
            noisy = NoisyValues(self._distribution.uncounted.family, totals - totals_before, deviations)
            return UncountedWindow(counted - counted_before, sqrt(counted_variance()), noisy)

        return estimate_window

    def _notes_at_marks(self, so_far: TimeStepSpan) -> dict[UncountedReason, str]:
        """Return notes on many uncounted tuples since the first step, by reason, after some steps only.

        These are the last step of the stream or, if it has no end, steps 1, 2, 4, 8, ..., so that tests are few.

        Args:
            so_far: Numbers of counted and uncounted tuples in all steps so far.
        """
        time_steps = self._query.time_steps
        time_step = self.time_step
        is_mark = time_step == time_steps if time_steps is not None else time_step & (time_step - 1) == 0
        test_number = 1 if time_steps is not None else time_step.bit_length()
        return self._note_excesses(so_far, self._test_level(test_number), " so far") if is_mark else {}

    def _test_level(self, test_number: int) -> float:
        """Return the false-alarm probability that one reason may have in the test with this number.

        Over all reasons and tests they sum to `Tuning.false_alarm` at most, because the sum of 1 / k**2 is pi**2 / 6.

        Args:
            test_number: 1, 2, ... in the order of the tests.
        """
        return self._tuning.false_alarm / len(self._reasons) / test_number**2 * (6 / pi**2)

    def _recent_span(self) -> TimeStepSpan | None:
        """Return the numbers of counted and uncounted tuples in the newest steps, at most `recent_time_steps` of them.

        Returns:
            Numbers of the span; None before the second step.
        """
        width = min(len(self._past) - 1, self._tuning.recent_time_steps)
        if width < 1:
            return None
        (first, before), (last, after) = self._past[-1 - width], self._past[-1]
        return TimeStepSpan(last - first, after - before, width)

    def _cached_variances(self, width: int | None) -> FloatArray:
        """Return the noise variance of the number of tuples uncounted for each reason, in the last `width` steps,
        (reasons,).

        Results are cached until the next step.

        Args:
            width: Number of steps; None: all.
        """
        if width not in self._variances_known:
            self._variances_known[width] = self._compute_variances(width, self.time_step)
        return self._variances_known[width]

    def _compute_variances(self, width: int | None, time_step: int) -> FloatArray:
        """Return the noise variance of the number of uncounted tuples of each reason over some steps.

        Args:
            width: Number of steps; None: all.
            time_step: Number of the last of these steps, from 1.

        Returns:
            The variances, (reasons,).
        """
        distributions = [self._distribution.uncounted] * len(TUPLE_REASONS)
        if self._distribution.users_beyond_cap is not None:
            distributions.append(self._distribution.users_beyond_cap)
        variances = {id(distribution): distribution.variance(time_step, width) for distribution in distributions}
        return np.array([variances[id(distribution)] for distribution in distributions])

    def _note_excesses(self, span: TimeStepSpan | None, level: float, when: str) -> dict[UncountedReason, str]:
        """Test which reasons have significantly more than the least share of the used tuples.

        Args:
            span: Numbers of the tested steps; None: nothing is tested.
            level: False-alarm probability of the test of one reason.
            when: Text that describes the steps.

        Returns:
            The text of a note for each reason that exceeds its threshold.
        """
        if span is None:
            return {}
        critical_z = max(-NormalDist().inv_cdf(level), -log(2 * level) / sqrt(2) if self._is_laplace else 0.0)
        reason_count = len(TUPLE_REASONS)
        notes = {}
        used = span.counted_tuples + float(span.uncounted_tuples[:reason_count].sum())
        for index, reason in enumerate(self._reasons):
            # a user beyond the cap has at least this many tuples
            weight = 1.0 if index < reason_count else float(self._facts.tuples_per_user or 1)
            least_share = self._tuning.least_share if index < reason_count else self._tuning.least_beyond
            excess = weight * float(span.uncounted_tuples[index]) - least_share * used
            if excess > 0 and excess > critical_z * sqrt(
                self._variance_of_excess(index, weight, least_share, span.width)
            ):
                share = min(weight * float(span.uncounted_tuples[index]) / max(used, 1.0), 1.0)
                notes[reason] = self._format_note(reason, share, when)
        return notes

    def _variance_of_excess(self, index: int, weight: float, least: float, width: int | None) -> float:
        """Return the noise variance of the excess of a reason: its tuples minus the least share of all used tuples.

        A note is written if the excess is significantly above 0.

        Args:
            index: Index of the reason.
            weight: Tuples for each unit of the reason's total.
            least: The least share that is worth a note.
            width: Number of steps; None: all so far.
        """
        weights = np.where(np.arange(len(self._reasons)) < len(TUPLE_REASONS), -least, 0.0)
        weights[index] += weight
        return float(weights**2 @ self._cached_variances(width)) + least**2 * self._counted.variance(width)

    @property
    def _is_laplace(self) -> bool:
        """True if the noise of the totals is a sum of Laplace draws."""
        return self._distribution.uncounted.family is Family.LAPLACE

    def _format_note(self, reason: UncountedReason, share: float, when: str) -> str:
        """Return the text of a note: which share of the tuples is not counted, and why.

        Args:
            reason: The reason.
            share: Estimated share of the used tuples with this reason, from 0 to 1.
            when: Text that describes the steps, such as " so far".
        """
        facts = self._facts
        capped = "" if facts.tuples_per_user is None else f" (at most {facts.tuples_per_user} of a user in a step)"
        texts = {
            UncountedReason.UNREADABLE: f"are unreadable, or {facts.time!r} is neither ISO 8601 nor seconds since 1970",
            UncountedReason.OUTSIDE: f"are outside the steps or ahead of the clock; steps: {facts.schedule_text}",
            UncountedReason.LATE: f"arrived after their step had closed; grace: {facts.grace_text}",
            UncountedReason.OTHER_STATE: _describe_states(self._query.axes),
            UncountedReason.BEYOND_CAP: f"are from users with more than {facts.tuples_per_user} in a step; the rest is"
            " not used",
        }
        return f"about {share:.0%} of the tuples{when}{capped} {texts[reason]}".replace("%", " %", 1)


def _describe_states(axes: Sequence[Axis | Categories]) -> str:
    """Return the note on tuples in undeclared states, with the first 8 categories, or the range, of each axis.

    Args:
        axes: Declared axes of the states.

    Returns:
        Clause of an English sentence.
    """
    parts = []
    names_shown = 8  # states: the most states that a note lists by name
    for axis in axes:
        if isinstance(axis, Categories):
            names = ", ".join(str(value) for value in axis.values[:names_shown])
            more_count = len(axis.values) - names_shown
            parts.append(
                f"states of {axis.column!r} listed: {names}" + (f" and {more_count} more" if more_count > 0 else "")
            )
        else:
            edges = axis.grid.edges
            parts.append(f"cells of {axis.column!r}: {float(edges[0]):g} to {float(edges[-1]):g}")
    is_listed = all(isinstance(axis, Categories) for axis in axes)
    missing = "a state that is not listed" if is_listed else "no value in the cells"
    return f"have {missing}; {'; '.join(parts)}"


def _describe_span(span: TimeStepSpan | None) -> str:
    """Return words for the steps of a span, such as " of the last 20 steps", for notes; empty without a span.

    Args:
        span: Numbers of consecutive steps; None: no span.
    """
    if span is None:
        return ""
    return " of the last step" if span.width == 1 else f" of the last {span.width} steps"
