"""HTML forms of questions: fields with labels and help, and the parser that builds a question from typed texts.

A question defines a computation on a dataset under differential privacy, such as a distribution function of a column.
Each kind of question has a `Form` of `Field` objects. `Form.build_question` parses the texts that a browser sent into
an object of the question's class. Empty fields get their defaults; invalid values raise `ValueError`, which names the
field. Typed text is never used as a file name. This module touches no records.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcurves.arguments import InvalidArgument

if TYPE_CHECKING:
    from dpcurves.data.axis import Predictor

MODEL_PREFIX = "@"
"""Prefix of a stored model's name in a field: the model then computes the values that a column would hold."""
NUMBER_FIELDS = frozenset(
    {"column", "and_column", "time", "entry", "first", "last", "weight", "predicted", "residual", "observed", "score"}
)
"""Names of fields that take a column of numbers; columns of other types are not offered in them."""
FieldValues = Mapping[str, Sequence[str]]
"""The typed values of each field; repeatable fields have several."""


@dataclass(frozen=True, slots=True)
class Field:
    """One input of a question form.

    Attributes:
        name: Name of the argument of the question.
        help: Help text.
        metavar: Form of the value, as ``L:U:N``.
        default: Default value; None: no default.
        is_required: Whether the field must be filled in.
        is_repeatable: Whether it takes several values, one per line.
        choices: The allowed values; empty: free text.
        is_column: Whether the value begins with a column name.
        allows_model: Whether a model may be named instead of a column.
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
        """True if the form field takes the name of a column of numbers."""
        return self.name in NUMBER_FIELDS

    @property
    def label(self) -> str:
        """The label of the field on pages: its name in words."""
        return self.name.replace("_", " ").capitalize()


@dataclass(frozen=True, slots=True)
class Form:
    """The form of one question.

    Attributes:
        command: Command-line word of the question.
        title: The question in one line.
        help: Further help.
        fields: The input fields.
        parse: Function that builds the question from the values of the fields, texts or models.
    """

    command: str
    title: str
    help: str
    fields: tuple[Field, ...]
    parse: Callable[[Mapping[str, Any]], Any]

    def build_question(self, values: FieldValues, models: Mapping[str, Predictor], columns: Container[str] = ()) -> Any:
        """Build the question from the typed values; empty fields are ignored.

        Args:
            values: Texts of each field; never used as a file name.
            models: The project's models by name.
            columns: Names of the declared columns. Such a name may begin with a space, or with the prefix of models.

        Returns:
            An object of the question's class.

        Raises:
            ValueError: A required field is empty, or a value is unknown, too long or malformed; the message names it.
        """
        return self.parse(
            {field.name: _parse_field(field, values.get(field.name, ()), models, columns) for field in self.fields}
        )


def strip_text(text: str, columns: Container[str] = ()) -> str:
    """Return a typed text without surrounding spaces, unless it is the name of a column.

    Names of columns may begin with a space, as in a CSV file whose commas are followed by spaces.

    Args:
        text: The typed text.
        columns: Names of the declared columns.

    >>> strip_text(" age ", ()), strip_text(" age", {" age"})
    ('age', ' age')
    """
    is_kept = text in columns or text.partition("=")[0] in columns  # a column, or one with its categories
    return text if is_kept else text.strip()


def _parse_field(field: Field, values: Sequence[str], models: Mapping[str, Predictor], columns: Container[str]) -> Any:
    """Parse the texts typed into one form field, and check that they are allowed.

    Args:
        field: The field.
        values: The texts that were sent for it; each line of a repeatable field is a value.
        models: The project's models by name.
        columns: Names of the declared columns.

    Returns:
        A text or a model; a list of them for a repeatable field. If nothing was typed: the default, or None for a
        repeatable field.

    Raises:
        InvalidArgument: A required value is missing, several values were sent for a single one, a text is too long or
            not printable, or a model is unknown.
    """
    lines = [
        strip_text(line, columns if field.is_column else ())
        for text in values
        for line in (text.splitlines() if field.is_repeatable else [text])
    ]
    texts = [text if text in columns else _require_printable(field, text) for text in lines if text]
    if not texts:
        if field.is_required:
            raise InvalidArgument(field.name, "this field is empty; fill it in")
        return None if field.is_repeatable else field.default
    if len(texts) > 1 and not field.is_repeatable:
        raise InvalidArgument(field.name, "several values were sent; give a single value")
    parsed = [
        _find_model(field, text[len(MODEL_PREFIX) :], models)
        if text.startswith(MODEL_PREFIX) and text not in columns
        else text
        for text in texts
    ]
    return parsed if field.is_repeatable else parsed[0]


def _require_printable(field: Field, text: str) -> str:
    """Require that a typed text is printable and not too long, and return it unchanged.

    Args:
        field: The field, for the error.
        text: The text.

    Raises:
        InvalidArgument: The text has more than 2,000 characters, or one that is not printable.
    """
    longest_value = 2000  # characters of a field
    if len(text) > longest_value or not text.isprintable():
        raise InvalidArgument(
            field.name,
            f"at most {longest_value} characters, and no line breaks, tabs or control characters are allowed; shorten "
            "the text, or remove them",
        )
    return text


def _find_model(field: Field, name: str, models: Mapping[str, Predictor]) -> Predictor:
    """Return the project's model that was typed into a field.

    Args:
        field: The field.
        name: Name of the model.
        models: The project's models by name.

    Raises:
        InvalidArgument: The project has no model of this name, or the field takes no models.
    """
    model = models.get(name) if field.allows_model else None
    if model is None:
        raise InvalidArgument(field.name, "the project has no model of this name; choose one from the list")
    return model
