"""HTML form inputs generated from a dataset's public schema: which input each field of a question gets.

A question, such as a distribution function or a mean, has fields like column, range and filter. The public schema
declares the columns of the dataset with their ranges or categories. `build_inputs` chooses a list, a text or a range as
the input of each field, and offers columns, default ranges and categories from the schema. `complete_fields` fills in
empty fields from the schema, before the values are parsed as a question. This module touches no records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import isfinite

from dpcurves.arguments import InvalidArgument
from dpcurves.cli.options import DECLARED_NUMBER, format_label
from dpcurves.data import LOOKS_LIKE_AN_EXPRESSION, Categories, Category
from dpcurves.models import NumericColumn

from .declared_columns import (
    NAME_UNIVERSE,
    Declared,
    has_csv_dates,
    has_dates,
    has_unknown_categories,
    has_unknown_range,
)
from .forms import MODEL_PREFIX, Field, FieldValues, Form, strip_text
from .planner import has_numbers
from .schema_alignment import LABEL_COLUMNS, SECOND_CLASS_FIELDS, USUAL_LABELS, find_declared, find_other_class
from .typed_numbers import read_number, read_number_list


class InputKind(Enum):
    """Kind of input of a form."""

    COLUMN = "column"
    COLUMNS = "columns"
    RANGE = "range"
    LABEL = "label"
    CHOICE = "choice"
    NUMBER = "number"
    TEXT = "text"


RANGES: Mapping[str, tuple[str, ...]] = {
    "grid": ("column", "time", "score", "predicted", "first", "scores", "errors"), "bounds": ("column",),
    "x_grid": ("x",), "y_grid": ("y",), "second_grid": ("second",), "observed_grid": ("observed",),
    "groups": ("confidence",), "times": ("time",), "scores": ("score",),
}  # fmt: skip
"""Names of range fields, each with the fields of which one may name the column of the range: the declared range of that
column is filled in."""
RANGE_METAVARS = {"L:U:N": ("lower", "upper", "cells"), "L:U": ("lower", "upper")}
"""Inputs that a range field consists of, by its metavar (the form of its value on the command line)."""
NUMBER_METAVARS = frozenset({"N", "X", "W", "T", "P", "U", "S"})
"""Metavars (forms of values on the command line) of options that take a single number: pages show a number input."""
NUMBER_LISTS = frozenset({"X,X,X", "P,P,P", "P,P"})
"""Metavars of options that take numbers with commas between them; decimal commas are converted in each."""
NAME_LISTS = frozenset({"S,S,S", "E,E,E"})
"""Metavars of options that take names of columns with commas between them: pages offer several columns."""
OTHER_COLUMN_FIELDS = frozenset(
    {"weight", "entry", "first", "last", "second", "treatment", "observed", "confidence", "split_by"}
)
"""Further fields that name a column, though the command line does not declare them so: pages offer the columns."""
LABEL_FIELDS = frozenset(LABEL_COLUMNS) - {"causes"} | {"positive", "negative"}
"""Fields that take one value of a column, such as the positive class: pages offer its declared values."""
TWO_CLASS_FIELDS = frozenset({"event", "label", "treatment", "outcome"})
"""Fields that name a column of two classes, unless the form lists the classes: such columns are offered first."""
SIGNED_QUESTIONS = frozenset({"quantile-forecasts"})
"""Questions about errors, of either sign, whose cells must have an edge at 0."""
FEWEST_CLASSES: Mapping[str, int] = {"multiclass": 3, "ordinal-classes": 3, "incidence": 2}
"""Smallest number of declared classes of the label column, by question (others: 2); columns with fewer are not
offered."""
FIELD_LABELS: Mapping[str, str] = {
    "event_value": "Value of an event", "censored_value": "Value of a censored record", "pos_label": "Positive value",
    "neg_label": "Negative value", "treated_value": "Value of the treated", "control_value": "Value of the others",
    "grid": "Range and cells", "bounds": "Range", "times": "Times and cells", "by": "Split by", "where": "Which rows?",
    "share_of_rows": "Share of rows that pass",
    "x": "Horizontal column", "y": "Vertical column", "x_grid": "Horizontal range and cells",
    "y_grid": "Vertical range and cells", "second_grid": "Range and cells of the second score",
    "observed_grid": "Range and cells of outcomes", "entry": "Start of observation", "last": "Last time without event",
    "first": "First time with event", "amount": "Price", "values": "Declared values", "outside": "Values outside",
    "explained_by": "Explanatory columns", "and_column": "Second column", "smallest": "Smallest bound",
    "and_smallest": "Smallest bound of the second column", "weight_cap": "Largest weight",
}  # fmt: skip
"""Labels of fields on pages, by the name of the option; without an entry, the option's own words are the label."""
LABELS_BY_QUESTION: Mapping[tuple[str, str], str] = {
    ("model-pair", "first"): "Score of the first model", ("model-pair", "second"): "Score of the second model",
    ("survival-model", "scores"): "Range and cells of the score",
}  # fmt: skip
"""Labels of fields that mean something else in one question, by question and field; they replace the usual label."""
RANGE_PART_LABELS = {"lower": "From", "upper": "To", "cells": "Cells"}
"""Labels of the three inputs of a range on pages, by the part of the range."""
DECLARED_VALUE_FIELDS: Mapping[str, tuple[str, str]] = {
    "row_categories": ("rows", ""), "column_categories": ("columns", ""), "classes": ("label", ""),
    "causes": ("event", "censored_value"),
}  # fmt: skip
"""Fields filled with the declared values of a column: the field that names this column, and a field whose value is left
out of them ("": none)."""
CHOICES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "other": (("counted", "counted together"), ("missing", "counted as missing")),
    "outside": (("clipped", "counted in the end cells"), ("apart", "counted in separate cells")),
    "hint": (("peaked", "in a small part of the range"), ("atoms", "in single cells")),
    "smooth": (("1", "least absolute change"), ("2", "least squares")),
    "moments": (("2", "count, sum, mean and variance"), ("1", "no variance, less noise")),
    "estimator": tuple(
        (name, name)
        for name in (
            "refined-grid", "privtree", "dawa", "ahp", "mwem", "hierarchy", "privelet", "uniform-grid",
            "adaptive-grid", "cells",
        )
    ),
}  # fmt: skip
"""Values of selection fields and the words that pages show for them, by field; without an entry, the value is shown."""
HELP_ON_PAGES: Mapping[str, str] = {
    "by": "One curve for each declared value; of several columns, for each combination.",
    "where": "Only records that meet this condition, as in age >= 65 AND sex = 'F'; empty: all. It is published.",
    "grid": "Default: the declared range, if the column has one. More cells show more detail.",
    "x_grid": "Range and cells of the first column.",
    "y_grid": "Range and cells of the second column.",
    "second_grid": "Range and cells of the second model's scores.",
    "observed_grid": "Range and cells of outcomes.",
    "groups": "Range and cells.",
    "times": "Default: the declared range of the times, if they have one.",
    "scores": "Range and cells of the score.",
    "bounds": "Values outside are clipped to the bounds.",
    "values": "One cell per value: 0:120 for integers, or A,B,C; replaces the range.",
    "edges": "Increasing cell edges, separated by commas; replaces the range.",
    "outcome": "The response column.",
    "explained_by": "The explanatory columns.",
    "above": "The claim: the coefficient lies above this number. Default: above 0, if the next field is empty, too.",
    "below": "The claim: the coefficient lies below this number.",
    "coefficient": "The tested coefficient: a column, or a value of a categorical column.",
    "features": "Columns of numbers.",
    "score": "The score column, with high scores positive; or a model of the project.",
}
"""Help texts of fields on pages, by field; they replace the command line's help, which does not apply there."""
AUTOMATIC_RANGE_QUESTIONS = frozenset({
    "cdf", "quantiles", "histogram", "summary", "sum", "mean", "variance", "survival", "scores",
})  # fmt: skip
"""Questions that find the range of a column privately, for a part of their price; others need a range."""
DATE_QUESTIONS = frozenset({"cdf", "quantiles", "histogram"})
"""Questions that can be asked about dates and times; in the forms of others such columns are not offered."""
DEFAULT_CELLS = {
    "cdf": "512", "quantiles": "512", "roc": "16384", "scores": "100", "calibration": "4096",
    "hosmer-lemeshow": "4096", "binned-residuals": "4096", "interval-censored": "20",
}  # fmt: skip
"""Default numbers of cells in forms, by question (others: `OTHER_DEFAULT_CELLS`); for scores, that of the question
without a grid."""
POSITIVE_CATEGORIES = frozenset(
    {"1", "yes", "y", "true", "t", "ja", "j", "oui", "sí", "si", "dead", "died", "positive"}
)
"""Category names, in lower case, that a form proposes as the event or the positive class; the user can choose
another."""
OTHER_DEFAULT_CELLS = "60"
"""Default number of cells in forms of questions that have no default of their own in `DEFAULT_CELLS`."""
EXPRESSION_SUFFIX = ".expression"
"""Suffix of the name of the form field in which an expression is typed in the place of a column."""
MOST_FORM_CELLS = 1024
"""Cells: upper end of the form's slider; a larger number can be typed."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a list.

    Attributes:
        value: The submitted value.
        label: The displayed text.
        group: The column of a value; empty for none.
        lower: The declared lower bound of a numeric column; empty for none.
        upper: The declared upper bound of a numeric column; empty for none.
    """

    value: str
    label: str
    group: str = ""
    lower: str = ""
    upper: str = ""


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a form.

    Attributes:
        field: The question field.
        kind: The kind of input.
        label: The label on the page.
        is_required: Whether it must be filled in, for some columns of the dataset at least.
        options: The options of a list.
        column_field: The field that names the column of a range or of a label; empty for none.
        cells: The default number of cells; empty for none.
        has_cells: Whether a range has cells.
        is_filled: Whether a script fills in the declared range of the chosen column.
        takes_expression: Whether an expression can be typed instead of a column.
        unlisted: Columns that would be options if their categories were declared.
        finds_range: Whether the question finds a range that is not declared.
    """

    field: Field
    kind: InputKind
    label: str
    is_required: bool
    options: tuple[Option, ...] = ()
    column_field: str = ""
    cells: str = ""
    has_cells: bool = False
    is_filled: bool = False
    takes_expression: bool = False
    unlisted: tuple[str, ...] = ()
    finds_range: bool = False

    @property
    def help(self) -> str:
        """Help text that the page shows beside the input."""
        return self.field.help if self._uses_field_help else HELP_ON_PAGES[self.field.name]

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups of the input's options, in order."""
        return tuple(dict.fromkeys(option.group for option in self.options))

    @property
    def _uses_field_help(self) -> bool:
        """True if the command line's help text applies on pages, too."""
        if self.field.name in ("groups", "scores"):
            return self.kind is not InputKind.RANGE
        return self.field.name not in HELP_ON_PAGES or (self.field.name == "score" and not self.field.allows_model)


