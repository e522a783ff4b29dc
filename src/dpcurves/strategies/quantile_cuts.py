"""Counts between cuts that are chosen to have about equally many records between them. Two turns."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..arguments import Refused, make_whole
from ..data import Outside
from ..queries import QuantileCutsQuery
from ..release import ALL, Setting, Step
from ..workloads import Axes, Counted, Strategy
from .last_turn import along, counted_between

CUTS_SHARE = Fraction(3, 10)


@dataclass(frozen=True, slots=True)
class QuantileCuts:
    """Count between private quantiles.

    The first turn cuts the records into `pieces` of about equal size, with three tenths of the loss; the second counts
    what lies between the cuts. Where tails are long the outer pieces are wide: `GrownPartition` is then better.

    Attributes:
        pieces: How many pieces; fewer where records are tied.

    Raises:
        ValueError: `pieces` is below 2.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> session = dp.Session({"x": np.arange(5000) % 100}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE)
    >>> question = dp.CdfQuestion("x", dp.Grid(0, 100, cells=100), method=QuantileCuts(16))
    >>> bool(abs(session.ask(question, dp.PrivacyLoss.pure(1)).cdf(50) - 0.5) < 0.05)
    True
    """

    pieces: int

    def __post_init__(self) -> None:
        make_whole(self, pieces="pieces")
        if self.pieces < 2:
            raise Refused("pieces", f"at least 2 are needed, got {self.pieces}")

    def turns(self, axes: Axes, setting: Setting) -> Strategy[Counted]:
        """Ask for cuts, then for counts between them."""
        axis = along(axes)
        cuts = yield Step(QuantileCutsQuery((axis,), self.pieces), CUTS_SHARE)
        first = int(axis.grid.outside is Outside.APART)  # the slot of the first cell
        starts = [cut + first for cut in cuts.values if cut < axis.grid.cells]
        return (yield from counted_between(axes, starts, [cuts], setting, share=ALL - CUTS_SHARE))

    def __str__(self) -> str:
        return f"between {self.pieces} private quantiles"
