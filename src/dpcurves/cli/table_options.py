"""Options for columns, grids, labels, scores and models, and what they say of a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import Refused
from .option_groups import NOTHING, Asked, amount, chosen, numbers, one_label, only, option, perhaps, several, whole
from .refusal import Misuse, named

if TYPE_CHECKING:
    from ..curves import Cuts
    from ..data import Grid
    from ..data.axis import Predictor
    from ..privacy import Model
    from ..queries import Hint

A_COLUMN = "A column of numbers."
SIGN = "@"
"""What stands before the file of a model, in the place of a column of scores."""
NO_GRID = "give --grid lower:upper:cells (or --edges, or --values); bounds are declared, never read off data"
MOST_POINTS = 4000
IN_NO_GROUP = "scores outside of the grid are counted apart here and lie in no group; leave --outside out"

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


def _model(option: str, word: str) -> Model:
    """Provenance of a model: public, trained on disjoint records, or private."""
    from ..privacy import Model

    return chosen(option, word, {each.name.lower(): each for each in Model})


def _hint(option: str, word: str) -> Hint:
    from ..queries import Hint

    return chosen(option, word, {known.value: known for known in Hint})


def _cuts(option: str, word: str) -> Cuts:
    from ..curves import Cuts

    return chosen(option, word, {each.value: each for each in Cuts})


def _power(option: str, word: str) -> int:
    return chosen(option, word, {"1": 1, "2": 2})


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
        "P", "Make the curve monotone by the least change of its noise, in absolute values (1) or squares (2).", _power
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
        return {"grid": self._treated(grid)}

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
        "WORD", "What is publicly known of the values: peaked (in a small part) or atoms (in single cells)."
    )

    def told(self, usual: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().told(usual), "hint": None if self.hint is None else _hint("hint", self.hint)}


@dataclass(frozen=True)
class SomeCells(HintedCells):
    """Options for a grid, a hint, and perhaps a few edges below which alone records are counted."""

    some: SomeEdges = SomeEdges()

    def told(self, usual: Mapping[str, Any]) -> dict[str, Any]:
        found = super().told(usual)
        return {**found, "at": self.some.of(found["grid"])}


@dataclass(frozen=True)
class Thresholded(CellOptions):
    """Options for a grid of scores, and for the thresholds of a ROC curve."""

    cuts: str = option(
        "quantiles|medians|fixed",
        "Thresholds: at private quantiles of the scores, at private medians of medians, or fixed by the grid.",
        "quantiles",
    )
    some: SomeEdges = SomeEdges()

    def told(self, usual: Mapping[str, Any]) -> dict[str, Any]:
        found = super().told(usual)
        return {**found, "cuts": _cuts("cuts", self.cuts), "at": self.some.of(found["grid"])}


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
        read=_model,
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