def name_field(form: Form, name: str) -> str:
    """Return the label of a field, or of a part of a range such as ``grid.cells``, on pages.

    >>> from dpcurves.cli.one_table import QUESTIONS
    >>> from dpcurves_server.cli.commands import build_forms
    >>> form = build_forms(QUESTIONS)["roc"]
    >>> [name_field(form, name) for name in ("pos_label", "grid", "grid.cells", "thresholds")]
    ['Positive value', 'Range and cells', 'Cells', 'Thresholds']
    """
    name, _, part = name.partition(".")
    usual = FIELD_LABELS.get(name) or name.replace("_", " ").capitalize()
    return RANGE_PART_LABELS.get(part) or LABELS_BY_QUESTION.get((form.command, name)) or usual


def build_inputs(form: Form, columns: Sequence[Declared], models: Collection[str]) -> tuple[list[Input], list[Input]]:
    """Return the main inputs of a form, and the others.

    Args:
        form: The form.
        columns: The public schema.
        models: Names of models of the project.
    """
    first: list[Input] = []
    others: list[Input] = []
    for field in form.fields:
        if field.name == "categories" or field.name in DECLARED_VALUE_FIELDS:
            continue  # declared in the schema
        form_input = _build_input(form, field, columns, models)
        (first if _is_main(form, form_input, columns) else others).append(form_input)
    return first, others


