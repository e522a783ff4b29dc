"""Validation messages of HTML forms: the field at which a page shows an error, and the message in the page's words.

A form asks a question about a dataset; the library checks the typed values. Its errors name an argument of Python and a
rule (`InvalidArgument`), often with an example in Python:

    describe_form_error    form, error, typed values -> `FormError`: the form field of the argument, and
                           the rule with the labels of the page

This module touches no records, and errors state rules and typed texts only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dpcurves.arguments import ArgumentError

from .dataset_views import VIEW
from .form_inputs import EXPRESSION_SUFFIX, RANGE_METAVARS, RANGES, name_field
from .forms import FieldValues, Form

PLAN_FIELDS = {
    **dict.fromkeys(("amount", "epsilon", "rho", "loss"), "amount"), "share_of_rows": "share_of_rows", VIEW: VIEW,
}  # fmt: skip
"""Form fields that are no part of the question (price, share of rows, view), by the argument that an error names: the
error is shown beside that field."""
RANGE_PARTS = frozenset({"lower", "upper", "width", "cells"})
"""Arguments of errors about a part of a range; such an error is shown beside the form's range field."""
OPTION_PATTERN = re.compile(r"--([a-z][a-z-]*)")
"""An option in an error message, as in ``--cut-points``; pages show the label of its form field in its place."""
PYTHON_EXAMPLE = re.compile(r",? as in (?:[A-Z]\w+\([^;]*\)|\w+=[^;]*)")
"""An example in Python in an error message, which is cut out on pages."""
QUESTION_CLASS = re.compile(r"see (\w+)Question")
"""A class of questions that an error message refers to; pages show the question's title in its place."""
OTHER_FIELD_PATTERN = re.compile(r"(differ from|column than) (\w+)\b")
"""An error text that names a second field; pages show that field's label in the place of its name."""


@dataclass(frozen=True, slots=True)
class FormError:
    """An error in a form.

    Attributes:
        field: The form field, or a part of it such as ``grid.cells``; empty for an error of the whole form.
        message: The message: the label of the field, and the rule.
    """

    field: str
    message: str


def describe_form_error(form: Form, error: ArgumentError, values: FieldValues, titles: Mapping[str, str]) -> FormError:
    """Return the field at which a page shows an error, and its message in the words of the page.

    Args:
        form: The form of the question.
        error: The error.
        values: The typed values, by which the field of an error about a column is found.
        titles: The titles of all questions, by command.

    Returns:
        The field and the message; an empty field for an error of the whole form.
    """
    field = _find_field(form, error, values)
    rule = _adapt_rule(form, error.rule, titles)
    if not field:
        return FormError("", f"{rule[:1].upper()}{rule[1:]}")
    return FormError(field, f"{name_field(form, field)}: {rule}")


def _find_field(form: Form, error: ArgumentError, values: FieldValues) -> str:
    """Return the name of the form field that an error is about, so that the page shows the error there.

    A field that holds the refused column comes first, then the field named by the argument, then a part of a range.

    Args:
        form: The form of the question.
        error: The error, with the name of an argument and, if it is about a column, the column's name.
        values: The typed values of each field.

    Returns:
        Name of the field, or of a part of it such as ``grid.cells``; empty if no single field is wrong.
    """
    names = {field.name for field in form.fields}
    argument = error.argument.replace("-", "_")
    name = argument.partition(".")[0]
    if name in PLAN_FIELDS:
        return PLAN_FIELDS[name]
    typed = []
    if error.value is not None:
        names_of_inputs = [name for field in form.fields for name in (field.name, f"{field.name}{EXPRESSION_SUFFIX}")]
        typed = [name for name in names_of_inputs if _names_column(values, name, error.value)]
    expressions = [field for field in typed if field.endswith(EXPRESSION_SUFFIX)]
    if expressions:
        return expressions[0]
    if typed and (name not in names or not any(values.get(name, ()))):
        return typed[0]
    if name in names:
        return argument
    if name in RANGE_PARTS:
        ranges = [field for field in form.fields if field.name in RANGES and field.metavar in RANGE_METAVARS]
        field_name = ranges[0].name if ranges else ""
        if ranges and name in RANGE_METAVARS[ranges[0].metavar]:
            field_name = f"{field_name}.{name}"  # a part of the range, such as its lower bound
        return field_name
    alias = {"categories": "by", "level": "coefficient", "classes": "label", "causes": "event"}.get(name, "")
    return alias if alias in names else ""


def _names_column(values: FieldValues, name: str, column: str) -> bool:
    """Return True if the typed text of a field is this column or expression, alone or as ``column=categories``.

    Args:
        values: Typed texts by field.
        name: Name of the field; an unknown name gives False.
        column: Column or expression.
    """
    return any(column in (text.strip(), text.partition("=")[0].strip()) for text in values.get(name, ()))


def _adapt_rule(form: Form, rule: str, titles: Mapping[str, str]) -> str:
    """Rewrite the rule of an error in the words of a page.

    Args:
        form: The form, whose labels replace options and names of fields.
        rule: The rule, in words of Python and the command line.
        titles: Titles of all questions by command; they replace names of classes.

    Returns:
        The rule without examples in Python.
    """
    names = {field.name for field in form.fields}

    def label_field(match: re.Match[str]) -> str:
        """Return the label of the field that an option names.

        Args:
            match: Match of an option, whose first group is the name without dashes.

        Returns:
            Label in quotation marks.
        """
        return f"“{name_field(form, match[1].replace('-', '_'))}”"

    def label_other(match: re.Match[str]) -> str:
        """Return a rule that names two form fields, with the second field's name replaced by its label on the page.

        Args:
            match: Match of a rule: its first group is the text before the name, its second the name of the field.

        Returns:
            The matched text itself if the form has no field of this name.
        """
        return f"{match[1]} “{name_field(form, match[2])}”" if match[2] in names else match[0]

    def title_question(match: re.Match[str]) -> str:
        """Return the page title of the question class that the match names, as a replacement for `re.sub`."""
        command = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", match[1]).lower()
        return f"ask “{titles.get(command, command)}”"

    adapted = QUESTION_CLASS.sub(title_question, PYTHON_EXAMPLE.sub("", rule))
    return OTHER_FIELD_PATTERN.sub(label_other, OPTION_PATTERN.sub(label_field, adapted))
