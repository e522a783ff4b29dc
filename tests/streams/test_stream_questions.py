"""What all questions about a stream refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpcurves.data import Categories
from dpcurves_streams.queries import Forest
from dpcurves_streams.readings import AggregatedCounts, Counts, Groups, Jump, Low, PrunedStates

AXES, FOREST = (Categories("at", ("a", "b")),), Forest.from_json({"all": ["a", "b"]})
QUESTIONS: dict[str, Callable[..., Any]] = {
    "counts": lambda **more: Counts(AXES, **more),
    "groups": lambda **more: Groups(AXES, **more),
    "aggregated": lambda **more: AggregatedCounts("at", FOREST, **more),
    "pruned": lambda **more: PrunedStates("at", FOREST, 3, **more),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_windows_and_events_that_cannot_be_read_are_refused(name: str) -> None:
    question = QUESTIONS[name]
    with pytest.raises(ValueError, match=r"^windows: "):
        question(windows=(3, 0))
    with pytest.raises(ValueError, match=r"^events: two events have the same name"):
        question(events=(Low(3, 5), Low(3, 5)))
    with pytest.raises(TypeError, match=r"^events: "):
        question(events=("low:3:5",))
    assert question(windows=(4, 2), events=(Low(3, 5), Jump(6, 1))).window_widths == (2, 3, 4)
