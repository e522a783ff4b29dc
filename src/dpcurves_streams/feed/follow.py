"""Main loop of a private stream, safe against crashes: close a window, add noise, store, then show the release.

`follow` reads tuples (timestamped rows) and yields the released result of each time step. The noisy counts of a step
and the state of the mechanism are stored in one transaction before anything is shown. After a crash, stored steps are
shown again with the same numbers, and the loop goes on from the stored state.

Formal guarantees: all steps together lose at most the privacy loss of the stream's plan, which is charged once before
the first tuple is read (proof at `CentralStream`). A restart costs nothing, because no step gets noise twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Protocol, cast, runtime_checkable
from warnings import warn

from dpcurves.arguments import InvalidArgument, WrongArgumentType, require_type
from dpcurves.conversation import WHOLE_BUDGET, Plan, PrivacyStatement, Release
from dpcurves.conversation.release import fingerprint
from dpcurves.curves.question import describe_published_texts
from dpcurves.expressions import parse_filter
from dpcurves.ledger import Account, Currency, Grant, Ledger, QuestionBudget
from dpcurves.noise.randomness import LEAST_SECRET, Randomness
from dpcurves.privacy import Neighbours, PrivacyLoss

from ..distributions import CountsAndUncountedTotals
from ..mechanisms import STREAMS, Sequential, WithUncountedTotals
from ..queries import TimeStepQuery
from ..readings.question import StreamQuestion
from ..readings.uncounted import NoteFacts, UncountedReader
from ..trust import CentralStream
from .files import JSON_LINES, JsonLinesTuples, LiveWindows, TableWindows
from .reading import StepReading
from .schedule import Clock, Fields, Schedule, SystemClock, find_stream_filter
from .windows import DropCounts, StreamSpec, Window, Windows


@runtime_checkable
class Source(Protocol):
    """Interface of sources, which return the windows of a stream once its declaration is known."""

    def windows(self, intake: StreamSpec) -> Windows:
        """Return the source as windows, which give the exact counts of each closed time step.

        Fields that are missing or cannot be counted are refused from the header or schema alone.

        Args:
            intake: Declared states and schedule of the stream.

        Raises:
            ValueError: a field that the states or the schedule need is missing, or has a type that cannot be counted.
        """
        ...


class FollowedStream:
    """A followed stream: an iterator over the readings of its time steps, from the first step.

    Formal guarantees: everything that is ever shown of the stream together loses at most its loss, under add-remove
    adjacency of the unit in `Fields`. The loss is charged once, before the first tuple is read. A step is shown only
    after its noisy counts were stored together with the mechanism's state; every process that follows the stream, also
    after a crash, shows the stored counts. The time at which a step is shown depends on clocks, not on tuples. Tuples
    of a pipe or an iterable arrive when they are read: neighbouring streams must agree on the arrival times of all
    other tuples. If one sender could delay the reading of other tuples by sending many, use Redis, whose entries carry
    their arrival time, provided that Redis assigns the ids (``XADD`` with ``*``). An id in the future that was given by
    hand pushes the ids of all later entries ahead of the clock; after a pause these count as read late.

    Attributes:
        plan: Plan of the released counts and of the totals of uncounted tuples, with their noise.
        dropped: CONFIDENTIAL. Exact numbers of uncounted tuples, by reason.
    """

    def __init__(self, stream: _Stream, windows: Windows, ledger: Ledger, grant: Grant) -> None:
        """Begin to follow a charged stream, from its first step; `follow` makes this object.

        Args:
            stream: Question, declaration and plan of the stream.
            windows: Exact counts of closed time steps.
            ledger: Store of the releases.
            grant: The ledger's charge of the whole stream.
        """
        self.plan = stream.plan
        self.dropped = stream.intake.drop_counts
        self._stream = stream
        self._windows = windows
        self._ledger = ledger
        self._grant = grant
        self._allotment = QuestionBudget(grant).pay(stream.plan.query, WHOLE_BUDGET)
        self._readings = self._read_steps()

    def __iter__(self) -> Iterator[StepReading]:
        return self

    def __next__(self) -> StepReading:
        return next(self._readings)

    def __repr__(self) -> str:
        return f"FollowedStream({self._stream.name!r})"

    def _read_steps(self) -> Iterator[StepReading]:
        """Yield the reading of each released step.

        Warn once of each reason for which many tuples are not counted, and of texts in the filter that look like names.
        """
        stream = self._stream
        distribution = self.plan.distribution.require_type(CountsAndUncountedTotals)
        reader = stream.question.reader(replace(self.plan, distribution=distribution.counts))
        uncounted_reader = UncountedReader(self.plan, stream.facts, getattr(stream.question, "windows", ()))
        states = stream.question.state_labels
        warned = dict[Any, str]()
        latest = None
        privacy = stream.privacy
        self._warn({note: note for note in privacy.notes}, warned)
        for time_step, release in self._iterate_releases():
            counts, uncounted = (
                release.values[: distribution.size_of_counts],
                release.values[distribution.size_of_counts :],
            )
            latest = uncounted_reader.read_next(counts, uncounted)
            self._warn(latest.notes, warned)
            yield StepReading(
                stream.name, stream.schedule.start_time(time_step), states, counts, reader.read_next(counts), latest,
                privacy.with_notes(*latest.notes.values()),
            )  # fmt: skip
        if latest is not None:
            self._warn(latest.notes_so_far, warned)

    @staticmethod
    def _warn(notes: Mapping[Any, str], warned: dict[Any, str]) -> None:
        """Warn of each reason for uncounted tuples of which no warning was given yet.

        Only released numbers and public texts are shown.

        Args:
            notes: Text of the warning, by reason.
            warned: Texts that were shown, by reason; completed here.
        """
        from dpcurves.curves.result import CurveWarning

        for reason, note in notes.items():
            if reason not in warned:
                warned[reason] = note
                warn(note, CurveWarning, stacklevel=4)

    def _iterate_releases(self) -> Iterator[tuple[int, Release]]:
        """Yield each step with its release: first the stored releases, then new releases, each stored before it is
        yielded.

        Yields:
            Number of the time step, from 1, and its release.
        """
        stream = self._stream
        stored_state = self._ledger.find_stream_state(self._grant)
        last = 0 if stored_state is None else stored_state.time_step
        for time_steps in stream.intake.batch_time_steps(1, last):
            yield from self._stored_releases(time_steps)
        state = stream.trust.open_stream(self.plan, stored_state)
        for windows in self._windows.windows_after(last):
            while new_windows := [window for window in windows if window.time_step > last]:
                next_state, texts = self._release_windows(state, new_windows)
                stored_texts = self._ledger.advance(self._grant, texts, stream.trust.encode_state(next_state))
                if stored_texts is texts:
                    state = next_state
                else:  # another process has stored these steps first: continue from its state
                    stored_state = self._ledger.find_stream_state(self._grant)
                    last_stored = 0 if stored_state is None else stored_state.time_step
                    state = self._stream.trust.open_stream(self.plan, stored_state)
                    stored_texts = self._ledger.find_answers(
                        self._grant, range(new_windows[0].time_step, last_stored + 1)
                    )
                last = max(stored_texts)
                stream.intake.drop_counts.write(last)
                self._windows.commit_windows(last)
                for time_step, text in stored_texts.items():
                    yield time_step, self._parse_release(text)

    def _release_windows(self, state: Any, windows: Sequence[Window]) -> tuple[Any, dict[int, str]]:
        """SECRET: add noise to the exact counts of closed windows, in order.

        Args:
            state: State of the mechanism after the last released step.
            windows: Closed windows, in the order of their steps.

        Returns:
            State after the last window, and each step's release as JSON text, by number of the step.
        """
        texts = {}
        trust = self._stream.trust
        for window in windows:
            trust.require_next(state, window.time_step)
            intake = self._stream.intake
            randomness = self._stream.randomness_of(window.time_step)
            table = window.clip_counts(intake.cells, len(intake.reasons))
            release, state = trust.step(self.plan, state, table, self._allotment, randomness)
            texts[window.time_step] = release.to_json()
        return state, texts

    def _stored_releases(self, time_steps: range) -> Iterator[tuple[int, Release]]:
        """Yield the stored releases of these steps with their numbers.

        Args:
            time_steps: Consecutive numbers of time steps.

        Yields:
            Number and release; steps that are not stored are left out.
        """
        for time_step, text in self._ledger.find_answers(self._grant, time_steps).items():
            yield time_step, self._parse_release(text)

    def _parse_release(self, text: str) -> Release:
        """Return a stored release of this stream.

        Args:
            text: JSON text of the release, as the ledger stores it.

        Raises:
            InvalidArgument: of both runs, one has noise from a seed and the other has not.
        """
        release = Release.from_json(text, self.plan, self._allotment)
        if release.seeded != self._stream.randomness.is_seeded:
            raise InvalidArgument(
                "randomness",
                "this stream began with noise of the other kind (seeded or unseeded); go on with the same kind",
            )
        return release


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Stream:
    """Declaration of a stream, and the source of its noise."""

    name: str
    question: StreamQuestion
    intake: StreamSpec
    plan: Plan
    trust: CentralStream
    randomness: Randomness
    seed: bytes

    def randomness_of(self, time_step: int) -> Randomness:
        """Return the random source of a step: the system's, or a separate substream for each step of a seeded stream.

        So a run that resumes with the same seed does not repeat the noise of steps that were released before.

        Args:
            time_step: Number of the time step, from 1.
        """
        if not self.randomness.is_seeded:
            return self.randomness
        return Randomness(
            Randomness.from_key(self.seed, f"{self.name} {self.binding} {time_step}").random_bytes, is_seeded=True
        )

    @property
    def schedule(self) -> Schedule:
        """The time steps of the stream."""
        return self.intake.schedule

    @property
    def facts(self) -> NoteFacts:
        """Public facts of the stream (field of timestamps, schedule, grace, cap per user) that notes on uncounted
        tuples state.
        """
        schedule = self.schedule
        fields = self.intake.fields
        return NoteFacts(fields.time, schedule.description, f"{schedule.grace / 1e6:g} s", fields.tuples_per_user)

    @property
    def binding(self) -> str:
        """Fingerprint (hash) of the stream's declaration, to which the ledger binds its charge."""
        return fingerprint(self.plan.fingerprint, self.schedule, self.intake.fields)

    @property
    def privacy(self) -> PrivacyStatement:
        """Privacy statement of everything that is released of the stream: its loss, unit and trust model."""
        trust, _, mechanism = self.plan.made_by.partition(": ")
        return PrivacyStatement.from_loss(
            self.plan.loss, self.plan.adjacency, trust=trust, mechanism=mechanism, seeded=self.randomness.is_seeded,
            grant=self.request, model="", where=self.plan.query.where,
        ).with_notes(*describe_published_texts([self.plan]))  # fmt: skip

    @property
    def request(self) -> str:
        """Request id under which the ledger charges the stream: the word "stream" and its name."""
        return f"stream {self.name}"

    def charge_stream(self, ledger: Ledger) -> Grant:
        """Charge the loss of the whole stream once, and return the charge; on a second run the earlier charge is
        returned.

        Args:
            ledger: Ledger of the store; an account of the stream's name is created if it is missing.

        Raises:
            ValueError: the store has another stream with this name.
        """
        loss = self.plan.loss
        cap = Currency.from_loss(loss).smallest_cap(loss)
        ledger.create(Account(self.name, Neighbours.ADD_REMOVE, self.plan.adjacency.unit, cap))
        purpose = f"a stream of {self.intake.cells} counts, {self.schedule}"
        try:
            return ledger.charge(
                self.name, loss, purpose=purpose, request=self.request, binding=self.binding, units=None,
            )  # fmt: skip
        except InvalidArgument as error:
            if error.argument != "request":
                raise
        rule = (
            "the store has another stream with this name; choose another name, or repeat its states, steps, fields"
            " and readings"
        )
        raise InvalidArgument("name", rule)


