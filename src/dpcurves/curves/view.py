"""SQL views: named filters with derived columns, which are defined once and used in many questions.

A `View` has a filter, expressions of derived columns by name, and perhaps a *base*, another view that it starts from:

    rows       WHERE filter of the base AND filter of the view
    columns    columns of the table, of the base and of the view

A *question* asks for a private curve or number of a table. `View.apply` takes one and returns an equal question about
the table itself: derived columns are replaced by their expressions (`View.expand`), and the filter is added. So a
question on a view is an ordinary question, and a view needs no mechanism.

Definitions are JSON texts, which a ledger stores beside the account (the privacy budget of a data set). `define_view`
and `remove_view` do not store anything: each returns a function from the stored definitions to the one definition that
changes, which the ledger calls inside a transaction.

Formal guarantees: a filter and a map of single rows keep neighbouring tables neighbouring: adding, removing or
replacing the records of a unit changes only the mapped records of that unit. So a question on a view has the loss and
the noise of the same question without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ..arguments import InvalidArgument, describe_value, require_known_fields, require_type
from ..data import LOOKS_LIKE_AN_EXPRESSION, Predictor
from ..expressions import (
    Call,
    ColumnName,
    Expression,
    Node,
    describe_published_names,
    format_expression,
    parse_expression,
    parse_filter,
)
from .question import TableQuestion

TEXT_FIELDS = frozenset({
    "pos_label", "neg_label", "event_value", "censored_value", "treated_value", "control_value", "measured_in",
    "causes", "where", "level", "model", "statistic", "releases", "entry_ties", "missing_times",
})  # fmt: skip
"""Fields of questions whose texts do not name columns. A view replaces names of its derived columns in all other text
fields, and leaves these as they are."""


@dataclass(frozen=True)
class View:
    """A named filter with derived columns. It holds text alone, never data.

    A question that a view is applied to has the filter and the expressions of the view written out. So the ledger, the
    fingerprint of the paid question, and the result have their text, and a view that is changed later changes no
    earlier answer.

    Formal guarantees: a view is a row-wise map and a filter, as every question with `where` and expressions: noise and
    loss are the same as for the question without it.

    Attributes:
        name: Name of the view.
        where: Condition of the rows, which may read the derived columns; None: all rows.
        columns: Expressions of derived columns, by name.
        base: View on which this view is defined: its columns can be used here, and its rows are filtered further.

    Raises:
        ValueError: the filter or an expression is invalid.

    >>> import dpcurves as dp
    >>> adults = View("adults", where="age >= 18")
    >>> employed = View("employed", "hours > 0", {"hourly": "wage / hours"}, adults)
    >>> print(employed.apply(dp.MeanQuestion("hourly", 0, 100, where="hourly < 90")))
    mean of wage / hours, where age >= 18 AND hours > 0 AND wage / hours < 90
    """

    name: str
    where: Any = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    base: View | None = None

    def __post_init__(self) -> None:
        """Parse the filter and the expressions of the derived columns to canonical texts.

        Raises:
            WrongArgumentType: a field has another type.
            InvalidArgument: the filter or an expression is invalid.
        """
        require_type("name", self.name, str, "a text")
        require_type("columns", self.columns, Mapping, "a mapping from names to expressions, as in {'pay': 'a / b'},")
        object.__setattr__(self, "where", parse_filter("where", self.where))
        texts = {}
        for name, expression in self.columns.items():
            require_type("columns", expression, (str, Expression), f"an expression for {name!r}, as in 'wage / hours',")
            texts[str(name)] = parse_filter("columns", expression) or ""
        object.__setattr__(self, "columns", texts)
        if self.base is not None:
            require_type("base", self.base, View, "a view")

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any], views: Mapping[str, View]) -> View:
        """Return the view that a mapping describes.

        Args:
            stored: The entry ``name``, and perhaps ``where``, ``columns`` and ``base``, the name of another view.
            views: Views that may serve as its base, by name.

        Raises:
            ValueError: a field is unknown, ``name`` is missing, or the base is not among these views.

        Example:
            >>> View.from_dict({"name": "adults", "where": "age >= 18"}, {}).where
            'age >= 18'
        """
        require_known_fields(stored, ("name", "where", "columns", "base"))
        if "name" not in stored:
            raise InvalidArgument("view", 'a view needs a name, as in name = "employed"')
        base = find_view(stored["base"], views) if "base" in stored else None
        return cls(stored["name"], stored.get("where"), stored.get("columns", {}), base)

    def apply(self, question: Any) -> Any:
        """Return a question asked through the view: with the view's filter, and with derived columns replaced by their
        expressions.

        Args:
            question: Question whose columns may be derived columns of the view.

        Raises:
            ValueError: the text becomes too long for an expression.
        """
        where = " AND ".join(f"({text})" for text in (self._full_filter, self.expand(question.where)) if text)
        return replace(question, **self._expand_fields(question), where=where or None)

    def _expand_fields(self, question: Any) -> dict[str, Any]:
        """Return the fields of a question that may name columns, with the derived columns written out.

        Args:
            question: Question whose columns may be derived columns of the view.
        """
        return {
            member.name: self._expand_field(getattr(question, member.name))
            for member in fields(question)
            if member.init and member.name not in TEXT_FIELDS
        }

    @property
    def definition(self) -> str:
        """The filter, the columns and the name of the base as a JSON text, which a ledger stores under the name."""
        base = None if self.base is None else self.base.name
        return json.dumps({"where": self.where, "columns": dict(self.columns), "base": base})

    def describe(self) -> tuple[str, ...]:
        """Return the view in words, one line each: name and base, filter, and derived columns.

        >>> View("employed", "hours > 0", {"hourly": "wage / hours"}).describe()
        ('employed', '  where hours > 0', '  hourly = wage / hours')
        """
        based = "" if self.base is None else f", on {self.base.name}"
        where = (f"  where {self.where}",) if self.where else ()
        return (f"{self.name}{based}", *where, *(f"  {name} = {text}" for name, text in self.columns.items()))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on texts in the view that look like names of people: they are published with each result."""
        return describe_published_names(text for text in (self.where, *self.columns.values()) if text)

    @property
    def _full_filter(self) -> str:
        """The filter of the view and of the view that it is based on, in columns of the table; empty: all rows."""
        filters = ["" if self.base is None else self.base._full_filter, self.expand(self.where)]
        texts = [text for text in filters if text]
        return format_expression(parse_expression(" AND ".join(f"({text})" for text in texts))) if texts else ""

    def expand(self, text: str | None) -> str:
        """Return an expression in columns of the table, in which derived columns are written out.

        Args:
            text: An expression that may name derived columns of this view and of its base; None: no expression.

        Returns:
            The canonical text of the expression; empty for None.

        Raises:
            ValueError: the text is no expression, or becomes too long.
        """
        if text is None:
            return ""
        derived = {} if self.base is None else {name: self.base._expand_name(name) for name in self.base._all_columns}
        derived |= {name: self._expand_base(expression) for name, expression in self.columns.items()}
        nodes = {name: parse_expression(expression) for name, expression in derived.items()}
        return format_expression(_replace_columns(parse_expression(text), nodes))

    def _expand_name(self, name: str) -> str:
        """Return the expression of a derived column in columns of the table; a name of another column is returned
        unchanged.

        Args:
            name: Name of a column.
        """
        return self.expand(format_expression(ColumnName(name))) if name in self._all_columns else name

    @property
    def _all_columns(self) -> frozenset[str]:
        """Names of the derived columns, including the columns of its base view."""
        return frozenset(self.columns) | (frozenset() if self.base is None else self.base._all_columns)

    def _expand_base(self, text: str | None) -> str:
        """Return an expression of this view with the derived columns of its base view written out; empty for None.

        Args:
            text: SQL text of an expression or a condition; None: no text.
        """
        return (text or "") if self.base is None or not text else self.base.expand(text)

    def _expand_field(self, value: Any) -> Any:
        """Return a field of a question in which derived columns are replaced by their expressions.

        Args:
            value: A text is the name of a column or an expression. Tuples, questions within the question, and objects
                with a field ``column`` are expanded in turn. Anything else is returned unchanged.

        Raises:
            InvalidArgument: a model reads a derived column.
        """
        if isinstance(value, str):
            is_derived = value in self._all_columns or LOOKS_LIKE_AN_EXPRESSION.search(value)
            return self._expand_column(value) if is_derived else value
        if isinstance(value, tuple):
            return tuple(map(self._expand_field, value))
        if isinstance(value, TableQuestion):  # one of a question of two columns
            return replace(
                value, **self._expand_fields(value), where=self.expand(parse_filter("where", value.where)) or None
            )
        if isinstance(value, Predictor):
            self._require_columns_of_table(value)
        elif isinstance(getattr(value, "column", None), str):  # categories, or a column with a range
            return replace(value, column=self._expand_field(value.column))
        return value

    def _require_columns_of_table(self, model: Predictor) -> None:
        """Refuse a model that reads a derived column, because models read columns of the table only.

        Args:
            model: Model whose predictions a question uses.

        Raises:
            InvalidArgument: the model reads a derived column.
        """
        for entry in model.inputs:
            if str(entry.column) in self._all_columns:
                raise InvalidArgument(
                    "view",
                    f"{str(entry.column)!r} is a derived column of {self.name!r}, and a model reads columns of the "
                    "table: give the derived column another name, or ask without the view",
                )

    def _expand_column(self, text: str) -> str:
        """Return a column or an expression in columns of the table; a text that is neither is returned unchanged.

        Args:
            text: Name of a column, or an expression.
        """
        if text in self._all_columns:
            return self._expand_name(text)
        try:
            return self.expand(text)
        except InvalidArgument:
            return text  # the name of a column, as in a:b, or all records


