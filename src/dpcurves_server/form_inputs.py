"""Inputs of question forms, generated from the public schema: columns, default ranges and declared values.

Typed values are completed from the schema and then parsed as question fields.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from dpcurves.arguments import InvalidArgument
from dpcurves.cli.options import DECLARED_NUMBER, format_label
from dpcurves.data import Categories, Category
from dpcurves.models import NumericColumn

from .declared_columns import Declared, has_unknown_range
from .forms import MODEL, Field, Form, Given
from .planner import has_numbers


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
    "grid": ("column", "time", "score", "predicted", "first"), "bounds": ("column",), "x_grid": ("x",),
    "y_grid": ("y",), "second_grid": ("second",), "observed_grid": ("observed",), "groups": ("confidence",),
}  # fmt: skip
"""Range fields, each with the fields that name its column."""
OF_COLUMNS = frozenset(
    {"weight", "entry", "first", "last", "second", "treatment", "observed", "confidence", "split_by"}
)
"""Further fields that name a column."""
LABELS = frozenset(
    {
        "event_value",
        "censored_value",
        "pos_label",
        "neg_label",
        "treated_value",
        "control_value",
        "positive",
        "negative",
    }
)
"""Fields that take a declared value of a column."""
COLUMNS_OF_LABEL: Mapping[str, tuple[str, ...]] = {
    "event_value": ("event",), "censored_value": ("event",), "pos_label": ("label", "outcome"),
    "neg_label": ("label", "outcome"), "treated_value": ("treatment",), "control_value": ("treatment",),
}  # fmt: skip
"""Label fields, each with the fields of which a form has the one that names its column."""
DECLARED: Mapping[str, tuple[str, str]] = {
    "row_categories": ("rows", ""), "column_categories": ("columns", ""), "classes": ("label", ""),
    "causes": ("event", "censored_value"),
}  # fmt: skip
"""Fields filled with the declared values of another field's column, except the value of a third field."""
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
TOLD: Mapping[str, str] = {
    "by": "One curve for each declared value; of several columns, for each combination.",
    "grid": "Default: the declared range of the column. More cells show more detail.",
    "x_grid": "Range and cells of the first column.",
    "y_grid": "Range and cells of the second column.",
    "second_grid": "Range and cells of the second model's scores.",
    "observed_grid": "Range and cells of outcomes.",
    "groups": "Range and cells.",
    "bounds": "Values outside are clipped to the bounds.",
    "values": "One cell per value: 0:120 for integers, or A,B,C; replaces the range.",
    "edges": "Increasing cell edges, separated by commas; replaces the range.",
    "outcome": "The response column.",
    "explained_by": "The explanatory columns.",
    "coefficient": "The tested coefficient: a column, or a value of a categorical column.",
    "features": "Columns of numbers.",
    "score": "The score column, with high scores positive; or a model of the project.",
}
"""Help texts of pages where the command line's help does not apply."""
AUTOMATIC = frozenset({
    "cdf", "quantiles", "histogram", "summary", "sum", "mean", "variance", "survival", "scores",
})  # fmt: skip
"""Questions that find the range of a column privately, for a part of their price."""
CELLS = {"cdf": "512", "quantiles": "512"}
"""Default numbers of cells by question."""
USUAL_CELLS = "60"
"""Default number of cells of other questions."""
MOST_FORM_CELLS = 1024
"""Cells at the end of the slider."""


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
        options: The options of a list.
        column_field: The field that names the column of a range.
        cells: The default number of cells; empty for none.
        has_cells: Whether a range has cells.
    """

    field: Field
    kind: InputKind
    options: tuple[Option, ...] = ()
    column_field: str = ""
    cells: str = ""
    has_cells: bool = False

    @property
    def help(self) -> str:
        """The help text of the input on pages."""
        return self.field.help if self._uses_field_help else TOLD[self.field.name]

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of the options, in order."""
        return tuple(dict.fromkeys(option.group for option in self.options))

    @property
    def _uses_field_help(self) -> bool:
        """True if the command line's help text applies on pages, too."""
        if self.field.name == "groups":
            return self.kind is not InputKind.RANGE
        return self.field.name not in TOLD or (self.field.name == "score" and not self.field.allows_model)


def build_inputs(form: Form, columns: Sequence[Declared], models: Collection[str]) -> tuple[list[Input], list[Input]]:
    """Return the main inputs of a form, and the others.

    Arguments:
        form: The form.
        columns: The public schema.
        models: Names of models of the project.
    """
    first: list[Input] = []
    others: list[Input] = []
    for field in form.fields:
        if field.name == "categories" or field.name in DECLARED:
            continue  # declared in the schema
        form_input = _build_input(form, field, columns, models)
        (first if _is_main(form, field) else others).append(form_input)
    return first, others


