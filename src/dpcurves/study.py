"""Studies: several questions under one privacy budget, read from a TOML file, planned together and asked one by one.

`Study.from_text` reads a file that states a budget, and questions with their shares of it:

    epsilon = 1
    [[question]]
    ask = "cdf"
    column = "age"
    grid = "0:100:100"
    share = 0.5

`Study.plan` yields the expected errors, without data; `Study.ask` yields the results. A question costs its share of the
loss, in whole billionths that the ledger counts; together the questions cost at most the loss.

Formal guarantees: losses of the questions add up to at most the budget (basic composition). Each is charged under a
request derived from the question, its share and the loss. So repeating a study, also after an interruption, charges
nothing twice.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from math import ceil, floor
from types import MappingProxyType
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
from .curves.view import View, find_view
from .privacy import Adjacency, PrivacyLoss
from .session import Session, plan_question
from .shortcuts import parse_loss
from .strategies.choice import find_unlisted
from .trust import TrustModel

WHOLE_BUDGET = Fraction(1)
"""Budget of a study as a fraction: questions without a stated share divide equally what others leave of it."""
FALSE_ALARM_PROBABILITY = 0.05
"""Probability of a false alarm of drift, for questions of a study that state no other. A smaller one misses more
drift."""
BILLION = 10**9
"""Ledger units per epsilon or rho: a ledger counts whole billionths, to which losses are rounded."""
# Fields of the file: those of a question besides the question's own, numbers of the budget, and all of a study.
STUDY_FIELDS = ("name", "share", "since", "false_alarm_rate", "title", "text", "view")
"""Keys of a question in a study file that belong to the study; all others describe the question."""
LOSS_FIELDS = ("epsilon", "rho", "delta")
"""Keys of the budget in a study file."""
KNOWN_FIELDS = (*LOSS_FIELDS, "question", "title", "text", "source", "labels", "categories", "view")
"""All keys that a study file may have besides those within its questions; others are refused."""
DEFAULT_TITLE = "Study"
"""Title of the page of a study that states none."""
NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
"""Characters of the names of a study's questions, which become file names; a name with others is refused."""


