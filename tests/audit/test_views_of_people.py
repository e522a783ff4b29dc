"""People in pairs: whatever somebody's values are, all others and the server see the same with the same answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from coupling import Gates
from protocols import Village, without_marks

from dpcurves_parties.pairs import device
from dpcurves_parties.pairs.pair_terms import coerce_unsigned

pytest.importorskip("rbcl")
BOTH, VALUES = (0, 1), tuple(product((0, 1), repeat=2))
Values = Sequence[Any]


def people_seen(village: Village, old: Sequence[Values], people: Iterable[int], others: Iterable[Values]) -> int:
    """Hold all that anybody else sees of somebody against what is seen of others; how many were held.

    The server and the partner are given what both of them see: their loss is the same if they put it together.
    """
    gates, held = Gates(), 0
    first = village.run(old, gates)
    for person, value in product(people, others):
        new = [value if each == person else old[each] for each in range(len(old))]
        second = village.run(new, gates.again(), village.coupled(person, old, new, first["drawn"]))
        assert second["server"] == first["server"]
        assert second["told"] == first["told"]
        for each, (before, after) in enumerate(zip(first["devices"], second["devices"], strict=True)):
            assert (without_marks(after) == without_marks(before)) if each == person else (after == before)
        held += 1
    return held


def test_all_that_others_see_of_a_person_follows_from_the_noisy_answer(tmp_path: Path) -> None:
    village = Village(tmp_path)
    assert people_seen(village, ((0, 1), (1, 0)), BOTH, VALUES) == 8
    assert village.events[-1][0] == "answer"


@pytest.mark.parametrize(("person", "step"), [(1, 0), (0, 1)])
def test_a_meeting_that_is_dropped_shows_no_more(tmp_path: Path, person: int, step: int) -> None:
    """A letter is changed on its way: who drops the meeting, when, and in which words is the same."""
    village = Village(tmp_path)
    first, _ = village.agreement.meetings[0].people
    village.tampers = lambda writer, number: (writer == first) == (person == 0) and number == step
    assert people_seen(village, ((0, 1), (1, 0)), BOTH, [(1, 1)]) == 2
    assert village.events[-1][0] == "attended"


@pytest.mark.parametrize("odd", [("1", 10**30), (float("nan"), object())])
def test_what_is_no_value_is_seen_as_the_one_that_it_counts_as(tmp_path: Path, odd: Values) -> None:
    village = Village(tmp_path)
    seen = [village.run([each, (1, 0)], Gates()) for each in (odd, [coerce_unsigned(each, 1) for each in odd])]
    for each in seen:
        each["devices"] = [without_marks(rows) for rows in each["devices"]]
    assert seen[0] == seen[1]


def test_a_share_that_is_late_for_some_values_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = device.Device.compute_messages

    def told(own: Any, meeting: Any, job: Any, value: Any, person: int) -> Any:
        messages, share = said(own, meeting, job, value, person)
        return messages, None if share and value[0] and not own.load_messages(meeting)[2:] else share

    monkeypatch.setattr(device.Device, "compute_messages", told)
    with pytest.raises(AssertionError):
        people_seen(Village(tmp_path), ((0, 1), (1, 0)), [0], VALUES)