def _is_main(form: Form, field: Field) -> bool:
    """Return True if the field is shown at once, not among the further options."""
    if field.name == "grid":
        return field.is_required or _has_range(form)
    return field.is_required or field.name in ("above", "below")


def _has_range(form: Form) -> bool:
    """Return True if the question's range belongs to a column other than a score."""
    names = {field.name for field in form.fields}
    return bool(names & {"column", "time"}) and "score" not in names


def _build_input(form: Form, field: Field, columns: Sequence[Declared], models: Collection[str]) -> Input:
    """Return the input of a field: the columns, values or choices that fit it."""
    name = field.name
    if name in RANGES and field.metavar in ("L:U:N", "L:U"):
        has_cells = field.metavar == "L:U:N"
        cells = CELLS.get(form.command, USUAL_CELLS) if has_cells and _is_main(form, field) else ""
        return Input(field, InputKind.RANGE, column_field=_column_field(form, field), cells=cells, has_cells=has_cells)
    if field.choices or name in CHOICES:
        choices = CHOICES.get(name, ()) if field.metavar != "apart" else CHOICES["outside"][1:]
        plain = tuple(Option(item, item) for item in field.choices)
        return Input(field, InputKind.CHOICE, tuple(Option(*item) for item in choices) or plain)
    if name in LABELS:
        return Input(field, InputKind.LABEL, _value_options(columns))
    if name == "coefficient":
        return Input(field, InputKind.COLUMN, tuple(_coefficient_options(columns)))
    if (field.is_column or name in OF_COLUMNS or field.metavar == "NAME=L:U") and field.metavar.startswith("NAME"):
        fitting = [item for item in columns if _is_allowed(form, field, item)]
        options = tuple(map(_column_option, fitting))
        if field.allows_model:
            options = (*(Option(f"{MODEL}{item}", f"model {item}") for item in models), *options)
        return Input(field, InputKind.COLUMNS if field.is_repeatable else InputKind.COLUMN, options)
    return Input(field, InputKind.NUMBER if field.metavar in ("N", "X", "W", "T", "P") else InputKind.TEXT)


def _column_field(form: Form, field: Field) -> str:
    """Return the field that names the column of a range; an empty text if the form has none."""
    names = {name.name for name in form.fields}
    return next((name for name in RANGES[field.name] if name in names), "")


def _is_declared(form: Form, field: Field) -> bool:
    """Return True if a field is filled with the declared values of another field's column."""
    return field.name in DECLARED or (field.name == "categories" and _counts_categories(form))


def _counts_categories(form: Form) -> bool:
    """Return True if the question counts the categories of its column, and does not split by them."""
    return {field.name for field in form.fields} & {"column", "categories", "by"} == {"column", "categories"}


def _is_allowed(form: Form, field: Field, column: Declared) -> bool:
    """Return True if a declared column has the type that a field of this form needs."""
    if field.name in ("by", "rows", "columns") or (field.name == "column" and _counts_categories(form)):
        return isinstance(column, Categories)
    if field.name == "features":
        return isinstance(column, NumericColumn)
    is_number = field.is_numeric_column or field.name in ("x", "y", "second", "confidence", "split_by")
    return has_numbers(column) or not is_number


def _column_option(column: Declared) -> Option:
    """Return a column as an option, with its declared range."""
    if has_unknown_range(column):
        return Option(str(column.column), f"{column.column} (range not known)")
    if isinstance(column, NumericColumn):
        lower, upper = f"{column.lower:.12g}", f"{column.upper:.12g}"
        return Option(str(column.column), f"{column.column} ({lower} to {upper})", "", lower, upper)
    lower, upper = _declared_range(column)
    return Option(str(column.column), str(column.column), "", lower, upper)


def _declared_range(column: Declared) -> tuple[str, str]:
    """Return the declared range of a numeric column as texts; empty for none."""
    if has_unknown_range(column) or not has_numbers(column):
        return "", ""
    if isinstance(column, NumericColumn):
        return f"{column.lower!r}", f"{column.upper!r}"
    numbers = sorted(float(value) for value in column.values)
    return f"{numbers[0]:.12g}", f"{numbers[-1]:.12g}"


def _value_options(columns: Sequence[Declared]) -> tuple[Option, ...]:
    """Return the declared values of all categorical columns as options, grouped by column."""
    return tuple(
        Option(str(value), str(value), str(column.column))
        for column in columns
        if isinstance(column, Categories)
        for value in column.values
    )


def _coefficient_options(columns: Sequence[Declared]) -> list[Option]:
    """Return the coefficients of a regression as options: numeric columns, and values of categorical ones."""
    options = []
    for column in columns:
        if isinstance(column, NumericColumn):
            options.append(Option(str(column.column), str(column.column)))
        else:
            options += [Option(f"{column.column}={value}", f"{column.column} is {value}") for value in column.values]
    return options


