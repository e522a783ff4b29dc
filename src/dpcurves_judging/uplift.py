"""Uplift and Qini curves (evaluation of uplift models): how much a treatment helps the records with the highest scores.

`UpliftQuestion` asks for noisy counts by treatment, outcome and score; the result `Uplift` holds curves, areas and
bands. Among the k records with the highest scores, T are treated and U are not; t of the treated and u of the others
have a good outcome. Then

    uplift(k)    (t / T - u / U) * k          additional good outcomes if all k were treated
    Qini(k)      t - u * T / U                additional good outcomes among the treated
    area         area between the curve and a straight line to its end, over the same area of a perfect order

Scores in one cell are tied. The curves are causal only if treatment does not depend on the potential outcomes, as in a
randomised trial.

Formal guarantees: a record lies in one cell of the table of treatment, outcome and score, so the question has the loss
of one histogram. Curves, areas and bands are computed from its noisy counts without records, so they lose nothing more
(post-processing).

Reference: Radcliffe 2007, *Using control groups to target on predicted lift*.

>>> table = np.array([[[9.0, 9.0], [1.0, 1.0]], [[9.0, 4.0], [1.0, 6.0]]])  # treatment, outcome, cells of the score
>>> {name: curve(_cumulate_from_top(table)).round(1).tolist() for name, curve in CURVE_FUNCTIONS.items()}
{'uplift': [0.0, 10.0, 10.0], 'qini': [0.0, 5.0, 5.0]}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcurves.arguments import InvalidArgument, describe_value, require_probability, require_text
from dpcurves.arrays import FloatArray
from dpcurves.conversation import Needs, PrefixWorkload, Setting
from dpcurves.curves.by_category import describe_grouping
from dpcurves.curves.outside import separate_outside
from dpcurves.curves.question import (
    By,
    TableQuestion,
    parse_class_labels,
    parse_grouping,
    prepend_category_axes,
    require_independent,
)
from dpcurves.curves.result import interval_scopes
from dpcurves.data import Axis, Grid
from dpcurves.data.axis import Category, Predictor
from dpcurves.data.grid import require_clipped
from dpcurves.display.canvas import Shade, describe_interval
from dpcurves.display.groups import draw_curves
from dpcurves.inference.bands import simultaneous_errors

from .counted_numbers import CountedNumbers, Statistic, ask_one_table, divide_counts, mask_empty, require_few_counts

UPLIFT_CELLS = Grid(-1, 1, cells=40)
"""Default cells of a predicted uplift, which is a difference of two probabilities: 40 cells of width 0.05."""


@dataclass(frozen=True, eq=False, repr=False)
class Uplift(CountedNumbers):
    """Gain from treating the records with the highest scores: uplift and Qini curves, and their areas.

    Areas follow ``sklift.metrics``: the area above random treatment, over the area of a perfect order. Scores in one
    cell are tied.
    """

    KIND = "uplift"
    TITLE = "Uplift by {question.score}"
    REPR_FACTS = "area {area:.3f}"
    LABEL = "number"

    @property
    def area(self) -> float:
        """The area under the uplift curve above random treatment, divided by the area of a perfect order."""
        return self.value("uplift area")

    @property
    def records_treated(self) -> FloatArray:
        """The x values of both curves, (cells + 1,): how many records are treated, highest scores first, from none to
        all.
        """
        return np.asarray(_cumulate_from_top(self._likely_tables[0]).sum(axis=(0, 1)))

    @property
    def uplift(self) -> FloatArray:
        """The uplift curve: additional good outcomes if the records with the highest scores are treated.

        The array has the shape of `records_treated`. NaN if too few records are treated, or too few are not.
        """
        return self._find_curve("uplift")

    @property
    def qini(self) -> FloatArray:
        """The Qini curve: good outcomes among the treated minus good outcomes of as many untreated records.

        The array has the shape of `records_treated`. NaN if too few records are treated, or too few are not.
        """
        return self._find_curve("qini")

    def _find_curve(self, name: str) -> FloatArray:
        """Return the uplift or the Qini curve at each number of treated records, (cells + 1,).

        All values are NaN if the effect of the treatment is unknown.

        Args:
            name: uplift or qini.
        """
        heights = CURVE_FUNCTIONS[name](_cumulate_from_top(self._likely_tables[0]))
        return np.full_like(heights, np.nan) if np.isnan(self.value("effect of treatment")) else heights

    def band(self, level: float, *, curve: str = "uplift", population: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return a band that contains the whole curve, at all edges of the scores, with probability about `level`.

        The noise is simulated, and the largest studentised error over all edges is bounded. The band is for these
        records, rounded to their cells; with `population`, for the expected curve of as many records of the population
        that they were drawn from, which needs independent units of one record each.

        Args:
            level: The simultaneous coverage probability.
            curve: uplift or qini.
            population: Whether the band is for the population, not for these records.

        Returns:
            Its lower and upper endpoints, each of the shape of `records_treated`.

        Raises:
            ValueError: `curve` is unknown; `level` is not between 0 and 1; or, with `population`, a unit may have
                several records.
        """
        require_text("curve", curve)
        level = require_probability("level", level)
        compute = CURVE_FUNCTIONS.get(curve)
        if compute is None:
            raise InvalidArgument("curve", f"must be one of {', '.join(CURVE_FUNCTIONS)}, got {describe_value(curve)}")
        require_independent(self.privacy, population)
        likely = self._likely_tables[0]
        simulated = compute(_cumulate_from_top(self._tables[0].simulate_counts(population)))
        noise = simulated - compute(_cumulate_from_top(likely))
        error = simultaneous_errors([noise], level)
        estimate = compute(_cumulate_from_top(self._unbiased_tables[0]))
        displayed = compute(_cumulate_from_top(likely))
        largest_gain = float(likely.sum())  # a record gains at most one good outcome
        if np.isnan(self.value("effect of treatment")):
            return np.full_like(displayed, -largest_gain), np.full_like(displayed, largest_gain)
        return np.minimum(np.maximum(estimate - error, -largest_gain), displayed), np.maximum(
            np.minimum(estimate + error, largest_gain), displayed
        )

    def plot_curves(self, ax: Any = None, *, level: float | None = 0.95) -> Any:
        """Plot both curves with bands, and the gain of random treatment.

        Bands are for the population if each unit has one record, else for these records.

        Args:
            ax: Axes of Matplotlib; None: new axes.
            level: Simultaneous coverage probability of the bands; None: no bands.

        Returns:
            The axes.
        """
        curves = {"uplift": (self.records_treated, self.uplift), "Qini": (self.records_treated, self.qini)}
        scope, population = list(interval_scopes(self.privacy).items())[-1]
        bands = {
            name: Shade(
                *self.band(level, curve=name.lower(), population=population), describe_interval(level, "band", scope)
            )
            for name in curves
            if level is not None
        }
        curves["treated at random"] = (self.records_treated[[0, -1]], self.uplift[[0, -1]])
        labels = "records with the highest scores", "more good outcomes"
        axes = draw_curves(curves, self.privacy, labels=labels, ax=ax, share=False, bands=bands)
        return self._finish_plot(axes, self._title(), ax)


