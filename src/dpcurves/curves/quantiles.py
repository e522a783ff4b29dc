"""Given quantiles of one column, computed from one released distribution function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from types import MappingProxyType
from typing import Any, ClassVar, Unpack

import numpy as np

from .. import display
from ..arguments import Refused, chance
from ..arrays import FloatArray
from ..conversation import ALL, Brackets, Evidence, Needs, PrivacyStatement, Setting, needed
from ..data import MOST_LAID_OUT, Axis, Grid
from ..queries import Hint, PrefixQuery
from .by_category import axis_label, hint_of, hinted, in_words
from .cdf import CDF, LEVEL, CdfQuestion, quantile_rows
from .prefixes import Searched, all_edges
from .quantile_quantile import shares as shares
from .question import read_grid, statement_of, written_grid
from .result import Covered, Drawing


@dataclass(frozen=True, eq=False, repr=False)
class Quantiles(Covered):
    """Values at or below which given shares of the records lie.

    Attributes:
        p: Shares, of shape ``(quantiles,)``.
        curve: The distribution function that they were computed from, which may be used at no further loss. Where
            counts closed in on the quantiles, it is known best near them. On grids
            too fine for one, the counts that the searches asked for (`Searched`): then each value is the upper edge of
            its cell.

    Data frame: columns ``p``, ``x``, ``cell_lower`` and ``cell_upper``. In JSON a cell without an end has null in
    its place.
    """

    KIND = "quantiles"
    TITLE = "Quantiles of {curve.label}"
    IN_SHORT = "{curve.label}, {p.size} quantiles"
    FORMS = MappingProxyType({
        "p": display.COLUMN, "x": display.COLUMN,
        "cell_lower": {"description": "Where the cell of each quantile begins; null: it has no end.", **display.COLUMN},
        "cell_upper": {"description": "Where it ends; null: it has no end.", **display.COLUMN},
    })  # fmt: skip
    MAY_LACK = ("cell_lower", "cell_upper")  # earlier versions did not write these
    RANGES = MappingProxyType(dict.fromkeys(("x", "cell_lower", "cell_upper"), (-inf, inf)))
    WEIGHTED: ClassVar[bool] = False
    CURVE: ClassVar[type[CDF]] = CDF

    p: FloatArray
    curve: CDF | Searched

    @cached_property
    def x(self) -> FloatArray:
        """Values, of shape ``(quantiles,)``, interpolated inside their cells: computed when they are first used.

        Where values outside the grid were clamped, a quantile in an end cell is given as the inner edge of that cell,
        and lies beyond it.
        """
        return self.curve.quantile(self.p)

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement, which every picture shows."""
        return self.curve.privacy

    @property
    def cells(self) -> FloatArray:
        """The edges of the cell that each quantile lies in, shape ``(quantiles, 2)``: inside cells nothing was counted.

        A cell that also holds values outside of the grid ends in infinity.
        """
        return self.curve.quantile_cell(self.p)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Confidence intervals for the quantiles, all correct at once with probability `level`: ``(quantiles, 2)``.

        They are for the quantiles of these records, whatever ties there are, or, with `population`, for those of the
        population that the records were drawn from; see `CDF.quantile_interval`. The fewer quantiles, the narrower they
        are. They end at edges of cells, so they hold more often than `level` says. An end is infinite where the
        quantile may lie outside the grid.
        """
        return self.curve.quantile_intervals(self.p, level, population=population)

    @property
    def turns(self) -> tuple[Evidence, ...]:
        """The releases, turn by turn."""
        return self.curve.turns

    def _covers(self) -> str:
        return "simultaneous intervals" if len(self.p) > 1 else "interval"

    def _points(self) -> int:
        return len(self.curve.x)

    def _drawn(self, shades: Sequence[Any], /, **how: Unpack[Drawing]) -> Any:
        drawn = {"label": self.curve.label, "edges": getattr(self.curve, "x", ()), "weighted": self.WEIGHTED, **how}
        return display.draw_quantiles(self.p, self._where_known("x", self.x), cells=self.cells, shades=shades, **drawn)  # type: ignore[arg-type]

    def _columns(self) -> dict[str, FloatArray]:
        lower, upper = self.cells.T
        return {"p": self.p, "x": self.x, "cell_lower": lower, "cell_upper": upper}

    def _axes(self) -> Mapping[str, str]:
        names = "x", "cell_lower", "cell_upper", "lower", "upper", "lower_population", "upper_population"
        return dict.fromkeys(names, self.curve.label)

    def _question(self) -> dict[str, object]:
        if isinstance(self.curve, Searched):
            return self.curve.question()
        prefixes = self.curve.prefixes
        return {"label": self.curve.label, **written_grid(prefixes.grid), **prefixes.facts}

    @classmethod
    def _opened(cls, opened: display.Opened) -> Quantiles:
        question, p = opened.question, np.array(shares("p", opened.arrays["p"]))
        if "grid" in question:
            return cls(p, Searched.from_json(opened.evidence, opened.privacy))
        prefixes = cls.CURVE.EVIDENCE.from_json(opened.evidence["releases"], read_grid(question), question)
        # The notes stand in the file. A reading that nothing was granted for had none when it was written.
        read = cls.CURVE.along if opened.privacy.grant else cls.CURVE.rehearsed
        return cls(p, read(prefixes, question["label"], opened.privacy))

    def _summary(self) -> list[tuple[str, str]]:
        return quantile_rows(self.curve, self.p)


@dataclass(frozen=True, slots=True)
class QuantilesQuestion:
    """At or below which values do shares `at` of the records lie? Any number of them costs as much as a `CdfQuestion`.

    A single quantile, or up to three of many records, are counted in three or four turns that close in on them: their
    intervals are mostly half as wide as those of a distribution function, whose steps are wide elsewhere then, and
    their errors smaller; but in a thin tail of a few thousand records whose number is private, errors are up to 1.7
    times as large. Others are read from the distribution function that a `CdfQuestion` counts.

    On a grid with too many cells to count each, or if `search` is given, they are found by bisection: each turn halves
    the cells among which a quantile, or an end of its interval, may lie, and depends on the answers before. All counts
    take their noise from one tree whose loss is charged once: under the same request, other quantiles and a
    distribution function at edges of this grid then cost nothing more.

    Attributes:
        column: A column of numbers.
        grid: Public cells; inside a cell, values are taken as evenly spread. Values outside are clamped into the end
            cells, unless they are counted apart: a quantile there is known to lie beyond one edge only.
        at: Shares between 0 and 1.
        measured_in: The measuring unit of the column, for the axis.
        hint: See `CdfQuestion`.
        search: The level of the intervals that are searched for. None: 0.95 on a grid of more than 2**20 slots; on
            other grids quantiles are computed from a distribution function.

    Raises:
        ValueError: a share is not between 0 and 1, or there is none; `search` is not between 0 and 1, or is given
            together with a hint.
        TypeError: `at` is a single number, or holds something that is not a number.
    """

    column: str
    grid: Grid
    at: tuple[float, ...]
    measured_in: str = ""
    hint: Hint | None = None
    search: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "hint", hint_of(self.hint))
        object.__setattr__(self, "at", shares("at", self.at))
        if self.search is not None:
            object.__setattr__(self, "search", chance("search", self.search))
            if self.hint is not None:
                raise Refused("hint", "a search makes no use of one")

    @property
    def paid_as(self) -> PrefixQuery | None:
        """The query for all counts along this grid, where quantiles are searched for."""
        return None if self._searched_at is None else all_edges(Axis(self.column, self.grid))

    def searched_at(self, level: float) -> QuantilesQuestion:
        """This question; where it would search anyhow, for intervals at this level."""
        return self if self.paid_as is None else self.searching(level)

    def searching(self, level: float) -> QuantilesQuestion:
        """This question, searching for intervals at this level."""
        return replace(self, search=level)

    @property
    def _searched_at(self) -> float | None:
        return LEVEL if self.search is None and Axis(self.column, self.grid).slots > MOST_LAID_OUT else self.search

    def steps(self, setting: Setting) -> Needs[Quantiles]:
        """Turns of a search, or a distribution function, read at the shares."""
        curve: CDF | Searched
        if self._searched_at is not None:
            axis, label = Axis(self.column, self.grid), axis_label(self.column, self.measured_in)
            found = yield from needed(Brackets(axis, self.at, self._searched_at), ALL)
            curve = Searched(found.counts, axis.grid, label, statement_of(found.releases))
        else:
            whole = CdfQuestion(self.column, self.grid, measured_in=self.measured_in, hint=self.hint)
            curve = yield from whole.counted(self.at, split=True)
        return Quantiles(np.array(self.at), curve)

    def __str__(self) -> str:
        return in_words("quantiles", self.column, None) + hinted(self.hint)
