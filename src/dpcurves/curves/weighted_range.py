"""Weighted distribution functions, histograms, quantiles, sums and means of a column whose range is not known in
advance.

A fifth of the budget pays for three pilot queries, which count records without their weights. They choose the cells of
a weighted curve, or the clipping bounds of a weighted sum or mean. The other four fifths pay for a question of
`curves.weighted` or `curves.weighted_summary` on these cells or between these bounds.

Formal guarantees: the granted loss, pure or zero-concentrated, under either adjacency. *Proof.* The pilot queries lose
at most a fifth of it (see `strategies.range_search`). Cells and bounds are a function of their noisy answers and of
public facts. For any value of these answers the weighted rounds lose at most the remaining four fifths, since a record
adds at most its cap to one cell of any grid (see `WeightQuery`). So the losses of all rounds add up (adaptive
composition: Dwork and Roth 2014, section 3.5; Bun and Steinke 2016, Lemma 2.3).

>>> from dpcurves.conversation import Setting
>>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
>>> question = AutoRangeWeightedCdfQuestion("wage", weight="w", weight_cap=10)
>>> first = next(question.steps(Setting(PrivacyLoss.pure(1), AddRemove(EACH_RECORD))))
>>> type(first.workload).__name__, first.budget_fraction
('AutomaticGridWorkload', Fraction(1, 5))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod, sqrt
from typing import Any, ClassVar

import numpy as np

from ..arguments import InvalidArgument, require_type
from ..arrays import FloatArray
from ..conversation import WHOLE_BUDGET, AutomaticGridWorkload, Evidence, Needs, Release, Setting, ask_workload
from ..data import Grid, TypedAxis, Weights
from ..display import format_number
from .adaptive_histogram import (
    MISSED_RECORDS_NOTE,
    AutoRangeHistogramQuestion,
    PilotEstimate,
    ask_pilot_queries,
    choose_clipping_bounds,
    choose_even_cells,
    scale_budget_fractions,
)
from .automatic_range import NO_RANGE_NOTE, PILOT_FRACTION, format_range, note_on_pilot_queries
from .by_category import describe_question, format_axis_label
from .outside import infinite_note_thresholds
from .quantiles import parse_shares
from .question import By, TableQuestion, parse_grouping
from .summary import COUNT, MEAN, OUTSIDE_FRACTION, SUM
from .weighted import (
    WeightedCDF,
    WeightedCdfQuestion,
    WeightedHistogram,
    WeightedHistogramQuestion,
    WeightedQuantiles,
    ask_weighted_shares,
)
from .weighted_summary import (
    ROUND_FRACTIONS,
    WEIGHT_FRACTION,
    WeightedSummaryQuestion,
    ask_between,
    ask_weights,
    parse_statistic,
)


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the choice of cells and clipping bounds."""

    grid_cells: int = 256
    """Cells. Approximate number of cells of a weighted distribution function."""
    least_mean_weight: float = 0.01
    """Ratio to the cap. Smallest mean weight that the choice of bounds assumes: the released one may be noise."""


TUNING = Tuning()
"""The number of cells of a weighted curve whose range is found privately, and the least mean weight: see `Tuning`."""
UNIT_CELL = Grid(0, 1, cells=1)
"""A single cell in which every value counts: for the sum of all weights, and where cells are not yet chosen."""


