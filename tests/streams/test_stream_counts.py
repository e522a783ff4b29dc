"""The question of counts at every time step: windows and events from one release, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from dpcurves.data import Categories
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves_streams.mechanisms import Perturber
from dpcurves_streams.readings import Counts, Event, Jump, Low, Smoothing, TimeStepReading

STATES = (Categories("ap", ("a", "b")),)
EVENTS = (Jump(2, 5), Low(3, 4), Event("rising", 2, lambda counts: counts[1] > counts[0]))


def readings(smoothing: Smoothing, stream: list[tuple[int, int]]) -> list[TimeStepReading]:
    question = Counts(STATES, windows=(2,), events=EVENTS, smoothing=smoothing)
    plan = Perturber().plan(question.query, PrivacyLoss.pure(50), AddRemove(EACH_RECORD))
    reader = question.reader(plan)
    return [reader.read_next(counts) for counts in stream]


@pytest.mark.parametrize("smoothing", list(Smoothing))
def test_without_noise_all_is_read_as_it_was(smoothing: Smoothing) -> None:
    found = readings(smoothing, [(0, 9), (1, 9), (5, 3), (0, 9), (6, 9)])
    assert [each.time_step for each in found] == [1, 2, 3, 4, 5]
    np.testing.assert_allclose([each.counts for each in found], [(0, 9), (1, 9), (5, 3), (0, 9), (6, 9)], atol=1e-9)
    np.testing.assert_allclose([each.windows[2][0] for each in found], [0, 1, 6, 5, 6], atol=1e-9)
    assert [bool(each.events["jump:2:5"][0]) for each in found] == [False, False, True, False, False]
    assert [bool(each.events["low:3:4"][0]) for each in found] == [False, False, False, False, False]
    assert [bool(each.events["rising"][0]) for each in found] == [False, True, True, False, True]
    ends = ("low", "high", "unbiased")
    line = {name: value for name, value in found[2].to_json(0).items() if not name.endswith(ends)}
    stated = {"level": 0.95, "covers": "for these records"}
    assert line == {"count": 5.0, "window:2": 6.0, "jump:2:5": True, "low:3:4": False, "rising": True, **stated}


def test_a_signal_is_low_if_its_sum_is_below_and_no_event_happens_before_its_window_is_full() -> None:
    found = readings(Smoothing.PLAIN, [(1, 0)] * 4)
    assert [bool(each.events["low:3:4"][0]) for each in found] == [False, False, True, True]


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(ValueError, match="events: two events have the same name"):
        Counts(STATES, events=(Jump(1, 2), Jump(1, 2.0)))
    with pytest.raises(TypeError, match="events"):
        Counts(STATES, events=("jump",))  # type: ignore[arg-type]
    for wrong in (lambda: Jump(0, 1), lambda: Jump(1, 0), lambda: Low(0, 1), lambda: Low(1, -1)):
        with pytest.raises(ValueError, match="must be above 0"):
            wrong()
    with pytest.raises(ValueError, match="windows"):
        Counts(STATES, windows=(0,))
