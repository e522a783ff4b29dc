"""What goes wrong, as one line and an exit status."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import typer

from .status import BUDGET, DATA, FAULT, OUTPUT, STOPPED, USAGE

NAMED = re.compile(r"([a-z_-]+(?:, [a-z_-]+)*): (.*)", re.DOTALL)
"""An error of ours names its argument first. What does not is the word of some engine, and may quote a record."""
OPTIONS = {"request": "request-id"}
OWN_ERRORS = {"BudgetExceeded": ("budget", BUDGET), "UnsupportedQuery": ("question", USAGE)}
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
BOTH_LOSSES = "epsilon, rho: "
OF_DATA = frozenset({*OF_COLUMNS, "data", "unit", "ledger", "key"})


class Refusal(NamedTuple):
    """Why nothing came of it."""

    line: str
    status: int


class Misuse(ValueError):
    """The command line contradicts itself, or something is missing from it. Nothing was opened."""


class Undelivered(Exception):
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
    except ValueError as error:
        found = NAMED.fullmatch(str(error))
        if found is None or found[1] not in arguments:
            raise
        trouble = f"{option}: {found[2]}"
    else:
        return
    raise Misuse(trouble)


@contextmanager
def as_typed(options: Mapping[str, object]) -> Iterator[None]:
    """What is said against a column, or against a loss, is said against the one of these options that gave it.

    Raises:
        Exception: another one of its kind, in the place of one that speaks of them.
    """
    try:
        yield
    except Exception as error:
        words, known = str(error), {name for name, value in options.items() if value is not None}
        if words.startswith(BOTH_LOSSES) and len(known & {"epsilon", "rho"}) == 1:
            (option,) = known & {"epsilon", "rho"}
        else:
            typed = (name for name in OF_COLUMNS if words.startswith(f"column: {options.get(name)!r} "))
            option = next(typed, "column")
        if option == "column":
            raise
        raise type(error)(f"{option}: {words.partition(': ')[2]}") from None


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
    name = type(error).__name__
    if type(error).__module__.startswith("dpcurves.") and name in OWN_ERRORS:
        argument, status = OWN_ERRORS[name]
        known = NAMED.fullmatch(str(error))
        line = f"{argument}: {error}" if known is None else f"{_options(known[1])}: {known[2]}"
        return Refusal(_on_one_line(line), status)
    named = NAMED.fullmatch(str(error))
    if named is None or not isinstance(error, (ValueError, TypeError, ImportError, OSError)):
        return Refusal(f"{_fault(error)}: this should not be; please report it", FAULT)
    rule = named[2].replace("say with delimiter ", "say with --delimiter ")
    return Refusal(_on_one_line(f"{_options(named[1])}: {rule}"), _status(error, named[1]))


def _status(error: BaseException, argument: str) -> int:
    return DATA if argument in OF_DATA and not isinstance(error, Misuse) else USAGE


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