def _is_main(form: Form, form_input: Input, columns: Sequence[Declared]) -> bool:
    """Return True if the input is shown at once, not among the further options.

    Args:
        form: Form of the question.
        form_input: The input.
        columns: Declared columns of the data set.
    """
    name = form_input.field.name
    if form_input.is_required or name in ("above", "below", "where") or form_input.is_filled:
        return True
    if name == "by" and form_input.options:
        return True
    classes = [column for column in _label_columns(form, form_input.field, columns) if isinstance(column, Categories)]
    if name in SECOND_CLASS_FIELDS:
        return any(len(column.values) > 2 for column in classes)
    # a class that was guessed from its spelling is shown
    return any(find_declared(column, form_input.field.default or "") not in column.values for column in classes)


def _has_main_range(form: Form, field: Field) -> bool:
    """Return True if a form's field is the range of the question's main column of numbers or times, not of a score in
    [0, 1].

    Args:
        form: Form of the question.
        field: Field of the range.
    """
    if field.is_required:
        return True
    if field.name != "grid":
        return False
    return form.command == "interval-censored" or _find_column_field(form, field) in ("column", "time")


_ANY_CLASSES = Categories("", ("a", "b"))
"""Stand-in for a column whose categories are unknown: fields that allow it offer such columns too."""


