"""Mapping of exceptions to one line of error text and an exit status."""

from __future__ import annotations

import os
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
STATUS = {"BudgetExceeded": BUDGET, "UnsupportedQuery": USAGE, "Misuse": USAGE, "Undelivered": OUTPUT}
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

    TOLD = "it is paid for: --request-id {} gives it again, for nothing"

    def __init__(self, cause: BaseException, request: str) -> None:
        super().__init__(request)
        self.cause, self.request = cause, request


class PerhapsKept(Kept):
    """Failure while the charge was being written, so that it may or may not be recorded."""

    TOLD = "it may be paid for: under --request-id {} it is never paid twice"


@contextmanager
def named(option: str, *arguments: str) -> Iterator[None]:
    """Translate errors about one of these arguments into `Misuse` of the option that gave its value."""
    try:
        yield
    except Refused as error:
        if error.argument not in arguments:
            raise
        raise Misuse(option, error.rule) from None


@contextmanager
def as_typed(options: Mapping[str, object]) -> Iterator[None]:
    """Translate errors about a column or a privacy loss into the same ones about the option that gave its value."""
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
    for name in OF_COLUMNS[1:]:  # an option names a column alone, or followed by its categories
        option = options.get(name)
        given = option if isinstance(option, list) else [option]
        if any(each == error.given or str(each).partition("=")[0] == error.given for each in given):
            return name
    return None


def refusal_of(error: BaseException) -> Refusal:
    """Error line that names the argument and the rule, and the exit status. It holds no value of a record.

    Only messages of this package are passed on; of any other exception just its type and its place are printed.
    """
    if isinstance(error, Kept):
        line, status = refusal_of(error.cause)
        return Refusal(f"{line}; {error.TOLD.format(error.request)}", status)
    if isinstance(error, KeyboardInterrupt):
        return Refusal("stopped", STOPPED)
    if isinstance(error, typer.TyperException):
        return Refusal(_on_one_line(_usage(error)), USAGE)
    if isinstance(error, Named):
        names = (name.replace("_", "-") for name in error.argument.split(", "))
        line = f"{', '.join(OPTIONS.get(name, name) for name in names)}: {error.rule}"
        usual = DATA if error.argument in OF_DATA else USAGE
        return Refusal(_on_one_line(line), STATUS.get(type(error).__name__, usual))
    place = f"{type(error).__name__} in {_place(error.__traceback__)}"
    return Refusal(f"{place}: this should not be; please report it", FAULT)


def _place(traceback: TracebackType | None) -> str:
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


def _usage(error: typer.TyperException) -> str:
    """Parser's message with the argument first, in the form of this package's errors."""
    message = error.format_message().rstrip(".")
    parameter = getattr(error, "param", None)
    if parameter is not None and message.startswith("Missing"):
        name = parameter.opts[-1] if parameter.param_type_name == "option" else parameter.metavar
        told = (parameter.help[:1].lower() + parameter.help[1:]).rstrip(".")
        return f"{parameter.name.replace('_', '-')}: {name} is missing; {told}"
    for pattern, words in REWORDED:
        message = pattern.sub(words, message)
    return message


def _on_one_line(text: str) -> str:
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(text.split()))
