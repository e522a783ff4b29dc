"""HTML forms of questions: fields with their types, labels and checks, made from declarations given as arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcurves.arguments import Refused

if TYPE_CHECKING:
    from dpcurves.data.axis import Predictor

LONGEST = 2000
"""Characters that one field may have."""
MODEL = "@"
"""Stands before the name of a model of the project, where a column of scores could be named."""
NUMBERS = frozenset(
    {"column", "and_column", "time", "entry", "first", "last", "weight", "predicted", "residual", "observed", "score"}
)
"""Fields that name a column of numbers."""
Given = Mapping[str, Sequence[str]]
"""Typed values of each field; some fields are there several times."""


@dataclass(frozen=True, slots=True)
class Field:
    """An input field of a question form.

    Attributes:
        name: How it is called where it is declared.
        told: What it means.
        takes: The form of what is typed, as ``L:U:N``.
        usual: What stands if nothing is typed; None: nothing does.
        needed: Whether there is no question without it.
        several: Whether it may be given several times, one a line.
        choices: The words of which one is chosen; none: text is typed.
        of_columns: Whether it begins with the name of a column.
        of_models: Whether a model may stand in place of the column.
    """

    name: str
    told: str
    takes: str
    usual: str | None = None
    needed: bool = False
    several: bool = False
    choices: tuple[str, ...] = ()
    of_columns: bool = False
    of_models: bool = False

    @property
    def of_numbers(self) -> bool:
        """Tell whether the column has to hold numbers."""
        return self.name in NUMBERS

    @property
    def label(self) -> str:
        """The label of the field."""
        return self.name.replace("_", " ").capitalize()


@dataclass(frozen=True, slots=True)
class Form:
    """A question as a form.

    Attributes:
        word: What asks it, as on the command line.
        title: What is asked, in one line.
        told: What has to be known of it besides.
        fields: What it needs to know.
        read: The question, from the text of each field, or a model where one stands for a column.
    """

    word: str
    title: str
    told: str
    fields: tuple[Field, ...]
    read: Callable[[Mapping[str, Any]], Any]

    def question(self, given: Given, models: Mapping[str, Predictor]) -> Any:
        """The question that was typed; empty fields are as if they were not there.

        Arguments:
            given: The text of each field. Nothing of it is taken as the name of a file.
            models: The models that may be named.

        Raises:
            ValueError: something is missing, unknown, too long or of the wrong form; one line names it.
        """
        return self.read({field.name: _found(field, given.get(field.name, ()), models) for field in self.fields})


def _found(field: Field, given: Sequence[str], models: Mapping[str, Predictor]) -> Any:
    typed = [line.strip() for text in given for line in (text.splitlines() if field.several else [text])]
    texts = [_bounded(field, text) for text in typed if text]
    if not texts:
        if field.needed:
            raise Refused(field.name, "it is needed, and is not there")
        return None if field.several else field.usual
    if len(texts) > 1 and not field.several:
        raise Refused(field.name, "it is given once")
    found = [_model(field, text[len(MODEL) :], models) if text.startswith(MODEL) else text for text in texts]
    return found if field.several else found[0]


def _bounded(field: Field, text: str) -> str:
    if len(text) > LONGEST or not text.isprintable():
        raise Refused(field.name, f"at most {LONGEST} characters that can be printed are taken")
    return text


def _model(field: Field, name: str, models: Mapping[str, Predictor]) -> Predictor:
    found = models.get(name) if field.of_models else None
    if found is None:
        raise Refused(field.name, "there is no model of this name in the project")
    return found
