"""Questions as a site's officer is shown them, and files of those that are approved beforehand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from dpcurves.arguments import Refused
from dpcurves.conversation import Plan
from dpcurves.conversation.release import canonical
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.privacy import PrivacyLoss

WHOLE = 64
"""Hexadecimal digits of a fingerprint."""


def fingerprint_of(question: Any) -> str:
    """Hash of all that a question asks, in 64 hexadecimal digits: whoever names it means that very question."""
    return sha256(canonical(["dpcurves federation question", 1, question_to_json(question)]).encode()).hexdigest()


class Approved(NamedTuple):
    """A question as a site's officer is shown it before a question is answered.

    Attributes:
        question: In words.
        loss: The loss of the whole question.
        request: Its id.
        plan: The plan of this turn: what will leave the house, masked.
        fingerprint: That of the question, as files of approved ones name it.
    """

    question: str
    loss: PrivacyLoss
    request: str
    plan: Plan
    fingerprint: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The question, its price, and what leaves the house, for people."""
        return (
            f"asked: {self.question} (question {self.fingerprint})",
            f"price: {self.loss} in all, {self.plan.loss} for this turn, under request {self.request!r}",
            f"leaves the house: {self.plan.law.size} masked numbers, {self.plan.made_by}",
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """A question that is approved.

    Attributes:
        fingerprint: That of the question.
        most: The most that it may lose each time it is asked.
    """

    fingerprint: str
    most: PrivacyLoss

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Entry:
        """From a file: a question or its fingerprint, and epsilon or rho.

        Raises:
            ValueError, KeyError, TypeError: it is none.
        """
        if stored.keys() - {"question", "fingerprint", "epsilon", "rho"}:
            raise KeyError
        (name,) = stored.keys() & {"question", "fingerprint"}
        (kind,) = stored.keys() & {"epsilon", "rho"}
        most = (PrivacyLoss.pure if kind == "epsilon" else PrivacyLoss.zcdp)(str(stored[kind]))
        if name == "question":
            return cls(fingerprint_of(question_from_json(stored[name])), most)
        if len(bytes.fromhex(stored[name])) != WHOLE // 2:
            raise ValueError
        return cls(stored[name].lower(), most)

    def allows(self, asked: Approved) -> bool:
        """Tell whether this is the question, at a loss that is approved: a pure one has a rho, too, and not back."""
        if self.most.epsilon is None:
            within = asked.loss.rho <= self.most.rho
        else:
            within = asked.loss.epsilon is not None and asked.loss.epsilon <= self.most.epsilon
        return asked.fingerprint == self.fingerprint and within


class ApprovedList:
    """A file of approved questions. It is read again at each question, so that it can be changed meanwhile.

    The file is a JSON list. Each entry has ``question``, as in ``{"ask": "cdf", "column": "age", ...}``, or its
    ``fingerprint``, as plans and sites print it; and the most that it may lose each time: ``epsilon`` or ``rho``.

    Args:
        file: Its path.

    Raises:
        ValueError: it can not be read, or is no such list.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read()

    def __call__(self, asked: Approved) -> bool:
        """Tell whether a question is approved. Refused as above."""
        return any(entry.allows(asked) for entry in self._read())

    def _read(self) -> Sequence[Entry]:
        try:
            stored = json.loads(self._file.read_text(encoding="utf-8"))
            if not isinstance(stored, list):
                raise TypeError
            return [Entry.read(each) for each in stored]
        except Refused:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            rule = "it is no list of approved questions, each with question or fingerprint, and epsilon or rho"
            raise Refused("approved", rule) from None
