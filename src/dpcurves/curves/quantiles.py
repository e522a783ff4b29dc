"""Private quantiles (median, percentiles) of one column, with simultaneous confidence intervals.

A quantile at level p is a value q with at most a share p of the records below it, and at least a share p at or below
it. `QuantilesQuestion` has the column, a public grid of cells, and the levels. A session (one privacy budget) answers
it with `Quantiles`: one value per level, its cell and its interval. Public facts (the grid, the loss, a public number
of records) decide how quantiles are found:

- Usually one distribution function along the grid is released, and any number of quantiles is read from it
  (`strategies.prefixes`).
- For one quantile, or up to three of a public and large number of records, rounds divide only intervals in which they
  may lie.
- On a grid with too many cells to count each, bisection along one noise tree finds them in ``ceil(log2(cells))`` rounds
  for the loss of one.

Intervals hold for all requested quantiles together with probability `level`. They invert a test at each edge (an edge
is in the interval if the noisy count below it is compatible with p), or a band if there are more than nine quantiles.

Formal guarantees: the loss that the analyst grants to the question, pure (epsilon) or zero-concentrated (rho). Rounds
spend public fractions of it that add up to 1 (adaptive composition). Quantiles are functions of released counts, so
further ones from the same counts cost nothing.

References: Woodruff 1952, Brookmeyer and Crowley 1982 (intervals); Barczewski, Mawass and Ramon (the search).

>>> import dpcurves as dp
>>> grid = dp.Grid(0, 100, cells=100)
>>> quartiles = dp.quantiles([20, 30, 40, 70] * 500, (0.2, 0.6), grid=grid, epsilon=100, adjacency=dp.ADD_REMOVE)
>>> quartiles.x.round().tolist()
[20.0, 40.0]
"""

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
from ..conversation import (
    WHOLE_BUDGET,
    Evidence,
    Needs,
    PrivacyStatement,
    QuantileSearchWorkload,
    Setting,
    ask_workload,
)
from ..data import MOST_STORED_EDGES, Axis, Grid
from ..queries import Hint, PrefixQuery
from .by_category import describe_hint, describe_question, format_axis_label, parse_hint
from .cdf import CDF, CdfQuestion, format_quantile_rows
from .prefixes import SearchedQuantiles, build_all_edges_query
from .quantile_quantile import parse_shares as parse_shares
from .question import TableQuestion, build_privacy_statement, edges_to_json, grid_from_edges
from .result import SUMMARY_LEVEL, IntervalResult, PlotArguments


