"""Conformance checks of questions and results, built in or from other packages, as scikit-learn checks estimators.

    check_question    a question, a synthetic table that fits it -> whether each trust model answers it
    check_result      a result -> nothing

Both raise a `Failure`, whose message states the violated property. A *question* asks for a private curve or number;
a *trust model* defines who adds the noise. `check_question` uses the question as a session does:

    every trust model    a plan under all losses and adjacencies, equal when repeated; or a refusal of all of them
    absurd answers       zeros, extreme and erratic integers end in a valid result
    a session            one charge; a repeated request is free; two answers without noise agree
    the result           one line, notes, HTML, plot, data frame, JSON there and back

The checks ask the synthetic table alone, so they involve no real person and spend no real budget.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from .conversation import Release, Step, UnsupportedQuery
from .curves.question import find_charged_query
from .curves.result import CurveWarning, result_from_json
from .extensions import find_entry_points
from .ledger import QuestionBudget
from .noise.randomness import Randomness
from .privacy import EACH_RECORD, AddRemove, Adjacency, Neighbours, PrivacyLoss, ReplaceOne
from .session import Session, answer_steps, plan_question
from .trust import Central, TrustModel, run_conversation

PLANNED_LOSS = PrivacyLoss.pure(1)
"""Privacy loss, pure epsilon 1, of the questions that the checks plan and answer with made-up counts: any value would
do."""
LOSSES = PLANNED_LOSS, PrivacyLoss.zcdp(Fraction(1, 2))
"""Losses under which plans are made: one of pure differential privacy and one of zCDP, since both add other noise."""
NOISELESS_LOSS = PrivacyLoss.pure(10**9)
"""Privacy loss, pure epsilon: noise at it is 0 with all but negligible probability, so that answers can be compared
with the records. It protects nobody, so it is only for synthetic records."""
EXTREME_COUNT = 2**40
"""Records. Size of the counts, positive and negative, that the checks send as noisy answers: noise can produce any
integer, and a result must be valid for all of them."""
UNITS = 1000
"""Public number of units, such as people, in the checks under replace-one: any number would do."""


class Failure(AssertionError):
    """A question or result violates a property that all of them must have; the message states the property."""


class TrustModelCheck(NamedTuple):
    """Whether one trust model answers a question.

    Attributes:
        trust: The trust model.
        refusal: The error if it does not answer; None: it answers.
    """

    trust: TrustModel[Any]
    refusal: UnsupportedQuery | None


def check_question(question: Any, columns: Mapping[str, Any]) -> tuple[TrustModelCheck, ...]:
    """Check a question against the properties that all questions must have; return for each trust model whether it
    answers.

    A question is frozen and prints in one line. When planned, its budget fractions add up to 1 under every trust model,
    loss and adjacency that supports it; others reject it before a charge. Any integers as answers lead to a result that
    plots, prints in one line, has a data frame, and is parsed from its JSON with equal numbers. Asked of records, it is
    charged once; repeated under its request, it is free and equal; at a huge loss, two runs with different noise agree.

    Args:
        question: The question.
        columns: A table that fits it, of about a thousand records.

    Returns:
        For each trust model, whether it answers.

    Raises:
        Failure: the question violates a property.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> question = dp.CdfQuestion("x", dp.Grid(0, 1, cells=16))
    >>> central, *_ = check_question(question, {"x": np.linspace(0, 1, 1000)})
    >>> central.refusal is None
    True
    """
    _require(is_dataclass(question) and not isinstance(question, type), "the question is a dataclass")
    _require("\n" not in str(question) and str(question).strip() != "", "the question prints in one line")
    installed = (entry.load()() for entry in find_entry_points("dpcurves.trust_models"))
    offers = tuple(_check_trust_model(question, trust) for trust in (Central(), *installed))
    _require(any(offer.refusal is None for offer in offers), "some trust model answers it")
    _check_absurd_answers(question)
    _check_session(question, columns)
    return offers


def check_result(result: Any, *, draw: bool = True) -> None:
    """Check a result against the properties of all results: one line, notes, HTML, plot, data frame, JSON round trip.

    Args:
        result: The result.
        draw: Whether to draw the plot, within the HTML, which takes longest.

    Raises:
        Failure: the result violates a property.
    """
    _require("\n" not in repr(result) and len(repr(result)) < 400, "the result prints in one line")
    _require(all("\n" not in note for note in result.notes), "each note is one line")
    with _ignore_curve_warnings():
        text = result.to_json()
        parsed = result_from_json(text)
        _require(type(parsed) is type(result), "the result parsed from its JSON has the same class")
        _require(parsed.to_json() == text, "the result parsed from its JSON writes the same JSON")
        _require(len(result.to_frame()) > 0, "the data frame has rows")
        if draw:
            _require("<" in result._repr_html_(), "the result has an HTML summary")


def _check_trust_model(question: Any, trust: TrustModel[Any]) -> TrustModelCheck:
    """Plan a question under one trust model, for all losses and adjacencies, and return whether the model can answer
    the question.

    Args:
        question: The question.
        trust: The trust model.

    Returns:
        A refusal only if every plan was refused. If some were made, the trust model counts as answering.

    Raises:
        Failure: a plan has no query, differs when repeated, or a refusal is not one line that names an argument.
    """
    refusal: UnsupportedQuery | None = None
    answered = False
    for adjacency in (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, UNITS)):
        for loss in LOSSES:
            try:
                plans = plan_question(question, loss, adjacency, trust)
            except UnsupportedQuery as error:
                refusal = error
                _require(error.argument != "" and "\n" not in str(error), "a rejection names its argument in one line")
                continue
            answered = True
            _require(len(plans) > 0, "the question asks at least one query")
            if loss is LOSSES[-1]:
                again = plan_question(question, loss, adjacency, trust)
                _require([plan.fingerprint for plan in plans] == [plan.fingerprint for plan in again], "plans are pure")
    return TrustModelCheck(trust, None if answered else refusal)


def _check_absurd_answers(question: Any) -> None:
    """Answer a question with zeros, extreme and erratic integers, and check the results with `check_result`.

    Answers that the question refuses under an adjacency are skipped.

    Args:
        question: The question.

    Raises:
        Failure: some answers lead to an invalid result. The message names the answers and the adjacency.
    """
    senders: dict[str, Callable[[int], list[int]]] = {
        "zeros": lambda size: [0] * size,
        "huge counts": lambda size: [EXTREME_COUNT] * size,
        "negative counts": lambda size: [-EXTREME_COUNT] * size,
        "wild counts": lambda size: [(place * 7919 % 2011) - UNITS for place in range(size)],
    }
    drawn = {"negative counts"}  # their picture: wild counts have negative ones, too
    for adjacency in (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, UNITS)):
        for answer_kind, send in senders.items():
            try:
                check_result(_answer_synthetically(question, adjacency, send), draw=answer_kind not in drawn)
                drawn.add(answer_kind)
            except UnsupportedQuery:
                continue
            except Failure as failure:
                raise Failure(f"sent {answer_kind} under {adjacency}: {failure}") from None


def _answer_synthetically(question: Any, adjacency: Adjacency, send: Callable[[int], list[int]]) -> Any:
    """Run a question with made-up answers in place of releases, and return its result.

    Args:
        question: The question.
        adjacency: Neighbouring relation under which it is planned.
        send: Function from the number of integers of an answer to these integers.
    """
    trust = Central()
    budget = QuestionBudget.for_planning(PLANNED_LOSS)

    def send_reply(step: Step) -> Release:
        """Return the release of a step with made-up integers, or with placeholders if its distribution allows only some
        integers.

        Args:
            step: Query, and its fraction of the loss.
        """
        allotment = budget.pay(step.query.charged_query, step.budget_fraction)
        plan = trust.plan_query(step.query, allotment.loss, adjacency)
        blank = Release.make_placeholder(plan)
        return (
            replace(blank, values=tuple(send(len(blank.values)))) if plan.distribution.accepts_any_integers else blank
        )

    return answer_steps(run_conversation(question, PLANNED_LOSS, adjacency, trust), send_reply)


def _check_session(question: Any, columns: Mapping[str, Any]) -> None:
    """Ask a question in sessions on a table, under both adjacencies, and check charges and agreement.

    Args:
        question: The question.
        columns: The synthetic table, by column.

    Raises:
        Failure: asking does not charge exactly once; a repeated request costs something or has another result; two
            answers without noise differ; or a result is invalid.
    """
    is_drawn = False
    for neighbours in Neighbours:
        with Session(columns, budget=PLANNED_LOSS, adjacency=neighbours, randomness=Randomness.from_seed(1)) as session:
            try:
                session.plan(question, PLANNED_LOSS)
            except UnsupportedQuery:
                continue
            with _ignore_curve_warnings():
                first = session.ask(question, PLANNED_LOSS, request="checked")
                again = session.ask(question, PLANNED_LOSS, request="checked")
            _require(session.remaining.rho == 0, "the loss is charged fully, and once")
            _require(first.to_json() == again.to_json(), "repeating the request gives the same result at no loss")
            check_result(first, draw=not is_drawn)  # the adjacency changes words of the picture only
            is_drawn = True
        if find_charged_query(question) is None:
            first_answer, second_answer = (_ask_without_noise(question, columns, neighbours, seed) for seed in (1, 2))
            agree = len(first_answer.to_frame()) == len(second_answer.to_frame()) and repr(first_answer) == repr(
                second_answer
            )
            _require(agree, "without noise, two answers agree")


def _ask_without_noise(question: Any, columns: Mapping[str, Any], neighbours: Neighbours, seed: int) -> Any:
    """Return the answer at a loss so large that the noise is 0 with all but negligible probability.

    Args:
        question: The question.
        columns: The synthetic table, by column.
        neighbours: Kind of adjacency.
        seed: Seed of the noise.
    """
    open_session = Session(columns, budget=NOISELESS_LOSS, adjacency=neighbours, randomness=Randomness.from_seed(seed))
    with open_session as session, _ignore_curve_warnings():
        return session.ask(question, NOISELESS_LOSS)


def _ignore_curve_warnings() -> warnings.catch_warnings[None]:
    """Return a context manager that silences `CurveWarning`."""
    return warnings.catch_warnings(action="ignore", category=CurveWarning)


def _require(holds: bool, property_text: str) -> None:
    """Check one property of a question or result.

    Args:
        holds: Whether the property holds.
        property_text: The property as a sentence, for the message.

    Raises:
        Failure: `holds` is false.
    """
    if not holds:
        raise Failure(f"a property of all questions and results is violated: {property_text}")
