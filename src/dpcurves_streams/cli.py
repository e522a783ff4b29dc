"""Continual counts of streams: the command, its options, its plan, and its output."""

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
    from dpcurves.data import Grid

    from .feed import StepReading
    from .queries import Forest
    from .readings import Event, Jump, Low
    from .readings.question import StreamQuestion


REDIS = ("redis://", "rediss://", "unix://")
READINGS = ("auto", "pegasus", "laplace", "totals")


@dataclass(frozen=True)
class TupleOptions:
    """Options for the source of tuples, their format, and their fields."""

    events: Annotated[
        str | None,
        Argument(
            metavar="[EVENTS]",
            help="A .csv, .parquet or .jsonl file, - for standard input, or redis://host/0#stream.",
        ),
    ] = None
    lines: str | None = optional(
        "KIND", "How lines are written: csv or json; left out: as the file's name says, or csv."
    )
    time: str = option("NAME", "The field that says when: ISO 8601 (UTC where it does not say) or seconds.", "ts")
    user: str | None = optional(
        "NAME", "The field that says whose a tuple is; left out: each tuple is protected by itself."
    )
    tuples_per_user: str | None = optional(
        "K", "The most tuples of a user that are used in a step; needed with --user."
    )
    delimiter: str = option("SIGN", "What separates the fields of CSV.", ",")

    def open_source(self) -> Any:
        """Source of tuples that is followed.

        Raises:
            Misuse: no source was given, or the options of its format do not apply.
        """
        from .feed import CsvFile, CsvLines, JsonLines, JsonLinesTuples, RedisStream

        if self.events is None:
            raise Misuse("events", "name a file, or - for standard input")
        if self.lines not in (None, "csv", "json"):
            raise Misuse("lines", f"csv or json is needed, got {self.lines!r}")
        if self.events.startswith(REDIS):
            self.require_default_format("entries of Redis have fields")
            server, _, stream = self.events.partition("#")
            if not stream:
                raise Misuse("events", "name the stream behind the server, as in redis://host:6379/0#events")
            return RedisStream(server, stream)
        is_json, is_pipe = self.is_json(), self.events == "-"
        if is_json:
            return JsonLines(sys.stdin) if is_pipe else JsonLinesTuples(self.events)
        if self.events.endswith(".parquet"):
            self.require_default_format("Parquet has no lines")
        return CsvLines(sys.stdin, self.delimiter) if is_pipe else CsvFile(self.events, self.delimiter)

    def require_default_format(self, trouble: str) -> None:
        """Refuse options for the format of lines where the source has no lines."""
        for name, given in (("lines", self.lines is not None), ("delimiter", self.delimiter != ",")):
            if given:
                raise Misuse(name, f"{trouble}; leave it out")

    def is_json(self) -> bool:
        """True if lines hold JSON."""
        from .feed.files import JSON_LINES

        has_json_lines = self.lines == "json" or (self.lines is None and (self.events or "").endswith(JSON_LINES))
        if has_json_lines and self.delimiter != ",":
            raise Misuse("delimiter", "JSON has none; leave it out")
        return has_json_lines

    def parse_tuples_per_user(self) -> int | None:
        """Most tuples of a user that are used in a step."""
        return None if self.tuples_per_user is None else parse_integer("tuples-per-user", self.tuples_per_user)


@dataclass(frozen=True)
class StepOptions:
    """Options for the start, end and length of time steps."""

    start: str | None = optional("TIME", "When step 1 begins: 2026-03-02T06:00 (UTC).")
    end: str | None = optional("TIME", "When the last step ends; needed for files.")
    every: str | None = optional("SPAN", "How long a step is: 30s, 5m, 1h, 1d.")
    grace: str = option("SPAN", "How long a step waits for tuples that come late.", "0s")

    def to_arguments(self) -> dict[str, Any]:
        """The options as keyword arguments. Raises `Misuse`: the start or the length of a step is missing."""
        for name in ("start", "every"):
            if getattr(self, name) is None:
                raise Misuse(name, f"say it with --{name}; it is declared, never read off the tuples")
        return {"start": self.start, "end": self.end, "every": self.every, "grace": self.grace}


