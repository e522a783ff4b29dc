"""The command ``dpcurves stream``, which follows a stream, and its plan.

Options are fields of the classes. `stream` reads tuples and writes each step; `plan` reads no data.
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from warnings import catch_warnings

from dpcurves.cli.app import PackageCommands
from dpcurves.cli.options import (
    Argument,
    LossOptions,
    check_positive_number,
    flag,
    option,
    optional,
    parse_grid,
    parse_integer,
    parse_labels,
    parse_probability,
)
from dpcurves.cli.terminal import (
    Misuse,
    make_console,
    print_to_console,
    print_to_stderr,
    print_to_stdout,
    show_late_progress_bar,
    translate_argument_errors,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpcurves.conversation import Plan
    from dpcurves.data import Categories, Grid

    from .feed import StepReading
    from .queries import Forest
    from .readings import Event, Jump, Low
    from .readings.question import StreamQuestion


REDIS_SCHEMES = ("redis://", "rediss://", "unix://")
"""Schemes of URLs of a Redis server. Other sources are files, or - for standard input."""
READINGS = ("auto", "pegasus", "laplace", "totals")
"""Accepted values of --reading: counts of each step, with a mechanism chosen by itself or named, or running totals."""


@dataclass(frozen=True)
class TupleOptions:
    """Options for the source of tuples, their format and their fields."""

    events: Annotated[
        str | None,
        Argument(
            metavar="[EVENTS]",
            help="A .csv, .parquet or .jsonl file, whose lines may be in any order; - for standard "
            "input, or redis://host/0#stream.",
        ),
    ] = None
    format: str | None = optional("KIND", "Format of lines: csv or json; default: by the file's name, else csv.")
    time: str = option(
        "NAME", "Field of timestamps: ISO 8601 (UTC unless a zone is named) or seconds since 1970.", "ts"
    )
    user: str | None = optional("NAME", "Field of users; without it, each tuple is protected by itself.")
    tuples_per_user: str | None = optional(
        "K", "Most tuples of one user in one step that are used; needed with --user."
    )
    delimiter: str = option("SIGN", "Separator of CSV fields.", ",")

    def open_source(self) -> Any:
        """Return the source of tuples that the options name: a file, standard input or a Redis stream.

        Raises:
            Misuse: no source was given, or the options of its format do not apply.
        """
        from .feed import CsvFile, CsvLines, JsonLines, JsonLinesTuples, RedisStream

        if self.events is None:
            raise Misuse("events", "the tuples are missing; name a file, or - for standard input")
        if self.format not in (None, "csv", "json"):
            raise Misuse("format", f"must be csv or json, got {self.format!r}; write --format csv or --format json")
        if self.events.startswith(REDIS_SCHEMES):
            self.require_default_format("entries of Redis have no lines")
            server, _, stream = self.events.partition("#")
            if not stream:
                raise Misuse("events", "name the stream after the server, as in redis://host:6379/0#events")
            return RedisStream(server, stream)
        is_json = self.is_json()
        is_pipe = self.events == "-"
        if is_json:
            return JsonLines(sys.stdin) if is_pipe else JsonLinesTuples(self.events)
        if self.events.endswith(".parquet"):
            self.require_default_format("Parquet has no lines")
        return CsvLines(sys.stdin, self.delimiter) if is_pipe else CsvFile(self.events, self.delimiter)

    def require_default_format(self, trouble: str) -> None:
        """Refuse typed options of the format of lines (--format, --delimiter), for a source that has no lines.

        Args:
            trouble: Why the options do not apply, for the message.

        Raises:
            Misuse: one of these options was typed.
        """
        for name, is_given in (("format", self.format is not None), ("delimiter", self.delimiter != ",")):
            if is_given:
                raise Misuse(name, f"{trouble}; leave out this option")

    def is_json(self) -> bool:
        """Return True if each line of the source holds a JSON object: by --format, else by the file's name."""
        from .feed.files import JSON_LINES

        has_json_lines = self.format == "json" or (self.format is None and (self.events or "").endswith(JSON_LINES))
        if has_json_lines and self.delimiter != ",":
            raise Misuse("delimiter", "JSON lines have no delimiter; leave out --delimiter")
        return has_json_lines

    def parse_tuples_per_user(self) -> int | None:
        """Return the most tuples of one user in one step that are used; None if the option is missing.

        Raises:
            Misuse: the text is no whole number above 0.
        """
        return None if self.tuples_per_user is None else parse_integer("tuples-per-user", self.tuples_per_user)


