"""Options for the privacy loss, the guarantee, the account, the table, its columns, grids, labels, scores and models.

Methods raise `Misuse` where options contradict each other, or one is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from ..arguments import Refused
from .option_groups import (
    NOTHING,
    Asked,
    Reader,
    amount,
    categories,
    chosen,
    numbers,
    one_label,
    only,
    option,
    perhaps,
    several,
    whole,
)
from .refusal import Misuse, named

if TYPE_CHECKING:
    from ..curves.question import By
    from ..data import Categories, Grid
    from ..data.axis import Category, Predictor
    from ..privacy import Neighbours, PrivacyLoss, Unit

ACCOUNT = "The account in the ledger; needed if there are several."
A_COLUMN = "A column of numbers."
SIGN = "@"
"""What stands before the file of a model, in the place of a column of scores."""
NO_GRID = "give --grid lower:upper:cells (or --edges, or --values); bounds are declared, never read off data"
MOST_POINTS = 4000
IN_NO_GROUP = "scores outside of the grid are counted apart here and lie in no group; leave --outside out"

# Options for the privacy loss, adjacency, unit of privacy, and the ledger account that is charged.


@dataclass(frozen=True)
class Price:
    """Options for the privacy loss, epsilon or rho. There is no default."""

    epsilon: str | None = perhaps("E", "The privacy loss epsilon, of pure differential privacy: a number above zero.")
    rho: str | None = perhaps(
        "R", "The privacy loss rho, of zero-concentrated differential privacy, instead of --epsilon."
    )

    def loss(self) -> PrivacyLoss:
        """The privacy loss that was given. Raises `ValueError` if a ledger could not represent it."""
        from ..ledger import Currency
        from ..privacy import PrivacyLoss

        if self.epsilon is not None and self.rho is not None:
            raise Misuse("epsilon, rho", "give --epsilon (pure) or --rho (zCDP), not both")
        if self.epsilon is not None:
            return Currency.require_countable(PrivacyLoss.pure(amount("epsilon", self.epsilon)), self.epsilon)
        if self.rho is not None:
            return Currency.require_countable(PrivacyLoss.zcdp(amount("rho", self.rho)), self.rho)
        raise Misuse("epsilon", "give --epsilon (pure) or --rho (zCDP); there is no default")


@dataclass(frozen=True)
class Promise:
    """Options for the privacy guarantee: adjacency, unit of privacy, and rows per unit."""

    adjacency: str | None = perhaps("KIND", "replace-one: the number of units is public; add-remove: it is private.")
    unit: str | None = perhaps(
        "NAME", "The column that says whose record it is; without it each record is protected on its own."
    )
    rows_per_unit: str | None = perhaps("K", "The most records of one unit that are used; needed with --unit.")

    def neighbours(self) -> Neighbours:
        """The kind of adjacency."""
        from ..privacy import Neighbours

        if self.adjacency is None:
            raise Misuse(
                "adjacency",
                "give --adjacency replace-one (the number of units is public) or add-remove (it is private)",
            )
        return chosen("adjacency", self.adjacency, {kind.value: kind for kind in Neighbours})

    def protected(self) -> Unit:
        """The unit of privacy."""
        from ..privacy import EACH_RECORD, Unit

        if self.unit is None and self.rows_per_unit is None:
            return EACH_RECORD
        if not self.unit:
            raise Misuse("unit", "say with --unit which column tells whose record it is")
        if self.rows_per_unit is None:
            raise Misuse("rows-per-unit", "say with --rows-per-unit how many records of one unit are used at most")
        return Unit(self.unit, whole("rows-per-unit", self.rows_per_unit))


@dataclass(frozen=True)
class Units:
    """Option for the public number of units."""

    units: str | None = perhaps("N", "Under replace-one: the public number of units.")

    def number(self, neighbours: Neighbours) -> int | None:
        """Public number of units; None: it was not given. Refused where it is private."""
        if self.units is None:
            return None
        if not neighbours.knows_units:
            raise Misuse("units", "their number is private under add-remove; leave it out")
        return whole("units", self.units)


@dataclass(frozen=True)
class Payer:
    """Options for the ledger and account that are charged, and for the request id."""

    ledger: str | None = perhaps(
        "URL", "The ledger that is charged, as in sqlite:///budget.db; it sets adjacency and unit."
    )
    dataset: str | None = perhaps("NAME", ACCOUNT)
    request_id: str | None = perhaps(
        "ID", "A name for this request: asked again under it, the same curve costs nothing."
    )


# Options for the data source: a file, or a database engine that counts records in place.


POSTGRES = ("postgresql://", "postgres://")
SPARK = "sc://"
ENGINES = (*POSTGRES, SPARK)


@dataclass(frozen=True)
class SourceOptions:
    """Options for a table in a file, or in a database engine that counts its records in place."""

    data: Annotated[
        str, Argument(metavar="DATA", help="A CSV file with a header, a Parquet file, or postgresql://reader@host/db.")
    ]
    delimiter: str = option("SIGN", "What separates the fields of a CSV file.", ",")
    table: str | None = perhaps("SCHEMA.TABLE", "The table or view, where DATA is the URL of a database.")

    @property
    def is_file(self) -> bool:
        """True if the table is a file."""
        return not self.data.startswith(ENGINES)

    def records(self) -> object:
        """Data source for a session: the file's name, or the table of an engine."""
        if self.is_file:
            if self.table is not None:
                raise Misuse("table", "it names a table of a database; DATA is no URL of a database")
            return self.data
        if self.table is None:
            raise Misuse("table", "say which table or view of the database is asked, as in --table clinic.visits")
        from ..records.engines import table_at

        return table_at(self.data, self.table)


