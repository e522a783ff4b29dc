"""Note on interpolation in a private distribution function: most records lie in one interval that it does not resolve.

An adaptive distribution function counts neighbouring cells together where few records seem to lie, and is interpolated
linearly across them. If a single interval of several cells holds most records, they may be spread over it or all share
one value, and the release does not show which. `note_on_straight_interval` takes the released counts, and returns the
note with the remedy, to count each cell. The note is written if

    count of the interval - z * its noise  >  half of the records
    and no earlier round counted a part of the interval with small noise

Formal guarantees: no records are read and no budget is spent, because the note is a function of released counts and
public thresholds (post-processing).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..conversation.notes import add_advice
from ..display import format_number
from .prefixes import PrefixShares


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that decide when the note is given."""

    least_share: float = 0.5
    """Least share of the records in one interval for a note: without a note the error is at most half of this share."""
    largest_width: float = 0.125
    """Share of the grid's cells. A wider interval is expected to hold many records."""
    z: float = 4.0
    """Standard deviations of an interval's count by which it must exceed `least_share`; and of an earlier count inside
    it by which the records must exceed its noise, for that count to show a single full cell.
    """
    largest_cell_share: float = 0.5
    """Share of the interval in one cell from which the curve itself shows a step."""


TUNING = Tuning()
"""Thresholds of the note that many records lie in one interval that is not divided further: see `Tuning`."""


def note_on_straight_interval(prefixes: PrefixShares) -> tuple[str, ...]:
    """Return a tuple of one note if one interval of several cells holds most records and is not resolved, else ``()``.

    Intervals wider than `Tuning.largest_width` of the grid give no note, since they are expected to hold many records;
    nor do declared values. So a smooth distribution on a grid of its range gives no note.

    Args:
        prefixes: Released counts along a grid, of all rounds.
    """
    grid, evidence = prefixes.grid, prefixes.evidence
    if grid.values is not None or not evidence.sums.is_nested:
        return ()
    edges, counts = prefixes.measured_prefix_counts
    records = np.diff(counts)
    if len(records) == 0:
        return ()

    # The interval must hold most records also after the noise of its count.
    fullest = int(records.argmax())
    first = int(edges[fullest])
    last = int(edges[fullest + 1])
    deviation = evidence.interval_sums.levels[-1].noise.variance ** 0.5 / prefixes.scale
    is_large = records[fullest] - TUNING.z * deviation > TUNING.least_share * prefixes.total
    if not 2 <= last - first <= TUNING.largest_width * grid.cells or not is_large:
        return ()

    # Earlier rounds may have counted inside it; then the curve is not merely drawn straight.
    cells = np.diff(prefixes.shares)[first:last]
    if cells.max() >= TUNING.largest_cell_share * cells.sum() or _is_counted_inside(
        prefixes, first, last, float(records[fullest])
    ):
        return ()

    low, high = (format_number(grid.edges[edge]) for edge in (first, last))
    share = min(records[fullest] / prefixes.total, 1.0)
    fact = (
        f"about {share:.0%} of the records lie between {low} and {high}, which were counted together: the curve is "
        f"drawn straight there, though one of these {last - first} cells may hold all of them"
    )
    advice = "hint=Hint.ATOMS (--hint atoms) counts each cell, and declared values (Values, --values) are better still"
    return (add_advice(fact, advice),)


def _is_counted_inside(prefixes: PrefixShares, first: int, last: int, records: float) -> bool:
    """Return True if an earlier round counted pieces of an interval, with noise far below the number of its records.

    Args:
        prefixes: Released counts of all rounds.
        first: First cell of the interval.
        last: Cell behind its last one.
        records: Estimated number of records in the interval.
    """
    for evidence in prefixes.earlier_evidence:
        distribution = evidence.interval_sums
        for level in distribution.levels:
            bounds = level.bounds(distribution.cells)
            is_divided = bool(np.any((bounds > first) & (bounds < last)))
            if is_divided and records > TUNING.z * level.noise.variance**0.5 / prefixes.scale:
                return True
    return False
