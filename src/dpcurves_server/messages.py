"""Request bodies of the API: JSON objects of bounded depth, with texts that every database can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dpcurves.one_call import loss_of
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving.errors import ProtocolAborted

DEEPEST = 32
MOST_PARTS = 200_000
EXAMPLES = [
    {"ask": "histogram", "column": "delay", "grid": "-60:600:66"},
    {"ask": "cdf", "column": "delay", "grid": "-60:600:660"},
]
Number = str | int | float | None


class Loss(BaseModel):
    """The privacy loss of a question: epsilon or rho. A text is taken exactly, as "0.1" or "1/3"."""

    model_config = ConfigDict(extra="forbid", strict=True)
    epsilon: Number = None
    rho: Number = None

    def loss(self) -> PrivacyLoss:
        """The loss.

        Raises:
            ValueError: both are given, or none, or it is no number from 1e-9 to 1e9.
        """
        return loss_of(self.epsilon, self.rho)


class QuestionMessage(Loss):
    """A question and its price."""

    question: dict[str, Any] = Field(
        description="The question, as in files of studies: `ask`, and its fields.", examples=EXAMPLES
    )

    def stored(self) -> Mapping[str, Any]:
        """The question as plain objects.

        Raises:
            ProtocolAborted: it is too deep, or holds a text that no database holds.
        """
        require_plain(self.question)
        return self.question


class ModelMessage(BaseModel):
    """A model, as `to_json` of a scorecard or of trees writes it."""

    model_config = ConfigDict(extra="forbid")
    model: dict[str, Any]


class HeadMessage(BaseModel):
    """An end of the chain that was kept."""

    model_config = ConfigDict(extra="forbid", strict=True)
    head: str | None = Field(default=None, max_length=100)


def require_plain(thing: Any) -> None:
    """Refuse objects that are deep or many, and texts with lone surrogates or null characters.

    Raises:
        ProtocolAborted: says which.
    """
    level, parts = [thing], 0
    for _ in range(DEEPEST):
        parts += len(level)
        if parts > MOST_PARTS:
            raise ProtocolAborted("message", f"at most {MOST_PARTS} numbers, texts and objects are taken")
        for each in level:
            if isinstance(each, str) and not _is_text(each):
                raise ProtocolAborted("message", "texts without null characters and lone surrogates are needed")
        level = [part for each in level for part in _parts(each)]
        if not level:
            return
    raise ProtocolAborted("message", f"objects in objects are taken up to a depth of {DEEPEST}")


def _parts(thing: Any) -> list[Any]:
    if isinstance(thing, dict):
        return [*thing.keys(), *thing.values()]
    return thing if isinstance(thing, list) else []


def _is_text(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= sign <= "\udfff" for sign in text)
