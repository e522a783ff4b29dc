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
from ..arguments import InvalidArgument, require_probability
from ..arrays import FloatArray
from ..conversation import ALL, Evidence, Needs, PrivacyStatement, QuantileSearchWorkload, Setting, ask_workload
from ..data import MOST_LAID_OUT, Axis, Grid
from ..queries import Hint, PrefixQuery
from .by_category import describe_hint, describe_question, format_axis_label, parse_hint
from .cdf import CDF, LEVEL, CdfQuestion, format_quantile_rows
from .prefixes import SearchedQuantiles, build_all_edges_query
from .quantile_quantile import parse_shares as parse_shares
from .question import build_privacy_statement, edges_to_json, grid_from_edges
from .result import IntervalResult, PlotArguments


@dataclass(frozen=True, eq=False, repr=False)
class Quantiles(IntervalResult):
    """Values at or below which given shares of the records lie.

    Attributes:
        p: Shares, of shape ``(quantiles,)``.
        curve: The distribution function that they were computed from, which may be used at no further loss. Where
            counts closed in on the quantiles, it is known best near them. On grids
            too fine for one, the counts that the searches asked for (`SearchedQuantiles`): then each value is the upper edge of
            its cell.

    Data frame: columns ``p``, ``x``, ``cell_lower`` and ``cell_upper``. In JSON a cell without an end has null in
    its place.
    """

    KIND = "quantiles"
    TITLE = "Quantiles of {curve.label}"
    REPR_FACTS = "{curve.label}, {p.size} quantiles"
    JSON_SCHEMAS = MappingProxyType({
        "p": display.COLUMN, "x": display.COLUMN,
        "cell_lower": {"description": "Where the cell of each quantile begins; null: it has no end.", **display.COLUMN},
        "cell_upper": {"description": "Where it ends; null: it has no end.", **display.COLUMN},
    })  # fmt: skip
    OPTIONAL_ARRAYS = ("cell_lower", "cell_upper")  # earlier versions did not write these
    POSSIBLE_RANGES = MappingProxyType(dict.fromkeys(("x", "cell_lower", "cell_upper"), (-inf, inf)))
    IS_WEIGHTED: ClassVar[bool] = False
    CURVE_CLASS: ClassVar[type[CDF]] = CDF

    p: FloatArray
    curve: CDF | SearchedQuantiles

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
    def rounds(self) -> tuple[Evidence, ...]:
        """The releases, turn by turn."""
        return self.curve.rounds

    def _interval_name(self) -> str:
        return "simultaneous intervals" if len(self.p) > 1 else "interval"

    def _count_points(self) -> int:
        return len(self.curve.x)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        drawn = {"label": self.curve.label, "edges": getattr(self.curve, "x", ()), "weighted": self.IS_WEIGHTED, **how}
        return display.draw_quantiles(self.p, self._mask_unknown("x", self.x), cells=self.cells, shades=shades, **drawn)  # type: ignore[arg-type]

    def _columns(self) -> dict[str, FloatArray]:
        lower, upper = self.cells.T
        return {"p": self.p, "x": self.x, "cell_lower": lower, "cell_upper": upper}

    def _axis_labels(self) -> Mapping[str, str]:
        names = "x", "cell_lower", "cell_upper", "lower", "upper", "lower_population", "upper_population"
        return dict.fromkeys(names, self.curve.label)

    def _question(self) -> dict[str, object]:
        if isinstance(self.curve, SearchedQuantiles):
            return self.curve.question_to_json()
        prefixes = self.curve.prefixes
        return {"label": self.curve.label, **edges_to_json(prefixes.grid), **prefixes.facts}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Quantiles:
        question, p = document.question, np.array(parse_shares("p", document.arrays["p"]))
        if "grid" in question:
            return cls(p, SearchedQuantiles.from_json(document.evidence, document.privacy))
        prefixes = cls.CURVE_CLASS.SHARES_CLASS.from_json(
            document.evidence["releases"], grid_from_edges(question), question
        )
        # The notes stand in the file. A reading that nothing was granted for had none when it was written.
        read = cls.CURVE_CLASS.from_prefixes if document.privacy.grant else cls.CURVE_CLASS.from_placeholder
        return cls(p, read(prefixes, question["label"], document.privacy))

    def _summary(self) -> list[tuple[str, str]]:
        return format_quantile_rows(self.curve, self.p)


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
        object.__setattr__(self, "hint", parse_hint(self.hint))
        object.__setattr__(self, "at", parse_shares("at", self.at))
        if self.search is not None:
            object.__setattr__(self, "search", require_probability("search", self.search))
            if self.hint is not None:
                raise InvalidArgument("hint", "a search makes no use of one")

    @property
    def charged_query(self) -> PrefixQuery | None:
        """The query for all counts along this grid, where quantiles are searched for."""
        return None if self._search_level is None else build_all_edges_query(Axis(self.column, self.grid))

    def with_level_of_search(self, level: float) -> QuantilesQuestion:
        """This question; where it would search anyhow, for intervals at this level."""
        return self if self.charged_query is None else self.with_search(level)

    def with_search(self, level: float) -> QuantilesQuestion:
        """This question, searching for intervals at this level."""
        return replace(self, search=level)

    @property
    def _search_level(self) -> float | None:
        return LEVEL if self.search is None and Axis(self.column, self.grid).slots > MOST_LAID_OUT else self.search

    def steps(self, setting: Setting) -> Needs[Quantiles]:
        """Turns of a search, or a distribution function, read at the shares."""
        curve: CDF | SearchedQuantiles
        if self._search_level is not None:
            axis, label = Axis(self.column, self.grid), format_axis_label(self.column, self.measured_in)
            found = yield from ask_workload(QuantileSearchWorkload(axis, self.at, self._search_level), ALL)
            curve = SearchedQuantiles(found.counts, axis.grid, label, build_privacy_statement(found.releases))
        else:
            whole = CdfQuestion(self.column, self.grid, measured_in=self.measured_in, hint=self.hint)
            curve = yield from whole.ask_counts(self.at, has_separate_round_numbers=True)
        return Quantiles(np.array(self.at), curve)

    def __str__(self) -> str:
        return describe_question("quantiles", self.column, None) + describe_hint(self.hint)
