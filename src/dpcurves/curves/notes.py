"""What a reader has to know before the numbers of a curve are believed, from released numbers alone."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..arguments import shown
from ..data import Categories, Grid, Outside
from ..postprocess.inference.empty_rows import empty_rows
from ..postprocess.inference.missing_share import missing_share
from ..postprocess.inference.outside import outside_share
from ..release import Evidence, PrivacyStatement, Release

PACKAGE = str(Path(__file__).parents[1])
NEARLY_ALL = 0.95


class CurveWarning(UserWarning):
    """A note on a curve: what was clamped, missing, synthetic or simulated, as far as released numbers tell.

    All notes stand in `curve.notes`, on pictures and in JSON. To be told of none, use
    ``warnings.simplefilter("ignore", dpcurves.CurveWarning)``.
    """


def notes_on_missing(releases: Iterable[Release]) -> tuple[str, ...]:
    """One line if nearly all records are missing, as a released count of them says; rehearsals say nothing."""
    paid = [Evidence.of(release) for release in releases if release.allotment is not None]
    share = max((missing_share(evidence) for evidence in paid), default=0.0)
    if share < NEARLY_ALL:
        return ()
    return (
        f"nearly all records are missing (about {share:.0%}, by the released count): they have no number, or none of "
        "the labels that were named, in the columns that were asked for",
    )


def notes_on_dependence(privacy: PrivacyStatement) -> tuple[str, ...]:
    """One line if what is said of the population takes records as independent, though a unit may have several."""
    if privacy.rows_per_unit == 1:
        return ()
    return (
        f"chance is taken as for independent records, though each {privacy.unit} may have {privacy.rows_per_unit}: if "
        "those are alike, chance is larger, and a p-value smaller, than it should be",
    )


def notes_on_outside(release: Release, grid: Grid) -> tuple[str, ...]:
    """One line if scores of two classes lie outside the grid, apart, more than noise may hide, by released counts."""
    if grid.outside is not Outside.APART or release.allotment is None:
        return ()
    share = outside_share(Evidence.of(release).in_cells(2))
    if share == 0:
        return ()
    return (
        f"about {share:.1%} of the scores lie outside [{grid.lower:g}, {grid.upper:g}], where they are not told apart: "
        "name a grid that holds them, grid= (--grid), as Grid.logistic(-8, 8, cells=4096) for log-odds",
    )


def notes_on_classes(release: Release, classes: Categories) -> tuple[str, ...]:
    """One line if a class has no more records than noise may make, by its released count; rehearsals say nothing."""
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
    """How many calls, beginning with the caller of this function, lie within the package."""
    levels, frame = 0, sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        levels, frame = levels + 1, frame.f_back  # type: ignore[assignment]
    return levels