def _build_input(form: Form, field: Field, columns: Sequence[Declared], models: Collection[str]) -> Input:
    """Return the input of a field: the columns, values or choices that fit it.

    Args:
        form: Form of the question.
        field: The field.
        columns: Declared columns of the data set.
        models: Names of the models of the project.
    """
    name = field.name
    named = (name_field(form, field.name), field.is_required)
    if _is_range(field):
        is_main = _has_main_range(form, field)
        has_cells = "cells" in RANGE_METAVARS[field.metavar]
        cells = _default_cells(form, field) if has_cells else ""
        column_field = _find_column_field(form, field)
        finds_range = form.command in AUTOMATIC_RANGE_QUESTIONS and name in ("grid", "bounds")
        return Input(
            field, InputKind.RANGE, *named, (), column_field, cells, has_cells, is_main, finds_range=finds_range
        )
    if field.choices or name in CHOICES:
        choices = CHOICES.get(name, ()) if field.metavar != "apart" else CHOICES["outside"][1:]
        plain = tuple(Option(item, item) for item in field.choices)
        return Input(field, InputKind.CHOICE, *named, tuple(Option(*item) for item in choices) or plain)
    if name in LABEL_FIELDS:
        label_columns = _label_columns(form, field, columns)
        is_required = any(_find_usual_label(column, field.default) is None for column in label_columns)
        options = _value_options(label_columns)
        return Input(field, InputKind.LABEL, named[0], is_required, options, _find_label_column(form, field))
    if name == "coefficient" or field.metavar in NAME_LISTS:
        coefficients = _coefficient_options(columns)
        numbers = map(_column_option, filter(has_numbers, columns))
        kind = InputKind.COLUMN if name == "coefficient" else InputKind.COLUMNS
        return Input(field, kind, *named, tuple(coefficients if name == "coefficient" else numbers))
    if (field.is_column or name in OTHER_COLUMN_FIELDS or field.metavar == "NAME=L:U") and field.metavar.startswith(
        "NAME"
    ):
        fitting = [item for item in columns if _is_allowed(form, field, item)]
        if field.name in TWO_CLASS_FIELDS:  # columns of two classes first
            fitting.sort(key=_count_classes)
        options = tuple(map(_column_option, fitting))
        if field.allows_model:
            options = (*(Option(f"{MODEL_PREFIX}{item}", f"model {item}") for item in models), *options)
        kind = InputKind.COLUMNS if field.is_repeatable else InputKind.COLUMN
        needs_list = [
            str(item.column)
            for item in columns
            if has_unknown_categories(item) and item not in fitting and _is_allowed(form, field, _ANY_CLASSES)
        ]
        takes_expression = _takes_expression(form, field)
        return Input(field, kind, *named, options, takes_expression=takes_expression, unlisted=tuple(needs_list))
    return Input(field, InputKind.NUMBER if field.metavar in NUMBER_METAVARS else InputKind.TEXT, *named)


def _takes_expression(form: Form, field: Field) -> bool:
    """Return True if an expression can replace the column of a field: numbers, or categories that it lists itself.

    Args:
        form: Form of a type of question.
        field: Field of the form.
    """
    if field.name == "by":
        return True
    is_number = field.is_numeric_column or field.name in ("x", "y", "second", "observed")
    return is_number and "=" not in field.metavar and field.name != "weight" and not _counts_categories(form)


def _replace_columns(form: Form, values: FieldValues) -> FieldValues:
    """Return the form's texts, with typed expressions (derived columns) moved into the fields of the columns they
    replace.

    Args:
        form: Form of the question.
        values: Typed texts by field.

    Returns:
        Texts by field, without the fields for expressions.
    """
    replaced = {name: texts for name, texts in values.items() if not name.endswith(EXPRESSION_SUFFIX)}
    for field in form.fields:
        text = _field_text(values, f"{field.name}{EXPRESSION_SUFFIX}")
        if text and _takes_expression(form, field):
            replaced[field.name] = [*(values.get(field.name, ()) if field.is_repeatable else ()), text]
    return replaced


def _read_numbers(form: Form, values: FieldValues) -> FieldValues:
    """Return the typed fields, in which numbers have a point before their decimals, not a comma.

    Args:
        form: Form of the question, which knows which fields hold numbers.
        values: Typed texts by name of the field.

    Raises:
        ValueError: A number has separators between thousands, or its comma may be one.
    """
    fields: dict[str, Callable[[str, str], str]] = {}
    for field in form.fields:
        if _is_range(field):
            fields |= {f"{field.name}.{part}": read_number for part in RANGE_METAVARS[field.metavar]}
        elif field.metavar in NUMBER_METAVARS:
            fields[field.name] = read_number
        elif field.metavar in NUMBER_LISTS or field.name == "edges":
            fields[field.name] = read_number_list
    return {
        name: [fields[name](name, text) for text in texts] if name in fields else texts
        for name, texts in values.items()
    }


def _is_range(field: Field) -> bool:
    """Return True if a field takes a range, with or without cells."""
    return field.name in RANGES and field.metavar in RANGE_METAVARS


def _default_cells(form: Form, field: Field) -> str:
    """Return the number of cells of a range that has none.

    Args:
        form: Form of a type of question.
        field: Field of a range; its default may end with a number of cells.

    Returns:
        Digits as text: of the field's default, else usual for the type of question.
    """
    return (field.default or "").rpartition(":")[2] or DEFAULT_CELLS.get(form.command, OTHER_DEFAULT_CELLS)


def _find_column_field(form: Form, field: Field) -> str:
    """Return the field that names the column of a range; an empty text if the form has none.

    Args:
        form: Form of a type of question.
        field: Field of a range.

    Returns:
        Name of the field.
    """
    names = {member.name for member in form.fields if not _is_range(member)}
    return next((name for name in RANGES[field.name] if name in names), "")


