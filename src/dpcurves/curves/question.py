"""Questions: their protocols, grouping columns, class labels, and grids as plain objects.

A question is a frozen dataclass of public fields. Its `steps` is a conversation: a generator that yields the needed
counts, with fractions of the budget that add up to 1, and returns a result from the answers.

    counts = yield from ask_workload(CellWorkload(axes), Fraction(1, 2))

A trust model decides who answers, so that one question runs under all of them.

Formal guarantees: `steps` is a pure function of the fields, of the public setting and of the answers; it runs outside
the trusted boundary and sees no record. It must end for any answers, because noise can produce any integers. Losses of
questions with different filters add up; disjoint groups at the loss of one are declared by `by`, since a record has one
category (parallel composition).

>>> from dpcurves.data import Categories
>>> combine_categories((Categories("sex", ("F", "M")), Categories("ward", (1, 2))))  # rows of a table by two columns
[('F', 1), ('F', 2), ('M', 1), ('M', 2)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

from ..arguments import InvalidArgument, MissingPackage, describe_value, require_type
from ..codec import STORED_CODEC
from ..conversation import Needs, Plan, PrivacyStatement, Release, Setting
from ..conversation.notes import warn_analyst
from ..data import Axis, Categories, Category, Grid, Outside, Spacing, Values, parse_category
from ..expressions import Expression, describe_published_names, parse_filter
from ..object_summary import ObjectSummary
from ..privacy import PrivacyLoss
from ..queries import Query
from .outside import DEFAULT_THRESHOLDS, NoteThresholds, notes_on_missing_weights, notes_on_outside
from .result import notes_on_missing

if TYPE_CHECKING:
    from rich.table import Table

Curve = TypeVar("Curve", covariant=True)


Where: TypeAlias = str | Expression | None
"""SQL text of a condition, or an `Expression`; None: all rows."""


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """Base of questions about a table, of which all have a filter of the rows.

    Attributes:
        where: SQL text of a condition, or an `Expression`: rows that fail it, or for which it is NULL, do not count.
            It is published with the result. None: all rows.

    Formal guarantees: the losses of questions with different filters add up, because no two filters are taken to be
    disjoint; for disjoint groups at the loss of one, declare them by `by`. For the sensitivity see `Query.with_filter`.
    """

    where: Where = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Replace expressions in the fields by their text, and the filter by its canonical text."""
        for member in fields(self):
            value = getattr(self, member.name, None)
            if isinstance(value, Expression) and member.name != "where":
                object.__setattr__(self, member.name, str(value))
        object.__setattr__(self, "where", parse_filter("where", self.where))

    def _build_summary(self) -> ObjectSummary:
        """Return a summary for notebooks: the question as a sentence, and each field that differs from its default."""
        stated = [
            (member.name.replace("_", " "), value)
            for member in fields(self)
            if (value := getattr(self, member.name)) != member.default and value not in (None, "", ())
        ]
        return ObjectSummary("Question", [("question", str(self)), *((name, str(value)) for name, value in stated)])

    def _repr_html_(self) -> str:
        """Return the summary of the question, for notebooks."""
        return self._build_summary().to_html()

    def __rich__(self) -> Table:
        """Return the summary of the question, for terminals with rich."""
        return self._build_summary().to_rich()

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Convert expressions of every subclass to text before its own checks, and add the filter to its text."""
        object.__init_subclass__(**keywords)
        own_checks: Any = vars(cls).get("__post_init__")
        if own_checks is not None and not getattr(own_checks, "converts_expressions", False):

            def __post_init__(self: Any) -> None:
                """Convert expressions to text, and make the checks of the class."""
                TableQuestion.__post_init__(self)
                own_checks(self)

            __post_init__.converts_expressions = True  # type: ignore[attr-defined]
            cls.__post_init__ = __post_init__  # type: ignore[method-assign]
        own_text: Any = vars(cls).get("__str__")
        if own_text is not None and not getattr(own_text, "tells_filter", False):

            def __str__(self: Any) -> str:
                """Return the text of the class with the filter."""
                return f"{own_text(self)}, where {self.where}" if self.where else str(own_text(self))

            __str__.tells_filter = True  # type: ignore[attr-defined]
            cls.__str__ = __str__  # type: ignore[method-assign]


class Question(Protocol[Curve]):
    """A question about a table. Its fields are public; questions with equal repr are equal.

    Formal guarantees: `steps` is a pure function of the fields, of the public setting and of the answers it receives
    (it runs outside the trusted boundary, so it sees nothing else). It ends in a curve for every possible answer,
    because noise can produce any answer.
    """

    def steps(self, setting: Setting) -> Needs[Curve]:
        """Run the question as a generator: yield each query with its budget fraction, receive its release, and return
        the curve.

        Args:
            setting: Loss and adjacency of the question.

        Returns:
            A generator that yields needs, workloads with a budget fraction, and is sent their answers.
        """
        ...


@runtime_checkable
class SupportsChargedQuery(Protocol):
    """A question that is charged for one release. Under one request, other questions about that release are free.

    Formal guarantees: if `charged_query` is not None, `steps` asks only queries that it covers, with all of the loss.
    """

    @property
    def charged_query(self) -> Query | None:
        """The query that the request is charged for; None: the question itself."""
        ...


def find_charged_query(question: object) -> Query | None:
    """Return the query that a request with this question is charged for, with the filter of the question's rows.

    None if the question has no `charged_query`: then the question itself is charged, and no other question can share
    its request.

    Args:
        question: The question.
    """
    query = question.charged_query if isinstance(question, SupportsChargedQuery) else None
    return None if query is None else query.with_filter(getattr(question, "where", None) or "")


@runtime_checkable
class HasPlanNotes(Protocol):
    """A question with notes that users should read before it is charged."""

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """Return notes on the planned rounds, one line each, from public facts alone.

        Args:
            setting: Loss and adjacency of the question.

        Returns:
            Notes in the order in which they are printed; () if there is nothing to say.
        """
        ...


def build_privacy_statement(
    releases: Sequence[Release], model: str = "", note_thresholds: NoteThresholds = DEFAULT_THRESHOLDS
) -> PrivacyStatement:
    """Return the privacy statement of a result: loss, adjacency, trust model, mechanisms and notes of its releases.

    Losses of all releases, and of earlier rounds that chose their queries, add up; mechanisms are listed once each.
    Notes state missing records, records outside the cells, and texts in filters that look like names of people.

    Args:
        releases: The releases that the result is computed from, at least one, all with one adjacency.
        model: Text on the origin of a model whose predictions were evaluated; empty: no model.
        note_thresholds: Smallest share of values outside the cells for which a note is written, by column and side,
            where it is not 1 %.

    Raises:
        TypeError: `model` is no text.
    """
    require_type("model", model, str, "a text")
    plans = [release.plan for release in releases]
    loss: PrivacyLoss = plans[0].loss
    for plan in (*plans[1:], *dict.fromkeys(plan for release in releases for plan in release.earlier_plans)):
        loss = loss + plan.loss
    trust, _, _ = plans[0].made_by.partition(": ")
    mechanisms = dict.fromkeys(plan.made_by.partition(": ")[2] for plan in plans)
    allotment = releases[0].allotment
    return PrivacyStatement.from_loss(
        loss, plans[0].adjacency, trust=trust, mechanism="; ".join(mechanisms),
        seeded=any(release.seeded for release in releases),
        grant="" if allotment is None else allotment.request, model=model, where=plans[0].query.where,
    ).with_notes(
        *notes_on_missing(releases), *notes_on_missing_weights(releases),
        *notes_on_outside(releases, note_thresholds),
        *(note for release in releases for note in release.notes), *describe_published_texts(plans),
    )  # fmt: skip


def describe_published_texts(plans: Sequence[Plan]) -> tuple[str, ...]:
    """Return a note for each text in filters and expressions of these plans that looks like a name of a person.

    Such texts are published with the result, so an analyst should see the note before the question is charged. Empty
    if no text looks like a name.

    Args:
        plans: Plans of the rounds of a question.

    Returns:
        Notes, in order of first use of a text.
    """
    texts = dict.fromkeys(
        source
        for plan in plans
        for axis in plan.query.input_axes
        for source in (axis.where, axis.column)
        if isinstance(source, str) and "'" in source
    )
    notes: tuple[str, ...] = ()
    for text in texts:
        with suppress(InvalidArgument, MissingPackage):  # the name of a column may have a quote
            notes += tuple(map(warn_analyst, describe_published_names([text])))
    return notes


def require_independent(privacy: PrivacyStatement, population: bool = True) -> None:
    """Check that units are single records, which intervals for the population take for independent; returns nothing.

    Args:
        privacy: Statement of the release, which has the unit.
        population: If False, nothing is checked.

    Raises:
        ValueError: a unit may have several records.
    """
    if population and privacy.rows_per_unit != 1:
        raise InvalidArgument(
            "population",
            "independent units of one record each are needed: ask with rows_per_unit=1, or leave population out",
        )


By: TypeAlias = Categories | tuple[Categories, ...] | None
"""A column of public or unlisted categories (`UnlistedCategories`); or several columns, for each combination of
their categories; or None."""
Key: TypeAlias = Category | tuple[Category, ...]
"""A category; for several columns, a category of each."""

CATEGORIES_EXAMPLE = 'Categories, as in Categories("ward", ("a", "b")),'
"""What the error about an argument of another type says is needed."""


def parse_grouping(by: object) -> tuple[Categories, ...]:
    """Return the columns of categories that records are grouped by, as a tuple in the declared order; empty for None.

    Formal guarantees: a record has at most one category of each column, so it lies in at most one combination: several
    columns split records as one column with a category for each combination does.

    Args:
        by: One column of categories, a tuple of several, or None.

    Raises:
        TypeError: `by` is neither `Categories`, nor a tuple of these, nor None.
        ValueError: a column is repeated, two combinations print alike, or there are more than 65,536.
    """
    if by is None:
        return ()
    if not isinstance(by, tuple) or not by:
        by = (by,)
    for categories in by:
        require_type("by", categories, Categories, CATEGORIES_EXAMPLE)
    if len({categories.column for categories in by}) < len(by):
        raise InvalidArgument("by", "a column is named twice: name each column once")
    most_combinations = 2**16  # each has a row of counts
    if len(by) > 1 and (combinations := prod(categories.slots for categories in by)) > most_combinations:
        raise InvalidArgument(
            "by", f"columns have at most {most_combinations} combinations of categories; choose fewer"
        )
    if len(by) > 1 and len(set(map(format_key, combine_categories(by)))) < combinations:
        raise InvalidArgument("by", "two combinations of categories print alike: rename a category")
    return by


def prepend_category_axes(by: By, *axes: Axis | Categories) -> tuple[Axis | Categories, ...]:
    """Return the axes of a table whose rows are the categories of `by`: its columns, followed by the other axes.

    Args:
        by: Columns of categories; None: no rows.
        axes: Further axes of the table.
    """
    return (*parse_grouping(by), *axes)


def combine_categories(keys: tuple[Categories, ...]) -> list[Key]:
    """Return the categories of one column; of several columns all combinations, the last column fastest.

    >>> combine_categories((Categories("sex", ("F", "M")), Categories("ward", (1, 2))))
    [('F', 1), ('F', 2), ('M', 1), ('M', 2)]

    Args:
        keys: At least one column with its categories.

    Returns:
        Categories of one column, or tuples with a category of each column.
    """
    if len(keys) == 1:
        return list(keys[0].values)
    return list(product(*(categories.values for categories in keys)))


def list_columns(by: By) -> tuple[str, ...]:
    """Return the names of the columns that records are grouped by.

    Args:
        by: Categories of one column, or several of them.
    """
    return tuple(categories.column for categories in parse_grouping(by))


def format_key(key: Key) -> str:
    """Return a category, or a combination of categories, as text.

    Args:
        key: A category, or a tuple with one category of each column.

    >>> format_key(("F", "north"))
    'F, north'
    """
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


_OPPOSITES: dict[Category, Category] = {
    1: 0, 0: 1, -1: 1, "1": "0", "0": "1", "-1": "1", "true": "false", "false": "true",
}  # fmt: skip
"""The negative label that is implied by a positive one. For any other positive label the negative one must be
stated."""


LABEL_ARGUMENTS = ("neg_label", "pos_label")
"""Arguments of the negative and of the positive label, as error messages name them."""


def parse_class_labels(
    column: str, positive: Category, negative: Category | None, arguments: tuple[str, str] = LABEL_ARGUMENTS
) -> Categories:
    """Return a column of class labels as `Categories` of two values, negative first; any other value is missing.

    Args:
        column: Name of the column.
        positive: The positive label.
        negative: The negative label; None: the usual opposite of 0, 1, -1, true or false.
        arguments: Names of the arguments (negative, positive) in error messages, as the user typed them.

    >>> parse_class_labels("late", 1, None).values
    (0, 1)

    Raises:
        ValueError: the negative label is missing where it does not go without saying, or is the positive one.
        TypeError: a label is neither text nor number.
    """
    of_negative, of_positive = arguments
    positive = parse_category(of_positive, positive)
    is_implied = negative is None
    if negative is None:
        if positive not in _OPPOSITES:
            raise InvalidArgument(
                of_negative, f"say which label is negative, if the positive label is {describe_value(positive)}"
            )
        negative = not positive if isinstance(positive, bool) else _OPPOSITES[positive]
    negative = parse_category(of_negative, negative)
    if positive == negative or str(positive) == str(negative):
        raise InvalidArgument(
            of_positive,
            f"the positive and the negative label are both {describe_value(positive)}: give two different labels",
        )
    return Categories(column, (negative, positive), arguments, is_implied)


# A grid as plain objects: a few numbers, however fine the grid is.


def grid_to_json(grid: Grid) -> dict[str, Any]:
    """Return a grid as JSON values: its spacing and bounds, or the edges of an irregular grid; for declared values,
    only these.

    Args:
        grid: Public cells, or declared values.
    """
    if isinstance(grid, Values):
        return {"values": list(grid.declared_values), "outside": grid.outside.name}
    return {
        "lower": grid.lower, "upper": grid.upper, "cells": grid.cells, "spacing": grid.spacing.name,
        "edges": list(grid.explicit), "outside": grid.outside.name,
    }  # fmt: skip


def grid_from_json(stored: Mapping[str, Any]) -> Grid:
    """Return the grid that `grid_to_json` wrote.

    Args:
        stored: JSON values by field name.

    Raises:
        ValueError: `grid_to_json` cannot have written the object.
    """
    try:
        if "values" in stored:
            return Values(stored["values"], outside=Outside[stored.get("outside", Outside.CLIPPED.name)])
        outside = Outside[stored["outside"]]
        if Spacing[stored["spacing"]] is Spacing.EXPLICIT:
            return Grid.from_edges(stored["edges"], outside=outside)
        grid = Grid.from_spacing(Spacing[stored["spacing"]], stored["lower"], stored["upper"], cells=stored["cells"])
        return grid.with_outside(outside)
    except (KeyError, TypeError):
        raise InvalidArgument("grid", "the stored grid is damaged: use the text that to_json wrote") from None


STORED_CODEC.add(Grid, grid_to_json, grid_from_json)


def edges_to_json(grid: Grid) -> dict[str, object]:
    """Return the edges of an explicit grid, its treatment of outside values and its declared values, as JSON fields
    of a question.

    Args:
        grid: Grid with explicit edges.
    """
    return {**cells_to_json(grid), "edges": grid.edges.tolist()}


class ScoredColumns(NamedTuple):
    """The columns that a result about scores is computed from, for titles; None where names are not known.

    A column may have an empty name.

    Attributes:
        score: The column of scores, or the name of the model that computes them.
        label: The column of true labels.

    >>> ScoredColumns("risk", "ill").add_to_title("Calibration curve"), ScoredColumns().add_to_title("Decision curve")
    ('Calibration curve of risk for ill', 'Decision curve')
    """

    score: str | None = None
    label: str | None = None

    @classmethod
    def from_question(cls, score: object, label: str) -> ScoredColumns:
        """Return the columns of a question, whose score may be a model.

        Args:
            score: Name of the column of scores, or a model whose text is its name.
            label: Name of the column of true labels.
        """
        return cls(str(score), label)

    @classmethod
    def from_json(cls, question: Mapping[str, Any]) -> ScoredColumns:
        """Return the names of the columns of scores and of labels that `to_json` wrote.

        Args:
            question: JSON values by field name; missing names become None.
        """
        return cls(question.get("score"), question.get("label"))

    def to_json(self) -> dict[str, str]:
        """Return the columns as JSON values; nothing if they have no names.

        Returns:
            ``score`` and ``label``, without names that are None.
        """
        return {name: column for name, column in self._asdict().items() if column is not None}

    def add_to_title(self, title: str) -> str:
        """Return a title that names the columns, as far as they are known.

        Args:
            title: Title without the columns.
        """
        return title if None in self else f"{title} of {self.score} for {self.label}"


NO_COLUMNS = ScoredColumns()
"""Stands for the columns of a result that was stored without their names."""


def grid_from_edges(question: Mapping[str, Any]) -> Grid:
    """Return the grid that `edges_to_json` wrote among the fields of a question.

    Args:
        question: JSON fields of the question.
    """
    return grid_from_cells(question, question["edges"])


def cells_to_json(grid: Grid) -> dict[str, object]:
    """Return a grid's treatment of outside values, and its declared values, if any, as JSON fields; edges are stored
    separately.

    Args:
        grid: Public cells, or declared values.
    """
    return {"outside": grid.outside.name, **declared_values_to_json(grid)}


def declared_values_to_json(grid: Grid) -> dict[str, object]:
    """Return declared values as a JSON field of a question; no field for another grid.

    Args:
        grid: Public cells, or declared values.

    Returns:
        ``values``, or an empty mapping.
    """
    return {"values": list(grid.declared_values)} if isinstance(grid, Values) else {}


def grid_from_cells(question: Mapping[str, Any], edges: Sequence[float], outside: Outside | None = None) -> Grid:
    """Return the grid that `cells_to_json` wrote.

    Args:
        question: JSON fields of the question.
        edges: Edges of the cells, as stored beside them.
        outside: Treatment of values outside, if it is not stored because it never varies; None: the stored one.

    Raises:
        ValueError: the edges differ from the edges of the declared values.
    """
    outside = Outside[question["outside"]] if outside is None else outside
    if "values" not in question:
        return Grid.from_edges(edges, outside=outside)
    grid = grid_from_json({"values": question["values"], "outside": outside.name})
    if grid.edges.tolist() != list(edges):
        raise InvalidArgument("grid", "the stored edges do not fit the stored values: use the text that to_json wrote")
    return grid
