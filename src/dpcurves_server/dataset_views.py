"""Views of a dataset, as in SQL: a named filter of the rows with derived columns, usable in questions and forms.

An example is the view ``employed`` with the filter ``hours > 0`` and the derived column ``hourly = wage / hours``.
Views are public text, stored with the dataset's account in the privacy budget ledger.

    question_on_view_from_json    JSON of a question that names a view -> the question with the view's text written out
    declare_view_columns          schema and view -> the columns that questions on the view may use
    list_form_columns             schema and all views -> the columns that a form offers

A stored question has the view's text, so its identifier, charge and answer stay the same when the
view is changed. Forms offer derived columns with unknown ranges, because nothing public states their ranges. This
module touches no records.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dpcurves.arguments import InvalidArgument
from dpcurves.curves.question_json import question_from_json
from dpcurves.curves.view import View, find_view
from dpcurves.data import Categories
from dpcurves.expressions import ValueType, check_expression, find_monotone_chain, parse_expression
from dpcurves.models import NumericColumn

from .declared_columns import UNKNOWN_DATES, UNKNOWN_RANGE, Declared, declare_unknown_categories
from .planner import find_expression_type

VIEW = "view"
"""The field of a question, in JSON and in forms, that names the view (filter and derived columns) which it is asked on;
without it, a question is asked on the whole table."""


def question_on_view_from_json(question_json: Mapping[str, Any], views: Mapping[str, View]) -> Any:
    """Return the question of a JSON object, with the text of the view that its field ``view`` names.

    Args:
        question_json: The question; without the field ``view`` it is about the whole table.
        views: The views of the dataset, by name.

    Raises:
        ValueError: The question is invalid, or no view has this name.
    """
    question = question_from_json({name: value for name, value in question_json.items() if name != VIEW})
    return find_view(question_json[VIEW], views).apply(question) if VIEW in question_json else question


def list_derived_names(view: View) -> tuple[str, ...]:
    """Return the names of the derived columns of a view; columns of its base view come first.

    Args:
        view: The view, which may be based on another view.

    >>> list_derived_names(View("employed", columns={"hourly": "wage / hours"}, base=View("all", columns={"a": "b"})))
    ('a', 'hourly')
    """
    inherited = () if view.base is None else list_derived_names(view.base)
    return tuple(dict.fromkeys((*inherited, *view.columns)))


def declare_view_columns(columns: Sequence[Declared], view: View | None) -> tuple[Declared, ...]:
    """Return the columns that questions on a view may use: declared columns, then derived columns with unknown ranges.

    A derived column hides a declared column of the same name. It is left out if it needs undeclared columns.

    Args:
        columns: The public schema of the table.
        view: The view; None: the table itself.

    >>> view = View("employed", columns={"hourly": "wage / hours", "lost": "wage / debts"})
    >>> schema = (NumericColumn("wage", 0, 1000), NumericColumn("hours", 0, 80))
    >>> declare_view_columns(schema, view) == (*schema, NumericColumn("hourly", *UNKNOWN_RANGE))
    True
    """
    if view is None:
        return tuple(columns)
    types = {str(column.column): find_expression_type(column) for column in columns}
    derived = {}
    for name in list_derived_names(view):
        declared = _declare_derived(name, view.expand(f'"{name.replace(chr(34), chr(34) * 2)}"'), types)
        if declared is not None:
            derived[name] = declared
    shown = tuple(column for column in columns if str(column.column) not in derived)
    return (*shown, *derived.values())


def list_form_columns(columns: Sequence[Declared], views: Mapping[str, View]) -> tuple[Declared, ...]:
    """Return the columns that a form offers: the declared ones, then the derived columns of all views.

    Args:
        columns: The public schema of the table.
        views: The views of the dataset, by name.
    """
    offered = {str(column.column): column for column in columns}
    for view in views.values():
        for column in declare_view_columns(columns, view):
            offered.setdefault(str(column.column), column)
    return tuple(offered.values())


def require_view_of_columns(
    typed: Collection[str], columns: Sequence[Declared], chosen: View | None, views: Mapping[str, View]
) -> None:
    """Require that a form which uses a derived column also chooses its view.

    Args:
        typed: The texts typed into the form.
        columns: The public schema of the table.
        chosen: The chosen view; None: the table itself.
        views: The views of the dataset, by name.

    Raises:
        ValueError: A derived column is used without its view; the message names the first one and the view to choose.
    """
    names = {str(column.column) for column in columns}.union(() if chosen is None else list_derived_names(chosen))
    for view in views.values():
        for name in list_derived_names(view):
            if name in typed and name not in names:
                raise InvalidArgument(VIEW, f"{name!r} is a column of the view {view.name!r}; choose that view")


def _declare_derived(name: str, text: str, types: Mapping[str, ValueType]) -> Declared | None:
    """Declare a derived column by the type of its expression.

    Args:
        name: Name of the derived column.
        text: Its expression, with all derived columns of the view written out.
        types: Types of the declared columns, by name.

    Returns:
        A column of unknown range or unknown categories; the categories False and True for a condition; None if the
        expression reads undeclared columns, or reads a column as another type.
    """
    try:
        chain, node = find_monotone_chain(parse_expression(text))
        kind = check_expression(node, types, ValueType.NUMBER if chain else None).type
    except InvalidArgument:
        return None
    if kind is ValueType.TEXT:
        return declare_unknown_categories(name)
    if kind is ValueType.TRUTH:
        return Categories(name, (False, True))
    return NumericColumn(name, *(UNKNOWN_RANGE if kind is ValueType.NUMBER else UNKNOWN_DATES))
