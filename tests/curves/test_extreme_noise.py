"""Noise can send anything: a conversation ends in a curve, which is written and read again, whatever was released."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle, islice
from typing import Any

import pytest
from every_question import LOSS, QUESTIONS, WHO

from dpcurves.conversation import Release, Step
from dpcurves.curves import ByCategory, Question
from dpcurves.distributions.output_distribution import ChoiceDistribution
from dpcurves.session import answer_steps
from dpcurves.trust import Central, run_conversation

HUGE = 2**62
TURN = {"all huge": (HUGE,), "all as far below zero": (-HUGE,), "by turns": (HUGE, -HUGE)}


def answered_with(values: tuple[int, ...]) -> Callable[[Step], Release]:
    def reply(step: Step) -> Release:
        plan = Central().plan_query(step.query, LOSS, WHO)
        blank = plan.distribution.blank_values()
        chosen = isinstance(plan.distribution, ChoiceDistribution)  # from what was offered
        return Release(plan, blank if chosen else tuple(islice(cycle(values), len(blank))), allotment=None, seeded=True)

    return reply


@pytest.mark.quick_share(3, kinds=())
@pytest.mark.filterwarnings("ignore::dpcurves.curves.CurveWarning")
@pytest.mark.parametrize("place", range(len(TURN)))
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.reproduction) for kind in TURN] + ["in turn"])
def test_every_question_ends_in_a_curve_whatever_is_released(kind: str, place: int) -> None:
    """Each question is sent one kind of numbers, the next one another kind; `make bench` sends each all kinds."""
    sent = cycle([TURN[kind]] if kind in TURN else TURN.values())
    for question, values in list(zip(QUESTIONS, sent, strict=False))[place :: len(TURN)]:
        curve: Any = read(question, answered_with(values))
        text = curve.to_json()
        if not isinstance(curve, ByCategory):  # those by category are read one by one
            assert type(curve).from_json(text).to_json() == text, question


def read(question: Question[object], reply: Callable[[Step], Release]) -> object:
    return answer_steps(run_conversation(question, LOSS, WHO, Central()), reply)
