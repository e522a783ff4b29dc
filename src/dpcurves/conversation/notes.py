"""Notes on results in two parts: a fact for every reader, and advice for whoever asked the question.

Terminals, notebooks, warnings and JSON have both parts; pictures and published pages have the facts alone. A mark
divides the parts, so that notes read from files divide in the same way.

>>> note = add_advice("the interval is wide", "take fewer cells")
>>> note, select_reader_notes([note])
('the interval is wide; advice: take fewer cells', ('the interval is wide',))
"""

from __future__ import annotations

import re
from collections.abc import Iterable

ADVICE_MARK = "; advice: "
"""Text between the fact and the advice of a note."""
REST_MARK = "are together in "
"""Text before the name of the category of all unselected values, in quotes."""


def add_advice(fact: str, advice: str) -> str:
    """Return a note of a fact and of advice to whoever asked, which published pages leave out.

    >>> add_advice("about 3% lie above 10", "take a wider grid")
    'about 3% lie above 10; advice: take a wider grid'
    """
    return f"{fact}{ADVICE_MARK}{advice}"


def warn_analyst(words: str) -> str:
    """Return a note that is advice alone, so that no published page has it.

    >>> select_reader_notes([warn_analyst("a filter is public")])
    ()
    """
    return f"{ADVICE_MARK.lstrip('; ')}{words}"


def select_reader_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """Return notes for readers of a publication: facts without advice to whoever asked the question, each once.

    >>> select_reader_notes([add_advice("about 3% lie above 10", "take a wider grid"), "about 2% are missing"])
    ('about 3% lie above 10', 'about 2% are missing')
    """
    facts = (f"; {note}".partition(ADVICE_MARK)[0].removeprefix("; ") for note in notes)
    return tuple(dict.fromkeys(filter(None, facts)))


def find_rest_names(notes: Iterable[str]) -> frozenset[str]:
    """Return the names of the categories of all unselected values that notes on partition selection name.

    >>> sorted(find_rest_names(["4 are released, and all groups of few units are together in 'other'"]))
    ['other']
    """
    return frozenset(name for note in notes for name in re.findall(rf"{REST_MARK}'([^']*)'", note))
