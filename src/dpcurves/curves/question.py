"""Questions: their base, columns by which records are parted, labels, and grids as plain objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from ..arguments import InvalidArgument, describe_value, require_type
from ..codec import STORED
from ..conversation import Needs, PrivacyStatement, Release, Setting
from ..data import Axis, Categories, Category, Grid, Outside, Spacing, Values, parse_category
from ..privacy import PrivacyLoss
from ..queries import Query
from .outside import ANYWHERE, Least, notes_on_outside
from .result import notes_on_missing

Curve = TypeVar("Curve", covariant=True)


class Question(Protocol[Curve]):
    """A question about a table. Its fields are public; two questions with the same repr ask the same.

    Formal guarantees: `steps` is a pure function of the fields, of the public setting and of the answers that it is
    sent (it stands behind the privacy wall, so it sees nothing else). It ends in a curve whatever is sent, for noise
    can send anything.
    """

    def steps(self, setting: Setting) -> Needs[Curve]:
        """Yield each set of counts that is needed, receive the releases, and in the end return the curve."""
        ...


@runtime_checkable
class ChargedAsQuery(Protocol):
    """A question that is charged for one release. Under one request, other questions about that release are free.

    Formal guarantees: if there is one, `steps` asks for nothing but what is paid as `charged_query`, with all of the loss.
    """

    @property
    def charged_query(self) -> Query | None:
        """The query that the request is charged for; None: the question itself."""
        ...


def find_charged_query(question: object) -> Query | None:
    """The query that a request with this question pays for; None: the question itself."""
    return question.charged_query if isinstance(question, ChargedAsQuery) else None


@runtime_checkable
class HasPlanNotes(Protocol):
    """A question with notes that should be read before it is charged."""

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """The notes, each in one line, from public facts alone."""
        ...


def build_privacy_statement(releases: Sequence[Release], model: str = "", least: Least = ANYWHERE) -> PrivacyStatement:
    """The privacy statement of a curve that was read from these releases.

    Losses of the turns add up; what is said of the mechanism is said turn by turn, once where turns agree. Notes say
    what is missing, and what lies outside of the cells.

    Args:
        releases: The releases.
        model: What is said of a model.
        least: The least share outside of cells that is spoken of, where it is another one than usual.

    Raises:
        TypeError: what is said of the model is no text.
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
        grant="" if allotment is None else allotment.request, model=model,
    ).with_notes(
        *notes_on_missing(releases), *notes_on_outside(releases, least),
        *(note for release in releases for note in release.notes),
    )  # fmt: skip


def require_independent(privacy: PrivacyStatement, population: bool = True) -> None:
    """Refuse statements on a population, if they are asked for, where units are not independent.

    Raises:
        ValueError: a unit has several records.
    """
    if population and privacy.rows_per_unit != 1:
        raise InvalidArgument("population", "independent units of one record each are needed (rows_per_unit=1)")


By: TypeAlias = Categories | tuple[Categories, ...] | None
"""A column of categories, or of groups that nobody listed (`Unlisted`); or several columns, for each combination of
their categories; or none."""
Key: TypeAlias = Category | tuple[Category, ...]
"""A category; of several columns one of each."""

CATEGORIES = 'Categories, as in Categories("ward", ("a", "b")),'
MOST_COMBINATIONS = 2**16


def parse_grouping(by: object) -> tuple[Categories, ...]:
    """The columns that were declared, in their order.

    Formal guarantees: a record has one category of each column at most, so it lies in one combination at most: several
    columns part records as one column does that has a category for each combination.

    Raises:
        TypeError: `by` is neither `Categories`, nor a tuple of these, nor None.
        ValueError: a column stands twice, or two combinations print alike, or there are more than 65,536.
    """
    if by is None:
        return ()
    if not isinstance(by, tuple) or not by:
        by = (by,)
    for each in by:
        require_type("by", each, Categories, CATEGORIES)
    if len({each.column for each in by}) < len(by):
        raise InvalidArgument("by", "each column is named once")
    if len(by) > 1 and (found := prod(each.slots for each in by)) > MOST_COMBINATIONS:
        raise InvalidArgument("by", f"at most {MOST_COMBINATIONS} combinations of categories are told apart")
    if len(by) > 1 and len(set(map(format_key, combine_categories(by)))) < found:
        raise InvalidArgument("by", "two combinations of categories print alike")
    return by


def prepend_category_axes(by: By, *axes: Axis | Categories) -> tuple[Axis | Categories, ...]:
    """The sides of a table that has a row, or several, for each category."""
    return (*parse_grouping(by), *axes)


