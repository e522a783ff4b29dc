"""Validation errors of HTML forms: a refused form is shown again, with the typed values and the error at its field.

A page's template has a `SentForm`, and calls its methods for each field:

    value    the text to show in the field
    marks    HTML attributes of the field, for screen readers
    error    the error message as an HTML paragraph; empty for other fields

They return escaped HTML, so typed text cannot become part of a page's code. Forms of accounts, projects and datasets
use this module; forms of questions use `form_errors`. No records are read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from markupsafe import Markup, escape

from dpcurves.arguments import ArgumentError

from ..forms import FieldValues

FORM_FIELD = "form"
"""Name of the hidden form field with the name of the form: after a refusal, typed texts return into that form."""


@dataclass(frozen=True, slots=True)
class FieldName:
    """A field of a form.

    Attributes:
        name: Name of the HTML input.
        label: Its label on the page.
    """

    name: str
    label: str


@dataclass(frozen=True, slots=True)
class SentForm:
    """The typed values and the error of a refused form, for templates. Templates never show passwords again.

    An empty object (`NO_SENT_FORM`) means that no form of the page was refused.

    Attributes:
        values: The typed values by field name; empty if no form was refused.
        field: Name of the field that the error is about; empty for none.
        message: The error; empty for none.
    """

    values: FieldValues = field(default_factory=dict)
    field: str = ""
    message: str = ""

    def value(self, form: str, name: str, default: str = "") -> str:
        """Return the text to show in a field: the typed one if this form was refused, else the default.

        Args:
            form: Name of the form.
            name: Name of the field.
            default: Text for a form that was not refused.
        """
        if not self.is_of(form):
            return default
        return "".join(self.values.get(name, ())[:1])

    def marks(self, form: str, name: str, described: str = "") -> Markup:
        """Return HTML attributes of a field, which lead a screen reader to its description and its error.

        Args:
            form: Name of the form.
            name: Name of the field.
            described: Id of the element that describes the field; empty for none.
        """
        is_wrong = self.is_of(form) and self.field == name
        ids = " ".join(filter(None, [f"{form}-{name}-wrong" if is_wrong else "", described]))
        attributes = f' aria-describedby="{escape(ids)}"' if ids else ""
        return Markup(f"{attributes} aria-invalid=true autofocus" if is_wrong else attributes)

    def error(self, form: str, name: str) -> Markup:
        """Return the error of a field as an HTML paragraph; empty if the error is about another field or form.

        Args:
            form: Name of the form.
            name: Name of the field.
        """
        if not self.is_of(form) or self.field != name:
            return Markup("")
        return Markup('<p class="wrong" id="{}">{}</p>').format(f"{form}-{name}-wrong", self.message)

    def is_of(self, form: str) -> bool:
        """Return True if the refused form has this name; False if none was refused. A page may have several forms."""
        return "".join(self.values.get(FORM_FIELD, ())) == form


NO_SENT_FORM = SentForm()
"""Stand-in for the refused form of a page of which no form was refused: its fields are then empty."""


def capitalize_rule(error: ArgumentError) -> str:
    """Return the rule of an error as a sentence for a page.

    Args:
        error: The error. If its rule begins with "must", the argument's name is put before it, in words.

    >>> from dpcurves.arguments import InvalidArgument
    >>> capitalize_rule(InvalidArgument("max_rows", "must be positive"))
    'The max rows must be positive'
    """
    rule = error.rule
    if rule.startswith("must "):
        name = error.argument.replace("_", " ").replace("-", " ")
        rule = f"the {name} {rule}"
    return f"{rule[:1].upper()}{rule[1:]}"
