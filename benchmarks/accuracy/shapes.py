"""How records may lie along a grid: distributions drawn afresh, half of them to choose constants on, half to judge
by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
from scipy import stats

from dpcurves.data import Grid

from .data import HISTOGRAMS, Counts, FloatArray, Sample

Distribution = Callable[[np.random.Generator, int], FloatArray]
"""What part of the records each of so many cells has."""


class Half(Enum):
    """Which shapes and files constants were chosen on, and which are only judged by."""

    CHOOSE = "choose"
    JUDGE = "judge"


@dataclass(frozen=True)
class Shape:
    """A kind of distribution.

    Attributes:
        half: See `Half`.
        distribution: Draws one: places, widths and weights differ from draw to draw.
    """

    name: str
    half: Half
    distribution: Distribution

    def sample(self, records: int, cells: int, generator: np.random.Generator) -> Sample:
        """So many records of a distribution of this kind."""
        counts = generator.multinomial(records, even_out(self.distribution(generator, cells)))
        return Sample(Grid(0, 1, cells=cells), counts)


def even_out(weights: FloatArray) -> FloatArray:
    """Parts that add up to 1."""
    return np.asarray(weights / weights.sum())


def _normal(draw: np.random.Generator, cells: int) -> FloatArray:
    return _cut(stats.norm(draw.uniform(0.35, 0.65), draw.uniform(0.08, 0.18)), cells)


def _two_hills(draw: np.random.Generator, cells: int) -> FloatArray:
    hills = (_cut(stats.norm(centre, draw.uniform(0.03, 0.1)), cells) for centre in draw.uniform(0.2, 0.8, 2))
    share = draw.uniform(0.2, 0.8)
    return share * next(hills) + (1 - share) * next(hills)


def _exponential(draw: np.random.Generator, cells: int) -> FloatArray:
    return _cut(stats.expon(0, draw.uniform(0.05, 0.3)), cells)


def _beta(draw: np.random.Generator, cells: int) -> FloatArray:
    return _cut(stats.beta(*draw.uniform(1.2, 5, 2)), cells)


def _heavy_tails(draw: np.random.Generator, cells: int) -> FloatArray:
    return _cut(stats.t(draw.uniform(1.5, 3), draw.uniform(0.3, 0.7), draw.uniform(0.02, 0.06)), cells)


def _log_normal(draw: np.random.Generator, cells: int) -> FloatArray:
    """Values above the grid are in its last cell."""
    return _cut(stats.lognorm(draw.uniform(0.6, 1.2), 0, draw.uniform(0.05, 0.2)), cells)


def _peak(draw: np.random.Generator, cells: int) -> FloatArray:
    return _cut(stats.norm(draw.uniform(0.1, 0.9), 10 ** draw.uniform(-3.3, -2)), cells)


def _peak_on_a_plain(draw: np.random.Generator, cells: int) -> FloatArray:
    return _cut(stats.laplace(draw.uniform(0.1, 0.9), 10 ** draw.uniform(-3.3, -2)), cells) * 0.9 + 0.1 / cells


def _incomes(draw: np.random.Generator, cells: int) -> FloatArray:
    """Most are multiples of 10, 50 and 100 in round figures."""
    smooth = _cut(stats.lognorm(draw.uniform(0.5, 0.9), 0, draw.uniform(0.1, 0.3)), cells)
    tied = sum(share * _rounded(smooth, step) for step, share in ((8, 0.3), (40, 0.3), (80, 0.2)))
    return np.asarray(0.2 * smooth + tied)


def _whole_numbers(draw: np.random.Generator, cells: int) -> FloatArray:
    return _rounded(_cut(stats.beta(*draw.uniform(1.2, 4, 2)), cells), int(draw.integers(20, 60)))


def _heaps(draw: np.random.Generator, cells: int) -> FloatArray:
    smooth = _cut(stats.gamma(draw.uniform(2, 6), 0, draw.uniform(0.05, 0.1)), cells)
    return 0.4 * smooth + 0.6 * _rounded(smooth, int(draw.integers(30, 130)))


def _atoms(draw: np.random.Generator, cells: int) -> FloatArray:
    """A few cells have most."""
    weights = 0.2 * _normal(draw, cells)
    places = draw.choice(cells, int(draw.integers(3, 30)), replace=False)
    weights[places] += 0.8 * draw.dirichlet(np.ones(len(places)))
    return weights


def _zipf(draw: np.random.Generator, cells: int) -> FloatArray:
    return np.asarray(draw.permutation(np.arange(1.0, cells + 1) ** -draw.uniform(1.05, 1.5)))


def _zeros(draw: np.random.Generator, cells: int) -> FloatArray:
    """Most records are 0, the others spread."""
    weights = _exponential(draw, cells)
    weights[0] += draw.uniform(1, 4)
    return weights


def _rough(draw: np.random.Generator, cells: int) -> FloatArray:
    return _two_hills(draw, cells) * draw.gamma(0.3, size=cells)


def _rough_fall(draw: np.random.Generator, cells: int) -> FloatArray:
    return _exponential(draw, cells) * draw.lognormal(0, 1.5, cells)


def _blocks(draw: np.random.Generator, cells: int) -> FloatArray:
    """Stretches of their own heights, some of which are empty."""
    ends = np.sort(draw.choice(cells, int(draw.integers(20, 200)), replace=False))
    heights = draw.gamma(0.5, size=len(ends) + 1) * (draw.random(len(ends) + 1) < 0.6)
    return np.asarray(heights[np.searchsorted(ends, np.arange(cells), side="right")] + 1e-9)


def _gaps(draw: np.random.Generator, cells: int) -> FloatArray:
    """Rough stretches between empty ones."""
    there = np.repeat(draw.random(-(-cells // 64)) < 0.4, 64)[:cells]
    return draw.gamma(0.5, size=cells) * there + 1e-9


def _even(draw: np.random.Generator, cells: int) -> FloatArray:
    return np.ones(cells)


def _nearly_even(draw: np.random.Generator, cells: int) -> FloatArray:
    return draw.gamma(4, size=cells)


def _thin_tail(draw: np.random.Generator, cells: int) -> FloatArray:
    """A heavy head, and 65 of 10,000 records over 128 of 4,096 cells."""
    head, tail = cells // 8, cells // 32
    weights = np.zeros(cells)
    start = int(draw.integers(0, cells // 4))
    weights[start : start + head] = _cut(stats.beta(2, 3), head)
    weights[start + head + tail : start + head + 2 * tail] = 0.0065 / tail
    return weights


def _long_tail(draw: np.random.Generator, cells: int) -> FloatArray:
    tail = np.zeros(cells)
    width = cells // int(draw.integers(16, 64))
    start = int(draw.integers(cells // 2, cells - width))
    tail[start : start + width] = draw.uniform(0.005, 0.01) / width
    return 0.99 * _cut(stats.norm(0.2, draw.uniform(0.01, 0.03)), cells) + tail


def _cut(distribution: object, cells: int) -> FloatArray:
    """Parts of a continuous distribution in cells of [0, 1]; what lies outside is in the end cells."""
    below = distribution.cdf(np.linspace(0, 1, cells + 1))  # type: ignore[attr-defined]
    below[0], below[-1] = 0.0, 1.0
    return np.diff(below)


def _rounded(weights: FloatArray, step: int) -> FloatArray:
    """All that lies within so many cells is in the middle one."""
    cells = np.arange(len(weights))
    return np.bincount(np.minimum(cells // step * step + step // 2, len(weights) - 1), weights, len(weights))


_CHOOSE: dict[str, Distribution] = {
    "normal": _normal, "exponential": _exponential, "heavy tails": _heavy_tails, "peak": _peak, "incomes": _incomes,
    "atoms": _atoms, "rough": _rough, "blocks": _blocks, "nearly even": _nearly_even, "thin tail": _thin_tail,
}  # fmt: skip
_JUDGE: dict[str, Distribution] = {
    "two hills": _two_hills, "beta": _beta, "log-normal": _log_normal, "peak on a plain": _peak_on_a_plain,
    "whole numbers": _whole_numbers, "heaps": _heaps, "zipf": _zipf, "zeros": _zeros, "rough fall": _rough_fall,
    "gaps": _gaps, "even": _even, "long tail": _long_tail,
}  # fmt: skip
SHAPES = {
    name: Shape(name, half, distribution)
    for half, distributions in ((Half.CHOOSE, _CHOOSE), (Half.JUDGE, _JUDGE))
    for name, distribution in distributions.items()
}
CHOSEN_ON = frozenset({"ADULT", "INCOME", "HEPTH", "MDSAL1"})
"""Real histograms of the half to choose on; all others are judged by."""


def half_of(name: str) -> Half:
    """The half that a shape or a real histogram belongs to."""
    if name in SHAPES:
        return SHAPES[name].half
    return Half.CHOOSE if name in CHOSEN_ON else Half.JUDGE


def real_counts(name: str, folder: Path) -> Counts | None:
    """A histogram of 4,096 cells; None where there is no such file."""
    file = folder / "hist1d" / f"{HISTOGRAMS[name]}.npy"
    return np.load(file).astype(np.int64) if file.exists() else None


def thinned(counts: Counts, records: int, generator: np.random.Generator) -> Sample:
    """So many of the records, drawn with replacement; all as they are, if there are no more than that."""
    kept = counts if counts.sum() <= records else generator.multinomial(records, even_out(counts.astype(np.float64)))
    return Sample(Grid(0, 1, cells=len(counts)), kept)