@dataclass(frozen=True, slots=True)
class AutoRangeWeightedCdfQuestion(TableQuestion):
    """Weighted distribution function of a column with an automatic range, in five rounds for one loss.

    A fifth of the loss pays for three pilot queries about records without their weights, which choose the cells. The
    rest asks as a `WeightedCdfQuestion` does. Values beyond the cells are counted apart; a note states how much weight
    lies there. If a range is publicly known, a `WeightedCdfQuestion` on a grid of it is more accurate.

    Formal guarantees: see the module.

    Attributes:
        column: A column of numbers, or of dates (in days since the beginning of 1970), times or durations (in seconds).
        weight, weight_cap, measured_in, by: As in `WeightedCdfQuestion`; all categories have the same cells.

    Raises:
        ValueError: the cap is missing, or is no finite number above 0.
        TypeError: a field is of another type.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> table = {"wage": np.exp(np.linspace(9, 11, 20_000)), "w": np.resize([1, 3], 20_000)}
    >>> session = dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
    >>> curve = session.ask(dp.AutoRangeWeightedCdfQuestion("wage", "w", 4), dp.PrivacyLoss.pure(1))
    >>> bool(abs(curve.cdf(np.exp(10)) - 0.5) < 0.05)
    True
    """

    is_plan_shown_first: ClassVar[bool] = True

    column: str
    weight: str
    weight_cap: float
    measured_in: str = ""
    by: By = None

    def __post_init__(self) -> None:
        require_type("column", self.column, str, "the name of a column")
        object.__setattr__(self, "weight_cap", self.with_grid(UNIT_CELL).weight_cap)

    def with_grid(self, grid: Grid) -> WeightedCdfQuestion:
        """Return the `WeightedCdfQuestion` about the same columns with values counted on `grid`."""
        return WeightedCdfQuestion(self.column, grid, self.weight, self.weight_cap, self.measured_in, self.by)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask the pilot queries, then for the sums of weights in the cells that they chose.

        Args:
            setting: Loss and adjacency of the question.
        """
        workload = AutomaticGridWorkload(self.column, TUNING.grid_cells)
        pilot_counts = yield from ask_workload(workload, PILOT_FRACTION)
        pilot = PilotEstimate.from_pilot_queries(pilot_counts, setting)
        question = self.with_grid(pilot_counts.chosen_grid)
        return (yield from _ask_on_chosen_cells(question, pilot, pilot_counts.releases, setting))

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """Return one note with the total loss of all rounds and the loss of the pilot queries.

        Args:
            setting: Loss and adjacency of the question.
        """
        return (note_on_pilot_queries(setting, further_rounds=2),)

    def __str__(self) -> str:
        weights = Weights(self.weight, self.weight_cap)
        return f"{describe_question('distribution function', self.column, self.by)}, {weights}, no range given"


@dataclass(frozen=True, slots=True)
class AutoRangeWeightedHistogramQuestion(TableQuestion):
    """Weighted histogram of a column with an automatic range: equal cells of a round width, in five rounds.

    A fifth of the loss pays for three pilot queries about records without their weights, which choose the cells. The
    rest asks as a `WeightedHistogramQuestion` does. Values beyond the cells are counted apart; a note states how much
    weight lies there.

    Formal guarantees: see the module.

    Attributes:
        column: A column of numbers, or of dates (in days since the beginning of 1970), times or durations (in seconds).
        weight, weight_cap, measured_in, by: As in `WeightedHistogramQuestion`; all categories have the same cells.
        cells: The largest number of cells.

    Raises:
        ValueError: the cap is missing, or is no finite number above 0; `cells` is below 2 or above 10,000.
        TypeError: a field is of another type.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> table = {"wage": np.exp(np.linspace(9, 11, 20_000)), "w": np.resize([1, 3], 20_000)}
    >>> session = dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
    >>> bars = session.ask(dp.AutoRangeWeightedHistogramQuestion("wage", "w", 4), dp.PrivacyLoss.pure(1))
    >>> bool(abs(bars.count.sum() - 40_000) < 4000)
    True
    """

    is_plan_shown_first: ClassVar[bool] = True

    column: str
    weight: str
    weight_cap: float
    measured_in: str = ""
    by: By = None
    cells: int = 40  # as in `AutoRangeHistogramQuestion`

    def __post_init__(self) -> None:
        cells = AutoRangeHistogramQuestion(self.column, self.by, self.measured_in, self.cells).cells
        object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "weight_cap", self.with_grid(UNIT_CELL).weight_cap)

    def with_grid(self, grid: Grid) -> WeightedHistogramQuestion:
        """Return the `WeightedHistogramQuestion` about the same columns with values counted on `grid`."""
        return WeightedHistogramQuestion(self.column, grid, self.weight, self.weight_cap, self.measured_in, self.by)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask the pilot queries, then for the sums of weights in the cells that they chose.

        Args:
            setting: Loss and adjacency of the question.
        """
        pilot_counts = yield from ask_pilot_queries(self.column)
        pilot = PilotEstimate.from_pilot_queries(pilot_counts, setting)
        question = self.with_grid(choose_even_cells(pilot, self.cells))
        return (yield from _ask_on_chosen_cells(question, pilot, pilot_counts.releases, setting))

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """Return one note with the total loss of all rounds and the loss of the pilot queries.

        Args:
            setting: Loss and adjacency of the question.
        """
        return (note_on_pilot_queries(setting, further_rounds=2),)

    def __str__(self) -> str:
        weights = Weights(self.weight, self.weight_cap)
        return f"{describe_question('histogram', self.column, self.by)}, {weights}, no range given"