def _is_declared(form: Form, field: Field) -> bool:
    """Return True if a field is filled with the declared values of another field's column.

    Args:
        form: Form of a type of question.
        field: Field of the form.
    """
    return field.name in DECLARED_VALUE_FIELDS or (field.name == "categories" and _counts_categories(form))


def _counts_categories(form: Form) -> bool:
    """Return True if the question counts the categories of its column, and does not split by them.

    Args:
        form: Form of a type of question.
    """
    return {field.name for field in form.fields} & {"column", "categories", "by"} == {"column", "categories"}


def _find_label_column(form: Form, field: Field) -> str:
    """Return the field that names the column of a label; an empty text if the form has none.

    Args:
        form: Form of a type of question.
        field: Field of a label.

    Returns:
        Name of the field.
    """
    names = {member.name for member in form.fields}
    return next((name for name in LABEL_COLUMNS.get(field.name, ()) if name in names), "")


def _label_columns(form: Form, field: Field, columns: Sequence[Declared]) -> list[Declared]:
    """Return the declared columns that the form offers for the column of the label.

    Args:
        form: Form of the question.
        field: Field of the label's value.
        columns: Declared columns of the data set.
    """
    name = _find_label_column(form, field)
    column_field = next((member for member in form.fields if member.name == name), None)
    return [column for column in columns if column_field is not None and _is_allowed(form, column_field, column)]


def _find_usual_label(column: Declared | None, default: str | None) -> Category | None:
    """Return the label that a question takes if none is chosen.

    It is the default, if the schema declares it; or of two declared categories the affirmative one. None if the schema
    does not decide it; empty if the label has no default.

    >>> [_find_usual_label(Categories("died", pair), "1") for pair in ((0, 1), ("No", "Yes"), ("early", "late"))]
    [1, 'Yes', None]

    Args:
        column: Declared column of the labels; None if none is chosen.
        default: Default label of the option, as text; None if the option has no default.
    """
    if default is None:
        return ""
    label = find_declared(column, default)
    if not isinstance(column, Categories) or label in column.values:
        return label
    affirming = [value for value in column.values if str(value).casefold() in POSITIVE_CATEGORIES]
    return affirming[0] if len(affirming) == 1 and len(column.values) == 2 else None


def _is_allowed(form: Form, field: Field, column: Declared) -> bool:
    """Return True if a declared column has the type that a field needs.

    Args:
        form: Form of the question.
        field: Field for the name of a column.
        column: The declared column.
    """
    if has_dates(column):
        return field.name == "column" and form.command in DATE_QUESTIONS
    if has_unknown_categories(column):
        return field.name == "by" or (field.name == "column" and _counts_categories(form))
    if field.name in ("by", "rows", "columns") or (field.name == "column" and _counts_categories(form)):
        return isinstance(column, Categories)
    if field.name == "features":
        return isinstance(column, NumericColumn)
    if field.name in TWO_CLASS_FIELDS and field.metavar == "NAME":
        return _is_label_column(form, column)
    is_number = field.is_numeric_column or field.name in ("x", "y", "second", "confidence", "split_by")
    return has_numbers(column) or not is_number


def _count_classes(column: Declared) -> int:
    """Return how many classes a column declares; 10**9 for a column of numbers, to sort it last."""
    return len(column.values) if isinstance(column, Categories) else 10**9


def _is_label_column(form: Form, column: Declared) -> bool:
    """Return True if a declared column has the classes that the question needs: two, or the listed ones.

    Args:
        form: Form of a type of question.
        column: Declared column.
    """
    if not isinstance(column, Categories):
        return form.command not in FEWEST_CLASSES and (column.lower, column.upper) == (0, 1)
    classes = len(column.values)
    return classes == 3 if form.command == "ordinal-classes" else classes >= FEWEST_CLASSES.get(form.command, 2)


def _column_option(column: Declared) -> Option:
    """Return the entry of a select list for a column, labelled with its name and its declared range."""
    if has_dates(column):
        return Option(str(column.column), f"{column.column} (dates or times)")
    if has_unknown_range(column):
        return Option(str(column.column), f"{column.column} (range not known)")
    if has_unknown_categories(column):
        return Option(str(column.column), f"{column.column} (categories not known)")
    if isinstance(column, NumericColumn):
        lower = f"{column.lower:.12g}"
        upper = f"{column.upper:.12g}"
        return Option(str(column.column), f"{column.column} ({lower} to {upper})", "", lower, upper)
    lower, upper = _declared_range(column)
    return Option(str(column.column), str(column.column), "", lower, upper)


def _declared_range(column: Declared) -> tuple[str, str]:
    """Return the declared range of a numeric column as texts; empty for none.

    Returns:
        Lower and upper bound as texts; two empty texts if the column has no numbers or no known range.
    """
    if has_unknown_range(column) or not has_numbers(column):
        return "", ""
    if isinstance(column, NumericColumn):
        return f"{column.lower!r}", f"{column.upper!r}"
    numbers = sorted(float(value) for value in column.values)
    return f"{numbers[0]:.12g}", f"{numbers[-1]:.12g}"


