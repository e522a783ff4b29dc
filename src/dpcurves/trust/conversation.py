"""A question's conversation, turn by turn: each thing that it needs is asked for as the trust model plans it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol, TypeVar

from ..privacy import Adjacency, PrivacyLoss
from ..release import Release, Setting, Step
from ..workloads import Need, Needs
from .base import Planner

Curve = TypeVar("Curve", covariant=True)


class Asking(Protocol[Curve]):
    """A question, as far as a conversation knows it."""

    def steps(self, setting: Setting) -> Needs[Curve]:
        """Say what is needed, one after the other; return the curve."""
        ...


def conversation(
    question: Asking[Curve], loss: PrivacyLoss, adjacency: Adjacency, trust: Planner
) -> Generator[Step, Release, Curve]:
    """Ask all queries that the trust model plans for what the question needs; return the curve.

    Formal guarantees: a need gets its share of the loss, and its steps get their shares of that; who pays for the steps
    holds all of them together to the loss of the question.
    """
    setting = Setting(loss, adjacency)
    needs = question.steps(setting)
    try:
        need = next(needs)
        while True:
            need = needs.send((yield from _met(need, setting, trust)))
    except StopIteration as end:
        curve: Curve = end.value
        return curve


def _met(need: Need, setting: Setting, trust: Planner) -> Generator[Step, Release, Any]:
    turns = trust.plan(need.workload, setting.loss * need.share, setting.adjacency)
    try:
        step = next(turns)
        while True:
            step = turns.send((yield Step(step.query, step.share * need.share)))
    except StopIteration as end:
        return end.value