# Options for the columns of categories by which records are grouped.


@dataclass(frozen=True)
class Split(Asked):
    """Options for a curve of each category, or of each combination of categories."""

    by: list[str] | None = perhaps(  # noqa: RUF009
        "NAME",
        "A column of categories: one curve for each. Or NAME=A,B,C; given several times, one curve for each "
        "combination.",
    )
    categories: str | None = perhaps("A,B,C", "The categories, declared in public; other values count as missing.")

    def told(self, usual: Mapping[str, Any]) -> dict[str, Any]:
        """The columns to split by."""
        return {"by": self.declared()}

    def declared(self) -> By:
        """The columns and their categories; None: no split."""
        given = self.by or []
        if self.categories is None:
            return self._told_apart(tuple(self._with_categories(each) for each in given))
        if not given:
            raise Misuse("by", "say with --by which column the categories are of")
        if len(given) > 1:
            raise Misuse("categories", "they are of one column; give each as --by NAME=A,B,C")
        return _made(given[0], categories("categories", self.categories))

    def _told_apart(self, keys: tuple[Categories, ...]) -> By:
        from ..curves.question import keys_of

        with named("by", "by"):
            return keys_of(keys) if len(keys) > 1 else keys[0] if keys else None

    def _with_categories(self, given: str) -> Categories:
        column, sign, names = given.partition("=")
        if not sign:
            raise Misuse(
                "categories", "declare them with --categories A,B,C or as --by NAME=A,B,C; they are never read off data"
            )
        return _made(column, categories("by", names))


def _made(column: str, values: tuple[Category, ...]) -> Categories:
    from ..data import Categories

    if len(set(values)) < len(values):
        raise Misuse("categories", "each is declared once")
    return Categories(column, values)


# Parsers of values that only questions to tables take.


def scores_of(option: str, given: str) -> str | Predictor:
    """The column of this name, or for ``@FILE`` the model in that file; a model is passed on."""
    if not isinstance(given, str) or not given.startswith(SIGN):
        return given
    from ..models import predictor_from_json

    file = given[1:]
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise Misuse(option, f"there is no model to be read in {file!r}") from None
    try:
        return predictor_from_json(text)
    except Refused as error:
        raise Misuse(option, f"the model of {Path(file).name!r}: {error}") from None


def grid_of(option: str, text: str) -> Grid:
    """Parse public cells."""
    from ..data import Grid

    with named(option, "grid"):
        return Grid.parse(text)


VALUE: Callable[[Any], str] = attrgetter("value")


