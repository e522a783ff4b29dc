"""Questions by groups that nobody listed: names of many units are found first, and the question is asked by them."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from ..arguments import Refused
from ..conversation import Release
from ..data import Unlisted

Question = TypeVar("Question")

FIND = Fraction(1, 4)
"""The share of the loss that finds the names; it has all of the delta."""


def unlisted_of(question: object) -> Unlisted | None:
    """The column of groups of a question that nobody listed, if there is one.

    Raises:
        ValueError: there are several.
    """
    found = [each for each in _columns(question) if isinstance(each, Unlisted)]
    if len(found) > 1:
        raise Refused("by", "groups of one column can be found; list those of the others")
    return found[0] if found else None


def asked_by(question: Question, unlisted: Unlisted, names: tuple[str, ...]) -> Question:
    """Return a question by the groups that were found."""
    by = tuple(unlisted.among(names) if each is unlisted else each for each in _columns(question))
    asked: Any = question
    found: Question = replace(asked, by=by if isinstance(asked.by, tuple) else by[0])
    return found


def _columns(question: object) -> tuple[object, ...]:
    by = getattr(question, "by", None) if is_dataclass(question) else None
    return by if isinstance(by, tuple) else (by,)


def names_in(release: Release) -> tuple[str, ...]:
    """The names that were told, in their order."""
    return tuple(_name(number) for number in release.values[::2])


def _name(number: int) -> str:
    return number.to_bytes((number.bit_length() + 7) // 8)[1:].decode()


def note_on(release: Release, unlisted: Unlisted, names: tuple[str, ...]) -> str:
    """Note on the number of groups that were found, and on the others."""
    return (
        f"groups of {unlisted.column} were found with {release.plan.loss}: {len(names)} are told, and all that few "
        f"have are together in {unlisted.among(names).values[-1]!r}"
    )


def notes_on_price(loss: str, unlisted: Unlisted) -> tuple[str, ...]:
    """The price of the names, before anything is charged."""
    return (
        f"no groups of {unlisted.column} are listed: {loss} finds those of many units, and the rest of the loss asks "
        "by them; a group that nobody listed is told with at most the chance of that delta where one unit alone has it",
    )
