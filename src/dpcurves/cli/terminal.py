"""Standard output and standard error, progress indicators, and errors as one line with an exit status."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, TextIO

import click

from ..arguments import ArgumentError, InvalidArgument
from .status import AWAY, BUDGET, DATA, FAULT, OUTPUT, STOPPED, UNREAD, USAGE

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress


# Mapping of exceptions to one line of error text and an exit status.


OPTIONS = {"request": "request-id"}
STATUS = {
    "BudgetExceeded": BUDGET, "UnsupportedQuery": USAGE, "Misuse": USAGE, "OutputError": OUTPUT,
    "UnreadOutput": UNREAD, "ServiceUnavailable": AWAY,
}  # fmt: skip
"""Exit statuses by the name of the exception's class: importing the classes would slow every start."""
REWORDED = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"^No such option '(.*?)'", r"\1: there is no such option"),
        (
            r"^(--(?:lower|upper)): there is no such option.*",
            r"\1: there is no such option; both ends: --bounds LOWER:UPPER",
        ),
        (r"^No such command 'median'.*", "median: there is no such command; quantiles --at 0.5 gives the median"),
        (r"^No such command '(.*?)'", r"\1: there is no such command"),
        (r"\. \(?Did you mean (?:one of: )?(.*)\?\)?$", r"; did you mean \1?"),
        (r"^Option '(.*?)' requires an argument$", r"\1: a value is needed"),
        (r"'(-[^']*)'", r"\1"),
        (r"^Got unexpected extra argument\S* \((.*)\)$", r"argument: nothing is expected here, got \1"),
    )
)
OF_COLUMNS = ("column", "and_column", "by", "label", "score", "predicted", "residual", "time", "event")
"""Options that name a column."""
BOTH_LOSSES = "epsilon, rho"
OF_DATA = frozenset({*OF_COLUMNS, "data", "table", "unit", "ledger", "key"})


class Refusal(NamedTuple):
    """Error line and exit status of a failed command."""

    line: str
    status: int


class Misuse(InvalidArgument):
    """Usage error: options contradict each other, or one is missing. No data were opened."""


def require_packages(argument: str, rule: str, *names: str) -> None:
    """Refuse if one of these packages is missing. Raises `Misuse`: it is, with this rule."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in names):
        raise Misuse(argument, rule)


class OutputError(ArgumentError):
    """Output error: the answer was computed but cannot be written, as to a full disk or a closed stream."""


class UnreadOutput(OutputError):
    """Output error: the program that read standard output has ended, as ``head`` does."""


class ChargedFailure(Exception):
    """Failure after the budget was charged: the answer is stored, and the same request id gives it again."""

    TOLD = "it is paid for: --request-id {} gives it again, for nothing"

    def __init__(self, cause: BaseException, request: str) -> None:
        super().__init__(request)
        self.cause, self.request = cause, request


class UncertainChargeFailure(ChargedFailure):
    """Failure while the charge was being written, so that it may or may not be recorded."""

    TOLD = "it may be paid for: under --request-id {} it is never paid twice"


@contextmanager
def translate_argument_errors(option: str, *arguments: str) -> Iterator[None]:
    """Translate errors about one of these arguments into `Misuse` of the option that gave its value."""
    try:
        yield
    except InvalidArgument as error:
        if error.argument not in arguments:
            raise
        raise Misuse(option, error.rule) from None


@contextmanager
def restore_option_names(options: Mapping[str, object]) -> Iterator[None]:
    """Translate errors about a column or a privacy loss into the same ones about the option that gave its value."""
    try:
        yield
    except ArgumentError as error:
        option = _option_of(error, {name: value for name, value in options.items() if value is not None})
        if option is None:
            raise
        raise error.with_argument(option) from None


def _option_of(error: ArgumentError, options: Mapping[str, object]) -> str | None:
    """Name of the option that gave the value of the error, if the error's argument has another name."""
    if error.argument == BOTH_LOSSES:
        losses = [name for name in ("epsilon", "rho") if name in options]
        return losses[0] if len(losses) == 1 else None
    if error.argument != "column" or error.given is None:
        return None
    for name in OF_COLUMNS[1:]:  # an option names a column alone, or followed by its categories
        option = options.get(name)
        given = option if isinstance(option, list) else [option]
        if any(each == error.given or str(each).partition("=")[0] == error.given for each in given):
            return name
    return None


