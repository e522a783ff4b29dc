"""Standard streams, progress indicators, and errors as one line with an exit status.

A failed command prints one line, ``dpcurves: ARGUMENT: RULE``, and ends with a status by which scripts can decide:

    0 if the answer was written, else a status of `ExitStatus` for data, budget, usage, output, ...

An error of the library about an argument becomes one about the option that was typed (`translate_argument_errors`), and
messages of click are put in the same form (`CLICK_REWORDINGS`). A message of a failure after the charge states the
charge and the request id under which the stored answer is returned at no cost (`ChargedFailure`).

No line contains a value from a record.
"""

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
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click

from ..arguments import ArgumentError, InvalidArgument
from ..foreign_text import escape_for_terminal
from .status import ExitStatus

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress
    from rich.segment import Segment


# Map each exception to one line of text and an exit status.


OPTION_NAMES = {"request": "request-id"}
"""Options whose argument in the library has another name: error messages show the option's name."""
STATUS_BY_EXCEPTION = {
    "BudgetExceeded": ExitStatus.BUDGET, "UnsupportedQuery": ExitStatus.USAGE, "Misuse": ExitStatus.USAGE,
    "OutputError": ExitStatus.OUTPUT,
    "UnreadOutput": ExitStatus.UNREAD, "ServiceUnavailable": ExitStatus.AWAY,
}  # fmt: skip
"""Exit statuses by class name of the exception (importing the classes would slow down every start). Other errors in an
argument end with DATA if `DATA_ARGUMENTS` has it, or else with USAGE."""
CLICK_REWORDINGS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"^No such option '(.*?)'", r"\1: there is no such option"),
        (
            r"^(--(?:lower|upper)): there is no such option.*",
            r"\1: there is no such option; write --bounds LOWER:UPPER",
        ),
        (
            r"^No such command 'median'.*",
            "median: there is no such command; quantiles --probabilities 0.5 gives the median",
        ),
        (r"^No such command '(.*?)'", r"\1: there is no such command"),
        (r"\. \(?Did you mean (?:one of: )?(.*)\?\)?$", r"; did you mean \1?"),
        (r"^Option '(.*?)' requires an argument$", r"\1: a value is needed"),
        (r"'(-[^']*)'", r"\1"),
        (r"^Got unexpected extra argument\S* \((.*)\)$", r"argument: nothing is expected here, got \1"),
    )
)
"""Patterns of click's error messages, each with what replaces it, so that all messages begin with the argument."""
COLUMN_OPTIONS = ("column", "and_column", "by", "label", "score", "predicted", "residual", "time", "event")
"""Options whose value is a column. If the library refuses a column, the message names the option that it was typed
for."""
BOTH_LOSSES = "epsilon, rho"
"""Argument name in errors that concern epsilon and rho together; if only one of them was typed, the message names that
one."""
DATA_ARGUMENTS = frozenset({*COLUMN_OPTIONS, "data", "table", "unit", "ledger", "key"})
"""Arguments whose errors concern the data or the ledger: the command then ends with exit status DATA (4)."""


class Refusal(NamedTuple):
    """Error line and exit status of a failed command."""

    line: str
    status: int


class Misuse(InvalidArgument):
    """Usage error: options contradict each other or a required option is missing. No data were read."""