@dataclass(frozen=True, eq=False, repr=False)
class Quantiles(IntervalResult):
    """Values at or below which given shares of the records lie.

    Attributes:
        p: Shares, of shape ``(quantiles,)``.
        curve: The distribution function that they were computed from, which can be used at no further loss. If adaptive
            rounds narrowed in on the quantiles, it is most accurate near them. On grids too fine for a distribution
            function, the counts of the searches (`SearchedQuantiles`): then each value is the upper edge of its cell.

    Data frame: columns ``p``, ``x``, ``cell_lower`` and ``cell_upper``. In JSON an infinite end of a cell is null.
    """

    KIND = "quantiles"
    TITLE = "Quantiles of {curve.label}"
    COLUMN_WORDS = display.describe_columns(
        p="probability", x="{curve.label}", cell_lower="cell, from", cell_upper="cell, to"
    )
    MEASURED = "x"
    REPR_FACTS = "{curve.label}, {p.size} quantiles"
    JSON_SCHEMAS = MappingProxyType({
        "p": display.COLUMN, "x": display.COLUMN,
        "cell_lower": {"description": "Where the cell of each quantile begins; null: it has no end.", **display.COLUMN},
        "cell_upper": {"description": "Where it ends; null: it has no end.", **display.COLUMN},
    })  # fmt: skip
    OPTIONAL_ARRAYS = ("cell_lower", "cell_upper")  # earlier versions did not write them
    POSSIBLE_RANGES = MappingProxyType(dict.fromkeys(("x", "cell_lower", "cell_upper"), (-inf, inf)))
    IS_WEIGHTED: ClassVar[bool] = False
    CURVE_CLASS: ClassVar[type[CDF]] = CDF

    p: FloatArray
    curve: CDF | SearchedQuantiles

    @cached_property
    def x(self) -> FloatArray:
        """Values, of shape ``(quantiles,)``, interpolated inside their cells. Computed on first use.

        If outside values were clipped, a quantile in an end cell is given as the inner edge of that cell, and lies
        beyond it.
        """
        return self.curve.quantile(self.p)

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement, which every plot shows."""
        return self.curve.privacy

    @property
    def cells(self) -> FloatArray:
        """The ends of the cell of each quantile, shape ``(quantiles, 2)``; positions inside cells were not released.

        A cell that also holds outside values has an infinite end.
        """
        return self.curve.quantile_cell(self.p)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return confidence intervals for the quantiles, simultaneous with probability `level`: ``(quantiles, 2)``.

        They are for the quantiles of these records, with any ties, or, with `population`, for the quantiles of the
        population that the records were drawn from; see `CDF.quantile_interval`. With fewer quantiles they are
        narrower. They end at edges of cells, so coverage exceeds `level`. An end is infinite if the quantile may lie
        outside the grid.

        Args:
            level: Probability that all intervals hold their quantiles, between 0 and 1.
            population: Whether intervals are for the quantiles of the population, not for the quantiles of these
                records.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        return self.curve.quantile_intervals(self.p, level, population=population)

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """Evidence of all rounds of the curve, in order."""
        return self.curve.rounds

    def _interval_name(self) -> str:
        """Return the name of the intervals for legends: "simultaneous intervals", or "interval" of one quantile."""
        return "simultaneous intervals" if len(self.p) > 1 else "interval"

    def _count_points(self) -> int:
        """Return the number of edges of the distribution function, which determines the time of simulations."""
        return len(self.curve.x)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the quantiles against their levels, with cells and intervals; return the Matplotlib axes.

        Args:
            shades: Intervals of the quantiles, one `Shade` for these records and perhaps one for the population.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        facts = {"label": self.curve.label, "edges": getattr(self.curve, "x", ()), "weighted": self.IS_WEIGHTED, **how}
        return display.draw_quantiles(self.p, self._mask_unknown("x", self.x), cells=self.cells, shades=shades, **facts)  # type: ignore[arg-type]

    def _columns(self) -> dict[str, FloatArray]:
        """Return the columns of the data frame, one row for each quantile: share, value, and both ends of its cell."""
        lower, upper = self.cells.T
        return {"p": self.p, "x": self.x, "cell_lower": lower, "cell_upper": upper}

    def _axis_labels(self) -> Mapping[str, str]:
        """Return the label of each column of values.

        Returns:
            The label of the curve's column for each column name, also for columns of interval ends that may be absent.
        """
        names = "x", "cell_lower", "cell_upper", "lower", "upper", "lower_population", "upper_population"
        return dict.fromkeys(names, self.curve.label)

    def _question(self) -> dict[str, object]:
        """Return the JSON fields that restore the quantiles with `_from_json`: the fields of the curve or of the
        search."""
        if isinstance(self.curve, SearchedQuantiles):
            return self.curve.question_to_json()
        prefixes = self.curve.prefixes
        return {"label": self.curve.label, **edges_to_json(prefixes.grid), **prefixes.stored_settings}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Quantiles:
        """Return the quantiles from a parsed JSON document, the inverse of `to_json`.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        question = document.question
        p = np.array(parse_shares("p", document.arrays["p"]))
        if "grid" in question:
            return cls(p, SearchedQuantiles.from_json(document.evidence, document.privacy))
        prefixes = cls.CURVE_CLASS.SHARES_CLASS.from_json(
            document.evidence["releases"], grid_from_edges(question), question
        )
        # The file has the notes. A result without a charge had none when it was written.
        build_curve = cls.CURVE_CLASS.from_prefixes if document.privacy.grant else cls.CURVE_CLASS.from_placeholder
        return cls(p, build_curve(prefixes, question["label"], document.privacy))

    def _summary(self) -> list[tuple[str, str]]:
        """Return pairs of texts for the summary: the share of each quantile, and its value with its confidence
        intervals.
        """
        return format_quantile_rows(self.curve, self.p)


