"""Notes on survival curves with wide cells of time, and on their log-rank test, by released counts."""

from __future__ import annotations

from collections.abc import Sequence

from ..postprocess.inference.log_rank import moved_by_censoring
from ..postprocess.inference.wide_cells import told_rise
from .turns.leaving import Leaving


def notes_on_wide_cells(found: Leaving, noise: Leaving) -> tuple[str, ...]:
    """A note if more may seem to survive than do, because records are censored inside cells.

    Args:
        found: What was released of the cells in which it is known how many are at risk.
        noise: Its noise, simulated.
    """
    share = told_rise(found.at_risk, found.censored, noise.at_risk, noise.censored)
    if share == 0:
        return ()
    return (
        f"about {share:.0%} of the records may seem to survive only because cells are wide: those censored inside "
        "a cell count as at risk until its end; if times are written more finely, take narrower cells",
    )


def notes_on_moved(groups: Sequence[Leaving], noises: Sequence[Leaving]) -> tuple[str, ...]:
    """A note if a log-rank test of two groups may find a difference because records are censored inside cells.

    Args:
        groups: What was released of both in the cells that the test is of.
        noises: Its noise, simulated.
    """
    (one, gone), (other, left) = groups
    (moves, lost), (moved, missed) = noises
    deviations = moved_by_censoring((one, other), (gone, left), (moves, moved), (lost, missed))
    if deviations == 0:
        return ()
    return (
        f"the test may be {deviations:.1f} standard deviations off because cells are wide, if times are written more "
        "finely: groups that are censored differently inside cells seem to survive differently; take narrower cells",
    )