@dataclass(frozen=True)
class StepOptions:
    """Options for the start, end and length of time steps."""

    start: str | None = optional("TIME", "Start of step 1, as in 2026-03-02T06:00 (UTC).")
    end: str | None = optional("TIME", "End of the last step; needed for files.")
    every: str | None = optional("SPAN", "Length of a step, as in 30s, 5m, 1h or 1d.")
    grace: str = option("SPAN", "Grace period: how long a step waits for late tuples.", "0s")

    def to_arguments(self) -> dict[str, Any]:
        """Return the options as keyword arguments: `start`, `end`, `every` and `grace`, as typed.

        Raises:
            Misuse: the start or the length of a step is missing.
        """
        for name in ("start", "every"):
            if getattr(self, name) is None:
                raise Misuse(name, f"declare it with --{name}: time steps are public and must not depend on the tuples")
        return {"start": self.start, "end": self.end, "every": self.every, "grace": self.grace}


@dataclass(frozen=True)
class CountOptions:
    """Options for the states that are counted, and for readings of the counts."""

    state: str = option("NAME", "Field of a tuple's state, or an SQL expression of fields.", "state")
    states: str | None = optional("A,B,C", "All states, which are public.")
    hierarchy: str | None = optional("FILE", "JSON file of aggregations and their states, instead of --states.")
    column: str | None = optional(
        "NAME", "Field of numbers, or an SQL expression of fields, counted in the cells of --grid instead of states."
    )
    grid: str | None = optional("CELLS", "Public cells of --column: LOWER:UPPER:CELLS, edges or values.")
    reading: str = option("KIND", "auto, pegasus or laplace: counts of each step; totals: running totals.", "auto")
    window: list[str] | None = optional("W", "Also sums over the last W steps.")
    event: list[str] | None = optional("EVENT", "Event to detect: jump:LAG:LEAST or low:STEPS:BELOW.")
    where: str | None = optional(
        "CONDITION", "Only tuples that meet an SQL condition, e.g. \"kind = 'login'\". It is published with each step."
    )

    def parse_question(self) -> StreamQuestion:
        """Return the question about the stream that the options ask: its states or cells, reading, windows and events.

        Raises:
            Misuse: states are missing, or given twice, or a reading, window or event is invalid.
        """
        from dpcurves.data import Axis, Categories

        from .readings import AggregatedCounts, Counts, Groups, Smoothing, Totals

        if self.reading not in READINGS:
            raise Misuse("reading", f"must be one of {', '.join(READINGS)}, got {self.reading!r}")
        windows = tuple(parse_integer("window", text) for text in self.window or ())
        events = tuple(_parse_event(text) for text in self.event or ())
        if self.column is None and (self.states is None) == (self.hierarchy is None):
            raise Misuse("states", "the states are missing; declare them, as in --states a,b, or with --hierarchy")
        forest = None if self.hierarchy is None else _read_hierarchy(self.hierarchy)
        axes: tuple[Axis | Categories, ...]
        if self.column is not None:
            axes = (Axis(self.column, self.parse_cells()),)
        else:
            with translate_argument_errors("states", "categories"):
                states = parse_labels("states", self.states or "") if forest is None else forest.states
                axes = (Categories(self.state, states),)
        if self.reading == "totals":
            if events:
                raise Misuse("event", "totals have no events; leave out --event")
            return Totals(axes, None, windows, forest)
        if self.reading == "pegasus":
            return Groups(axes, None, windows, events, forest=forest)
        smoothing = Smoothing.PLAIN if self.reading == "laplace" else Smoothing.AUTO
        if forest is not None:
            return AggregatedCounts(self.state, forest, None, windows, events, smoothing)
        return Counts(axes, None, windows, events, smoothing)

    def parse_watched(self) -> Grid | Categories:
        """Return the cells of the field of numbers, or the states, whose drift is watched.

        Raises `Misuse` if there are neither, or if states have a hierarchy.
        """
        from dpcurves.data import Categories

        if self.column is not None or self.states is None:
            return self.parse_cells()
        if self.hierarchy is not None:
            raise Misuse("drift-since", "drift is of states without a hierarchy; leave --hierarchy out")
        return Categories(self.state, parse_labels("states", self.states))

    def parse_cells(self) -> Grid:
        """Return the cells of the field of numbers.

        Raises `Misuse` if they are missing, or if states were given too.
        """
        if self.column is None or self.grid is None:
            raise Misuse("grid", "give the cells with --grid and the field of numbers with --column")
        if self.states is not None or self.hierarchy is not None:
            raise Misuse("column", "count either numbers or states; leave the other option out")
        return parse_grid("grid", self.grid)