def describe_error(error: BaseException) -> Refusal:
    """Error line that names the argument and the rule, and the exit status. It holds no value of a record.

    Only messages of this package are passed on; of any other exception just its type and its place are printed.
    """
    if isinstance(error, ChargedFailure):
        line, status = describe_error(error.cause)
        return Refusal(f"{line}; {error.TOLD.format(error.request)}", status)
    if isinstance(error, KeyboardInterrupt):
        return Refusal("stopped", STOPPED)
    if isinstance(error, click.ClickException):
        return Refusal(_on_one_line(_describe_usage_error(error)), USAGE)
    if isinstance(error, ArgumentError):
        names = (name.replace("_", "-") for name in error.argument.split(", "))
        line = f"{', '.join(OPTIONS.get(name, name) for name in names)}: {error.rule}"
        status = STATUS.get(type(error).__name__, DATA if error.argument in OF_DATA else USAGE)
        hint = "; run the same again later" if status == AWAY and " again" not in line else ""
        return Refusal(_on_one_line(line + hint), status)
    place = f"{type(error).__name__} in {_locate_failure(error.__traceback__)}"
    return Refusal(f"{place}: this should not be; please report it", FAULT)


def _locate_failure(traceback: TracebackType | None) -> str:
    """File and line in our packages where an exception was raised: no message, no value."""
    core = Path(__file__).parents[1]
    place = "dpcurves"
    while traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename)
        if str(file).startswith((f"{core}{os.sep}", f"{core}_")):
            above = core if file.is_relative_to(core) else core.parent
            place = f"{file.relative_to(above).as_posix()}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def _describe_usage_error(error: click.ClickException) -> str:
    """Parser's message with the argument first, in the form of this package's errors."""
    message = error.format_message().rstrip(".")
    parameter = getattr(error, "param", None)
    if parameter is not None and message.startswith("Missing"):
        name = parameter.opts[-1] if parameter.param_type_name == "option" else parameter.metavar
        first, rest = parameter.help[:1], parameter.help[1:].rstrip(".")
        told = (first if rest[:1].isupper() else first.lower()) + rest  # SELECT stays as it is
        return f"{parameter.name.replace('_', '-')}: {name} is missing; {told}"
    for pattern, words in REWORDED:
        message = pattern.sub(words, message)
    return message


def _on_one_line(text: str) -> str:
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(text.split()))


WIDTH_OF_A_FILE = 120


def prepare_streams() -> None:
    """Occupy standard streams that the shell has closed, before another file gets the number of one of them.

    A stream that was closed for writing remains unwritable: writing to it raises an error, as on a full disk. A
    character that the terminal's encoding lacks is written as an escape, so that no paid answer fails to print.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # gets the lowest number that is free: this one
    sys.stdout = _escape_unencodable(sys.stdout, 1)
    sys.stderr = _escape_unencodable(sys.stderr, 2)


def _escape_unencodable(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:  # it was closed when the process began
        return open(number, "w", encoding="utf-8", closefd=False)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def silence_stream(stream: TextIO) -> None:
    """Redirect a broken stream to the null device, so that flushing its buffer at exit raises no error."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
    except (OSError, ValueError):
        return