@dataclass(frozen=True, slots=True)
class AutoRangeWeightedQuantilesQuestion(TableQuestion):
    """Weighted quantiles of a column with an automatic range, for the loss of an `AutoRangeWeightedCdfQuestion`.

    Formal guarantees: as for `AutoRangeWeightedCdfQuestion`, from whose answer they are computed.

    Attributes:
        column: A column of numbers, dates, times or durations.
        probabilities: Shares of the weight between 0 and 1.
        weight, weight_cap, measured_in: As in `AutoRangeWeightedCdfQuestion`.

    Raises:
        ValueError: a share is not between 0 and 1, or `probabilities` is empty; the cap is missing, or is no finite
            number above 0.
        TypeError: a field is of another type.
    """

    is_plan_shown_first: ClassVar[bool] = True

    column: str
    probabilities: tuple[float, ...]
    weight: str
    weight_cap: float
    measured_in: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", parse_shares("probabilities", self.probabilities))
        object.__setattr__(self, "weight_cap", self._cdf_question.weight_cap)

    @property
    def _cdf_question(self) -> AutoRangeWeightedCdfQuestion:
        """The question for the weighted distribution function from which the quantiles are computed."""
        return AutoRangeWeightedCdfQuestion(self.column, self.weight, self.weight_cap, self.measured_in)

    def steps(self, setting: Setting) -> Needs[WeightedQuantiles]:
        """Ask for a weighted distribution function; return its quantiles at the probabilities.

        Args:
            setting: Loss and adjacency of the question.
        """
        curve = yield from self._cdf_question.steps(setting)
        return WeightedQuantiles(np.array(self.probabilities), curve)

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """Return one note with the total loss of all rounds and the loss of the pilot queries.

        Args:
            setting: Loss and adjacency of the question.
        """
        return self._cdf_question.plan_notes(setting)

    def __str__(self) -> str:
        weights = Weights(self.weight, self.weight_cap)
        return f"{describe_question('quantiles', self.column, None)}, {weights}, no range given"


@dataclass(frozen=True, slots=True)
class AutoRangeWeightedSummaryQuestion(TableQuestion):
    """Weighted sum and mean of a column with automatic clipping bounds, in eight rounds for one loss.

    A fifth of the loss pays for three pilot queries about records without their weights. The sum of the weights comes
    next, from which the mean weight follows; both choose the bounds with the smallest expected error, which is noise
    plus clipping bias. The rest asks as a `WeightedSummaryQuestion` does. Intervals are for values clipped to the
    bounds, which a note states.

    Formal guarantees: see the module. The bounds depend on the released sum of weights, too, and on no record.

    Attributes:
        column: A column of numbers, dates, times or durations.
        weight, weight_cap, measured_in, by: As in `WeightedSummaryQuestion`; all categories have the same bounds.
        statistic: The number that plots show: sum or mean. (A count of weights needs no bounds: ask
            `WeightedSummaryQuestion` for it.)

    Raises:
        ValueError: the cap is missing, or is no finite number above 0; `statistic` is another word.
        TypeError: a field is of another type.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> table = {"wage": np.exp(np.linspace(9, 11, 20_000)), "w": np.resize([1, 3], 20_000)}
    >>> session = dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
    >>> summary = session.ask(dp.AutoRangeWeightedSummaryQuestion("wage", "w", 4), dp.PrivacyLoss.pure(1))
    >>> bool(abs(summary.mean - 25_885) < 1000)
    True
    """

    is_plan_shown_first: ClassVar[bool] = True

    column: str
    weight: str
    weight_cap: float
    measured_in: str = ""
    statistic: str = MEAN
    by: By = None

    def __post_init__(self) -> None:
        require_type("column", self.column, str, "the name of a column")
        if parse_statistic(self.statistic) == COUNT:
            raise InvalidArgument(
                "statistic",
                "a count of weights needs no bounds: ask WeightedSummaryQuestion for it, or write sum or mean",
            )
        object.__setattr__(self, "weight_cap", self.with_bounds(0.0, 1.0).weight_cap)

    def with_bounds(self, lower: float, upper: float) -> WeightedSummaryQuestion:
        """Return the `WeightedSummaryQuestion` about the same columns with these clipping bounds.

        Args:
            lower: Lower clipping bound, in units of the column.
            upper: Upper clipping bound, in the same units.
        """
        return WeightedSummaryQuestion(
            self.column, lower, upper, self.weight, self.weight_cap, self.measured_in, self.statistic, self.by
        )

    def steps(self, setting: Setting) -> Needs[Any]:
        """Yield the pilot queries and the sum of weights, which choose the clipping bounds, then the weighted sums
        between these bounds; return the summary, or one by category.

        Args:
            setting: Loss and adjacency of the question.
        """
        pilot_counts = yield from ask_pilot_queries(self.column)
        pilot = PilotEstimate.from_pilot_queries(pilot_counts, setting)
        remaining_fraction = WHOLE_BUDGET - PILOT_FRACTION
        weight = yield from ask_weights(
            self.with_bounds(0.0, 1.0), TypedAxis(self.column, UNIT_CELL), WEIGHT_FRACTION * remaining_fraction
        )
        cap_sum = float(Evidence.from_release(weight).unbiased_cells.sum()) / Weights.STEPS
        mean_weight = min(max(cap_sum / max(float(pilot.records.sum()), 1.0), TUNING.least_mean_weight), 1.0)
        noise = setting.count_noise(ROUND_FRACTIONS[1] * (1 - OUTSIDE_FRACTION) * remaining_fraction)
        lower, upper = choose_clipping_bounds(
            pilot, sqrt(noise.variance) / mean_weight, noise.family, power=1, of_sum=self.statistic == SUM,
            rows=prod(categories.slots for categories in parse_grouping(self.by)),
        )  # fmt: skip
        question_steps = ask_between(
            self.with_bounds(lower, upper),
            TypedAxis(self.column, Grid(lower, upper, cells=1)),
            weight,
            pilot_counts.releases,
            (_note_on_bounds(pilot, lower, upper),) if pilot_counts.is_paid else (),
        )
        return (yield from scale_budget_fractions(question_steps, remaining_fraction))

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """Return one note with the total loss of all rounds and the loss of the pilot queries.

        Args:
            setting: Loss and adjacency of the question.
        """
        return (
            f"no bounds are given: {setting.loss} pays for 8 rounds (noisy releases) together; three pilot queries "
            f"find bounds, with {setting.loss * PILOT_FRACTION} together, and the rest adds up weights, and weighted "
            "values that are clipped to the bounds",
        )

    def __str__(self) -> str:
        return f"{self.with_bounds(0.0, 1.0)}, no bounds given"


