"""Distribution functions and quantiles of a column of which no range is known: one question, one loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import ClassVar

import numpy as np

from ..arguments import require_type
from ..arrays import BoolArray, IntArray
from ..conversation import (
    ALL,
    AutomaticRangeWorkload,
    Needs,
    PrivacyStatement,
    Release,
    Setting,
    TableCounts,
    ask_workload,
)
from ..display import format_number
from ..display.numerals import format_date, is_date_axis
from ..strategies.range_search import (
    FEWEST_TURNS,
    FIRST,
    MOST_TURNS,
    STANDS_OUT,
    PilotCounts,
    are_multiples,
    find_value_step,
)
from .by_category import describe_question, format_axis_label
from .cdf import CDF
from .outside import thresholds_without_notes
from .prefixes import PrefixShares
from .quantiles import Quantiles, parse_shares
from .question import build_privacy_statement

LOOKED = Fraction(1, 5)
"""Part of the loss that looks for a grid, where a table of two columns is counted on it."""
NOTHING = "no range stood out of the noise: {}"
QUARTILES = (0.25, 0.5, 0.75)
WIDE = 3
"""Cells from which on an interval of the first look was cut: zero has a cell of its own in any case."""


@dataclass(frozen=True, slots=True)
class AutoRangeCdfQuestion:
    """The distribution function of a column of numbers of which no range is known, by 3 to 8 turns for one loss.

    A part of the loss looks for the range among all doubles, and closer where most records seem to lie; the rest counts
    on a grid whose cells are fine there, with edges at round numbers, and coarse elsewhere. Values are not clamped: a
    note says how many lie in coarse cells. The curve is computed from all turns, its band from the last one alone.
    Where the counts tell that values are multiples of a number, as whole ones are, quantiles are, too (`find_value_step`).

    Where a range is known in public, a `CdfQuestion` on a grid of it is more exact, above all for few records.

    Formal guarantees: the loss that was granted, pure or zero-concentrated, under either adjacency: see
    `strategies.range_search`. The type of the column comes from its schema; no value decides anything but through noisy
    counts.

    Attributes:
        column: A column of numbers, or of dates (counted in days since the beginning of 1970), times or durations
            (in seconds).
        measured_in: The measuring unit of the column, for the axis.

    Raises:
        TypeError: the column is no name: the range of a model's scores is public, as are its coefficients.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> table = {"wage": np.exp(np.linspace(9, 11, 20_000))}
    >>> session = dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
    >>> curve = session.ask(dp.AutoRangeCdfQuestion("wage"), dp.PrivacyLoss.pure(1))
    >>> bool(abs(curve.cdf(np.exp(10)) - 0.5) < 0.05)
    True
    """

    is_plan_shown_first: ClassVar[bool] = True
    """Its plan is shown before it is charged: which turns there will be is not known before."""

    column: str
    measured_in: str = ""

    def __post_init__(self) -> None:
        require_type("column", self.column, str, "the name of a column")

    def steps(self, setting: Setting) -> Needs[CDF]:
        """Looks, and counts on a grid that they chose."""
        found = yield from ask_workload(AutomaticRangeWorkload(self.column), ALL)
        return build_cdf_with_range_note(found, format_axis_label(self.column, self.measured_in))

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """The price, and what it is spent on."""
        first = setting.loss * FIRST[0]
        return (
            f"no range is given: {setting.loss} pays for {FEWEST_TURNS} to {MOST_TURNS} turns (noisy releases); "
            f"the first, with {first}, covers all magnitudes, and noisy answers decide how many turns look "
            "closer, and on which grid the last one counts",
        )

    def __str__(self) -> str:
        return describe_question("distribution function", self.column, None) + ", no range given"


@dataclass(frozen=True, slots=True)
class AutoRangeQuantilesQuestion:
    """Quantiles of a column of numbers of which no range is known; for the price of an `AutoRangeCdfQuestion`.

    Formal guarantees: those of `AutoRangeCdfQuestion`, whose answer they are read from.

    Attributes:
        column: A column of numbers.
        at: Shares between 0 and 1.
        measured_in: The measuring unit of the column, for the axis.

    Raises:
        ValueError: a share is not between 0 and 1, or there is none.
        TypeError: the column is no name; `at` is a single number, or holds something that is not a number.
    """

    is_plan_shown_first: ClassVar[bool] = True

    column: str
    at: tuple[float, ...] = QUARTILES
    measured_in: str = ""

    def __post_init__(self) -> None:
        require_type("column", self.column, str, "the name of a column")
        object.__setattr__(self, "at", parse_shares("at", self.at))

    def steps(self, setting: Setting) -> Needs[Quantiles]:
        """A distribution function, read at the shares."""
        curve = yield from self._cdf_question.steps(setting)
        return Quantiles(np.array(self.at), curve)

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """The price, and what it is spent on."""
        return self._cdf_question.plan_notes(setting)

    @property
    def _cdf_question(self) -> AutoRangeCdfQuestion:
        return AutoRangeCdfQuestion(self.column, self.measured_in)

    def __str__(self) -> str:
        return describe_question("quantiles", self.column, None) + ", no range given"


def build_cdf_with_range_note(counts: TableCounts, label: str) -> CDF:
    """The curve along the cells that were chosen, with a note on the range."""
    beyond = thresholds_without_notes(
        *(getattr(axis, "column", "") for axis in counts.releases[-1].plan.query.axes)
    )  # see `note_on_range`
    privacy: PrivacyStatement = build_privacy_statement(counts.releases, least=beyond)
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
    """The number of whose multiples values seem to be, as the last turn tells; 0: of none, or that is not clear."""
    edges, known = prefixes.grid.edge(np.arange(prefixes.grid.cells + 1)), np.flatnonzero(prefixes.measured_edges)
    noise = sqrt(prefixes.evidence.interval_sums.levels[-1].noise.variance)
    counted = edges[known], prefixes.unbiased_prefix_counts[known + 1], noise, prefixes.total
    step = find_value_step(*counted)
    return step if step and are_multiples(step, *counted, clearly=False) else 0.0


def note_on_range(curve: CDF, label: str = "") -> str:
    """The range of decades that hold more than noise, and about how many records lie below and above: from released
    numbers.

    To these decades, as the looks and the last turn saw them, belongs the one on each side, where it was cut, too.
    Others were cut because noise was large there.
    """
    step = curve.prefixes.step
    multiples = (
        f"; values seem to be multiples of {format_number(step)}, and quantiles are given as such" if step else ""
    )
    grid, first = curve.prefixes.grid, curve.prefixes.earlier_evidence[0].interval_sums.levels[0]
    bounds = first.bounds(grid.slots)
    held = np.flatnonzero(_find_occupied_intervals(curve.prefixes, bounds))
    if not len(held):
        return NOTHING.format("where records lie is not known")
    cut = np.diff(bounds)[1:-1] >= WIDE
    low, high = int(held[0]), int(held[-1])
    low, high = max(low - 1, 0) if cut[max(low - 1, 0)] else low, high + int(cut[min(high + 1, len(cut) - 1)])
    low, high = (min(int(each) - 1, grid.cells) for each in (bounds[low + 1], bounds[min(high, len(cut) - 1) + 2]))
    edges = grid.edge(np.array([low, high])).tolist()
    ends = " to ".join(format_date(edge, label) or _format_undated_end(edge, label) for edge in edges)
    below, above = curve.count * curve.y[low], curve.count * (1 - curve.y[high])
    sides = f"records below: about {format_number(round(below))}, above: about {format_number(round(above))}"
    return (
        f"the range, {ends}, was chosen by noisy counts; {sides}, mostly in cells that span a power of ten{multiples}"
    )


def _find_occupied_intervals(prefixes: PrefixShares, bounds: IntArray) -> BoolArray:
    """Mark the intervals of the first look, between such bounds, that hold records as earlier turns or the last tell.

    Args:
        prefixes: The readings of all turns.
        bounds: The first slot of each interval, the outermost ones included, and one after the last.
    """
    edges = tuple(prefixes.grid.edges.tolist())
    found = PilotCounts(edges, prefixes.earlier_evidence).occupied_decades
    last = prefixes.evidence.interval_sums.levels
    if len(last) == 1:
        ends, noise = last[0].bounds(prefixes.grid.slots), sqrt(last[0].noise.variance)
        counts = np.diff(prefixes.unbiased_prefix_counts[ends])
        for begin, end in zip(
            ends[:-1][counts > STANDS_OUT * noise], ends[1:][counts > STANDS_OUT * noise], strict=True
        ):
            inside = (bounds[1:-2] < end) & (bounds[2:-1] > begin)
            found |= inside & (begin > 0) & (end < prefixes.grid.slots)
    return found


def _format_undated_end(value: float, label: str) -> str:
    """The text of a number that is no date; of a column of dates, that it is before or after all of them."""
    return ("year 1" if value < 0 else "year 9999") if is_date_axis(label) else format_number(value)


def add_empty_range_note(counts: TableCounts) -> tuple[Release, ...]:
    """Releases that looked for a range; the last one says so, where no decade stood out of its noise."""
    *before, last = counts.releases
    edges = last.plan.query.axes[-1].grid.edges  # type: ignore[union-attr]
    if not counts.is_paid or PilotCounts(tuple(edges.tolist()), counts.evidence).occupied_decades.any():
        return counts.releases
    return (*before, replace(last, notes=(*last.notes, NOTHING.format("the grid may lie beside all records"))))


def note_on_pilot_queries(setting: Setting) -> str:
    """The price, and the part of it that looks for a grid."""
    looked = setting.loss * LOOKED
    return (
        f"no grid is given: {setting.loss} pays for 4 turns (noisy releases) together; three look for a grid, with "
        f"{looked} together, and the last one counts on it"
    )
