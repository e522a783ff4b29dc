"""Reconstruction of counts for all laws of noisy sums: unbiased, and shrunk towards even counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray
from ...laws import Estimate, IntervalSums, NoisySums, least_squares
from ...laws.least_squares import in_parts
from .binary_tree import Layout
from .empirical_bayes import estimate
from .measurements import Values, gather
from .smooth_density import BINS, best_cells


def unbiased(law: NoisySums, values: Sequence[int] | NDArray[np.int64], total: int | None) -> Estimate:
    """The best linear unbiased counts, from all values of a release together.

    Args:
        law: The law of the values.
        values: The released values, in the order of the law.
        total: See `NoisySums.reconstruct`.

    Raises:
        ValueError: the values do not fit the law.
    """
    cells, missing = law.reconstruct(np.asarray(values, dtype=np.float64), total)
    return Estimate(cells, float(missing))


def smoothed(law: IntervalSums, values: Values, total: int | None, *, along: bool = False) -> FloatArray:
    """Cells (rows, cells) of flat histograms, trees or partitions, row by row as `estimate` reads them: never negative.

    What noise explains is taken back, as far as the splits of a row tell; totals are those of least squares. Costs no
    privacy, whoever added the noise.

    Args:
        law: The law of the values.
        values: The released values, in the order of the law.
        total: See `least_squares`.
        along: Whether cells lie along an axis, where few of them may have a smooth density: see `best_cells`.

    Raises:
        ValueError: the values do not fit the law, or its levels are not nested.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Tier, Noise
    >>> levels = tuple(Tier(range(0, 4, width), Noise(Family.LAPLACE, Fraction(20))) for width in (2, 1))
    >>> smoothed(IntervalSums(1, 4, levels, missing=None), [260, 220, 100, 160, 110, 130], total=500).round()
    array([[123., 134., 120., 124.]])
    """
    counts = least_squares(law, values, total).cells.sum(axis=1)
    layout = Layout.nested([level.bounds(law.cells) for level in law.levels])
    tables, _ = in_parts(law, np.asarray(values, dtype=np.float64))
    row = law.one_row
    known = (gather(layout, [(row, own)]) for own in np.concatenate(tables, axis=-1))
    rows = zip(known, counts.tolist(), strict=True)
    return np.stack(
        [best_cells(*each, again=False) if along and law.cells <= BINS else estimate(*each).cells for each in rows]
    )


def shrunken_estimate(
    law: NoisySums, values: Sequence[int] | NDArray[np.int64], total: int | None, *, along: bool = False
) -> FloatArray:
    """Cells of shape (rows, cells), with differences shrunk that noise alone explains; meant to be cumulated.

    Nested sums are read as `smoothed` says, all others as their law does.
    """
    known = np.asarray(values, dtype=np.float64)
    if law.is_nested:
        return smoothed(law.nested.required(IntervalSums), law.debiased(known), total, along=along)
    return law.shrunken(known, total)