def _parse_event(text: str) -> Event | Jump | Low:
    """Return the event ``jump:LAG:LEAST`` (a count changes by LEAST within LAG steps) or ``low:STEPS:BELOW``.

    Args:
        text: The option as typed.

    Raises:
        Misuse: the text has another form.
    """
    from .readings import Jump, Low

    kind, *numbers = text.split(":")
    if kind not in ("jump", "low") or len(numbers) != 2:
        raise Misuse("event", f"must be jump:LAG:LEAST or low:STEPS:BELOW, as in jump:7:30, got {text!r}")
    width = parse_integer("event", numbers[0])
    size = float(check_positive_number("event", numbers[1]))
    return Jump(width, size) if kind == "jump" else Low(width, size)


def _read_hierarchy(file: str) -> Forest:
    """Return the aggregations of states (sets, nested or disjoint) in a JSON file.

    Args:
        file: Path of the file.

    Raises:
        Misuse: the file cannot be read or is no JSON.
    """
    from dpcurves_streams.queries import Forest

    try:
        with open(file, encoding="utf-8") as stream:
            stored = json.load(stream)
    except (OSError, ValueError) as error:
        trouble = getattr(error, "strerror", None) or "invalid JSON"
    else:
        return Forest.from_json(stored)
    raise Misuse("hierarchy", f"{file!r} cannot be read ({trouble}); give a JSON file of nested states")


YEAR_MICROSECONDS = 31_557_600 * 10**6
"""Microseconds of a year of 365.25 days, in which the false alarms of drift are stated."""


