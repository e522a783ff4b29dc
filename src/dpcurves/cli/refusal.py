"""Mapping of exceptions to one line of error text and an exit status."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import typer

from ..arguments import Named, Refused
from .status import BUDGET, DATA, FAULT, OUTPUT, STOPPED, USAGE

OPTIONS = {"request": "request-id"}
STATUS = {"BudgetExceeded": BUDGET, "UnsupportedQuery": USAGE}
"""Exit statuses by the name of the exception's class: importing the classes would slow every start."""
REWORDED = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"^No such option: (\S+)", r"\1: there is no such option"),
        (r"^No such command '(.*?)'", r"\1: there is no such command"),
        (r" \(Possible options: (.*)\)$", r"; did you mean \1?"),
        (r"\. Did you mean (.*)\?$", r"; did you mean \1?"),
        (r"^Option '(.*?)' requires an argument$", r"\1: a value is needed"),
        (r"^Got unexpected extra argument\S* \((.*)\)$", r"argument: nothing is expected here, got \1"),
    )
)
OF_COLUMNS = ("column", "and_column", "by", "label", "score", "predicted", "residual")
"""Options that name a column."""
BOTH_LOSSES = "epsilon, rho"
OF_DATA = frozenset({*OF_COLUMNS, "data", "table", "unit", "ledger", "key"})


class Refusal(NamedTuple):
    """Error line and exit status of a failed command."""

    line: str
    status: int


class Misuse(Refused):
    """Usage error: options contradict each other, or one is missing. No data were opened."""


class Undelivered(Named):
    """Output error: the answer was computed but cannot be written, as to a full disk or a closed pipe."""


class Kept(Exception):
    """Failure after the charge: the answer is kept, and is free under the same request id."""

    def __init__(self, cause: BaseException, request: str) -> None:
        super().__init__(request)
        self.cause = cause
        self.request = request

    @property
    def words(self) -> str:
        """Text on the request id that gives the answer again."""
        return f"it is paid for: --request-id {self.request} gives it again, for nothing"


class PerhapsKept(Kept):
    """Failure while the charge was being written, so that it may or may not be recorded."""

    @property
    def words(self) -> str:
        """Text on the request id under which the question is charged once at most."""
        return f"it may be paid for: under --request-id {self.request} it is never paid twice"


@contextmanager
def named(option: str, *arguments: str) -> Iterator[None]:
    """Translate errors about one of these arguments into errors about the option that gave its value.

    Raises:
        Misuse: in place of an error about one of the arguments.
    """
    try:
        yield
    except Refused as error:
        if error.argument not in arguments:
            raise
        raise Misuse(option, error.rule) from None


@contextmanager
def as_typed(options: Mapping[str, object]) -> Iterator[None]:
    """Translate errors about a column or a privacy loss into errors about the option that gave its value.

    Raises:
        Exception: of the same class, in place of the original error.
    """
    try:
        yield
    except Named as error:
        option = _option_of(error, {name: value for name, value in options.items() if value is not None})
        if option is None:
            raise
        raise error.about(option) from None


def _option_of(error: Named, options: Mapping[str, object]) -> str | None:
    """Name of the option that gave the value of the error, if the error's argument has another name."""
    if error.argument == BOTH_LOSSES:
        losses = [name for name in ("epsilon", "rho") if name in options]
        return losses[0] if len(losses) == 1 else None
    if error.argument != "column" or error.given is None:
        return None
    return next((name for name in OF_COLUMNS[1:] if _gave(options.get(name), error.given)), None)


def _gave(option: object, column: object) -> bool:
    """True if an option names the column, alone or followed by its categories."""
    given = option if isinstance(option, list) else [option]
    return any(each == column or str(each).partition("=")[0] == column for each in given)


def refusal_of(error: BaseException) -> Refusal:
    """Error line that names the argument and the rule, and the exit status. It holds no value of a record.

    Only messages of this package are passed on; of any other exception just its type and its place are printed.
    """
    if isinstance(error, Kept):
        line, status = refusal_of(error.cause)
        return Refusal(f"{line}; {error.words}", status)
    if isinstance(error, KeyboardInterrupt):
        return Refusal("stopped", STOPPED)
    if isinstance(error, Undelivered):
        return Refusal(_on_one_line(str(error)), OUTPUT)
    if isinstance(error, typer.TyperException):
        return Refusal(_on_one_line(_usage(error)), USAGE)
    return _of_rooms(error)


def _of_rooms(error: BaseException) -> Refusal:
    if not isinstance(error, Named):
        return Refusal(f"{_fault(error)}: this should not be; please report it", FAULT)
    return Refusal(_on_one_line(f"{_options(error.argument)}: {error.rule}"), _status(error))


def _status(error: Named) -> int:
    if isinstance(error, Misuse) or error.argument not in OF_DATA:
        return STATUS.get(type(error).__name__, USAGE)
    return STATUS.get(type(error).__name__, DATA)


def _options(arguments: str) -> str:
    names = (name.replace("_", "-") for name in arguments.split(", "))
    return ", ".join(OPTIONS.get(name, name) for name in names)


def _fault(error: BaseException) -> str:
    return f"{type(error).__name__} in {_place(error.__traceback__)}"


def _place(traceback: TracebackType | None) -> str:
    """File and line in our packages where an exception was raised: no message, no value."""
    core = Path(__file__).parents[1]
    place = "dpcurves"
    while traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename)
        if file.is_relative_to(core):
            place = f"{file.relative_to(core).as_posix()}, line {traceback.tb_lineno}"
        elif str(file).startswith(f"{core}_"):
            place = f"{file.relative_to(core.parent).as_posix()}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def _usage(error: typer.TyperException) -> str:
    """Parser's message with the argument first, in the form of this package's errors."""
    message = error.format_message().rstrip(".")
    parameter = getattr(error, "param", None)
    if parameter is not None and message.startswith("Missing"):
        name = parameter.opts[-1] if parameter.param_type_name == "option" else parameter.metavar
        return f"{parameter.name.replace('_', '-')}: {name} is missing; {_lower(parameter.help)}"
    for pattern, words in REWORDED:
        message = pattern.sub(words, message)
    return message


def _lower(sentence: str) -> str:
    return (sentence[:1].lower() + sentence[1:]).rstrip(".")


def _on_one_line(text: str) -> str:
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(text.split()))
