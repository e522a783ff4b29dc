"""Released shares of values that lie outside of the cells of a question, and the note on them.

A mistake of unit or sign (percent for a share, days for years) puts values outside. Where these are counted in cells of
their own, their share is one of the released numbers; this is the one place that writes the note on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from math import inf, sqrt
from types import MappingProxyType
from typing import NamedTuple

from ..conversation import Evidence, Release
from ..data import Axis, Grid, Outside
from ..display import format_number
from ..queries import CountQuery, PartitionQuery, PrefixQuery, Query, WeightQuery

DEVIATIONS = 5
"""A count of records outside that is smaller than so many standard deviations of its noise is not spoken of."""
LEAST_SHARE = 0.01
"""A smaller share of the records is not spoken of."""
FOLLOWED_BEYOND = 0.5
"""The least share of times above a grid that is spoken of: a grid may well end before the follow-up does."""
BEYOND_HORIZON = 0.95
"""The least share of times above a grid that is spoken of where it ends at a horizon, as for a survival model."""
LEFT_BEFORE = 0.2
"""The least share of exits before the first edge that is spoken of where records enter late."""
CLIPPED = 0.05
"""The least share of values beyond the bounds of a mean or a sum that is spoken of: bounds may well clip a tail."""


class Side(Enum):
    """A side of a grid."""

    BELOW = "below"
    ABOVE = "above"


Least = Mapping[tuple[str, Side], float]
"""The least share outside that is spoken of, by column and side, where it is not `LEAST_SHARE`."""
ANYWHERE: Least = MappingProxyType({})


def thresholds_without_notes(*columns: object) -> Least:
    """Return shares by which nothing is said of these columns: values outside of their cells are no mistake."""
    return {(str(column), side): inf for column in columns for side in Side}


def thresholds_for_times(column: object, least: float = FOLLOWED_BEYOND) -> Least:
    """Return shares for a column of times: above its grid many may lie that are no mistake."""
    return {(str(column), Side.ABOVE): least}


def thresholds_for_late_entries(entry: object, time: object) -> Least:
    """Return shares for times of entry and exit: who entered before the first edge is at risk from there on."""
    return {
        **thresholds_for_times(time), **thresholds_for_times(entry),
        (str(time), Side.BELOW): LEFT_BEFORE, (str(entry), Side.BELOW): inf,
    }  # fmt: skip


def thresholds_for_clipping(column: object) -> Least:
    """Return shares for a column between bounds that clip its values."""
    return dict.fromkeys(((str(column), side) for side in Side), CLIPPED)


def count_beyond_bounds(axis: Axis) -> Axis:
    """Return the axis of one cell between the bounds of this one, with values beyond them counted on their own."""
    return replace(axis, grid=axis.grid.with_outside(Outside.APART))


def count_outside(grid: Grid) -> Grid:
    """Return these cells, with values outside counted on their own: their share is released, too."""
    return grid.with_outside(Outside.APART)


class OutsideCount(NamedTuple):
    """Counts of values outside of the cells of one column, with noise.

    Attributes:
        column: The column, or the model in its place.
        grid: Its cells.
        below, above: Unbiased counts.
        total: Unbiased count of all records that have a value.
        noise_below, noise_above: Standard deviations of the noise of `count_below` and `count_above`, at the most.
        unit: What is counted.
    """

    column: str
    grid: Grid
    count_below: float
    count_above: float
    total: float
    noise_below: float
    noise_above: float
    unit: str = "records"

    def shares(self, least: Least = ANYWHERE) -> tuple[float, float]:
        """The shares below and above; 0 where noise may have made the count, or where it is too small to speak of."""
        sides = (Side.BELOW, self.count_below, self.noise_below), (Side.ABOVE, self.count_above, self.noise_above)
        below, above = (
            self._share(count, noise, least.get((self.column, side), LEAST_SHARE)) for side, count, noise in sides
        )
        return below, above

    def _share(self, count: float, noise: float, least: float) -> float:
        share = min(count / max(self.total, count, 1.0), 1.0)
        return share if count > DEVIATIONS * noise and share >= least else 0.0


def notes_on_outside(releases: Iterable[Release], least: Least = ANYWHERE) -> tuple[str, ...]:
    """Return a note for each column with values outside of its cells, by released counts; rehearsals say nothing.

    Args:
        releases: All that a question was answered with. Of several counts of a column, the one with the least noise is
            read.
        least: The least share that is spoken of, where it is another one.
    """
    best: dict[str, OutsideCount] = {}
    for release in releases:
        for count in read_outside_counts(release):
            known = best.get(count.column)
            if known is None or count.noise_below <= known.noise_below:
                best[count.column] = count
    return tuple(note for count in best.values() for note in note_on_outside(count, least))


def note_on_outside(count: OutsideCount, least: Least = ANYWHERE) -> tuple[str, ...]:
    """Return the note on values outside of the cells of a column, if there are more than noise may have made.

    Args:
        count: The released counts.
        least: The least share that is spoken of, where it is another one.

    >>> found = OutsideCount("p", Grid(0, 1, cells=20), 3, 300, 1000, 2.0, 2.0)
    >>> note_on_outside(found)[0].partition(": ")[0]
    "about 30% of the records have a value of 'p' above 1, where its cells end, by the released counts"
    """
    below, above = count.shares(least)
    if not below + above:
        return ()
    lower, upper, is_clipped = format_number(count.grid.lower), format_number(count.grid.upper), count.grid.cells == 1
    first, last = (
        ("the lower bound", "the upper bound") if is_clipped else ("where its cells begin", "where its cells end")
    )
    where = f"outside of {lower} to {upper} ({below:.0%} below, {above:.0%} above)"
    if not above:
        where = f"below {lower}, {first}"
    elif not below:
        where = f"above {upper}, {last}"
    helps = "check the unit and the sign" if below else "check the unit"
    if is_clipped:
        helps = f"they count as the bound; {helps}, or give wider bounds (--bounds)"
    elif not below and least.get((count.column, Side.ABOVE), LEAST_SHARE) > LEAST_SHARE:
        helps = "if the grid is not meant to end before these times, check the unit"
    else:
        hint = ", as 0:100:N for percent or logistic:-8:8:N for log-odds" if (lower, upper) == ("0", "1") else ""
        helps = f"{helps}, or name a grid that holds them{hint} (--grid)"
    value = f"a value of {count.column!r}" if count.unit == "records" else f"values of {count.column!r}"
    verb = "have" if count.unit == "records" else "has"
    return (f"about {below + above:.0%} of the {count.unit} {verb} {value} {where}, by the released counts: {helps}",)


def read_outside_counts(release: Release) -> tuple[OutsideCount, ...]:
    """Return the counts outside of the cells of each column that a release counted apart; none of a rehearsal."""
    query = release.plan.query
    if release.allotment is None or not isinstance(query, CountQuery | PartitionQuery | PrefixQuery | WeightQuery):
        return ()
    apart = [place for place, axis in enumerate(query.axes) if _has_outside_cells(axis)]
    if not apart or not (query.is_weighted or query.input_axes == query.axes):
        return ()
    if isinstance(query, PrefixQuery) and not _has_outside_counts(query):
        return ()
    evidence = Evidence.from_release(release).as_cell_counts(query.rows)
    return tuple(count for place in apart for count in _sum_outside_counts(query, evidence, place))


def _has_outside_cells(axis: object) -> bool:
    return isinstance(axis, Axis) and axis.grid.outside is Outside.APART


def _has_outside_counts(query: PrefixQuery) -> bool:
    """Tell whether the slots for values outside were counted on their own in the first row, as in all others."""
    return {1, query.cells - 1, query.cells} <= set(query.prefix_lengths)


def _sum_outside_counts(query: Query, evidence: Evidence, place: int) -> Sequence[OutsideCount]:
    """The counts outside on one axis, summed over all others."""
    law, axis, total_is_public = evidence.sums, query.axes[place], evidence.total is not None
    assert isinstance(axis, Axis)  # noqa: S101 (as `_has_outside_cells` says)
    known = law.measured_edges
    is_last = place == len(query.axes) - 1
    if is_last and not (known[1] and known[-2]):  # slots that were counted together with their neighbours
        return ()
    cells = evidence.unbiased_cells
    table = cells.reshape(*query.shape[:-1], cells.shape[-1])
    others = tuple(other for other in range(table.ndim) if other != place)
    margin = table.sum(axis=others)
    noise = law.cell_noise
    if noise is not None:
        below = above = sqrt(noise.variance * (table.size / len(margin)))
    elif is_last:
        below, above = (sqrt(law.rows) * each for each in law.end_cell_deviations(total_is_public))
    else:
        row = sqrt(float(law.prefix_variances(total_is_public)[0, -1]))
        below = above = row * sqrt(law.rows / len(margin))
    unit = "weight" if query.is_weighted else "records"
    counts = float(margin[0]), float(margin[-1]), float(margin.sum())
    return (OutsideCount(str(axis.column), axis.grid, *counts, below, above, unit),)


def note_on_order(count: float, total: float, noise: float, words: str) -> tuple[str, ...]:
    """Return a note on records whose two times are not in their order, if there are more than noise may have made.

    Args:
        count: The unbiased count of such records.
        total: That of all records.
        noise: Standard deviation of the noise of `count`.
        words: What is wrong with them, and what helps.

    >>> note_on_order(3.0, 1000.0, 2.0, "leave before they enter"), note_on_order(300.0, 1000.0, 2.0, "are late")
    ((), ('about 30% of the records are late, by the released counts',))
    """
    share = min(count / max(total, count, 1.0), 1.0)
    if count <= DEVIATIONS * noise or share < LEAST_SHARE:
        return ()
    told, _, helps = words.partition(": ")
    return (f"about {share:.0%} of the records {told}, by the released counts{': ' if helps else ''}{helps}",)
