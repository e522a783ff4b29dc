"""Simple methods for a distribution function, written in NumPy alone: what a user could do without this package.

Each method draws its own noise of the right scale (discrete Laplace or rounded Gaussian; not for production), and
returns shares below all edges. A public number of records is used as such, else it is the sum of the noisy counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from dpcurves.summaries import isotonic_projection

from . import peers
from .data import FloatArray, Sample
from .methods import Job

DEGREES = 2, 4, 16
"""Degrees of the trees."""
BIN_COUNTS = 8, 16, 32, 64, 128, 256, 512
"""Numbers of bins of equal width."""
LEGENDRE_DEGREES = 6, 10
"""Highest degrees of Legendre polynomials."""
MOST_CELLS_OF_OPENDP = 2**14
"""Cells above which OpenDP's tree is left out: too slow."""


@dataclass(frozen=True)
class Task:
    """Records and what may be spent on them.

    Attributes:
        sample: The records.
        epsilon: Privacy loss; rho is ``epsilon**2 / 2`` unless `is_pure`.
        is_public: Whether the number of records is public (replace-one), else neighbours differ by one record.
        is_pure: Whether noise is Laplace, else Gaussian.
    """

    sample: Sample
    epsilon: float
    is_public: bool
    is_pure: bool

    def add_noise(self, counts: FloatArray, generator: np.random.Generator, tilings: int = 1) -> FloatArray:
        """Return counts with the noise of `tilings` disjoint histograms that share the loss."""
        if self.is_pure:
            scale = (2 if self.is_public else 1) * tilings / self.epsilon
            success = -np.expm1(-1 / scale)
            return counts + generator.geometric(success, counts.shape) - generator.geometric(success, counts.shape)
        deviation = ((2 if self.is_public else 1) * tilings) ** 0.5 / self.epsilon
        return counts + np.rint(generator.normal(0, deviation, counts.shape))

    def to_shares(self, counts: FloatArray) -> FloatArray:
        """Return increasing shares below each edge of the grid from counts of bins of (nearly) equal numbers of cells.

        A public total is used by least squares for equal variances: what counts add up to above it is taken off evenly.
        """
        cells, records = self.sample.grid.cells, float(self.sample.records)
        if self.is_public:
            counts = counts - (counts.sum() - records) / len(counts)
        prefixes = isotonic_projection(np.append(0.0, np.cumsum(counts)))
        total = records if self.is_public else max(float(prefixes[-1]), 1.0)
        shares = np.clip(prefixes / total, 0, 1)
        shares[0], shares[-1] = 0.0, 1.0
        return np.interp(np.arange(cells + 1), _bound_bins(cells, len(counts)), shares)


Method = Callable[[Task, np.random.Generator], FloatArray]
"""Shares below all edges of the grid."""


