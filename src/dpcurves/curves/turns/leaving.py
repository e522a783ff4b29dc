"""Records that leave in each cell of time, by an event or censored, and that are at risk until then: as released."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from ...arrays import BoolArray, FloatArray
from ...postprocess.inference.simulation_seed import draws_for
from ...postprocess.inference.survival import AtRisk, at_risk
from ...postprocess.inference.wide_cells import censored_inside
from ...release import Evidence

Pair = tuple[Evidence, Evidence]
"""Counts of the censored and of events, each of one row of cells, with those outside the grid apart."""


class Leaving(NamedTuple):
    """Counts of records that leave, without bias; or their noise.

    Attributes:
        at_risk: Events, and records at risk, (..., cells).
        censored: Records that are censored in each cell, (..., cells).
    """

    at_risk: AtRisk
    censored: FloatArray

    @classmethod
    def counted(cls, pair: Pair) -> Self:
        """The released counts, (cells,)."""
        censored, events = (turn.unbiased[0] for turn in pair)
        return cls(at_risk(events, censored), censored_inside(censored))

    @classmethod
    def noise(cls, pair: Pair, draw: np.random.Generator) -> Self:
        """The noise of it, simulated, (draws, cells)."""
        censored, events = (_noise(turn, draw) for turn in pair)
        return cls(at_risk(events, censored), censored_inside(censored))

    @property
    def early(self) -> AtRisk:
        """Events and records at risk where all that are censored in a cell leave before its events."""
        return AtRisk(self.at_risk.events, self.at_risk.records - self.censored)

    @property
    def gone(self) -> FloatArray:
        """Events and censored records of each cell, (..., cells)."""
        return np.asarray(self.at_risk.events + self.censored)

    def within(self, known: BoolArray) -> Leaving:
        """In these cells alone."""
        events, records = (each[..., known] for each in self.at_risk)
        return Leaving(AtRisk(events, records), self.censored[..., known])

    def first(self, draws: int) -> Leaving:
        """So many draws of noise."""
        events, records = (each[:draws] for each in self.at_risk)
        return Leaving(AtRisk(events, records), self.censored[:draws])


def _noise(turn: Evidence, draw: np.random.Generator) -> FloatArray:
    cells = turn.sums.simulate(turn.total, draws_for(turn.sums.cells), draw)
    return np.concatenate([each[:, 0] for each, _ in cells])
