"""Refused forms of accounts, projects and datasets: the same page, with the typed values and the error at its field."""

from __future__ import annotations

from dataclasses import dataclass, field

from markupsafe import Markup, escape

from dpcurves.arguments import ArgumentError

from ..forms import FieldValues

FORM = "form"
"""The hidden form field with the name of the form that was sent."""


@dataclass(frozen=True, slots=True)
class FieldName:
    """A field of a form.

    Attributes:
        name: The name of the form field.
        label: Its label on the page.
    """

    name: str
    label: str


@dataclass(frozen=True, slots=True)
class SentForm:
    """The typed values of a refused form, for the templates. Passwords are never shown again.

    Attributes:
        values: The typed values of the refused form; empty if no form was refused.
        field: The field that the error is about; empty for none.
        message: The error; empty for none.
    """

    values: FieldValues = field(default_factory=dict)
    field: str = ""
    message: str = ""

    def value(self, form: str, name: str, default: str = "") -> str:
        """Return the text of a field: the typed one in the refused form, else the default."""
        if not self.is_of(form):
            return default
        return "".join(self.values.get(name, ())[:1])

    def marks(self, form: str, name: str, described: str = "") -> Markup:
        """Return the HTML attributes of a field: ids of its description and, for the refused field, marks of its
        error.
        """
        is_wrong = self.is_of(form) and self.field == name
        ids = " ".join(filter(None, [f"{form}-{name}-wrong" if is_wrong else "", described]))
        attributes = f' aria-describedby="{escape(ids)}"' if ids else ""
        return Markup(f"{attributes} aria-invalid=true autofocus" if is_wrong else attributes)

    def error(self, form: str, name: str) -> Markup:
        """Return the error message of the refused field as HTML; empty for other fields."""
        if not self.is_of(form) or self.field != name:
            return Markup("")
        return Markup('<p class="wrong" id="{}">{}</p>').format(f"{form}-{name}-wrong", self.message)

    def is_of(self, form: str) -> bool:
        """Return True if the refused form is the form of this name; a page may have several."""
        return "".join(self.values.get(FORM, ())) == form


NOTHING_SENT = SentForm()
"""No form was refused."""


def capitalize_rule(error: ArgumentError) -> str:
    """Return the rule of an error as a sentence, without the program's name of the argument."""
    rule = error.rule
    if rule.startswith("must "):
        name = error.argument.replace("_", " ").replace("-", " ")
        rule = f"the {name} {rule}"
    return f"{rule[:1].upper()}{rule[1:]}"