def follow(
    source: Any,
    counts: StreamQuestion,
    *,
    loss: PrivacyLoss,
    store: str | Ledger,
    start: Any,
    every: Any,
    end: Any = None,
    grace: Any = 0,
    time: str = "time",
    user: str | None = None,
    tuples_per_user: int | None = None,
    name: str = "stream",
    where: Any = None,
    mechanism: Sequential[Any] | None = None,
    confidential_log: str | PathLike[str] | None = None,
    randomness: Randomness | None = None,
    clock: Clock | None = None,
) -> FollowedStream:
    """Follow a stream: release and read its counts at every time step, under one privacy loss.

    Args:
        source: Tuples. Finished sources: a path to a .csv, .parquet or .jsonl file, `CsvFile`, `JsonLinesTuples`, a
            data frame, a DuckDB relation or a mapping of columns. Live sources: an iterable or async iterable of
            mappings, `CsvLines` or `JsonLines` of a pipe, a `RedisStream`. Or your own `Windows`, exact counts of
            closed windows.
        counts: The counts to release: `Counts`, running `Totals`, `Groups` (PeGaSus), or `AggregatedCounts` and
            `PrunedStates` (hierarchies).
        loss: Loss of the whole stream, charged once before the first tuple is read.
        store: A ledger, or the URL of a ledger (``sqlite:///s.db``, ``postgresql+psycopg://...``). A second run on the
            same store repeats all numbers at no cost.
        start: Start of step 1: a `datetime`, ISO 8601 text or seconds since 1970.
        every: Length of a step: a `timedelta`, text such as ``5m``, or seconds.
        end: End of the last step. Finished sources need one.
        grace: How long a step waits for late tuples.
        time: Field of timestamps: ISO 8601, in UTC unless a zone is named, or seconds since 1970.
        user: Field of users. Without it, each tuple is protected by itself.
        tuples_per_user: Most tuples of one user in one step that are used.
        name: Name of the stream in the store.
        where: Condition of the tuples that belong to the stream, as SQL text or by `dp.col`; others count nowhere. It
            is evaluated before the bound of tuples per user, and is published with each step. Columns of states may be
            expressions, too. Fields without declared types (of CSV, JSON and Redis) are read as the types that these
            need.
        mechanism: Mechanism that adds noise; default: chosen by the question.
        confidential_log: File for the exact numbers of dropped tuples, for the operator only.
        randomness: Source of noise. Seeded noise is for tests; everything shown is then marked as seeded.
        clock: Decides when windows close; default: the system clock.

    Returns:
        The stream: iterating over it yields the reading of each time step, first those in the store.

    Raises:
        ValueError: the declaration is inconsistent, a field is missing, or the store has another stream with this name.
            Nothing was charged.

    Warns:
        CurveWarning: many tuples are not counted, judged from released numbers.
    """
    require_type("counts", counts, StreamQuestion, "a Counts, as in Counts((Categories(...),)),")
    require_type("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(0.1),")
    schedule = Schedule(start, every, end, grace)
    fields = Fields(time, user, tuples_per_user)
    counts = _set_time_steps(counts, schedule)
    trust = CentralStream(WithUncountedTotals(STREAMS if mechanism is None else mechanism))
    plan = trust.plan(_filter_query(counts, where), loss, fields.adjacency)
    ledger = store if isinstance(store, Ledger) else Ledger.open(store)
    intake = StreamSpec(
        schedule,
        fields,
        plan.query.axes,
        DropCounts(confidential_log),
        ledger.dataset_key(name),
        clock or SystemClock(),
    )
    windows = _open_windows(source, intake)
    windows.check()
    noise = Randomness.from_system() if randomness is None else randomness
    stream = _Stream(name, counts, intake, plan, trust, noise, noise.random_bytes(LEAST_SECRET))
    return FollowedStream(stream, windows, ledger, stream.charge_stream(ledger))