def _value_options(columns: Sequence[Declared]) -> tuple[Option, ...]:
    """Return the declared values of label columns as options, grouped by column. A column of numbers has the options 0
    and 1.
    """
    options = []
    for column in columns:
        values = column.values if isinstance(column, Categories) else USUAL_LABELS
        options += [Option(str(value), str(value), str(column.column)) for value in values]
    return tuple(options)


def _coefficient_options(columns: Sequence[Declared]) -> list[Option]:
    """Return the coefficients of a regression as options: numeric columns, and values of categorical ones."""
    options = []
    for column in columns:
        if has_dates(column) or has_unknown_categories(column):
            continue
        if isinstance(column, NumericColumn):
            options.append(Option(str(column.column), str(column.column)))
        else:
            options += [Option(f"{column.column}={value}", f"{column.column} is {value}") for value in column.values]
    return options


def complete_fields(form: Form, values: FieldValues, columns: Sequence[Declared]) -> FieldValues:
    """Return the typed fields of a form, completed with declared ranges, categories and bounds, as the command line
    would have them.

    Args:
        form: Form of the question.
        values: Typed texts by field.
        columns: Declared columns of the data set.

    Raises:
        ValueError: A part of a range is missing or wrong, or a label is not declared. The argument is the field, or a
            part such as ``grid.cells``.
    """
    declared = {str(item.column): item for item in columns}
    values = _replace_columns(form, _read_numbers(form, values))
    values = _fill_universe(form, _fill_automatic_ranges(form, values, declared), declared)
    completed = dict(values)
    if form.command == "verify" and not (_field_text(values, "above") or _field_text(values, "below")):
        completed["above"] = ["0"]
    for field in form.fields:
        if field.metavar in NAME_LISTS:
            completed[field.name] = [",".join(name for name in values.get(field.name, ()) if name.strip())]
        elif _is_range(field):
            completed.update(_complete_range(form, field, values, declared))
        elif _is_declared(form, field) and not _field_text(completed, field.name):
            completed[field.name] = _list_declared(form, field, values, declared)
        elif field.name in LABEL_FIELDS and _find_label_column(form, field):
            completed[field.name] = _complete_label(form, field, values, declared)
        elif "=" in field.metavar or field.name == "by":
            completed[field.name] = [
                _add_values(field, item, declared, completed) for item in completed.get(field.name, ())
            ]
    return completed


def _fill_automatic_ranges(form: Form, values: FieldValues, declared: Mapping[str, Declared]) -> FieldValues:
    """Return the typed fields, with ``auto`` for a range that was left empty, if the question can find one privately.

    This is done for expressions, and for columns with an unknown range.

    Args:
        form: Form of the question.
        values: Typed texts by field.
        declared: Declared columns by name.

    Raises:
        InvalidArgument: a range was typed for dates or times, whose range is found privately.
    """
    if form.command not in AUTOMATIC_RANGE_QUESTIONS:
        return values
    filled = dict(values)
    for name in {"grid", "bounds"} & {field.name for field in form.fields}:
        sources = [source for source in RANGES[name] if source in values]
        source = _field_text(values, sources[0], declared) if sources else ""
        column = declared.get(source)
        is_unknown = has_unknown_range(column) if column is not None else LOOKS_LIKE_AN_EXPRESSION.search(source)
        typed = [text for text in (f"{name}.lower", f"{name}.upper", name, "values", "edges")
                 if _field_text(values, text)]  # fmt: skip
        if column is not None and has_dates(column) and typed:
            raise InvalidArgument(typed[0], "the range of dates and times is found privately; leave the field empty")
        if is_unknown and not typed:
            filled = {field: texts for field, texts in filled.items() if not field.startswith(f"{name}.")}
            filled[name] = ["auto"]
            if column is not None and has_csv_dates(column) and not _field_text(values, "measured_in"):
                filled["measured_in"] = ["date"]  # schemas with types say so themselves
    return filled


def _fill_universe(form: Form, values: FieldValues, declared: Mapping[str, Declared]) -> FieldValues:
    """Return the typed fields, with the universe of a column whose categories the question finds privately.

    Args:
        form: Form of the question.
        values: Typed texts by name of the field.
        declared: Declared columns of the data set by name.
    """
    sources = ("by", "column") if _counts_categories(form) else ("by",)
    columns = [declared.get(strip_text(name, declared)) for source in sources for name in values.get(source, ())]
    is_unknown = any(column is not None and has_unknown_categories(column) for column in columns)
    has_field = any(field.name == "universe" for field in form.fields)
    is_typed = any(_field_text(values, name) for name in ("universe", "categories"))
    return {**values, "universe": [NAME_UNIVERSE]} if is_unknown and has_field and not is_typed else values