@dataclass(frozen=True)
class CountOptions:
    """Options for the states that are counted, and for readings of the counts."""

    state: str = option("NAME", "The field that says in which state a tuple is.", "state")
    states: str | None = optional("A,B,C", "All states, declared in public.")
    hierarchy: str | None = optional("FILE", "A JSON file of states and what they add up to, instead of --states.")
    column: str | None = optional("NAME", "A field of numbers, counted in the cells of --grid instead of states.")
    grid: str | None = optional("CELLS", "Public cells of --column: LOWER:UPPER:CELLS, edges or values.")
    reading: str = option("KIND", "auto, pegasus or laplace: counts of each step; totals: counts so far.", "auto")
    window: list[str] | None = optional("W", "Sums over the last W steps, too.")
    event: list[str] | None = optional("EVENT", "What to look for: jump:LAG:LEAST, or low:STEPS:BELOW.")

    def parse_question(self) -> StreamQuestion:
        """The question.

        Raises:
            Misuse: states are missing, or given twice, or a reading, window or event is invalid.
        """
        from dpcurves.data import Axis, Categories

        from .readings import AggregatedCounts, Counts, Groups, Smoothing, Totals

        if self.reading not in READINGS:
            raise Misuse("reading", f"one of {', '.join(READINGS)} is needed, got {self.reading!r}")
        windows = tuple(parse_integer("window", text) for text in self.window or ())
        events = tuple(_parse_event(text) for text in self.event or ())
        if self.column is None and (self.states is None) == (self.hierarchy is None):
            raise Misuse("states", "declare them with --states, or with --hierarchy")
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
                raise Misuse("event", "of totals no event is looked for; leave it out")
            return Totals(axes, None, windows, forest)
        if self.reading == "pegasus":
            return Groups(axes, None, windows, events, forest=forest)
        smoothing = Smoothing.PLAIN if self.reading == "laplace" else Smoothing.AUTO
        if forest is not None:
            return AggregatedCounts(self.state, forest, None, windows, events, smoothing)
        return Counts(axes, None, windows, events, smoothing)

    def parse_cells(self) -> Grid:
        """Cells of the field of numbers. Raises `Misuse`: there are none, or states were given, too."""
        if self.column is None or self.grid is None:
            raise Misuse("grid", "say which cells with --grid, of which field of numbers with --column")
        if self.states is not None or self.hierarchy is not None:
            raise Misuse("column", "numbers or states are counted, not both; leave one out")
        return parse_grid("grid", self.grid)


def _parse_event(text: str) -> Event | Jump | Low:
    from .readings import Jump, Low

    kind, *numbers = text.split(":")
    if kind not in ("jump", "low") or len(numbers) != 2:
        raise Misuse("event", f"jump:LAG:LEAST or low:STEPS:BELOW is needed, got {text!r}")
    width, size = parse_integer("event", numbers[0]), float(check_positive_number("event", numbers[1]))
    return Jump(width, size) if kind == "jump" else Low(width, size)


def _read_hierarchy(file: str) -> Forest:
    from dpcurves_streams.queries import Forest

    try:
        with open(file, encoding="utf-8") as opened:
            given = json.load(opened)
    except (OSError, ValueError) as error:
        trouble = getattr(error, "strerror", None) or "it is no JSON"
    else:
        return Forest.from_json(given)
    raise Misuse("hierarchy", f"{file!r} cannot be read ({trouble})")


YEAR = 31_557_600 * 10**6
"""A year of 365.25 days, in microseconds."""


