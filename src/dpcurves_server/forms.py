"""HTML forms of questions: fields with their types, labels and checks, made from declarations given as arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcurves.arguments import InvalidArgument

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
        help: What it means.
        metavar: The form of what is typed, as ``L:U:N``.
        default: What stands if nothing is typed; None: nothing does.
        is_required: Whether there is no question without it.
        is_repeatable: Whether it may be given several times, one a line.
        choices: The words of which one is chosen; none: text is typed.
        is_column: Whether it begins with the name of a column.
        allows_model: Whether a model may stand in place of the column.
    """

    name: str
    help: str
    metavar: str
    default: str | None = None
    is_required: bool = False
    is_repeatable: bool = False
    choices: tuple[str, ...] = ()
    is_column: bool = False
    allows_model: bool = False

    @property
    def is_numeric_column(self) -> bool:
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
        command: What asks it, as on the command line.
        title: What is asked, in one line.
        help: What has to be known of it besides.
        fields: What it needs to know.
        parse: The question, from the text of each field, or a model where one stands for a column.
    """

    command: str
    title: str
    help: str
    fields: tuple[Field, ...]
    parse: Callable[[Mapping[str, Any]], Any]

    def build_question(self, values: Given, models: Mapping[str, Predictor]) -> Any:
        """The question that was typed; empty fields are as if they were not there.

        Arguments:
            values: The text of each field. Nothing of it is taken as the name of a file.
            models: The models that may be named.

        Raises:
            ValueError: something is missing, unknown, too long or of the wrong form; one line names it.
        """
        return self.parse(
            {field.name: _parse_field(field, values.get(field.name, ()), models) for field in self.fields}
        )


def _parse_field(field: Field, values: Sequence[str], models: Mapping[str, Predictor]) -> Any:
    typed = [line.strip() for text in values for line in (text.splitlines() if field.is_repeatable else [text])]
    texts = [_require_printable(field, text) for text in typed if text]
    if not texts:
        if field.is_required:
            raise InvalidArgument(field.name, "it is needed, and is not there")
        return None if field.is_repeatable else field.default
    if len(texts) > 1 and not field.is_repeatable:
        raise InvalidArgument(field.name, "it is given once")
    found = [_find_model(field, text[len(MODEL) :], models) if text.startswith(MODEL) else text for text in texts]
    return found if field.is_repeatable else found[0]


def _require_printable(field: Field, text: str) -> str:
    if len(text) > LONGEST or not text.isprintable():
        raise InvalidArgument(field.name, f"at most {LONGEST} characters that can be printed are taken")
    return text


def _find_model(field: Field, name: str, models: Mapping[str, Predictor]) -> Predictor:
    found = models.get(name) if field.allows_model else None
    if found is None:
        raise InvalidArgument(field.name, "there is no model of this name in the project")
    return found