def one_of(room: str, kind: str, name: Callable[[Any], str]) -> Reader:
    """Make the parser of words for an enumeration's members; it imports the enumeration when it is needed."""

    def read(option: str, word: str) -> Any:
        members = getattr(import_module(f"..{room}", __package__), kind)
        return chosen(option, word, {name(each): each for each in members})

    return read


# Options for columns.


@dataclass(frozen=True)
class TaskDocument:
    """Option for the file of a task document."""

    task: str = option("FILE", "The task document.")


@dataclass(frozen=True)
class ColumnOptions(Asked):
    """Options for a column of numbers and its unit of measurement."""

    column: str = option("NAME", A_COLUMN)
    measured_in: str = option("UNIT", "Its unit of measurement, for the picture.", "")


@dataclass(frozen=True)
class SmoothColumn(ColumnOptions):
    """Options for a column of numbers whose curve may be made monotone by the least change of its noise."""

    smooth: str | None = perhaps(
        "P",
        "Make the curve monotone by the least change of its noise, in absolute values (1) or squares (2).",
        lambda option, word: chosen(option, word, {"1": 1, "2": 2}),
    )


# Options for grids.


@dataclass(frozen=True)
class CellOptions(Asked):
    """Options for a grid of public cells."""

    grid: str | None = perhaps(
        "L:U:N",
        "Public cells: lower:upper:cells or lower:upper:width=W; geometric:... for equal ratios, logistic:... "
        "for log-odds.",
    )
    edges: str | None = perhaps("A,B,C", "Public cells by their rising edges, instead of --grid.")
    values: str | None = perhaps(
        "A:B",
        "Declared values, each a cell of its own, instead of --grid: first:last, first:last:step, or A,B,C.",
    )
    outside: str | None = perhaps(
        "WHERE",
        "Values outside: clamped into the end cells (the default), or counted apart, in cells of their own.",
    )

    def told(self, usual: Mapping[str, Any]) -> dict[str, Any]:
        """The grid that was given, or else the question's own; either with the given treatment of values outside."""
        grid = self._given() or usual.get("grid", MISSING)
        if grid is MISSING:
            raise Misuse("grid", NO_GRID)
        found = {**super().told(usual), "grid": self._treated(grid)}
        some = found.pop("some", None)
        if some is not None:
            found["at"] = some.of(found["grid"])
        return {name: value for name, value in found.items() if name not in ("edges", "values", "outside")}

    def declared(self) -> Grid:
        """The grid that was given."""
        grid: Grid = CellOptions.told(self, NOTHING)["grid"]
        return grid

    def _given(self) -> Grid | None:
        from ..data import Grid, Values

        given = [name for name in ("grid", "edges", "values") if getattr(self, name) is not None]
        if len(given) > 1:
            raise Misuse(given[1], f"give --{given[0]} or --{given[1]}, not both")
        if self.values is not None:
            return Values.parse(self.values)
        if self.edges is None:
            return None if self.grid is None else Grid.parse(self.grid)
        with named("edges", "grid"):
            return Grid.from_edges(numbers("edges", self.edges))

    def _treated(self, grid: Grid) -> Grid:
        from ..data import Outside

        if self.outside is None:
            return grid
        return grid.with_outside(chosen("outside", self.outside, {"clamped": Outside.CLAMPED, "apart": Outside.APART}))


@dataclass(frozen=True)
class GroupedCells(CellOptions):
    """Options for a grid from which groups of similar scores are formed. A score outside the grid is in no group."""

    outside: str | None = perhaps(
        "apart", "Scores outside the grid lie in no group and are counted separately: only apart is allowed."
    )

    def _treated(self, grid: Grid) -> Grid:
        from ..data import Outside

        if CellOptions._treated(self, grid).outside is Outside.CLAMPED and self.outside is not None:
            raise Misuse("outside", IN_NO_GROUP)
        return grid