@dataclass(frozen=True, slots=True)
class StudyQuestion:
    """A question of a study.

    Attributes:
        name: Name of its files: lower-case letters, digits, ``-`` and ``_``.
        question: The question.
        share: Fraction of the budget.
        since: File of an earlier released curve on the same cells, for a test of drift: see `drift`.
        false_alarm_rate: Probability of a false alarm, for each statistic.
        title: Title in the report; empty: the title of the result.
        text: Text in the report.
    """

    name: str
    question: Question[Any]
    share: Fraction
    since: str | None = None
    false_alarm_rate: float = FALSE_ALARM_PROBABILITY
    title: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Study:
    """Questions with a common budget.

    Formal guarantees: the losses of the questions add up to at most `loss` (basic composition). Each is charged under a
    request derived from the question, its share and the loss. So repeating a study, also after an interruption, charges
    nothing twice, while a changed question is a new question with a new charge.

    Attributes:
        questions: The questions, in order.
        loss: Budget of all questions together.
        title: Title of the report.
        text: Text below the title; an empty line starts a paragraph.
        source: Public name and version of the data; see `Session`.
        labels: Display names of columns.
        categories: Display names of categories, by column; see `ReleasedResult.with_labels`.

    Raises:
        ValueError: there is no question, two questions have one name, or shares are not positive or exceed 1 together.
    """

    questions: tuple[StudyQuestion, ...]
    loss: PrivacyLoss
    title: str = DEFAULT_TITLE
    text: str = ""
    source: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    categories: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.questions:
            raise InvalidArgument("question", "a study needs at least one question: add [[question]] to the file")
        names = [question.name for question in self.questions]
        duplicate = next((name for name in names if names.count(name) > 1), None)
        if duplicate is not None:
            raise InvalidArgument("name", f"two questions are called {duplicate!r}; use different names")
        if any(not question.name or not set(question.name) <= NAME_LETTERS for question in self.questions):
            raise InvalidArgument("name", "use lower-case letters, digits, - and _, for file names")
        if (
            min(question.share for question in self.questions) <= 0
            or sum(question.share for question in self.questions) > 1
        ):
            raise InvalidArgument(
                "share", "shares above 0 that add up to at most 1 are needed, as in 0.5 and 0.5: lower some"
            )
        if self.loss.delta and not any(map(_selects_partitions, self.questions)):
            raise InvalidArgument(
                "delta",
                'no question selects partitions; leave delta out, or ask by = { column = "NAME", categories = "auto" }',
            )

    @classmethod
    def from_text(cls, text: str, views: Mapping[str, View] = MappingProxyType({})) -> Study:
        """Return the study that a text in TOML or JSON describes.

        It has ``epsilon`` or ``rho``, optionally ``delta`` for partition selection, and a list ``question``. Each
        question has ``ask`` and the fields of that kind of question, optionally ``name`` and ``share``, the fraction of
        the budget; questions without a share divide the rest equally. A distribution function or a histogram may have
        ``since``, the file of an earlier one, and ``false_alarm_rate``, the probability of a false alarm. For readers
        of the report there are ``title``, ``text`` and ``source`` of the study, ``title`` and ``text`` of questions,
        ``labels`` of columns and their ``categories``; these do not change the request. A list ``view`` defines named
        filters and derived columns, which a question with ``view`` is about: see `View`.

        Args:
            text: The text.
            views: Further views that it may name: those of the account that pays, `Session.views`.

        Raises:
            ValueError: the text is not a study; the message names the field.

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
        >>> [(question.name, str(question.share)) for question in study.questions]
        [('cdf', '3/4'), ('histogram-2', '1/4')]
        """
        try:
            stored = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            line = re.search(r"line (\d+)", str(error))
            place = f" (see its line {line[1]})" if line else ""
            raise InvalidArgument("study", f"the text is neither TOML nor JSON{place}: correct the file") from None
        if not isinstance(stored, dict):
            raise InvalidArgument("study", 'an object is needed, as in {"question": [...]}')

        # All fields are checked before a question is built: an error names the field as the file has it.
        require_known_fields(stored, KNOWN_FIELDS)
        entries = stored.get("question")
        if (
            not isinstance(entries, list)
            or not all(isinstance(labels_of_column, Mapping) for labels_of_column in entries)
            or not entries
        ):
            raise InvalidArgument("question", "a list of at least one question is needed: [[question]] in TOML")
        for name in LOSS_FIELDS:
            number = stored.get(name)
            if number is not None and (isinstance(number, bool) or not isinstance(number, int | float | str)):
                raise InvalidArgument(name, f"a number is needed, as in 0.5, got {describe_value(number)}")

        words = {name: _require_text(name, stored[name]) for name in ("title", "text", "source") if name in stored}
        loss = parse_loss(stored.get("epsilon"), stored.get("rho"))
        labels = _require_words("labels", stored.get("labels", {}))
        delta = parse_positive_fraction("delta", stored["delta"]) if "delta" in stored else Fraction(0)
        category_labels = stored.get("categories", {})
        if not isinstance(category_labels, Mapping):
            raise InvalidArgument("categories", "a table of each column is needed: [categories.NAME] in TOML")
        categories = {
            str(column): _require_words("categories", labels_of_column)
            for column, labels_of_column in category_labels.items()
        }
        questions = tuple(_parse_questions(entries, _parse_views(stored.get("view", []), views)))
        return cls(questions, loss.with_delta(delta), labels=labels, categories=categories, **words)

    def question_loss(self, question: StudyQuestion) -> PrivacyLoss:
        """Return the loss of one question: its share of the budget, in whole billionths.

        A ledger rounds up to billionths. If rounded shares would exceed the budget, they are rounded down instead.
        Questions with partition selection divide the delta equally.

        Args:
            question: A question of this study.
        """
        loss = (self.loss * question.share).as_single_release()
        if sum(ceil(_billionths(self.loss * other.share)) for other in self.questions) > _billionths(self.loss):
            amount = Fraction(floor(_billionths(loss)), BILLION)
            loss = PrivacyLoss.zcdp(amount) if loss.epsilon is None else PrivacyLoss.pure(amount)
        selecting = sum(_selects_partitions(other) for other in self.questions)
        return loss.with_delta(self.loss.delta / selecting if _selects_partitions(question) else Fraction(0))

    def request(self, question: StudyQuestion) -> str:
        """Return the name of the request under which a question is charged.

        The name is equal for equal question, share and loss, so that a repeated study is charged once.

        Args:
            question: A question of this study.
        """
        delta = self.question_loss(question).delta
        fields = [
            question_to_json(question.question),
            str(question.share),
            repr(self.loss),
            *([str(delta)] if delta else []),
        ]
        facts = json.dumps(fields, sort_keys=True)
        return f"study-{question.name}-{sha256(facts.encode()).hexdigest()[:16]}"

    def plan(
        self, adjacency: Adjacency, trust: TrustModel[Any] | None = None
    ) -> Iterator[tuple[StudyQuestion, list[Plan]]]:
        """Yield each question with its plans: losses and errors of its rounds. Reads no data and no ledger.

        Args:
            adjacency: Neighbouring relation of the guarantee.
            trust: Trust model that answers; None: one curator.

        Yields:
            Pairs of a question and the plans of its rounds, in order.

        Raises:
            UnsupportedQuery: the trust model cannot answer a question.
        """
        for question in self.questions:
            yield question, list(plan_question(question.question, self.question_loss(question), adjacency, trust))

    def ask(self, session: Session) -> Iterator[tuple[StudyQuestion, Any]]:
        """Yield each question with its result, asked one after the other. All are planned before the first is charged.

        Args:
            session: Session with the data and the ledger.

        Yields:
            Pairs of a question and its result, such as a `CDF`, with the study's labels.

        Raises:
            UnsupportedQuery: the trust model of the session cannot answer a question; then nothing is charged.
            BudgetExceeded: the ledger's budget is too small for a question; earlier answers stay answered.
            ValueError: a question does not fit the data; earlier answers stay answered.
        """
        for question in self.questions:
            session.plan(question.question, self.question_loss(question))
        for question in self.questions:
            curve = session.ask(question.question, self.question_loss(question), self.request(question))
            if self.source is not None and hasattr(curve, "with_source"):
                curve = curve.with_source(self.source)
            yield question, curve.with_labels(self.labels, self.categories) if hasattr(curve, "with_labels") else curve