def make_console(*, stderr: bool = False) -> Console:
    """Console on standard output, or on standard error if asked for; a broken pipe is raised, and ends no process."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True
            raise sys.exception() or BrokenPipeError

    console = Screen(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH_OF_A_FILE
    return console


def clean_text(text: str) -> str:
    """Text that a terminal shows and never obeys: control characters but line feeds are replaced.

    >>> clean_text("\\x1b[31mred\\n")
    '\ufffd[31mred\\n'
    """
    return "".join(sign if sign.isprintable() or sign == "\n" else "\ufffd" for sign in text)


def print_to_stderr(line: str) -> None:
    """Print a line on standard error; if that fails, silence the stream."""
    try:
        print(f"dpcurves: {clean_text(line)}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        silence_stream(sys.stderr)


def print_to_console(console: Console, *things: RenderableType) -> None:
    """Print lines, which are not wrapped, and tables."""
    with _translate_stream_errors(sys.stderr if console.stderr else sys.stdout):
        for thing in things:
            console.print(clean_text(thing) if isinstance(thing, str) else thing, soft_wrap=isinstance(thing, str))


def print_to_stdout(text: str) -> None:
    """Print a text unformatted: machine-readable output, or help, without importing rich."""
    with _translate_stream_errors(sys.stdout):
        print(text, flush=True)


@contextmanager
def _translate_stream_errors(stream: TextIO) -> Iterator[None]:
    """Flush a standard stream after writing; a pipe that nobody reads becomes `UnreadOutput`, other errors `OutputError`."""
    try:
        yield
        stream.flush()
    except OSError as error:
        silence_stream(stream)
        if error.errno == errno.EPIPE:
            raise UnreadOutput("output", "the program that read it has ended") from None
        name = "error" if stream is sys.stderr else "output"
        trouble = "it is closed" if error.errno == errno.EBADF else error.strerror
        raise OutputError("output", f"standard {name} could not be written ({trouble})") from None


@contextmanager
def show_spinner(words: str) -> Iterator[None]:
    """Show a spinner beside `words` until the work is done."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(words):
        yield


POLLED = 0.2
"""Seconds between two looks at how far a pass is."""


@contextmanager
def show_pass_progress(words: str, after: float = 2.0) -> Iterator[None]:
    """Show a spinner beside `words`, and after so many seconds the share of the pass over the data that is done.

    A question may take several passes; each is counted on its own, with the time that is left of it.
    """
    if not sys.stderr.isatty():
        yield
        return
    from ..records.engines.duckdb import progress_fraction, watch_progress

    watch_progress()
    over = Event()
    with _progress_bars() as bars:
        watcher = Thread(target=_update_pass_progress, args=(bars, words, progress_fraction, over, after), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


def _update_pass_progress(
    bars: Progress, words: str, share: Callable[[], float | None], over: Event, after: float
) -> None:
    """Show how far a pass is, until it is over; where a share falls, another pass has begun."""
    begun, number, last = monotonic(), 1, 0.0
    bar = bars.add_task(words, total=None)
    bars.start()
    while not over.wait(POLLED):
        done = share()
        if done is None or monotonic() - begun < after:
            continue
        if done < last:
            number += 1
            bars.reset(bar, description=f"{words}, pass {number}", total=1.0)
        last = done
        bars.update(bar, completed=done, total=1.0)


@contextmanager
def _progress_bars() -> Iterator[Progress]:
    """Progress bars on standard error, with percent and the time that is left; they vanish at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    bars = Progress(*columns, console=Console(stderr=True), transient=True)
    try:
        yield bars
    finally:
        bars.stop()


@contextmanager
def show_progress_bar(words: str, total: int) -> Iterator[Callable[[int], object]]:
    """Show a progress bar beside `words`, and yield a function that takes the amount done."""
    with show_late_progress_bar(words, after=0) as fill:
        fill(0, total)
        yield lambda done: fill(done, total)


@contextmanager
def show_late_progress_bar(words: str, after: float) -> Iterator[Callable[[int, int], object]]:
    """Yield a function that takes the amount done and all there is; it shows a progress bar after so many seconds."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    begun = monotonic()
    with _progress_bars() as bars:
        bar = bars.add_task(words)

        def show(done: int, total: int) -> None:
            if monotonic() - begun >= after:
                bars.start()
            bars.update(bar, completed=done, total=total)

        yield show