# Views that are stored with an account: a mapping from names to definitions, in which bases are named.


def parse_view_definitions(definitions: Mapping[str, str]) -> dict[str, View]:
    """Return the views of stored definitions, by name, in the same order.

    A definition names its base, so a view is always based on the present definition of its base.

    Args:
        definitions: Texts of `View.definition` by the names of the views.

    Raises:
        ValueError: a definition is no text of `View.definition`, a base is missing, or views are based on each other.

    >>> adults = View("adults", "age >= 18")
    >>> stored = {view.name: view.definition for view in (View("old", "age > 65", base=adults), adults)}
    >>> parse_view_definitions(stored)["old"] == View("old", "age > 65", base=adults)
    True
    """
    views: dict[str, View] = {}

    def parse_view(name: str, followers: tuple[str, ...]) -> View:
        """Return the stored view of this name, and add it to `views`.

        Args:
            name: Name of a stored view.
            followers: Names of the views that are based on it, by which a circle is noticed.

        Raises:
            InvalidArgument: the views form a circle, or a base is not stored.
        """
        if name in followers:
            raise InvalidArgument("base", f"{name!r} would be based on itself; name another base")
        if name not in views:
            stored = json.loads(definitions[name])
            base = stored["base"]
            if base is not None and base not in definitions:
                raise InvalidArgument("base", f"{base!r} is not the name of a view; define it first")
            based_on = None if base is None else parse_view(base, (*followers, name))
            views[name] = View(name, stored["where"], stored["columns"], based_on)
        return views[name]

    return {name: parse_view(name, ()) for name in definitions}