def plan_stream(
    counts: StreamQuestion,
    loss: PrivacyLoss,
    *,
    start: Any,
    every: Any,
    end: Any = None,
    grace: Any = 0,
    time: str = "time",
    user: str | None = None,
    tuples_per_user: int | None = None,
    where: Any = None,
) -> Plan:
    """Return the plan that `follow` would run with these arguments: the releases, their noise and loss. Neither a
    source nor a store is opened.

    Args:
        counts: The counts to release.
        loss: Loss of the whole stream.
        start: Start of step 1: a `datetime`, ISO 8601 text or seconds since 1970.
        every: Length of a step: a `timedelta`, text such as ``5m``, or seconds.
        end: End of the last step; None: the stream does not end.
        grace: How long a step waits for late tuples.
        time: Field of timestamps.
        user: Field of users; None: each tuple is protected by itself.
        tuples_per_user: Most tuples of one user in one step; None: only without `user`.
        where: Filter of the tuples; None: all count.
    """
    schedule = Schedule(start, every, end, grace)
    fields = Fields(time, user, tuples_per_user)
    query = _filter_query(_set_time_steps(counts, schedule), where)
    return CentralStream(WithUncountedTotals(STREAMS)).plan(query, loss, fields.adjacency)


def _filter_query(counts: StreamQuestion, where: Any) -> TimeStepQuery:
    """Return the query of a stream's counts with its filter.

    Args:
        counts: The question.
        where: Filter as SQL text or expression; None: no filter.

    Raises:
        InvalidArgument: the filter is invalid, or the states have another filter.
    """
    query = counts.query
    row_filter = parse_filter("where", where) or ""
    if row_filter and find_stream_filter(query.axes) not in ("", row_filter):
        raise InvalidArgument("where", "the states have a filter of their own; give the filter once")
    return query.with_filter(row_filter)


