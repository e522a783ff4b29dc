"""Notes on results: a fact for every reader of a result, and advice for the analyst who asked the question.

A note is one text, "fact; advice: advice". `add_advice` joins the two parts, `select_reader_notes` drops the advice.
Terminals, notebooks, warnings and JSON show both parts. Pictures and published pages show the fact alone, because
their readers cannot ask again. The mark between the parts is within the text, so that notes which were read from files
can be divided, too.

The module handles texts alone, no records and no counts.

>>> note = add_advice("the interval is wide", "take fewer cells")
>>> note
'the interval is wide; advice: take fewer cells'
>>> select_reader_notes([note])
('the interval is wide',)
"""

from __future__ import annotations

import re
from collections.abc import Iterable

ADVICE_MARK = "; advice: "
"""Text between the fact and the advice in a note of a result. What follows it is for the analyst and is left out of
published pages."""
REST_MARK = "are together in "
"""Text before the quoted name of the category that collects all unselected values; `find_rest_names` reads that name
out of notes by it."""


def add_advice(fact: str, advice: str) -> str:
    """Return a note with a fact for every reader and advice for the analyst.

    Args:
        fact: What the released numbers show, without a final full stop.
        advice: What the analyst can do about it, as an imperative.

    >>> add_advice("about 3% lie above 10", "take a wider grid")
    'about 3% lie above 10; advice: take a wider grid'
    """
    return f"{fact}{ADVICE_MARK}{advice}"


def warn_analyst(words: str) -> str:
    """Return a note with advice alone, which no published page shows.

    Args:
        words: The advice.

    Returns:
        A note of which `select_reader_notes` leaves nothing.

    >>> select_reader_notes([warn_analyst("a filter is public")])
    ()
    """
    return f"{ADVICE_MARK.lstrip('; ')}{words}"


def select_reader_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """Return the facts of notes without their advice, each fact once, in the order of their first occurrence.

    Args:
        notes: Notes, with or without advice. A note of advice alone is left out.

    >>> select_reader_notes([add_advice("about 3% lie above 10", "take a wider grid"), "about 2% are missing"])
    ('about 3% lie above 10', 'about 2% are missing')
    """
    facts = (f"; {note}".partition(ADVICE_MARK)[0].removeprefix("; ") for note in notes)
    return tuple(dict.fromkeys(filter(None, facts)))


def find_rest_names(notes: Iterable[str]) -> frozenset[str]:
    """Return the names of categories that collect all unselected values, as notes on partition selection give them.

    Args:
        notes: Notes of a result. Those without such a name are ignored.

    Returns:
        The names without quotation marks; empty if no note has one.

    >>> sorted(find_rest_names(["4 are released, and all groups of few units are together in 'other'"]))
    ['other']
    """
    return frozenset(name for note in notes for name in re.findall(rf"{REST_MARK}'([^']*)'", note))
