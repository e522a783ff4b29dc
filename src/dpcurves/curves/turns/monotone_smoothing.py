"""Shares below edges after the least change of noises that makes the curve rise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arguments import Refused, make_whole, several, whole
from ...arrays import FloatArray, IntArray
from ...data import Outside
from ...postprocess import AtMost, noisy_prefixes, smooth_absolute, smooth_squares
from .prefixes import PrefixShares

ABSOLUTE, SQUARES = 1, 2


@dataclass(frozen=True, slots=True)
class Smoothing:
    """The smoothing of a curve.

    Attributes:
        p: The power in which changes of noises are added up: 1, absolute values, or 2, squares.
        at: Numbers of the counted edges that are smoothed; between them the curve is linear. None: all of these.

    Raises:
        ValueError: `p` is another number, or edges do not rise.
        TypeError: one of them is no whole number.
    """

    p: int
    at: tuple[int, ...] | None

    def __post_init__(self) -> None:
        make_whole(self, p="p")
        if self.p not in (ABSOLUTE, SQUARES):
            raise Refused("p", f"1 (absolute values) or 2 (squares) is needed, got {self.p}")
        if self.at is not None:
            edges = tuple(whole("at", edge) for edge in several("at", self.at, "numbers of edges, as in (3, 7),"))
            object.__setattr__(self, "at", tuple(sorted(set(edges))))

    def nearest(self, prefixes: PrefixShares) -> tuple[Smoothing, tuple[str, ...]]:
        """This smoothing at counted edges, each the nearest one to an edge of `at`; a note, where this is another one.

        Raises:
            ValueError: the grid has not so many edges.
        """
        if self.at is None:
            return self, ()
        beyond = [edge for edge in self.at if not 0 <= edge <= prefixes.grid.cells]
        if beyond:
            raise Refused("at", f"edges from 0 to {prefixes.grid.cells} are needed, got {beyond[0]}")
        asked, counted = np.array(self.at, dtype=np.int64), np.flatnonzero(prefixes.measured)
        after = np.clip(np.searchsorted(counted, asked), 1, len(counted) - 1)
        low, high = counted[after - 1], counted[after]
        found = np.where(asked - low <= high - asked, low, high)
        moved = int(np.count_nonzero(found != asked))
        note = f"{moved} of {len(asked)} edges to smooth at were not counted: the nearest counted ones were taken"
        return Smoothing(self.p, tuple(found.tolist())), (note,) if moved else ()

    def shares(self, prefixes: PrefixShares) -> FloatArray:
        """Shares below each edge of the grid, from the counts of the last turn.

        The edges of `at` were counted, as those of `nearest` are.
        """
        law, evidence = prefixes.evidence.sums, prefixes.evidence
        curve = noisy_prefixes(law, evidence.values, evidence.total)
        kept = self._places(prefixes, curve.ends)
        graph, noisy = curve.graph.at(kept), curve.counts[kept]
        ceiling = None if evidence.total is None else AtMost(float(evidence.total))
        smooth = smooth_absolute if self.p == ABSOLUTE else smooth_squares
        counts = smooth(noisy, graph, ceiling)
        below = np.interp(np.arange(law.cells + 1), [0, *curve.ends[kept]], [0.0, *counts])
        shares = np.minimum(below / max(below[-1], 1.0), 1.0)
        if prefixes.grid.outside is Outside.APART:
            return np.asarray(shares[1:-1])
        shares[-1] = 1.0
        return np.asarray(shares)

    def _places(self, prefixes: PrefixShares, ends: IntArray) -> IntArray:
        """The counted ends that are smoothed; the last one always is: all records lie below it."""
        if self.at is None:
            return np.arange(len(ends))
        slots = np.array(self.at, dtype=np.int64) + int(prefixes.grid.outside is Outside.APART)
        return np.unique(np.append(np.searchsorted(ends, slots[slots > 0]), len(ends) - 1))