def _set_time_steps(counts: StreamQuestion, schedule: Schedule) -> StreamQuestion:
    """Return the question with the schedule's number of time steps, from which noise is planned.

    Args:
        counts: Question of the stream, with or without a number of time steps.
        schedule: Schedule of the stream; an endless one has no number of time steps.

    Raises:
        InvalidArgument: the question declares another number.
    """
    if counts.time_steps is None:
        with_time_steps: StreamQuestion = replace(cast("Any", counts), time_steps=schedule.time_steps)
        return with_time_steps
    if counts.time_steps != schedule.time_steps:
        raise InvalidArgument(
            "end",
            f"must be {counts.time_steps} steps after start, as the counts declare; "
            f"it is {schedule.time_steps} steps after",
        )
    return counts


def _open_windows(source: Any, intake: StreamSpec) -> Windows:
    """Return a source as windows, which give the exact counts of each closed time step.

    Args:
        source: File, table, iterable of mappings, `Source` or `Windows`.
        intake: Schedule, fields, states and filter of the stream.

    Raises:
        WrongArgumentType: the source is of another type.
        InvalidArgument: there is a filter, and the source counts tuples itself.
    """
    if isinstance(source, Source):
        return source.windows(intake)
    if all(hasattr(source, method) for method in ("check", "windows_after", "commit_windows")):
        windows: Windows = source
        if find_stream_filter(intake.axes):
            raise InvalidArgument(
                "where",
                "this source counts tuples itself and evaluates no filter; filter in the source, or pass the tuples",
            )
        return windows
    if isinstance(source, str | PathLike) and str(source).endswith(JSON_LINES):
        return JsonLinesTuples(source).windows(intake)
    if isinstance(source, str | PathLike | Mapping) or _is_table(source):
        return TableWindows(source, intake)
    if isinstance(source, Iterable | AsyncIterable):
        return LiveWindows(source, intake)
    raise WrongArgumentType(
        "source", f"must be a file, a table, an iterable of mappings or Windows, got {type(source).__name__}"
    )


def _is_table(source: Any) -> bool:
    """Return True if the object is a data frame, an Arrow table or a relation, by its methods.

    Args:
        source: Any object that a user gives as a source.
    """
    return any(
        hasattr(source, method)
        for method in ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__", "to_arrow_reader", "collect_schema")
    )
