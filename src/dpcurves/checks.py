"""Checks that every question has to pass, whoever wrote it, as scikit-learn checks estimators.

They speak to a question as a session does, so a new curve is held by them without a line of test of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass, replace
from fractions import Fraction
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from .conversation import Release, Step, UnsupportedQuery
from .curves.question import find_charged_query
from .curves.result import CurveWarning, result_from_json
from .ledger import QuestionBudget
from .noise.randomness import Randomness
from .privacy import EACH_RECORD, AddRemove, Adjacency, Neighbours, PrivacyLoss, ReplaceOne
from .session import Session, answer_steps, plan_question
from .trust import Central, TrustModel, run_conversation

ONE = PrivacyLoss.pure(1)
LOSSES = ONE, PrivacyLoss.zcdp(Fraction(1, 2))
HUGE = PrivacyLoss.pure(10**9)
ABSURD = 2**40
"""Noise can send any integer: so can a check."""
UNITS = 1000


class Failure(AssertionError):
    """A question does not keep what all questions promise; the words say which promise."""


class TrustModelCheck(NamedTuple):
    """The answers of one trust model.

    Attributes:
        trust: The trust model.
        refusal: Why it does not answer the question; None: it does.
    """

    trust: TrustModel[Any]
    refusal: UnsupportedQuery | None


def check_question(question: Any, columns: Mapping[str, Any]) -> tuple[TrustModelCheck, ...]:
    """Hold a question to what every question promises.

    A question is frozen and prints what it asks. Rehearsed, its shares add up under every trust model, loss and
    adjacency that answers it; what does not answer it refuses it before a charge. Whatever it is sent, it ends in a
    result that draws, prints one line, has a data frame, and is read again from JSON with the same numbers. Asked of
    real records it is charged once; asked again under its request it is free and the same; and at a huge loss two runs
    of it with other noise are alike.

    Args:
        question: The question.
        columns: A table that it may be asked of, of about a thousand records.

    Returns:
        Each trust model, and whether it answers.

    Raises:
        Failure: the question does not keep a promise.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> question = dp.CdfQuestion("x", dp.Grid(0, 1, cells=16))
    >>> central, *_ = check_question(question, {"x": np.linspace(0, 1, 1000)})
    >>> central.refusal is None
    True
    """
    _require(is_dataclass(question) and not isinstance(question, type), "it is a dataclass")
    _require("\n" not in str(question) and str(question).strip() != "", "it prints what it asks, in one line")
    installed = (each.load()() for each in entry_points(group="dpcurves.trust_models"))
    offers = tuple(_check_trust_model(question, trust) for trust in (Central(), *installed))
    _require(any(offer.refusal is None for offer in offers), "some trust model answers it")
    _check_absurd_answers(question)
    _check_session(question, columns)
    return offers


def check_result(result: Any, *, draw: bool = True) -> None:
    """Hold a result to what every result promises: one line, notes, HTML, a picture, a data frame, JSON and back.

    Args:
        result: The result.
        draw: Draw the picture, which takes longest, within the HTML.

    Raises:
        Failure: the result does not keep a promise.
    """
    _require("\n" not in repr(result) and len(repr(result)) < 400, "it prints as one line")
    _require(all("\n" not in note for note in result.notes), "each note is one line")
    with _ignore_curve_warnings():
        text = result.to_json()
        read = result_from_json(text)
        _require(type(read) is type(result), "what is read from its JSON is of its class")
        _require(read.to_json() == text, "what is read from its JSON writes the same")
        _require(len(result.to_frame()) > 0, "its data frame has rows")
        if draw:
            _require("<" in result._repr_html_(), "it has an HTML summary")


def _check_trust_model(question: Any, trust: TrustModel[Any]) -> TrustModelCheck:
    """Rehearse under all losses and adjacencies; one refusal of both adjacencies is a refusal of the trust model."""
    refusal: UnsupportedQuery | None = None
    answered = False
    for adjacency in (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, UNITS)):
        for loss in LOSSES:
            try:
                plans = plan_question(question, loss, adjacency, trust)
            except UnsupportedQuery as no:
                refusal = no
                _require(no.argument != "" and "\n" not in str(no), "a refusal names its argument in one line")
                continue
            answered = True
            _require(len(plans) > 0, "it asks for something")
            if loss is LOSSES[-1]:
                again = plan_question(question, loss, adjacency, trust)
                _require([plan.fingerprint for plan in plans] == [plan.fingerprint for plan in again], "plans are pure")
    return TrustModelCheck(trust, None if answered else refusal)


def _check_absurd_answers(question: Any) -> None:
    """Send blanks, extremes and wild integers in the place of answers: it ends in a sound result all the same."""
    senders: dict[str, Callable[[int], list[int]]] = {
        "zeros": lambda size: [0] * size,
        "huge counts": lambda size: [ABSURD] * size,
        "negative counts": lambda size: [-ABSURD] * size,
        "wild counts": lambda size: [(place * 7919 % 2011) - UNITS for place in range(size)],
    }
    for adjacency in (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, UNITS)):
        for what, send in senders.items():
            try:
                check_result(_answer_synthetically(question, adjacency, send), draw=isinstance(adjacency, AddRemove))
            except UnsupportedQuery:
                continue
            except Failure as failure:
                raise Failure(f"sent {what} under {adjacency}: {failure}") from None


def _answer_synthetically(question: Any, adjacency: Adjacency, send: Callable[[int], list[int]]) -> Any:
    trust, budget = Central(), QuestionBudget.for_planning(ONE)

    def send_reply(step: Step) -> Release:
        allotment = budget.pay(step.query.charged_query, step.budget_fraction)
        plan = trust.plan_query(step.query, allotment.loss, adjacency)
        blank = Release.make_placeholder(plan)
        return replace(blank, values=tuple(send(len(blank.values)))) if plan.law.accepts_any_integers else blank

    return answer_steps(run_conversation(question, ONE, adjacency, trust), send_reply)


def _check_session(question: Any, columns: Mapping[str, Any]) -> None:
    for neighbours in Neighbours:
        with Session(columns, budget=ONE, adjacency=neighbours, randomness=Randomness.from_seed(1)) as session:
            try:
                session.plan(question, ONE)
            except UnsupportedQuery:
                continue
            with _ignore_curve_warnings():
                first = session.ask(question, ONE, request="checked")
                again = session.ask(question, ONE, request="checked")
            _require(session.remaining.rho == 0, "all of its loss is charged, once")
            _require(first.to_json() == again.to_json(), "asked again under its request it is the same, for nothing")
            check_result(first)
        if find_charged_query(question) is None:
            one, other = (_ask_without_noise(question, columns, neighbours, seed) for seed in (1, 2))
            near = len(one.to_frame()) == len(other.to_frame()) and repr(one) == repr(other)
            _require(near, "without noise it says what is so")


def _ask_without_noise(question: Any, columns: Mapping[str, Any], neighbours: Neighbours, seed: int) -> Any:
    made = Session(columns, budget=HUGE, adjacency=neighbours, randomness=Randomness.from_seed(seed))
    with made as session, _ignore_curve_warnings():
        return session.ask(question, HUGE)


def _ignore_curve_warnings() -> warnings.catch_warnings[None]:
    return warnings.catch_warnings(action="ignore", category=CurveWarning)


def _require(holds: bool, promise: str) -> None:
    if not holds:
        raise Failure(f"a promise of questions is not kept: {promise}")
