"""Notes on out-of-range values: many values outside the grid of a question, which often reveal a wrong unit or sign.

Percentages in place of shares, or days in place of years, put most values outside the grid. If such values are counted
in separate cells (`separate_outside`), their count is released. `notes_on_outside` takes the releases of an answer and
returns a note for each column of which

    count > noted_z * standard deviation of its noise          and          count / records >= threshold of the side

The threshold is 1% of the records. It is higher where values outside are usual: for times above a horizon and for
values beyond clipping bounds (`note_thresholds_for_times`, `note_thresholds_for_clipping`).

Formal guarantees: no records are read and no budget is spent, because a note is a function of released counts and
public thresholds (post-processing).

>>> count = OutsideCount("share", Grid(0, 1, cells=20), 0, 300, 1000, noise_below=2.0, noise_above=2.0)
>>> count.shares()  # below and above
(0.0, 0.3)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import hypot, inf, sqrt
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ..conversation import Evidence, Release
from ..conversation.notes import ADVICE_MARK, add_advice
from ..data import Axis, Grid, Outside, Weights
from ..display import format_number
from ..privacy import ReplaceOne
from ..queries import CountQuery, PartitionQuery, PrefixQuery, Query, SquaredWeightQuery, WeightQuery


@dataclass(frozen=True, slots=True)
class Tuning:
    """Thresholds of the notes on values outside a grid."""

    noted_z: int = 5
    """Standard deviations of the noise of a count of outside records, from which a note mentions it."""
    noted_share: float = 0.01
    """Share of the records outside, from which a note mentions it."""
    horizon_share: float = 0.95
    """Share of the times above a grid, from which a note mentions it if the grid ends at a horizon, as for a survival
    model."""


TUNING = Tuning()
"""Thresholds from which a note says that values lie outside a grid, in shares and noise deviations: see `Tuning`."""


class Side(Enum):
    """A side of a grid."""

    BELOW = "below"
    ABOVE = "above"


NoteThresholds = Mapping[tuple[str, Side], float]
"""Smallest share of values outside the cells for which a note is written, by column and side. Other columns have
`Tuning.noted_share`.
"""
DEFAULT_THRESHOLDS: NoteThresholds = MappingProxyType({})
"""No column has a threshold of its own: a note is written from the share `Tuning.noted_share` on."""


def notes_on_outside(
    releases: Iterable[Release], note_thresholds: NoteThresholds = DEFAULT_THRESHOLDS
) -> tuple[str, ...]:
    """Return a note for each column with a significant share of values outside its cells. Rehearsals get no notes.

    Args:
        releases: All releases of an answer. If several counted a column, the release with the least noise is used.
        note_thresholds: Thresholds that differ from `Tuning.noted_share`.
    """
    best: dict[str, OutsideCount] = {}
    for release in releases:
        for count in read_outside_counts(release):
            previous = best.get(count.column)
            if previous is None or count.noise_below <= previous.noise_below:
                best[count.column] = count
    return tuple(note for count in best.values() for note in note_on_outside(count, note_thresholds))


def infinite_note_thresholds(*columns: object) -> NoteThresholds:
    """Return infinite note thresholds for these columns, so that no note reports values outside of their cells.

    Args:
        columns: Names of columns, or models that are printed as their name.
    """
    return {(str(column), side): inf for column in columns for side in Side}


def note_thresholds_for_times(column: object, minimum: float = 0.5) -> NoteThresholds:
    """Return the share of times above the grid from which a note is written; many exceed it, as follow-up goes on.

    Args:
        column: Name of the column.
        minimum: Smallest share above the grid that is noted.
    """
    return {(str(column), Side.ABOVE): minimum}


def note_thresholds_for_late_entries(entry: object, time: object) -> NoteThresholds:
    """Return the shares of times outside the grid from which a note is written, if records enter late.

    Args:
        entry: Name of the column of entry times; any share before the first edge is accepted.
        time: Name of the column of exit times; a fifth may come before the first edge.
    """
    # a fifth of the exits may come before the first edge if records enter late
    return {
        **note_thresholds_for_times(time), **note_thresholds_for_times(entry),
        (str(time), Side.BELOW): 0.2, (str(entry), Side.BELOW): inf,
    }  # fmt: skip


def note_thresholds_for_clipping(column: object) -> NoteThresholds:
    """Return the share of clipped values from which a note is written: 5 % of the records beyond one of the bounds.

    Args:
        column: Name of the column.
    """
    # 0.05: bounds that clip a twentieth of the values on one side are a usual choice, not a mistake
    return dict.fromkeys(((str(column), side) for side in Side), 0.05)


def separate_outside_axis(axis: Axis) -> Axis:
    """Return the column with a grid whose values outside are counted in two separate cells, below and above.

    Args:
        axis: A column with its grid.
    """
    return replace(axis, grid=axis.grid.with_outside(Outside.APART))


def separate_outside(grid: Grid) -> Grid:
    """Return the grid with values outside counted in two separate cells, below and above, in place of clipping.

    Args:
        grid: Cells of a column.
    """
    return grid.with_outside(Outside.APART)


class OutsideCount(NamedTuple):
    """Noisy counts of values outside the cells of one column.

    Attributes:
        column: The column, or the model that predicts it.
        grid: Its cells.
        count_below, count_above: Unbiased counts.
        total: Unbiased count of all records with a value.
        noise_below, noise_above: Upper bounds of the standard deviations of the noise of `count_below` and
            `count_above`.
        unit: What the counts count: records, or weight.
    """

    column: str
    grid: Grid
    count_below: float
    count_above: float
    total: float
    noise_below: float
    noise_above: float
    unit: str = "records"

    def shares(self, note_thresholds: NoteThresholds = DEFAULT_THRESHOLDS) -> tuple[float, float]:
        """Return the shares of the records below and above the cells.

        A share is 0 if noise can explain its count, or if it is below its threshold.

        Args:
            note_thresholds: Thresholds that differ from `Tuning.noted_share`.
        """
        sides = (Side.BELOW, self.count_below, self.noise_below), (Side.ABOVE, self.count_above, self.noise_above)
        below, above = (
            self._share(count, noise, note_thresholds.get((self.column, side), TUNING.noted_share))
            for side, count, noise in sides
        )
        return below, above

    def _share(self, count: float, noise: float, min_share: float) -> float:
        """Return a count as a share of the records; 0 if noise can explain it or if it is below `min_share`.

        Args:
            count: Unbiased count of one side.
            noise: Standard deviation of its noise.
            min_share: Threshold of this side, from 0 to 1.
        """
        share = min(count / max(self.total, count, 1.0), 1.0)
        return share if count > TUNING.noted_z * noise and share >= min_share else 0.0


def note_on_outside(count: OutsideCount, note_thresholds: NoteThresholds = DEFAULT_THRESHOLDS) -> tuple[str, ...]:
    """Return the note on values outside the cells of a column, if their counts are significant.

    Args:
        count: The released counts.
        note_thresholds: The smallest share that a note mentions, where it is not `Tuning.noted_share`.

    >>> found = OutsideCount("p", Grid(0, 1, cells=20), 3, 300, 1000, 2.0, 2.0)
    >>> note_on_outside(found)[0].partition("; advice: ")[0]
    "about 30% of the records have a value of 'p' above 1, where its cells end, by the released counts"
    """
    below, above = count.shares(note_thresholds)
    if not below + above:
        return ()

    # The note names the side, because only one end of the grid may be wrong.
    lower = format_number(count.grid.lower)
    upper = format_number(count.grid.upper)
    is_clipped = count.grid.cells == 1
    first, last = (
        ("the lower bound", "the upper bound") if is_clipped else ("where its cells begin", "where its cells end")
    )
    where = f"outside of {lower} to {upper} ({below:.0%} below, {above:.0%} above)"
    if not above:
        where = f"below {lower}, {first}"
    elif not below:
        where = f"above {upper}, {last}"

    # A wrong sign shows as values below; times above the grid may be meant to be cut.
    advice = "check the unit and the sign" if below else "check the unit"
    if is_clipped:
        advice = f"{advice}, or give wider bounds (--bounds)"
    elif not below and note_thresholds.get((count.column, Side.ABOVE), TUNING.noted_share) > TUNING.noted_share:
        advice = "if the grid is not meant to end before these times, check the unit"
    else:
        hint = ", as 0:100:N for percent or logistic:-8:8:N for log-odds" if (lower, upper) == ("0", "1") else ""
        advice = f"{advice}, or name a grid that holds them{hint} (--grid)"
    value = f"a value of {count.column!r}" if count.unit == "records" else f"values of {count.column!r}"
    verb = "have" if count.unit == "records" else "has"

    # Clipped values stay in a sum, at the bound; values outside of a grid of cells do not.
    fact = f"about {below + above:.0%} of the {count.unit} {verb} {value} {where}, by the released counts"
    return (add_advice(f"{fact}: they count as the bound" if is_clipped else fact, advice),)


def read_outside_counts(release: Release) -> tuple[OutsideCount, ...]:
    """Return the counts of outside values in a release, one for each column that has separate cells for them.

    Args:
        release: Any release.

    Returns:
        The counts; empty for a rehearsal, for other kinds of queries, and if outside values were not counted apart.
    """
    query = release.plan.query
    if release.allotment is None or not isinstance(query, CountQuery | PartitionQuery | PrefixQuery | WeightQuery):
        return ()
    apart = [
        axis_index
        for axis_index, axis in enumerate(query.axes)
        if isinstance(axis, Axis) and axis.grid.outside is Outside.APART
    ]
    if not apart or not (query.is_weighted or query.input_axes == query.axes):
        return ()
    # the slots for outside values are counted singly in all rows or in none
    if isinstance(query, PrefixQuery) and not {1, query.cells - 1, query.cells} <= set(query.prefix_lengths):
        return ()
    evidence = Evidence.from_release(release).as_cell_counts(query.rows)
    return tuple(count for axis_index in apart for count in _sum_outside_counts(query, evidence, axis_index))


def _sum_outside_counts(query: Query, evidence: Evidence, axis_index: int) -> Sequence[OutsideCount]:
    """Return the counts of outside values along one axis, summed over all other axes.

    Args:
        query: Query of the release.
        evidence: Released counts.
        axis_index: Index of the axis.

    Returns:
        The counts, or an empty sequence if cells were not counted singly.
    """
    distribution = evidence.sums
    axis = query.axes[axis_index]
    total_is_public = evidence.total is not None
    assert isinstance(axis, Axis)  # noqa: S101 (checked above)
    measured = distribution.measured_edges
    is_last = axis_index == len(query.axes) - 1
    if is_last and not (measured[1] and measured[-2]):  # outside slots were counted together with their neighbours
        return ()
    cells = evidence.unbiased_cells
    table = cells.reshape(*query.shape[:-1], cells.shape[-1])
    other_axes = tuple(index for index in range(table.ndim) if index != axis_index)
    margin = table.sum(axis=other_axes)
    noise = distribution.cell_noise
    if noise is not None:
        below = above = sqrt(noise.variance * (table.size / len(margin)))
    elif is_last:
        below, above = (
            sqrt(distribution.rows) * deviation for deviation in distribution.end_cell_deviations(total_is_public)
        )
    else:
        row = sqrt(float(distribution.prefix_variances(total_is_public)[0, -1]))
        below = above = row * sqrt(distribution.rows / len(margin))
    unit = "weight" if query.is_weighted else "records"
    counts = float(margin[0]), float(margin[-1]), float(margin.sum())
    return (OutsideCount(str(axis.column), axis.grid, *counts, below, above, unit),)


def note_on_order(count: float, total: float, noise: float, words: str) -> tuple[str, ...]:
    """Return a note on records whose two times are in the wrong order, if their count is significant.

    Args:
        count: The unbiased count of these records.
        total: The unbiased count of all records.
        noise: Standard deviation of the noise of `count`.
        words: The mistake, with advice if there is a remedy: see `add_advice`.

    >>> note_on_order(3.0, 1000.0, 2.0, "leave before they enter"), note_on_order(300.0, 1000.0, 2.0, "are late")
    ((), ('about 30% of the records are late, by the released counts',))
    """
    share = _significant_share(count, total, noise)
    if not share:
        return ()
    problem, _, advice = words.partition(ADVICE_MARK)
    fact = f"about {share:.0%} of the records {problem}, by the released counts"
    return (add_advice(fact, advice) if advice else fact,)


def _significant_share(count: float, total: float, noise: float) -> float:
    """Return a count as a share of the records; 0 if noise can explain it or if it is below `Tuning.noted_share`.

    Args:
        count: Unbiased count.
        total: Unbiased count of all records.
        noise: Standard deviation of the noise of `count`.
    """
    share = min(count / max(total, count, 1.0), 1.0)
    return share if count > TUNING.noted_z * noise and share >= TUNING.noted_share else 0.0


def notes_on_missing_weights(releases: Iterable[Release]) -> tuple[str, ...]:
    """Return a note on records that a weighted result leaves out, if their count is significant.

    Sums of weights and of what each record lacks to the cap give the number of all records; squared weights with what
    they lack to the squared cap give the number of the records in use (`WeightQuery`, `SquaredWeightQuery`).

    Args:
        releases: All releases of an answer.

    Returns:
        One note; empty for rehearsals, without squared weights, and if a filter hides which records are missing.
    """
    answered = [release for release in releases if release.allotment is not None]
    squares = [release for release in answered if isinstance(release.plan.query, SquaredWeightQuery)]
    # records that fail a filter are counted as missing if the number of records is public
    if not squares or (squares[-1].plan.query.where and isinstance(squares[-1].plan.adjacency, ReplaceOne)):
        return ()
    evidence = Evidence.from_release(squares[-1])
    used = float(evidence.unbiased_cells.sum()) / Weights.STEPS
    noise_of_used = sqrt(_row_sums_variance(evidence)) / Weights.STEPS
    all_counts = [_count_all_records(release) for release in answered if isinstance(release.plan.query, WeightQuery)]
    total, noise = min((count for count in all_counts if count), key=lambda count: count[1], default=(0.0, 0.0))
    share = _significant_share(total - used, total, hypot(noise, noise_of_used))
    if not share:
        return ()
    reason = (
        f"about {share:.0%} of the records are left out, because their weight is missing, negative or infinite, or a "
        "column of the question has no value, by the released counts"
    )
    return (add_advice(reason, "check the column of weights"),)


def _count_all_records(release: Release) -> tuple[float, float] | None:
    """Return the number of all records, computed from a release of sums of weights, and the standard deviation of its
    noise.

    Args:
        release: Release of sums of weights.

    Returns:
        The pair, in records; None if the release has no sum over missing records.
    """
    evidence = Evidence.from_release(release)
    distribution = evidence.sums
    if evidence.total is not None:
        return evidence.total / Weights.STEPS, 0.0
    if distribution.missing is None:
        return None
    cells, missing = distribution.reconstruct(np.asarray(evidence.values, dtype=np.float64), None)
    variance = _row_sums_variance(evidence) + distribution.missing.variance
    return float(cells.sum() + missing) / Weights.STEPS, sqrt(variance) / Weights.STEPS


def _row_sums_variance(evidence: Evidence) -> float:
    """Return the variance of the noise of the sum of all cells, in squared units of the released integers.

    Args:
        evidence: Released counts of the cells, row by row.
    """
    distribution = evidence.sums
    return distribution.rows * float(distribution.prefix_variances(evidence.total is not None)[0, -1])