def _bound_bins(cells: int, bins: int) -> FloatArray:
    return np.asarray(np.arange(bins + 1) * cells // bins, dtype=np.float64)


def count_bins(bins: int | None, task: Task, generator: np.random.Generator) -> FloatArray:
    """Count bins, or each cell, and connect them by straight lines."""
    counts = task.sample.counts.astype(np.float64)
    if bins is not None:
        counts = np.add.reduceat(counts, _bound_bins(len(counts), bins)[:-1].astype(np.int64))
    return task.to_shares(task.add_noise(counts, generator))


def clip_histogram(task: Task, generator: np.random.Generator) -> FloatArray:
    """Count each cell, set negative counts to 0, and normalise."""
    counts = np.maximum(task.add_noise(task.sample.counts.astype(np.float64), generator), 0)
    return np.append(0.0, np.cumsum(counts)) / max(float(counts.sum()), 1e-9)


def count_tree(degree: int, task: Task, generator: np.random.Generator) -> FloatArray:
    """Count a tree of this degree; least squares (Hay et al. 2010); a public total is the exact root."""
    cells = task.sample.grid.cells
    levels = 1
    while degree**levels < cells:
        levels += 1
    counts = np.zeros(degree**levels)
    counts[:cells] = task.sample.counts
    exact = [counts.reshape(degree**level, -1).sum(axis=1) for level in range(1, levels + 1)]
    noisy = [task.add_noise(level, generator, levels) for level in exact]
    for level in range(levels - 2, -1, -1):  # upwards: weights of a count and of the sum of its children
        height = levels - level
        weight = (degree**height - degree ** (height - 1)) / (degree**height - 1)
        noisy[level] = weight * noisy[level] + (1 - weight) * noisy[level + 1].reshape(-1, degree).sum(axis=1)
    parents = np.array([float(task.sample.records) if task.is_public else noisy[0].sum()])
    for level in noisy:  # downwards: children add up to their parent
        children = level.reshape(-1, degree)
        parents = (children + ((parents - children.sum(axis=1)) / degree)[:, None]).ravel()
    return task.to_shares(parents[:cells])


def fit_legendre(degree: int, task: Task, generator: np.random.Generator) -> FloatArray:
    """Release sums of Legendre polynomials over the records, and integrate the density they give."""
    cells = task.sample.grid.cells
    middles, edges = (2 * np.arange(cells) + 1) / cells - 1, 2 * np.arange(cells + 1) / cells - 1
    values = np.polynomial.legendre.legvander(middles, degree)[:, 1:]
    sensitivity = _legendre_sensitivity(degree, task.is_public, task.is_pure)
    sums = task.sample.counts @ values
    scale = sensitivity / task.epsilon
    noise = generator.laplace(0, scale, degree) if task.is_pure else generator.normal(0, scale, degree)
    total = float(task.sample.records)  # private: as if it were known, which favours this method
    coefficients = np.append(0.5, (sums + noise) / total * (2 * np.arange(1, degree + 1) + 1) / 2)
    integral = np.polynomial.legendre.legval(edges, np.polynomial.legendre.legint(coefficients, lbnd=-1))
    shares = np.clip(isotonic_projection(integral), 0, 1)
    shares[0], shares[-1] = 0.0, 1.0
    return shares


@lru_cache(maxsize=16)
def _legendre_sensitivity(degree: int, is_public: bool, is_pure: bool) -> float:
    values = np.polynomial.legendre.legvander(np.linspace(-1, 1, 401), degree)[:, 1:]
    difference = values[:, None] - values[None] if is_public else values
    size = np.abs(difference).sum(axis=-1) if is_pure else np.sqrt((difference**2).sum(axis=-1))
    return float(size.max())


def draw_line(task: Task, generator: np.random.Generator) -> FloatArray:
    """Know nothing: records lie evenly."""
    return np.arange(task.sample.grid.cells + 1) / task.sample.grid.cells


def ask_opendp(task: Task, generator: np.random.Generator) -> FloatArray:
    """Count OpenDP's tree of the degree that it advises, made consistent by it; pure losses only."""
    from dpcurves.privacy import PrivacyLoss

    job = Job(task.sample, PrivacyLoss.pure(task.epsilon), 0)
    return task.to_shares(peers.opendp_counts(job, moved=2 if task.is_public else 1))


def list_methods(cells: int, is_pure: bool) -> dict[str, Method]:
    """Return the simple methods for a grid, by name."""
    methods: dict[str, Method] = {
        "flat": partial(count_bins, None),
        "clipped": clip_histogram,
        "line": draw_line,
        **{f"tree {degree}": partial(count_tree, degree) for degree in DEGREES},
        **{f"{bins} bins": partial(count_bins, bins) for bins in BIN_COUNTS if bins < cells},
        **{f"Legendre {degree}": partial(fit_legendre, degree) for degree in LEGENDRE_DEGREES if degree < cells},
    }
    if is_pure and cells <= MOST_CELLS_OF_OPENDP and peers.in_process():
        methods["OpenDP"] = ask_opendp
    return methods