@dataclass(frozen=True)
class DriftOptions:
    """Options for the drift of a field of numbers, or of states, since the first steps."""

    drift_since: str | None = optional(
        "N", "Report the drift of each later step, or --window, from the first N steps, with alarms."
    )
    false_alarm_rate: str = option(
        "PROBABILITY", "Probability of a false alarm in a year, for each statistic of drift.", "0.05"
    )

    def add_reference_window(self, options: CountOptions) -> CountOptions:
        """Return the options of counts with one more window, as long as the reference period of drift; unchanged
        without drift.

        Args:
            options: Options of the counts.

        Raises:
            Misuse: drift cannot be measured with these options.
        """
        if self.drift_since is None:
            return options
        if options.reading not in ("auto", "laplace"):
            raise Misuse("drift-since", "drift needs counts of each step: write --reading auto or --reading laplace")
        options.parse_watched()
        parse_integer("drift-since", self.drift_since)
        windows = options.window or []
        return options if self.drift_since in ("1", *windows) else replace(options, window=[*windows, self.drift_since])

    def windows_per_year(self, options: CountOptions, every: str) -> int:
        """Return the number of windows in a year, rounded up, each of which may raise a false alarm.

        Args:
            options: Options of the counts, which have the width of a window in steps.
            every: Length of a step, such as ``5m``.

        Raises:
            Misuse: false alarms would be too rare to be simulated.
        """
        from dpcurves.arguments import InvalidArgument

        from .feed.schedule import parse_span
        from .readings.drift import alarm_level_and_draws

        width = parse_integer("window", (options.window or ["1"])[0])
        yearly_alarms = parse_probability("false_alarm_rate", self.false_alarm_rate)
        windows = -(-YEAR_MICROSECONDS // (parse_span("every", every) * width))
        try:
            alarm_level_and_draws(options.parse_watched(), windows, yearly_alarms)
        except InvalidArgument:
            rule = f"alarms are too rare to simulate with {windows:,} windows a year; use wider windows with --window"
            raise Misuse("false_alarm_rate", rule) from None
        return windows

    def add_drift(
        self, readings: Iterable[StepReading], options: CountOptions, windows_per_year: int
    ) -> Iterator[StepReading]:
        """Yield the steps; a step at which a window ends, after the reference window, gets the drift statistics of
        this window.

        Args:
            readings: Readings of the steps.
            options: Options of the counts, which have the width of a window.
            windows_per_year: Number of windows in a year, each of which may raise a false alarm.
        """
        from .readings import DriftWatch, TimeStepReading

        since = int(self.drift_since or 0)
        width = int((options.window or ["1"])[0])
        watch = None
        settings = {
            "windows_per_year": windows_per_year,
            "false_alarm_rate": parse_probability("false_alarm_rate", self.false_alarm_rate),
            "width": width,
            "reference_width": since,
        }
        for step in readings:
            reading = step.reading
            if step.step == since and isinstance(reading, TimeStepReading):
                watch = DriftWatch(options.parse_watched(), reading, uncounted=step.uncounted, **settings)  # type: ignore[arg-type]
            is_closed = step.step > since and (step.step - since) % width == 0
            if watch is None or not is_closed or not isinstance(reading, TimeStepReading):
                yield step
            else:
                yield replace(step, drift=watch.compare_window(reading, step.uncounted).to_dicts())


INTERVAL_SUFFIXES = ("low", "high")
"""Endings of the fields that hold the ends of a number's confidence interval, as in ``north:low``."""
HIDDEN_SUFFIXES = (*INTERVAL_SUFFIXES, "unbiased")
"""Endings of the fields that the live table shows within the cell of their number, or not at all."""
Group = TypeVar("Group", TupleOptions, CountOptions, StepOptions)


@dataclass(frozen=True)
class OutputOptions:
    """Options for the store of a stream's released numbers, for its outputs, and for drift."""

    watching: DriftOptions = field(default_factory=DriftOptions)
    store: str | None = optional("URL", "Store of the released numbers: sqlite:///s.db, or a PostgreSQL server.")
    name: str = option("NAME", "Name of this stream in the store.", "stream")
    json: str | None = optional("FILE", "File of JSON lines, one per step and state.")
    confidential_log: str | None = optional("FILE", "File for exact, confidential numbers of dropped tuples.")
    live: bool = flag("--live", "Show the newest step on the terminal.")
    example: bool = flag("--example", "Follow a synthetic day; other options have defaults then.")


def stream(
    tuples: TupleOptions, asked: CountOptions, steps: StepOptions, price: LossOptions, shown: OutputOptions
) -> None:
    """Counts of a stream, step by step, under one privacy loss.

    A second run on the same store repeats all numbers at no cost.

    Example: dpcurves stream events.csv --time ts --state ap --states cafeteria,gym,library --start 2026-03-02T06:00
    --end 2026-03-02T22:00 --every 10m --epsilon 0.1 --store sqlite:///s.db
    """
    from .feed import follow
    from .feed.files import example_tuples

    if shown.example:
        tuples, asked, steps, price, shown = _fill_example_options(tuples, asked, steps, price, shown)
    if shown.store is None:
        raise Misuse("store", "give a store for the released numbers with --store, as in sqlite:///s.db")
    watching = shown.watching
    with_reference = watching.add_reference_window(asked)
    yearly_windows = (
        None if watching.drift_since is None else watching.windows_per_year(asked, str(steps.to_arguments()["every"]))
    )
    following = follow(
        example_tuples() if shown.example else tuples.open_source(), with_reference.parse_question(), loss=price.loss(),
        store=shown.store, time=tuples.time, user=tuples.user, tuples_per_user=tuples.parse_tuples_per_user(),
        name=shown.name, confidential_log=shown.confidential_log, where=asked.where, **steps.to_arguments(),
    )  # fmt: skip
    _print_published_texts(following.plan)
    readings = following if yearly_windows is None else watching.add_drift(following, asked, yearly_windows)
    _write_steps(readings, shown, following.plan)


def plan(asked: CountOptions, steps: StepOptions, tuples: TupleOptions, price: LossOptions) -> None:
    """Error of the counts of a stream, and privacy loss of one tuple, of several tuples, and of a whole user.

    Example: dpcurves plan stream --states a,b,c --start 0 --every 5m --epsilon 0.1 --window 12
    """
    from rich.table import Table

    from .feed.follow import plan_stream

    stream_plan = plan_stream(
        asked.parse_question(), price.loss(), time=tuples.time, user=tuples.user,
        tuples_per_user=tuples.parse_tuples_per_user(), where=asked.where, **steps.to_arguments(),
    )  # fmt: skip
    screen = make_console()
    loss = stream_plan.loss
    print_to_console(
        screen, f"{stream_plan.made_by}: {loss}, {stream_plan.adjacency}, protects {stream_plan.adjacency.unit}"
    )
    if stream_plan.query.where:
        print_to_console(screen, f"tuples where {stream_plan.query.where}: noise and loss are those of all tuples")
    _print_published_texts(stream_plan)
    quantity = "one running total, or window," if asked.reading == "totals" else "one count, before smoothing"
    print_to_console(screen, f"standard deviation of the noise of {quantity}: {stream_plan.error:.4g}")
    _print_uncounted_noise(screen, stream_plan)
    table = Table("protected", "loses", title="What it costs", title_justify="left")
    protected_tuples = "all tuples of a user in" if tuples.user else "one tuple in"
    table.add_row(f"{protected_tuples} one step", str(loss))
    table.add_row("one tuple that moves to another state or step (one goes, one comes)", str(_multiply_loss(loss, 2)))
    time_steps = getattr(stream_plan.query, "time_steps", None)
    for width in sorted({int(width) for width in asked.window or ()}) or [12]:
        if time_steps is None or width < time_steps:
            table.add_row(f"{protected_tuples} each of {width} steps in a row", str(_multiply_loss(loss, width)))
    table.add_row(
        f"{protected_tuples} every step",
        "without bound: no end" if time_steps is None else str(_multiply_loss(loss, time_steps)),
    )
    print_to_console(screen, table)


def _print_published_texts(plan: Plan) -> None:
    """Print a note on each text of the filter or of an expression that looks like a person's name.

    Args:
        plan: Plan of the stream, which holds these texts.
    """
    from dpcurves.curves.question import describe_published_texts

    for note in describe_published_texts([plan]):
        print_to_stderr(note)


def _print_uncounted_noise(screen: Any, plan: Plan) -> None:
    """Print the standard deviation of the totals of uncounted tuples, and the fraction of the loss for users beyond the
    cap if there is one.

    Args:
        screen: Console to print on.
        plan: Plan of the stream.
    """
    from .distributions import CountsAndUncountedTotals

    # steps of the forecast if no end is declared
    distribution = plan.distribution.require_type(CountsAndUncountedTotals)
    time_steps = getattr(plan.query, "time_steps", None) or 1024
    totals = f"of a total of uncounted tuples, by reason: {distribution.uncounted.mean_variance(time_steps) ** 0.5:.4g}"
    print_to_console(
        screen, f"standard deviation of the noise {totals} (without extra loss: a tuple is counted or has a reason)"
    )
    if distribution.users_beyond_cap is not None:
        deviation = distribution.users_beyond_cap.mean_variance(time_steps) ** 0.5
        users = f"of the total of users beyond the cap: {deviation:.4g}"
        print_to_console(
            screen, f"standard deviation of the noise {users} ({distribution.beyond_fraction} of the loss)"
        )


def _multiply_loss(loss: Any, events: int) -> Any:
    """Return the loss of several events together (group privacy): epsilon times their number, rho times its square.

    Args:
        loss: Privacy loss of one event.
        events: Number of events.
    """
    from dpcurves.privacy import PrivacyLoss

    return PrivacyLoss.pure(loss.epsilon * events) if loss.is_pure else PrivacyLoss.zcdp(loss.rho * events**2)


def _write_steps(readings: Iterable[StepReading], shown: OutputOptions, plan: Plan) -> None:
    """Write and show each step, and name the states of noise alone: in the table of --live, or else at the end.

    Show a progress bar if steps go to a file only and have an end.

    Args:
        readings: Readings of the steps, in order.
        shown: Options of file and terminal.
        plan: Plan of the stream, which has its number of steps.
    """
    from .feed.reading import JsonLinesFile, StatesOfNoise

    steps: int = getattr(plan.query, "time_steps", None) or 0
    has_progress = steps > 0 and shown.json is not None and not shown.live
    # seconds before the bar appears
    progress = show_late_progress_bar("steps", 2.0) if has_progress else nullcontext(None)
    states_of_noise = StatesOfNoise(steps or None)
    with (
        nullcontext() if shown.json is None else JsonLinesFile(shown.json) as file,
        _open_live_display(shown) as live,
        progress as advance,
    ):
        for reading in _print_notes(readings, is_live=live is not None):
            states_of_noise.add(reading)
            if file is not None:
                file.write(reading)
            if advance is not None:
                advance(reading.step + 1, steps)
            if live is not None:
                live.update(_render_step(reading, plan.error, states_of_noise.describe()))
            elif file is None:
                print_to_stdout("\n".join(json.dumps(line) for line in reading.to_dicts()))
    if not shown.live and (note := states_of_noise.describe()):
        print_to_stderr(note)


def _print_notes(readings: Iterable[StepReading], *, is_live: bool) -> Iterator[StepReading]:
    """Yield steps; print each note once to standard error, with --live at the end.

    Args:
        readings: Readings of the steps.
        is_live: Whether the terminal shows the newest step; notes are then printed at the end.
    """
    from dpcurves.curves.result import CurveWarning

    printed = dict[Any, str]()
    latest = None
    with catch_warnings(action="ignore", category=CurveWarning):  # notes are printed instead of warnings
        for latest in readings:
            yield latest
            for reason, note in latest.uncounted.notes.items():
                if reason not in printed and not is_live:
                    print_to_stderr(f"step {latest.step}: {note}")
                    printed[reason] = note
    if latest is not None:
        for reason, note in {**latest.uncounted.notes, **latest.uncounted.notes_so_far}.items():
            if printed.get(reason) != note:
                print_to_stderr(f"step {latest.step}: {note}")


def _open_live_display(shown: OutputOptions) -> Any:
    """Return a live display of the terminal that is refreshed four times a second; a context without effect unless
    --live is set.

    Args:
        shown: Options of the output.
    """
    if not shown.live:
        return nullcontext()
    from rich.live import Live

    return Live(console=make_console(), refresh_per_second=4)


def _render_step(reading: StepReading, error: float, note: str) -> Any:
    """Return a table of the newest step for the terminal: its first states, windows and events, with uncounted tuples
    and drift below.

    Args:
        reading: Reading of the step.
        error: Standard deviation of the noise of a count.
        note: Note on states whose counts so far may be noise alone; may be empty.
    """
    from rich.console import Group as RenderGroup
    from rich.table import Table
    from rich.text import Text

    from dpcurves.display import format_distinct_labels

    lines = [line for line in reading.to_dicts() if not {"drift", "uncounted"} & line.keys()]
    interval_label = {name: lines[0][name] for name in ("level", "covers") if name in lines[0]}
    hidden = ("stream", "step", "start", "where", *interval_label)
    bounds = {end if name in ("count", "total") else f"{name}:{end}" for name in lines[0] for end in HIDDEN_SUFFIXES}
    names = [name for name in lines[0] if name not in hidden and name not in bounds]
    table = Table()
    for title in format_distinct_labels(names):
        table.add_column(Text(title))
    shown_live = 20  # states: the most that --live shows
    cells = {name: format_distinct_labels([_format_cell(line, name) for line in lines[:shown_live]]) for name in names}
    for row in zip(*cells.values(), strict=True):
        table.add_row(*map(Text, row))
    interval_text = (
        f"; in brackets {100 * interval_label['level']:g}% intervals {interval_label['covers']}"
        if interval_label
        else ""
    )
    noise = f"standard deviation of the noise: {error:.4g}{interval_text}"
    title = f"{reading.stream}: step {reading.step}, {reading.start} ({noise})"
    hidden_count = len(lines) - shown_live
    footer = [f"and {hidden_count} more"] if hidden_count > 0 else []
    footer += [f"tuples where {reading.privacy.where}"] if reading.privacy.where else []
    uncounted = (f"{line['uncounted']} {_format_cell(line, 'total')}" for line in reading.uncounted.to_dicts())
    footer += [note] if note else []
    footer += [f"not counted so far: {', '.join(uncounted)}", *reading.uncounted.notes.values()]
    for shift in reading.drift:
        drift_text = f"drift, {shift['drift']}: {shift['value']:.3g}, threshold {shift['threshold']:.3g}"
        footer.append(drift_text + ", alarm" * shift["alarm"])
    return RenderGroup(title, table, *footer)


def _format_cell(line: dict[str, Any], name: str) -> str:
    """Return a field of a step's line as text, followed by its interval if it has one.

    Args:
        line: Fields of the line by name.
        name: Name of the field.
    """
    low, high = (f"{name}:{end}" if ":" in name else end for end in INTERVAL_SUFFIXES)
    is_number = name in ("count", "total") or f"{name}:low" in line
    return f"{line[name]:g} [{line[low]:g}, {line[high]:g}]" if is_number and low in line else str(line[name])


def _fill_example_options(
    tuples: TupleOptions, asked: CountOptions, steps: StepOptions, price: LossOptions, shown: OutputOptions
) -> Any:
    """Return all groups of options, completed for ``--example``, a synthetic day of visits. Typed options are never
    replaced.

    Args:
        tuples: Options of the tuples and their columns.
        asked: Options of what is counted.
        steps: Options of the time steps.
        price: Options of the privacy loss.
        shown: Options of the output and the store.

    Returns:
        The groups of options, in this order.

    Raises:
        Misuse: an option was typed that the example sets to another value.
    """
    from .feed.files import EXAMPLE_END, EXAMPLE_START, EXAMPLE_STATES, EXAMPLE_STEP

    if tuples.events is not None:
        raise Misuse("events", "--example has synthetic tuples; leave the file out")
    tuples.require_default_format("--example has synthetic tuples")
    tuples = _fill_options(tuples, TupleOptions(), time="ts", user="mac")
    tuples = replace(tuples, tuples_per_user=tuples.tuples_per_user or "1")
    asked = _fill_options(asked, CountOptions(), state="ap")
    asked = replace(asked, states=asked.states or (None if asked.hierarchy else ",".join(EXAMPLE_STATES)))
    steps = _fill_options(steps, StepOptions(), start=EXAMPLE_START, end=EXAMPLE_END, every=EXAMPLE_STEP)
    price = price if price.epsilon or price.rho else replace(price, epsilon="0.5")
    return tuples, asked, steps, price, replace(shown, store=shown.store or "sqlite://")


def _fill_options(options: Group, defaults: Group, **needed: Any) -> Group:
    """Return options completed with the values that the example of a synthetic day needs.

    Args:
        options: Options as typed.
        defaults: Options of the same class with their default values.
        needed: Values that the example needs, by name.

    Raises:
        Misuse: another value was typed.
    """
    for name, value in needed.items():
        if getattr(options, name) not in (getattr(defaults, name), value):
            raise Misuse(name, f"--example has {value!r} already; leave out this option")
    return replace(options, **needed)


PACKAGE_COMMANDS = PackageCommands(commands={"stream": stream}, plans={"stream": plan})
"""Commands that this package adds to the command line: `dpcurves stream` and `dpcurves plan stream`."""