def require_packages(argument: str, rule: str, *names: str) -> None:
    """Raise `Misuse` about the option `argument`, with the text `rule`, if a package of `names` is not installed."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in names):
        raise Misuse(argument, rule)


class OutputError(ArgumentError):
    """The result was computed but cannot be written, for example because the disk is full or the stream closed."""


class UnreadOutput(OutputError):
    """The program that read standard output has ended, as ``head`` does."""


class ChargedFailure(Exception):
    """A failure after the budget was charged. The result is stored and the same request id returns it again."""

    RETRY_HINT = "the result is paid for: --request-id {} returns it again at no cost"

    def __init__(self, cause: BaseException, request: str) -> None:
        super().__init__(request)
        self.cause = cause
        self.request = request


class UncertainChargeFailure(ChargedFailure):
    """A failure while the charge was written, so that it may or may not be recorded."""

    RETRY_HINT = "the result may be paid for: --request-id {} never charges it twice"


@contextmanager
def translate_argument_errors(option: str, *arguments: str) -> Iterator[None]:
    """Context manager: an `InvalidArgument` of one of these arguments, raised inside the ``with`` block, becomes
    `Misuse` of the option that the value came from, with the same rule.

    Args:
        option: Name of the option.
        arguments: Names of arguments; errors about others pass unchanged.
    """
    try:
        yield
    except InvalidArgument as error:
        if error.argument not in arguments:
            raise
        raise Misuse(option, error.rule) from None


@contextmanager
def restore_option_names(options: Mapping[str, object]) -> Iterator[None]:
    """Context manager: an error about a column or a privacy loss, raised inside the ``with`` block, names the option
    that the value came from.

    Args:
        options: Typed values by name of the option; an error about another value passes unchanged.
    """
    try:
        yield
    except ArgumentError as error:
        option = _option_of(error, {name: value for name, value in options.items() if value is not None})
        if option is None:
            raise
        raise error.with_argument(option) from None


def _option_of(error: ArgumentError, options: Mapping[str, object]) -> str | None:
    """Return the name of the option whose value caused an error about an argument; None if the error names the option
    already.

    Args:
        error: Error that names an argument of a Python function.
        options: Typed values by name of the option.
    """
    if error.argument == BOTH_LOSSES:
        losses = [name for name in ("epsilon", "rho") if name in options]
        return losses[0] if len(losses) == 1 else None
    if error.argument != "column" or error.value is None:
        return None
    for name in COLUMN_OPTIONS[1:]:  # the value of an option is a column, or a column and its categories
        value_of_option = options.get(name)
        option_values = value_of_option if isinstance(value_of_option, list) else [value_of_option]
        if any(error.value in (text, str(text).partition("=")[0]) for text in option_values):
            return name
    return None


def describe_error(error: BaseException) -> Refusal:
    """Return one line that names the argument and the rule, and the exit status. It contains no value of a record.

    Only messages of this package are shown. Of any other exception only the type and the source line are shown,
    because its message may quote a record.

    Args:
        error: Exception that ended a command.
    """
    if isinstance(error, ChargedFailure):
        line, status = describe_error(error.cause)
        return Refusal(f"{line}; {error.RETRY_HINT.format(error.request)}", status)
    if isinstance(error, KeyboardInterrupt):
        return Refusal("stopped", ExitStatus.STOPPED)
    if isinstance(error, click.ClickException):
        return Refusal(_on_one_line(_describe_usage_error(error)), ExitStatus.USAGE)
    if isinstance(error, ArgumentError):
        names = (name.replace("_", "-") for name in error.argument.split(", "))
        line = f"{', '.join(OPTION_NAMES.get(name, name) for name in names)}: {error.rule}"
        status = STATUS_BY_EXCEPTION.get(
            type(error).__name__, ExitStatus.DATA if error.argument in DATA_ARGUMENTS else ExitStatus.USAGE
        )
        hint = "; run the same again later" if status == ExitStatus.AWAY and " again" not in line else ""
        return Refusal(_on_one_line(line + hint), status)
    location = f"{type(error).__name__} in {_locate_failure(error.__traceback__)}"
    return Refusal(f"{location}: this is a bug of dpcurves; please report it", ExitStatus.FAULT)


def _locate_failure(traceback: TracebackType | None) -> str:
    """Return the file and line of our packages where an exception was raised, without its message.

    Args:
        traceback: Traceback of the exception; None: it was never raised.
    """
    core = Path(__file__).parents[1]
    location = "dpcurves"
    while traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename)
        if str(file).startswith((f"{core}{os.sep}", f"{core}_")):
            package_folder = core if file.is_relative_to(core) else core.parent
            location = f"{file.relative_to(package_folder).as_posix()}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return location


def _describe_usage_error(error: click.ClickException) -> str:
    """Return click's message with the argument first, the form of this package's errors.

    Args:
        error: Click's exception about a wrong command line.
    """
    message = error.format_message().rstrip(".")
    parameter = getattr(error, "param", None)
    if parameter is not None and message.startswith("Missing"):
        name = parameter.opts[-1] if parameter.param_type_name == "option" else parameter.metavar
        first = parameter.help[:1]
        remainder = parameter.help[1:].rstrip(".")
        help_text = (first if remainder[:1].isupper() else first.lower()) + remainder  # SELECT stays as it is
        return f"{parameter.name.replace('_', '-')}: {name} is missing; {help_text}"
    for pattern, words in CLICK_REWORDINGS:
        message = pattern.sub(words, message)
    return message


def _on_one_line(text: str) -> str:
    """Return a message as one line, with escapes for what a terminal would not show.

    Args:
        text: Text of a message, perhaps of several lines.
    """
    return escape_for_terminal(" ".join(filter(None, (line.strip(" ") for line in text.split("\n")))))


def prepare_streams() -> None:
    """Open the null device for standard streams that the shell has closed, so that no file gets their numbers.

    Writing to a stream that was closed still raises an error, as on a full disk. Characters that the terminal's
    encoding lacks are escaped, so that a result that was paid for can always be printed.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # takes the lowest free number, which is `number`
    sys.stdout = _escape_unencodable(sys.stdout, 1)
    sys.stderr = _escape_unencodable(sys.stderr, 2)


