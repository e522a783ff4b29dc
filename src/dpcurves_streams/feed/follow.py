"""The loop: a window closes, noise is added, answer and state are stored together, and then it is shown."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Protocol, cast, runtime_checkable
from warnings import warn

from dpcurves.arguments import InvalidArgument, WrongArgumentType, require_type
from dpcurves.conversation import ALL, Plan, PrivacyStatement, Release
from dpcurves.conversation.release import fingerprint
from dpcurves.ledger import Account, Currency, Grant, Ledger, QuestionBudget
from dpcurves.noise.randomness import LEAST_SECRET, Randomness
from dpcurves.privacy import Neighbours, PrivacyLoss

from ..laws import CountsAndUncountedTotals
from ..mechanisms import STREAMS, Sequential, WithUncountedTotals
from ..queries import UncountedReason
from ..readings.question import StreamQuestion
from ..readings.uncounted import NoteFacts, UncountedReader
from ..trust import CentralStream
from .files import JSON_LINES, JsonLinesTuples, LiveWindows, TableWindows
from .reading import StepReading
from .schedule import Clock, Fields, Schedule, SystemClock
from .windows import DropCounts, StreamSpec, Window, Windows


@runtime_checkable
class Source(Protocol):
    """Interface of sources of a stream, which give windows once it is known what is counted."""

    def windows(self, intake: StreamSpec) -> Windows:
        """The windows of a stream. Refuses, by header or schema alone, what cannot be counted."""
        ...


class FollowedStream:
    """A stream that is followed: an iterator over what is shown of each step, from the first one on.

    Formal guarantees: everything that is ever shown of the stream together loses at most its loss, under add-remove of
    what `Fields` protects. The loss is charged once, before the first tuple is read. A step is shown only after its
    noisy counts were stored together with the state behind it; what is stored is what is shown, in every process that
    follows the stream, and after every crash. When a step is shown depends on clocks, not on tuples. A tuple of a pipe
    or an iterable arrives when it is read: neighbouring streams are those whose other tuples arrive alike, so whoever
    can send so many that others are read late should send them to Redis, whose entries say when they came: as long as
    Redis itself gives them their ids (``XADD`` with ``*``). An id of the future that somebody gave by hand pushes those
    of all later entries ahead of the clock; after a pause these count as read late.

    Attributes:
        plan: What is released at each step, and how noisy it is: counts, and totals of what is not counted, by reason.
        dropped: CONFIDENTIAL. How many tuples do not count, and why.
    """

    def __init__(self, stream: _Stream, windows: Windows, ledger: Ledger, grant: Grant) -> None:
        self.plan, self.dropped = stream.plan, stream.intake.drop_counts
        self._stream, self._windows, self._ledger, self._grant = stream, windows, ledger, grant
        self._allotment = QuestionBudget(grant).pay(stream.plan.query, ALL)
        self._readings = self._read_steps()

    def __iter__(self) -> Iterator[StepReading]:
        return self

    def __next__(self) -> StepReading:
        return next(self._readings)

    def __repr__(self) -> str:
        return f"FollowedStream({self._stream.name!r})"

    def _read_steps(self) -> Iterator[StepReading]:
        stream, law = self._stream, self.plan.law.require_type(CountsAndUncountedTotals)
        reader = stream.question.reader(replace(self.plan, law=law.counts))
        of_uncounted = UncountedReader(self.plan, stream.facts)
        states, warned, latest = stream.question.state_labels, dict[UncountedReason, str](), None
        for tick, release in self._iterate_releases():
            counts, uncounted = release.values[: law.size_of_counts], release.values[law.size_of_counts :]
            latest = of_uncounted.read_next(counts, uncounted)
            self._warn(latest.notes, warned)
            yield StepReading(
                stream.name, stream.schedule.start_time(tick), states, counts, reader.read_next(counts), latest,
                stream.privacy.with_notes(*latest.notes.values()),
            )  # fmt: skip
        if latest is not None:
            self._warn(latest.notes_so_far, warned)

    @staticmethod
    def _warn(notes: Mapping[UncountedReason, str], warned: dict[UncountedReason, str]) -> None:
        """Warn of each reason once, from released numbers alone."""
        from dpcurves.curves.result import CurveWarning

        for reason, note in notes.items():
            if reason not in warned:
                warned[reason] = note
                warn(note, CurveWarning, stacklevel=4)

    def _iterate_releases(self) -> Iterator[tuple[int, Release]]:
        """Those that are stored, and then those to come."""
        stream, standing = self._stream, self._ledger.find_stream_state(self._grant)
        last = 0 if standing is None else standing.tick
        for ticks in stream.intake.batch_ticks(1, last):
            yield from self._stored_releases(ticks)
        watcher = stream.trust.open_stream(self.plan, standing)
        for windows in self._windows.windows_after(last):
            while fresh := [window for window in windows if window.tick > last]:
                stepped, texts = self._release_windows(watcher, fresh)
                shown = self._ledger.advance(self._grant, texts, stream.trust.encode_state(stepped))
                if shown is texts:
                    watcher = stepped
                else:  # another process was first, and it goes on from its state
                    standing = self._ledger.find_stream_state(self._grant)
                    ahead = 0 if standing is None else standing.tick
                    watcher = self._stream.trust.open_stream(self.plan, standing)
                    shown = self._ledger.find_answers(self._grant, range(fresh[0].tick, ahead + 1))
                last = max(shown)
                stream.intake.drop_counts.write(last)
                self._windows.commit_windows(last)
                for tick, text in shown.items():
                    yield tick, self._parse_release(text)

    def _release_windows(self, watcher: Any, windows: Sequence[Window]) -> tuple[Any, dict[int, str]]:
        texts, trust = {}, self._stream.trust
        for window in windows:
            trust.require_next(watcher, window.tick)
            intake, randomness = self._stream.intake, self._stream.randomness_of(window.tick)
            table = window.clip_counts(intake.cells, len(intake.reasons))
            release, watcher = trust.step(self.plan, watcher, table, self._allotment, randomness)
            texts[window.tick] = release.to_json()
        return watcher, texts

    def _stored_releases(self, ticks: range) -> Iterator[tuple[int, Release]]:
        for tick, text in self._ledger.find_answers(self._grant, ticks).items():
            yield tick, self._parse_release(text)

    def _parse_release(self, text: str) -> Release:
        release = Release.from_json(text, self.plan, self._allotment)
        if release.seeded != self._stream.randomness.is_seeded:
            raise InvalidArgument(
                "randomness", "this stream began with another kind, seeded or not; go on with the same kind"
            )
        return release


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Stream:
    """The declaration of a stream, and the source of its noise."""

    name: str
    question: StreamQuestion
    intake: StreamSpec
    plan: Plan
    trust: CentralStream
    randomness: Randomness
    seed: bytes

    def randomness_of(self, tick: int) -> Randomness:
        """The random source of a step: the system; or, of a seeded stream, a substream that no other step has.

        So a run that goes on with the seed of the first one does not add noise to its counts that others have got.
        """
        if not self.randomness.is_seeded:
            return self.randomness
        return Randomness(
            Randomness.from_key(self.seed, f"{self.name} {self.binding} {tick}").random_bytes, is_seeded=True
        )

    @property
    def schedule(self) -> Schedule:
        return self.intake.schedule

    @property
    def facts(self) -> NoteFacts:
        """Public facts that notes name."""
        schedule, fields = self.schedule, self.intake.fields
        return NoteFacts(fields.time, schedule.description, f"{schedule.grace / 1e6:g} s", fields.tuples_per_user)

    @property
    def binding(self) -> str:
        """The identifier of the stream in the ledger."""
        return fingerprint(self.plan.fingerprint, self.schedule, self.intake.fields)

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement that stands on whatever is shown of the stream."""
        trust, _, mechanism = self.plan.made_by.partition(": ")
        return PrivacyStatement.from_loss(
            self.plan.loss, self.plan.adjacency, trust=trust, mechanism=mechanism, seeded=self.randomness.is_seeded,
            grant=self.request, model="",
        )  # fmt: skip

    @property
    def request(self) -> str:
        """Under which the ledger charged."""
        return f"stream {self.name}"

    def charge_stream(self, ledger: Ledger) -> Grant:
        """Charge the whole stream once; the earlier charge, if it was followed before.

        Raises:
            ValueError: the store has another stream of this name.
        """
        loss = self.plan.loss
        cap = Currency.from_loss(loss).smallest_cap(loss)
        ledger.create(Account(self.name, Neighbours.ADD_REMOVE, self.plan.adjacency.unit, cap))
        purpose = f"a stream of {self.intake.cells} counts, {self.schedule}"
        try:
            return ledger.charge(
                self.name, loss, purpose=purpose, request=self.request, binding=self.binding, units=None,
            )  # fmt: skip
        except InvalidArgument as refused:
            if refused.argument != "request":
                raise
        rule = "the store has a stream of this name with other states, steps, fields or readings; give another name"
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
    mechanism: Sequential[Any] | None = None,
    confidential_log: str | PathLike[str] | None = None,
    randomness: Randomness | None = None,
    clock: Clock | None = None,
) -> FollowedStream:
    """Follow a stream: release its counts step by step, under one loss, and read them.

    Arguments:
        source: What gives tuples: a path to a .csv, .parquet or .jsonl file, `CsvFile` or `JsonLinesTuples`, a data
            frame, a DuckDB relation or a mapping of columns, which are finished; an iterable or an async iterable of
            mappings, `CsvLines` or `JsonLines` of a pipe, or a `RedisStream`, which go on; or your own `Windows`, exact
            counts of closed windows.
        counts: What is counted and read: `Counts`, `Totals` so far, `Groups` (PeGaSus), or `AggregatedCounts` and
            `PrunedStates` (hierarchies).
        loss: What the whole stream loses, charged once before the first tuple.
        store: A ledger: the URL of one (``sqlite:///s.db``, ``postgresql+psycopg://...``) or an opened one. A second
            run over the same store repeats each number, and costs nothing.
        start: When step 1 begins: a `datetime`, a text of ISO 8601 or seconds since 1970.
        every: How long a step is: a `timedelta`, a text as ``5m``, or seconds.
        end: When the last step ends. What is finished needs one.
        grace: How long a step waits for tuples that come late.
        time: The field that says when; ISO 8601, in UTC where it does not say, or seconds since 1970.
        user: The field that says whose tuple it is. Without it, each tuple is protected on its own.
        tuples_per_user: How many tuples of one user in one step are used.
        name: What tells this stream from others in the store.
        mechanism: How noise is added; that which fits the question is the default.
        confidential_log: A file for how many tuples were dropped and why: exact, and for nobody but the operator.
        randomness: Where noise comes from. What is seeded is for tests alone: it says so on whatever is shown.
        clock: When windows close; the system's clock is the default.

    Raises:
        ValueError: what is declared does not fit, a field is not there, or the store holds another stream under this
            name; nothing was charged.

    Warns:
        CurveWarning: much of what came is not counted, by released numbers alone.
    """
    require_type("counts", counts, StreamQuestion, "a Counts, as in Counts((Categories(...),)),")
    require_type("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(0.1),")
    schedule, fields = Schedule(start, every, end, grace), Fields(time, user, tuples_per_user)
    counts = _set_ticks(counts, schedule)
    trust = CentralStream(WithUncountedTotals(STREAMS if mechanism is None else mechanism))
    plan = trust.plan(counts.query, loss, fields.adjacency)
    ledger = store if isinstance(store, Ledger) else Ledger.open(store)
    intake = StreamSpec(
        schedule,
        fields,
        counts.query.axes,
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
) -> Plan:
    """The plan of `follow`: releases of each step and their noise. No source, and no store, is opened."""
    schedule, fields = Schedule(start, every, end, grace), Fields(time, user, tuples_per_user)
    return CentralStream(WithUncountedTotals(STREAMS)).plan(_set_ticks(counts, schedule).query, loss, fields.adjacency)