def combine_categories(keys: tuple[Categories, ...]) -> list[Key]:
    """The categories of one column; of several, all combinations, those of the last column fastest.

    >>> combine_categories((Categories("sex", ("F", "M")), Categories("ward", (1, 2))))
    [('F', 1), ('F', 2), ('M', 1), ('M', 2)]
    """
    if len(keys) == 1:
        return list(keys[0].values)
    return list(product(*(each.values for each in keys)))


def list_columns(by: By) -> tuple[str, ...]:
    """The names of the columns."""
    return tuple(each.column for each in parse_grouping(by))


def format_key(key: Key) -> str:
    """A category, or a combination of them, in words.

    >>> format_key(("F", "north"))
    'F, north'
    """
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


_OPPOSITES: dict[Category, Category] = {
    1: 0, 0: 1, -1: 1, "1": "0", "0": "1", "-1": "1", "true": "false", "false": "true",
}  # fmt: skip
"""The other of two usual labels."""


ARGUMENTS = ("neg_label", "pos_label")


def parse_class_labels(
    column: str, positive: Category, negative: Category | None, arguments: tuple[str, str] = ARGUMENTS
) -> Categories:
    """The two classes, negative first. Any other value is missing. The `arguments` are what refusals call them.

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
                of_negative, f"say which label is negative, where the positive one is {describe_value(positive)}"
            )
        negative = not positive if isinstance(positive, bool) else _OPPOSITES[positive]
    negative = parse_category(of_negative, negative)
    if positive == negative or str(positive) == str(negative):
        raise InvalidArgument(of_positive, f"the positive and the negative label are both {describe_value(positive)}")
    return Categories(column, (negative, positive), arguments, is_implied)


# A grid as plain objects: however fine it is, a few numbers say where its cells lie.


def grid_to_json(grid: Grid) -> dict[str, Any]:
    """Plain objects: the formula, or the edges where there is none; of declared values, these alone."""
    if isinstance(grid, Values):
        return {"values": list(grid.declared_values), "outside": grid.outside.name}
    return {
        "lower": grid.lower, "upper": grid.upper, "cells": grid.cells, "spacing": grid.spacing.name,
        "edges": list(grid.explicit), "outside": grid.outside.name,
    }  # fmt: skip


def grid_from_json(stored: Mapping[str, Any]) -> Grid:
    """The inverse of `grid_to_json`.

    Raises:
        ValueError: the object is not what `grid_to_json` writes.
    """
    try:
        if "values" in stored:
            return Values(stored["values"], outside=Outside[stored.get("outside", Outside.CLAMPED.name)])
        outside = Outside[stored["outside"]]
        if Spacing[stored["spacing"]] is Spacing.EXPLICIT:
            return Grid.from_edges(stored["edges"], outside=outside)
        grid = Grid.from_spacing(Spacing[stored["spacing"]], stored["lower"], stored["upper"], cells=stored["cells"])
        return grid.with_outside(outside)
    except (KeyError, TypeError):
        raise InvalidArgument("grid", "the stored grid is damaged") from None


STORED.add(Grid, grid_to_json, grid_from_json)


def edges_to_json(grid: Grid) -> dict[str, object]:
    """The edges of a grid that is laid out, and what becomes of values outside, among other facts of a question."""
    return {**cells_to_json(grid), "edges": grid.edges.tolist()}


def grid_from_edges(question: Mapping[str, Any]) -> Grid:
    """The inverse of `edges_to_json`."""
    return grid_from_cells(question, question["edges"])


def cells_to_json(grid: Grid) -> dict[str, object]:
    """JSON of a grid's treatment of values outside and its declared values, if any, where edges are written beside."""
    return {"outside": grid.outside.name, **declared_values_to_json(grid)}


def declared_values_to_json(grid: Grid) -> dict[str, object]:
    """Declared values among other facts of a question; nothing of another grid."""
    return {"values": list(grid.declared_values)} if isinstance(grid, Values) else {}


def grid_from_cells(question: Mapping[str, Any], edges: Sequence[float], outside: Outside | None = None) -> Grid:
    """The inverse of `cells_to_json`, with edges that were written beside, and `outside` where that is always the same.

    Raises:
        ValueError: they are not those of the declared values.
    """
    outside = Outside[question["outside"]] if outside is None else outside
    if "values" not in question:
        return Grid.from_edges(edges, outside=outside)
    grid = grid_from_json({"values": question["values"], "outside": outside.name})
    if grid.edges.tolist() != list(edges):
        raise InvalidArgument("grid", "the stored edges are not those of the stored values")
    return grid