@dataclass(frozen=True, slots=True)
class UpliftQuestion(TableQuestion):
    """Ask how much treating records in the order of a score gains: uplift and Qini curves (Radcliffe 2007). One round.

    Treatment must be independent of the potential outcomes, as in a randomised trial.

    Formal guarantees: a record lies in one cell of one table of treatment, outcome and score.

    Attributes:
        outcome: The column of outcomes, of which 1 is good.
        treatment: The column of treatments, of which 1 is treated.
        score: The column of predicted gains, or a `Scorecard` or `TreeEnsemble`.
        grid: Public cells of scores; outside scores count in the end cells.
        by: Public categories: one result for each, all together at the privacy loss of one.
        pos_label: Value of a good outcome.
        neg_label: Value of a bad outcome; None: the usual opposite of `pos_label`, such as 0 of 1. Records with another
            outcome are missing.
        treated_value: Value of a treated record.
        control_value: Value of an untreated record; None: as for `neg_label`.
        model: A statement about the model, printed with the result.

    Raises:
        ValueError: two values are equal, or there are too many cells.
        TypeError: the grid is no `Grid`.

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
    grid: Grid = UPLIFT_CELLS
    by: By = None
    pos_label: Category = 1
    neg_label: Category | None = None
    treated_value: Category = 1
    control_value: Category | None = None
    model: str = "the model is taken as public"

    def __post_init__(self) -> None:
        Axis(self.score, require_clipped("grid", self.grid))
        parse_grouping(self.by)
        outcomes = parse_class_labels(self.outcome, self.pos_label, self.neg_label, ("neg_label", "pos_label")).values
        treatments = parse_class_labels(
            self.treatment, self.treated_value, self.control_value, ("control_value", "treated_value")
        ).values
        for (low_value, high_value), (low_name, high_name) in zip(
            (outcomes, treatments), (("neg_label", "pos_label"), ("control_value", "treated_value")), strict=True
        ):
            object.__setattr__(self, high_name, high_value)
            object.__setattr__(self, low_name, low_value if getattr(self, low_name) is not None else None)
        if self.outcome == self.treatment:
            raise InvalidArgument("treatment", "must differ from outcome: name the column of the treatment")
        require_few_counts(self.shapes(), "grid")

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the shape of the table: untreated or treated, bad or good outcome, and cells of scores."""
        return ((2, 2, self.grid.cells),)

    def grids(self) -> tuple[int, ...]:
        """Return, for each table, how many of its last axes are grids that count values outside in cells of their
        own.
        """
        return (1,)

    def statistics(self) -> Mapping[str, Statistic]:
        """Return the statistics of the result by name, each with its function of the table and its range.

        They are the areas under the uplift and Qini curves, and the effect of the treatment on all records.
        """
        return {
            "uplift area": Statistic(lambda tables: _compute_area(tables[0], qini=False), -np.inf, np.inf, 0.0),
            "qini area": Statistic(lambda tables: _compute_area(tables[0], qini=True), -np.inf, np.inf, 0.0),
            "effect of treatment": Statistic(lambda tables: _compute_effect(tables[0].sum(axis=-1)), -1.0, 1.0, 0.0),
        }

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for one table: counts by treatment, outcome and cell of the score.

        Args:
            setting: Loss and adjacency.

        Returns:
            A generator of queries that returns an `Uplift`, or one for each category of `by`.
        """
        treatment = parse_class_labels(
            self.treatment, self.treated_value, self.control_value, ("control_value", "treated_value")
        )
        outcome = parse_class_labels(self.outcome, self.pos_label, self.neg_label, ("neg_label", "pos_label"))
        axes = prepend_category_axes(self.by, treatment, outcome, Axis(self.score, separate_outside(self.grid)))
        return ask_one_table(Uplift, self, PrefixWorkload(axes), 4)

    def __str__(self) -> str:
        return f"uplift of {self.outcome} by {self.treatment} along {self.score}{describe_grouping(self.by)}"


def _cumulate_from_top(table: FloatArray) -> FloatArray:
    """Return counts of the records with the highest scores, from none to all, shape (..., 2, 2, cells + 1).

    Args:
        table: Counts by treatment, outcome and cell of the score, shape (..., 2, 2, cells).
    """
    return np.concatenate([np.zeros((*table.shape[:-1], 1)), np.cumsum(table[..., ::-1], axis=-1)], axis=-1)


def _divide_or_zero(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return a quotient; 0 where the divisor is too small to divide by.

    Args:
        part: Counts.
        whole: Counts of the same shape.
    """
    return np.nan_to_num(divide_counts(part, whole))


