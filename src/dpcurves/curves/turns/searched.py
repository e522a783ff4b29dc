"""Quantiles that were searched for along a grid, by halving: all counts that the searches looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import Refused, chance
from ...arrays import FloatArray
from ...data import Grid
from ...postprocess import PathQuantile, inside
from ...postprocess.shape.interpolate import numbers
from ...release import Evidence, PrivacyStatement
from ..question import require_independent
from .declared_grid import grid_from_json, grid_to_json


@dataclass(frozen=True, eq=False)
class Searched:
    """Evidence of `Quantiles` where no distribution function was counted.

    Attributes:
        evidence: Counts below all edges that were looked at.
        grid: The cells along which was searched. They are not laid out.
        label: What the x axis shows.
        privacy: The privacy statement, which every picture shows.
    """

    evidence: Evidence
    grid: Grid
    label: str
    privacy: PrivacyStatement

    def quantile(self, p: ArrayLike) -> FloatArray:
        """The first edge, as far as noise tells, below which a share `p` lies; of a cell with one end, that."""
        cells = self.quantile_cell(p)
        return inside(cells, cells[..., 1])

    def quantile_cell(self, p: ArrayLike) -> FloatArray:
        """The ends of the cell below that edge, ``(..., 2)``: infinite, if it holds values outside."""
        return self._ends(p, lambda search: search.brackets[1])

    def quantile_intervals(self, p: ArrayLike, level: float, *, population: bool = False) -> FloatArray:
        """Edges that have the quantiles between them, all correct at once with chance `level`: ``(..., 2)``.

        See `PathQuantile`. They are as short as noise allows at the level that was searched for; at another one they
        end where its search meets a count that nobody asked for. The error chance is divided by the number of turns, so
        they hold more often than `level` says.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        each = 1 - (1 - chance("level", level)) / max(np.size(p), 1)
        if population:
            require_independent(self.privacy)
        return self._ends(p, lambda search: search.interval(population=population), each)

    @property
    def x(self) -> FloatArray:
        """The edges that were compared."""
        return self.grid.boundary(np.array(self.evidence.path.at, dtype=np.int64))

    @property
    def turns(self) -> tuple[Evidence, ...]:
        """The releases, all turns together."""
        return (self.evidence,)

    def question(self) -> dict[str, Any]:
        """Plain objects that say along what was searched."""
        return {"label": self.label, "grid": grid_to_json(self.grid)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], privacy: PrivacyStatement) -> Searched:
        """Read what `question` wrote, beside the one release."""
        question, (released,) = stored["question"], stored["releases"]
        evidence = Evidence.from_json(released)
        if evidence.path.cells != (grid := grid_from_json(question["grid"])).slots:
            raise Refused("grid", "it has not as many cells as were searched")
        return cls(evidence, grid, question["label"], privacy)

    def _ends(self, p: ArrayLike, bracket: Any, level: float = 0.5) -> FloatArray:
        shares = numbers("p", p)
        found = [bracket(PathQuantile.of(self.evidence, share, level)) for share in shares.ravel().tolist()]
        slots = np.array([(each.low, each.high) for each in found], dtype=np.int64)
        return self.grid.within(slots.reshape(*shares.shape, 2))
