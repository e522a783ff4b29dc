"""The one interface that every mechanism fulfils."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..data import Query
from ..noise.randomness import Randomness
from ..privacy import Adjacency, PrivacyLoss
from ..release import Plan

ExactTable = NDArray[np.int64] | NDArray[np.object_]
"""The flat table of a query, missing cell last: 64-bit integers, or Python's own where these are too short."""


class Mechanism(Protocol):
    """Public facts in `plan`, secrets in `run`.

    Formal guarantees: `plan` is a pure function. `run` loses at most ``plan.loss`` under ``plan.adjacency``, if the
    plan is one that this mechanism made; its values are one draw of ``plan.law``.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """What would be done. Raises `UnsupportedQuery`; touches no data."""
        ...

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Noisy integers in the order of ``plan.law``."""
        ...