def _compute_uplift(above: FloatArray) -> FloatArray:
    """Return the uplift curve: the difference of the rates of good outcomes, times the number of records.

    Args:
        above: Counts of the records with the highest scores, shape (..., treatment, outcome, points).

    Returns:
        Heights of the curve, shape (..., points); a rate is 0 where there are too few records.
    """
    untreated, treated = np.moveaxis(above, -3, 0)
    rates = [_divide_or_zero(counts[..., 1, :], counts.sum(axis=-2)) for counts in (untreated, treated)]
    return np.asarray((rates[1] - rates[0]) * above.sum(axis=(-3, -2)))


def _compute_qini(above: FloatArray) -> FloatArray:
    """Return the Qini curve: good outcomes of the treated, minus good outcomes of the untreated scaled to as many
    records.

    Args:
        above: Counts of the records with the highest scores, shape (..., treatment, outcome, points).

    Returns:
        Heights of the curve, shape (..., points); a rate is 0 where there are too few records.
    """
    untreated, treated = np.moveaxis(above, -3, 0)
    gained = treated[..., 1, :] - untreated[..., 1, :] * _divide_or_zero(treated.sum(axis=-2), untreated.sum(axis=-2))
    return np.asarray(gained)


CURVE_FUNCTIONS: Mapping[str, Callable[[FloatArray], FloatArray]] = MappingProxyType(
    {"uplift": _compute_uplift, "qini": _compute_qini}
)
"""Functions that compute a curve from cumulated counts, by the name of the curve; other names are refused."""