@dataclass(frozen=True)
class DriftOptions:
    """Options for the drift of a field of numbers since the first steps."""

    drift_since: str | None = optional(
        "N", "Tell how far each later step, or --window, is from the first N steps, with alarms."
    )
    alarms: str = option("CHANCE", "The chance of a false alarm in a year, for each statistic of drift.", "0.05")

    def add_reference_window(self, options: CountOptions) -> CountOptions:
        """The watch, with a window as long as the reference. Raises `Misuse`: it cannot be watched."""
        if self.drift_since is None:
            return options
        if options.reading not in ("auto", "laplace"):
            raise Misuse("drift-since", "it is read off counts of each step: --reading auto or laplace")
        options.parse_cells()
        parse_integer("drift-since", self.drift_since)
        windows = options.window or []
        return options if self.drift_since in ("1", *windows) else replace(options, window=[*windows, self.drift_since])

    def windows_per_year(self, options: CountOptions, every: str) -> int:
        """Number of windows in a year. Raises `Misuse`: false alarms would be too rare to be simulated."""
        from dpcurves.arguments import InvalidArgument

        from .feed.schedule import parse_span
        from .readings.drift import alarm_level_and_draws

        width, chance_of_one = (
            parse_integer("window", (options.window or ["1"])[0]),
            parse_probability("alarms", self.alarms),
        )
        windows = -(-YEAR // (parse_span("every", every) * width))
        try:
            alarm_level_and_draws(options.parse_cells(), windows, chance_of_one)
        except InvalidArgument:
            rule = f"of {windows:,} windows a year alarms would be too rare to simulate; take wider ones with --window"
            raise Misuse("alarms", rule) from None
        return windows

    def add_drift(
        self, readings: Iterable[StepReading], options: CountOptions, windows_per_year: int
    ) -> Iterator[StepReading]:
        """Steps, of which those that close a window after the reference tell its drift."""
        from .readings import DriftWatch, TickReading

        since, width, watch = int(self.drift_since or 0), int((options.window or ["1"])[0]), None
        terms = {
            "windows_per_year": windows_per_year,
            "alarms": parse_probability("alarms", self.alarms),
            "width": width,
            "reference_width": since,
        }
        for step in readings:
            reading = step.reading
            if step.step == since and isinstance(reading, TickReading):
                watch = DriftWatch(options.parse_cells(), reading, **terms)  # type: ignore[arg-type]
            is_closed = step.step > since and (step.step - since) % width == 0
            if watch is None or not is_closed or not isinstance(reading, TickReading):
                yield step
            else:
                yield replace(step, drift=watch.compare_window(reading).to_dicts())


MANY_STEPS = 1024
"""Steps over which errors of totals are forecast where no end is declared."""
SHOWN_LIVE, BAR_AFTER = 20, 2.0
"""States that --live shows, and seconds after which steps that are written show how far they are."""
ENDS = ("low", "high")
HIDDEN_ENDS = (*ENDS, "unbiased")
"""Endings of fields that the live table shows within the cell of their number, or not at all."""
Group = TypeVar("Group", TupleOptions, CountOptions, StepOptions)


@dataclass(frozen=True)
class OutputOptions:
    """Options for the store of a stream's released numbers, for its outputs, and for drift."""

    watching: DriftOptions = field(default_factory=DriftOptions)
    store: str | None = optional("URL", "Where the numbers are kept: sqlite:///s.db, or a PostgreSQL server.")
    name: str = option("NAME", "What tells this stream from others in the store.", "stream")
    json: str | None = optional("FILE", "A file of JSON lines, one a step and state.")
    confidential_log: str | None = optional(
        "FILE", "A file for how many tuples were dropped, and why: exact, so secret."
    )
    live: bool = flag("--live", "Show the newest step on the terminal.")
    example: bool = flag("--example", "Follow a made-up day; other options are needed only where they differ.")


def stream(
    tuples: TupleOptions, asked: CountOptions, steps: StepOptions, price: LossOptions, shown: OutputOptions
) -> None:
    """Counts of a stream, step by step, under one privacy loss.

    A second run over the same store repeats each number, and costs nothing.

    Example: dpcurves stream events.csv --time ts --state ap --states cafeteria,gym,library --start 2026-03-02T06:00
    --end 2026-03-02T22:00 --every 10m --epsilon 0.1 --store sqlite:///s.db
    """
    from .feed import follow
    from .feed.files import example_tuples

    if shown.example:
        tuples, asked, steps, price, shown = _fill_example_options(tuples, asked, steps, price, shown)
    if shown.store is None:
        raise Misuse("store", "say with --store where the numbers are kept, as in sqlite:///s.db")
    watching = shown.watching
    counted = watching.add_reference_window(asked)
    a_year = (
        None if watching.drift_since is None else watching.windows_per_year(asked, str(steps.to_arguments()["every"]))
    )
    following = follow(
        example_tuples() if shown.example else tuples.open_source(), counted.parse_question(), loss=price.loss(), store=shown.store,
        time=tuples.time, user=tuples.user, tuples_per_user=tuples.parse_tuples_per_user(), name=shown.name,
        confidential_log=shown.confidential_log, **steps.to_arguments(),
    )  # fmt: skip
    told = following if a_year is None else watching.add_drift(following, asked, a_year)
    _write_steps(told, shown, following.plan)


def plan(asked: CountOptions, steps: StepOptions, tuples: TupleOptions, price: LossOptions) -> None:
    """The error that counts of a stream would have, and the privacy loss of one tuple, of several, and of a whole user.

    Example: dpcurves plan stream --states a,b,c --start 0 --every 5m --epsilon 0.1 --window 12
    """
    from rich.table import Table

    from .feed.follow import plan_stream

    made = plan_stream(
        asked.parse_question(), price.loss(), time=tuples.time, user=tuples.user, tuples_per_user=tuples.parse_tuples_per_user(),
        **steps.to_arguments(),
    )  # fmt: skip
    screen, loss = make_console(), made.loss
    print_to_console(screen, f"{made.made_by}: {loss}, {made.adjacency}, protects {made.adjacency.unit}")
    what = "one total so far, or window," if asked.reading == "totals" else "one count, before smoothing"
    print_to_console(screen, f"standard deviation of the noise of {what}: {made.error:.4g}")
    _print_uncounted_noise(screen, made)
    table = Table("protected", "loses", title="What it costs", title_justify="left")
    whose = "all tuples of a user in" if tuples.user else "one tuple in"
    table.add_row(f"{whose} one step", str(loss))
    table.add_row("one tuple that moves to another state or step (one goes, one comes)", str(_multiply_loss(loss, 2)))
    ticks = getattr(made.query, "ticks", None)
    for width in sorted({int(width) for width in asked.window or ()}) or [12]:
        if ticks is None or width < ticks:
            table.add_row(f"{whose} each of {width} steps in a row", str(_multiply_loss(loss, width)))
    table.add_row(f"{whose} every step", "without bound: no end" if ticks is None else str(_multiply_loss(loss, ticks)))
    print_to_console(screen, table)


def _print_uncounted_noise(screen: Any, plan: Plan) -> None:
    """Print how noisy the totals of what is not counted would be, and what they cost."""
    from .laws import CountsAndUncountedTotals

    law, ticks = plan.law.require_type(CountsAndUncountedTotals), getattr(plan.query, "ticks", None) or MANY_STEPS
    told = f"of a total of tuples that are not counted, by reason: {law.uncounted.mean_variance(ticks) ** 0.5:.4g}"
    print_to_console(
        screen, f"standard deviation of the noise {told} (at no further loss: a tuple is counted or has a reason)"
    )
    if law.users_beyond_cap is not None:
        users = f"of the total of users beyond the cap: {law.users_beyond_cap.mean_variance(ticks) ** 0.5:.4g}"
        print_to_console(screen, f"standard deviation of the noise {users} ({law.beyond_fraction} of the loss)")


def _multiply_loss(loss: Any, events: int) -> Any:
    """Group privacy: the loss of so many events together, epsilon times their number, rho times its square."""
    from dpcurves.privacy import PrivacyLoss

    return PrivacyLoss.pure(loss.epsilon * events) if loss.is_pure else PrivacyLoss.zcdp(loss.rho * events**2)


def _write_steps(readings: Iterable[StepReading], shown: OutputOptions, plan: Plan) -> None:
    """Write and show each step; where steps go to a file alone, and have an end, show how far they are."""
    from .feed.reading import JsonLinesFile

    steps: int = getattr(plan.query, "ticks", None) or 0
    told = steps > 0 and shown.json is not None and not shown.live
    progress = show_late_progress_bar("steps", BAR_AFTER) if told else nullcontext(None)
    with (
        nullcontext() if shown.json is None else JsonLinesFile(shown.json) as file,
        _open_live_display(shown) as live,
        progress as fill,
    ):
        for reading in _print_notes(readings, is_live=live is not None):
            if file is not None:
                file.write(reading)
            if fill is not None:
                fill(reading.step + 1, steps)
            if live is not None:
                live.update(_render_step(reading, plan.error))
            elif file is None:
                print_to_stdout("\n".join(json.dumps(line) for line in reading.to_dicts()))


def _print_notes(readings: Iterable[StepReading], *, is_live: bool) -> Iterator[StepReading]:
    """Steps; what their notes say stands on standard error, once each, and with --live at the end."""
    from dpcurves.curves.result import CurveWarning

    told, latest = dict[Any, str](), None
    with catch_warnings(action="ignore", category=CurveWarning):  # their texts are the notes
        for latest in readings:
            yield latest
            for reason, note in latest.uncounted.notes.items():
                if reason not in told and not is_live:
                    print_to_stderr(f"step {latest.step}: {note}")
                    told[reason] = note
    if latest is not None:
        for reason, note in {**latest.uncounted.notes, **latest.uncounted.notes_so_far}.items():
            if told.get(reason) != note:
                print_to_stderr(f"step {latest.step}: {note}")


def _open_live_display(shown: OutputOptions) -> Any:
    if not shown.live:
        return nullcontext()
    from rich.live import Live

    return Live(console=make_console(), refresh_per_second=4)


def _render_step(reading: StepReading, error: float) -> Any:
    from rich.console import Group as Together
    from rich.table import Table
    from rich.text import Text

    from dpcurves.display import format_distinct_labels

    lines = [line for line in reading.to_dicts() if not {"drift", "uncounted"} & line.keys()]
    stated = {name: lines[0][name] for name in ("level", "covers") if name in lines[0]}
    hidden = ("stream", "step", "start", *stated)
    bounds = {end if name in ("count", "total") else f"{name}:{end}" for name in lines[0] for end in HIDDEN_ENDS}
    names = [name for name in lines[0] if name not in hidden and name not in bounds]
    table = Table()
    for head in format_distinct_labels(names):
        table.add_column(Text(head))
    cells = {name: format_distinct_labels([_format_cell(line, name) for line in lines[:SHOWN_LIVE]]) for name in names}
    for row in zip(*cells.values(), strict=True):
        table.add_row(*map(Text, row))
    covered = f"; in brackets {100 * stated['level']:g}% intervals {stated['covers']}" if stated else ""
    noise = f"standard deviation of the noise: {error:.4g}{covered}"
    head = f"{reading.stream}: step {reading.step}, {reading.start} ({noise})"
    left = len(lines) - SHOWN_LIVE
    below = [f"and {left} more"] if left > 0 else []
    uncounted = (f"{line['uncounted']} {_format_cell(line, 'total')}" for line in reading.uncounted.to_dicts())
    below += [f"not counted so far: {', '.join(uncounted)}", *reading.uncounted.notes.values()]
    for each in reading.drift:
        told = f"drift, {each['drift']}: {each['value']:.3g}, threshold {each['threshold']:.3g}"
        below.append(told + ", alarm" * each["alarm"])
    return Together(head, table, *below)


def _format_cell(line: dict[str, Any], name: str) -> str:
    """Text of a number, followed by its interval."""
    low, high = (f"{name}:{end}" if ":" in name else end for end in ENDS)
    is_number = name in ("count", "total") or f"{name}:low" in line
    return f"{line[name]:g} [{line[low]:g}, {line[high]:g}]" if is_number and low in line else str(line[name])


def _fill_example_options(
    tuples: TupleOptions, asked: CountOptions, steps: StepOptions, price: LossOptions, shown: OutputOptions
) -> Any:
    """Fill options that were not given with those of the synthetic example day. Given options are never replaced."""
    from .feed.files import END, EVERY, START, STATES

    if tuples.events is not None:
        raise Misuse("events", "--example has tuples of its own; leave the file out")
    tuples.require_default_format("--example has tuples of its own")
    tuples = _fill_options(tuples, TupleOptions(), time="ts", user="mac")
    tuples = replace(tuples, tuples_per_user=tuples.tuples_per_user or "1")
    asked = _fill_options(asked, CountOptions(), state="ap")
    asked = replace(asked, states=asked.states or (None if asked.hierarchy else ",".join(STATES)))
    steps = _fill_options(steps, StepOptions(), start=START, end=END, every=EVERY)
    price = price if price.epsilon or price.rho else replace(price, epsilon="0.5")
    return tuples, asked, steps, price, replace(shown, store=shown.store or "sqlite://")


def _fill_options(options: Group, defaults: Group, **needed: Any) -> Group:
    """Set options that the example day requires. Raises `Misuse` where another value was given."""
    for name, value in needed.items():
        if getattr(options, name) not in (getattr(defaults, name), value):
            raise Misuse(name, f"--example has {value!r}; leave it out")
    return replace(options, **needed)


PROVIDED = PackageCommands(commands={"stream": stream}, plans={"stream": plan})