def _set_ticks(counts: StreamQuestion, schedule: Schedule) -> StreamQuestion:
    if counts.ticks is None:
        asked: StreamQuestion = replace(cast("Any", counts), ticks=schedule.ticks)
        return asked
    if counts.ticks != schedule.ticks:
        raise InvalidArgument(
            "end", f"it is {schedule.ticks} steps after start, and the counts are declared for {counts.ticks}"
        )
    return counts


def _open_windows(source: Any, intake: StreamSpec) -> Windows:
    if isinstance(source, Source):
        return source.windows(intake)
    if all(hasattr(source, part) for part in ("check", "windows_after", "commit_windows")):
        own: Windows = source
        return own
    if isinstance(source, str | PathLike) and str(source).endswith(JSON_LINES):
        return JsonLinesTuples(source).windows(intake)
    if isinstance(source, str | PathLike | Mapping) or _is_table(source):
        return TableWindows(source, intake)
    if isinstance(source, Iterable | AsyncIterable):
        return LiveWindows(source, intake)
    raise WrongArgumentType(
        "source", f"a file, a table, an iterable of mappings or Windows is needed, got {type(source).__name__}"
    )


def _is_table(source: Any) -> bool:
    return any(
        hasattr(source, part)
        for part in ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__", "to_arrow_reader", "collect_schema")
    )