def _ask_on_chosen_cells(
    question: WeightedCdfQuestion | WeightedHistogramQuestion,
    pilot: PilotEstimate,
    pilot_releases: Sequence[Release],
    setting: Setting,
) -> Needs[Any]:
    """Ask the weighted question on the grid that the pilot queries chose, with the budget that they left.

    Args:
        question: The question, with the chosen grid.
        pilot: Estimate from the pilot queries.
        pilot_releases: Releases of the pilot queries.
        setting: Loss and adjacency of the whole question.
    """
    weights = Weights(question.weight, question.weight_cap)
    label = format_axis_label(question.column, question.measured_in)
    question_steps = ask_weighted_shares(
        question,
        TypedAxis(question.column, question.grid),
        replace(setting, loss=setting.loss * (WHOLE_BUDGET - PILOT_FRACTION)),
        WeightedHistogram if isinstance(question, WeightedHistogramQuestion) else WeightedCDF,
        earlier=pilot_releases,
        note_thresholds=infinite_note_thresholds(question.column),
        describe_sums=partial(_note_on_cells, pilot, question.grid, label, weights),
    )
    return (yield from scale_budget_fractions(question_steps, WHOLE_BUDGET - PILOT_FRACTION))


def _note_on_cells(pilot: PilotEstimate, grid: Grid, label: str, weights: Weights, sums: FloatArray) -> tuple[str, ...]:
    """Return a note on the chosen cells and on the weight beyond them, from released numbers.

    Args:
        pilot: Estimate from the pilot queries.
        grid: The chosen cells.
        label: Label of the axis.
        weights: Column of weights, with its cap.
        sums: Unbiased sums of weights in all cells, with those below and above at the ends, divided by the cap,
            (slots,).
    """
    bounds = format_range(grid.lower, grid.upper, label)
    if not pilot.is_significant:
        return (NO_RANGE_NOTE.format(MISSED_RECORDS_NOTE.format("cells", *bounds)),)
    below, above = (format_number(max(round(float(sums[slot]) * weights.cap), 0)) for slot in (0, -1))
    return (
        f"cells from {bounds[0]} to {bounds[1]}, found privately; sum of weights below: about {below}, above: about "
        f"{above}, counted apart",
    )


def _note_on_bounds(pilot: PilotEstimate, lower: float, upper: float) -> str:
    """Return a note on the chosen clipping bounds, from released numbers.

    Args:
        pilot: Estimate from the pilot queries.
        lower: Lower bound that was chosen.
        upper: Upper bound that was chosen.
    """
    bounds = format_number(lower), format_number(upper)
    if not pilot.is_significant:
        return NO_RANGE_NOTE.format(MISSED_RECORDS_NOTE.format("bounds", *bounds))
    return (
        f"bounds {bounds[0]} to {bounds[1]}, found privately; values beyond are clipped to them, and intervals of the "
        "sum and the mean are for the clipped values"
    )