def define_view(view: View, *, may_replace: bool = False) -> Callable[[Mapping[str, str]], tuple[str, str]]:
    """Return a function that a ledger calls to add a view to the stored definitions; nothing is stored here.

    The function takes the stored definitions by name, and returns the name of the view and its definition as the text
    to store under this name. Adding a view that is stored with the same text is allowed.

    Args:
        view: The view.
        may_replace: If True, a stored view of the same name is replaced. Views based on it then follow its new text.

    Raises:
        InvalidArgument: by the returned function: another view has this name and `may_replace` is false; the base is
            not stored with its text; or views would be based on each other.
    """

    def change(definitions: Mapping[str, str]) -> tuple[str, str]:
        """Return the name of the view to add and its definition, after a check against the stored definitions.

        Args:
            definitions: The stored definitions, by name.

        Raises:
            InvalidArgument: the view cannot be added.
        """
        stored = parse_view_definitions(definitions)
        if view.base is not None and stored.get(view.base.name) != view.base:
            raise InvalidArgument(
                "base", f"this account has no view {view.base.name!r} of this text; define it there first"
            )
        if not may_replace and view.name in stored and stored[view.name] != view:
            raise InvalidArgument(
                "name",
                f"there is a view {view.name!r} of another text; take another name, or replace it: --replace, or "
                "may_replace=True",
            )
        parse_view_definitions({**definitions, view.name: view.definition})
        return view.name, view.definition

    return change


def remove_view(name: str) -> Callable[[Mapping[str, str]], tuple[str, str]]:
    """Return a function that a ledger calls to remove a view from the stored definitions; nothing is removed here.

    The function takes the stored definitions by name, and returns the pair of the name and an empty text, by which the
    ledger marks the name as removed.

    Args:
        name: Name of the view.

    Raises:
        InvalidArgument: by the returned function: no view of this name is stored, or another stored view is based on
            it.
    """

    def change(definitions: Mapping[str, str]) -> tuple[str, str]:
        """Return the name of the view and an empty definition, which removes it.

        Args:
            definitions: The stored definitions, by name.

        Raises:
            InvalidArgument: the view is not stored, or another view is based on it.
        """
        stored = parse_view_definitions(definitions)
        find_view(name, stored)
        follower = next((view.name for view in stored.values() if view.base and view.base.name == name), None)
        if follower is not None:
            raise InvalidArgument("name", f"{follower!r} is based on {name!r}; remove {follower!r} first")
        return name, ""

    return change


def find_view(name: object, views: Mapping[str, View]) -> View:
    """Return the view with this name.

    Args:
        name: The name; anything but a text is refused.
        views: Views by name.

    Raises:
        InvalidArgument: no view has this name. The message lists the names.
    """
    if not isinstance(name, str) or name not in views:
        listed = ", ".join(views) or "none is defined"
        raise InvalidArgument("view", f"{describe_value(name)} is not the name of a view; views: {listed}")
    return views[name]


def _replace_columns(node: Node, nodes: Mapping[str, Node]) -> Node:
    """Return an expression in which columns are replaced by expressions, all at once.

    Args:
        node: The expression as a syntax tree.
        nodes: Expression for each replaced column, by name. Their own columns are not replaced again.
    """
    if isinstance(node, ColumnName):
        return nodes.get(node.name, node)
    if isinstance(node, Call):
        return Call(node.function, tuple(_replace_columns(argument, nodes) for argument in node.arguments))
    return node
