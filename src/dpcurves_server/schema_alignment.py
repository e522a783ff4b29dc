"""Completion of questions from the public schema of a dataset: declared categories, their types, and class labels.

The schema of a dataset declares the values of categorical columns, such as the two labels of a column of whether
an event happened. A question may leave some of them out, or give a number as a text. `align_with_schema` writes the
declared values into the question, which can then be answered from any file with the declared columns, such as a CSV
file, which states no types.

Formal guarantees: only the public schema is used; no records are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import chain
from typing import Any

from dpcurves.arguments import InvalidArgument
from dpcurves.data import Categories, Category, Predictor, UnlistedCategories
from dpcurves.ledger.account import LONGEST_ACCOUNT_NAME
from dpcurves.records.value_names import parse_number
from dpcurves.strategies.choice import find_unlisted, replace_categories

from .declared_columns import Declared

LABEL_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "event_value": ("event",), "censored_value": ("event",), "causes": ("event",), "pos_label": ("label", "outcome"),
    "neg_label": ("label", "outcome"), "treated_value": ("treatment",), "control_value": ("treatment",),
}  # fmt: skip
"""Fields that hold values of a column (labels), each with the fields of which one names this column."""
SECOND_CLASS_FIELDS: Mapping[str, str] = {
    "censored_value": "event_value", "neg_label": "pos_label", "control_value": "treated_value",
}  # fmt: skip
"""Fields of the second class of a column of two classes, each with the field of the first: either follows from the
other."""
USUAL_LABELS = (0, 1)
"""Labels that a column of two classes is taken to have if its schema declares none."""


def align_with_schema(question: Any, dataset: str, columns: Sequence[Declared]) -> Any:
    """Complete a question from the public schema: unlisted categories, types of labels, and the second class of two.

    Columns without listed categories get the declared ones, labels get their declared type, and a column of two classes
    gets its second class.

    Args:
        question: The question.
        dataset: Name of the dataset, for errors.
        columns: The public schema.

    Returns:
        A question of the same class.

    Raises:
        ValueError: The schema declares no categories of a column whose categories the question does not list.
    """
    declared = {str(column.column): column for column in columns}
    listed = _align_value(_list_categories(question, dataset, declared), declared)
    names = {field.name for field in fields(listed)}
    aligned = {
        name: _align_label(getattr(listed, name), _find_column(listed, name, declared))
        for name in LABEL_COLUMNS.keys() & names
    }
    for other, first in SECOND_CLASS_FIELDS.items():
        column = _find_column(listed, other, declared) if other in names else None
        if other in names and first in names and aligned[other] is None and column is not None:
            aligned[other] = find_other_class(column, aligned[first])
    return replace(listed, **aligned)


def find_other_class(declared: Declared, label: Category) -> Category | None:
    """Return the second class of a column of two classes; None if the schema does not determine it.

    Args:
        declared: The declared column.
        label: The first class.

    >>> find_other_class(Categories("late", ("no", "yes")), "yes")
    'no'
    >>> find_other_class(Categories("grade", ("low", "mid", "high")), "high") is None
    True
    """
    usual = [value for value in USUAL_LABELS if value != label and label in USUAL_LABELS]
    candidates: list[Category] = [*usual]
    if not isinstance(declared, Categories):
        candidates = [value for value in usual if declared.lower <= value <= declared.upper]
    elif label in declared.values:
        others = [value for value in declared.values if value != label]
        candidates = others if len(others) == 1 else [value for value in others if value in usual]
    return candidates[0] if len(candidates) == 1 else None


def find_declared(declared: Declared | None, label: Category) -> Category:
    """Return a label with the type that the schema declares, as 2 for the text "2"; an undeclared label is unchanged.

    Args:
        declared: The declared column; None: undeclared.
        label: The label.

    >>> find_declared(Categories("code", (1, 2)), "2")
    2
    """
    if declared is None:
        return label
    if not isinstance(declared, Categories):
        number = parse_number(label) if isinstance(label, str) else None
        return label if number is None else number
    equal = (value for value in declared.values if value == label and isinstance(value, str) is isinstance(label, str))
    alike = (value for value in declared.values if str(value) == str(label))
    return next(chain(equal, alike), label)


def _align_label(label: Any, declared: Declared | None) -> Any:
    """Return a label, or each label of a tuple, as the category that the schema declares for it.

    Args:
        label: A label, a tuple of labels, or None.
        declared: The declared column; None: undeclared, and labels stay as they are.

    Returns:
        A label, a tuple, or None, as the argument.
    """
    if isinstance(label, tuple):
        return tuple(find_declared(declared, one_label) for one_label in label)
    return None if label is None else find_declared(declared, label)


def _align_value(value: Any, declared: Mapping[str, Declared]) -> Any:
    """Return the value of a field of a question, in which all listed categories have their declared type.

    Args:
        value: Any value. Nested questions and tuples are completed part by part; values of other types stay as they
            are.
        declared: The declared columns by name.
    """
    if isinstance(value, UnlistedCategories | Predictor):
        return value
    if isinstance(value, Categories):
        return replace(value, values=_align_label(value.values, declared.get(value.column)))
    if isinstance(value, tuple):
        return tuple(_align_value(element, declared) for element in value)
    if is_dataclass(value) and not isinstance(value, type) and type(value).__name__.endswith("Question"):
        members = {field.name: _align_value(getattr(value, field.name), declared) for field in fields(value)}
        return replace(value, **members)
    return value


def _find_column(question: Any, field: str, declared: Mapping[str, Declared]) -> Declared | None:
    """Return the declared column whose labels a field of a question holds.

    Args:
        question: The question.
        field: Name of the field, a key of `LABEL_COLUMNS`.
        declared: The declared columns by name.

    Returns:
        The column; None if it is not declared.
    """
    names: Iterable[Any] = (getattr(question, name, None) for name in LABEL_COLUMNS[field])
    return next((declared[name] for name in names if isinstance(name, str) and name in declared), None)


def _list_categories(question: Any, dataset: str, declared: Mapping[str, Declared]) -> Any:
    """Return a question with the declared categories of the column whose categories it does not list.

    A column with unlisted categories stays as it is if the question names the universe in which to find them (partition
    selection).

    Args:
        question: The question.
        dataset: Name of the dataset, for the error.
        declared: The declared columns by name.

    Raises:
        InvalidArgument: The schema declares no categories of the column.
    """
    unlisted = find_unlisted(question)
    if unlisted is None:
        return question
    column = declared.get(unlisted.column)
    if isinstance(column, UnlistedCategories) and unlisted.universe is not None:
        return question
    if isinstance(column, Categories):
        return replace_categories(question, unlisted, column)
    rule = f"{dataset!r} declares no categories of {unlisted.column!r}: list them in the question"
    raise InvalidArgument("by", rule[:LONGEST_ACCOUNT_NAME], unlisted.column)
