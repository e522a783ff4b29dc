"""What goes wrong, as one line and an exit status."""

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
"""By name: to import them here would import half of the package before the first word of help."""
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
    """Why nothing came of it."""

    line: str
    status: int


class Misuse(Refused):
    """The command line contradicts itself, or something is missing from it. Nothing was opened."""


class Undelivered(Named):
    """What was asked for is there, and cannot be written: a disk is full, or the reader has gone."""


class Kept(Exception):
    """Something went wrong after the charge: the answer is kept, and can be had again for nothing."""

    def __init__(self, cause: BaseException, request: str) -> None:
        super().__init__(request)
        self.cause = cause
        self.request = request

    @property
    def words(self) -> str:
        """How to have the answer."""
        return f"it is paid for: --request-id {self.request} gives it again, for nothing"


class PerhapsKept(Kept):
    """Something went wrong while the charge was written."""

    @property
    def words(self) -> str:
        """How to ask again."""
        return f"it may be paid for: under --request-id {self.request} it is never paid twice"


@contextmanager
def named(option: str, *arguments: str) -> Iterator[None]:
    """What is said against one of these arguments is said against the option that it came from.

    Raises:
        Misuse: in the place of an error that names one of them.
    """
    try:
        yield
    except Refused as error:
        if error.argument not in arguments:
            raise
        raise Misuse(option, error.rule) from None


@contextmanager
def as_typed(options: Mapping[str, object]) -> Iterator[None]:
    """What is said against a column, or against a loss, is said against the one of these options that gave it.

    Raises:
        Exception: another one of its kind, in the place of one that speaks of them.
    """
    try:
        yield
    except Named as error:
        option = _option_of(error, {name: value for name, value in options.items() if value is not None})
        if option is None:
            raise
        raise error.about(option) from None


def _option_of(error: Named, options: Mapping[str, object]) -> str | None:
    """The option that gave what the error is about, if its argument has another name."""
    if error.argument == BOTH_LOSSES:
        losses = [name for name in ("epsilon", "rho") if name in options]
        return losses[0] if len(losses) == 1 else None
    if error.argument != "column" or error.given is None:
        return None
    return next((name for name in OF_COLUMNS[1:] if _gave(options.get(name), error.given)), None)


def _gave(option: object, column: object) -> bool:
    """Whether an option names the column: on its own, or before its categories."""
    given = option if isinstance(option, list) else [option]
    return any(each == column or str(each).partition("=")[0] == column for each in given)


def refusal_of(error: BaseException) -> Refusal:
    """One line that names the argument and the rule. It holds no value of a record.

    Only words of this package are passed on; of any other error just its type and its place are told.
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
    """The file of this package, and the line, where it happened: no message, no value."""
    package = Path(__file__).parents[1]
    place = "dpcurves"
    while traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename)
        if file.is_relative_to(package):
            place = f"{file.relative_to(package).as_posix()}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def _usage(error: typer.TyperException) -> str:
    """The parser's words, in our order: the argument first."""
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
