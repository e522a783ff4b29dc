"""Private distribution functions and quantiles of a column whose range is not known in advance (automatic range).

`AutoRangeCdfQuestion` asks for a distribution function without a grid, `AutoRangeQuantilesQuestion` for quantiles; a
session answers them with a `CDF` and with `Quantiles`. Pilot queries with small fractions of the loss search among all
doubles for the decades that hold records (`strategies.range_search`). The last round counts on a grid that is fine
there, with edges at round numbers, and coarse elsewhere. No value is clipped: coarse cells reach to infinity, and a
note states about how many records lie in them.

    y_i = (number of records below x_i) / N        edges x_i chosen from noisy counts

The curve is an estimate from all rounds, and its band is from the last round alone. If counts show that values are
multiples of a step, such as integers, quantiles are multiples, too.

Formal guarantees: the granted loss, pure or zero-concentrated, under either adjacency. The grid is a function of noisy
answers, and the last round costs the same on any grid (adaptive composition).

>>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
>>> question = AutoRangeCdfQuestion("wage")
>>> first = next(question.steps(Setting(PrivacyLoss.pure(1), AddRemove(EACH_RECORD))))
>>> type(first.workload).__name__, first.budget_fraction
('AutomaticRangeWorkload', Fraction(1, 1))
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import ClassVar

import numpy as np

from ..arguments import require_type
from ..arrays import BoolArray, IntArray
from ..conversation import (
    WHOLE_BUDGET,
    AutomaticRangeWorkload,
    Needs,
    PrivacyStatement,
    Release,
    Setting,
    TableCounts,
    ask_workload,
)
from ..conversation.notes import add_advice
from ..display import format_number
from ..display.numerals import format_date, is_date_axis
from ..strategies.range_search import (
    FEWEST_ROUNDS,
    MOST_ROUNDS,
    PILOT_FRACTIONS,
    PilotCounts,
    are_multiples,
    find_value_step,
)
from ..strategies.range_search import TUNING as RANGE_TUNING
from .by_category import describe_question, format_axis_label
from .cdf import CDF
from .outside import infinite_note_thresholds
from .prefixes import PrefixShares
from .quantiles import Quantiles, parse_shares
from .question import TableQuestion, build_privacy_statement

PILOT_FRACTION = Fraction(1, 5)
"""Budget fraction of the pilot queries that choose a grid; the counts on this grid get the rest. A larger fraction
chooses the grid more reliably, and leaves more noise in the counts."""
NO_RANGE_NOTE = add_advice("no range was significant above the noise: {}", "give a range, or ask with a larger loss")
"""Note on a column for which the pilot queries found no power of ten whose noisy count stands out from the noise."""


@dataclass(frozen=True, slots=True)
class AutoRangeCdfQuestion(TableQuestion):
    """Distribution function of a column of numbers with an automatic range, in 3 to 8 rounds for one loss.

    Pilot queries search the range among all doubles, and refine it where most records appear to lie; the last round
    counts on a grid that is fine there, with edges at round numbers, and coarse elsewhere. Values are not clipped: a
    note states how many lie in coarse cells. The curve is computed from all rounds, its band from the last one alone.
    If the counts show that values are multiples of a number, such as integers, quantiles are multiples, too
    (`find_value_step`).

    If a range is publicly known, a `CdfQuestion` on a grid of it is more accurate, especially for few records.

    Formal guarantees: the granted loss, pure or zero-concentrated, under either adjacency: see
    `strategies.range_search`. The type of the column comes from its schema; values affect decisions through noisy
    counts alone.

    Attributes:
        column: A column of numbers, or of dates (in days since the beginning of 1970), times or durations (in seconds).
        measured_in: The measuring unit of the column, for the axis.

    Raises:
        TypeError: `column` is not a name. (The range of a model's scores is public, as are its coefficients.)

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> table = {"wage": np.exp(np.linspace(9, 11, 20_000))}
    >>> session = dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
    >>> curve = session.ask(dp.AutoRangeCdfQuestion("wage"), dp.PrivacyLoss.pure(1))
    >>> bool(abs(curve.cdf(np.exp(10)) - 0.5) < 0.05)
    True
    """

    is_plan_shown_first: ClassVar[bool] = True
    """The plan is shown before the charge, because the number of rounds depends on noisy answers."""

    column: str
    measured_in: str = ""

    def __post_init__(self) -> None:
        """Check that the column is a name.

        Raises:
            WrongArgumentType: `column` is no text.
        """
        require_type("column", self.column, str, "the name of a column")

    def steps(self, setting: Setting) -> Needs[CDF]:
        """Ask the pilot queries, then count records on a grid chosen from their answers; return the distribution
        function.

        Args:
            setting: Public loss and adjacency; not used.
        """
        counts = yield from ask_workload(AutomaticRangeWorkload(self.column), WHOLE_BUDGET)
        return build_cdf_with_range_note(counts, format_axis_label(self.column, self.measured_in))

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """Return one note, for the plan, with the total loss of all rounds and the loss of the first round.

        Args:
            setting: Public loss and adjacency.
        """
        first_loss = setting.loss * PILOT_FRACTIONS[0]
        return (
            f"no range is given: {setting.loss} pays for {FEWEST_ROUNDS} to {MOST_ROUNDS} rounds (noisy releases); the "
            f"first, with {first_loss}, covers all magnitudes, and noisy answers decide how many pilot queries refine "
            "the range, and on which grid the last round counts",
        )

    def __str__(self) -> str:
        """Return the question in words, such as "distribution function of wage, no range given"."""
        return describe_question("distribution function", self.column, None) + ", no range given"


@dataclass(frozen=True, slots=True)
class AutoRangeQuantilesQuestion(TableQuestion):
    """Quantiles of a column of numbers with an automatic range, for the price of an `AutoRangeCdfQuestion`.

    Formal guarantees: as for `AutoRangeCdfQuestion`, from whose answer they are computed.

    Attributes:
        column: A column of numbers.
        probabilities: Levels between 0 and 1.
        measured_in: The measuring unit of the column, for the axis.

    Raises:
        ValueError: a level is not between 0 and 1, or `probabilities` is empty.
        TypeError: `column` is not a name; `probabilities` is a single number, or holds something that is not a number.
    """

    is_plan_shown_first: ClassVar[bool] = True

    column: str
    probabilities: tuple[float, ...] = (0.25, 0.5, 0.75)  # quantile levels
    measured_in: str = ""

    def __post_init__(self) -> None:
        """Check that the column is a name, and parse the probabilities.

        Raises:
            WrongArgumentType: `column` is no text, or `probabilities` is no list of numbers.
            InvalidArgument: a probability is not between 0 and 1, or the list is empty.
        """
        require_type("column", self.column, str, "the name of a column")
        object.__setattr__(self, "probabilities", parse_shares("probabilities", self.probabilities))

    def steps(self, setting: Setting) -> Needs[Quantiles]:
        """Ask for the distribution function over an automatic range; return its quantiles at the probabilities.

        Args:
            setting: Loss and adjacency of the question.
        """
        curve = yield from self._cdf_question.steps(setting)
        return Quantiles(np.array(self.probabilities), curve)

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """Return one note with the total loss of all rounds and the loss of the first round.

        Args:
            setting: Loss and adjacency of the question.
        """
        return self._cdf_question.plan_notes(setting)

    @property
    def _cdf_question(self) -> AutoRangeCdfQuestion:
        """The question for the distribution function from which the quantiles are computed."""
        return AutoRangeCdfQuestion(self.column, self.measured_in)

    def __str__(self) -> str:
        """Return the question in words, such as "quantiles of wage, no range given"."""
        return describe_question("quantiles", self.column, None) + ", no range given"


def build_cdf_with_range_note(counts: TableCounts, label: str) -> CDF:
    """Return the distribution function along the cells that the range search chose, with a note on the range.

    Args:
        counts: Counts of all rounds. If they are placeholders of a plan, no note is added.
        label: Label of the axis.
    """
    # see `note_on_range`
    beyond = infinite_note_thresholds(*(getattr(axis, "column", "") for axis in counts.releases[-1].plan.query.axes))
    privacy: PrivacyStatement = build_privacy_statement(counts.releases, note_thresholds=beyond)
    prefixes = PrefixShares(
        counts.counts,
        counts.chosen_grid,
        counts.evidence[:-1],
        counts.pilot_queries,
        uses_all_rounds=counts.uses_all_rounds,
    )
    if not counts.is_paid:
        return CDF.from_placeholder(prefixes, label, privacy)
    curve = CDF.from_prefixes(replace(prefixes, step=counts.step or _find_step(prefixes)), label, privacy)
    return replace(curve, privacy=curve.privacy.with_notes(note_on_range(curve, label)))


def _find_step(prefixes: PrefixShares) -> float:
    """Return the number of which all values seem to be multiples, by the counts of the last round.

    Args:
        prefixes: Counts along the chosen grid.

    Returns:
        The step in the unit of the column; 0.0 if values have no common step.
    """
    edges = prefixes.grid.edge(np.arange(prefixes.grid.cells + 1))
    known = np.flatnonzero(prefixes.measured_edges)
    noise = sqrt(prefixes.evidence.interval_sums.levels[-1].noise.variance)
    counts = edges[known], prefixes.unbiased_prefix_counts[known + 1], noise, prefixes.total
    step = find_value_step(*counts)
    return step if step and are_multiples(step, *counts, clearly=False) else 0.0


def note_on_range(curve: CDF, label: str = "") -> str:
    """Return a note on the occupied range and the records below and above it, from released numbers.

    The range is the union of the decades that the pilot queries or the last round found occupied, with the neighbour on
    each side if that was refined. Other decades were refined because their noise was large.

    Args:
        curve: The distribution function along the chosen cells.
        label: Label of the axis, which ends with ``(date)`` or ``(moment)`` for dates or times.
    """
    step = curve.prefixes.step
    multiples = ""
    if step:
        multiples = (
            f"; values appear to be multiples of {format_number(step)}, and quantiles are rounded to such multiples"
        )
    grid = curve.prefixes.grid
    first = curve.prefixes.earlier_evidence[0].interval_sums.levels[0]
    bounds = first.bounds(grid.slots)
    occupied = np.flatnonzero(_find_occupied_intervals(curve.prefixes, bounds))
    if not len(occupied):
        return NO_RANGE_NOTE.format("the range of the records is unknown")
    # an interval of the first pilot query with 3 cells or more was refined; zero has its own cell
    is_refined = np.diff(bounds)[1:-1] >= 3
    low = int(occupied[0])
    high = int(occupied[-1])
    low = max(low - 1, 0) if is_refined[max(low - 1, 0)] else low
    high = high + int(is_refined[min(high + 1, len(is_refined) - 1)])
    low, high = (
        min(int(slot) - 1, grid.cells) for slot in (bounds[low + 1], bounds[min(high, len(is_refined) - 1) + 2])
    )
    lower, upper = grid.edge(np.array([low, high])).tolist()
    range_text = " to ".join(format_range(lower, upper, label))
    below = curve.count * curve.y[low]
    above = curve.count * (1 - curve.y[high])
    sides = f"records below: about {format_number(round(below))}, above: about {format_number(round(above))}"
    return f"range {range_text}, found privately; {sides}, mostly in cells that span a power of ten{multiples}"


def _find_occupied_intervals(prefixes: PrefixShares, bounds: IntArray) -> BoolArray:
    """Return which intervals of the first pilot query are occupied, by the pilot queries or by the last round.

    Args:
        prefixes: The prefix counts of all rounds.
        bounds: Index of the first cell of each interval, the outermost ones included, and one after the last cell.
    """
    edges = tuple(prefixes.grid.edges.tolist())
    occupied = PilotCounts(edges, prefixes.earlier_evidence).occupied_decades
    last_levels = prefixes.evidence.interval_sums.levels
    if len(last_levels) == 1:
        last_bounds = last_levels[0].bounds(prefixes.grid.slots)
        noise = sqrt(last_levels[0].noise.variance)
        counts = np.diff(prefixes.unbiased_prefix_counts[last_bounds])
        is_occupied = counts > RANGE_TUNING.occupied_z * noise
        for start, end in zip(last_bounds[:-1][is_occupied], last_bounds[1:][is_occupied], strict=True):
            inside = (bounds[1:-2] < end) & (bounds[2:-1] > start)
            occupied |= inside & (start > 0) & (end < prefixes.grid.slots)
    return occupied


def format_range(lower: float, upper: float, label: str) -> tuple[str, str]:
    """Return both ends of a range as text.

    In a column of dates the ends are dates; beyond the calendar they are its first or last year.

    Args:
        lower: Lower end, in the unit of the column.
        upper: Upper end.
        label: Label of the axis, which ends with ``(date)`` or ``(moment)`` for dates or times.
    """
    if not is_date_axis(label):
        return format_number(lower), format_number(upper)
    return format_date(lower, label) or "year 1", format_date(upper, label) or "year 9999"


def add_empty_range_note(counts: TableCounts) -> tuple[Release, ...]:
    """Return the releases of the range search, the last one with a note if no decade was significantly occupied.

    Args:
        counts: Counts of the range search. If its releases are not charged, as for public data, no note is added.
    """
    *before, last = counts.releases
    edges = last.plan.query.axes[-1].grid.edges  # type: ignore[union-attr]
    if not counts.is_paid or PilotCounts(tuple(edges.tolist()), counts.evidence).occupied_decades.any():
        return counts.releases
    return (*before, replace(last, notes=(*last.notes, NO_RANGE_NOTE.format("the grid may miss all records"))))


def note_on_pilot_queries(setting: Setting, further_rounds: int = 1) -> str:
    """Return a note for plans: the loss of all rounds together, and the fraction of it that the pilot queries spend.

    Args:
        setting: Loss and adjacency of the question.
        further_rounds: Number of rounds after the three pilot queries.
    """
    pilot_loss = setting.loss * PILOT_FRACTION
    last_rounds = "the last round counts on it"
    if further_rounds > 1:
        last_rounds = f"the last {further_rounds} rounds sum on it"
    return (
        f"no grid is given: {setting.loss} pays for {3 + further_rounds} rounds (noisy releases) together; three pilot "
        f"queries find a grid, with {pilot_loss} together, and {last_rounds}"
    )
