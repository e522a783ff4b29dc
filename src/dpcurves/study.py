"""A list of questions under one budget: planned as a whole, asked one by one, and free when it is asked again."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from math import ceil, floor
from typing import Any

from .arguments import (
    InvalidArgument,
    describe_value,
    parse_positive_fraction,
    require_known_fields,
    require_probability,
)
from .conversation import Plan
from .curves import Question
from .curves.question_json import question_from_json, question_to_json
from .privacy import Adjacency, PrivacyLoss
from .session import Session, plan_question
from .shortcuts import parse_loss
from .strategies.choice import find_unlisted
from .trust import TrustModel

ALL, ALARMS, BILLION = Fraction(1), 0.05, 10**9
OWN = ("name", "share", "since", "alarms", "title", "text")
NUMBERS = ("epsilon", "rho", "delta")
KNOWN = (*NUMBERS, "question", "title", "text", "source", "labels", "categories")
TITLE = "Study"
NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


@dataclass(frozen=True, slots=True)
class StudyQuestion:
    """A question of a study.

    Attributes:
        name: The name of its files: lower-case letters, digits, ``-`` and ``_``.
        question: What is asked.
        share: The part of the loss that it gets.
        since: The file of a released curve on the same cells, since which the column may have moved: see `drift`.
        alarms: The chance of a false alarm, for each statistic.
        title: The title of its part of the report; empty: that of the result.
        text: What a reader of the report is told of it.
    """

    name: str
    question: Question[Any]
    share: Fraction
    since: str | None = None
    alarms: float = ALARMS
    title: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Study:
    """Questions, and what all of them together may lose.

    Formal guarantees: the losses of the questions add up to at most `loss` (basic composition), and each is charged
    under a request that is made of the question, its share and the loss. So a study that is asked again, also after it
    was stopped half-way, pays for nothing twice; a question that was changed is another question, and is paid for.

    Attributes:
        questions: The questions, in their order.
        loss: For all of them together.
        title: The title of the report.
        text: What stands below it; an empty line begins a paragraph.
        source: The public name and version of the data: see `Session`.
        labels: Words by the names of columns.
        categories: Words for categories, by their columns: see `ReleasedResult.with_labels`.

    Raises:
        ValueError: there is no question, two have one name, or shares are not above 0 or add up to more than 1.
    """

    questions: tuple[StudyQuestion, ...]
    loss: PrivacyLoss
    title: str = TITLE
    text: str = ""
    source: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    categories: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.questions:
            raise InvalidArgument("question", "a study needs at least one")
        names = [each.name for each in self.questions]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidArgument("name", f"two questions are called {twice!r}; give each its own")
        if any(not each.name or not set(each.name) <= NAME_LETTERS for each in self.questions):
            raise InvalidArgument("name", "small letters, digits, - and _ are needed: files are called so")
        if min(each.share for each in self.questions) <= 0 or sum(each.share for each in self.questions) > 1:
            raise InvalidArgument("share", "shares above 0 that add up to at most 1 are needed")
        if self.loss.delta and not any(map(_selects_partitions, self.questions)):
            raise InvalidArgument(
                "delta", 'it finds groups of by = { column = "NAME", categories = "auto" }: leave it out'
            )

    @classmethod
    def from_text(cls, text: str) -> Study:
        """The study that a TOML or JSON text describes.

        It gives ``epsilon`` or ``rho``, a ``delta`` if groups are asked that nobody listed, and a list ``question``:
        each has ``ask``, the fields of that question, and, if wanted, a ``name`` and a ``share`` of the loss. Questions
        without a share share what is left evenly. A distribution function or a histogram may name the file of an
        earlier one in ``since``, and the chance of false ``alarms``. What readers of the report see: ``title``,
        ``text`` and ``source`` of the study, ``title`` and ``text`` of a question, ``labels`` of columns and
        ``categories`` of these. They are no part of what is paid for.

        Raises:
            ValueError: the text describes none; one line names what is wrong.

        >>> study = Study.from_text('''
        ... epsilon = 1
        ... [[question]]
        ... ask = "cdf"
        ... column = "age"
        ... grid = "0:100:1024"
        ... share = 0.75
        ... [[question]]
        ... ask = "histogram"
        ... column = "stay"
        ... grid = "0:30:30"
        ... ''')
        >>> [(each.name, str(each.share)) for each in study.questions]
        [('cdf', '3/4'), ('histogram-2', '1/4')]
        """
        try:
            stored = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
        except (ValueError, RecursionError):
            raise InvalidArgument("study", "this is neither TOML nor JSON") from None
        if not isinstance(stored, dict):
            raise InvalidArgument("study", "an object is needed")
        require_known_fields(stored, KNOWN)
        listed = stored.get("question")
        if not isinstance(listed, list) or not all(isinstance(each, Mapping) for each in listed) or not listed:
            raise InvalidArgument("question", "a list of at least one is needed: [[question]] in TOML")
        for name in NUMBERS:
            given = stored.get(name)
            if given is not None and (isinstance(given, bool) or not isinstance(given, int | float | str)):
                raise InvalidArgument(name, f"a number is needed, got {describe_value(given)}")
        words = {name: _require_text(name, stored[name]) for name in ("title", "text", "source") if name in stored}
        loss, labels = (
            parse_loss(stored.get("epsilon"), stored.get("rho")),
            _require_words("labels", stored.get("labels", {})),
        )
        delta = parse_positive_fraction("delta", stored["delta"]) if "delta" in stored else Fraction(0)
        parts = stored.get("categories", {})
        if not isinstance(parts, Mapping):
            raise InvalidArgument("categories", "a table of each column is needed: [categories.NAME] in TOML")
        categories = {str(column): _require_words("categories", each) for column, each in parts.items()}
        return cls(
            tuple(_parse_questions(listed)), loss.with_delta(delta), labels=labels, categories=categories, **words
        )

    def question_loss(self, question: StudyQuestion) -> PrivacyLoss:
        """The loss of one question. Those by groups that nobody listed share the delta evenly.

        A ledger rounds up to billionths: where shares would not fit into the whole by that, they are rounded down.
        """
        alone = (self.loss * question.share).as_single_release()
        if sum(ceil(_billionths(self.loss * each.share)) for each in self.questions) > _billionths(self.loss):
            amount = Fraction(floor(_billionths(alone)), BILLION)
            alone = PrivacyLoss.zcdp(amount) if alone.epsilon is None else PrivacyLoss.pure(amount)
        finding = sum(_selects_partitions(each) for each in self.questions)
        return alone.with_delta(self.loss.delta / finding if _selects_partitions(question) else Fraction(0))

    def request(self, question: StudyQuestion) -> str:
        """The request under which it is charged: the same for the same question, share and loss."""
        delta = self.question_loss(question).delta
        told = [
            question_to_json(question.question),
            str(question.share),
            repr(self.loss),
            *([str(delta)] if delta else []),
        ]
        facts = json.dumps(told, sort_keys=True)
        return f"study-{question.name}-{sha256(facts.encode()).hexdigest()[:16]}"

    def plan(
        self, adjacency: Adjacency, trust: TrustModel[Any] | None = None
    ) -> Iterator[tuple[StudyQuestion, list[Plan]]]:
        """The plan of each question: its turns, losses and errors. Touches no data and no ledger.

        Raises:
            UnsupportedQuery: the trust model cannot answer one of them.
        """
        for each in self.questions:
            yield each, list(plan_question(each.question, self.question_loss(each), adjacency, trust))

    def ask(self, session: Session) -> Iterator[tuple[StudyQuestion, Any]]:
        """Ask one question after the other. All are planned before the first one is charged.

        Raises:
            UnsupportedQuery, BudgetExceeded, ValueError: as `Session.ask`; what was answered before stays answered.
        """
        for each in self.questions:
            session.plan(each.question, self.question_loss(each))
        for each in self.questions:
            curve = session.ask(each.question, self.question_loss(each), self.request(each))
            if self.source is not None and hasattr(curve, "with_source"):
                curve = curve.with_source(self.source)
            yield each, curve.with_labels(self.labels, self.categories) if hasattr(curve, "with_labels") else curve


def _selects_partitions(asked: StudyQuestion) -> bool:
    """Tell whether a delta finds the groups of this question."""
    unlisted = find_unlisted(asked.question)
    return unlisted is not None and unlisted.universe is None


def _require_text(name: str, given: object) -> str:
    if not isinstance(given, str):
        raise InvalidArgument(name, f"a text is needed, got {describe_value(given)}")
    return given


def _require_words(name: str, given: object) -> dict[str, str]:
    if not isinstance(given, Mapping) or not all(isinstance(each, str) and each for each in given.values()):
        raise InvalidArgument(name, "a table of names and their words is needed")
    return {str(key): str(word) for key, word in given.items()}


def _billionths(loss: PrivacyLoss) -> Fraction:
    return (loss.rho if loss.epsilon is None else loss.epsilon) * BILLION


def _parse_questions(listed: list[Mapping[str, Any]]) -> Iterator[StudyQuestion]:
    shares = [None if each.get("share") is None else parse_positive_fraction("share", each["share"]) for each in listed]
    given = [share for share in shares if share is not None]
    open_ = len(shares) - len(given)
    rest = (ALL - sum(given, Fraction(0))) / open_ if open_ else ALL
    for number, (each, share) in enumerate(zip(listed, shares, strict=True), 1):
        question = question_from_json({name: value for name, value in each.items() if name not in OWN})
        name = each.get("name", each["ask"] if number == 1 else f"{each['ask']}-{number}")
        if not isinstance(name, str):
            raise InvalidArgument("name", f"a text is needed, got {describe_value(name)}")
        since = each.get("since")
        if since is not None and not isinstance(since, str):
            raise InvalidArgument("since", f"the name of a file is needed, got {describe_value(since)}")
        alarms = require_probability("alarms", each.get("alarms", ALARMS))
        told = {part: _require_text(part, each[part]) for part in ("title", "text") if part in each}
        yield StudyQuestion(name, question, rest if share is None else share, since, alarms, **told)