@dataclass(frozen=True, slots=True)
class QuantilesQuestion(TableQuestion):
    """Ask for the quantiles of a column at these probabilities. Any number of them costs as much as a
    `CdfQuestion`.

    A single quantile, or up to three of a public and large number of records, are counted in three or four adaptive
    rounds that narrow in on them: their intervals are mostly half as wide as intervals from a distribution function,
    and their errors smaller; the steps of the distribution function are then wide elsewhere. In a thin tail of a few
    thousand records whose number is private, errors are up to 1.7 times as large instead. Other quantiles are computed
    from a distribution function. For both, zero and other round numbers of the grid have separate cells, since values
    are heaped there: see `split_at_round_numbers`. A `CdfQuestion` separates zero alone, on at least 500 cells, because
    each additional cell adds noise to all steps.

    On a grid with too many cells to count each, or if `search` is given, they are found by bisection: each round halves
    the cells that may contain a quantile, or an end of its interval, and depends on the answers before. All counts
    share one noise tree whose loss is charged once: under the same request, other quantiles and a distribution function
    at edges of this grid are then free.

    Attributes:
        column: A column of numbers.
        grid: Public cells; inside a cell, values are assumed evenly spread. Outside values are clipped into the end
            cells, unless they are counted apart: a quantile there is only known to lie beyond an edge.
        probabilities: Shares between 0 and 1.
        measured_in: The measuring unit of the column, for the axis.
        hint: Public knowledge of the distribution, which must not come from the data: `PEAKED` in a small part of the
            grid, `SPREAD` over much of it, or `ATOMS`, single cells with many records. None: the answers decide.
        search: The level of the intervals of the search. None: 0.95 on a grid of more than 2**20 slots; on other grids
            quantiles are computed from a distribution function.

    Raises:
        ValueError: a share is not between 0 and 1, or no share is given; `search` is not between 0 and 1, or is given
            together with a hint.
        TypeError: `probabilities` is a single number, or has an entry that is no number.
    """

    column: str
    grid: Grid
    probabilities: tuple[float, ...]
    measured_in: str = ""
    hint: Hint | None = None
    search: float | None = None

    def __post_init__(self) -> None:
        """Parse the hint, the probabilities and the level of the search.

        Raises:
            InvalidArgument: a probability or `search` is out of range, or a hint is given together with `search`.
            WrongArgumentType: a field has another type.
        """
        object.__setattr__(self, "hint", parse_hint(self.hint))
        object.__setattr__(self, "probabilities", parse_shares("probabilities", self.probabilities))
        if self.search is not None:
            object.__setattr__(self, "search", require_probability("search", self.search))
            if self.hint is not None:
                raise InvalidArgument("hint", "a search does not use a hint; leave hint or search out")

    @property
    def charged_query(self) -> PrefixQuery | None:
        """The query that the ledger charges for a private search of quantiles: all counts along this grid; None without
        a search.
        """
        return None if self._search_level is None else build_all_edges_query(Axis(self.column, self.grid))

    def with_level_of_search(self, level: float) -> QuantilesQuestion:
        """Return the question with its search aimed at intervals of level `level`; unchanged without a search."""
        return self if self.charged_query is None else self.with_search(level)

    def with_search(self, level: float) -> QuantilesQuestion:
        """Return the question with a binary search in several rounds, aimed at intervals of level `level`."""
        return replace(self, search=level)

    @property
    def _search_level(self) -> float | None:
        """Level of the intervals that a private search aims at; None: the quantiles are computed from a distribution
        function."""
        searches = self.search is None and Axis(self.column, self.grid).slots > MOST_STORED_EDGES
        return SUMMARY_LEVEL if searches else self.search

    def steps(self, setting: Setting) -> Needs[Quantiles]:
        """Yield the counts that the question needs, and return the quantiles.

        A private binary search is asked for if `search` is given or the grid has too many cells to count each;
        otherwise a distribution function.

        Args:
            setting: Public loss and adjacency of the question.
        """
        curve: CDF | SearchedQuantiles
        if self._search_level is not None:
            axis = Axis(self.column, self.grid)
            label = format_axis_label(self.column, self.measured_in)
            answer = yield from ask_workload(
                QuantileSearchWorkload(axis, self.probabilities, self._search_level), WHOLE_BUDGET
            )
            curve = SearchedQuantiles(answer.counts, axis.grid, label, build_privacy_statement(answer.releases))
        else:
            cdf_question = CdfQuestion(self.column, self.grid, measured_in=self.measured_in, hint=self.hint)
            curve = yield from cdf_question.ask_counts(self.probabilities, has_separate_round_numbers=True)
        return Quantiles(np.array(self.probabilities), curve)

    def __str__(self) -> str:
        """Return the question in words, such as "quantiles of income"."""
        return describe_question("quantiles", self.column, None) + describe_hint(self.hint)