def _list_declared(form: Form, field: Field, values: FieldValues, declared: Mapping[str, Declared]) -> list[str]:
    """Return the declared values of another field's column, as one text, except the value of a third field.

    Args:
        form: Form of the question.
        field: Field of a list of values.
        values: Typed texts by name of the field.
        declared: Declared columns by name.

    Returns:
        A list of one text; empty if the column declares no categories.
    """
    source, without = DECLARED_VALUE_FIELDS.get(field.name, ("column", ""))
    column = declared.get(_field_text(values, source, declared))
    if not isinstance(column, Categories) or has_unknown_categories(column):
        return []
    default = next((member.default for member in form.fields if member.name == without), None)
    excluded = find_declared(column, _field_text(values, without) or default or "") if without else None
    return [",".join(_format_label(value) for value in column.values if not without or value != excluded)]


def _complete_label(form: Form, field: Field, values: FieldValues, declared: Mapping[str, Declared]) -> list[str]:
    """Return the class label of a field as the schema declares it: the typed one, or else the default.

    For the second class of a column of two classes, the default is the other label.

    Args:
        form: Form of the question.
        field: Field of the class label.
        values: Typed texts by name of the field.
        declared: Declared columns by name.

    Raises:
        ValueError: the column does not declare this label, or the second class is not clear.
    """
    column = declared.get(_field_text(values, _find_label_column(form, field), declared))
    text = _field_text(values, field.name)
    if column is None:
        return list(values.get(field.name, ()))
    choice = f"choose a value of {column.column!r}"
    if not text and field.default:
        usual = _find_usual_label(column, field.default)
        if usual is None:
            raise InvalidArgument(field.name, f"{choice}; the schema does not decide which value is meant")
        return [_format_label(usual)]
    if text:
        label = find_declared(column, text)
        if isinstance(column, Categories) and label not in column.values:
            raise InvalidArgument(field.name, f"{choice}, which has no value {text!r}")
        return [_format_label(label)]
    first = _complete_label_of(form, SECOND_CLASS_FIELDS[field.name], values, declared)
    other = find_other_class(column, first)
    if other is None:
        raise InvalidArgument(field.name, f"{choice}, because the column has more than two values")
    return [_format_label(other)]


def _complete_label_of(form: Form, name: str, values: FieldValues, declared: Mapping[str, Declared]) -> Category:
    """Return the class label that another field of the form holds, with the type that the schema declares.

    The label is the typed text; without a typed text it is the usual label of the declared column, or the field's
    default.

    Args:
        form: Form of the question.
        name: Name of the other field.
        values: Typed texts by name of the field.
        declared: Declared columns by name.
    """
    field = next(member for member in form.fields if member.name == name)
    column = declared.get(_field_text(values, _find_label_column(form, field), declared))
    typed = _field_text(values, name)
    usual = None if typed else _find_usual_label(column, field.default)
    return find_declared(column, typed or (field.default or "")) if usual is None else usual


def _format_label(value: Category) -> str:
    """Format a category as options parse it: quoted or marked as a number if the plain text is ambiguous.

    Args:
        value: Declared category: a text, a number or a truth value.
    """
    if not isinstance(value, str) or value.startswith(DECLARED_NUMBER):
        return format_label(value)
    is_plain = value == value.strip() != "" and not set(value) & set(',"')
    return value if is_plain else format_label(value)


def _field_text(values: FieldValues, name: str, columns: Container[str] = ()) -> str:
    """Return the typed text of a field, without surrounding spaces unless it is one of the columns; empty if nothing
    was typed.

    Args:
        values: Typed texts by name of the field.
        name: Name of the field.
        columns: Names of columns, which may have spaces at their ends.
    """
    return strip_text("".join(values.get(name, ())), columns)


def _complete_range(
    form: Form, field: Field, values: FieldValues, declared: Mapping[str, Declared]
) -> dict[str, list[str]]:
    """Join the parts of a range. Missing bounds are those declared for its column, missing cells the default.

    Args:
        form: Form of the question.
        field: Field of the range.
        values: Typed texts by field.
        declared: Declared columns by name.

    Returns:
        The range as one text by the field's name; empty if the question has or finds a range itself.

    Raises:
        ValueError: A part is wrong, or a bound is missing and not declared.
    """
    names = RANGE_METAVARS[field.metavar]
    parts = {name: _field_text(values, f"{field.name}.{name}") for name in names}
    has_other_cells = field.name == "grid" and (_field_text(values, "values") or _field_text(values, "edges"))
    bounds = _declared_bounds(form, field, values, declared)
    if _field_text(values, field.name) or has_other_cells or (bounds is None and not any(parts.values())):
        return {}
    if not (parts["lower"] or parts["upper"]) and _is_usual_range(form, field, bounds) and not parts.get("cells"):
        return {}  # the question has a default range
    for name, bound in zip(("lower", "upper"), bounds or ("", ""), strict=True):
        parts[name] = parts[name] or bound
    if "cells" in parts:
        parts["cells"] = parts["cells"] or _default_cells(form, field)
    for name in sorted(parts, key=lambda name: not parts[name]):  # typed parts are checked before missing ones
        _check_part(f"{field.name}.{name}", name, parts[name])
    if not float(parts["lower"]) < float(parts["upper"]):
        raise InvalidArgument(f"{field.name}.upper", f"enter a number above {parts['lower']}, where the range begins")
    return {field.name: [":".join(parts.values())]}


