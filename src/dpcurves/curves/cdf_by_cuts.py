"""The distribution function between cuts that are chosen to have about equally many records between them. Two turns."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

from ..arguments import Refused, make_whole
from ..data import Axis, Grid, Outside
from ..queries import QuantileCutsQuery
from ..release import ALL, Release, Setting, Step
from .cdf import CDF
from .leaf_counts import counted_between
from .turns.one_table import axis_label, in_words

CUTS_SHARE = Fraction(3, 10)


@dataclass(frozen=True, slots=True)
class CutsCdfQuestion:
    """What share of the records lies below each edge of `grid`, counted between private quantiles? Two turns.

    The first turn cuts the records into `pieces` of about equal size, with three tenths of the loss; the second counts
    what lies between the cuts. Where tails are long the outer pieces are wide: `PartitionCdfQuestion` is then better.

    Attributes:
        column: A column of numbers.
        grid: Public cells.
        pieces: How many pieces; fewer where records are tied.
        measured_in: The measuring unit of the column, for the axis.

    Raises:
        ValueError: `pieces` is below 2.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> session = dp.Session({"x": np.arange(5000) % 100}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE)
    >>> curve = session.ask(CutsCdfQuestion("x", dp.Grid(0, 100, cells=100), pieces=16), dp.PrivacyLoss.pure(1))
    >>> bool(abs(curve.cdf(50) - 0.5) < 0.05)
    True
    """

    column: str
    grid: Grid
    pieces: int
    measured_in: str = ""

    def __post_init__(self) -> None:
        make_whole(self, pieces="pieces")
        if self.pieces < 2:
            raise Refused("pieces", f"at least 2 are needed, got {self.pieces}")

    def steps(self, setting: Setting) -> Generator[Step, Release, CDF]:
        """Cuts; counts between them."""
        axis = Axis(self.column, self.grid)
        cuts = yield Step(QuantileCutsQuery((axis,), self.pieces), CUTS_SHARE)
        first = int(self.grid.outside is Outside.APART)  # the slot of the first cell
        starts = [cut + first for cut in cuts.values if cut < self.grid.cells]
        label = axis_label(self.column, self.measured_in)
        return (yield from counted_between(axis, starts, [cuts], setting, share=ALL - CUTS_SHARE, label=label))

    def __str__(self) -> str:
        return in_words(f"distribution function between {self.pieces} private quantiles", self.column, None)
