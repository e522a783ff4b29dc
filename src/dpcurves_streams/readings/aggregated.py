"""The question how many tuples are in each state, and in aggregations of states, at every tick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcurves.data import Forest
from dpcurves.queries import HierarchyQuery
from dpcurves.release import Plan

from ..laws import HierarchyCounts, NodeEstimates
from .counts import CountsReader, Known, Smoothing, TickReading
from .events import Event, Jump, Low
from .question import StreamQuestion


@dataclass(frozen=True, slots=True)
class Aggregated(StreamQuestion):
    """Counts of tuples in each state and each aggregation of states at every tick; windows and events of all.

    Attributes:
        column: The column of states.
        forest: The states, and their aggregations.
        ticks: The number of ticks, which is public; None: without end.
        windows: Widths, in ticks, of sliding sums.
        events: The events to look for: `Jump`, `Low` or `Event`.
        smoothing: How counts are estimated from noisy ones.
    """

    column: str
    forest: Forest
    ticks: int | None = None
    windows: tuple[int, ...] = ()
    events: tuple[Jump | Low | Event, ...] = ()
    smoothing: Smoothing = Smoothing.AUTO

    @property
    def query(self) -> HierarchyQuery:
        """The query on the stream, which is paid for once."""
        return HierarchyQuery.of(self.column, self.forest, self.ticks)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the counts, in their order: aggregations, then states."""
        return (*self.forest.names, *self.forest.states)

    def reader(self, plan: Plan) -> AggregatedReader:
        """The reader of the releases of the plan, from the first tick on."""
        return AggregatedReader(self, plan)


class AggregatedReader:
    """Reads released counts, tick by tick: least squares over the tree, then every node on its own.

    Fed with the same integers it reads the same numbers. It holds public numbers alone.
    """

    __slots__ = ("_estimates", "_reader")

    def __init__(self, question: Aggregated, plan: Plan) -> None:
        law = plan.law.required(HierarchyCounts)
        noises = [np.inf if noise is None else noise.variance for noise in law.noises]
        self._estimates = NodeEstimates(law.parents, np.array(noises))
        variances, keys = self._estimates.variances, len(noises)
        sums = {width: question.smoothing.of_windows(variances, width, keys) for width in question.widths}
        family = next(noise.family for noise in law.noises if noise is not None)
        known = Known(family, np.sqrt(variances))
        self._reader = CountsReader(question, keys, question.smoothing.of_counts(variances, keys), sums, known)

    def read(self, values: Sequence[int]) -> TickReading:
        """The estimates after the integers of the next tick, for all nodes, in the order of `names`."""
        return self._reader.read(self._estimates.of(np.array(values, dtype=np.float64)).tolist())