def _compute_effect(totals: FloatArray) -> FloatArray:
    """Return the rate of good outcomes of the treated minus the rate of the untreated.

    Args:
        totals: Counts of all records, shape (..., treatment, outcome).

    Returns:
        Numbers of shape (...), from -1 to 1; NaN if too few records are treated, or too few are not.
    """
    untreated, treated = np.moveaxis(totals, -2, 0)
    treated_rate = divide_counts(treated[..., 1], treated.sum(axis=-1))
    return treated_rate - divide_counts(untreated[..., 1], untreated.sum(axis=-1))


def _compute_area(table: FloatArray, *, qini: bool) -> FloatArray:
    """Return the area above random treatment, divided by the area of the perfect order.

    Args:
        table: Counts by treatment, outcome and cell of the score, shape (..., 2, 2, cells).
        qini: If True, the area of the Qini curve, else of the uplift curve.

    Returns:
        Numbers of shape (...); NaN if too few records are treated, or too few are not.
    """
    curve = _compute_qini if qini else _compute_uplift
    # A total below 0 is noise. It would make the area of the perfect order small, or 0, and hide the whole area.
    totals = np.maximum(table.sum(axis=-1), 0.0)
    perfect = (_make_best_qini if qini else _make_best_uplift)(totals)
    areas = []
    for above in (_cumulate_from_top(table), perfect):
        records = above.sum(axis=(-3, -2))
        heights = curve(above)
        area = ((heights[..., 1:] + heights[..., :-1]) / 2 * np.diff(records, axis=-1)).sum(axis=-1)
        areas.append(area - records[..., -1] * heights[..., -1] / 2)
    return mask_empty(divide_counts(*areas), table.sum(axis=(-2, -1)).min(axis=-1))  # both treatments need records


def _make_best_qini(totals: FloatArray) -> FloatArray:
    """Return cumulated counts of the order that maximises the Qini curve, shape (..., 2, 2, points).

    Treated records with a good outcome come first, untreated records with a good outcome last.

    Args:
        totals: Counts by treatment and outcome, shape (..., 2, 2).
    """
    return _cumulate_from_top(_arrange_cells(totals, [[(1, 1)], [(0, 0), (1, 0)], [(0, 1)]]))


def _make_best_uplift(totals: FloatArray) -> FloatArray:
    """Return cumulated counts of the order that maximises the uplift curve, shape (..., 2, 2, points).

    Records whose treatment and outcome agree come first, then the larger of the two remaining groups.

    Args:
        totals: Counts by treatment and outcome, shape (..., 2, 2).
    """
    first, second = ([[(1, 1)], [(0, 0)], *last_groups] for last_groups in ([[(0, 1)], [(1, 0)]], [[(1, 0)], [(0, 1)]]))
    prefers_first = (totals[..., 0, 1] > totals[..., 1, 0])[..., None, None, None]
    return _cumulate_from_top(np.where(prefers_first, _arrange_cells(totals, first), _arrange_cells(totals, second)))


def _arrange_cells(totals: FloatArray, order: Sequence[Sequence[tuple[int, int]]]) -> FloatArray:
    """Return counts by treatment, outcome and cell for scores that order the groups of records as `order` says, as the
    perfect order does, shape (..., 2, 2, len(order)).

    Args:
        totals: Counts by treatment and outcome, shape (..., 2, 2).
        order: Groups from the highest to the lowest score, each a list of pairs of treatment and outcome.
    """
    cells = np.zeros((*totals.shape, len(order)))
    for cell, group in enumerate(reversed(order)):
        for treatment, outcome in group:
            cells[..., treatment, outcome, cell] = totals[..., treatment, outcome]
    return cells
