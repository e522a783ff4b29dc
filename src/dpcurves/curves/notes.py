"""Notes that warn the reader of a curve, from released numbers alone."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import shown
from ..arrays import FloatArray
from ..data import Categories, Grid, Outside
from ..display import numeral
from ..postprocess import crowded_ends
from ..postprocess.inference.warning_signs import empty_rows, missing_share, outside_share
from ..release import Evidence, PrivacyStatement, Release

PACKAGE = str(Path(__file__).parents[1])
NEARLY_ALL = 0.95
WIDEST = 0.5
"""The width of an interval of a share that says nothing."""
NARROW = (
    'ask with outside="apart" (--outside apart), which counts these by themselves; if there are many, the grid is too '
    "narrow"
)


class CurveWarning(UserWarning):
    """A note on a curve: what was clamped, missing, synthetic or simulated, as far as released numbers tell.

    All notes stand in `curve.notes`, on pictures and in JSON. To silence these warnings, use
    ``warnings.simplefilter("ignore", dpcurves.CurveWarning)``.
    """


def notes_on_missing(releases: Iterable[Release]) -> tuple[str, ...]:
    """A note if nearly all records are missing, by a released count of them; rehearsals say nothing."""
    paid = [Evidence.of(release) for release in releases if release.allotment is not None]
    share = max((missing_share(evidence) for evidence in paid), default=0.0)
    if share < NEARLY_ALL:
        return ()
    return (
        f"nearly all records are missing (about {share:.0%}, by the released count): they have no number, or none of "
        "the labels that were named, in the columns that were asked for",
    )


def notes_on_dependence(privacy: PrivacyStatement) -> tuple[str, ...]:
    """A note if statements on the population take records as independent, though a unit may have several."""
    if privacy.rows_per_unit == 1:
        return ()
    return (
        f"chance is taken as for independent records, though each {privacy.unit} may have {privacy.rows_per_unit}: if "
        "those are alike, chance is larger, and a p-value smaller, than it should be",
    )


def notes_on_outside(release: Release, grid: Grid) -> tuple[str, ...]:
    """A note if scores of two classes lie outside the grid, apart, more than noise may hide, by released counts."""
    if grid.outside is not Outside.APART or release.allotment is None:
        return ()
    share = outside_share(Evidence.of(release).in_cells(2))
    if share == 0:
        return ()
    return (
        f"about {share:.1%} of the scores lie outside [{grid.lower:g}, {grid.upper:g}], where they are not told apart: "
        "name a grid that holds them, grid= (--grid), as Grid.logistic(-8, 8, cells=4096) for log-odds",
    )


def notes_on_end_cells(grid: Grid, known: NDArray[np.int64], below: FloatArray, evidence: Evidence) -> tuple[str, ...]:
    """A note for each end cell that holds more than its neighbours let expect.

    Args:
        grid: What the cells are of.
        known: Numbers of the edges that were counted, not interpolated.
        below: Unbiased counts of records below each of these.
        evidence: What was released.
    """
    if grid.outside is Outside.APART or len(known) < 4:
        return ()
    edges = grid.edges
    noise = evidence.sums.end_deviations(evidence.total is not None)
    # Nothing is known of an end cell that was not counted apart from its neighbours.
    alone = known[1] == 1, known[-2] == grid.cells - 1
    first, last = crowded_ends(edges[known], below, (noise[0] if alone[0] else inf, noise[1] if alone[1] else inf))
    notes = []
    if grid.values is not None:
        return _notes_on_end_values(grid.values, first, last)
    if first:
        words = f"below {numeral(edges[1])}), which also holds all values below {numeral(edges[0])}"
        notes.append(f"{first:.0%} of the records lie in the first cell ({words}: {NARROW}")
    if last:
        words = f"{numeral(edges[-2])} and above), which also holds all values above {numeral(edges[-1])}"
        notes.append(f"{last:.0%} of the records lie in the last cell ({words}: {NARROW}")
    return tuple(notes)


def _notes_on_end_values(values: FloatArray, first: float, last: float) -> tuple[str, ...]:
    """A note for each end value that more records are read as than its neighbours let expect."""
    ends = (
        (first, f"the first value, {numeral(values[0])}", "below"),
        (last, f"the last, {numeral(values[-1])}", "above"),
    )
    return tuple(
        f"{part:.0%} of the records are read as {name}, with any that lie {side} it: outside=Outside.APART "
        "(--outside apart) counts these by themselves"
        for part, name, side in ends
        if part
    )


def notes_on_width(widths: FloatArray, where: str) -> tuple[str, ...]:
    """A note if nothing is known of a curve of shares: all its intervals, or its band everywhere, are too wide.

    Without any records every share lies between 0 and 1, and the middle of that is off by a half at the most.

    >>> notes_on_width(np.array([0.2, 0.9]), "the band at every time")
    ()
    """
    if not len(widths) or float(widths.min()) <= WIDEST:
        return ()
    return (f"{where} is wider than {WIDEST:g}: this release says next to nothing about the curve",)


def notes_on_classes(release: Release, classes: Categories) -> tuple[str, ...]:
    """A note if a class has no more records than noise may make, by its released count; rehearsals say nothing."""
    if release.allotment is None:
        return ()
    empty = empty_rows(Evidence.of(release).in_cells(len(classes.values)))
    said = [f"{argument} {shown(value)}" for argument, value in zip(classes.named, classes.values, strict=True)]
    lacking = " and of ".join(words for words, is_empty in zip(said, empty, strict=True) if is_empty)
    if not lacking:
        return ()
    return (
        f"records of {lacking} cannot be told from none, by the released counts: is this how {classes.column!r} names "
        "them? If so, noise hides them at this loss",
    )


def warn_of(curve: Any, told: Sequence[str] = ()) -> None:
    """Issue each note of `curve`, but those that were `told`, as a `CurveWarning`, where this package was called."""
    notes: Sequence[str] = getattr(curve, "notes", ())
    for note in notes:
        if note not in told:
            warnings.warn(note, CurveWarning, stacklevel=_levels_inside() + 1)


def _levels_inside() -> int:
    """The number of calls, beginning with the caller of this function, within the package."""
    levels, frame = 0, sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        levels, frame = levels + 1, frame.f_back  # type: ignore[assignment]
    return levels