def complete_fields(form: Form, values: Given, columns: Sequence[Declared]) -> Given:
    """Complete typed fields with declared ranges, categories and bounds, in the form that the question parses.

    Raises:
        ValueError: A part of a range is missing.
    """
    declared = {str(item.column): item for item in columns}
    values = _fill_automatic_ranges(form, values, declared)
    completed = dict(values)
    for field in form.fields:
        if field.name in RANGES and field.metavar in ("L:U:N", "L:U"):
            completed.update(_complete_range(form, field, completed, declared))
        elif _is_declared(form, field) and not _field_text(completed, field.name):
            source, without = DECLARED.get(field.name, ("column", ""))
            column, excluded = (
                declared.get(_field_text(completed, source)),
                _field_text(completed, without) if without else "",
            )
            if isinstance(column, Categories):
                completed[field.name] = [
                    ",".join(_format_label(item) for item in column.values if str(item) != excluded)
                ]
        elif field.name in COLUMNS_OF_LABEL:
            completed[field.name] = _declared_label(field, completed, declared)
        elif "=" in field.metavar or field.name == "by":
            completed[field.name] = [
                _add_values(field, item, declared, completed) for item in completed.get(field.name, ())
            ]
    return completed


def _fill_automatic_ranges(form: Form, values: Given, declared: Mapping[str, Declared]) -> Given:
    """Return the typed fields, with ``auto`` as the range of a column whose range nobody knows, if none is typed and
    the question can find one privately.
    """
    if form.command not in AUTOMATIC:
        return values
    filled = dict(values)
    for name in {"grid", "bounds"} & {field.name for field in form.fields}:
        sources = [source for source in RANGES[name] if source in values]
        column = declared.get(_field_text(values, sources[0])) if sources else None
        typed = [_field_text(values, text) for text in (f"{name}.lower", f"{name}.upper", name, "values", "edges")]
        if column is not None and has_unknown_range(column) and not any(typed):
            filled = {field: texts for field, texts in filled.items() if not field.startswith(f"{name}.")}
            filled[name] = ["auto"]
    return filled


def _declared_label(field: Field, values: Given, declared: Mapping[str, Declared]) -> list[str]:
    """Return the typed label or the default, formatted as the schema declares it."""
    names = [_field_text(values, column_field) for column_field in COLUMNS_OF_LABEL[field.name]]
    column = declared.get("".join(names))  # a form has one of the fields
    text = _field_text(values, field.name) or (field.default or "")
    if isinstance(column, Categories):
        return [next((_format_label(value) for value in column.values if str(value) == text), text)]
    return list(values.get(field.name, ()))


def _format_label(value: Category) -> str:
    """Format a category as options parse it: quoted or marked as a number if the plain text is ambiguous."""
    if not isinstance(value, str) or value.startswith(DECLARED_NUMBER):
        return format_label(value)
    is_plain = value == value.strip() != "" and not set(value) & set(',"')
    return value if is_plain else format_label(value)


def _field_text(values: Given, name: str) -> str:
    """Return the typed text of a field, without surrounding spaces; empty if there is none."""
    return "".join(values.get(name, ())).strip()


def _complete_range(form: Form, field: Field, values: Given, declared: Mapping[str, Declared]) -> dict[str, list[str]]:
    """Join the parts of a typed range; missing bounds are those declared for its column."""
    names = ("lower", "upper", "cells")[: 3 if field.metavar == "L:U:N" else 2]
    endpoints = [_field_text(values, f"{field.name}.{endpoint}") for endpoint in names]
    full_text = _field_text(values, field.name) or _field_text(values, "values") or _field_text(values, "edges")
    source = _column_field(form, field)
    if full_text or not (any(endpoints) or (field.is_required and len(names) == 2)):
        return {}
    if source and not _field_text(values, source):
        return {}  # report the missing column instead
    column = declared.get(_field_text(values, source))
    if column is not None:
        endpoints[:2] = (
            endpoint or default for endpoint, default in zip(endpoints, _declared_range(column), strict=False)
        )
    if not all(endpoints):
        bounds = "lower bound, upper bound and number of cells" if len(names) == 3 else "lower and upper bound"
        raise InvalidArgument(field.name, f"must be {bounds}; type such a number")
    return {field.name: [":".join(endpoints)]}


def _add_values(field: Field, text: str, declared: Mapping[str, Declared], values: Given) -> str:
    """Append the declared categories or range to a column name."""
    column = declared.get(text.strip())
    if column is None or _field_text(values, "categories"):
        return text
    if isinstance(column, Categories):
        return f"{column.column}={','.join(map(_format_label, column.values))}"
    if field.name == "by":
        return text
    if has_unknown_range(column):
        raise InvalidArgument(field.name, f"this question needs the range of {text.strip()!r}; declare it first")
    return f"{column.column}={column.lower!r}:{column.upper!r}"
