"""What released counts say of values outside a grid that were clamped into its end cells."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..data import Grid, Outside
from ..display import numeral
from ..postprocess import crowded_ends
from ..release import Evidence
from .turns.prefixes import Prefixes

NARROW = "the grid may be too narrow"


def notes_on_ends(prefixes: Prefixes) -> tuple[str, ...]:
    """One line for each end cell that holds more than its neighbours let expect."""
    known = np.flatnonzero(prefixes.measured)
    below = prefixes.unbiased_shares * prefixes.total
    return notes_on_end_cells(prefixes.grid, known, below[known], prefixes.evidence)


def notes_on_end_cells(grid: Grid, known: NDArray[np.int64], below: FloatArray, evidence: Evidence) -> tuple[str, ...]:
    """Note crowded end cells from unbiased counts below the edges of these numbers, all that were not interpolated."""
    if grid.outside is Outside.APART or len(known) < 4:
        return ()
    edges = grid.edges
    noise = evidence.sums.end_deviations(evidence.total is not None)
    # Nothing is known of an end cell that was not counted apart from its neighbours.
    alone = known[1] == 1, known[-2] == grid.cells - 1
    first, last = crowded_ends(edges[known], below, (noise[0] if alone[0] else inf, noise[1] if alone[1] else inf))
    notes = []
    if first:
        words = f"below {numeral(edges[1])}), which also holds all values below {numeral(edges[0])}"
        notes.append(f"{first:.0%} of the records lie in the first cell ({words}: {NARROW}")
    if last:
        words = f"{numeral(edges[-2])} and above), which also holds all values above {numeral(edges[-1])}"
        notes.append(f"{last:.0%} of the records lie in the last cell ({words}: {NARROW}")
    return tuple(notes)