def _is_usual_range(form: Form, field: Field, bounds: tuple[str, str] | None) -> bool:
    """Return True if declared scores lie within the question's default range, or within [0, 1] without a default.

    Args:
        form: Form of the question.
        field: Field of the range, with its default.
        bounds: Declared lower and upper bound as texts; None: no range is declared.
    """
    if bounds is None or _has_main_range(form, field):
        return False
    lower, upper = (field.default or "0:1:1").split(":")[:2]
    return float(lower) <= float(bounds[0]) and float(bounds[1]) <= float(upper)


def _declared_bounds(
    form: Form, field: Field, values: FieldValues, declared: Mapping[str, Declared]
) -> tuple[str, str] | None:
    """Return the declared bounds of the columns of a range, as texts; None if one has no declared range.

    Args:
        form: Form of the question.
        field: Field of the range.
        values: Typed texts by field.
        declared: Declared columns by name.

    Returns:
        Lower and upper bound.
    """
    typed = values.get(_find_column_field(form, field), ())
    names = [strip_text(text, declared) for text in typed]
    ranges = [_declared_range(declared[name]) for name in names if name in declared]
    if not ranges or not all(lower for lower, _ in ranges):
        return None
    lower = min((low for low, _ in ranges), key=float)
    upper = max((high for _, high in ranges), key=float)
    if (
        form.command in SIGNED_QUESTIONS and field.name == "grid"
    ):  # an even number of cells of a symmetric range has an edge at 0
        upper = repr(max(abs(float(lower)), abs(float(upper))))
        lower = f"-{upper}"
    return (lower, upper) if float(lower) < float(upper) else None


def _check_part(argument: str, name: str, text: str) -> None:
    """Check one part of a typed range: a number, or a whole number of cells.

    Args:
        argument: Field of the part, such as ``grid.cells``.
        name: ``lower``, ``upper`` or ``cells``.
        text: The typed text; empty if nothing was typed.

    Raises:
        InvalidArgument: the part is missing or invalid; the error names the field.
    """
    if name == "cells":
        is_valid = re.fullmatch(r"[0-9]{1,18}|2\^[0-9]{1,2}", text) is not None and text.strip("0") != ""
        rule = "enter a whole number of cells, as in 100"
    else:
        is_valid = _is_finite_number(text)
        rule = f"enter a number, the {'lowest' if name == 'lower' else 'highest'} value of the range"
    if not is_valid:
        raise InvalidArgument(argument, f"{rule}, got {text!r}" if text else rule)


def _is_finite_number(text: str) -> bool:
    """Return True if a typed text is a finite number."""
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def split_ranges(form: Form, values: FieldValues) -> FieldValues:
    """Return the typed values with each range that is one text, such as ``0:120:60``, divided into its parts.

    Args:
        form: Form of the question.
        values: Typed texts by field.
    """
    divided = dict(values)
    for field in form.fields:
        parts = _field_text(values, field.name).split(":") if _is_range(field) else []
        names = RANGE_METAVARS.get(field.metavar, ())
        if parts and len(parts) == len(names) and all(map(_is_finite_number, parts)):
            divided |= {f"{field.name}.{name}": [part] for name, part in zip(names, parts, strict=True)}
            del divided[field.name]
    return divided


def _add_values(field: Field, text: str, declared: Mapping[str, Declared], values: FieldValues) -> str:
    """Return the name of a column, followed by its declared categories or range, as in ``sex=f,m``.

    Args:
        field: Field of the form.
        text: Typed name.
        declared: Declared columns by name; another name is returned unchanged.
        values: Typed texts by field.

    Raises:
        InvalidArgument: the categories or the range are needed, and unknown.
    """
    column = declared.get(strip_text(text, declared))
    if column is None or _field_text(values, "categories"):
        return text
    if field.name == "by" and not (isinstance(column, Categories) and not has_unknown_categories(column)):
        return text
    if has_unknown_categories(column):
        raise InvalidArgument(field.name, f"this question needs the categories of {text.strip()!r}; declare them first")
    if isinstance(column, Categories):
        return f"{column.column}={','.join(map(_format_label, column.values))}"
    if has_unknown_range(column):
        raise InvalidArgument(field.name, f"this question needs the range of {text.strip()!r}; declare it first")
    return f"{column.column}={column.lower!r}:{column.upper!r}"
