"""Public cells that records are counted into. Nothing here has seen data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import isfinite

import numpy as np
from numpy.typing import NDArray


class Spacing(Enum):
    """How the edges of a grid are laid."""

    LINEAR = "linear"
    GEOMETRIC = "geometric"
    EXPLICIT = "explicit"


class Outside(Enum):
    """Where values outside the grid are counted: a public choice."""

    CLAMPED = "clamped into the first and the last cell"
    APART = "in cells of their own"


@dataclass(frozen=True, slots=True, init=False)
class Grid:
    """Cells ``[l, r)`` between rising edges, the last one closed.

    A linear or geometric grid is a formula: its edges are laid out only when they are asked for.

    >>> Grid(0, 1, cells=4).edges.tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> Grid.geometric(1, 8, cells=3).edges.tolist()
    [1.0, 2.0, 4.0, 8.0]
    >>> Grid.parse("-100:1300:4096")
    Grid(-100.0, 1300.0, cells=4096)

    Raises:
        ValueError: the bounds cross or are not finite, or there is no cell.
    """

    lower: float
    upper: float
    cells: int
    spacing: Spacing
    explicit: tuple[float, ...]
    outside: Outside

    def __init__(self, lower: float, upper: float, *, cells: int, outside: Outside = Outside.CLAMPED) -> None:
        self._set(lower, upper, cells, Spacing.LINEAR, (), outside)

    @classmethod
    def geometric(cls, lower: float, upper: float, *, cells: int, outside: Outside = Outside.CLAMPED) -> Grid:
        """Edges in equal ratios, from `lower` above zero."""
        if not lower > 0:
            raise ValueError(f"grid: a geometric grid starts above zero, got {lower}")
        grid = cls.__new__(cls)
        grid._set(lower, upper, cells, Spacing.GEOMETRIC, (), outside)
        return grid

    @classmethod
    def from_edges(cls, edges: Sequence[float], *, outside: Outside = Outside.CLAMPED) -> Grid:
        """These edges, which must rise."""
        exact = tuple(float(edge) for edge in edges)
        if len(exact) < 2 or any(not left < right for left, right in zip(exact, exact[1:], strict=False)):
            raise ValueError("grid: at least two edges are needed, each above the one before")
        grid = cls.__new__(cls)
        grid._set(exact[0], exact[-1], len(exact) - 1, Spacing.EXPLICIT, exact, outside)
        return grid

    @classmethod
    def parse(cls, text: str) -> Grid:
        """Read ``lower:upper:cells`` or ``geometric:lower:upper:cells``."""
        parts = text.split(":")
        make = cls
        if parts[0] == "geometric":
            parts, make = parts[1:], cls.geometric  # type: ignore[assignment]
        try:
            lower, upper, cells = float(parts[0]), float(parts[1]), int(parts[2])
            if len(parts) != 3:
                raise IndexError
        except (ValueError, IndexError):
            raise ValueError(f"grid: write lower:upper:cells, as in 0:100:1024, not {text!r}") from None
        return make(lower, upper, cells=cells)

    def _set(
        self, lower: float, upper: float, cells: int, spacing: Spacing, explicit: tuple[float, ...], outside: Outside
    ) -> None:
        lower, upper = float(lower), float(upper)
        if not (isfinite(lower) and isfinite(upper) and isfinite(upper - lower) and lower < upper):
            raise ValueError(f"grid: finite bounds are needed, the lower below the upper, got {lower} and {upper}")
        if cells < 1:
            raise ValueError(f"grid: at least 1 cell is needed, got {cells}")
        for name, value in (
            ("lower", lower), ("upper", upper), ("cells", int(cells)), ("spacing", spacing),
            ("explicit", explicit), ("outside", outside),
        ):  # fmt: skip
            object.__setattr__(self, name, value)
        if cells <= 2**24 and spacing is not Spacing.EXPLICIT and not np.all(np.diff(self.edges) > 0):
            raise ValueError(f"grid: {cells} cells between {lower} and {upper} are finer than doubles can tell apart")

    @property
    def edges(self) -> NDArray[np.float64]:
        """All ``cells + 1`` edges."""
        if self.spacing is Spacing.EXPLICIT:
            return np.array(self.explicit)
        return self.edge(np.arange(self.cells + 1))

    def edge(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """Edge number `index`: the ends exactly, the others by the formula."""
        if self.spacing is Spacing.EXPLICIT:
            return np.array(self.explicit)[index]
        share = index / self.cells
        if self.spacing is Spacing.LINEAR:
            inner = self.lower + share * (self.upper - self.lower)
        else:
            inner = self.lower * (self.upper / self.lower) ** share
        return np.where(index == self.cells, self.upper, np.where(index == 0, self.lower, inner))

    @property
    def slots(self) -> int:
        """How many cells are counted: with `Outside.APART` one below and one above the grid come on top."""
        return self.cells + 2 if self.outside is Outside.APART else self.cells

    def cut(self, at: Sequence[int]) -> Grid:
        """The same range in fewer cells, with edges at the numbers `at` (any order, repeats are one).

        >>> Grid(0, 1, cells=4).cut([2, 2]).edges.tolist()
        [0.0, 0.5, 1.0]
        """
        kept = np.array(sorted({0, *at, self.cells}))
        return Grid.from_edges(self.edge(kept).tolist(), outside=self.outside)

    def __repr__(self) -> str:
        apart = ", outside=Outside.APART" if self.outside is Outside.APART else ""
        if self.spacing is Spacing.EXPLICIT:
            return f"Grid.from_edges({self.explicit}{apart})"
        name = "Grid" if self.spacing is Spacing.LINEAR else "Grid.geometric"
        return f"{name}({self.lower}, {self.upper}, cells={self.cells}{apart})"
