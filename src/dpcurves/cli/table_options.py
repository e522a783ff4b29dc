"""Options for columns, grids, labels, scores and models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from ..arguments import Refused
from .option_groups import amount, category, chosen, numbers, whole
from .refusal import Misuse, named

if TYPE_CHECKING:
    from ..curves import Cuts
    from ..data import Grid
    from ..data.axis import Category, Predictor
    from ..privacy import Model
    from ..queries import Hint


# Models read from files: ``@model.json`` in the place of a column of scores.


SIGN = "@"


def scores_of(option: str, given: str | Predictor) -> str | Predictor:
    """The column of this name, or for ``@FILE`` the model in that file. A model is returned unchanged.

    Raises:
        Misuse: there is no such file, or it describes no model.
    """
    if not isinstance(given, str):
        return given
    return model_in(option, given[1:]) if given.startswith(SIGN) else given


def model_in(option: str, file: str) -> Predictor:
    """Read a model from a JSON file.

    Raises:
        Misuse: there is no such file, or it describes no model.
    """
    from ..models import predictor_from_json

    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise Misuse(option, f"there is no model to be read in {file!r}") from None
    try:
        return predictor_from_json(text)
    except Refused as error:
        raise Misuse(option, f"the model of {Path(file).name!r}: {error}") from None


# Options for columns, grids, labels, scores and other parameters of questions.


NO_GRID = "give --grid lower:upper:cells (or --edges, or --values); bounds are declared, never read off data"
MOST_POINTS = 4000
IN_NO_GROUP = "scores outside of the grid are counted apart here and lie in no group; leave --outside out"


@dataclass(frozen=True)
class TaskDocument:
    """Option for the file of a task document."""

    task: Annotated[str, Option(help="The task document.", metavar="FILE")]


@dataclass(frozen=True)
class ColumnOptions:
    """Options for a column of numbers and its unit of measurement."""

    column: Annotated[str, Option(help="A column of numbers.", metavar="NAME")]
    measured_in: Annotated[str, Option(help="Its unit of measurement, for the picture.", metavar="UNIT")] = ""


@dataclass(frozen=True)
class CellOptions:
    """Options for a grid of public cells."""

    grid: Annotated[
        str | None,
        Option(
            help="Public cells: lower:upper:cells or lower:upper:width=W; geometric:... for equal ratios, logistic:... "
            "for log-odds.",
            metavar="L:U:N",
        ),
    ] = None
    edges: Annotated[
        str | None,
        Option(help="Public cells by their rising edges, instead of --grid.", metavar="A,B,C"),
    ] = None
    values: Annotated[
        str | None,
        Option(
            help="Declared values, each a cell of its own, instead of --grid: first:last, first:last:step, or A,B,C.",
            metavar="A:B",
        ),
    ] = None
    outside: Annotated[
        str | None,
        Option(
            help="Values outside: clamped into the end cells (the default), or counted apart, in cells of their own.",
            metavar="WHERE",
        ),
    ] = None

    def declared(self) -> Grid:
        """The grid that was given.

        Raises:
            Misuse: no grid was given.
        """
        grid = self._given()
        if grid is None:
            raise Misuse("grid", NO_GRID)
        return self._told(grid)

    def declared_or(self, usual: Grid) -> Grid:
        """The grid that was given, or else `usual`; either with the given treatment of values outside."""
        return self._told(self._given() or usual)

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

    def _told(self, grid: Grid) -> Grid:
        from ..data import Outside

        if self.outside is None:
            return grid
        return grid.with_outside(chosen("outside", self.outside, {"clamped": Outside.CLAMPED, "apart": Outside.APART}))


@dataclass(frozen=True)
class GroupedCells(CellOptions):
    """Options for a grid from which groups of similar scores are formed. A score outside the grid is in no group."""

    outside: Annotated[
        str | None,
        Option(help="Scores outside the grid lie in no group and are counted separately: only apart is allowed.",
               metavar="apart"),
    ] = None  # fmt: skip

    def _told(self, grid: Grid) -> Grid:
        from ..data import Outside

        if CellOptions._told(self, grid).outside is Outside.CLAMPED and self.outside is not None:
            raise Misuse("outside", IN_NO_GROUP)
        return grid


@dataclass(frozen=True)
class HintedCells(CellOptions):
    """Options for a grid, and a public hint on how records are distributed over its cells."""

    hint: Annotated[
        str | None,
        Option(
            help="What is publicly known of the values: peaked (in a small part) or atoms (in single cells).",
            metavar="WORD",
        ),
    ] = None

    def hinted(self) -> Hint | None:
        """The hint that was given.

        Raises:
            Misuse: the hint is unknown.
        """
        from ..queries import Hint

        return None if self.hint is None else chosen("hint", self.hint, {known.value: known for known in Hint})


@dataclass(frozen=True)
class SomeEdges:
    """Options for a few edges of a grid, below which alone records are counted."""

    at: Annotated[
        str | None,
        Option(help="Count records below these values only, at the nearest edges of a grid as fine as you like.",
               metavar="X,X,X"),
    ] = None  # fmt: skip
    points: Annotated[
        str | None, Option(help="Count records below this many evenly spaced edges only.", metavar="N")
    ] = None

    def of(self, grid: Grid) -> tuple[int, ...] | None:
        """Indices of the edges; None: all edges.

        Raises:
            Misuse: a value lies outside the grid, or two have the same nearest edge; or there are too many.
        """
        if self.points is None:
            return None if self.at is None else nearest_edges(self.at, grid)
        if self.at is not None:
            raise Misuse("points", "give --at or --points, not both")
        return spread(self.points, grid)


@dataclass(frozen=True)
class SomeCells(HintedCells):
    """Options for a grid, a hint, and perhaps a few edges below which alone records are counted."""

    some: SomeEdges = SomeEdges()


@dataclass(frozen=True)
class Smooth:
    """Option to make a curve monotone by the least change of its noises."""

    smooth: Annotated[
        str | None,
        Option(
            help="Make the curve monotone by the least change of its noise, in absolute values (1) or squares (2).",
            metavar="P",
        ),
    ] = None

    def power(self) -> int | None:
        """Power of the absolute changes that are minimised, if it was given.

        Raises:
            Misuse: the power is neither 1 nor 2.
        """
        return None if self.smooth is None else chosen("smooth", self.smooth, {"1": 1, "2": 2})


@dataclass(frozen=True)
class SmoothColumn(ColumnOptions):
    """Options for a column of numbers whose curve may be smoothed."""

    smoothing: Smooth = Smooth()


@dataclass(frozen=True)
class TwoClasses:
    """Options for the labels of two classes, and for scores."""

    label: Annotated[str, Option(help="The column of true labels.", metavar="NAME")]
    score: Annotated[str, Option(help="The column of scores, high ones positive; or @FILE, a model.", metavar="NAME")]

    pos_label: Annotated[str, Option(help="The positive label; other labels are missing.", metavar="LABEL")] = "1"
    neg_label: Annotated[
        str | None,
        Option(
            help="The negative label; not needed where the positive one is 1, 0, -1, true or false.",
            metavar="LABEL",
        ),
    ] = None

    @property
    def scores(self) -> str | Predictor:
        """The column of scores, or the model that gives them.

        Raises:
            Misuse: there is no such model.
        """
        return scores_of("score", self.score)

    @property
    def positive(self) -> Category:
        """The positive label."""
        return category(self.pos_label)

    @property
    def negative(self) -> Category | None:
        """The negative label, if it was given."""
        return None if self.neg_label is None else category(self.neg_label)


@dataclass(frozen=True)
class ScoreOptions(TwoClasses):
    """Options for labels of two classes, for scores, and for a statement on the model."""

    model: Annotated[str, Option(help="What pictures and JSON say about the model.", metavar="TEXT")] = (
        "the model is taken as public"
    )


@dataclass(frozen=True, kw_only=True)
class JudgedOptions(TwoClasses):
    """Options for labels of two classes, scores, and the provenance of the model, which has no default."""

    model: Annotated[
        str,
        Option(
            help="How the model was made: it is public, was trained on disjoint records, or is itself private.",
            metavar="public|disjoint|private",
        ),
    ]

    def declared(self) -> Model:
        """Provenance of the model: public, trained on disjoint records, or private."""
        from ..privacy import Model

        return chosen("model", self.model, {each.name.lower(): each for each in Model})


@dataclass(frozen=True)
class Thresholded:
    """Options for the thresholds of a ROC curve."""

    cuts: Annotated[
        str,
        Option(
            help="Thresholds: at private quantiles of the scores, at private medians of medians, or fixed by the grid.",
            metavar="quantiles|medians|fixed",
        ),
    ] = "quantiles"
    some: SomeEdges = SomeEdges()

    def found(self) -> Cuts:
        """Method that places the thresholds: private quantiles, medians of medians, or fixed edges.

        Raises:
            Misuse: the method is unknown.
        """
        from ..curves import Cuts

        return chosen("cuts", self.cuts, {each.value: each for each in Cuts})


@dataclass(frozen=True)
class MostBins:
    """Option for the maximal number of bins of similar scores."""

    bins: Annotated[
        str,
        Option(help="Bins at most: at least 2. They are cut at private quantiles; small ones are joined.", metavar="N"),
    ] = "16"

    @property
    def number(self) -> int:
        """Maximal number of bins."""
        return whole("bins", self.bins, least=2)


@dataclass(frozen=True)
class CoveredOptions:
    """Option for the share of records that a bound should cover."""

    coverage: Annotated[
        str,
        Option(help="The share of records to be covered; in residual plots, by both bounds.", metavar="P"),
    ]

    @property
    def share(self) -> str:
        """The share, exactly as it was typed."""
        return amount("coverage", self.coverage)


@dataclass(frozen=True)
class PlaneCells:
    """Option for the number of cells along each axis of a plane."""

    cells: Annotated[str, Option(help="Cells along each axis: 256 at most.", metavar="N")] = "64"

    @property
    def number(self) -> int:
        """Cells along each axis."""
        return whole("cells", self.cells)


@dataclass(frozen=True)
class GroupOptions:
    """Option for the number of groups of similar scores; left out, it is chosen by records and privacy loss."""

    groups: Annotated[
        str | None,
        Option(
            help="Groups cut at private quantiles: at least 2. If left out, 3 to 20, by records and privacy loss.",
            metavar="N",
        ),
    ] = None

    @property
    def number(self) -> int | None:
        """Number of groups, if it was given."""
        return None if self.groups is None else whole("groups", self.groups, least=2)


@dataclass(frozen=True)
class ShareOptions:
    """Option for the shares (probabilities) of the quantiles."""

    at: Annotated[str, Option(help="Shares of records between 0 and 1.", metavar="P,P,P")] = "0.25,0.5,0.75"

    @property
    def exact(self) -> tuple[float, ...]:
        """Shares between 0 and 1."""
        return numbers("at", self.at)


def nearest_edges(given: str, grid: Grid) -> tuple[int, ...]:
    """Indices of the edges that are nearest to these values.

    Raises:
        Misuse: a value lies outside the grid, or two have the same edge.
    """
    import numpy as np

    values = numbers("at", given)
    if any(not grid.lower <= value <= grid.upper for value in values):
        raise Misuse("at", f"values from {grid.lower:g} to {grid.upper:g} are needed, the bounds of the grid")
    edges = tuple(grid.nearest_edge(np.array(values)).tolist())
    if len(set(edges)) < len(edges):
        raise Misuse("at", "two of the values have the same nearest edge; each edge is asked for once")
    return edges


def spread(points: str, grid: Grid) -> tuple[int, ...]:
    """Indices of so many evenly spaced edges, the last one of the grid among them; every edge if there are no more.

    Raises:
        Misuse: there are too many.
    """
    number = whole("points", points)
    if number > MOST_POINTS:
        raise Misuse("points", f"at most {MOST_POINTS} edges are asked for at once, got {number}")
    return tuple(sorted({max(1, grid.cells * place // number) for place in range(1, number + 1)}))
