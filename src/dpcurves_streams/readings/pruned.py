"""The question of a hierarchy of states that is as fine at each tick as there are tuples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpcurves.arrays import FloatArray
from dpcurves.data import Categories, Forest
from dpcurves.queries import PrunedQuery
from dpcurves.release import Plan

from ..laws import PrunedCounts
from .auto import Auto
from .counts import CountsReader
from .events import Event, Jump, Low
from .plain import PlainWindow
from .question import StreamQuestion
from .reader import Reader


@dataclass(frozen=True, slots=True)
class PrunedStates(StreamQuestion):
    """Counts of tuples in each state and each aggregation at every tick, where there are many of them.

    What lies below an aggregation that was not divided counts as 0 at that tick. `Aggregated`, whose estimates find the
    empty parts from the noisy counts themselves, is mostly more exact.

    Attributes:
        column: The column of states.
        forest: The states, and their aggregations.
        least: An aggregation with so many tuples or fewer is counted as a whole rather than divided.
        ticks: The number of ticks, which is public; None: without end.
        windows: Widths, in ticks, of sliding sums.
        events: The events to look for: `Jump`, `Low` or `Event`.
        share: The part of the loss that is spent on choosing.
    """

    column: str
    forest: Forest
    least: int
    ticks: int | None = None
    windows: tuple[int, ...] = ()
    events: tuple[Jump | Low | Event, ...] = ()
    share: Fraction = Fraction(1, 5)

    @property
    def query(self) -> PrunedQuery:
        """The query on the stream, which is paid for once."""
        axis = Categories(self.column, self.forest.states)
        return PrunedQuery((axis,), self.ticks, forest=self.forest, least=self.least, share=self.share)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the counts, in their order: aggregations, then states."""
        return (*self.forest.names, *self.forest.states)

    def reader(self, plan: Plan) -> CountsReader:
        """The reader of the releases of the plan, from the first tick on."""
        law, keys = plan.law.required(PrunedCounts), len(self.names)
        sums: dict[int, Reader] = {width: _PrunedSums(law, width) for width in self.widths}
        return CountsReader(self, keys, _PrunedCounts(law), sums, None)


class _PrunedCounts:
    """Smoothed totals of all nodes; how noisy each is differs from tick to tick."""

    __slots__ = ("_auto", "_law")

    def __init__(self, law: PrunedCounts) -> None:
        self._law, self._auto = law, Auto(law.noise.variance, len(law.parents))

    def read(self, counts: Sequence[float]) -> FloatArray:
        """The estimates, after one more tick."""
        totals, variances = self._law.totals(counts)
        return self._auto.read_with(totals, variances)


class _PrunedSums:
    """Plain sums of the totals of all nodes."""

    __slots__ = ("_law", "_window")

    def __init__(self, law: PrunedCounts, width: int) -> None:
        self._law, self._window = law, PlainWindow(width, len(law.parents))

    def read(self, counts: Sequence[float]) -> FloatArray:
        """The sums, after one more tick."""
        return self._window.read(self._law.totals(counts)[0].tolist())
