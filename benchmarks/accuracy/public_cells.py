"""The public list of cells on which the default meets simple methods: shape, records, epsilon, grid, setting.

The list was fixed in the commit that added this file, and is not to be changed when a constant is chosen. Named shapes
hold every regime in which a simple method was once ahead. A third of the shapes is drawn by a generator of random
densities, atoms and heaps, whose seed is the hash of the commit before; no constant is chosen on these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dpcurves.data import Grid

from .data import FloatArray, Sample

SEED = 0x0387C68D
"""Hash of the commit before this list: seeds random shapes and the choice of cells."""
DRAWN_SHAPES = 16
"""Number of shapes from the generator."""
CELLS_A_SHAPE = 7
"""Cells of the list for each shape, beside those of the table of known regimes."""
Density = Callable[[FloatArray], FloatArray]
"""Unnormalised density at positions between 0 and 1."""
Distribution = Callable[[int], FloatArray]
"""Probability of each of so many cells."""


@dataclass(frozen=True)
class PublicCell:
    """One cell of the list.

    Attributes:
        shape: Name of a distribution in `SHAPES`.
        records: Number of records.
        epsilon: Privacy loss; under zero-concentrated privacy, rho is ``epsilon**2 / 2``.
        cells: Number of cells of the grid.
        neighbours: `replace-one` or `add-remove`.
        is_pure: Whether the loss is pure.
    """

    shape: str
    records: int
    epsilon: float
    cells: int
    neighbours: str = "replace-one"
    is_pure: bool = True

    @property
    def is_drawn(self) -> bool:
        """Whether the shape comes from the generator."""
        return self.shape.startswith("drawn")

    @property
    def name(self) -> str:
        """Name of the cell as the report prints it."""
        setting = ("" if self.is_pure else ", zCDP") + ("" if self.neighbours == "replace-one" else ", add-remove")
        return f"{self.shape}, n {self.records:g}, eps {self.epsilon:g}, {self.cells} cells{setting}"

    def sample(self, generator: np.random.Generator) -> Sample:
        """Draw the records."""
        return Sample(Grid(0, 1, cells=self.cells), generator.multinomial(self.records, SHAPES[self.shape](self.cells)))


def _smooth(density: Density) -> Distribution:
    """Return the distribution of a density, by eight positions in each cell (fewer on large grids)."""

    def weigh_cells(cells: int) -> FloatArray:
        steps = 8 if cells <= 2**16 else 1
        values = density((np.arange(cells * steps) + 0.5) / (cells * steps)).reshape(cells, steps).sum(axis=1)
        return np.asarray(values / values.sum())

    return weigh_cells


def _atoms(positions: FloatArray, masses: FloatArray, rest: Distribution | None = None) -> Distribution:
    """Return a distribution with masses at positions between 0 and 1; what they leave is spread as `rest`."""

    def weigh_cells(cells: int) -> FloatArray:
        weights = np.zeros(cells) if rest is None else (1 - masses.sum()) * rest(cells)
        np.add.at(weights, np.minimum((positions * cells).astype(np.int64), cells - 1), masses)
        return np.asarray(weights / weights.sum())

    return weigh_cells


def _clipped(distribution: stats.rv_continuous) -> Distribution:
    """Return a distribution of SciPy on [0, 1]; mass outside lies in the outermost cells."""

    def weigh_cells(cells: int) -> FloatArray:
        below = distribution.cdf(np.linspace(0, 1, cells + 1))
        below[0], below[-1] = 0.0, 1.0
        return np.diff(below)

    return weigh_cells


def _round(distribution: Distribution, fine: int, heaps: int, share: float) -> Distribution:
    """Return a distribution in which a share of the records is rounded to one of `heaps` evenly spaced positions."""
    weights = distribution(fine)
    heap = np.arange(fine) * heaps // fine
    masses = share * np.bincount(heap, weights, heaps)
    return _atoms((np.arange(heaps) + 0.5) / heaps, masses, distribution)


def _even(x: FloatArray) -> FloatArray:
    return np.ones_like(x)


def _brackets(count: int) -> Distribution:
    """Return incomes in brackets: positions grow, masses are those of a log-normal distribution."""
    positions = np.linspace(0.06, 0.95, count) ** 1.6
    masses = stats.lognorm(0.8, scale=0.3).pdf(positions)
    return _atoms(positions, masses / masses.sum())


def _named_shapes() -> dict[str, Distribution]:
    """Return the shapes of the table of known regimes, and some common ones."""
    normal, lognormal = _clipped(stats.norm(0.5, 0.1)), _clipped(stats.lognorm(0.9, scale=0.1))
    ten = np.random.default_rng(10)
    trend: dict[str, Density] = {
        "trend .1": lambda x: 1 + 0.1 * (2 * x - 1),
        "trend .3": lambda x: 1 + 0.3 * (2 * x - 1),
        "sine .1": lambda x: 1 + 0.1 * np.sin(2 * np.pi * x),
        "step .2": lambda x: 1 + 0.2 * np.sign(x - 0.5),
        "waves .5": lambda x: 1 + 0.5 * np.sin(8 * np.pi * x),
        "seasons": lambda x: 1 + 0.06 * np.cos(2 * np.pi * (x - 0.6)) + 0.02 * np.cos(4 * np.pi * x),
    }
    return {
        **{name: _smooth(density) for name, density in trend.items()},
        "uniform": _smooth(_even),
        "normal": normal,
        "two hills": _smooth(lambda x: np.exp(-(((x - 0.3) / 0.06) ** 2) / 2) + np.exp(-(((x - 0.7) / 0.12) ** 2) / 2)),
        "exponential": _smooth(lambda x: np.exp(-6 * x)),
        "peak": _clipped(stats.norm(0.53, 0.002)),
        "log-normal": lognormal,
        "Cauchy": _clipped(stats.cauchy(0.5, 0.01)),
        "Pareto": _smooth(lambda x: (x + 0.002) ** -1.8),
        "thin tail": _smooth(lambda x: np.where(x < 0.1, 1.0, 0.0007)),
        "one value": _atoms(np.array([0.37]), np.array([1.0])),
        "one value of 70 %": _atoms(np.array([0.37]), np.array([0.7]), _smooth(_even)),
        "two values": _atoms(np.array([0.21, 0.68]), np.array([0.6, 0.4])),
        "ten values": _atoms(ten.uniform(size=10), ten.dirichlet(np.ones(10))),
        "ten Pareto values": _atoms(ten.uniform(size=10), _shares_of(1 / np.arange(1, 11.0) ** 1.5)),
        "brackets": _brackets(16),
        "90 % zeros": _atoms(np.array([0.0]), np.array([0.9]), lognormal),
        "31 % zeros": _atoms(np.array([0.0]), np.array([0.31]), _clipped(stats.lognorm(0.6, scale=0.2))),
        "last cell": _atoms(np.array([1.0]), np.array([0.95]), _smooth(_even)),
        "comb of 64": _atoms((np.arange(64) + 0.5) / 64, np.full(64, 1 / 64)),
        "heaps": _round(normal, 4096, 100, 0.5),
        "whole ages": _round(_smooth(lambda x: x**0.5 * (1.02 - x)), 4096, 110, 1.0),
        "blocks": _smooth(lambda x: np.array([1, 6, 2, 0.3, 4, 0.05, 3, 1])[(x * 8).astype(np.int64)]),
        "gap": _smooth(lambda x: np.where((x > 0.3) & (x < 0.6), 1e-9, 1.0)),
    }


def _shares_of(weights: FloatArray) -> FloatArray:
    return np.asarray(weights / weights.sum())


def _draw_shape(generator: np.random.Generator) -> Distribution:
    """Draw a distribution: a random density (waves, hills, a power), atoms on it, and heaps, each or none."""
    kind = generator.integers(3)
    waves, phases = generator.normal(size=6) / np.arange(1, 7) ** 1.2, generator.uniform(0, 2 * np.pi, 6)
    centres, widths = generator.uniform(size=4), 10 ** generator.uniform(-3, -0.7, 4)
    heights, power, strength = generator.dirichlet(np.ones(4)), generator.uniform(0.3, 2), generator.uniform(0.05, 2)

    def density(x: FloatArray) -> FloatArray:
        if kind == 0:
            angles = 2 * np.pi * np.outer(x, np.arange(1, 7)) / 2 + phases
            return np.asarray(np.exp(strength * (np.sin(angles) @ waves)))
        if kind == 1:
            bells = np.exp(-(((x[:, None] - centres) / widths) ** 2) / 2) / widths
            return np.asarray(bells @ heights + 0.02)
        return np.asarray((x + 0.001) ** -power)

    distribution = _smooth(density)
    if generator.uniform() < 0.4:
        distribution = _round(distribution, 4096, int(generator.integers(8, 200)), float(generator.uniform(0.1, 1)))
    atoms = int(generator.choice([0, 0, 1, 2, 5]))
    masses = generator.dirichlet(np.ones(atoms)) * generator.uniform(0.05, 0.9) if atoms else np.zeros(0)
    return _atoms(generator.uniform(size=atoms), masses, distribution)


SHAPES: dict[str, Distribution] = _named_shapes()
"""Distributions by name; those of the generator are named `drawn` and a number."""
SHAPES |= {f"drawn {number}": _draw_shape(np.random.default_rng([SEED, number])) for number in range(DRAWN_SHAPES)}

_KNOWN: tuple[tuple[str, int, float, int], ...] = (
    ("normal", 1_000, 0.1, 64), ("normal", 300, 0.5, 64), ("heaps", 300, 0.5, 16), ("one value", 300, 0.5, 16),
    ("Pareto", 10_000, 1, 16), ("90 % zeros", 10_000, 1, 16), ("uniform", 10_000, 1, 16),
    ("one value", 3_000, 0.1, 1_024), ("two values", 3_000, 0.1, 1_024), ("ten values", 3_000, 0.1, 1_024),
    ("ten Pareto values", 3_000, 0.1, 1_024), ("Pareto", 3_000, 0.1, 1_024), ("one value", 300, 0.5, 1_024),
    ("two values", 300, 0.5, 1_024), ("ten values", 300, 0.5, 1_024), ("Cauchy", 300, 0.5, 1_024),
    ("brackets", 228, 2, 1_024), ("brackets", 500, 1, 1_024), ("brackets", 1_000, 0.5, 1_024),
    ("brackets", 1_000, 1, 1_024), ("trend .1", 10_000, 0.1, 1_024), ("trend .1", 30_000, 0.1, 1_024),
    ("trend .1", 100_000, 0.1, 1_024), ("trend .3", 10_000, 0.1, 1_024), ("sine .1", 10_000, 0.1, 1_024),
    ("step .2", 30_000, 0.1, 1_024), ("waves .5", 10_000, 0.1, 1_024), ("seasons", 10_000, 0.1, 1_024),
    ("thin tail", 10_000, 1, 1_024), ("90 % zeros", 3_000, 10, 1_024), ("Cauchy", 3_000, 10, 1_024),
    ("Pareto", 3_000, 10, 1_024), ("comb of 64", 3_000, 1, 1_024), ("heaps", 300, 0.5, 1_024),
    ("heaps", 3_000, 0.1, 1_024), ("uniform", 300, 0.5, 1_024), ("normal", 3_000, 1, 1_024),
    ("uniform", 300, 0.01, 1_024), ("comb of 64", 300, 0.01, 1_024), ("normal", 300, 0.01, 1_024),
    ("heaps", 300, 0.01, 1_024), ("Pareto", 300, 0.01, 1_024), ("heaps", 100_000, 0.01, 1_024),
)  # fmt: skip
"""Regimes of the table in which a simple method was ahead: shape, records, epsilon, cells; replace-one, pure."""
_KNOWN_ADD_REMOVE: tuple[tuple[str, int, float, int], ...] = (
    ("ten Pareto values", 300, 0.5, 1_024), ("Cauchy", 300, 0.5, 1_024), ("Pareto", 300, 0.5, 1_024),
    ("ten values", 10_000, 10, 1_024), ("uniform", 300, 0.5, 1_024), ("one value", 3_000, 0.1, 1_024),
)  # fmt: skip
"""Such regimes under add-remove."""


KNOWN_CELLS = (
    *(PublicCell(*cell) for cell in _KNOWN),
    *(PublicCell(*cell, neighbours="add-remove") for cell in _KNOWN_ADD_REMOVE),
)
"""Cells of the table of known regimes."""


def _list_cells() -> tuple[PublicCell, ...]:
    """Return the known regimes, then cells drawn for each shape."""
    generator = np.random.default_rng([SEED, DRAWN_SHAPES])
    records = (50, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 1_000_000)
    drawn = [
        PublicCell(
            shape,
            int(generator.choice(records)),
            float(generator.choice((0.01, 0.1, 0.1, 0.5, 1, 1, 2, 10, 20))),
            int(generator.choice((16, 64, 256, 1_024, 1_024, 1_024, 4_096, 2**14, 2**20), p=(*[0.12] * 8, 0.04))),
            str(generator.choice(("replace-one", "add-remove"), p=(0.7, 0.3))),
            bool(generator.uniform() < 0.8),
        )
        for shape in SHAPES
        for _ in range(CELLS_A_SHAPE)
    ]
    return tuple(dict.fromkeys((*KNOWN_CELLS, *drawn)))


CELLS = _list_cells()
"""The public list: at most 400 cells."""


_REGIME_SHAPES = "uniform", "trend .3", "normal", "log-normal", "two hills", "blocks", "heaps", "whole ages"
REGIME_CELLS = tuple(
    PublicCell(shape, records, 1, cells)
    for records in (3_000, 10_000, 30_000, 1_000_000)
    for cells in (64, 256, 1_024, 4_096)
    for shape in _REGIME_SHAPES
)
"""A second list, by size: few shapes at epsilon 1, under replace-one, from 3,000 to 10**6 records on each grid."""
