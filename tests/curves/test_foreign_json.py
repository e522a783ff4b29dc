"""A text that a stranger wrote is a curve, or it is refused in one line; it asks for no memory to speak of."""

from __future__ import annotations

import json
import random
import resource
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from every_question import LOSS, QUESTIONS, TABLE

import dpcurves as dp
from dpcurves.curves import Question

Place = tuple[str | int, ...]
GONE = object()
ODD: tuple[Any, ...] = (
    GONE, None, True, -1, 0, 1, 2**31, 2**62, 2**64, 10**12, -(10**30), 0.5, 1e300, -1e-320, "", "a", "1/0", "1/3",
    "-1", "1e999999999", "9" * 400, "discrete Laplace", [], {}, [1], [None], [[1]], [0] * 1000,
)  # fmt: skip
TRIED = 12
MOST_KILOBYTES = 200 * 2**10
FIRST = {type(each).__name__: number for number, each in reversed(list(enumerate(QUESTIONS)))}
FIRST["curves"] = next(number for number, each in enumerate(QUESTIONS) if getattr(each, "by", None) is not None)


def asked(question: Question[object]) -> Any:
    session = dp.Session(TABLE, budget=LOSS, adjacency=dp.ADD_REMOVE, randomness=dp.Randomness.from_seed(5))
    return session.ask(question, LOSS)


def reader(curve: Any) -> Callable[[str], Any]:
    kind: Any = type(curve)
    several = {"kind": type(next(iter(curve.values())))} if isinstance(curve, dp.ByCategory) else {}
    return partial(kind.from_json, **several)


def places(document: Any, here: Place = ()) -> Iterator[Place]:
    """Paths to all that stands in a document; in a long list, to the first two and the last."""
    if here:
        yield here
    if isinstance(document, dict):
        for name, entry in document.items():
            yield from places(entry, (*here, name))
    elif isinstance(document, list):
        for number in sorted({*range(min(len(document), 2)), len(document) - 1} - {-1}):
            yield from places(document[number], (*here, number))


def edited(text: str, place: Place, value: Any) -> str:
    document = json.loads(text)
    at = document
    for step in place[:-1]:
        at = at[step]
    if value is GONE:
        del at[place[-1]]
    else:
        at[place[-1]] = value
    return json.dumps(document)


@pytest.fixture
def limited() -> Iterator[None]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_KILOBYTES


@pytest.mark.quick_share(6)
@pytest.mark.filterwarnings("ignore")  # of numbers that strangers made up
@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize("number", FIRST.values(), ids=FIRST)
def test_a_curve_of_which_anything_was_changed_is_read_or_refused_in_one_line(number: int) -> None:
    curve, chance = asked(QUESTIONS[number]), random.Random(number)
    read, text = reader(curve), curve.to_json()
    everywhere = [(place, value) for place in places(json.loads(text)) for value in ODD]
    refusals = [
        refusal
        for place, value in chance.sample(everywhere, TRIED)
        if (refusal := refused(read, edited(text, place, value))) is not None
    ]
    assert len(refusals) > TRIED / 10
    assert [refusal for refusal in refusals if len(refusal.splitlines()) != 1] == []


def refused(read: Callable[[str], Any], text: str) -> str | None:
    """Why it is refused; None: it is a curve, which says what it is."""
    try:
        curve = read(text)
        str(curve), curve.notes
    except ValueError as refusal:
        return str(refusal)
    return None