@dataclass(frozen=True)
class SomeEdges:
    """Options for a few edges of a grid, below which alone records are counted."""

    at: str | None = perhaps(
        "X,X,X", "Count records below these values only, at the nearest edges of a grid as fine as you like."
    )
    points: str | None = perhaps("N", "Count records below this many evenly spaced edges only.")

    def of(self, grid: Grid) -> tuple[int, ...] | None:
        """Indices of the edges; None: all edges. Refused where a value lies outside, or there are too many."""
        if self.points is None:
            return None if self.at is None else _nearest_edges(self.at, grid)
        if self.at is not None:
            raise Misuse("points", "give --at or --points, not both")
        number = whole("points", self.points)
        if number > MOST_POINTS:
            raise Misuse("points", f"at most {MOST_POINTS} edges are asked for at once, got {number}")
        return tuple(sorted({max(1, grid.cells * place // number) for place in range(1, number + 1)}))


def _nearest_edges(given: str, grid: Grid) -> tuple[int, ...]:
    import numpy as np

    values = numbers("at", given)
    if any(not grid.lower <= value <= grid.upper for value in values):
        raise Misuse("at", f"values from {grid.lower:g} to {grid.upper:g} are needed, the bounds of the grid")
    edges = tuple(grid.nearest_edge(np.array(values)).tolist())
    if len(set(edges)) < len(edges):
        raise Misuse("at", "two of the values have the same nearest edge; each edge is asked for once")
    return edges


@dataclass(frozen=True)
class HintedCells(CellOptions):
    """Options for a grid, and a public hint on how records are distributed over its cells."""

    hint: str | None = perhaps(
        "WORD",
        "What is publicly known of the values: peaked (in a small part) or atoms (in single cells).",
        one_of("queries", "Hint", VALUE),
    )


@dataclass(frozen=True)
class SomeCells(HintedCells):
    """Options for a grid, a hint, and perhaps a few edges below which alone records are counted."""

    some: SomeEdges = SomeEdges()


@dataclass(frozen=True)
class Thresholded(CellOptions):
    """Options for a grid of scores, and for the thresholds of a ROC curve."""

    cuts: str = option(
        "quantiles|medians|fixed",
        "Thresholds: at private quantiles of the scores, at private medians of medians, or fixed by the grid.",
        "quantiles",
        one_of("curves", "Cuts", VALUE),
    )
    some: SomeEdges = SomeEdges()


# Options for labels of two classes, and for scores.


@dataclass(frozen=True)
class TwoClasses(Asked):
    """Options for the labels of two classes, and for scores."""

    label: str = option("NAME", "The column of true labels.")
    score: str = option("NAME", "The column of scores, high ones positive; or @FILE, a model.", read=scores_of)
    pos_label: str = option("LABEL", "The positive label; other labels are missing.", "1", one_label)
    neg_label: str | None = perhaps(
        "LABEL", "The negative label; not needed where the positive one is 1, 0, -1, true or false.", one_label
    )


@dataclass(frozen=True)
class ScoreOptions(TwoClasses):
    """Options for labels of two classes, for scores, and for a statement on the model."""

    model: str = option("TEXT", "What pictures and JSON say about the model.", "the model is taken as public")


# Groups of one option each.


ONE_COLUMN = only(column=option("NAME", A_COLUMN))
SHARES = only(at=option("P,P,P", "Shares of records between 0 and 1.", "0.25,0.5,0.75", numbers))
MOMENTS = only(moments=option("N", "2: count, sum, mean and variance; 1: no variance, and less noise.", "2", whole))
COVERAGE = only(
    coverage=option("P", "The share of records to be covered; in residual plots, by both bounds.", read=amount)
)
ORIGIN = only(
    model=option(
        "public|disjoint|private",
        "How the model was made: it is public, was trained on disjoint records, or is itself private.",
        read=one_of("privacy", "Model", lambda each: each.name.lower()),
    )
)
BINS = only(
    bins=option(
        "N", "Bins at most: at least 2. They are cut at private quantiles; small ones are joined.", "16", several
    )
)
GROUPS = only(
    groups=perhaps(
        "N", "Groups cut at private quantiles: at least 2. If left out, 3 to 20, by records and privacy loss.", several
    )
)
CELLS = only(cells=option("N", "Cells along each axis: 256 at most.", "64", whole))
