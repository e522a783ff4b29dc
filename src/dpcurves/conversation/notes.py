"""Notes on results: a fact for every reader, and advice for the analyst who asked the question.

Terminals, notebooks, warnings and JSON show both parts. Pictures and published pages show the fact alone, because their
readers cannot ask again. The two parts are divided by a mark within the text, so that notes read from files can be
divided, too.

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
"""Text between fact and advice."""
REST_MARK = "are together in "
"""Text before the quoted name of the category that collects all unselected values."""


def add_advice(fact: str, advice: str) -> str:
    """Return a note with a fact for every reader and advice for the analyst.

    >>> add_advice("about 3% lie above 10", "take a wider grid")
    'about 3% lie above 10; advice: take a wider grid'
    """
    return f"{fact}{ADVICE_MARK}{advice}"


def warn_analyst(words: str) -> str:
    """Return a note with advice alone, which no published page shows.

    >>> select_reader_notes([warn_analyst("a filter is public")])
    ()
    """
    return f"{ADVICE_MARK.lstrip('; ')}{words}"


def select_reader_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """Return the facts of notes without their advice, each fact once, in order.

    >>> select_reader_notes([add_advice("about 3% lie above 10", "take a wider grid"), "about 2% are missing"])
    ('about 3% lie above 10', 'about 2% are missing')
    """
    facts = (f"; {note}".partition(ADVICE_MARK)[0].removeprefix("; ") for note in notes)
    return tuple(dict.fromkeys(filter(None, facts)))


def find_rest_names(notes: Iterable[str]) -> frozenset[str]:
    """Return the names of categories that collect unselected values, as notes on partition selection give them.

    >>> sorted(find_rest_names(["4 are released, and all groups of few units are together in 'other'"]))
    ['other']
    """
    return frozenset(name for note in notes for name in re.findall(rf"{REST_MARK}'([^']*)'", note))