def _escape_unencodable(stream: TextIO | None, number: int) -> TextIO:
    """Return the stream, made to escape characters that it cannot encode; open it on this file number if it is
    closed.

    Args:
        stream: Standard stream; None: it was closed before the process started.
        number: File number of the stream, such as 1 for standard output.
    """
    if stream is None:  # closed before the process started
        return open(number, "w", encoding="utf-8", closefd=False)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def silence_stream(stream: TextIO) -> None:
    """Redirect a broken stream to the null device, so that the flush at exit raises no error.

    Args:
        stream: Standard output or standard error.
    """
    try:
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, stream.fileno())
        os.close(null_device)
    except (OSError, ValueError):
        return


def make_console(*, stderr: bool = False) -> Console:
    """Return a console on standard output or standard error. A broken pipe raises an error and does not exit.

    Args:
        stderr: True: the console writes to standard error.
    """
    from rich.console import Console
    from rich.segment import Segment

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            """Print nothing more after the reader of the output is gone (as with ``| head``), and raise the error
            again.
            """
            self.quiet = True
            raise sys.exception() or BrokenPipeError

        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            """Yield the styled pieces of text of a table or label; invisible characters become escapes.

            Args:
                renderable: Text, table or another object of rich.
                options: Options of rich, such as the width.
            """
            for segment in super().render(renderable, options):
                text = segment.text if segment.control else _escape_lines(segment.text)
                yield segment if text == segment.text else Segment(text, segment.style)

    console = Screen(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = 120  # characters of a line in a file or a pipe
    return console


def _escape_lines(text: str) -> str:
    """Return a rendered text with invisible characters of each line escaped; its line ends are kept, since this package
    wrote them.

    Args:
        text: Text of several lines, as rich rendered it.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "\n".join(escape_for_terminal(line, most=len(text)) for line in text.split("\n"))


def print_to_stderr(line: str) -> None:
    """Print a line on standard error. If that fails, silence the stream.

    Args:
        line: The line.
    """
    try:
        print(f"dpcurves: {escape_for_terminal(line)}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        silence_stream(sys.stderr)


def print_to_console(console: Console, *renderables: RenderableType) -> None:
    """Print texts, each as one line without wrapping, and tables.

    A line end in a text is shown as an escape: a text from elsewhere cannot imitate a line of this package.

    Args:
        console: Console to print on.
        renderables: Texts, or tables and other objects of rich.
    """
    with _translate_stream_errors(sys.stderr if console.stderr else sys.stdout):
        for renderable in renderables:
            console.print(
                escape_for_terminal(renderable) if isinstance(renderable, str) else renderable,
                soft_wrap=isinstance(renderable, str),
            )


def print_to_stdout(text: str) -> None:
    """Print text without formatting: machine-readable output or help. Does not import rich.

    Args:
        text: The text, of one or several lines.
    """
    with _translate_stream_errors(sys.stdout):
        print(text, flush=True)


@contextmanager
def _translate_stream_errors(stream: TextIO) -> Iterator[None]:
    """Context manager: output in the ``with`` block is flushed at its end; a closed pipe raises `UnreadOutput`, any
    other failure `OutputError`.

    Args:
        stream: The stream that the block writes to.
    """
    try:
        yield
        stream.flush()
    except OSError as error:
        silence_stream(stream)
        if error.errno == errno.EPIPE:
            raise UnreadOutput("output", "the program that reads standard output has ended") from None
        name = "error" if stream is sys.stderr else "output"
        reason = "it is closed" if error.errno == errno.EBADF else error.strerror
        raise OutputError("output", f"standard {name} could not be written ({reason})") from None


@contextmanager
def show_spinner(label: str) -> Iterator[None]:
    """Show a spinner with this label until the block ends.

    Args:
        label: Text beside the spinner.
    """
    if not sys.stderr.isatty():
        yield
        return
    with make_console(stderr=True).status(escape_for_terminal(label)):
        yield


@contextmanager
def show_pass_progress(label: str, after: float = 2.0) -> Iterator[None]:
    """Show a spinner, and after `after` seconds the fraction of the pass over the data that is done.

    A question may take several passes. Each has its own progress and remaining time.

    Args:
        label: Text beside the spinner.
    """
    if not sys.stderr.isatty():
        yield
        return
    from ..records.engines.duckdb import progress_fraction, watch_progress

    watch_progress()
    is_finished = Event()
    with _progress_bars() as bars:
        watcher = Thread(
            target=_update_pass_progress, args=(bars, label, progress_fraction, is_finished, after), daemon=True
        )
        watcher.start()
        try:
            yield
        finally:
            is_finished.set()
            watcher.join()


def _update_pass_progress(
    bars: Progress, label: str, read_fraction: Callable[[], float | None], is_finished: Event, after: float
) -> None:
    """Show the progress of passes until `is_finished`. A fraction that falls marks the start of another pass.

    Args:
        bars: Progress bars, which are shown here.
        label: Text beside the bar.
        read_fraction: Returns the fraction done of the present pass, from 0 to 1; None before it is known.
        is_finished: Set when the work is done.
        after: Seconds before the first update.
    """
    start = monotonic()
    pass_number = 1
    previous = 0.0
    bar = bars.add_task(label, total=None)
    bars.start()
    while not is_finished.wait(0.2):  # seconds between two updates
        done = read_fraction()
        if done is None or monotonic() - start < after:
            continue
        if done < previous:
            pass_number += 1
            bars.reset(bar, description=f"{label}, pass {pass_number}", total=1.0)
        previous = done
        bars.update(bar, completed=done, total=1.0)


@contextmanager
def _progress_bars() -> Iterator[Progress]:
    """Yield progress bars on standard error with percentage and remaining time. They vanish at the end."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    bars = Progress(*columns, console=make_console(stderr=True), transient=True)
    try:
        yield bars
    finally:
        bars.stop()


@contextmanager
def show_progress_bar(label: str, total: int) -> Iterator[Callable[[int], object]]:
    """Show a progress bar and yield a function that takes the amount done.

    Args:
        label: Text beside the bar.
        total: Amount at which the bar is full, in any unit.
    """
    with show_late_progress_bar(label, after=0) as fill:
        fill(0, total)
        yield lambda done: fill(done, total)


@contextmanager
def show_late_progress_bar(label: str, after: float) -> Iterator[Callable[[int, int], object]]:
    """Context manager that gives a function of the amount done and the total, in any unit, which shows them as a bar.

    The bar appears once `after` seconds have passed. If standard error is no terminal, the function does nothing.

    Args:
        label: Text beside the bar.
        after: Seconds from now.
    """
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    start = monotonic()
    with _progress_bars() as bars:
        bar = bars.add_task(label)

        def show(done: int, total: int) -> None:
            """Set the amount done and the total, in the same unit.

            The bar starts to be shown at the first call that comes `after` seconds or more after the bar was made.

            Args:
                done: Amount done.
                total: Amount at which the bar is full.
            """
            if monotonic() - start >= after:
                bars.start()
            bars.update(bar, completed=done, total=total)

        yield show
