"""Gains over treatment: uplift and Qini curves with their areas, from released counts of treatment and outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcurves.arguments import InvalidArgument, describe_value, require_probability
from dpcurves.arrays import FloatArray
from dpcurves.conversation import Needs, PrefixWorkload, Setting
from dpcurves.curves.by_category import describe_grouping
from dpcurves.curves.outside import count_outside
from dpcurves.curves.question import By, parse_class_labels, parse_grouping, prepend_category_axes, require_independent
from dpcurves.curves.result import interval_scopes
from dpcurves.data import Axis, Grid
from dpcurves.data.axis import Category, Predictor
from dpcurves.data.grid import require_clamped
from dpcurves.display.canvas import Shade, describe_interval
from dpcurves.display.groups import draw_curves
from dpcurves.inference.bands import simultaneous_errors

from .counted_numbers import CountedNumbers, Statistic, ask_one_table, divide_counts, mask_empty, require_few_counts

CELLS = Grid(-1, 1, cells=40)


@dataclass(frozen=True, eq=False, repr=False)
class Uplift(CountedNumbers):
    """What treating the records with the highest scores gains: uplift and Qini curves, and their areas.

    Areas are those of ``sklift.metrics``: the area above the line of random treatment, over that of a perfect order.
    Scores in one cell are tied.
    """

    KIND = "uplift"
    TITLE = "Uplift by {question.score}"
    REPR_FACTS = "area {area:.3f}"
    LABEL = "number"

    @property
    def area(self) -> float:
        """The area under the uplift curve."""
        return self.value("uplift area")

    @property
    def records_treated(self) -> FloatArray:
        """How many records have the highest scores, from none to all: ``(cells + 1,)``."""
        return np.asarray(_cumulate_from_top(self._likely_tables[0]).sum(axis=(0, 1)))

    @property
    def uplift(self) -> FloatArray:
        """The uplift curve: how many more good outcomes treating these records would bring, of the same shape.

        NaN where nothing is known of an arm.
        """
        return self._find_curve("uplift")

    @property
    def qini(self) -> FloatArray:
        """The Qini curve: more good outcomes among the treated than as many untreated ones would have."""
        return self._find_curve("qini")

    def _find_curve(self, name: str) -> FloatArray:
        heights = CURVES[name](_cumulate_from_top(self._likely_tables[0]))
        return np.full_like(heights, np.nan) if np.isnan(self.value("effect of treatment")) else heights

    def band(self, level: float, *, curve: str = "uplift", population: bool = False) -> tuple[FloatArray, FloatArray]:
        """A band that holds the whole curve with chance about `level`: at each edge of the scores, all at once.

        The noise is simulated, and the largest studentised error over all edges is bounded. It is for these records,
        rounded to their cells; with `population`, for what is expected of as many records of the population that they
        were drawn from, which needs independent units of one record each.

        Args:
            level: The chance that it holds at all edges at once.
            curve: uplift or qini.
            population: Whether it is for the population, not for these records.

        Returns:
            Its lower and upper ends, each of the shape of `records_treated`.

        Raises:
            ValueError: there is no such curve; `level` is not between 0 and 1; or, with `population`, units have
                several records.
        """
        level, read = require_probability("level", level), CURVES.get(curve)
        if read is None:
            raise InvalidArgument("curve", f"one of {', '.join(CURVES)} is needed, got {describe_value(curve)}")
        require_independent(self.privacy, population)
        likely = self._likely_tables[0]
        off = read(_cumulate_from_top(self._tables[0].simulate_counts(population))) - read(_cumulate_from_top(likely))
        error, found, told = (
            simultaneous_errors([off], level),
            read(_cumulate_from_top(self._unbiased_tables[0])),
            read(_cumulate_from_top(likely)),
        )
        most = float(likely.sum())  # nobody gains more than one good outcome
        if np.isnan(self.value("effect of treatment")):
            return np.full_like(told, -most), np.full_like(told, most)
        return np.minimum(np.maximum(found - error, -most), told), np.maximum(np.minimum(found + error, most), told)

    def plot_curves(self, ax: Any = None, *, level: float | None = 0.95) -> Any:
        """Draw both curves with bands at a `level`, and what treating at random gains.

        Bands are for the population where each unit has one record, else for these records; None: there are none.
        """
        found = {"uplift": (self.records_treated, self.uplift), "Qini": (self.records_treated, self.qini)}
        whom, population = list(interval_scopes(self.privacy).items())[-1]
        bands = {
            name: Shade(
                *self.band(level, curve=name.lower(), population=population), describe_interval(level, "band", whom)
            )
            for name in found
            if level is not None
        }
        found["treated at random"] = (self.records_treated[[0, -1]], self.uplift[[0, -1]])
        words = "records with the highest scores", "more good outcomes"
        return draw_curves(found, self.privacy, labels=words, ax=ax, share=False, bands=bands)


@dataclass(frozen=True, slots=True)
class UpliftQuestion:
    """How much an order of records gains that are treated first: uplift and Qini curves (Radcliffe 2007). One turn.

    Treatment has to be independent of what the outcome would be, as in a randomised trial.

    Formal guarantees: a record lies in one cell of one table of treatment, outcome and score.

    Attributes:
        outcome: The column of outcomes, of which 1 is good.
        treatment: The column of treatments, of which 1 is treated.
        score: The column of predicted gains, or a `Scorecard` or `Trees`.
        grid: Public cells of scores; those outside count in the end cells.
        by: Categories that were declared in public: one result for each, all together at the privacy loss of one.
        good, bad: The two outcomes; records with another one are missing.
        treated, untreated: The two treatments.
        model: What is stated about the model; it is printed with the result.

    Raises:
        ValueError: a value stands twice, or there are too many cells.
        TypeError: the grid is none.

    >>> import dpcurves as dp
    >>> table = {"bought": [1, 0, 0, 0] * 500, "mailed": [1, 0, 1, 0] * 500, "gain": [0.4, 0.4, -0.4, -0.4] * 500}
    >>> question = dp.UpliftQuestion("bought", "mailed", "gain", dp.Grid(-1, 1, cells=2))
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     found = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> found.value("qini area") > 0
    True
    """

    outcome: str
    treatment: str
    score: str | Predictor
    grid: Grid = CELLS
    by: By = None
    good: Category = 1
    bad: Category | None = None
    treated: Category = 1
    untreated: Category | None = None
    model: str = "the model is taken as public"

    def __post_init__(self) -> None:
        Axis(self.score, require_clamped("grid", self.grid))
        parse_grouping(self.by)
        outcomes = parse_class_labels(self.outcome, self.good, self.bad, ("bad", "good")).values
        treatments = parse_class_labels(self.treatment, self.treated, self.untreated, ("untreated", "treated")).values
        for (no, yes), (lower, upper) in zip(
            (outcomes, treatments), (("bad", "good"), ("untreated", "treated")), strict=True
        ):
            object.__setattr__(self, upper, yes)
            object.__setattr__(self, lower, no if getattr(self, lower) is not None else None)
        if self.outcome == self.treatment:
            raise InvalidArgument("treatment", "another column than that of outcomes is needed")
        require_few_counts(self.shapes(), "grid")

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Treatments, outcomes, and cells of scores."""
        return ((2, 2, self.grid.cells),)

    def grids(self) -> tuple[int, ...]:
        """How many of the last axes of each table are on grids, whose values outside are counted apart."""
        return (1,)

    def statistics(self) -> Mapping[str, Statistic]:
        """Areas, and the effect of the treatment."""
        return {
            "uplift area": Statistic(lambda tables: _compute_area(tables[0], qini=False), -np.inf, np.inf, 0.0),
            "qini area": Statistic(lambda tables: _compute_area(tables[0], qini=True), -np.inf, np.inf, 0.0),
            "effect of treatment": Statistic(lambda tables: _compute_effect(tables[0].sum(axis=-1)), -1.0, 1.0, 0.0),
        }

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for one table."""
        treatment = parse_class_labels(self.treatment, self.treated, self.untreated, ("untreated", "treated"))
        outcome = parse_class_labels(self.outcome, self.good, self.bad, ("bad", "good"))
        axes = prepend_category_axes(self.by, treatment, outcome, Axis(self.score, count_outside(self.grid)))
        return ask_one_table(Uplift, self, PrefixWorkload(axes), 4)

    def __str__(self) -> str:
        return f"uplift of {self.outcome} by {self.treatment} along {self.score}{describe_grouping(self.by)}"


def _cumulate_from_top(table: FloatArray) -> FloatArray:
    """Records of each treatment and outcome with the highest scores, from none to all: (..., 2, 2, points)."""
    return np.concatenate([np.zeros((*table.shape[:-1], 1)), np.cumsum(table[..., ::-1], axis=-1)], axis=-1)


def _divide_or_zero(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.nan_to_num(divide_counts(part, whole))


def _compute_uplift(above: FloatArray) -> FloatArray:
    untreated, treated = np.moveaxis(above, -3, 0)
    of_both = [_divide_or_zero(each[..., 1, :], each.sum(axis=-2)) for each in (untreated, treated)]
    return np.asarray((of_both[1] - of_both[0]) * above.sum(axis=(-3, -2)))


def _compute_qini(above: FloatArray) -> FloatArray:
    untreated, treated = np.moveaxis(above, -3, 0)
    gained = treated[..., 1, :] - untreated[..., 1, :] * _divide_or_zero(treated.sum(axis=-2), untreated.sum(axis=-2))
    return np.asarray(gained)


CURVES: Mapping[str, Callable[[FloatArray], FloatArray]] = MappingProxyType(
    {"uplift": _compute_uplift, "qini": _compute_qini}
)


def _compute_effect(totals: FloatArray) -> FloatArray:
    untreated, treated = np.moveaxis(totals, -2, 0)
    return divide_counts(treated[..., 1], treated.sum(axis=-1)) - divide_counts(
        untreated[..., 1], untreated.sum(axis=-1)
    )


def _compute_area(table: FloatArray, *, qini: bool) -> FloatArray:
    """The area above that of random treatment, over that of the perfect order."""
    curve, perfect = (
        _compute_qini if qini else _compute_uplift,
        (_make_best_qini if qini else _make_best_uplift)(table.sum(axis=-1)),
    )
    found = []
    for above in (_cumulate_from_top(table), perfect):
        records = above.sum(axis=(-3, -2))
        heights = curve(above)
        under = ((heights[..., 1:] + heights[..., :-1]) / 2 * np.diff(records, axis=-1)).sum(axis=-1)
        found.append(under - records[..., -1] * heights[..., -1] / 2)
    return mask_empty(divide_counts(*found), table.sum(axis=(-2, -1)).min(axis=-1))  # both arms need records


def _make_best_qini(totals: FloatArray) -> FloatArray:
    """Treated with a good outcome first, untreated ones with one last."""
    return _cumulate_from_top(_arrange_cells(totals, [[(1, 1)], [(0, 0), (1, 0)], [(0, 1)]]))


def _make_best_uplift(totals: FloatArray) -> FloatArray:
    """Agreement of treatment and outcome first; then the more of untreated good outcomes and treated bad ones."""
    first, other = ([[(1, 1)], [(0, 0)], *rest] for rest in ([[(0, 1)], [(1, 0)]], [[(1, 0)], [(0, 1)]]))
    more = (totals[..., 0, 1] > totals[..., 1, 0])[..., None, None, None]
    return _cumulate_from_top(np.where(more, _arrange_cells(totals, first), _arrange_cells(totals, other)))


def _arrange_cells(totals: FloatArray, order: Sequence[Sequence[tuple[int, int]]]) -> FloatArray:
    """Totals (..., 2, 2) as cells of rising scores, the first group last."""
    cells = np.zeros((*totals.shape, len(order)))
    for place, group in enumerate(reversed(order)):
        for treatment, outcome in group:
            cells[..., treatment, outcome, place] = totals[..., treatment, outcome]
    return cells
