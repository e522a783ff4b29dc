"""Options that declare a stream: its tuples, its time steps, and its readings."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from dpcurves.cli.literals import amount, categories, whole
from dpcurves.cli.refusal import Misuse, named

if TYPE_CHECKING:
    from dpcurves.data import Forest

    from ..feed.reading import Question
    from ..readings import Event, Jump, Low

REDIS = ("redis://", "rediss://", "unix://")
READINGS = ("auto", "pegasus", "laplace", "totals")


@dataclass(frozen=True)
class Tuples:
    """Options for the source of tuples, their format, and their fields."""

    events: Annotated[
        str | None,
        Argument(
            metavar="[EVENTS]",
            help="A .csv, .parquet or .jsonl file, - for standard input, or redis://host/0#stream.",
            show_default=False,
        ),
    ] = None
    lines: Annotated[
        str | None,
        Option(help="How lines are written: csv or json; left out: as the file's name says, or csv.", metavar="KIND"),
    ] = None
    time: Annotated[
        str, Option(help="The field that says when: ISO 8601 (UTC where it does not say) or seconds.", metavar="NAME")
    ] = "ts"
    user: Annotated[
        str | None,
        Option(
            help="The field that says whose a tuple is; left out: each tuple is protected by itself.", metavar="NAME"
        ),
    ] = None
    tuples_per_user: Annotated[
        str | None, Option(help="The most tuples of a user that are used in a step; needed with --user.", metavar="K")
    ] = None
    delimiter: Annotated[str, Option(help="What separates the fields of CSV.", metavar="SIGN")] = ","

    def source(self) -> Any:
        """Source of tuples that is followed.

        Raises:
            Misuse: no source was given, or the options of its format do not apply.
        """
        if self.events is None:
            raise Misuse("events", "name a file, or - for standard input")
        if self.lines not in (None, "csv", "json"):
            raise Misuse("lines", f"csv or json is needed, got {self.lines!r}")
        if self.events.startswith(REDIS):
            self.require_plain("entries of Redis have fields")
            return _redis(self.events)
        return _pipe(self) if self.events == "-" else _file(self)

    def require_plain(self, trouble: str) -> None:
        """Refuse options for the format of lines where the source has no lines."""
        for name, given in (("lines", self.lines is not None), ("delimiter", self.delimiter != ",")):
            if given:
                raise Misuse(name, f"{trouble}; leave it out")

    def are_json(self) -> bool:
        """True if lines hold JSON."""
        from ..feed.files import JSON_LINES

        is_json = self.lines == "json" or (self.lines is None and (self.events or "").endswith(JSON_LINES))
        if is_json and self.delimiter != ",":
            raise Misuse("delimiter", "JSON has none; leave it out")
        return is_json

    def per_user(self) -> int | None:
        """Most tuples of a user that are used in a step."""
        return None if self.tuples_per_user is None else whole("tuples-per-user", self.tuples_per_user)


@dataclass(frozen=True)
class Steps:
    """Options for the start, end and length of time steps."""

    start: Annotated[str | None, Option(help="When step 1 begins: 2026-03-02T06:00 (UTC).", metavar="TIME")] = None
    end: Annotated[str | None, Option(help="When the last step ends; needed for files.", metavar="TIME")] = None
    every: Annotated[str | None, Option(help="How long a step is: 30s, 5m, 1h, 1d.", metavar="SPAN")] = None
    grace: Annotated[str, Option(help="How long a step waits for tuples that come late.", metavar="SPAN")] = "0s"

    def terms(self) -> dict[str, Any]:
        """The options as keyword arguments.

        Raises:
            Misuse: the start or the length of a step is missing.
        """
        for name in ("start", "every"):
            if getattr(self, name) is None:
                raise Misuse(name, f"say it with --{name}; it is declared, never read off the tuples")
        return {"start": self.start, "end": self.end, "every": self.every, "grace": self.grace}


@dataclass(frozen=True)
class Asked:
    """Options for the states that are counted, and for readings of the counts."""

    state: Annotated[str, Option(help="The field that says in which state a tuple is.", metavar="NAME")] = "state"
    states: Annotated[str | None, Option(help="All states, declared in public.", metavar="A,B,C")] = None
    hierarchy: Annotated[
        str | None, Option(help="A JSON file of states and what they add up to, instead of --states.", metavar="FILE")
    ] = None
    reading: Annotated[
        str, Option(help="auto, pegasus or laplace: counts of each step; totals: counts so far.", metavar="KIND")
    ] = "auto"
    window: Annotated[list[str] | None, Option(help="Sums over the last W steps, too.", metavar="W")] = None
    event: Annotated[
        list[str] | None,
        Option(help="What to look for: jump:LAG:LEAST, or low:STEPS:BELOW.", metavar="EVENT"),
    ] = None

    def question(self) -> Question:
        """The question.

        Raises:
            Misuse: states are missing, or given twice, or a reading, window or event is invalid.
        """
        from dpcurves.data import Categories

        from ..readings import Aggregated, Counts, Groups, Totals

        if self.reading not in READINGS:
            raise Misuse("reading", f"one of {', '.join(READINGS)} is needed, got {self.reading!r}")
        windows = tuple(whole("window", text) for text in self.window or ())
        events = tuple(_event(text) for text in self.event or ())
        if (self.states is None) == (self.hierarchy is None):
            raise Misuse("states", "declare them with --states, or with --hierarchy")
        forest = None if self.hierarchy is None else _forest(self.hierarchy)
        with named("states", "categories"):
            states = categories("states", self.states or "") if forest is None else forest.states
            axes = (Categories(self.state, states),)
        if self.reading == "totals":
            if events:
                raise Misuse("event", "of totals no event is looked for; leave it out")
            return Totals(axes, None, windows, forest)
        if self.reading == "pegasus":
            return Groups(axes, None, windows, events, forest=forest)
        if forest is not None:
            return Aggregated(self.state, forest, None, windows, events, self._smoothing())
        return Counts(axes, None, windows, events, self._smoothing())

    def _smoothing(self) -> Any:
        from ..readings import Smoothing

        return Smoothing.PLAIN if self.reading == "laplace" else Smoothing.AUTO


def _pipe(tuples: Tuples) -> Any:
    from ..feed import CsvLines, JsonLines

    return JsonLines(sys.stdin) if tuples.are_json() else CsvLines(sys.stdin, tuples.delimiter)


def _file(tuples: Tuples) -> Any:
    from ..feed import CsvFile, JsonLinesTuples

    file = tuples.events or ""
    if tuples.are_json():
        return JsonLinesTuples(file)
    if file.endswith(".parquet"):
        tuples.require_plain("Parquet has no lines")
    return CsvFile(file, tuples.delimiter)


def _redis(url: str) -> Any:
    from ..feed import RedisStream

    server, _, stream = url.partition("#")
    if not stream:
        raise Misuse("events", "name the stream behind the server, as in redis://host:6379/0#events")
    return RedisStream(server, stream)


def _event(text: str) -> Event | Jump | Low:
    from ..readings import Jump, Low

    kind, *numbers = text.split(":")
    if kind not in ("jump", "low") or len(numbers) != 2:
        raise Misuse("event", f"jump:LAG:LEAST or low:STEPS:BELOW is needed, got {text!r}")
    width, size = whole("event", numbers[0]), float(amount("event", numbers[1]))
    return Jump(width, size) if kind == "jump" else Low(width, size)


def _forest(file: str) -> Forest:
    from dpcurves.data import Forest

    try:
        with open(file, encoding="utf-8") as opened:
            given = json.load(opened)
    except (OSError, ValueError) as error:
        trouble = getattr(error, "strerror", None) or "it is no JSON"
    else:
        return Forest.from_json(given)
    raise Misuse("hierarchy", f"{file!r} cannot be read ({trouble})")