def _selects_partitions(asked: StudyQuestion) -> bool:
    """Return whether a question needs delta for partition selection.

    That is so if its categories are neither listed nor all texts of a declared alphabet (a universe).

    Args:
        asked: Question of a study.
    """
    unlisted = find_unlisted(asked.question)
    return unlisted is not None and unlisted.universe is None


def _require_text(name: str, value: object) -> str:
    """Return a value of the file, after checking that it is a text.

    Args:
        name: Name of the field, for the error.
        value: The value.

    Raises:
        ValueError: the value is not a text.
    """
    if not isinstance(value, str):
        raise InvalidArgument(name, f"a text is needed, in quotes, got {describe_value(value)}")
    return value


def _require_words(name: str, mapping: object) -> dict[str, str]:
    """Return a mapping from names to display names, with all as texts.

    Args:
        name: Name of the field, for the error.
        mapping: The value of the file.

    Raises:
        ValueError: the value is not a mapping, or a display name is not a text or empty.
    """
    if not isinstance(mapping, Mapping) or not all(isinstance(word, str) and word for word in mapping.values()):
        raise InvalidArgument(
            name, 'a table from names of columns to names to show is needed, as in age = "Age in years"'
        )
    return {str(key): str(word) for key, word in mapping.items()}


def _billionths(loss: PrivacyLoss) -> Fraction:
    """Return the epsilon or rho of a loss in the ledger's unit, billionths.

    Args:
        loss: The privacy loss.
    """
    return (loss.rho if loss.epsilon is None else loss.epsilon) * BILLION


def _parse_views(entries: object, stored: Mapping[str, View]) -> dict[str, View]:
    """Return the views of a study and the stored ones by name, each based on earlier ones alone.

    Args:
        entries: The list ``view`` of the file.
        stored: Views of the account that pays, by name.

    Raises:
        ValueError: an entry is not a view, or two views have one name.
    """
    views = dict(stored)
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise InvalidArgument("view", "a list of views is needed: [[view]] in TOML")
    for entry in entries:
        view = View.from_dict(entry, views)
        if view.name in views:
            raise InvalidArgument("view", f"two views are called {view.name!r}; use different names")
        views[view.name] = view
    return views


def _parse_questions(entries: list[Mapping[str, Any]], views: Mapping[str, View]) -> Iterator[StudyQuestion]:
    """Yield the questions of a study, on the views that they name.

    Args:
        entries: The list ``question`` of the file. Questions without a share divide equally what the others leave.
        views: Views by name.

    Raises:
        ValueError: a field is missing, unknown or of another type, or a view is unknown.
    """
    shares = [
        None if entry.get("share") is None else parse_positive_fraction("share", entry["share"]) for entry in entries
    ]
    given_shares = [share for share in shares if share is not None]
    open_count = len(shares) - len(given_shares)
    default_share = (WHOLE_BUDGET - sum(given_shares, Fraction(0))) / open_count if open_count else WHOLE_BUDGET
    for number, (entry, share) in enumerate(zip(entries, shares, strict=True), 1):
        question = question_from_json({name: value for name, value in entry.items() if name not in STUDY_FIELDS})
        if "view" in entry:
            question = find_view(entry["view"], views).apply(question)
        name = entry.get("name", entry["ask"] if number == 1 else f"{entry['ask']}-{number}")
        if not isinstance(name, str):
            raise InvalidArgument("name", f"a text is needed, in quotes, got {describe_value(name)}")
        since = entry.get("since")
        if since is not None and not isinstance(since, str):
            raise InvalidArgument(
                "since", f"the name of a file is needed, as in 'may.json', got {describe_value(since)}"
            )
        false_alarm_rate = require_probability(
            "false_alarm_rate", entry.get("false_alarm_rate", FALSE_ALARM_PROBABILITY)
        )
        texts = {key: _require_text(key, entry[key]) for key in ("title", "text") if key in entry}
        yield StudyQuestion(name, question, default_share if share is None else share, since, false_alarm_rate, **texts)
